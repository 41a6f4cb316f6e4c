//! Arithmetic: on `int64`, and on decimals for the functions that end in `f`.

use super::{add_fixed, add_variadic, strings};
use crate::arguments::{int, text};
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::print;
use crate::strconv::{
    format_float, parse_clamped, parse_float, parse_int_any_base, shortest_digits,
};
use crate::value::{ElementType, IntType, List, Value};

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, Float, Int, String};
    add_fixed(
        functions,
        &[
            ("atoi", &[String], |_, a| Ok(Value::int(parse_clamped(&text(&a[0]))))),
            ("int", &[Any], |_, a| Ok(Value::int(to_int(&a[0])))),
            ("int64", &[Any], |_, a| Ok(Value::int64(to_int(&a[0])))),
            ("float64", &[Any], |_, a| Ok(Value::Float(to_float(&a[0])))),
            ("toDecimal", &[Any], |_, a| Ok(Value::int64(from_octal(&a[0])))),
            ("add1", &[Any], |_, a| Ok(Value::int64(to_int(&a[0]).wrapping_add(1)))),
            ("sub", &[Any, Any], |_, a| {
                Ok(Value::int64(to_int(&a[0]).wrapping_sub(to_int(&a[1]))))
            }),
            ("div", &[Any, Any], |_, a| divide(a, i64::wrapping_div)),
            ("mod", &[Any, Any], |_, a| divide(a, i64::wrapping_rem)),
            ("add1f", &[Any], |_, a| decimals(&[a[0].clone(), Value::int(1)], Decimal::add)),
            ("ceil", &[Any], |_, a| Ok(Value::Float(to_float(&a[0]).ceil()))),
            ("floor", &[Any], |_, a| Ok(Value::Float(to_float(&a[0]).floor()))),
            ("until", &[Int], |call, a| {
                let count = int(&a[0]);
                steps(call, 0, count, if count < 0 { -1 } else { 1 })
            }),
            ("untilStep", &[Int, Int, Int], |call, a| {
                steps(call, int(&a[0]), int(&a[1]), int(&a[2]))
            }),
            ("randInt", &[Int, Int], random_int),
        ],
    );
    add_variadic(
        functions,
        &[
            ("add", &[Any], |_, a| {
                Ok(Value::int64(a.iter().map(to_int).fold(0, i64::wrapping_add)))
            }),
            ("mul", &[Any, Any], |_, a| {
                Ok(Value::int64(a.iter().map(to_int).fold(1, i64::wrapping_mul)))
            }),
            ("addf", &[Any], |_, a| {
                let all = [&[Value::int(0)], a].concat();
                decimals(&all, Decimal::add)
            }),
            ("subf", &[Any, Any], |_, a| decimals(a, Decimal::subtract)),
            ("mulf", &[Any, Any], |_, a| decimals(a, Decimal::multiply)),
            ("divf", &[Any, Any], |_, a| {
                if a[1..].iter().any(|divisor| to_float(divisor) == 0.0) {
                    return Err(Error::function("decimal division by 0"));
                }
                decimals(a, Decimal::divide)
            }),
            ("biggest", &[Any, Any], |_, a| Ok(extreme(a, i64::max))),
            ("max", &[Any, Any], |_, a| Ok(extreme(a, i64::max))),
            ("min", &[Any, Any], |_, a| Ok(extreme(a, i64::min))),
            ("maxf", &[Any, Any], |_, a| Ok(extreme_float(a, f64::max))),
            ("minf", &[Any, Any], |_, a| Ok(extreme_float(a, f64::min))),
            ("round", &[Any, Int, Float], |_, a| Ok(Value::Float(round(a)))),
            ("seq", &[Int], sequence),
        ],
    );
}

/// `cast.ToInt`: zero for what is no number.
pub(crate) fn to_int(value: &Value) -> i64 {
    match value {
        // A length of time is no number to `cast`, though months and days are.
        Value::Int(IntType::Duration, _) => 0,
        Value::Int(_, number) => *number,
        Value::Uint(_, number) => *number as i64,
        Value::Float(number) => go_int(*number),
        Value::Bool(truth) => i64::from(*truth),
        Value::String(text) => {
            parse_int_any_base(without_zero_decimals(&text.as_str())).unwrap_or(0)
        }
        _ => 0,
    }
}

