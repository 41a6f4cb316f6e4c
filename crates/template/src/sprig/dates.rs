//! Dates and durations, with Go's layouts and the bundled time zones.
//!
//! The clock comes from [`crate::Facts`]. What Go calls the local zone is UTC here: a render must not
//! depend on where it runs.

use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

use super::durations::{parse_duration, show_duration};
use super::layout::{self, Wall};
use super::{add_fixed, numbers};
use crate::arguments::{int, text};
use crate::call::{Call, Function, Functions, Parameter};
use crate::error::Error;
use crate::strconv::parse_clamped;
use crate::value::{IntType, JsonForm, Kind, Marshals, Member, Object, Text, Value};

const TIME: &str = "time.Time";
const SECOND: i128 = 1_000_000_000;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, String};
    const TIME_PARAMETER: Parameter = Parameter::Object(TIME);
    add_fixed(
        functions,
        &[
            ("now", &[], |call, _| Ok(now(call).into_value())),
            ("ago", &[Any], ago),
            ("date", &[String, Any], |call, a| Ok(in_zone(call, &text(&a[0]), &a[1], "Local"))),
            ("date_in_zone", &[String, Any, String], |call, a| {
                Ok(in_zone(call, &text(&a[0]), &a[1], &text(&a[2])))
            }),
            ("dateInZone", &[String, Any, String], |call, a| {
                Ok(in_zone(call, &text(&a[0]), &a[1], &text(&a[2])))
            }),
            ("htmlDate", &[Any], |call, a| Ok(in_zone(call, "2006-01-02", &a[0], "Local"))),
            ("htmlDateInZone", &[Any, String], |call, a| {
                Ok(in_zone(call, "2006-01-02", &a[0], &text(&a[1])))
            }),
            ("date_modify", &[String, TIME_PARAMETER], |_, a| Ok(modified_or_same(a))),
            ("dateModify", &[String, TIME_PARAMETER], |_, a| Ok(modified_or_same(a))),
            ("must_date_modify", &[String, TIME_PARAMETER], |_, a| modified(a)),
            ("mustDateModify", &[String, TIME_PARAMETER], |_, a| modified(a)),
            ("duration", &[Any], |_, a| Ok(Value::string(duration(&a[0])))),
            ("durationRound", &[Any], |call, a| Ok(Value::string(rounded(call, &a[0])))),
            ("toDate", &[String, String], |_, a| {
                let parsed = parse(&text(&a[0]), &text(&a[1]));
                Ok(parsed.unwrap_or_else(|_| Moment::zero()).into_value())
            }),
            ("mustToDate", &[String, String], |_, a| {
                let parsed = parse(&text(&a[0]), &text(&a[1])).map_err(Error::function)?;
                Ok(parsed.into_value())
            }),
            ("unixEpoch", &[TIME_PARAMETER], |_, a| {
                let seconds = moment(&a[0]).map_or(0, |m| m.nanoseconds.div_euclid(SECOND));
                Ok(Value::string(seconds.to_string()))
            }),
        ],
    );
}

/// A Go `time.Time`.
#[derive(Clone)]
struct Moment {
    nanoseconds: i128,
    zone: TimeZone,
    /// The abbreviation that was parsed, where the zone is only an offset.
    zone_name: Option<String>,
}

impl Moment {
    fn utc(nanoseconds: i128) -> Self {
        Self { nanoseconds, zone: TimeZone::UTC, zone_name: None }
    }

    /// Midnight of January 1 of the year 1.
    fn zero() -> Self {
        Self::utc(-62_135_596_800 * SECOND)
    }

    fn into_value(self) -> Value {
        Value::Object(Rc::new(self))
    }

    fn wall(&self) -> Wall {
        let timestamp =
            Timestamp::from_nanosecond(self.nanoseconds).unwrap_or(Timestamp::UNIX_EPOCH);
        let info = self.zone.to_offset_info(timestamp);
        let zone_name = match &self.zone_name {
            Some(name) => name.clone(),
            None if self.zone == TimeZone::UTC => "UTC".into(),
            None => info.abbreviation().to_owned(),
        };
        Wall {
            date_time: info.offset().to_datetime(timestamp),
            offset_seconds: info.offset().seconds(),
            zone_name,
        }
    }

    fn format(&self, layout: &str) -> String {
        layout::format(layout, &self.wall())
    }

    fn add(&self, nanoseconds: i128) -> Self {
        Self { nanoseconds: self.nanoseconds + nanoseconds, ..self.clone() }
    }
}

