//! Base64, base32 and JSON.

use super::add_fixed;
use crate::arguments::bytes;
use crate::base64;
use crate::call::{Functions, Parameter};
use crate::error::Error;
use crate::json::{self, Layout, Target};
use crate::value::Value;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, String};
    add_fixed(
        functions,
        &[
            ("b64enc", &[String], |_, a| Ok(Value::string(base64::encode(bytes(&a[0]))))),
            ("b64dec", &[String], |_, a| Ok(decoded(base64::decode(bytes(&a[0])), 64))),
            ("b32enc", &[String], |_, a| Ok(Value::string(base64::encode_base32(bytes(&a[0]))))),
            ("b32dec", &[String], |_, a| Ok(decoded(base64::decode_base32(bytes(&a[0])), 32))),
            ("fromJson", &[String], |_, a| {
                Ok(json::decode(bytes(&a[0]), Target::Any).unwrap_or(Value::Nil))
            }),
            ("mustFromJson", &[String], |_, a| json::decode(bytes(&a[0]), Target::Any)),
            ("toJson", &[Any], |_, a| {
                Ok(Value::string(Error::swallow(
                    json::encode(&a[0], Layout::Compact, true),
                    |_| Vec::new(),
                )?))
            }),
            ("mustToJson", &[Any], |_, a| {
                Ok(Value::string(json::encode(&a[0], Layout::Compact, true)?))
            }),
            ("toPrettyJson", &[Any], |_, a| {
                Ok(Value::string(Error::swallow(
                    json::encode(&a[0], Layout::Indented, true),
                    |_| Vec::new(),
                )?))
            }),
            ("mustToPrettyJson", &[Any], |_, a| {
                Ok(Value::string(json::encode(&a[0], Layout::Indented, true)?))
            }),
            ("toRawJson", &[Any], |_, a| {
                Ok(Value::string(json::encode(&a[0], Layout::Compact, false)?))
            }),
            ("mustToRawJson", &[Any], |_, a| {
                Ok(Value::string(json::encode(&a[0], Layout::Compact, false)?))
            }),
        ],
    );
}

/// sprig returns the complaint as if it were the decoded text.
fn decoded(result: Result<Vec<u8>, usize>, base: u32) -> Value {
    match result {
        Ok(bytes) => Value::string(bytes),
        Err(position) => Value::string(format!("illegal base{base} data at input byte {position}")),
    }
}
