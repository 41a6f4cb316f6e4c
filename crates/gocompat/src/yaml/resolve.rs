//! What a scalar means: the table of YAML 1.1 words and numbers as goyaml v2 has it.

use super::error::Problem;

const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// The meaning of one scalar. Text keeps its own string, so it has no copy here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Nothing, `~` or `null`.
    Null,
    /// `true`, `yes`, `on` and their opposites.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Only what does not fit an `i64`.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// Anything else; timestamps too.
    Text,
    /// Text in base64, by its tag.
    Binary,
}

/// What `text` means under `tag`; `None` is a plain scalar without a tag.
pub(super) fn resolve(tag: Option<&str>, text: &str) -> Result<Scalar, Problem> {
    let Some(tag) = tag else { return Ok(plain_scalar(text)) };
    let expected = match tag.strip_prefix(TAG_PREFIX) {
        Some("str") => return Ok(Scalar::Text),
        Some("binary") => return Ok(Scalar::Binary),
        Some(known @ ("bool" | "int" | "float" | "null" | "timestamp")) => known,
        _ => return Ok(Scalar::Text),
    };
    match (expected, plain_scalar(text)) {
        ("null", Scalar::Null) => Ok(Scalar::Null),
        ("bool", found @ Scalar::Bool(_)) => Ok(found),
        ("int", found @ (Scalar::Int(_) | Scalar::Uint(_))) => Ok(found),
        ("float", found @ Scalar::Float(_)) => Ok(found),
        #[expect(clippy::cast_precision_loss, reason = "!!float asks for the nearest float")]
        ("float", Scalar::Int(number)) => Ok(Scalar::Float(number as f64)),
        ("timestamp", Scalar::Text) if is_timestamp(text) => Ok(Scalar::Text),
        _ => Err(Problem::TagMismatch { text: text.to_owned(), tag: format!("!!{expected}") }),
    }
}

/// Whether `text` without quotes would be read as text again, here and by other
/// YAML 1.1 readers, to which `1:30` is a number.
pub(super) fn reads_back_as_text(text: &str) -> bool {
    plain_scalar(text) == Scalar::Text && !is_timestamp(text) && !is_base_60(text)
}

/// Is it a number to YAML 1.1 only: `1:30`, by the pattern
/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`?
#[must_use]
pub fn is_base_60(text: &str) -> bool {
    let digits_or =
        |other: Option<u8>| move |byte: u8| byte.is_ascii_digit() || Some(byte) == other;
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut places = whole.split(':');
    let first = places.next().unwrap_or_default();
    let is_place = |place: &str| match place.as_bytes() {
        [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
        [ones] => ones.is_ascii_digit(),
        _ => false,
    };
    whole.contains(':')
        && first.starts_with(|character: char| character.is_ascii_digit())
        && first.bytes().all(digits_or(Some(b'_')))
        && places.all(is_place)
        && fraction.bytes().all(digits_or(Some(b'_')))
}

/// What `text` means that stands without quotes and without a tag.
#[must_use]
pub fn plain_scalar(text: &str) -> Scalar {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text)
        }
        Some(b'.') => match word(text) {
            Scalar::Text => float_after_point(text),
            found => found,
        },
        Some(b'+' | b'-' | b'0'..=b'9') => match word(text) {
            Scalar::Text => number(text),
            found => found,
        },
        Some(_) => Scalar::Text,
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    if !text.contains('_') {
        return number_without_underscores(text);
    }
    number_without_underscores(&text.replace('_', ""))
}

fn number_without_underscores(text: &str) -> Scalar {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if let Some(magnitude) = magnitude(unsigned) {
        let signed = text.len() != unsigned.len();
        if let Some(found) = integer(negative, magnitude, signed) {
            return found;
        }
    }
    match (decimal_float(text), text.strip_prefix("0b")) {
        // Go's second try for binary numbers lets a sign stand after the prefix.
        (Scalar::Text, Some(digits)) => match i64::from_str_radix(digits, 2) {
            Ok(number) => Scalar::Int(number),
            Err(_) => Scalar::Text,
        },
        (found, _) => found,
    }
}

/// A number of Go's base 0: `0x`, `0o`, `0b` or a bare `0` choose the base.
fn magnitude(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (digits, base) = match bytes {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'o' | b'O', ..] => (&text[2..], 8),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // from_str_radix would take a sign here.
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

fn integer(negative: bool, magnitude: u64, signed: bool) -> Option<Scalar> {
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(number) => Some(Scalar::Int(number)),
        Err(_) if signed => None,
        Err(_) => Some(Scalar::Uint(magnitude)),
    }
}

/// Here Go lets an underscore stand between digits, and only there.
fn float_after_point(text: &str) -> Scalar {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let separates_digits =
        |at: usize| is_digit(bytes.get(at.wrapping_sub(1))) && is_digit(bytes.get(at + 1));
    if !text.match_indices('_').all(|(at, _)| separates_digits(at)) {
        return Scalar::Text;
    }
    decimal_float(&text.replace('_', ""))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` within the range of a float.
fn decimal_float(text: &str) -> Scalar {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
        }
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let exponent_fits = exponent.is_none_or(|digits| !digits.is_empty() && all_digits(digits));
    if !(has_digits && all_digits(whole) && all_digits(fraction) && exponent_fits) {
        return Scalar::Text;
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Scalar::Float(number),
        _ => Scalar::Text,
    }
}

/// The four layouts goyaml accepts; fields may have one digit.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_at_checked(4) else { return false };
    if !year.bytes().all(|byte| byte.is_ascii_digit()) || !rest.starts_with('-') {
        return false;
    }
    let (date, time) = match rest.find(['T', 't', ' ']) {
        Some(at) => (&rest[1..at], Some((rest.as_bytes()[at], &rest[at + 1..]))),
        None => (&rest[1..], None),
    };
    let year = year.parse().expect("four digits");
    is_date(year, date)
        && match time {
            None => true,
            Some((b' ', time)) => is_time(time),
            Some((_, time)) => has_zone(time),
        }
}

fn is_date(year: u32, month_and_day: &str) -> bool {
    let Some((month, day)) = month_and_day.split_once('-') else { return false };
    let (Some(month), Some(day)) = (short_number(month), short_number(day)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let mut fields = text.splitn(3, ':');
    let (Some(hour), Some(minute), Some(second)) = (fields.next(), fields.next(), fields.next())
    else {
        return false;
    };
    let (second, fraction) = match second.split_once(['.', ',']) {
        Some((second, fraction)) => (second, Some(fraction)),
        None => (second, None),
    };
    // Go reads the hour with one or two digits, as it does the others here.
    let below = |field: &str, bound: u32| short_number(field).is_some_and(|value| value < bound);
    below(hour, 24)
        && below(minute, 60)
        && below(second, 60)
        && fraction.is_none_or(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
}

fn has_zone(text: &str) -> bool {
    if let Some(time) = text.strip_suffix('Z') {
        return is_time(time);
    }
    let Some(at) = text.rfind(['+', '-']) else { return false };
    let two_digits = |field: &str, bound: u32| {
        field.len() == 2 && short_number(field).is_some_and(|value| value < bound)
    };
    let zone_fits = text[at + 1..]
        .split_once(':')
        .is_some_and(|(hours, minutes)| two_digits(hours, 25) && two_digits(minutes, 60));
    zone_fits && is_time(&text[..at])
}

fn short_number(text: &str) -> Option<u32> {
    let short = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if short { text.parse().ok() } else { None }
}
