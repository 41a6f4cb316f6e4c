//! The one object others hold: resolve, fetch, render, remember.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::ApplicationSource;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use gix::ObjectId;
use object::Object;
use render::tree::TreeError;
use render::{RenderContext, RenderError, SourceType};

use crate::blocking::{BlockingPool, Interrupted};
use crate::fetch;
use crate::flight::Flights;
use crate::remote::Remote;
use crate::rendered::{Outcome, RenderedCache, SourceKey, Texts};
use crate::repository::Repository;
use crate::resolve::{self, Resolved};
use crate::stats::Stats;
use crate::store::Opened;
use crate::{
    CommitSha, FetchError, Freshness, RemoteRefs, RepoUrl, SourceError, StatsSnapshot,
    TargetRevision,
};

/// Resolves, fetches and renders. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct RepoServer {
    inner: Arc<Inner>,
}

/// How a [`RepoServer`] works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where repositories are stored. One process at a time.
    pub data_dir: PathBuf,
    /// Deadlines and parallelism of git.
    pub git: GitLimits,
    /// Renders at the same time (`--parallelismlimit`).
    pub parallel_renders: usize,
    /// How long one render may take.
    pub render_timeout: Duration,
    /// Bytes of remembered results.
    pub cache_budget: usize,
}

/// Deadlines and parallelism of git.
#[derive(Clone, Copy, Debug)]
pub struct GitLimits {
    /// How long a listing of refs may take (`ARGOCD_GIT_REQUEST_TIMEOUT`), and
    /// how long any server may stay silent.
    pub request_timeout: Duration,
    /// How long a fetch may take (`ARGOCD_EXEC_TIMEOUT`).
    pub fetch_timeout: Duration,
    /// Requests to servers at the same time.
    pub parallel_requests: usize,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(15),
            fetch_timeout: Duration::from_secs(90),
            parallel_requests: 16,
        }
    }
}

impl Options {
    /// Argo CD's defaults, with the repositories in `data_dir`.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            git: GitLimits::default(),
            parallel_renders: std::thread::available_parallelism().map_or(2, Into::into),
            render_timeout: Duration::from_secs(90),
            cache_budget: 128 << 20,
        }
    }
}

/// What to render.
#[derive(Clone, Debug)]
pub struct ManifestQuery {
    /// The source: repository, path, parameters.
    pub source: ApplicationSource,
    /// The revision to render, which a sync may choose apart from the source's own.
    pub revision: TargetRevision,
    /// How old the knowledge of the repository's branches may be.
    pub freshness: Freshness,
    /// The application's side of it.
    pub context: RenderContext,
    /// Render even if the result is known: a hard refresh.
    pub ignore_cache: bool,
}

/// What a source rendered to.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The commit the revision stood for.
    pub commit: CommitSha,
    texts: Arc<Texts>,
}

impl Rendered {
    /// The kind of source it turned out to be.
    #[must_use]
    pub fn source_type(&self) -> SourceType {
        self.texts.source_type
    }

    /// Each object as compact JSON, keys sorted.
    pub fn manifests(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.manifests.iter().map(AsRef::as_ref)
    }

    /// Each object, parsed for the occasion: trees are large, do not keep them.
    #[must_use]
    pub fn objects(&self) -> Vec<Object> {
        let parse = |text| {
            let value = serde_json::from_str(text).expect("we printed it ourselves");
            Object::from_value(value).expect("it was an object before it was printed")
        };
        self.manifests().map(parse).collect()
    }

    /// A digest of all manifests: equal digests, equal manifests.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.texts.digest
    }
}

struct Inner {
    options: Options,
    requests: BlockingPool,
    renders: BlockingPool,
    repositories: Mutex<HashMap<String, Arc<Repository>>>,
    cache: RenderedCache,
    flights: Flights<(SourceKey, CommitSha), Result<Arc<Outcome>, SourceError>>,
    stats: Stats,
}

