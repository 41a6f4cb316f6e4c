//! Repositories: what a revision stands for, what a commit holds, what a
//! source renders to.
//!
//! [`RepoServer`] is the whole surface. A request goes through four files in
//! this order: `resolve.rs` (a branch or tag to a commit), `fetch.rs` (the
//! commit into the repository's object store), `git_tree.rs` (the store as a
//! tree for the renderers), `rendered.rs` (remembered results). Nothing is
//! ever checked out. `questions.rs` has what users ask beside manifests.

mod artifacts;
mod blocking;
mod charts;
mod credentials;
mod error;
mod facts;
mod fetch;
mod flight;
mod git_tree;
mod http;
mod identity;
mod index;
mod integrity;
mod job;
mod jsonnet;
mod listing;
mod outside;
mod packages;
mod packing;
mod questions;
mod redirect;
mod refs;
mod registry;
mod remote;
mod rendered;
mod repository;
mod resolve;
mod server;
mod signatures;
mod ssh;
mod stats;
mod store;
mod submodules;
mod tokens;
mod untar;
mod url;

pub use artifacts::{ArtifactMetadata, OciLimits};
pub use credentials::{CredentialBook, RepoCredentials, RepoKind};
pub use error::{Disposition, FetchError, SourceError};
pub use identity::{AzureWorkload, Identity};
pub use jsonnet::{JsonnetProgram, serve_jsonnet};
pub use packing::PluginOptions;
pub use questions::RevisionMetadata;
pub use refs::RemoteRefs;
pub use resolve::{CommitSha, Freshness, TargetRevision};
pub use server::{GitLimits, ManifestQuery, Options, RefSource, Rendered, RepoServer};
pub use stats::{RequestCounts, StatsSnapshot};
pub use url::RepoUrl;

/// Makes ring the process's TLS implementation. Call it once before the first
/// https request; calling it again, or after another role did, changes nothing.
pub fn install_crypto_provider() {
    // An error only says that one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
}
