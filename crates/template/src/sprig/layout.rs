//! Go's time layouts: how "Mon Jan 2 15:04:05 2006" formats and parses a time.

use jiff::civil::DateTime;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A piece of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'a> {
    Literal(&'a str),
    LongMonth,
    Month,
    NumberMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    /// An offset: whether UTC is `Z`, whether colons stand between, whether minutes and seconds.
    Offset {
        z: bool,
        colons: bool,
        minutes: bool,
        seconds: bool,
    },
    /// A fraction: the separator, its digits, and whether trailing zeros go.
    Fraction {
        separator: char,
        digits: usize,
        trims: bool,
    },
}

/// A moment on the wall: local date and time, and how far from UTC.
pub(super) struct Wall {
    pub(super) date_time: DateTime,
    pub(super) offset_seconds: i32,
    pub(super) zone_name: String,
}

/// Takes the next piece off the layout.
fn next_piece(layout: &str) -> (Piece<'_>, &str) {
    const PREFIXES: [(&str, Piece<'static>); 32] = [
        ("January", Piece::LongMonth),
        ("Monday", Piece::LongWeekday),
        ("MST", Piece::ZoneName),
        ("002", Piece::ZeroYearDay),
        ("01", Piece::ZeroMonth),
        ("02", Piece::ZeroDay),
        ("03", Piece::ZeroHour12),
        ("04", Piece::ZeroMinute),
        ("05", Piece::ZeroSecond),
        ("06", Piece::Year),
        ("15", Piece::Hour),
        ("1", Piece::NumberMonth),
        ("2006", Piece::LongYear),
        ("_2006", Piece::Literal("_")),
        ("__2", Piece::UnderYearDay),
        ("_2", Piece::UnderDay),
        ("2", Piece::Day),
        ("3", Piece::Hour12),
        ("4", Piece::Minute),
        ("5", Piece::Second),
        ("PM", Piece::UpperPm),
        ("pm", Piece::LowerPm),
        ("-070000", offset(false, false, true, true)),
        ("-07:00:00", offset(false, true, true, true)),
        ("-0700", offset(false, false, true, false)),
        ("-07:00", offset(false, true, true, false)),
        ("-07", offset(false, false, false, false)),
        ("Z070000", offset(true, false, true, true)),
        ("Z07:00:00", offset(true, true, true, true)),
        ("Z0700", offset(true, false, true, false)),
        ("Z07:00", offset(true, true, true, false)),
        ("Z07", offset(true, false, false, false)),
    ];
    for (start, c) in layout.char_indices() {
        let here = &layout[start..];
        let found = match c {
            'J' | 'M' | '0'..='6' | '_' | 'P' | 'p' | '-' | 'Z' => known_piece(here, &PREFIXES),
            '.' | ',' => fraction(here),
            _ => None,
        };
        let Some((piece, length)) = found else { continue };
        if start > 0 {
            return (Piece::Literal(&layout[..start]), here);
        }
        return (piece, &layout[length..]);
    }
    (Piece::Literal(layout), "")
}

const fn offset(z: bool, colons: bool, minutes: bool, seconds: bool) -> Piece<'static> {
    Piece::Offset { z, colons, minutes, seconds }
}

