//! Regular expressions in Go's RE2 syntax.
//!
//! The `regex` crate is of the same family: linear time, nearly the same syntax. [`translate`] bridges
//! what differs (ASCII classes, `\Q…\E`, literal brackets in classes) and words the complaints as Go
//! does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::add_fixed;
use crate::arguments::{bytes, int, text};
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::value::{ElementType, List, Value};

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Int, String};
    add_fixed(
        functions,
        &[
            ("regexMatch", &[String, String], |call, a| {
                Ok(Value::Bool(Error::swallow(is_match(call, a), |_| false)?))
            }),
            ("mustRegexMatch", &[String, String], |call, a| Ok(Value::Bool(is_match(call, a)?))),
            ("regexFindAll", &[String, String, Int], |call, a| find_all(call, a, PANIC)),
            ("mustRegexFindAll", &[String, String, Int], |call, a| find_all(call, a, "")),
            ("regexFind", &[String, String], |call, a| find(call, a, PANIC)),
            ("mustRegexFind", &[String, String], |call, a| find(call, a, "")),
            ("regexReplaceAll", &[String, String, String], |call, a| replace(call, a, PANIC)),
            ("mustRegexReplaceAll", &[String, String, String], |call, a| replace(call, a, "")),
            ("regexReplaceAllLiteral", &[String, String, String], |call, a| {
                replace_literal(call, a, PANIC)
            }),
            ("mustRegexReplaceAllLiteral", &[String, String, String], |call, a| {
                replace_literal(call, a, "")
            }),
            ("regexSplit", &[String, String, Int], |call, a| split(call, a, PANIC)),
            ("mustRegexSplit", &[String, String, Int], |call, a| split(call, a, "")),
            ("regexQuoteMeta", &[String], |_, a| Ok(Value::string(quote_meta(&text(&a[0]))))),
        ],
    );
}

/// `regexp.MustCompile` panics; the message then begins with this.
const PANIC: &str = "regexp: Compile(";

/// Compiled expressions of one run: charts use the same few over and over.
#[derive(Default)]
pub(crate) struct Regexes(RefCell<BTreeMap<Vec<u8>, Compiled>>);

#[derive(Clone)]
struct Compiled {
    regex: Rc<Regex>,
    /// The first of [`SIZES`] that it fits into.
    size: usize,
}

/// Bytes of a compiled expression. Most are small.
const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];

/// A search takes at most as many steps as the text has bytes times the parts of the expression:
/// some seconds at this product of both sizes in bytes.
const MAX_WORK: usize = 1 << 38;

const MAX_KEPT: usize = 200;

fn is_match(call: &Call<'_>, arguments: &[Value]) -> Result<bool, Error> {
    Ok(compiled(call, arguments, "")?.is_match(bytes(&arguments[1])))
}

/// The expression that is the first argument, if the text that is the second one is not too long
/// for it.
fn compiled(call: &Call<'_>, arguments: &[Value], panic: &str) -> Result<Rc<Regex>, Error> {
    let known = call.run.regexes.0.borrow().get(bytes(&arguments[0])).cloned();
    let Compiled { regex, size } = match known {
        Some(compiled) => compiled,
        None => compile_for(call, &arguments[0], panic)?,
    };
    let length = bytes(&arguments[1]).len();
    if length.saturating_mul(size) > MAX_WORK {
        return Err(Error::limit(format!(
            "text of {length} bytes is too long for so large a regular expression"
        )));
    }
    Ok(regex)
}

fn compile_for(call: &Call<'_>, pattern: &Value, panic: &str) -> Result<Compiled, Error> {
    call.charge(1000 + 10 * bytes(pattern).len())?;
    let source = text(pattern);
    let compiled = compile(&source).map_err(|problem| {
        let message = format!("error parsing regexp: {problem}");
        if panic.is_empty() {
            return Error::function(message);
        }
        let shown = if source.contains('`') {
            crate::strconv::quote(source.as_bytes())
        } else {
            format!("`{source}`")
        };
        Error::function(format!("{panic}{shown}): {message}"))
    })?;
    let mut cache = call.run.regexes.0.borrow_mut();
    if cache.len() >= MAX_KEPT {
        cache.clear();
    }
    cache.insert(bytes(pattern).to_vec(), compiled.clone());
    Ok(compiled)
}

