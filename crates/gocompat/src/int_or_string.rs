//! Kubernetes' `IntOrString`: `maxSurge: 1` or `maxSurge: 25%`, a port by number or name.

use std::fmt;

use serde_json::Value;

/// A number or a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text, often a percentage.
    Text(String),
}

/// Why a value is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntOrStringError {
    /// Neither a whole number nor a text.
    #[error("expected a whole number or a text, found {0}")]
    WrongType(String),
    /// A text without `%`.
    #[error("invalid type: string is not a percentage")]
    NotAPercentage,
    /// A text with `%` and no number before it.
    #[error("invalid value {0:?}, expected a whole number before %")]
    BadPercentage(String),
}

/// Which way a share of a whole number is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the next whole number.
    Up,
    /// To the whole number before.
    Down,
}

impl IntOrString {
    /// Reads the value of a field.
    ///
    /// # Errors
    /// For anything but a text or a whole number of 32 bits.
    pub fn from_value(value: &Value) -> Result<Self, IntOrStringError> {
        let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
        match (value, number) {
            (Value::String(text), _) => Ok(Self::Text(text.clone())),
            (_, Some(number)) => Ok(Self::Int(number)),
            _ => Err(IntOrStringError::WrongType(value.to_string())),
        }
    }

    /// The number, or the share of `total` that the percentage asks for, as
    /// `GetScaledValueFromIntOrPercent` gives it.
    ///
    /// # Errors
    /// For a text that is no percentage.
    pub fn scaled(&self, total: i32, rounding: Rounding) -> Result<i64, IntOrStringError> {
        let text = match self {
            Self::Int(number) => return Ok(i64::from(*number)),
            Self::Text(text) => text,
        };
        let digits = text.strip_suffix('%').ok_or(IntOrStringError::NotAPercentage)?;
        let percent: i32 =
            digits.parse().map_err(|_| IntOrStringError::BadPercentage(text.clone()))?;
        let hundredths = i64::from(percent) * i64::from(total);
        Ok(match rounding {
            Rounding::Up => -(-hundredths).div_euclid(100),
            Rounding::Down => hundredths.div_euclid(100),
        })
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}
