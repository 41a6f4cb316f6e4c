//! `docs/sync-rules.md` is complete and true: every rule has its line, every
//! test, story and file of tests that it names is there.

#![expect(clippy::disallowed_methods, reason = "reads the sources of the project")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many rules each part of the list of features has.
const RULES: [(&str, u32); 4] = [("F2", 88), ("F3", 21), ("F4", 21), ("F6", 25)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of all tables, as cells.
fn lines() -> Vec<Vec<String>> {
    let text = read(&root().join("docs/sync-rules.md"));
    let rows = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// The rules that a first cell names: `F2-001, F2-003…F2-005`.
fn rules(cell: &str) -> Vec<(String, u32)> {
    let one = |text: &str| {
        let (part, number) = text.trim().split_once('-')?;
        Some((part.to_owned(), number.parse::<u32>().ok()?))
    };
    let mut found = Vec::new();
    for piece in cell.split(',') {
        let (first, last) = piece.split_once('…').unwrap_or((piece, piece));
        if let (Some((part, first)), Some((_, last))) = (one(first), one(last)) {
            found.extend((first..=last).map(|number| (part.clone(), number)));
        }
    }
    found
}

#[test]
fn every_rule_has_one_line() {
    let listed: Vec<(String, u32)> = lines().iter().flat_map(|line| rules(&line[0])).collect();
    let mut problems = Vec::new();
    for (part, count) in RULES {
        for number in 1..=count {
            let lines = listed.iter().filter(|it| **it == (part.to_owned(), number)).count();
            if lines != 1 {
                problems.push(format!("{part}-{number:03} has {lines} lines"));
            }
        }
    }
    let unknown = listed.iter().filter(|(part, number)| {
        !RULES.iter().any(|(known, count)| part == known && number <= count)
    });
    problems.extend(unknown.map(|(part, number)| format!("there is no {part}-{number:03}")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Where the list of features is at hand, it has as many rules as we think.
#[test]
fn the_list_of_features_has_no_other_rules() {
    let cases = std::env::var_os("ARGOSY_CASES").map(PathBuf::from);
    let shared = cases.unwrap_or_else(|| root().join("../shared/cases"));
    let Ok(features) = std::fs::read_to_string(shared.join("../reference/features.md")) else {
        return;
    };
    for (part, count) in RULES {
        let prefix = format!("- {part}-");
        let numbers = features
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix)?.get(..3)?.parse::<u32>().ok());
        assert_eq!(numbers.collect::<BTreeSet<_>>(), (1..=count).collect(), "{part}");
    }
}

#[test]
fn every_test_that_is_named_is_there() {
    let functions = functions();
    let mut problems = Vec::new();
    for line in lines().iter().filter(|line| !rules(&line[0]).is_empty() || line[0] == "laws") {
        let Some(pinned) = line.get(2) else { continue };
        let mut words = pinned.split('`');
        while let (Some(before), Some(name)) = (words.next(), words.next()) {
            let is_story = before.trim_end().ends_with("story");
            let is_case = before.trim_end().ends_with("cases");
            let is_there = if is_story {
                root().join(format!("crates/engine/tests/sync/{name}.txt")).is_file()
            } else {
                is_case || functions.contains(name)
            };
            if !is_there {
                problems.push(format!("{}: {name} is not there", line[0]));
            }
        }
        if !pinned.contains('`') {
            problems.push(format!("{}: no test is named", line[0]));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The names of all functions of the project.
fn functions() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the project") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = read(&path);
                let names = text.lines().filter_map(|line| {
                    let line = line.trim_start();
                    let line = line.strip_prefix("async ").unwrap_or(line);
                    line.strip_prefix("fn ")?.split_once('(').map(|(name, _)| name.to_owned())
                });
                found.extend(names);
            }
        }
    }
    found
}
