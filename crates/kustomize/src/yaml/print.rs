//! The final text: a JSON value printed as go-yaml 2 prints it.
//!
//! Keys are sorted with numbers in them compared as numbers, sequences stand
//! at the indent of their key, and long plain or quoted text is folded after
//! column 80.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::json::number_text;
use super::scalar::{Dialect, Meaning, resolve};

const WIDTH: usize = 80;
const INDENT: usize = 2;
/// Longer keys are written with `? ` and `: `.
const SIMPLE_KEY_LIMIT: usize = 128;

/// Prints a value; the text ends with a line break.
pub(crate) fn print(value: &Value, out: &mut String) {
    let mut printer = Printer { out, column: 0, at_start: true };
    match value {
        Value::Object(map) if !map.is_empty() => printer.mapping(map, 0, Start::Line),
        Value::Array(items) if !items.is_empty() => printer.sequence(items, 0, Start::Line),
        other => printer.leaf(other, INDENT),
    }
    printer.new_line();
}

/// Where a collection begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// At the beginning of a line.
    Line,
    /// Behind `- `, on the same line.
    Item,
}

struct Printer<'o> {
    out: &'o mut String,
    /// In characters, as the width is counted.
    column: usize,
    /// Nothing of this document is written yet.
    at_start: bool,
}

impl Printer<'_> {
    fn mapping(&mut self, map: &Map<String, Value>, indent: usize, start: Start) {
        let mut entries: Vec<_> = map.iter().collect();
        entries.sort_by(|(a, _), (b, _)| compare_keys(a, b));
        for (index, (key, value)) in entries.into_iter().enumerate() {
            if index > 0 || start == Start::Line {
                self.indent(indent);
            }
            let is_simple = key.len() <= SIMPLE_KEY_LIMIT && !key.contains(is_break);
            if is_simple {
                self.string(key, indent + INDENT, Place::Key);
                self.put(":");
            } else {
                self.put("? ");
                self.string(key, indent + INDENT, Place::Value);
                self.indent(indent);
                self.put(":");
            }
            match value {
                Value::Object(map) if !map.is_empty() => {
                    if is_simple {
                        self.mapping(map, indent + INDENT, Start::Line);
                    } else {
                        self.put(" ");
                        self.mapping(map, indent + INDENT, Start::Item);
                    }
                }
                Value::Array(items) if !items.is_empty() => {
                    if is_simple {
                        self.sequence(items, indent, Start::Line);
                    } else {
                        self.put(" ");
                        self.sequence(items, indent + INDENT, Start::Item);
                    }
                }
                leaf => {
                    self.put(" ");
                    self.leaf(leaf, indent + INDENT);
                }
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize, start: Start) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || start == Start::Line {
                self.indent(indent);
            }
            self.put("- ");
            match item {
                Value::Object(map) if !map.is_empty() => {
                    self.mapping(map, indent + INDENT, Start::Item);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.sequence(items, indent + INDENT, Start::Item);
                }
                leaf => self.leaf(leaf, indent + INDENT),
            }
        }
    }

    fn leaf(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.put(&number_text(number)),
            Value::String(text) => self.string(text, indent, Place::Value),
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
        }
    }

    fn string(&mut self, text: &str, indent: usize, place: Place) {
        match string_form(text, place) {
            StringForm::Plain => self.plain(text, indent, place),
            StringForm::Single => self.single_quoted(text, indent, place),
            StringForm::Double => self.double_quoted(text, indent, place),
            StringForm::Literal => self.literal(text, indent),
        }
    }

    fn plain(&mut self, text: &str, indent: usize, place: Place) {
        let mut after_space = false;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter == ' ' {
                let folds = place == Place::Value
                    && !after_space
                    && self.column > WIDTH
                    && letters.peek() != Some(&' ');
                if folds {
                    self.indent(indent);
                } else {
                    self.put_char(' ');
                }
                after_space = true;
            } else {
                self.put_char(letter);
                after_space = false;
            }
        }
    }

    fn single_quoted(&mut self, text: &str, indent: usize, place: Place) {
        self.put("'");
        let mut after_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if letter == ' ' {
                let next_is_space = letters.peek().is_some_and(|(_, next)| *next == ' ');
                let folds = place == Place::Value
                    && !after_space
                    && self.column > WIDTH
                    && at > 0
                    && at < text.len() - 1
                    && !next_is_space;
                if folds {
                    self.indent(indent);
                } else {
                    self.put_char(' ');
                }
                after_space = true;
            } else {
                if letter == '\'' {
                    self.put_char('\'');
                }
                self.put_char(letter);
                after_space = false;
            }
        }
        self.put("'");
    }

    fn double_quoted(&mut self, text: &str, indent: usize, place: Place) {
        self.put("\"");
        let mut after_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if letter == ' ' {
                let folds = place == Place::Value
                    && !after_space
                    && self.column > WIDTH
                    && at > 0
                    && at < text.len() - 1;
                if folds {
                    self.indent(indent);
                    if letters.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put("\\");
                    }
                } else {
                    self.put_char(' ');
                }
                after_space = true;
            } else if needs_escape(letter, Charset::BasicPlane) {
                self.put(&escape(letter));
                after_space = false;
            } else {
                self.put_char(letter);
                after_space = false;
            }
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        self.put(&block_hints(text));
        // The break that ends the text is written by whatever comes next.
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if line.is_empty() {
                self.new_line();
            } else {
                self.indent(indent);
                self.put(line);
            }
        }
    }

    fn indent(&mut self, indent: usize) {
        if self.at_start {
            self.at_start = false;
        } else {
            self.new_line();
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn put_char(&mut self, letter: char) {
        self.out.push(letter);
        self.column += 1;
    }
}

/// Is a string a key or a value?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    Value,
}

