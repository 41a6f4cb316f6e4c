//! Manifests of a source: remembered, or rendered once for everyone who asks.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use render::RenderError;
use render::tree::TreeError;

use crate::integrity::{self, NamedTag};
use crate::job::{Job, Origin, Trees};
use crate::moved;
use crate::outside::OtherServers;
use crate::rendered::{Outcome, SourceKey, Texts};
use crate::resolve;
use crate::server::{Inner, Place};
use crate::{CommitSha, FetchError, ManifestQuery, Rendered, RepoServer, SourceError};

impl RepoServer {
    /// What a source stands for: resolved, fetched and rendered, as far as
    /// that is not known already.
    ///
    /// # Errors
    /// When the commit cannot be had, or does not render.
    pub async fn manifests(&self, query: ManifestQuery) -> Result<Arc<Rendered>, SourceError> {
        let job = self.job(&query).await?;
        if query.is_only_referred_to() {
            let texts = Arc::new(Texts::none());
            return Ok(Arc::new(self.proven(&query, &job, false, texts).await?));
        }
        if query.ignore_cache {
            self.inner.forget(job.key);
        }
        let (is_new, outcome) = match self.inner.remembered(&job) {
            Some(outcome) => (false, outcome),
            None => (true, self.tried(&query, &job).await?),
        };
        self.inner.followers.add(&job);
        match &outcome.result {
            Ok(texts) => Ok(Arc::new(self.proven(&query, &job, is_new, Arc::clone(texts)).await?)),
            Err(error) => Err(job.failed(error.clone())),
        }
    }

    /// Is the answer in memory?
    pub(crate) async fn remembers(&self, query: &ManifestQuery) -> bool {
        let Place::Git(_) = self.place(&query.source, &query.context.project) else { return false };
        match self.job(query).await {
            Ok(job) => self.inner.remembered(&job).is_some(),
            Err(_) => false,
        }
    }

    /// What was rendered, with what speaks against it.
    async fn proven(
        &self,
        query: &ManifestQuery,
        job: &Job,
        is_new: bool,
        texts: Arc<Texts>,
    ) -> Result<Rendered, FetchError> {
        let checked = self.problems(query, job).await?;
        let (commit, is_checked) = (job.main.revision().to_owned(), checked.is_some());
        Ok(Rendered { commit, problems: checked.unwrap_or_default(), is_checked, is_new, texts })
    }

    /// What speaks against where the commit comes from, where a rule is about
    /// the repository; charts and artifacts are not asked.
    async fn problems(
        &self,
        query: &ManifestQuery,
        job: &Job,
    ) -> Result<Option<Vec<String>>, FetchError> {
        let (Some(integrity), Origin::Git(at)) = (&query.integrity, &job.main) else {
            return Ok(None);
        };
        let policy = match integrity::policy(integrity, &query.source.repo_url) {
            Ok(Some(policy)) => policy,
            Ok(None) => return Ok(None),
            Err(problem) => return Ok(Some(vec![problem])),
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
        self.inner.integrity(at, tag, policy).await.map(Some)
    }

    /// Renders, unless that failed so often that the source is left alone.
    async fn tried(
        &self,
        query: &ManifestQuery,
        job: &Arc<Job>,
    ) -> Result<Arc<Outcome>, SourceError> {
        let Inner { pauses, options, .. } = &*self.inner;
        let key = (job.key, job.main.revision().to_owned());
        if !query.ignore_cache
            && let Some(error) = pauses.told_again(options.pause, &key, Instant::now())
        {
            return Err(SourceError::Paused { error });
        }
        let outcome = self.render_once(job).await?;
        match &outcome.result {
            Ok(_) => pauses.succeeded(&key),
            Err(error) if outcome.may_pass => {
                let error = job.failed(error.clone());
                pauses.failed(key, crate::http::with_causes(&error), Instant::now());
            }
            Err(_) => {}
        }
        Ok(outcome)
    }

    /// Renders; those who ask the same at the same time share the render.
    async fn render_once(&self, job: &Arc<Job>) -> Result<Arc<Outcome>, SourceError> {
        let start = || {
            let (inner, job) = (Arc::clone(&self.inner), Arc::clone(job));
            async move { inner.on_trees(job, Inner::render).await }.boxed()
        };
        self.inner.flights.join((job.key, job.given.clone()), start).await
    }
}

impl Inner {
    /// The answer for commits whose trees are known, if there is one.
    fn remembered(&self, job: &Job) -> Option<Arc<Outcome>> {
        let roots = job.known_roots()?;
        let outcome = self.cache.get(job.key, roots.main, &job.given, &roots.refs)?;
        self.stats.count(|stats| stats.cache_hits += 1);
        Some(outcome)
    }

