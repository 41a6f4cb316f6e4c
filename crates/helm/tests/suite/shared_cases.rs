//! Walks the shared Helm cases: charts, expressions and values with the answers of Helm 4.2.4.
//!
//! The folder is named by `ARGOSY_CASES`, by default `../shared/cases` beside the project. Where it
//! is absent, the tests say so and pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use helm::{KubeVersion, Options};

use crate::command::{Command, render, words};
use crate::corpus::{Answer, difference, read_folder, report, unescape};
use crate::expressions::body;
use crate::real_helm::message;

fn suite() -> Option<PathBuf> {
    let folder = std::env::var_os("ARGOSY_CASES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases"),
        PathBuf::from,
    );
    let folder = folder.join("helm");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("helm: no shared cases at {}", folder.display());
    None
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a suite has its tables");
    text.lines().skip(1).map(|line| line.split('\t').map(unescape).collect()).collect()
}

fn run(line: &str, folder: &Path) -> Answer {
    Command::parse(&words(line), folder)?.run()
}

#[test]
fn charts_render_as_with_helm() {
    let Some(folder) = suite() else { return };
    let rows = rows(&folder.join("cases.tsv"));
    let mut failures = Vec::new();
    let mut other_words = 0;
    for row in &rows {
        let (name, line, expected) = (&row[0], &row[2], &row[3]);
        let got = run(line, &folder);
        let expected_file = |extension: &str| {
            let path = folder.join("expected").join(format!("{name}.{extension}"));
            std::fs::read_to_string(path).unwrap_or_default()
        };
        match (expected.as_str(), got) {
            ("ok", Ok(text)) => {
                if let Some(where_) = difference(&Ok(expected_file("yaml")), &Ok(text)) {
                    failures.push(format!("{name}\n{where_}"));
                }
            }
            ("ok", Err(error)) => failures.push(format!("{name}: failed: {error}")),
            (_, Ok(_)) => failures.push(format!("{name}: should fail: {}", expected_file("txt"))),
            (_, Err(error)) => {
                let want = expected_file("txt");
                if message(&want) != error.trim_end() {
                    other_words += 1;
                    println!("{name}: other words:\n  helm: {}\n  ours: {error}", message(&want));
                }
            }
        }
    }
    println!("helm charts: {other_words} errors in other words");
    report("helm charts", rows.len(), &failures);
}

#[test]
fn functions_give_what_helm_gives() {
    let Some(folder) = suite() else { return };
    let rows = rows(&folder.join("functions.tsv"));
    let chart = read_folder(&folder.join("probe-chart"));
    let mut options = Options::new("rel", "prod");
    options.capabilities.kube_version = KubeVersion::parse("v1.33.0").expect("a version");
    let mut failures = Vec::new();
    let mut other_words = 0;
    for row in &rows {
        let (expression, expected) = (&row[0], &row[1]);
        let want = row.get(2).map_or("", String::as_str);
        let mut files = chart.clone();
        files.insert("templates/x.yaml", body(expression));
        match (expected.as_str(), render(&files, &options)) {
            ("ok", Ok(rendered)) => {
                let content = &rendered.manifests[0].content;
                let json = content.trim().strip_prefix("out: ").unwrap_or_default();
                let got: String = serde_json::from_str(json).unwrap_or_default();
                if got != want {
                    failures.push(format!("{expression}\n  want {want:?}\n  got  {got:?}"));
                }
            }
            ("ok", Err(error)) => failures.push(format!("{expression}\n  failed: {error}")),
            (_, Ok(_)) => failures.push(format!("{expression}\n  should fail: {want}")),
            (_, Err(error)) => {
                // The table keeps the first line of a message.
                let first = error.lines().next().unwrap_or_default();
                if message(want) != first {
                    other_words += 1;
                    println!(
                        "{expression}: other words:\n  helm: {}\n  ours: {error}",
                        message(want)
                    );
                }
            }
        }
    }
    println!("helm functions: {other_words} errors in other words");
    report("helm functions", rows.len(), &failures);
}

#[test]
fn values_merge_as_with_helm() {
    let Some(folder) = suite() else { return };
    let folder = folder.join("values-probe");
    let rows = rows(&folder.join("../values.tsv"));
    let mut failures = Vec::new();
    let mut other_words: BTreeMap<String, String> = BTreeMap::new();
    for row in &rows {
        let (line, expected, want) = (&row[0], &row[1], &row[2]);
        match (expected.as_str(), run(&format!("rel chart {line}"), &folder)) {
            ("ok", Ok(text)) => {
                let got = text.lines().find_map(|line| line.strip_prefix("out: "));
                if got != Some(want.as_str()) {
                    failures.push(format!("{line}\n  want {want}\n  got  {got:?}"));
                }
            }
            ("ok", Err(error)) => failures.push(format!("{line}\n  failed: {error}")),
            (_, Ok(text)) => failures.push(format!("{line}\n  should fail: {want}; got {text}")),
            (_, Err(error)) => {
                if message(want) != error {
                    other_words.insert(message(want).to_owned(), error);
                }
            }
        }
    }
    println!("helm values: other words {other_words:#?}");
    report("helm values", rows.len(), &failures);
}