fn known_piece(here: &str, prefixes: &[(&str, Piece<'static>)]) -> Option<(Piece<'static>, usize)> {
    let found = prefixes.iter().find(|(prefix, _)| here.starts_with(prefix));
    if let Some((prefix, piece)) = found {
        let length = if *prefix == "_2006" { 1 } else { prefix.len() };
        return Some((*piece, length));
    }
    // "Jan" and "Mon" only where no small letter follows.
    let short = match here.get(..3) {
        Some("Jan") => Piece::Month,
        Some("Mon") => Piece::Weekday,
        _ => return None,
    };
    let continues = here[3..].starts_with(|c: char| c.is_ascii_lowercase());
    (!continues).then_some((short, 3))
}

fn fraction(here: &str) -> Option<(Piece<'static>, usize)> {
    let separator = here.chars().next()?;
    let digit = here[1..].chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let digits = here[1..].chars().take_while(|c| *c == digit).count();
    let continues = here[1 + digits..].starts_with(|c: char| c.is_ascii_digit());
    (!continues).then_some((Piece::Fraction { separator, digits, trims: digit == '9' }, 1 + digits))
}

/// `time.Format`.
pub(super) fn format(layout: &str, wall: &Wall) -> String {
    let mut out = String::new();
    let mut rest = layout;
    while !rest.is_empty() {
        let (piece, after) = next_piece(rest);
        rest = after;
        push_piece(&mut out, piece, wall);
    }
    out
}

fn push_piece(out: &mut String, piece: Piece<'_>, wall: &Wall) {
    let time = &wall.date_time;
    let month = MONTHS[usize::try_from(time.month() - 1).unwrap_or(0)];
    let weekday = DAYS[usize::try_from(time.weekday().to_sunday_zero_offset()).unwrap_or(0)];
    let hour12 = match time.hour() % 12 {
        0 => 12,
        hour => hour,
    };
    let day_of_year = time.day_of_year();
    out.push_str(&match piece {
        Piece::Literal(text) => text.to_owned(),
        Piece::LongMonth => month.to_owned(),
        Piece::Month => month[..3].to_owned(),
        Piece::NumberMonth => time.month().to_string(),
        Piece::ZeroMonth => format!("{:02}", time.month()),
        Piece::LongWeekday => weekday.to_owned(),
        Piece::Weekday => weekday[..3].to_owned(),
        Piece::Day => time.day().to_string(),
        Piece::UnderDay => format!("{:2}", time.day()),
        Piece::ZeroDay => format!("{:02}", time.day()),
        Piece::UnderYearDay => format!("{day_of_year:3}"),
        Piece::ZeroYearDay => format!("{day_of_year:03}"),
        Piece::Hour => format!("{:02}", time.hour()),
        Piece::Hour12 => hour12.to_string(),
        Piece::ZeroHour12 => format!("{hour12:02}"),
        Piece::Minute => time.minute().to_string(),
        Piece::ZeroMinute => format!("{:02}", time.minute()),
        Piece::Second => time.second().to_string(),
        Piece::ZeroSecond => format!("{:02}", time.second()),
        Piece::LongYear if time.year() < 0 => format!("-{:04}", time.year().unsigned_abs()),
        Piece::LongYear => format!("{:04}", time.year()),
        Piece::Year => format!("{:02}", time.year().rem_euclid(100)),
        Piece::UpperPm => if time.hour() >= 12 { "PM" } else { "AM" }.to_owned(),
        Piece::LowerPm => if time.hour() >= 12 { "pm" } else { "am" }.to_owned(),
        Piece::ZoneName if wall.zone_name.is_empty() => {
            // A zone without a name is shown by its offset.
            let sign = if wall.offset_seconds < 0 { '-' } else { '+' };
            let minutes = wall.offset_seconds.abs() / 60;
            format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
        }
        Piece::ZoneName => wall.zone_name.clone(),
        Piece::Offset { z: true, .. } if wall.offset_seconds == 0 => "Z".to_owned(),
        Piece::Offset { colons, minutes, seconds, .. } => {
            shown_offset(wall.offset_seconds, colons, minutes, seconds)
        }
        Piece::Fraction { separator, digits, trims } => {
            shown_fraction(time.subsec_nanosecond(), separator, digits, trims)
        }
    });
}

fn shown_offset(offset: i32, colons: bool, minutes: bool, seconds: bool) -> String {
    let total = offset.unsigned_abs();
    let colon = if colons { ":" } else { "" };
    let mut out = format!("{}{:02}", if offset < 0 { '-' } else { '+' }, total / 3600);
    if minutes {
        out.push_str(&format!("{colon}{:02}", total / 60 % 60));
    }
    if seconds {
        out.push_str(&format!("{colon}{:02}", total % 60));
    }
    out
}

fn shown_fraction(nanoseconds: i32, separator: char, digits: usize, trims: bool) -> String {
    let all = format!("{nanoseconds:09}");
    let mut shown = &all[..digits.min(9)];
    if trims {
        shown = shown.trim_end_matches('0');
        if shown.is_empty() {
            return String::new();
        }
    }
    format!("{separator}{shown}")
}

/// What a parsed text said.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) date_time: DateTime,
    /// The offset or zone name, if the text had one.
    pub(super) offset_seconds: Option<i32>,
    pub(super) zone_name: Option<String>,
    /// The offset that a name such as `GMT+3` tells; what was read counts as UTC all the same.
    pub(super) named_offset: Option<i32>,
}

/// `time.Parse` up to the choice of the zone; the error is Go's.
pub(super) fn parse(layout: &str, whole: &str) -> Result<Parsed, String> {
    let complain = |piece: &str, at: &str, extra: &str| {
        let mut message = format!("parsing time {} as {}: ", quoted(whole), quoted(layout));
        if extra.is_empty() {
            message.push_str(&format!("cannot parse {} as {}", quoted(at), quoted(piece)));
            message
        } else {
            format!("parsing time {}{extra}", quoted(whole))
        }
    };
    let mut fields = Fields::default();
    let (mut rest_layout, mut rest) = (layout, whole);
    while !rest_layout.is_empty() {
        let before = rest_layout;
        let (piece, after) = next_piece(rest_layout);
        rest_layout = after;
        let piece_text = &before[..before.len() - after.len()];
        let at = rest;
        match fields.read(piece, rest, rest_layout) {
            Ok(remaining) => rest = remaining,
            Err(Problem::Syntax) => return Err(complain(piece_text, at, "")),
            Err(Problem::Range(what)) => {
                return Err(complain("", "", &format!(": {what} out of range")));
            }
        }
    }
    if !rest.is_empty() {
        return Err(complain("", "", &format!(": extra text: {}", quoted(rest))));
    }
    fields.finish().map_err(|what| complain("", "", &format!(": {what} out of range")))
}

/// Quotes as Go's `time` does, which has its own way: bytes that are no plain ASCII in hexadecimal.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            b' '..0x80 => out.push(byte as char),
            other => out.push_str(&format!("\\x{other:02x}")),
        }
    }
    out.push('"');
    out
}

