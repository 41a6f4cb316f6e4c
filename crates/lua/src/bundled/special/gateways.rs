//! Gateways, routes and the policies attached to them.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, healthy, is_current, is_false, is_true, list, progressing,
    suspended, text,
};
use crate::{Health, Status};

/// The kinds of gateway.networking.k8s.io.
pub(super) fn gateway_api(object: &Object) -> Option<Health> {
    match object.kind() {
        "GatewayClass" => gateway_class(object),
        "Gateway" => gateway(object),
        "BackendTLSPolicy" => gateway_policy(object),
        _ => route_of_gateway(object),
    }
}

fn gateway_class(object: &Object) -> Option<Health> {
    match condition(conditions(object), "Accepted") {
        Some(accepted) if is_current(accepted, object) => {
            let message = text(accepted, "message");
            match () {
                () if is_true(accepted) => healthy(message),
                () if is_false(accepted) => degraded(message),
                () => progressing(message),
            }
        }
        _ => progressing("Waiting for GatewayClass status"),
    }
}

fn gateway(object: &Object) -> Option<Health> {
    if conditions(object).is_empty() {
        return progressing("Waiting for Gateway status");
    }
    if let Some(found) = first_failure(conditions(object), "", object) {
        return Some(found);
    }
    let listeners = object.list(&["status", "listeners"]);
    let failure =
        listeners.iter().find_map(|it| first_failure(list(it, "conditions"), "Listener: ", object));
    failure.or_else(|| healthy("Gateway is healthy"))
}

/// Refused or unresolved is an error; not programmed is a matter of time.
fn first_failure(conditions: &[Value], prefix: &str, object: &Object) -> Option<Health> {
    let failed = |kind: &str| {
        condition(conditions, kind).filter(|it| is_false(it) && is_current(it, object))
    };
    let explain = |failed: &Value| {
        let message = text(failed, "message");
        if message.is_empty() {
            format!("{prefix}Failed condition: {}", text(failed, "type"))
        } else {
            format!("{prefix}{message}")
        }
    };
    for kind in ["Accepted", "ResolvedRefs"] {
        if let Some(failed) = failed(kind) {
            return degraded(explain(failed));
        }
    }
    progressing(explain(failed("Programmed")?))
}

/// A route is healthy when every gateway that has looked at its present form is content.
fn route_of_gateway(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let parents = object.list(&["status", "parents"]);
    if parents.is_empty() {
        return progressing(format!("Waiting for {kind} status"));
    }
    let failure = parents.iter().find_map(|parent| {
        let name = parent.get("parentRef").map(|it| text(it, "name")).unwrap_or_default();
        first_failure(list(parent, "conditions"), &format!("Parent {name}: "), object)
    });
    failure.or_else(|| healthy(format!("{kind} is healthy")))
}

/// A policy that is attached to gateways: each of them says what it thinks.
pub(super) fn gateway_policy(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let ancestors = object.list(&["status", "ancestors"]);
    let silent = ancestors
        .iter()
        .all(|it| it.get("conditions").is_some_and(|it| *it == Value::Array(Vec::new())));
    if silent {
        return progressing(format!("Waiting for {kind} status"));
    }
    let name = |ancestor: &Value| {
        ancestor.get("ancestorRef").map(|it| text(it, "name").to_owned()).unwrap_or_default()
    };
    for ancestor in ancestors {
        let conditions = list(ancestor, "conditions");
        let prefix = format!("Ancestor {}: ", name(ancestor));
        if let Some(failure) = first_failure(conditions, &prefix, object) {
            return Some(failure);
        }
        if !conditions.is_empty() && condition(conditions, "Accepted").is_none() {
            return degraded(format!("{prefix}{kind} is not accepted"));
        }
    }
    let outdated = ancestors.iter().find(|ancestor| {
        list(ancestor, "conditions").iter().any(|condition| !is_current(condition, object))
    });
    match outdated {
        Some(ancestor) => {
            progressing(format!("Waiting for Ancestor {} to update {kind} status", name(ancestor)))
        }
        None => healthy(format!("{kind} is healthy")),
    }
}

/// Gloo writes one status, or one per namespace that its controllers run in.
pub(super) fn gloo(object: &Object) -> Option<Health> {
    let Some(status) = object.at(&["status"]).filter(|status| status.is_object()) else {
        return progressing("Update in progress");
    };
    let per_namespace = status.get("statuses").and_then(Value::as_object);
    let reports: Vec<&Value> = match per_namespace {
        Some(reports) => reports.values().collect(),
        None => vec![status],
    };
    let verdicts = reports.into_iter().filter_map(|report| {
        let state = match report.get("state")? {
            Value::String(state) => state.clone(),
            number => number.to_string(),
        };
        Some(match state.as_str() {
            "Pending" | "0" => {
                Health::new(Status::Suspended, "The resource has not yet been validated")
            }
            "Accepted" | "1" => Health::new(Status::Healthy, "The resource has been validated"),
            _ => Health::new(Status::Degraded, text(report, "reason")),
        })
    });
    verdicts.max_by_key(|verdict| verdict.status).or_else(|| progressing("Update in progress"))
}

/// Where proxies include each other, one that is missing makes the others
/// invalid, and nothing tells whose fault it is.
pub(super) fn contour_proxy(object: &Object) -> Option<Health> {
    let includes = !object.list(&["spec", "includes"]).is_empty();
    let is_included = object.at(&["spec", "virtualhost"]).is_none();
    if object.text(&["status", "currentStatus"]) == Some("NotReconciled") {
        return progressing(object.text(&["status", "description"]).unwrap_or_default());
    }
    match condition(conditions(object), "Valid") {
        Some(valid) if !is_current(valid, object) => progressing("Waiting for status"),
        Some(valid) if is_true(valid) => healthy(text(valid, "message")),
        Some(_) if includes || is_included => {
            healthy("HTTPProxy inclusions cannot be health checked")
        }
        Some(valid) => degraded(text(valid, "message")),
        None => progressing("Waiting for status"),
    }
}

/// Every router must admit an OpenShift route.
pub(super) fn route(object: &Object) -> Option<Health> {
    let routers = object.list(&["status", "ingress"]);
    let admitted: Vec<&Value> = routers
        .iter()
        .filter_map(|router| condition(list(router, "conditions"), "Admitted"))
        .collect();
    if admitted.iter().any(|condition| is_false(condition)) {
        return degraded("Route is degraded");
    }
    if !admitted.is_empty() && admitted.iter().all(|condition| is_true(condition)) {
        return healthy("Route is healthy");
    }
    progressing("Route is still getting admitted")
}

/// Google provisions one certificate per domain.
pub(super) fn managed_certificate(object: &Object) -> Option<Health> {
    let domains = object.list(&["status", "domainStatus"]);
    if domains.is_empty() {
        return progressing("Waiting for certificates to be provisioned");
    }
    if domains.iter().any(|domain| text(domain, "status").starts_with("Failed")) {
        return degraded("At least one certificate has failed to be provisioned");
    }
    if domains.iter().all(|domain| text(domain, "status") == "Active") {
        return healthy("All certificates are active");
    }
    if object.at(&["spec", "suspend"]) == Some(&Value::Bool(true)) {
        return suspended("Provisioning is suspended");
    }
    progressing("At least one certificate is still being provisioned")
}
