//! JSON that we pass on without looking into it.
//!
//! The text is kept, not a tree: the order of keys and integers beyond 53 bits
//! stay as the user wrote them. Blanks between tokens go, as Go drops them too.
//!
//! Read these types from JSON text or from a `serde_json::Value`; serde's own
//! buffer (used by `flatten` and untagged enums) cannot carry raw text.

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::value::RawValue;

macro_rules! raw_json {
    ($(#[$doc:meta])* $name:ident, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// Compact JSON text; empty stands for `null`.
            text: String,
        }

        impl $name {
            /// The JSON text without blanks between tokens.
            pub fn as_str(&self) -> &str {
                if self.text.is_empty() { "null" } else { &self.text }
            }

            /// The tree the text describes.
            pub fn to_value(&self) -> serde_json::Value {
                serde_json::from_str(self.as_str()).expect("the text was JSON when it was stored")
            }
        }

        impl From<&serde_json::Value> for $name {
            fn from(value: &serde_json::Value) -> Self {
                Self { text: if value.is_null() { String::new() } else { value.to_string() } }
            }
        }

        impl std::str::FromStr for $name {
            type Err = serde_json::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                serde_json::from_str(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let raw: &RawValue =
                    serde_json::from_str(self.as_str()).map_err(ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = Box::<RawValue>::deserialize(deserializer)?;
                Ok(Self { text: stored(raw.get()) })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }

        impl prost::Message for $name {
            fn encode_raw(&self, buf: &mut impl BufMut) {
                if !self.text.is_empty() {
                    encoding::string::encode(1, &self.text, buf);
                }
            }

            fn merge_field(
                &mut self,
                tag: u32,
                wire_type: WireType,
                buf: &mut impl Buf,
                context: DecodeContext,
            ) -> Result<(), DecodeError> {
                if tag != 1 {
                    return encoding::skip_field(wire_type, tag, buf, context);
                }
                let mut text = String::new();
                encoding::string::merge(wire_type, &mut text, buf, context)?;
                self.text = checked(&text)?;
                Ok(())
            }

            fn encoded_len(&self) -> usize {
                if self.text.is_empty() { 0 } else { encoding::string::encoded_len(1, &self.text) }
            }

            fn clear(&mut self) {
                self.text.clear();
            }
        }
    };
}

raw_json!(
    /// An object whose fields are somebody else's, such as Helm values.
    RawExtension,
    { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
);

raw_json!(
    /// Any JSON value.
    Json,
    { "x-kubernetes-preserve-unknown-fields": true }
);

raw_json!(
    /// The set of fields a manager owns, in the notation of server-side apply.
    FieldsV1,
    { "type": "object" }
);

fn stored(json: &str) -> String {
    if json == "null" { String::new() } else { compact(json) }
}

fn checked(text: &str) -> Result<String, DecodeError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => Ok(stored(raw.get())),
        #[expect(deprecated, reason = "prost offers messages written by hand no other way to fail")]
        Err(_) => Err(DecodeError::new("opaque field does not hold JSON text")),
    }
}

/// Drops the blanks between tokens of valid JSON.
fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for character in json.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = character == '"';
        }
        compact.push(character);
    }
    compact
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let value: Json = json.parse().unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), expect);
        let bytes = value.encode_to_vec();
        assert_eq!(bytes.len(), value.encoded_len());
        assert_eq!(Json::decode(bytes.as_slice()).unwrap(), value);
    }

    #[test]
    fn key_order_and_big_numbers_survive() {
        check(r#"{"z":1,"a":12345678901234567890123}"#, r#"{"z":1,"a":12345678901234567890123}"#);
        check("1.50", "1.50");
    }

    #[test]
    fn blanks_go_except_in_texts() {
        check("{ \"a b\" :\n [ 1, \"c \\\" d\" ] }", r#"{"a b":[1,"c \" d"]}"#);
        check(r#" "\\" "#, r#""\\""#);
    }

    #[test]
    fn null_is_nothing_on_the_wire() {
        check("null", "null");
        assert!(Json::default().encode_to_vec().is_empty());
    }

    #[test]
    fn bytes_that_are_not_json_are_refused() {
        let mut bytes = Vec::new();
        encoding::string::encode(1, &"{oops".to_owned(), &mut bytes);
        assert!(Json::decode(bytes.as_slice()).is_err());
    }
}
