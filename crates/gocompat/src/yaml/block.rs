//! The short way for YAML as manifests are written.
//!
//! Mappings and lists by indentation, plain and quoted scalars, literal blocks,
//! flow collections of simple things on one line. [`document`] reads a text that
//! consists of nothing else, or says nothing, and the parser decides. So it never
//! refuses a text and knows no error; what it must do is give exactly what the
//! long way gives wherever it gives anything, which a law below and the fuzz
//! target `yaml` hold it to.

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

    fn text_value(&mut self, read: impl Fn(&mut Self) -> Option<String>) -> Option<Value> {
        self.count()?;
        read(self).map(Value::String)
    }

    /// A plain scalar, and the lines below that continue it.
    fn plain(&mut self, column: usize) -> Option<Value> {
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
    fn plain_line(&mut self) -> Option<(&'t str, bool)> {
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
    fn next_full_line(&self) -> (usize, usize, usize) {
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
    fn block_scalar(&mut self, column: usize) -> Option<Value> {
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

    fn line_at(&self, start: usize) -> Option<&'t str> {
        let rest = self.text.get(start..).filter(|it| !it.is_empty())?;
        Some(rest.split_once('\n').map_or(rest, |(line, _)| line))
    }

    /// `[…]` or `{…}` on one line.
    fn flow(&mut self, depth: usize) -> Option<Value> {
        if depth >= self.max_depth {
            return None;
        }
        self.count()?;
        let is_list = self.byte() == Some(b'[');
        let close = if is_list { b']' } else { b'}' };
        self.at += 1;
        self.skip_spaces();
        let (mut items, mut entries) = (Vec::new(), Map::new());
        while self.byte()? != close {
            if is_list {
                items.push(self.flow_value(depth)?);
            } else {
                let key = self.flow_key()?;
                let value = self.flow_value(depth)?;
                self.insert(&mut entries, key, value)?;
            }
            self.skip_spaces();
            match self.byte()? {
                b',' => {
                    self.at += 1;
                    self.skip_spaces();
                    // What a comma at the end means is not for us to say.
                    if self.byte() == Some(close) {
                        return None;
                    }
                }
                byte if byte == close => {}
                _ => return None,
            }
        }
        self.at += 1;
        Some(if is_list { Value::Array(items) } else { Value::Object(entries) })
    }

    fn flow_value(&mut self, depth: usize) -> Option<Value> {
        match self.byte()? {
            b'[' | b'{' => self.flow(depth + 1),
            b'"' => self.text_value(Self::double_quoted),
            b'\'' => self.text_value(Self::single_quoted),
            _ => {
                self.count()?;
                plain_value(self.flow_word()?)
            }
        }
    }

    fn flow_key(&mut self) -> Option<String> {
        self.count()?;
        let key = match self.byte()? {
            b'"' => self.double_quoted()?,
            b'\'' => self.single_quoted()?,
            _ => plain_key(self.flow_word()?)?,
        };
        if !self.text[self.at..].starts_with(": ") || key.len() > MAX_KEY_BYTES {
            return None;
        }
        self.at += 1;
        self.skip_spaces();
        Some(key)
    }

    /// A plain scalar of letters, digits and a few signs.
    fn flow_word(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        let is_part =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
        let length = rest.bytes().take_while(|byte| is_part(*byte)).count();
        let word = &rest[..length];
        self.at += length;
        (length > 0 && !matches!(word, "-" | "--" | "---")).then_some(word)
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

    /// A text in double quotes, on one line, with the usual escapes.
    fn double_quoted(&mut self) -> Option<String> {
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

    fn escape(&mut self) -> Option<char> {
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
    fn single_quoted(&mut self) -> Option<String> {
        let line = self.line_at(self.at)?;
        let end = self.at + line.len();
        let text = self.single_quoted_lines()?;
        (self.at <= end).then_some(text)
    }

    /// A text in single quotes; where a line breaks, words are joined by a space.
    fn single_quoted_lines(&mut self) -> Option<String> {
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

/// A line break between words is a space; further ones are kept.
fn push_fold(text: &mut String, breaks: usize) {
    match breaks {
        1 => text.push(' '),
        _ => text.extend(std::iter::repeat_n('\n', breaks - 1)),
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
        scalar => key(libyaml_safer::Mark::default(), scalar, String::new()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::load::first_document;
    use super::*;

    fn both(text: &str, duplicate_keys: DuplicateKeys) -> (Option<Value>, Option<Value>) {
        let limits = Limits::default();
        let long = first_document(text, duplicate_keys, limits).ok();
        (document(text, duplicate_keys, limits), long)
    }

    /// The short way reads it, and as the long way does.
    #[track_caller]
    fn check(text: &str) {
        let (short, long) = both(text, DuplicateKeys::Refused);
        assert!(short.is_some(), "takes the long way: {text:?}");
        assert_eq!(short, long, "{text:?}");
    }

    /// The parser decides.
    #[track_caller]
    fn check_long(text: &str) {
        assert_eq!(both(text, DuplicateKeys::LastWins).0, None, "{text:?}");
    }

    #[test]
    fn manifests_take_the_short_way() {
        check(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web # ours\ndata:\n  a: \"1\"\n",
        );
        check("---\n# a comment\nspec:\n  ports:\n  - port: 80\n    name: http\n  - port: 443\n");
        check("-");
        check("a:\n  - - 1\n    - 2\n  -\n    b: yes\n  - c:\n      - ~\nd:\ne: -1\n");
        check(
            "command: [\"sh\", '-c', run]\nselector: {app: web, tier: {a: 1}}\nempty: []\nnone: {}\n",
        );
        check("image: registry.example/web:1.2@sha256:00\nurl: http://x/#y\ncron: '*/5 * * * *'\n");
    }

    #[test]
    fn scalars_of_several_lines_take_the_short_way() {
        check("a: |\n  one\n\n    two\n  # three\n\n\nb: |-\n  x\nc: |+\n  y\n\n");
        check("a: >-\n  one\n  two\nb: >\n  three\n");
        check("a: one\n  two # three\nb: one\n\n\n  two\n");
        check("a: 'one\n  it''s\n\n  two'\nb: \"x\\n\\u00e9\\\"\"\n");
        check("- a\n  b\n- |\n c\n");
    }

    #[test]
    fn keys_are_what_they_are_the_long_way() {
        check("1: a\ntrue: b\n\"x y\": c\n'z': d\n1.5: e\nan key: f\nhttp://x: g\n");
    }

    #[test]
    fn what_needs_a_parser_takes_the_long_way() {
        for text in [
            "",
            "# nothing\n",
            "text\n",
            "[a]\n",
            "a: &x 1\nb: *x\n",
            "a: !!str 1\n",
            "<<: {a: 1}\n",
            "? a\n: b\n",
            "a: b: c\n",
            "a: 1\n---\nb: 2\n",
            "a: 1\n...\n",
            "%YAML 1.1\n",
            "a:\tb\n",
            "a: |2\n  x\n",
            "a: [b,\n c]\n",
            "a: \"b\n  c\"\n",
            "a: 'b\nc'\n",
            "a: |\n  no end",
            "~: 1\n",
            "a: 1\n b: 2\n",
            "a: 1\n- b\n",
            "- a\nb: 1\n",
            "a: \"\\/\"\n",
            "a: \"x\"y\n",
            " a: 1\n",
            "a : 1\n",
            "a: \u{2028}\n",
            "a: \u{85}\n",
            "\u{feff}a: 1\n",
            "a: - b\n",
            "a: [b,]\n",
            "a: {b}\n",
            "a: .inf\n",
            "a: {b",
            "a: [b",
            "a: {\"b\"",
            "\"a\"",
            "'a'",
            "a: '",
            "a: \"",
            "a: |",
            "a: >-",
        ] {
            check_long(text);
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_left_to_the_long_way_where_it_is_refused() {
        let text = "a: 1\na: 2\n";
        let (short, long) = both(text, DuplicateKeys::LastWins);
        assert_eq!(short, long);
        assert_eq!(both(text, DuplicateKeys::Refused), (None, None));
    }

    #[test]
    fn limits_hold() {
        let deep = (0..120).fold(String::new(), |it, depth| it + &" ".repeat(depth) + "a:\n");
        check_long(&deep);
        let limits = Limits { max_values: 4, ..Limits::default() };
        let read = |text: &str| document(text, DuplicateKeys::LastWins, limits);
        assert!(read("a: [1]\n").is_some() && read("a: [1, 2]\n").is_none());
        assert!(first_document("a: [1]\n", DuplicateKeys::LastWins, limits).is_ok());
        assert!(first_document("a: [1, 2]\n", DuplicateKeys::LastWins, limits).is_err());
    }

    /// Texts put together from what manifests consist of, most of them odd.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "b",
            "key: ",
            "key:",
            "- ",
            "-",
            "\n",
            "\n",
            "\n  ",
            "\n    ",
            "\n  - ",
            "\n- ",
            " ",
            "  ",
            ": ",
            ":",
            "#",
            " # c",
            "|",
            "|-",
            "|+",
            ">",
            ">-",
            "|\n  ",
            "'",
            "\"",
            "''",
            "[",
            "]",
            "{",
            "}",
            ", ",
            ",",
            "1",
            "-1",
            "0x1f",
            "1.50",
            "yes",
            "null",
            "~",
            "<<",
            "<<: ",
            "&x ",
            "*x",
            "!t ",
            "%",
            "@",
            "`",
            "?",
            "? ",
            "---",
            "...",
            "\\n",
            "\\u0041",
            "\\",
            "é",
            "\u{a0}",
            "\u{85}",
            "\t",
            "\r\n",
            "a: b\n",
            "  c: d\n",
            "- e: f\n",
            "  g: 'h'\n",
            "i: [j, k]\n",
            "l: {m: n}\n",
            "{a",
            "{\"a\"",
            "['a'",
            "x:\n",
            "    y\n",
            "\n\n",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    /// Texts that are nearly manifests.
    fn manifest() -> impl Strategy<Value = String> {
        let scalar = prop::sample::select(vec![
            "a",
            "a b",
            "1",
            "'x'",
            "\"y\"",
            "|\n      t\n     u\n",
            "|-\n        t\n\n        u",
            "",
            "[p, q]",
            "{r: s}",
            ">\n        v\n        w",
            "a\n        b",
            "a # c",
            "\"\\\"\"",
            "'\n       '",
            "|+\n\n        z\n\n",
        ]);
        let line = (
            0..5usize,
            prop::bool::ANY,
            prop::sample::select(vec!["k", "l", "m n", "\"o\"", "1"]),
            scalar,
        )
            .prop_map(|(depth, dash, key, scalar)| {
                let dash = if dash { "- " } else { "" };
                format!("{}{dash}{key}: {scalar}\n", "  ".repeat(depth))
            });
        prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn the_short_way_gives_what_the_long_way_gives(text in prop_oneof![text(), manifest()]) {
            for duplicate_keys in [DuplicateKeys::LastWins, DuplicateKeys::Refused] {
                let (short, long) = both(&text, duplicate_keys);
                if short.is_some() {
                    prop_assert_eq!(short, long);
                }
            }
        }
    }
}
