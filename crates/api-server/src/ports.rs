//! Where the API server meets other roles.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::cluster::Cluster;
use api::{
    AppKey, AppProject, Application, ApplicationDestination, ApplicationSource, ApplicationTree,
    ChartDetails, HealthStatus, OciMetadata, ResourceDiff, RevisionMetadata,
};
use engine::project::SourceRepos;
use engine::{Explanation, Sides};
use futures::future::BoxFuture;
use object::{Object, ResourceKey};

/// Where manifests come from: the repo server, in this process or in another.
pub trait Sources: Send + Sync {
    /// The commit a revision stands for right now, to an Application of the project.
    fn resolve<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>>;

    /// The manifests of a source.
    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>>;

    /// The manifests of files that came by another way than git.
    fn render_files(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        request: RenderRequest,
    ) -> BoxFuture<'_, Result<Rendered, SourceError>>;

    /// What is known about a commit.
    fn revision_metadata<'a>(
        &'a self,
        source: &'a ApplicationSource,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<RevisionMetadata, SourceError>>;

    /// Can this repository be read with these credentials, laid out as in a Secret?
    fn test_access<'a>(
        &'a self,
        repo: &'a str,
        credentials: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<(), SourceError>>;

    /// Credentials were written: whoever asks next must meet them.
    fn credentials_changed(&self) -> BoxFuture<'_, ()>;

    /// Branches and tags.
    fn refs<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Refs, SourceError>>;

    /// The charts of a Helm repository with their versions.
    fn helm_charts<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Charts, SourceError>>;

    /// The tags of a repository of a registry.
    fn oci_tags<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Vec<String>, SourceError>>;

    /// What an artifact of a registry says of itself.
    fn oci_metadata<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<OciMetadata, SourceError>>;

    /// The paths of a repository that can be applications of a project, with
    /// their types. The project is one with what it inherits.
    fn list_apps<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
        project: &'a AppProject,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, SourceError>>;

    /// A push came: fetches what the source's revision stands for now and tells of each
    /// list of paths (as in `manifest-generate-paths`, relative to the repository) whether a file
    /// there differs since a commit; nothing, if that cannot be told.
    fn touched<'a>(
        &'a self,
        _source: &'a ApplicationSource,
        _project: &'a str,
        _since: &'a str,
        _paths: &'a [Vec<String>],
    ) -> BoxFuture<'a, Option<Vec<bool>>> {
        Box::pin(std::future::ready(None))
    }

    /// What a source is to an Application of a project, and what it takes. The
    /// project is one with what it inherits.
    fn details<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a AppProject,
    ) -> BoxFuture<'a, Result<Details, SourceError>>;
}

/// What the controller knows: both sides of an Application, its tree, its cluster.
pub trait Control: Send + Sync {
    /// Every object of an Application from both sides.
    fn compared<'a>(
        &'a self,
        app: &'a Application,
    ) -> BoxFuture<'a, Result<Vec<ResourceDiff>, String>>;

    /// What a dry run's `answer` would change of a live object of the Application: both sides,
    /// without what does not count.
    ///
    /// # Errors
    /// When the answer cannot be interpreted, in words for the user.
    fn answered(&self, app: &Application, answer: &Object, live: &Object) -> Result<Sides, String>;

    /// The objects of an Application with all they own.
    fn tree<'a>(&'a self, app: &'a Application) -> BoxFuture<'a, Result<ApplicationTree, String>>;

    /// Why the Application is as it is, who changed what, what a sync would do.
    fn explain<'a>(&'a self, app: &'a Application) -> BoxFuture<'a, Result<Explanation, String>>;

    /// The health of each object of an Application, as it was last compared.
    fn healths(&self, app: &AppKey) -> Arc<BTreeMap<ResourceKey, HealthStatus>>;

    /// The cluster that a destination names.
    ///
    /// # Errors
    /// When there is none, in words for the user.
    fn destination(&self, destination: &ApplicationDestination) -> Result<Destination, String>;

    /// The cluster that an Application deploys to, with the rights that the Application has there.
    ///
    /// # Errors
    /// When there is none, or no account to act as, in words for the user.
    fn destination_of(&self, app: &Application) -> Result<Destination, String>;
}

/// A cluster under the names that Applications know it by.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Its address.
    pub server: String,
    /// Its name.
    pub name: String,
    /// The cluster itself.
    pub cluster: Cluster,
}

/// What to render.
#[derive(Clone, Debug)]
pub struct RenderRequest {
    /// The source.
    pub source: ApplicationSource,
    /// Branch, tag, range or commit.
    pub revision: String,
    /// The name resources are tracked by.
    pub instance: String,
    /// The namespace for resources that name none.
    pub namespace: String,
    /// The sources of the same Application that its value files may name, and their revisions.
    pub refs: Vec<(ApplicationSource, String)>,
    /// The project of the Application.
    pub project: String,
    /// What the project permits: credentials of other repositories that the
    /// source leads to are not used.
    pub source_repos: SourceRepos,
    /// Where the manifests go: what it serves decides what a chart renders.
    pub cluster: Cluster,
    /// Render even if the result is known.
    pub ignore_cache: bool,
}

/// Rendered manifests.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The commit they are from.
    pub commit: String,
    /// `Directory`, `Helm` and so on.
    pub source_type: String,
    /// The objects.
    pub objects: Vec<Object>,
}

/// What a source is, and what it takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// `Directory`, `Helm` and so on.
    pub source_type: String,
    /// The name of the chart.
    pub name: String,
    /// The chart's files of values.
    pub value_files: Vec<String>,
    /// The chart's own values, one by one.
    pub parameters: Vec<api::HelmParameter>,
    /// The chart's own values as text.
    pub values: String,
    /// Parameters of the source that are read from files.
    pub file_parameters: Vec<api::HelmFileParameter>,
    /// The images of a kustomization.
    pub images: Vec<String>,
    /// What the chart says of itself.
    pub about: ChartDetails,
    /// The parameters that the plugin announces.
    pub plugin_parameters: Vec<wire::message::repository::ParameterAnnouncement>,
}

/// Branches and tags of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// Branches.
    pub branches: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
}

/// The charts of a Helm repository with their versions.
pub type Charts = BTreeMap<String, Vec<String>>;

/// Why there are no manifests; for the user to read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// What went wrong, causes included.
    pub message: String,
    /// The repository itself could not be read.
    pub is_inaccessible: bool,
}
