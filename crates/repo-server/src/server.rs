//! The one object others hold: resolve, fetch, render, remember.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::{ApplicationSource, SourceIntegrity};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use object::Object;
use render::tree::TreeError;
use render::{RenderContext, RenderError, SourceType};

use crate::artifacts::Artifacts;
use crate::blocking::BlockingPool;
use crate::charts::Charts;
use crate::credentials::SharedBook;
use crate::fetch;
use crate::flight::Flights;
use crate::integrity::{self, NamedTag};
use crate::job::{At, Job, Origin, Trees};
use crate::outside::OtherServers;
use crate::packages::Packages;
use crate::redirect::Moved;
use crate::remote::Remote;
use crate::rendered::{Given, Outcome, RenderedCache, SourceKey, Texts};
use crate::repository::Repository;
use crate::resolve::{self, Resolved};
use crate::signatures::Keyring;
use crate::stats::Stats;
use crate::{
    CommitSha, CredentialBook, FetchError, Freshness, JsonnetProgram, OciLimits, PluginOptions,
    RemoteRefs, RepoUrl, SourceError, StatsSnapshot, TargetRevision,
};

/// Resolves, fetches and renders. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct RepoServer {
    pub(crate) inner: Arc<Inner>,
}

/// How a [`RepoServer`] works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where repositories are stored. One process at a time.
    pub data_dir: PathBuf,
    /// Deadlines and parallelism of git.
    pub git: GitLimits,
    /// What may come from registries.
    pub oci: OciLimits,
    /// Bytes of an index of charts (`--helm-registry-max-index-size`).
    pub max_index: u64,
    /// Where plugins are, and what they are not sent.
    pub plugins: PluginOptions,
    /// Who evaluates Jsonnet; without one it happens in this process, where it
    /// cannot be stopped.
    pub jsonnet: Option<JsonnetProgram>,
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
    /// Bytes of one file in a commit or its history: it is inflated as a whole
    /// when it arrives.
    pub max_object: u64,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(15),
            fetch_timeout: Duration::from_secs(90),
            parallel_requests: 16,
            max_object: 512 << 20,
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
            oci: OciLimits::default(),
            max_index: 1 << 30,
            plugins: PluginOptions::default(),
            jsonnet: None,
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
    /// The application's sources that others may refer to; empty for an
    /// application with a single source.
    pub refs: Vec<RefSource>,
    /// How old the knowledge of the repository's branches may be.
    pub freshness: Freshness,
    /// The application's side of it.
    pub context: RenderContext,
    /// How commits must prove where they come from, if they must.
    pub integrity: Option<SourceIntegrity>,
    /// Render even if the result is known: a hard refresh.
    pub ignore_cache: bool,
}

/// A source whose files other sources may refer to as `$name/…`.
#[derive(Clone, Debug)]
pub struct RefSource {
    /// Its `ref`.
    pub name: String,
    /// Its repository.
    pub repo_url: String,
    /// Its revision.
    pub revision: TargetRevision,
    /// Its `tagPrefix`.
    pub tag_prefix: String,
}

impl ManifestQuery {
    /// Is the source there only to be referred to?
    fn is_only_referred_to(&self) -> bool {
        let ApplicationSource { ref_, path, chart, .. } = &self.source;
        !self.refs.is_empty() && !ref_.is_empty() && path.is_empty() && chart.is_empty()
    }

    /// The sources that its parameters really refer to.
    fn used_refs(&self) -> Vec<&RefSource> {
        let Some(helm) = &self.source.helm else { return Vec::new() };
        let files = helm.file_parameters.iter().map(|it| &it.path);
        let mut names = helm.value_files.iter().chain(files).filter_map(|it| it.strip_prefix('$'));
        let names: BTreeSet<&str> =
            names.by_ref().map(|it| it.split('/').next().unwrap_or(it)).collect();
        self.refs.iter().filter(|it| names.contains(it.name.as_str())).collect()
    }
}

/// What a source rendered to.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The commit the revision stood for, or the version of the chart.
    pub commit: String,
    /// What speaks against where the commit comes from. Manifests with problems
    /// may be looked at, but not be deployed.
    pub problems: Vec<String>,
    texts: Arc<Texts>,
}

