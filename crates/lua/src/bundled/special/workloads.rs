//! Jobs, servers and virtual machines.

use object::Object;
use serde_json::Value;

use super::super::rules::is_unobserved;
use super::{
    conditions, degraded, has_status, healthy, is_true, is_yes, progressing, suspended, text,
    text_or, unknown,
};
use crate::Health;

/// A cron job is healthy unless its last run is known to have failed.
pub(super) fn cron_job(object: &Object) -> Option<Health> {
    if object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return healthy("CronJob is Suspended");
    }
    if !has_status(object) {
        return progressing("Waiting for CronJob");
    }
    let Some(scheduled) = object.text(&["status", "lastScheduleTime"]) else {
        return healthy("CronJob has not been scheduled yet");
    };
    let Some(succeeded) = object.text(&["status", "lastSuccessfulTime"]) else {
        return healthy("The CronJob never completed successfully. It may not be healthy");
    };
    if !object.list(&["status", "active"]).is_empty() {
        return healthy("The job is running. Its last execution may not have been successful");
    }
    // Both times are written by the same controller, in one format and zone.
    if succeeded < scheduled {
        degraded("CronJob has not completed its last execution successfully")
    } else {
        healthy("CronJob has completed its last execution successfully")
    }
}

pub(super) fn game_server(object: &Object) -> Option<Health> {
    let state = |field: &str| object.text(&["status", field]);
    let (current, wanted) = (state("currentState"), state("desiredState"));
    if current != wanted {
        let word = |state: Option<&str>| state.unwrap_or("Unknown").to_owned();
        return progressing(format!("State change: {} → {}", word(current), word(wanted)));
    }
    let pod = object.list(&["status", "podStatus", "conditions"]);
    if pod.iter().any(|it| text(it, "type") == "KruisePodReady" && !is_true(it)) {
        return degraded("Pod is not ready: KruisePodReady");
    }
    match current {
        Some("Ready") => healthy("GameServer is Ready"),
        _ => unknown("Waiting for GameServer to be ready"),
    }
}

pub(super) fn game_server_set(object: &Object) -> Option<Health> {
    if !has_status(object) || is_unobserved(object) {
        return progressing("Waiting for GameServerSet initialization");
    }
    let count = |field: &str| object.integer(&["status", field]).unwrap_or(0);
    let update = |field: &'static str| ["spec", "updateStrategy", "rollingUpdate", field];
    if object.at(&update("paused")) == Some(&Value::Bool(true)) {
        return suspended("GameServerSet is paused");
    }
    let partition = object.integer(&update("partition")).unwrap_or(0);
    if partition != 0 && count("updatedReplicas") >= count("replicas") - partition {
        return suspended(format!("Partition={partition}, waiting for manual intervention"));
    }
    if count("updatedReadyReplicas") == count("replicas") {
        return healthy("All GameServerSet replicas are updated and ready");
    }
    if count("readyReplicas") < count("replicas") {
        let (ready, all) = (count("readyReplicas"), count("replicas"));
        return progressing(format!("ReadyReplicas {ready}/{all}, still progressing"));
    }
    progressing("Waiting for GameServerSet initialization")
}

/// How far a rolling update of OpenKruise may go by itself.
fn partition(object: &Object) -> Option<i64> {
    let generation = object.integer(&["metadata", "generation"]).unwrap_or(0);
    object
        .integer(&["spec", "updateStrategy", "rollingUpdate", "partition"])
        .filter(|partition| *partition != 0 && generation > 1)
}

fn is_paused(object: &Object) -> bool {
    let paused = ["spec", "updateStrategy", "rollingUpdate", "paused"];
    object.at(&paused) == Some(&Value::Bool(true))
}

pub(super) fn kruise_stateful_set(object: &Object) -> Option<Health> {
    const WAITING: &str = "Waiting for initialization";
    if !has_status(object) || is_unobserved(object) {
        return progressing(WAITING);
    }
    let count = |field: &str| object.integer(&["status", field]);
    let available = count("updatedAvailableReplicas");
    if is_paused(object) || available.is_none() {
        return suspended("Statefulset is paused");
    }
    if let Some(partition) = partition(object) {
        return match (count("updatedReplicas"), count("replicas")) {
            (Some(updated), Some(all)) if updated > all - partition => {
                suspended("Statefulset needs manual intervention")
            }
            _ => progressing(WAITING),
        };
    }
    if available == count("replicas") {
        healthy("All Statefulset workloads are ready and updated")
    } else {
        degraded("Some replicas are not ready or available")
    }
}

pub(super) fn kruise_daemon_set(object: &Object) -> Option<Health> {
    const WAITING: &str = "Waiting for initialization";
    if !has_status(object) || is_unobserved(object) {
        return progressing(WAITING);
    }
    let count = |field: &str| object.integer(&["status", field]);
    let (updated, wanted) = (count("updatedNumberScheduled"), count("desiredNumberScheduled"));
    if is_paused(object) || updated.is_none() {
        return suspended("Daemonset is paused");
    }
    if let Some(partition) = partition(object) {
        return match (updated, wanted) {
            (Some(updated), Some(wanted)) if updated > wanted - partition => {
                suspended("Daemonset needs manual intervention")
            }
            _ => progressing(WAITING),
        };
    }
    if updated == wanted && count("numberAvailable") == wanted {
        healthy("All Daemonset workloads are ready and updated")
    } else if updated == wanted && count("numberUnavailable") == wanted {
        degraded("Some pods are not ready or available")
    } else {
        progressing(WAITING)
    }
}

/// A virtual machine of KubeVirt: one that is not ready is starting or was stopped.
pub(super) fn virtual_machine(object: &Object) -> Option<Health> {
    let mut verdict = progressing("No status available");
    for condition in conditions(object) {
        match text(condition, "type") {
            "Paused" if is_true(condition) => return suspended("Paused"),
            "Ready" if is_true(condition) => verdict = healthy("Running"),
            "Ready" if is_yes(object.at(&["status", "created"])) => {
                verdict = progressing("Starting");
            }
            "Ready" => verdict = suspended("Stopped"),
            _ => {}
        }
    }
    let told = object.text(&["status", "printableStatus"]);
    verdict.map(|verdict| match told {
        Some(told) => Health::new(verdict.status, told),
        None => verdict,
    })
}

pub(super) fn virtual_machine_instance(object: &Object) -> Option<Health> {
    let phase = object.text(&["status", "phase"]);
    match phase {
        Some("Failed") => return degraded("Failed"),
        Some(phase @ ("Pending" | "Scheduling" | "Scheduled")) => return progressing(phase),
        Some("Succeeded") => return suspended("Succeeded"),
        Some("Unknown") => return unknown("Unknown"),
        _ => {}
    }
    let mut verdict = progressing(phase.unwrap_or("No status available"));
    for condition in conditions(object) {
        match text(condition, "type") {
            "Ready" if is_true(condition) => verdict = healthy("Running"),
            "Ready" => verdict = degraded(text_or(condition, "message", "")),
            "Paused" if is_true(condition) => return suspended(text(condition, "message")),
            _ => {}
        }
    }
    verdict
}
