//! The functions that an expression may call. None of them runs longer than what
//! it looks at is large, and each pays for that.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value, json};

use super::{
    Expression, Found, Results, Run, RunError, field, kind, made, order, truth, weight, wrong,
};

/// What reading a pattern costs: about as much as so many other steps.
const STEPS_PER_PATTERN: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    Select,
    Map,
    MapEntries,
    Any,
    All,
    In,
    First,
    Last,
    GetPath,
    /// One that makes one value of one value.
    Plain(Plain),
    /// One that makes one value of a value and an argument.
    With(With),
    /// Passes on what is of one of these types.
    Only(&'static [&'static str]),
    Not,
    Empty,
    Test,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Plain {
    Length,
    Type,
    Keys,
    Downcase,
    Upcase,
    ToString,
    ToNumber,
    ToEntries,
    FromEntries,
    Sort,
    Unique,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum With {
    Has,
    HasKey,
    Contains,
    Inside,
    Begins,
    Ends,
    TrimStart,
    TrimEnd,
    Split,
    Join,
    Index,
}

impl Function {
    pub(super) fn named(name: &str, arguments: usize) -> Option<Self> {
        let plain = |it| Some(Self::Plain(it));
        let with = |it| Some(Self::With(it));
        match (name, arguments) {
            ("select", 1) => Some(Self::Select),
            ("map", 1) => Some(Self::Map),
            ("with_entries", 1) => Some(Self::MapEntries),
            ("any", 0..=2) => Some(Self::Any),
            ("all", 0..=2) => Some(Self::All),
            ("IN", 1) => Some(Self::In),
            ("first", 0 | 1) => Some(Self::First),
            ("last", 0 | 1) => Some(Self::Last),
            ("getpath", 1) => Some(Self::GetPath),
            ("not", 0) => Some(Self::Not),
            ("empty", 0) => Some(Self::Empty),
            ("test", 1 | 2) => Some(Self::Test),
            ("length", 0) => plain(Plain::Length),
            ("type", 0) => plain(Plain::Type),
            ("keys" | "keys_unsorted", 0) => plain(Plain::Keys),
            ("ascii_downcase", 0) => plain(Plain::Downcase),
            ("ascii_upcase", 0) => plain(Plain::Upcase),
            ("tostring", 0) => plain(Plain::ToString),
            ("tonumber", 0) => plain(Plain::ToNumber),
            ("to_entries", 0) => plain(Plain::ToEntries),
            ("from_entries", 0) => plain(Plain::FromEntries),
            ("sort", 0) => plain(Plain::Sort),
            ("unique", 0) => plain(Plain::Unique),
            ("has", 1) => with(With::Has),
            ("in", 1) => with(With::HasKey),
            ("contains", 1) => with(With::Contains),
            ("inside", 1) => with(With::Inside),
            ("startswith", 1) => with(With::Begins),
            ("endswith", 1) => with(With::Ends),
            ("ltrimstr", 1) => with(With::TrimStart),
            ("rtrimstr", 1) => with(With::TrimEnd),
            ("split", 1) => with(With::Split),
            ("join", 1) => with(With::Join),
            ("index", 1) => with(With::Index),
            ("values", 0) => Some(Self::Only(&["boolean", "number", "string", "array", "object"])),
            ("nulls", 0) => Some(Self::Only(&["null"])),
            ("booleans", 0) => Some(Self::Only(&["boolean"])),
            ("numbers", 0) => Some(Self::Only(&["number"])),
            ("strings", 0) => Some(Self::Only(&["string"])),
            ("arrays", 0) => Some(Self::Only(&["array"])),
            ("objects", 0) => Some(Self::Only(&["object"])),
            ("iterables", 0) => Some(Self::Only(&["array", "object"])),
            ("scalars", 0) => Some(Self::Only(&["null", "boolean", "number", "string"])),
            _ => None,
        }
    }
}

impl Run {
    pub(super) fn call<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let value = &*at.value;
        match function {
            Function::Empty => Ok(Vec::new()),
            Function::Not => self.make(Value::Bool(!truth(value))),
            Function::Only(kinds) => {
                self.pay_for_copy(at)?;
                Ok(kinds.contains(&kind(value)).then(|| at.clone()).into_iter().collect())
            }
            Function::Select => {
                let mut results = Vec::new();
                for found in self.evaluate(&arguments[0], at)? {
                    self.pay_for_copy(at)?;
                    results.extend(truth(&found.value).then(|| at.clone()));
                }
                Ok(results)
            }
            Function::Map => {
                let mapped = self.map(&arguments[0], at)?;
                self.make(Value::Array(mapped))
            }
            Function::MapEntries => {
                let entries = self.make(to_entries(value)?)?;
                let mut results = Vec::new();
                for entries in entries {
                    let mapped = self.map(&arguments[0], &entries)?;
                    results.extend(self.make(from_entries(&Value::Array(mapped))?)?);
                }
                Ok(results)
            }
            Function::Any | Function::All => {
                let wanted = function == Function::Any;
                let found = self.is_any(wanted, arguments, at)?;
                self.make(Value::Bool(found == wanted))
            }
            Function::In => {
                let mut is_in = false;
                for candidate in self.evaluate(&arguments[0], at)? {
                    self.pay(weight(value).min(weight(&candidate.value)))?;
                    is_in |= order(value, &candidate.value).is_eq();
                }
                self.make(Value::Bool(is_in))
            }
            Function::First | Function::Last => self.end(function, arguments, at),
            Function::GetPath => self.get_path(&arguments[0], at),
            Function::Test => self.test(arguments, at),
            Function::Plain(function) => {
                self.pay(weight(value))?;
                let answer = plain(function, value)?;
                self.make(answer)
            }
            Function::With(function) => {
                let mut results = Vec::new();
                for argument in self.evaluate(&arguments[0], at)? {
                    self.pay_for_pairs(function, value, &argument.value)?;
                    let answer = with(function, value, &argument.value)?;
                    results.extend(self.make(answer)?);
                }
                Ok(results)
            }
        }
    }

    /// What an expression makes of each element.
    fn map(&mut self, expression: &Expression, at: &Found<'_>) -> Result<Vec<Value>, RunError> {
        let mut mapped = Vec::new();
        for item in self.iterate(at)? {
            let made = self.evaluate(expression, &item)?;
            mapped.extend(made.into_iter().map(|it| it.value.into_owned()));
        }
        Ok(mapped)
    }

    /// `any`, `any(condition)` and `any(generator; condition)`: does a condition
    /// come out as `wanted`? If none does, the answer is the opposite.
    fn is_any(
        &mut self,
        wanted: bool,
        arguments: &[Expression],
        at: &Found<'_>,
    ) -> Result<bool, RunError> {
        let (items, condition) = match arguments {
            [generator, condition] => (self.evaluate(generator, at)?, Some(condition)),
            arguments => (self.iterate(at)?, arguments.first()),
        };
        for item in items {
            let holds = match condition {
                Some(condition) => self.is_true(condition, &item)?,
                None => truth(&item.value),
            };
            if holds == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first or last element of a list, or of what an expression yields.
    fn end<'v>(
        &mut self,
        function: Function,
        arguments: &[Expression],
        at: &Found<'v>,
    ) -> Results<'v> {
        let is_first = function == Function::First;
        let Some(of) = arguments.first() else {
            self.pay_for_copy(at)?;
            return Ok(vec![field(at, &json!(if is_first { 0 } else { -1 }))?]);
        };
        let mut found = self.evaluate(of, at)?;
        if is_first {
            found.truncate(1);
        } else if let Some(last) = found.pop() {
            found = vec![last];
        }
        Ok(found)
    }

    fn get_path<'v>(&mut self, path: &Expression, at: &Found<'v>) -> Results<'v> {
        let mut results = Vec::new();
        for path in self.evaluate(path, at)? {
            let Value::Array(steps) = &*path.value else {
                return Err(wrong("take as a path", &path.value));
            };
            let mut reached = at.clone();
            for step in steps {
                self.pay_for_copy(&reached)?;
                self.pay(1)?;
                reached = field(&reached, step)?;
            }
            results.push(reached);
        }
        Ok(results)
    }

    fn test<'v>(&mut self, arguments: &[Expression], at: &Found<'v>) -> Results<'v> {
        let subject = text(&at.value, "match")?;
        let flags = match arguments.get(1) {
            Some(flags) => self.evaluate(flags, at)?,
            None => vec![made(Value::Null)],
        };
        let mut results = Vec::new();
        for argument in self.evaluate(&arguments[0], at)? {
            for flags in &flags {
                self.pay(1 + subject.len() / 64)?;
                let is_match = self.pattern(&argument.value, &flags.value)?.is_match(subject);
                results.push(made(Value::Bool(is_match)));
            }
        }
        Ok(results)
    }

    fn pattern(&mut self, pattern: &Value, flags: &Value) -> Result<&Regex, RunError> {
        let written = text(pattern, "match with")?;
        let flags = if flags.is_null() { "" } else { text(flags, "match with")? };
        let key = format!("{flags}/{written}");
        if !self.patterns.contains_key(&key) {
            self.pay(STEPS_PER_PATTERN)?;
            let mut builder = RegexBuilder::new(written);
            builder.size_limit(1 << 20);
            for flag in flags.chars() {
                match flag {
                    'i' => builder.case_insensitive(true),
                    'x' => builder.ignore_whitespace(true),
                    's' => builder.dot_matches_new_line(true),
                    // Which matches there are makes no difference to whether there is one.
                    'g' | 'n' => &mut builder,
                    _ => return Err(wrong("match with", pattern)),
                };
            }
            let read = builder.build().map_err(|_| wrong("match with", pattern))?;
            self.patterns.insert(key.clone(), read);
        }
        self.patterns.get(&key).ok_or(wrong("match with", pattern))
    }

    /// What lies in what is found by trying every pair.
    fn pay_for_pairs(
        &mut self,
        function: With,
        value: &Value,
        argument: &Value,
    ) -> Result<(), RunError> {
        let (value, argument) = (weight(value), weight(argument));
        self.pay(match function {
            With::Contains | With::Inside | With::Index => value.saturating_mul(argument),
            _ => value.saturating_add(argument),
        })
    }
}

