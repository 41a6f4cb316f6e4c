//! A tree made in a test, or from files that came by another way than git.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{ContentId, Entry, EntryKind, Tree, TreeError, TreePath};

/// A tree held in memory. Directories exist because something is in them.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    leaves: BTreeMap<TreePath, Leaf>,
}

#[derive(Clone, Debug)]
struct Leaf {
    kind: EntryKind,
    content: Bytes,
    executable: bool,
}

impl MemoryTree {
    /// A tree with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file. A path that is none is a mistake of the caller.
    #[must_use]
    pub fn file(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.leaf(path, EntryKind::File, content.into(), false)
    }

    /// Adds or replaces a file that may be executed.
    #[must_use]
    pub fn program(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.leaf(path, EntryKind::File, content.into(), true)
    }

    /// Adds or replaces a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.leaf(path, EntryKind::Symlink, target.as_bytes().to_vec(), false)
    }

    /// How much all files have together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.leaves.iter().map(|(path, it)| (path.as_str().len() + it.content.len()) as u64).sum()
    }

    fn leaf(mut self, path: &str, kind: EntryKind, content: Vec<u8>, executable: bool) -> Self {
        let path = TreePath::parse(path).expect("a path inside the tree");
        self.leaves.insert(path, Leaf { kind, content: content.into(), executable });
        self
    }

    /// Everything below a directory: what begins with its name and a slash
    /// stands together.
    fn below<'t>(&'t self, path: &TreePath) -> impl Iterator<Item = (TreePath, &'t Leaf)> {
        let path = path.clone();
        let first = if path.is_root() { path.clone() } else { path.child("") };
        let leaves = self.leaves.range(first..);
        leaves.map_while(move |(leaf, it)| Some((leaf.below(&path)?, it)))
    }

    fn is_directory(&self, path: &TreePath) -> bool {
        path.is_root() || self.below(path).next().is_some()
    }
}

impl Tree for MemoryTree {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        if let Some(Leaf { kind, content, executable }) = self.leaves.get(path) {
            let id = ContentId::from_digest(&Sha256::digest(content));
            return Ok(Some(Entry { kind: *kind, id, executable: *executable }));
        }
        let directory = Entry {
            kind: EntryKind::Directory,
            id: ContentId::from_digest(&[]),
            executable: false,
        };
        Ok(self.is_directory(path).then_some(directory))
    }

    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError> {
        if !self.is_directory(path) {
            return Ok(None);
        }
        let names = self.below(path).filter_map(|(below, leaf)| {
            let mut names = below.names();
            let first = names.next()?.to_owned();
            Some((first, if names.next().is_some() { EntryKind::Directory } else { leaf.kind }))
        });
        Ok(Some(names.collect::<BTreeSet<_>>().into_iter().collect()))
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        let Some(Leaf { content, .. }) = self.leaves.get(path) else { return Ok(None) };
        let size = content.len() as u64;
        if size > limit {
            return Err(TreeError::TooLarge { path: path.clone(), size, limit });
        }
        Ok(Some(content.clone()))
    }
}
