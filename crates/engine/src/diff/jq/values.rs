//! What functions make of values, without looking at anything else.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::arithmetic::{self, Operator, number};
use super::functions::{Plain, With};
use super::{RunError, kind, order, wrong};

pub(super) fn plain(function: Plain, value: &Value) -> Result<Value, RunError> {
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
        Plain::ToJson => Value::from(value.to_string()),
        Plain::FromJson => {
            let read = serde_json::from_str(text(value, "read as JSON")?);
            read.map_err(|_| wrong("read as JSON", value))?
        }
        Plain::Bytes => Value::from(text(value, "measure")?.len()),
        Plain::Trim => Value::from(text(value, "trim")?.trim()),
        Plain::TrimLeft => Value::from(text(value, "trim")?.trim_start()),
        Plain::TrimRight => Value::from(text(value, "trim")?.trim_end()),
        Plain::Floor => number(float(value, "round")?.floor())?,
        Plain::Ceil => number(float(value, "round")?.ceil())?,
        Plain::Round => number(float(value, "round")?.round())?,
        Plain::Abs => number(float(value, "take the size of")?.abs())?,
        Plain::Reverse => match value {
            Value::Null => json!([]),
            Value::String(text) => Value::from(text.chars().rev().collect::<String>()),
            other => elements(other, "reverse")?.iter().rev().cloned().collect(),
        },
        Plain::Add => elements(value, "add up")?
            .iter()
            .try_fold(Value::Null, |sum, it| arithmetic::apply(sum, Operator::Add, it))?,
        Plain::Smallest => elements(value, "compare the elements of")?
            .iter()
            .min_by(|left, right| order(left, right))
            .cloned()
            .unwrap_or_default(),
        Plain::Largest => elements(value, "compare the elements of")?
            .iter()
            .max_by(|left, right| order(left, right))
            .cloned()
            .unwrap_or_default(),
        Plain::Flatten => {
            let mut flat = Vec::new();
            flatten(elements(value, "flatten")?, usize::MAX, &mut flat);
            Value::Array(flat)
        }
        Plain::Sort | Plain::Unique => {
            let mut items = elements(value, "sort")?.to_vec();
            items.sort_by(order);
            if function == Plain::Unique {
                items.dedup_by(|left, right| order(left, right).is_eq());
            }
            Value::Array(items)
        }
    })
}

pub(super) fn to_entries(value: &Value) -> Result<Value, RunError> {
    let Value::Object(fields) = value else { return Err(wrong("take the entries of", value)) };
    Ok(fields.iter().map(|(key, value)| json!({"key": key, "value": value})).collect())
}

/// jq takes several names for both halves of an entry.
pub(super) fn from_entries(value: &Value) -> Result<Value, RunError> {
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

pub(super) fn with(function: With, value: &Value, argument: &Value) -> Result<Value, RunError> {
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
            arithmetic::apply(Value::from(whole), Operator::Divide, &Value::from(separator))?
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
        With::Flatten => {
            let depth = argument.as_u64().ok_or_else(|| wrong("flatten by", argument))?;
            let mut flat = Vec::new();
            let depth = usize::try_from(depth).unwrap_or(usize::MAX);
            flatten(elements(value, "flatten")?, depth, &mut flat);
            Value::Array(flat)
        }
    })
}

/// The elements of lists within lists, down to a depth.
fn flatten(items: &[Value], depth: usize, flat: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::Array(inner) if depth > 0 => flatten(inner, depth - 1, flat),
            other => flat.push(other.clone()),
        }
    }
}

fn elements<'v>(value: &'v Value, what: &'static str) -> Result<&'v [Value], RunError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| wrong(what, value))
}

fn float(value: &Value, what: &'static str) -> Result<f64, RunError> {
    value.as_f64().ok_or_else(|| wrong(what, value))
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

pub(super) fn in_words(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

pub(super) fn text<'t>(value: &'t Value, what: &'static str) -> Result<&'t str, RunError> {
    value.as_str().ok_or_else(|| wrong(what, value))
}
