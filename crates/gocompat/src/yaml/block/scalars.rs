//! Scalars of block collections: plain, quoted, and those of several lines.

use serde_json::Value;

use super::super::load::value;
use super::super::resolve::plain_scalar;
use super::{Reader, plain_value};

impl<'t> Reader<'t> {
    pub(super) fn text_value(
        &mut self,
        read: impl Fn(&mut Self) -> Option<String>,
    ) -> Option<Value> {
        self.count()?;
        read(self).map(Value::String)
    }

    /// A plain scalar, and the lines below that continue it.
    pub(super) fn plain(&mut self, column: usize) -> Option<Value> {
        self.count()?;
        let (first, mut is_commented) = self.plain_line()?;
        let mut joined: Option<String> = None;
        while !is_commented {
            let (start, breaks, indent) = self.next_full_line();
            let is_more = indent > column && !matches!(self.text.as_bytes()[start], b'\n' | b'#');
            if !is_more {
                break;
            }
            self.at = start;
            let (line, ends) = self.plain_line()?;
            let text = joined.get_or_insert_with(|| first.to_owned());
            push_fold(text, breaks);
            text.push_str(line);
            is_commented = ends;
        }
        self.seek_next_line();
        match joined {
            Some(text) => value(plain_scalar(&text), text).ok(),
            None => plain_value(first),
        }
    }

    /// The rest of a line of a plain scalar without the space at its end, and
    /// whether a comment ends the scalar.
    pub(super) fn plain_line(&mut self) -> Option<(&'t str, bool)> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut is_commented = false;
        while let Some(byte) = self.byte() {
            match byte {
                b'\n' => break,
                b':' if matches!(bytes.get(self.at + 1), None | Some(b' ' | b'\n')) => return None,
                b'#' if bytes[self.at - 1] == b' ' => {
                    is_commented = true;
                    break;
                }
                _ => self.at += 1,
            }
        }
        Some((self.text[start..self.at].trim_end_matches(' '), is_commented))
    }

    /// The next line that is not blank: where its content begins, how many line
    /// breaks away, and how far indented. At the end of the text: its last byte.
    pub(super) fn next_full_line(&self) -> (usize, usize, usize) {
        let bytes = self.text.as_bytes();
        let (mut at, mut line, mut breaks) = (self.at, self.at, 0);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' => {
                    breaks += 1;
                    line = at + 1;
                }
                b' ' => {}
                _ => return (at, breaks, at - line),
            }
            at += 1;
        }
        (bytes.len() - 1, breaks, 0)
    }

    /// `|` or `>` with the lines that belong to it.
    pub(super) fn block_scalar(&mut self, column: usize) -> Option<Value> {
        self.count()?;
        let is_literal = self.byte() == Some(b'|');
        self.at += 1;
        let chomping = self.byte().filter(|it| matches!(it, b'-' | b'+'));
        self.at += usize::from(chomping.is_some());
        if self.byte() != Some(b'\n') {
            return None;
        }
        let (start, _, indent) = self.next_full_line();
        // Leading lines of spaces only would have a say in the indentation.
        let has_leading_spaces = self.text[self.at..start - indent].contains(' ');
        if indent <= column || has_leading_spaces {
            return None;
        }
        self.at += 1;
        let mut text = String::new();
        // Line breaks that count only if something follows them.
        let mut breaks = 0;
        while let Some(line) = self.line_at(self.at) {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            if spaces < indent && spaces < line.len() {
                break;
            }
            // The added line break of a text without one is the long way's business.
            let next = self.at + line.len() + 1;
            if next > self.text.len() {
                return None;
            }
            if let Some(content) = line.get(indent..).filter(|it| !it.is_empty()) {
                if !is_literal && (content.starts_with(' ') || breaks > 1) {
                    return None;
                }
                match (is_literal, text.is_empty()) {
                    (false, false) => text.push(' '),
                    _ => text.extend(std::iter::repeat_n('\n', breaks)),
                }
                text.push_str(content);
                breaks = 0;
            }
            breaks += 1;
            self.at = next;
        }
        match chomping {
            Some(b'-') => {}
            Some(_) => text.extend(std::iter::repeat_n('\n', breaks)),
            None => text.push('\n'),
        }
        self.seek();
        Some(Value::String(text))
    }

    pub(super) fn line_at(&self, start: usize) -> Option<&'t str> {
        let rest = self.text.get(start..).filter(|it| !it.is_empty())?;
        Some(rest.split_once('\n').map_or(rest, |(line, _)| line))
    }

    /// A text in double quotes, on one line, with the usual escapes.
    pub(super) fn double_quoted(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let length = rest.bytes().position(|it| matches!(it, b'"' | b'\\' | b'\n'))?;
            text.push_str(&rest[..length]);
            self.at += length + 1;
            match rest.as_bytes()[length] {
                b'"' => return Some(text),
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
    }

    pub(super) fn escape(&mut self) -> Option<char> {
        let sign = self.byte()?;
        self.at += 1;
        Some(match sign {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'"' => '"',
            b'\\' => '\\',
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
                self.at += 4;
                let code = is_hex.then(|| u32::from_str_radix(digits, 16).ok())??;
                char::from_u32(code)?
            }
            _ => return None,
        })
    }

    /// A text in single quotes, on one line.
    pub(super) fn single_quoted(&mut self) -> Option<String> {
        let line = self.line_at(self.at)?;
        let end = self.at + line.len();
        let text = self.single_quoted_lines()?;
        (self.at <= end).then_some(text)
    }

    /// A text in single quotes; where a line breaks, words are joined by a space.
    pub(super) fn single_quoted_lines(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let length = rest.bytes().position(|it| matches!(it, b'\'' | b'\n'))?;
            let part = &rest[..length];
            self.at += length;
            if rest.as_bytes()[length] == b'\n' {
                text.push_str(part.trim_end_matches(' '));
                let (start, breaks, indent) = self.next_full_line();
                // Markers of documents stand at the beginning of a line.
                if indent == 0 {
                    return None;
                }
                push_fold(&mut text, breaks);
                (self.at, self.line) = (start, start - indent);
                continue;
            }
            text.push_str(part);
            self.at += 1;
            if self.byte() != Some(b'\'') {
                return Some(text);
            }
            text.push('\'');
            self.at += 1;
        }
    }
}

/// A line break between words is a space; further ones are kept.
fn push_fold(text: &mut String, breaks: usize) {
    match breaks {
        1 => text.push(' '),
        _ => text.extend(std::iter::repeat_n('\n', breaks - 1)),
    }
}