fn plain(function: Plain, value: &Value) -> Result<Value, RunError> {
    Ok(match function {
        Plain::Length => Value::from(match value {
            Value::Null => 0,
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            other => return Err(wrong("measure", other)),
        }),
        Plain::Type => Value::from(kind(value)),
        Plain::Keys => match value {
            Value::Object(fields) => fields.keys().map(|it| Value::from(it.as_str())).collect(),
            Value::Array(items) => (0..items.len()).map(Value::from).collect(),
            other => return Err(wrong("take the keys of", other)),
        },
        Plain::Downcase => Value::from(text(value, "lower")?.to_ascii_lowercase()),
        Plain::Upcase => Value::from(text(value, "raise")?.to_ascii_uppercase()),
        Plain::ToString => Value::from(in_words(value).into_owned()),
        Plain::ToNumber => match value {
            Value::Number(_) => value.clone(),
            Value::String(text) => {
                let read = serde_json::from_str::<serde_json::Number>(text.trim());
                Value::Number(read.map_err(|_| wrong("read as a number", value))?)
            }
            other => return Err(wrong("read as a number", other)),
        },
        Plain::ToEntries => to_entries(value)?,
        Plain::FromEntries => from_entries(value)?,
        Plain::Sort | Plain::Unique => {
            let Value::Array(items) = value else { return Err(wrong("sort", value)) };
            let mut items = items.clone();
            items.sort_by(order);
            if function == Plain::Unique {
                items.dedup_by(|left, right| order(left, right).is_eq());
            }
            Value::Array(items)
        }
    })
}

