//! The corpus on disk: charts as folders, tables with escaped cells; and how answers are compared.

use std::path::{Path, PathBuf};

use helm::{Files as _, MemoryFiles};

/// What `helm template` prints, or its message.
pub(crate) type Answer = Result<String, String>;

/// The folder of everything recorded.
pub(crate) fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// A chart as a folder on disk holds it.
pub(crate) fn read_folder(folder: &Path) -> MemoryFiles {
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

/// The other way round, for the real Helm.
pub(crate) fn write_folder(files: &MemoryFiles, folder: &Path) {
    for path in files.paths() {
        let target = folder.join(&path);
        let parent = target.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(parent).expect("a scratch folder");
        std::fs::write(target, files.read(&path).unwrap_or_default()).expect("a scratch file");
    }
}

/// Cells hold `\n`, `\t` and `\\` for line feed, tab and backslash.
pub(crate) fn unescape(cell: &str) -> String {
    let mut out = String::new();
    let mut chars = cell.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('\\') => out.push('\\'),
                // A backslash of a command line itself.
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

/// Where two answers differ: the document first, then the line.
pub(crate) fn difference(want: &Answer, got: &Answer) -> Option<String> {
    match (want, got) {
        (Ok(want), Ok(got)) if want == got => None,
        (Err(want), Err(got)) if comparable(want) == comparable(got) => None,
        (Ok(want), Ok(got)) => Some(first_difference(want, got)),
        (want, got) => Some(format!("  want {want:?}\n  got  {got:?}")),
    }
}

/// A message without what Go's maps make random: the order of several complaints about one schema.
fn comparable(message: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = message.trim_end().lines().collect();
    if message.starts_with("values don't meet") {
        lines.sort_unstable();
    }
    lines
}

fn first_difference(want: &str, got: &str) -> String {
    let documents = |text: &str| -> Vec<String> {
        text.split("---\n").map(str::to_owned).filter(|it| !it.is_empty()).collect()
    };
    let (wanted, gotten) = (documents(want), documents(got));
    for (number, (want, got)) in wanted.iter().zip(&gotten).enumerate() {
        for (line, (want, got)) in want.split('\n').zip(got.split('\n')).enumerate() {
            if want != got {
                return format!(
                    "  document {}, line {}:\n  want {want:?}\n  got  {got:?}",
                    number + 1,
                    line + 1
                );
            }
        }
        if want != got {
            return format!("  document {} ends otherwise: {want:?}, got {got:?}", number + 1);
        }
    }
    format!("  {} documents, got {}", wanted.len(), gotten.len())
}

/// Prints the count and every failure, and fails if there is one.
#[track_caller]
pub(crate) fn report(suite: &str, total: usize, failures: &[String]) {
    for failure in failures {
        println!("{failure}\n");
    }
    println!("{suite}: {} of {total} as Helm", total - failures.len());
    assert!(failures.is_empty(), "{} of {suite} differ", failures.len());
}