impl Object for Moment {
    fn type_name(&self) -> Cow<'static, str> {
        TIME.into()
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn member(&self, name: &str) -> Option<Member> {
        let wall = self.wall().date_time;
        let constant = |value: Value| {
            Some(Member::Method(Function::bound(&[], move |_, _| Ok(value.clone()))))
        };
        let this = self.clone();
        match name {
            "Year" => constant(Value::int(wall.year().into())),
            "Day" => constant(Value::int(wall.day().into())),
            "Hour" => constant(Value::int(wall.hour().into())),
            "Minute" => constant(Value::int(wall.minute().into())),
            "Second" => constant(Value::int(wall.second().into())),
            "Nanosecond" => constant(Value::int(wall.subsec_nanosecond().into())),
            "YearDay" => constant(Value::int(wall.day_of_year().into())),
            "Month" => constant(Value::Int(IntType::Month, wall.month().into())),
            "Weekday" => {
                let number = wall.weekday().to_sunday_zero_offset();
                constant(Value::Int(IntType::Weekday, number.into()))
            }
            "Unix" => constant(Value::int64((self.nanoseconds.div_euclid(SECOND)) as i64)),
            "UnixMilli" => constant(Value::int64(self.nanoseconds.div_euclid(1_000_000) as i64)),
            "UnixMicro" => constant(Value::int64(self.nanoseconds.div_euclid(1000) as i64)),
            "UnixNano" => constant(Value::int64(self.nanoseconds as i64)),
            "UTC" => constant(Self::utc(self.nanoseconds).into_value()),
            "Local" => constant(Self::utc(self.nanoseconds).into_value()),
            "IsZero" => constant(Value::Bool(self.nanoseconds == Self::zero().nanoseconds)),
            "String" => constant(Value::string(self.format(DEFAULT_LAYOUT))),
            "Format" => Some(Member::Method(Function::bound(&[Parameter::String], move |_, a| {
                Ok(Value::string(this.format(&text(&a[0]))))
            }))),
            "MarshalText" => constant(Value::Bytes(self.format(RFC_3339).into())),
            "MarshalJSON" => {
                constant(Value::Bytes(format!("\"{}\"", self.format(RFC_3339)).into()))
            }
            "Add" => Some(Member::Method(Function::bound(&[Parameter::Duration], move |_, a| {
                Ok(this.add(int(&a[0]).into()).into_value())
            }))),
            "Sub" => {
                Some(Member::Method(Function::bound(&[Parameter::Object(TIME)], move |_, a| {
                    let other = moment(&a[0]).map_or(0, |m| m.nanoseconds);
                    let passed = (this.nanoseconds - other).clamp(i64::MIN.into(), i64::MAX.into());
                    Ok(Value::Int(IntType::Duration, i64::try_from(passed).unwrap_or_default()))
                })))
            }
            "Compare" => {
                Some(Member::Method(Function::bound(&[Parameter::Object(TIME)], move |_, a| {
                    let other = moment(&a[0]).map_or(0, |m| m.nanoseconds);
                    Ok(Value::int(this.nanoseconds.cmp(&other) as i64))
                })))
            }
            "Date" => Some(Member::Unusable("function Date has 3 return values; should be 1 or 2")),
            "Clock" => {
                Some(Member::Unusable("function Clock has 3 return values; should be 1 or 2"))
            }
            "Zone" => Some(Member::Unusable(
                "invalid function signature for Zone: second return value should be error; is int",
            )),
            "ISOWeek" => Some(Member::Unusable(
                "invalid function signature for ISOWeek: second return value should be error; is int",
            )),
            "wall" => {
                Some(Member::Unusable("wall is an unexported field of struct type time.Time"))
            }
            "ext" => Some(Member::Unusable("ext is an unexported field of struct type time.Time")),
            "loc" => Some(Member::Unusable("loc is an unexported field of struct type time.Time")),
            "AddDate" => Some(Member::Method(Function::bound(
                &[Parameter::Int, Parameter::Int, Parameter::Int],
                move |_, a| Ok(add_date(&this, a).into_value()),
            ))),
            "Before" | "After" | "Equal" => {
                let wanted = match name {
                    "Before" => std::cmp::Ordering::Less,
                    "After" => std::cmp::Ordering::Greater,
                    _ => std::cmp::Ordering::Equal,
                };
                let parameters = &[Parameter::Object(TIME)];
                Some(Member::Method(Function::bound(parameters, move |_, a| {
                    let other = moment(&a[0]).map_or(0, |m| m.nanoseconds);
                    Ok(Value::Bool(this.nanoseconds.cmp(&other) == wanted))
                })))
            }
            _ => None,
        }
    }

