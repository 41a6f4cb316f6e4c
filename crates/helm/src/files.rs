//! Where a chart is read from: a folder of some tree, seen as paths and bytes.

use std::collections::BTreeMap;

/// A folder with everything below it. Paths are relative to it, with `/` between their parts.
pub trait Files {
    /// The paths of all regular files below the folder.
    fn paths(&self) -> Vec<String>;

    /// The content of a file, if it is there.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    /// Adds a file.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), content.into());
    }
}

impl<const N: usize> From<[(&str, &str); N]> for MemoryFiles {
    fn from(files: [(&str, &str); N]) -> Self {
        let files = files.into_iter();
        Self(files.map(|(path, content)| (path.to_owned(), content.into())).collect())
    }
}

impl Files for MemoryFiles {
    fn paths(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }
}
