//! Expressions of every function and construct, with the answers of Helm 4.2.4.
//!
//! `corpus/expressions.tsv` holds expression, `ok` or `error`, and the text, with `\n`, `\t` and `\\`
//! for line feed, tab and backslash. Each expression is the body of a named template of
//! `corpus/probe`, rendered alone. To record the answers anew, or after adding expressions with
//! nothing behind them: `HELM=/path/to/helm cargo test -p helm --test expressions -- --ignored`.

#![expect(clippy::print_stdout, reason = "the recorder says what it did")]
#![expect(clippy::disallowed_methods, reason = "tests read their corpus from disk")]
#![expect(clippy::disallowed_types, reason = "the recorder runs the real Helm")]

use std::cell::Cell;
use std::path::{Path, PathBuf};

use helm::{Chart, KubeVersion, MemoryFiles, Options};
use template::Facts;

struct World(Cell<u64>);

impl Facts for World {
    fn now(&self) -> i128 {
        1_763_164_800_000_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        for byte in buffer {
            let state = self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0.set(state);
            *byte = (state >> 33) as u8;
        }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn body(expression: &str) -> String {
    format!(
        "{{{{- define \"case\" -}}}}{expression}{{{{- end -}}}}\nout: {{{{ include \"case\" . | toJson }}}}\n"
    )
}

fn unescape(cell: &str) -> String {
    let mut out = String::new();
    let mut chars = cell.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                other => out.extend(other),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

fn rows() -> Vec<[String; 3]> {
    let text = std::fs::read_to_string(corpus().join("expressions.tsv")).expect("the corpus");
    text.lines()
        .map(|line| {
            let mut cells = line.split('\t').map(unescape);
            [0, 1, 2].map(|_| cells.next().unwrap_or_default())
        })
        .collect()
}

fn probe() -> MemoryFiles {
    let mut files = MemoryFiles::default();
    for name in [
        "Chart.yaml",
        "values.yaml",
        "templates/_parts.tpl",
        "files/settings.yaml",
        "files/lines.txt",
        "files/bare.txt",
    ] {
        let content = std::fs::read(corpus().join("probe").join(name)).expect("the probe chart");
        files.insert(name, content);
    }
    files
}

/// The decoded output, or the message.
fn ours(expression: &str) -> Result<String, String> {
    let mut files = probe();
    files.insert("templates/x.yaml", body(expression));
    let mut options = Options::new("rel", "prod");
    options.capabilities.kube_version = KubeVersion::parse("v1.33.0").expect("a version");
    let chart = Chart::load(&files).map_err(|error| error.to_string())?;
    let rendered = helm::template(&chart, &options, &World(Cell::new(7)))
        .map_err(|error| error.to_string())?;
    decoded(&rendered.text())
}

fn decoded(text: &str) -> Result<String, String> {
    let json = text.lines().find_map(|line| line.strip_prefix("out: "));
    serde_json::from_str(json.unwrap_or_default()).map_err(|error| format!("{error}: {text}"))
}

#[test]
fn every_expression_gives_what_helm_gives() {
    let rows = rows();
    let mut failures = Vec::new();
    for [expression, kind, want] in &rows {
        let (got_kind, got) = match ours(expression) {
            Ok(text) => ("ok", text),
            Err(message) => ("error", message),
        };
        if got_kind != kind || got != *want {
            failures
                .push(format!("{expression}\n  want {kind} {want:?}\n  got  {got_kind} {got:?}"));
        }
    }
    for failure in &failures {
        println!("{failure}\n");
    }
    println!("expressions: {} of {} as Helm", rows.len() - failures.len(), rows.len());
    assert!(failures.is_empty(), "{} expressions differ", failures.len());
}

#[test]
#[ignore = "records the answers of the real Helm: HELM=/path/to/helm"]
fn record() {
    let helm = std::env::var_os("HELM").expect("HELM names the program");
    let folder = std::env::temp_dir().join(format!("helm-expressions-{}", std::process::id()));
    let chart = folder.join("probe");
    for part in ["templates", "files"] {
        std::fs::create_dir_all(chart.join(part)).expect("a scratch folder");
    }
    use helm::Files as _;
    for path in probe().paths() {
        std::fs::write(chart.join(&path), probe().read(&path).unwrap_or_default()).expect("a copy");
    }
    let mut out = String::new();
    for [expression, ..] in rows() {
        std::fs::write(chart.join("templates/x.yaml"), body(&expression)).expect("a template");
        let run = std::process::Command::new(&helm)
            .args(["template", "rel"])
            .arg(&chart)
            .args(["--namespace", "prod", "--kube-version", "v1.33.0"])
            .output()
            .expect("Helm runs");
        let (kind, text) = if run.status.success() {
            let text = decoded(&String::from_utf8_lossy(&run.stdout)).expect("one line of output");
            ("ok", text)
        } else {
            let text = String::from_utf8_lossy(&run.stderr).into_owned();
            let start = text.find("Error: ").map_or(0, |at| at + "Error: ".len());
            let text = text[start..].trim();
            let text = text.strip_suffix("\n\nUse --debug flag to render out invalid YAML");
            (
                "error",
                text.map_or_else(
                    || String::from_utf8_lossy(&run.stderr).into_owned(),
                    str::to_owned,
                ),
            )
        };
        out.push_str(&format!("{}\t{kind}\t{}\n", escape(&expression), escape(&text)));
    }
    std::fs::write(corpus().join("expressions.tsv"), out).expect("the corpus is writable");
    std::fs::remove_dir_all(&folder).expect("the scratch folder goes");
    println!("recorded");
}
