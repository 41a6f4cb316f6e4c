//! Writes integers in every base, characters and floats.

use super::printer::Printer;
use crate::strconv::{
    format_binary, format_exponent, format_fixed, format_general, format_hexadecimal, is_printable,
    quote_with,
};
use crate::value::Value;

impl Printer<'_> {
    pub(super) fn unsigned(&mut self, value: &Value, number: u64, verb: char) {
        if verb == 'v' && self.flags.go_syntax {
            return self.write(&format!("{number:#x}"));
        }
        self.integer(value, number, false, verb);
    }

    pub(super) fn integer(&mut self, value: &Value, magnitude: u64, negative: bool, verb: char) {
        let (digits, prefix) = match verb {
            'v' | 'd' => (magnitude.to_string(), ""),
            'b' => (format!("{magnitude:b}"), if self.flags.sharp { "0b" } else { "" }),
            'o' => (format!("{magnitude:o}"), if self.flags.sharp { "0" } else { "" }),
            'O' => (format!("{magnitude:o}"), "0o"),
            'x' => (format!("{magnitude:x}"), if self.flags.sharp { "0x" } else { "" }),
            'X' => (format!("{magnitude:X}"), if self.flags.sharp { "0X" } else { "" }),
            'c' => return self.pad(character(magnitude, negative).to_string().as_bytes()),
            'q' => {
                let c = character(magnitude, negative).to_string();
                let quoted = quote_with(c.as_bytes(), '\'', self.flags.plus);
                return self.pad(quoted.as_bytes());
            }
            'U' => return self.code_point(magnitude, negative),
            _ => return self.bad_verb(value, verb),
        };
        self.digits(&digits, negative, prefix);
    }

    pub(super) fn digits(&mut self, digits: &str, negative: bool, prefix: &str) {
        let sign = match (negative, self.flags.plus, self.flags.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let wanted = match (self.flags.precision, self.flags.width) {
            (Some(0), _) if digits == "0" => return self.pad_with_spaces(b""),
            (Some(precision), _) => precision,
            (None, Some(width)) if self.flags.zero && !self.flags.minus => {
                width.saturating_sub(sign.len())
            }
            _ => 0,
        };
        let zeros = "0".repeat(wanted.saturating_sub(digits.len()));
        // An octal that starts with a zero needs no other.
        let prefix =
            if prefix == "0" && (!zeros.is_empty() || digits == "0") { "" } else { prefix };
        self.pad_with_spaces(format!("{sign}{prefix}{zeros}{digits}").as_bytes());
    }

    fn code_point(&mut self, magnitude: u64, negative: bool) {
        let code = if negative { magnitude.wrapping_neg() } else { magnitude };
        let width = self.flags.precision.unwrap_or(4).max(4);
        let mut text = format!("U+{code:0width$X}");
        if self.flags.sharp {
            let c = u32::try_from(code).ok().and_then(char::from_u32);
            if let Some(c) = c.filter(|c| is_printable(*c)) {
                text.push_str(&format!(" '{c}'"));
            }
        }
        self.pad_with_spaces(text.as_bytes());
    }

    pub(super) fn float(&mut self, value: &Value, number: f64, verb: char) {
        let precision = self.flags.precision;
        let mut text = match verb {
            'v' | 'g' => format_general(number, precision, false),
            'G' => format_general(number, precision, true),
            'e' | 'E' => format_exponent(number, Some(precision.unwrap_or(6)), verb == 'E'),
            'f' | 'F' => format_fixed(number, Some(precision.unwrap_or(6))),
            'x' | 'X' => format_hexadecimal(number, precision, verb == 'X'),
            'b' => format_binary(number),
            _ => return self.bad_verb(value, verb),
        };
        if !number.is_finite() {
            let text = match (number.is_nan(), self.flags.plus) {
                (true, true) => "+NaN",
                (false, false) if number > 0.0 => "+Inf",
                _ => &text,
            };
            return self.pad_with_spaces(text.as_bytes());
        }
        if self.flags.sharp && verb != 'b' {
            text = with_point(&text, verb, precision);
        }
        let negative = text.starts_with('-');
        let unsigned = text.trim_start_matches('-').to_owned();
        let sign = match (negative, self.flags.plus, self.flags.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let length = sign.len() + unsigned.len();
        match self.flags.width {
            Some(width) if self.flags.zero && !self.flags.minus && width > length => {
                let zeros = "0".repeat(width - length);
                self.write(&format!("{sign}{zeros}{unsigned}"));
            }
            _ => self.pad(format!("{sign}{unsigned}").as_bytes()),
        }
    }
}

/// The `#` flag on floats: always a decimal point, and trailing zeros for `%g`.
fn with_point(text: &str, verb: char, precision: Option<usize>) -> String {
    // The digits of `%x` have an `e` among them.
    let is_hexadecimal = matches!(verb, 'x' | 'X');
    let exponents = if is_hexadecimal { ['p', 'P'] } else { ['e', 'E'] };
    let (mantissa, exponent) = match text.find(exponents) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut mantissa = mantissa.to_owned();
    // Go counts the `x` as well.
    let counts = |it: &u8| it.is_ascii_digit() || is_hexadecimal && *it != b'.';
    let significant = mantissa.trim_start_matches(['-', '0', '.']).bytes().filter(counts).count();
    if !mantissa.contains('.') {
        mantissa.push('.');
    }
    if matches!(verb, 'v' | 'g' | 'G' | 'x') {
        let missing = precision.unwrap_or(6).saturating_sub(significant.max(1));
        mantissa.push_str(&"0".repeat(missing));
    }
    mantissa + exponent
}

fn character(magnitude: u64, negative: bool) -> char {
    let code = if negative { None } else { u32::try_from(magnitude).ok() };
    code.and_then(char::from_u32).unwrap_or('\u{fffd}')
}
