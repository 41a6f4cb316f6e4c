//! Numbers and quoted strings as Go's `strconv` reads and writes them.

/// A Go string literal with double quotes: `strconv.Quote`.
pub(crate) fn quote(bytes: &[u8]) -> String {
    quote_with(bytes, '"', false)
}

/// Quotes with the given mark; `ascii` escapes everything beyond ASCII.
pub(crate) fn quote_with(bytes: &[u8], mark: char, ascii: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push(mark);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_escaped(&mut out, c, mark, ascii);
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push(mark);
    out
}

fn push_escaped(out: &mut String, c: char, mark: char, ascii: bool) {
    match c {
        c if c == mark || c == '\\' => {
            out.push('\\');
            out.push(c);
        }
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        c if is_printable(c) && (!ascii || c.is_ascii()) => out.push(c),
        c if (c as u32) < 0x20 || c as u32 == 0x7f => {
            out.push_str(&format!("\\x{:02x}", c as u32));
        }
        c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push_str(&format!("\\U{:08x}", c as u32)),
    }
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // `str::escape_debug` leaves exactly the printable ones alone, except a mark at the very start.
    let mut buffer = [b'x'; 5];
    let end = 1 + c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..end]).is_ok_and(|text| text.escape_debug().eq(text.chars()))
}

/// Reads a Go string literal: `"…"`, `` `…` `` or `'…'`.
pub(crate) fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&mark, rest) = literal.split_first()?;
    let (&last, body) = rest.split_last()?;
    if mark != last {
        return None;
    }
    match mark {
        b'`' => Some(body.iter().copied().filter(|byte| *byte != b'\r').collect()),
        b'"' => unquote_body(body, mark),
        _ => None,
    }
}

/// Reads a Go character constant, quotes included.
pub(crate) fn unquote_char(literal: &[u8]) -> Option<u32> {
    let (code, rest) = char_of_beginning(literal)?;
    (rest == b"'").then_some(code)
}

/// The first character of a constant, and what follows it.
pub(crate) fn char_of_beginning(literal: &[u8]) -> Option<(u32, &[u8])> {
    let body = literal.strip_prefix(b"'")?;
    match body.first()? {
        b'\'' => None,
        b'\\' => {
            let mut cursor = body;
            let code = match escape(&mut cursor, b'\'')? {
                Escape::Byte(byte) => u32::from(byte),
                Escape::Char(c) => c as u32,
            };
            Some((code, cursor))
        }
        _ => {
            let (c, width) = crate::lex::decode(body)?;
            Some((c as u32, &body[width..]))
        }
    }
}

fn unquote_body(body: &[u8], mark: u8) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(body.len());
    let mut cursor = body;
    while let Some(&byte) = cursor.first() {
        match byte {
            b'\\' => match escape(&mut cursor, mark)? {
                Escape::Byte(byte) => out.push(byte),
                Escape::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            },
            b'\n' => return None,
            byte if byte == mark => return None,
            byte => {
                out.push(byte);
                cursor = &cursor[1..];
            }
        }
    }
    Some(out)
}

enum Escape {
    Byte(u8),
    Char(char),
}

fn escape(cursor: &mut &[u8], mark: u8) -> Option<Escape> {
    let letter = *cursor.get(1)?;
    *cursor = &cursor[2..];
    let digits = |cursor: &mut &[u8], count: usize, radix: u32| -> Option<u32> {
        let text = std::str::from_utf8(cursor.get(..count)?).ok()?;
        if text.starts_with(['+', '-']) {
            return None;
        }
        let number = u32::from_str_radix(text, radix).ok()?;
        *cursor = &cursor[count..];
        Some(number)
    };
    Some(match letter {
        b'a' => Escape::Byte(0x07),
        b'b' => Escape::Byte(0x08),
        b'f' => Escape::Byte(0x0c),
        b'n' => Escape::Byte(b'\n'),
        b'r' => Escape::Byte(b'\r'),
        b't' => Escape::Byte(b'\t'),
        b'v' => Escape::Byte(0x0b),
        b'\\' => Escape::Byte(b'\\'),
        b'\'' | b'"' if letter == mark => Escape::Byte(mark),
        b'x' => Escape::Byte(u8::try_from(digits(cursor, 2, 16)?).ok()?),
        b'u' => Escape::Char(char::from_u32(digits(cursor, 4, 16)?)?),
        b'U' => Escape::Char(char::from_u32(digits(cursor, 8, 16)?)?),
        b'0'..=b'7' => {
            let rest = digits(cursor, 2, 8)?;
            let number = u32::from(letter - b'0') * 64 + rest;
            Escape::Byte(u8::try_from(number).ok()?)
        }
        _ => return None,
    })
}