fn compile(source: &str) -> Result<Compiled, String> {
    let translated = translate(source)?;
    for size in SIZES {
        let mut builder = RegexBuilder::new(&translated);
        match builder.size_limit(size).dfa_size_limit(4 << 20).nest_limit(250).build() {
            Ok(regex) => return Ok(Compiled { regex: Rc::new(regex), size }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => return Err(format!("invalid or unsupported syntax: `{source}`")),
        }
    }
    Err(format!("expression too large: `{source}`"))
}

fn found(
    call: &Call<'_>,
    regex: &Regex,
    whole: &[u8],
    limit: i64,
) -> Result<Vec<(usize, usize)>, Error> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let matches = regex.find_iter(whole).filter(|it| !splits_a_letter(whole, it.range()));
    let matches = matches.take(limit).map(|found| {
        call.charge(work_of_a_match(whole))?;
        Ok((found.start(), found.end()))
    });
    matches.collect()
}

/// Is it an empty match between the bytes of one letter? Go looks at letters, not at bytes, unless
/// these are none.
fn splits_a_letter(whole: &[u8], matched: Range<usize>) -> bool {
    let at = matched.start;
    matched.is_empty()
        && (1..=3).any(|back| {
            let rest = at.checked_sub(back).map(|start| &whole[start..]);
            let longest = rest.map(|it| &it[..it.len().min(char::MAX_LEN_UTF8)]);
            let letters = longest.and_then(|it| it.utf8_chunks().next());
            let first = letters.and_then(|it| it.valid().chars().next());
            first.is_some_and(|it| it.len_utf8() > back)
        })
}

/// To find a match, a search may look at all that follows.
fn work_of_a_match(whole: &[u8]) -> usize {
    1 + whole.len() / (1 << 12)
}

fn find_all(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?;
    let whole = bytes(&arguments[1]);
    let matches = found(call, &regex, whole, int(&arguments[2]))?;
    let texts = matches.into_iter().map(|(start, end)| Value::string(&whole[start..end]));
    Ok(Value::List(List::grown(ElementType::String, texts.collect())))
}

fn find(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?;
    let first = regex.find(bytes(&arguments[1]));
    Ok(Value::string(first.map_or(&b""[..], |m| m.as_bytes())))
}

fn replace(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?;
    let (whole, with) = (bytes(&arguments[1]), bytes(&arguments[2]));
    call.check_size(with.len().saturating_mul(whole.len() + 1) / 8)?;
    replaced(call, &regex, whole, |captures, out| captures.expand(with, out))
}

