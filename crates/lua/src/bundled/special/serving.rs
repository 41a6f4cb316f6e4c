//! Functions, services and models that answer requests.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, has_conditions, has_status, healthy, is_false, is_true,
    progressing, suspended, text, text_or,
};
use crate::{Health, Status};

/// The operators of Knative list their conditions when not all is well.
pub(super) fn knative_operator(object: &Object) -> Option<Health> {
    let kind = object.kind();
    if !has_conditions(object) {
        return progressing(format!("Waiting for {kind}"));
    }
    let (needed, may_fail): (&[&str], &[&str]) = match kind {
        "KnativeServing" => (
            &["Ready", "InstallSucceeded", "DependenciesInstalled", "DeploymentsAvailable"],
            &["Ready", "DeploymentsAvailable"],
        ),
        _ => (&["Ready", "InstallSucceeded"], &["Ready"]),
    };
    let is_one_of = |it: &Value, kinds: &[&str]| kinds.contains(&text(it, "type"));
    let waiting = conditions(object)
        .iter()
        .any(|it| text(it, "status") == "Unknown" || is_false(it) && is_one_of(it, may_fail));
    let met = conditions(object).iter().filter(|it| is_true(it) && is_one_of(it, needed)).count();
    let lines = conditions(object).iter().enumerate().map(|(index, condition)| {
        format!("{}: {} | {}\n", index + 1, text(condition, "type"), text(condition, "status"))
    });
    if waiting {
        progressing(lines.collect::<String>())
    } else if met == needed.len() {
        healthy(format!("{kind} is healthy."))
    } else {
        degraded(lines.collect::<String>())
    }
}

/// A service of Knative: what is not true is told, condition by condition.
pub(super) fn knative_service(object: &Object) -> Option<Health> {
    if !has_conditions(object) {
        return progressing("Waiting for status update.");
    }
    let mut told = String::new();
    let (mut met, mut failed, mut open) = (0, false, false);
    for condition in conditions(object) {
        let (kind, status) = (text(condition, "type"), text(condition, "status"));
        match status {
            "True" if matches!(kind, "ConfigurationsReady" | "RoutesReady" | "Ready") => met += 1,
            "False" | "Unknown" => {
                failed |= status == "False";
                open |= status == "Unknown";
                told.push_str(&format!("{kind} is {status}"));
                let (reason, message) = (text(condition, "reason"), text(condition, "message"));
                if !reason.is_empty() {
                    told.push_str(&format!(", since {reason}."));
                }
                if !message.is_empty() {
                    told.push_str(&format!(" {message}"));
                }
                told.push('\n');
            }
            _ => {}
        }
    }
    if failed {
        degraded(told)
    } else if met == 3 && !open {
        healthy("Knative Service is healthy.")
    } else {
        progressing(told)
    }
}

/// A model server: its conditions, and whether the model itself loads.
pub(super) fn inference_service(object: &Object) -> Option<Health> {
    if !has_conditions(object) {
        return progressing("Waiting for InferenceService to report status...");
    }
    let conditions = conditions(object);
    if condition(conditions, "Stopped").is_some_and(is_true) {
        return suspended("InferenceService is Stopped");
    }
    let transition = object
        .at(&["status", "modelStatus"])
        .filter(|model| !model.is_null())
        .map(|model| text(model, "transitionStatus"))
        .filter(|transition| *transition != "UpToDate");
    let failing = |it: &Value| is_false(it) && text(it, "type") != "Stopped";
    let open = |it: &Value| text(it, "status") == "Unknown" || failing(it);
    if transition.is_none() && !conditions.iter().any(open) {
        return healthy("InferenceService is healthy.");
    }
    let mut told = transition.map(|it| format!("0: transitionStatus | {it}")).unwrap_or_default();
    for (index, condition) in conditions.iter().enumerate() {
        if is_true(condition) || text(condition, "type") == "Stopped" {
            continue;
        }
        let (kind, status) = (text(condition, "type"), text(condition, "status"));
        told.push_str(&format!(" | {}: {kind} | {status}", index + 1));
        for part in ["reason", "message"].map(|field| text(condition, field)) {
            if !part.is_empty() {
                told.push_str(&format!(" | {part}"));
            }
        }
    }
    let status = match transition {
        None | Some("InProgress") => Status::Progressing,
        Some(_) => Status::Degraded,
    };
    Some(Health::new(status, told))
}

/// A WebAssembly application of SpinKube.
pub(super) fn spin_app(object: &Object) -> Option<Health> {
    if !has_status(object) {
        return progressing("Waiting for status to be available");
    }
    let (mut available, mut available_message, mut rolling) = (false, "", None);
    for condition in conditions(object) {
        match text(condition, "type") {
            "Progressing" => {
                let words = text(condition, "message").to_lowercase();
                let failed = text(condition, "reason") == "ProgressDeadlineExceeded"
                    || words.contains("timeout")
                    || words.contains("failed");
                if is_false(condition) && failed {
                    let missing = "Application deployment has failed";
                    return degraded(text_or(condition, "message", missing));
                }
                if is_true(condition) {
                    rolling = Some(text_or(condition, "message", "Application progress status"));
                }
            }
            "Available" => {
                available = is_true(condition);
                let missing = if available {
                    "Application availability status"
                } else {
                    "Application is not available"
                };
                available_message = text_or(condition, "message", missing);
            }
            _ => {}
        }
    }
    let ready = object.integer(&["status", "readyReplicas"]).unwrap_or(0);
    let wanted = object.integer(&["spec", "replicas"]).unwrap_or(1);
    if !available {
        return degraded(available_message);
    }
    if ready < wanted {
        return progressing(format!("Waiting for replicas to be ready ({ready}/{wanted})"));
    }
    match rolling {
        Some(message) => progressing(message),
        None => healthy(format!("Application is healthy with {ready}/{wanted} replicas ready")),
    }
}
