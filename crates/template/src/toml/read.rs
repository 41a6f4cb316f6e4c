//! Reads TOML 1.1 as the Go library that Helm uses does, complaints included: those end up in what
//! a template prints, because `fromToml` returns them.

use super::tables::{Given, Table, complaint, is_bare, shown};
use crate::error::Error;
use crate::sprig::time_of_toml;
use crate::strconv::{parse_float, quote, quote_with};
use crate::value::{IntType, Value};

/// Arrays and tables inside of each other.
const MAX_DEPTH: usize = 150;

/// Reads a document: integers are `int64`.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, Error> {
    const MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"];
    let bytes = MARKS.iter().find_map(|mark| bytes.strip_prefix(*mark)).unwrap_or(bytes);
    if bytes.iter().take(6).any(|byte| *byte == 0) {
        return Err(Error::function(
            "toml: line 1: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8",
        ));
    }
    let (text, bad) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let (good, rest) = bytes.split_at(error.valid_up_to());
            (std::str::from_utf8(good).unwrap_or_default(), rest.first().copied())
        }
    };
    let mut reader = Reader {
        text,
        bad,
        at: 0,
        line: 1,
        key_line: 0,
        context: Vec::new(),
        key: String::new(),
        depth: 0,
    };
    Ok(reader.document()?.into_value())
}

type Read<T> = Result<T, Error>;

