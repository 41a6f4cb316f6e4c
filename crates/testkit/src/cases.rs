//! Answers of the real Argo CD, kept outside the project: in the folder that
//! `ARGOSY_CASES` names, by default `../shared/cases` from the project's root.

use std::path::{Path, PathBuf};

/// The text of a table or file of the folder. Without it there is nothing to
/// check: that is said, and the test passes.
#[expect(clippy::print_stdout, reason = "a missing folder is a notice, not a failure")]
#[must_use]
pub fn read(name: &str) -> Option<String> {
    let text = read_quietly(name);
    if text.is_none() {
        println!("notice: no case file {name}, nothing checked");
    }
    text
}

/// The text of a file that a case may lack.
#[must_use]
pub fn read_quietly(name: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases");
    let file = std::env::var_os("ARGOSY_CASES").map_or_else(beside, PathBuf::from).join(name);
    std::fs::read_to_string(&file).ok()
}

/// The rows of a table without its head, cells unescaped.
#[must_use]
pub fn rows(table: &str) -> Vec<Vec<String>> {
    table.lines().skip(1).map(|row| row.split('\t').map(unescape).collect()).collect()
}

/// Prints the count and fails with every case that did not pass.
///
/// # Panics
/// When a case failed.
#[expect(clippy::print_stdout, reason = "the count is what the run is for")]
pub fn report(suite: &str, passed: usize, failures: &[String]) {
    println!("{suite}: {passed} of {} cases pass", passed + failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn unescape(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        text.push(match escaped {
            Some('n') => '\n',
            Some('t') => '\t',
            Some(other) => other,
            None => character,
        });
    }
    text
}
