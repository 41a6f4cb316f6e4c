//! `argocd_cluster_…`: read when somebody looks.

use std::fmt;
use std::sync::Arc;

use ::settings::SettingsStore;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::label_name;
use crate::destinations::{Destinations, Registered};
use crate::tenure::Tenure;

/// See the module's comment.
pub(super) struct ClusterInfo {
    pub(super) destinations: Arc<Destinations>,
    pub(super) settings: Arc<SettingsStore>,
    pub(super) labels: Vec<String>,
    pub(super) tenure: Arc<Tenure>,
}

impl ClusterInfo {
    /// `argocd_cluster_labels`: clusters that have a Secret, with what their labels say.
    fn encode_labels(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Argo Cluster labels converted to Prometheus labels";
        let name = "argocd_cluster_labels";
        let mut series = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for cluster in self.settings.current().clusters.iter() {
            let value = |it: &String| cluster.labels.get(it).cloned().unwrap_or_default();
            let chosen = self.labels.iter().map(|it| (label_name(it), value(it)));
            let named = [("server", &cluster.server), ("name", &cluster.name)];
            let named = named.map(|(name, value)| (name.to_owned(), value.clone()));
            let labels: Vec<_> = named.into_iter().chain(chosen).collect();
            ConstGauge::new(1_i64).encode(series.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// `argocd_cluster_events_total`: what the watches told.
fn encode_events(clusters: &[Registered], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Number of processed k8s resource events";
    // The endpoint's format adds `_total` to the name of a counter.
    let name = "argocd_cluster_events";
    let mut series = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for registered in clusters {
        let events = registered.connection.iter().flat_map(cluster::Cluster::events);
        for (kind, count) in events {
            let labels = [
                ("server", registered.server.clone()),
                ("group", kind.group.clone()),
                ("kind", kind.kind.clone()),
            ];
            ConstCounter::new(count).encode(series.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

impl fmt::Debug for ClusterInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterInfo")
    }
}

impl Collector for ClusterInfo {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut registered = self.destinations.registered();
        // Of the others their owners tell.
        registered.retain(|it| !self.tenure.is_shared() || self.tenure.has(&it.server));
        encode_events(&registered, &mut encoder)?;
        if !self.labels.is_empty() {
            self.encode_labels(&mut encoder)?;
        }
        let clusters: Vec<Sight> = registered.into_iter().map(Sight::of).collect();
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
