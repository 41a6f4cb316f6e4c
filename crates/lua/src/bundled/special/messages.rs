//! Queues and streams.

use object::Object;
use serde_json::Value;

use super::super::rules::is_stale;
use super::{
    condition, conditions, degraded, healthy, is_false, is_true, progressing, text, unknown,
};
use crate::Health;

pub(super) fn banzai_kafka(object: &Object) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]);
    let brokers = object.at(&["status", "brokersState"]).and_then(Value::as_object);
    let in_sync = brokers.is_some_and(|brokers| {
        brokers.values().all(|broker| {
            let action = broker.get("gracefulActionState").map(|it| text(it, "cruiseControlState"));
            text(broker, "configurationState") == "ConfigInSync"
                && action.is_none_or(|state| state.ends_with("Succeeded") || state.is_empty())
        })
    });
    match status("state") {
        Some("ClusterReconciling") => progressing("Kafka Cluster is Reconciling."),
        Some("ClusterRollingUpgrading") => progressing("Kafka Cluster is Rolling Upgrading."),
        Some("ClusterRunning") if !in_sync => {
            degraded("Broker Config is out of Sync or CruiseControlState is not Ready")
        }
        Some("ClusterRunning")
            if status("cruiseControlTopicStatus") == Some("CruiseControlTopicReady") =>
        {
            healthy("Kafka Brokers, CruiseControl and cluster are in Healthy State.")
        }
        _ => progressing("Waiting for KafkaCluster"),
    }
}

/// Users, queues, exchanges and so on inside of a RabbitMQ cluster.
pub(super) fn rabbit_topology(object: &Object) -> Option<Health> {
    let kind = object.kind().to_lowercase();
    match condition(conditions(object), "Ready") {
        Some(ready) if is_true(ready) => healthy(format!("RabbitMQ {kind} ready")),
        Some(ready) if is_false(ready) => {
            degraded(format!("RabbitMQ {kind} failed to be created or updated"))
        }
        _ => unknown(format!("RabbitMQ {kind} status is unknown")),
    }
}

pub(super) fn numaflow(object: &Object) -> Option<Health> {
    let kind = object.kind();
    if object.at(&["status"]).is_none() || is_stale(object) {
        return progressing(format!("Waiting for {kind} status"));
    }
    if object.label("numaplane.numaproj.io/progressive-result-state") == Some("failed") {
        return degraded("Failed progressive upgrade");
    }
    let failed = conditions(object).iter().find(|condition| is_false(condition));
    match (object.text(&["status", "phase"]), failed) {
        (Some("Paused"), _) => healthy(format!("{kind} is paused")),
        (Some("Failed"), _) => degraded(object.text(&["status", "message"]).unwrap_or_default()),
        (_, Some(failed)) if kind == "Vertex" => degraded(text(failed, "message")),
        (_, Some(_)) => degraded("Subresources are unhealthy"),
        (Some("Running"), None) => healthy(format!("{kind} is healthy")),
        _ => progressing(format!("Waiting for {kind} status")),
    }
}

/// Rollouts of the same things by Numaplane.
pub(super) fn numaplane(object: &Object) -> Option<Health> {
    if object.at(&["status"]).is_none() || is_stale(object) {
        return progressing("Not yet reconciled");
    }
    let conditions = conditions(object);
    let upgrade_failed = condition(conditions, "ProgressiveUpgradeSucceeded").is_some_and(is_false);
    if upgrade_failed {
        return degraded("Progressive upgrade failed");
    }
    if object.text(&["status", "upgradeInProgress"]).is_some_and(|it| !it.is_empty())
        || object.text(&["status", "phase"]) == Some("Pending")
    {
        return progressing("Update in progress");
    }
    let paused = ["PipelinePausingOrPaused", "MonoVertexPausingOrPaused"]
        .iter()
        .filter_map(|kind| condition(conditions, kind))
        .find(|it| is_true(it) && text(it, "reason").ends_with("Paused"));
    if paused.is_some() {
        let kind = object.kind().trim_end_matches("Rollout");
        return healthy(format!("{kind} paused"));
    }
    match condition(conditions, "ChildResourcesHealthy") {
        Some(children) if is_false(children) && text(children, "reason") == "Progressing" => {
            progressing("Child Progressing")
        }
        Some(children) if is_false(children) => degraded(text(children, "message")),
        _ if object.text(&["status", "phase"]) == Some("Failed") => {
            degraded(object.text(&["status", "message"]).unwrap_or_default())
        }
        _ => healthy("Healthy"),
    }
}
