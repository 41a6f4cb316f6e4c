//! The controller's metrics, under Argo CD's names so that dashboards work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use api::{AppKey, Application, OperationState};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use runtime::Queue;

use crate::apps::Apps;
use crate::destinations::{Destinations, Registered};
use crate::level::Level;
use crate::tenure::Tenure;

pub(crate) struct Metrics {
    reconcile: Family<ReconcileLabels, Histogram, fn() -> Histogram>,
    syncs: Family<SyncLabels, Counter>,
    sync_seconds: Family<DestinationLabels, Counter<f64, AtomicU64>>,
    orphans: Family<AppLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AppLabels {
    namespace: String,
    name: String,
    project: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DestinationLabels {
    namespace: String,
    name: String,
    project: String,
    dest_server: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SyncLabels {
    namespace: String,
    name: String,
    project: String,
    dest_server: String,
    phase: String,
    dry_run: String,
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
        destinations: Arc<Destinations>,
        tenure: Arc<Tenure>,
    ) -> Self {
        let buckets: fn() -> Histogram = || Histogram::new([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);
        let reconcile = Family::new_with_constructor(buckets);
        registry.register(
            "argocd_app_reconcile",
            "Application reconciliation performance in seconds",
            reconcile.clone(),
        );
        // The endpoint's format adds `_total` to the name of a counter.
        let syncs = Family::default();
        registry.register("argocd_app_sync", "Number of application syncs", syncs.clone());
        let sync_seconds = Family::default();
        registry.register(
            "argocd_app_sync_duration_seconds",
            "Application sync performance in seconds total",
            sync_seconds.clone(),
        );
        let orphans = Family::default();
        registry.register(
            "argocd_app_orphaned_resources_count",
            "Number of orphaned resources per application",
            orphans.clone(),
        );
        let ours = Ours { destinations: Arc::clone(&destinations), tenure };
        registry.register_collector(Box::new(AppInfo(apps, ours)));
        queue.register("app_reconciliation_queue", registry);
        registry.register_collector(Box::new(ClusterInfo(destinations)));
        Self { reconcile, syncs, sync_seconds, orphans }
    }

    /// Counts an operation that has ended.
    pub(crate) fn synced(&self, app: &Application, dest_server: &str, state: &OperationState) {
        let AppLabels { namespace, name, project } = AppLabels::of(app);
        let is_dry = state.operation.sync.as_ref().is_some_and(|it| it.dry_run);
        let labels = SyncLabels {
            namespace: namespace.clone(),
            name: name.clone(),
            project: project.clone(),
            dest_server: dest_server.to_owned(),
            phase: state.phase.clone(),
            dry_run: is_dry.to_string(),
        };
        self.syncs.get_or_create(&labels).inc();
        let ended = state.finished_at.and_then(api::Time::timestamp);
        if let (Some(began), Some(ended)) = (state.started_at.timestamp(), ended) {
            let labels =
                DestinationLabels { namespace, name, project, dest_server: dest_server.to_owned() };
            let seconds = ended.duration_since(began).as_secs_f64();
            self.sync_seconds.get_or_create(&labels).inc_by(seconds.max(0.0));
        }
    }

    /// Notes how many orphans an Application has; none if nobody looks after them.
    pub(crate) fn orphans(&self, app: &Application, count: Option<usize>) {
        let labels = AppLabels::of(app);
        match count {
            Some(count) => {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                self.orphans.get_or_create(&labels).set(count);
            }
            None => drop(self.orphans.remove(&labels)),
        }
    }

    pub(crate) fn passed(&self, key: &AppKey, dest_server: &str, took: Duration) {
        let labels = ReconcileLabels {
            namespace: key.namespace.clone(),
            dest_server: dest_server.to_owned(),
        };
        self.reconcile.get_or_create(&labels).observe(took.as_secs_f64());
    }
}

impl AppLabels {
    fn of(app: &Application) -> Self {
        Self {
            namespace: app.metadata.namespace.clone(),
            name: app.metadata.name.clone(),
            project: app.spec.project_name().to_owned(),
        }
    }
}

/// `argocd_cluster_…`: read when somebody looks.
struct ClusterInfo(Arc<Destinations>);

impl fmt::Debug for ClusterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterInfo")
    }
}

impl Collector for ClusterInfo {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let clusters: Vec<Sight> = self.0.registered().into_iter().map(Sight::of).collect();
        let mut gauge = |name, help, labels: fn(&Sight) -> Vec<Label>, value: fn(&Sight) -> i64| {
            let mut series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for sight in &clusters {
                let labels = labels(sight);
                ConstGauge::new(value(sight)).encode(series.encode_family(&labels)?)?;
            }
            Ok(())
        };
        gauge("argocd_cluster_info", "Information about cluster", Sight::all_labels, |_| 1)?;
        gauge(
            "argocd_cluster_connection_status",
            "The k8s cluster current connection status",
            Sight::version_labels,
            |it| it.is_reached.into(),
        )?;
        gauge(
            "argocd_cluster_api_resource_objects",
            "Number of k8s resource objects in the cache",
            Sight::server_label,
            |it| it.objects,
        )?;
        gauge(
            "argocd_cluster_api_resources",
            "Number of monitored kubernetes API resources",
            Sight::server_label,
            |it| it.kinds,
        )?;
        gauge(
            "argocd_cluster_cache_age_seconds",
            "Cluster cache age in seconds",
            Sight::server_label,
            |it| it.age_in_seconds,
        )
    }
}

