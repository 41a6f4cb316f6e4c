//! One field of a schedule: `*/15`, `1-5`, `mon,fri`.

/// The numbers a field allows, as bits, and whether it was written as a star.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    bits: u64,
    star: bool,
}

/// What a field can hold.
pub(super) struct Bounds {
    low: u64,
    high: u64,
    names: &'static [&'static str],
}

pub(super) const MINUTE: Bounds = Bounds { low: 0, high: 59, names: &[] };
pub(super) const HOUR: Bounds = Bounds { low: 0, high: 23, names: &[] };
pub(super) const DAY_OF_MONTH: Bounds = Bounds { low: 1, high: 31, names: &[] };
pub(super) const MONTH: Bounds = Bounds {
    low: 1,
    high: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
pub(super) const DAY_OF_WEEK: Bounds =
    Bounds { low: 0, high: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// Why a text is not a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// `1-2-3`.
    #[error("too many hyphens: {0}")]
    TooManyHyphens(String),
    /// `1/2/3`.
    #[error("too many slashes: {0}")]
    TooManySlashes(String),
    /// Neither a number nor a name.
    #[error("failed to parse int from {0}: strconv.Atoi: parsing {0:?}: invalid syntax")]
    NotANumber(String),
    /// Day 0.
    #[error("beginning of range ({start}) below minimum ({low}): {text}")]
    BelowMinimum {
        /// The number.
        start: u64,
        /// The lowest there is.
        low: u64,
        /// The range as written.
        text: String,
    },
    /// Hour 24.
    #[error("end of range ({end}) above maximum ({high}): {text}")]
    AboveMaximum {
        /// The number.
        end: u64,
        /// The highest there is.
        high: u64,
        /// The range as written.
        text: String,
    },
    /// `5-1`.
    #[error("beginning of range ({start}) beyond end of range ({end}): {text}")]
    Reversed {
        /// Its first number.
        start: u64,
        /// Its last.
        end: u64,
        /// The range as written.
        text: String,
    },
    /// `*/0`.
    #[error("step of range should be a positive number: {0}")]
    ZeroStep(String),
}

impl Field {
    pub(super) fn parse(text: &str, bounds: &Bounds) -> Result<Self, FieldError> {
        let mut field = Self { bits: 0, star: false };
        for range in text.split(',').filter(|range| !range.is_empty()) {
            let Self { bits, star } = parse_range(range, bounds)?;
            field.bits |= bits;
            field.star |= star;
        }
        Ok(field)
    }

    pub(super) fn contains(self, number: i8) -> bool {
        u32::try_from(number).is_ok_and(|number| self.bits & 1 << number != 0)
    }

    pub(super) fn is_star(self) -> bool {
        self.star
    }
}

fn parse_range(text: &str, bounds: &Bounds) -> Result<Field, FieldError> {
    let owned = || text.to_owned();
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let is_star = matches!(ends[0], "*" | "?");
    let (start, mut end) = match ends[..] {
        _ if is_star => (bounds.low, bounds.high),
        [only] => (number(only, bounds)?, number(only, bounds)?),
        [low, high] => (number(low, bounds)?, number(high, bounds)?),
        _ => return Err(FieldError::TooManyHyphens(owned())),
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => {
            // `5/15` is short for `5-59/15`.
            if ends.len() == 1 {
                end = bounds.high;
            }
            integer(step)?
        }
        _ => return Err(FieldError::TooManySlashes(owned())),
    };
    let Bounds { low, high, .. } = *bounds;
    if start < low {
        return Err(FieldError::BelowMinimum { start, low, text: owned() });
    }
    if end > high {
        return Err(FieldError::AboveMaximum { end, high, text: owned() });
    }
    if start > end {
        return Err(FieldError::Reversed { start, end, text: owned() });
    }
    let step_size = usize::try_from(step).unwrap_or(usize::MAX);
    if step_size == 0 {
        return Err(FieldError::ZeroStep(owned()));
    }
    let bits = (start..=end).step_by(step_size).fold(0, |bits, number| bits | 1 << number);
    Ok(Field { bits, star: is_star && step == 1 })
}

fn number(text: &str, bounds: &Bounds) -> Result<u64, FieldError> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(bounds.low + index as u64),
        None => integer(text),
    }
}

/// Go's `Atoi`, for numbers that are not negative.
fn integer(text: &str) -> Result<u64, FieldError> {
    let number = text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| FieldError::NotANumber(text.to_owned()))
}
