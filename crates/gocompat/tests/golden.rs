//! Our answers against those recorded from the Go libraries (`oracle/`).

use gocompat::cron::{Schedule, time_zone};
use gocompat::duration::Duration;
use gocompat::glob::{Glob, filepath_match};
use gocompat::int_or_string::{IntOrString, Rounding};
use gocompat::quantity::Quantity;
use gocompat::semver::{Constraint, Version};
use gocompat::{number, yaml};
use serde_json::{Value, json};

/// Whatever a library of ours refuses with.
type Refusal = Box<dyn std::error::Error>;

/// One line of a golden file: the input, and the library's value or its refusal.
struct Golden {
    input: Value,
    value: Result<Value, String>,
}

fn golden(lines: &str) -> Vec<Golden> {
    lines
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("a line of a golden file");
            let value = match line["error"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(line["value"].take()),
            };
            Golden { input: line["input"].take(), value }
        })
        .collect()
}

/// Compares every line and shows all that differ, not only the first.
#[track_caller]
fn check(lines: &str, ours: impl Fn(&Value) -> Result<Value, Refusal>) {
    let golden = golden(lines);
    assert!(!golden.is_empty(), "the golden file is empty");
    let differences: Vec<String> = golden
        .iter()
        .filter_map(|line| match (ours(&line.input), &line.value) {
            (Ok(ours), Ok(theirs)) if ours == *theirs => None,
            (Err(_), Err(_)) => None,
            (ours, theirs) => {
                let ours = ours.map_err(|error| error.to_string());
                Some(format!("{}\n   ours: {ours:?}\n theirs: {theirs:?}\n", line.input))
            }
        })
        .collect();
    let count = differences.len();
    assert!(
        differences.is_empty(),
        "{count} of {} differ:\n{}",
        golden.len(),
        differences.join("\n")
    );
}

fn text(input: &Value) -> &str {
    input.as_str().expect("the input is a string")
}

#[test]
fn yaml_is_read_as_go_reads_it() {
    check(include_str!("golden/yaml-read.jsonl"), |input| Ok(yaml::to_value(text(input))?));
}

/// Texts broken at random: most are refused, and for what is left the corners of
/// the syntax decide.
#[test]
fn broken_yaml_is_read_as_go_reads_it() {
    check(include_str!("golden/yaml-broken.jsonl"), |input| Ok(yaml::to_value(text(input))?));
}

/// Where the parser below us reads a text that Go refuses, or the other way round.
#[test]
fn known_differences_from_goyaml_are_still_there() {
    for line in golden(include_str!("golden/yaml-differs.jsonl")) {
        let ours = yaml::to_value(text(&line.input)).map_err(|_| ());
        assert_ne!(ours, line.value.map_err(|_| ()), "{} agrees now: move it", line.input);
    }
}

#[test]
fn duplicate_keys_are_refused_where_go_refuses_them() {
    check(include_str!("golden/yaml-strict.jsonl"), |input| {
        Ok(yaml::to_value_strict(text(input))?)
    });
}

#[test]
fn manifest_files_are_split_as_kubernetes_splits_them() {
    check(include_str!("golden/yaml-split.jsonl"), |input| {
        let documents = yaml::documents(text(input))?;
        Ok(documents.into_iter().map(|(value, _)| value).collect())
    });
}

#[test]
fn yaml_is_written_as_go_writes_it() {
    check(include_str!("golden/yaml-write.jsonl"), |input| Ok(json!(yaml::from_value(input))));
}

#[test]
fn yaml_is_laid_out_for_readers_as_goyaml_3_does() {
    check(include_str!("golden/yaml-pretty.jsonl"), |input| Ok(json!(yaml::pretty(&node(input)))));
}

fn node(value: &Value) -> yaml::Node {
    match value {
        Value::Null => yaml::Node::Plain("null".into()),
        Value::Bool(truth) => yaml::Node::Plain(truth.to_string()),
        Value::Number(number) => {
            yaml::Node::Plain(number::format_g(number.as_f64().expect("a number")))
        }
        Value::String(text) => yaml::Node::Text(text.clone().into_bytes()),
        Value::Array(items) => yaml::Node::List(items.iter().map(node).collect()),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, it)| (key.clone().into_bytes(), node(it)));
            yaml::Node::sorted(entries.collect())
        }
    }
}

