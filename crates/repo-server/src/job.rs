//! Something to be done with the trees of one or more commits.
//!
//! [`Inner::on_trees`] fetches what is missing, builds a damaged store anew,
//! once, and hands the trees to the work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use api::ApplicationSource;
use gix::ObjectId;
use render::tree::{Reads, Tree, TreeError};
use render::{Outside, RenderContext, RenderError, World};
use sha2::{Digest as _, Sha256};

use crate::blocking::Interrupted;
use crate::brought::Brought;
use crate::facts::TheseFacts;
use crate::lfs::{Failed, smudged};
use crate::packages::Package;
use crate::rendered::{Given, RefRoots, SourceKey};
use crate::repository::Repository;
use crate::server::Inner;
use crate::store::Opened;
use crate::submodules::{self, Submodule, WithSubmodules};
use crate::{CommitSha, FetchError, RepoUrl, SourceError, SourceRepos};

/// Submodules of submodules of submodules: a repository may be its own.
const MAX_NESTED: usize = 8;

/// A commit of a repository.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) repository: Arc<Repository>,
    pub(crate) commit: CommitSha,
}

impl At {
    /// Where its files come from; with contents of LFS they are others.
    fn identity(&self) -> String {
        let Repository { identity, remote, .. } = &*self.repository;
        if remote.wants_lfs() { format!("{identity}\nlfs") } else { identity.clone() }
    }
}

/// Where a source's files come from.
pub(crate) enum Origin {
    /// A commit.
    Git(At),
    /// A chart of a chart repository, or an artifact of a registry.
    Packed(Arc<Package>),
}

impl Origin {
    fn repo(&self) -> RepoUrl {
        match self {
            Self::Git(at) => at.repository.remote.url.clone(),
            Self::Packed(package) => package.repo.clone(),
        }
    }

    /// The commit, the chart's version, or the artifact's digest.
    pub(crate) fn revision(&self) -> &str {
        match self {
            Self::Git(at) => at.commit.as_str(),
            Self::Packed(package) => &package.revision,
        }
    }

    fn identity(&self) -> String {
        match self {
            Self::Git(at) => at.identity(),
            Self::Packed(package) => format!("package\n{}", package.repo.identity()),
        }
    }

    /// The tree's id, if it is known without a look at the disk.
    fn known_root(&self) -> Option<ObjectId> {
        match self {
            Self::Git(at) => at.repository.root(&at.commit),
            Self::Packed(package) => Some(package.root),
        }
    }
}

/// A source at a commit, with those it refers to.
pub(crate) struct Job {
    pub(crate) key: SourceKey,
    pub(crate) main: Origin,
    pub(crate) refs: BTreeMap<String, At>,
    pub(crate) source: ApplicationSource,
    pub(crate) context: RenderContext,
    pub(crate) given: Given,
    /// The credentials that came with the request, if it brought its own.
    pub(crate) brought: Option<Arc<Brought>>,
    /// What the project permits of what the source leads to.
    pub(crate) source_repos: SourceRepos,
    /// Do the trees have their submodules in them?
    pub(crate) has_submodules: bool,
}

/// The trees' ids.
pub(crate) struct Roots {
    pub(crate) main: ObjectId,
    pub(crate) refs: RefRoots,
}

impl Job {
    pub(crate) fn new(
        main: Origin,
        refs: BTreeMap<String, At>,
        source: ApplicationSource,
        context: RenderContext,
        source_repos: SourceRepos,
    ) -> Self {
        let mut identity = main.identity();
        for (name, at) in &refs {
            // No address holds a line feed.
            identity.push_str(&format!("\n{name}\n{}", at.identity()));
        }
        let key = SourceKey::of(&identity, &source, &context, &source_repos);
        let given = Given {
            revision: main.revision().to_owned(),
            // Some people put their password into it, and it is kept on disk.
            repo_url: Sha256::digest(&source.repo_url).into(),
            target_revision: source.target_revision.clone(),
            refs: refs.iter().map(|(name, at)| (name.clone(), at.commit.clone())).collect(),
            capabilities: Arc::clone(&context.capabilities),
        };
        let (brought, has_submodules) = (None, true);
        Self { key, main, refs, source, context, given, brought, source_repos, has_submodules }
    }

    /// Of files of one repository alone, whatever it leads to.
    pub(crate) fn without_submodules(main: Origin, refs: BTreeMap<String, At>) -> Self {
        let (source, context) = (ApplicationSource::default(), RenderContext::new("", ""));
        let job = Self::new(main, refs, source, context, SourceRepos::all());
        Self { has_submodules: false, ..job }
    }

