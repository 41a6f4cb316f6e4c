//! Where the controller meets the repo server: a trait, so that either side may
//! run in this process or in another.

use std::sync::Arc;
use std::time::Instant;

use api::{ApplicationSource, SourceIntegrity};
use cluster::Kinds;
use engine::project::SourceRepos;
use futures::future::BoxFuture;
use object::Object;
use render::tracking::Tracking;

/// Turns sources into commits and commits into manifests.
pub trait Sources: Send + Sync + 'static {
    /// The commit that the source's revision stands for, to an Application of
    /// the project.
    fn resolve(
        &self,
        source: &ApplicationSource,
        project: &str,
        freshness: Freshness,
    ) -> BoxFuture<'_, Result<String, SourceError>>;

    /// The manifests of a source, marked as the application's.
    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>>;

    /// Does a file that matters to a source in git differ from how it was?
    fn differs(&self, since: Since) -> BoxFuture<'_, Result<bool, SourceError>>;
}

/// How old the knowledge of a repository's branches may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Asked of the repository at this moment or later; all who pass the same
    /// moment share one request.
    NotBefore(Instant),
    /// Asked after this call.
    Latest,
}

/// What to render.
#[derive(Clone, Debug)]
pub struct RenderRequest {
    /// The source.
    pub source: ApplicationSource,
    /// The revision, which an operation may choose apart from the source's own.
    pub revision: String,
    /// The application's sources with a `ref`, whose files this one may refer
    /// to; none when the application has a single source.
    pub refs: Vec<RefSource>,
    /// How fresh the answer must be if the revision is no commit.
    pub freshness: Freshness,
    /// The name the application tracks its objects by.
    pub instance: String,
    /// The application's project.
    pub project: String,
    /// What the project permits: credentials of other repositories that the
    /// source leads to are not used.
    pub source_repos: SourceRepos,
    /// The destination's namespace.
    pub namespace: String,
    /// How the objects are marked as the application's.
    pub tracking: Tracking,
    /// The destination's version, such as `v1.36.1`.
    pub kube_version: String,
    /// What the destination serves: charts may ask.
    pub kinds: Arc<Kinds>,
    /// How commits must prove where they come from, if they must.
    pub integrity: Option<SourceIntegrity>,
    /// Render even if the result is known: a hard refresh.
    pub ignore_cache: bool,
    /// The annotation `manifest-generate-paths`: what plugins may be sent.
    pub generate_paths: String,
}

/// A source whose files another one may refer to.
#[derive(Clone, Debug)]
pub struct RefSource {
    /// The source.
    pub source: ApplicationSource,
    /// Its revision, which an operation may choose apart from the source's own.
    pub revision: String,
}

/// A source at two commits.
#[derive(Clone, Debug)]
pub struct Since {
    /// As it is now. Its annotation says which files matter.
    pub now: RenderRequest,
    /// The commit that it was at.
    pub commit: String,
    /// The commits that the sources it may refer to were at, in their order.
    pub ref_commits: Vec<String>,
}

impl Since {
    /// The paths below which files matter, relative to the repository; none is everywhere.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.now.source.generate_paths(&self.now.generate_paths)
    }
}

/// What a source rendered to.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The commit the revision stood for.
    pub commit: String,
    /// `Directory`, `Helm`, …; empty for a source that is only referred to.
    pub source_type: String,
    /// The manifests.
    pub objects: Vec<Object>,
    /// What speaks against where the commit comes from; such manifests are
    /// compared and not deployed.
    pub problems: Vec<String>,
}

/// Why there are no manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// For the user: what failed, why, what to do.
    pub message: String,
    /// Will trying again by itself help?
    pub may_pass: bool,
}
