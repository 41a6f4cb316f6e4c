//! What an object costs in the store, and how fast objects are taken in:
//! `cargo bench -p cluster`. Prints rows of the table in `docs/benchmarks.md`.
//!
//! Bytes are what the process grew by, with all that the allocator wastes. Times are
//! the thread's own on a core.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::Duration;

use cluster::measure::Intake;
use cluster::{ApiKind, Tagged};
use object::GroupVersionKind;
use serde_json::{Value, json};

const OBJECTS: usize = 20_000;
const TRACKING: &str = "argocd.argoproj.io/tracking-id";

fn main() {
    let kind = GroupVersionKind::parse("apps/v1", "Deployment");
    let kind = ApiKind::known(&kind, "deployments", true);
    println!("| what | goal | measured |\n|---|---|---|");
    // The small ones first: what the large ones leave behind would be used again, and not be seen.
    for (tracked, what, goal) in [(false, "unmanaged", 300), (true, "managed", 2_000)] {
        let objects: Vec<String> = (0..OBJECTS).map(|it| deployment(it, tracked)).collect();
        let size = objects.iter().map(String::len).sum::<usize>() / OBJECTS;
        let before = resident();
        let store = filled(&kind, &objects);
        let each = (resident() - before) / store.count();
        drop(store);
        println!("| store: one {what} object of {size} bytes | ≤ {goal} bytes | {each} bytes |");
        // The best of several: what else the machine does only adds.
        let times = (0..5).map(|_| {
            let began = on_core();
            drop(black_box(filled(&kind, &objects)));
            on_core() - began
        });
        let best = times.min().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
        let rate = OBJECTS as f64 / best.as_secs_f64();
        println!("| store: {what} objects taken in by one core | ≥ 80,000/s | {rate:.0}/s |");
    }
}

fn filled(kind: &ApiKind, objects: &[String]) -> Intake {
    let application = |it: &Tagged<'_>| {
        it.annotation(TRACKING)?.split_once(':').map(|(application, _)| application.to_owned())
    };
    let mut store = Intake::new(kind.clone(), application);
    for object in objects {
        store.take(object.as_bytes());
    }
    store
}

/// The bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kilobytes = line.trim().trim_end_matches(" kB").parse::<usize>();
    kilobytes.expect("a number of kilobytes") * 1024
}

/// How long this thread has been on a core.
fn on_core() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = text.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number of nanoseconds"))
}

/// A Deployment as an API server tells it: two containers, what was applied last if we applied it, and the
/// field sets of whoever wrote it. No two are alike: names, images, checksums and some values are their own.
fn deployment(number: usize, tracked: bool) -> String {
    let mut random = Random(u32::try_from(number).unwrap_or(0));
    let (name, namespace) = (format!("web-{number}"), format!("team-{}", number % 100));
    let mut container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example/shop/{name}@sha256:{}", random.digits(64)),
            "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "TOKEN", "value": random.digits(16)}],
            "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        })
    };
    let containers = [container("web"), container("proxy")];
    let spec = json!({
        "replicas": 2, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
        "selector": {"matchLabels": {"app": name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        "template": {"metadata": {"annotations": {"checksum/config": random.digits(64)}, "labels": {"app": name}}, "spec": {
            "containers": containers, "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
            "terminationGracePeriodSeconds": 30}},
    });
    let status = json!({
        "observedGeneration": 3, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2,
        "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.", "lastUpdateTime": "2026-01-01T00:00:00Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    });
    let owned = |manager: &str, of: &Value| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "apps/v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields_of(of)})
    };
    let mut metadata = json!({
        "name": name, "namespace": namespace, "generation": 3, "resourceVersion": (1_000 + number).to_string(),
        "uid": format!("0123abcd-0000-4000-8000-{number:012x}"), "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": name},
        "annotations": {"deployment.kubernetes.io/revision": "1"},
        "managedFields": [
            owned(if tracked { cluster::FIELD_MANAGER } else { "kubectl" }, &json!({"spec": spec})),
            owned("kube-controller-manager", &json!({"status": status})),
        ],
    });
    if tracked {
        let id = format!("shop-{}:apps/Deployment:{namespace}/{name}", number % 1_000);
        metadata["annotations"][TRACKING] = id.into();
        let first =
            json!({"name": "web", "image": spec["template"]["spec"]["containers"][0]["image"]});
        let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
            "replicas": 2, "selector": spec["selector"], "template": {"spec": {"containers": [first]}}}});
        metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            applied.to_string().into();
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec, "status": status})
        .to_string()
}

/// Numbers without any order, the same every time.
struct Random(u32);

impl Random {
    fn digits(&mut self, count: usize) -> String {
        let mut digit = || {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from_digit(self.0 >> 28, 16).expect("four bits")
        };
        (0..count).map(|_| digit()).collect()
    }
}

/// Roughly as an API server writes down who owns what.
fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (format!("f:{name}"), fields_of(value))).collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| (format!("k:{{\"name\":\"{index}\"}}"), fields_of(item)))
                .collect()
        }
        _ => json!({}),
    }
}