    /// Why a commit could not be fetched, if it is that of a submodule with
    /// credentials that the project does not permit to use.
    fn not_fetched(&self, at: &At, error: FetchError) -> FetchError {
        let is_own = self.all().any(|it| Arc::ptr_eq(&it.repository, &at.repository));
        if is_own || at.repository.remote.url.is_permitted_by(&self.source_repos) {
            return error;
        }
        error.for_stranger(&self.context.project)
    }

    /// The trees' ids, if all are known without a look at the disk.
    pub(crate) fn known_roots(&self) -> Option<Roots> {
        let root = |at: &At| at.repository.root(&at.commit);
        let refs = self.refs.iter().map(|(name, at)| Some((name.clone(), root(at)?)));
        Some(Roots { main: self.main.known_root()?, refs: refs.collect::<Option<_>>()? })
    }

    pub(crate) fn failed(&self, error: RenderError) -> SourceError {
        SourceError::Render {
            repo: self.main.repo(),
            revision: self.main.revision().to_owned(),
            path: self.path(),
            source: Box::new(error),
        }
    }

    /// What is rendered, for messages.
    fn path(&self) -> String {
        match self.main {
            Origin::Packed(_) if !self.source.chart.is_empty() => self.source.chart.clone(),
            Origin::Git(_) | Origin::Packed(_) => self.source.path.clone(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &At> {
        let main = match &self.main {
            Origin::Git(at) => Some(at),
            Origin::Packed(_) => None,
        };
        main.into_iter().chain(self.refs.values())
    }
}

/// An open tree.
pub(crate) struct OpenTree {
    /// The store, if it comes from one.
    pub(crate) opened: Option<Opened>,
    pub(crate) root: ObjectId,
    pub(crate) tree: Box<dyn Tree>,
}

/// The trees of a job.
pub(crate) struct Trees {
    pub(crate) main: OpenTree,
    refs: BTreeMap<String, OpenTree>,
    facts: TheseFacts,
    lfs_failed: Failed,
}

impl Trees {
    pub(crate) fn roots(&self) -> Roots {
        let refs = self.refs.iter().map(|(name, it)| (name.clone(), it.root)).collect();
        Roots { main: self.main.root, refs }
    }

    /// Raised when nobody waits for the work any more.
    pub(crate) fn over(&self) -> &Arc<AtomicBool> {
        &self.facts.over
    }

    /// Could a content not be had that is kept outside of git?
    pub(crate) fn lfs_failed(&self) -> bool {
        self.lfs_failed.load(Ordering::Relaxed)
    }

    /// What a render of the job may ask.
    pub(crate) fn world<'w>(&'w self, job: &'w Job, outside: &'w dyn Outside) -> World<'w> {
        let refs = self.refs.iter().map(|(name, it)| (name.clone(), it.tree.as_ref()));
        World { commit: job.main.revision(), facts: &self.facts, outside, refs: refs.collect() }
    }

    /// Do the sources referred to still give these answers?
    pub(crate) fn hold_all(&self, reads: &BTreeMap<String, Reads>) -> bool {
        reads.iter().all(|(name, reads)| match self.refs.get(name) {
            Some(it) => reads.hold_in(it.tree.as_ref()).unwrap_or(false),
            None => reads.is_empty(),
        })
    }
}

/// What came of a try.
enum Attempt<T> {
    Done(T),
    Failed(RenderError),
    NotFetched(At),
    Damaged(At, FetchError),
}

impl Inner {
    /// Does `work` with the job's trees, as soon as they are here.
    pub(crate) async fn on_trees<T: Send + 'static>(
        self: Arc<Self>,
        job: Arc<Job>,
        work: impl Fn(&Arc<Self>, &Job, &Trees) -> Result<T, RenderError> + Clone + Send + 'static,
    ) -> Result<T, SourceError> {
        let mut rebuilt = false;
        loop {
            let generations: Vec<u64> =
                job.all().map(|at| at.repository.store.generation()).collect();
            let (at, damage) = match Arc::clone(&self).attempt(&job, work.clone()).await? {
                Attempt::Done(answer) => return Ok(answer),
                Attempt::Failed(error) => return Err(job.failed(error)),
                Attempt::NotFetched(at) => {
                    match Arc::clone(&self).fetch(&at.repository, &at.commit).await {
                        Err(damage @ FetchError::Damaged { .. }) => (at, damage),
                        Err(error) => return Err(job.not_fetched(&at, error).into()),
                        Ok(()) => continue,
                    }
                }
                Attempt::Damaged(at, damage) => (at, damage),
            };
            if rebuilt {
                return Err(damage.into());
            }
            rebuilt = true;
            let same = |it: &(&At, &u64)| Arc::ptr_eq(&it.0.repository, &at.repository);
            let generation = job.all().zip(&generations).find(same).map_or(0, |(_, it)| *it);
            self.rebuild(&at.repository, generation).await?;
        }
    }

