//! A project's `sourceRepos`: which repositories its Applications may use.

use std::sync::Arc;

use super::pattern::Pattern;
use super::repo_url;

/// The entries of a project, ready to be asked. Clones share them.
#[derive(Clone, Debug)]
pub struct SourceRepos {
    entries: Arc<[String]>,
    patterns: Arc<[Pattern]>,
}

impl SourceRepos {
    /// Reads the entries of a project, after it inherited.
    #[must_use]
    pub fn new(entries: &[String]) -> Self {
        let patterns = entries.iter().map(|entry| Pattern::of_repo(entry)).collect();
        Self { entries: entries.into(), patterns }
    }

    /// Every repository.
    #[must_use]
    pub fn all() -> Self {
        Self::new(&["*".to_owned()])
    }

    /// No repository.
    #[must_use]
    pub fn none() -> Self {
        Self::new(&[])
    }

    /// The entries as they are written.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Is every repository permitted, whatever its address?
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.entries.iter().any(|it| it == "*") && !self.patterns.iter().any(Pattern::forbids)
    }

    /// May manifests come from this repository?
    ///
    /// An address with `..` in its path leads elsewhere than a pattern can tell,
    /// and what is forbidden is so in every spelling; to Argo CD both pass.
    #[must_use]
    pub fn permits(&self, url: &str) -> bool {
        if self.are_all() {
            return true;
        }
        let (written, spellings) = (repo_url::comparable(url), repo_url::spellings(url));
        let forbids = |it: &Pattern| {
            it.forbids() && !(it.accepts(&written) && spellings.iter().all(|url| it.accepts(url)))
        };
        !repo_url::is_roundabout(url)
            && self.patterns.iter().any(|it| it.accepts(&written))
            && !self.patterns.iter().any(forbids)
    }
}
