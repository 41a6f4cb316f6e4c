//! Adding, taking away, multiplying and dividing, which jq does to texts, lists
//! and mappings as well.

use serde_json::{Map, Value, json};

use super::{RunError, order, wrong};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// What comes out of two values.
pub(super) fn apply(left: Value, operator: Operator, right: &Value) -> Result<Value, RunError> {
    match operator {
        Operator::Add => add(left, right),
        Operator::Subtract => subtract(left, right),
        Operator::Multiply => multiply(left, right),
        Operator::Divide => divide(&left, right),
        Operator::Modulo => modulo(&left, right),
    }
}

/// A number as people write it: without a fraction where there is none.
pub(super) fn number(number: f64) -> Result<Value, RunError> {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    if !number.is_finite() {
        return Err(RunError::WrongType { what: "count to", kind: "infinity" });
    }
    #[expect(clippy::cast_possible_truncation, reason = "it was just seen to fit")]
    let whole = number as i64;
    Ok(if number.fract() == 0.0 && number.abs() <= LARGEST_EXACT {
        Value::from(whole)
    } else {
        Value::from(number)
    })
}

/// Exact where both are whole and the answer is not too large.
fn numbers(
    left: &Value,
    right: &Value,
    whole: fn(i64, i64) -> Option<i64>,
    other: fn(f64, f64) -> f64,
) -> Option<Result<Value, RunError>> {
    let (Value::Number(left), Value::Number(right)) = (left, right) else { return None };
    let exact = left.as_i64().zip(right.as_i64()).and_then(|(left, right)| whole(left, right));
    Some(match exact {
        Some(exact) => Ok(Value::from(exact)),
        None => {
            let float = |it: &serde_json::Number| it.as_f64().unwrap_or(f64::NAN);
            number(other(float(left), float(right)))
        }
    })
}

fn add(left: Value, right: &Value) -> Result<Value, RunError> {
    if let Some(sum) = numbers(&left, right, i64::checked_add, |left, right| left + right) {
        return sum;
    }
    Ok(match (left, right) {
        (left, Value::Null) => left,
        (Value::Null, right) => right.clone(),
        (Value::String(mut left), Value::String(right)) => {
            left.push_str(right);
            Value::String(left)
        }
        (Value::Array(mut left), Value::Array(right)) => {
            left.extend(right.iter().cloned());
            Value::Array(left)
        }
        (Value::Object(mut left), Value::Object(right)) => {
            left.extend(right.iter().map(|(name, value)| (name.clone(), value.clone())));
            Value::Object(left)
        }
        (_, right) => return Err(wrong("add", right)),
    })
}

fn subtract(left: Value, right: &Value) -> Result<Value, RunError> {
    if let Some(rest) = numbers(&left, right, i64::checked_sub, |left, right| left - right) {
        return rest;
    }
    match (left, right) {
        (Value::Array(mut left), Value::Array(right)) => {
            left.retain(|it| !right.iter().any(|taken| order(it, taken).is_eq()));
            Ok(Value::Array(left))
        }
        (left, _) => Err(wrong("subtract from", &left)),
    }
}

fn multiply(left: Value, right: &Value) -> Result<Value, RunError> {
    if let Some(product) = numbers(&left, right, i64::checked_mul, |left, right| left * right) {
        return product;
    }
    match (left, right) {
        (Value::String(text), Value::Number(_)) => Ok(repeated(&text, right)),
        (number @ Value::Number(_), Value::String(text)) => Ok(repeated(text, &number)),
        (Value::Object(left), Value::Object(right)) => Ok(Value::Object(merged(left, right))),
        (left, _) => Err(wrong("multiply", &left)),
    }
}

fn repeated(text: &str, number: &Value) -> Value {
    if number.as_f64().is_some_and(|number| number < 0.0) {
        return Value::Null;
    }
    Value::from(text.repeat(times(number)))
}

/// How often something is done: what is behind the point does not count.
pub(super) fn times(number: &Value) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates, and what is repeated so often is too expensive"
    )]
    let times = number.as_f64().unwrap_or(0.0) as usize;
    times
}

fn merged(mut left: Map<String, Value>, right: &Map<String, Value>) -> Map<String, Value> {
    for (name, value) in right {
        let merged = match (left.remove(name), value) {
            (Some(Value::Object(left)), Value::Object(right)) => Value::Object(merged(left, right)),
            (_, value) => value.clone(),
        };
        left.insert(name.clone(), merged);
    }
    left
}

fn divide(left: &Value, right: &Value) -> Result<Value, RunError> {
    if right.as_f64() == Some(0.0) && left.is_number() {
        return Err(RunError::WrongType { what: "divide by", kind: "zero" });
    }
    let exact = |left: i64, right: i64| (left.checked_rem(right)? == 0).then_some(left / right);
    if let Some(quotient) = numbers(left, right, exact, |left, right| left / right) {
        return quotient;
    }
    match (left, right) {
        (Value::String(whole), Value::String(_)) if whole.is_empty() => Ok(json!([])),
        (Value::String(whole), Value::String(separator)) if separator.is_empty() => {
            Ok(whole.chars().map(|it| Value::from(it.to_string())).collect())
        }
        (Value::String(whole), Value::String(separator)) => {
            Ok(whole.split(separator.as_str()).map(Value::from).collect())
        }
        (left, _) => Err(wrong("divide", left)),
    }
}

/// Whole numbers only; what is behind the point does not count.
fn modulo(left: &Value, right: &Value) -> Result<Value, RunError> {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates, as jq does")]
    let whole = |value: &Value| match value {
        Value::Number(number) => {
            Ok(number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or(0.0) as i64))
        }
        other => Err(wrong("divide", other)),
    };
    let (left, right) = (whole(left)?, whole(right)?);
    match left.checked_rem(right.saturating_abs()) {
        Some(rest) => Ok(Value::from(rest)),
        None => Err(RunError::WrongType { what: "divide by", kind: "zero" }),
    }
}
