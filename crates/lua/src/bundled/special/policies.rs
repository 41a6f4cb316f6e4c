//! Governance policies of Open Cluster Management.

use object::Object;
use serde_json::Value;

use super::{degraded, healthy, list, progressing, text};
use crate::Health;

/// A policy is a root, with a status per cluster, or a copy, with one per template.
pub(super) fn governance_policy(object: &Object) -> Option<Health> {
    if object.at(&["spec", "disabled"]) == Some(&Value::Bool(true)) {
        return healthy("Policy is disabled");
    }
    let compliant = object.text(&["status", "compliant"]);
    let placed = !object.list(&["status", "placement"]).is_empty();
    let (subjects, entries, name): (&str, _, fn(&Value) -> &str) = if placed {
        ("clusters", object.list(&["status", "status"]), |entry| text(entry, "clustername"))
    } else {
        ("templates", object.list(&["status", "details"]), |entry| {
            entry.get("templateMeta").map(|meta| text(meta, "name")).unwrap_or_default()
        })
    };
    match compliant {
        None if placed => healthy("No clusters match this policy"),
        None => progressing("Waiting for the status to be reported"),
        Some("Compliant") => healthy(format!("All {subjects} are compliant")),
        Some(_) => {
            let failing: Vec<&str> = entries
                .iter()
                .filter(|entry| text(entry, "compliant") != "Compliant")
                .map(name)
                .collect();
            degraded(format!("NonCompliant {subjects}: {}", failing.join(", ")))
        }
    }
}

pub(super) fn configuration_policy(object: &Object) -> Option<Health> {
    let Some(compliant) = object.text(&["status", "compliant"]) else {
        return progressing("Waiting for the status to be reported");
    };
    let evaluated = object.integer(&["status", "lastEvaluatedGeneration"]);
    let generation = object.integer(&["metadata", "generation"]);
    if evaluated.is_some() && evaluated != generation {
        return progressing("Waiting for the status to be updated");
    }
    let details: Vec<String> = object
        .list(&["status", "compliancyDetails"])
        .iter()
        .flat_map(|detail| list(detail, "conditions"))
        .map(|it| format!("{} - {}", text(it, "type"), text(it, "message")))
        .collect();
    let message = details.join("; ");
    if compliant == "Compliant" { healthy(message) } else { degraded(message) }
}
