//! What `sigs.k8s.io/yaml` says about a text it cannot read.

use gocompat::number::format_g;
use gocompat::yaml::{Error, Problem, UnsupportedKey};
use serde_json::Value;

use crate::strconv::quote;

/// The complaint about `text` in Go's words.
pub fn yaml_error_text(text: &str, error: &Error) -> String {
    const PREFIX: &str = "error converting YAML to JSON: ";
    let reason = match &error.problem {
        Problem::Syntax(problem) => {
            let line = error.position.map_or(1, |at| at.line);
            syntax(problem, line.min(last_line(text, problem)))
        }
        Problem::NotANumber(written) => {
            let shown = match *written {
                text if text.starts_with('-') => "-Inf",
                text if text.to_ascii_lowercase().contains("nan") => "NaN",
                _ => "+Inf",
            };
            return format!("{PREFIX}json: unsupported value: {shown}");
        }
        Problem::UnknownAnchor(name) => format!("unknown anchor '{name}' referenced"),
        Problem::SelfReference(name) => format!("anchor '{name}' value contains itself"),
        Problem::ExcessiveAliasing => "document contains excessive aliasing".into(),
        Problem::MergeOfNonMapping => {
            "map merge requires map or sequence of maps as the value".into()
        }
        Problem::UnsupportedKey { found, value } => {
            let (type_name, key) = match found {
                UnsupportedKey::Null => ("%!s(<nil>)", "<nil>".to_owned()),
                UnsupportedKey::Uint(number) => ("uint64", format!("{number:#x}")),
            };
            let value = if value.is_null() { "<nil>".into() } else { go_syntax(value) };
            return format!(
                "{PREFIX}unsupported map key of type: {type_name}, key: {key}, value: {value}"
            );
        }
        other => other.to_string(),
    };
    format!("{PREFIX}yaml: {reason}")
}

/// As `%#v` prints what goyaml has read.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) if number.is_f64() => format_g(number.as_f64().unwrap_or_default()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (None, Some(number)) => format!("{number:#x}"),
            _ => number.to_string(),
        },
        Value::String(text) => quote(text.as_bytes()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", quote(key.as_bytes()), go_syntax(value)))
                .collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

/// Where the text ends, for who looks for the end of a quoted one: ours reads on until a last line is
/// closed, goyaml stops where the text does.
fn last_line(text: &str, problem: &str) -> u32 {
    if text.ends_with('\n') || !problem.starts_with("found unexpected end of stream") {
        return u32::MAX;
    }
    u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1)
}

/// goyaml counts lines from zero, adds one for the scanner's complaints only, and leaves the first
/// line out.
fn syntax(text: &str, line: u32) -> String {
    let (problem, context) = text.split_once(" while ").unwrap_or((text, ""));
    let is_parser = context.starts_with("parsing") || problem.starts_with("did not find expected");
    let line = if is_parser && !context.starts_with("scanning") {
        line.saturating_sub(1)
    } else if line == 1 {
        0
    } else {
        line
    };
    match line {
        0 => problem.to_owned(),
        line => format!("line {line}: {problem}"),
    }
}
