//! The grammar of `--set`: `a.b[0].c=value,d={x,y}`, with `\` before a character that is meant as it
//! stands.

use std::collections::BTreeMap;

use template::{Map, Text, Value};

/// The highest list index, so that `a[999999999]=1` costs nothing.
const MAX_INDEX: i64 = 65_536;
/// The deepest name.
const MAX_LEVEL: usize = 30;

/// How the text of a value is read.
#[derive(Clone, Copy)]
pub(crate) enum Reading<'a> {
    /// `true`, `null` and whole numbers are what they look like.
    Typed,
    /// Everything is text.
    Text,
    /// Everything is a path; its content is the value.
    Files(&'a BTreeMap<String, Vec<u8>>),
    /// JSON follows.
    Json,
}

/// Why a setting cannot be taken. The end of the text is not a failure but the usual end.
enum Stop {
    End,
    Failed(String),
}

type Parsed<T> = Result<T, Stop>;

fn failed<T>(message: impl Into<String>) -> Parsed<T> {
    Err(Stop::Failed(message.into()))
}

/// Puts the settings of `text` into `data`.
pub(crate) fn parse(data: &Map, text: &str, reading: Reading<'_>) -> Result<(), String> {
    run(data, text, reading, false)
}

/// The same for `--set-literal`: one setting, whose value is taken as it stands.
pub(crate) fn parse_literal(data: &Map, text: &str) -> Result<(), String> {
    run(data, text, Reading::Text, true)
}