    fn text(&self) -> Option<Text> {
        Some(Text::from(self.format(DEFAULT_LAYOUT)))
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn json(&self) -> JsonForm {
        JsonForm::Value(Value::string(self.format(RFC_3339)))
    }

    fn marshals(&self) -> Marshals {
        let zone = self.zone_name.as_deref();
        let local = LOCAL_TIMES.iter().find(|(name, _)| zone == Some(*name));
        Marshals::Time(self.format(local.map_or(RFC_3339, |(_, layout)| *layout)))
    }

    fn deep_equal(&self, other: &dyn Object) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| other.nanoseconds == self.nanoseconds && other.zone == self.zone)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

const RFC_3339: &str = "2006-01-02T15:04:05.999999999Z07:00";
/// What Go's library for TOML calls the zones of times that have none, and how it writes those.
const LOCAL_TIMES: [(&str, &str); 3] = [
    ("datetime-local", "2006-01-02T15:04:05.999999999"),
    ("date-local", "2006-01-02"),
    ("time-local", "15:04:05.999999999"),
];
const DEFAULT_LAYOUT: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

fn now(call: &Call<'_>) -> Moment {
    Moment::utc(call.facts().now())
}

fn moment(value: &Value) -> Option<&Moment> {
    match value {
        Value::Object(object) => object.as_any().downcast_ref(),
        _ => None,
    }
}

/// A time, or seconds since the epoch, or else now.
fn moment_of(call: &Call<'_>, value: &Value) -> Moment {
    match value {
        Value::Int(IntType::Int | IntType::Int32 | IntType::Int64, seconds) => {
            Moment::utc(i128::from(*seconds) * SECOND)
        }
        other => moment(other).cloned().unwrap_or_else(|| now(call)),
    }
}

fn in_zone(call: &Call<'_>, layout: &str, value: &Value, zone: &str) -> Value {
    let zone = match zone {
        "" | "UTC" | "Local" => TimeZone::UTC,
        name => {
            // Small letters name another file.
            let known = TimeZoneDatabase::bundled().get(name).ok();
            known.filter(|known| known.iana_name() == Some(name)).unwrap_or(TimeZone::UTC)
        }
    };
    let moment = Moment { zone, zone_name: None, ..moment_of(call, value) };
    Value::string(moment.format(layout))
}

fn parse(layout: &str, whole: &str) -> Result<Moment, String> {
    let parsed = layout::parse(layout, whole)?;
    let zone = match parsed.offset_seconds {
        Some(0) => TimeZone::UTC,
        Some(seconds) => {
            let offset = Offset::from_seconds(seconds)
                .map_err(|_| "time zone offset out of range".to_owned())?;
            TimeZone::fixed(offset)
        }
        None => TimeZone::UTC,
    };
    let timestamp = zone
        .to_ambiguous_timestamp(parsed.date_time)
        .compatible()
        .map_err(|_| "day out of range".to_owned())?;
    let is_utc = zone == TimeZone::UTC;
    let zone = match parsed.named_offset.and_then(|seconds| Offset::from_seconds(seconds).ok()) {
        Some(named) => TimeZone::fixed(named),
        None => zone,
    };
    let zone_name = match parsed.zone_name {
        Some(name) if is_utc && name == "UTC" => None,
        None if !is_utc => Some(String::new()),
        name => name,
    };
    Ok(Moment { nanoseconds: timestamp.as_nanosecond(), zone, zone_name })
}

/// A time of a TOML document, which may have no zone, no date or no time of day.
pub(crate) fn time_of_toml(whole: &str) -> Option<Value> {
    const LAYOUTS: [(&str, Option<&str>); 7] = [
        ("2006-01-02T15:04:05.999999999Z07:00", None),
        ("2006-01-02T15:04:05.999999999", Some("datetime-local")),
        ("2006-01-02", Some("date-local")),
        ("15:04:05.999999999", Some("time-local")),
        ("2006-01-02T15:04Z07:00", None),
        ("2006-01-02T15:04", Some("datetime-local")),
        ("15:04", Some("time-local")),
    ];
    for (layout, zone) in LAYOUTS {
        let Ok(mut moment) = parse(layout, whole) else { continue };
        // Go reads numbers without their leading zeros too: then the signs stand elsewhere.
        let end = layout.find(['.', 'Z']).unwrap_or(layout.len());
        let is_sign = |(_, byte): &(usize, u8)| !byte.is_ascii_digit();
        let mut signs = layout[..end].bytes().enumerate().filter(is_sign);
        if !signs.all(|(at, sign)| whole.as_bytes().get(at) == Some(&sign)) {
            return None;
        }
        if let Some(zone) = zone {
            moment.zone_name = Some(zone.to_owned());
        }
        return Some(moment.into_value());
    }
    None
}

fn add_date(moment: &Moment, arguments: &[Value]) -> Moment {
    let [years, months, days] = [0, 1, 2].map(|index| numbers::to_int(&arguments[index]));
    let wall = moment.wall().date_time;
    // Go lets months and days run over instead of stopping at the end of the month.
    let total_months =
        i64::from(wall.year()) * 12 + i64::from(wall.month()) - 1 + years * 12 + months;
    let year = i16::try_from(total_months.div_euclid(12)).unwrap_or(1);
    let month = total_months.rem_euclid(12) as i8 + 1;
    let Ok(first) = jiff::civil::DateTime::new(
        year,
        month,
        1,
        wall.hour(),
        wall.minute(),
        wall.second(),
        wall.subsec_nanosecond(),
    ) else {
        return moment.clone();
    };
    let days = i64::from(wall.day()) - 1 + days;
    let Ok(moved) = first.checked_add(jiff::Span::new().days(days.clamp(-7_000_000, 7_000_000)))
    else {
        return moment.clone();
    };
    match moment.zone.to_ambiguous_timestamp(moved).compatible() {
        Ok(timestamp) => Moment { nanoseconds: timestamp.as_nanosecond(), ..moment.clone() },
        Err(_) => moment.clone(),
    }
}

fn modified(arguments: &[Value]) -> Result<Value, Error> {
    let duration = parse_duration(&text(&arguments[0])).map_err(Error::function)?;
    let moment = moment(&arguments[1]).cloned().unwrap_or_else(Moment::zero);
    Ok(moment.add(duration).into_value())
}

fn modified_or_same(arguments: &[Value]) -> Value {
    modified(arguments).unwrap_or_else(|_| arguments[1].clone())
}

fn ago(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let passed = now(call).nanoseconds - moment_of(call, &arguments[0]).nanoseconds;
    let half = if passed < 0 { -SECOND / 2 } else { SECOND / 2 };
    Ok(Value::string(show_duration((passed + half) / SECOND * SECOND)))
}

fn duration(value: &Value) -> String {
    let seconds = match value {
        Value::String(text) => parse_clamped(&text.as_str()),
        Value::Int(IntType::Int64, seconds) => *seconds,
        _ => 0,
    };
    show_duration(seconds.wrapping_mul(1_000_000_000).into())
}

fn rounded(call: &Call<'_>, value: &Value) -> String {
    const UNITS: [(i128, &str); 6] = [
        (365 * 24 * 3600 * SECOND, "y"),
        (30 * 24 * 3600 * SECOND, "mo"),
        (24 * 3600 * SECOND, "d"),
        (3600 * SECOND, "h"),
        (60 * SECOND, "m"),
        (SECOND, "s"),
    ];
    let nanoseconds = match value {
        Value::String(text) => parse_duration(&text.as_str()).unwrap_or(0),
        Value::Int(IntType::Int64, nanoseconds) => i128::from(*nanoseconds),
        other => match moment(other) {
            Some(moment) => now(call).nanoseconds - moment.nanoseconds,
            None => 0,
        },
    }
    .abs();
    match UNITS.iter().find(|(unit, _)| nanoseconds > *unit) {
        Some((unit, name)) => format!("{}{name}", nanoseconds / unit),
        None => "0s".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_format_and_parse() {
        let moment =
            parse("2006-01-02T15:04:05Z07:00", "2020-02-03T14:05:06.789+02:00").expect("valid");
        for (layout, expect) in [
            ("Mon Jan _2 15:04:05 2006", "Mon Feb  3 14:05:06 2020"),
            ("Monday, 02-Jan-06 3:04PM -0700", "Monday, 03-Feb-20 2:05PM +0200"),
            ("2006-01-02T15:04:05.000Z07:00", "2020-02-03T14:05:06.789+02:00"),
            ("15h4m5s.999999", "14h5m6s.789"),
            ("002 __2 1/2", "034  34 2/3"),
            ("January", "February"),
        ] {
            assert_eq!(moment.format(layout), expect, "{layout}");
        }
    }

    #[test]
    fn what_does_not_fit_the_layout_is_named() {
        let message = |layout, whole| parse(layout, whole).err().unwrap_or_default();
        assert_eq!(
            message("2006-01-02", "x"),
            r#"parsing time "x" as "2006-01-02": cannot parse "x" as "2006""#
        );
        assert_eq!(
            message("2006-01-02", "2020-13-01"),
            r#"parsing time "2020-13-01": month out of range"#
        );
        assert_eq!(message("2006", "2020x"), r#"parsing time "2020x": extra text: "x""#);
    }
}
