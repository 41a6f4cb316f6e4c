//! Databases, storage and secrets.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, has_conditions, has_status, healthy, is_true, is_yes,
    progressing, suspended, text, unknown,
};
use crate::{Health, Status};

/// All members of all racks are ready.
pub(super) fn cassandra(object: &Object) -> Option<Health> {
    let Some(racks) = object.at(&["status", "racks"]).and_then(Value::as_object) else {
        return progressing("Waiting for Cassandra Cluster");
    };
    let waiting = racks.values().any(|rack| {
        let count = |field: &str| rack.get(field).filter(|it| !it.is_null());
        matches!((count("members"), count("readyMembers")), (Some(all), Some(ready)) if all != ready)
    });
    if waiting { progressing("Waiting for Cassandra Cluster") } else { healthy("") }
}

/// Ceph's own judgement, with what it complains about, and the operator's.
pub(super) fn ceph(object: &Object) -> Option<Health> {
    if !has_status(object) {
        return progressing("Waiting for status to be reported");
    }
    let mut parts = Vec::new();
    let mut status = Status::Progressing;
    if let Some(health) = object.text(&["status", "ceph", "health"]) {
        status = match health {
            "HEALTH_OK" => Status::Healthy,
            "HEALTH_ERR" | "HEALTH_WARN" => Status::Degraded,
            _ => Status::Progressing,
        };
        let details = object.at(&["status", "ceph", "details"]).and_then(Value::as_object);
        let complaints: Vec<&str> = details
            .into_iter()
            .flat_map(|details| details.values())
            .filter_map(|detail| detail.get("message")?.as_str())
            .collect();
        parts.push(match complaints.as_slice() {
            [] => format!("Ceph health is {health}"),
            complaints => format!("Ceph health is {health} ({})", complaints.join("; ")),
        });
    }
    if let Some(state) = object.text(&["status", "state"])
        && status == Status::Healthy
    {
        parts.push(format!("Ceph cluster state is {state}"));
        status = match state {
            "Created" | "Connected" => Status::Healthy,
            "Error" => Status::Degraded,
            _ => Status::Progressing,
        };
    }
    if let Some(message) = object.text(&["status", "message"]).filter(|it| !it.is_empty()) {
        parts.push(message.to_owned());
    }
    Some(Health::new(status, parts.join(" - ")))
}

pub(super) fn cnpg_cluster(object: &Object) -> Option<Health> {
    if object.annotation("cnpg.io/reconciliationLoop") == Some("disabled") {
        return suspended("Cluster reconciliation is suspended");
    }
    let reason = object.text(&["status", "phaseReason"]).unwrap_or_default();
    if !has_conditions(object) {
        return progressing(reason);
    }
    if let Some(hibernation) = condition(conditions(object), "cnpg.io/hibernation") {
        let message = text(hibernation, "message");
        return if is_true(hibernation) { suspended(message) } else { degraded(message) };
    }
    match object.text(&["status", "phase"]).unwrap_or_default() {
        "Cluster in healthy state" => healthy(reason),
        "Setting up primary"
        | "Creating a new replica"
        | "Upgrading cluster"
        | "Waiting for the instances to become active"
        | "Promoting to primary cluster" => progressing(reason),
        "Switchover in progress"
        | "Failing over"
        | "Upgrading Postgres major version"
        | "Cluster upgrade delayed"
        | "Waiting for user action"
        | "Primary instance is being restarted in-place"
        | "Primary instance is being restarted without a switchover"
        | "Cluster cannot execute instance online upgrade due to missing architecture binary"
        | "Online upgrade in progress"
        | "Applying configuration" => degraded(reason),
        "Unable to create required cluster objects"
        | "Cluster cannot proceed to reconciliation due to an unknown plugin being required"
        | "Cluster has incomplete or invalid image catalog"
        | "Cluster is unrecoverable and needs manual intervention" => suspended(reason),
        _ => unknown(reason),
    }
}

/// All nodes first, then the operator's phase, then the colour that the cluster reports.
pub(super) fn elasticsearch(object: &Object) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]);
    let wanted: i64 = object
        .list(&["spec", "nodeSets"])
        .iter()
        .filter_map(|set| set.get("count")?.as_i64())
        .sum();
    let available = object.integer(&["status", "availableNodes"]);
    if let Some(available) = available.filter(|available| *available < wanted) {
        return progressing(format!(
            "The desired amount of availableNodes is {wanted} but the current amount is {available}"
        ));
    }
    const CHECK: &str = "Check the status of indices, replicas and shards";
    let phase = status("phase").filter(|_| available == Some(wanted));
    match (phase, status("health")) {
        (Some("Ready"), Some("green")) => healthy("Elasticsearch Cluster status is Green"),
        (Some("Ready"), Some("yellow")) => {
            progressing(format!("Elasticsearch Cluster status is Yellow. {CHECK}"))
        }
        (Some("Ready"), Some("red")) => {
            degraded(format!("Elasticsearch Cluster status is Red. {CHECK}"))
        }
        (Some(phase @ ("ApplyingChanges" | "MigratingData")), Some(_)) => {
            progressing(format!("Elasticsearch phase is {phase}"))
        }
        (Some("Invalid"), Some(_)) => degraded("Elasticsearch phase is Invalid"),
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
        Some(error) if error.starts_with("ERROR") => degraded(error.replace("ERROR, ", "")),
        _ => progressing("Waiting for ExternalSecret."),
    }
}

/// Its operator appends conditions: only the last one holds.
pub(super) fn cluster_external_secret(object: &Object) -> Option<Health> {
    let last = conditions(object).last().filter(|last| is_true(last));
    match last.map(|last| (text(last, "type"), text(last, "message"))) {
        Some(("Ready", message)) => healthy(message),
        Some(("PartiallyReady" | "NotReady", message)) => degraded(message),
        _ => progressing("Waiting for ClusterExternalSecret"),
    }
}

/// What became true first decides.
pub(super) fn keycloak(object: &Object) -> Option<Health> {
    if !has_conditions(object) {
        return progressing("Waiting for Keycloak status conditions to exist");
    }
    let mut by_age: Vec<&Value> = conditions(object).iter().collect();
    by_age.sort_by_key(|condition| {
        let since = condition.get("lastTransitionTime").and_then(Value::as_str);
        (since.is_none(), since)
    });
    by_age
        .into_iter()
        .filter(|condition| is_true(condition))
        .find_map(|condition| match text(condition, "type") {
            "Ready" => healthy(""),
            "HasErrors" => degraded(format!("Has Errors: {}", text(condition, "message"))),
            _ => None,
        })
        .or_else(|| progressing(""))
}

pub(super) fn solr(object: &Object) -> Option<Health> {
    let Some(nodes) = object.at(&["status", "solrNodes"]).and_then(Value::as_array) else {
        return progressing("Waiting for solr to exist");
    };
    if nodes.iter().all(|node| is_yes(node.get("ready"))) {
        healthy("Solr is ready")
    } else {
        progressing("Not all replicas are ready")
    }
}
