//! Reading the arguments of a function whose parameters the executor has already checked.

use crate::value::{Map, Value};

/// The bytes of a `string` argument.
pub(crate) fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::String(text) | Value::Bytes(text) => text.as_bytes(),
        _ => b"",
    }
}

/// A `string` argument as characters, U+FFFD for what is not UTF-8.
pub(crate) fn text(value: &Value) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes(value))
}

/// An `int` argument.
pub(crate) fn int(value: &Value) -> i64 {
    match value {
        Value::Int(_, number) => *number,
        _ => 0,
    }
}

/// A map argument.
pub(crate) fn map(value: &Value) -> Map {
    match value {
        Value::Map(map) => map.clone(),
        _ => Map::new::<&str>([]),
    }
}
