//! Clusters of CloudNativePG.

use std::collections::BTreeMap;

use object::Object;
use serde_json::{Value, json};

use super::{ActionError, RESTARTED_AT, no_such_action, offer, set, suspend_or_resume, unset};
use crate::ActionOffer;
use crate::sandbox::rfc3339;

const RECONCILIATION: &str = "cnpg.io/reconciliationLoop";

pub(super) fn offers(cluster: &Object) -> Vec<ActionOffer> {
    let stopped = cluster.annotation(RECONCILIATION) == Some("disabled");
    let word = if stopped { "Resume Reconciliation" } else { "Suspend Reconciliation" };
    let healthy = cluster.list(&["status", "instancesStatus", "healthy"]).len();
    vec![
        offer("restart").titled("Rollout restart Cluster").with_icon("fa fa-fw fa-recycle"),
        offer("reload").titled("Reload all Configuration").with_icon("fa fa-fw fa-rotate-right"),
        offer("promote")
            .titled("Promote Replica to Primary")
            .with_icon("fa fa-fw fa-angles-up")
            .unless(healthy >= 2)
            .asking("instance", "any"),
        suspend_or_resume(stopped).titled(word),
    ]
}

pub(super) fn run(
    cluster: &mut Object,
    action: &str,
    parameters: &BTreeMap<String, String>,
    now: i64,
) -> Result<(), ActionError> {
    match action {
        "restart" => cluster.set_annotation(RESTARTED_AT, &rfc3339(now)),
        "reload" => cluster.set_annotation("cnpg.io/reloadedAt", &rfc3339(now)),
        "suspend" => cluster.set_annotation(RECONCILIATION, "disabled"),
        "resume" => unset(cluster, &["metadata", "annotations", RECONCILIATION]),
        "promote" => {
            let wanted = parameters.get("instance").map_or("any", String::as_str);
            let instance = replica_to_promote(cluster, wanted)
                .ok_or_else(|| ActionError::NoSuchInstance(wanted.to_owned()))?;
            let reason = format!("Switching over to {instance}");
            set(cluster, &["status", "targetPrimary"], json!(instance));
            set(cluster, &["status", "targetPrimaryTimestamp"], json!(rfc3339(now)));
            set(cluster, &["status", "phase"], json!("Switchover in progress"));
            set(cluster, &["status", "phaseReason"], json!(reason));
        }
        _ => return Err(no_such_action(cluster, action)),
    }
    Ok(())
}

/// A healthy instance: the one after the primary, or one by its name or number.
fn replica_to_promote(cluster: &Object, wanted: &str) -> Option<String> {
    let healthy = cluster.list(&["status", "instancesStatus", "healthy"]);
    let healthy: Vec<&str> = healthy.iter().filter_map(Value::as_str).collect();
    if wanted == "any" {
        let primary = cluster.text(&["status", "currentPrimary"]);
        let at = healthy.iter().position(|name| Some(*name) == primary);
        let after = at.map_or(0, |at| at + 1);
        return healthy.get(after).or(healthy.first()).map(|name| (*name).to_owned());
    }
    let name = match super::as_number(wanted) {
        Some(_) => format!("{}-{wanted}", cluster.name()),
        None => wanted.to_owned(),
    };
    healthy.contains(&name.as_str()).then_some(name)
}