    async fn attempt<T: Send + 'static>(
        self: Arc<Self>,
        job: &Arc<Job>,
        work: impl Fn(&Arc<Self>, &Job, &Trees) -> Result<T, RenderError> + Send + 'static,
    ) -> Result<Attempt<T>, SourceError> {
        let limit = self.options.render_timeout;
        let (own, inner) = (Arc::clone(job), Arc::clone(&self));
        let asked = Instant::now();
        let attempt = self.renders.run(limit, move |over| {
            if let Some(observer) = inner.observer.get() {
                observer.waited(asked.elapsed());
            }
            try_once(&inner, &own, over, work)
        });
        let attempt = attempt.await;
        let repo = job.main.repo();
        match attempt {
            Ok(attempt) => Ok(attempt?),
            Err(Interrupted::TimedOut) => {
                Err(FetchError::Timeout { doing: "rendering from", repo, limit }.into())
            }
            Err(Interrupted::Panicked) => Err(SourceError::Crashed {
                repo,
                revision: job.main.revision().to_owned(),
                path: job.path(),
            }),
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
}

/// One try with what the stores have. Blocks.
fn try_once<T>(
    inner: &Arc<Inner>,
    job: &Job,
    over: &Arc<AtomicBool>,
    work: impl Fn(&Arc<Inner>, &Job, &Trees) -> Result<T, RenderError>,
) -> Result<Attempt<T>, FetchError> {
    let opening = Opening { inner, job, over, lfs_failed: Failed::default() };
    let main = match &job.main {
        Origin::Packed(package) => {
            OpenTree { opened: None, root: package.root, tree: Box::new(package.tree.clone()) }
        }
        Origin::Git(at) => match opening.open(at, MAX_NESTED)? {
            Ok(open) => open,
            Err(attempt) => return Ok(attempt),
        },
    };
    let mut refs = BTreeMap::new();
    for (name, at) in &job.refs {
        match opening.open(at, MAX_NESTED)? {
            Ok(open) => refs.insert(name.clone(), open),
            Err(attempt) => return Ok(attempt),
        };
    }
    let facts = TheseFacts { over: Arc::clone(over) };
    let lfs_failed = opening.lfs_failed;
    Ok(match work(inner, job, &Trees { main, refs, facts, lfs_failed }) {
        Ok(answer) => Attempt::Done(answer),
        Err(error) => match (&error, job.all().next()) {
            (RenderError::Tree(TreeError::Store { source, .. }), Some(at)) => {
                let (repo, source) = (job.main.repo(), Arc::clone(source));
                Attempt::Damaged(at.clone(), FetchError::Damaged { repo, source })
            }
            _ => Attempt::Failed(error),
        },
    })
}

/// What trees are opened with.
struct Opening<'o> {
    inner: &'o Arc<Inner>,
    job: &'o Job,
    over: &'o Arc<AtomicBool>,
    lfs_failed: Failed,
}

impl Opening<'_> {
    /// The tree of a commit with its submodules, or what has to happen first.
    fn open<T>(&self, at: &At, nested: usize) -> Result<Result<OpenTree, Attempt<T>>, FetchError> {
        let Self { inner, job, .. } = self;
        let At { repository, commit } = at;
        let opened = repository.store.open()?;
        let root = match repository.root_in(&opened, commit) {
            Ok(Some(root)) => root,
            Ok(None) => return Ok(Err(Attempt::NotFetched(at.clone()))),
            Err(error) => return Ok(Err(Attempt::Damaged(at.clone(), error))),
        };
        let main = repository.tree(&opened, root);
        let url = &repository.remote.url;
        let submodules =
            if job.has_submodules { submodules::listed(&main, url) } else { Ok(Vec::new()) };
        let submodules = submodules
            .map_err(|error| FetchError::Damaged { repo: url.clone(), source: Arc::new(error) })?;
        if !submodules.is_empty() && nested == 0 {
            return Err(FetchError::TooManySubmodules { repo: url.clone() });
        }
        let mut modules = BTreeMap::new();
        for submodule in submodules {
            let Submodule { path, commit, url: part } = submodule;
            let (project, permitted) = (&job.context.project, &job.source_repos);
            let part = inner.reached(job.brought.as_ref(), project, permitted, &part);
            let url = inner.book.current().as_submodule(&part, url);
            let at = At { repository: inner.repository(&url), commit };
            match self.open(&at, nested - 1)? {
                Ok(module) => modules.insert(path, module.tree),
                Err(attempt) => return Ok(Err(attempt)),
            };
        }
        let permitted = &job.source_repos;
        let main = smudged(main, inner, repository, permitted, self.over, &self.lfs_failed);
        let tree: Box<dyn Tree> =
            if modules.is_empty() { main } else { Box::new(WithSubmodules { main, modules }) };
        Ok(Ok(OpenTree { opened: Some(opened), root, tree }))
    }
}
