//! Amounts of CPU, memory and the like, as Kubernetes' `resource.Quantity` reads,
//! compares and prints them: `100m`, `1.5Gi`, `2e3`.
//!
//! A quantity is a decimal number of any size; nothing here is a float. The
//! printed form is the canonical one, unless the text already was of a form that
//! Kubernetes leaves alone (`1.500`, `1025Ki`).

mod decimal;

use std::cmp::Ordering;
use std::fmt;

use decimal::Decimal;

/// An amount, and the family of suffixes it was written with.
#[derive(Debug, Clone)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// The text, where Kubernetes prints it again unchanged.
    kept_text: Option<String>,
}

/// The family of suffixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `2e3`
    DecimalExponent,
    /// `1Ki`, `1Mi`
    BinarySi,
    /// `1k`, `100m`
    DecimalSi,
}

/// Why a text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not of the form at all.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Malformed,
    /// A suffix that does not exist.
    #[error("unable to parse quantity's suffix")]
    UnknownSuffix,
    /// Digits that are no number.
    #[error("unable to parse numeric part of quantity")]
    NotANumber,
    /// More text than any amount needs.
    #[error("the quantity is longer than {MAX_BYTES} bytes or its exponent beyond {MAX_EXPONENT}")]
    TooLong,
}

const MAX_BYTES: usize = 1024;
/// Go goes on to exponents of any size and the memory they take.
const MAX_EXPONENT: i32 = 1000;
/// Digits of a number and its unit together that Kubernetes trusts to fit 64 bits.
const SMALL_BINARY_DIGITS: usize = 14;
const SMALL_DECIMAL_DIGITS: usize = 18;

impl Quantity {
    /// Reads a quantity as `resource.ParseQuantity` does.
    ///
    /// # Errors
    /// Where Kubernetes has one.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.len() > MAX_BYTES {
            return Err(QuantityError::TooLong);
        }
        let written = Written::read(text)?;
        let unit = Unit::read(written.suffix)?;
        let is_small = written.is_small(unit);
        let number = match Decimal::parse(written.number) {
            Some(number) => number,
            // `m` alone is nothing, and so is `.`; large units are taken more seriously.
            None if is_small => Decimal::from_integer(0),
            None => return Err(QuantityError::NotANumber),
        };
        let kept_text = (is_small && written.is_left_alone(unit)).then(|| text.to_owned());
        // Nothing is finer than a nano; what would be is rounded up to one.
        let amount = unit.times(number).rounded_up_to_nano();
        let (amount, format) = match unit.format {
            Format::BinarySi => {
                let amount = amount.at_most_i64();
                let is_fraction = amount.magnitude_below_one() && !amount.is_zero();
                let prints_as_decimal = is_fraction && !amount.is_negative();
                (amount, if prints_as_decimal { Format::DecimalSi } else { Format::BinarySi })
            }
            format => (amount, format),
        };
        // What is printed must be readable again.
        if amount.is_beyond(MAX_EXPONENT) {
            return Err(QuantityError::TooLong);
        }
        Ok(Self { amount, format, kept_text })
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// The family of suffixes it is printed with.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The whole number at or above it, as `Quantity.Value` gives it.
    #[must_use]
    pub fn to_integer(&self) -> i64 {
        self.amount.ceiling_i64()
    }

    /// A thousand times that, as `Quantity.MilliValue` gives it.
    #[must_use]
    pub fn to_milli(&self) -> i64 {
        self.amount.shifted(3).ceiling_i64()
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    /// By amount alone: `1` is `1000m`.
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.kept_text {
            return formatter.write_str(text);
        }
        if self.is_zero() {
            return formatter.write_str("0");
        }
        if self.format == Format::BinarySi
            && let Some((number, exponent)) = self.amount.in_powers_of_1024()
        {
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            return write!(formatter, "{number}{}", suffix[exponent]);
        }
        let (number, exponent) = self.amount.in_powers_of_1000();
        let suffix = match (self.format, exponent) {
            (_, 0) => "",
            (Format::DecimalExponent, _) => return write!(formatter, "{number}e{exponent}"),
            (_, -9) => "n",
            (_, -6) => "u",
            (_, -3) => "m",
            (_, 3) => "k",
            (_, 6) => "M",
            (_, 9) => "G",
            (_, 12) => "T",
            (_, 15) => "P",
            (_, 18) => "E",
            // Kubernetes has no suffix either and drops the magnitude; we keep it.
            (_, _) => return write!(formatter, "{number}e{exponent}"),
        };
        write!(formatter, "{number}{suffix}")
    }
}

/// A text taken apart.
struct Written<'t> {
    /// Sign, digits and point.
    number: &'t str,
    /// Digits before the point, without leading zeros.
    whole: &'t str,
    /// Digits after the point.
    fraction: &'t str,
    suffix: &'t str,
}

