//! What other tools of delivery report: rollouts, canaries, sources, operators.

use object::Object;
use serde_json::Value;

use super::{
    conditions, degraded, has_conditions, has_status, healthy, is_true, is_yes, progressing,
    suspended, text, unknown,
};
use crate::{Health, Status};

/// A rollout of Argo Rollouts: its own word where it has one, as those of
/// version 1.0 and later have.
pub(super) fn rollout(object: &Object) -> Option<Health> {
    if !has_status(object) || !is_observed(object) || !is_workload_observed(object) {
        return progressing("Waiting for rollout spec update to be observed");
    }
    let status = |field: &str| object.text(&["status", field]);
    if let Some(phase) = status("phase") {
        let message = status("message").unwrap_or_default();
        return match (phase, Status::parse(phase)) {
            ("Paused", _) => suspended(message),
            (_, Some(status)) => Some(Health::new(status, message)),
            _ => unknown("Lua returned an invalid health status"),
        };
    }
    let failed = conditions(object).iter().find(|it| match text(it, "type") {
        "InvalidSpec" => true,
        "Progressing" => {
            matches!(text(it, "reason"), "RolloutAborted" | "ProgressDeadlineExceeded")
        }
        _ => false,
    });
    if let Some(failed) = failed {
        return degraded(text(failed, "message"));
    }
    let waits = !object.list(&["status", "pauseConditions"]).is_empty();
    if waits || is_yes(object.at(&["spec", "paused"])) {
        return suspended("Rollout is paused");
    }
    let Some(pod_hash) = status("currentPodHash") else {
        return progressing("Waiting for rollout to finish: status has not been reconciled.");
    };
    rolling(object, pod_hash)
}

/// Is the new version everywhere, and the old one gone?
fn rolling(object: &Object, pod_hash: &str) -> Option<Health> {
    let count = |field: &str| object.integer(&["status", field]).unwrap_or(0);
    let updated = count("updatedReplicas");
    if updated < object.integer(&["spec", "replicas"]).unwrap_or(1) {
        return progressing("Waiting for roll out to finish: More replicas need to be updated");
    }
    if count("availableReplicas") < updated {
        return progressing(
            "Waiting for roll out to finish: updated replicas are still becoming available",
        );
    }
    let has = |path: &[&str]| object.at(path).is_some_and(|it| !it.is_null());
    let stable = object
        .text(&["status", "stableRS"])
        .or_else(|| object.text(&["status", "canary", "stableRS"]))
        .unwrap_or_default();
    if has(&["spec", "strategy", "blueGreen"]) {
        if object.text(&["status", "blueGreen", "activeSelector"]) != Some(pod_hash) {
            return progressing("active service cutover pending");
        }
        if !stable.is_empty() && stable != pod_hash {
            return progressing("waiting for analysis to complete");
        }
    } else if has(&["spec", "strategy", "canary"]) {
        if count("replicas") > updated {
            return progressing(
                "Waiting for roll out to finish: old replicas are pending termination",
            );
        }
        if stable != pod_hash {
            return progressing("Waiting for rollout to finish steps");
        }
    }
    healthy("")
}

/// Generations are texts in the status of a rollout.
fn as_number(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64(),
    }
}

fn is_observed(object: &Object) -> bool {
    let generation = object.integer(&["metadata", "generation"]);
    let observed = as_number(object.at(&["status", "observedGeneration"]));
    observed.is_none() || observed >= generation
}

/// A rollout may take its pods from a Deployment, which has generations of its own.
fn is_workload_observed(object: &Object) -> bool {
    let has = |path: &[&str]| object.at(path).is_some_and(|it| !it.is_null());
    if !has(&["spec", "workloadRef"]) || !has(&["metadata", "annotations"]) {
        return true;
    }
    let generation = object.annotation("rollout.argoproj.io/workload-generation");
    generation.and_then(|it| it.parse().ok())
        == as_number(object.at(&["status", "workloadObservedGeneration"]))
}

/// A canary of Flagger; what its conditions say is told one after the other.
pub(super) fn flagger_canary(object: &Object) -> Option<Health> {
    if !has_status(object) {
        return unknown("No status");
    }
    let phase = object.text(&["status", "phase"]).unwrap_or_default();
    let weight = as_number(object.at(&["status", "canaryWeight"])).filter(|weight| *weight > 0);
    let mut told: Vec<String> =
        weight.map(|weight| format!("Canary Weight: {weight} %")).into_iter().collect();
    told.extend(conditions(object).iter().map(|it| text(it, "message").to_owned()));
    let status = match phase {
        "Failed" => Status::Degraded,
        "Progressing" | "Finalising" | "Promoting" => Status::Progressing,
        "Succeeded" | "Initialized" => Status::Healthy,
        _ => Status::Unknown,
    };
    Some(Health::new(status, format!("{phase} --- {}", told.join(" --- "))))
}