enum StringForm {
    Plain,
    Single,
    Double,
    Literal,
}

fn string_form(text: &str, place: Place) -> StringForm {
    let analysis = Analysis::of(text, Charset::BasicPlane);
    if text.contains('\n') {
        return if place == Place::Value && analysis.block_allowed {
            StringForm::Literal
        } else {
            StringForm::Double
        };
    }
    if resolve(text, Dialect::Two) != Meaning::Text || text == "<<" || is_base_60(text) {
        return StringForm::Double;
    }
    if analysis.block_plain_allowed {
        StringForm::Plain
    } else if analysis.single_quoted_allowed {
        StringForm::Single
    } else {
        StringForm::Double
    }
}

/// The indicators behind `|`: an indent if the text begins with white space,
/// `-` if it does not end in a line break, `+` if it ends in several.
pub(super) fn block_hints(text: &str) -> String {
    let mut hints = String::new();
    if text.starts_with([' ', '\n']) {
        hints.push('2');
    }
    if !text.ends_with('\n') {
        hints.push('-');
    } else if text == "\n" || text.ends_with("\n\n") {
        hints.push('+');
    }
    hints
}

/// Which characters a printer writes unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// go-yaml 2 escapes everything past U+FFFF.
    BasicPlane,
    /// go-yaml 3 does not.
    All,
}

/// Which forms a text may take.
pub(crate) struct Analysis {
    pub(crate) block_plain_allowed: bool,
    pub(crate) flow_plain_allowed: bool,
    pub(crate) single_quoted_allowed: bool,
    pub(crate) block_allowed: bool,
}

