//! Schedules as robfig/cron reads them and finds their next time.
//!
//! Five fields (minute, hour, day of month, month, day of week), `@daily` and
//! its kin, `@every 90m`, and a time zone in front (`TZ=Europe/Berlin 0 3 * * *`).
//! Around a change of clocks the answers are those of the Go library, which come
//! from the way it walks: a time that the change leaves out is left out, one
//! that happens twice happens twice. `wall_clock` has the two conversions of
//! Go's `time` package that this rests on.

mod field;
mod wall_clock;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::duration::{Duration, DurationError};
use field::{Bounds, DAY_OF_MONTH, DAY_OF_WEEK, Field, HOUR, MINUTE, MONTH};
use wall_clock::{UNITS, Unit, WallClock};

pub use field::FieldError;

/// When something is due.
#[derive(Debug, Clone)]
pub struct Schedule {
    rule: Rule,
    /// Where its hours are meant; `None` is the place of whoever asks.
    zone: Option<TimeZone>,
}

#[derive(Debug, Clone)]
enum Rule {
    Fields(Box<Fields>),
    /// Whole seconds, at least one.
    Every {
        seconds: i64,
    },
}

#[derive(Debug, Clone)]
struct Fields {
    minute: Field,
    hour: Field,
    day_of_month: Field,
    month: Field,
    day_of_week: Field,
}

/// Why a text is not a schedule.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScheduleError {
    /// Nothing there.
    #[error("empty spec string")]
    Empty,
    /// `TZ=` with a zone that does not exist.
    #[error("provided bad location {0}: unknown time zone {0}")]
    UnknownTimeZone(String),
    /// `@daily` where only fields are accepted.
    #[error("parser does not accept descriptors: {0}")]
    DescriptorNotAccepted(String),
    /// `@sometimes`.
    #[error("unrecognized descriptor: {0}")]
    UnknownDescriptor(String),
    /// `@every soon`.
    #[error("failed to parse duration {text}")]
    BadInterval {
        /// The whole descriptor.
        text: String,
        /// What is wrong with it.
        source: DurationError,
    },
    /// More or fewer than five fields.
    #[error("expected exactly 5 fields, found {found}: [{text}]")]
    WrongNumberOfFields {
        /// How many there are.
        found: usize,
        /// The fields with one space between them.
        text: String,
    },
    /// A field that is not one.
    #[error(transparent)]
    Field(#[from] FieldError),
}

impl Schedule {
    /// Reads five fields or a descriptor, as `cron.ParseStandard` does.
    ///
    /// # Errors
    /// Where Go has one.
    pub fn parse(text: &str) -> Result<Self, ScheduleError> {
        let (zone, spec) = split_zone(text)?;
        let rule = if spec.starts_with('@') { descriptor(spec)? } else { fields(spec)? };
        Ok(Self { rule, zone })
    }

    /// Reads five fields only, as the schedules of sync windows are read.
    ///
    /// # Errors
    /// Where Go has one; descriptors are refused.
    pub fn parse_fields(text: &str) -> Result<Self, ScheduleError> {
        let (zone, spec) = split_zone(text)?;
        if spec.starts_with('@') {
            return Err(ScheduleError::DescriptorNotAccepted(spec.to_owned()));
        }
        Ok(Self { rule: fields(spec)?, zone })
    }

    /// The first time after `after`; `None` if there is none within five years.
    /// `zone` counts where the schedule does not name its own.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let zone = self.zone.as_ref().unwrap_or(zone);
        let whole_second = after.as_nanosecond().div_euclid(1_000_000_000);
        let whole_second = i64::try_from(whole_second).ok()?;
        match &self.rule {
            Rule::Every { seconds } => {
                Timestamp::from_second(whole_second.checked_add(*seconds)?).ok()
            }
            Rule::Fields(fields) => {
                let start = WallClock::at(whole_second.checked_add(1)?, zone)?;
                fields
                    .next_from(start)
                    .and_then(|clock| Timestamp::from_second(clock.second()).ok())
            }
        }
    }
}

/// A time zone by its IANA name, spelled exactly, as `time.LoadLocation` finds it.
#[must_use]
pub fn time_zone(name: &str) -> Option<TimeZone> {
    if matches!(name, "" | "UTC") {
        return Some(TimeZone::UTC);
    }
    let zone = TimeZone::get(name).ok()?;
    (zone.iana_name() == Some(name)).then_some(zone)
}

fn split_zone(text: &str) -> Result<(Option<TimeZone>, &str), ScheduleError> {
    if text.is_empty() {
        return Err(ScheduleError::Empty);
    }
    let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return Ok((None, text));
    };
    let (name, spec) = rest.split_once(' ').unwrap_or((rest, ""));
    let zone = time_zone(name).ok_or_else(|| ScheduleError::UnknownTimeZone(name.to_owned()))?;
    Ok((Some(zone), spec.trim()))
}

