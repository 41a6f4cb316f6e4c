//! Requests to git servers: listings and fetches, each made once for everyone
//! who asks, bounded and counted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::events::{Event, RequestKind};
use crate::fetch;
use crate::integrity::NamedTag;
use crate::job::At;
use crate::repository::Repository;
use crate::server::Inner;
use crate::{CommitSha, FetchError, Freshness, RemoteRefs, RepoUrl};

impl Inner {
    pub(crate) async fn refs(
        self: Arc<Self>,
        repository: &Arc<Repository>,
        freshness: Freshness,
    ) -> Result<Arc<RemoteRefs>, FetchError> {
        let ask = || -> BoxFuture<'static, _> {
            let (inner, repository) = (Arc::clone(&self), Arc::clone(repository));
            async move { inner.list(&repository).await }.boxed()
        };
        repository.listing.get(freshness, ask).await
    }

    /// One request for a repository's refs.
    async fn list(&self, repository: &Arc<Repository>) -> Result<RemoteRefs, FetchError> {
        let limit = self.options.git.request_timeout;
        let remote = repository.remote.clone();
        let begun = Instant::now();
        let listed = self.requests.run(limit, move |_| remote.list()).await;
        let listed = repository.settle(listed, "listing the refs of", limit);
        let time = begun.elapsed();
        self.stats.count(|stats| stats.ls_remote.add(time, listed.is_err()));
        self.tell(RequestKind::GitListing, &repository.remote.url, "", begun, listed.is_err());
        tracing::debug!(repo = %repository.remote.url, ?time, failed = listed.is_err(), "listed refs");
        listed
    }

    /// Brings a commit into the store, if it is not there yet.
    pub(crate) async fn fetch(
        self: Arc<Self>,
        repository: &Arc<Repository>,
        commit: &CommitSha,
    ) -> Result<(), FetchError> {
        let start = || {
            let (inner, repository) = (Arc::clone(&self), Arc::clone(repository));
            let commit = commit.clone();
            async move {
                // Another flight may have landed since somebody missed the commit.
                if inner.is_here(&repository, &commit).await? {
                    return Ok(());
                }
                let revision = commit.as_str().to_owned();
                inner
                    .request(&repository, &revision, move |repository, cancel| {
                        let Repository { store, remote, .. } = repository;
                        fetch::fetch_commit(store, remote, &commit, cancel)
                    })
                    .await
            }
            .boxed()
        };
        repository.fetches.join(commit.clone(), start).await
    }

    async fn is_here(
        &self,
        repository: &Arc<Repository>,
        commit: &CommitSha,
    ) -> Result<bool, FetchError> {
        let limit = self.options.git.fetch_timeout;
        let (shared, commit) = (Arc::clone(repository), commit.clone());
        // Not a render's thread: a render may be what waits for the commit.
        let look = move |_: &_| {
            let Repository { store, remote, .. } = &*shared;
            Ok(fetch::root_tree(remote, &store.open()?, &commit)?.is_some())
        };
        repository.settle(self.requests.run(limit, look).await, "looking into", limit)
    }

    pub(crate) async fn find_short_sha(
        &self,
        repository: &Arc<Repository>,
        prefix: String,
    ) -> Result<Option<CommitSha>, FetchError> {
        let revision = prefix.clone();
        self.request(repository, &revision, move |repository, cancel| {
            let Repository { store, remote, .. } = repository;
            if let Some(commit) = fetch::commit_by_prefix(&store.open()?, &prefix) {
                return Ok(Some(commit));
            }
            Ok(fetch::commit_by_prefix(&fetch::fetch_all(store, remote, cancel)?, &prefix))
        })
        .await
    }

    /// One fetch, whatever of.
    async fn request<T: Send + 'static>(
        &self,
        repository: &Arc<Repository>,
        revision: &str,
        work: impl FnOnce(&Repository, &AtomicBool) -> Result<T, FetchError> + Send + 'static,
    ) -> Result<T, FetchError> {
        let limit = self.options.git.fetch_timeout;
        let begun = Instant::now();
        let shared = Arc::clone(repository);
        let fetched = self.requests.run(limit, move |cancel| work(&shared, cancel)).await;
        let fetched = repository.settle(fetched, "fetching from", limit);
        let time = begun.elapsed();
        self.stats.count(|stats| stats.fetch.add(time, fetched.is_err()));
        self.tell(RequestKind::GitFetch, &repository.remote.url, revision, begun, fetched.is_err());
        tracing::debug!(repo = %repository.remote.url, ?time, failed = fetched.is_err(), "fetched");
        fetched
    }

    /// Brings an annotated tag into the store, if it is not there yet.
    pub(crate) async fn fetch_tag(&self, at: &At, tag: &NamedTag) -> Result<(), FetchError> {
        let id = tag.id;
        self.request(&at.repository, &tag.name, move |repository, cancel| {
            fetch::fetch_tag(&repository.store, &repository.remote, id, cancel)
        })
        .await
    }

    /// Brings all of a commit's history into the store.
    pub(crate) async fn fetch_history(&self, at: &At) -> Result<(), FetchError> {
        let id = at.commit.object_id();
        self.request(&at.repository, at.commit.as_str(), move |repository, cancel| {
            fetch::fetch_history(&repository.store, &repository.remote, id, cancel)
        })
        .await
    }

    /// Tells whoever keeps the metrics.
    pub(crate) fn tell(
        &self,
        request: RequestKind,
        repo: &RepoUrl,
        revision: &str,
        begun: Instant,
        failed: bool,
    ) {
        if let Some(observer) = self.observer.get() {
            let time = begun.elapsed();
            observer.requested(&Event { request, repo, revision, time, failed });
        }
    }

    /// The same answer, told to whoever keeps the metrics.
    pub(crate) async fn told<T>(
        &self,
        request: RequestKind,
        repo: &RepoUrl,
        revision: &str,
        answer: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        let begun = Instant::now();
        let answer = answer.await;
        self.tell(request, repo, revision, begun, answer.is_err());
        answer
    }
}
