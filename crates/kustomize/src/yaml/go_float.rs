//! Floating-point numbers in Go's spellings.

/// The shortest spelling in Go's `%g`: what both YAML libraries print.
pub(super) fn general(number: f64) -> String {
    let (digits, exponent) = shortest(number);
    if number != 0.0 && !(-4..6).contains(&exponent) {
        return scientific(number, &digits, exponent);
    }
    plain(number)
}

/// The spelling of Go's `encoding/json`.
pub(super) fn json(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let (digits, exponent) = shortest(number);
        let text = scientific(number, &digits, exponent);
        // JSON drops the leading zero of a small negative exponent.
        return text.replace("e-0", "e-");
    }
    plain(number)
}

fn plain(number: f64) -> String {
    if number == 0.0 && number.is_sign_negative() {
        return "-0".to_owned();
    }
    format!("{number}")
}

/// The significant digits and the decimal exponent.
fn shortest(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn scientific(number: f64, digits: &str, exponent: i32) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{exponent_sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::{general, json};

    #[test]
    fn numbers_are_spelled_as_go_spells_them() {
        for (number, expect_general, expect_json) in [
            (0.1, "0.1", "0.1"),
            (1e6, "1e+06", "1000000"),
            (123456.5, "123456.5", "123456.5"),
            (1234567.5, "1.2345675e+06", "1234567.5"),
            (1e21, "1e+21", "1e+21"),
            (1e20, "1e+20", "100000000000000000000"),
            (0.00001, "1e-05", "0.00001"),
            (0.0000001, "1e-07", "1e-7"),
            (8080.0, "8080", "8080"),
            (-2.5, "-2.5", "-2.5"),
        ] {
            assert_eq!(general(number), expect_general);
            assert_eq!(json(number), expect_json);
        }
    }
}