impl<'t> Written<'t> {
    fn read(text: &'t str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Malformed);
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let after_whole = unsigned.trim_start_matches(|it: char| it.is_ascii_digit());
        let whole = &unsigned[..unsigned.len() - after_whole.len()];
        let (fraction, suffix) = match after_whole.strip_prefix('.') {
            None => ("", after_whole),
            Some(after_point) => {
                let suffix = after_point.trim_start_matches(|it: char| it.is_ascii_digit());
                (&after_point[..after_point.len() - suffix.len()], suffix)
            }
        };
        let after_letters = suffix.trim_start_matches(|it| "eEinumkKMGTP".contains(it));
        let exponent = after_letters.strip_prefix(['-', '+']).unwrap_or(after_letters);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Malformed);
        }
        let number = &text[..text.len() - suffix.len()];
        Ok(Self { number, whole: whole.trim_start_matches('0'), fraction, suffix })
    }

    /// Whether its digits leave room in a 64-bit integer, as Kubernetes estimates
    /// it. Only then may a text be printed as it was written.
    fn is_small(&self, unit: Unit) -> bool {
        let (whole, places) = (self.whole.len().max(1), self.fraction.len());
        match unit.format {
            Format::BinarySi => {
                // Ten bits are about three digits.
                let unit_digits = unit.exponent.unsigned_abs() as usize * 3 / 10;
                places == 0 && whole + unit_digits <= SMALL_BINARY_DIGITS
            }
            Format::DecimalExponent | Format::DecimalSi => {
                let last_place = i64::from(unit.exponent) - places as i64;
                whole + places <= SMALL_DECIMAL_DIGITS && last_place >= -9
            }
        }
    }

    /// Whether Kubernetes prints a small number again as it was written: it looks
    /// canonical at a glance.
    fn is_left_alone(&self, unit: Unit) -> bool {
        match unit.format {
            Format::BinarySi => {
                self.whole.parse().is_ok_and(|number: u64| !number.is_multiple_of(8))
            }
            Format::DecimalExponent | Format::DecimalSi => {
                let last_place = i64::from(unit.exponent) - self.fraction.len() as i64;
                let digits = format!("{}{}", self.whole, self.fraction);
                last_place % 3 == 0 && !self.whole.is_empty() && !digits.ends_with("000")
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Unit {
    format: Format,
    /// Of two for `BinarySi`, of ten otherwise.
    exponent: i32,
}

impl Unit {
    fn times(self, number: Decimal) -> Decimal {
        match self.format {
            Format::BinarySi => number.times_power_of_two(self.exponent.unsigned_abs()),
            Format::DecimalExponent | Format::DecimalSi => number.shifted(self.exponent),
        }
    }

    fn read(text: &str) -> Result<Self, QuantityError> {
        let decimal = |exponent| Ok(Self { format: Format::DecimalSi, exponent });
        let binary = |exponent| Ok(Self { format: Format::BinarySi, exponent });
        match text {
            "n" => decimal(-9),
            "u" => decimal(-6),
            "m" => decimal(-3),
            "" => decimal(0),
            "k" => decimal(3),
            "M" => decimal(6),
            "G" => decimal(9),
            "T" => decimal(12),
            "P" => decimal(15),
            "E" => decimal(18),
            "Ki" => binary(10),
            "Mi" => binary(20),
            "Gi" => binary(30),
            "Ti" => binary(40),
            "Pi" => binary(50),
            "Ei" => binary(60),
            _ => {
                let digits = text.strip_prefix(['e', 'E']).ok_or(QuantityError::UnknownSuffix)?;
                let exponent: i64 = digits.parse().map_err(|_| QuantityError::UnknownSuffix)?;
                match i32::try_from(exponent) {
                    Ok(exponent) if exponent.abs() <= MAX_EXPONENT => {
                        Ok(Self { format: Format::DecimalExponent, exponent })
                    }
                    _ => Err(QuantityError::TooLong),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_amounts_are_equal_however_written() {
        let quantity = |text| Quantity::parse(text).expect("a quantity");
        assert_eq!(quantity("1"), quantity("1000m"));
        assert_eq!(quantity("1Ki"), quantity("1.024k"));
        assert!(quantity("1e30") > quantity("9Ei"));
        assert!(quantity("-1n") < quantity("0"));
    }

    #[test]
    fn what_could_not_be_read_again_once_printed_is_refused() {
        for long in ["0100e1000", &format!("1{}", "0".repeat(1010))] {
            assert_eq!(Quantity::parse(long), Err(QuantityError::TooLong), "{long:.20}");
        }
        assert_eq!(Quantity::parse("1e999").expect("a quantity").to_string(), "1e999");
    }

    #[test]
    fn an_amount_beyond_all_suffixes_keeps_its_magnitude() {
        assert_eq!(Quantity::parse("1000E").expect("a quantity").to_string(), "1e21");
    }

    #[test]
    fn sizes_nobody_needs_are_refused() {
        for text in ["1e1001", "1e-99999999999", &"1".repeat(2000)] {
            assert_eq!(Quantity::parse(text), Err(QuantityError::TooLong));
        }
    }
}
