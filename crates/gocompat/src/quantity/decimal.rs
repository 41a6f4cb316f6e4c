//! Decimal numbers of any size, with the few operations a quantity needs.

use std::cmp::Ordering;

/// `±digits × 10^exponent`. Digits have neither leading nor trailing zeros; zero
/// has none at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    pub(super) fn from_integer(number: i64) -> Self {
        let digits = number.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        Self { negative: number < 0, digits, exponent: 0 }.normal()
    }

    /// `[+-]?digits[.digits]` with at least one digit.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits: Vec<u8> =
            whole.bytes().chain(fraction.bytes()).map(|byte| byte.wrapping_sub(b'0')).collect();
        if digits.is_empty() || digits.iter().any(|digit| *digit > 9) {
            return None;
        }
        let exponent = -i32::try_from(fraction.len()).ok()?;
        Some(Self { negative: text.starts_with('-'), digits, exponent }.normal())
    }

    fn normal(mut self) -> Self {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            (self.negative, self.exponent) = (false, 0);
        }
        self
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    /// The power of ten just above the number.
    fn magnitude(&self) -> i64 {
        self.digits.len() as i64 + i64::from(self.exponent)
    }

    pub(super) fn magnitude_below_one(&self) -> bool {
        self.magnitude() <= 0
    }

    /// Times a power of ten.
    pub(super) fn shifted(&self, exponent: i32) -> Self {
        let exponent = self.exponent.saturating_add(exponent);
        Self { exponent, ..self.clone() }.normal()
    }

    pub(super) fn times_power_of_two(mut self, bits: u32) -> Self {
        for _ in 0..bits {
            let mut carry = 0;
            for digit in self.digits.iter_mut().rev() {
                let doubled = *digit * 2 + carry;
                (*digit, carry) = (doubled % 10, doubled / 10);
            }
            if carry > 0 {
                self.digits.insert(0, carry);
            }
        }
        self.normal()
    }

    /// Away from zero, to nine decimal places.
    pub(super) fn rounded_up_to_nano(self) -> Self {
        self.rounded_away_from_zero(-9)
    }

    fn rounded_away_from_zero(mut self, exponent: i32) -> Self {
        if self.is_zero() || self.exponent >= exponent {
            return self;
        }
        let surplus =
            usize::try_from(i64::from(exponent) - i64::from(self.exponent)).unwrap_or(usize::MAX);
        let keep = self.digits.len().saturating_sub(surplus);
        // Digits have no trailing zeros, so what is cut off is never nothing.
        self.digits.truncate(keep);
        self.exponent = exponent;
        self.add_one()
    }

    /// Adds one in the last place.
    fn add_one(mut self) -> Self {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return self.normal();
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
        self.normal()
    }

    pub(super) fn at_most_i64(self) -> Self {
        let limit = Self::from_integer(i64::MAX);
        let magnitude = Self { negative: false, ..self.clone() };
        if magnitude > limit { Self { negative: self.negative, ..limit } } else { self }
    }

    /// The whole number at or beyond it, away from zero.
    pub(super) fn ceiling_i64(&self) -> i64 {
        let whole = self.clone().rounded_away_from_zero(0).at_most_i64();
        let magnitude = whole.plain_digits().parse().unwrap_or(i64::MAX);
        if whole.negative { -magnitude } else { magnitude }
    }

    /// Digits of a whole number.
    fn plain_digits(&self) -> String {
        let zeros = usize::try_from(self.exponent).unwrap_or(0);
        let digits = self.digits.iter().map(|digit| char::from(b'0' + digit));
        let digits: String = digits.chain(std::iter::repeat_n('0', zeros)).collect();
        if digits.is_empty() { "0".to_owned() } else { digits }
    }

    /// Is its exponent above this one where it is printed with powers of a thousand?
    pub(super) fn is_beyond(&self, most: i32) -> bool {
        self.exponent - self.exponent.rem_euclid(3) > most
    }

    /// Number and exponent, the exponent a multiple of three and the number whole
    /// and as short as it can be.
    pub(super) fn in_powers_of_1000(&self) -> (String, i32) {
        let exponent = self.exponent - self.exponent.rem_euclid(3);
        let number = Self { exponent: self.exponent - exponent, ..self.clone() };
        let sign = if self.negative { "-" } else { "" };
        (format!("{sign}{}", number.plain_digits()), exponent)
    }

    /// Number and power of 1024; none if it is below 1024 or not whole.
    pub(super) fn in_powers_of_1024(&self) -> Option<(i64, usize)> {
        if self.exponent < 0 {
            return None;
        }
        let magnitude: i64 = self.plain_digits().parse().ok()?;
        if magnitude < 1024 {
            return None;
        }
        let mut number = if self.negative { -magnitude } else { magnitude };
        let mut exponent = 0;
        while number % 1024 == 0 {
            number /= 1024;
            exponent += 1;
        }
        Some((number, exponent))
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |decimal: &Self| match (decimal.is_zero(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || {
            // Without leading zeros, digits compare like text.
            let order = self.magnitude().cmp(&other.magnitude());
            let order = order.then_with(|| self.digits.cmp(&other.digits));
            if self.negative { order.reverse() } else { order }
        };
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if self.is_zero() => Ordering::Equal,
            Ordering::Equal => by_size(),
            order => order,
        }
    }
}
