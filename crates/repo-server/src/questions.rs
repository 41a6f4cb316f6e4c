//! What users ask of repositories beside manifests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use render::{EnabledSourceTypes, RenderContext, SourceDetails, SourceType};

use crate::events::RequestKind;
use crate::fetch::{self, CommitText};
use crate::job::{At, Job, Origin, Trees};
use crate::outside::OtherServers;
use crate::redirect::Moved;
use crate::remote::Remote;
use crate::{
    ArtifactMetadata, CommitSha, FetchError, Freshness, ManifestQuery, RepoCredentials, RepoKind,
    RepoServer, RepoUrl, SourceError, SourceRepos, TargetRevision,
};

/// How old the list of tags may be that a commit is shown with.
const TAGS_MAX_AGE: Duration = Duration::from_secs(180);

/// What is known of a commit beside its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionMetadata {
    /// The commit.
    pub commit: CommitSha,
    /// `Name <address>`.
    pub author: String,
    /// When it was written: seconds since 1970.
    pub date: i64,
    /// The tags that stand for it, sorted.
    pub tags: Vec<String>,
    /// The whole message, without blanks around it.
    pub message: String,
}

impl RepoServer {
    /// What a source is and offers to be set.
    ///
    /// # Errors
    /// When the commit cannot be had, or the source there cannot be read.
    pub async fn details(&self, query: &ManifestQuery) -> Result<SourceDetails, SourceError> {
        let job = self.job(query).await?;
        let look = |inner: &Arc<_>, job: &Job, trees: &Trees| {
            let outside = OtherServers::of(inner, job, trees.over());
            let world = trees.world(job, &outside);
            render::details(trees.main.tree.as_ref(), &job.source, &job.context, &world)
        };
        Arc::clone(&self.inner).on_trees(job, look).await
    }

    /// Every directory of a repository that is a chart or a kustomization,
    /// with which of them it is; the top is `.`. Submodules are those that an
    /// Application of the project sees.
    ///
    /// # Errors
    /// When the commit cannot be had or read.
    pub async fn list_apps(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
        enabled: EnabledSourceTypes,
        project: &str,
        source_repos: SourceRepos,
    ) -> Result<BTreeMap<String, SourceType>, SourceError> {
        let main = Origin::Git(self.at(repo, revision, "", Freshness::Latest).await?);
        let project = project.to_owned();
        let context = RenderContext { enabled, project, ..RenderContext::new("", "") };
        let job = Job::new(main, BTreeMap::new(), Default::default(), context, source_repos);
        let job = Job { brought: self.brought.clone(), ..job };
        let look = |_: &Arc<_>, job: &Job, trees: &Trees| {
            render::discover_all(trees.main.tree.as_ref(), job.context.enabled)
        };
        Arc::clone(&self.inner).on_trees(Arc::new(job), look).await
    }

    /// Who wrote a commit, when, and why.
    ///
    /// # Errors
    /// When the commit cannot be had.
    pub async fn revision_metadata(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
    ) -> Result<RevisionMetadata, SourceError> {
        let recent = Instant::now().checked_sub(TAGS_MAX_AGE);
        let recent = recent.map_or(Freshness::Latest, Freshness::NotBefore);
        let main = self.at(repo, revision, "", recent).await?;
        let commit = main.commit.clone();
        // A server that does not answer now only costs the tags.
        let tags = match self.refs(repo, recent).await {
            Ok(refs) => refs.tags_at(&commit).map(str::to_owned).collect(),
            Err(_) => Vec::new(),
        };
        let At { repository, commit: id } = main.clone();
        let job = Job::without_submodules(Origin::Git(main), BTreeMap::new());
        let job = Job { brought: self.brought.clone(), ..job };
        let look = move |_: &Arc<_>, _: &Job, _: &Trees| {
            let opened = repository.store.open();
            Ok(opened.and_then(|opened| fetch::read_commit(&repository.remote, &opened, &id)))
        };
        let CommitText { author, date, message } =
            Arc::clone(&self.inner).on_trees(Arc::new(job), look).await??;
        Ok(RevisionMetadata { commit, author, date, tags, message })
    }

    /// The charts of a chart repository, each with its versions in the order
    /// of the index.
    ///
    /// # Errors
    /// When the repository cannot be reached or has no readable index.
    pub async fn helm_charts(
        &self,
        repo: &RepoUrl,
    ) -> Result<BTreeMap<String, Vec<String>>, FetchError> {
        Ok(self.inner.index(repo, Freshness::Latest).await?.charts())
    }

    /// Does the repository answer, with the credentials configured for it?
    ///
    /// # Errors
    /// When it does not, with what to do about it.
    pub async fn test_access(&self, repo: &RepoUrl) -> Result<(), FetchError> {
        self.refs(repo, Freshness::Latest).await.map(drop)
    }

    /// Would the repository answer with these credentials?
    ///
    /// # Errors
    /// When it would not, with what to do about it.
    pub async fn test_access_with(
        &self,
        repo: &RepoUrl,
        credentials: &RepoCredentials,
    ) -> Result<(), FetchError> {
        let book = self.inner.book.current();
        match credentials.kind {
            RepoKind::Git => self.test_git(repo, credentials).await,
            RepoKind::Helm => self.inner.test_index(repo, book.trust(repo, credentials)).await,
            // Charts of a registry may be for everyone though its front door is
            // not: Argo CD asks only with something to show.
            RepoKind::HelmRegistry if !credentials.identify() => Ok(()),
            RepoKind::HelmRegistry | RepoKind::Oci => {
                let repo = repo.in_registry();
                let trust = book.trust_in_registry(&repo, credentials);
                let answer = self.inner.ping_registry(&repo, trust);
                self.inner.told(RequestKind::OciTest, &repo, "", answer).await
            }
        }
    }

    async fn test_git(
        &self,
        repo: &RepoUrl,
        credentials: &RepoCredentials,
    ) -> Result<(), FetchError> {
        let limit = self.inner.options.git.request_timeout;
        let known = self.inner.repository(repo);
        let tried = Some(credentials.clone());
        let moved = Moved::default();
        let remote = Remote { tried, url: repo.clone(), moved, ..known.remote.clone() };
        let listed = self.inner.requests.run(limit, move |_| remote.list()).await;
        known.settle(listed, "listing the refs of", limit).map(drop)
    }

    /// The tags of a repository of a registry.
    ///
    /// # Errors
    /// When the registry cannot be reached or has no such repository.
    pub async fn oci_tags(&self, repo: &RepoUrl) -> Result<Vec<String>, FetchError> {
        let asked = repo.in_registry();
        let tags = self.inner.tags(&asked, Freshness::Latest);
        let tags = self.inner.told(RequestKind::OciTags, repo, "", tags).await?;
        Ok((*tags).clone())
    }

    /// What an artifact says of itself.
    ///
    /// # Errors
    /// When the registry cannot be reached or has no such artifact.
    pub async fn oci_metadata(
        &self,
        repo: &RepoUrl,
        revision: &TargetRevision,
    ) -> Result<ArtifactMetadata, FetchError> {
        let repo = repo.in_registry();
        let digest = self.digest(&repo, revision, Freshness::Latest).await?;
        let metadata = self.inner.artifact_metadata(&repo, &digest);
        self.inner.told(RequestKind::OciMetadata, &repo, &digest, metadata).await
    }
}