impl Rendered {
    /// The kind of source it turned out to be; none for one that is only
    /// referred to.
    #[must_use]
    pub fn source_type(&self) -> Option<SourceType> {
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

/// What kind of place a source names.
pub(crate) enum Place {
    /// A git repository.
    Git(RepoUrl),
    /// A chart repository with an index.
    Charts(RepoUrl),
    /// A chart of a registry.
    RegistryChart(RepoUrl),
    /// Any artifact of a registry.
    Artifact(RepoUrl),
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) requests: BlockingPool,
    pub(crate) renders: BlockingPool,
    repositories: Mutex<HashMap<String, Arc<Repository>>>,
    pub(crate) book: SharedBook,
    keyring: Mutex<Keys>,
    pub(crate) charts: Charts,
    pub(crate) artifacts: Artifacts,
    pub(crate) packages: Packages,
    cache: RenderedCache,
    flights: Flights<(SourceKey, Given), Result<Arc<Outcome>, SourceError>>,
    stats: Stats,
}

/// Keys that commits may be signed with, as they came and as they are used.
#[derive(Default)]
struct Keys {
    armoured: BTreeMap<String, String>,
    keyring: Arc<Keyring>,
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
            book: SharedBook::default(),
            keyring: Mutex::default(),
            charts: Charts::default(),
            artifacts: Artifacts::default(),
            packages: Packages::default(),
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

    /// What a source's revision stands for: a commit, a version of its chart, or
    /// the digest of an artifact. The project's own credentials go first.
    ///
    /// # Errors
    /// When the repository cannot be reached or has no such revision.
    pub async fn resolve_source(
        &self,
        source: &ApplicationSource,
        project: &str,
        revision: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        match self.inner.place(source, project) {
            Place::Git(repo) => {
                let commit =
                    self.resolve_tag(&repo, revision, &source.tag_prefix, freshness).await?;
                Ok(commit.as_str().to_owned())
            }
            Place::Charts(repo) => {
                self.chart_version(&repo, &source.chart, revision, freshness).await
            }
            Place::RegistryChart(chart) => {
                self.registry_chart_version(&chart, revision, freshness).await
            }
            Place::Artifact(repo) => self.inner.artifact_digest(&repo, revision, freshness).await,
        }
    }

    /// The version of a registry's chart that a version or a range stands for.
    pub(crate) async fn registry_chart_version(
        &self,
        chart: &RepoUrl,
        target: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        if !target.0.is_empty() && !gocompat::semver::is_constraint(&target.0) {
            return Ok(target.0.clone());
        }
        self.inner.registry_chart_version(chart, target, freshness).await
    }

    /// The version of a chart that a version or a range stands for.
    async fn chart_version(
        &self,
        repo: &RepoUrl,
        chart: &str,
        target: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        if !target.0.is_empty() && !gocompat::semver::is_constraint(&target.0) {
            return Ok(target.0.clone());
        }
        self.inner.index(repo, freshness).await?.resolve(repo, chart, target)
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
        let job = self.job(&query).await?;
        if query.is_only_referred_to() {
            let texts = Arc::new(Texts::none());
            let problems = self.problems(&query, &job).await?;
            let commit = job.main.revision().to_owned();
            return Ok(Arc::new(Rendered { commit, problems, texts }));
        }
        if query.ignore_cache {
            self.inner.cache.remove(job.key);
        }
        let outcome = match self.inner.remembered(&job) {
            Some(outcome) => outcome,
            None => self.render_once(&job).await?,
        };
        match &outcome.result {
            Ok(texts) => {
                let problems = self.problems(&query, &job).await?;
                let (commit, texts) = (job.main.revision().to_owned(), Arc::clone(texts));
                Ok(Arc::new(Rendered { commit, problems, texts }))
            }
            Err(error) => Err(job.failed(error.clone())),
        }
    }

