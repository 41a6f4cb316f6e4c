//! Expressions of every function and construct.
//!
//! `corpus/expressions.tsv` holds expression, `ok` or `error`, and the text. Each expression is the
//! body of a named template of `corpus/probe`, rendered alone. An expression without an answer gets
//! one from `cargo xtask oracle helm --bless`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use helm::{KubeVersion, MemoryFiles, Options};

use crate::command::render;
use crate::corpus::{
    Answer, corpus, difference, escape, read_folder, report, unescape, write_folder,
};
use crate::real_helm::{RealHelm, is_blessing};

/// The template in which an expression is tried.
pub(crate) fn body(expression: &str) -> String {
    format!(
        "{{{{- define \"case\" -}}}}{expression}{{{{- end -}}}}\nout: {{{{ include \"case\" . | toJson }}}}\n"
    )
}

struct Row {
    expression: String,
    answer: Answer,
}

/// The table; `EXPRESSIONS` names another one, to try expressions out.
fn table() -> PathBuf {
    std::env::var_os("EXPRESSIONS").map_or_else(|| corpus().join("expressions.tsv"), PathBuf::from)
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(table()).expect("the table of expressions");
    text.lines()
        .map(|line| {
            let mut cells = line.split('\t').map(unescape);
            let mut cell = || cells.next().unwrap_or_default();
            let (expression, kind, text) = (cell(), cell(), cell());
            Row { expression, answer: if kind == "ok" { Ok(text) } else { Err(text) } }
        })
        .collect()
}

pub(crate) fn probe() -> MemoryFiles {
    read_folder(&corpus().join("probe"))
}

/// The decoded output of the probe chart with this expression in it, or the message.
pub(crate) fn ours(expression: &str) -> Answer {
    let mut files = probe();
    files.insert("templates/x.yaml", body(expression));
    let mut options = Options::new("rel", "prod");
    options.capabilities.kube_version = KubeVersion::parse("v1.33.0").expect("a version");
    decoded(&render(&files, &options)?.text())
}

/// The same by the real one, in a folder of its own.
pub(crate) fn theirs(helm: &RealHelm, scratch: &Path, number: usize, expression: &str) -> Answer {
    let folder = scratch.join(number.to_string());
    let mut files = probe();
    files.insert("templates/x.yaml", body(expression));
    write_folder(&files, &folder.join("probe"));
    let words = ["rel", "probe", "--namespace", "prod", "--kube-version", "v1.33.0"];
    let answer = helm.template(&folder, &words.map(str::to_owned));
    std::fs::remove_dir_all(&folder).expect("the scratch folder goes");
    decoded(&answer?)
}

fn decoded(text: &str) -> Answer {
    let json = text.lines().find_map(|line| line.strip_prefix("out: "));
    serde_json::from_str(json.unwrap_or_default()).map_err(|error| format!("{error}: {text}"))
}

fn compare(suite: &str, rows: &[Row]) {
    let mut failures = Vec::new();
    for row in rows {
        if let Some(where_) = difference(&row.answer, &ours(&row.expression)) {
            failures.push(format!("{}\n{where_}", row.expression));
        }
    }
    report(suite, rows.len(), &failures);
}

#[test]
fn every_expression_gives_what_is_on_record() {
    compare("expressions", &rows());
}

#[test]
fn every_function_has_an_expression() {
    let rows = rows();
    let used: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.expression.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let missing: Vec<&str> = helm::function_names().filter(|name| !used.contains(name)).collect();
    assert!(missing.is_empty(), "no expression uses {missing:?}");
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn every_expression_gives_what_is_given_by_the_real_helm() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut rows = rows();
    let answers = RealHelm::from_environment()
        .each(&rows, |helm, number, row| theirs(helm, scratch.path(), number, &row.expression));
    for (row, answer) in rows.iter_mut().zip(answers) {
        row.answer = answer;
    }
    if is_blessing() {
        record(&rows);
    }
    compare("expressions", &rows);
}

fn record(rows: &[Row]) {
    let mut out = String::new();
    for Row { expression, answer } in rows {
        let (kind, text) = match answer {
            Ok(text) => ("ok", text),
            Err(text) => ("error", text),
        };
        out.push_str(&format!("{}\t{kind}\t{}\n", escape(expression), escape(text)));
    }
    std::fs::write(table(), out).expect("the table is writable");
}