fn run(data: &Map, text: &str, reading: Reading<'_>, is_literal: bool) -> Result<(), String> {
    let mut parser = Parser { rest: text, reading, is_literal };
    loop {
        match parser.key(data, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Failed(message)) => return Err(message),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    reading: Reading<'a>,
    is_literal: bool,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// The text up to one of the stops, and that stop; none at the end.
    fn until(&mut self, stops: &str) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            if stops.contains(c) {
                return (text, Some(c));
            }
            if c == '\\' && !self.is_literal {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => return (text, None),
                }
            } else {
                text.push(c);
            }
        }
        (text, None)
    }

    fn key(&mut self, data: &Map, level: usize) -> Parsed<()> {
        let (key, stop) = self.until(if self.is_literal { "=[." } else { "=[,." });
        match stop {
            None if key.is_empty() => Err(Stop::End),
            None => failed(format!("key {key:?} has no value")),
            Some('[') => self.indexed_key(data, &key, level),
            Some('=') => self.assignment(data, &key),
            Some('.') => self.nested_key(data, &key, level + 1),
            Some(_) => {
                set(data, &key, Value::string(""));
                failed(format!("key {key:?} has no value (cannot end with ,)"))
            }
        }
    }

    fn indexed_key(&mut self, data: &Map, key: &str, level: usize) -> Parsed<()> {
        let index = self.index()?;
        let list = match data.get(key.as_bytes()) {
            None => Vec::new(),
            Some(Value::List(list)) => list.to_vec(),
            Some(other) => {
                return failed(format!("unable to parse key: {}", not_a(&other, "[]interface {}")));
            }
        };
        let mut list = list;
        let result = self.list_item(&mut list, index, level);
        set(data, key, Value::list(list));
        result
    }

    fn nested_key(&mut self, data: &Map, key: &str, level: usize) -> Parsed<()> {
        if level > MAX_LEVEL {
            return failed(format!(
                "value name nested level is greater than maximum supported nested level of \
                 {MAX_LEVEL}"
            ));
        }
        let inner = match data.get(key.as_bytes()) {
            None => Map::new::<&str>([]),
            Some(Value::Map(map)) => map,
            Some(other) => {
                let problem = not_a(&other, "map[string]interface {}");
                return failed(format!("unable to parse key: {problem}"));
            }
        };
        let result = self.key(&inner, level);
        let is_empty = inner.entries().is_empty();
        if result.is_ok() && is_empty {
            return failed(format!("key map {key:?} has no value"));
        }
        if !is_empty {
            set(data, key, Value::Map(inner));
        }
        result
    }

    fn assignment(&mut self, data: &Map, key: &str) -> Parsed<()> {
        match self.value() {
            Ok(value) => {
                set(data, key, value);
                Ok(())
            }
            // Nothing after the sign: an empty text, and the end.
            Err(Stop::End) => {
                set(data, key, Value::string(""));
                Err(Stop::End)
            }
            Err(stop) => Err(stop),
        }
    }

    fn value(&mut self) -> Parsed<Value> {
        if self.is_literal {
            return Ok(Value::string(std::mem::take(&mut self.rest)));
        }
        if let Reading::Json = self.reading {
            return self.json();
        }
        match self.rest.chars().next() {
            None => Err(Stop::End),
            Some('{') => {
                self.next();
                self.list()
            }
            Some(_) => {
                let (text, _) = self.until(",");
                self.read(&text)
            }
        }
    }

    fn list(&mut self) -> Parsed<Value> {
        let mut items = Vec::new();
        loop {
            let (text, stop) = self.until(",}");
            match stop {
                None => return failed("list must terminate with '}'"),
                Some('}') => {
                    items.push(self.read(&text)?);
                    if self.rest.starts_with(',') {
                        self.next();
                    }
                    return Ok(Value::list(items));
                }
                Some(_) => items.push(self.read(&text)?),
            }
        }
    }

    fn json(&mut self) -> Parsed<Value> {
        if self.nothing_left() {
            return Ok(Value::Nil);
        }
        let mut stream =
            serde_json::Deserializer::from_str(self.rest).into_iter::<serde_json::Value>();
        match stream.next() {
            Some(Ok(value)) => {
                self.rest = &self.rest[stream.byte_offset()..];
                self.nothing_left();
                Ok(Value::from_json(&value))
            }
            Some(Err(error)) => failed(error.to_string()),
            None => Err(Stop::End),
        }
    }

    /// Skips space and one comma; whether that or the end was all there was.
    fn nothing_left(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(',') {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => self.rest.is_empty(),
        }
    }

    fn read(&self, text: &str) -> Parsed<Value> {
        Ok(match self.reading {
            Reading::Text | Reading::Json => Value::string(text),
            Reading::Typed => typed(text),
            Reading::Files(contents) => match contents.get(text) {
                Some(content) => Value::String(Text::from(content.as_slice())),
                None => return failed(format!("open {text}: no such file or directory")),
            },
        })
    }

    fn index(&mut self) -> Parsed<i64> {
        let (digits, stop) = self.until("]");
        if stop.is_none() {
            // To Helm the end of the text is the end of the settings, here too.
            return Err(Stop::End);
        }
        digits.parse().map_err(|error: std::num::ParseIntError| {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let reason = match error.kind() {
                PosOverflow | NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Stop::Failed(format!("error parsing index: strconv.Atoi: parsing {digits:?}: {reason}"))
        })
    }

    fn list_item(&mut self, list: &mut Vec<Value>, index: i64, level: usize) -> Parsed<()> {
        if index < 0 {
            return failed(format!("negative {index} index not allowed"));
        }
        let (text, stop) = self.until("[.=");
        if !text.is_empty() {
            let codes: Vec<String> = text.chars().map(|c| format!("'{c}'")).collect();
            return failed(format!("unexpected data at end of array index: [{}]", codes.join(" ")));
        }
        let position = usize::try_from(index).unwrap_or(usize::MAX);
        match stop {
            None => Err(Stop::End),
            Some('=') => {
                let value = match self.value() {
                    Err(Stop::End) => Value::string(""),
                    other => other?,
                };
                set_index(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match list.get(position) {
                    None | Some(Value::Nil | Value::Nothing) => Vec::new(),
                    Some(Value::List(inner)) => inner.to_vec(),
                    Some(other) => {
                        let problem = not_a(other, "[]interface {}");
                        return failed(format!("unable to parse key: {problem}"));
                    }
                };
                self.list_item(&mut inner, next, level)?;
                set_index(list, index, Value::list(inner))
            }
            Some(_) => {
                let inner = match list.get(position) {
                    Some(Value::Map(map)) => map.clone(),
                    _ => Map::new::<&str>([]),
                };
                self.key(&inner, level)?;
                set_index(list, index, Value::Map(inner))
            }
        }
    }
}

fn set(data: &Map, key: &str, value: Value) {
    if !key.is_empty() {
        data.set(key, value);
    }
}

fn set_index(list: &mut Vec<Value>, index: i64, value: Value) -> Parsed<()> {
    if index > MAX_INDEX {
        return failed(format!(
            "index of {index} is greater than maximum supported index of {MAX_INDEX}"
        ));
    }
    let position = usize::try_from(index).unwrap_or_default();
    if list.len() <= position {
        list.resize(position + 1, Value::Nil);
    }
    list[position] = value;
    Ok(())
}

fn typed(text: &str) -> Value {
    if text.eq_ignore_ascii_case("true") {
        return Value::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Value::Bool(false);
    }
    if text.eq_ignore_ascii_case("null") {
        return Value::Nil;
    }
    if text == "0" {
        return Value::int64(0);
    }
    match text.parse::<i64>() {
        Ok(number) if !text.starts_with('0') => Value::int64(number),
        _ => Value::string(text),
    }
}

/// Go's words for a failed type assertion.
fn not_a(value: &Value, wanted: &str) -> String {
    let found = if value.is_nil() { "nil".into() } else { value.type_name() };
    format!("interface conversion: interface {{}} is {found}, not {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        let data = Map::new::<&str>([]);
        let result = parse(&data, text, Reading::Typed)
            .map(|()| Value::Map(data).to_json().map(|json| json.to_string()).unwrap_or_default());
        assert_eq!(result.as_deref().map_err(String::as_str), expect, "{text}");
    }

    #[test]
    fn names_lists_and_types_are_read() {
        check("a.b=1,c=x", Ok(r#"{"a":{"b":1},"c":"x"}"#));
        check("l={a,1,true}", Ok(r#"{"l":["a",1,true]}"#));
        check("l[1].x=y", Ok(r#"{"l":[null,{"x":"y"}]}"#));
        check("l[0][1]=z", Ok(r#"{"l":[[null,"z"]]}"#));
        check(r"a\.b=x\,y", Ok(r#"{"a.b":"x,y"}"#));
        check("a=007", Ok(r#"{"a":"007"}"#));
        check("a=", Ok(r#"{"a":""}"#));
        check("a=,b=1", Ok(r#"{"a":"","b":1}"#));
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        check("a", Err("key \"a\" has no value"));
        check(",", Err("key \"\" has no value (cannot end with ,)"));
        check("a..b=1", Err("key map \"a\" has no value"));
        check("a[-1]=1", Err("negative -1 index not allowed"));
        check(
            "a[99999999]=1",
            Err("index of 99999999 is greater than maximum supported index of 65536"),
        );
        check("l={a", Err("list must terminate with '}'"));
        check("a[x]=1", Err("error parsing index: strconv.Atoi: parsing \"x\": invalid syntax"));
    }
}
