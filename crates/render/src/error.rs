//! Why a source gives no manifests. Every text is for the source's author.

use gocompat::yaml::Position;

use crate::tracking::TrackingError;
use crate::tree::{PathError, TreeError, TreePath};

/// Why a source gives no manifests.
///
/// The same tree and parameters fail again, so nothing here is worth a retry
/// except [`RenderError::Tree`] with a broken store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RenderError {
    /// The source's path is no path inside the repository.
    #[error(transparent)]
    BadPath(#[from] PathError),
    /// Nothing stands at the source's path. Argo CD's words.
    #[error("{path}: app path does not exist")]
    PathMissing {
        /// The source's path.
        path: TreePath,
    },
    /// A file stands at the source's path. Argo CD's words.
    #[error("{path}: app path is not a directory")]
    PathNotDirectory {
        /// The source's path.
        path: TreePath,
    },
    /// The source has options of several tools. Argo CD's words.
    #[error("multiple application sources defined: {names}")]
    SeveralSourceTypes {
        /// The tools, joined by commas.
        names: String,
    },
    /// A `.argocd-source.yaml` cannot be merged into the source.
    #[error("error while parsing source parameters: {file}: {problem}")]
    Parameters {
        /// The file.
        file: TreePath,
        /// What is wrong with it.
        problem: String,
    },
    /// A plugin that is not there or fails.
    #[error("{path}: {problem}")]
    Plugin {
        /// The source's path.
        path: TreePath,
        /// What is wrong with it.
        problem: String,
    },
    /// Files that a chart's parameters name.
    #[error("error resolving helm value files: {problem}")]
    ValueFiles {
        /// What is wrong with them.
        problem: String,
    },
    /// A chart that does not render. Argo CD's words come first.
    #[error("failed to execute helm template command: {path}: {problem}")]
    Helm {
        /// The chart.
        path: TreePath,
        /// What Helm would say.
        problem: String,
    },
    /// A kustomization that does not build.
    #[error("kustomize build {path} failed: Error: {problem}")]
    Kustomize {
        /// The directory.
        path: TreePath,
        /// What Kustomize would say.
        problem: String,
    },
    /// A version of Kubernetes that is none. Argo CD's words come first.
    #[error("could not parse kubernetes version {text}: {problem}")]
    KubeVersion {
        /// As given.
        text: String,
        /// Why not.
        problem: String,
    },
    /// A Jsonnet file that gives no objects. Argo CD's words come first.
    #[error("failed to evaluate jsonnet {:?}: {problem}", file.as_str())]
    Jsonnet {
        /// The file.
        file: TreePath,
        /// What is wrong there.
        problem: String,
    },
    /// An include or exclude pattern that cannot be read.
    #[error("{option} {pattern:?} is no pattern: {problem}")]
    BadPattern {
        /// `directory.include` or `directory.exclude`.
        option: &'static str,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A manifest that cannot be read.
    #[error("{}: {problem}", place(file, *position))]
    Manifest {
        /// The file.
        file: TreePath,
        /// Where in it, if known.
        position: Option<Position>,
        /// What is wrong there.
        problem: String,
    },
    /// An object that cannot be marked as the application's.
    #[error("{}: failed to set app instance tracking info on manifest", place(file, *position))]
    Tracking {
        /// The file.
        file: TreePath,
        /// Where the object begins.
        position: Option<Position>,
        /// What is wrong with it.
        source: Box<TrackingError>,
    },
    /// More manifests than the limit. Argo CD's words come first.
    #[error(
        "exceeded max combined manifest file size: {file} brings the manifests of {path} over {limit} bytes; split the application or raise reposerver.max.combined.directory.manifests.size"
    )]
    TooMuch {
        /// The source's path.
        path: TreePath,
        /// The file that was one too many.
        file: TreePath,
        /// The limit in bytes.
        limit: u64,
    },
    /// A manifest's name is not UTF-8, so no path leads to it.
    #[error("{directory}: the file name {name:?} is not UTF-8; rename it")]
    BadFileName {
        /// The directory.
        directory: TreePath,
        /// The name, as far as it can be shown.
        name: String,
    },
    /// Directories inside directories without end.
    #[error("{path}: the directories are nested too deeply")]
    TooDeep {
        /// The first that is not looked into.
        path: TreePath,
    },
    /// The tree gave no answer.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// `apps/web/deploy.yaml, line 3, column 7`
fn place(file: &TreePath, position: Option<Position>) -> String {
    position.map_or_else(
        || file.to_string(),
        |Position { line, column }| format!("{file}, line {line}, column {column}"),
    )
}
