//! The short way for plain YAML: block mappings and lists with simple scalars, as manifests and
//! values files are written.
//!
//! [`document`] reads a text only where it is certain what the long way (`load`) would give, and
//! gives up otherwise; it never refuses. It saves most of the time that reading takes. Left to the
//! long way are: anchors, aliases, tags, folded and continued scalars, several documents, keys that
//! are no text, rare escapes, flow collections of several lines, and everything that is wrong.
//!
//! Every function returns `None` for "not certain".

use serde_json::{Map, Value};

use super::Limits;
use super::load::value as scalar_value;
use super::resolve::{Scalar, plain_scalar};

/// YAML refuses keys from 1024 bytes on.
const MAX_KEY_BYTES: usize = 1000;

/// Deeper than what people write, and easy on the stack.
const MAX_DEPTH: usize = 60;

/// The only document of `text`, if it is plain. With `keep`, only these keys of its outermost mapping
/// have their value; the others are read as carefully, and null.
pub(super) fn document<'t>(
    text: &'t str,
    limits: Limits,
    keep: Option<&'t [&'t str]>,
) -> Option<Value> {
    if !has_plain_characters(text) {
        return None;
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        line: None,
        depth_left: limits.max_depth.min(MAX_DEPTH),
        values_left: limits.max_values,
        keep,
        skips: false,
    };
    reader.advance()?;
    let first = reader.line?;
    let root = reader.block(first.indent)?;
    reader.line.is_none().then_some(root)
}

/// Whether nothing in the text is a line break of another kind, a mark or unprintable.
fn has_plain_characters(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    text.as_bytes().iter().all(is_plain)
        || text.chars().all(|character| {
            matches!(character, ' '..='~' | '\n' | '\t' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}')
        })
}

/// A line that is neither blank nor a comment. In a list the text after the dash counts as one.
#[derive(Clone, Copy)]
struct Line {
    indent: usize,
    /// Where its text begins.
    start: usize,
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// How far the text is read.
    at: usize,
    /// The line that comes next.
    line: Option<Line>,
    depth_left: usize,
    values_left: usize,
    /// Which keys of the next mapping count, if not all.
    keep: Option<&'t [&'t str]>,
    /// Whether nobody wants the value that is read.
    skips: bool,
}

impl<'t> Reader<'t> {
    /// Finds the next line; `at` stands at the beginning of one.
    fn advance(&mut self) -> Option<()> {
        loop {
            let indent = self.count_spaces(self.at);
            let start = self.at + indent;
            match self.bytes.get(start) {
                None => {
                    self.line = None;
                    return Some(());
                }
                Some(b'\n') => self.at = start + 1,
                Some(b'#') => self.skip_line(start),
                Some(b'\t') => return None,
                Some(first) => {
                    let rest = &self.bytes[start..];
                    let is_marker = rest.starts_with(b"---") || rest.starts_with(b"...");
                    if indent == 0 && (is_marker || *first == b'%') {
                        return None;
                    }
                    self.line = Some(Line { indent, start });
                    return Some(());
                }
            }
        }
    }

    fn count_spaces(&self, from: usize) -> usize {
        self.bytes[from..].iter().take_while(|byte| **byte == b' ').count()
    }

    fn skip_line(&mut self, from: usize) {
        let rest = &self.bytes[from..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.bytes.len(), |end| from + end + 1);
    }

