//! From a JSON value to YAML text, laid out as goyaml v2 lays it out.
//!
//! Block style throughout, sequences not indented below their key, keys in
//! natural order (`a2` before `a10`), quotes only where a plain scalar would
//! mean something else, lines folded at the first space past column 80.
//!
//! Every container has a margin, the column where its entries begin, and whoever
//! writes it has brought the page there for the first entry. `style` decides the
//! form of a text, [`Page`] prints it.

mod pretty;
mod style;

use serde_json::{Map, Value};

pub use self::pretty::{Node, pretty};
use self::style::{Style, Tabs, is_printable, is_word, style_of};
use super::load::json_number;
use super::natural_order::{self, Version};
use crate::number;

/// Writes `value` as sigs.k8s.io/yaml `Marshal` does.
///
/// Text that Go refuses to write because its own reader would not take it
/// (control characters from U+007F to U+009F) or changes on the way (U+0085) is
/// written with escapes.
#[must_use]
pub fn from_value(value: &Value) -> String {
    let mut page = Page { text: String::new(), width: WIDTH, tabs: Tabs::AreEscaped };
    match value {
        Value::Array(items) if !items.is_empty() => page.sequence(items, 0),
        Value::Object(entries) if !entries.is_empty() => page.mapping(entries, 0),
        _ => page.leaf(value, STEP),
    }
    page.start_line(0);
    page.text
}

/// How much further in a nested container begins.
const STEP: usize = 2;
const WIDTH: usize = 80;
/// Longer keys, in bytes, are written with an explicit `?`.
const MAX_KEY_BEFORE_COLON: usize = 128;

/// What is written so far.
struct Page {
    text: String,
    /// A space that is further right becomes a line break where it can.
    width: usize,
    tabs: Tabs,
}

impl Page {
    fn mapping(&mut self, entries: &Map<String, Value>, margin: usize) {
        for (index, (key, value)) in
            natural_order::sorted(entries.iter(), Version::Two).into_iter().enumerate()
        {
            if index > 0 {
                self.start_line(margin);
            }
            let is_long = key.len() > MAX_KEY_BEFORE_COLON;
            if !is_long && is_word(key) {
                self.text.push_str(key);
            } else if is_long || key.contains(is_break) {
                self.text.push_str("? ");
                self.string(key, Some(margin + STEP));
                self.start_line(margin);
                self.text.push_str(": ");
                self.beside_indicator(value, margin);
                continue;
            } else {
                self.string(key, None);
            }
            self.text.push(':');
            self.after_key(value, margin);
        }
    }

