//! A moment and what the clocks of a place show then, with Go's arithmetic.
//!
//! Go's `time.Date` chooses one of two moments where the clocks repeat an hour,
//! and a neighbouring one where they skip it; which one follows from the formula
//! in [`moment`], and the schedules depend on it.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

#[derive(Clone, Copy)]
pub(super) struct WallClock<'z> {
    second: i64,
    shows: DateTime,
    zone: &'z TimeZone,
}

/// What a clock shows, part by part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// From the largest to the smallest.
pub(super) const UNITS: [Unit; 5] =
    [Unit::Month, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second];

impl<'z> WallClock<'z> {
    /// The clock at a moment; none outside the years 1 to 9999.
    pub(super) fn at(second: i64, zone: &'z TimeZone) -> Option<Self> {
        let shows = zone.to_datetime(Timestamp::from_second(second).ok()?);
        Some(Self { second, shows, zone })
    }

    pub(super) fn second(&self) -> i64 {
        self.second
    }

    pub(super) fn year(&self) -> i16 {
        self.shows.year()
    }

    pub(super) fn month(&self) -> i8 {
        self.shows.month()
    }

    pub(super) fn day(&self) -> i8 {
        self.shows.day()
    }

    /// Sunday is 0.
    pub(super) fn weekday(&self) -> i8 {
        self.shows.weekday().to_sunday_zero_offset()
    }

    pub(super) fn hour(&self) -> i8 {
        self.shows.hour()
    }

    pub(super) fn minute(&self) -> i8 {
        self.shows.minute()
    }

    pub(super) fn second_of_minute(&self) -> i8 {
        self.shows.second()
    }

    /// The beginning of the month, the day and so on that the clock shows.
    pub(super) fn start_of(&self, unit: Unit) -> Option<Self> {
        let date = self.shows.date();
        match unit {
            Unit::Month => self.when(date.first_of_month().at(0, 0, 0, 0)),
            Unit::Day => self.when(date.at(0, 0, 0, 0)),
            Unit::Hour => self.when(date.at(self.hour(), 0, 0, 0)),
            // Go truncates the moment here, not what the clock shows.
            Unit::Minute => Self::at(self.second - self.second.rem_euclid(60), self.zone),
            Unit::Second => Some(*self),
        }
    }

    /// One month later, one day later and so on; days go from midnight to midnight.
    pub(super) fn plus_one(&self, unit: Unit) -> Option<Self> {
        match unit {
            Unit::Month => self.plus_month(),
            Unit::Day => self.plus_day()?.nearest_midnight(),
            Unit::Hour => self.plus_seconds(3600),
            Unit::Minute => self.plus_seconds(60),
            Unit::Second => self.plus_seconds(1),
        }
    }

    /// Whether the unit shows the lowest it can.
    pub(super) fn is_first(&self, unit: Unit) -> bool {
        match unit {
            Unit::Month => self.month() == 1,
            Unit::Day => self.day() == 1,
            Unit::Hour => self.hour() == 0,
            Unit::Minute => self.minute() == 0,
            Unit::Second => self.second_of_minute() == 0,
        }
    }

    /// The same time of day on the first of the next month. Only ever asked for
    /// on the first, so no day is missing.
    fn plus_month(&self) -> Option<Self> {
        let date = self.shows.date();
        let first = if date.month() == 12 {
            jiff::civil::Date::new(date.year() + 1, 1, date.day())
        } else {
            jiff::civil::Date::new(date.year(), date.month() + 1, date.day())
        };
        self.when(first.ok()?.to_datetime(self.shows.time()))
    }

    /// The same time of the next day.
    fn plus_day(&self) -> Option<Self> {
        let tomorrow = self.shows.date().tomorrow().ok()?;
        self.when(tomorrow.to_datetime(self.shows.time()))
    }

    fn plus_seconds(&self, seconds: i64) -> Option<Self> {
        Self::at(self.second + seconds, self.zone)
    }

    /// Where midnight was skipped by the clocks, the hour that stands for it.
    fn nearest_midnight(&self) -> Option<Self> {
        let hour = i64::from(self.hour());
        match hour {
            0 => Some(*self),
            13.. => self.plus_seconds((24 - hour) * 3600),
            _ => self.plus_seconds(-hour * 3600),
        }
    }

    fn when(&self, shows: DateTime) -> Option<Self> {
        Self::at(moment(shows, self.zone)?, self.zone)
    }
}

/// The moment at which the clocks show `wall`, by Go's rule: take the offset that
/// would hold if `wall` were UTC, and correct once.
fn moment(wall: DateTime, zone: &TimeZone) -> Option<i64> {
    let as_utc = TimeZone::UTC.to_timestamp(wall).ok()?.as_second();
    let offset_at = |second: i64| {
        let moment = Timestamp::from_second(second).ok()?;
        Some(i64::from(zone.to_offset(moment).seconds()))
    };
    let guess = offset_at(as_utc)?;
    Some(as_utc - offset_at(as_utc - guess)?)
}
