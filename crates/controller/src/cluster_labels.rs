//! Writes a cluster's version on its Secret, where a label there asks for it.
//!
//! Generators of ApplicationSets choose clusters by labels. As in Argo CD the label
//! stays when nobody asks for it any more.

use std::collections::BTreeSet;
use std::time::Duration;

use api::names::{LABEL_AUTO_LABEL_CLUSTER_INFO, LABEL_KUBERNETES_VERSION};
use cluster::ApiKind;
use object::GroupVersionKind;
use serde_json::json;
use settings::clusters::ClusterSettings;

use crate::Controller;

/// A cluster may become ours, or be reached at last, without a change of the settings.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(10);

/// Keeps the labels right. Does not end.
pub(crate) async fn keep(controller: &Controller) {
    let mut settings = controller.settings.subscribe();
    let mut refused = BTreeSet::new();
    loop {
        let clusters = settings.borrow_and_update().clusters.clone();
        for cluster in &clusters {
            keep_label_of(controller, cluster, &mut refused).await;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOKED_AT_EVERY) => {}
            changed = settings.changed() => if changed.is_err() { return },
        }
    }
}

async fn keep_label_of(
    controller: &Controller,
    cluster: &ClusterSettings,
    refused: &mut BTreeSet<String>,
) {
    let ClusterSettings { secret, server, .. } = cluster;
    let is_ours = !controller.tenure.is_shared() || controller.tenure.has(server);
    let known = controller.destinations.all().into_iter().find(|it| it.server == *server);
    let Some(known) = known.filter(|_| is_ours) else { return };
    let git_version = &known.cluster.client().version().git_version;
    let Some(version) = wanted_label(cluster, git_version) else { return };
    let kind = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let patch = json!({"metadata": {"labels": {LABEL_KUBERNETES_VERSION: version}}});
    let namespace = &controller.options.namespace;
    let written = controller.control_plane.merge_patch(&kind, namespace, secret, None, &patch);
    match written.await {
        Ok(_) => {
            tracing::info!(server, version, "a cluster is labelled with its version");
            refused.remove(server);
        }
        // Told once: it is tried again and again.
        Err(error) if refused.insert(server.clone()) => {
            let error = error.in_one_line();
            tracing::warn!(server, secret, error, "could not label a cluster with its version");
        }
        Err(_) => {}
    }
}

/// The label that a Secret asks for and does not have.
fn wanted_label(cluster: &ClusterSettings, git_version: &str) -> Option<String> {
    let label = |name: &str| cluster.labels.get(name).map(String::as_str);
    if label(LABEL_AUTO_LABEL_CLUSTER_INFO) != Some("true") {
        return None;
    }
    let version = plain_version(git_version)?;
    (label(LABEL_KUBERNETES_VERSION) != Some(&version)).then_some(version)
}

/// `v1.31.2` of what vendors write: `v1.31.2-gke.100`, `v1.31.2+k3s1`.
fn plain_version(git_version: &str) -> Option<String> {
    let numbers = git_version.trim().trim_start_matches('v');
    let is_part = |it: char| it.is_ascii_digit() || it == '.';
    let end = numbers.find(|it| !is_part(it)).unwrap_or(numbers.len());
    let numbers = numbers[..end].trim_matches('.');
    numbers.contains('.').then(|| format!("v{numbers}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_labelled_with_its_version_where_its_secret_asks_and_says_otherwise() {
        let check = |labels: &[(&str, &str)], version: &str, expect: Option<&str>| {
            let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let cluster =
                ClusterSettings { labels: labels.collect(), ..ClusterSettings::default() };
            assert_eq!(wanted_label(&cluster, version).as_deref(), expect, "{version}");
        };
        let asks = (LABEL_AUTO_LABEL_CLUSTER_INFO, "true");
        check(&[], "v1.31.2", None);
        check(&[(LABEL_AUTO_LABEL_CLUSTER_INFO, "yes")], "v1.31.2", None);
        check(&[asks], "v1.31.2", Some("v1.31.2"));
        check(&[asks, (LABEL_KUBERNETES_VERSION, "v1.30.0")], "v1.31.2", Some("v1.31.2"));
        check(&[asks, (LABEL_KUBERNETES_VERSION, "v1.31.2")], "v1.31.2+k3s1", None);
        check(&[asks], "v1.31.2-gke.100", Some("v1.31.2"));
        check(&[asks], "unknown", None);
    }
}