enum Problem {
    Syntax,
    Range(&'static str),
}

#[derive(Default)]
struct Fields {
    year: i16,
    month: Option<i8>,
    day: Option<i8>,
    day_of_year: Option<i16>,
    hour: i8,
    minute: i8,
    second: i8,
    nanosecond: i32,
    pm: Option<bool>,
    offset_seconds: Option<i32>,
    zone_name: Option<String>,
    named_offset: Option<i32>,
}

impl Fields {
    fn read<'t>(
        &mut self,
        piece: Piece<'_>,
        text: &'t str,
        layout_after: &str,
    ) -> Result<&'t str, Problem> {
        match piece {
            Piece::Literal(literal) => text.strip_prefix(literal).ok_or(Problem::Syntax),
            Piece::LongYear => {
                let (year, rest) = fixed(text, 4)?;
                self.year = year as i16;
                Ok(rest)
            }
            Piece::Year => {
                let (year, rest) = fixed(text, 2)?;
                self.year = (if year >= 69 { year + 1900 } else { year + 2000 }) as i16;
                Ok(rest)
            }
            Piece::LongMonth => {
                let (month, rest) = name(text, &MONTHS, false)?;
                self.month = Some(month as i8 + 1);
                Ok(rest)
            }
            Piece::Month => {
                let (month, rest) = name(text, &MONTHS, true)?;
                self.month = Some(month as i8 + 1);
                Ok(rest)
            }
            Piece::NumberMonth | Piece::ZeroMonth => {
                let (month, rest) = number(text, piece == Piece::ZeroMonth)?;
                if !(1..=12).contains(&month) {
                    return Err(Problem::Range("month"));
                }
                self.month = Some(month as i8);
                Ok(rest)
            }
            Piece::LongWeekday => Ok(name(text, &DAYS, false)?.1),
            Piece::Weekday => Ok(name(text, &DAYS, true)?.1),
            Piece::Day | Piece::UnderDay | Piece::ZeroDay => {
                let text = if piece == Piece::UnderDay {
                    text.strip_prefix(' ').unwrap_or(text)
                } else {
                    text
                };
                let (day, rest) = number(text, piece == Piece::ZeroDay)?;
                self.day = Some(day as i8);
                Ok(rest)
            }
            Piece::UnderYearDay | Piece::ZeroYearDay => {
                let (day, rest) = fixed(text.trim_start_matches(' '), 3)?;
                self.day_of_year = Some(day as i16);
                Ok(rest)
            }
            Piece::Hour => {
                let (hour, rest) = number(text, false)?;
                self.set_hour(hour, 24)?;
                Ok(rest)
            }
            Piece::Hour12 | Piece::ZeroHour12 => {
                let (hour, rest) = number(text, piece == Piece::ZeroHour12)?;
                self.set_hour(hour, 13)?;
                Ok(rest)
            }
            Piece::Minute | Piece::ZeroMinute => {
                let (minute, rest) = number(text, piece == Piece::ZeroMinute)?;
                if minute >= 60 {
                    return Err(Problem::Range("minute"));
                }
                self.minute = minute as i8;
                Ok(rest)
            }
            Piece::Second | Piece::ZeroSecond => {
                let (second, rest) = number(text, piece == Piece::ZeroSecond)?;
                if second >= 60 {
                    return Err(Problem::Range("second"));
                }
                self.second = second as i8;
                // A fraction may follow even where the layout has none.
                let has_own = matches!(next_piece(layout_after).0, Piece::Fraction { .. })
                    && !layout_after.is_empty();
                Ok(if has_own { rest } else { self.fraction(rest).unwrap_or(rest) })
            }
            Piece::Fraction { trims: true, .. } => Ok(self.fraction(text).unwrap_or(text)),
            Piece::Fraction { digits, .. } => {
                let rest = self.fraction(text).ok_or(Problem::Syntax)?;
                if text.len() - rest.len() == digits + 1 { Ok(rest) } else { Err(Problem::Syntax) }
            }
            Piece::UpperPm => self.half_of_day(text, "AM", "PM"),
            Piece::LowerPm => self.half_of_day(text, "am", "pm"),
            Piece::ZoneName => self.zone(text),
            Piece::Offset { z, colons, minutes, seconds } => {
                self.offset(text, z, colons, minutes, seconds)
            }
        }
    }

    fn set_hour(&mut self, hour: i64, limit: i64) -> Result<(), Problem> {
        if hour >= limit {
            return Err(Problem::Range("hour"));
        }
        self.hour = hour as i8;
        Ok(())
    }

    fn fraction<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let digits = text.strip_prefix(['.', ','])?;
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return None;
        }
        let shown: String = digits[..count].chars().chain("000000000".chars()).take(9).collect();
        self.nanosecond = shown.parse().ok()?;
        Some(&digits[count..])
    }

    fn half_of_day<'t>(&mut self, text: &'t str, am: &str, pm: &str) -> Result<&'t str, Problem> {
        if let Some(rest) = text.strip_prefix(pm) {
            self.pm = Some(true);
            return Ok(rest);
        }
        self.pm = Some(false);
        text.strip_prefix(am).ok_or(Problem::Syntax)
    }

    fn zone<'t>(&mut self, text: &'t str) -> Result<&'t str, Problem> {
        let length = zone_length(text).ok_or(Problem::Syntax)?;
        let (name, rest) = text.split_at(length);
        if let Some(hours) = name.strip_prefix("GMT").filter(|hours| !hours.is_empty()) {
            self.named_offset = hours.parse::<i32>().ok().map(|hours| hours * 3600);
        }
        self.zone_name = Some(name.to_owned());
        Ok(rest)
    }

    fn offset<'t>(
        &mut self,
        text: &'t str,
        z: bool,
        colons: bool,
        minutes: bool,
        seconds: bool,
    ) -> Result<&'t str, Problem> {
        if z && let Some(rest) = text.strip_prefix('Z') {
            self.offset_seconds = Some(0);
            return Ok(rest);
        }
        let sign = match text.chars().next() {
            Some('+') => 1,
            Some('-') => -1,
            _ => return Err(Problem::Syntax),
        };
        let mut rest = &text[1..];
        let mut total = 0;
        for (index, wanted) in [true, minutes, seconds].into_iter().enumerate() {
            total *= 60;
            if !wanted {
                continue;
            }
            if index > 0 && colons {
                rest = rest.strip_prefix(':').ok_or(Problem::Syntax)?;
            }
            let (number, after) = fixed(rest, 2)?;
            const NAMES: [&str; 3] =
                ["time zone offset hour", "time zone offset minute", "time zone offset second"];
            if number > [24, 60, 60][index] {
                return Err(Problem::Range(NAMES[index]));
            }
            total += number as i32;
            rest = after;
        }
        self.offset_seconds = Some(sign * total);
        Ok(rest)
    }

    fn finish(self) -> Result<Parsed, &'static str> {
        let hour = match (self.pm, self.hour) {
            (Some(true), hour) if hour < 12 => hour + 12,
            (Some(false), 12) => 0,
            (_, hour) => hour,
        };
        let (month, day) = match self.day_of_year {
            Some(day) => {
                let first = jiff::civil::Date::new(self.year, 1, 1).map_err(|_| "year")?;
                let date = first.with().day_of_year(day).build().map_err(|_| "day-of-year")?;
                (date.month(), date.day())
            }
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
        };
        let date_time =
            DateTime::new(self.year, month, day, hour, self.minute, self.second, self.nanosecond)
                .map_err(|_| "day")?;
        Ok(Parsed {
            date_time,
            offset_seconds: self.offset_seconds,
            zone_name: self.zone_name,
            named_offset: self.named_offset,
        })
    }
}

