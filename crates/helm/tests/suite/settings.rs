//! What is given on the command line, and the values that it makes of a chart's own.
//!
//! `corpus/settings.tsv` holds a chart of `corpus/settings`, arguments, `ok` or `error`, and the
//! values that the chart and those inside of it see, as they print them, or the message. Arguments
//! without an answer get one from `cargo xtask oracle helm --bless`.

use std::path::PathBuf;

use crate::command::{Command, words};
use crate::corpus::{Answer, corpus, difference, escape, report, unescape};
use crate::real_helm::{RealHelm, is_blessing};

struct Row {
    chart: String,
    arguments: String,
    answer: Answer,
}

impl Row {
    fn words(&self) -> Vec<String> {
        let mut all = vec!["rel".to_owned(), self.chart.clone()];
        all.extend(words(&self.arguments));
        all
    }

    fn ours(&self) -> Answer {
        shown(&Command::parse(&self.words(), &folder())?.run()?)
    }
}

fn folder() -> PathBuf {
    corpus().join("settings")
}

/// The table; `SETTINGS` names another one, to try arguments out.
fn table() -> PathBuf {
    std::env::var_os("SETTINGS").map_or_else(|| corpus().join("settings.tsv"), PathBuf::from)
}

/// The lines that the charts of `corpus/settings` print about what they see.
fn shown(text: &str) -> Answer {
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("out")).collect();
    Ok(lines.join("\n"))
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(table()).expect("the table of settings");
    text.lines()
        .map(|line| {
            let mut cells = line.split('\t').map(unescape);
            let mut cell = || cells.next().unwrap_or_default();
            let (chart, arguments, kind, text) = (cell(), cell(), cell(), cell());
            Row { chart, arguments, answer: if kind == "ok" { Ok(text) } else { Err(text) } }
        })
        .collect()
}

fn compare(rows: &[Row]) {
    let mut failures = Vec::new();
    for row in rows {
        if let Some(where_) = difference(&row.answer, &row.ours()) {
            failures.push(format!("{} {}\n{where_}", row.chart, row.arguments));
        }
    }
    report("settings", rows.len(), &failures);
}

#[test]
fn settings_give_the_values_on_record() {
    compare(&rows());
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn settings_give_the_values_given_by_the_real_helm() {
    let mut rows = rows();
    let answers = RealHelm::from_environment()
        .each(&rows, |helm, _, row| shown(&helm.template(&folder(), &row.words())?));
    for (row, answer) in rows.iter_mut().zip(answers) {
        row.answer = answer;
    }
    if is_blessing() {
        record(&rows);
    }
    compare(&rows);
}

fn record(rows: &[Row]) {
    let mut out = String::new();
    for Row { chart, arguments, answer } in rows {
        let (kind, text) = match answer {
            Ok(text) => ("ok", text),
            Err(text) => ("error", text),
        };
        let arguments = escape(arguments);
        out.push_str(&format!("{chart}\t{arguments}\t{kind}\t{}\n", escape(text)));
    }
    std::fs::write(table(), out).expect("the table is writable");
}
