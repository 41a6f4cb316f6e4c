//! `argocd_app_…` about the state of Applications: read when somebody looks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::Application;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::label_name;
use crate::apps::Apps;
use crate::destinations::Destinations;
use crate::tenure::Tenure;

/// See the module's comment.
pub(super) struct AppInfo {
    pub(super) apps: Arc<Apps>,
    pub(super) destinations: Arc<Destinations>,
    pub(super) tenure: Arc<Tenure>,
    pub(super) labels: Vec<String>,
    pub(super) conditions: Vec<String>,
}

impl AppInfo {
    /// The Applications that this replica tells about: sums over replicas count each once.
    fn ours(&self) -> Vec<Arc<Application>> {
        let is_ours = |app: &Application| {
            !self.tenure.is_shared()
                || self.tenure.has(&self.destinations.keeper_of(&app.spec.destination))
        };
        self.apps.all().into_iter().filter(|it| is_ours(it)).collect()
    }

    /// How often a condition that is counted stands in an Application's status.
    fn counted_conditions<'a>(&self, app: &'a Application) -> BTreeMap<&'a str, i64> {
        let mut counts = BTreeMap::new();
        for condition in &app.status.conditions {
            if self.conditions.contains(&condition.type_) {
                *counts.entry(condition.type_.as_str()).or_default() += 1;
            }
        }
        counts
    }
}

impl fmt::Debug for AppInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppInfo")
    }
}

impl Collector for AppInfo {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let apps = self.ours();
        let mut gauge = |name, help, series: &dyn Fn(&Application) -> Vec<(Labels, i64)>| {
            let mut told = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (labels, value) in apps.iter().flat_map(|it| series(it)) {
                ConstGauge::new(value).encode(told.encode_family(&labels)?)?;
            }
            fmt::Result::Ok(())
        };
        gauge("argocd_app_info", "Information about application", &|app| {
            vec![(app_labels(app, &self.destinations), 1)]
        })?;
        if !self.labels.is_empty() {
            let help = "Argo Application labels converted to Prometheus labels";
            gauge("argocd_app_labels", help, &|app| {
                let value = |it: &String| app.metadata.labels.get(it).cloned().unwrap_or_default();
                let chosen = self.labels.iter().map(|it| (label_name(it), value(it)));
                vec![(identity(app).into_iter().chain(chosen).collect(), 1)]
            })?;
        }
        if !self.conditions.is_empty() {
            gauge("argocd_app_condition", "Report application conditions", &|app| {
                let counted = self.counted_conditions(app).into_iter();
                let series = |(condition, count): (&str, i64)| {
                    let mut labels = identity(app);
                    labels.push(("condition".into(), condition.to_owned()));
                    (labels, count)
                };
                counted.map(series).collect()
            })?;
        }
        Ok(())
    }
}

type Labels = Vec<(String, String)>;

fn identity(app: &Application) -> Labels {
    vec![
        ("namespace".into(), app.metadata.namespace.clone()),
        ("name".into(), app.metadata.name.clone()),
        ("project".into(), app.spec.project_name().to_owned()),
    ]
}

fn app_labels(app: &Application, destinations: &Destinations) -> Labels {
    let repo = app.sources().first().map(|it| it.repo_url.clone()).unwrap_or_default();
    let or_unknown =
        |text: &str| if text.is_empty() { "Unknown".to_owned() } else { text.to_owned() };
    let mut labels = identity(app);
    let more = [
        ("autosync_enabled", engine::decide::automated(app).is_some().to_string()),
        ("repo", repo),
        ("dest_server", dest_server(app, destinations)),
        ("dest_namespace", app.spec.destination.namespace.clone()),
        ("sync_status", or_unknown(&app.status.sync.status)),
        ("health_status", or_unknown(&app.status.health.status)),
        ("operation", operation(app).to_owned()),
    ];
    labels.extend(more.map(|(name, value)| (name.to_owned(), value)));
    labels
}

/// The address of its cluster, also where it names the cluster by its name.
fn dest_server(app: &Application, destinations: &Destinations) -> String {
    let destination = &app.spec.destination;
    match (destination.server.trim_end_matches('/'), destination.name.as_str()) {
        ("", "") => api::names::IN_CLUSTER_SERVER.into(),
        ("", _) => destinations.find(destination).map(|it| it.server).unwrap_or_default(),
        (server, _) => server.into(),
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
