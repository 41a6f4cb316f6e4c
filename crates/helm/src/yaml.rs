//! Reading YAML into values and structs as `sigs.k8s.io/yaml` does, with its complaints.

use gocompat::yaml;
use serde_json::{Map, Value as Json};
use template::yaml_error_text;

/// Deeper than any manifest, and shallow enough for every stack.
const LIMITS: yaml::Limits =
    yaml::Limits { max_bytes: 64 << 20, max_depth: 150, max_values: 4_000_000 };

/// The first document of a text.
pub(crate) fn parse(text: &[u8]) -> Result<Json, String> {
    let text = String::from_utf8_lossy(text);
    yaml::to_value_within(&text, LIMITS).map_err(|error| yaml_error_text(&text, &error))
}

/// A document that must be a mapping; nothing is an empty one. `type_name` is the Go type that the
/// complaint names.
pub(crate) fn parse_mapping(text: &[u8], type_name: &str) -> Result<Map<String, Json>, String> {
    mapping(parse(text)?, type_name)
}

fn mapping(parsed: Json, type_name: &str) -> Result<Map<String, Json>, String> {
    match parsed {
        Json::Object(map) => Ok(map),
        Json::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "value", type_name)),
    }
}

/// Go's complaint about a JSON value of the wrong type.
pub(crate) fn mismatch(found: &Json, place: &str, type_name: &str) -> String {
    let kind = match found {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go {place} \
         of type {type_name}"
    )
}

/// A scalar where a string is wanted: numbers and booleans are taken as they print.
pub(crate) fn string_of(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(truth) => Some(truth.to_string()),
        Json::Number(number) if number.is_f64() => {
            Some(gocompat::number::format_g(number.as_f64().unwrap_or_default()))
        }
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
