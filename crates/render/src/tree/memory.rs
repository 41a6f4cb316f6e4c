//! A tree made in a test, or from files that came by another way than git.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{ContentId, Entry, EntryKind, Tree, TreeError, TreePath};

/// A tree held in memory. Directories exist because something is in them.
#[derive(Clone, Debug, Default)]
pub struct MemoryTree {
    leaves: BTreeMap<TreePath, (EntryKind, Bytes)>,
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
        self.leaf(path, EntryKind::File, content.into())
    }

    /// Adds or replaces a symbolic link.
    #[must_use]
    pub fn link(self, path: &str, target: &str) -> Self {
        self.leaf(path, EntryKind::Symlink, target.as_bytes().to_vec())
    }

    fn leaf(mut self, path: &str, kind: EntryKind, content: Vec<u8>) -> Self {
        let path = TreePath::parse(path).expect("a path inside the tree");
        self.leaves.insert(path, (kind, content.into()));
        self
    }

    fn is_directory(&self, path: &TreePath) -> bool {
        path.is_root() || self.leaves.keys().any(|leaf| leaf != path && leaf.below(path).is_some())
    }
}

impl Tree for MemoryTree {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        if let Some((kind, content)) = self.leaves.get(path) {
            let id = ContentId::from_digest(&Sha256::digest(content));
            return Ok(Some(Entry { kind: *kind, id, executable: false }));
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
        let names = self.leaves.iter().filter_map(|(leaf, (kind, _))| {
            let below = leaf.below(path)?;
            let mut names = below.names();
            let first = names.next()?.to_owned();
            Some((first, if names.next().is_some() { EntryKind::Directory } else { *kind }))
        });
        Ok(Some(names.collect::<BTreeSet<_>>().into_iter().collect()))
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        let Some((_, content)) = self.leaves.get(path) else { return Ok(None) };
        let size = content.len() as u64;
        if size > limit {
            return Err(TreeError::TooLarge { path: path.clone(), size, limit });
        }
        Ok(Some(content.clone()))
    }
}
