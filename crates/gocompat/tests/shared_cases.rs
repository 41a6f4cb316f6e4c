//! The tables of expected answers that live outside the project: `glob.tsv` and
//! `semver.tsv` under `ARGOSY_CASES`. Absent tables are reported and skipped.
#![expect(clippy::print_stdout, reason = "the number of cases that pass is the point")]
#![expect(clippy::disallowed_methods, reason = "a test of this pure crate reads the tables")]

use std::path::PathBuf;

use gocompat::glob::Glob;
use gocompat::glob::list::{self, Mode};
use gocompat::semver::{self, Version};

/// One row by column name, escapes undone.
struct Row {
    columns: Vec<String>,
    cells: Vec<String>,
}

impl Row {
    fn cell(&self, column: &str) -> &str {
        let index = self.columns.iter().position(|name| name == column).expect("a known column");
        self.cells.get(index).map_or("", String::as_str)
    }

    fn list(&self, column: &str) -> Vec<String> {
        serde_json::from_str(self.cell(column)).expect("a JSON list")
    }
}

fn rows(table: &str) -> Option<Vec<Row>> {
    let folder = std::env::var("ARGOSY_CASES").map_or_else(
        |_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join(table)) else {
        println!("NOTICE: {table} is not there; set ARGOSY_CASES to the folder that has it");
        return None;
    };
    let mut lines = text.lines();
    let cells = |line: &str| line.split('\t').map(unescape).collect::<Vec<_>>();
    let columns = cells(lines.next().expect("a line of column names"));
    Some(lines.map(|line| Row { columns: columns.clone(), cells: cells(line) }).collect())
}

fn unescape(cell: &str) -> String {
    let mut text = String::new();
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            (character, false) => text.push(character),
        }
    }
    text
}

/// Runs every row and shows all that fail.
fn check(suite: &str, ours: impl Fn(&Row) -> (String, String)) {
    let Some(rows) = rows(suite) else { return };
    let failures: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let (ours, expected) = ours(row);
            (ours != expected)
                .then(|| format!("{:?}\n   ours: {ours}\n expected: {expected}", row.cells))
        })
        .collect();
    println!("{suite}: {} of {} cases pass", rows.len() - failures.len(), rows.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn glob_cases_pass() {
    check("glob.tsv", |row| {
        let ours = match row.cell("op") {
            "match" => {
                let separators: Vec<char> = row.cell("separators").chars().collect();
                let glob = Glob::new(row.cell("pattern"), &separators);
                // An empty cell may also mean that the caller swallowed the error.
                let error =
                    if row.cell("pattern_error").is_empty() || glob.is_ok() { "" } else { "yes" };
                (glob.is_ok_and(|glob| glob.is_match(row.cell("text"))), error)
            }
            op => {
                let mode = match op {
                    "list-exact" => Mode::Exact,
                    "list-glob" => Mode::Glob,
                    _ => Mode::Regexp,
                };
                (list::contains(&row.list("pattern"), row.cell("text"), mode), "")
            }
        };
        let expected = (row.cell("matches") == "true", row.cell("pattern_error"));
        (format!("{ours:?}"), format!("{expected:?}"))
    });
}

#[test]
fn semver_cases_pass() {
    check("semver.tsv", |row| {
        let text = row.cell("text");
        let ours = match row.cell("op") {
            "is-constraint" => Ok(semver::is_constraint(text).to_string()),
            "is-version" => Ok(Version::parse(text).is_ok().to_string()),
            _ => semver::highest_tag(text, &row.list("tags"), row.cell("tag_prefix")),
        };
        let ours = match ours {
            Ok(result) => (result, String::new()),
            Err(error) => (String::new(), error.to_string()),
        };
        let expected = (row.cell("result").to_owned(), row.cell("error").to_owned());
        (format!("{ours:?}"), format!("{expected:?}"))
    });
}