/// The text with what `put` writes in the place of every match.
fn replaced(
    call: &Call<'_>,
    regex: &Regex,
    whole: &[u8],
    put: impl Fn(&Captures<'_>, &mut Vec<u8>),
) -> Result<Value, Error> {
    let mut out = Vec::new();
    let mut end = 0;
    for captures in regex.captures_iter(whole) {
        let matched = captures.get_match();
        if splits_a_letter(whole, matched.range()) {
            continue;
        }
        call.charge(work_of_a_match(whole))?;
        call.check_size(out.len())?;
        out.extend_from_slice(&whole[end..matched.start()]);
        put(&captures, &mut out);
        end = matched.end();
    }
    out.extend_from_slice(&whole[end..]);
    Ok(Value::string(out))
}

fn replace_literal(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?;
    let (whole, with) = (bytes(&arguments[1]), bytes(&arguments[2]));
    call.check_size(with.len().saturating_mul(whole.len() + 1) / 8)?;
    replaced(call, &regex, whole, |_, out| out.extend_from_slice(with))
}

fn split(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?;
    let whole = bytes(&arguments[1]);
    let limit = int(&arguments[2]);
    if limit == 0 {
        return Ok(Value::List(List::nil(ElementType::String)));
    }
    if whole.is_empty() && !bytes(&arguments[0]).is_empty() {
        return Ok(Value::strings([""]));
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for (start, stop) in found(call, &regex, whole, limit)? {
        if limit > 0 && parts.len() as i64 == limit - 1 {
            break;
        }
        end = start;
        if stop != 0 {
            parts.push(&whole[begin..end]);
        }
        begin = stop;
    }
    if end != whole.len() {
        parts.push(&whole[begin..]);
    }
    Ok(Value::strings(parts))
}

fn quote_meta(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Rewrites Go's syntax into that of the `regex` crate, or says what Go would complain about.
fn translate(source: &str) -> Result<String, String> {
    let mut translator = Translator { rest: source, out: String::new(), groups: 0 };
    translator.run(source)?;
    Ok(translator.out)
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    groups: usize,
}

impl Translator<'_> {
    fn run(&mut self, source: &str) -> Result<(), String> {
        // What a repetition would apply to: nothing yet, something, or already a repetition.
        let mut operand = Operand::Missing;
        while let Some(c) = self.rest.chars().next() {
            let here = self.rest;
            self.rest = &self.rest[c.len_utf8()..];
            operand = match c {
                '(' => {
                    self.group(here)?;
                    Operand::Missing
                }
                ')' => {
                    if self.groups == 0 {
                        return Err(format!("unexpected ): `{source}`"));
                    }
                    self.groups -= 1;
                    self.out.push(')');
                    Operand::Present
                }
                '|' => {
                    self.out.push('|');
                    Operand::Missing
                }
                '*' | '+' | '?' => self.repetition(&c.to_string(), operand)?,
                '{' => match counted(here) {
                    Some((text, low, high)) => {
                        if low > 1000 || high.is_some_and(|high| high > 1000 || high < low) {
                            return Err(format!("invalid repeat count: `{text}`"));
                        }
                        self.rest = &here[text.len()..];
                        self.repetition(text, operand)?
                    }
                    None => {
                        self.out.push_str(r"\{");
                        Operand::Present
                    }
                },
                '[' => {
                    self.class(here)?;
                    Operand::Present
                }
                '\\' => {
                    self.escape(here)?;
                    Operand::Present
                }
                '}' | ']' => {
                    self.out.push('\\');
                    self.out.push(c);
                    Operand::Present
                }
                c => {
                    self.out.push(c);
                    Operand::Present
                }
            };
        }
        if self.groups > 0 {
            return Err(format!("missing closing ): `{source}`"));
        }
        Ok(())
    }

    fn repetition(&mut self, text: &str, operand: Operand) -> Result<Operand, String> {
        let lazy = self.rest.starts_with('?');
        let shown = if lazy { format!("{text}?") } else { text.to_owned() };
        match operand {
            Operand::Missing => {
                return Err(format!("missing argument to repetition operator: `{shown}`"));
            }
            Operand::Repeated(before) => {
                return Err(format!("invalid nested repetition operator: `{before}{shown}`"));
            }
            Operand::Present => {}
        }
        self.out.push_str(&shown);
        if lazy {
            self.rest = &self.rest[1..];
        }
        Ok(Operand::Repeated(shown))
    }

    fn group(&mut self, here: &str) -> Result<(), String> {
        self.out.push('(');
        let Some(after) = self.rest.strip_prefix('?') else {
            self.groups += 1;
            return Ok(());
        };
        let name = after.strip_prefix("P<").or_else(|| after.strip_prefix('<'));
        if let Some(name) = name {
            let Some(end) = name.find('>') else {
                return Err(format!("invalid named capture: `{here}`"));
            };
            let name_text = &name[..end];
            let is_word =
                !name_text.is_empty() && name_text.chars().all(|c| c == '_' || c.is_alphanumeric());
            if !is_word {
                let shown = &here[..here.find('>').map_or(here.len(), |at| at + 1)];
                return Err(format!("invalid named capture: `{shown}`"));
            }
            self.out.push_str(&format!("?P<{name_text}>"));
            self.rest = &name[end + 1..];
            self.groups += 1;
            return Ok(());
        }
        let Some(end) = after.find([':', ')']) else {
            return Err(format!("missing closing ): `{here}`"));
        };
        let flags = &after[..end];
        if !flags.chars().all(|c| "imsU-".contains(c)) {
            let shown: String = here.chars().take(3).collect();
            return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
        }
        self.out.push('?');
        self.out.push_str(flags);
        self.out.push_str(&after[end..=end]);
        self.rest = &after[end + 1..];
        self.groups += usize::from(after[end..].starts_with(':'));
        Ok(())
    }

    fn escape(&mut self, here: &str) -> Result<(), String> {
        let Some(letter) = self.rest.chars().next() else {
            return Err("trailing backslash at end of expression: ``".into());
        };
        self.rest = &self.rest[letter.len_utf8()..];
        match letter {
            'Q' => {
                let end = self.rest.find(r"\E");
                let literal = &self.rest[..end.unwrap_or(self.rest.len())];
                self.out.push_str(&regex::escape(literal));
                self.rest = end.map_or("", |end| &self.rest[end + 2..]);
            }
            'E' => {}
            'b' | 'B' => self.out.push_str(&format!(r"(?-u:\{letter})")),
            'A' | 'z' => self.out.push_str(&format!(r"\{letter}")),
            'C' => self.out.push_str("(?s-u:.)"),
            _ => {
                let item = self.class_escape(here, letter)?;
                match item.strip_prefix('^') {
                    Some(inside) => self.out.push_str(&format!("[^{inside}]")),
                    None if item.len() > 4 && !item.starts_with('\\') => {
                        self.out.push_str(&format!("[{item}]"));
                    }
                    None if matches!(letter, 'd' | 's' | 'w') => {
                        self.out.push_str(&format!("[{item}]"));
                    }
                    None => self.out.push_str(&item),
                }
            }
        }
        Ok(())
    }

    /// An escape that may also stand in a class. A leading `^` means: everything but.
    fn class_escape(&mut self, here: &str, letter: char) -> Result<String, String> {
        Ok(match letter {
            'd' => "0-9".into(),
            'D' => "^0-9".into(),
            's' => r"\t\n\x0c\r ".into(),
            'S' => r"^\t\n\x0c\r ".into(),
            'w' => "0-9A-Za-z_".into(),
            'W' => "^0-9A-Za-z_".into(),
            'a' => r"\x07".into(),
            'f' => r"\x0c".into(),
            't' => r"\t".into(),
            'n' => r"\n".into(),
            'r' => r"\r".into(),
            'v' => r"\x0b".into(),
            'p' | 'P' => {
                let length = match self.rest.strip_prefix('{') {
                    Some(after) => after.find('}').map_or(self.rest.len(), |end| end + 2),
                    None => self.rest.chars().next().map_or(0, char::len_utf8),
                };
                let property = &self.rest[..length];
                self.rest = &self.rest[length..];
                format!(r"\{letter}{property}")
            }
            'x' => {
                let length = match self.rest.strip_prefix('{') {
                    Some(after) => after.find('}').map_or(0, |end| end + 2),
                    None => 2,
                };
                let digits = self.rest.get(..length).unwrap_or_default();
                let code = u32::from_str_radix(digits.trim_matches(['{', '}']), 16).ok();
                let Some(code) = code.and_then(char::from_u32) else {
                    let shown: String = here.chars().take(2 + length).collect();
                    return Err(format!("invalid escape sequence: `{shown}`"));
                };
                self.rest = &self.rest[length..];
                format!(r"\x{{{:X}}}", code as u32)
            }
            '0'..='7' if letter == '0' || self.rest.starts_with(|c: char| c.is_digit(8)) => {
                let more = self.rest.chars().take(2).take_while(|c| c.is_digit(8)).count();
                let digits = format!("{letter}{}", &self.rest[..more]);
                self.rest = &self.rest[more..];
                format!(r"\x{{{:X}}}", u32::from_str_radix(&digits, 8).unwrap_or(0))
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => {
                format!(r"\x{{{:X}}}", c as u32)
            }
            c => return Err(format!(r"invalid escape sequence: `\{c}`")),
        })
    }

    fn class(&mut self, here: &str) -> Result<(), String> {
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.out.push('^');
            self.rest = rest;
        }
        let mut is_first = true;
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err(format!("missing closing ]: `{here}`"));
            };
            if c == ']' && !is_first {
                self.rest = &self.rest[1..];
                self.out.push(']');
                return Ok(());
            }
            is_first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                self.out.push_str(&self.rest[..end + 2]);
                self.rest = &self.rest[end + 2..];
                continue;
            }
            let at = self.rest;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '\\' => {
                    let Some(letter) = self.rest.chars().next() else {
                        return Err(format!("missing closing ]: `{here}`"));
                    };
                    self.rest = &self.rest[letter.len_utf8()..];
                    let item = self.class_escape(at, letter)?;
                    match item.strip_prefix('^') {
                        Some(inside) => self.out.push_str(&format!("[^{inside}]")),
                        None => self.out.push_str(&item),
                    }
                }
                '-' => self.hyphen(),
                // Special in classes of the `regex` crate, not in Go's.
                '[' | '&' | '~' | ']' | '^' => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                c => self.out.push(c),
            }
        }
    }

    /// A hyphen makes a range between two characters, otherwise it is itself.
    fn hyphen(&mut self) {
        let between = !self.out.ends_with(['[', '^']) && !self.rest.starts_with(']');
        self.out.push_str(if between { "-" } else { r"\-" });
    }
}

