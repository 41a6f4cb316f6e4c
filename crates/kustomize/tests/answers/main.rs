//! Our answers beside those of Kustomize 5.8.1.
//!
//! The corpus has recorded answers, so these tests need no Kustomize. With one
//! (`cargo xtask oracle kustomize`) the recorded answers are checked as well,
//! and overlays made at random are built by both.

#![allow(clippy::print_stdout, reason = "the suite reports its score")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the cases are files")]

mod overlays;
mod overrides;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;
use kustomize::{
    Files, LoadRestrictions, MemoryFiles, NoRemote, Options, Remote, RemoteBase, RemoteError,
    Reorder, build,
};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use testkit::kustomize::{Answer, Case, Program, check_all};

#[test]
fn every_case_of_the_corpus_gives_kustomizes_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    check_all(&folder, ours, |case| overrides::edits(&overrides::read(&case.overrides)));
}

/// How many, and from which seed, is for `KUSTOMIZE_RANDOM` to say: `500` or
/// `500:7`.
#[test]
fn overlays_made_at_random_give_kustomizes_answer() {
    let Some(program) = Program::from_environment() else {
        println!("no Kustomize to compare with; `cargo xtask oracle kustomize` brings one");
        return;
    };
    let wish = std::env::var("KUSTOMIZE_RANDOM").unwrap_or_default();
    let (count, seed) = wish.split_once(':').unwrap_or((&wish, "1"));
    let count = count.parse().unwrap_or(200);
    let seed: u64 = seed.parse().unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = overlays::overlay();
    let (mut built, mut refused) = (0, 0);
    let mut reasons = BTreeMap::new();
    let mut differences = Vec::new();
    for number in 0..count {
        let files = strategy.new_tree(&mut runner).expect("nothing is filtered out").current();
        let mut case = Case { directory: "overlay".to_owned(), files, ..Case::default() };
        let mut answer = program.answer(&case, &[]);
        match &mut answer {
            Answer::Manifests(_) => built += 1,
            Answer::Error(reason) => {
                refused += 1;
                cut_dump(reason);
                let end = reason.rsplit(": ").next().unwrap_or_default();
                *reasons.entry(end.chars().take(50).collect::<String>()).or_insert(0) += 1;
            }
        }
        case.answer = Some(answer);
        if let Err(difference) = case.check(&ours(&case)) {
            differences.push(format!("overlay {number}: {difference}\n{}", shown(&case)));
        }
    }
    println!(
        "{count} overlays from seed {seed}: {built} built, {refused} refused, {} differ",
        differences.len()
    );
    println!("refused with: {reasons:#?}");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Some messages go on with whole resources in Go's notation; ours name them.
fn cut_dump(reason: &mut String) {
    if let Some(rest) = reason.strip_prefix("map[string]interface {}(nil): ") {
        *reason = rest.to_owned();
    }
    // Warnings may stand before it.
    if let Some((_, rest)) = reason.split_once("panic: ") {
        *reason = rest.to_owned();
    }
    for dump in [
        "\n\ngoroutine",
        "json: unsupported type",
        ": [{\"apiVersion",
        " [{\"apiVersion",
        "map[string]interface {}{",
    ] {
        if let Some(at) = reason.find(dump) {
            reason.truncate(at);
        }
    }
}

fn shown(case: &Case) -> String {
    let files = case.files.iter();
    files.map(|(name, text)| format!("-- {name} --\n{}", String::from_utf8_lossy(text))).collect()
}

fn ours(case: &Case) -> Answer {
    let tree: MemoryFiles =
        case.files.iter().map(|(name, contents)| (name.clone(), contents.clone())).collect();
    let overrides = overrides::read(&case.overrides);
    match build(&tree, &case.directory, &overrides, &options(&case.flags), &Repositories(case)) {
        Ok(output) => Answer::Manifests(output.text),
        Err(error) => Answer::Error(error.chain()),
    }
}

/// The folders of a case that stand for git repositories.
struct Repositories<'c>(&'c Case);

impl Remote for Repositories<'_> {
    fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn Files>, RemoteError> {
        let missing = || RemoteError::Refused(format!("there is no {}", base.clone_url));
        let name = base.clone_url.strip_prefix("file:///").ok_or_else(missing)?;
        let folder = format!("{name}/");
        let tree: MemoryFiles = self
            .0
            .files
            .iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(&folder)?.to_owned(), text.clone())))
            .collect();
        let has_revision = matches!(base.reference.as_str(), "" | "main" | "v1");
        if tree.is_dir("") && has_revision { Ok(Rc::new(tree)) } else { Err(missing()) }
    }

    fn file(&self, url: &str) -> Result<Bytes, RemoteError> {
        NoRemote.file(url)
    }
}

fn options(flags: &[String]) -> Options<'static> {
    let mut options = Options::default();
    for (at, flag) in flags.iter().enumerate() {
        let value = flags.get(at + 1).map_or("", String::as_str);
        match flag.as_str() {
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
