//! Measures the crate on a control plane of its own, against bare loops that do the same.
//!
//! `cargo run --release -p cluster --example measure`

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::time::{Duration, Instant};

use cluster::{Access, ApiKind, ApplyOptions, Change, Cluster, Selector, StoreOptions, Tagged};
use devcluster::DevCluster;
use futures::StreamExt as _;
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};

const TRACKING: &str = "test.example.org/application";
const OBJECTS: usize = 500;

#[tokio::main]
async fn main() {
    let control_plane = DevCluster::start().expect("a control plane");
    let kubeconfig = control_plane.kubeconfig_path();
    println!("before connecting: {} KiB resident", resident());

    let access = Access::from_kubeconfig(Some(&kubeconfig), None).await.expect("a kubeconfig");
    let tracking = |it: &Tagged<'_>| it.annotation(TRACKING);
    let begin = Instant::now();
    let cluster = Cluster::start(&access, StoreOptions::new(tracking)).await.expect("a cluster");
    let started = begin.elapsed();
    cluster.ready().await;
    println!(
        "started in {started:.0?}, ready in {:.0?}: {} kinds, {} objects, {} KiB resident",
        begin.elapsed(),
        cluster.continuity().len(),
        cluster.object_count(),
        resident()
    );

    for (round, in_flight) in [10, 20, 10, 20].into_iter().enumerate() {
        let bare = bare_loop(&kubeconfig, &format!("bare{round}"), in_flight).await;
        let ours = apply_all(&cluster, &format!("ours{round}"), in_flight).await;
        println!(
            "{OBJECTS} ConfigMaps, {in_flight} in flight: bare {:.0}/s, ours {:.0}/s, ratio {:.2}",
            per_second(bare),
            per_second(ours),
            bare.as_secs_f64() / ours.as_secs_f64()
        );
    }

    let mut latencies = latencies(&cluster).await;
    latencies.sort();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100];
    println!("PATCH sent to change told: p50 {:.2?}, p99 {:.2?}", at(50), at(99));
    println!("in the end: {} objects, {} KiB resident", cluster.object_count(), resident());
}

fn per_second(time: Duration) -> f64 {
    f64::from(u32::try_from(OBJECTS).expect("few")) / time.as_secs_f64()
}

fn map(prefix: &str, number: usize) -> Object {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "x".repeat(200)},
        "metadata": {"name": format!("{prefix}-{number}"), "namespace": "default",
            "annotations": {TRACKING: prefix}}});
    Object::from_value(map).expect("an object")
}

async fn apply_all(cluster: &Cluster, prefix: &str, in_flight: usize) -> Duration {
    let options = ApplyOptions::default();
    let options = &options;
    let begin = Instant::now();
    futures::stream::iter(0..OBJECTS)
        .map(|number| async move {
            cluster.apply(&map(prefix, number), options).await.expect("applied");
        })
        .buffer_unordered(in_flight)
        .collect::<Vec<()>>()
        .await;
    begin.elapsed()
}

/// The same requests by the Kubernetes client as it comes, with nothing around it.
async fn bare_loop(kubeconfig: &std::path::Path, prefix: &str, in_flight: usize) -> Duration {
    use kube::api::{Api, DynamicObject, Patch, PatchParams};
    let config = kube::config::Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await;
    let client = kube::Client::try_from(config.expect("usable")).expect("a client");
    let gvk = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    let resource = kube::core::ApiResource::from_gvk_with_plural(&gvk, "configmaps");
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &resource);
    let api = &api;
    let begin = Instant::now();
    futures::stream::iter(0..OBJECTS)
        .map(|number| async move {
            let map = map(prefix, number);
            let parameters = PatchParams::apply("argocd-controller").force();
            api.patch(map.name(), &parameters, &Patch::Apply(&map)).await.expect("applied");
        })
        .buffer_unordered(in_flight)
        .collect::<Vec<()>>()
        .await;
    begin.elapsed()
}

/// From somebody else sending a write to the change that tells of it.
async fn latencies(cluster: &Cluster) -> Vec<Duration> {
    let kind = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    let mut changes = cluster.changes();
    let mut latencies = Vec::new();
    for number in 0..200 {
        changes.take();
        let patch: Value = json!({"data": {"key": number.to_string()}});
        let begin = Instant::now();
        let patched = cluster.client().merge_patch(&kind, "default", "ours0-0", None, &patch).await;
        patched.expect("patched");
        loop {
            let told = changes.next().await;
            if told
                .iter()
                .any(|it| matches!(it, Change::Object { key, .. } if key.name == "ours0-0"))
            {
                break;
            }
        }
        latencies.push(begin.elapsed());
    }
    let all = cluster.client().list(&kind, "default", &Selector::everything()).await;
    println!("the server has {} ConfigMaps in default", all.expect("a list").len());
    latencies
}

/// The resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    line.and_then(|it| it.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