/// How long the abbreviation of a zone is that a text begins with.
fn zone_length(text: &str) -> Option<usize> {
    if text.starts_with("UTC") {
        return Some(3);
    }
    if text.len() < 3 {
        return None;
    }
    if text.starts_with("ChST") || text.starts_with("MeST") {
        return Some(4);
    }
    if let Some(rest) = text.strip_prefix("GMT") {
        return Some(3 + signed_hours(rest).unwrap_or(0));
    }
    if text.starts_with(['+', '-']) {
        return signed_hours(text);
    }
    let length = text.bytes().take(6).take_while(u8::is_ascii_uppercase).count();
    let fits = match length {
        3 => true,
        4 => text[..4].ends_with('T') || text.starts_with("WITA"),
        5 => text[..5].ends_with('T'),
        _ => false,
    };
    fits.then_some(length)
}

/// The length of `+3` or `-11`.
fn signed_hours(text: &str) -> Option<usize> {
    let digits = text.strip_prefix(['+', '-'])?;
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let hours: u32 = digits[..count].parse().ok()?;
    (hours <= 23).then_some(1 + count)
}

fn fixed(text: &str, count: usize) -> Result<(i64, &str), Problem> {
    let digits = text.get(..count).ok_or(Problem::Syntax)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Problem::Syntax);
    }
    Ok((digits.parse().map_err(|_| Problem::Syntax)?, &text[count..]))
}

/// One or two digits; exactly two where the layout has a leading zero.
fn number(text: &str, two: bool) -> Result<(i64, &str), Problem> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    match (digits, two) {
        (0, _) | (1, true) => Err(Problem::Syntax),
        (count, _) => fixed(text, count),
    }
}

fn name<'t>(text: &'t str, names: &[&str], short: bool) -> Result<(usize, &'t str), Problem> {
    for (index, name) in names.iter().enumerate() {
        let name = if short { &name[..3] } else { name };
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return Ok((index, &text[name.len()..]));
        }
    }
    Err(Problem::Syntax)
}
