//! Numbers that have names or units: `time.Month`, `time.Weekday` and `time.Duration`.

use super::durations::show_duration;
use super::layout::{DAYS, MONTHS};
use crate::call::{Function, Parameter};
use crate::value::{IntType, Value};

/// How it prints, where that is not as a number.
pub(crate) fn text_of_int(kind: IntType, number: i64) -> Option<String> {
    let named = |names: &[&str], first: i64, type_name: &str| {
        let index = usize::try_from(number - first).ok();
        let name = index.and_then(|index| names.get(index));
        name.map_or_else(|| format!("%!{type_name}({number})"), |name| (*name).to_owned())
    };
    match kind {
        IntType::Month => Some(named(&MONTHS, 1, "Month")),
        IntType::Weekday => Some(named(&DAYS, 0, "Weekday")),
        IntType::Duration => Some(show_duration(number.into())),
        IntType::Int | IntType::Int32 | IntType::Int64 => None,
    }
}

/// The method of that name.
pub(crate) fn method_of_int(kind: IntType, number: i64, name: &str) -> Option<Function> {
    let constant = |value: Value| Some(Function::bound(&[], move |_, _| Ok(value.clone())));
    let text = text_of_int(kind, number)?;
    if name == "String" {
        return constant(Value::string(text));
    }
    if kind != IntType::Duration {
        return None;
    }
    let in_units =
        |unit: i64| Value::Float((number / unit) as f64 + (number % unit) as f64 / unit as f64);
    match name {
        "Hours" => constant(in_units(3_600_000_000_000)),
        "Minutes" => constant(in_units(60_000_000_000)),
        "Seconds" => constant(in_units(1_000_000_000)),
        "Milliseconds" => constant(Value::int64(number / 1_000_000)),
        "Microseconds" => constant(Value::int64(number / 1_000)),
        "Nanoseconds" => constant(Value::int64(number)),
        "Abs" => constant(Value::Int(IntType::Duration, number.saturating_abs())),
        "Round" | "Truncate" => {
            let rounds = name == "Round";
            Some(Function::bound(&[Parameter::Duration], move |_, arguments| {
                let unit = crate::arguments::int(&arguments[0]);
                Ok(Value::Int(IntType::Duration, to_multiple(number, unit, rounds)))
            }))
        }
        _ => None,
    }
}

/// The multiple of the unit below, or the nearest one, halves away from zero.
fn to_multiple(number: i64, unit: i64, rounds: bool) -> i64 {
    if unit <= 0 {
        return number;
    }
    let rest = number % unit;
    let below = number - rest;
    if rounds && rest.unsigned_abs() >= (unit as u64).div_ceil(2) {
        return below.saturating_add(if number < 0 { -unit } else { unit });
    }
    below
}
