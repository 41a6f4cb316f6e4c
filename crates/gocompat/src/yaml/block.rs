//! The short way for YAML as manifests are written.
//!
//! Mappings and lists by indentation, plain and quoted scalars, literal blocks,
//! flow collections of simple things on one line. [`document`] reads a text that
//! consists of nothing else, or says nothing, and the parser decides. So it never
//! refuses a text and knows no error; what it must do is give exactly what the
//! long way gives wherever it gives anything, which a law in the tests and the
//! fuzz target `yaml` hold it to. Scalars and flow collections have files of their
//! own.

mod flow;
mod scalars;

use serde_json::{Map, Value};

use super::Limits;
use super::load::{DuplicateKeys, key, value};
use super::resolve::{Scalar, plain_scalar};

/// Deeper texts go the long way, which does not recurse.
const MAX_DEPTH: usize = 100;

/// The parser refuses keys from 1024 bytes on.
const MAX_KEY_BYTES: usize = 1000;

/// Characters that mean something at the beginning of a scalar.
const INDICATORS: &[u8] = b"-?:,[]{}#&*!|>'\"%@`";

/// Reads `text` if it is certain to be read alike the long way.
pub(super) fn document(text: &str, duplicate_keys: DuplicateKeys, limits: Limits) -> Option<Value> {
    let text = text.strip_prefix("---\n").unwrap_or(text);
    if !has_plain_characters(text.as_bytes()) {
        return None;
    }
    let mut reader = Reader {
        text,
        at: 0,
        line: 0,
        indent: None,
        duplicate_keys,
        values_left: limits.max_values,
        max_depth: limits.max_depth.min(MAX_DEPTH),
    };
    reader.seek();
    let root = reader.indent.filter(|it| *it == 0)?;
    let value = reader.block(root, 0)?;
    reader.indent.is_none().then_some(value)
}

/// Nothing that the parser refuses or takes for a line break: no control
/// characters, no tabs, none of Unicode's line breaks and byte order marks.
fn has_plain_characters(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(at, byte)| match byte {
        b'\n' | b' '..=b'~' => true,
        0xC2 => text.get(at + 1).is_some_and(|it| *it >= 0xA0),
        0xE2 => !matches!(text.get(at + 1..at + 3), Some([0x80, 0xA8 | 0xA9])),
        0xEF => !matches!(text.get(at + 1..at + 3), Some([0xBB, 0xBF] | [0xBF, 0xBE | 0xBF])),
        byte => *byte >= 0x80,
    })
}

/// Every function below says nothing where the long way has to decide.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Where the line of `at` begins.
    line: usize,
    /// The indentation of the line that `seek` found; none at the end of the text.
    indent: Option<usize>,
    duplicate_keys: DuplicateKeys,
    values_left: usize,
    max_depth: usize,
}

/// What holds the value that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Mapping,
    Sequence,
}

impl<'t> Reader<'t> {
    /// The collection that begins here, at `column`.
    fn block(&mut self, column: usize, depth: usize) -> Option<Value> {
        if depth >= self.max_depth {
            return None;
        }
        self.count()?;
        if self.is_dash() { self.sequence(column, depth) } else { self.mapping(column, depth) }
    }

    fn mapping(&mut self, column: usize, depth: usize) -> Option<Value> {
        let mut entries = Map::new();
        loop {
            let key = self.block_key()?;
            let value = self.value(column, Holder::Mapping, depth)?;
            self.insert(&mut entries, key, value)?;
            match self.indent {
                Some(indent) if indent == column && !self.is_dash() => {}
                Some(indent) if indent >= column => return None,
                _ => return Some(Value::Object(entries)),
            }
        }
    }