    fn is_blank_or_end(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), None | Some(b' ' | b'\n'))
    }

    fn is_dash(&self, at: usize) -> bool {
        self.bytes.get(at) == Some(&b'-') && self.is_blank_or_end(at + 1)
    }

    /// The mapping or list whose first line comes next.
    fn block(&mut self, indent: usize) -> Option<Value> {
        self.depth_left = self.depth_left.checked_sub(1)?;
        let is_list = self.line.is_some_and(|line| self.is_dash(line.start));
        let value = if is_list { self.list(indent) } else { self.mapping(indent) };
        self.depth_left += 1;
        value
    }

    fn count(&mut self) -> Option<()> {
        self.values_left = self.values_left.checked_sub(1)?;
        Some(())
    }

    fn mapping(&mut self, indent: usize) -> Option<Value> {
        self.count()?;
        let mut entries = Map::new();
        let keep = self.keep.take();
        while let Some(line) = self.line {
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                return None;
            }
            let (key, colon) = self.key(line.start)?;
            self.count()?;
            self.at = colon + 1;
            let skips_all = self.skips;
            self.skips |= keep.is_some_and(|keep| !keep.contains(&key));
            let value = self.value(indent, Parent::Mapping)?;
            self.skips = skips_all;
            if !skips_all {
                entries.insert(key.to_owned(), value);
            }
        }
        Some(if self.skips { Value::Null } else { Value::Object(entries) })
    }

    fn list(&mut self, indent: usize) -> Option<Value> {
        self.count()?;
        self.keep = None;
        let mut items = Vec::new();
        while let Some(line) = self.line {
            if line.indent < indent || !self.is_dash(line.start) {
                break;
            }
            if line.indent > indent {
                return None;
            }
            self.at = line.start + 1;
            let blanks = self.count_spaces(self.at);
            let start = self.at + blanks;
            if self.is_dash(start) || self.key(start).is_some() {
                let indent = indent + 1 + blanks;
                self.line = Some(Line { indent, start });
                let item = self.block(indent)?;
                self.add(&mut items, item);
            } else {
                let item = self.value(indent, Parent::List)?;
                self.add(&mut items, item);
            }
        }
        Some(if self.skips { Value::Null } else { Value::Array(items) })
    }

    fn add(&self, items: &mut Vec<Value>, item: Value) {
        if !self.skips {
            items.push(item);
        }
    }

    /// The key that begins here, and where its colon is.
    fn key(&self, start: usize) -> Option<(&'t str, usize)> {
        let (key, end) = match self.bytes.get(start)? {
            b'"' => {
                let length = self.bytes[start + 1..]
                    .iter()
                    .position(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\t'))?;
                let end = start + 1 + length;
                if self.bytes[end] != b'"' {
                    return None;
                }
                (&self.text[start + 1..end], end + 1)
            }
            _ => {
                let end = start + self.word(start);
                let key = &self.text[start..end];
                if key.is_empty() || key.starts_with('-') || plain_scalar(key) != Scalar::Text {
                    return None;
                }
                (key, end)
            }
        };
        let has_colon = self.bytes.get(end) == Some(&b':') && self.is_blank_or_end(end + 1);
        (has_colon && key.len() <= MAX_KEY_BYTES).then_some((key, end))
    }

    /// How many characters that are never a sign follow.
    fn word(&self, start: usize) -> usize {
        let is_word =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
        self.bytes[start..].iter().take_while(is_word).count()
    }

    /// What follows a colon or a dash, which `at` has passed.
    fn value(&mut self, indent: usize, parent: Parent) -> Option<Value> {
        let start = self.at + self.count_spaces(self.at);
        match self.bytes.get(start) {
            None | Some(b'\n') => {
                self.at = (start + 1).min(self.bytes.len());
                self.advance()?;
                self.value_below(indent, parent)
            }
            Some(b'#') if start > self.at => {
                self.skip_line(start);
                self.advance()?;
                self.value_below(indent, parent)
            }
            Some(b'|') => self.literal(start + 1, indent),
            Some(b'{' | b'[') => {
                let (value, end) = self.flow(start)?;
                self.end_scalar(end, indent)?;
                Some(value)
            }
            Some(b'"' | b'\'') => {
                self.count()?;
                let (text, end) = self.quoted(start)?;
                self.end_scalar(end, indent)?;
                Some(Value::String(text))
            }
            Some(_) => self.plain(start, indent),
        }
    }

    /// What stands on the lines below a key or a dash.
    fn value_below(&mut self, indent: usize, parent: Parent) -> Option<Value> {
        match self.line {
            Some(line) if line.indent > indent => self.block(line.indent),
            // The items of a list may stand right below their key.
            Some(line)
                if line.indent == indent
                    && parent == Parent::Mapping
                    && self.is_dash(line.start) =>
            {
                self.block(indent)
            }
            _ => {
                self.count()?;
                Some(Value::Null)
            }
        }
    }

    /// Nothing but a comment may follow a scalar, and no deeper line continue it.
    fn end_scalar(&mut self, end: usize, indent: usize) -> Option<()> {
        let start = end + self.count_spaces(end);
        match self.bytes.get(start) {
            None => self.at = start,
            Some(b'\n') => self.at = start + 1,
            Some(b'#') if start > end => self.skip_line(start),
            Some(_) => return None,
        }
        self.advance()?;
        self.line.is_none_or(|line| line.indent <= indent).then_some(())
    }

    fn plain(&mut self, start: usize, indent: usize) -> Option<Value> {
        self.count()?;
        let is_plain_start = match self.bytes[start] {
            b'-' => !self.is_blank_or_end(start + 1),
            first => first.is_ascii_alphanumeric() || b"_./$(+^~".contains(&first),
        };
        if !is_plain_start {
            return None;
        }
        let mut end = start;
        let mut at = start;
        loop {
            match self.bytes.get(at) {
                None | Some(b'\n') => break,
                Some(b'\t') => return None,
                Some(b':') if self.is_blank_or_end(at + 1) => return None,
                Some(b'#') if self.bytes[at - 1] == b' ' => break,
                Some(b' ') => at += 1,
                Some(_) => {
                    at += 1;
                    end = at;
                }
            }
        }
        let text = &self.text[start..end];
        let value = self.scalar(text)?;
        self.end_scalar(end, indent)?;
        Some(value)
    }

    /// The text between quotes on one line, and where it ends.
    fn quoted(&self, start: usize) -> Option<(String, usize)> {
        let quote = self.bytes[start];
        let mut text = String::new();
        // What nobody wants is walked through all the same: it must be well-formed.
        let piece = |from: usize, to: usize| if self.skips { "" } else { &self.text[from..to] };
        let mut copied = start + 1;
        let mut at = copied;
        loop {
            match *self.bytes.get(at)? {
                b'\n' | b'\t' => return None,
                b'\'' if quote == b'\'' && self.bytes.get(at + 1) == Some(&b'\'') => {
                    text.push_str(piece(copied, at + 1));
                    at += 2;
                    copied = at;
                }
                b'\\' if quote == b'"' => {
                    text.push_str(piece(copied, at));
                    text.push(match self.bytes.get(at + 1)? {
                        b'n' => '\n',
                        b't' => '\t',
                        b'"' => '"',
                        b'\\' => '\\',
                        _ => return None,
                    });
                    at += 2;
                    copied = at;
                }
                byte if byte == quote => {
                    text.push_str(piece(copied, at));
                    return Some((text, at + 1));
                }
                _ => at += 1,
            }
        }
    }

    /// A block scalar after its `|`, of lines that begin at once and end in a line break.
    fn literal(&mut self, header: usize, indent: usize) -> Option<Value> {
        self.count()?;
        let strips = self.bytes.get(header) == Some(&b'-');
        let header_end = header + usize::from(strips);
        let line_end = header_end + self.count_spaces(header_end);
        if self.bytes.get(line_end) != Some(&b'\n') {
            return None;
        }
        let mut at = line_end + 1;
        let margin = self.count_spaces(at);
        let begins_at_once =
            margin > indent && !matches!(self.bytes.get(at + margin), None | Some(b'\n' | b'\t'));
        if !begins_at_once {
            return None;
        }
        let mut text = String::new();
        let mut breaks = 0;
        while at < self.bytes.len() {
            let spaces = self.count_spaces(at).min(margin);
            let start = at + spaces;
            match self.bytes.get(start) {
                None => break,
                Some(b'\n') => {
                    breaks += 1;
                    at = start + 1;
                }
                Some(b'\t') if spaces < margin => return None,
                Some(_) if spaces < margin => break,
                Some(_) => {
                    let length = self.bytes[start..].iter().position(|byte| *byte == b'\n')?;
                    if !self.skips {
                        text.extend(std::iter::repeat_n('\n', breaks));
                        text.push_str(&self.text[start..start + length]);
                    }
                    breaks = 1;
                    at = start + length + 1;
                }
            }
        }
        if !strips {
            text.push('\n');
        }
        self.at = at;
        self.advance()?;
        self.line.is_none_or(|line| line.indent <= indent).then_some(Value::String(text))
    }

    /// A collection in brackets on one line, and where it ends.
    fn flow(&mut self, start: usize) -> Option<(Value, usize)> {
        self.depth_left = self.depth_left.checked_sub(1)?;
        self.count()?;
        let is_list = self.bytes[start] == b'[';
        let close = if is_list { b']' } else { b'}' };
        let (mut items, mut entries) = (Vec::new(), Map::new());
        let mut at = start + 1 + self.count_spaces(start + 1);
        if self.bytes.get(at) != Some(&close) {
            loop {
                if is_list {
                    let (item, end) = self.flow_value(at)?;
                    items.push(item);
                    at = end;
                } else {
                    let (key, colon) = self.key(at)?;
                    self.count()?;
                    let (value, end) = self.flow_value(colon + 1 + self.count_spaces(colon + 1))?;
                    entries.insert(key.to_owned(), value);
                    at = end;
                }
                at += self.count_spaces(at);
                match self.bytes.get(at) {
                    Some(b',') if self.bytes.get(at + 1) == Some(&b' ') => {
                        at += 1 + self.count_spaces(at + 1);
                    }
                    Some(found) if *found == close => break,
                    _ => return None,
                }
            }
        }
        self.depth_left += 1;
        let value = if is_list { Value::Array(items) } else { Value::Object(entries) };
        Some((value, at + 1))
    }

    fn flow_value(&mut self, start: usize) -> Option<(Value, usize)> {
        match self.bytes.get(start)? {
            b'{' | b'[' => self.flow(start),
            b'"' | b'\'' => {
                self.count()?;
                let (text, end) = self.quoted(start)?;
                Some((Value::String(text), end))
            }
            _ => {
                self.count()?;
                let end = start + self.word(start);
                let text = &self.text[start..end];
                if text.is_empty() || text.starts_with('-') {
                    return None;
                }
                Some((self.scalar(text)?, end))
            }
        }
    }

    fn scalar(&self, text: &str) -> Option<Value> {
        match plain_scalar(text) {
            Scalar::Text if self.skips => Some(Value::Null),
            Scalar::Text => Some(Value::String(text.to_owned())),
            scalar => scalar_value(scalar, String::new()).ok(),
        }
    }
}

