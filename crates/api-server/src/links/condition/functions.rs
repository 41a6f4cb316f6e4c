//! The functions of conditions, but for those that ask something of each member.

use serde_json::Value;

use super::evaluate::number;

/// No text that a function makes is longer.
const TEXT_LIMIT: usize = 1 << 20;

/// What a function makes of these.
///
/// # Errors
/// When it is not known, or not for these.
pub(super) fn called(function: &str, arguments: &[Value]) -> Result<Value, String> {
    use Value::{Array, Object, String as Text};
    Ok(match (function, arguments) {
        ("len", [Text(text)]) => text.chars().count().into(),
        ("len", [Array(items)]) => items.len().into(),
        ("len", [Object(fields)]) => fields.len().into(),
        ("lower", [Text(text)]) => text.to_lowercase().into(),
        ("upper", [Text(text)]) => text.to_uppercase().into(),
        ("trim", [Text(text)]) => text.trim().into(),
        ("trim", [Text(text), Text(set)]) => text.trim_matches(|it| set.contains(it)).into(),
        ("trimPrefix", [Text(text), Text(start)]) => {
            text.strip_prefix(start.as_str()).unwrap_or(text).into()
        }
        ("trimSuffix", [Text(text), Text(end)]) => {
            text.strip_suffix(end.as_str()).unwrap_or(text).into()
        }
        ("hasPrefix", [Text(text), Text(start)]) => text.starts_with(start.as_str()).into(),
        ("hasSuffix", [Text(text), Text(end)]) => text.ends_with(end.as_str()).into(),
        ("indexOf", [Text(text), Text(part)]) => place(text.find(part.as_str())),
        ("lastIndexOf", [Text(text), Text(part)]) => place(text.rfind(part.as_str())),
        ("split", [Text(text), Text(at)]) if at.is_empty() => {
            text.chars().map(|it| it.to_string()).collect::<Vec<_>>().into()
        }
        ("split", [Text(text), Text(at)]) => text.split(at.as_str()).collect::<Vec<_>>().into(),
        ("join", [Array(items)]) => joined(items, "")?.into(),
        ("join", [Array(items), Text(between)]) => joined(items, between)?.into(),
        ("replace", [Text(text), Text(from), Text(to)]) => {
            let longest = text.len().saturating_mul(to.len() + 1);
            if longest > TEXT_LIMIT {
                return Err("replace would make too long a text".into());
            }
            text.replace(from.as_str(), to).into()
        }
        ("string", [Text(text)]) => text.as_str().into(),
        ("string", [other]) => printed(other).into(),
        ("int", [Text(text)]) => {
            text.parse::<i64>().map_err(|_| format!("{text:?} is no whole number"))?.into()
        }
        ("int", [other]) => number(other)?.trunc().into(),
        ("float", [Text(text)]) => {
            text.parse::<f64>().map_err(|_| format!("{text:?} is no number"))?.into()
        }
        ("float", [other]) => number(other)?.into(),
        ("abs", [other]) => number(other)?.abs().into(),
        ("first", [Array(items)]) => items.first().cloned().unwrap_or_default(),
        ("last", [Array(items)]) => items.last().cloned().unwrap_or_default(),
        ("keys", [Object(fields)]) => fields.keys().cloned().collect::<Vec<_>>().into(),
        ("values", [Object(fields)]) => fields.values().cloned().collect::<Vec<_>>().into(),
        ("get", [Object(fields), Text(key)]) => fields.get(key).cloned().unwrap_or_default(),
        _ if KNOWN.contains(&function) => {
            let given: Vec<String> = arguments.iter().map(Value::to_string).collect();
            return Err(format!("the function {function} does not take ({})", given.join(", ")));
        }
        _ => return Err(format!("the function {function} is not supported")),
    })
}

const KNOWN: &[&str] = &[
    "len",
    "lower",
    "upper",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "hasPrefix",
    "hasSuffix",
    "indexOf",
    "lastIndexOf",
    "split",
    "join",
    "replace",
    "string",
    "int",
    "float",
    "abs",
    "first",
    "last",
    "keys",
    "values",
    "get",
    "any",
    "all",
    "none",
    "one",
    "count",
    "filter",
    "map",
    "find",
];

/// Where something was found, in bytes; -1 for nowhere.
fn place(found: Option<usize>) -> Value {
    found.map_or_else(|| (-1).into(), Into::into)
}

fn joined(items: &[Value], between: &str) -> Result<String, String> {
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    Ok(texts.ok_or("join needs a list of texts")?.join(between))
}

/// A whole number has no point, however it was computed.
fn printed(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{number:.0}"),
        _ => value.to_string(),
    }
}

/// From one place to before another, each counted from the end where it is negative.
///
/// # Errors
/// When it is neither a text nor a list.
pub(super) fn part(of: &Value, from: Option<f64>, to: Option<f64>) -> Result<Value, String> {
    let bounds = |length: usize| {
        #[expect(clippy::cast_precision_loss, reason = "no list is so long")]
        let length = length as f64;
        let place = |it: f64| if it < 0.0 { length + it } else { it }.clamp(0.0, length);
        let (from, to) = (place(from.unwrap_or(0.0)), place(to.unwrap_or(length)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let bounds = (from as usize, to.max(from) as usize);
        bounds
    };
    match of {
        Value::Array(items) => {
            let (from, to) = bounds(items.len());
            Ok(items[from..to].to_vec().into())
        }
        Value::String(text) => {
            let letters: Vec<char> = text.chars().collect();
            let (from, to) = bounds(letters.len());
            Ok(letters[from..to].iter().collect::<String>().into())
        }
        other => Err(format!("{other} has no parts")),
    }
}
