//! The dates that Go's YAML libraries take for timestamps.

/// Reads a date or a date with time and returns it in RFC 3339, or `None` if
/// the text is not a timestamp for Go.
pub(super) fn to_rfc3339(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 4 || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    let mut rest = Cursor(text);
    let year = rest.number(4, 4)?;
    rest.expect("-")?;
    let month = rest.number(1, 2)?;
    rest.expect("-")?;
    let day = rest.number(1, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.0.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let zoned = match rest.0.as_bytes()[0] {
        b'T' | b't' => true,
        b' ' => false,
        _ => return None,
    };
    rest.0 = &rest.0[1..];
    let time = rest.time()?;
    let zone = if zoned { rest.zone()? } else { "Z".to_owned() };
    rest.0.is_empty().then(|| format!("{date}T{time}{zone}"))
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

struct Cursor<'t>(&'t str);

impl Cursor<'_> {
    fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let number = self.0[..count].parse().ok();
        self.0 = &self.0[count..];
        number
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn time(&mut self) -> Option<String> {
        let hour = self.number(1, 2)?;
        self.expect(":")?;
        let minute = self.number(1, 2)?;
        self.expect(":")?;
        let second = self.number(1, 2)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut time = format!("{hour:02}:{minute:02}:{second:02}");
        if let Some(rest) = self.0.strip_prefix(['.', ',']) {
            let count = rest.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return None;
            }
            let fraction = rest[..count.min(9)].trim_end_matches('0');
            if !fraction.is_empty() {
                time.push('.');
                time.push_str(fraction);
            }
            self.0 = &rest[count..];
        }
        Some(time)
    }

    fn zone(&mut self) -> Option<String> {
        if let Some(rest) = self.0.strip_prefix('Z') {
            self.0 = rest;
            return Some("Z".to_owned());
        }
        let sign = self.0.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
        self.0 = &self.0[1..];
        let hours = self.number(2, 2)?;
        self.expect(":")?;
        let minutes = self.number(2, 2)?;
        if hours > 24 || minutes > 59 {
            return None;
        }
        Some(if hours == 0 && minutes == 0 {
            "Z".to_owned()
        } else {
            format!("{sign}{hours:02}:{minutes:02}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::to_rfc3339;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(to_rfc3339(text).as_deref(), expect, "{text}");
    }

    #[test]
    fn dates_and_times_are_read_as_go_reads_them() {
        check("2024-02-29", Some("2024-02-29T00:00:00Z"));
        check("2023-02-29", None);
        check("2024-1-2", Some("2024-01-02T00:00:00Z"));
        check("2024-01-02T03:04:05Z", Some("2024-01-02T03:04:05Z"));
        check("2024-01-02t03:04:05.120+02:00", Some("2024-01-02T03:04:05.12+02:00"));
        check("2024-01-02 03:04:05", Some("2024-01-02T03:04:05Z"));
        check("2024-01-02T03:04:05", None);
        check("20240-01-02", None);
        check("2024-13-01", None);
    }
}
