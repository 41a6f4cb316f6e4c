//! What counts as a difference, and what a sync writes where it does not.

use object::Object;
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::world::{Test, config_map, deployment, shared};

const COMPARE_OPTIONS: &str = "argocd.argoproj.io/compare-options";

async fn until_compared(it: &Test<'_>, status: &str) {
    it.until(status, |app| app.status.sync.status == status).await;
}

fn history_limit(deployment: Option<&Object>) -> Option<i64> {
    deployment?.integer(&["spec", "revisionHistoryLimit"])
}

#[tokio::test]
async fn fields_of_a_trusted_manager_do_not_count_and_are_left_alone_where_that_was_asked_for() {
    let it = shared().test("trusted-manager").await;
    let repo = Repo::new();
    let web = deployment("web", 0, "web:1").replace("replicas: 1", "revisionHistoryLimit: 3");
    repo.commit(&[("app/web.yaml", &web)]);
    it.create(&it.application(&repo)).await;
    let server_side = || json!({"syncOptions": ["ServerSideApply=true"]});
    it.sync(1, server_side()).await;
    until_compared(&it, "Synced").await;

    let tuned = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"revisionHistoryLimit": 1}});
    it.apply_as("tuner", &tuned);
    until_compared(&it, "OutOfSync").await;
    it.patch_app(&json!({"spec": {"ignoreDifferences": [
        {"group": "apps", "kind": "Deployment", "managedFieldsManagers": ["tuner"]}]}}))
        .await;
    until_compared(&it, "Synced").await;

    it.sync(2, server_side()).await;
    let live = it.get("apps/v1", "Deployment", "web").await;
    assert_eq!(history_limit(live.as_ref()), Some(3), "a sync writes what git says");

    it.apply_as("tuner", &tuned);
    it.sync(3, json!({"syncOptions": ["RespectIgnoreDifferences=true"]})).await;
    let live = it.get("apps/v1", "Deployment", "web").await;
    assert_eq!(history_limit(live.as_ref()), Some(1), "unless it respects what is ignored");
    until_compared(&it, "Synced").await;
}

/// Drifts a ConfigMap in a way that `rule` ignores, then in one that it does not.
async fn check_ignored(name: &'static str, rule: Value) {
    let it = shared().test(name).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "theirs", "1"))]);
    let mut app = it.application(&repo);
    app["spec"]["ignoreDifferences"] = json!([rule]);
    it.create(&app).await;
    it.sync(1, json!({})).await;

    it.patch("v1", "ConfigMap", "m", &json!({"data": {"theirs": "2"}})).await;
    let app = it.sync(2, json!({"syncOptions": ["RespectIgnoreDifferences=true"]})).await;
    let results = app.sync_result.expect("results").resources;
    assert_eq!(results[0].message, "configmap/m unchanged");
    until_compared(&it, "Synced").await;

    repo.commit(&[("app/m.yaml", &config_map("m", "ours", "1"))]);
    until_compared(&it, "OutOfSync").await;
}

#[tokio::test]
async fn differences_are_ignored_by_pointer() {
    let rule = json!({"kind": "ConfigMap", "jsonPointers": ["/data/theirs"]});
    check_ignored("ignored-by-pointer", rule).await;
}

#[tokio::test]
async fn differences_are_ignored_by_jq_path() {
    let rule = json!({"kind": "ConfigMap", "jqPathExpressions": [".data | .[\"theirs\"]?"]});
    check_ignored("ignored-by-jq", rule).await;
}

/// Has every ConfigMap in the test's namespace that is written from now on get `value` at `key`.
fn mutate_config_maps(it: &Test<'_>, name: &str, key: &str, value: &str) {
    let expression = format!("[JSONPatch{{op: 'add', path: '/data/{key}', value: '{value}'}}]");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": it.name}},
                "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}],
            },
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name},
    });
    it.apply_as("test", &policy);
    it.apply_as("test", &binding);
    let path = format!("jsonpath={{.data.{key}}}");
    let probe = ["create", "configmap", "probe", "--from-literal=a=b", "--dry-run=server"];
    let probe = [&probe[..], &["-n", it.name, "-o", &path]].concat();
    let began = std::time::Instant::now();
    while it.world.kubectl(&probe) != value {
        assert!(began.elapsed().as_secs() < 60, "the policy never took effect");
    }
}

#[tokio::test]
async fn server_side_diff_sees_what_admission_makes_of_an_object() {
    let it = shared().test("server-side-diff").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "tier", "iron"))]);
    mutate_config_maps(&it, "gilding", "tier", "gold");
    it.create(&it.application(&repo)).await;
    let server_side = || json!({"syncOptions": ["ServerSideApply=true"]});
    it.sync(1, server_side()).await;
    until_compared(&it, "OutOfSync").await;

    let ask = |words: &str| json!({"metadata": {"annotations": {COMPARE_OPTIONS: words, "argocd.argoproj.io/refresh": "hard"}}});
    it.patch_app(&ask("ServerSideDiff=true")).await;
    until_compared(&it, "Synced").await;

    mutate_config_maps(&it, "stamping", "stamp", "seen");
    it.patch_app(&ask("ServerSideDiff=true, IncludeMutationWebhook=true")).await;
    until_compared(&it, "OutOfSync").await;
    it.patch_app(&ask("ServerSideDiff=true")).await;
    until_compared(&it, "Synced").await;

    repo.commit(&[("app/m.yaml", &config_map("m", "ours", "new"))]);
    until_compared(&it, "OutOfSync").await;
    it.sync(2, server_side()).await;
    until_compared(&it, "Synced").await;
}

#[tokio::test]
async fn an_object_that_the_server_would_refuse_makes_the_comparison_unknown() {
    let it = shared().test("server-side-refused").await;
    let map = |value: &str| format!("{}immutable: true\n", config_map("m", "a", value));
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &map("1"))]);
    let mut app = it.application(&repo);
    app["metadata"]["annotations"] = json!({COMPARE_OPTIONS: "ServerSideDiff=true"});
    it.create(&app).await;
    it.sync(1, json!({})).await;
    until_compared(&it, "Synced").await;

    repo.commit(&[("app/m.yaml", &map("2"))]);
    let app = it.until("Unknown", |app| app.status.sync.status == "Unknown").await;
    let why = &app.status.conditions[0];
    assert_eq!(why.type_, "ComparisonError");
    assert!(why.message.contains("field is immutable"), "{}", why.message);
}

/// A scaler in the first version, which says what the second says in other words.
fn scaler(cpu: u8) -> String {
    format!(
        "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\n\
         spec:\n  maxReplicas: 3\n  targetCPUUtilizationPercentage: {cpu}\n  scaleTargetRef:\n    \
         apiVersion: apps/v1\n    kind: Deployment\n    name: web\n"
    )
}

#[tokio::test]
async fn an_object_is_compared_in_the_version_that_git_states() {
    let it = shared().test("another-version").await;
    let repo = Repo::new();
    repo.commit(&[("app/scaler.yaml", &scaler(80))]);
    it.create(&it.application(&repo)).await;
    it.sync(1, json!({})).await;
    until_compared(&it, "Synced").await;

    // The server prefers the second version, in which others change it.
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 50}}}]);
    let patch = json!({"spec": {"metrics": metrics}});
    it.patch("autoscaling/v2", "HorizontalPodAutoscaler", "web", &patch).await;
    until_compared(&it, "OutOfSync").await;

    it.sync(2, json!({})).await;
    until_compared(&it, "Synced").await;
    repo.commit(&[("app/scaler.yaml", &scaler(70))]);
    until_compared(&it, "OutOfSync").await;
}
