//! `cargo xtask bless`: asks the Go libraries again and records their answers.
//!
//! Each oracle is a small Go program of ours beside the crate it serves; the
//! recorded answers are checked in, so tests need no Go. A golden file is its own
//! list of questions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::shell::{output, root, stage};

/// Files that record where ours answers otherwise, or that are about refusals,
/// with the subject they ask about. The others are named after theirs.
const SUBJECTS: &[(&str, &str)] =
    &[("glob-differs", "glob-match"), ("yaml-broken", "yaml-read"), ("yaml-differs", "yaml-read")];

pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    for crate_name in ["gocompat", "template"] {
        let crate_folder = root().join("crates").join(crate_name);
        let oracle = built(&crate_folder.join("oracle"), crate_name)?;
        let files = golden_files(&crate_folder.join("tests/golden"))?;
        let asked = files.iter().try_for_each(|file| ask(&oracle, file));
        fs::remove_file(&oracle).context("could not take the oracle away")?;
        asked?;
    }
    let object = root().join("crates/object");
    let mut command = Command::new("go");
    command.args(["run", "."]).arg(openapi()?).arg(object.join("tests/golden"));
    stage("answers for object", command.current_dir(object.join("oracle")))
}

/// Compiles an oracle, outside of the checkout.
fn built(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::temp_dir().join(format!("argosy-oracle-{name}-{}", std::process::id()));
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(".").current_dir(folder);
    stage(&format!("the oracle of {name}"), &mut command)?;
    Ok(program)
}

fn golden_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    Ok(files)
}

/// Puts the questions of a file to the oracle, and its answers into the file.
fn ask(oracle: &Path, file: &Path) -> anyhow::Result<()> {
    let name = file.file_stem().and_then(|it| it.to_str()).context("a file without a name")?;
    let subject = SUBJECTS.iter().find(|(it, _)| *it == name).map_or(name, |(_, subject)| subject);
    let questions = File::open(file).with_context(|| format!("no {}", file.display()))?;
    let mut command = Command::new(oracle);
    let answers = output(command.arg(subject).stdin(questions))?;
    fs::write(file, answers).with_context(|| format!("could not write {}", file.display()))?;
    println!("answers for {name}");
    Ok(())
}

/// The schemas of Kubernetes' own kinds, in the sources of the control plane that tests run.
fn openapi() -> anyhow::Result<PathBuf> {
    let mut command = Command::new("go");
    command.args(["list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"]);
    command.current_dir(root().join("crates/devcluster/controlplane"));
    let sources = output(&mut command)?;
    Ok(Path::new(sources.trim()).join("api/openapi-spec/v3"))
}
