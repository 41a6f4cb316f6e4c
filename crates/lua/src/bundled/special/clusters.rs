//! Clusters, machines and what is spread over them.

use object::Object;
use serde_json::Value;

use super::super::rules::is_stale;
use super::{
    condition, conditions, degraded, healthy, is_false, is_true, progressing, suspended, text,
};
use crate::Health;

/// A cluster of Cluster API. A condition that is false for a reason that will
/// pass by itself has the severity Info.
pub(super) fn cluster(object: &Object) -> Option<Health> {
    if object.at(&["spec", "paused"]) == Some(&Value::Bool(true)) {
        return suspended("Cluster is paused");
    }
    if let Some(ready) = condition(conditions(object), "Ready")
        && is_false(ready)
        && !matches!(text(ready, "severity"), "Info" | "Warning")
    {
        return degraded(text(ready, "message"));
    }
    let all_true = conditions(object).iter().all(is_true) && !conditions(object).is_empty();
    match object.text(&["status", "phase"]) {
        Some("Provisioned") if all_true => healthy("Cluster is running"),
        _ => progressing("Waiting for clusters"),
    }
}

pub(super) fn machine_pool(object: &Object) -> Option<Health> {
    let Some(phase) = object.text(&["status", "phase"]) else {
        return progressing("Waiting for MachinePool");
    };
    let waiting: Vec<String> = conditions(object)
        .iter()
        .filter(|condition| is_false(condition))
        .map(|condition| format!("Not {} ({})", text(condition, "type"), text(condition, "reason")))
        .collect();
    let message = if waiting.is_empty() {
        format!("MachinePool is {phase}")
    } else {
        format!("MachinePool is {phase}: {}", waiting.join(", "))
    };
    match phase {
        "Running" | "Scaling" | "ScalingUp" | "ScalingDown" => healthy(message),
        "Failed" | "Unknown" => degraded(message),
        _ => progressing(message),
    }
}

/// The control plane of a managed EKS cluster.
pub(super) fn aws_control_plane(object: &Object) -> Option<Health> {
    if let Some(failure) = object.text(&["status", "failureMessage"]) {
        return degraded(failure);
    }
    let errors: String = conditions(object)
        .iter()
        .filter(|it| is_false(it) && text(it, "severity") == "Error")
        .map(|it| format!("{} ", text(it, "message")))
        .collect();
    if !errors.is_empty() {
        return degraded(errors);
    }
    if is_stale(object) {
        return progressing("Waiting for the control plane spec to be reconciled");
    }
    if object.at(&["status", "ready"]) != Some(&Value::Bool(true)) {
        return progressing("Control plane is not ready (.status.ready is false)");
    }
    if condition(conditions(object), "EKSControlPlaneUpdating").is_some_and(is_true) {
        return progressing("EKS control plane is updating");
    }
    match condition(conditions(object), "Ready") {
        Some(ready) if is_true(ready) => healthy("Control plane is ready"),
        _ => progressing("Control plane is not ready"),
    }
}

/// Crossplane's early packages kept their conditions one level down.
pub(super) fn stack_install(object: &Object) -> Option<Health> {
    let conditions = object.list(&["status", "conditionedStatus", "conditions"]);
    match condition(conditions, "Ready") {
        Some(ready) if is_true(ready) => healthy(text(ready, "reason")),
        Some(ready) => progressing(text(ready, "reason")),
        None => progressing("Waiting for stack to be installed"),
    }
}

pub(super) fn iam_role(object: &Object) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]).unwrap_or("<none>");
    let role = format!("'{}'", status("roleName"));
    let identity = format!("with ARN '{}' and ID '{}'.", status("roleARN"), status("roleID"));
    match object.text(&["status", "state"]) {
        Some("Ready") => healthy(format!("Role {role} exists {identity}")),
        Some("Error" | "PolicyNotAllowed" | "RolesMaxLimitReached" | "RoleNameNotAvailable") => {
            let retries = object.integer(&["status", "retryCount"]).unwrap_or(0);
            let retry = if retries > 0 { format!(" (retry {retries})") } else { String::new() };
            let error = status("errorDescription");
            degraded(format!(
                "Failed to reconcile the Iamrole{retry} for role {role} {identity} \
                 Reconciliation error was: {error}"
            ))
        }
        _ => progressing("Waiting for Iamrole to be reconciled"),
    }
}

/// An object that is placed on several clusters is as healthy as on each.
pub(super) fn karmada_binding(object: &Object) -> Option<Health> {
    let placed = object.list(&["status", "aggregatedStatus"]);
    let applied = condition(conditions(object), "FullyApplied").is_some_and(is_true);
    if !applied || placed.is_empty() {
        return progressing("Current resource status is insufficient");
    }
    let unhealthy = placed.iter().any(|cluster| {
        cluster.get("applied") != Some(&Value::Bool(true)) || text(cluster, "health") == "Unhealthy"
    });
    if unhealthy { degraded("Current resource status is unhealthy") } else { healthy("") }
}
