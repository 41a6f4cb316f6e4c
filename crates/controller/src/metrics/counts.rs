//! What is counted for single Applications. All of it goes when the Application goes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{AppKey, Application, OperationState};
use cluster::{Exchange, Listener};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The names of the labels that every series has, with the values of one.
type Labels = Vec<(&'static str, String)>;

/// See the module's comment.
#[derive(Default)]
pub(super) struct Counts(Mutex<HashMap<AppKey, OfOne>>);

/// The counts of one Application, by what tells its series apart.
#[derive(Default)]
struct OfOne {
    syncs: BTreeMap<Labels, u64>,
    sync_seconds: BTreeMap<Labels, f64>,
    requests: BTreeMap<Labels, u64>,
    orphans: Option<(Labels, i64)>,
}

impl Counts {
    pub(super) fn synced(&self, app: &Application, dest_server: &str, state: &OperationState) {
        let is_dry = state.operation.sync.as_ref().is_some_and(|it| it.dry_run);
        let mut destination = labels_of(app);
        destination.push(("dest_server", dest_server.to_owned()));
        let mut sync = destination.clone();
        sync.extend([("phase", state.phase.clone()), ("dry_run", is_dry.to_string())]);
        let ended = state.finished_at.and_then(api::Time::timestamp);
        let took = state.started_at.timestamp().zip(ended);
        let seconds = took.map(|(began, ended)| ended.duration_since(began).as_secs_f64());

        let mut all = self.lock();
        let counts = all.entry(app.key()).or_default();
        *counts.syncs.entry(sync).or_default() += 1;
        if let Some(seconds) = seconds {
            *counts.sync_seconds.entry(destination).or_default() += seconds.max(0.0);
        }
    }

    pub(super) fn orphans(&self, app: &Application, count: Option<usize>) {
        let count = count.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let counted = count.map(|count| (labels_of(app), count));
        self.lock().entry(app.key()).or_default().orphans = counted;
    }

    pub(super) fn requests_for(self: &Arc<Self>, app: &Application) -> AppRequests {
        self.lock().entry(app.key()).or_default();
        AppRequests { counts: Arc::clone(self), app: app.key(), labels: labels_of(app) }
    }

    pub(super) fn forget(&self, app: &AppKey) {
        self.lock().remove(app);
    }

    pub(super) fn retain(&self, listed: &BTreeSet<AppKey>) {
        self.lock().retain(|app, _| listed.contains(app));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AppKey, OfOne>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the requests that are made for one Application.
pub(super) struct AppRequests {
    counts: Arc<Counts>,
    app: AppKey,
    labels: Labels,
}

impl Listener for AppRequests {
    fn heard(&self, exchange: &Exchange<'_>) {
        let target = exchange.target();
        let mut labels = self.labels.clone();
        labels.extend([
            ("server", exchange.server.to_owned()),
            ("response_code", exchange.code.unwrap_or(0).to_string()),
            ("verb", exchange.verb().to_owned()),
            ("resource_kind", target.resource.to_owned()),
            ("resource_namespace", target.namespace.to_owned()),
            ("dry_run", exchange.is_dry().to_string()),
        ]);
        // Its last requests may end after it has gone.
        if let Some(counts) = self.counts.lock().get_mut(&self.app) {
            *counts.requests.entry(labels).or_default() += 1;
        }
    }
}

fn labels_of(app: &Application) -> Labels {
    vec![
        ("namespace", app.metadata.namespace.clone()),
        ("name", app.metadata.name.clone()),
        ("project", app.spec.project_name().to_owned()),
    ]
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counts")
    }
}

/// The counts as the endpoint tells them.
#[derive(Debug)]
pub(super) struct CountsOf(pub(super) Arc<Counts>);

impl Collector for CountsOf {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.0.lock();
        // The endpoint's format adds `_total` to the name of a counter.
        let mut series = encoder.encode_descriptor(
            "argocd_app_sync",
            "Number of application syncs",
            None,
            MetricType::Counter,
        )?;
        for (labels, count) in all.values().flat_map(|it| &it.syncs) {
            ConstCounter::new(*count).encode(series.encode_family(labels)?)?;
        }
        let mut series = encoder.encode_descriptor(
            "argocd_app_sync_duration_seconds",
            "Application sync performance in seconds total",
            None,
            MetricType::Counter,
        )?;
        for (labels, seconds) in all.values().flat_map(|it| &it.sync_seconds) {
            ConstCounter::new(*seconds).encode(series.encode_family(labels)?)?;
        }
        let mut series = encoder.encode_descriptor(
            "argocd_app_k8s_request",
            "Number of kubernetes requests executed during application reconciliation",
            None,
            MetricType::Counter,
        )?;
        for (labels, count) in all.values().flat_map(|it| &it.requests) {
            ConstCounter::new(*count).encode(series.encode_family(labels)?)?;
        }
        let mut series = encoder.encode_descriptor(
            "argocd_app_orphaned_resources_count",
            "Number of orphaned resources per application",
            None,
            MetricType::Gauge,
        )?;
        for (labels, count) in all.values().filter_map(|it| it.orphans.as_ref()) {
            ConstGauge::new(*count).encode(series.encode_family(labels)?)?;
        }
        Ok(())
    }
}