/// `strconv.ParseInt(text, 0, 64)`: a base prefix and underscores are allowed.
pub(crate) fn parse_int_any_base(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_uint_any_base(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// `strconv.ParseUint(text, 0, 64)`.
pub(crate) fn parse_uint_any_base(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (radix, digits) = match bytes {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'o' | b'O', ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    let prefixed = digits.len() < text.len();
    if !underscores_fit(digits, prefixed) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if plain.is_empty() || plain.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(&plain, radix).ok()
}

/// Underscores may stand between digits or after a base prefix.
fn underscores_fit(digits: &str, prefixed: bool) -> bool {
    let bytes = digits.as_bytes();
    bytes.iter().enumerate().all(|(index, byte)| {
        *byte != b'_'
            || ((index > 0 && bytes[index - 1] != b'_' || index == 0 && prefixed)
                && bytes.get(index + 1).is_some_and(|next| *next != b'_'))
    })
}

/// `strconv.Atoi` and `strconv.ParseInt(text, 10, 64)` of somebody who does not look at the error:
/// zero for what is no number, and the last number for what lies beyond it.
pub(crate) fn parse_clamped(text: &str) -> i64 {
    use std::num::IntErrorKind;
    match text.parse::<i64>() {
        Ok(number) => number,
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => i64::MAX,
            IntErrorKind::NegOverflow => i64::MIN,
            _ => 0,
        },
    }
}

/// `strconv.ParseFloat(text, 64)`.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let (is_negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_signed = magnitude.len() < text.len();
    let lower = magnitude.to_ascii_lowercase();
    let number = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" if !is_signed => f64::NAN,
        _ => {
            // Underscores stand between digits only, or behind the prefix.
            let digits = lower.strip_prefix("0x");
            let is_between = |at: usize| {
                let is_digit = |byte: &u8| match digits {
                    Some(_) => byte.is_ascii_hexdigit() || *byte == b'x',
                    None => byte.is_ascii_digit(),
                };
                let bytes = lower.as_bytes();
                let before = at.checked_sub(1).and_then(|before| bytes.get(before));
                before.is_some_and(is_digit) && bytes.get(at + 1).is_some_and(is_digit)
            };
            if !lower.match_indices('_').all(|(at, _)| is_between(at)) {
                return None;
            }
            match digits {
                Some(digits) => parse_hexadecimal_float(&digits.replace('_', ""))?,
                None => {
                    // Rust knows further words, Go does not.
                    let plain = lower.replace('_', "");
                    let is_number = plain.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                    is_number.then_some(())?;
                    // Too large is an error.
                    plain.parse::<f64>().ok().filter(|number| number.is_finite())?
                }
            }
        }
    };
    Some(if is_negative { -number } else { number })
}

/// The digits of a number in base 16, with the power of two that must follow.
fn parse_hexadecimal_float(digits: &str) -> Option<f64> {
    let (mantissa, power) = digits.split_once('p')?;
    let power: i32 = power.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let number = value * 2f64.powi(power.checked_sub(places)?);
    number.is_finite().then_some(number)
}

/// The decimal digits of a positive finite number, shortest that read back, and the place of the
/// point: `0.d₁d₂… × 10^point`.
pub(crate) fn shortest_digits(number: f64) -> (Vec<u8>, i32) {
    split_exponent(&format!("{:e}", number.abs()))
}

