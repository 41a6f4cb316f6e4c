//! Reads TOML 1.1 as the Go library that Helm uses does, complaints included: those end up in what
//! a template prints, because `fromToml` returns them.

mod numbers;
mod scan;
mod texts;

use super::tables::{Given, Table, is_bare};
use crate::error::Error;
use crate::strconv::{quote, quote_with};
use crate::value::Value;

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
