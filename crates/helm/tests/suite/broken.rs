//! Charts and templates that must fail: the message names the same template, line and reason.
//!
//! `corpus/broken.txt` has one paragraph per case: `=== name`, with arguments behind it if there are
//! any; `--- path` before each file; `+++` before Helm's message. A chart has a small Chart.yaml
//! unless it brings its own. What Helm accepts is on record as `accepted`.

use std::path::Path;

use helm::MemoryFiles;

use crate::command::{Command, render, words};
use crate::corpus::{Answer, corpus, difference, report, write_folder};
use crate::real_helm::{RealHelm, is_blessing};

const CHART: &str = "apiVersion: v2\nname: broken\nversion: 1.0.0\n";
const ACCEPTED: &str = "accepted";

struct Case {
    head: String,
    files: Vec<(String, String)>,
    answer: Answer,
}

impl Case {
    fn name(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    fn arguments(&self) -> Vec<String> {
        words(self.head.split_once(' ').map_or("", |(_, rest)| rest))
    }

    fn chart(&self) -> MemoryFiles {
        let mut files = MemoryFiles::from([("Chart.yaml", CHART)]);
        for (path, content) in &self.files {
            files.insert(path, content.as_str());
        }
        files
    }

    fn ours(&self) -> Answer {
        let options = Command::parse(&self.arguments(), Path::new("."))?.options;
        accepted(render(&self.chart(), &options).map(|rendered| rendered.text()))
    }

    fn theirs(&self, helm: &RealHelm, folder: &Path) -> Answer {
        write_folder(&self.chart(), &folder.join("chart"));
        let mut words = vec!["release-name".to_owned(), "chart".to_owned()];
        words.extend(self.arguments());
        accepted(helm.template(folder, &words))
    }
}

/// Only the message counts.
fn accepted(answer: Answer) -> Answer {
    answer.map(|_| ACCEPTED.to_owned())
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(corpus().join("broken.txt")).expect("the corpus");
    let mut cases: Vec<Case> = Vec::new();
    let mut message: Option<String> = None;
    for line in text.split_inclusive('\n') {
        if let Some(head) = line.strip_prefix("=== ") {
            close(&mut cases, message.take());
            let head = head.trim_end().to_owned();
            cases.push(Case { head, files: Vec::new(), answer: Err(String::new()) });
            continue;
        }
        let case = cases.last_mut().expect("a case begins with its name");
        match (line.strip_prefix("--- "), case.files.last_mut(), &mut message) {
            _ if line == "+++\n" => message = Some(String::new()),
            (_, _, Some(message)) => message.push_str(line),
            (Some(path), _, None) => {
                case.files.push((path.trim_end().to_owned(), String::new()));
            }
            (None, Some((_, content)), None) => content.push_str(line),
            (None, None, None) => panic!("{line:?} belongs to no file"),
        }
    }
    close(&mut cases, message);
    cases
}

fn close(cases: &mut [Case], message: Option<String>) {
    if let (Some(case), Some(message)) = (cases.last_mut(), message) {
        let message = message.trim_end().to_owned();
        case.answer = if message == ACCEPTED { Ok(message) } else { Err(message) };
    }
}

fn compare(suite: &str, cases: &[Case]) {
    let mut failures = Vec::new();
    for case in cases {
        if let Some(where_) = difference(&case.answer, &case.ours()) {
            failures.push(format!("{}\n{where_}", case.name()));
        }
    }
    report(suite, cases.len(), &failures);
}

#[test]
fn what_is_broken_fails_in_the_words_on_record() {
    compare("broken charts", &cases());
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn what_is_broken_fails_in_the_words_given_by_the_real_helm() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let mut cases = cases();
    let answers = RealHelm::from_environment().each(&cases, |helm, number, case| {
        case.theirs(helm, &scratch.path().join(number.to_string()))
    });
    for (case, answer) in cases.iter_mut().zip(answers) {
        case.answer = answer;
    }
    if is_blessing() {
        record(&cases);
    }
    compare("broken charts", &cases);
}

fn record(cases: &[Case]) {
    let mut out = String::new();
    for case in cases {
        out.push_str(&format!("=== {}\n", case.head));
        for (path, content) in &case.files {
            out.push_str(&format!("--- {path}\n{content}"));
        }
        let (Ok(text) | Err(text)) = &case.answer;
        out.push_str(&format!("+++\n{text}\n"));
    }
    std::fs::write(corpus().join("broken.txt"), out).expect("the corpus is writable");
}