/// The kinds of Flux. Signs of progress and of success are counted; with too few
/// of either, something failed.
pub(super) fn flux(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let is_source = object.group_kind().group == "source.toolkit.fluxcd.io";
    if kind != "ImagePolicy" && object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return suspended(format!("{kind} is suspended"));
    }
    if kind == "HelmRepository" && object.text(&["spec", "type"]) == Some("oci") {
        return healthy(
            "Helm repositories of type 'oci' do not contain any information in the status.",
        );
    }
    if !has_conditions(object) {
        return progressing("Status unknown");
    }
    let waits_while = match kind {
        "ImagePolicy" | "ImageRepository" | "Receiver" => "False",
        _ => "Unknown",
    };
    let (mut waiting, mut succeeded, mut message) = (0, 0, String::new());
    for condition in conditions(object) {
        let (reason, status) = (text(condition, "reason"), text(condition, "status"));
        match (text(condition, "type"), status) {
            ("Ready", status) => {
                succeeded += usize::from(status == "True");
                waiting += usize::from(status == waits_while);
                message = reason.to_owned();
            }
            ("Reconciling", "True") => waiting += usize::from(is_progress(kind, reason)),
            ("Released" | "TestSuccess", "True") if kind == "HelmRelease" => succeeded += 1,
            ("ArtifactOutdated", "True") if is_source => message = format!("{message} {reason}"),
            ("ArtifactInStorage", "True") if is_source => succeeded += 1,
            _ => {}
        }
    }
    let needed = if is_source || kind == "HelmRelease" { 2 } else { 1 };
    if waiting == 2 && kind != "Receiver" {
        progressing(message)
    } else if waiting != 2 && succeeded == needed {
        healthy(message)
    } else {
        degraded(message)
    }
}

/// Kinds of images are reconciled for reasons that are no progress, too.
fn is_progress(kind: &str, reason: &str) -> bool {
    match kind {
        "ImagePolicy" => {
            matches!(reason, "NewGeneration" | "AccessingRepository" | "ApplyingPolicy")
        }
        "ImageRepository" => matches!(reason, "NewGeneration" | "Scanning"),
        _ => true,
    }
}

/// A subscription of the Operator Lifecycle Manager. An upgrade that waits for
/// somebody's approval does not make an installed operator unhealthy.
pub(super) fn operator_subscription(object: &Object) -> Option<Health> {
    if !has_conditions(object) {
        return progressing("An install plan for a subscription is pending installation");
    }
    let conditions = conditions(object);
    let waits_for_approval = object.text(&["spec", "installPlanApproval"]) == Some("Manual")
        && object.at(&["status", "installedCSV"]).is_some_and(|it| !it.is_null())
        && conditions.iter().any(|it| {
            text(it, "type") == "InstallPlanPending"
                && is_true(it)
                && text(it, "reason") == "RequiresApproval"
        });
    let (mut pending, mut failed, mut told) = (false, false, String::new());
    for (index, condition) in conditions.iter().enumerate() {
        let kind = text(condition, "type");
        if waits_for_approval && kind == "InstallPlanPending" {
            continue;
        }
        told.push_str(&format!("{}: {kind} | {}\n", index + 1, text(condition, "status")));
        match kind {
            "InstallPlanPending" => pending |= is_true(condition),
            "InstallPlanMissing" => {
                failed |= text(condition, "reason") != "ReferencedInstallPlanNotFound";
            }
            "CatalogSourcesUnhealthy" | "InstallPlanFailed" | "ResolutionFailed" => {
                failed |= is_true(condition);
            }
            _ => {}
        }
    }
    let state = object.text(&["status", "state"]);
    told.push_str(&match state {
        None => ".status.state not yet known\n".to_owned(),
        Some("UpgradePending") if waits_for_approval => {
            ".status.state is 'UpgradePending' (manual InstallPlan approval pending; treated as \
             healthy)\n"
                .to_owned()
        }
        Some(state) => format!(".status.state is '{state}'\n"),
    });
    match state {
        None | Some("" | "UpgradeAvailable") => pending = true,
        Some("UpgradePending") => pending |= !waits_for_approval,
        Some("UpgradeFailed") => failed = true,
        Some(_) => {}
    }
    match (failed, pending) {
        (true, _) => degraded(told),
        (false, true) => progressing(told),
        (false, false) => healthy(told),
    }
}
