//! What a render asked of its tree, and whether a new commit changes an answer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{ContentId, Entry, EntryKind, Tree, TreeError, TreePath};

/// A tree that writes down every question and its answer.
pub struct Recorder<'tree> {
    tree: &'tree dyn Tree,
    reads: RefCell<Reads>,
}

impl<'tree> Recorder<'tree> {
    /// Starts with an empty record.
    #[must_use]
    pub fn new(tree: &'tree dyn Tree) -> Self {
        Self { tree, reads: RefCell::default() }
    }

    /// The record so far.
    #[must_use]
    pub fn into_reads(self) -> Reads {
        self.reads.into_inner()
    }

    fn record_entry(&self, path: &TreePath, entry: Option<Entry>) {
        self.reads.borrow_mut().entries.insert(path.clone(), entry.map(Seen::from));
    }
}

impl Tree for Recorder<'_> {
    fn entry(&self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        let entry = self.tree.entry(path)?;
        self.record_entry(path, entry);
        Ok(entry)
    }

    fn list(&self, path: &TreePath) -> Result<Option<Vec<(String, EntryKind)>>, TreeError> {
        let names = self.tree.list(path)?;
        let id = names.as_deref().map(ListingId::of);
        self.reads.borrow_mut().listings.insert(path.clone(), id);
        Ok(names)
    }

    fn read(&self, path: &TreePath, limit: u64) -> Result<Option<Bytes>, TreeError> {
        self.record_entry(path, self.tree.entry(path)?);
        self.tree.read(path, limit)
    }
}

/// Every question a render asked, with its answer.
///
/// A render that would get the same answers gives the same result, so these
/// are what its cache entry depends on, and nothing else of the tree is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    entries: BTreeMap<TreePath, Option<Seen>>,
    listings: BTreeMap<TreePath, Option<ListingId>>,
}

/// What was seen of an entry. The id of a directory is no part of it: it
/// changes with every file below, also those nobody read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Seen {
    Directory,
    Content { kind: EntryKind, id: ContentId, executable: bool },
}

impl From<Entry> for Seen {
    fn from(entry: Entry) -> Self {
        match entry.kind {
            EntryKind::Directory => Self::Directory,
            kind => Self::Content { kind, id: entry.id, executable: entry.executable },
        }
    }
}

impl Reads {
    /// Would a commit with these changes answer any of the questions differently?
    #[must_use]
    pub fn are_touched_by(&self, changes: &Changes) -> bool {
        if changes.listings.len() + changes.entries.len() > self.len() {
            return self.entries.keys().any(|path| changes.touch_entry(path))
                || self.listings.keys().any(|path| changes.touch_listing(path));
        }
        // Mostly little changed, and that is quickly looked up here.
        changes.listings.iter().any(|path| self.listings.contains_key(path))
            || changes.entries.iter().any(|path| {
                let below = format!("{}/", path.as_str());
                asked(&self.entries, path, &below) || asked(&self.listings, path, &below)
            })
    }