/// A float as Go converts it on most machines: what does not fit becomes the smallest integer.
fn go_int(number: f64) -> i64 {
    const FIRST_TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;
    if number < FIRST_TOO_LARGE { number as i64 } else { i64::MIN }
}

/// `12.00` is as good as `12`.
fn without_zero_decimals(text: &str) -> &str {
    match text.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

/// `cast.ToFloat64`.
pub(super) fn to_float(value: &Value) -> f64 {
    match value {
        Value::Int(IntType::Duration, _) => 0.0,
        Value::Int(_, number) => *number as f64,
        Value::Uint(_, number) => *number as f64,
        Value::Float(number) => *number,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        Value::String(text) => parse_float(&text.as_str()).unwrap_or(0.0),
        _ => 0.0,
    }
}

fn from_octal(value: &Value) -> i64 {
    let text = print::to_bytes(value);
    i64::from_str_radix(&String::from_utf8_lossy(&text), 8).unwrap_or(0)
}

fn divide(arguments: &[Value], operation: fn(i64, i64) -> i64) -> Result<Value, Error> {
    let (a, b) = (to_int(&arguments[0]), to_int(&arguments[1]));
    if b == 0 {
        return Err(Error::function("runtime error: integer divide by zero"));
    }
    Ok(Value::int64(operation(a, b)))
}

fn extreme(arguments: &[Value], choose: fn(i64, i64) -> i64) -> Value {
    Value::int64(arguments.iter().map(to_int).reduce(choose).unwrap_or(0))
}

fn extreme_float(arguments: &[Value], choose: fn(f64, f64) -> f64) -> Value {
    Value::Float(arguments.iter().map(to_float).reduce(choose).unwrap_or(0.0))
}

fn round(arguments: &[Value]) -> f64 {
    let threshold = arguments.get(2).map_or(0.5, to_float);
    let power = 10f64.powi(i32::try_from(int(&arguments[1])).unwrap_or(i32::MAX));
    let digit = power * to_float(&arguments[0]);
    // Negative fractions are never past the threshold: -2.5 rounds to -3, and so does -2.4.
    let rounded = if digit.fract() >= threshold { digit.ceil() } else { digit.floor() };
    rounded / power
}

fn steps(call: &mut Call<'_>, start: i64, stop: i64, step: i64) -> Result<Value, Error> {
    Ok(Value::List(List::new(
        ElementType::Int,
        numbers(call, start, stop, step)?.into_iter().map(Value::int).collect(),
    )))
}

fn numbers(call: &Call<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Error> {
    let forward = stop >= start;
    if step == 0 || forward != (step > 0) {
        return Ok(Vec::new());
    }
    let count = stop.abs_diff(start).div_ceil(step.unsigned_abs());
    call.charge(usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok((0..count as i64).map(|index| start + index * step).collect())
}

fn sequence(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let parameters: Vec<i64> = arguments.iter().map(int).collect();
    let list = match parameters[..] {
        [end] => {
            let step = if end < 1 { -1 } else { 1 };
            numbers(call, 1, end.saturating_add(step), step)?
        }
        [start, end] => {
            let step = if end < start { -1 } else { 1 };
            numbers(call, start, end.saturating_add(step), step)?
        }
        [start, step, end] if end >= start || step <= 0 => {
            let beyond = if end < start { -1 } else { 1 };
            numbers(call, start, end.saturating_add(beyond), step)?
        }
        _ => Vec::new(),
    };
    let words: Vec<String> = list.iter().map(i64::to_string).collect();
    Ok(Value::string(words.join(" ")))
}

fn random_int(call: &mut Call<'_>, arguments: &[Value]) -> Result<Value, Error> {
    let (low, high) = (int(&arguments[0]), int(&arguments[1]));
    let Some(span) = high.checked_sub(low).and_then(|span| u64::try_from(span).ok()) else {
        return Err(Error::function("invalid argument to Intn"));
    };
    if span == 0 {
        return Err(Error::function("invalid argument to Intn"));
    }
    Ok(Value::int(low + strings::random_below(call, span) as i64))
}

fn decimals(
    arguments: &[Value],
    operation: fn(Decimal, Decimal) -> Decimal,
) -> Result<Value, Error> {
    let numbers: Vec<f64> = arguments.iter().map(to_float).collect();
    if let Some(endless) = numbers.iter().find(|number| !number.is_finite()) {
        let shown = format_float(*endless);
        return Err(Error::function(format!("Cannot create a Decimal from {shown}")));
    }
    let result = numbers.into_iter().map(Decimal::from_float).reduce(operation);
    Ok(Value::Float(result.map_or(0.0, Decimal::to_float)))
}

/// A decimal number, so that 0.1 + 0.2 is 0.3: `digits × 10^exponent`. Digits beyond 128 bits are
/// rounded away, which only numbers of very different magnitude can show.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    fn from_float(number: f64) -> Self {
        if number == 0.0 || !number.is_finite() {
            return Self { digits: 0, exponent: 0 };
        }
        let (digits, point) = shortest_digits(number);
        let value: i128 = String::from_utf8_lossy(&digits).parse().unwrap_or(0);
        let exponent = point - digits.len() as i32;
        Self { digits: if number < 0.0 { -value } else { value }, exponent }
    }

    fn to_float(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Both with the smaller exponent, dropping low digits where they would not fit.
    fn aligned(self, other: Self) -> (i128, i128, i32) {
        let (high, low, swapped) = if self.exponent >= other.exponent {
            (self, other, false)
        } else {
            (other, self, true)
        };
        let (mut high_digits, mut low_digits) = (high.digits, low.digits);
        let mut exponent = high.exponent;
        while exponent > low.exponent {
            match high_digits.checked_mul(10) {
                Some(shifted) => high_digits = shifted,
                None => {
                    for _ in 0..(exponent - low.exponent) {
                        low_digits /= 10;
                    }
                    break;
                }
            }
            exponent -= 1;
        }
        if swapped {
            (low_digits, high_digits, exponent)
        } else {
            (high_digits, low_digits, exponent)
        }
    }

    fn add(self, other: Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self { digits: a.saturating_add(b), exponent }
    }

    fn subtract(self, other: Self) -> Self {
        self.add(Self { digits: -other.digits, ..other })
    }

    fn multiply(self, other: Self) -> Self {
        let (mut a, mut b, mut exponent) =
            (self.digits, other.digits, self.exponent + other.exponent);
        loop {
            if let Some(digits) = a.checked_mul(b) {
                return Self { digits, exponent };
            }
            if a.abs() > b.abs() {
                a /= 10;
            } else {
                b /= 10;
            }
            exponent += 1;
        }
    }

    /// Sixteen digits after the point, halves away from zero.
    fn divide(self, other: Self) -> Self {
        if other.digits == 0 {
            return Self { digits: 0, exponent: 0 };
        }
        const PRECISION: i32 = 16;
        // digits = self / other × 10^17, one digit more than wanted, for rounding.
        let mut shift = PRECISION + 1 + self.exponent - other.exponent;
        let mut numerator = self.digits;
        while shift > 0 {
            match numerator.checked_mul(10) {
                Some(shifted) => numerator = shifted,
                None => break,
            }
            shift -= 1;
        }
        let mut quotient = numerator / other.digits;
        while shift < 0 && quotient != 0 {
            quotient /= 10;
            shift += 1;
        }
        if shift > 0 {
            return Self { digits: quotient, exponent: shift - PRECISION - 1 };
        }
        let rounding = if quotient < 0 { -5 } else { 5 };
        Self { digits: (quotient + rounding) / 10, exponent: -PRECISION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_add_as_written() {
        let sum = Decimal::from_float(0.1).add(Decimal::from_float(0.2));
        assert_eq!(sum.to_float(), 0.3);
        let quotient = Decimal::from_float(1.0).divide(Decimal::from_float(3.0));
        assert_eq!(quotient.to_float(), 0.333_333_333_333_333_3);
        let product = Decimal::from_float(1.1).multiply(Decimal::from_float(1.1));
        assert_eq!(product.to_float(), 1.21);
        let quotient = Decimal::from_float(10.0).divide(Decimal::from_float(4.0));
        assert_eq!(quotient.to_float(), 2.5);
    }
}
