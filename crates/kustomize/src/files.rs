//! The ports through which a build sees files, and the limits it keeps.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

/// A tree of files. Paths are relative to its root, with `/` between names and
/// without `.`, `..` or a leading `/`; the root itself is the empty path.
pub trait Files {
    /// The contents of a file; `None` if there is none at this path.
    fn read(&self, path: &str) -> Option<Bytes>;

    /// Is there a directory at this path?
    fn is_dir(&self, path: &str) -> bool;

    /// Every file below a directory, seen from it, links followed.
    fn below(&self, directory: &str) -> Vec<String>;

    /// The path with symbolic links resolved; `None` if there is nothing, or
    /// if a link leads out of the tree. Trees without links keep this.
    fn real_path(&self, path: &str) -> Option<String> {
        Some(path.to_owned())
    }
}

/// Files in memory: for tests, and for trees that are small anyway.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, Bytes>,
}

impl MemoryFiles {
    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, contents: impl Into<Bytes>) {
        self.files.insert(path.into(), contents.into());
    }
}

impl<P: Into<String>, C: Into<Bytes>> FromIterator<(P, C)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        let files = files.into_iter().map(|(path, contents)| (path.into(), contents.into()));
        Self { files: files.collect() }
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> Option<Bytes> {
        self.files.get(path).cloned()
    }

    fn is_dir(&self, path: &str) -> bool {
        if path.is_empty() {
            return true;
        }
        let prefix = format!("{path}/");
        let next = self.files.range(prefix.clone()..).next();
        next.is_some_and(|(file, _)| file.starts_with(&prefix))
    }

    fn below(&self, directory: &str) -> Vec<String> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let files = self.files.range(prefix.clone()..).map(|(file, _)| file);
        files.map_while(|file| file.strip_prefix(&prefix)).map(str::to_owned).collect()
    }
}

/// How much a build may read and make.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Kustomizations one inside the other.
    pub depth: usize,
    /// Files read, each reading counted.
    pub files: usize,
    /// Bytes of all files read.
    pub bytes: usize,
    /// Resources in the build.
    pub resources: usize,
    /// Bytes of the printed result, and bytes that replacements copy.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, files: 50_000, bytes: 256 << 20, resources: 50_000, output: 256 << 20 }
    }
}

/// A limit that a build went over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// More nested kustomizations than allowed.
    Depth(usize),
    /// More files than allowed.
    Files(usize),
    /// More bytes read than allowed.
    Bytes(usize),
    /// More resources than allowed.
    Resources(usize),
    /// A larger result than allowed.
    Output(usize),
    /// More bytes copied by replacements than allowed.
    Copies(usize),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(limit) => write!(f, "more than {limit} kustomizations inside each other"),
            Self::Files(limit) => write!(f, "more than {limit} files read"),
            Self::Bytes(limit) => write!(f, "more than {limit} bytes read"),
            Self::Resources(limit) => write!(f, "more than {limit} resources"),
            Self::Copies(limit) => write!(f, "replacements copy more than {limit} bytes"),
            Self::Output(limit) => write!(f, "a result of more than {limit} bytes"),
        }
    }
}

/// Joins and cleans; `None` if the path leads above the root.
pub(crate) fn join(base: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let whole = [if path.starts_with('/') { "" } else { base }, path];
    for name in whole.iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Files as _, MemoryFiles, join};

    #[test]
    fn paths_are_cleaned_and_stay_in_the_tree() {
        for (base, path, expect) in [
            ("a/b", "../c/./d", Some("a/c/d")),
            ("", "x", Some("x")),
            ("a", "..", Some("")),
            ("a", "../..", None),
            ("a", "/b", Some("b")),
        ] {
            assert_eq!(join(base, path).as_deref(), expect);
        }
    }

    #[test]
    fn a_directory_is_what_has_files_in_it() {
        let files: MemoryFiles = [("a/b/c", "")].into_iter().collect();
        assert!(files.is_dir("") && files.is_dir("a") && files.is_dir("a/b"));
        assert!(!files.is_dir("a/b/c") && !files.is_dir("a/bb"));
    }
}