    /// What speaks against where the commit comes from; charts and artifacts
    /// are not asked.
    async fn problems(&self, query: &ManifestQuery, job: &Job) -> Result<Vec<String>, FetchError> {
        let (Some(integrity), Origin::Git(at)) = (&query.integrity, &job.main) else {
            return Ok(Vec::new());
        };
        let policy = match integrity::policy(integrity, &query.source.repo_url) {
            Ok(Some(policy)) => policy,
            Ok(None) => return Ok(Vec::new()),
            Err(problem) => return Ok(vec![problem]),
        };
        // A commit that is asked for by its id may still be the one that the
        // tag of the source stands for.
        let names = [query.revision.0.as_str(), query.source.target_revision.as_str()];
        let tag = if names.iter().all(|it| CommitSha::parse(it).is_some() || it.is_empty()) {
            None
        } else {
            let repo = &at.repository.remote.url;
            let refs = self.refs(repo, query.freshness).await?;
            let resolved = names.map(|it| resolve::tag_of(&refs, it, &query.source.tag_prefix));
            let resolved: Vec<&str> = resolved.iter().map(String::as_str).collect();
            NamedTag::find(&refs, &resolved, &at.commit)
        };
        self.inner.integrity(at, tag, policy).await
    }

    /// Resolves every revision that a query is about.
    pub(crate) async fn job(&self, query: &ManifestQuery) -> Result<Arc<Job>, FetchError> {
        let ManifestQuery { source, revision, freshness, context, .. } = query;
        let inner = &self.inner;
        let main = match inner.place(source, &context.project) {
            Place::Git(repo) => {
                Origin::Git(self.at(&repo, revision, &source.tag_prefix, *freshness).await?)
            }
            Place::Charts(repo) => {
                let version =
                    self.chart_version(&repo, &source.chart, revision, *freshness).await?;
                Origin::Packed(inner.chart(&repo, &source.chart, &version).await?)
            }
            Place::RegistryChart(chart) => {
                let version = self.registry_chart_version(&chart, revision, *freshness).await?;
                Origin::Packed(inner.registry_chart(&chart, &version).await?)
            }
            Place::Artifact(repo) => {
                let digest = inner.artifact_digest(&repo, revision, *freshness).await?;
                Origin::Packed(inner.artifact(&repo, &digest).await?)
            }
        };
        let mut refs = BTreeMap::new();
        for RefSource { name, repo_url, revision, tag_prefix } in query.used_refs() {
            let repo = self.repo(repo_url, &context.project);
            let at = self.at(&repo, revision, tag_prefix, *freshness).await?;
            refs.insert(name.clone(), at);
        }
        Ok(Arc::new(Job::new(main, refs, source.clone(), context.clone())))
    }

    pub(crate) async fn at(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
        tag_prefix: &str,
        freshness: Freshness,
    ) -> Result<At, FetchError> {
        let commit = self.resolve_tag(repo, revision, tag_prefix, freshness).await?;
        Ok(At { repository: self.inner.repository(repo), commit })
    }

    /// The repository at an address as a project sees it: with the project's own
    /// credentials, if it has some for it.
    #[must_use]
    pub fn repo(&self, address: &str, project: &str) -> RepoUrl {
        self.inner.book.current().seen_by(project, &RepoUrl::new(address))
    }

    /// From now on, connects with these credentials.
    pub fn set_credentials(&self, book: CredentialBook) {
        self.inner.set_keyring(&book.gpg_keys);
        self.inner.book.set(book);
    }

    /// Counts of requests, renders and hits so far.
    #[must_use]
    pub fn stats(&self) -> StatsSnapshot {
        self.inner.stats.snapshot()
    }

    /// Renders; those who ask the same at the same time share the render.
    async fn render_once(&self, job: &Arc<Job>) -> Result<Arc<Outcome>, SourceError> {
        let start = || {
            let (inner, job) = (Arc::clone(&self.inner), Arc::clone(job));
            async move { inner.on_trees(job, Inner::render).await }.boxed()
        };
        self.inner.flights.join((job.key, job.given()), start).await
    }
}

impl Inner {
    pub(crate) fn repository(&self, url: &RepoUrl) -> Arc<Repository> {
        let identity = url.identity();
        let mut repositories = self.repositories.lock().expect("nobody panics while looking up");
        let known = repositories.entry(identity).or_insert_with_key(|identity| {
            let silence = self.options.git.request_timeout;
            let folder = self.options.data_dir.join("git");
            let book = self.book.clone();
            let (url, moved) = (url.clone(), Moved::default());
            let GitLimits { fetch_timeout, max_object, .. } = self.options.git;
            let tried = None;
            let remote = Remote { url, silence, fetch_timeout, max_object, book, tried, moved };
            Arc::new(Repository::new(identity.clone(), remote, &folder))
        });
        Arc::clone(known)
    }

