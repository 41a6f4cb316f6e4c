//! Collectors and dashboards.

use object::Object;
use serde_json::Value;

use super::{conditions, degraded, has_status, healthy, progressing};
use crate::{Health, Status};

/// The operator tells how many replicas are ready as `1/2`.
pub(super) fn otel_collector(object: &Object) -> Option<Health> {
    if !has_status(object) {
        return progressing("Waiting for OpenTelemetry Collector status");
    }
    let mode = object.text(&["spec", "mode"]);
    let Some(replicas) = object.text(&["status", "scale", "statusReplicas"]) else {
        return match mode {
            Some("sidecar") => healthy("Collector is running in sidecar mode"),
            _ => progressing("Scale status not available"),
        };
    };
    match counts(replicas) {
        None => progressing(format!("Unable to parse replica status: {replicas}")),
        Some((0, 0)) if mode == Some("daemonset") => {
            healthy("DaemonSet has no eligible nodes (0/0)")
        }
        Some((0, _)) => degraded("No replicas are ready"),
        Some((ready, total)) if ready == total => healthy("All replicas are ready"),
        Some(_) => progressing("Replicas are starting up"),
    }
}

/// The first two numbers of a text that have a slash between them.
fn counts(text: &str) -> Option<(u64, u64)> {
    let digits_end =
        |text: &str| text.rfind(|it: char| !it.is_ascii_digit()).map_or(0, |at| at + 1);
    text.match_indices('/').find_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
        let ready = before.get(digits_end(before)..)?;
        let total = after.find(|it: char| !it.is_ascii_digit()).map_or(after, |end| &after[..end]);
        Some((ready.parse().ok()?, total.parse().ok()?))
    })
}

/// A dashboard or a folder: the first condition that is false decides, and all
/// that were read up to there are told.
pub(super) fn grafana_content(object: &Object) -> Option<Health> {
    let mut status = Status::Progressing;
    let mut told = String::new();
    for condition in conditions(object) {
        let field = |name: &str| condition.get(name).and_then(Value::as_str);
        let Some(state) = field("status") else { continue };
        if !told.is_empty() {
            told.push_str(", ");
        }
        if let Some(reason) = field("reason") {
            told.push_str(reason);
            if let Some(kind) = field("type") {
                told.push_str(&format!(" for {kind}"));
                if let Some(message) = field("message") {
                    told.push_str(&format!(" because {message}"));
                }
            }
        }
        match state {
            "True" => status = Status::Healthy,
            "False" => {
                status = Status::Degraded;
                break;
            }
            _ => {}
        }
    }
    Some(Health::new(status, told))
}
