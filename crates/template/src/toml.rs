//! TOML as Helm's `toToml` and `fromToml` write and read it.

use crate::error::Error;
use crate::strconv::format_float;
use crate::value::{ElementType, IntType, List, Map, Value};

const MAX_DEPTH: usize = 200;

/// Writes a table: plain entries first, then tables, each level indented by two spaces.
pub(crate) fn encode(value: &Value) -> Result<String, Error> {
    let mut encoder = Encoder { out: String::new() };
    match value {
        Value::Map(map) => encoder.table(&[], map)?,
        Value::Nothing | Value::Nil => {
            return Err(Error::function("toml: cannot encode a nil value"));
        }
        other if check_list(other).is_err() => check_list(other)?,
        tables if is_table(tables) => {
            return Err(Error::function("toml: top-level values must be Go maps or structs"));
        }
        other => encoder.element(other, 0)?,
    }
    Ok(encoder.out)
}

struct Encoder {
    out: String,
}

impl Encoder {
    fn table(&mut self, path: &[String], map: &Map) -> Result<(), Error> {
        if path.len() > MAX_DEPTH {
            return Err(Error::function("toml: value is nested too deeply"));
        }
        self.check_length()?;
        let entries: Vec<(String, Value)> = map
            .entries()
            .iter()
            .filter(|(_, value)| !value.is_or_holds_nil())
            .map(|(key, value)| (key.as_str().into_owned(), value.clone()))
            .collect();
        for (_, value) in &entries {
            check_list(value)?;
        }
        for (key, value) in entries.iter().filter(|(_, value)| !is_table(value)) {
            self.out.push_str(&"  ".repeat(path.len()));
            self.out.push_str(&format!("{} = ", quoted_key(key)));
            self.element(value, 0)?;
            self.out.push('\n');
        }
        for (key, value) in entries.iter().filter(|(_, value)| is_table(value)) {
            let path = [path, &[quoted_key(key)]].concat();
            let indent = "  ".repeat(path.len() - 1);
            match value {
                Value::Map(map) => {
                    if path.len() == 1 {
                        self.line_break();
                    }
                    self.out.push_str(&format!("{indent}[{}]\n", path.join(".")));
                    self.table(&path, map)?;
                }
                Value::List(list) => {
                    for item in list.iter() {
                        self.line_break();
                        self.out.push_str(&format!("{indent}[[{}]]\n", path.join(".")));
                        if let Value::Map(map) = item {
                            self.table(&path, map)?;
                        }
                    }
                }
                _ => {}
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
        match value {
            Value::Bool(truth) => self.out.push_str(&truth.to_string()),
            Value::Int(_, number) => self.out.push_str(&number.to_string()),
            Value::Uint(_, number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::String(text) => self.out.push_str(&quoted(&text.as_str())),
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
            Value::Map(map) => {
                self.out.push('{');
                let entries = map.entries();
                for (index, (key, item)) in entries.iter().enumerate() {
                    if item.is_or_holds_nil() {
                        continue;
                    }
                    self.out.push_str(&format!("{} = ", quoted_key(&key.as_str())));
                    self.element(item, depth + 1)?;
                    // Also where all that follow are nil, as Go's library does.
                    if index + 1 < entries.len() {
                        self.out.push_str(", ");
                    }
                }
                self.out.push('}');
            }
            other => {
                let text = crate::print::to_bytes(other);
                self.out.push_str(&quoted(&String::from_utf8_lossy(&text)));
            }
        }
        Ok(())
    }
}

/// A table, or a list of nothing but tables.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Map(_) => true,
        Value::List(list) => {
            !list.is_empty() && list.iter().all(|item| matches!(item, Value::Map(_)))
        }
        _ => false,
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

/// Reads a document: integers are `int64`.
pub(crate) fn decode(text: &str) -> Result<Value, Error> {
    let table: ::toml::Table = text.parse().map_err(|error: ::toml::de::Error| {
        Error::function(format!("toml: {}", error.message()))
    })?;
    Ok(from_table(&table))
}

fn from_table(table: &::toml::Table) -> Value {
    Value::map(table.iter().map(|(key, value)| (key.as_str(), from_toml(value))))
}

fn from_toml(value: &::toml::Value) -> Value {
    match value {
        ::toml::Value::String(text) => Value::string(text.as_str()),
        ::toml::Value::Integer(number) => Value::Int(IntType::Int64, *number),
        ::toml::Value::Float(number) => Value::Float(*number),
        ::toml::Value::Boolean(truth) => Value::Bool(*truth),
        ::toml::Value::Datetime(time) => Value::string(time.to_string()),
        ::toml::Value::Array(items) => {
            let is_tables = !items.is_empty() && items.iter().all(::toml::Value::is_table);
            let element_type = if is_tables { ElementType::Map } else { ElementType::Any };
            Value::List(List::new(element_type, items.iter().map(from_toml).collect()))
        }
        ::toml::Value::Table(table) => from_table(table),
    }
}
