//! What the tree says of a pod: the reason `kubectl get pods` would show, its
//! node, how many of its containers are ready, what it asks for.

use std::collections::BTreeSet;

use api::InfoItem;
use gocompat::quantity::Quantity;
use object::Object;
use serde_json::Value;

use super::{item, text};

/// The images of all containers, each once.
pub(super) fn images(pod: &Object) -> Vec<String> {
    let containers = init_containers(pod).iter().chain(containers(pod));
    let images: BTreeSet<&str> =
        containers.map(|it| text(it, "image")).filter(|it| !it.is_empty()).collect();
    images.into_iter().map(str::to_owned).collect()
}

pub(super) fn info(pod: &Object) -> Vec<InfoItem> {
    let seen = observe(pod);
    let mut info = Vec::new();
    if !seen.reason.is_empty() {
        info.push(item("Status Reason", seen.reason));
    }
    info.push(item("Node", node_name(pod)));
    info.push(item("Containers", format!("{}/{}", seen.ready, seen.total)));
    if seen.restarts > 0 {
        info.push(item("Restart Count", seen.restarts.to_string()));
    }
    if !is_over(pod) {
        info.push(item("cpu", requested(pod, "cpu").to_string()));
        info.push(item("memory", requested(pod, "memory").to_string()));
    }
    info
}

pub(super) fn node_name(pod: &Object) -> &str {
    pod.text(&["spec", "nodeName"]).unwrap_or_default()
}

/// Has the pod ended, well or not?
pub(super) fn is_over(pod: &Object) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// What the scheduler reserves for the pod, in thousandths: containers run side
/// by side, init containers one after the other before them, except those that
/// keep running.
pub(super) fn requested(pod: &Object, resource: &str) -> i64 {
    let of = |container: &Value| milli(&container["resources"]["requests"][resource]);
    let mut running: i64 = containers(pod).iter().map(of).sum();
    let mut peak = 0;
    let mut kept = 0;
    for container in init_containers(pod) {
        let asked = of(container);
        if keeps_running(container) {
            running += asked;
            kept += asked;
            peak = peak.max(kept);
        } else {
            peak = peak.max(kept + asked);
        }
    }
    let of_pod = pod.at(&["spec", "resources", "requests", resource]);
    let overhead = pod.at(&["spec", "overhead", resource]).map_or(0, milli);
    of_pod.map_or_else(|| running.max(peak), milli) + overhead
}

/// A quantity in thousandths; zero when it is none.
pub(super) fn milli(value: &Value) -> i64 {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return 0,
    };
    Quantity::parse(&text).map_or(0, |it| it.to_milli())
}

fn containers(pod: &Object) -> &[Value] {
    pod.list(&["spec", "containers"])
}

fn init_containers(pod: &Object) -> &[Value] {
    pod.list(&["spec", "initContainers"])
}

