//! Puts what git wants beside what the cluster has.

use std::collections::BTreeMap;

use object::{Object, ResourceKey};

/// One object seen from both sides.
///
/// There is no "neither" case: an object that git does not want and the
/// cluster does not have is not an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Pair {
    /// Git wants it, the cluster lacks it.
    Missing {
        /// The manifest.
        want: Object,
    },
    /// Git wants it and the cluster has it.
    Both {
        /// The manifest.
        want: Object,
        /// The object as it is.
        live: Object,
    },
    /// The application tracks it, git does not want it.
    Extra {
        /// The object as it is.
        live: Object,
    },
}

impl Pair {
    /// The manifest, if git wants the object.
    #[must_use]
    pub fn want(&self) -> Option<&Object> {
        match self {
            Self::Missing { want } | Self::Both { want, .. } => Some(want),
            Self::Extra { .. } => None,
        }
    }

    /// The object as it is, if it exists.
    #[must_use]
    pub fn live(&self) -> Option<&Object> {
        match self {
            Self::Both { live, .. } | Self::Extra { live } => Some(live),
            Self::Missing { .. } => None,
        }
    }

    /// Whichever side there is, git's first.
    #[must_use]
    pub fn either(&self) -> &Object {
        match self {
            Self::Missing { want } | Self::Both { want, .. } => want,
            Self::Extra { live } => live,
        }
    }
}

/// Pairs every wanted object with its live counterpart; live objects that
/// remain are extra. Each key comes out once, in key order.
#[must_use]
pub fn pair(
    want: BTreeMap<ResourceKey, Object>,
    mut live: BTreeMap<ResourceKey, Object>,
) -> BTreeMap<ResourceKey, Pair> {
    let mut pairs: BTreeMap<_, _> = want
        .into_iter()
        .map(|(key, want)| {
            let pair = match live.remove(&key) {
                Some(live) => Pair::Both { want, live },
                None => Pair::Missing { want },
            };
            (key, pair)
        })
        .collect();
    pairs.extend(live.into_iter().map(|(key, live)| (key, Pair::Extra { live })));
    pairs
}