    /// The keys whose signatures we can check.
    pub(crate) fn keyring(&self) -> Arc<Keyring> {
        Arc::clone(&self.keyring.lock().expect("nobody panics while looking up").keyring)
    }

    /// Reads the keys anew only when they changed: verdicts are remembered.
    fn set_keyring(&self, armoured: &BTreeMap<String, String>) {
        let mut keys = self.keyring.lock().expect("nobody panics while looking up");
        if keys.armoured != *armoured {
            let keyring = Arc::new(Keyring::read(armoured));
            *keys = Keys { armoured: armoured.clone(), keyring };
        }
    }

    /// Brings an annotated tag into the store, if it is not there yet.
    pub(crate) async fn fetch_tag(&self, at: &At, tag: &NamedTag) -> Result<(), FetchError> {
        let id = tag.id;
        self.request(&at.repository, move |repository, cancel| {
            fetch::fetch_tag(&repository.store, &repository.remote, id, cancel)
        })
        .await
    }

    /// What kind of place a source names.
    pub(crate) fn place(&self, source: &ApplicationSource, project: &str) -> Place {
        let book = self.book.current();
        let repo = book.seen_by(project, &RepoUrl::new(&source.repo_url));
        let chart = source.chart.as_str();
        if repo.is_registry() {
            // To Argo CD the address of an artifact is complete, and `chart` does
            // not count. A chart below it is what everyone else means.
            let (_, path) = repo.registry_parts();
            let is_complete = chart.is_empty() || path.rsplit('/').next() == Some(chart);
            return if is_complete {
                Place::Artifact(repo)
            } else {
                Place::RegistryChart(repo.below(chart))
            };
        }
        match chart {
            "" => Place::Git(repo),
            chart if book.is_chart_registry(&repo) => {
                Place::RegistryChart(repo.in_registry().below(chart))
            }
            _ => Place::Charts(repo),
        }
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

    /// The answer for commits whose trees are known, if there is one.
    fn remembered(&self, job: &Job) -> Option<Arc<Outcome>> {
        let roots = job.known_roots()?;
        let outcome = self.cache.get(job.key, roots.main, &job.given(), &roots.refs)?;
        self.stats.count(|stats| stats.cache_hits += 1);
        Some(outcome)
    }

    /// Renders from what the stores have. Blocks.
    fn render(self: &Arc<Self>, job: &Job, trees: &Trees) -> Result<Arc<Outcome>, RenderError> {
        if let Some(outcome) = self.unchanged(job, trees) {
            return Ok(outcome);
        }
        let outside = OtherServers::of(self, &job.context.project, trees.over());
        let world = trees.world(job, &outside);
        let (result, record) =
            render::render(trees.main.tree.as_ref(), &job.source, &job.context, &world);
        self.stats.count(|stats| stats.renders += 1);
        if let Err(error @ RenderError::Tree(TreeError::Store { .. })) = result {
            return Err(error);
        }
        let roots = trees.roots();
        let outcome = Arc::new(Outcome::new(result, record, job.given(), roots.refs));
        // What ended for want of time may end otherwise the next time.
        if !outside.ran_out_of_time() {
            self.cache.insert(job.key, roots.main, Arc::clone(&outcome));
        }
        Ok(outcome)
    }

    /// The newest outcome of this source, if nothing it asked has another
    /// answer now.
    fn unchanged(&self, job: &Job, trees: &Trees) -> Option<Arc<Outcome>> {
        let roots = trees.roots();
        if let Some(outcome) = self.cache.get(job.key, roots.main, &job.given(), &roots.refs) {
            self.stats.count(|stats| stats.cache_hits += 1);
            return Some(outcome);
        }
        let (old_root, outcome) = self.cache.newest(job.key)?;
        if !outcome.was_given(&job.given()) {
            return None;
        }
        let (Origin::Git(at), Some(opened)) = (&job.main, &trees.main.opened) else { return None };
        let changes = at.repository.changes(opened, old_root, roots.main)?;
        if outcome.record.reads.are_touched_by(&changes) || !trees.hold_all(&outcome.record.refs) {
            return None;
        }
        self.stats.count(|stats| stats.unchanged_hits += 1);
        let outcome = Arc::new(outcome.with_refs(roots.refs));
        self.cache.insert(job.key, roots.main, Arc::clone(&outcome));
        Some(outcome)
    }
}
