//! A path inside a tree: relative, clean, never above the root.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Names joined by `/`, without `.`, `..` or empty parts. The root is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TreePath(String);

/// Why a text is no path inside a tree. The wording is Argo CD's, which users
/// search for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It starts with a slash.
    #[error("{0}: app path is absolute")]
    Absolute(String),
    /// It has more `..` than directories.
    #[error("{0}: app path outside root")]
    Outside(String),
}

impl TreePath {
    /// The top of the tree.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads a path relative to the root: `apps/web`, `.`, `./a/../b`.
    ///
    /// # Errors
    /// When the path is absolute or leaves the root.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::root().resolve_relative(text)
    }

    /// Reads a path relative to this directory.
    ///
    /// # Errors
    /// When the path is absolute or leaves the root on its way.
    pub fn resolve_relative(&self, text: &str) -> Result<Self, PathError> {
        if text.starts_with('/') {
            return Err(PathError::Absolute(text.to_owned()));
        }
        let mut path = self.clone();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    path = path.parent().ok_or_else(|| PathError::Outside(text.to_owned()))?;
                }
                name => path = path.child(name),
            }
        }
        Ok(path)
    }

    /// Is this the top of the tree?
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text; empty for the root.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names from the top down.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// The last name; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// `name` in this directory. The name must hold no slash.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// The directory this stands in; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(self.0.rsplit_once('/').map_or_else(Self::root, |(parent, _)| Self(parent.to_owned())))
    }

    /// `a`, `a/b`, `a/b/c` for `a/b/c`.
    pub fn prefixes(&self) -> impl Iterator<Item = Self> {
        self.prefix_texts().map(|prefix| Self(prefix.to_owned()))
    }

    /// The same as texts.
    pub(crate) fn prefix_texts(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(end, _)| end).chain([self.0.len()]);
        ends.map(|end| &self.0[..end]).filter(|prefix| !prefix.is_empty())
    }

    /// This path as seen from the directory `above`; `None` when it is not below it.
    #[must_use]
    pub fn below(&self, above: &Self) -> Option<Self> {
        if above.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(&above.0)?;
        match rest.strip_prefix('/') {
            Some(rest) => Some(Self(rest.to_owned())),
            None => rest.is_empty().then(Self::root),
        }
    }

    /// This path followed by another.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        if rest.is_root() { self.clone() } else { self.child(&rest.0) }
    }
}

/// A path is found by its text.
impl Borrow<str> for TreePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The root reads as `.`.
impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let answer =
            TreePath::parse(text).map_or_else(|error| error.to_string(), |it| it.to_string());
        assert_eq!(answer, expect);
    }

    #[test]
    fn a_path_is_cleaned() {
        check("", ".");
        check("./apps//web/", "apps/web");
        check("apps/../web", "web");
    }

    #[test]
    fn a_path_outside_is_refused_in_the_words_users_search_for() {
        check("/apps", "/apps: app path is absolute");
        check("../apps", "../apps: app path outside root");
        check("a/../../b/a", "a/../../b/a: app path outside root");
    }

    #[test]
    fn a_sibling_with_a_longer_name_is_not_below() {
        let path = |text| TreePath::parse(text).unwrap();
        assert_eq!(path("apps/web").below(&path("apps")), Some(path("web")));
        assert_eq!(path("apps-old/web").below(&path("apps")), None);
        assert_eq!(path("apps").below(&path("apps")), Some(TreePath::root()));
    }
}
