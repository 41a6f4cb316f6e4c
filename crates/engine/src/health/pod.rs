//! Pod, Job and Argo Workflow: things that run to an end, or should not end.

use object::Object;
use serde_json::Value;

use super::{Health, HealthCode, condition, text};
use crate::marks::{self, Role};

const IGNORE_RESTART_POLICY: &str = "argocd.argoproj.io/ignore-restart-policy";

pub(super) fn pod(object: &Object) -> Health {
    let message = object.text(&["status", "message"]).unwrap_or_default();
    let long_running = is_long_running(object);
    if long_running && let Some(stuck) = stuck_containers(object) {
        return Health::degraded(stuck);
    }
    match object.text(&["status", "phase"]) {
        Some("Pending") => Health::progressing(message),
        Some("Succeeded") => Health::new(HealthCode::Healthy, message),
        Some("Failed") if !message.is_empty() => Health::degraded(message),
        Some("Failed") => Health::degraded(failure_of_a_container(object).unwrap_or_default()),
        Some("Running") if long_running => running(object, message),
        Some("Running") if has_finite_life(object) => Health::progressing(message),
        _ => Health::new(HealthCode::Unknown, message),
    }
}

fn running(object: &Object, message: &str) -> Health {
    let crashed_before = |status: &Value| status.pointer("/lastState/terminated").is_some();
    if condition(object, "Ready").is_some_and(|it| it["status"] == "True") {
        Health::new(HealthCode::Healthy, message)
    } else if object.list(&["status", "containerStatuses"]).iter().any(crashed_before) {
        Health::degraded(message)
    } else {
        Health::progressing(message)
    }
}

/// A pod that ends is Progressing while it runs, or a hook would be taken for
/// done; the annotation says otherwise for those that are no hooks.
fn is_long_running(object: &Object) -> bool {
    let asked = object.annotation(IGNORE_RESTART_POLICY) == Some("true");
    object.text(&["spec", "restartPolicy"]) == Some("Always")
        || (asked && !matches!(marks::role(object), Role::Hook(_)))
}

fn has_finite_life(object: &Object) -> bool {
    matches!(object.text(&["spec", "restartPolicy"]), Some("OnFailure" | "Never"))
}

/// What containers say that will not start by themselves.
fn stuck_containers(object: &Object) -> Option<String> {
    let messages: Vec<&str> = object
        .list(&["status", "containerStatuses"])
        .iter()
        .filter_map(|status| status.pointer("/state/waiting"))
        .filter(|waiting| {
            let reason = text(waiting, "reason");
            reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff")
        })
        .map(|waiting| text(waiting, "message"))
        .collect();
    (!messages.is_empty()).then(|| messages.join(", "))
}

fn failure_of_a_container(object: &Object) -> Option<String> {
    let init = object.list(&["status", "initContainerStatuses"]);
    let containers = object.list(&["status", "containerStatuses"]);
    init.iter().chain(containers).find_map(|status| {
        let terminated = status.pointer("/state/terminated")?;
        let exit_code = terminated.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
        match (text(terminated, "message"), text(terminated, "reason")) {
            ("", "OOMKilled") => Some("OOMKilled".to_owned()),
            ("", _) if exit_code != 0 => Some(format!(
                "container {:?} failed with exit code {exit_code}",
                text(status, "name")
            )),
            ("", _) => None,
            (message, _) => Some(message.to_owned()),
        }
    })
}

pub(super) fn job(object: &Object) -> Health {
    let mut verdict = Health::progressing("");
    for condition in object.list(&["status", "conditions"]) {
        let message = text(condition, "message");
        match text(condition, "type") {
            "Failed" => return Health::degraded(message),
            "Suspended" if condition["status"] == "True" => {
                verdict = Health::new(HealthCode::Suspended, message);
            }
            // A Job that was resumed keeps its Suspended condition as False.
            "Complete" | "Suspended" if verdict.code != HealthCode::Suspended => {
                verdict = Health::new(HealthCode::Healthy, message);
            }
            _ => {}
        }
    }
    verdict
}

pub(super) fn workflow(object: &Object) -> Health {
    let message = object.text(&["status", "message"]).unwrap_or_default();
    let code = match object.text(&["status", "phase"]).unwrap_or_default() {
        "" | "Pending" | "Running" => HealthCode::Progressing,
        "Succeeded" => HealthCode::Healthy,
        "Failed" | "Error" => HealthCode::Degraded,
        _ => HealthCode::Unknown,
    };
    Health::new(code, message)
}
