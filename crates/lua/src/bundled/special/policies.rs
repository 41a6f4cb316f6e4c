//! Governance policies of Open Cluster Management.

use object::Object;
use serde_json::Value;

use super::{has_status, healthy, is_yes, list, progressing, text};
use crate::{Health, Status};

/// A policy is a root, with a status per cluster, or a copy, with one per template.
pub(super) fn governance_policy(object: &Object) -> Option<Health> {
    if is_yes(object.at(&["spec", "disabled"])) {
        return healthy("Policy is disabled");
    }
    let reports = |field: &str| object.at(&["status", field]).and_then(Value::as_array);
    let placed = !object.list(&["status", "placement"]).is_empty();
    let Some(compliant) = object.text(&["status", "compliant"]) else {
        return if placed && reports("status").is_none() && has_status(object) {
            healthy("No clusters match this policy")
        } else {
            progressing("Waiting for the status to be reported")
        };
    };
    let message = if let Some(clusters) = reports("status") {
        compliance("clusters", clusters, |it| it.get("clustername")?.as_str())
    } else if let Some(templates) = reports("details") {
        compliance("templates", templates, |it| it.get("templateMeta")?.get("name")?.as_str())
    } else {
        String::new()
    };
    Some(Health::new(status_of(compliant), message))
}

fn status_of(compliant: &str) -> Status {
    if compliant == "Compliant" { Status::Healthy } else { Status::Degraded }
}

fn compliance(subjects: &str, entries: &[Value], name: fn(&Value) -> Option<&str>) -> String {
    let failing = entries.iter().filter(|entry| text(entry, "compliant") != "Compliant");
    let failing: Vec<&str> = failing.filter_map(name).collect();
    if failing.is_empty() {
        format!("All {subjects} are compliant")
    } else {
        format!("NonCompliant {subjects}: {}", failing.join(", "))
    }
}

pub(super) fn configuration_policy(object: &Object) -> Option<Health> {
    let Some(compliant) = object.text(&["status", "compliant"]) else {
        return progressing("Waiting for the status to be reported");
    };
    let evaluated = object.integer(&["status", "lastEvaluatedGeneration"]);
    if evaluated != object.integer(&["metadata", "generation"]) {
        return progressing("Waiting for the status to be updated");
    }
    let Some(details) = object.at(&["status", "compliancyDetails"]).and_then(Value::as_array)
    else {
        return progressing("Waiting for compliance");
    };
    let told = |it: &Value| {
        let field = |name: &str| it.get(name)?.as_str();
        Some(format!("{} - {}", field("type")?, field("message")?))
    };
    let conditions = details.iter().flat_map(|detail| list(detail, "conditions"));
    let message: Vec<String> = conditions.filter_map(told).collect();
    Some(Health::new(status_of(compliant), message.join("; ")))
}