enum Operand {
    Missing,
    Present,
    Repeated(String),
}

/// Reads `{n}`, `{n,}` or `{n,m}`.
fn counted(here: &str) -> Option<(&str, u32, Option<u32>)> {
    let end = here.find('}')?;
    let (low, high) = match here[1..end].split_once(',') {
        Some((low, "")) => (low, None),
        Some((low, high)) => (low, Some(high)),
        None => (&here[1..end], None),
    };
    let number = |text: &str| {
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse::<u32>().unwrap_or(u32::MAX))
    };
    let high = match high {
        Some(high) => Some(number(high)?),
        None => None,
    };
    Some((&here[..=end], number(low)?, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, whole: &str, expect: Option<&str>) {
        let regex = compile(pattern).expect("must compile").regex;
        let first = regex.find(whole.as_bytes());
        let first = first.map(|m| String::from_utf8_lossy(m.as_bytes()).into_owned());
        assert_eq!(first.as_deref(), expect, "{pattern}");
    }

    #[test]
    fn classes_are_ascii_and_brackets_in_them_literal() {
        check(r"\d+", "a٣12", Some("12"));
        check(r"[^\w-]", "ab-é", Some("é"));
        check(r"[[\]a&&b]+", "x[]a&b", Some("[]a&b"));
        check(r"[[:alpha:]]+", "12ab", Some("ab"));
        check(r"[a-]+", "b-a", Some("-a"));
        check(r"\Qa.b\E+", "aab a.bb", Some("a.bb"));
        check(r"a{,2}", "a{,2}", Some("a{,2}"));
        check(r"\-\/\_", "-/_", Some("-/_"));
        check(r"^\s*$", " \t ", Some(" \t "));
        check(r"\bfoo\b", "a foo b", Some("foo"));
        check("[0-9]+", "a12", Some("12"));
        check(r"(?i)ABC(?P<x>d)", "abcd", Some("abcd"));
        check(r"[^0-9]", "1é", Some("é"));
    }

    #[test]
    fn complaints_are_worded_as_in_go() {
        for (pattern, expect) in [
            ("(", "missing closing ): `(`"),
            (")", "unexpected ): `)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            (r"\q", r"invalid escape sequence: `\q`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ] {
            assert_eq!(compile(pattern).map(drop), Err(expect.into()), "{pattern}");
        }
    }
}
