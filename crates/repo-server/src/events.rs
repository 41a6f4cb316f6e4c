//! What a repo server tells whoever keeps its metrics.

use std::time::Duration;

use crate::RepoUrl;

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub struct Event<'e> {
    /// What was asked.
    pub request: RequestKind,
    /// Of whom, without credentials.
    pub repo: &'e RepoUrl,
    /// About which revision, if it was about one.
    pub revision: &'e str,
    /// How long it took.
    pub time: Duration,
    /// Did it fail?
    pub failed: bool,
}

/// What can be asked of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestKind {
    /// The refs of a git repository.
    GitListing,
    /// Commits of a git repository.
    GitFetch,
    /// An artifact's content.
    OciExtract,
    /// What a tag or range stands for.
    OciResolve,
    /// What an artifact says of itself.
    OciMetadata,
    /// The tags of a repository.
    OciTags,
    /// Is a registry there?
    OciTest,
}

/// Keeps metrics.
pub trait Observer: Send + Sync + 'static {
    /// A request to a server ended.
    fn requested(&self, event: &Event<'_>);

    /// A render waited so long for its turn (`--parallelismlimit`).
    fn waited(&self, time: Duration);
}
