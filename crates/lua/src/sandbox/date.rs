//! `os.time` and `os.date`, by the time that the caller gives. All in UTC.

use mlua::{Lua, Table, Value as LuaValue};

const SECONDS_PER_DAY: i64 = 86_400;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
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

pub(super) fn provide_os(lua: &Lua, now: i64) -> mlua::Result<()> {
    let os = lua.create_table()?;
    os.set(
        "time",
        lua.create_function(move |_, table: Option<Table>| match table {
            None => Ok(now),
            Some(table) => time_of(&table),
        })?,
    )?;
    os.set(
        "date",
        lua.create_function(move |lua, (format, time): (Option<String>, Option<f64>)| {
            #[expect(clippy::cast_possible_truncation, reason = "saturates, and is clamped")]
            let time = time.map_or(now, |time| time as i64);
            // Years of at most six digits: dates far outside say nothing.
            let date = Date::at(time.clamp(-30_000_000_000_000, 30_000_000_000_000));
            let format = format.unwrap_or_else(|| "%c".to_owned());
            let format = format.strip_prefix('!').unwrap_or(&format);
            if format.starts_with("*t") {
                return date.to_table(lua).map(LuaValue::Table);
            }
            Ok(LuaValue::String(lua.create_string(date.format(format))?))
        })?,
    )?;
    lua.globals().set("os", os)
}

fn time_of(table: &Table) -> mlua::Result<i64> {
    let field = |name: &str, default: Option<i64>| -> mlua::Result<i64> {
        match (table.get::<Option<f64>>(name)?, default) {
            #[expect(clippy::cast_possible_truncation, reason = "saturates, and is clamped")]
            (Some(value), _) => Ok((value as i64).clamp(-1_000_000, 1_000_000)),
            (None, Some(default)) => Ok(default),
            (None, None) => {
                Err(mlua::Error::runtime(format!("field '{name}' missing in date table")))
            }
        }
    };
    // A month of 13 is the January after.
    let month = field("month", None)? - 1;
    let year = field("year", None)? + month.div_euclid(12);
    let days = days_before(year, month.rem_euclid(12) + 1) + field("day", None)? - 1;
    let seconds = field("hour", Some(12))? * 3_600 + field("min", Some(0))? * 60;
    Ok(days * SECONDS_PER_DAY + seconds + field("sec", Some(0))?)
}

/// Days from 1970-01-01 to the first of a month (Gregorian; years begin in
/// March, so that the leap day is the last of its year).
fn days_before(year: i64, month: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let days_in_year = (153 * month_from_march + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + days_in_year - 719_468
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    weekday: i64,
    day_of_year: i64,
}

impl Date {
    fn at(time: i64) -> Self {
        let days = time.div_euclid(SECONDS_PER_DAY);
        let seconds = time.rem_euclid(SECONDS_PER_DAY);
        // Never too late: years have at most 366 days, and at least 365.
        let mut year = 1970 + days.div_euclid(if days < 0 { 365 } else { 366 });
        while days_before(year + 1, 1) <= days {
            year += 1;
        }
        let month = (1..=12).rev().find(|month| days_before(year, *month) <= days).unwrap_or(1);
        Self {
            year,
            month,
            day: days - days_before(year, month) + 1,
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            weekday: (days + 4).rem_euclid(7),
            day_of_year: days - days_before(year, 1) + 1,
        }
    }

    fn format(&self, format: &str) -> String {
        let mut text = String::new();
        let mut characters = format.chars();
        while let Some(character) = characters.next() {
            match (character, characters.clone().next()) {
                ('%', Some(directive)) => {
                    characters.next();
                    self.format_one(directive, &mut text);
                }
                _ => text.push(character),
            }
        }
        text
    }

    fn format_one(&self, directive: char, text: &mut String) {
        let hour12 = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
        let piece = match directive {
            'Y' => format!("{:04}", self.year),
            'y' => format!("{:02}", self.year.rem_euclid(100)),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'H' => format!("{:02}", self.hour),
            'I' => format!("{hour12:02}"),
            'M' => format!("{:02}", self.minute),
            'S' => format!("{:02}", self.second),
            'j' => format!("{:03}", self.day_of_year),
            'w' => self.weekday.to_string(),
            'p' => (if self.hour < 12 { "AM" } else { "PM" }).to_owned(),
            'A' => name(&WEEKDAYS, self.weekday).to_owned(),
            'a' => name(&WEEKDAYS, self.weekday)[..3].to_owned(),
            'B' => name(&MONTHS, self.month - 1).to_owned(),
            'b' | 'h' => name(&MONTHS, self.month - 1)[..3].to_owned(),
            'X' | 'T' => self.format("%H:%M:%S"),
            'x' | 'D' => self.format("%m/%d/%y"),
            'F' => self.format("%Y-%m-%d"),
            'c' => self.format("%a %b %d %H:%M:%S %Y"),
            'Z' => "UTC".to_owned(),
            'z' => "+0000".to_owned(),
            '%' => "%".to_owned(),
            other => format!("%{other}"),
        };
        text.push_str(&piece);
    }

    fn to_table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        for (name, value) in [
            ("year", self.year),
            ("month", self.month),
            ("day", self.day),
            ("hour", self.hour),
            ("min", self.minute),
            ("sec", self.second),
            ("wday", self.weekday + 1),
            ("yday", self.day_of_year),
        ] {
            table.set(name, value)?;
        }
        table.set("isdst", false)?;
        Ok(table)
    }
}

fn name<'n>(names: &[&'n str], index: i64) -> &'n str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("???")
}

/// `2006-01-02T15:04:05Z`, for those who write times into objects.
pub(crate) fn rfc3339(time: i64) -> String {
    Date::at(time).format("%Y-%m-%dT%H:%M:%SZ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let check = |time: i64, expect: &str| assert_eq!(rfc3339(time), expect);
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(951_868_800, "2000-03-01T00:00:00Z");
        check(1_794_787_200, "2026-11-16T00:00:00Z");
        check(4_107_542_399, "2100-02-28T23:59:59Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
        check(-1, "1969-12-31T23:59:59Z");
        check(-62_135_596_800, "0001-01-01T00:00:00Z");
    }

    #[test]
    fn a_date_is_printed_as_asked() {
        let date = Date::at(1_794_787_200 + 13 * 3_600 + 5);
        assert_eq!(
            date.format("%a %A %b %B %d %I %p %j %w %y %% %q"),
            "Mon Monday Nov November 16 01 PM 320 1 26 % %q"
        );
        assert_eq!(date.format("%c | %x | %X"), "Mon Nov 16 13:00:05 2026 | 11/16/26 | 13:00:05");
    }
}
