//! Regular expressions in Go's RE2 syntax.
//!
//! The `regex` crate is of the same family: linear time, nearly the same syntax. `regex_syntax` bridges
//! what differs and words the complaints as Go does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::add_fixed;
use super::regex_syntax::{Translated, translate};
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
    /// The names of its groups, and their numbers.
    names: Rc<[(String, usize)]>,
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
    Ok(compiled(call, arguments, "")?.regex.is_match(bytes(&arguments[1])))
}

/// The expression that is the first argument, if the text that is the second one is not too long
/// for it.
fn compiled(call: &Call<'_>, arguments: &[Value], panic: &str) -> Result<Compiled, Error> {
    let known = call.run.regexes.0.borrow().get(bytes(&arguments[0])).cloned();
    let compiled = match known {
        Some(compiled) => compiled,
        None => compile_for(call, &arguments[0], panic)?,
    };
    let length = bytes(&arguments[1]).len();
    if length.saturating_mul(compiled.size) > MAX_WORK {
        return Err(Error::limit(format!(
            "text of {length} bytes is too long for so large a regular expression"
        )));
    }
    Ok(compiled)
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
    let Translated { expression, names } = translate(source)?;
    let names = Rc::from(names);
    for size in SIZES {
        let mut builder = RegexBuilder::new(&expression);
        match builder.size_limit(size).dfa_size_limit(4 << 20).nest_limit(250).build() {
            Ok(regex) => return Ok(Compiled { regex: Rc::new(regex), names, size }),
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
    let regex = compiled(call, arguments, panic)?.regex;
    let whole = bytes(&arguments[1]);
    let matches = found(call, &regex, whole, int(&arguments[2]))?;
    let texts = matches.into_iter().map(|(start, end)| Value::string(&whole[start..end]));
    Ok(Value::List(List::grown(ElementType::String, texts.collect())))
}

fn find(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?.regex;
    let first = regex.find(bytes(&arguments[1]));
    Ok(Value::string(first.map_or(&b""[..], |m| m.as_bytes())))
}

fn replace(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let Compiled { regex, names, .. } = compiled(call, arguments, panic)?;
    let (whole, with) = (bytes(&arguments[1]), bytes(&arguments[2]));
    call.check_size(with.len().saturating_mul(whole.len() + 1) / 8)?;
    replaced(call, &regex, whole, |captures, out| expand(with, captures, &names, out))
}

/// Writes a replacement, in which `$1`, `${1}` and `$name` stand for what a group matched.
fn expand(with: &[u8], captures: &Captures<'_>, names: &[(String, usize)], out: &mut Vec<u8>) {
    let mut rest = with;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = after;
            continue;
        }
        let Some((name, after)) = reference(rest) else {
            out.push(b'$');
            continue;
        };
        rest = after;
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let group = if is_number && (name == "0" || !name.starts_with('0')) {
            name.parse().ok().and_then(|number| captures.get(number))
        } else {
            // Of several groups with one name, the first that matched.
            let numbers = names.iter().filter(|(known, _)| known == name);
            numbers.filter_map(|(_, number)| captures.get(*number)).next()
        };
        out.extend_from_slice(group.map_or(b"", |it| it.as_bytes()));
    }
    out.extend_from_slice(rest);
}

/// The name after a dollar sign, in braces or as long as it goes, and what follows.
fn reference(text: &[u8]) -> Option<(&str, &[u8])> {
    let (inside, is_braced) = match text.strip_prefix(b"{") {
        Some(inside) => (inside, true),
        None => (text, false),
    };
    let valid = inside.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let end = valid.find(|c: char| !is_word(c)).unwrap_or(valid.len());
    let (name, after) = (&valid[..end], &inside[end..]);
    let after = if is_braced { after.strip_prefix(b"}")? } else { after };
    (!name.is_empty()).then_some((name, after))
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
    let regex = compiled(call, arguments, panic)?.regex;
    let (whole, with) = (bytes(&arguments[1]), bytes(&arguments[2]));
    call.check_size(with.len().saturating_mul(whole.len() + 1) / 8)?;
    replaced(call, &regex, whole, |_, out| out.extend_from_slice(with))
}

fn split(call: &mut Call<'_>, arguments: &[Value], panic: &str) -> Result<Value, Error> {
    let regex = compiled(call, arguments, panic)?.regex;
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
