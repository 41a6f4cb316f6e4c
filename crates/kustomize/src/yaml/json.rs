//! Between nodes and JSON values.
//!
//! A node becomes the value it would be after Kustomize had printed and read
//! it again ([`to_value`]); a value becomes a node as if read from Go's print
//! of it ([`from_value`], [`from_go_value`]).

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::go_float;
use super::scalar::{Meaning, TagMismatch, meaning, resolve};
use super::{Body, Node, Style, Tag};

/// Why a node has no JSON value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("yaml: {0}")]
    Tag(#[from] TagMismatch),
    #[error("mapping key {0:?} already defined")]
    DuplicateKey(String),
    #[error("json: unsupported type: map[interface {{}}]interface {{}}: key {0:?} is not a string")]
    NonStringKey(String),
    #[error("json: unsupported value: {0}")]
    NotFinite(String),
    #[error("yaml: !!binary value contains invalid base64 data")]
    Base64,
}

/// The value of a manifest node, by the rules of go-yaml 3.
pub(crate) fn to_value(node: &Node) -> Result<Value, JsonError> {
    into_value(node.clone())
}

/// The same, for a node that is not needed any more: its texts move.
pub(crate) fn into_value(node: Node) -> Result<Value, JsonError> {
    convert(node, true)
}

fn convert(node: Node, is_root: bool) -> Result<Value, JsonError> {
    // A tag of null wins over content that was put into the node.
    let is_null = node.is_null();
    match node.body {
        Body::Scalar(_) => scalar(node),
        _ if is_null => Ok(Value::Null),
        Body::Sequence(items) => {
            let items = items.into_iter().map(|item| convert(item, false));
            Ok(Value::Array(items.collect::<Result<_, _>>()?))
        }
        Body::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let name = key_name(key, is_root)?;
                let value = convert(value, false)?;
                match map.entry(name) {
                    Entry::Vacant(entry) => entry.insert(value),
                    Entry::Occupied(entry) => {
                        return Err(JsonError::DuplicateKey(entry.key().clone()));
                    }
                };
            }
            Ok(Value::Object(map))
        }
    }
}

fn key_name(key: Node, is_root: bool) -> Result<String, JsonError> {
    let meaning = meaning(&key)?;
    let Body::Scalar(text) = key.body else {
        return Err(JsonError::NonStringKey(String::new()));
    };
    match meaning {
        Meaning::Text | Meaning::Timestamp(_) => Ok(text),
        Meaning::Null => Err(JsonError::NonStringKey("null".to_owned())),
        _ if is_root => Ok(text),
        _ => Err(JsonError::NonStringKey(text)),
    }
}

fn scalar(node: Node) -> Result<Value, JsonError> {
    if node.tag == Tag::Binary && node.style.tagged {
        let bytes = crate::base64::decode(node.text()).ok_or(JsonError::Base64)?;
        return Ok(Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let meaning = meaning(&node)?;
    let Body::Scalar(text) = node.body else { return Ok(Value::Null) };
    Ok(match meaning {
        Meaning::Null => Value::Null,
        Meaning::Bool(flag) => Value::Bool(flag),
        Meaning::Int(number) => Value::Number(number.into()),
        Meaning::Uint(number) => Value::Number(number.into()),
        Meaning::Float(number) => Value::Number(float(number)?),
        Meaning::Timestamp(time) => Value::String(time),
        Meaning::Text => Value::String(text),
    })
}

/// A float that Go prints without a point is an integer to the next reader.
fn float(number: f64) -> Result<Number, JsonError> {
    let text = go_float::json(number);
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(integer.into());
    }
    if let Ok(integer) = text.parse::<u64>() {
        return Ok(integer.into());
    }
    Number::from_f64(number).ok_or_else(|| JsonError::NotFinite(go_float::general(number)))
}

/// The text Go's `fmt` and JSON packages give a number.
pub(crate) fn json_number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float::json(float),
        _ => number.to_string(),
    }
}

/// The node that reading the JSON text of a value gives.
pub(crate) fn from_value(value: &Value) -> Node {
    match value {
        Value::Null => Node::typed("null", Tag::Null),
        Value::Bool(flag) => Node::typed(flag.to_string(), Tag::Bool),
        Value::Number(number) => {
            let text = json_number_text(number);
            let tag = resolve(&text).tag();
            Node::typed(text, tag)
        }
        Value::String(text) => double_quoted(text),
        Value::Array(items) => Node::sequence(items.iter().map(from_value).collect()),
        Value::Object(map) => Node::mapping(
            map.iter().map(|(key, value)| (double_quoted(key), from_value(value))).collect(),
        ),
    }
}

fn double_quoted(text: &str) -> Node {
    Node::new(Tag::Str, Style::DOUBLE_QUOTED, Body::Scalar(text.to_owned()))
}

/// The node that a Go program gets which decodes JSON, where every number is a
/// float, prints YAML and reads that.
pub(crate) fn from_go_value(value: &Value) -> Node {
    match value {
        Value::Null => Node::typed("null", Tag::Null),
        Value::Bool(flag) => Node::typed(flag.to_string(), Tag::Bool),
        Value::Number(number) => {
            let text = go_float::general(number.as_f64().unwrap_or(f64::NAN));
            let tag = resolve(&text).tag();
            Node::typed(text, tag)
        }
        Value::String(text) => printed_string(text),
        Value::Array(items) => Node::sequence(items.iter().map(from_go_value).collect()),
        Value::Object(map) => Node::mapping(
            map.iter().map(|(key, value)| (printed_string(key), from_go_value(value))).collect(),
        ),
    }
}

pub(crate) fn printed_string(text: &str) -> Node {
    let mut node = Node::string(text);
    let needs_quotes = !text.contains('\n')
        && (resolve(text) != Meaning::Text
            || super::scalar::is_old_boolean(text)
            || gocompat::yaml::is_base_60(text));
    if needs_quotes {
        node.style = Style::DOUBLE_QUOTED;
    }
    node
}