fn to_entries(value: &Value) -> Result<Value, RunError> {
    let Value::Object(fields) = value else { return Err(wrong("take the entries of", value)) };
    Ok(fields.iter().map(|(key, value)| json!({"key": key, "value": value})).collect())
}

/// jq takes several names for both halves of an entry.
fn from_entries(value: &Value) -> Result<Value, RunError> {
    let Value::Array(entries) = value else { return Err(wrong("make a mapping of", value)) };
    let mut fields = Map::new();
    for entry in entries {
        let half =
            |names: [&str; 4]| names.iter().find_map(|it| entry.get(it).filter(|it| !it.is_null()));
        let key = half(["key", "k", "name", "Name"]).unwrap_or(&Value::Null);
        if !matches!(key, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
            return Err(wrong("make a key of", key));
        }
        let value = half(["value", "v", "Value", "V"]).cloned().unwrap_or_default();
        fields.insert(in_words(key).into_owned(), value);
    }
    Ok(Value::Object(fields))
}

fn with(function: With, value: &Value, argument: &Value) -> Result<Value, RunError> {
    Ok(match function {
        With::Has => Value::Bool(has(value, argument)?),
        With::HasKey => Value::Bool(has(argument, value)?),
        With::Contains => Value::Bool(contains(value, argument)),
        With::Inside => Value::Bool(contains(argument, value)),
        With::Begins => {
            Value::Bool(text(value, "begin")?.starts_with(text(argument, "begin with")?))
        }
        With::Ends => Value::Bool(text(value, "end")?.ends_with(text(argument, "end with")?)),
        // What has no such beginning or end stays as it is, texts or not.
        With::TrimStart | With::TrimEnd => match (value, argument) {
            (Value::String(whole), Value::String(part)) => {
                let rest = match function {
                    With::TrimStart => whole.strip_prefix(part.as_str()),
                    _ => whole.strip_suffix(part.as_str()),
                };
                Value::from(rest.unwrap_or(whole))
            }
            _ => value.clone(),
        },
        With::Split => {
            let (whole, separator) = (text(value, "split")?, text(argument, "split by")?);
            if whole.is_empty() {
                json!([])
            } else if separator.is_empty() {
                whole.chars().map(|it| Value::from(it.to_string())).collect()
            } else {
                whole.split(separator).map(Value::from).collect()
            }
        }
        With::Join => {
            let Value::Array(items) = value else { return Err(wrong("join", value)) };
            let separator = text(argument, "join by")?;
            let mut words = Vec::with_capacity(items.len());
            for item in items {
                words.push(match item {
                    Value::Null => Cow::Borrowed(""),
                    Value::Array(_) | Value::Object(_) => return Err(wrong("join", item)),
                    scalar => in_words(scalar),
                });
            }
            Value::from(words.join(separator))
        }
        With::Index => index(value, argument)?,
    })
}

