//! Go's syntax of regular expressions, rewritten for the `regex` crate: ASCII classes, `\Q…\E`,
//! literal brackets in classes, groups that share a name; and what Go complains about.

use regex::Regex;

/// No repetition of repetitions may ask for more.
const MAX_REPEAT: u32 = 1000;

/// An expression for the `regex` crate.
pub(super) struct Translated {
    pub(super) expression: String,
    /// The names of its groups, which have none in the expression, and their numbers.
    pub(super) names: Vec<(String, usize)>,
}

/// Rewrites an expression, or says what Go would complain about.
pub(super) fn translate(source: &str) -> Result<Translated, String> {
    let mut translator = Translator {
        rest: source,
        out: String::new(),
        names: Vec::new(),
        captures: 0,
        open: vec![Vec::new()],
        operand_end: 0,
    };
    translator.run(source)?;
    Ok(Translated { expression: translator.out, names: translator.names })
}

/// A counted repetition and those inside of it.
#[derive(Clone)]
struct Repeat {
    count: u32,
    inner: Vec<Self>,
}

impl Repeat {
    /// Whether it stays within `limit`, as Go reckons.
    fn fits(&self, limit: u32) -> bool {
        if self.count == 0 {
            return true;
        }
        self.count <= limit && self.inner.iter().all(|inner| inner.fits(limit / self.count))
    }
}

/// What a repetition would apply to.
enum Operand {
    Missing,
    Present(Vec<Repeat>),
    Repeated(String),
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    names: Vec<(String, usize)>,
    captures: usize,
    /// The counted repetitions in each group that is open, the outermost first.
    open: Vec<Vec<Repeat>>,
    /// Where in the output a repetition belongs: flags may stand behind what it repeats.
    operand_end: usize,
}

