//! A moment as Kubernetes writes it: whole seconds, UTC.

use std::fmt;

use jiff::{Timestamp, fmt::temporal::DateTimeParser};
use prost::DecodeError;
use prost::bytes::{Buf, BufMut};
use prost::encoding::{self, DecodeContext, WireType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time, or the zero time that stands for "not set".
///
/// Whole seconds only: what is in memory is what a reader of the JSON or of the
/// protobuf gets. The zero time prints as `null` in JSON and as an empty message
/// on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Option<Timestamp>);

impl Time {
    /// The time that stands for "not set".
    pub const ZERO: Self = Self(None);

    /// The whole second that `seconds` after 1970 names, if a calendar has it.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        Timestamp::from_second(seconds).ok().map(|timestamp| Self(Some(timestamp)))
    }

    /// The moment, unless this is the zero time.
    pub fn timestamp(self) -> Option<Timestamp> {
        self.0
    }

    /// Whether this is the zero time. Takes a reference because serde does.
    pub fn is_zero(&self) -> bool {
        self.0.is_none()
    }
}

impl From<Timestamp> for Time {
    /// Drops the fraction of a second.
    fn from(timestamp: Timestamp) -> Self {
        let before_1970 = timestamp.subsec_nanosecond() < 0;
        let second = timestamp.as_second() - i64::from(before_1970);
        // The only second that has a fraction but no whole is below the calendar's start.
        Self(Some(Timestamp::from_second(second).unwrap_or(Timestamp::MIN)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(timestamp) => write!(formatter, "{timestamp}"),
            None => formatter.write_str("null"),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(timestamp) => serializer.collect_str(&timestamp),
            None => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<String>::deserialize(deserializer)? {
            None => Ok(Self::ZERO),
            Some(text) => parse(&text).ok_or_else(|| {
                de::Error::invalid_value(
                    de::Unexpected::Str(&text),
                    &"a time such as 2006-01-02T15:04:05Z",
                )
            }),
        }
    }
}

fn parse(text: &str) -> Option<Time> {
    // jiff also reads times of day without seconds and with a blank for the T; RFC 3339 has neither.
    let has_rfc3339_shape = text.as_bytes().get(10) == Some(&b'T')
        && text.as_bytes().get(16) == Some(&b':')
        && !text.contains('[');
    if !has_rfc3339_shape {
        return None;
    }
    DateTimeParser::new().parse_timestamp(text).ok().map(Time::from)
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Seconds are field 1. Field 2, nanoseconds, is written as zero and not read, as
/// Kubernetes does.
impl prost::Message for Time {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        if let Some(timestamp) = self.0 {
            encoding::int64::encode(1, &timestamp.as_second(), buf);
            encoding::int32::encode(2, &0, buf);
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
        let timestamp = self.0.get_or_insert(Timestamp::UNIX_EPOCH);
        if tag != 1 {
            return encoding::skip_field(wire_type, tag, buf, context);
        }
        let mut seconds = 0;
        encoding::int64::merge(wire_type, &mut seconds, buf, context)?;
        // Outside the calendar of years -9999 to 9999 the nearest end will do: nobody means it.
        let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
        *timestamp = Timestamp::from_second(seconds).unwrap_or(end);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.map_or(0, |timestamp| {
            encoding::int64::encoded_len(1, &timestamp.as_second())
                + encoding::int32::encoded_len(2, &0)
        })
    }

    fn clear(&mut self) {
        *self = Self::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[track_caller]
    fn check(json: &str, printed: &str) {
        let time: Time = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&time).unwrap(), printed);
        assert_eq!(Time::decode(time.encode_to_vec().as_slice()).unwrap(), time);
        assert_eq!(time.encode_to_vec().len(), time.encoded_len());
    }

    #[test]
    fn times_print_as_utc_seconds() {
        check(r#""2026-11-15T23:59:41Z""#, r#""2026-11-15T23:59:41Z""#);
        check(r#""2026-11-16T01:59:41+02:00""#, r#""2026-11-15T23:59:41Z""#);
        check(r#""1969-12-31T23:59:59Z""#, r#""1969-12-31T23:59:59Z""#);
    }

    #[test]
    fn fractions_are_dropped_downwards() {
        check(r#""2026-11-15T23:59:41.999Z""#, r#""2026-11-15T23:59:41Z""#);
        check(r#""1969-12-31T23:59:58.5Z""#, r#""1969-12-31T23:59:58Z""#);
    }

    #[test]
    fn null_is_the_zero_time_and_an_empty_message() {
        check("null", "null");
        assert!(Time::ZERO.encode_to_vec().is_empty());
    }

    #[test]
    fn the_start_of_1970_is_not_the_zero_time() {
        check(r#""1970-01-01T00:00:00Z""#, r#""1970-01-01T00:00:00Z""#);
    }

    #[test]
    fn what_is_not_rfc_3339_is_refused() {
        let inputs =
            [r#""""#, r#""yesterday""#, r#""2026-11-15""#, r#""2026-11-15 10:00:00Z""#, "7"];
        for input in inputs {
            assert!(serde_json::from_str::<Time>(input).is_err(), "{input}");
        }
    }
}
