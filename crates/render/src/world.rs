//! What a render may ask beside its own tree.

use std::collections::BTreeMap;

use bytes::Bytes;
pub use helm::{Facts, Still};
pub use kustomize::RemoteBase;

use crate::tree::Tree;
use crate::{JsonnetImports, JsonnetTask, PluginParameter, PluginRequest};

/// What a render may ask beside its own tree and its parameters.
pub struct World<'w> {
    /// The commit that is rendered.
    pub commit: &'w str,
    /// Clock and randomness, which some charts use.
    pub facts: &'w dyn Facts,
    /// What other servers have.
    pub outside: &'w dyn Outside,
    /// The trees of the application's sources with a `ref`, by that name.
    pub refs: BTreeMap<String, &'w dyn Tree>,
}

/// What other servers have. The implementation decides about credentials,
/// allowed hosts, time limits and caching. Answers are not recorded: like
/// Argo CD, a render asks again when the source changes or on a hard refresh.
pub trait Outside {
    /// The content behind an `http` or `https` address.
    ///
    /// # Errors
    /// When it may not or cannot be fetched.
    fn file(&self, url: &str) -> Result<Bytes, OutsideError>;

    /// The archive of a chart.
    ///
    /// # Errors
    /// When it may not or cannot be fetched.
    fn chart(&self, chart: &ChartAddress) -> Result<Bytes, OutsideError>;

    /// The tree of another repository.
    ///
    /// # Errors
    /// When it may not or cannot be fetched.
    fn repository(&self, base: &RemoteBase) -> Result<Box<dyn Tree>, OutsideError>;

    /// The JSON that a Jsonnet file stands for. Its time and memory are for the
    /// implementation to bound.
    ///
    /// # Errors
    /// When the program is wrong or takes too much, in words for the user.
    fn evaluate_jsonnet(
        &self,
        task: &JsonnetTask,
        imports: &mut dyn JsonnetImports,
    ) -> Result<String, String> {
        task.evaluate(imports)
    }

    /// Is there any plugin?
    fn has_plugins(&self) -> bool {
        false
    }

    /// The first plugin that finds the source to be one of its own.
    ///
    /// # Errors
    /// When it cannot be told.
    fn discover_plugin(&self, _: &PluginRequest<'_>) -> Result<Option<String>, OutsideError> {
        Ok(None)
    }

    /// The parameters that a plugin announces for the source.
    ///
    /// # Errors
    /// When there is no such plugin, or it fails.
    fn announced_by_plugin(
        &self,
        request: &PluginRequest<'_>,
    ) -> Result<Vec<PluginParameter>, OutsideError> {
        Err(OutsideError::Failed(format!("there is no plugin {:?} here", request.name)))
    }

    /// What a plugin makes of the source, each a YAML document.
    ///
    /// # Errors
    /// When there is no such plugin, or it fails.
    fn run_plugin(&self, request: &PluginRequest<'_>) -> Result<Vec<String>, OutsideError> {
        Err(OutsideError::Failed(format!("there is no plugin {:?} here", request.name)))
    }
}

/// Where a chart is that another one needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartAddress {
    /// `https://…`, `oci://…`, or `@name` and `alias:name` of a configured repository.
    pub repository: String,
    /// The chart's name.
    pub name: String,
    /// A version or a range of versions.
    pub version: String,
    /// Whether the repository's credentials may go to other hosts that its index names.
    pub pass_credentials: bool,
}

/// Why something of another server is not here.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OutsideError {
    /// The server answered with an error.
    #[error("HTTP Error: status code {0}")]
    Status(u16),
    /// Anything else, such as a host that is not allowed.
    #[error("{0}")]
    Failed(String),
}

/// A world without other servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingOutside;

impl Outside for NothingOutside {
    fn file(&self, url: &str) -> Result<Bytes, OutsideError> {
        Err(refused(url))
    }

    fn chart(&self, chart: &ChartAddress) -> Result<Bytes, OutsideError> {
        Err(refused(&chart.repository))
    }

    fn repository(&self, base: &RemoteBase) -> Result<Box<dyn Tree>, OutsideError> {
        Err(refused(&base.clone_url))
    }
}

fn refused(address: &str) -> OutsideError {
    OutsideError::Failed(format!(
        "{address} cannot be fetched during a render; copy what is needed into the repository"
    ))
}
