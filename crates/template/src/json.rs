//! JSON as Go's `encoding/json` writes and reads it, complaints included.

use serde_json::Value as Json;

use crate::error::Error;
use crate::strconv::{format_json_float, is_printable};
use crate::value::{ElementType, JsonForm, List, Map, MapClass, Text, Value};

/// Deeper values contain themselves, or mean no good.
const MAX_DEPTH: usize = 200;

/// More parts than the largest list of objects a cluster would send.
const MAX_VALUES: usize = 2_000_000;

/// How the text is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Compact,
    /// Two spaces per level.
    Indented,
}

/// `json.Marshal`; `escape_html` is off for `toRawJson`.
pub(crate) fn encode(value: &Value, layout: Layout, escape_html: bool) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    Encoder { out: &mut out, layout, escape_html }.value(value, 0)?;
    Ok(out)
}

struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    layout: Layout,
    escape_html: bool,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::function("json: unsupported value: encountered a cycle"));
        }
        if self.out.len() > crate::print::MAX_TEXT / 2 {
            return Err(Error::limit("JSON text is too long"));
        }
        match value {
            Value::Nothing | Value::Nil => self.out.extend_from_slice(b"null"),
            Value::Bool(truth) => self.out.extend_from_slice(truth.to_string().as_bytes()),
            Value::Int(_, number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            Value::Uint(_, number) => self.out.extend_from_slice(number.to_string().as_bytes()),
            Value::Float(number) => match format_json_float(*number) {
                Some(text) => self.out.extend_from_slice(text.as_bytes()),
                None => {
                    let text = crate::strconv::format_float(*number);
                    return Err(Error::function(format!("json: unsupported value: {text}")));
                }
            },
            Value::String(text) => self.string(text.as_bytes()),
            Value::Bytes(bytes) => {
                let text = crate::base64::encode(bytes.as_bytes());
                self.string(text.as_bytes());
            }
            Value::List(list) if list.is_nil() => self.out.extend_from_slice(b"null"),
            Value::Map(map) if map.is_nil() => self.out.extend_from_slice(b"null"),
            Value::List(list) => self.sequence(b'[', b']', list.iter(), depth, Self::value)?,
            Value::Map(map) => {
                let entries = map.entries();
                self.sequence(
                    b'{',
                    b'}',
                    entries.iter(),
                    depth,
                    |encoder, (key, value), depth| encoder.entry(key.as_bytes(), value, depth),
                )?;
            }
            Value::Object(object) => match object.json() {
                JsonForm::Value(value) => self.value(&value, depth + 1)?,
                JsonForm::Fields(fields) => {
                    self.sequence(b'{', b'}', fields.iter(), depth, |encoder, field, depth| {
                        encoder.entry(field.0.as_bytes(), &field.1, depth)
                    })?;
                }
            },
            Value::Function(_) => {
                return Err(Error::function("json: unsupported type: func()"));
            }
        }
        Ok(())
    }

    fn entry(&mut self, key: &[u8], value: &Value, depth: usize) -> Result<(), Error> {
        self.string(key);
        self.out.push(b':');
        if self.layout == Layout::Indented {
            self.out.push(b' ');
        }
        self.value(value, depth)
    }

    fn sequence<T>(
        &mut self,
        open: u8,
        close: u8,
        items: impl Iterator<Item = T>,
        depth: usize,
        mut write: impl FnMut(&mut Self, T, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.out.push(open);
        let mut is_empty = true;
        for item in items {
            if !is_empty {
                self.out.push(b',');
            }
            is_empty = false;
            self.line_break(depth + 1);
            write(self, item, depth + 1)?;
        }
        if !is_empty {
            self.line_break(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn line_break(&mut self, depth: usize) {
        if self.layout == Layout::Indented {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * depth, b' ');
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                self.character(c);
            }
            for _ in chunk.invalid() {
                self.out.extend_from_slice(b"\\ufffd");
            }
        }
        self.out.push(b'"');
    }

    fn character(&mut self, c: char) {
        match c {
            '"' => self.out.extend_from_slice(b"\\\""),
            '\\' => self.out.extend_from_slice(b"\\\\"),
            '\n' => self.out.extend_from_slice(b"\\n"),
            '\r' => self.out.extend_from_slice(b"\\r"),
            '\t' => self.out.extend_from_slice(b"\\t"),
            '\x08' => self.out.extend_from_slice(b"\\b"),
            '\x0c' => self.out.extend_from_slice(b"\\f"),
            '<' | '>' | '&' if self.escape_html => self.code(c),
            '\u{2028}' | '\u{2029}' => self.code(c),
            c if c < ' ' => self.code(c),
            c => self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn code(&mut self, c: char) {
        self.out.extend_from_slice(format!("\\u{:04x}", c as u32).as_bytes());
    }
}

/// What Go types a decoded text must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Any,
    Map,
    List,
}

impl Target {
    /// What `null` leaves in a variable of that type.
    pub(crate) fn nil(self) -> Value {
        match self {
            Self::Any => Value::Nil,
            Self::Map => Value::Map(Map::nil(MapClass::Any)),
            Self::List => Value::List(List::nil(ElementType::Any)),
        }
    }
}

/// `json.Unmarshal` into a value of the target's type: every number is a `float64`.
pub(crate) fn decode(text: &[u8], target: Target) -> Result<Value, Error> {
    let (value, problem) = decode_partly(text, target)?;
    problem.map_or(Ok(value), Err)
}

/// The same, with what is left where a number is too large: nothing in its place, and the complaint.
pub(crate) fn decode_partly(text: &[u8], target: Target) -> Result<(Value, Option<Error>), Error> {
    let mut reader = Reader { text, position: 0, problem: None };
    let value = reader.document()?;
    check_target(&value, target)?;
    Ok((value, reader.problem))
}

/// What Go's decoder says of a text that is no JSON.
pub fn json_error(text: &[u8]) -> String {
    let message = decode(text, Target::Any).err().map(|error| error.to_string());
    match message.as_deref() {
        _ if text.trim_ascii().is_empty() => "EOF".into(),
        // A stream that ends too soon, in the words for streams.
        Some("unexpected end of JSON input") => "unexpected EOF".into(),
        Some(message) if message.starts_with("invalid character ' '") && !text.contains(&b' ') => {
            "unexpected EOF".into()
        }
        Some(message) => message.into(),
        None => "invalid JSON".into(),
    }
}

/// Complains as Go does when a document is not of the type asked for.
pub(crate) fn check_target(value: &Value, target: Target) -> Result<(), Error> {
    let name = match target {
        Target::Any => return Ok(()),
        Target::Map => "map[string]interface {}",
        Target::List => "[]interface {}",
    };
    let found = match (value, target) {
        (Value::Nothing | Value::Nil, _)
        | (Value::Map(_), Target::Map)
        | (Value::List(_), Target::List) => return Ok(()),
        (Value::List(_), _) => "array",
        (Value::Map(_), _) => "object",
        (Value::Bool(_), _) => "bool",
        (Value::String(_), _) => "string",
        _ => "number",
    };
    Err(Error::function(format!("json: cannot unmarshal {found} into Go value of type {name}")))
}

struct Reader<'a> {
    text: &'a [u8],
    position: usize,
    /// The first number that is too large.
    problem: Option<Error>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<Value, Error> {
        self.space();
        let value = self.value(0)?;
        self.space();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.invalid("after top-level value")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.position).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    fn invalid(&self, context: &str) -> Error {
        // Go takes the end for a blank, and is content with one between the parts.
        let is_inside = context.contains("literal") || context.contains("escape");
        let Some(byte) = self.peek().or_else(|| is_inside.then_some(b' ')) else {
            return Error::function("unexpected end of JSON input");
        };
        let shown = match byte {
            b'\'' => r"'\''".into(),
            b'\\' => r"'\\'".into(),
            b'"' => "'\"'".into(),
            byte if byte < 0x80 && is_printable(byte as char) => format!("'{}'", byte as char),
            byte => {
                let quoted = crate::strconv::quote((byte as char).to_string().as_bytes());
                format!("'{}'", quoted.trim_matches('"'))
            }
        };
        Error::function(format!("invalid character {shown} {context}"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::function("exceeded max depth"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.invalid("looking for beginning of value")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Error> {
        for (index, expected) in word.bytes().enumerate() {
            if self.peek() != Some(expected) {
                let wanted = &word[index..=index];
                return Err(self.invalid(&format!("in literal {word} (expecting '{wanted}')")));
            }
            self.position += 1;
        }
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value, Error> {
        let map = Map::new::<&str>([]);
        self.position += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.position += 1;
            return Ok(Value::Map(map));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.invalid("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.invalid("after object key"));
            }
            self.position += 1;
            self.space();
            let value = self.value(depth + 1)?;
            map.set(key, value);
            self.space();
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b'}') => {
                    self.position += 1;
                    return Ok(Value::Map(map));
                }
                _ => return Err(self.invalid("after object key:value pair")),
            }
            self.space();
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Error> {
        let mut items = Vec::new();
        self.position += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.position += 1;
            return Ok(Value::list(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.position += 1,
                Some(b']') => {
                    self.position += 1;
                    return Ok(Value::list(items));
                }
                _ => return Err(self.invalid("after array element")),
            }
            self.space();
        }
    }

    fn string(&mut self) -> Result<Text, Error> {
        let start = self.position;
        self.position += 1;
        loop {
            match self.peek() {
                None => return Err(Error::function("unexpected end of JSON input")),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.position += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') => self.hexadecimal()?,
                        _ => return Err(self.invalid("in string escape code")),
                    }
                }
                Some(byte) if byte < 0x20 => return Err(self.invalid("in string literal")),
                Some(_) => {}
            }
            self.position += 1;
        }
        self.position += 1;
        let raw = &self.text[start..self.position];
        if !raw.contains(&b'\\')
            && let Ok(text) = std::str::from_utf8(&raw[1..raw.len() - 1])
        {
            return Ok(Text::from(text));
        }
        Ok(Text::from(unescape(&String::from_utf8_lossy(&raw[1..raw.len() - 1]))))
    }

    fn hexadecimal(&mut self) -> Result<(), Error> {
        for _ in 0..4 {
            self.position += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.invalid("in \\u hexadecimal character escape"));
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, Error> {
        let start = self.position;
        if self.peek() == Some(b'-') {
            self.position += 1;
        }
        match self.peek() {
            Some(b'0') => self.position += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.invalid("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.position += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.invalid("after decimal point in numeric literal"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.position += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.position += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.invalid("in exponent of numeric literal"));
            }
            self.digits();
        }
        let text = String::from_utf8_lossy(&self.text[start..self.position]);
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => {
                let words =
                    format!("json: cannot unmarshal number {text} into Go value of type float64");
                self.problem.get_or_insert(Error::function(words));
                Ok(Value::Nil)
            }
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.position += 1;
        }
    }
}

fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let letter = rest.as_bytes()[at + 1];
        rest = &rest[at + 2..];
        match letter {
            b'b' => out.push('\x08'),
            b'f' => out.push('\x0c'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let unit = code_unit(rest);
                rest = &rest[4..];
                let low = rest.strip_prefix("\\u").map(code_unit);
                match (char::from_u32(unit), low) {
                    (Some(c), _) => out.push(c),
                    (None, Some(low @ 0xdc00..=0xdfff)) if unit < 0xdc00 => {
                        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                        rest = &rest[6..];
                    }
                    _ => out.push('\u{fffd}'),
                }
            }
            other => out.push(other as char),
        }
    }
    out.push_str(rest);
    out
}

fn code_unit(text: &str) -> u32 {
    text.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd)
}