#[test]
fn what_is_written_reads_back_the_same() {
    for line in golden(include_str!("golden/yaml-write.jsonl")) {
        let written = yaml::from_value(&line.input);
        // Go writes this key without quotes and then cannot read it.
        if written.contains("<<: ") {
            continue;
        }
        let read = yaml::to_value(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(yaml::from_value(&read), written);
    }
}

#[test]
fn durations_are_read_and_printed_as_go_does() {
    check(include_str!("golden/duration-parse.jsonl"), |input| {
        let duration = Duration::parse(text(input))?;
        Ok(json!({"nanos": duration.as_nanos(), "string": duration.to_string()}))
    });
}

#[test]
fn globs_match_what_gobwas_matches() {
    check(include_str!("golden/glob-match.jsonl"), |input| {
        let separators: Vec<char> = text(&input["separators"]).chars().collect();
        let glob = Glob::new(text(&input["pattern"]), &separators)?;
        Ok(json!(glob.is_match(text(&input["text"]))))
    });
}

/// Nested patterns on which Go's optimiser goes astray, and we do not follow.
#[test]
fn known_differences_from_gobwas_are_still_there() {
    for line in golden(include_str!("golden/glob-differs.jsonl")) {
        let separators: Vec<char> = text(&line.input["separators"]).chars().collect();
        let glob = Glob::new(text(&line.input["pattern"]), &separators).expect("a pattern");
        let ours = json!(glob.is_match(text(&line.input["text"])));
        assert_ne!(line.value, Ok(ours), "{} agrees now: move it", line.input);
    }
}

#[test]
fn file_patterns_match_what_filepath_matches() {
    check(include_str!("golden/filepath-match.jsonl"), |input| {
        Ok(json!(filepath_match(text(&input["pattern"]), text(&input["text"]))?))
    });
}

#[test]
fn versions_are_read_as_masterminds_reads_them() {
    check(include_str!("golden/semver-parse.jsonl"), |input| {
        let version = Version::parse(text(input))?;
        let strict = Version::parse_strict(text(input)).is_ok();
        Ok(json!({"string": version.to_string(), "strict": strict}))
    });
}

#[test]
fn versions_are_ordered_as_masterminds_orders_them() {
    check(include_str!("golden/semver-compare.jsonl"), |input| {
        let (left, right) = (Version::parse(text(&input[0]))?, Version::parse(text(&input[1]))?);
        Ok(json!(left.precedence(&right) as i8))
    });
}

#[test]
fn constraints_admit_what_masterminds_admits() {
    check(include_str!("golden/semver-check.jsonl"), |input| {
        let constraint = Constraint::parse(text(&input["constraint"]))?;
        Ok(json!(constraint.check(&Version::parse(text(&input["version"]))?)))
    });
}

#[test]
fn schedules_are_due_when_robfig_cron_says() {
    check(include_str!("golden/cron-next.jsonl"), |input| {
        let schedule = Schedule::parse(text(&input["schedule"]))?;
        let zone = time_zone(text(&input["zone"])).ok_or("no such zone")?;
        let mut at: jiff::Timestamp = text(&input["after"]).parse()?;
        let count = input["count"].as_u64().expect("a number of times");
        let mut found = Vec::new();
        for _ in 0..count {
            match schedule.next_after(at, &zone) {
                Some(next) => at = next,
                None => break,
            }
            found.push(at.to_string());
        }
        Ok(json!(found))
    });
}

#[test]
fn quantities_are_read_and_printed_as_kubernetes_does() {
    check(include_str!("golden/quantity-parse.jsonl"), |input| {
        let quantity = Quantity::parse(text(input))?;
        let mut answer = json!({"string": quantity.to_string()});
        if (Quantity::parse("0")?..Quantity::parse("1P")?).contains(&quantity) {
            answer["value"] = json!(quantity.to_integer());
            answer["milli"] = json!(quantity.to_milli());
        }
        Ok(answer)
    });
}

#[test]
fn quantities_are_ordered_as_kubernetes_orders_them() {
    check(include_str!("golden/quantity-compare.jsonl"), |input| {
        let (left, right) = (Quantity::parse(text(&input[0]))?, Quantity::parse(text(&input[1]))?);
        Ok(json!(left.cmp(&right) as i8))
    });
}

#[test]
fn floats_are_printed_as_go_prints_them() {
    check(include_str!("golden/number-format.jsonl"), |input| {
        let float: f64 = text(input).parse()?;
        Ok(json!({
            "v": number::format_g(float),
            "g32": number::format_g_32(float),
            "json": number::format_json(float),
        }))
    });
}

#[test]
fn percentages_are_scaled_as_kubernetes_scales_them() {
    check(include_str!("golden/int-or-percent.jsonl"), |input| {
        let total = i32::try_from(input["total"].as_i64().expect("a total"))?;
        let rounding = if input["up"] == true { Rounding::Up } else { Rounding::Down };
        Ok(json!(IntOrString::from_value(&input["value"])?.scaled(total, rounding)?))
    });
}
