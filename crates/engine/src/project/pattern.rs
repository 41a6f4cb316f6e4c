//! One entry of a list of globs in which a leading `!` forbids.

use gocompat::glob::Glob;

use super::repo_url;

/// A compiled entry.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    forbids: bool,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Anything,
    Glob(Glob),
    Unreadable,
}

impl Pattern {
    /// An entry in which `*` spans everything.
    pub(super) fn new(entry: &str) -> Self {
        match entry.strip_prefix('!') {
            Some(rest) => Self { forbids: true, matcher: Matcher::new(rest, &[]) },
            None => Self { forbids: false, matcher: Matcher::new(entry, &[]) },
        }
    }

    /// An entry for addresses of repositories, in which `*` ends at a slash
    /// unless it stands alone.
    pub(super) fn of_repo(entry: &str) -> Self {
        let matcher = |url: &str| Matcher::new(&repo_url::comparable(url), &['/']);
        match entry.strip_prefix('!') {
            Some(rest) => Self { forbids: true, matcher: matcher(rest) },
            None if entry == "*" => Self { forbids: false, matcher: Matcher::Anything },
            None => Self { forbids: false, matcher: matcher(entry) },
        }
    }

    /// Is this an entry that forbids?
    pub(super) fn forbids(&self) -> bool {
        self.forbids
    }

    /// Does the entry let `text` pass: one that permits because it matches, one
    /// that forbids because it does not? Nothing passes an entry that cannot be
    /// read; Argo CD lets everything pass a mistyped `!` entry.
    pub(super) fn accepts(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Anything => !self.forbids,
            Matcher::Glob(glob) => glob.is_match(text) != self.forbids,
            Matcher::Unreadable => false,
        }
    }
}

impl Matcher {
    fn new(pattern: &str, separators: &[char]) -> Self {
        Glob::new(pattern, separators).map_or(Self::Unreadable, Self::Glob)
    }
}