impl Value {
    /// The value of decoded JSON or YAML as Go's `encoding/json` holds it: numbers are `float64`.
    pub fn from_json(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::string(text.as_str()),
            Json::Array(items) => Self::list(items.iter().map(Self::from_json).collect()),
            Json::Object(entries) => {
                Self::map(entries.iter().map(|(key, value)| (key.as_str(), Self::from_json(value))))
            }
        }
    }

    /// What `encoding/json` would write, as data: a whole float is an integer there.
    ///
    /// # Errors
    /// For values JSON cannot hold, in Go's words.
    pub fn to_json(&self) -> Result<Json, Error> {
        Converter { count: 0 }.value(self, 0)
    }
}

struct Converter {
    count: usize,
}

impl Converter {
    fn value(&mut self, value: &Value, depth: usize) -> Result<Json, Error> {
        // Maps that share their parts can be small in memory and endless as a tree.
        self.count += 1;
        if self.count > MAX_VALUES {
            return Err(Error::limit(format!("value has more than {MAX_VALUES} parts")));
        }
        if depth > MAX_DEPTH {
            return Err(Error::function("json: unsupported value: encountered a cycle"));
        }
        Ok(match value {
            Value::Nothing | Value::Nil => Json::Null,
            Value::List(list) if list.is_nil() => Json::Null,
            Value::Map(map) if map.is_nil() => Json::Null,
            Value::Bool(truth) => Json::Bool(*truth),
            Value::Int(_, number) => Json::from(*number),
            Value::Uint(_, number) => Json::from(*number),
            Value::Float(number) => json_number(*number)?,
            Value::String(text) => Json::String(text.as_str().into_owned()),
            Value::Bytes(bytes) => Json::String(crate::base64::encode(bytes.as_bytes())),
            Value::List(list) => Json::Array(
                list.iter().map(|item| self.value(item, depth + 1)).collect::<Result<_, _>>()?,
            ),
            Value::Map(map) => {
                let entries = map.entries();
                let entries = entries.iter().map(|(key, value)| {
                    Ok((key.as_str().into_owned(), self.value(value, depth + 1)?))
                });
                Json::Object(entries.collect::<Result<_, Error>>()?)
            }
            Value::Object(object) => match object.json() {
                JsonForm::Value(value) => self.value(&value, depth + 1)?,
                JsonForm::Fields(fields) => {
                    let fields = fields.iter().map(|(name, value)| {
                        Ok(((*name).to_owned(), self.value(value, depth + 1)?))
                    });
                    Json::Object(fields.collect::<Result<_, Error>>()?)
                }
            },
            Value::Function(_) => return Err(Error::function("json: unsupported type: func()")),
        })
    }
}

fn json_number(number: f64) -> Result<Json, Error> {
    if !number.is_finite() {
        let text = crate::strconv::format_float(number);
        return Err(Error::function(format!("json: unsupported value: {text}")));
    }
    if number.fract() == 0.0 && number.abs() < 9.2e18 {
        return Ok(Json::from(number as i64));
    }
    Ok(Json::from(number))
}