    /// Takes over what an earlier process rendered of a source. Blocks.
    fn recall(&self, key: SourceKey) {
        if let Some(disk) = &self.disk
            && self.cache.newest(key).is_none()
            && let Some((root, outcome)) = disk.get(key)
        {
            self.cache.insert(key, root, Arc::new(outcome));
        }
    }

    fn forget(&self, key: SourceKey) {
        self.cache.remove(key);
        if let Some(disk) = &self.disk {
            disk.remove(key);
        }
    }

    /// Renders from what the stores have. Blocks.
    fn render(self: &Arc<Self>, job: &Job, trees: &Trees) -> Result<Arc<Outcome>, RenderError> {
        if let Some(outcome) = self.unchanged(job, trees) {
            return Ok(outcome);
        }
        let outside = OtherServers::of(self, job, trees.over());
        let world = trees.world(job, &outside);
        let (result, record) =
            render::render(trees.main.tree.as_ref(), &job.source, &job.context, &world);
        self.stats.count(|stats| stats.renders += 1);
        if let Err(error @ RenderError::Tree(TreeError::Store { .. })) = result {
            return Err(error);
        }
        let roots = trees.roots();
        // What others said may be another thing the next time, and what took too long may be quicker.
        let may_pass = result.is_err()
            && (outside.was_asked() || outside.ran_out_of_time() || trees.lfs_failed());
        let mut outcome = Outcome::new(result, record, job.given.clone(), roots.refs);
        outcome.may_pass = may_pass;
        let outcome = Arc::new(outcome);
        if !may_pass {
            self.cache.insert(job.key, roots.main, Arc::clone(&outcome));
            if let Some(disk) = &self.disk {
                disk.put(job.key, roots.main, &outcome);
            }
        }
        Ok(outcome)
    }

    /// The newest outcome of this source, if nothing it asked has another
    /// answer now.
    fn unchanged(&self, job: &Job, trees: &Trees) -> Option<Arc<Outcome>> {
        let roots = trees.roots();
        self.recall(job.key);
        if let Some(outcome) = self.cache.get(job.key, roots.main, &job.given, &roots.refs) {
            self.stats.count(|stats| stats.cache_hits += 1);
            return Some(outcome);
        }
        let (old_root, outcome) = self.cache.newest(job.key)?;
        if !outcome.was_given(&job.given) {
            return None;
        }
        let (Origin::Git(at), Some(opened)) = (&job.main, &trees.main.opened) else { return None };
        let changes = at.repository.changes(opened, old_root, roots.main)?;
        if !moved::holds(&outcome, &changes) || !trees.hold_all(&outcome.record.refs) {
            return None;
        }
        self.stats.count(|stats| stats.unchanged_hits += 1);
        let same_refs = roots.refs.is_empty();
        let outcome = Arc::new(outcome.with_refs(roots.refs));
        self.cache.insert(job.key, roots.main, Arc::clone(&outcome));
        match &self.disk {
            Some(disk) if same_refs => disk.moved(vec![(job.key, old_root)], roots.main),
            Some(disk) => disk.put(job.key, roots.main, &outcome),
            None => {}
        }
        Some(outcome)
    }
}
