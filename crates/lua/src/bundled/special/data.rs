//! Databases, storage and secrets.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, healthy, is_true, progressing, suspended, text, unknown,
};
use crate::Health;

/// All members of all racks are ready.
pub(super) fn cassandra(object: &Object) -> Option<Health> {
    let racks = object.at(&["status", "racks"]).and_then(Value::as_object);
    let racks = racks.filter(|racks| !racks.is_empty());
    let all_ready = racks.is_some_and(|racks| {
        racks.values().all(|rack| {
            let count = |field: &str| rack.get(field).and_then(Value::as_i64).unwrap_or(0);
            count("members") > 0 && count("members") == count("readyMembers")
        })
    });
    if all_ready { healthy("") } else { progressing("Waiting for Cassandra Cluster") }
}

/// Ceph's own judgement, with what it complains about.
pub(super) fn ceph(object: &Object) -> Option<Health> {
    let own_message = object.text(&["status", "message"]).unwrap_or_default();
    let Some(health) = object.text(&["status", "ceph", "health"]) else {
        let waiting =
            if own_message.is_empty() { "Waiting for status to be reported" } else { own_message };
        return progressing(waiting);
    };
    let details = object.at(&["status", "ceph", "details"]).and_then(Value::as_object);
    let complaints: Vec<&str> = details
        .into_iter()
        .flat_map(|details| details.values())
        .map(|detail| text(detail, "message"))
        .collect();
    let mut message = format!("Ceph health is {health}");
    if !complaints.is_empty() {
        message = format!("{message} ({})", complaints.join("; "));
    }
    match (health, object.text(&["status", "state"])) {
        ("HEALTH_OK", Some(state @ ("Created" | "Ready"))) => {
            healthy(format!("{message} - Ceph cluster state is {state} - {own_message}"))
        }
        ("HEALTH_OK", _) => progressing(format!("{message} - {own_message}")),
        _ => degraded(format!("{message} - {own_message}")),
    }
}

pub(super) fn cnpg_cluster(object: &Object) -> Option<Health> {
    if object.annotation("cnpg.io/reconciliationLoop") == Some("disabled") {
        return suspended("Cluster reconciliation is suspended");
    }
    if object.annotation("cnpg.io/hibernation") == Some("on")
        && let Some(hibernation) = condition(conditions(object), "cnpg.io/hibernation")
    {
        let message = text(hibernation, "message");
        return if is_true(hibernation) { suspended(message) } else { progressing(message) };
    }
    let Some(phase) = object.text(&["status", "phase"]) else {
        return progressing("Waiting for the cluster to be created");
    };
    let reason = object.text(&["status", "phaseReason"]).unwrap_or(phase);
    match phase {
        "Cluster in healthy state" => healthy(""),
        "Failing over"
        | "Not enough disk space"
        | "Cluster is in an unrecoverable state, needs manual intervention"
        | "Cluster cannot proceed to reconciliation due to an unknown plugin being required"
        | "Cluster has incomplete or invalid image catalog" => degraded(reason),
        _ => progressing(reason),
    }
}

/// The operator's phase first, then the colour that the cluster itself reports.
pub(super) fn elasticsearch(object: &Object) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]);
    match status("phase") {
        Some("Invalid") => return degraded("Elasticsearch phase is Invalid"),
        Some(phase @ ("ApplyingChanges" | "MigratingData")) => {
            return progressing(format!("Elasticsearch phase is {phase}"));
        }
        _ => {}
    }
    let wanted: i64 = object
        .list(&["spec", "nodeSets"])
        .iter()
        .filter_map(|set| set.get("count")?.as_i64())
        .sum();
    const CHECK: &str = "Check the status of indices, replicas and shards";
    match (status("health"), object.integer(&["status", "availableNodes"])) {
        (Some("green"), Some(available)) if wanted > 0 && available != wanted => {
            progressing(format!(
                "The desired amount of availableNodes is {wanted} but the current amount is {available}"
            ))
        }
        (Some("green"), _) => healthy("Elasticsearch Cluster status is Green"),
        (Some("yellow"), _) => {
            progressing(format!("Elasticsearch Cluster status is Yellow. {CHECK}"))
        }
        (Some("red"), _) => degraded(format!("Elasticsearch Cluster status is Red. {CHECK}")),
        _ => unknown(
            "Elasticsearch Cluster status is unknown. Ensure your ArgoCD is current and then \
             check for/file a bug report: https://github.com/argoproj/argo-cd/issues",
        ),
    }
}

/// The predecessor of External Secrets writes a word, or a word and a reason.
pub(super) fn legacy_external_secret(object: &Object) -> Option<Health> {
    match object.text(&["status", "status"]) {
        Some("SUCCESS") => healthy("Fetched ExternalSecret."),
        Some(error) if error.starts_with("ERROR") => {
            degraded(error.strip_prefix("ERROR, ").unwrap_or(error))
        }
        _ => progressing("Waiting for ExternalSecret."),
    }
}
