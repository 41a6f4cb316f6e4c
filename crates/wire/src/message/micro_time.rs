//! A moment with its microseconds, as newer fields of Kubernetes have it.

use jiff::Timestamp;
use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MICROSECOND: i32 = 1_000;

/// A point in time to the microsecond, or the zero time that stands for "not set": `null` in JSON,
/// an empty message on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicroTime(Option<Timestamp>);

impl Serialize for MicroTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            // All six digits, also where they are zeros.
            Some(timestamp) => {
                serializer.collect_str(&timestamp.strftime("%Y-%m-%dT%H:%M:%S.%6fZ"))
            }
            None => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let read: Result<Timestamp, _> = text.parse();
        read.map(|it| Self(Some(it))).map_err(|_| {
            let expected = &"a time such as 2006-01-02T15:04:05.000000Z";
            de::Error::invalid_value(de::Unexpected::Str(&text), expected)
        })
    }
}

impl JsonSchema for MicroTime {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "MicroTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl MicroTime {
    /// Seconds, and nanoseconds without what JSON does not tell.
    fn parts(self) -> Option<(i64, i32)> {
        let timestamp = self.0?;
        let (second, nanosecond) = (timestamp.as_second(), timestamp.subsec_nanosecond());
        // Before 1970 the fraction is counted from the second before.
        let is_negative = nanosecond < 0;
        let nanosecond = if is_negative { nanosecond + 1_000_000_000 } else { nanosecond };
        Some((second - i64::from(is_negative), nanosecond / MICROSECOND * MICROSECOND))
    }
}

impl prost::Message for MicroTime {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if let Some((seconds, nanoseconds)) = self.parts() {
            encoding::int64::encode(1, &seconds, buf);
            encoding::int32::encode(2, &nanoseconds, buf);
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        // A message with any field is a set time, if only 1970.
        let (mut seconds, mut nanoseconds) = self.parts().unwrap_or_default();
        match tag {
            1 => encoding::int64::merge(wire_type, &mut seconds, buf, context)?,
            2 => encoding::int32::merge(wire_type, &mut nanoseconds, buf, context)?,
            _ => encoding::skip_field(wire_type, tag, buf, context)?,
        }
        let nanoseconds = nanoseconds.clamp(0, 999_999_999);
        // Outside the calendar of years -9999 to 9999 the nearest end will do: nobody means it.
        let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
        self.0 = Some(Timestamp::new(seconds, nanoseconds).unwrap_or(end));
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.parts().map_or(0, |(seconds, nanoseconds)| {
            encoding::int64::encoded_len(1, &seconds)
                + encoding::int32::encoded_len(2, &nanoseconds)
        })
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
    fn check(json: &str, printed: &str) {
        let time: MicroTime = serde_json::from_str(json).expect("a time");
        assert_eq!(serde_json::to_string(&time).expect("JSON"), printed);
        let bytes = time.encode_to_vec();
        assert_eq!(bytes.len(), time.encoded_len());
        let read = MicroTime::decode(bytes.as_slice()).expect("a message");
        assert_eq!(serde_json::to_string(&read).expect("JSON"), printed);
    }

    #[test]
    fn six_digits_are_told() {
        check(r#""2026-11-15T23:59:41.123456Z""#, r#""2026-11-15T23:59:41.123456Z""#);
        check(r#""2026-11-15T23:59:41Z""#, r#""2026-11-15T23:59:41.000000Z""#);
        check(r#""2026-11-16T01:59:41.5+02:00""#, r#""2026-11-15T23:59:41.500000Z""#);
        check(r#""1969-12-31T23:59:58.25Z""#, r#""1969-12-31T23:59:58.250000Z""#);
        check("null", "null");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert!(serde_json::from_str::<MicroTime>(r#""yesterday""#).is_err());
    }
}
