//! How a repo server works: where it stores, what it may take, how long.

use std::path::PathBuf;
use std::time::Duration;

use crate::{JsonnetProgram, OciLimits, PauseOptions, PluginOptions};

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
    /// Bytes of remembered results in memory.
    pub cache_budget: usize,
    /// Bytes of remembered results on disk; 0 keeps none there.
    pub disk_budget: u64,
    /// When a source that fails is left alone.
    pub pause: PauseOptions,
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
            disk_budget: 1 << 30,
            pause: PauseOptions::default(),
        }
    }
}
