//! What is known of one repository, shared by everyone who uses it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gix::ObjectId;
use render::tree::Changes;

use crate::blocking::Interrupted;
use crate::fetch;
use crate::flight::Flights;
use crate::git_tree::{DecodedTrees, GitTree};
use crate::listing::Listing;
use crate::remote::Remote;
use crate::store::{Opened, Store};
use crate::{CommitSha, FetchError, RemoteRefs};

/// Commits whose trees to remember; a repository is polled at a few of them.
const MAX_ROOTS: usize = 1000;

/// One repository.
pub(crate) struct Repository {
    pub(crate) identity: String,
    pub(crate) remote: Remote,
    pub(crate) store: Store,
    pub(crate) listing: Listing<RemoteRefs>,
    pub(crate) fetches: Flights<CommitSha, Result<(), FetchError>>,
    /// The trees of commits seen, to answer from the cache without the disk, and
    /// the store that they were last seen in.
    roots: Mutex<HashMap<CommitSha, (ObjectId, u64)>>,
    decoded: Arc<DecodedTrees>,
    compared: Mutex<Option<Compared>>,
}

/// The last comparison of trees: a poll asks the same for every source.
#[derive(Clone)]
struct Compared {
    trees: (ObjectId, ObjectId),
    changes: Arc<Changes>,
}

impl Repository {
    pub(crate) fn new(identity: String, remote: Remote, folder: &Path) -> Self {
        Self {
            identity,
            store: Store::new(remote.url.clone(), folder, remote.max_object),
            remote,
            listing: Listing::default(),
            fetches: Flights::default(),
            roots: Mutex::default(),
            decoded: Arc::default(),
            compared: Mutex::default(),
        }
    }

    /// The tree of a commit seen before.
    pub(crate) fn root(&self, commit: &CommitSha) -> Option<ObjectId> {
        let roots = self.roots.lock().expect("nobody panics while looking up");
        roots.get(commit).map(|(root, _)| *root)
    }

    /// The tree of a commit that the store has; `None` when it has to be fetched.
    pub(crate) fn root_in(
        &self,
        opened: &Opened,
        commit: &CommitSha,
    ) -> Result<Option<ObjectId>, FetchError> {
        let roots = || self.roots.lock().expect("nobody panics while looking up");
        if let Some((root, generation)) = roots().get(commit)
            && *generation == opened.generation
        {
            return Ok(Some(*root));
        }
        let Some(root) = fetch::root_tree(&self.remote, opened, commit)? else { return Ok(None) };
        let mut roots = roots();
        if roots.len() >= MAX_ROOTS {
            roots.clear();
        }
        roots.insert(commit.clone(), (root, opened.generation));
        Ok(Some(root))
    }

    pub(crate) fn tree(&self, opened: &Opened, root: ObjectId) -> GitTree {
        GitTree::new(opened.repository.to_thread_local(), root, Arc::clone(&self.decoded))
    }

    /// Where two trees differ; `None` when the old one is gone.
    pub(crate) fn changes(
        &self,
        opened: &Opened,
        old: ObjectId,
        new: ObjectId,
    ) -> Option<Arc<Changes>> {
        let known = self.compared.lock().expect("nobody panics while looking up").clone();
        if let Some(Compared { trees, changes }) = known
            && trees == (old, new)
        {
            return Some(changes);
        }
        let changes = self.tree(opened, old).changes_to(&self.tree(opened, new)).ok()?;
        let changes = Arc::new(changes);
        let compared = Compared { trees: (old, new), changes: Arc::clone(&changes) };
        *self.compared.lock().expect("nobody panics while looking up") = Some(compared);
        Some(changes)
    }

    /// The result of blocking work, or why there is none.
    pub(crate) fn settle<T>(
        &self,
        outcome: Result<Result<T, FetchError>, Interrupted>,
        doing: &'static str,
        limit: Duration,
    ) -> Result<T, FetchError> {
        let repo = || self.remote.url.clone();
        match outcome {
            Ok(result) => result,
            Err(Interrupted::TimedOut) => Err(FetchError::Timeout { doing, repo: repo(), limit }),
            Err(Interrupted::Panicked) => {
                let source = Arc::new(std::io::Error::other("git code panicked"));
                Err(FetchError::Store { repo: repo(), source })
            }
        }
    }
}
