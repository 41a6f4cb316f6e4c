//! Builds with the answers of the real Kustomize: how a case is written down,
//! and how the program is asked.
//!
//! A case is one file: the directory to build and flags of `kustomize build`
//! in the first line, then the files of the tree, each under a line
//! `-- name --`, and the answer under `-- expected.yaml --`, or a part of the
//! message under `-- error.txt --` if the build must fail. What is no text
//! stands in hexadecimal digits under `-- name (hex) --`. What an Application
//! changes, in the names that Argo CD has for it, stands under
//! `-- overrides.json --`. Each folder below `repositories` is a git repository
//! (branch `main`, tag `v1`), which kustomizations name as
//! `file:///repositories/NAME`.
//!
//! The program is named by `KUSTOMIZE`, and a Helm for it by `HELM`; `cargo
//! xtask oracle kustomize` sets both. With `BLESS` answers are written anew.

#![allow(clippy::print_stdout, reason = "the suites report their score")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::git::Repo;

/// A tree, what to build in it, and what comes out.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The directory to build.
    pub directory: String,
    /// Flags of the build.
    pub flags: Vec<String>,
    /// JSON; empty if the case has no overrides.
    pub overrides: String,
    /// Paths and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// What Kustomize says, if that is known.
    pub answer: Option<Answer>,
}

/// What a build comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The manifests.
    Manifests(String),
    /// The message, or the part of it that counts.
    Error(String),
}

impl Case {
    /// Reads the text of a case.
    pub fn read(text: &str) -> Self {
        let mut case = Self::default();
        let mut sections = text.split("\n-- ");
        let mut words = sections.next().unwrap_or_default().split_whitespace().map(str::to_owned);
        case.directory = words.next().unwrap_or_else(|| ".".to_owned());
        case.flags = words.collect();
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
                "overrides.json" => case.overrides = contents,
                "expected.yaml" => case.answer = Some(Answer::Manifests(contents)),
                "error.txt" => case.answer = Some(Answer::Error(contents.trim().to_owned())),
                _ => match name.strip_suffix(" (hex)") {
                    Some(name) => case.files.push((name.to_owned(), from_hex(&contents))),
                    None => case.files.push((name.to_owned(), contents.into_bytes())),
                },
            }
        }
        case
    }

    /// Compares an answer with the case's own.
    ///
    /// # Errors
    /// Where they differ, with the lines around the first difference.
    pub fn check(&self, found: &Answer) -> Result<(), String> {
        match (found, &self.answer) {
            (_, None) => Err("has no answer; `cargo xtask oracle kustomize --bless` asks".into()),
            (Answer::Manifests(found), Some(Answer::Manifests(expect))) => compare(found, expect),
            (Answer::Error(found), Some(Answer::Manifests(_))) => Err(format!("fails: {found}")),
            (Answer::Manifests(found), Some(Answer::Error(expect))) => {
                Err(format!("should fail: {expect}\n  but gives:\n{found}"))
            }
            (Answer::Error(found), Some(Answer::Error(expect))) => {
                if found.contains(expect) {
                    return Ok(());
                }
                Err(format!("other reason\n  found:    {found}\n  expected: {expect}"))
            }
        }
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let byte = |pair: &[u32]| u8::try_from(pair[0] * 16 + pair[1]).unwrap_or_default();
    digits.chunks_exact(2).map(byte).collect()
}

/// Says where two texts differ first.
///
/// # Errors
/// If they differ at all.
pub fn compare(found: &str, expect: &str) -> Result<(), String> {
    if found == expect {
        return Ok(());
    }
    let differs = found.lines().zip(expect.lines()).position(|(found, expect)| found != expect);
    let at = differs.unwrap_or_else(|| found.lines().count().min(expect.lines().count()));
    let around = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(4)).take(9);
        lines.map(|line| format!("    {line}\n")).collect::<String>()
    };
    let (line, found, expect) = (at + 1, around(found), around(expect));
    Err(format!("differs at line {line}\n  found:\n{found}  expected:\n{expect}"))
}

