//! Lengths of time as Go's `time.Duration` reads and prints them.

use super::layout::quoted;

const SECOND: i128 = 1_000_000_000;

/// `time.Duration.String`.
pub(super) fn show_duration(nanoseconds: i128) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    if total == 0 {
        return "0s".into();
    }
    let fraction = |value: u128, unit: u128| {
        let text = format!("{}", value % unit);
        let width = unit.ilog10() as usize;
        let padded = format!("{text:0>width$}");
        let trimmed = padded.trim_end_matches('0');
        if trimmed.is_empty() { String::new() } else { format!(".{trimmed}") }
    };
    if total < 1_000 {
        return format!("{sign}{total}ns");
    }
    if total < 1_000_000 {
        return format!("{sign}{}{}µs", total / 1_000, fraction(total, 1_000));
    }
    if total < 1_000_000_000 {
        return format!("{sign}{}{}ms", total / 1_000_000, fraction(total, 1_000_000));
    }
    let seconds = total / 1_000_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let mut out = sign.to_owned();
    if hours > 0 {
        out.push_str(&format!("{hours}h"));
    }
    if hours > 0 || minutes > 0 {
        out.push_str(&format!("{minutes}m"));
    }
    out.push_str(&format!("{}{}s", seconds % 60, fraction(total, 1_000_000_000)));
    out
}

/// `time.ParseDuration`, in nanoseconds.
pub(super) fn parse_duration(whole: &str) -> Result<i128, String> {
    let invalid = || format!("time: invalid duration {}", quoted(whole));
    let (negative, mut rest) = match whole.as_bytes().first() {
        Some(b'-') => (true, &whole[1..]),
        Some(b'+') => (false, &whole[1..]),
        _ => (false, whole),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let count = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole_digits = count(rest);
        let digits = match rest[whole_digits..].strip_prefix('.') {
            Some(decimals) => whole_digits + 1 + count(decimals),
            None => whole_digits,
        };
        let number = &rest[..digits];
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let unit_name = &rest[..letters];
        rest = &rest[letters..];
        if !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let duration = quoted(whole);
        let unit: i128 = match unit_name {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            "" => return Err(format!("time: missing unit in duration {duration}")),
            other => {
                let other = quoted(other);
                return Err(format!("time: unknown unit {other} in duration {duration}"));
            }
        };
        let (integer, decimals) = number.split_once('.').unwrap_or((number, ""));
        let integer: i128 =
            if integer.is_empty() { 0 } else { integer.parse().map_err(|_| invalid())? };
        total = integer.checked_mul(unit).and_then(|n| total.checked_add(n)).ok_or_else(invalid)?;
        let decimals = &decimals[..decimals.len().min(18)];
        if !decimals.is_empty() {
            let scale = 10i128.pow(decimals.len() as u32);
            total += decimals.parse::<i128>().map_err(|_| invalid())? * unit / scale;
        }
        if total > i128::from(i64::MAX) {
            return Err(invalid());
        }
    }
    Ok(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_print() {
        for (text, expect) in [
            ("1h15m30.918s", "1h15m30.918s"),
            ("90m", "1h30m0s"),
            ("1.5ms", "1.5ms"),
            ("-2s", "-2s"),
            ("0", "0s"),
        ] {
            assert_eq!(parse_duration(text).map(show_duration).as_deref(), Ok(expect));
        }
        assert_eq!(parse_duration("5"), Err(r#"time: missing unit in duration "5""#.into()));
        assert_eq!(parse_duration("5x"), Err(r#"time: unknown unit "x" in duration "5x""#.into()));
    }
}