impl Analysis {
    pub(crate) fn of(text: &str, charset: Charset) -> Self {
        if text.is_empty() {
            return Self {
                block_plain_allowed: true,
                flow_plain_allowed: false,
                single_quoted_allowed: true,
                block_allowed: false,
            };
        }
        let mut flow_indicators = text.starts_with("---") || text.starts_with("...");
        let mut block_indicators = flow_indicators;
        let mut line_breaks = false;
        let mut special = false;
        let (mut space_break, mut break_space) = (false, false);
        let (mut after_space, mut after_break) = (false, false);
        let mut after_white = true;
        let mut letters = text.chars().peekable();
        let mut is_first = true;
        while let Some(letter) = letters.next() {
            let before_white = letters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
            match letter {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"'
                | '%' | '@' | '`'
                    if is_first =>
                {
                    flow_indicators = true;
                    block_indicators = true;
                }
                '?' if is_first => {
                    flow_indicators = true;
                    block_indicators |= before_white;
                }
                '-' if is_first && before_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                ',' | '?' | '[' | ']' | '{' | '}' => flow_indicators = true,
                ':' => {
                    flow_indicators = true;
                    block_indicators |= before_white;
                }
                '#' if after_white => {
                    flow_indicators = true;
                    block_indicators = true;
                }
                _ => {}
            }
            special |= !is_printable(letter, charset);
            if letter == ' ' {
                break_space |= after_break;
                after_space = true;
                after_break = false;
            } else if is_break(letter) {
                line_breaks = true;
                space_break |= after_space;
                after_space = false;
                after_break = true;
            } else {
                after_space = false;
                after_break = false;
            }
            after_white = matches!(letter, ' ' | '\t') || is_break(letter) || letter == '\0';
            is_first = false;
        }
        let edge = |letter: char| letter == ' ' || is_break(letter);
        let at_edges = text.starts_with(edge) || text.ends_with(edge);
        let unfit = at_edges || break_space || space_break || special || line_breaks;
        Self {
            block_plain_allowed: !unfit && !block_indicators,
            flow_plain_allowed: !unfit && !flow_indicators,
            single_quoted_allowed: !(break_space || space_break || special),
            block_allowed: !(text.ends_with(' ') || space_break || special),
        }
    }
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(letter: char, charset: Charset) -> bool {
    match letter {
        '\n' | ' '..='~' => true,
        '\u{a0}'..='\u{d7ff}' => true,
        '\u{e000}'..='\u{fffd}' => letter != '\u{feff}',
        '\u{10000}'..='\u{10ffff}' => charset == Charset::All,
        _ => false,
    }
}

pub(super) fn needs_escape(letter: char, charset: Charset) -> bool {
    !is_printable(letter, charset) || is_break(letter) || matches!(letter, '"' | '\\')
}

pub(super) fn escape(letter: char) -> String {
    let short = match letter {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => {
            let code = u32::from(letter);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    short.to_owned()
}

/// `1:30` and the like, numbers to the base of sixty in YAML 1.1.
pub(super) fn is_base_60(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = rest.split(':');
    let first = parts.next().unwrap_or_default();
    let is_number = |part: &str| part.bytes().all(|digit| digit.is_ascii_digit() || digit == b'_');
    if !first.starts_with(|digit: char| digit.is_ascii_digit()) || !is_number(first) {
        return false;
    }
    let mut rest: Vec<&str> = parts.collect();
    let Some(last) = rest.last_mut() else { return false };
    if let Some((whole, fraction)) = last.split_once('.') {
        if !is_number(fraction) {
            return false;
        }
        *last = whole;
    }
    rest.iter().all(|part| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [tens, digit] => (b'0'..=b'5').contains(tens) && digit.is_ascii_digit(),
        _ => false,
    })
}

/// Keys with numbers in them are ordered by the numbers; letters come after
/// everything else.
fn compare_keys(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if is_less(a, b) { Ordering::Less } else { Ordering::Greater }
}

fn is_less(a: &str, b: &str) -> bool {
    let common = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=common).rev().find(|at| a.is_char_boundary(*at) && b.is_char_boundary(*at));
    let start = start.unwrap_or(0);
    let (Some(left), Some(right)) = (a[start..].chars().next(), b[start..].chars().next()) else {
        return a.len() < b.len();
    };
    match (left.is_alphabetic(), right.is_alphabetic()) {
        (true, true) => return left < right,
        (true, false) => return false,
        (false, true) => return true,
        (false, false) => {}
    }
    // Zeros after the first digit of a number count as digits of it.
    let mut seed = 0i64;
    if left == '0' || right == '0' {
        let digits = a[..start].bytes().rev().take_while(u8::is_ascii_digit);
        seed = i64::from(digits.into_iter().any(|digit| digit != b'0'));
    }
    let (left_number, left_length) = leading_number(&a[start..], seed);
    let (right_number, right_length) = leading_number(&b[start..], seed);
    if left_number != right_number {
        return left_number < right_number;
    }
    if left_length != right_length {
        return left_length < right_length;
    }
    left < right
}

fn leading_number(text: &str, seed: i64) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((seed, 0), |(number, length), digit| {
        (number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_less, print};

    #[track_caller]
    fn check(value: &Value, expect: &str) {
        let mut text = String::new();
        print(value, &mut text);
        assert_eq!(text, expect);
    }

    #[test]
    fn sequences_stand_at_the_indent_of_their_key() {
        check(
            &json!({"a": [{"b": 1, "c": [1, [2, 3]]}, [], {}], "d": {"e": null}}),
            "a:\n- b: 1\n  c:\n  - 1\n  - - 2\n    - 3\n- []\n- {}\nd:\n  e: null\n",
        );
    }

    #[test]
    fn strings_that_would_read_as_something_else_are_quoted() {
        for (text, expect) in [
            ("yes", "\"yes\""),
            ("1", "\"1\""),
            ("", "\"\""),
            ("1:30", "\"1:30\""),
            ("2024-01-01", "\"2024-01-01\""),
            (": x", "': x'"),
            ("a #b", "'a #b'"),
            ("@x", "'@x'"),
            ("it's", "it's"),
            ("a\tb", "\"a\\tb\""),
            ("{{ x }}", "'{{ x }}'"),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("😀", "\"\\U0001F600\""),
            ("é", "é"),
        ] {
            check(&json!({ "k": text }), &format!("k: {expect}\n"));
        }
    }

    #[test]
    fn blocks_say_how_they_end() {
        check(&json!({"k": "a\nb\n", "l": 1}), "k: |\n  a\n  b\nl: 1\n");
        check(&json!({"k": "a\nb", "l": 1}), "k: |-\n  a\n  b\nl: 1\n");
        check(&json!({"k": "a\n\n", "l": 1}), "k: |+\n  a\n\nl: 1\n");
        check(&json!({"k": "\n", "l": 1}), "k: |2+\n\nl: 1\n");
        check(&json!({"k": " a\nb\n"}), "k: |2\n   a\n  b\n");
        check(&json!({"k": "a \nb\n"}), "k: \"a \\nb\\n\"\n");
    }

    #[test]
    fn long_text_is_folded_after_column_eighty() {
        let word = "x".repeat(79);
        check(&json!({ "k": format!("{word} y z") }), &format!("k: {word}\n  y z\n"));
    }

    #[test]
    fn keys_are_ordered_by_the_numbers_in_them() {
        assert!(is_less("a2", "a10"));
        assert!(is_less("a.b", "ab"));
        assert!(is_less("A", "a"));
        assert!(is_less("a", "ab"));
        assert!(is_less("_a", "a"));
    }
}
