//! Our own cases, with the answers of Kustomize 5.8.1.
//!
//! A case is one file: the arguments of `kustomize build` in the first line,
//! then the files of the tree, each under a line `-- name --`, and the answer
//! under `-- expected.yaml --`, or a part of the message under
//! `-- error.txt --` if the build must fail. What is no text stands in
//! hexadecimal digits under `-- name (hex) --`. Overrides, in the names that
//! Argo CD gives them, stand under `-- overrides.json --`.
//!
//! To record the answer of a new case, name the real program in `KUSTOMIZE`
//! and run the tests; answers that are there are compared, never changed.

#![allow(clippy::print_stdout, reason = "the suite reports its score")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the cases are files")]

use std::path::{Path, PathBuf};
use std::process::Command;

use kustomize::{
    LoadRestrictions, MemoryFiles, NoRemote, Options, Overrides, Reorder, ReplicaOverride, build,
};

#[test]
fn every_case_of_the_corpus_gives_kustomizes_answer() {
    let folder = std::env::var("KUSTOMIZE_CORPUS")
        .map_or_else(|_| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), PathBuf::from);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|it| it.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "there are no cases in {}", folder.display());
    let failures: Vec<String> = paths.iter().filter_map(|path| check(path).err()).collect();
    for failure in &failures {
        println!("{failure}\n");
    }
    println!("CORPUS: {} of {} cases pass", paths.len() - failures.len(), paths.len());
    assert!(failures.is_empty(), "{} cases fail", failures.len());
}

/// A case as read from its file.
#[derive(Default)]
struct Case {
    arguments: String,
    overrides: serde_json::Value,
    files: Vec<(String, Vec<u8>)>,
    expected: Option<String>,
    reason: Option<String>,
}

impl Case {
    fn read(text: &str) -> Self {
        let mut case = Self::default();
        let mut sections = text.split("\n-- ");
        sections.next().unwrap_or_default().trim().clone_into(&mut case.arguments);
        for section in sections {
            let (name, contents) = section.split_once(" --\n").unwrap_or((section, ""));
            // The line break before the next section belongs to this one.
            let contents =
                if contents.is_empty() { String::new() } else { format!("{contents}\n") };
            let contents = if contents.ends_with("\n\n") && text.ends_with(section) {
                contents.trim_end_matches('\n').to_owned() + "\n"
            } else {
                contents
            };
            match name {
                "overrides.json" => {
                    case.overrides = serde_json::from_str(&contents).expect("overrides are JSON");
                }
                "expected.yaml" => case.expected = Some(contents),
                "error.txt" => case.reason = Some(contents.trim().to_owned()),
                _ => match name.strip_suffix(" (hex)") {
                    Some(name) => case.files.push((name.to_owned(), from_hex(&contents))),
                    None => case.files.push((name.to_owned(), contents.into_bytes())),
                },
            }
        }
        case
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).unwrap_or_default();
    digits.chunks_exact(2).map(byte).collect()
}

fn check(path: &Path) -> Result<(), String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    let mut case = Case::read(&text);
    if case.expected.is_none() && case.reason.is_none() {
        case = record(path, &text, &case)?;
    }
    let mut words: Vec<&str> = case.arguments.split_whitespace().collect();
    let directory = if words.is_empty() { "." } else { words.remove(0) };
    let tree: MemoryFiles =
        case.files.iter().map(|(name, contents)| (name.clone(), contents.clone())).collect();
    let overrides = overrides(&case.overrides);
    let output = build(&tree, directory, &overrides, &options(&words), &NoRemote);
    match (output, case.expected, case.reason) {
        (Ok(output), Some(expected), _) => compare(&name, &output.text, &expected),
        (Err(error), Some(_), _) => Err(format!("{name}: fails: {}", error.chain())),
        (Ok(output), None, reason) => Err(format!(
            "{name}: should fail: {}\n  but gives:\n{}",
            reason.unwrap_or_default(),
            output.text
        )),
        (Err(error), None, reason) => {
            let (chain, reason) = (error.chain(), reason.unwrap_or_default());
            if chain.contains(&reason) {
                return Ok(());
            }
            Err(format!("{name}: other reason\n  found:    {chain}\n  expected: {reason}"))
        }
    }
}

/// Asks the real program and adds its answer to the file.
fn record(path: &Path, text: &str, case: &Case) -> Result<Case, String> {
    let Ok(program) = std::env::var("KUSTOMIZE") else {
        return Err(format!("{} has no answer; set KUSTOMIZE to record it", path.display()));
    };
    let root = std::env::temp_dir().join(format!("kustomize-corpus-{}", std::process::id()));
    for (name, contents) in &case.files {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(&root)).expect("a temporary folder");
        std::fs::write(file, contents).expect("a temporary file");
    }
    let mut words: Vec<&str> = case.arguments.split_whitespace().collect();
    let directory = if words.is_empty() { "." } else { words.remove(0) };
    let mut output = None;
    for edit in edits(&overrides(&case.overrides)) {
        let edited = Command::new(&program)
            .arg("edit")
            .args(edit)
            .current_dir(root.join(directory))
            .output()
            .expect("the program named by KUSTOMIZE starts");
        if !edited.status.success() {
            output = Some(edited);
            break;
        }
    }
    let output = output.unwrap_or_else(|| {
        Command::new(&program)
            .arg("build")
            .args(&words)
            .arg(root.join(directory))
            .output()
            .expect("the program named by KUSTOMIZE starts")
    });
    let answer = if output.status.success() {
        format!("-- expected.yaml --\n{}", String::from_utf8_lossy(&output.stdout))
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("-- error.txt --\n{}", reason(&error, &root.to_string_lossy()))
    };
    std::fs::remove_dir_all(&root).expect("the temporary folder is ours");
    let separator = if text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{separator}{answer}");
    std::fs::write(path, &text).expect("the corpus is writable");
    Ok(Case::read(&text))
}

