//! The shared cases: 218 builds with the exact output of Kustomize 5.8.1.
//!
//! The folder is named by `ARGOSY_CASES`; without it there is nothing to check.

#![allow(clippy::print_stdout, reason = "the suite reports its score")]
#![allow(clippy::disallowed_methods, reason = "the cases are files")]

use std::path::{Path, PathBuf};

use kustomize::{LoadRestrictions, MemoryFiles, NoRemote, Options, Overrides, Reorder, build};

#[test]
fn builds_print_what_kustomize_prints() {
    let folder = std::env::var("ARGOSY_CASES").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases"),
        PathBuf::from,
    );
    let folder = folder.join("kustomize");
    let Ok(table) = std::fs::read_to_string(folder.join("cases.tsv")) else {
        println!("no shared cases at {}", folder.display());
        return;
    };
    let cases: Vec<&str> = table.lines().skip(1).filter(|line| !line.is_empty()).collect();
    let mut failures = Vec::new();
    for case in &cases {
        if let Err(problem) = check(&folder, case) {
            failures.push(problem);
        }
    }
    for failure in &failures {
        println!("{failure}\n");
    }
    println!("SUITE: {} of {} cases pass", cases.len() - failures.len(), cases.len());
    assert!(failures.is_empty(), "{} shared cases fail", failures.len());
}

fn check(folder: &Path, case: &str) -> Result<(), String> {
    let mut columns = case.split('\t');
    let [name, directory, flags, result] = [(); 4].map(|()| columns.next().unwrap_or_default());
    let input = folder.join(name).join("input");
    let mut tree = MemoryFiles::default();
    collect(&input, &input, &mut tree);
    let directory = if directory == "." { "" } else { directory };
    let output = build(&tree, directory, &Overrides::default(), &options(flags), &NoRemote);
    match (result, output) {
        ("error", Err(_)) => Ok(()),
        ("error", Ok(_)) => {
            let reason = std::fs::read_to_string(folder.join(name).join("error.txt"));
            Err(format!("{name}: should fail: {}", reason.unwrap_or_default()))
        }
        (_, Err(error)) => Err(format!("{name}: {}", error.chain())),
        (_, Ok(output)) => {
            let expect = std::fs::read_to_string(folder.join(name).join("expected.yaml"));
            compare(name, &output.text, &expect.map_err(|error| error.to_string())?)
        }
    }
}

fn compare(name: &str, found: &str, expect: &str) -> Result<(), String> {
    if found == expect {
        return Ok(());
    }
    let differs = found.lines().zip(expect.lines()).position(|(found, expect)| found != expect);
    let at = differs.unwrap_or_else(|| found.lines().count().min(expect.lines().count()));
    let around = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(3)).take(8);
        lines.map(|line| format!("    {line}\n")).collect::<String>()
    };
    Err(format!(
        "{name}: differs at line {}\n  found:\n{}  expected:\n{}",
        at + 1,
        around(found),
        around(expect)
    ))
}

fn options(flags: &str) -> Options<'static> {
    let mut options = Options::default();
    let words: Vec<&str> = flags.split_whitespace().collect();
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

fn collect(root: &Path, folder: &Path, tree: &mut MemoryFiles) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, tree);
        } else if let (Ok(name), Ok(bytes)) = (path.strip_prefix(root), std::fs::read(&path)) {
            tree.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
}
