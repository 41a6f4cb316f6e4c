//! Charts of our own in the style of what people publish, with the answers of Helm 4.2.4.
//!
//! `corpus/charts.tsv` names case, chart and arguments; `corpus/golden` holds the output of
//! `helm template` for each, or the message in `.txt`. To record anew:
//! `HELM=/path/to/helm cargo test -p helm --test charts -- --ignored`.

#![expect(clippy::print_stdout, reason = "the recorder says what it did")]
#![expect(clippy::disallowed_methods, reason = "tests read their corpus from disk")]
#![expect(clippy::disallowed_types, reason = "the recorder runs the real Helm")]

use std::path::{Path, PathBuf};

use helm::{Chart, KubeVersion, MemoryFiles, Options};
use template::Still;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

struct Case {
    name: String,
    chart: String,
    arguments: Vec<String>,
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(corpus().join("charts.tsv")).expect("the list of cases");
    text.lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            Case {
                name: cells[0].to_owned(),
                chart: cells[1].to_owned(),
                arguments: cells[2].split(' ').map(str::to_owned).collect(),
            }
        })
        .collect()
}

fn read_folder(folder: &Path) -> MemoryFiles {
    let mut files = MemoryFiles::default();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).expect("a chart").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name =
                    path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

fn options(arguments: &[String]) -> Options {
    let mut options = Options::new(arguments[0].as_str(), "default");
    let mut words = arguments[1..].iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value").clone();
        match word.as_str() {
            "--namespace" => options.namespace = value(),
            "--set" => options.values.set.push(value()),
            "--set-string" => options.values.set_string.push(value()),
            "--set-json" => options.values.json.push(value()),
            "--kube-version" => {
                options.capabilities.kube_version =
                    KubeVersion::parse(&value()).expect("a version");
            }
            "--include-crds" => options.include_crds = true,
            "--skip-tests" => options.skip_tests = true,
            "--no-hooks" => options.no_hooks = true,
            "--is-upgrade" => options.is_upgrade = true,
            other => panic!("unknown argument {other}"),
        }
    }
    options
}

fn ours(case: &Case) -> Result<String, String> {
    let files = read_folder(&corpus().join("charts").join(&case.chart));
    let chart = Chart::load(&files).map_err(|error| error.to_string())?;
    let rendered = helm::template(&chart, &options(&case.arguments), &Still);
    rendered.map(|rendered| rendered.text()).map_err(|error| error.to_string())
}

fn golden(case: &Case, extension: &str) -> PathBuf {
    corpus().join("golden").join(format!("{}.{extension}", case.name))
}

/// A message without what Go's maps make random: the order of several complaints about one schema.
fn comparable(message: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = message.trim_end().lines().collect();
    if message.starts_with("values don't meet") {
        lines.sort_unstable();
    }
    lines
}

#[test]
fn every_chart_renders_as_with_helm() {
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        let want = match std::fs::read_to_string(golden(case, "yaml")) {
            Ok(text) => Ok(text),
            Err(_) => Err(std::fs::read_to_string(golden(case, "txt"))
                .expect("an answer")
                .trim_end()
                .to_owned()),
        };
        let got = ours(case);
        let agrees = match (&want, &got) {
            (Err(want), Err(got)) => comparable(want) == comparable(got),
            (want, got) => want == got,
        };
        if !agrees {
            failures.push(format!("{}\n--- want\n{want:#?}\n--- got\n{got:#?}", case.name));
        }
    }
    for failure in &failures {
        println!("{failure}\n");
    }
    println!("charts: {} of {} as Helm", cases.len() - failures.len(), cases.len());
    assert!(failures.is_empty(), "{} charts differ", failures.len());
}

#[test]
#[ignore = "records the answers of the real Helm: HELM=/path/to/helm"]
fn record() {
    let helm = std::env::var_os("HELM").expect("HELM names the program");
    std::fs::create_dir_all(corpus().join("golden")).expect("the corpus is writable");
    for case in cases() {
        for extension in ["yaml", "txt"] {
            if golden(&case, extension).exists() {
                std::fs::remove_file(golden(&case, extension)).expect("the corpus is writable");
            }
        }
        let run = std::process::Command::new(&helm)
            .args(["template", &case.arguments[0]])
            .arg(corpus().join("charts").join(&case.chart))
            .args(&case.arguments[1..])
            .output()
            .expect("Helm runs");
        let (extension, text) = if run.status.success() {
            ("yaml", String::from_utf8_lossy(&run.stdout).into_owned())
        } else {
            let text = String::from_utf8_lossy(&run.stderr).into_owned();
            let start = text.find("Error: ").map_or(0, |at| at + "Error: ".len());
            let text = text[start..].trim();
            let text = text
                .strip_suffix("\n\nUse --debug flag to render out invalid YAML")
                .unwrap_or(text);
            ("txt", format!("{text}\n"))
        };
        std::fs::write(golden(&case, extension), text).expect("the corpus is writable");
    }
    println!("recorded");
}
