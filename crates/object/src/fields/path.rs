//! One step, and a way, from the root of an object to a place in it.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// One step into a mapping or a list.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a mapping.
    Field(String),
    /// The list element whose key fields have these values; sorted by name.
    Key(Vec<(String, Value)>),
    /// The element of a set that equals this value.
    Value(Value),
    /// The element at this position.
    Index(i64),
}

/// Steps from the root of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => compare_values(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

fn compare_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    let parts = left.iter().zip(right).map(|((left_name, left), (right_name, right))| {
        left_name.cmp(right_name).then_with(|| compare_values(left, right))
    });
    parts.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
}

/// A total order in which 1 and 1.0 are the same.
pub(super) fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => left.as_f64().unwrap_or(0.0).total_cmp(&right.as_f64().unwrap_or(0.0)),
        },
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let parts = left.iter().zip(right).map(|(left, right)| compare_values(left, right));
            parts.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => {
            let parts = left.iter().zip(right).map(|((left_name, left), (right_name, right))| {
                left_name.cmp(right_name).then_with(|| compare_values(left, right))
            });
            parts.fold(Ordering::Equal, Ordering::then).then(left.len().cmp(&right.len()))
        }
        _ => value_rank(left).cmp(&value_rank(right)),
    }
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                for (position, (name, value)) in fields.iter().enumerate() {
                    let separator = if position == 0 { '[' } else { ',' };
                    write!(f, "{separator}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}
