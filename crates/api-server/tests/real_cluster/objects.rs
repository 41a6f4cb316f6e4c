//! The live objects of Applications.

use cluster::{ApiKind, Client};
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::NAMESPACE;

pub(crate) async fn live_objects_are_read_patched_acted_on_and_deleted(
    rest: &Rest,
    client: &Client,
) {
    let maps = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "live"}, "data": {"a": "b"}});
    let map = Object::from_value(map).expect("an object");
    client.create(&maps, NAMESPACE, &map, "test").await.expect("a ConfigMap");
    let tree = rest.get("/api/v1/applications/web/resource-tree").await;
    assert_eq!(tree["nodes"][0]["name"], "live");
    let managed = rest.get("/api/v1/applications/web/managed-resources?name=other").await;
    assert_eq!(managed["items"].as_array().map(Vec::len), Some(1));
    let query = format!("?namespace={NAMESPACE}&resourceName=live&version=v1&kind=ConfigMap");
    let at = format!("/api/v1/applications/web/resource{query}");
    let manifest = rest.get(&at).await["manifest"].as_str().expect("text").to_owned();
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["data"], json!({"a": "b"}));
    let expect = (400, 3, "ConfigMap  ghost not found as part of application web");
    let ghost = at.replace("=live", "=ghost");
    rest.refuses("GET", &ghost, Value::Null, expect).await;
    let patch = format!("{at}&patchType=application%2Fmerge-patch%2Bjson");
    let (status, body) = rest.ask("POST", &patch, r#"{"data":{"a":"c"}}"#.into()).await;
    assert_eq!(status, 200, "{body}");
    let stored = client.get(&maps, NAMESPACE, "live").await.expect("an answer").expect("there");
    assert_eq!(stored.text(&["data", "a"]), Some("c"));
    let actions = at.replace("/resource?", "/resource/actions?");
    assert_eq!(rest.get(&actions).await, json!({}));
    let logs = "/api/v1/applications/web/logs?namespace=elsewhere";
    assert_eq!(rest.ask("GET", logs, Value::Null).await, (200, "".into()), "there are no pods");
    assert_eq!(rest.get("/api/v1/applications/web/syncwindows").await, json!({"canSync": true}));
    assert_eq!(rest.get("/api/v1/applications/web/links").await, json!({}));
    let metadata = rest.get("/api/v1/applications/web/revisions/abc/metadata").await;
    assert_eq!(metadata["author"], "Ada <ada@example.org>");
    let events = rest.get("/api/v1/applications/web/events").await;
    assert!(events["items"].as_array().is_some_and(|it| !it.is_empty()), "{events}");
    assert_eq!(
        rest.ask("DELETE", &format!("{at}&orphan=true"), Value::Null).await,
        (200, json!({}))
    );
    let gone = client.get(&maps, NAMESPACE, "live").await.expect("an answer");
    assert!(gone.is_none_or(|it| it.text(&["metadata", "deletionTimestamp"]).is_some()));
}

pub(crate) async fn a_deployment_is_restarted(rest: &Rest, client: &Client) {
    let gvk = GroupVersionKind::parse("apps/v1", "Deployment");
    let deployments = ApiKind::known(&gvk, "deployments", true);
    let labels = json!({"app": "web"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}}});
    let deployment = Object::from_value(deployment).expect("an object");
    client.create(&deployments, NAMESPACE, &deployment, "test").await.expect("a Deployment");
    let query =
        format!("?namespace={NAMESPACE}&resourceName=web&group=apps&version=v1&kind=Deployment");
    let at = "/api/v1/applications/web/resource";
    let actions = rest.get(&format!("{at}/actions{query}")).await;
    let names = actions["actions"].as_array().expect("actions").iter();
    assert!(names.clone().any(|it| it["name"] == "restart"), "{actions}");
    let path = ["spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"];
    let (status, told) = rest.ask("POST", &format!("{at}/actions{query}"), json!("restart")).await;
    assert_eq!((status, told), (200, json!({})));
    let stored =
        client.get(&deployments, NAMESPACE, "web").await.expect("an answer").expect("there");
    assert!(stored.text(&path).is_some(), "{stored:?}");
    let request = json!({"namespace": NAMESPACE, "resourceName": "web", "group": "apps",
        "version": "v1", "kind": "Deployment", "action": "pause"});
    let (status, told) = rest.ask("POST", &format!("{at}/actions/v2"), request).await;
    assert_eq!((status, told), (200, json!({})));
    let stored =
        client.get(&deployments, NAMESPACE, "web").await.expect("an answer").expect("there");
    assert_eq!(stored.into_value()["spec"]["paused"], true);
    assert_eq!(rest.get(&format!("{at}/links{query}")).await, json!({}));
    let diff = rest.get("/api/v1/applications/web/server-side-diff").await;
    assert_eq!(diff["modified"], false, "nothing was given to compare: {diff}");
    for path in ["pods/shell/logs", "logs?podName=shell"] {
        let (status, told) =
            rest.ask("GET", &format!("/api/v1/applications/web/{path}"), Value::Null).await;
        let told = told.to_string();
        assert!(status == 200 && told.contains("Hi"), "{path}: {told}");
    }
}