/// A change to the kustomization file before the build.
pub enum Edit {
    /// `kustomize edit` with these words.
    Command(Vec<String>),
    /// A change of the file's text.
    Text(Box<dyn Fn(&str) -> String>),
}

/// The real Kustomize.
#[derive(Clone, Debug)]
pub struct Program {
    kustomize: PathBuf,
    helm: Option<PathBuf>,
}

impl Program {
    /// The program that the environment names.
    pub fn from_environment() -> Option<Self> {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Some(Self { kustomize: path("KUSTOMIZE")?, helm: path("HELM") })
    }

    /// What it says to a case after the edits.
    pub fn answer(&self, case: &Case, edits: &[Edit]) -> Answer {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().canonicalize().expect("the folder exists");
        let repositories = Repositories::of(case);
        for (name, contents) in &case.files {
            write_file(&folder, name, &repositories.at_their_places(contents));
        }
        let output = self.run(case, edits, &folder.join(&case.directory));
        if output.status.success() {
            return Answer::Manifests(repositories.by_their_names(&output.stdout));
        }
        let error = repositories.by_their_names(&output.stderr);
        Answer::Error(reason(&error, &folder.to_string_lossy()))
    }

    fn run(&self, case: &Case, edits: &[Edit], directory: &Path) -> Output {
        for edit in edits {
            match edit {
                Edit::Text(change) => change_file(directory, change),
                Edit::Command(words) => {
                    let output = self.start(directory, &[OsStr::new("edit")], words);
                    if !output.status.success() {
                        return output;
                    }
                }
            }
        }
        let mut flags = case.flags.clone();
        if let Some(helm) = &self.helm {
            flags.push(format!("--helm-command={}", helm.display()));
        }
        self.start(directory, &[OsStr::new("build"), directory.as_os_str()], &flags)
    }

    fn start(&self, directory: &Path, first: &[&OsStr], words: &[String]) -> Output {
        Command::new(&self.kustomize)
            .args(first)
            .args(words)
            .current_dir(directory)
            .output()
            .expect("the program named by KUSTOMIZE starts")
    }
}

fn write_file(folder: &Path, name: &str, contents: &[u8]) {
    let file = folder.join(name);
    fs::create_dir_all(file.parent().expect("it is below the folder")).expect("a folder");
    fs::write(file, contents).expect("a temporary file");
}

/// The git repositories of a case, each with the address the case has for it.
struct Repositories(BTreeMap<String, Repo>);

impl Repositories {
    fn of(case: &Case) -> Self {
        let mut it = Self(BTreeMap::new());
        let below = |name: &str| {
            let (repository, path) = name.strip_prefix("repositories/")?.split_once('/')?;
            Some((format!("file:///repositories/{repository}"), path.to_owned()))
        };
        for (address, _) in case.files.iter().filter_map(|(name, _)| below(name)) {
            it.0.entry(address).or_default();
        }
        // They may name each other, so that all must exist before any is filled.
        for (name, contents) in &case.files {
            if let Some((address, path)) = below(name) {
                write_file(it.0[&address].path(), &path, &it.at_their_places(contents));
            }
        }
        for repo in it.0.values() {
            repo.commit_all();
            repo.tag("v1");
        }
        it
    }

    fn at_their_places(&self, contents: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(contents) else { return contents.to_vec() };
        let places = self.0.iter();
        places
            .fold(text.to_owned(), |text, (address, repo)| text.replace(address, &repo.file_url()))
            .into_bytes()
    }

    fn by_their_names(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text).into_owned();
        self.0.iter().fold(text, |text, (address, repo)| {
            let path = address.strip_prefix("file://").unwrap_or(address);
            let text = text.replace(&repo.file_url(), address);
            text.replace(&repo.path().display().to_string(), path)
        })
    }
}

