//! Jobs, servers and models.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, healthy, is_false, is_true, progressing, suspended, text,
    unknown,
};
use crate::{Health, Status};

/// A cron job is healthy unless its last run is known to have failed.
pub(super) fn cron_job(object: &Object) -> Option<Health> {
    if object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return healthy("CronJob is Suspended");
    }
    if !object.list(&["status", "active"]).is_empty() {
        return healthy("The job is running. Its last execution may not have been successful");
    }
    let Some(scheduled) = object.text(&["status", "lastScheduleTime"]) else {
        return healthy("CronJob has not been scheduled yet");
    };
    // Both times are written by the same controller, in one format and zone.
    match object.text(&["status", "lastSuccessfulTime"]) {
        None => healthy("The CronJob never completed successfully. It may not be healthy"),
        Some(succeeded) if succeeded >= scheduled => {
            healthy("CronJob has completed its last execution successfully")
        }
        Some(_) => degraded("CronJob has not completed its last execution successfully"),
    }
}

pub(super) fn game_server(object: &Object) -> Option<Health> {
    let state = |field: &str| object.text(&["status", field]);
    let Some(current) = state("currentState") else {
        return unknown("Waiting for GameServer to be ready");
    };
    let wanted = state("desiredState").unwrap_or(current);
    if current != wanted {
        return progressing(format!("State change: {current} → {wanted}"));
    }
    let pod = object.list(&["status", "podStatus", "conditions"]);
    if let Some(failing) = pod.iter().find(|condition| !is_true(condition)) {
        return degraded(format!("Pod is not ready: {}", text(failing, "type")));
    }
    healthy(format!("GameServer is {current}"))
}

/// The operators of Knative list their conditions when not all is well.
pub(super) fn knative_operator(object: &Object) -> Option<Health> {
    let kind = object.kind();
    if conditions(object).is_empty() {
        return progressing(format!("Waiting for {kind}"));
    }
    if conditions(object).iter().all(is_true) {
        return healthy(format!("{kind} is healthy."));
    }
    let lines = conditions(object).iter().enumerate().map(|(index, condition)| {
        format!("{}: {} | {}\n", index + 1, text(condition, "type"), text(condition, "status"))
    });
    let message: String = lines.collect();
    let strange = conditions(object)
        .iter()
        .any(|condition| !matches!(text(condition, "status"), "True" | "False" | "Unknown"));
    if strange { degraded(message) } else { progressing(message) }
}

/// A model server: its conditions, and whether the model itself loads.
pub(super) fn inference_service(object: &Object) -> Option<Health> {
    let conditions = conditions(object);
    if condition(conditions, "Stopped").is_some_and(is_true) {
        return suspended("InferenceService is Stopped");
    }
    if conditions.is_empty() {
        return progressing("Waiting for InferenceService to report status...");
    }
    let transition = object.text(&["status", "modelStatus", "transitionStatus"]);
    let loaded = matches!(transition, None | Some("UpToDate"));
    let open = |it: &Value| !is_true(it) && text(it, "type") != "Stopped";
    if loaded && !conditions.iter().any(open) {
        return healthy("InferenceService is healthy.");
    }
    let loading = match transition {
        Some(status) if !loaded => format!("0: transitionStatus | {status}"),
        _ => String::new(),
    };
    let lines = conditions.iter().enumerate().filter(|(_, it)| open(it)).map(|(index, it)| {
        let parts = ["type", "status", "reason", "message"].map(|field| text(it, field));
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!(" | {}: {}", index + 1, parts.join(" | "))
    });
    let message = format!("{loading}{}", lines.collect::<String>());
    let status = match transition {
        Some("BlockedByFailedLoad" | "InvalidSpec") => Status::Degraded,
        Some("InProgress") => Status::Progressing,
        _ if conditions.iter().any(is_false) => Status::Degraded,
        _ => Status::Progressing,
    };
    Some(Health::new(status, message))
}
