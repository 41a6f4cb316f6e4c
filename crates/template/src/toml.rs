//! TOML as Helm's `toToml` and `fromToml` write and read it.

mod read;
mod tables;

use crate::error::Error;
use crate::sprig::text_of_int;
use crate::strconv::format_float;
use crate::value::{IntType, Marshals, Object, Value};

pub(crate) use read::decode;

const MAX_DEPTH: usize = 200;

/// Writes a table: plain entries first, then tables, each level indented by two spaces.
pub(crate) fn encode(value: &Value) -> Result<String, Error> {
    let mut encoder = Encoder { out: String::new() };
    match Table::of(value) {
        Some(table) => encoder.table(&[], &table)?,
        None if check_list(value).is_err() => check_list(value)?,
        None if is_table(value) => {
            return Err(Error::function("toml: top-level values must be Go maps or structs"));
        }
        None => encoder.element(value, 0)?,
    }
    Ok(encoder.out)
}

/// The entries of a map by key, or the exported fields of a struct in their order. With each its
/// place in the Go value: Go's library looks at that when it writes commas.
struct Table {
    entries: Vec<(String, Value, usize)>,
    is_struct: bool,
}

impl Table {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Map(map) => {
                let entries = map.entries();
                let entries = entries.iter().enumerate();
                let entries =
                    entries.map(|(at, (key, it))| (key.as_str().into_owned(), it.clone(), at));
                Some(Self { entries: entries.collect(), is_struct: false })
            }
            Value::Object(object) if is_struct(object.as_ref()) => {
                let fields = object.fields().into_iter().enumerate();
                let exported = fields.filter(|(_, (name, _))| name.starts_with(char::is_uppercase));
                let entries = exported.map(|(at, (name, it))| (name.to_owned(), it, at));
                Some(Self { entries: entries.collect(), is_struct: true })
            }
            _ => None,
        }
    }

    /// First what is written as `key = value`, then what is a table itself.
    fn parts(&self) -> [Vec<&(String, Value, usize)>; 2] {
        let (tables, plain) = self.entries.iter().partition(|(_, value, _)| is_table(value));
        [plain, tables]
    }
}

struct Encoder {
    out: String,
}

impl Encoder {
    fn table(&mut self, path: &[String], table: &Table) -> Result<(), Error> {
        if path.len() > MAX_DEPTH {
            return Err(Error::function("toml: value is nested too deeply"));
        }
        self.check_length()?;
        for (_, value, _) in &table.entries {
            check_list(value)?;
        }
        let [plain, tables] = table.parts();
        for (key, value, _) in plain.into_iter().filter(|(_, value, _)| !value.is_or_holds_nil()) {
            self.out.push_str(&"  ".repeat(path.len()));
            self.out.push_str(&format!("{} = ", quoted_key(key)));
            self.element(value, 0)?;
            self.out.push('\n');
        }
        for (key, value, _) in tables.into_iter().filter(|(_, value, _)| !value.is_or_holds_nil()) {
            let path = [path, &[quoted_key(key)]].concat();
            let indent = "  ".repeat(path.len() - 1);
            if let Some(table) = Table::of(value) {
                if path.len() == 1 {
                    self.line_break();
                }
                self.out.push_str(&format!("{indent}[{}]\n", path.join(".")));
                self.table(&path, &table)?;
            } else if let Value::List(list) = value {
                for table in list.iter().filter_map(Table::of) {
                    self.line_break();
                    self.out.push_str(&format!("{indent}[[{}]]\n", path.join(".")));
                    self.table(&path, &table)?;
                }
            }
        }
        Ok(())
    }

    fn check_length(&self) -> Result<(), Error> {
        if self.out.len() > crate::print::MAX_TEXT / 2 {
            return Err(Error::limit("TOML text is too long"));
        }
        Ok(())
    }

    /// Between parts, but not before the first.
    fn line_break(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn element(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::function("toml: value is nested too deeply"));
        }
        self.check_length()?;
        if let Some(table) = Table::of(value) {
            return self.inline_table(&table, depth);
        }
        match value {
            Value::Bool(truth) => self.out.push_str(&truth.to_string()),
            Value::Int(IntType::Duration, number) => {
                let text = text_of_int(IntType::Duration, *number).unwrap_or_default();
                self.out.push_str(&quoted(&text));
            }
            Value::Int(_, number) => self.out.push_str(&number.to_string()),
            Value::Uint(_, number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::String(text) => self.out.push_str(&quoted(&text.as_str())),
            Value::Bytes(bytes) => {
                let numbers: Vec<String> = bytes.as_bytes().iter().map(u8::to_string).collect();
                self.out.push_str(&format!("[{}]", numbers.join(", ")));
            }
            Value::List(list) => {
                check_list(value)?;
                self.out.push('[');
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.element(item, depth + 1)?;
                }
                self.out.push(']');
            }
            Value::Object(object) => match object.marshals() {
                Marshals::Time(text) => self.out.push_str(&text),
                Marshals::Text(text) => self.out.push_str(&quoted(&text)),
                Marshals::Fields => {}
            },
            other => {
                return Err(Error::function(format!("unexpected type: {}", other.type_name())));
            }
        }
        Ok(())
    }

    fn inline_table(&mut self, table: &Table, depth: usize) -> Result<(), Error> {
        self.out.push('{');
        let [plain, tables] = table.parts();
        let (count, has_tables) = (table.entries.len(), !tables.is_empty());
        for (part, more) in [(plain, has_tables), (tables, false)] {
            let last = part.len().saturating_sub(1);
            for (index, (key, item, place)) in part.into_iter().enumerate() {
                if item.is_or_holds_nil() {
                    continue;
                }
                self.out.push_str(&format!("{} = ", quoted_key(key)));
                self.element(item, depth + 1)?;
                // Go's library counts what it leaves out, and in structs what nobody sees.
                let has_comma =
                    if table.is_struct { place + 1 != count } else { more || index != last };
                if has_comma {
                    self.out.push_str(", ");
                }
            }
        }
        self.out.push('}');
        Ok(())
    }
}

fn is_struct(object: &dyn Object) -> bool {
    matches!(object.marshals(), Marshals::Fields)
}

/// A table, or a list of nothing but tables.
fn is_table(value: &Value) -> bool {
    let is_one = |value: &Value| match value {
        Value::Map(map) => !map.is_nil(),
        Value::Object(object) => is_struct(object.as_ref()),
        _ => false,
    };
    match value {
        Value::List(list) => !list.is_empty() && list.iter().all(is_one),
        other => is_one(other),
    }
}

fn check_list(value: &Value) -> Result<(), Error> {
    match value {
        Value::List(list) if list.iter().any(Value::is_or_holds_nil) => {
            Err(Error::function("toml: cannot encode array with nil element"))
        }
        _ => Ok(()),
    }
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.into();
    }
    let text = format_float(number);
    if text.contains(['.', 'e']) { text } else { text + ".0" }
}

fn quoted_key(key: &str) -> String {
    let is_bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_bare { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\x0c' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
