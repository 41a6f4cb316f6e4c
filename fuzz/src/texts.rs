//! Small languages: YAML, schedules, globs, versions, quantities.

use gocompat::cron::{Schedule, time_zone};
use gocompat::glob::Glob;
use gocompat::quantity::Quantity;
use gocompat::semver::{Constraint, Version};
use gocompat::yaml;
use jiff::Timestamp;

use crate::{text, two_texts};

/// The short ways read what the long way reads, and what was read and is written
/// again reads the same.
pub(crate) fn yaml(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let read = (yaml::to_value(text), yaml::to_value_strict(text));
    let long = [false, true].map(|strict| yaml::to_value_the_long_way(text, strict).ok());
    assert_eq!([read.0.ok(), read.1.ok()], long);
    for (value, _) in yaml::documents(text).unwrap_or_default() {
        let written = yaml::from_value(&value);
        let again = yaml::to_value(&written);
        assert_eq!(again.as_ref(), Ok(&value), "written as {written:?}");
    }
}

/// The next time is later, and there is one or none after every time.
pub(crate) fn cron(bytes: &[u8]) {
    let Some((schedule, zone)) = two_texts(bytes) else { return };
    let Ok(schedule) = Schedule::parse(schedule) else { return };
    let zone = time_zone(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    let mut now = Timestamp::UNIX_EPOCH;
    for _ in 0..3 {
        let Some(next) = schedule.next_after(now, &zone) else { return };
        assert!(next > now, "{next} is not after {now}");
        now = next;
    }
}

/// A pattern without signs matches itself and nothing else.
pub(crate) fn glob(bytes: &[u8]) {
    let Some((pattern, text)) = two_texts(bytes) else { return };
    let Ok(glob) = Glob::new(pattern, &['/']) else { return };
    let found = glob.is_match(text);
    let is_plain = !pattern.contains(['*', '?', '[', ']', '{', '}', '\\', ',', '!']);
    assert!(!is_plain || found == (pattern == text), "{pattern:?} on {text:?}: {found}");
}

/// A version is read again as it is printed, and is as high as itself.
pub(crate) fn semver(bytes: &[u8]) {
    let Some((constraint, version)) = two_texts(bytes) else { return };
    let constraint = Constraint::parse(constraint);
    let Ok(version) = Version::parse(version) else { return };
    let again = Version::parse(&version.to_string());
    let again = again.unwrap_or_else(|error| panic!("{version} is no version: {error}"));
    assert!(again.precedence(&version).is_eq(), "{version} printed is another version");
    if let Ok(constraint) = constraint {
        assert_eq!(constraint.check(&version), constraint.check(&again));
    }
}

/// A quantity in its canonical form is read as the same quantity.
pub(crate) fn quantity(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(quantity) = Quantity::parse(text) else { return };
    let canonical = quantity.to_string();
    let again = Quantity::parse(&canonical);
    let again = again.unwrap_or_else(|error| panic!("{canonical} is no quantity: {error}"));
    assert_eq!(again.to_string(), canonical);
}
