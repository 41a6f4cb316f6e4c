//! Numbers and times.

use super::{Read, Reader, shown_char};
use crate::sprig::time_of_toml;
use crate::strconv::{parse_float, quote};
use crate::toml::tables::Given;
use crate::value::{IntType, Value};

impl Reader<'_> {
    /// What begins with a digit.
    pub(super) fn number_or_date(&mut self, start: usize, first: char) -> Read<Given> {
        if first == '0' {
            let base = match self.peek()? {
                Some('b') => Some(("a binary", 2)),
                Some('o') => Some(("an octal", 8)),
                Some('x') => Some(("a hexadecimal", 16)),
                _ => None,
            };
            if let Some((name, base)) = base {
                self.skip()?;
                let digit = self.peek()?;
                if !digit.is_some_and(|c| c.is_digit(base)) {
                    let read = &self.text[start..self.at];
                    let digit = digit.unwrap_or('\0');
                    return self.fail(format!("not {name} number: '{read}{digit}'"));
                }
                self.while_in(|c| c.is_digit(base) || c == '_')?;
                return self.integer(start);
            }
        }
        self.while_in(|c| c.is_ascii_digit())?;
        match self.peek()? {
            Some('-' | ':') if first != '0' || self.at > start + 1 => {
                self.while_in(|c| c.is_ascii_digit() || "-:Tt .Zz+".contains(c))?;
                self.date(start)
            }
            _ => self.decimal(start),
        }
    }

    /// What begins with a sign.
    pub(super) fn signed(&mut self, start: usize) -> Read<Given> {
        let first = self.next()?;
        let rest = match first {
            Some('i') => "nf",
            Some('n') => "an",
            Some('0') if matches!(self.peek()?, Some('b' | 'o' | 'x')) => {
                let (read, base) = (&self.text[start..self.at], self.peek()?.unwrap_or('\0'));
                return self
                    .fail(format!("cannot use sign with non-decimal numbers: '{read}{base}'"));
            }
            Some('.') => return self.fail("floats must start with a digit, not '.'"),
            Some(digit) if digit.is_ascii_digit() => return self.decimal(start),
            other => {
                let got = shown_char(other);
                return self.fail_at(other, format!("expected a digit but got {got}"));
            }
        };
        for letter in rest.chars() {
            if !self.accept(letter)? {
                let read = &self.text[start..self.at];
                return self.fail(format!("invalid float: '{read}'"));
            }
        }
        self.float(start)
    }

    pub(super) fn decimal(&mut self, start: usize) -> Read<Given> {
        self.while_in(|c| c.is_ascii_digit() || c == '_')?;
        if !matches!(self.peek()?, Some('.' | 'e' | 'E')) {
            return self.integer(start);
        }
        self.while_in(|c| c.is_ascii_digit() || "_.-+eE".contains(c))?;
        self.float(start)
    }

    pub(super) fn integer(&mut self, start: usize) -> Read<Given> {
        let text = &self.text[start..self.at];
        let shown = quote(text.as_bytes());
        if !underscores_fit(text) {
            return self.fail(format!(
                "Invalid integer {shown}: underscores must be surrounded by digits"
            ));
        }
        if has_leading_zero(text) {
            return self.fail(format!("Invalid integer {shown}: cannot have leading zeroes"));
        }
        let digits = text.replace('_', "");
        let number = match digits.get(..2) {
            Some("0x") => i64::from_str_radix(&digits[2..], 16),
            Some("0o") => i64::from_str_radix(&digits[2..], 8),
            Some("0b") => i64::from_str_radix(&digits[2..], 2),
            _ => digits.parse(),
        };
        match number {
            Ok(number) => Ok(Given::Plain(Value::Int(IntType::Int64, number))),
            Err(_) => self.fail(format!("{text} is out of range for int64")),
        }
    }

    pub(super) fn float(&mut self, start: usize) -> Read<Given> {
        let text = &self.text[start..self.at];
        let shown = quote(text.as_bytes());
        let invalid = |why: &str| format!("Invalid float {shown}: {why}");
        let mut parts = text.split(['.', 'e', 'E']).filter(|part| !part.is_empty());
        if !parts.clone().all(underscores_fit) {
            return self.fail(invalid("underscores must be surrounded by digits"));
        }
        if parts.next().is_some_and(has_leading_zero) {
            return self.fail(invalid("cannot have leading zeroes"));
        }
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if !text.split('.').skip(1).all(|after| is_digit(after.chars().next())) {
            return self.fail(invalid("'.' must be followed by one or more digits"));
        }
        let plain = text.replace('_', "");
        let number = match plain.as_str() {
            "nan" | "+nan" => Some(f64::NAN),
            "-nan" => Some(-f64::NAN),
            plain => parse_float(plain),
        };
        match number {
            Some(number) => Ok(Given::Plain(Value::Float(number))),
            None if plain.parse::<f64>().is_ok() => {
                self.fail(format!("{text} is out of range for float64"))
            }
            None => self.fail(format!("Invalid float value: {shown}")),
        }
    }

    pub(super) fn date(&mut self, start: usize) -> Read<Given> {
        let text = self.text[start..self.at].trim().replace('z', "Z").replace(['t', ' '], "T");
        match time_of_toml(&text) {
            Some(time) => Ok(Given::Plain(time)),
            None => self.fail(format!("invalid datetime: {}", quote(text.as_bytes()))),
        }
    }
}

fn underscores_fit(number: &str) -> bool {
    if matches!(number.trim_start_matches(['+', '-']), "nan" | "inf") {
        return true;
    }
    let mut after_digit = false;
    for c in number.chars() {
        if c == '_' && !after_digit {
            return false;
        }
        after_digit = c.is_ascii_hexdigit();
    }
    after_digit
}

fn has_leading_zero(number: &str) -> bool {
    match number.as_bytes() {
        [b'+' | b'-', b'0', _, ..] => true,
        [b'0', base, ..] => !matches!(base, b'b' | b'o' | b'x'),
        _ => false,
    }
}