    fn sequence(&mut self, column: usize, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            self.at += 1;
            items.push(self.value(column, Holder::Sequence, depth)?);
            match self.indent {
                Some(indent) if indent == column && self.is_dash() => {}
                Some(indent) if indent > column => return None,
                _ => return Some(Value::Array(items)),
            }
        }
    }

    /// What follows the colon or dash of a collection at `column`; ends at the
    /// content of the next line.
    fn value(&mut self, column: usize, holder: Holder, depth: usize) -> Option<Value> {
        let follows_space = self.skip_spaces() > 0;
        let value = match self.byte() {
            None | Some(b'\n') => return self.value_below(column, holder, depth),
            Some(b'#') if follows_space => return self.value_below(column, holder, depth),
            Some(_) if holder == Holder::Sequence && (self.is_dash() || self.is_at_key()) => {
                return self.block(self.at - self.line, depth + 1);
            }
            Some(b'|' | b'>') => return self.block_scalar(column),
            Some(b'[' | b'{') => self.flow(depth + 1)?,
            Some(b'"') => self.text_value(Self::double_quoted)?,
            Some(b'\'') => self.text_value(Self::single_quoted_lines)?,
            Some(b'-') if self.is_dash() => return None,
            Some(b'-') => return self.plain(column),
            Some(byte) if INDICATORS.contains(&byte) => return None,
            Some(_) => return self.plain(column),
        };
        self.end_line()?;
        Some(value)
    }

    /// The value on the lines below, if they are indented enough to be one.
    fn value_below(&mut self, column: usize, holder: Holder, depth: usize) -> Option<Value> {
        self.seek_next_line();
        match self.indent {
            Some(indent) if indent > column => self.block(indent, depth + 1),
            // A list may stand right below its key.
            Some(indent) if indent == column && holder == Holder::Mapping && self.is_dash() => {
                self.block(indent, depth + 1)
            }
            _ => {
                self.count()?;
                Some(Value::Null)
            }
        }
    }

    /// A key at the beginning of a block mapping's entry, with its colon.
    fn block_key(&mut self) -> Option<String> {
        self.count()?;
        let key = match self.byte()? {
            b'"' => self.double_quoted()?,
            b'\'' => self.single_quoted()?,
            _ => {
                let end = self.end_of_plain_key()?;
                let text = &self.text[self.at..end];
                self.at = end;
                plain_key(text)?
            }
        };
        let follows = &self.text.as_bytes()[self.at..];
        let is_followed = matches!(follows, [b':'] | [b':', b' ' | b'\n', ..]);
        if !is_followed || key.len() > MAX_KEY_BYTES {
            return None;
        }
        self.at += 1;
        Some(key)
    }

    /// Where the colon of a plain key stands.
    fn end_of_plain_key(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let first = *bytes.get(self.at)?;
        if INDICATORS.contains(&first) || self.text[self.at..].starts_with("...") {
            return None;
        }
        let mut at = self.at;
        loop {
            match bytes.get(at)? {
                b'\n' => return None,
                b'#' if bytes[at - 1] == b' ' => return None,
                b':' if matches!(bytes.get(at + 1), None | Some(b' ' | b'\n')) => break,
                _ => at += 1,
            }
        }
        (bytes[at - 1] != b' ').then_some(at)
    }

    /// Does an item of a list begin with the key of a mapping?
    fn is_at_key(&self) -> bool {
        match self.byte() {
            Some(b'"' | b'\'') => {
                let mut ahead = Reader { duplicate_keys: self.duplicate_keys, ..*self };
                ahead.block_key().is_some()
            }
            _ => self.end_of_plain_key().is_some(),
        }
    }

    /// Only a comment may follow on this line.
    fn end_line(&mut self) -> Option<()> {
        let follows_space = self.skip_spaces() > 0;
        match self.byte() {
            None | Some(b'\n') => {}
            Some(b'#') if follows_space => {}
            Some(_) => return None,
        }
        self.seek_next_line();
        Some(())
    }

    fn seek_next_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').map_or(rest.len(), |it| it + 1);
        self.seek();
    }

    /// Goes to the next line with content, from the beginning of a line.
    fn seek(&mut self) {
        loop {
            self.line = self.at;
            let spaces = self.skip_spaces();
            match self.byte() {
                None => {
                    self.indent = None;
                    return;
                }
                Some(b'\n') => self.at += 1,
                Some(b'#') => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').map_or(rest.len(), |it| it + 1);
                }
                Some(_) => {
                    self.indent = Some(spaces);
                    return;
                }
            }
        }
    }

    fn skip_spaces(&mut self) -> usize {
        let spaces = self.text.as_bytes()[self.at..].iter().take_while(|it| **it == b' ').count();
        self.at += spaces;
        spaces
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Does an item of a list begin here?
    fn is_dash(&self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        matches!(rest, [b'-'] | [b'-', b' ' | b'\n', ..])
    }

    fn insert(&self, entries: &mut Map<String, Value>, key: String, value: Value) -> Option<()> {
        let is_second = entries.insert(key, value).is_some();
        (!is_second || self.duplicate_keys == DuplicateKeys::LastWins).then_some(())
    }

    fn count(&mut self) -> Option<()> {
        self.values_left = self.values_left.checked_sub(1)?;
        Some(())
    }
}

fn plain_value(text: &str) -> Option<Value> {
    match plain_scalar(text) {
        Scalar::Text => Some(Value::String(text.to_owned())),
        scalar => value(scalar, String::new()).ok(),
    }
}

fn plain_key(text: &str) -> Option<String> {
    match plain_scalar(text) {
        _ if text == "<<" => None,
        Scalar::Text => Some(text.to_owned()),
        scalar => key(scalar, String::new()).ok(),
    }
}

#[cfg(test)]
mod tests;