impl<'a> Translator<'a> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// What was read since `here`.
    fn read_since(&self, here: &'a str) -> &'a str {
        &here[..here.len() - self.rest.len()]
    }

    fn run(&mut self, source: &str) -> Result<(), String> {
        let mut operand = Operand::Missing;
        loop {
            let here = self.rest;
            let Some(c) = self.next() else { break };
            let plain = || Operand::Present(Vec::new());
            operand = match c {
                '(' => {
                    if self.group(here)? {
                        Operand::Missing
                    } else {
                        // Flags alone leave what stands before them to be repeated.
                        continue;
                    }
                }
                ')' => {
                    if self.open.len() == 1 {
                        return Err(format!("unexpected ): `{source}`"));
                    }
                    let inner = self.open.pop().unwrap_or_default();
                    if let Some(outer) = self.open.last_mut() {
                        outer.extend(inner.iter().cloned());
                    }
                    self.out.push(')');
                    Operand::Present(inner)
                }
                '|' => {
                    self.out.push('|');
                    Operand::Missing
                }
                '*' | '+' | '?' => self.repetition(&c.to_string(), None, operand)?,
                '{' => match counted(here) {
                    Some((text, low, high)) => {
                        if low > MAX_REPEAT
                            || high.is_some_and(|high| high > MAX_REPEAT || high < low)
                        {
                            return Err(format!("invalid repeat count: `{text}`"));
                        }
                        self.rest = &here[text.len()..];
                        self.repetition(text, Some((low, high.unwrap_or(low))), operand)?
                    }
                    None => {
                        self.out.push_str(r"\{");
                        plain()
                    }
                },
                '[' => {
                    self.class(here)?;
                    plain()
                }
                '\\' => {
                    if self.escape(here)? {
                        plain()
                    } else {
                        operand
                    }
                }
                '^' | '$' | '.' => {
                    self.out.push(c);
                    plain()
                }
                c => {
                    self.literal(c);
                    plain()
                }
            };
            self.operand_end = self.out.len();
        }
        if self.open.len() > 1 {
            return Err(format!("missing closing ): `{source}`"));
        }
        Ok(())
    }

    fn literal(&mut self, c: char) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn repetition(
        &mut self,
        text: &str,
        counts: Option<(u32, u32)>,
        operand: Operand,
    ) -> Result<Operand, String> {
        let lazy = self.rest.starts_with('?');
        let shown = if lazy { format!("{text}?") } else { text.to_owned() };
        let inner = match operand {
            Operand::Missing => {
                return Err(format!("missing argument to repetition operator: `{shown}`"));
            }
            Operand::Repeated(before) => {
                return Err(format!("invalid nested repetition operator: `{before}{shown}`"));
            }
            Operand::Present(inner) => inner,
        };
        self.out.insert_str(self.operand_end, &shown);
        if lazy {
            self.rest = &self.rest[1..];
        }
        if let Some((low, high)) = counts {
            let repeat = Repeat { count: high, inner };
            if (low > 1 || high > 1) && !repeat.fits(MAX_REPEAT) {
                return Err(format!("invalid repeat count: `{shown}`"));
            }
            if let Some(group) = self.open.last_mut() {
                group.push(repeat);
            }
        }
        Ok(Operand::Repeated(shown))
    }

    /// What a parenthesis begins; false if it is only flags.
    fn group(&mut self, here: &'a str) -> Result<bool, String> {
        let is_named =
            here.len() > 4 && here.starts_with("(?P<") || here.len() > 3 && here.starts_with("(?<");
        if is_named {
            return self.named_group(here).map(|()| true);
        }
        if self.rest.starts_with('?') {
            self.next();
            return self.flags(here);
        }
        self.captures += 1;
        self.out.push('(');
        self.open.push(Vec::new());
        Ok(true)
    }

    fn named_group(&mut self, here: &str) -> Result<(), String> {
        let start = here.find('<').map_or(0, |at| at + 1);
        let Some(end) = here.find('>') else {
            return Err(format!("invalid named capture: `{here}`"));
        };
        let name = &here[start..end];
        if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            return Err(format!("invalid named capture: `{}`", &here[..=end]));
        }
        self.captures += 1;
        self.names.push((name.to_owned(), self.captures));
        self.out.push('(');
        self.open.push(Vec::new());
        self.rest = &self.rest[self.rest.len() - (here.len() - end - 1)..];
        Ok(())
    }

    /// `(?flags)` or `(?flags:…)`.
    fn flags(&mut self, here: &'a str) -> Result<bool, String> {
        let (mut is_off, mut has_flag) = (false, false);
        loop {
            let next = self.next();
            let complaint =
                || format!("invalid or unsupported Perl syntax: `{}`", self.read_since(here));
            match next {
                Some('i' | 'm' | 's' | 'U') => has_flag = true,
                Some('-') if !is_off => (is_off, has_flag) = (true, false),
                Some(':' | ')') if !is_off || has_flag => break,
                _ => return Err(complaint()),
            }
        }
        let text = self.read_since(here);
        // Without any flag there is nothing to say, and the crate would not hear of it.
        if text != "(?)" {
            self.out.push_str(text);
        }
        let is_group = text.ends_with(':');
        if is_group {
            self.open.push(Vec::new());
        }
        Ok(is_group)
    }

    /// What a backslash outside of a class says; false if it is nothing to repeat.
    fn escape(&mut self, here: &'a str) -> Result<bool, String> {
        match self.rest.chars().next() {
            None => return Err("trailing backslash at end of expression: ``".into()),
            Some('Q') => {
                self.next();
                let end = self.rest.find(r"\E");
                let literal = &self.rest[..end.unwrap_or(self.rest.len())];
                self.out.push_str(&regex::escape(literal));
                self.rest = end.map_or("", |end| &self.rest[end + 2..]);
                return Ok(!literal.is_empty());
            }
            Some(letter @ ('b' | 'B')) => {
                self.next();
                self.out.push_str(&format!(r"(?-u:\{letter})"));
            }
            Some(letter @ ('A' | 'z')) => {
                self.next();
                self.out.push_str(&format!(r"\{letter}"));
            }
            Some(_) => match self.set(here)? {
                Some(set) => self.out.push_str(&format!("[{set}]")),
                None => match self.character(here)? {
                    Some(c) => self.literal(c),
                    // Half of a pair: no text has it.
                    None => self.out.push_str(r"[^\s\S]"),
                },
            },
        }
        Ok(true)
    }

    /// An escape that stands for many characters, as an item of a class; `rest` begins behind the
    /// backslash.
    fn set(&mut self, here: &'a str) -> Result<Option<String>, String> {
        let inside = match self.rest.chars().next() {
            Some('d') => "0-9",
            Some('D') => "^0-9",
            Some('s') => r"\t\n\x0c\r ",
            Some('S') => r"^\t\n\x0c\r ",
            Some('w') => "0-9A-Za-z_",
            Some('W') => "^0-9A-Za-z_",
            Some(letter @ ('p' | 'P')) => {
                self.next();
                return self.property(here, letter == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(format!("[{inside}]")))
    }

    fn property(&mut self, here: &'a str, mut is_negated: bool) -> Result<String, String> {
        let range = |shown: &str| format!("invalid character class range: `{shown}`");
        let mut name = match self.next() {
            None => return Err(range(here)),
            Some('{') => {
                let Some(end) = self.rest.find('}') else { return Err(range(here)) };
                let name = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                name.to_owned()
            }
            Some(c) => c.to_string(),
        };
        if let Some(other) = name.strip_prefix('^') {
            is_negated = !is_negated;
            name = other.to_owned();
        }
        // Of all that the crate knows Go has categories and scripts only.
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_known = |kind: &str| Regex::new(&format!(r"\p{{{kind}={name}}}")).is_ok();
        let is_special = matches!(name.as_str(), "Any" | "ASCII" | "Assigned");
        if name.is_empty() || !is_plain || !(is_special || is_known("gc") || is_known("sc")) {
            return Err(range(self.read_since(here)));
        }
        Ok(format!(r"\{}{{{name}}}", if is_negated { 'P' } else { 'p' }))
    }

    /// An escape that stands for one character; none for half of a pair, which no text has.
    fn character(&mut self, here: &'a str) -> Result<Option<char>, String> {
        let letter = self.next();
        let code = match letter {
            Some('a') => Some(0x07),
            Some('f') => Some(0x0c),
            Some('t') => Some(0x09),
            Some('n') => Some(0x0a),
            Some('r') => Some(0x0d),
            Some('v') => Some(0x0b),
            Some('x') => self.hexadecimal(),
            Some(digit @ '0'..='7')
                if digit == '0' || self.rest.starts_with(|c: char| c.is_digit(8)) =>
            {
                let mut code = u32::from(digit) - u32::from('0');
                for _ in 0..2 {
                    let Some(next) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    code = code * 8 + next;
                    self.next();
                }
                Some(code)
            }
            Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
            _ => None,
        };
        match code {
            Some(code) => Ok(char::from_u32(code)),
            None => Err(format!("invalid escape sequence: `{}`", self.read_since(here))),
        }
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next()?;
        if first != '{' {
            let second = self.next()?;
            return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
        }
        let (mut code, mut is_empty) = (0, true);
        loop {
            match self.next()? {
                '}' if is_empty => return None,
                '}' => return Some(code),
                digit => code = code * 16 + digit.to_digit(16)?,
            }
            if code > u32::from(char::MAX) {
                return None;
            }
            is_empty = false;
        }
    }

    fn class(&mut self, here: &'a str) -> Result<(), String> {
        let unclosed = || format!("missing closing ]: `{here}`");
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.next();
            self.out.push('^');
        }
        let start = self.out.len();
        let mut is_first = true;
        loop {
            match self.rest.chars().next() {
                None => return Err(unclosed()),
                Some(']') if !is_first => break,
                Some(_) => {}
            }
            is_first = false;
            let item = self.rest;
            if let Some(end) = item.strip_prefix("[:").and_then(|inside| inside.find(":]")) {
                self.rest = &item[end + 4..];
                self.named_class(&item[..end + 4])?;
                continue;
            }
            if item.starts_with('\\') {
                self.next();
                if self.rest.is_empty() {
                    return Err(unclosed());
                }
                if let Some(set) = self.set(item)? {
                    self.out.push_str(&set);
                    continue;
                }
                self.rest = item;
            }
            let low = self.class_character(here)?;
            let mut high = low;
            if self.rest.starts_with('-') && !self.rest[1..].starts_with(']') && self.rest.len() > 1
            {
                self.next();
                high = self.class_character(here)?;
                if high < low {
                    let shown = self.read_since(item);
                    return Err(format!("invalid character class range: `{shown}`"));
                }
            }
            self.range(low, high);
        }
        self.next();
        if self.out.len() == start {
            // Nothing but halves of pairs: no character is among them.
            self.out.push_str(r"&&\x{0}&&\x{1}");
        }
        self.out.push(']');
        Ok(())
    }

    fn class_character(&mut self, class: &'a str) -> Result<u32, String> {
        let here = self.rest;
        match self.next() {
            None => Err(format!("missing closing ]: `{class}`")),
            Some('\\') if self.rest.is_empty() => Err(format!("missing closing ]: `{class}`")),
            // No text has half of a pair; its place in a range counts all the same.
            Some('\\') => Ok(self.character(here)?.map_or(0xd800, u32::from)),
            Some(c) => Ok(u32::from(c)),
        }
    }

    /// Halves of pairs are left out, since the crate does not know them.
    fn range(&mut self, low: u32, high: u32) {
        for (from, to) in [(low, high.min(0xd7ff)), (low.max(0xe000), high)] {
            if from <= to {
                self.out.push_str(&format!(r"\x{{{from:X}}}-\x{{{to:X}}}"));
            }
        }
    }

    /// `[:alpha:]` and its like.
    fn named_class(&mut self, text: &str) -> Result<(), String> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print",
            "punct", "space", "upper", "word", "xdigit",
        ];
        let name = text.trim_matches(['[', ':', ']']);
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(format!("invalid character class range: `{text}`"));
        }
        self.out.push_str(text);
        Ok(())
    }
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
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let has_leading_zero = text.len() > 1 && text.starts_with('0');
        (is_number && !has_leading_zero).then(|| text.parse::<u32>().unwrap_or(u32::MAX))
    };
    let high = match high {
        Some(high) => Some(number(high)?),
        None => None,
    };
    Some((&here[..=end], number(low)?, high))
}
