//! Walks the shared Helm cases: charts, expressions and values with the answers of Helm 4.2.4.
//!
//! The folder is named by `ARGOSY_CASES`, by default `../shared/cases` beside the project. Where it
//! is absent, the tests say so and pass.

#![expect(clippy::print_stdout, reason = "the count is what these tests are for")]
#![expect(clippy::disallowed_methods, reason = "tests read their cases from disk")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use helm::{Chart, Files, KubeVersion, MemoryFiles, Options, Rendered};
use template::Facts;

/// A clock that stands and randomness that does not repeat.
struct World(std::cell::Cell<u64>);

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

fn world() -> World {
    World(std::cell::Cell::new(42))
}

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

fn read_folder(folder: &Path) -> MemoryFiles {
    let mut files = MemoryFiles::default();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if let (Ok(content), Ok(name)) =
                (std::fs::read(&path), path.strip_prefix(folder))
            {
                files.insert(name.to_string_lossy().into_owned(), content);
            }
        }
    }
    files
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).expect("a suite has its tables");
    let cell = |cell: &str| {
        let mut out = String::new();
        let mut chars = cell.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('\\') => out.push('\\'),
                    // A backslash of the command line itself.
                    Some(other) => out.extend(['\\', other]),
                    None => out.push('\\'),
                },
                c => out.push(c),
            }
        }
        out
    };
    text.lines().skip(1).map(|line| line.split('\t').map(cell).collect()).collect()
}

/// Splits a command line the way a shell does.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

struct Command {
    options: Options,
    chart: PathBuf,
    show_only: Vec<String>,
}

fn command(line: &str, folder: &Path) -> Result<Command, String> {
    let mut options = Options::new("release-name", "default");
    let mut positional = Vec::new();
    let mut show_only = Vec::new();
    let mut name_template = None;
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => {
                (flag.to_owned(), Some(value.to_owned()))
            }
            _ => (word.clone(), None),
        };
        let mut value = || inline.clone().or_else(|| words.next()).unwrap_or_default();
        match flag.as_str() {
            "--namespace" => options.namespace = value(),
            "--include-crds" => options.include_crds = true,
            "--no-hooks" => options.no_hooks = true,
            "--skip-tests" => options.skip_tests = true,
            "--is-upgrade" => options.is_upgrade = true,
            "--kube-version" => {
                options.capabilities.kube_version =
                    KubeVersion::parse(&value()).map_err(|error| error.to_string())?;
            }
            "--api-versions" => {
                options.capabilities.api_versions.extend(value().split(',').map(str::to_owned));
            }
            "--show-only" => show_only.push(value()),
            "--name-template" => name_template = Some(value()),
            "--set" => options.values.set.push(value()),
            "--set-string" => options.values.set_string.push(value()),
            "--set-json" => options.values.json.push(value()),
            "--set-literal" => options.values.set_literal.push(value()),
            "--set-file" => {
                let setting = value();
                let path = setting.split_once('=').map_or("", |(_, path)| path).to_owned();
                if let Ok(content) = std::fs::read(folder.join(&path)) {
                    options.values.file_contents.insert(path, content);
                }
                options.values.set_file.push(setting);
            }
            "-f" | "--values" => {
                let path = value();
                let content =
                    std::fs::read(folder.join(&path)).map_err(|error| error.to_string())?;
                options.values.files.push((path, content));
            }
            _ if flag.starts_with('-') => return Err(format!("unknown flag {flag}")),
            _ => positional.push(word),
        }
    }
    if let Some(text) = name_template {
        options.release_name =
            helm::template_name(&text, &world()).map_err(|error| error.to_string())?;
    }
    let chart = folder.join(positional.pop().ok_or("no chart")?);
    if let Some(name) = positional.pop() {
        options.release_name = name;
    }
    Ok(Command { options, chart, show_only })
}

fn render(files: &dyn Files, options: &Options) -> Result<Rendered, String> {
    let chart = Chart::load(files).map_err(|error| error.to_string())?;
    helm::template(&chart, options, &world()).map_err(|error| error.to_string())
}

fn run(line: &str, folder: &Path) -> Result<String, String> {
    let command = command(line, folder)?;
    let rendered = render(&read_folder(&command.chart), &command.options)?;
    if command.show_only.is_empty() {
        return Ok(rendered.text());
    }
    rendered.show_only(&command.show_only).map_err(|error| error.to_string())
}

/// Prints the count and every failure, and fails if there is one.
fn report(suite: &str, total: usize, failures: &[String]) {
    for failure in failures {
        println!("{failure}\n");
    }
    println!("{suite}: {} of {total} cases pass", total - failures.len());
    assert!(failures.is_empty(), "{} cases of {suite} fail", failures.len());
}

/// The message alone: without what the command line puts around it.
fn message(text: &str) -> &str {
    let text = text.trim().strip_prefix("Error: ").unwrap_or(text.trim());
    text.strip_suffix("\n\nUse --debug flag to render out invalid YAML").unwrap_or(text)
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
                let want = expected_file("yaml");
                if text != want {
                    failures.push(format!("{name}: {}", first_difference(&want, &text)));
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

fn first_difference(want: &str, got: &str) -> String {
    for (index, pair) in want.lines().zip(got.lines()).enumerate() {
        if pair.0 != pair.1 {
            return format!("line {}:\n  want {:?}\n  got  {:?}", index + 1, pair.0, pair.1);
        }
    }
    format!("lengths differ: want {} bytes, got {}", want.len(), got.len())
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
        let body = format!(
            "{{{{- define \"case\" -}}}}{expression}{{{{- end -}}}}\nout: {{{{ include \"case\" . | toJson }}}}\n"
        );
        files.insert("templates/x.yaml", body);
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