fn keeps_running(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn phase(pod: &Object) -> &str {
    pod.text(&["status", "phase"]).unwrap_or_default()
}

struct Observed {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
}

/// The column READY and STATUS of `kubectl get pods`.
fn observe(pod: &Object) -> Observed {
    let sidecars = init_containers(pod).iter().filter(|it| keeps_running(it)).count();
    let mut seen = Observed {
        reason: general_reason(pod),
        ready: 0,
        total: containers(pod).len() + sidecars,
        restarts: 0,
    };
    let is_initializing = observe_init_containers(pod, &mut seen);
    if !is_initializing || has_condition(pod, "Initialized") {
        observe_containers(pod, &mut seen);
    }
    if pod.at(&["metadata", "deletionTimestamp"]).is_some() {
        if pod.text(&["status", "reason"]) == Some("NodeLost") {
            seen.reason = "Unknown".into();
        } else if !is_over(pod) {
            seen.reason = "Terminating".into();
        }
    }
    seen
}

fn general_reason(pod: &Object) -> String {
    let gated = pod
        .list(&["status", "conditions"])
        .iter()
        .any(|it| it["type"] == "PodScheduled" && it["reason"] == "SchedulingGated");
    if gated {
        return "SchedulingGated".into();
    }
    let reason = pod.text(&["status", "reason"]).filter(|it| !it.is_empty());
    reason.unwrap_or_else(|| phase(pod)).to_owned()
}

fn has_condition(pod: &Object, name: &str) -> bool {
    let conditions = pod.list(&["status", "conditions"]).iter();
    conditions.filter(|it| it["type"] == name).any(|it| it["status"] == "True")
}

/// Looks at init containers up to the first that is not done; is there one?
fn observe_init_containers(pod: &Object, seen: &mut Observed) -> bool {
    let all = init_containers(pod);
    for (index, status) in pod.list(&["status", "initContainerStatuses"]).iter().enumerate() {
        seen.restarts += status["restartCount"].as_i64().unwrap_or(0);
        let state = &status["state"];
        let ended = state.get("terminated");
        if ended.is_some_and(|it| exit_code(it) == 0) {
            continue;
        }
        let spec = all.iter().find(|it| it["name"] == status["name"]);
        if spec.is_some_and(keeps_running) && status["started"] == true {
            seen.ready += usize::from(status["ready"] == true);
            continue;
        }
        let waiting = state.get("waiting").map_or("", |it| text(it, "reason"));
        seen.reason = if let Some(ended) = ended {
            format!("Init:{}", end_reason(ended))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", all.len())
        };
        return true;
    }
    false
}

fn observe_containers(pod: &Object, seen: &mut Observed) {
    let mut is_running = false;
    for status in pod.list(&["status", "containerStatuses"]).iter().rev() {
        seen.restarts += status["restartCount"].as_i64().unwrap_or(0);
        let state = &status["state"];
        let waiting = state.get("waiting").map_or("", |it| text(it, "reason"));
        if !waiting.is_empty() {
            waiting.clone_into(&mut seen.reason);
        } else if let Some(ended) = state.get("terminated") {
            seen.reason = end_reason(ended);
        } else if status["ready"] == true && state.get("running").is_some() {
            is_running = true;
            seen.ready += 1;
        }
    }
    if seen.reason == "Completed" && is_running {
        seen.reason = "Running".into();
    }
}

fn exit_code(ended: &Value) -> i64 {
    ended["exitCode"].as_i64().unwrap_or(0)
}

fn end_reason(ended: &Value) -> String {
    let signal = ended["signal"].as_i64().unwrap_or(0);
    match text(ended, "reason") {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", exit_code(ended)),
        reason => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(spec: &Value, status: &Value) -> Object {
        Object::from_value(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p"}, "spec": spec, "status": status}))
        .expect("a pod")
    }

    #[track_caller]
    fn check(spec: Value, status: Value, expect: &[(&str, &str)]) {
        let told = info(&pod(&spec, &status));
        let told: Vec<_> = told.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn a_running_pod_tells_node_readiness_and_requests() {
        check(
            json!({"nodeName": "one", "containers": [
                {"name": "a", "resources": {"requests": {"cpu": "250m", "memory": "1Ki"}}},
                {"name": "b", "resources": {"requests": {"cpu": 1}}}]}),
            json!({"phase": "Running", "containerStatuses": [
                {"ready": true, "restartCount": 2, "state": {"running": {}}},
                {"ready": false, "restartCount": 0, "state": {"running": {}}}]}),
            &[
                ("Status Reason", "Running"),
                ("Node", "one"),
                ("Containers", "1/2"),
                ("Restart Count", "2"),
                ("cpu", "1250"),
                ("memory", "1024000"),
            ],
        );
    }

    #[test]
    fn the_reason_is_that_of_the_container_that_is_in_trouble() {
        let spec = json!({"containers": [{"name": "a"}]});
        let reason =
            |status: Value| info(&pod(&spec, &status)).first().expect("a reason").value.clone();
        let waiting = json!({"phase": "Pending", "containerStatuses": [
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}}]});
        assert_eq!(reason(waiting), "ImagePullBackOff");
        let ended = json!({"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"exitCode": 3}}}]});
        assert_eq!(reason(ended), "ExitCode:3");
        let gated = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "reason": "SchedulingGated"}]});
        assert_eq!(reason(gated), "SchedulingGated");
    }

    #[test]
    fn an_init_container_holds_the_pod_up_and_a_sidecar_counts_as_ready() {
        let spec = json!({"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "a"}]});
        let status = json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "state": {"running": {}}}, {"name": "s", "state": {}}]});
        let told = info(&pod(&spec, &status));
        assert_eq!((told[0].value.as_str(), told[2].value.as_str()), ("Init:0/2", "0/2"));
        let status = json!({"phase": "Running",
            "initContainerStatuses": [
                {"name": "i", "state": {"terminated": {"exitCode": 0}}},
                {"name": "s", "started": true, "ready": true, "state": {"running": {}}}],
            "containerStatuses": [{"ready": true, "state": {"running": {}}}]});
        let told = info(&pod(&spec, &status));
        assert_eq!((told[0].value.as_str(), told[2].value.as_str()), ("Running", "2/2"));
    }

    #[test]
    fn init_containers_reserve_the_most_that_runs_at_once() {
        let asks = |cpu: &str| json!({"requests": {"cpu": cpu}});
        let spec = json!({"initContainers": [
                {"resources": asks("1"), "restartPolicy": "Always"}, {"resources": asks("3")}],
            "containers": [{"resources": asks("2")}], "overhead": {"cpu": "100m"}});
        assert_eq!(requested(&pod(&spec, &json!({})), "cpu"), 4100);
    }
}
