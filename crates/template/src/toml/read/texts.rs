//! Quoted texts: `"…"` with escapes, `'…'` without, and both over several lines.

use super::{Read, Reader, is_line_break};
use crate::strconv::quote;

impl Reader<'_> {
    /// `"…"`, after the first mark.
    pub(super) fn basic_text(&mut self) -> Read<String> {
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
    pub(super) fn literal_text(&mut self) -> Read<String> {
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
    pub(super) fn long_text(&mut self, mark: char) -> Read<String> {
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
    pub(super) fn long_escape(
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
    pub(super) fn escape(
        &mut self,
        start: usize,
        out: &mut String,
        bad: &mut Option<String>,
    ) -> Read<()> {
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
}
