//! What is plainly the matter with an object, told from its status alone.
//!
//! Only what leaves no doubt: an object of a kind that is not listed here is well.

use serde_json::Value;

use super::text;

/// The annotation of what does not count for the health of its Application.
const NOT_COUNTED: &str = "/metadata/annotations/argocd.argoproj.io~1ignore-healthcheck";

/// Why an object is not well; none if it is, or if that is not for us to say.
pub(super) fn ailment(object: &Value) -> Option<String> {
    if text(object, NOT_COUNTED) == "true" {
        return None;
    }
    match text(object, "/kind") {
        "Deployment" => replicas(object, "/status/availableReplicas")
            .or_else(|| condition(object, "Progressing", "False")),
        "StatefulSet" => replicas(object, "/status/readyReplicas"),
        "Job" => condition(object, "Failed", "True"),
        "Pod" => pod(object),
        "PersistentVolumeClaim" => phase(object, &["Lost"]),
        _ => None,
    }
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

/// Too few replicas, or nobody has looked at what is wanted by now.
fn replicas(object: &Value, there: &str) -> Option<String> {
    if object.pointer("/spec/paused").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let wanted = number(object, "/spec/replicas").unwrap_or(1);
    let there = number(object, there).unwrap_or(0);
    if there < wanted {
        return Some(format!("{there} of {wanted} replicas are there"));
    }
    let generation = number(object, "/metadata/generation").unwrap_or(0);
    let observed = number(object, "/status/observedGeneration").unwrap_or(0);
    (observed < generation).then(|| format!("its controller saw {observed} of {generation}"))
}

fn condition(object: &Value, type_: &str, status: &str) -> Option<String> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let found =
        conditions.find(|it| text(it, "/type") == type_ && text(it, "/status") == status)?;
    Some(format!("{type_} is {status}: {}", text(found, "/reason")))
}

fn phase(object: &Value, bad: &[&str]) -> Option<String> {
    let phase = text(object, "/status/phase");
    bad.contains(&phase).then(|| format!("its phase is {phase}"))
}

fn pod(object: &Value) -> Option<String> {
    let containers = object.pointer("/status/containerStatuses").and_then(Value::as_array);
    let mut waiting = containers.into_iter().flatten().map(|it| text(it, "/state/waiting/reason"));
    let stuck = waiting.find(|it| it.ends_with("BackOff") || it.starts_with("Err"));
    phase(object, &["Failed"]).or_else(|| stuck.map(|it| format!("a container waits: {it}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, spec: Value, status: Value, expect: Option<&str>) {
        let metadata = json!({"name": "it", "generation": 2});
        let object = json!({"kind": kind, "metadata": metadata, "spec": spec, "status": status});
        assert_eq!(ailment(&object).as_deref(), expect);
    }

    #[test]
    fn a_deployment_is_well_with_its_replicas_of_this_generation() {
        let spec = || json!({"replicas": 2});
        let status = |there: i64, seen: i64| {
            let progressing = json!({"type": "Progressing", "status": "True"});
            json!({"availableReplicas": there, "observedGeneration": seen, "conditions": [progressing]})
        };
        check("Deployment", spec(), status(2, 2), None);
        check("Deployment", spec(), status(1, 2), Some("1 of 2 replicas are there"));
        check("Deployment", spec(), status(2, 1), Some("its controller saw 1 of 2"));
        check("Deployment", json!({"replicas": 2, "paused": true}), status(1, 2), None);
        check("Deployment", json!({}), json!({}), Some("0 of 1 replicas are there"));
    }

    #[test]
    fn a_deployment_that_does_not_get_on_is_not_well() {
        let stuck = json!({"type": "Progressing", "status": "False", "reason": "TooLate"});
        let status =
            json!({"availableReplicas": 1, "observedGeneration": 2, "conditions": [stuck]});
        check("Deployment", json!({}), status, Some("Progressing is False: TooLate"));
    }

    #[test]
    fn what_failed_is_not_well() {
        let failed = json!({"type": "Failed", "status": "True", "reason": "DeadlineExceeded"});
        let complete = json!({"type": "Complete", "status": "True"});
        let expect = Some("Failed is True: DeadlineExceeded");
        check("Job", json!({}), json!({"conditions": [failed]}), expect);
        check("Job", json!({}), json!({"conditions": [complete]}), None);
        check("Pod", json!({}), json!({"phase": "Failed"}), Some("its phase is Failed"));
        check("Pod", json!({}), json!({"phase": "Running"}), None);
        let waiting = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        let status = json!({"phase": "Running", "containerStatuses": [waiting]});
        check("Pod", json!({}), status, Some("a container waits: CrashLoopBackOff"));
        let claim = "PersistentVolumeClaim";
        check(claim, json!({}), json!({"phase": "Lost"}), Some("its phase is Lost"));
        check(claim, json!({}), json!({"phase": "Bound"}), None);
    }

    #[test]
    fn what_does_not_count_or_is_not_known_is_well() {
        check("Widget", json!({}), json!({"phase": "Failed"}), None);
        let annotations = json!({"argocd.argoproj.io/ignore-healthcheck": "true"});
        let pod = json!({
            "kind": "Pod", "metadata": {"annotations": annotations}, "status": {"phase": "Failed"},
        });
        assert_eq!(ailment(&pod), None);
    }
}