type Label = (&'static str, String);

/// What the metrics say of one cluster.
struct Sight {
    server: String,
    name: String,
    version: String,
    is_reached: bool,
    objects: i64,
    kinds: i64,
    /// Less than nothing when there is no cache.
    age_in_seconds: i64,
}

impl Sight {
    fn of(registered: Registered) -> Self {
        let Registered { server, name, connection, .. } = registered;
        let health = connection.ok().map(|it| it.health());
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let age = health.as_ref().and_then(|it| it.listed_ago);
        Self {
            server,
            name,
            version: health.as_ref().map(|it| it.version.git_version.clone()).unwrap_or_default(),
            is_reached: health.as_ref().is_some_and(|it| it.is_reached),
            objects: health.as_ref().map_or(0, |it| count(it.objects)),
            kinds: health.as_ref().map_or(0, |it| count(it.kinds)),
            age_in_seconds: age.and_then(|it| i64::try_from(it.as_secs()).ok()).unwrap_or(-1),
        }
    }

    fn server_label(&self) -> Vec<Label> {
        vec![("server", self.server.clone())]
    }

    fn version_labels(&self) -> Vec<Label> {
        vec![("server", self.server.clone()), ("k8s_version", self.version.clone())]
    }

    fn all_labels(&self) -> Vec<Label> {
        let mut labels = self.version_labels();
        labels.push(("name", self.name.clone()));
        labels
    }
}

/// `argocd_app_info`: one series an Application, read when somebody looks.
struct AppInfo(Arc<Apps>, Ours);

/// Which Applications this replica tells about: sums over replicas count each once.
struct Ours {
    destinations: Arc<Destinations>,
    tenure: Arc<Tenure>,
}

impl Ours {
    fn has(&self, app: &Application) -> bool {
        !self.tenure.is_shared()
            || self.tenure.has(&self.destinations.keeper_of(&app.spec.destination))
    }
}

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
        for app in self.0.all().into_iter().filter(|it| self.1.has(it)) {
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
        ("dest_server", dest_server(app)),
        ("dest_namespace", app.spec.destination.namespace.clone()),
        ("sync_status", or_unknown(&app.status.sync.status)),
        ("health_status", or_unknown(&app.status.health.status)),
        ("operation", operation(app).to_owned()),
    ]
}

fn dest_server(app: &Application) -> String {
    match app.spec.destination.server.trim_end_matches('/') {
        "" => api::names::IN_CLUSTER_SERVER.into(),
        server => server.into(),
    }
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
