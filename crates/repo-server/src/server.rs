//! The one object others hold: resolve, fetch, render, remember.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use api::ApplicationSource;
use plugins::AskPass;

use crate::artifacts::Artifacts;
use crate::blocking::BlockingPool;
use crate::brought::{Brought, Learned};
use crate::charts::Charts;
use crate::credentials::{Reach, SharedBook};
use crate::disk::Disk;
use crate::events::{Observer, RequestKind};
use crate::flight::Flights;
use crate::job::{At, Job, Origin};
use crate::lfs::LfsContents;
use crate::moved::Followers;
use crate::packages::Packages;
use crate::pause::Pauses;
use crate::redirect::Moved;
use crate::remote::Remote;
use crate::rendered::{Given, Outcome, RenderedCache, SourceKey};
use crate::repository::Repository;
use crate::resolve::{self, Resolved};
use crate::signatures::Keyring;
use crate::stats::Stats;
use crate::{
    CommitSha, CredentialBook, FetchError, Freshness, GitLimits, ManifestQuery, Options, RefSource,
    RemoteRefs, RepoUrl, SourceError, StatsSnapshot, TargetRevision,
};

/// Resolves, fetches and renders. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct RepoServer {
    pub(crate) inner: Arc<Inner>,
    /// The credentials of a request; without, those of the settings.
    pub(crate) brought: Option<Arc<Brought>>,
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
    pub(crate) learned: Learned,
    keyring: Mutex<Keys>,
    pub(crate) charts: Charts,
    pub(crate) artifacts: Artifacts,
    pub(crate) packages: Packages,
    pub(crate) lfs: LfsContents,
    pub(crate) cache: RenderedCache,
    pub(crate) disk: Option<Disk>,
    pub(crate) flights: Flights<(SourceKey, Given), Result<Arc<Outcome>, SourceError>>,
    pub(crate) stats: Stats,
    pub(crate) pauses: Pauses,
    pub(crate) ask_pass: AskPass,
    pub(crate) followers: Followers,
    pub(crate) observer: OnceLock<Arc<dyn Observer>>,
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
            learned: Learned::default(),
            keyring: Mutex::default(),
            charts: Charts::default(),
            artifacts: Artifacts::default(),
            packages: Packages::default(),
            lfs: LfsContents::default(),
            cache: RenderedCache::new(options.cache_budget),
            disk: Disk::open(&options.data_dir, options.disk_budget),
            flights: Flights::default(),
            stats: Stats::default(),
            pauses: Pauses::default(),
            ask_pass: AskPass::new(&options.plugins.ask_pass_socket),
            followers: Followers::default(),
            observer: OnceLock::new(),
            options,
        };
        Ok(Self { inner: Arc::new(inner), brought: None })
    }

    /// The same server, to a request that brought its credentials along.
    #[must_use]
    pub fn with(&self, brought: Arc<Brought>) -> Self {
        Self { inner: Arc::clone(&self.inner), brought: Some(brought) }
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
        match self.place(source, project) {
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
            Place::Artifact(repo) => self.digest(&repo, revision, freshness).await,
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

    /// The digest of an artifact.
    pub(crate) async fn digest(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
        freshness: Freshness,
    ) -> Result<String, FetchError> {
        let resolved = self.inner.artifact_digest(repo, revision, freshness);
        self.inner.told(RequestKind::OciResolve, repo, &revision.0, resolved).await
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

    /// Resolves every revision that a query is about.
    pub(crate) async fn job(&self, query: &ManifestQuery) -> Result<Arc<Job>, FetchError> {
        let ManifestQuery { source, revision, freshness, context, .. } = query;
        let inner = &self.inner;
        let main = match self.place(source, &context.project) {
            Place::Git(repo) => {
                Origin::Git(self.at(&repo, revision, &source.tag_prefix, *freshness).await?)
            }
            Place::Charts(repo) => {
                let version =
                    self.chart_version(&repo, &source.chart, revision, *freshness).await?;
                let passes = source.helm.as_ref().is_some_and(|it| it.pass_credentials);
                let reach = Reach::of(passes);
                Origin::Packed(inner.chart(&repo, &source.chart, &version, reach).await?)
            }
            Place::RegistryChart(chart) => {
                let version = self.registry_chart_version(&chart, revision, *freshness).await?;
                Origin::Packed(inner.registry_chart(&chart, &version).await?)
            }
            Place::Artifact(repo) => {
                let digest = self.digest(&repo, revision, *freshness).await?;
                let extracted = inner.artifact(&repo, &digest);
                let kind = RequestKind::OciExtract;
                Origin::Packed(inner.told(kind, &repo, &digest, extracted).await?)
            }
        };
        let refs = self.refs_of(query).await?;
        let mut context = context.clone();
        if !inner.options.plugins.use_generate_paths {
            context.generate_paths.clear();
        }
        let job = Job::new(main, refs, source.clone(), context, query.source_repos.clone());
        Ok(Arc::new(Job { brought: self.brought.clone(), ..job }))
    }

    /// The commits of the sources that a query's parameters refer to.
    pub(crate) async fn refs_of(
        &self,
        query: &ManifestQuery,
    ) -> Result<BTreeMap<String, At>, FetchError> {
        let mut refs = BTreeMap::new();
        for RefSource { name, repo_url, revision, tag_prefix } in query.used_refs() {
            let repo = self.repo(repo_url, &query.context.project);
            let at = self.at(&repo, revision, tag_prefix, query.freshness).await?;
            refs.insert(name.clone(), at);
        }
        Ok(refs)
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
        self.inner.seen(self.brought.as_ref(), project, &RepoUrl::new(address))
    }

    pub(crate) fn place(&self, source: &ApplicationSource, project: &str) -> Place {
        let repo = self.repo(&source.repo_url, project);
        self.inner.place(source, repo)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// From now on, connects with these credentials.
    pub fn set_credentials(&self, book: CredentialBook) {
        self.inner.set_keyring(&book.gpg_keys);
        self.inner.learned.set(&self.inner.book, book);
    }

    /// Tells what happens to whoever keeps metrics; the first one counts.
    pub fn observed_by(&self, observer: Arc<dyn Observer>) {
        // An error only says that there is one.
        drop(self.inner.observer.set(observer));
    }

    /// Counts of requests, renders and hits so far.
    #[must_use]
    pub fn stats(&self) -> StatsSnapshot {
        self.inner.stats.snapshot()
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

    /// What kind of place a source names.
    fn place(&self, source: &ApplicationSource, repo: RepoUrl) -> Place {
        let book = self.book.current();
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
}
