//! How long the core takes: comparing one object, planning many.
//!
//! `cargo bench -p engine`; the goals stand in docs/benchmarks.md.

use std::collections::BTreeMap;

use api::{Application, SyncOperation};
use divan::{Bencher, black_box};
use engine::diff::diff;
use engine::diff::three_way::LAST_APPLIED;
use engine::health::BuiltinOnly;
use engine::{Comparing, Facts, Rules, Scope, SyncOptions, compare, plan};
use jiff::Timestamp;
use object::{GroupKind, Object};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// A Deployment of about 4.5 KB, as git holds it.
fn deployment(image: &str) -> Object {
    let env: Vec<Value> = (0..40)
        .map(|it| json!({"name": format!("NAME_{it}"), "value": format!("value of {it}")}))
        .collect();
    let container = |name: &str| {
        json!({"name": name, "image": image, "env": env, "ports": [{"containerPort": 8080}],
            "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "0.5"}},
            "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}}})
    };
    Object::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [container("web"), container("proxy")]}}}}))
    .expect("an object")
}

/// The same as the cluster has it after a client-side apply.
fn live(of: &Object) -> Object {
    let mut live = of.clone();
    object::typed::fill_defaults(&mut live);
    live.set_annotation(LAST_APPLIED, &of.clone().into_value().to_string());
    live.fields_mut()["metadata"]["uid"] = json!("0d9a");
    live.fields_mut().insert("status".into(), json!({"replicas": 3, "observedGeneration": 1}));
    live
}

#[divan::bench]
fn compare_an_unchanged_deployment(bencher: Bencher<'_, '_>) {
    let want = deployment("web:1");
    let (live, comparing) = (live(&want), Comparing::default());
    bencher.bench(|| diff(black_box(&want), black_box(&live), &comparing));
}

#[divan::bench]
fn compare_a_deployment_with_another_image(bencher: Bencher<'_, '_>) {
    let want = deployment("web:2");
    let (live, comparing) = (live(&deployment("web:1")), Comparing::default());
    bencher.bench(|| diff(black_box(&want), black_box(&live), &comparing));
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn plan_many_new_objects(bencher: Bencher<'_, '_>, count: usize) {
    let want: Vec<Object> = (0..count)
        .map(|it| {
            Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("m{it}"), "namespace": "web"}, "data": {"a": "1"}}))
            .expect("an object")
        })
        .collect();
    let facts = Facts {
        tracked_by: engine::TrackedBy::default(),
        instance: "app".into(),
        destination_namespace: "web".into(),
        scopes: [(GroupKind::new("", "ConfigMap"), Scope::Namespaced)].into(),
        ..Facts::default()
    };
    let comparing = Comparing::default();
    let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
    let (comparison, _) = compare(want, BTreeMap::new(), rules, &facts);
    let app = Application::named("argocd", "app");
    let options = SyncOptions::of(&app, &SyncOperation::default(), "c1", Timestamp::UNIX_EPOCH);
    bencher.bench(|| plan(black_box(&comparison), &options));
}
