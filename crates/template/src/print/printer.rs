//! Writes values: texts, lists, maps and objects, padded and quoted as a directive asks.

use super::MAX_TEXT;
use crate::strconv::quote_with;
use crate::value::{Kind, List, Map, Object, Value};

/// A value nested deeper than this contains itself.
const MAX_DEPTH: usize = 200;

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    pub(super) go_syntax: bool,
    pub(super) plus_fields: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

pub(super) struct Printer<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) flags: Flags,
    /// Inside a `%!x(type=value)`: methods are not consulted.
    pub(super) complaining: bool,
}

impl<'a> Printer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, flags: Flags::default(), complaining: false }
    }

    pub(super) fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Nothing | Value::Nil, 'T' | 'v') => self.pad("<nil>".as_bytes()),
            (Value::Nothing | Value::Nil, _) => self.bad_verb(value, verb),
            (_, 'T') => self.text(value.type_name().as_bytes()),
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        if self.out.len() > MAX_TEXT {
            return;
        }
        if depth > MAX_DEPTH {
            return self.write("...");
        }
        match value {
            Value::Nothing | Value::Nil if self.flags.go_syntax => self.write("interface {}(nil)"),
            Value::Nothing | Value::Nil => self.write("<nil>"),
            Value::Bool(truth) => match verb {
                't' | 'v' => self.pad(truth.to_string().as_bytes()),
                _ => self.bad_verb(value, verb),
            },
            Value::Int(kind, number) => {
                if matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
                    && !self.flags.go_syntax
                    && !self.complaining
                    && let Some(text) = crate::sprig::text_of_int(*kind, *number)
                {
                    return self.string(value, text.as_bytes(), verb);
                }
                self.integer(value, number.unsigned_abs(), *number < 0, verb);
            }
            Value::Uint(_, number) => self.unsigned(value, *number, verb),
            Value::Float(number) => self.float(value, *number, verb),
            Value::String(text) => self.string(value, text.as_bytes(), verb),
            Value::Bytes(bytes) => self.bytes(value, bytes.as_bytes(), verb),
            Value::List(list) => self.list(list, verb, depth),
            Value::Map(map) => self.map(map, verb, depth),
            Value::Object(object) => self.object(value, object.as_ref(), verb, depth),
            Value::Function(_) => self.bad_verb(value, verb),
        }
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) {
        let (open, separator, close) = if self.flags.go_syntax {
            self.write(&Value::List(list.clone()).type_name());
            if list.is_nil() {
                return self.write("(nil)");
            }
            ("{", ", ", "}")
        } else {
            ("[", " ", "]")
        };
        self.write(open);
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.write(separator);
            }
            self.value(item, verb, depth + 1);
        }
        self.write(close);
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) {
        let (separator, close) = if self.flags.go_syntax {
            self.write(map.class().type_name());
            if map.is_nil() {
                return self.write("(nil)");
            }
            self.write("{");
            (", ", "}")
        } else {
            self.write("map[");
            (" ", "]")
        };
        for (index, (key, item)) in map.entries().iter().enumerate() {
            if index > 0 {
                self.write(separator);
            }
            self.value(&Value::String(key.clone()), verb, depth + 1);
            self.write(":");
            self.value(item, verb, depth + 1);
        }
        self.write(close);
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char, depth: usize) {
        let stringable = matches!(verb, 'v' | 's' | 'x' | 'X' | 'q');
        if stringable
            && !self.flags.go_syntax
            && !self.complaining
            && let Some(text) = object.text()
        {
            return self.string(value, text.as_bytes(), verb);
        }
        if object.kind() == Kind::Pointer {
            if depth > 0 {
                // Go prints the address here, which no two runs agree on.
                return self.write("0xc000000000");
            }
            self.write("&");
        }
        if self.flags.go_syntax {
            self.write(object.type_name().trim_start_matches('*'));
        }
        self.write("{");
        for (index, (name, field)) in object.fields().iter().enumerate() {
            if index > 0 {
                self.write(if self.flags.go_syntax { ", " } else { " " });
            }
            if self.flags.plus_fields || self.flags.go_syntax {
                self.write(name);
                self.write(":");
            }
            self.value(field, verb, depth + 1);
        }
        self.write("}");
    }

    pub(super) fn bad_verb(&mut self, value: &Value, verb: char) {
        self.write("%!");
        self.write(verb.encode_utf8(&mut [0; 4]));
        self.write("(");
        if value.is_nil() {
            self.write("<nil>");
        } else {
            self.write(&value.type_name());
            self.write("=");
            let complaining = std::mem::replace(&mut self.complaining, true);
            self.argument(value, if matches!(value, Value::Function(_)) { 'T' } else { 'v' });
            self.complaining = complaining;
        }
        self.write(")");
    }

    fn padding(&mut self, count: usize) {
        let byte = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count, byte);
    }

    pub(super) fn pad(&mut self, text: &[u8]) {
        let missing = match self.flags.width {
            Some(width) => width.saturating_sub(rune_count(text)),
            None => 0,
        };
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.padding(missing);
        } else {
            self.padding(missing);
            self.out.extend_from_slice(text);
        }
    }

    pub(super) fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else { return text };
        let mut end = 0;
        for _ in 0..precision {
            match crate::lex::decode(&text[end..]) {
                Some((_, width)) => end += width,
                None => break,
            }
        }
        &text[..end]
    }

    fn text(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        self.pad(text);
    }

    fn string(&mut self, value: &Value, text: &[u8], verb: char) {
        match verb {
            'v' if self.flags.go_syntax => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' | 'X' => self.hexadecimal(text, verb == 'X'),
            'q' => self.quoted(text),
            _ => self.bad_verb(value, verb),
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        let can_backquote = || {
            std::str::from_utf8(text).is_ok_and(|text| {
                text.chars()
                    .all(|c| c == '\t' || (c >= ' ' && c != '`' && c != '\x7f' && c != '\u{feff}'))
            })
        };
        if self.flags.sharp && can_backquote() {
            let raw = [b"`", text, b"`"].concat();
            return self.pad(&raw);
        }
        let quoted = quote_with(text, '"', self.flags.plus);
        self.pad(quoted.as_bytes());
    }

    fn hexadecimal(&mut self, bytes: &[u8], upper: bool) {
        let bytes = match self.flags.precision {
            Some(precision) => &bytes[..bytes.len().min(precision)],
            None => bytes,
        };
        let prefix = if upper { "0X" } else { "0x" };
        let mut text = String::new();
        for (index, byte) in bytes.iter().enumerate() {
            if self.flags.space && index > 0 {
                text.push(' ');
            }
            if self.flags.sharp && (index == 0 || self.flags.space) {
                text.push_str(prefix);
            }
            text.push_str(&if upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
        }
        self.pad(text.as_bytes());
    }

    fn bytes(&mut self, value: &Value, bytes: &[u8], verb: char) {
        match verb {
            's' => self.text(bytes),
            'x' | 'X' => self.hexadecimal(bytes, verb == 'X'),
            'q' => self.quoted(bytes),
            'v' if self.flags.go_syntax => {
                let items: Vec<String> = bytes.iter().map(|byte| format!("{byte:#x}")).collect();
                self.write(&format!("[]byte{{{}}}", items.join(", ")));
            }
            'v' | 'd' => {
                self.write("[");
                for (index, byte) in bytes.iter().enumerate() {
                    if index > 0 {
                        self.write(" ");
                    }
                    self.digits(&byte.to_string(), false, "");
                }
                self.write("]");
            }
            _ => self.bad_verb(value, verb),
        }
    }
}

fn rune_count(text: &[u8]) -> usize {
    text.utf8_chunks().map(|chunk| chunk.valid().chars().count() + chunk.invalid().len()).sum()
}