fn change_file(directory: &Path, change: &dyn Fn(&str) -> String) {
    let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
    let Some(file) = names.iter().map(|name| directory.join(name)).find(|it| it.exists()) else {
        return;
    };
    let text = fs::read_to_string(&file).expect("it was written a moment ago");
    fs::write(&file, change(&text)).expect("a temporary file");
}

/// The message in our terms: paths from the root of the tree, no addresses.
fn reason(text: &str, root: &str) -> String {
    let text = text.split("Error: ").last().unwrap_or_default();
    let text = text.split("\nUsage:").next().unwrap_or_default();
    let mut text = text.replace(&format!("{root}/"), "/").replace(root, "/");
    text = without_clones(&text);
    while let Some(start) = text.find("evalsymlink failure on ") {
        const END: &str = ": no such file or directory";
        let Some(length) = text[start..].find(END) else { break };
        let end = start + length + END.len();
        let path = text[start..end].split('\'').nth(1).unwrap_or_default().to_owned();
        text.replace_range(start..end, &format!("'{path}' doesn't exist"));
    }
    if let Some(start) = text.find(" &{0x")
        && let Some(end) = text[start..].find('}')
    {
        text.replace_range(start..=start + end, "");
    }
    text.trim().to_owned()
}

/// Without the temporary folders into which repositories are cloned.
fn without_clones(text: &str) -> String {
    let clones = format!("{}/kustomize-", std::env::temp_dir().display());
    let mut parts = text.split(&clones);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        out.push_str(if rest.starts_with('/') { "" } else { "/" });
        out.push_str(rest);
    }
    out
}

/// The cases of a folder, by name.
pub fn cases(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    let mut found: Vec<(String, PathBuf)> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    found.sort();
    found
}

/// Checks every case of a folder: our answer against the recorded one, and the
/// recorded one against the program's if there is one.
///
/// # Panics
/// With all differences, if there are any.
pub fn check_all(
    folder: &Path,
    ours: impl Fn(&Case) -> Answer,
    edits: impl Fn(&Case) -> Vec<Edit>,
) {
    let program = Program::from_environment();
    let blesses = program.is_some() && std::env::var_os("BLESS").is_some();
    let cases = cases(folder);
    assert!(!cases.is_empty(), "there are no cases in {}", folder.display());
    let mut differences = String::new();
    let mut failed = 0;
    let mut written = 0;
    for (name, path) in &cases {
        let text = fs::read_to_string(path).expect("a case is a readable file");
        let mut case = Case::read(&text);
        let mut problems = Vec::new();
        if let Some(program) = &program {
            let answer = program.answer(&case, &edits(&case));
            if let Err(difference) = case.check(&answer) {
                if blesses {
                    fs::write(path, with_answer(&text, &answer)).expect("the corpus is writable");
                    case.answer = Some(answer);
                    written += 1;
                } else {
                    problems.push(format!("the recorded answer is not Kustomize's: {difference}"));
                }
            }
        }
        problems.extend(case.check(&ours(&case)).err());
        for problem in &problems {
            writeln!(differences, "{name}: {problem}\n").expect("a string takes all");
        }
        failed += usize::from(!problems.is_empty());
    }
    let asked = if program.is_some() { ", the real program asked" } else { "" };
    println!("{}: {} of {} cases pass{asked}", folder.display(), cases.len() - failed, cases.len());
    if written > 0 {
        println!("{written} answers written");
    }
    assert!(failed == 0, "{failed} cases fail:\n{differences}");
}

/// The text of a case with another answer.
fn with_answer(text: &str, answer: &Answer) -> String {
    let cut = ["\n-- expected.yaml --\n", "\n-- error.txt --\n"];
    let end = cut.iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
    let head = text[..end].trim_end_matches('\n');
    match answer {
        Answer::Manifests(text) => format!("{head}\n-- expected.yaml --\n{text}"),
        Answer::Error(text) => format!("{head}\n-- error.txt --\n{text}\n"),
    }
}