/// No float64 has more digits, and Rust refuses to print very many; what follows are zeros.
const MAX_DIGITS: usize = 1100;

/// The number with so many decimals.
fn with_decimals(number: f64, decimals: usize) -> String {
    let exact = decimals.min(MAX_DIGITS);
    format!("{number:.exact$}{}", "0".repeat(decimals - exact))
}

/// The same with a fixed number of significant digits.
pub(crate) fn rounded_digits(number: f64, significant: usize) -> (Vec<u8>, i32) {
    let exact = significant.saturating_sub(1).min(MAX_DIGITS);
    let (mut digits, point) = split_exponent(&format!("{:.exact$e}", number.abs()));
    digits.resize(digits.len().max(significant), b'0');
    (digits, point)
}

fn split_exponent(text: &str) -> (Vec<u8>, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    (digits, exponent.parse::<i32>().unwrap_or(0) + 1)
}

/// `strconv.FormatFloat(number, 'g', -1, 64)`, which is also how `%v` prints a float64.
pub(crate) fn format_float(number: f64) -> String {
    format_general(number, None, false)
}

/// `%g`: that many significant digits, or the shortest that read back, which takes the exponent
/// form from a million on.
pub(crate) fn format_general(number: f64, precision: Option<usize>, upper: bool) -> String {
    if !number.is_finite() {
        return special(number);
    }
    let (mut digits, point) = match precision {
        None => shortest_digits(number),
        Some(precision) => rounded_digits(number, precision.max(1)),
    };
    let mut threshold = 6;
    if let Some(precision) = precision {
        while digits.len() > 1 && digits.last() == Some(&b'0') {
            digits.pop();
        }
        threshold = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
        let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        if threshold > count && count >= point {
            threshold = count;
        }
    }
    let zero = digits.iter().all(|digit| *digit == b'0');
    let exponent = if zero { 0 } else { point - 1 };
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if exponent < -4 || exponent >= threshold {
        return format!(
            "{sign}{}",
            exponent_form(&digits, exponent, if upper { 'E' } else { 'e' })
        );
    }
    format!("{sign}{}", point_form(&digits, if zero { 1 } else { point }))
}

fn exponent_form(digits: &[u8], exponent: i32, letter: char) -> String {
    let text = String::from_utf8_lossy(digits);
    let (first, rest) = text.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}{letter}{sign}{:02}", exponent.abs())
}

fn point_form(digits: &[u8], point: i32) -> String {
    let text = String::from_utf8_lossy(digits);
    match usize::try_from(point) {
        Err(_) | Ok(0) => {
            format!("0.{}{text}", "0".repeat(usize::try_from(-point).unwrap_or(0)))
        }
        Ok(point) if point >= text.len() => format!("{text}{}", "0".repeat(point - text.len())),
        Ok(point) => format!("{}.{}", &text[..point], &text[point..]),
    }
}

/// `%e` with the given digits after the point, or the shortest.
pub(crate) fn format_exponent(number: f64, precision: Option<usize>, upper: bool) -> String {
    if !number.is_finite() {
        return special(number);
    }
    let (digits, point) = match precision {
        None => shortest_digits(number),
        Some(precision) => rounded_digits(number, precision + 1),
    };
    let zero = digits.iter().all(|digit| *digit == b'0');
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let letter = if upper { 'E' } else { 'e' };
    format!("{sign}{}", exponent_form(&digits, if zero { 0 } else { point - 1 }, letter))
}

/// `%f` with the given digits after the point, or the shortest.
pub(crate) fn format_fixed(number: f64, precision: Option<usize>) -> String {
    if !number.is_finite() {
        return special(number);
    }
    match precision {
        Some(precision) => with_decimals(number, precision),
        None => format!("{number}"),
    }
}

