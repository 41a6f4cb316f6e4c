//! Gateways, routes and the policies attached to them.

use object::Object;
use serde_json::Value;

use super::super::rules::is_outdated;
use super::{
    condition, conditions, degraded, has_conditions, healthy, is_false, is_true, list, progressing,
    text, text_or,
};
use crate::{Health, Status};

/// The kinds of gateway.networking.k8s.io.
pub(super) fn gateway_api(object: &Object) -> Option<Health> {
    match object.kind() {
        "GatewayClass" => gateway_class(object),
        "Gateway" => gateway(object),
        "BackendTLSPolicy" => tls_policy(object),
        _ => route_of_gateway(object),
    }
}

fn gateway_class(object: &Object) -> Option<Health> {
    let accepted = conditions(object)
        .iter()
        .find(|it| text(it, "type") == "Accepted" && !is_outdated(it, object));
    let Some(accepted) = accepted else {
        return progressing("Waiting for GatewayClass status");
    };
    let message = |missing| text_or(accepted, "message", missing);
    if is_true(accepted) {
        healthy(message("GatewayClass is accepted"))
    } else if is_false(accepted) {
        degraded(message("GatewayClass is not accepted"))
    } else {
        progressing(message("Waiting for GatewayClass status"))
    }
}

fn gateway(object: &Object) -> Option<Health> {
    let listeners = object.list(&["status", "listeners"]);
    if !has_conditions(object) && listeners.is_empty() {
        return progressing("Waiting for Gateway status");
    }
    first_failure(conditions(object), "", "Gateway")
        .or_else(|| {
            listeners
                .iter()
                .find_map(|it| first_failure(list(it, "conditions"), "Listener: ", "Listener"))
        })
        .or_else(|| healthy("Gateway is healthy"))
}

/// Refused or unresolved is an error; not programmed is a matter of time.
fn first_failure(conditions: &[Value], prefix: &str, what: &str) -> Option<Health> {
    for kind in ["ResolvedRefs", "Accepted"] {
        let failed = conditions.iter().find(|it| text(it, "type") == kind && is_false(it));
        if let Some(failed) = failed {
            let missing = format!("Failed condition: {kind}");
            return degraded(format!("{prefix}{}", text_or(failed, "message", &missing)));
        }
    }
    let waiting = conditions.iter().find(|it| text(it, "type") == "Programmed" && !is_true(it))?;
    let missing = format!("{what} is still being programmed");
    progressing(format!("{prefix}{}", text_or(waiting, "message", &missing)))
}

/// A route is healthy when every gateway that has looked at it is content. What
/// a gateway said about an HTTP route of another generation does not count.
fn route_of_gateway(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let counts = |conditions: &[Value]| {
        !conditions.is_empty()
            && (kind != "HTTPRoute" || !conditions.iter().any(|it| is_outdated(it, object)))
    };
    let mut seen = false;
    for parent in object.list(&["status", "parents"]) {
        let conditions = list(parent, "conditions");
        if !counts(conditions) {
            continue;
        }
        seen = true;
        let name = parent.get("parentRef").map(|it| text(it, "name")).unwrap_or_default();
        let failure = first_failure(conditions, &format!("Parent {name}: "), "Route");
        if failure.is_some() {
            return failure;
        }
    }
    if seen {
        healthy(format!("{kind} is healthy"))
    } else {
        progressing(format!("Waiting for {kind} status"))
    }
}

/// The name of a gateway that a policy is attached to.
fn ancestor_name(ancestor: &Value) -> &str {
    ancestor.get("ancestorRef").map(|it| text(it, "name")).unwrap_or_default()
}

/// What a gateway refuses of a policy that is attached to it.
fn refused(ancestor: &Value) -> Option<Health> {
    let refused = list(ancestor, "conditions")
        .iter()
        .find(|it| matches!(text(it, "type"), "Accepted" | "ResolvedRefs") && !is_true(it))?;
    degraded(format!("Ancestor {}: {}", ancestor_name(ancestor), text(refused, "message")))
}

fn tls_policy(object: &Object) -> Option<Health> {
    let ancestors = object.list(&["status", "ancestors"]);
    let outdated =
        ancestors.iter().find(|it| list(it, "conditions").iter().any(|it| is_outdated(it, object)));
    if let Some(ancestor) = outdated {
        let name = ancestor_name(ancestor);
        return progressing(format!(
            "Waiting for Ancestor {name} to update BackendTLSPolicy status"
        ));
    }
    let accepted = |ancestor: &Value| condition(list(ancestor, "conditions"), "Accepted").is_some();
    ancestors.iter().find_map(refused).or_else(|| {
        if ancestors.iter().any(accepted) {
            healthy("BackendTLSPolicy is healthy")
        } else {
            progressing("Waiting for BackendTLSPolicy status")
        }
    })
}

