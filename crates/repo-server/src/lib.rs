//! Repositories: what a revision stands for, what a commit holds, what a
//! source renders to.
//!
//! [`RepoServer`] is the whole surface. A request goes through four files in
//! this order: `resolve.rs` (a branch or tag to a commit), `fetch.rs` (the
//! commit into the repository's object store), `git_tree.rs` (the store as a
//! tree for the renderers), `rendered.rs` (remembered results). Nothing is
//! ever checked out. `manifests.rs` joins them; `questions.rs` has what users
//! ask beside manifests. [`service`] is all of it over gRPC.

mod artifacts;
mod blocking;
mod brought;
mod changed;
mod charts;
pub mod client;
mod consolidate;
mod credentials;
mod disk;
mod error;
mod events;
mod facts;
mod fetch;
mod files;
mod flight;
mod git_tree;
mod http;
mod identity;
mod index;
mod integrity;
mod job;
mod jsonnet;
mod lent;
mod lfs;
mod lfs_server;
mod listing;
mod manifests;
mod moved;
mod options;
mod outside;
mod packages;
mod packing;
mod pause;
mod query;
mod questions;
mod redirect;
mod refs;
mod registry;
mod remote;
mod rendered;
mod repository;
mod requests;
mod resolve;
pub mod sent;
mod server;
pub mod service;
mod signatures;
mod ssh;
mod ssh_signatures;
mod stats;
mod store;
mod submodules;
mod tokens;
mod untar;
mod url;

pub use artifacts::{ArtifactMetadata, OciLimits};
pub use brought::Brought;
pub use changed::{Moving, used_refs};
pub use credentials::{CredentialBook, RepoCredentials, RepoKind};
pub use engine::project::SourceRepos;
pub use error::{Disposition, FetchError, SourceError};
pub use events::{Event, Observer, RequestKind};
pub use files::FilesQuery;
pub use identity::{AzureWorkload, Identity};
pub use jsonnet::{JsonnetProgram, serve_jsonnet};
pub use moved::Moved;
pub use options::{GitLimits, Options};
pub use packing::PluginOptions;
pub use pause::PauseOptions;
pub use query::{ManifestQuery, RefSource, Rendered};
pub use questions::RevisionMetadata;
pub use refs::RemoteRefs;
pub use resolve::{CommitSha, Freshness, TargetRevision};
pub use server::RepoServer;
pub use stats::{RequestCounts, StatsSnapshot};
pub use url::RepoUrl;

/// Makes ring the process's TLS implementation. Call it once before the first
/// https request; calling it again, or after another role did, changes nothing.
pub fn install_crypto_provider() {
    // An error only says that one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
}