fn fields(spec: &str) -> Result<Rule, ScheduleError> {
    let texts: Vec<&str> = spec.split_whitespace().collect();
    let [minute, hour, day_of_month, month, day_of_week] = texts[..] else {
        let (found, text) = (texts.len(), texts.join(" "));
        return Err(ScheduleError::WrongNumberOfFields { found, text });
    };
    let read = |text: &str, bounds: &Bounds| Field::parse(text, bounds);
    Ok(Rule::Fields(Box::new(Fields {
        minute: read(minute, &MINUTE)?,
        hour: read(hour, &HOUR)?,
        day_of_month: read(day_of_month, &DAY_OF_MONTH)?,
        month: read(month, &MONTH)?,
        day_of_week: read(day_of_week, &DAY_OF_WEEK)?,
    })))
}

fn descriptor(text: &str) -> Result<Rule, ScheduleError> {
    match text {
        "@yearly" | "@annually" => fields("0 0 1 1 *"),
        "@monthly" => fields("0 0 1 * *"),
        "@weekly" => fields("0 0 * * 0"),
        "@daily" | "@midnight" => fields("0 0 * * *"),
        "@hourly" => fields("0 * * * *"),
        _ => match text.strip_prefix("@every ") {
            Some(interval) => every(text, interval),
            None => Err(ScheduleError::UnknownDescriptor(text.to_owned())),
        },
    }
}

fn every(text: &str, interval: &str) -> Result<Rule, ScheduleError> {
    let interval = Duration::parse(interval)
        .map_err(|source| ScheduleError::BadInterval { text: text.to_owned(), source })?;
    Ok(Rule::Every { seconds: (interval.as_nanos() / 1_000_000_000).max(1) })
}

/// More than a walk of five years, day by day, can need.
const MAX_STEPS: u32 = 20_000;

impl Fields {
    /// Moves the largest unit that does not fit on by one, until all fit. Larger
    /// units are looked at again only when a smaller one begins anew; where the
    /// clocks skip that beginning they are not, and the answers depend on it.
    ///
    /// Where the clocks skip midnight this walk can go in circles, for ever in
    /// Go; here it ends without an answer after [`MAX_STEPS`].
    fn next_from<'z>(&self, start: WallClock<'z>) -> Option<WallClock<'z>> {
        let last_year = start.year() + 5;
        let mut clock = start;
        let mut doubtful = &UNITS[..];
        for step in 0..MAX_STEPS {
            let Some(settled) = doubtful.iter().position(|unit| !self.fits(*unit, &clock)) else {
                return Some(clock);
            };
            doubtful = &doubtful[settled..];
            let unit = doubtful[0];
            // From then on the smaller units stand at their beginning.
            if step == 0 {
                clock = clock.start_of(unit)?;
            }
            clock = clock.plus_one(unit)?;
            if clock.is_first(unit) {
                doubtful = &UNITS[..];
            }
            if clock.year() > last_year {
                return None;
            }
        }
        None
    }

    fn fits(&self, unit: Unit, clock: &WallClock<'_>) -> bool {
        match unit {
            Unit::Month => self.month.contains(clock.month()),
            Unit::Day => self.day_matches(clock),
            Unit::Hour => self.hour.contains(clock.hour()),
            Unit::Minute => self.minute.contains(clock.minute()),
            Unit::Second => clock.second_of_minute() == 0,
        }
    }

    /// With both day fields restricted, either is enough.
    fn day_matches(&self, clock: &WallClock<'_>) -> bool {
        let of_month = self.day_of_month.contains(clock.day());
        let of_week = self.day_of_week.contains(clock.weekday());
        if self.day_of_month.is_star() || self.day_of_week.is_star() {
            of_month && of_week
        } else {
            of_month || of_week
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sync_windows_take_fields_only() {
        assert!(Schedule::parse_fields("TZ=Asia/Tokyo 0 22 * * 1-5").is_ok());
        assert_eq!(
            Schedule::parse_fields("@daily").unwrap_err().to_string(),
            "parser does not accept descriptors: @daily"
        );
    }

    #[test]
    fn a_mistake_names_the_field() {
        let message = |text| Schedule::parse(text).unwrap_err().to_string();
        assert_eq!(message("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
        assert_eq!(message("0 24 * * *"), "end of range (24) above maximum (23): 24");
        assert_eq!(
            message("0 0 L * *"),
            "failed to parse int from L: strconv.Atoi: parsing \"L\": invalid syntax"
        );
        assert_eq!(message("0 0 * * 7"), "end of range (7) above maximum (6): 7");
    }

    #[test]
    fn the_end_of_time_has_no_next() {
        let schedule = Schedule::parse("@every 1h").expect("a schedule");
        assert_eq!(schedule.next_after(Timestamp::MAX, &TimeZone::UTC), None);
        let schedule = Schedule::parse("0 0 1 1 *").expect("a schedule");
        assert_eq!(schedule.next_after(Timestamp::MAX, &TimeZone::UTC), None);
    }
}
