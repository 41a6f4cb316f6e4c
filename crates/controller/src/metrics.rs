//! The controller's metrics, under Argo CD's names so that dashboards work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::{AppKey, Application};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use runtime::Queue;

use crate::apps::Apps;
use crate::level::Level;

pub(crate) struct Metrics {
    reconcile: Family<ReconcileLabels, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    namespace: String,
    dest_server: String,
}

impl Metrics {
    pub(crate) fn register(
        registry: &mut Registry,
        apps: Arc<Apps>,
        queue: Queue<AppKey, Level>,
    ) -> Self {
        let buckets: fn() -> Histogram = || Histogram::new([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);
        let reconcile = Family::new_with_constructor(buckets);
        registry.register(
            "argocd_app_reconcile",
            "Application reconciliation performance in seconds",
            reconcile.clone(),
        );
        registry.register_collector(Box::new(AppInfo(apps)));
        registry.register_collector(Box::new(QueueDepth(queue)));
        Self { reconcile }
    }

    pub(crate) fn passed(&self, key: &AppKey, took: Duration) {
        let labels = ReconcileLabels {
            namespace: key.namespace.clone(),
            dest_server: api::names::IN_CLUSTER_SERVER.into(),
        };
        self.reconcile.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

/// `argocd_app_info`: one series an Application, read when somebody looks.
struct AppInfo(Arc<Apps>);

impl fmt::Debug for AppInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppInfo")
    }
}

impl Collector for AppInfo {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut series = encoder.encode_descriptor(
            "argocd_app_info",
            "Information about application",
            None,
            MetricType::Gauge,
        )?;
        for app in self.0.all() {
            let labels = app_labels(&app);
            ConstGauge::new(1_i64).encode(series.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn app_labels(app: &Application) -> [(&'static str, String); 10] {
    let repo = app.sources().first().map(|it| it.repo_url.clone()).unwrap_or_default();
    let or_unknown =
        |text: &str| if text.is_empty() { "Unknown".to_owned() } else { text.to_owned() };
    [
        ("namespace", app.metadata.namespace.clone()),
        ("name", app.metadata.name.clone()),
        ("project", app.spec.project_name().to_owned()),
        ("autosync_enabled", engine::decide::automated(app).is_some().to_string()),
        ("repo", repo),
        ("dest_server", api::names::IN_CLUSTER_SERVER.into()),
        ("dest_namespace", app.spec.destination.namespace.clone()),
        ("sync_status", or_unknown(&app.status.sync.status)),
        ("health_status", or_unknown(&app.status.health.status)),
        ("operation", operation(app).to_owned()),
    ]
}

fn operation(app: &Application) -> &'static str {
    if app.metadata.deletion_timestamp.is_some() {
        "delete"
    } else if app.operation.as_ref().is_some_and(|it| it.sync.is_some()) {
        "sync"
    } else {
        ""
    }
}

struct QueueDepth(Queue<AppKey, Level>);

impl fmt::Debug for QueueDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueueDepth")
    }
}

impl Collector for QueueDepth {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut series = encoder.encode_descriptor(
            "workqueue_depth",
            "Current depth of workqueue",
            None,
            MetricType::Gauge,
        )?;
        let depth = i64::try_from(self.0.depth()).unwrap_or(i64::MAX);
        let labels = [("name", "app_reconciliation_queue")];
        ConstGauge::new(depth).encode(series.encode_family(&labels)?)
    }
}
