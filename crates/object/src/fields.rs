//! Sets of fields: who owns what in an object that several writers share.
//!
//! `metadata.managedFields` holds one such set per manager, in the format
//! `FieldsV1`. A [`FieldSet`] is read from it, printed to it, and made from an
//! object ([`FieldSet::of`]); the usual algebra combines them. [`project`] and
//! [`remove`] cut an object along a set, [`merge`] does what server-side apply
//! does with two objects, and [`unsettled`] answers without a server whether
//! applying a manifest would change anything.
//!
//! Semantics are those of structured-merge-diff v6, whose answers
//! `tests/golden` records.

mod cut;
mod merge;
mod of_object;
mod path;
mod serial;
mod settled;

use std::collections::BTreeMap;

pub use cut::{project, remove};
pub use merge::merge;
pub use of_object::NotKeyed;
pub use path::{Path, PathElement};
pub use serial::NotFieldsV1;
pub use settled::{Unsettled, differing_leaf, unsettled};

/// A set of paths in an object.
///
/// A path may be a member without its children, and the reverse. The root is
/// never one: nobody owns a whole object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldSet {
    /// No entry is empty: each is a member or has one below.
    entries: BTreeMap<PathElement, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    member: bool,
    below: FieldSet,
}

impl Entry {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: BTreeMap::new() }
    }

    /// Adds one path, not its parents. The empty path is ignored.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for element in parents {
            set = &mut set.entries.entry(element.clone()).or_default().below;
        }
        set.entries.entry(last.clone()).or_default().member = true;
    }

    /// Is this very path a member?
    #[must_use]
    pub fn contains(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for element in parents {
            let Some(entry) = set.entries.get(element) else { return false };
            set = &entry.below;
        }
        set.entries.get(last).is_some_and(|entry| entry.member)
    }

    /// Has it no members?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.values().map(|entry| usize::from(entry.member) + entry.below.len()).sum()
    }

    /// The members, parents before children.
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut Vec<PathElement>, paths: &mut Vec<Path>) {
        for (element, entry) in &self.entries {
            prefix.push(element.clone());
            if entry.member {
                paths.push(Path(prefix.clone()));
            }
            entry.below.collect_paths(prefix, paths);
            prefix.pop();
        }
    }

    /// The members that do not lead to a member of `other`: what may be taken
    /// away as a whole without touching any of those.
    #[must_use]
    pub fn without_parents_of(&self, other: &Self) -> Self {
        let kept = self.entries.iter().filter_map(|(element, entry)| {
            let theirs = other.entries.get(element).map(|it| &it.below);
            let entry = match theirs {
                None => entry.clone(),
                Some(theirs) => Entry {
                    member: entry.member && theirs.is_empty(),
                    below: entry.below.without_parents_of(theirs),
                },
            };
            (!entry.is_empty()).then(|| (element.clone(), entry))
        });
        Self { entries: kept.collect() }
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut united = self.clone();
        for (element, theirs) in &other.entries {
            let ours = united.entries.entry(element.clone()).or_default();
            ours.member |= theirs.member;
            ours.below = ours.below.union(&theirs.below);
        }
        united
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(|element, ours| {
            let theirs = other.entries.get(element)?;
            Some(Entry {
                member: ours.member && theirs.member,
                below: ours.below.intersection(&theirs.below),
            })
        })
    }

    /// What is in this set and not in `other`, path by path.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(|element, ours| match other.entries.get(element) {
            None => Some(ours.clone()),
            Some(theirs) => Some(Entry {
                member: ours.member && !theirs.member,
                below: ours.below.difference(&theirs.below),
            }),
        })
    }

    /// What is in this set and neither in `other` nor below a member of `other`.
    #[must_use]
    pub fn difference_with_children(&self, other: &Self) -> Self {
        self.combine(|element, ours| match other.entries.get(element) {
            None => Some(ours.clone()),
            Some(theirs) if theirs.member => None,
            Some(theirs) => Some(Entry {
                member: ours.member,
                below: ours.below.difference_with_children(&theirs.below),
            }),
        })
    }

    /// The members that have no members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        self.combine(|_, ours| {
            let member = ours.member && ours.below.is_empty();
            Some(Entry { member, below: ours.below.leaves() })
        })
    }

    fn combine(&self, with: impl Fn(&PathElement, &Entry) -> Option<Entry>) -> Self {
        let combined = self.entries.iter().filter_map(|(element, ours)| {
            let entry = with(element, ours).filter(|entry| !entry.is_empty())?;
            Some((element.clone(), entry))
        });
        Self { entries: combined.collect() }
    }
}

impl FromIterator<Path> for FieldSet {
    fn from_iter<T: IntoIterator<Item = Path>>(paths: T) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: &serde_json::Value) -> FieldSet {
        FieldSet::from_json(value).expect("a field set")
    }

    #[test]
    fn a_parent_and_its_child_are_two_members() {
        let both = set(&json!({"f:a": {".": {}, "f:b": {}}}));
        let child = set(&json!({"f:a": {"f:b": {}}}));
        let parent = set(&json!({"f:a": {}}));
        assert_eq!(both.len(), 2);
        assert_eq!(both.difference(&child), parent);
        assert_eq!(both.difference(&parent), child);
        assert_eq!(both.leaves(), child);
        assert_eq!(child.difference(&parent), child);
        assert_eq!(child.difference_with_children(&parent), FieldSet::new());
    }

    #[test]
    fn members_are_listed_with_readable_paths() {
        let fields = set(&json!({"f:spec": {"f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}},
        }, "f:args": {"v:\"x\"": {}, "i:3": {}}}}));
        let paths: Vec<String> = fields.paths().iter().map(ToString::to_string).collect();
        assert_eq!(
            paths,
            [
                ".spec.args[=\"x\"]",
                ".spec.args[3]",
                ".spec.ports[port=80,protocol=\"TCP\"]",
                ".spec.ports[port=80,protocol=\"TCP\"].name",
            ]
        );
    }
}
