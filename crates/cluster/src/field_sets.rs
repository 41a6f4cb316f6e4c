//! Whose field sets are kept with the bodies of the store.
//!
//! The field sets in an object's `managedFields` are half of it, and nobody
//! reads most of them. Ours are kept, and those that somebody [wishes
//! for](FieldSetWish). Wishes are only ever added, and a body remembers how many
//! there were when it was read: so it is known which bodies lack something, and
//! only these are read again, when someone looks at them.

use std::sync::{Arc, PoisonError, RwLock};

use gocompat::glob;

/// The field sets of one manager on some kinds of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSetWish {
    /// The API group, as a glob.
    pub group: String,
    /// The kind, as a glob.
    pub kind: String,
    /// The name of the manager.
    pub manager: String,
}

impl FieldSetWish {
    fn concerns(&self, group: &str, kind: &str) -> bool {
        glob::matches(&self.group, group, &[]) && glob::matches(&self.kind, kind, &[])
    }
}

/// How many wishes there were when a body was read.
pub(crate) type WishCount = u16;

/// What is kept, at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptFieldSets {
    own_manager: String,
    wishes: Vec<FieldSetWish>,
}

impl KeptFieldSets {
    /// How many wishes a body that is read now fulfils.
    pub(crate) fn count(&self) -> WishCount {
        WishCount::try_from(self.wishes.len()).expect("no more are taken than fit")
    }

    /// The managers whose field sets are kept with objects of this kind.
    pub(crate) fn managers(&self, group: &str, kind: &str) -> Vec<&str> {
        let wished = self.wishes.iter().filter(|it| it.concerns(group, kind));
        let own = std::iter::once(self.own_manager.as_str());
        own.chain(wished.map(|it| it.manager.as_str())).collect()
    }

    /// Has a body that was read when there were `count` wishes all that is wished for now?
    pub(crate) fn are_complete(&self, group: &str, kind: &str, count: WishCount) -> bool {
        let since = self.wishes.get(usize::from(count)..).unwrap_or_default();
        !since.iter().any(|it| it.concerns(group, kind))
    }
}

/// What is kept, as it grows.
#[derive(Debug)]
pub(crate) struct FieldSets(RwLock<Arc<KeptFieldSets>>);

impl FieldSets {
    pub(crate) fn of(own_manager: String) -> Self {
        Self(RwLock::new(Arc::new(KeptFieldSets { own_manager, wishes: Vec::new() })))
    }

    pub(crate) fn kept(&self) -> Arc<KeptFieldSets> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the wishes that are new.
    pub(crate) fn wish(&self, wishes: impl IntoIterator<Item = FieldSetWish>) {
        let mut kept = self.kept();
        for wish in wishes {
            if kept.wishes.contains(&wish) {
                continue;
            }
            let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if !current.wishes.contains(&wish) && current.count() < WishCount::MAX {
                Arc::make_mut(&mut current).wishes.push(wish);
            }
            kept = Arc::clone(&current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(group: &str, kind: &str, manager: &str) -> FieldSetWish {
        FieldSetWish { group: group.into(), kind: kind.into(), manager: manager.into() }
    }

    #[test]
    fn ours_are_kept_and_those_wished_for() {
        let sets = FieldSets::of("us".into());
        sets.wish([wish("apps", "*", "scaler"), wish("*", "Secret", "vault")]);
        assert_eq!(sets.kept().managers("apps", "Deployment"), ["us", "scaler"]);
        assert_eq!(sets.kept().managers("", "Secret"), ["us", "vault"]);
        assert_eq!(sets.kept().managers("", "Pod"), ["us"]);
    }

    #[test]
    fn a_wish_makes_only_what_it_concerns_incomplete() {
        let sets = FieldSets::of("us".into());
        let before = sets.kept().count();
        sets.wish([wish("apps", "Deployment", "scaler")]);
        assert!(!sets.kept().are_complete("apps", "Deployment", before));
        assert!(sets.kept().are_complete("", "ConfigMap", before));
        assert!(sets.kept().are_complete("apps", "Deployment", sets.kept().count()));
    }

    #[test]
    fn a_wish_counts_once() {
        let sets = FieldSets::of("us".into());
        for _ in 0..3 {
            sets.wish([wish("*", "*", "scaler")]);
        }
        assert_eq!(sets.kept().count(), 1);
    }
}
