//! A commit's tree, read object by object straight from the store.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gix::ObjectId;
use gix::objs::tree::EntryKind as GitKind;
use gix::prelude::FindExt as _;
use render::tree::{Changes, ContentId, Entry, EntryKind, Tree, TreeError, TreePath};

/// Entries of decoded trees to keep; about 100 bytes each.
const MAX_DECODED_ENTRIES: usize = 1_000_000;

/// The tree of one commit.
pub(crate) struct GitTree {
    repository: gix::Repository,
    root: ObjectId,
    decoded: Arc<DecodedTrees>,
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Child {
    name: String,
    id: ObjectId,
    kind: EntryKind,
    executable: bool,
}

/// An entry without its name.
struct Found {
    id: ObjectId,
    kind: EntryKind,
    executable: bool,
}

/// Directories decoded before, by object id: they never change, and a large
/// one near the root is on the way to every file.
#[derive(Debug, Default)]
pub(crate) struct DecodedTrees(Mutex<Decoded>);

#[derive(Debug, Default)]
struct Decoded {
    trees: HashMap<ObjectId, Arc<[Child]>>,
    entries: usize,
}

impl GitTree {
    pub(crate) fn new(
        repository: gix::Repository,
        root: ObjectId,
        decoded: Arc<DecodedTrees>,
    ) -> Self {
        Self { repository, root, decoded }
    }

    /// The commit of another repository that belongs at `path`.
    pub(crate) fn submodule(&self, path: &TreePath) -> Result<Option<ObjectId>, TreeError> {
        let found = self.find(path)?;
        Ok(found.filter(|it| it.kind == EntryKind::Submodule).map(|it| it.id))
    }

    /// Where this tree and `other` differ, found by descending only where ids do.
    pub(crate) fn changes_to(&self, other: &Self) -> Result<Changes, TreeError> {
        let mut changes = Changes::default();
        self.compare(other, &TreePath::root(), self.root, other.root, &mut changes)?;
        Ok(changes)
    }

    fn compare(
        &self,
        other: &Self,
        path: &TreePath,
        old: ObjectId,
        new: ObjectId,
        changes: &mut Changes,
    ) -> Result<(), TreeError> {
        if old == new {
            return Ok(());
        }
        let (old, new) = (self.children(path, old)?, other.children(path, new)?);
        let names = |children: &[Child]| -> Vec<(String, EntryKind)> {
            children.iter().map(|it| (it.name.clone(), it.kind)).collect()
        };
        if names(&old) != names(&new) {
            changes.listings.insert(path.clone());
        }
        for (old, new) in paired(&old, &new) {
            match (old, new) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new))
                    if old.kind == EntryKind::Directory && new.kind == EntryKind::Directory =>
                {
                    self.compare(other, &path.child(&old.name), old.id, new.id, changes)?;
                }
                (Some(child), _) | (_, Some(child)) => {
                    changes.entries.insert(path.child(&child.name));
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// What stands at `path`, following directories only.
    fn find(&self, path: &TreePath) -> Result<Option<Found>, TreeError> {
        let mut found = Found { id: self.root, kind: EntryKind::Directory, executable: false };
        for name in path.names() {
            if found.kind != EntryKind::Directory {
                return Ok(None);
            }
            let children = self.children(path, found.id)?;
            match children.binary_search_by(|it| it.name.as_str().cmp(name)) {
                Ok(index) if children[index].kind != EntryKind::Unnameable => {
                    let Child { id, kind, executable, .. } = children[index];
                    found = Found { id, kind, executable };
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The directory with this id, its names in byte order.
    fn children(&self, path: &TreePath, id: ObjectId) -> Result<Arc<[Child]>, TreeError> {
        if let Some(children) = self.decoded.get(&id) {
            return Ok(children);
        }
        let mut buffer = Vec::new();
        let tree = self
            .repository
            .objects
            .find_tree_iter(&id, &mut buffer)
            .map_err(|error| store_error(path, error))?;
        let mut children = Vec::new();
        for entry in tree {
            let entry = entry.map_err(|error| store_error(path, error))?;
            children.push(child_of(&entry));
        }
        children.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(self.decoded.insert(id, children.into()))
    }
}

impl Tree for GitTree {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        Ok(self.find(path)?.map(|Found { id, kind, executable }| Entry {
            kind,
            id: ContentId::from_digest(id.as_slice()),
            executable,
        }))
    }

    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError> {
        match self.find(path)? {
            Some(Found { id, kind: EntryKind::Directory, .. }) => {
                let children = self.children(path, id)?;
                Ok(Some(children.iter().map(|it| (it.name.clone(), it.kind)).collect()))
            }
            _ => Ok(None),
        }
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        let Some(Found { id, kind: EntryKind::File | EntryKind::Symlink, .. }) = self.find(path)?
        else {
            return Ok(None);
        };
        let size =
            self.repository.find_header(id).map_err(|error| store_error(path, error))?.size();
        if size > limit {
            return Err(TreeError::TooLarge { path: path.clone(), size, limit });
        }
        let blob = self.repository.find_blob(id).map_err(|error| store_error(path, error))?;
        Ok(Some(Bytes::from(blob.detach().data)))
    }
}

impl DecodedTrees {
    fn get(&self, id: &ObjectId) -> Option<Arc<[Child]>> {
        self.0.lock().expect("nobody panics while looking up").trees.get(id).cloned()
    }

    /// Keeps a tree. When there are too many, all go: what is needed comes
    /// back at once, and there is no order to maintain on every look.
    fn insert(&self, id: ObjectId, children: Arc<[Child]>) -> Arc<[Child]> {
        let mut decoded = self.0.lock().expect("nobody panics while looking up");
        if decoded.entries + children.len() > MAX_DECODED_ENTRIES {
            *decoded = Decoded::default();
        }
        let added = children.len();
        if let Slot::Vacant(slot) = decoded.trees.entry(id) {
            slot.insert(Arc::clone(&children));
            decoded.entries += added;
        }
        children
    }
}

fn child_of(entry: &gix::objs::tree::EntryRef<'_>) -> Child {
    let (name, nameable) = match std::str::from_utf8(entry.filename) {
        Ok(name) => (name.to_owned(), true),
        Err(_) => (String::from_utf8_lossy(entry.filename).into_owned(), false),
    };
    let kind = match entry.mode.kind() {
        _ if !nameable => EntryKind::Unnameable,
        GitKind::Tree => EntryKind::Directory,
        GitKind::Blob | GitKind::BlobExecutable => EntryKind::File,
        GitKind::Link => EntryKind::Symlink,
        GitKind::Commit => EntryKind::Submodule,
    };
    let executable = entry.mode.kind() == GitKind::BlobExecutable;
    Child { name, id: entry.oid.to_owned(), kind, executable }
}

/// Both sides by name; each side is sorted.
fn paired<'c>(old: &'c [Child], new: &'c [Child]) -> Vec<(Option<&'c Child>, Option<&'c Child>)> {
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let old = order.is_le().then(|| left.next()).flatten();
        let new = order.is_ge().then(|| right.next()).flatten();
        pairs.push((old, new));
    }
}

fn store_error(
    path: &TreePath,
    error: impl std::error::Error + Send + Sync + 'static,
) -> TreeError {
    TreeError::Store { path: path.clone(), source: Arc::new(error) }
}
