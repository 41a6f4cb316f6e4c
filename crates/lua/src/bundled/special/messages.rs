//! Queues and streams.

use object::Object;
use serde_json::Value;

use super::super::rules::is_unobserved;
use super::{
    condition, conditions, degraded, has_status, healthy, is_false, is_true, progressing,
    suspended, text, unknown,
};
use crate::Health;

pub(super) fn banzai_kafka(object: &Object) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]);
    if status("state") == Some("ClusterRollingUpgrading") {
        return progressing("Kafka Cluster is Rolling Upgrading.");
    }
    let Some(brokers) = object.at(&["status", "brokersState"]).and_then(Value::as_object) else {
        return progressing("Waiting for KafkaCluster");
    };
    let in_sync = brokers.values().all(|broker| {
        let action = broker.get("gracefulActionState").map(|it| text(it, "cruiseControlState"));
        text(broker, "configurationState") == "ConfigInSync"
            && matches!(action, Some("GracefulUpscaleSucceeded" | "GracefulDownscaleSucceeded"))
    });
    if !in_sync {
        return degraded("Broker Config is out of Sync or CruiseControlState is not Ready");
    }
    match (status("state"), status("cruiseControlTopicStatus")) {
        (Some("ClusterRunning"), Some("CruiseControlTopicReady")) => {
            healthy("Kafka Brokers, CruiseControl and cluster are in Healthy State.")
        }
        (Some("ClusterReconciling"), None | Some("CruiseControlTopicNotReady")) => {
            progressing("Kafka Cluster is Reconciling.")
        }
        _ => progressing("Waiting for KafkaCluster"),
    }
}

/// Users, queues, exchanges and so on inside of a RabbitMQ cluster.
pub(super) fn rabbit_topology(object: &Object) -> Option<Health> {
    let kind = object.kind().to_lowercase();
    let ready = condition(conditions(object), "Ready");
    match ready.map(|ready| (text(ready, "status"), text(ready, "reason"))) {
        Some(("True", "SuccessfulCreateOrUpdate")) => healthy(format!("RabbitMQ {kind} ready")),
        Some(("False", "FailedCreateOrUpdate")) => {
            degraded(format!("RabbitMQ {kind} failed to be created or updated"))
        }
        _ => unknown(format!("RabbitMQ {kind} status is unknown")),
    }
}

pub(super) fn numaflow(object: &Object) -> Option<Health> {
    let kind = object.kind();
    if !has_status(object) || is_unobserved(object) {
        return progressing(format!("Waiting for {kind} status"));
    }
    let phase = object.text(&["status", "phase"]);
    if phase == Some("Failed") {
        return degraded(object.text(&["status", "message"]).unwrap_or_default());
    }
    if kind != "Vertex"
        && object.label("numaplane.numaproj.io/progressive-result-state") == Some("failed")
    {
        return degraded("Failed progressive upgrade");
    }
    let failed = conditions(object).iter().rfind(|condition| is_false(condition));
    match (failed, kind, phase) {
        (Some(failed), "Vertex" | "InterStepBufferService", _) => degraded(text(failed, "message")),
        (Some(_), _, _) => degraded("Subresources are unhealthy"),
        (None, "Vertex" | "MonoVertex" | "Pipeline", Some("Paused"))
        | (None, "Pipeline", Some("Pausing")) => healthy(format!("{kind} is paused")),
        (None, _, Some("Running")) => healthy(format!("{kind} is healthy")),
        _ => progressing(format!("Waiting for {kind} status")),
    }
}

/// Rollouts of the same things by Numaplane.
pub(super) fn numaplane(object: &Object) -> Option<Health> {
    if !has_status(object) || is_unobserved(object) {
        return progressing("Not yet reconciled");
    }
    let conditions = conditions(object);
    let (kind, failure) = match object.kind() {
        "PipelineRollout" => ("Pipeline", "PipelineFailed"),
        "MonoVertexRollout" => ("MonoVertex", "MonoVertexFailed"),
        "ISBServiceRollout" => ("", "ISBSvcFailed"),
        _ => ("", ""),
    };
    // A controller is not upgraded progressively.
    let upgrade_failed = !failure.is_empty()
        && condition(conditions, "ProgressiveUpgradeSucceeded").is_some_and(is_false);
    let upgrading = object.text(&["status", "upgradeInProgress"]).is_some_and(|it| !it.is_empty())
        || object.text(&["status", "phase"]) == Some("Pending");
    if upgrading && !upgrade_failed {
        return progressing("Update in progress");
    }
    let children = condition(conditions, "ChildResourcesHealthy");
    let children_failed = children.filter(|it| is_false(it));
    if children_failed.is_some_and(|it| text(it, "reason") == "Progressing") {
        return progressing("Child Progressing");
    }
    if object.text(&["status", "phase"]) == Some("Failed") {
        return degraded(object.text(&["status", "message"]).unwrap_or_default());
    }
    let failed = conditions.iter().find_map(|it| match text(it, "type") {
        _ if !is_false(it) => None,
        "ChildResourcesHealthy" if failure.is_empty() || text(it, "reason") == failure => {
            Some(text(it, "message"))
        }
        "ProgressiveUpgradeSucceeded" if upgrade_failed => Some("Progressive upgrade failed"),
        _ => None,
    });
    if let Some(message) = failed {
        return degraded(message);
    }
    let paused = condition(conditions, &format!("{kind}PausingOrPaused"));
    if let Some(paused) = paused.filter(|it| is_true(it) && !kind.is_empty()) {
        return healthy(text(paused, "message"));
    }
    match (children, kind) {
        (Some(children), _) if is_true(children) => healthy("Healthy"),
        (_, "") => unknown("Unknown status"),
        (_, kind) => unknown(format!("Unknown {kind} status")),
    }
}

/// Objects that KEDA scales. The message is that of the last condition that counted.
pub(super) fn keda(object: &Object) -> Option<Health> {
    let is_job = object.kind() == "ScaledJob";
    let (mut ready, mut failed, mut paused, mut message) = (false, false, false, "");
    for condition in conditions(object) {
        let counts = match (text(condition, "type"), text(condition, "status")) {
            ("Ready", "True") => &mut ready,
            ("Ready", "False") => &mut failed,
            ("Ready", "Unknown") if is_job => &mut failed,
            ("Fallback", "True") if !is_job => &mut failed,
            ("Paused", "True") => &mut paused,
            _ => continue,
        };
        *counts = true;
        message = text(condition, "message");
    }
    match (failed, ready, paused) {
        (true, _, _) => degraded(message),
        (false, true, true) => suspended(message),
        (false, true, false) => healthy(message),
        _ if is_job => progressing("Waiting for ScaledJob"),
        _ => progressing("Creating HorizontalPodAutoscaler Object"),
    }
}