struct Reader<'t> {
    text: &'t str,
    /// The first byte that is not UTF-8, which ends the text.
    bad: Option<u8>,
    at: usize,
    line: usize,
    /// Where the newest key or header stands.
    key_line: usize,
    /// The table that keys belong to, and the newest key: what a complaint names.
    context: Vec<String>,
    key: String,
    depth: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Read<Table> {
        let mut root = Table::default();
        loop {
            match self.peek()? {
                None => return Ok(root),
                Some(c) if is_blank(c) || is_line_break(c) => self.skip()?,
                Some('#') => self.comment()?,
                Some('[') => {
                    self.skip()?;
                    self.header(&mut root)?;
                    self.end_of_line()?;
                }
                Some(_) => {
                    let outer = self.context.clone();
                    self.assignment(&mut root, &[])?;
                    self.context = outer;
                    self.key.clear();
                    self.end_of_line()?;
                }
            }
        }
    }

    fn end_of_line(&mut self) -> Read<()> {
        loop {
            match self.next()? {
                None => return Ok(()),
                Some(c) if is_line_break(c) => return Ok(()),
                Some(c) if is_blank(c) => {}
                Some('#') => return self.comment(),
                Some(c) => {
                    let got = shown_char(Some(c));
                    return self.fail(format!("expected a top-level item to end with a newline, comment, or EOF, but got {got} instead"));
                }
            }
        }
    }

    fn comment(&mut self) -> Read<()> {
        while self.peek()?.is_some_and(|c| !is_line_break(c)) {
            self.skip()?;
        }
        Ok(())
    }

    fn header(&mut self, root: &mut Table) -> Read<()> {
        let is_array = self.accept('[')?;
        let mut path = Vec::new();
        loop {
            self.blanks()?;
            let part = match self.peek()? {
                None | Some(']') => {
                    return self.fail("unexpected end of table name (table names cannot be empty)");
                }
                Some('.') => {
                    return self.fail("unexpected table separator (table names cannot be empty)");
                }
                Some(_) => self.name()?,
            };
            if path.is_empty() {
                self.key_line = self.line;
            }
            path.push(part);
            self.blanks()?;
            match self.next()? {
                Some('.') => {}
                Some(']') => break,
                other => {
                    let got = shown_char(other);
                    return self.fail_at(
                        other,
                        format!("expected '.' or ']' to end table name, but got {got} instead"),
                    );
                }
            }
        }
        if is_array {
            let end = self.next()?;
            if end != Some(']') {
                let got = shown_char(end);
                return self.fail_at(
                    end,
                    format!(
                        "expected end of table array name delimiter ']', but got {got} instead"
                    ),
                );
            }
        }
        let opened = root.open(&path, is_array);
        if opened.as_ref().is_err_and(|problem| !problem.ends_with("as a hash.")) {
            self.context = path[..path.len() - 1].to_vec();
        }
        self.of_key(opened)?;
        self.context = path;
        Ok(())
    }

    /// `key = value`, put into `table`, which is called `outer` where it is an inline one.
    fn assignment(&mut self, table: &mut Table, outer: &[String]) -> Read<()> {
        let mut path = self.dotted_key()?;
        self.key = path.pop().unwrap_or_default();
        for part in path {
            self.context.push(part);
            let mentioned = table.mention(&self.context[outer.len()..]);
            if mentioned.is_err() {
                self.context.pop();
            }
            self.of_key(mentioned)?;
        }
        let given = self.value(false)?;
        let assigned = table.assign(outer, &self.context[outer.len()..], &self.key.clone(), given);
        self.of_key(assigned)
    }

    fn dotted_key(&mut self) -> Read<Vec<String>> {
        let mut path = Vec::new();
        loop {
            self.blanks()?;
            let first = path.is_empty();
            match self.peek()? {
                None | Some('=') if first => {
                    return self.fail("unexpected '=': key name appears blank");
                }
                Some('.') if first => {
                    return self.fail("unexpected '.': keys cannot start with a '.'");
                }
                None | Some('=') => return self.fail("unexpected '='"),
                Some('.') => return self.fail("unexpected '.'"),
                Some(_) => {}
            }
            let part = self.name()?;
            if first {
                self.key_line = self.line;
            }
            path.push(part);
            self.blanks()?;
            let got = self.next()?;
            let expected = || format!("expected '.' or '=', but got {} instead", shown_char(got));
            match got {
                Some('.') => {}
                Some('=') => return Ok(path),
                None => {
                    return self.fail_at(None, "unexpected EOF; expected key separator '='");
                }
                Some('\n') => return self.fail_before(expected()),
                Some(_) => return self.fail(expected()),
            }
        }
    }

    /// One part of a key, bare or quoted; a bare one may be empty here.
    fn name(&mut self) -> Read<String> {
        match self.peek()? {
            Some(mark @ ('"' | '\'')) => {
                self.skip()?;
                if mark == '"' { self.basic_text() } else { self.literal_text() }
            }
            _ => {
                let start = self.at;
                while self.peek()?.is_some_and(is_bare) {
                    self.skip()?;
                }
                Ok(self.text[start..self.at].to_owned())
            }
        }
    }

    fn value(&mut self, in_array: bool) -> Read<Given> {
        self.blanks()?;
        let start = self.at;
        let first = self.next()?;
        let value = match first {
            Some(digit) if digit.is_ascii_digit() => return self.number_or_date(start, digit),
            Some('[') => return self.array(),
            Some('{') => return self.inline_table(in_array),
            Some('"') => {
                if self.text[self.at..].starts_with("\"\"") {
                    self.at += 2;
                    self.long_text('"')?
                } else {
                    self.basic_text()?
                }
            }
            Some('\'') => {
                if self.text[self.at..].starts_with("''") {
                    self.at += 2;
                    self.long_text('\'')?
                } else {
                    self.literal_text()?
                }
            }
            Some('.') => return self.fail("floats must start with a digit, not '.'"),
            Some('+' | '-') => return self.signed(start),
            Some(letter) if letter.is_alphabetic() => return self.word(start, letter),
            None => return self.fail_at(None, "unexpected EOF; expected value"),
            Some(c) => {
                let problem = format!("expected value but found {} instead", shown_char(first));
                return if c == '\n' { self.fail_before(problem) } else { self.fail(problem) };
            }
        };
        Ok(Given::Plain(Value::string(value)))
    }

    /// `true`, `false`, `inf` or `nan`.
    fn word(&mut self, start: usize, letter: char) -> Read<Given> {
        if matches!(letter, 'i' | 'n') {
            let is_float =
                self.accept('n')? && self.accept('f')? || self.accept('a')? && self.accept('n')?;
            if is_float {
                return self.float(start);
            }
        }
        // The library steps back by one letter only.
        let end = self.text[..self.at].chars().next_back().map_or(0, char::len_utf8);
        self.at -= end;
        let start = self.at;
        while self.peek()?.is_some_and(char::is_alphabetic) {
            self.skip()?;
        }
        match &self.text[start..self.at] {
            "true" => Ok(Given::Plain(Value::Bool(true))),
            "false" => Ok(Given::Plain(Value::Bool(false))),
            other => {
                let found = quote(other.as_bytes());
                self.fail(format!("expected value but found {found} instead"))
            }
        }
    }

    fn array(&mut self) -> Read<Given> {
        self.deeper()?;
        let mut items = Vec::new();
        let mut after_value = false;
        loop {
            let next = self.peek()?;
            match next {
                Some(c) if is_blank(c) || is_line_break(c) => self.skip()?,
                Some('#') => self.comment()?,
                Some(']') => {
                    self.skip()?;
                    self.depth -= 1;
                    return Ok(Given::Array(Value::list(items)));
                }
                Some(',') if after_value => {
                    self.skip()?;
                    after_value = false;
                }
                Some(',') => {
                    self.skip()?;
                    return self.fail("unexpected comma");
                }
                _ if after_value => {
                    let got = self.next()?;
                    let shown = char_or_end(got);
                    return self.fail_at(
                        got,
                        format!(
                            "expected a comma (',') or array terminator (']'), but got {shown}"
                        ),
                    );
                }
                _ => {
                    items.push(self.value(true)?.into_value());
                    after_value = true;
                }
            }
        }
    }

    fn inline_table(&mut self, in_array: bool) -> Read<Given> {
        self.deeper()?;
        let (outer, outer_key) = (self.context.clone(), std::mem::take(&mut self.key));
        self.context.push(outer_key.clone());
        let inside = self.context.clone();
        let mut table = Table::default();
        let mut after_value = false;
        loop {
            match self.peek()? {
                Some(c) if is_blank(c) || is_line_break(c) => self.skip()?,
                Some('#') => self.comment()?,
                Some('}') => break self.skip()?,
                Some(',') if after_value => {
                    self.skip()?;
                    after_value = false;
                }
                Some(',') => {
                    self.skip()?;
                    return self.fail("unexpected comma");
                }
                _ if after_value => {
                    let got = self.next()?;
                    let shown = char_or_end(got);
                    return self.fail_at(got, format!("expected a comma or an inline table terminator '}}', but got {shown} instead"));
                }
                _ => {
                    self.assignment(&mut table, &inside)?;
                    self.context.clone_from(&inside);
                    after_value = true;
                }
            }
        }
        self.depth -= 1;
        self.context = outer;
        self.key = outer_key;
        Ok(if in_array { Given::Plain(table.into_value()) } else { Given::Inline(table) })
    }

    fn deeper(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("TOML is nested too deeply"));
        }
        Ok(())
    }

    /// What begins with a digit.
    fn number_or_date(&mut self, start: usize, first: char) -> Read<Given> {
        if first == '0' {
            let base = match self.peek()? {
                Some('b') => Some(("a binary", 2)),
                Some('o') => Some(("an octal", 8)),
                Some('x') => Some(("a hexadecimal", 16)),
                _ => None,
            };
            if let Some((name, base)) = base {
                self.skip()?;
                let digit = self.peek()?;
                if !digit.is_some_and(|c| c.is_digit(base)) {
                    let read = &self.text[start..self.at];
                    let digit = digit.unwrap_or('\0');
                    return self.fail(format!("not {name} number: '{read}{digit}'"));
                }
                self.while_in(|c| c.is_digit(base) || c == '_')?;
                return self.integer(start);
            }
        }
        self.while_in(|c| c.is_ascii_digit())?;
        match self.peek()? {
            Some('-' | ':') if first != '0' || self.at > start + 1 => {
                self.while_in(|c| c.is_ascii_digit() || "-:Tt .Zz+".contains(c))?;
                self.date(start)
            }
            _ => self.decimal(start),
        }
    }

    /// What begins with a sign.
    fn signed(&mut self, start: usize) -> Read<Given> {
        let first = self.next()?;
        let rest = match first {
            Some('i') => "nf",
            Some('n') => "an",
            Some('0') if matches!(self.peek()?, Some('b' | 'o' | 'x')) => {
                let (read, base) = (&self.text[start..self.at], self.peek()?.unwrap_or('\0'));
                return self
                    .fail(format!("cannot use sign with non-decimal numbers: '{read}{base}'"));
            }
            Some('.') => return self.fail("floats must start with a digit, not '.'"),
            Some(digit) if digit.is_ascii_digit() => return self.decimal(start),
            other => {
                let got = shown_char(other);
                return self.fail_at(other, format!("expected a digit but got {got}"));
            }
        };
        for letter in rest.chars() {
            if !self.accept(letter)? {
                let read = &self.text[start..self.at];
                return self.fail(format!("invalid float: '{read}'"));
            }
        }
        self.float(start)
    }

    fn decimal(&mut self, start: usize) -> Read<Given> {
        self.while_in(|c| c.is_ascii_digit() || c == '_')?;
        if !matches!(self.peek()?, Some('.' | 'e' | 'E')) {
            return self.integer(start);
        }
        self.while_in(|c| c.is_ascii_digit() || "_.-+eE".contains(c))?;
        self.float(start)
    }

    fn integer(&mut self, start: usize) -> Read<Given> {
        let text = &self.text[start..self.at];
        let shown = quote(text.as_bytes());
        if !underscores_fit(text) {
            return self.fail(format!(
                "Invalid integer {shown}: underscores must be surrounded by digits"
            ));
        }
        if has_leading_zero(text) {
            return self.fail(format!("Invalid integer {shown}: cannot have leading zeroes"));
        }
        let digits = text.replace('_', "");
        let number = match digits.get(..2) {
            Some("0x") => i64::from_str_radix(&digits[2..], 16),
            Some("0o") => i64::from_str_radix(&digits[2..], 8),
            Some("0b") => i64::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        match number {
            Ok(number) => Ok(Given::Plain(Value::Int(IntType::Int64, number))),
            Err(_) => self.fail(format!("{text} is out of range for int64")),
        }
    }

    fn float(&mut self, start: usize) -> Read<Given> {
        let text = &self.text[start..self.at];
        let shown = quote(text.as_bytes());
        let invalid = |why: &str| format!("Invalid float {shown}: {why}");
        let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty());
        if !parts.clone().all(underscores_fit) {
            return self.fail(invalid("underscores must be surrounded by digits"));
        }
        if parts.next().is_some_and(has_leading_zero) {
            return self.fail(invalid("cannot have leading zeroes"));
        }
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if !text.split('.').skip(1).all(|after| is_digit(after.chars().next())) {
            return self.fail(invalid("'.' must be followed by one or more digits"));
        }
        let plain = text.replace('_', "");
        let number = match plain.as_str() {
            "nan" | "+nan" => Some(f64::NAN),
            "-nan" => Some(-f64::NAN),
            plain => parse_float(plain),
        };
        match number {
            Some(number) => Ok(Given::Plain(Value::Float(number))),
            None if plain.parse::<f64>().is_ok() => {
                self.fail(format!("{text} is out of range for float64"))
            }
            None => self.fail(format!("Invalid float value: {shown}")),
        }
    }

    fn date(&mut self, start: usize) -> Read<Given> {
        let text = self.text[start..self.at].trim().replace('z', "Z").replace(['t', ' '], "T");
        match time_of_toml(&text) {
            Some(time) => Ok(Given::Plain(time)),
            None => self.fail(format!("invalid datetime: {}", quote(text.as_bytes()))),
        }
    }

    /// `"…"`, after the first mark.
    fn basic_text(&mut self) -> Read<String> {
        let start = self.at;
        let mut out = String::new();
        let mut bad_escape = None;
        loop {
            match self.next()? {
                None => return self.fail_at(None, "unexpected EOF; expected '\"'"),
                Some(c) if is_line_break(c) => {
                    return self.fail_before("strings cannot contain newlines");
                }
                Some('\\') => self.escape(start, &mut out, &mut bad_escape)?,
                Some('"') => return bad_escape.map_or(Ok(out), |problem| self.fail(problem)),
                Some(c) => out.push(c),
            }
        }
    }

    /// `'…'`, after the first mark.
    fn literal_text(&mut self) -> Read<String> {
        let start = self.at;
        loop {
            match self.next()? {
                None => return self.fail_at(None, "unexpected EOF; expected \"'\""),
                Some(c) if is_line_break(c) => {
                    return self.fail_before("strings cannot contain newlines");
                }
                Some('\'') => return Ok(self.text[start..self.at - 1].to_owned()),
                Some(_) => {}
            }
        }
    }

    /// Texts of several lines, after the first three marks.
    fn long_text(&mut self, mark: char) -> Read<String> {
        let start = self.at;
        let mut out = String::new();
        let mut bad_escape = None;
        loop {
            match self.next()? {
                None => {
                    let problem = match mark {
                        '"' => "unexpected EOF; expected '\"\"\"'",
                        _ => "unexpected EOF; expected \"'''\"",
                    };
                    return self.fail_at(None, problem);
                }
                Some('\\') if mark == '"' => self.long_escape(start, &mut out, &mut bad_escape)?,
                Some(c) if c == mark => {
                    let rest = &self.text[self.at..];
                    let more = rest.len() - rest.trim_start_matches(mark).len();
                    match more {
                        0 | 1 => out.extend(std::iter::repeat_n(mark, more + 1)),
                        // Up to two marks belong to the text.
                        2..=4 => out.extend(std::iter::repeat_n(mark, more - 2)),
                        _ => {
                            return self.fail(if mark == '"' {
                                "unexpected '\"\"\"\"\"\"'"
                            } else {
                                "unexpected \"''''''\""
                            });
                        }
                    }
                    self.at += more;
                    if more >= 2 {
                        break;
                    }
                }
                Some(c) => out.push(c),
            }
        }
        if let Some(problem) = bad_escape {
            return self.fail(problem);
        }
        // The first line break, if it is the first character of all.
        let raw = &self.text[start..];
        let skipped = if raw.starts_with("\r\n") { 2 } else { usize::from(raw.starts_with('\n')) };
        Ok(out.split_off(skipped))
    }

    /// A backslash before the end of a line takes the space that follows away.
    fn long_escape(
        &mut self,
        start: usize,
        out: &mut String,
        bad: &mut Option<String>,
    ) -> Read<()> {
        let rest = &self.text[self.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        if !rest[..blank].contains('\n') {
            return self.escape(start, out, bad);
        }
        let end = self.at + blank;
        while self.at < end {
            self.skip()?;
        }
        Ok(())
    }

    /// What follows a backslash. Some are refused only when the text is at its end.
    fn escape(&mut self, start: usize, out: &mut String, bad: &mut Option<String>) -> Read<()> {
        let letter = self.next()?;
        let (name, count) = match letter {
            Some('x') => ("two", 2),
            Some('u') => ("four", 4),
            Some('U') => ("eight", 8),
            _ => ("", 0),
        };
        if count == 0 {
            match letter {
                Some('b') => out.push('\x08'),
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('f') => out.push('\x0c'),
                Some('r') => out.push('\r'),
                Some('e') => out.push('\x1b'),
                Some(plain @ ('"' | '\\')) => out.push(plain),
                Some(blank @ (' ' | '\t')) => {
                    bad.get_or_insert(format!("invalid escape: '\\{blank}'"));
                }
                Some(c) => return self.fail(format!("invalid escape in string '\\{c}'")),
                None => return self.fail_before("invalid escape in string '\\\0'"),
            }
            return Ok(());
        }
        let digits_start = self.at;
        for _ in 0..count {
            let digit = self.next()?;
            if !digit.is_some_and(|c| c.is_ascii_hexdigit()) {
                let letter = letter.unwrap_or_default();
                let got = quote(&self.text.as_bytes()[start..self.at]);
                return self.fail_at(
                    digit,
                    format!("expected {name} hexadecimal digits after '\\{letter}', but got {got} instead"),
                );
            }
        }
        let digits = &self.text[digits_start..self.at];
        match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
            Some(c) => out.push(c),
            None => {
                bad.get_or_insert(format!("Escaped character '\\u{digits}' is not valid UTF-8."));
            }
        }
        Ok(())
    }

    /// The next character; none at the end.
    fn peek(&self) -> Read<Option<char>> {
        let rest = &self.text[self.at..];
        let Some(c) = rest.chars().next() else {
            return match self.bad {
                Some(byte) => self.fail(format!("invalid UTF-8 byte: 0x{byte:02x}")),
                None => Ok(None),
            };
        };
        let is_lone_return = c == '\r' && !rest[1..].starts_with('\n');
        if (c.is_ascii_control() && !matches!(c, '\t' | '\r' | '\n')) || is_lone_return {
            let code = u32::from(c);
            return self
                .fail(format!("TOML files cannot contain control characters: '0x{code:02x}'"));
        }
        Ok(Some(c))
    }

    fn next(&mut self) -> Read<Option<char>> {
        let next = self.peek()?;
        if let Some(c) = next {
            self.at += c.len_utf8();
            self.line += usize::from(c == '\n');
        }
        Ok(next)
    }

    fn skip(&mut self) -> Read<()> {
        self.next().map(|_| ())
    }

    fn accept(&mut self, wanted: char) -> Read<bool> {
        let is_there = self.peek()? == Some(wanted);
        if is_there {
            self.skip()?;
        }
        Ok(is_there)
    }

    fn blanks(&mut self) -> Read<()> {
        self.while_in(is_blank)
    }

    fn while_in(&mut self, belongs: impl Fn(char) -> bool) -> Read<()> {
        while self.peek()?.is_some_and(&belongs) {
            self.skip()?;
        }
        Ok(())
    }

    fn fail<T>(&self, problem: impl AsRef<str>) -> Read<T> {
        self.complain(self.line, problem.as_ref())
    }

    /// The same about a character that may be the end: that belongs to the line before it.
    fn fail_at<T>(&self, found: Option<char>, problem: impl AsRef<str>) -> Read<T> {
        let ends_line = found.is_none() && self.text.ends_with('\n');
        self.complain(self.line - usize::from(ends_line), problem.as_ref())
    }

    /// The same about the line before.
    fn fail_before<T>(&self, problem: impl AsRef<str>) -> Read<T> {
        self.complain(self.line - 1, problem.as_ref())
    }

    /// What is wrong with the newest key, whose line counts.
    fn of_key(&self, result: Result<(), String>) -> Read<()> {
        result.or_else(|problem| self.complain(self.key_line, &problem))
    }

    fn complain<T>(&self, line: usize, problem: &str) -> Read<T> {
        let context = shown(&self.context);
        let last_key = match (self.key.is_empty(), context.is_empty()) {
            (true, _) => context,
            (false, true) => self.key.clone(),
            (false, false) => format!("{context}.{}", self.key),
        };
        Err(Error::function(complaint(line, &last_key, problem)))
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// A character in Go's quotes; the end is the character zero.
fn shown_char(c: Option<char>) -> String {
    quote_with(c.unwrap_or('\0').encode_utf8(&mut [0; 4]).as_bytes(), '\'', false)
}

fn char_or_end(c: Option<char>) -> String {
    c.map_or_else(|| "end of file".to_owned(), |c| format!("'{c}'"))
}

fn underscores_fit(number: &str) -> bool {
    if matches!(number.trim_start_matches(['+', '-']), "nan" | "inf") {
        return true;
    }
    let mut after_digit = false;
    for c in number.chars() {
        if c == '_' && !after_digit {
            return false;
        }
        after_digit = c.is_ascii_hexdigit();
    }
    after_digit
}

fn has_leading_zero(number: &str) -> bool {
    match number.as_bytes() {
        [b'+' | b'-', b'0', _, ..] => true,
        [b'0', base, ..] => !matches!(base, b'b' | b'o' | b'x'),
        _ => false,
    }
}
