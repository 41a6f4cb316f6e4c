//! Numbers as Go prints them: `strconv.FormatFloat` and `encoding/json`.

/// `strconv.FormatFloat(number, 'g', -1, 64)`, which is also what `%v` prints:
/// an exponent below 1e-4 and from 1e6 on.
#[must_use]
pub fn format_g(number: f64) -> String {
    general(&shortest(number), needs_exponent)
}

/// `strconv.FormatFloat(number, 'g', -1, 32)`: the shortest text that is the
/// same number to a 32-bit float.
#[must_use]
pub fn format_g_32(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "32 bits is what was asked for")]
    let number = number as f32;
    let digits = format!("{number:e}");
    let even = format!("{number:.*e}", places(&digits));
    general(if even.parse() == Ok(number) { &even } else { &digits }, needs_exponent)
}

/// The shortest digits that tell `number`, as `1.5e-7`. Where two texts are as
/// short and as close, Go takes the even one and Rust the larger.
fn shortest(number: f64) -> String {
    let digits = format!("{number:e}");
    let even = format!("{number:.*e}", places(&digits));
    if even.parse() == Ok(number) { even } else { digits }
}

/// Digits between the point and the exponent.
fn places(scientific: &str) -> usize {
    let mantissa = scientific.split('e').next().unwrap_or_default();
    mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

fn needs_exponent(exponent: i32) -> bool {
    !(-4..6).contains(&exponent)
}

/// What `encoding/json` writes: an exponent below 1e-6 and from 1e21 on.
///
/// Infinities and NaN have no JSON; they come out as `null`.
#[must_use]
pub fn format_json(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = general(&shortest(number), |_| true);
        // Go turns e-09 into e-9 here, and only here.
        return match text.split_once("e-0") {
            Some((mantissa, digit)) => format!("{mantissa}e-{digit}"),
            None => text,
        };
    }
    general(&shortest(number), |_| false)
}

/// Lays out the shortest digits, given as Rust's `1.5e-7`, the way `%g` and `%e` do.
fn general(scientific: &str, wants_exponent: impl Fn(i32) -> bool) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return match scientific {
            "NaN" => "NaN".to_owned(),
            "inf" => "+Inf".to_owned(),
            _ => "-Inf".to_owned(),
        };
    };
    let exponent: i32 = exponent.parse().expect("written by Rust's formatter");
    if wants_exponent(exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    format!("{sign}{}", place_point(&digits, exponent))
}

fn place_point(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("0.{zeros}{digits}");
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        return format!("{digits:0<whole$}");
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}
