//! Charts of our own in the style of what people publish.
//!
//! `corpus/charts.tsv` names case, chart and arguments; `corpus/golden` holds the output of
//! `helm template` for each, or the message in `.txt`.

use std::path::PathBuf;

use helm::Options;

use crate::command::{Command, render, words};
use crate::corpus::{Answer, corpus, difference, report, write_folder};
use crate::large_chart::large_chart;
use crate::real_helm::{RealHelm, is_blessing};

struct Case {
    name: String,
    /// The words after `helm template`, as in the folder of charts.
    words: Vec<String>,
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(corpus().join("charts.tsv")).expect("the list of cases");
    text.lines()
        .map(|line| {
            let mut cells = line.split('\t').map(str::to_owned);
            let mut cell = || cells.next().expect("case, chart and arguments");
            let (name, chart, arguments) = (cell(), cell(), cell());
            let mut words = words(&arguments);
            words.insert(1, chart);
            Case { name, words }
        })
        .collect()
}

fn ours(case: &Case) -> Answer {
    Command::parse(&case.words, &corpus().join("charts"))?.run()
}

fn golden(case: &Case, extension: &str) -> PathBuf {
    corpus().join("golden").join(format!("{}.{extension}", case.name))
}

fn recorded(case: &Case) -> Answer {
    match std::fs::read_to_string(golden(case, "yaml")) {
        Ok(text) => Ok(text),
        Err(_) => {
            let message = std::fs::read_to_string(golden(case, "txt"));
            Err(message.expect("an answer on record").trim_end().to_owned())
        }
    }
}

fn compare(suite: &str, cases: &[Case], wanted: impl Fn(usize, &Case) -> Answer) {
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if let Some(where_) = difference(&wanted(number, case), &ours(case)) {
            failures.push(format!("{}\n{where_}", case.name));
        }
    }
    report(suite, cases.len(), &failures);
}

#[test]
fn every_chart_renders_as_on_record() {
    compare("charts", &cases(), |_, case| recorded(case));
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn every_chart_renders_as_by_the_real_helm() {
    let cases = cases();
    let folder = corpus().join("charts");
    let answers = RealHelm::from_environment()
        .each(&cases, |helm, _, case| helm.template(&folder, &case.words));
    if is_blessing() {
        for (case, answer) in cases.iter().zip(&answers) {
            record(case, answer);
        }
    }
    compare("charts", &cases, |number, _| answers[number].clone());
}

fn record(case: &Case, answer: &Answer) {
    let (extension, other, text) = match answer {
        Ok(text) => ("yaml", "txt", text.clone()),
        Err(message) => ("txt", "yaml", format!("{message}\n")),
    };
    if golden(case, other).exists() {
        std::fs::remove_file(golden(case, other)).expect("the corpus is writable");
    }
    std::fs::write(golden(case, extension), text).expect("the corpus is writable");
}

/// Sixty templates over 2,000 lines of named parts.
fn grown() -> helm::MemoryFiles {
    large_chart(60, 50)
}

fn compare_grown(wanted: &Answer) {
    let rendered = render(&grown(), &Options::new("rel", "default"));
    let differs = difference(wanted, &rendered.map(|rendered| rendered.text()));
    report("a chart with sixty templates", 1, differs.as_slice());
}

#[test]
fn a_grown_chart_renders_as_on_record() {
    let text = std::fs::read_to_string(corpus().join("golden/grown.yaml"));
    compare_grown(&Ok(text.expect("an answer on record")));
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn a_grown_chart_renders_as_by_the_real_helm() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    write_folder(&grown(), &scratch.path().join("grown"));
    let words = ["rel".to_owned(), "grown".to_owned()];
    let answer = RealHelm::from_environment().template(scratch.path(), &words);
    if is_blessing() {
        let text = answer.clone().expect("Helm renders it");
        std::fs::write(corpus().join("golden/grown.yaml"), text).expect("the corpus is writable");
    }
    compare_grown(&answer);
}
