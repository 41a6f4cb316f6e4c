//! Where the API server meets other roles.

use api::ApplicationSource;
use futures::future::BoxFuture;
use object::Object;

/// Where manifests come from: the repo server, in this process or in another.
pub trait Sources: Send + Sync {
    /// The commit a revision stands for right now.
    fn resolve<'a>(
        &'a self,
        source: &'a ApplicationSource,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>>;

    /// The manifests of a source.
    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>>;
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

/// Why there are no manifests; for the user to read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// What went wrong, causes included.
    pub message: String,
    /// The repository itself could not be read.
    pub is_inaccessible: bool,
}