    /// Asks everything again: does `tree` give the same answers?
    ///
    /// # Errors
    /// When the tree cannot be read.
    pub fn hold_in(&self, tree: &dyn Tree) -> Result<bool, TreeError> {
        for (path, seen) in &self.entries {
            if tree.entry(path)?.map(Seen::from) != *seen {
                return Ok(false);
            }
        }
        for (path, seen) in &self.listings {
            if tree.list(path)?.as_deref().map(ListingId::of) != *seen {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The number of questions, for those who account for memory.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() + self.listings.len()
    }

    /// Was nothing asked at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Was something asked about a path, or anything below it?
fn asked<T>(answers: &BTreeMap<TreePath, T>, path: &TreePath, below: &str) -> bool {
    let from = (Bound::Included(below), Bound::Unbounded);
    answers.contains_key(path)
        || answers
            .range::<str, _>(from)
            .next()
            .is_some_and(|(it, _)| it.as_str().starts_with(below))
}

/// A digest of the names and kinds in a directory, and not of their contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingId(ContentId);

impl ListingId {
    /// The digest of a listing in byte order.
    #[must_use]
    pub fn of(names: &[(String, EntryKind)]) -> Self {
        let mut digest = Sha256::new();
        for (name, kind) in names {
            // No file name holds a NUL, so no two listings run into each other.
            digest.update(name.as_bytes());
            digest.update([0, *kind as u8]);
        }
        Self(ContentId::from_digest(&digest.finalize()))
    }
}

/// Where two trees differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Entries that came, went or changed. A directory stands here only when
    /// it came or went as a whole; what is below it is then not listed.
    pub entries: BTreeSet<TreePath>,
    /// Directories of both trees whose names or kinds of entries differ.
    pub listings: BTreeSet<TreePath>,
}

impl Changes {
    /// Are the two trees the same?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.listings.is_empty()
    }

    fn touch_entry(&self, path: &TreePath) -> bool {
        path.prefix_texts().any(|prefix| self.entries.contains(prefix))
    }

    fn touch_listing(&self, path: &TreePath) -> bool {
        self.listings.contains(path) || self.touch_entry(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    fn path(text: &str) -> TreePath {
        TreePath::parse(text).unwrap()
    }

    fn tree() -> MemoryTree {
        MemoryTree::new().file("web/a.yaml", "a").file("web/README.md", "r").file("api/b.yaml", "b")
    }

    /// The reads of someone who lists `web`, reads one file and misses another.
    fn reads() -> Reads {
        let tree = tree();
        let recorder = Recorder::new(&tree);
        recorder.list(&path("web")).unwrap();
        recorder.read(&path("web/a.yaml"), 100).unwrap();
        recorder.entry(&path("web/Chart.yaml")).unwrap();
        recorder.entry(&path("web")).unwrap();
        recorder.into_reads()
    }

    #[track_caller]
    fn check_holds(changed: &MemoryTree, expect: bool) {
        assert_eq!(reads().hold_in(changed).unwrap(), expect);
    }

    #[test]
    fn a_change_of_what_was_not_read_keeps_every_answer() {
        check_holds(&tree(), true);
        check_holds(&tree().file("api/b.yaml", "changed"), true);
        check_holds(&tree().file("web/README.md", "changed"), true);
    }

    #[test]
    fn a_change_of_a_read_file_a_listing_or_a_miss_changes_an_answer() {
        check_holds(&tree().file("web/a.yaml", "changed"), false);
        check_holds(&tree().file("web/c.yaml", "new name"), false);
        check_holds(&tree().file("web/Chart.yaml", "was missed"), false);
        check_holds(&tree().link("web/README.md", "a.yaml"), false);
        check_holds(&MemoryTree::new(), false);
    }

    /// The same answer is expected for few changes and among many others.
    #[track_caller]
    fn check_touched(entries: &[&str], listings: &[&str], expect: bool) {
        let paths = |texts: &[&str]| texts.iter().map(|it| path(it)).collect();
        let mut changes = Changes { entries: paths(entries), listings: paths(listings) };
        assert_eq!(reads().are_touched_by(&changes), expect);
        changes.entries.extend((0..100).map(|number| path(&format!("other/{number}"))));
        assert_eq!(reads().are_touched_by(&changes), expect, "among many");
    }

    #[test]
    fn changes_touch_reads_at_the_path_or_above_it() {
        check_touched(&[], &[], false);
        check_touched(&["api/b.yaml"], &["api"], false);
        check_touched(&["web/README.md"], &[], false);
        check_touched(&["web/a.yaml"], &[], true);
        check_touched(&["web"], &[], true);
        check_touched(&["web/Chart.yaml"], &[], true);
        check_touched(&[], &["web"], true);
        check_touched(&["web-2"], &["."], false);
        check_touched(&["we"], &["web/a.yaml"], false);
        check_touched(&["web/a.yaml/below"], &[], false);
    }
}
