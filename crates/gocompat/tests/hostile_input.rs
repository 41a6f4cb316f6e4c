//! No text, however broken, makes a reader panic or run away.

use gocompat::cron::Schedule;
use gocompat::duration::Duration;
use gocompat::glob::{Glob, filepath_match};
use gocompat::quantity::Quantity;
use gocompat::semver::{Constraint, Version};
use gocompat::yaml::{self, Limits, Problem};
use proptest::prelude::*;

/// Pieces that mean something to a YAML parser, so that random texts get far.
const YAML_PIECES: &[&str] = &[
    "\n",
    "  ",
    "- ",
    ": ",
    "a",
    "b: ",
    "'",
    "\"",
    "|\n",
    ">-\n",
    "|+2\n",
    "# c",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a",
    "!!str ",
    "!!binary ",
    "!t",
    "!",
    "%41",
    "? ",
    "---\n",
    "...",
    "%YAML 1.1\n",
    "\t",
    "\r\n",
    "\r",
    "0x1F",
    "~",
    "<<: ",
    "\\",
    "\u{2028}",
    "\u{feff}",
    "é",
    "\u{fffd}",
    "1e400",
    " ",
];

fn read_every_way(text: &str) {
    let value = yaml::to_value(text);
    let _strict = yaml::to_value_strict(text);
    let _documents = yaml::documents(text);
    if let Ok(value) = value {
        let _written = yaml::from_value(&value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_every_way(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_yaml_is_read_or_refused(
        pieces in prop::collection::vec(0..YAML_PIECES.len(), 0..40)
    ) {
        let text: String = pieces.into_iter().map(|piece| YAML_PIECES[piece]).collect();
        read_every_way(&text);
    }

    #[test]
    fn random_little_languages_are_read_or_refused(text in "[-+*?\\[\\]{}\\\\,!^~<>=|@/0-9a-zA-Z.: é%]{0,40}") {
        let _matched = Glob::new(&text, &['/']).map(|glob| glob.is_match(&text));
        let _matched = filepath_match(&text, &text);
        let _checked = Version::parse(&text).map(|version| Version::parse_strict(&version.to_string()));
        let _parsed = Constraint::parse(&text);
        let _printed = Duration::parse(&text).map(|duration| duration.to_string());
        let _printed = Quantity::parse(&text).map(|quantity| quantity.to_string());
        let _parsed = Schedule::parse(&text);
    }

    #[test]
    fn every_duration_reads_back_as_printed(nanos in any::<i64>()) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
    }

    #[test]
    fn every_text_reads_back_as_written(text in any::<String>()) {
        let value = serde_json::json!({ "key": text });
        let written = yaml::from_value(&value);
        prop_assert_eq!(yaml::to_value(&written).map_err(|error| error.to_string()), Ok(value));
    }
}

#[track_caller]
fn check_refused(text: &str, problem: &Problem) {
    let error = yaml::to_value(text).expect_err("hostile");
    assert_eq!(error.problem, *problem);
}

#[test]
fn a_tag_directly_before_a_comma_panics_nobody() {
    // To goyaml the comma is a part of the tag.
    let read = yaml::to_value("a: 1\nb: [x, !t, y]\n").expect("it is YAML");
    assert_eq!(read, serde_json::json!({"a": 1, "b": ["x", "y"]}));
}

#[test]
fn a_thousand_levels_are_read_and_no_more() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(yaml::to_value(&nested(1000)).is_ok());
    check_refused(&nested(1001), &Problem::TooDeep { max_depth: 1000 });
    check_refused(&nested(200_000), &Problem::TooDeep { max_depth: 1000 });
    check_refused(&"{\"a\":".repeat(200_000), &Problem::TooDeep { max_depth: 1000 });
    check_refused(&"- ".repeat(200_000), &Problem::TooDeep { max_depth: 1000 });
}

#[test]
fn aliases_do_not_multiply_without_end() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    check_refused(&bomb, &Problem::ExcessiveAliasing);
}

#[test]
fn many_small_documents_take_time_in_proportion() {
    let count = 100_000;
    assert_eq!(yaml::documents(&"{}\n".repeat(count)).map(|found| found.len()), Ok(count));
    assert_eq!(yaml::documents(&"a: 1\n---\n".repeat(count)).map(|found| found.len()), Ok(count));
    assert_eq!(yaml::documents(&"[]: ".repeat(count)).is_ok(), yaml::to_value("[]: ").is_ok());
}

#[test]
fn the_callers_limits_hold() {
    let limits = Limits { max_bytes: 10, max_depth: 1, max_values: 3 };
    let problem = |text: &str| yaml::to_value_within(text, limits).map_err(|error| error.problem);
    assert!(problem("[1, 2]").is_ok());
    assert_eq!(problem("[1, 2, 3]"), Err(Problem::TooManyValues { max_values: 3 }));
    assert_eq!(problem("[[1]]"), Err(Problem::TooDeep { max_depth: 1 }));
    assert_eq!(problem("[1, 2, 3, 4]"), Err(Problem::TooLong { max_bytes: 10 }));
}

#[test]
fn schedules_that_go_in_circles_in_go_have_no_next_time() {
    let schedule = Schedule::parse("0 0 1 * *").expect("a schedule");
    let zone = gocompat::cron::time_zone("Pacific/Apia").expect("a zone");
    let before_the_day_that_was_skipped = "2011-12-29T08:00:00Z".parse().expect("a time");
    assert_eq!(schedule.next_after(before_the_day_that_was_skipped, &zone), None);
}
