//! The health and the actions that Argo CD gives to many objects, and ours.
//!
//! The cases are a folder that `ARGOSY_CASES` names; without it there is
//! nothing to compare, which is a notice and not a failure.

#![expect(clippy::print_stderr, reason = "the count of passing cases is for the reader")]
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

#[path = "shared_cases/yaml.rs"]
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lua::{Impact, Operation, bundled};
use object::Object;
use serde_json::{Value, json};

#[test]
fn bundled_health_agrees_with_the_shared_cases() {
    let Some(folder) = cases("health") else { return };
    let table = std::fs::read_to_string(folder.join("expected.tsv")).expect("a table of cases");
    let (mut passed, mut failed) = (0, Vec::new());
    for row in table.lines().skip(1) {
        let cells: Vec<String> = row.split('\t').map(unescape).collect();
        let [directory, _, _, file, status, message] = cells.as_slice() else {
            panic!("six cells in {row:?}");
        };
        let object = read_object(&folder.join(directory).join(file));
        let found = bundled::health(&object)
            .map_or("(none)".to_owned(), |it| format!("{} | {}", it.status, it.message));
        let expect = format!("{status} | {message}");
        if found == expect {
            passed += 1;
        } else {
            failed.push(format!("{directory}/{file}\n  found  {found}\n  expect {expect}"));
        }
    }
    report("health", passed, &failed);
}

fn report(suite: &str, passed: usize, failed: &[String]) {
    for failure in failed {
        eprintln!("{failure}");
    }
    eprintln!("{suite}: {passed} of {} cases pass", passed + failed.len());
    assert!(failed.is_empty(), "{} cases of {suite} differ", failed.len());
}

fn cases(suite: &str) -> Option<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases");
    let root = std::env::var("ARGOSY_CASES").unwrap_or_else(|_| root.to_owned());
    let folder = PathBuf::from(root).join(suite);
    if !folder.is_dir() {
        eprintln!("no shared cases of {suite} here; nothing compared");
        return None;
    }
    Some(folder)
}

fn unescape(cell: &str) -> String {
    let mut text = String::new();
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        match (character, if character == '\\' { characters.next() } else { None }) {
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some('t')) => text.push('\t'),
            ('\\', Some('\\')) => text.push('\\'),
            ('\\', Some(other)) => text.extend(['\\', other]),
            _ => text.push(character),
        }
    }
    text
}

#[test]
fn bundled_actions_are_offered_as_in_the_shared_cases() {
    let Some(folder) = cases("actions") else { return };
    let table = std::fs::read_to_string(folder.join("discovery.tsv")).expect("a table of cases");
    let mut expected: BTreeMap<(String, String), BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for row in table.lines().skip(1) {
        let cells: Vec<String> = row.split('\t').map(unescape).collect();
        let case = expected.entry((cells[0].clone(), cells[3].clone())).or_default();
        if cells[4] != "(none)" {
            case.insert(cells[4].clone(), cells[5..].to_vec());
        }
    }
    let (mut passed, mut failed) = (0, Vec::new());
    for ((directory, file), expect) in expected {
        let object = read_object(&folder.join(&directory).join(&file));
        let found: BTreeMap<String, Vec<String>> = bundled::actions::offers(&object)
            .into_iter()
            .map(|it| {
                let params: Vec<Value> = it
                    .params
                    .iter()
                    .map(|it| match it.default.as_str() {
                        "" => json!({"name": it.name}),
                        default => json!({"name": it.name, "default": default}),
                    })
                    .collect();
                let params =
                    if params.is_empty() { String::new() } else { json!(params).to_string() };
                (it.name, vec![it.disabled.to_string(), it.display_name, it.icon_class, params])
            })
            .collect();
        let same = found.len() == expect.len()
            && found.iter().all(|(name, found)| {
                expect.get(name).is_some_and(|expect| {
                    let as_json = |text: &String| serde_json::from_str::<Value>(text).ok();
                    found[..3] == expect[..3]
                        && as_json(&found[3]) == expect.get(3).and_then(as_json)
                })
            });
        if same {
            passed += 1;
        } else {
            failed.push(format!("{directory}/{file}\n  found  {found:?}\n  expect {expect:?}"));
        }
    }
    report("actions, offered", passed, &failed);
}

#[test]
fn bundled_actions_do_what_the_shared_cases_say() {
    let Some(folder) = cases("actions") else { return };
    let table = std::fs::read_to_string(folder.join("run.tsv")).expect("a table of cases");
    let (mut passed, mut failed) = (0, Vec::new());
    for row in table.lines().skip(1) {
        let cells: Vec<String> = row.split('\t').map(unescape).collect();
        let [directory, _, _, action, file, parameters, expected, error] = cells.as_slice() else {
            panic!("eight cells in {row:?}");
        };
        let object = read_object(&folder.join(directory).join(file));
        let parameters: BTreeMap<String, String> =
            serde_json::from_str(parameters).unwrap_or_default();
        let result = bundled::actions::run(&object, action, &parameters, ZERO_TIME);
        let problem = match (result, error.is_empty()) {
            (Ok(impacts), true) => {
                let text = std::fs::read_to_string(folder.join(directory).join(expected));
                difference(&impacts, yaml::first_document(&text.expect("an expected file")))
            }
            (Err(found), false) if found.to_string() == *error => None,
            (found, _) => Some(format!("found {found:?}, expected error {error:?}")),
        };
        match problem {
            None => passed += 1,
            Some(problem) => failed.push(format!("{directory}/{file} {action}\n  {problem}")),
        }
    }
    report("actions, run", passed, &failed);
}

/// Year one, which the expected files have in the place of the present.
const ZERO_TIME: i64 = -62_135_596_800;

/// What an expected object says must be so in the resulting one; what it does
/// not say is left open, as in the comparison that made the cases. Times that
/// differ from case to case were neutralised, names are compared by their start.
fn difference(impacts: &[Impact], expected: Value) -> Option<String> {
    let expected = match expected {
        Value::Array(list) => {
            list.into_iter().map(|mut entry| entry["unstructuredObj"].take()).collect()
        }
        object => vec![object],
    };
    if impacts.len() != expected.len() {
        return Some(format!("found {impacts:?}"));
    }
    impacts.iter().zip(expected).find_map(|(impact, mut expected)| {
        let mut found = impact.object.clone().into_value();
        if impact.operation == Operation::Create {
            expected["metadata"]["name"] = found["metadata"]["name"].clone();
        }
        if found.pointer("/status/targetPrimaryTimestamp").is_some() {
            found["status"]["targetPrimaryTimestamp"] =
                expected["status"]["targetPrimaryTimestamp"].clone();
        }
        (!agrees(&found, &expected)).then(|| format!("found {found}\n  expect {expected}"))
    })
}

fn agrees(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, it)| agrees(found.get(name).unwrap_or(&Value::Null), it))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| agrees(a, b))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}

fn read_object(path: &Path) -> Object {
    let text = std::fs::read_to_string(path).expect("a case");
    Object::from_value(yaml::first_document(&text)).expect("an object")
}