/// `%x`: the digits of the fraction in base 16, as many as given or needed, and a power of two.
pub(crate) fn format_hexadecimal(number: f64, precision: Option<usize>, upper: bool) -> String {
    if !number.is_finite() {
        return special(number);
    }
    let (mut fraction, mut power) = binary(number);
    if fraction != 0 {
        // The leading one, then 60 bits of fraction: numbers too small for one get it here.
        let shift = fraction.leading_zeros() - 3;
        power += 60 - i64::from(shift);
        fraction <<= shift;
    } else {
        power = 0;
    }
    let mut digits = precision.unwrap_or(15).min(15);
    if precision.is_none() {
        let zeros = (fraction.trailing_zeros() / 4).min(15) as usize;
        digits -= zeros;
    }
    fraction = rounded_to_even(fraction, 60 - 4 * digits);
    if fraction >> 61 != 0 {
        fraction >>= 1;
        power += 1;
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let after = format!("{:015x}", fraction & ((1 << 60) - 1));
    let more = "0".repeat(precision.unwrap_or(0).saturating_sub(15));
    let point = if digits == 0 { "" } else { "." };
    let (way, power) = if power < 0 { ('-', -power) } else { ('+', power) };
    let text =
        format!("{sign}0x{}{point}{}{more}p{way}{power:02}", fraction >> 60, &after[..digits]);
    if upper { text.to_uppercase() } else { text }
}

/// `%b`: a whole number times a power of two.
pub(crate) fn format_binary(number: f64) -> String {
    if !number.is_finite() {
        return special(number);
    }
    let (whole, power) = binary(number);
    let sign = if number.is_sign_negative() { "-" } else { "" };
    format!("{sign}{whole}p{power:+}")
}

/// The magnitude of a finite number as a whole number times a power of two.
fn binary(number: f64) -> (u64, i64) {
    let bits = number.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

/// Without its last bits, to the nearest; half way to the even one.
fn rounded_to_even(number: u64, bits: usize) -> u64 {
    if bits == 0 {
        return number;
    }
    let (kept, half) = (number >> bits, 1 << (bits - 1));
    let rest = number & ((1 << bits) - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    (kept + u64::from(up)) << bits
}

/// A float as `encoding/json` writes it; `None` for what JSON cannot hold.
pub(crate) fn format_json_float(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return Some(format!("{number}"));
    }
    let text = format_exponent(number, None, false);
    // JSON in Go trims e-09 to e-9.
    Some(match text.split_once("e-0") {
        Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
        None => text,
    })
}

fn special(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number > 0.0 {
        "+Inf".into()
    } else {
        "-Inf".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_percent_v_does() {
        for (number, expect) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_234_567.0, "1.234567e+06"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (-2.5, "-2.5"),
            (0.0, "0"),
            (123_456_789.0, "1.23456789e+08"),
        ] {
            assert_eq!(format_float(number), expect, "{number}");
        }
    }

    #[test]
    fn quoting_escapes_what_go_cannot_print() {
        assert_eq!(quote("a\"b\\\n\t\u{1}é\u{a0}".as_bytes()), r#""a\"b\\\n\t\x01é\u00a0""#);
        assert_eq!(quote(b"\xff"), r#""\xff""#);
    }

    #[test]
    fn unquoting_reads_every_escape() {
        assert_eq!(unquote(br#""a\n\x41\u00e9\101""#).as_deref(), Some("a\nAéA".as_bytes()));
        assert_eq!(unquote(b"`a\\n`").as_deref(), Some(b"a\\n".as_slice()));
        assert_eq!(unquote(br#""\q""#), None);
    }

    #[test]
    fn integers_take_base_prefixes_and_underscores() {
        assert_eq!(parse_int_any_base("0x1F"), Some(31));
        assert_eq!(parse_int_any_base("010"), Some(8));
        assert_eq!(parse_int_any_base("-0b11"), Some(-3));
        assert_eq!(parse_int_any_base("1_000"), Some(1000));
        assert_eq!(parse_int_any_base("1__0"), None);
        assert_eq!(parse_int_any_base("abc"), None);
        assert_eq!(parse_int_any_base("0"), Some(0));
    }
}
