//! Clusters are Secrets, and are asked before they are believed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{Access, ApiKind, Client};
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::{secret, until};

pub(crate) async fn clusters_are_secrets(rest: &Rest, client: &Client, access: &Access) {
    let ours = "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc";
    let cluster = rest.get(ours).await;
    assert_eq!(
        (&cluster["name"], &cluster["connectionState"]["status"]),
        (&"in-cluster".into(), &"Successful".into())
    );
    assert_eq!(cluster["config"], json!({"tlsClientConfig": {"insecure": false}}));
    let path = format!("{ours}?updatedFields=labels");
    let (status, body) = rest.ask("PUT", &path, json!({"labels": {"tier": "gold"}})).await;
    assert_eq!((status, &body["labels"]), (200, &json!({"tier": "gold"})), "{body}");
    assert_eq!(
        rest.get("/api/v1/clusters/in-cluster?id.type=name").await["labels"]["tier"],
        "gold"
    );
    let stored = secret(client, "cluster-kubernetes.default.svc-3396314289").await;
    let stored = stored.expect("the Secret of our cluster");
    let label = ["metadata", "labels", "argocd.argoproj.io/secret-type"];
    assert_eq!(stored.text(&label), Some("cluster"));
    let (status, body) = rest.ask("POST", &format!("{ours}/invalidate-cache"), Value::Null).await;
    assert_eq!((status, body["refreshRequestedAt"].is_string()), (200, true), "{body}");
    let expect = (
        400,
        3,
        "Cluster 'https://kubernetes.default.svc' does not use bearer token authentication",
    );
    rest.refuses("POST", &format!("{ours}/rotate-auth"), Value::Null, expect).await;
    a_new_cluster_must_answer(rest, client, access).await;
}

async fn a_new_cluster_must_answer(rest: &Rest, client: &Client, access: &Access) {
    let (old_secret, token) = manager(client).await;
    let config = |token: &str| json!({"bearerToken": token, "tlsClientConfig": {"insecure": true}});
    let server = access.server();
    let described = |server: &str, token: &str| json!({"server": server, "name": "prod", "config": config(token)});
    // Nobody listens on the first port.
    let (status, body) =
        rest.ask("POST", "/api/v1/clusters", described("https://127.0.0.1:1", &token)).await;
    let told = body["message"].as_str().unwrap_or_default();
    assert!(status == 500 && told.starts_with("error getting server version: "), "{status} {told}");
    assert!(!told.contains(&token), "a secret: {told}");

    let other = described(&server, &token);
    let (status, body) = rest.ask("POST", "/api/v1/clusters", other.clone()).await;
    assert_eq!((status, body["config"].get("bearerToken")), (200, None), "{body}");
    assert_eq!(body["connectionState"]["status"], "Successful", "{body}");
    assert_eq!(body["serverVersion"], client.version().git_version.as_str());
    assert_eq!(rest.ask("POST", "/api/v1/clusters", other).await.0, 200, "the same again");
    let listed = rest.get("/api/v1/clusters").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));

    let gone = "/api/v1/clusters/prod?id.type=name";
    let rotate = "/api/v1/clusters/prod/rotate-auth?id.type=name";
    assert_eq!(rest.ask("POST", rotate, Value::Null).await, (200, json!({})));
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let old = client.get(&secrets, "kube-system", &old_secret).await.expect("an answer");
    assert!(old.is_none(), "the old token ended");
    let account = accounts_of(client).await;
    let listed = account["secrets"].as_array().cloned().unwrap_or_default();
    assert_eq!(listed.len(), 1, "{account}");
    let new_secret = listed[0]["name"].as_str().expect("a name");
    assert!(new_secret.starts_with("argocd-manager-token-") && new_secret != old_secret);
    // What is stored is the new one: it can be rotated again.
    assert_eq!(rest.ask("POST", rotate, Value::Null).await, (200, json!({})));

    assert_eq!(rest.ask("DELETE", gone, Value::Null).await, (200, json!({})));
    rest.refuses("GET", gone, Value::Null, (403, 7, "permission denied")).await;
}

/// The token that the service account of `argocd cluster add` has by now.
pub(crate) async fn current_token(client: &Client) -> String {
    let account = accounts_of(client).await;
    let name = account["secrets"][0]["name"].as_str().expect("a secret").to_owned();
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let found = client.get(&secrets, "kube-system", &name).await.expect("an answer");
    let found = found.expect("the secret");
    let token = STANDARD.decode(found.text(&["data", "token"]).expect("a token")).expect("base64");
    String::from_utf8(token).expect("text")
}

async fn accounts_of(client: &Client) -> Value {
    let gvk = GroupVersionKind::parse("v1", "ServiceAccount");
    let accounts = ApiKind::known(&gvk, "serviceaccounts", true);
    let found = client.get(&accounts, "kube-system", "argocd-manager").await;
    found.expect("an answer").expect("the account").into_value()
}

/// A service account as `argocd cluster add` makes it: the name of its Secret, and the token.
async fn manager(client: &Client) -> (String, String) {
    let name = "argocd-manager-token-abcde";
    let binding = GroupVersionKind::parse("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
    let kinds = [
        (
            ApiKind::known(
                &GroupVersionKind::parse("v1", "ServiceAccount"),
                "serviceaccounts",
                true,
            ),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "argocd-manager"},
                "secrets": [{"name": name}]}),
        ),
        (
            ApiKind::known(&binding, "clusterrolebindings", false),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "argocd-manager"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": "argocd-manager", "namespace": "kube-system"}]}),
        ),
        (
            ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": "argocd-manager"}}}),
        ),
    ];
    for (kind, object) in &kinds {
        let object = Object::from_value(object.clone()).expect("an object");
        client.create(kind, "kube-system", &object, "test").await.expect("created");
    }
    let mut token = String::new();
    until("the token is made", async || {
        let found = client.get(&kinds[2].0, "kube-system", name).await.expect("an answer");
        let found = found.and_then(|it| STANDARD.decode(it.text(&["data", "token"])?).ok());
        token = String::from_utf8(found.unwrap_or_default()).expect("text");
        !token.is_empty()
    })
    .await;
    (name.to_owned(), token)
}