impl RepoServer {
    /// Begins with what an earlier process left in the data directory.
    ///
    /// # Errors
    /// When the data directory cannot be made.
    pub fn open(options: Options) -> std::io::Result<Self> {
        std::fs::create_dir_all(options.data_dir.join("git"))?;
        let inner = Inner {
            requests: BlockingPool::new(options.git.parallel_requests),
            renders: BlockingPool::new(options.parallel_renders),
            repositories: Mutex::default(),
            cache: RenderedCache::new(options.cache_budget),
            flights: Flights::default(),
            stats: Stats::default(),
            options,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The commit a target revision stands for.
    ///
    /// # Errors
    /// When the repository cannot be reached or has no such revision.
    pub async fn resolve(
        &self,
        repo: &RepoUrl,
        target: &TargetRevision,
        freshness: Freshness,
    ) -> Result<CommitSha, FetchError> {
        self.resolve_tag(repo, target, "", freshness).await
    }

    /// The commit a target revision stands for, where a range of versions
    /// counts only tags that begin with `tag_prefix`.
    ///
    /// # Errors
    /// When the repository cannot be reached or has no such revision.
    pub async fn resolve_tag(
        &self,
        repo: &RepoUrl,
        target: &TargetRevision,
        tag_prefix: &str,
        freshness: Freshness,
    ) -> Result<CommitSha, FetchError> {
        if let Some(commit) = CommitSha::parse(&target.0) {
            return Ok(commit);
        }
        let repository = self.inner.repository(repo);
        let refs = Arc::clone(&self.inner).refs(&repository, freshness).await?;
        match resolve::among(&refs, target, tag_prefix)? {
            Resolved::Commit(commit) => Ok(commit),
            Resolved::MaybeShortSha(prefix) => {
                let found = self.inner.find_short_sha(&repository, prefix.clone()).await?;
                found.ok_or_else(|| resolve::not_found(&refs, &prefix))
            }
        }
    }

    /// The branches and tags of a repository.
    ///
    /// # Errors
    /// When the repository cannot be reached.
    pub async fn refs(
        &self,
        repo: &RepoUrl,
        freshness: Freshness,
    ) -> Result<Arc<RemoteRefs>, FetchError> {
        let repository = self.inner.repository(repo);
        Arc::clone(&self.inner).refs(&repository, freshness).await
    }

    /// What a source stands for: resolved, fetched and rendered, as far as
    /// that is not known already.
    ///
    /// # Errors
    /// When the commit cannot be had, or does not render.
    pub async fn manifests(&self, query: ManifestQuery) -> Result<Arc<Rendered>, SourceError> {
        let repo = RepoUrl::new(&query.source.repo_url);
        let ManifestQuery { source, revision, freshness, .. } = &query;
        let commit = self.resolve_tag(&repo, revision, &source.tag_prefix, *freshness).await?;
        let repository = self.inner.repository(&repo);
        let key = SourceKey::of(&repository.identity, &query.source, &query.context);
        if query.ignore_cache {
            self.inner.cache.remove(key);
        }
        let outcome = match self.inner.remembered(&repository, key, &commit) {
            Some(outcome) => outcome,
            None => self.render_once(&repository, key, &commit, &query).await?,
        };
        match &outcome.result {
            Ok(texts) => Ok(Arc::new(Rendered { commit, texts: Arc::clone(texts) })),
            Err(error) => Err(SourceError::Render {
                repo,
                commit,
                path: query.source.path,
                source: Box::new(error.clone()),
            }),
        }
    }

    /// Counts of requests, renders and hits so far.
    #[must_use]
    pub fn stats(&self) -> StatsSnapshot {
        self.inner.stats.snapshot()
    }

    /// Renders; those who ask the same at the same time share the render.
    async fn render_once(
        &self,
        repository: &Arc<Repository>,
        key: SourceKey,
        commit: &CommitSha,
        query: &ManifestQuery,
    ) -> Result<Arc<Outcome>, SourceError> {
        let start = || {
            let (inner, repository) = (Arc::clone(&self.inner), Arc::clone(repository));
            let (commit, source) = (commit.clone(), query.source.clone());
            let context = query.context.clone();
            async move { inner.render(repository, key, commit, source, context).await }.boxed()
        };
        self.inner.flights.join((key, commit.clone()), start).await
    }
}

impl Inner {
    fn repository(&self, url: &RepoUrl) -> Arc<Repository> {
        let identity = url.identity();
        let mut repositories = self.repositories.lock().expect("nobody panics while looking up");
        let known = repositories.entry(identity).or_insert_with_key(|identity| {
            let silence = self.options.git.request_timeout;
            let folder = self.options.data_dir.join("git");
            let remote = Remote { url: url.clone(), silence };
            Arc::new(Repository::new(identity.clone(), remote, &folder))
        });
        Arc::clone(known)
    }

    async fn refs(
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
        tracing::debug!(repo = %repository.remote.url, ?time, failed = listed.is_err(), "listed refs");
        listed
    }

    /// Brings a commit into the store, if it is not there yet.
    async fn fetch(
        self: Arc<Self>,
        repository: &Arc<Repository>,
        commit: &CommitSha,
    ) -> Result<(), FetchError> {
        let start = || {
            let (inner, repository) = (Arc::clone(&self), Arc::clone(repository));
            let commit = commit.clone();
            async move {
                inner
                    .request(&repository, move |repository, cancel| {
                        let Repository { store, remote, .. } = repository;
                        fetch::fetch_commit(store, remote, &commit, cancel)
                    })
                    .await
            }
            .boxed()
        };
        repository.fetches.join(commit.clone(), start).await
    }

    async fn find_short_sha(
        &self,
        repository: &Arc<Repository>,
        prefix: String,
    ) -> Result<Option<CommitSha>, FetchError> {
        self.request(repository, move |repository, cancel| {
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
        work: impl FnOnce(&Repository, &std::sync::atomic::AtomicBool) -> Result<T, FetchError>
        + Send
        + 'static,
    ) -> Result<T, FetchError> {
        let limit = self.options.git.fetch_timeout;
        let begun = Instant::now();
        let shared = Arc::clone(repository);
        let fetched = self.requests.run(limit, move |cancel| work(&shared, cancel)).await;
        let fetched = repository.settle(fetched, "fetching from", limit);
        let time = begun.elapsed();
        self.stats.count(|stats| stats.fetch.add(time, fetched.is_err()));
        tracing::debug!(repo = %repository.remote.url, ?time, failed = fetched.is_err(), "fetched");
        fetched
    }

    /// The answer for a commit whose tree is known, if there is one.
    fn remembered(
        &self,
        repository: &Repository,
        key: SourceKey,
        commit: &CommitSha,
    ) -> Option<Arc<Outcome>> {
        let outcome = self.cache.get(key, repository.root(commit)?)?;
        self.stats.count(|stats| stats.cache_hits += 1);
        Some(outcome)
    }

    /// Fetches what is missing and renders; a damaged store is built anew, once.
    async fn render(
        self: Arc<Self>,
        repository: Arc<Repository>,
        key: SourceKey,
        commit: CommitSha,
        source: ApplicationSource,
        context: RenderContext,
    ) -> Result<Arc<Outcome>, SourceError> {
        let job = Arc::new(Job { key, commit: commit.clone(), source, context });
        let mut rebuilt = false;
        loop {
            let generation = repository.store.generation();
            let damage = match Arc::clone(&self).render_stored(&repository, &job).await? {
                Attempt::Done(outcome) => return Ok(outcome),
                Attempt::NotFetched => match Arc::clone(&self).fetch(&repository, &commit).await {
                    Err(FetchError::Damaged { repo, source }) => {
                        FetchError::Damaged { repo, source }
                    }
                    fetched => {
                        fetched?;
                        continue;
                    }
                },
                Attempt::Damaged(damage) => damage,
            };
            if rebuilt {
                return Err(damage.into());
            }
            rebuilt = true;
            self.rebuild(&repository, generation).await?;
        }
    }

    async fn rebuild(
        &self,
        repository: &Arc<Repository>,
        generation: u64,
    ) -> Result<(), FetchError> {
        let limit = self.options.git.fetch_timeout;
        let shared = Arc::clone(repository);
        let rebuilt = self.requests.run(limit, move |_| shared.store.rebuild(generation)).await;
        repository.settle(rebuilt, "rebuilding the copy of", limit)
    }

    async fn render_stored(
        self: Arc<Self>,
        repository: &Arc<Repository>,
        job: &Arc<Job>,
    ) -> Result<Attempt, SourceError> {
        let limit = self.options.render_timeout;
        let (shared, own, inner) = (Arc::clone(repository), Arc::clone(job), Arc::clone(&self));
        let attempt = self.renders.run(limit, move |_| inner.attempt(&shared, &own)).await;
        match attempt {
            Ok(attempt) => Ok(attempt?),
            Err(Interrupted::TimedOut) => {
                let repo = repository.remote.url.clone();
                Err(FetchError::Timeout { doing: "rendering from", repo, limit }.into())
            }
            Err(Interrupted::Panicked) => Err(SourceError::Crashed {
                repo: repository.remote.url.clone(),
                commit: job.commit.clone(),
                path: job.source.path.clone(),
            }),
        }
    }

    /// One try at rendering from what the store has. Blocks.
    fn attempt(&self, repository: &Repository, job: &Job) -> Result<Attempt, FetchError> {
        let opened = repository.store.open()?;
        let root = match fetch::root_tree(&repository.remote, &opened, &job.commit) {
            Ok(Some(root)) => root,
            Ok(None) => return Ok(Attempt::NotFetched),
            Err(error) => return Ok(Attempt::Damaged(error)),
        };
        repository.remember_root(&job.commit, root);
        if let Some(outcome) = self.unchanged(repository, &opened, job.key, root) {
            return Ok(Attempt::Done(outcome));
        }
        let tree = repository.tree(&opened, root);
        let (result, reads) = render::render(&tree, &job.source, &job.context);
        self.stats.count(|stats| stats.renders += 1);
        if let Err(RenderError::Tree(TreeError::Store { source, .. })) = result {
            let repo = repository.remote.url.clone();
            return Ok(Attempt::Damaged(FetchError::Damaged { repo, source }));
        }
        let outcome = Arc::new(Outcome::new(result, reads));
        self.cache.insert(job.key, root, Arc::clone(&outcome));
        Ok(Attempt::Done(outcome))
    }

    /// The newest outcome of this source, if nothing it read differs in `root`.
    fn unchanged(
        &self,
        repository: &Repository,
        opened: &Opened,
        key: SourceKey,
        root: ObjectId,
    ) -> Option<Arc<Outcome>> {
        if let Some(outcome) = self.cache.get(key, root) {
            self.stats.count(|stats| stats.cache_hits += 1);
            return Some(outcome);
        }
        let (old_root, outcome) = self.cache.newest(key)?;
        let changes = repository.changes(opened, old_root, root)?;
        if outcome.reads.are_touched_by(&changes) {
            return None;
        }
        self.stats.count(|stats| stats.unchanged_hits += 1);
        self.cache.insert(key, root, Arc::clone(&outcome));
        Some(outcome)
    }
}

/// A render to be done.
struct Job {
    key: SourceKey,
    commit: CommitSha,
    source: ApplicationSource,
    context: RenderContext,
}

/// What came of a try.
enum Attempt {
    Done(Arc<Outcome>),
    NotFetched,
    Damaged(FetchError),
}