fn has(value: &Value, key: &Value) -> Result<bool, RunError> {
    match (value, key) {
        (Value::Object(fields), Value::String(name)) => Ok(fields.contains_key(name)),
        (Value::Array(items), Value::Number(index)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            Ok(index.as_i64().is_some_and(|it| (0..length).contains(&it)))
        }
        (other, _) => Err(wrong("look for a key in", other)),
    }
}

fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part))),
        (Value::Array(value), Value::Array(part)) => {
            part.iter().all(|part| value.iter().any(|value| contains(value, part)))
        }
        (Value::String(value), Value::String(part)) => value.contains(part.as_str()),
        (value, part) => order(value, part).is_eq(),
    }
}

/// Where a text first occurs in a text, in characters, or a value in a list.
fn index(value: &Value, part: &Value) -> Result<Value, RunError> {
    let found = match (value, part) {
        (Value::Null, _) => None,
        (Value::String(_), Value::String(part)) if part.is_empty() => None,
        (Value::String(whole), Value::String(part)) => {
            whole.find(part.as_str()).map(|it| whole[..it].chars().count())
        }
        (Value::Array(whole), Value::Array(part))
            if part.is_empty() || part.len() > whole.len() =>
        {
            None
        }
        (Value::Array(whole), Value::Array(part)) => whole
            .windows(part.len())
            .position(|it| it.iter().zip(part).all(|(one, other)| order(one, other).is_eq())),
        (Value::Array(whole), part) => whole.iter().position(|it| order(it, part).is_eq()),
        (other, _) => return Err(wrong("look for a position in", other)),
    };
    Ok(found.map_or(Value::Null, Value::from))
}

fn in_words(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn text<'t>(value: &'t Value, what: &'static str) -> Result<&'t str, RunError> {
    value.as_str().ok_or_else(|| wrong(what, value))
}
