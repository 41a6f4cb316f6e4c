//! The controller's metrics, under Argo CD's names so that dashboards work.
//!
//! What is a state ([`apps`], [`clusters`]) is read when somebody looks; what is
//! an event is counted where it happens ([`counts`], [`requests`]).

mod apps;
mod clusters;
mod counts;
mod requests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{AppKey, Application, OperationState};
use cluster::Listener;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use runtime::Queue;

use crate::apps::Apps;
use crate::destinations::Destinations;
use crate::level::Level;
use crate::tenure::Tenure;

pub use requests::Traffic;

use counts::{Counts, CountsOf};

/// What is told beyond the usual.
#[derive(Clone, Debug, Default)]
pub struct MetricsOptions {
    /// The host's name, which is the pod's.
    pub host: String,
    /// Labels of Applications that `argocd_app_labels` tells (`--metrics-application-labels`).
    pub application_labels: Vec<String>,
    /// Conditions that `argocd_app_condition` counts (`--metrics-application-conditions`).
    pub application_conditions: Vec<String>,
    /// Labels of clusters that `argocd_cluster_labels` tells (`--metrics-cluster-labels`).
    pub cluster_labels: Vec<String>,
}

pub(crate) struct Metrics {
    reconcile: Family<ReconcileLabels, Histogram, fn() -> Histogram>,
    event_seconds: Family<ServerLabels, Histogram, fn() -> Histogram>,
    events_in_batch: Family<ServerLabels, Gauge>,
    writes: Family<WriteLabels, Counter>,
    writes_under_way: Family<WriteLabels, Gauge>,
    host: String,
    counts: Arc<Counts>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    namespace: String,
    dest_server: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    hostname: String,
    command: String,
}

/// Whom the metrics ask.
pub(crate) struct Asked {
    pub(crate) apps: Arc<Apps>,
    pub(crate) queue: Queue<AppKey, Level>,
    pub(crate) destinations: Arc<Destinations>,
    pub(crate) tenure: Arc<Tenure>,
    pub(crate) settings: Arc<::settings::SettingsStore>,
}

impl Metrics {
    pub(crate) fn register(
        registry: &mut Registry,
        options: &MetricsOptions,
        asked: Asked,
    ) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);
        let it = Self {
            reconcile: Family::new_with_constructor(seconds),
            event_seconds: Family::new_with_constructor(seconds),
            events_in_batch: Family::default(),
            writes: Family::default(),
            writes_under_way: Family::default(),
            host: options.host.clone(),
            counts: Arc::default(),
        };
        registry.register(
            "argocd_app_reconcile",
            "Application reconciliation performance in seconds",
            it.reconcile.clone(),
        );
        registry.register(
            "argocd_resource_events_processing",
            "Time to process resource events in seconds",
            it.event_seconds.clone(),
        );
        registry.register(
            "argocd_resource_events_processed_in_batch",
            "Number of resource events processed in batch",
            it.events_in_batch.clone(),
        );
        // The endpoint's format adds `_total` to the name of a counter.
        registry.register(
            "argocd_kubectl_exec",
            "Number of writes as kubectl does them",
            it.writes.clone(),
        );
        registry.register(
            "argocd_kubectl_exec_pending",
            "Number of such writes under way",
            it.writes_under_way.clone(),
        );
        registry.register_collector(Box::new(CountsOf(Arc::clone(&it.counts))));
        asked.queue.register("app_reconciliation_queue", registry);
        registry.register_collector(Box::new(clusters::ClusterInfo {
            destinations: Arc::clone(&asked.destinations),
            settings: asked.settings,
            labels: options.cluster_labels.clone(),
            tenure: Arc::clone(&asked.tenure),
        }));
        registry.register_collector(Box::new(apps::AppInfo {
            apps: asked.apps,
            destinations: asked.destinations,
            tenure: asked.tenure,
            labels: options.application_labels.clone(),
            conditions: options.application_conditions.clone(),
        }));
        it
    }

    /// Counts an operation that has ended.
    pub(crate) fn synced(&self, app: &Application, dest_server: &str, state: &OperationState) {
        self.counts.synced(app, dest_server, state);
    }

    /// Notes how many orphans an Application has; none if nobody looks after them.
    pub(crate) fn orphans(&self, app: &Application, count: Option<usize>) {
        self.counts.orphans(app, count);
    }

    /// Whoever counts the requests that are made for an Application.
    pub(crate) fn requests_for(&self, app: &Application) -> Arc<dyn Listener> {
        Arc::new(self.counts.requests_for(app))
    }

    /// An Application is gone, and so is what was counted for it.
    pub(crate) fn forget(&self, app: &AppKey) {
        self.counts.forget(app);
    }

    /// Only these Applications are there.
    pub(crate) fn retain(&self, listed: &BTreeSet<AppKey>) {
        self.counts.retain(listed);
    }

    pub(crate) fn passed(&self, key: &AppKey, dest_server: &str, took: Duration) {
        let labels = ReconcileLabels {
            namespace: key.namespace.clone(),
            dest_server: dest_server.to_owned(),
        };
        self.reconcile.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// A batch of changes of one cluster was passed on.
    pub(crate) fn passed_on(&self, server: &str, changes: usize, took: Duration) {
        let labels = ServerLabels { server: server.to_owned() };
        self.event_seconds.get_or_create(&labels).observe(took.as_secs_f64());
        let changes = i64::try_from(changes).unwrap_or(i64::MAX);
        self.events_in_batch.get_or_create(&labels).set(changes);
    }

    /// Counts a write from its begin to its end.
    pub(crate) async fn writing<T>(&self, command: &str, write: impl Future<Output = T>) -> T {
        let labels = WriteLabels { hostname: self.host.clone(), command: command.to_owned() };
        self.writes.get_or_create(&labels).inc();
        let under_way = UnderWay(self.writes_under_way.get_or_create_owned(&labels));
        under_way.0.inc();
        write.await
    }
}

/// Counts down however a write ends: a pass may be cut off.
struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The name of a metric's label for the label of an object.
fn label_name(label: &str) -> String {
    let valid = |it: char| if it.is_ascii_alphanumeric() || it == '_' { it } else { '_' };
    format!("label_{}", label.chars().map(valid).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_becomes_the_name_of_a_metrics_label() {
        assert_eq!(label_name("team.example/name"), "label_team_example_name");
        assert_eq!(label_name("tier"), "label_tier");
    }
}