/// What a value stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    Mapping,
    List,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::load::{DuplicateKeys, first_document};
    use super::*;

    /// Both ways say the same, where the short one says anything.
    #[track_caller]
    fn agree(text: &str) -> bool {
        let Some(short) = document(text, Limits::default(), None) else { return false };
        let long = first_document(text, DuplicateKeys::LastWins, Limits::default());
        assert_eq!(long.as_ref(), Ok(&short), "{text}");
        let kept = document(text, Limits::default(), Some(&["a", "data"])).expect("as certain");
        for key in ["a", "data"] {
            assert_eq!(kept.get(key), short.get(key), "{text}");
        }
        true
    }

    #[test]
    fn a_manifest_goes_the_short_way() {
        let texts = [
            "apiVersion: v1\nkind: Service # one\nmetadata:\n  name: a\n  labels: {a: b, c: \"d\"}\n",
            "spec:\n- a: 1\n  b: [x, 'it''s', 2.5]\n-   - deep\n    - er\n-\n  c: ~\nlast:\n",
            "data:\n  x: |\n    one\n      two\n\n    three\t#\n  # aside\n  w: |-\n    end\n\n\nz: on\n",
            "  indented: yes\n  \"quoted\": \"a\\n\\\"b\\\"\"\n  umlaut: grün\n",
            "- -1\n- 0x10\n- .5\n- a:b#c\n- http://x/?q=1\n- 1e3\n- 12:30\n",
            "a: {}\nb: []\nc: [{d: [e]}, {f: -}]\n",
        ];
        let went: Vec<bool> = texts.iter().map(|text| agree(text)).collect();
        assert_eq!(went, [true, true, true, true, true, false]);
    }

    #[test]
    fn what_is_not_certain_goes_the_long_way() {
        let texts = [
            "",
            "# only\n",
            "a",
            "---\na: 1\n",
            "a: 1\n...\n",
            "a: &x 1\n",
            "a: *x\n",
            "a: !!str 1\n",
            "a: >\n  b\n",
            "a: b\n  c\n",
            "a: \"b\n  c\"\n",
            "a: |\n  b",
            "a: |+\n  b\n",
            "a: |2\n  b\n",
            "a: |\n\n  b\n",
            "a:\tb\n",
            "a: b: c\n",
            "1: a\n",
            "yes: a\n",
            "<<: {a: b}\n",
            "? a\n: b\n",
            "a: \"\\u0041\"\n",
            "a: [b,\n c]\n",
            "a: {b}\n",
            "a: 1\n b: 2\n",
            "a:\n  b: 1\n c: 2\n",
            "- a\nb: c\n",
            "a: [b, ]\n",
            "a: 'b' c\n",
            "a: b\r\n",
            "\u{feff}a: b\n",
            "a: @b\n",
        ];
        for text in texts {
            assert_eq!(document(text, Limits::default(), None), None, "{text:?}");
        }
    }

    #[test]
    fn limits_are_left_to_the_long_way() {
        let few = Limits { max_values: 2, ..Limits::default() };
        assert_eq!(document("a: [1, 2, 3]\n", few, None), None);
        let flat = Limits { max_depth: 1, ..Limits::default() };
        assert_eq!(document("a: [1]\n", flat, None), None);
        let deep = format!("a: {}{}\n", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(document(&deep, Limits::default(), None), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn both_ways_agree_on_anything_made_of_pieces_of_yaml(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 1..24)
        ) {
            agree(&pieces.concat());
            agree(&format!("{}\n", pieces.concat()));
        }

        #[test]
        fn both_ways_agree_on_lines_that_look_like_manifests(
            lines in prop::collection::vec(
                (0usize..5, prop::sample::select(STARTS), prop::sample::select(ENDS)), 1..10
            )
        ) {
            let text: String = lines
                .iter()
                .map(|(indent, start, end)| format!("{}{start}{end}\n", " ".repeat(*indent)))
                .collect();
            agree(&text);
        }
    }

    const PIECES: &[&str] = &[
        "\n", "\n", "\n", " ", " ", "  ", "a", "b", "key", ":", ": ", ":\n", "- ", "-", "-\n", "|",
        "|-", "|\n", "|\n  ", "\"", "'", "''", "\\n", "\\", "{", "}", "[", "]", ",", ", ", "#",
        " # c", "1", "-1", "1.5", "true", "no", "~", "null", "0x1f", "&a ", "*a", "!t ", "<<", "?",
        "%", "---", "...", "\t", ">", "é", "\u{85}", "\u{2028}", "=", "@", "a: b\n", "  c: d\n",
        "- e\n", "  - f\n",
    ];

    const STARTS: &[&str] =
        &["", "a: ", "b: ", "\"c\": ", "- ", "- d: ", "- - ", "key:", "# ", "-", "e:f: "];

    const ENDS: &[&str] = &[
        "",
        "x",
        "|",
        "|-",
        "| ",
        "\"q\"",
        "'s'",
        "{g: h}",
        "[i, j]",
        "{}",
        "[ ]",
        "# c",
        " # c",
        "k: l",
        "on",
        "-1",
        "- m",
        "1_000",
        "[n, {o: \"p\"}] # c",
        "\\",
        "x y: z",
        "{q: r, s: t }",
        "x#y #z",
        "  ",
    ];
}
