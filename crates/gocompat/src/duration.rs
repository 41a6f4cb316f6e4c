//! Durations as Go writes them: `1h30m`, `-1.5s`, `300ms`.

use std::fmt;

/// A length of time in nanoseconds, positive or negative: Go's `time.Duration`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

/// Why a text is not a duration, in the words of Go, which users know by now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Neither number nor unit where one is needed.
    #[error("time: invalid duration {0:?}")]
    Malformed(String),
    /// A number without its unit.
    #[error("time: missing unit in duration {0:?}")]
    MissingUnit(String),
    /// A unit that does not exist.
    #[error("time: unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// What stands where the unit should be.
        unit: String,
    },
    /// More than 292 years.
    #[error("time: invalid duration {0:?}, more than 292 years")]
    TooLong(String),
    /// Not of the short form that [`Duration::parse_with_days`] reads.
    #[error(
        "invalid duration {0:?}, expected a whole number and one of s, m, h, d (for example 3h)"
    )]
    NotOneUnit(String),
}

/// One more than the largest duration; the sign decides whether it fits.
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// A duration of so many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Its nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The standard library's type, if this is not negative.
    #[must_use]
    pub fn to_std(self) -> Option<std::time::Duration> {
        u64::try_from(self.0).ok().map(std::time::Duration::from_nanos)
    }

    /// Reads as `time.ParseDuration` does.
    ///
    /// # Errors
    /// Where Go has one.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if unsigned == "0" {
            return Ok(Self(0));
        }
        if unsigned.is_empty() {
            return Err(DurationError::Malformed(text.to_owned()));
        }
        let too_long = || DurationError::TooLong(text.to_owned());
        let mut total = 0u64;
        let mut rest = unsigned;
        while !rest.is_empty() {
            let (nanos, after) = leading_part(text, rest)?;
            total = total.checked_add(nanos).filter(|sum| *sum <= LIMIT).ok_or_else(too_long)?;
            rest = after;
        }
        if negative {
            return 0i64.checked_sub_unsigned(total).map(Self).ok_or_else(too_long);
        }
        i64::try_from(total).map(Self).map_err(|_| too_long())
    }

    /// Reads a whole number with one unit of `s`, `m`, `h` or `d`, the form of
    /// token lifetimes and a few settings. Only this form knows days.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse_with_days(text: &str) -> Result<Self, DurationError> {
        let malformed = || DurationError::NotOneUnit(text.to_owned());
        let unit_at = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at));
        let (digits, unit) = text.split_at(unit_at.ok_or_else(malformed)?);
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            _ => return Err(malformed()),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed());
        }
        let nanos = digits
            .parse::<i64>()
            .ok()
            .and_then(|amount| amount.checked_mul(seconds)?.checked_mul(1_000_000_000));
        nanos.map(Self).ok_or_else(|| DurationError::TooLong(text.to_owned()))
    }
}

/// The nanoseconds of the number and unit that `rest` begins with, and what follows.
fn leading_part<'t>(text: &str, rest: &'t str) -> Result<(u64, &'t str), DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    let too_long = || DurationError::TooLong(text.to_owned());
    let (whole, after_whole) = leading_digits(rest);
    let (fraction, after_number) = match after_whole.strip_prefix('.') {
        Some(after_point) => leading_digits(after_point),
        None => ("", after_whole),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(malformed());
    }
    let unit_end = after_number
        .find(|character: char| character == '.' || character.is_ascii_digit())
        .unwrap_or(after_number.len());
    let (unit, after) = after_number.split_at(unit_end);
    let nanos_per_unit = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" => return Err(DurationError::MissingUnit(text.to_owned())),
        _ => {
            let (text, unit) = (text.to_owned(), unit.to_owned());
            return Err(DurationError::UnknownUnit { text, unit });
        }
    };
    let whole = if whole.is_empty() { Some(0) } else { whole.parse::<u64>().ok() };
    let nanos = whole
        .and_then(|whole| whole.checked_mul(nanos_per_unit))
        .and_then(|nanos| nanos.checked_add(fraction_of(fraction, nanos_per_unit)))
        .filter(|nanos| *nanos <= LIMIT)
        .ok_or_else(too_long)?;
    Ok((nanos, after))
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Go computes the fraction in floating point, from as many digits as an integer holds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the same conversions in the same order give the same nanoseconds"
)]
fn fraction_of(digits: &str, nanos_per_unit: u64) -> u64 {
    let (mut value, mut scale) = (0u64, 1f64);
    for digit in digits.bytes() {
        let next = match value.checked_mul(10) {
            Some(shifted) if value <= (LIMIT - 1) / 10 => shifted + u64::from(digit - b'0'),
            _ => break,
        };
        if next > LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    if value == 0 {
        return 0;
    }
    (value as f64 * (nanos_per_unit as f64 / scale)) as u64
}

impl fmt::Display for Duration {
    /// As `Duration.String`: the shortest form with every unit below the largest.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            formatter.write_str("-")?;
        }
        match nanos {
            0 => return formatter.write_str("0s"),
            1..1_000 => return write!(formatter, "{nanos}ns"),
            1_000..1_000_000 => return write_fraction(formatter, nanos, 3, "µs"),
            1_000_000..1_000_000_000 => return write_fraction(formatter, nanos, 6, "ms"),
            _ => {}
        }
        let seconds = nanos / 1_000_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if seconds >= 60 {
            write!(formatter, "{minutes}m")?;
        }
        write_fraction(formatter, nanos % 60_000_000_000, 9, "s")
    }
}

/// Writes `value` with a decimal point `digits` from the right, without trailing zeros.
fn write_fraction(
    formatter: &mut fmt::Formatter<'_>,
    value: u64,
    digits: usize,
    unit: &str,
) -> fmt::Result {
    let padded = format!("{value:0>width$}", width = digits + 1);
    let (whole, fraction) = padded.split_at(padded.len() - digits);
    match fraction.trim_end_matches('0') {
        "" => write!(formatter, "{whole}{unit}"),
        fraction => write!(formatter, "{whole}.{fraction}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_known_to_the_short_form_only() {
        let seconds =
            |text| Duration::parse_with_days(text).map(|it| it.as_nanos() / 1_000_000_000);
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("2d"), Ok(172_800));
        for text in ["", "d", "1.5h", "-1h", "1h30m", "1w", "1 d", "١d", "é"] {
            assert_eq!(seconds(text), Err(DurationError::NotOneUnit(text.to_owned())));
        }
        let long = "999999999999d".to_owned();
        assert_eq!(seconds(&long), Err(DurationError::TooLong(long.clone())));
        assert!(Duration::parse("1d").is_err());
    }

    #[test]
    fn a_mistake_is_told_in_the_words_of_go() {
        let message = |text| Duration::parse(text).unwrap_err().to_string();
        assert_eq!(message("x"), "time: invalid duration \"x\"");
        assert_eq!(message("5"), "time: missing unit in duration \"5\"");
        assert_eq!(message("1d"), "time: unknown unit \"d\" in duration \"1d\"");
    }
}