    fn sequence(&mut self, items: &[Value], margin: usize) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.start_line(margin);
            }
            self.text.push_str("- ");
            self.beside_indicator(item, margin);
        }
    }

    /// A value on the line of its key or, if it is a container, below it.
    fn after_key(&mut self, value: &Value, margin: usize) {
        match value {
            Value::Array(items) if !items.is_empty() => {
                self.start_line(margin);
                self.sequence(items, margin);
            }
            Value::Object(entries) if !entries.is_empty() => {
                self.start_line(margin + STEP);
                self.mapping(entries, margin + STEP);
            }
            _ => {
                self.text.push(' ');
                self.leaf(value, margin + STEP);
            }
        }
    }

    /// A value after `- ` or `: `, which take up just one step: a container
    /// begins on the same line.
    fn beside_indicator(&mut self, value: &Value, margin: usize) {
        match value {
            Value::Array(items) if !items.is_empty() => self.sequence(items, margin + STEP),
            Value::Object(entries) if !entries.is_empty() => self.mapping(entries, margin + STEP),
            _ => self.leaf(value, margin + STEP),
        }
    }

    /// A scalar or an empty container; further lines begin at `margin`.
    fn leaf(&mut self, value: &Value, margin: usize) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.text.push_str(&print_number(number)),
            Value::String(text) => self.string(text, Some(margin)),
            Value::Array(_) => self.text.push_str("[]"),
            Value::Object(_) => self.text.push_str("{}"),
        }
    }

    /// Without a margin, all stays on one line.
    fn string(&mut self, text: &str, margin: Option<usize>) {
        if is_word(text) {
            return self.text.push_str(text);
        }
        match style_of(text, margin.is_none(), self.tabs) {
            Style::Plain => self.words(text, margin, false, |page, word| page.text.push_str(word)),
            Style::SingleQuoted => {
                self.text.push('\'');
                self.words(text, margin, false, |page, word| {
                    page.lines(&word.replace('\'', "''"), margin.unwrap_or_default());
                });
                self.text.push('\'');
            }
            // goyaml escapes all that follows a byte order mark.
            Style::DoubleQuoted if text.starts_with('\u{feff}') => {
                self.text.push('"');
                text.chars().for_each(|character| self.escaped(character, |_| false));
                self.text.push('"');
            }
            Style::DoubleQuoted => {
                self.text.push('"');
                self.words(text, margin, true, |page, word| {
                    word.chars().for_each(|character| page.escaped(character, is_printable));
                });
                self.text.push('"');
            }
            Style::Literal => self.literal(text, margin.unwrap_or_default()),
        }
    }

    /// Writes the words between spaces. A space far to the right becomes a line
    /// break if it stands alone; with `escapes` also if it is the first of
    /// several, the next of which is then escaped to survive.
    fn words(
        &mut self,
        text: &str,
        margin: Option<usize>,
        escapes: bool,
        write: impl Fn(&mut Self, &str),
    ) {
        let mut words = text.split(' ').peekable();
        while let Some(word) = words.next() {
            write(self, word);
            let Some(next) = words.peek().copied() else { break };
            let more_spaces = next.is_empty();
            let after_next = more_spaces && escapes && {
                let mut rest = words.clone();
                rest.next();
                rest.peek().is_some()
            };
            let may_break = !word.is_empty() && (!more_spaces || after_next);
            match margin {
                Some(margin) if may_break && self.column() > self.width => {
                    self.start_line(margin);
                    if more_spaces {
                        self.text.push('\\');
                    }
                }
                _ => self.text.push(' '),
            }
        }
    }

    /// Text with its own line breaks; every line that is not empty is indented,
    /// except that the first goes on where the page stands.
    fn lines(&mut self, text: &str, margin: usize) {
        for line in text.split_inclusive(is_break) {
            let is_empty = line.starts_with(is_break);
            if !is_empty && self.text.ends_with(is_break) {
                self.indent(margin);
            }
            self.text.push_str(line);
        }
    }

    fn literal(&mut self, text: &str, margin: usize) {
        self.text.push('|');
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            // The first line does not show the indentation.
            self.text.push('2');
        }
        let content = text.trim_end_matches(is_break);
        let final_breaks = text[content.len()..].chars().count();
        self.text.push_str(match final_breaks {
            0 => "-",
            1 if !content.is_empty() => "",
            _ => "+",
        });
        self.text.push('\n');
        self.lines(text, margin);
    }

    fn escaped(&mut self, character: char, is_kept: fn(char) -> bool) {
        let letter = match character {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{a0}' if !is_kept(character) => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ if is_kept(character) => return self.text.push(character),
            _ => {
                let number = u32::from(character);
                let escape = match number {
                    0..=0xff => format!("\\x{number:02X}"),
                    0x100..=0xffff => format!("\\u{number:04X}"),
                    _ => format!("\\U{number:08X}"),
                };
                return self.text.push_str(&escape);
            }
        };
        self.text.extend(['\\', letter]);
    }

    /// Moves to the margin of a new line, or of this one if nothing stands on it.
    fn start_line(&mut self, margin: usize) {
        if !self.text.ends_with(is_break) {
            self.text.push('\n');
        }
        self.indent(margin);
    }

    fn indent(&mut self, margin: usize) {
        const SPACES: &str = "                                        ";
        match SPACES.get(..margin) {
            Some(spaces) => self.text.push_str(spaces),
            None => self.text.extend(std::iter::repeat_n(' ', margin)),
        }
    }

    /// Characters on the current line.
    fn column(&self) -> usize {
        let line = self.text.rsplit(is_break).next().unwrap_or_default();
        line.chars().count()
    }
}

fn print_number(number: &serde_json::Number) -> String {
    let from_json = match number.as_f64() {
        Some(float) if number.is_f64() => json_number(float).unwrap_or_else(|_| number.clone()),
        _ => number.clone(),
    };
    match from_json.as_f64() {
        Some(float) if from_json.is_f64() => number::format_g(float),
        _ => from_json.to_string(),
    }
}

fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
