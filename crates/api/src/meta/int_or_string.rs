//! A field that takes `3` as well as `"25%"`.

use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A number or a text; which of them the user wrote is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A plain number.
    Int(i32),
    /// Any text, such as a percentage.
    String(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl JsonSchema for IntOrString {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "x-kubernetes-int-or-string": true,
        })
    }
}

/// Field 1 says which (0 number, 1 text), 2 is the number, 3 the text; Kubernetes
/// always writes all three.
impl IntOrString {
    fn fields(&self) -> (i64, i32, &str) {
        match self {
            Self::Int(number) => (0, *number, ""),
            Self::String(text) => (1, 0, text),
        }
    }
}

impl prost::Message for IntOrString {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        let (kind, number, text) = self.fields();
        encoding::int64::encode(1, &kind, buf);
        encoding::int32::encode(2, &number, buf);
        encoding::string::encode(3, &text.to_owned(), buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => {
                let mut kind = 0_i64;
                encoding::int64::merge(wire_type, &mut kind, buf, context)?;
                if kind == 1 && matches!(self, Self::Int(_)) {
                    *self = Self::String(String::new());
                }
                Ok(())
            }
            2 => {
                let mut number = 0;
                encoding::int32::merge(wire_type, &mut number, buf, context)?;
                if let Self::Int(own) = self {
                    *own = number;
                }
                Ok(())
            }
            3 => {
                let mut text = String::new();
                encoding::string::merge(wire_type, &mut text, buf, context)?;
                if let Self::String(own) = self {
                    *own = text;
                }
                Ok(())
            }
            _ => encoding::skip_field(wire_type, tag, buf, context),
        }
    }

    fn encoded_len(&self) -> usize {
        let (kind, number, text) = self.fields();
        encoding::int64::encoded_len(1, &kind)
            + encoding::int32::encoded_len(2, &number)
            + encoding::string::encoded_len(3, &text.to_owned())
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &IntOrString) {
        let value: IntOrString = serde_json::from_str(json).unwrap();
        assert_eq!(&value, expect);
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        let bytes = value.encode_to_vec();
        assert_eq!(bytes.len(), value.encoded_len());
        assert_eq!(&IntOrString::decode(bytes.as_slice()).unwrap(), expect);
    }

    #[test]
    fn numbers_and_texts_stay_what_they_are() {
        check("3", &IntOrString::Int(3));
        check("-1", &IntOrString::Int(-1));
        check(r#""25%""#, &IntOrString::String("25%".to_owned()));
        check(r#""3""#, &IntOrString::String("3".to_owned()));
    }

    #[test]
    fn a_number_beyond_32_bits_is_refused() {
        assert!(serde_json::from_str::<IntOrString>("3000000000").is_err());
    }
}
