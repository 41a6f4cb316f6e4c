//! The repo server's metrics, under Argo CD's names so that dashboards work.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::{Event, Observer, RepoUrl, RequestKind};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Repo {
    repo: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    repo: String,
    request_type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    repo: String,
    revision: String,
}

type Histograms = Family<Request, Histogram, fn() -> Histogram>;

#[derive(Clone)]
pub(super) struct Metrics {
    pending: Family<Repo, Gauge>,
    waits: Histogram,
    git: Requests,
    git_listing_failed: Family<Failure, Counter>,
    git_fetch_failed: Family<Failure, Counter>,
    oci: Requests,
    oci_extract_failed: Family<Failure, Counter>,
    oci_resolve_failed: Family<Failure, Counter>,
    oci_metadata_failed: Family<Failure, Counter>,
    oci_tags_failed: Family<Repo, Counter>,
    oci_test_failed: Family<Repo, Counter>,
}

#[derive(Clone)]
struct Requests {
    total: Family<Request, Counter>,
    durations: Histograms,
}

impl Requests {
    fn register(registry: &mut Registry, kind: &str) -> Self {
        let buckets: fn() -> Histogram =
            || Histogram::new([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0]);
        let total = Family::default();
        let durations = Family::new_with_constructor(buckets);
        // The endpoint's format adds `_total` to the name of a counter.
        let name = format!("argocd_{kind}_request");
        registry.register(&name, format!("Number of {kind} requests"), total.clone());
        let name = format!("argocd_{kind}_request_duration_seconds");
        registry.register(&name, format!("Duration of {kind} requests"), durations.clone());
        Self { total, durations }
    }

    fn count(&self, repo: String, request_type: &'static str, time: Duration) {
        let labels = Request { repo, request_type };
        self.total.get_or_create(&labels).inc();
        self.durations.get_or_create(&labels).observe(time.as_secs_f64());
    }
}

impl Metrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let pending = Family::default();
        let told = "Number of requests that wait or are being answered";
        registry.register("argocd_repo_pending_request_total", told, pending.clone());
        let waits = Histogram::new([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0, 60.0, 120.0]);
        let name = "argocd_repo_parallelism_wait_duration_seconds";
        registry.register(name, "How long renders wait for their turn", waits.clone());
        let mut failures = |name: &str, told: &str| {
            let family = Family::<Failure, Counter>::default();
            registry.register(name, told, family.clone());
            family
        };
        let git_listing_failed = failures("argocd_git_lsremote_fail", "Listings that failed");
        let git_fetch_failed = failures("argocd_git_fetch_fail", "Fetches that failed");
        let oci_extract_failed = failures("argocd_oci_extract_fail", "Artifacts not unpacked");
        let oci_resolve_failed =
            failures("argocd_oci_resolve_revision_fail", "Revisions not resolved");
        let oci_metadata_failed =
            failures("argocd_oci_digest_metadata_fail", "Metadata of artifacts not read");
        let mut failures = |name: &str, told: &str| {
            let family = Family::<Repo, Counter>::default();
            registry.register(name, told, family.clone());
            family
        };
        let oci_tags_failed = failures("argocd_oci_get_tags_fail", "Tags not listed");
        let oci_test_failed = failures("argocd_oci_test_repo_fail", "Registries out of reach");
        Self {
            pending,
            waits,
            git: Requests::register(registry, "git"),
            git_listing_failed,
            git_fetch_failed,
            oci: Requests::register(registry, "oci"),
            oci_extract_failed,
            oci_resolve_failed,
            oci_metadata_failed,
            oci_tags_failed,
            oci_test_failed,
        }
    }

    /// Counts a request as long as the answer lives.
    pub(super) fn pending(&self, repo: &str) -> Pending {
        let labels = Repo { repo: RepoUrl::new(repo).without_credentials() };
        let gauge = self.pending.get_or_create(&labels).clone();
        gauge.inc();
        Pending(gauge)
    }
}

pub(super) struct Pending(Gauge);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Observer for Metrics {
    fn requested(&self, event: &Event<'_>) {
        let repo = event.repo.without_credentials();
        let (requests, kind) = match event.request {
            RequestKind::GitListing => (&self.git, "ls-remote"),
            RequestKind::GitFetch => (&self.git, "fetch"),
            RequestKind::OciExtract => (&self.oci, "extract"),
            RequestKind::OciResolve => (&self.oci, "resolve-revision"),
            RequestKind::OciMetadata => (&self.oci, "digest-metadata"),
            RequestKind::OciTags => (&self.oci, "get-tags"),
            RequestKind::OciTest => (&self.oci, "test-repo"),
        };
        requests.count(repo.clone(), kind, event.time);
        if !event.failed {
            return;
        }
        let revision = event.revision.to_owned();
        match event.request {
            RequestKind::OciTags => self.oci_tags_failed.get_or_create(&Repo { repo }).inc(),
            RequestKind::OciTest => self.oci_test_failed.get_or_create(&Repo { repo }).inc(),
            kind => {
                let family = match kind {
                    RequestKind::GitListing => &self.git_listing_failed,
                    RequestKind::GitFetch => &self.git_fetch_failed,
                    RequestKind::OciExtract => &self.oci_extract_failed,
                    RequestKind::OciResolve => &self.oci_resolve_failed,
                    _ => &self.oci_metadata_failed,
                };
                family.get_or_create(&Failure { repo, revision }).inc()
            }
        };
    }

    fn waited(&self, time: Duration) {
        self.waits.observe(time.as_secs_f64());
    }
}
