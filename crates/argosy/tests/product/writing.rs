//! How objects are written: as kubectl would, or as the options say.

use serde_json::json;
use testkit::git::Repo;

use crate::world::{config_map, shared};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn messages(state: &api::OperationState) -> Vec<&str> {
    let results = &state.sync_result.as_ref().expect("results").resources;
    results.iter().map(|it| it.message.as_str()).collect()
}

#[tokio::test]
async fn an_ordinary_sync_applies_as_kubectl_does() {
    let it = shared().test("client-side").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.create(&it.application(&repo)).await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(messages(&state), ["configmap/m created"]);
    let live = it.get("v1", "ConfigMap", "m").await.expect("it was applied");
    assert!(live.annotation(LAST_APPLIED).is_some_and(|it| it.ends_with("}\n")));

    it.patch("v1", "ConfigMap", "m", &json!({"data": {"a": "2", "theirs": "x"}})).await;
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let state = it.sync(2, json!({})).await;
    assert_eq!(messages(&state), ["configmap/m configured"]);
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.at(&["data"]), Some(&json!({"a": "1", "theirs": "x"})));
}

#[tokio::test]
async fn a_server_side_sync_takes_over_what_was_applied_on_the_client() {
    let it = shared().test("server-side").await;
    let repo = Repo::new();
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"1\", b: \"2\"}\n";
    repo.commit(&[("app/m.yaml", two)]);
    it.create(&it.application(&repo)).await;
    it.sync(1, json!({})).await;

    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    it.patch_app(&json!({"metadata": {"annotations": {
        "argocd.argoproj.io/client-side-apply-migration-manager": "argocd-controller"}}}))
        .await;
    let state = it.sync(2, json!({"syncOptions": ["ServerSideApply=true"]})).await;
    assert_eq!(messages(&state), ["configmap/m serverside-applied"]);
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.at(&["data"]), Some(&json!({"a": "1"})));
}

#[tokio::test]
async fn a_replaced_object_keeps_nothing_of_others() {
    let it = shared().test("replace").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.create(&it.application(&repo)).await;
    let replace = || json!({"syncOptions": ["Replace=true"]});
    assert_eq!(messages(&it.sync(1, replace()).await), ["configmap/m created"]);
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"theirs": "x"}})).await;
    assert_eq!(messages(&it.sync(2, replace()).await), ["configmap/m replaced"]);
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.at(&["data"]), Some(&json!({"a": "1"})));
}

#[tokio::test]
async fn a_change_that_the_server_refuses_can_be_forced() {
    let it = shared().test("force").await;
    let map = |value: &str| format!("{}immutable: true\n", config_map("m", "a", value));
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &map("1"))]);
    it.create(&it.application(&repo)).await;
    it.sync(1, json!({})).await;
    repo.commit(&[("app/m.yaml", &map("2"))]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;

    let refused = it.sync(2, json!({})).await;
    assert_eq!(refused.phase, "Failed");
    assert!(messages(&refused)[0].contains("ConfigMap \"m\" is invalid"), "{refused:?}");
    let forced = it.sync(3, json!({"syncStrategy": {"apply": {"force": true}}})).await;
    assert_eq!(forced.phase, "Succeeded");
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.at(&["data"]), Some(&json!({"a": "2"})));
}

#[tokio::test]
async fn a_definition_and_an_object_of_it_can_come_in_one_sync() {
    let it = shared().test("definition").await;
    let repo = Repo::new();
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dinghies.harbour.example}
spec:
  group: harbour.example
  scope: Namespaced
  names: {kind: Dinghy, plural: dinghies, singular: dinghy, listKind: DinghyList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let dinghy =
        "apiVersion: harbour.example/v1\nkind: Dinghy\nmetadata: {name: d}\nspec: {oars: 2}\n";
    repo.commit(&[("app/definition.yaml", definition), ("app/dinghy.yaml", dinghy)]);
    it.create(&it.application(&repo)).await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(
        messages(&state),
        [
            "customresourcedefinition.apiextensions.k8s.io/dinghies.harbour.example created",
            "dinghy.harbour.example/d created"
        ]
    );
}

#[tokio::test]
async fn lists_whose_elements_cannot_be_told_apart_are_not_overwritten() {
    let it = shared().test("no-merge-key").await;
    let account = |secret: &str| {
        format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: s}}\nsecrets: [{{name: {secret}}}]\n"
        )
    };
    let repo = Repo::new();
    repo.commit(&[("app/s.yaml", &account("one"))]);
    it.create(&it.application(&repo)).await;
    assert_eq!(messages(&it.sync(1, json!({})).await), ["serviceaccount/s created"]);
    it.patch("v1", "ServiceAccount", "s", &json!({"secrets": [{}]})).await;
    repo.commit(&[("app/s.yaml", &account("two"))]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;

    let refused = it.sync(2, json!({})).await;
    assert_eq!(refused.phase, "Failed");
    let why = "cannot merge secrets: an element of the list has no \"name\"";
    assert!(messages(&refused)[0].contains(why), "{refused:?}");
    let replaced = it.sync(3, json!({"syncOptions": ["Replace=true"]})).await;
    assert_eq!(replaced.phase, "Succeeded", "{}", replaced.message);
}
