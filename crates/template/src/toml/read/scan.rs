//! One character after the other, and where a complaint belongs.

use super::{Read, Reader, is_blank};
use crate::error::Error;
use crate::toml::tables::{complaint, shown};

impl Reader<'_> {
    /// The next character; none at the end.
    pub(super) fn peek(&self) -> Read<Option<char>> {
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

    pub(super) fn next(&mut self) -> Read<Option<char>> {
        let next = self.peek()?;
        if let Some(c) = next {
            self.at += c.len_utf8();
            self.line += usize::from(c == '\n');
        }
        Ok(next)
    }

    pub(super) fn skip(&mut self) -> Read<()> {
        self.next().map(|_| ())
    }

    pub(super) fn accept(&mut self, wanted: char) -> Read<bool> {
        let is_there = self.peek()? == Some(wanted);
        if is_there {
            self.skip()?;
        }
        Ok(is_there)
    }

    pub(super) fn blanks(&mut self) -> Read<()> {
        self.while_in(is_blank)
    }

    pub(super) fn while_in(&mut self, belongs: impl Fn(char) -> bool) -> Read<()> {
        while self.peek()?.is_some_and(&belongs) {
            self.skip()?;
        }
        Ok(())
    }

    pub(super) fn fail<T>(&self, problem: impl AsRef<str>) -> Read<T> {
        self.complain(self.line, problem.as_ref())
    }

    /// The same about a character that may be the end: that belongs to the line before it.
    pub(super) fn fail_at<T>(&self, found: Option<char>, problem: impl AsRef<str>) -> Read<T> {
        let ends_line = found.is_none() && self.text.ends_with('\n');
        self.complain(self.line - usize::from(ends_line), problem.as_ref())
    }

    /// The same about the line before.
    pub(super) fn fail_before<T>(&self, problem: impl AsRef<str>) -> Read<T> {
        self.complain(self.line - 1, problem.as_ref())
    }

    /// What is wrong with the newest key, whose line counts.
    pub(super) fn of_key(&self, result: Result<(), String>) -> Read<()> {
        result.or_else(|problem| self.complain(self.key_line, &problem))
    }

    pub(super) fn complain<T>(&self, line: usize, problem: &str) -> Read<T> {
        let context = shown(&self.context);
        let last_key = match (self.key.is_empty(), context.is_empty()) {
            (true, _) => context,
            (false, true) => self.key.clone(),
            (false, false) => format!("{context}.{}", self.key),
        };
        Err(Error::function(complaint(line, &last_key, problem)))
    }
}