fn overrides(value: &serde_json::Value) -> Overrides {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let flag = |name: &str| value[name].as_bool().unwrap_or_default();
    let list = |name: &str| {
        let items = value[name].as_array().into_iter().flatten();
        items.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
    };
    let map = |name: &str| {
        let entries = value[name].as_object().into_iter().flatten();
        entries.map(|(key, it)| (key.clone(), it.as_str().unwrap_or_default().to_owned())).collect()
    };
    let replicas = value["replicas"].as_array().into_iter().flatten();
    Overrides {
        name_prefix: text("namePrefix"),
        name_suffix: text("nameSuffix"),
        namespace: text("namespace"),
        images: list("images"),
        replicas: replicas
            .map(|it| ReplicaOverride {
                name: it["name"].as_str().unwrap_or_default().to_owned(),
                count: it["count"].as_i64().unwrap_or_default(),
            })
            .collect(),
        common_labels: map("commonLabels"),
        force_common_labels: flag("forceCommonLabels"),
        label_without_selector: flag("labelWithoutSelector"),
        label_include_templates: flag("labelIncludeTemplates"),
        common_annotations: map("commonAnnotations"),
        force_common_annotations: flag("forceCommonAnnotations"),
        patches: Vec::new(),
        components: list("components"),
        ignore_missing_components: flag("ignoreMissingComponents"),
    }
}

/// The `kustomize edit` commands that Argo CD would run.
fn edits(it: &Overrides) -> Vec<Vec<String>> {
    let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut edits = Vec::new();
    for (field, value) in [
        ("nameprefix", &it.name_prefix),
        ("namesuffix", &it.name_suffix),
        ("namespace", &it.namespace),
    ] {
        if !value.is_empty() {
            edits.push(command(&["set", field, "--", value]));
        }
    }
    let mut add = |words: &[&str], more: Vec<String>| {
        if !more.is_empty() {
            edits.push(command(words).into_iter().chain(more).collect());
        }
    };
    add(&["set", "image"], it.images.clone());
    let replicas = it.replicas.iter().map(|it| format!("{}={}", it.name, it.count));
    add(&["set", "replicas"], replicas.collect());
    let mut label = vec!["add", "label"];
    label.extend(it.force_common_labels.then_some("--force"));
    label.extend(it.label_without_selector.then_some("--without-selector"));
    label.extend(it.label_include_templates.then_some("--include-templates"));
    let pairs = |map: &std::collections::BTreeMap<String, String>| {
        map.iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>()
    };
    add(&label, pairs(&it.common_labels));
    let mut annotation = vec!["add", "annotation"];
    annotation.extend(it.force_common_annotations.then_some("--force"));
    add(&annotation, pairs(&it.common_annotations));
    add(&["add", "component"], it.components.clone());
    edits
}

/// The message in our terms: paths from the root of the tree, no addresses.
fn reason(text: &str, root: &str) -> String {
    let text = text.split("Error: ").last().unwrap_or_default();
    let text = text.split("\nUsage:").next().unwrap_or_default();
    let mut text = text.replace(&format!("{root}/"), "/").replace(root, "/");
    while let Some(start) = text.find("evalsymlink failure on ") {
        let rest = &text[start..];
        let path = rest.split('\'').nth(1).unwrap_or_default().to_owned();
        let whole =
            format!("evalsymlink failure on '{path}' : lstat {path}: no such file or directory");
        text = text.replacen(&whole, &format!("'{path}' doesn't exist"), 1);
    }
    if let Some(start) = text.find(" &{0x")
        && let Some(end) = text[start..].find('}')
    {
        text.replace_range(start..=start + end, "");
    }
    text
}

fn compare(name: &str, found: &str, expect: &str) -> Result<(), String> {
    if found == expect {
        return Ok(());
    }
    let differs = found.lines().zip(expect.lines()).position(|(found, expect)| found != expect);
    let at = differs.unwrap_or_else(|| found.lines().count().min(expect.lines().count()));
    let around = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(4)).take(9);
        lines.map(|line| format!("    {line}\n")).collect::<String>()
    };
    let line = at + 1;
    Err(format!(
        "{name}: differs at line {line}\n  found:\n{}  expected:\n{}",
        around(found),
        around(expect)
    ))
}

fn options(words: &[&str]) -> Options {
    let mut options = Options::default();
    for (at, word) in words.iter().enumerate() {
        let value = words.get(at + 1).copied().unwrap_or_default();
        match *word {
            "--reorder" if value == "none" => options.reorder = Reorder::None,
            "--load-restrictor" if value == "LoadRestrictionsNone" => {
                options.load_restrictions = LoadRestrictions::None;
            }
            "--enable-managedby-label" => options.managed_by_label = true,
            _ => {}
        }
    }
    options
}
