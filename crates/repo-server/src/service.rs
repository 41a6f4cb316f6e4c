//! `RepoServerService`: the repo server over gRPC, as Argo CD's controllers and
//! API servers call it.
//!
//! [`RepoService`] answers; `port.rs` takes connections, with TLS or without,
//! and sees to deadlines; `request.rs` turns messages into our own words and
//! `manifests.rs` and `questions.rs` answer them; `metrics.rs` counts under
//! Argo CD's names, `shared.rs` shares manifests in Redis. Credentials come with every request: see `brought.rs`.

mod certificate;
mod files;
mod integrity;
mod manifests;
mod metrics;
mod port;
mod questions;
mod request;
mod shared;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use wire::message::repo_server::{HealthCheckRequest, HealthCheckResponse, path};
use wire::{Status, Table};

pub use certificate::CertificateError;
pub use integrity::problems;
pub use questions::announcement;

use crate::{Disposition, FetchError, Freshness, RepoServer, SourceError};
use metrics::Metrics;
use shared::Shared;

/// How old the listing of a repository may be, in milliseconds: a header of our
/// own, so that all Applications of one poll share one listing.
pub const MAX_AGE_HEADER: &str = "argosy-max-age-ms";
/// Says in an answer whether trying again by itself may help: `retry` or `wait`.
pub const NEXT_HEADER: &str = "argosy-next";
/// Says in an answer that the repository itself could not be read.
pub const INACCESSIBLE_HEADER: &str = "argosy-inaccessible";

/// How the service works.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// `None` to serve everything as it is (`--disable-tls`).
    pub tls: Option<TlsOptions>,
    /// How old the listing of a repository may be that a request without wishes
    /// is answered from (`--revision-cache-expiration`).
    pub listing_max_age: Duration,
    /// A request that names no deadline of its own has this one.
    pub deadline: Duration,
    /// Largest archive of files that a request may bring.
    pub max_archive: u64,
    /// What it may unpack to.
    pub max_unpacked: u64,
    /// Are directories with a dot listed (`--include-hidden-directories`)?
    pub hidden_directories: bool,
    /// Are commits asked to prove where they come from?
    pub checks_signatures: bool,
    /// What renders may read.
    pub limits: render::Limits,
}

/// Where certificates are.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// A folder with `tls.crt` and `tls.key`; without them we make our own.
    pub folder: PathBuf,
    /// If this file is there, clients must show a certificate that it vouches
    /// for (`--client-ca-path`).
    pub client_authority: Option<PathBuf>,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            tls: None,
            listing_max_age: Duration::from_secs(180),
            deadline: Duration::from_secs(180),
            max_archive: 100_000_000,
            max_unpacked: 1_000_000_000,
            hidden_directories: false,
            checks_signatures: true,
            limits: render::Limits::default(),
        }
    }
}

/// Answers Argo CD's controllers and API servers.
pub struct RepoService {
    server: RepoServer,
    options: ServiceOptions,
    metrics: Metrics,
    shared: Option<Shared>,
    table: Table<Call>,
}

/// One request.
#[derive(Clone)]
struct Call {
    service: Arc<RepoService>,
    /// How old the listing of a repository may be, if the client said.
    max_age: Option<Duration>,
}

impl RepoService {
    /// Serves what `server` knows.
    #[must_use]
    pub fn new(server: RepoServer, options: ServiceOptions, registry: &mut Registry) -> Self {
        let metrics = Metrics::register(registry);
        server.observed_by(Arc::new(metrics.clone()));
        Self { server, options, metrics, shared: None, table: table() }
    }

    /// Shares manifests with other repo servers, each for a while
    /// (`--repo-cache-expiration`).
    #[must_use]
    pub fn sharing(self, redis: runtime::redis::Redis, expires: Duration) -> Self {
        Self { shared: Some(Shared { redis, expires }), ..self }
    }
}

fn table() -> Table<Call> {
    let mut table = Table::default();
    table.internal(path::GENERATE_MANIFEST, manifests::generate);
    table.upload(path::GENERATE_MANIFEST_WITH_FILES, files::generate);
    table.internal(path::TEST_REPOSITORY, questions::test_repository);
    table.internal(path::RESOLVE_REVISION, questions::resolve_revision);
    table.internal(path::LIST_REFS, questions::list_refs);
    table.internal(path::LIST_OCI_TAGS, questions::list_oci_tags);
    table.internal(path::LIST_APPS, questions::list_apps);
    table.internal(path::LIST_PLUGINS, questions::list_plugins);
    table.internal(path::GET_APP_DETAILS, questions::app_details);
    table.internal(path::GET_REVISION_METADATA, questions::revision_metadata);
    table.internal(path::GET_OCI_METADATA, questions::oci_metadata);
    table.internal(path::GET_REVISION_CHART_DETAILS, questions::chart_details);
    table.internal(path::GET_HELM_CHARTS, questions::helm_charts);
    table.internal(path::GET_GIT_FILES, files::git_files);
    table.internal(path::GET_GIT_DIRECTORIES, files::git_directories);
    table.internal(path::UPDATE_REVISION_FOR_PATHS, manifests::update_revision);
    table.internal("/grpc.health.v1.Health/Check", health);
    table
}

/// Whoever reaches us finds us serving: a listing that takes long is none of
/// our health.
async fn health(_: Call, asked: HealthCheckRequest) -> Result<HealthCheckResponse, Status> {
    match asked.service.as_str() {
        "" | "repository.RepoServerService" => Ok(HealthCheckResponse { status: 1 }),
        other => Err(Status::not_found(format!("there is no service {other}"))),
    }
}

impl Call {
    fn freshness(&self, no_cache: bool) -> Freshness {
        let max_age = match (no_cache, self.max_age) {
            (true, _) => return Freshness::Latest,
            (false, Some(max_age)) => max_age,
            (false, None) => self.service.options.listing_max_age,
        };
        Instant::now().checked_sub(max_age).map_or(Freshness::Latest, Freshness::NotBefore)
    }
}

/// An error as Argo CD's clients see it, with a word about what to do next.
fn refused(error: &SourceError) -> Status {
    match error {
        SourceError::Fetch(error) => not_fetched(error),
        other => told(other, other.disposition()),
    }
}

fn not_fetched(error: &FetchError) -> Status {
    let mut status = told(error, error.disposition());
    status.metadata_mut().insert(INACCESSIBLE_HEADER, "true".parse().expect("plain text"));
    status
}

fn told(error: &dyn std::error::Error, next: Disposition) -> Status {
    let mut status = Status::unknown(runtime::Chain(error).to_string());
    let next = match next {
        Disposition::RetrySoon => "retry",
        Disposition::WaitForUser => "wait",
    };
    status.metadata_mut().insert(NEXT_HEADER, next.parse().expect("plain text"));
    status
}