/// Of the kinds of Airlock's gateway only policies have a status.
pub(super) fn airlock(object: &Object) -> Option<Health> {
    let kind = object.kind();
    if !kind.ends_with("Policy") {
        return healthy(format!("{kind} is healthy"));
    }
    let ancestors = object.list(&["status", "ancestors"]);
    let generation = object.integer(&["metadata", "generation"]);
    let observed = |it: &Value| it.get("observedGeneration").and_then(Value::as_i64);
    let outdated = ancestors.iter().find(|ancestor| {
        generation.is_some()
            && list(ancestor, "conditions").iter().any(|it| observed(it) != generation)
    });
    if let Some(ancestor) = outdated {
        let name = ancestor_name(ancestor);
        return progressing(format!("Waiting for Ancestor {name} to update {kind} status"));
    }
    let mut verdict = progressing(format!("Waiting for {kind} status"));
    for ancestor in ancestors {
        if let Some(refused) = refused(ancestor) {
            return Some(refused);
        }
        verdict = if condition(list(ancestor, "conditions"), "Accepted").is_some() {
            healthy(format!("{kind} is healthy"))
        } else {
            degraded(format!("Ancestor {}: {kind} is not accepted", ancestor_name(ancestor)))
        };
    }
    verdict
}

/// Gloo writes one status, or one per namespace that its controllers run in. Of
/// several the worst counts: which comes first is a matter of chance.
pub(super) fn gloo(object: &Object) -> Option<Health> {
    let status = object.at(&["status"]);
    let per_namespace = status.and_then(|it| it.get("statuses")).and_then(Value::as_object);
    let worst = per_namespace
        .into_iter()
        .flat_map(|reports| reports.values())
        .filter_map(gloo_report)
        .max_by_key(|verdict| verdict.status);
    worst.or_else(|| status.and_then(gloo_report)).or_else(|| progressing("Update in progress"))
}

fn gloo_report(report: &Value) -> Option<Health> {
    let state = match report.get("state")? {
        Value::String(state) => state.clone(),
        number => number.to_string(),
    };
    match state.as_str() {
        "Pending" | "0" => {
            Some(Health::new(Status::Suspended, "The resource has not yet been validated"))
        }
        "Accepted" | "1" => healthy("The resource has been validated"),
        "Rejected" | "2" | "Warning" | "3" => degraded(text(report, "reason")),
        _ => None,
    }
}

/// Was this condition written for exactly this generation of the object?
fn is_of_this_generation(condition: &Value, object: &Object) -> bool {
    condition.get("observedGeneration").and_then(Value::as_i64)
        == object.integer(&["metadata", "generation"])
}

/// Where proxies include each other, one that is missing makes the others
/// invalid, and nothing tells whose fault it is.
pub(super) fn contour_proxy(object: &Object) -> Option<Health> {
    let description = object.text(&["status", "description"]).unwrap_or_default();
    if !has_conditions(object) {
        let waits = object.at(&["status", "currentStatus"]).is_some_and(|it| !it.is_null());
        return progressing(if waits { description } else { "Waiting for status" });
    }
    let includes = object.at(&["spec", "includes"]).is_some_and(|it| !it.is_null());
    let mut verdict = progressing("Waiting for status");
    for condition in conditions(object).iter().filter(|it| is_of_this_generation(it, object)) {
        let validity = text(condition, "type") == "Valid";
        if validity && is_true(condition) {
            return healthy(description);
        }
        if includes && is_false(condition) {
            verdict = healthy("HTTPProxy inclusions cannot be health checked");
        } else if validity && is_false(condition) {
            return degraded(description);
        }
    }
    verdict
}

pub(super) fn contour_extension(object: &Object) -> Option<Health> {
    let valid = condition(conditions(object), "Valid");
    match valid.filter(|it| is_of_this_generation(it, object)) {
        Some(valid) if is_true(valid) => healthy(text(valid, "message")),
        Some(valid) if is_false(valid) => degraded(text(valid, "message")),
        _ => progressing("Waiting for status"),
    }
}

/// Every router must admit an OpenShift route.
pub(super) fn route(object: &Object) -> Option<Health> {
    let Some(routers) = object.at(&["status", "ingress"]).and_then(Value::as_array) else {
        return progressing("Route is still getting admitted");
    };
    let admitted = |is: fn(&Value) -> bool| {
        let conditions = routers.iter().flat_map(|router| list(router, "conditions"));
        conditions.filter(|it| text(it, "type") == "Admitted" && is(it)).count()
    };
    if admitted(is_true) == routers.len() {
        healthy("Route is healthy")
    } else if admitted(is_false) > 0 {
        degraded("Route is degraded")
    } else {
        progressing("Route is still getting admitted")
    }
}

/// Google provisions one certificate per domain.
pub(super) fn managed_certificate(object: &Object) -> Option<Health> {
    let domains = object.list(&["status", "domainStatus"]);
    if domains.iter().any(|domain| text(domain, "status") == "FailedNotVisible") {
        return degraded("At least one certificate has failed to be provisioned");
    }
    match object.text(&["status", "certificateStatus"]) {
        Some("Active") => healthy("All certificates are active"),
        _ => progressing("At least one certificate is still being provisioned"),
    }
}
