//! Clusters, machines, cloud resources and what is spread over clusters.

use object::Object;
use serde_json::Value;

use super::super::rules::is_stale;
use super::{
    condition, conditions, degraded, has_conditions, has_status, healthy, is_false, is_true,
    is_yes, progressing, suspended, text,
};
use crate::Health;

/// A cluster of Cluster API. A condition that is false for a reason that will
/// pass by itself has the severity Info.
pub(super) fn cluster(object: &Object) -> Option<Health> {
    if is_yes(object.at(&["spec", "paused"])) {
        return suspended("Cluster is paused");
    }
    if let Some(ready) = condition(conditions(object), "Ready")
        && is_false(ready)
        && text(ready, "severity") != "Info"
    {
        return degraded(text(ready, "message"));
    }
    match object.text(&["status", "phase"]) {
        Some("Provisioned") => healthy("Cluster is running"),
        Some("Failed") => degraded(""),
        _ => progressing("Waiting for clusters"),
    }
}

pub(super) fn machine_pool(object: &Object) -> Option<Health> {
    let phase = object.text(&["status", "phase"]);
    let waiting: Vec<String> = conditions(object)
        .iter()
        .filter(|condition| is_false(condition) && condition.get("type").is_some())
        .map(|condition| {
            let kind = text(condition, "type");
            match condition.get("reason").and_then(Value::as_str) {
                Some(reason) => format!("Not {kind} ({reason})"),
                None => format!("Not {kind}"),
            }
        })
        .collect();
    let mut message = phase.map(|phase| format!("MachinePool is {phase}")).unwrap_or_default();
    if !waiting.is_empty() {
        message = format!("{message}: {}", waiting.join(", "));
    }
    match phase {
        Some("Running" | "Scaling") => healthy(message),
        Some("Failed" | "Unknown") => degraded(message),
        _ => progressing(message),
    }
}

/// The control plane of a managed EKS cluster.
pub(super) fn aws_control_plane(object: &Object) -> Option<Health> {
    if !has_status(object) {
        return progressing("Provisioning...");
    }
    if is_stale(object) {
        return progressing("Waiting for the control plane spec to be reconciled");
    }
    if let Some(failure) = object.text(&["status", "failureMessage"]).filter(|it| !it.is_empty()) {
        return degraded(failure);
    }
    if !has_conditions(object) {
        return progressing("Provisioning...");
    }
    if condition(conditions(object), "EKSControlPlaneUpdating").is_some_and(is_true) {
        return progressing("EKS control plane is updating");
    }
    if condition(conditions(object), "Ready").is_some_and(is_true) {
        return healthy("Control plane is ready");
    }
    let errors: Vec<&str> = conditions(object)
        .iter()
        .filter(|it| is_false(it) && text(it, "severity") == "Error")
        .map(|it| text(it, "message"))
        .collect();
    if !errors.is_empty() {
        return degraded(errors.iter().map(|error| format!("{error} ")).collect::<String>());
    }
    if object.at(&["status", "ready"]) == Some(&Value::Bool(false)) {
        return progressing("Control plane is not ready (.status.ready is false)");
    }
    progressing("Control plane is not ready")
}

/// A provider of Crossplane: the package is installed, and what it installed runs.
pub(super) fn crossplane_provider(object: &Object) -> Option<Health> {
    if !has_conditions(object) {
        return progressing("Waiting for provider to be installed");
    }
    let of = |kind: &str| condition(conditions(object), kind);
    let reason = |it: Option<&Value>| it.map(|it| text(it, "reason").to_owned());
    let (installed, running) = (of("Installed"), of("Healthy"));
    let message: Vec<String> = [reason(installed), reason(running)].into_iter().flatten().collect();
    let message = message.join(" ");
    if installed.is_some_and(is_true) && running.is_some_and(is_true) {
        healthy(message)
    } else {
        degraded(message)
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
    let status = |field: &str| object.text(&["status", field]);
    let named = |field: &str| status(field).unwrap_or("<none>");
    let role = format!("'{}'", named("roleName"));
    let identity = format!("with ARN '{}' and ID '{}'.", named("roleARN"), named("roleID"));
    match status("state") {
        Some("Ready") => healthy(format!("Role {role} exists {identity}")),
        Some("Error" | "PolicyNotAllowed" | "RolesMaxLimitReached" | "RoleNameNotAvailable") => {
            let retries = object.integer(&["status", "retryCount"]).unwrap_or(0);
            let retry = if retries > 0 { format!(" (retry {retries})") } else { String::new() };
            let error = status("errorDescription");
            let error = error.map(|it| format!(" Reconciliation error was: {it}"));
            let error = error.unwrap_or_default();
            degraded(format!(
                "Failed to reconcile the Iamrole{retry} for role {role} {identity}{error}"
            ))
        }
        _ => progressing("Waiting for Iamrole to be reconciled"),
    }
}

/// An object that is placed on several clusters is as healthy as on each.
pub(super) fn karmada_binding(object: &Object) -> Option<Health> {
    let placed = object.list(&["status", "aggregatedStatus"]);
    let complete = match object.at(&["spec", "clusters"]).and_then(Value::as_array) {
        Some(clusters) => clusters.len() == placed.len(),
        None => object.kind() == "ResourceBinding",
    };
    if placed.is_empty() || !complete {
        return progressing("Current resource status is insufficient");
    }
    let unhealthy = placed.iter().any(|cluster| match text(cluster, "health") {
        "Unhealthy" => true,
        "Unknown" => cluster.get("applied") != Some(&Value::Bool(true)),
        _ => false,
    });
    if unhealthy { degraded("Current resource status is unhealthy") } else { healthy("") }
}
