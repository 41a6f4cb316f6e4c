//! Users who may do nothing, or some things.

use cluster::Client;
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::{SERVER, set_config, until};

/// Every REST operation, called by somebody who may do nothing.
pub(crate) async fn who_may_do_nothing_is_refused_everywhere(rest: &Rest, client: &Client) {
    set_config(client, "argocd-cm", json!({"accounts.weak": "apiKey"})).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/weak", Value::Null).await.0 == 200
    })
    .await;
    let (status, body) = rest.ask("POST", "/api/v1/account/weak/token", json!({})).await;
    assert_eq!(status, 200, "{body}");
    let token = body["token"].as_str().expect("a token").to_owned();
    let weak = rest.by(token);
    let app = "/api/v1/applications/web";
    let source = json!({"repoURL": "https://example.org/r", "path": "web"});
    let spec = json!({"project": "default", "source": source,
        "destination": {"server": SERVER, "namespace": "x"}});
    let whole = json!({"metadata": {"name": "web"}, "spec": spec});
    let object = "?resourceName=a&kind=ConfigMap&version=v1&namespace=x";
    let cluster = "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc";
    let repo = "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fr";
    let write_repo = "/api/v1/write-repositories/https%3A%2F%2Fexample.org%2Fr";
    let nothing = || Value::Null;
    let refused = [
        ("GET", app.to_owned(), nothing()),
        ("POST", "/api/v1/applications".to_owned(), whole.clone()),
        ("PUT", app.to_owned(), whole.clone()),
        ("PUT", format!("{app}/spec"), spec.clone()),
        ("PATCH", app.to_owned(), json!({"patch": "{}", "patchType": "merge"})),
        ("DELETE", app.to_owned(), nothing()),
        ("POST", format!("{app}/sync"), json!({})),
        ("POST", format!("{app}/rollback"), json!({"id": 1})),
        ("DELETE", format!("{app}/operation"), nothing()),
        ("GET", format!("{app}/managed-resources"), nothing()),
        ("GET", format!("{app}/server-side-diff"), nothing()),
        ("GET", format!("{app}/resource-tree"), nothing()),
        ("GET", "/api/v1/stream/applications/web/resource-tree".to_owned(), nothing()),
        ("GET", format!("{app}/manifests"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/metadata"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/chartdetails"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/ocimetadata"), nothing()),
        ("GET", format!("{app}/syncwindows"), nothing()),
        ("GET", format!("{app}/events"), nothing()),
        ("GET", format!("{app}/links"), nothing()),
        ("GET", format!("{app}/logs"), nothing()),
        ("GET", format!("{app}/pods/a/logs"), nothing()),
        ("GET", format!("{app}/resource{object}"), nothing()),
        ("POST", format!("{app}/resource{object}"), json!("{}")),
        ("DELETE", format!("{app}/resource{object}"), nothing()),
        ("GET", format!("{app}/resource/links{object}"), nothing()),
        ("GET", format!("{app}/resource/actions{object}"), nothing()),
        ("POST", format!("{app}/resource/actions{object}"), json!("restart")),
        ("POST", format!("{app}/resource/actions/v2"), json!({"action": "restart"})),
        ("GET", "/api/v1/applicationsets/s".to_owned(), nothing()),
        ("DELETE", "/api/v1/applicationsets/s".to_owned(), nothing()),
        ("GET", "/api/v1/applicationsets/s/resource-tree".to_owned(), nothing()),
        ("GET", "/api/v1/applicationsets/s/events".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/detailed".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/globalprojects".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/events".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/syncwindows".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/links".to_owned(), nothing()),
        ("POST", "/api/v1/projects".to_owned(), json!({"project": {"metadata": {"name": "x"}}})),
        ("PUT", "/api/v1/projects/x".to_owned(), json!({"project": {"metadata": {"name": "x"}}})),
        ("DELETE", "/api/v1/projects/x".to_owned(), nothing()),
        ("POST", "/api/v1/projects/default/roles/ci/token".to_owned(), json!({})),
        ("DELETE", "/api/v1/projects/default/roles/ci/token/1".to_owned(), nothing()),
        ("GET", cluster.to_owned(), nothing()),
        ("POST", "/api/v1/clusters".to_owned(), json!({"server": "https://c", "name": "c"})),
        ("PUT", cluster.to_owned(), json!({"name": "x"})),
        ("DELETE", cluster.to_owned(), nothing()),
        ("POST", format!("{cluster}/rotate-auth"), json!({})),
        ("POST", format!("{cluster}/invalidate-cache"), json!({})),
        ("GET", repo.to_owned(), nothing()),
        ("POST", "/api/v1/repositories".to_owned(), json!({"repo": "https://example.org/x"})),
        ("PUT", repo.to_owned(), json!({"repo": "https://example.org/r"})),
        ("DELETE", repo.to_owned(), nothing()),
        ("POST", format!("{repo}/validate"), json!("https://example.org/r")),
        ("GET", format!("{repo}/refs"), nothing()),
        ("GET", format!("{repo}/apps"), nothing()),
        ("GET", format!("{repo}/helmcharts"), nothing()),
        ("GET", format!("{repo}/oci-tags"), nothing()),
        ("POST", format!("{repo}/appdetails"), json!({"source": source})),
        ("GET", write_repo.to_owned(), nothing()),
        ("POST", "/api/v1/write-repositories".to_owned(), json!({"repo": "https://e.org/x"})),
        ("DELETE", write_repo.to_owned(), nothing()),
        ("POST", "/api/v1/repocreds".to_owned(), json!({"url": "https://example.org"})),
        ("DELETE", "/api/v1/repocreds/https%3A%2F%2Fexample.org".to_owned(), nothing()),
        ("GET", "/api/v1/certificates".to_owned(), nothing()),
        ("POST", "/api/v1/certificates".to_owned(), json!({"items": []})),
        ("DELETE", "/api/v1/certificates".to_owned(), nothing()),
        ("GET", "/api/v1/gpgkeys".to_owned(), nothing()),
        ("GET", "/api/v1/gpgkeys/2337DBF43947B17C".to_owned(), nothing()),
        ("POST", "/api/v1/gpgkeys".to_owned(), json!({"keyData": "x"})),
        ("DELETE", "/api/v1/gpgkeys?keyID=2337DBF43947B17C".to_owned(), nothing()),
        ("GET", "/api/v1/account/admin".to_owned(), nothing()),
        ("POST", "/api/v1/account/admin/token".to_owned(), json!({})),
        ("DELETE", "/api/v1/account/admin/token/x".to_owned(), nothing()),
    ];
    for (verb, path, body) in refused {
        let (status, told) = weak.ask(verb, &path, body).await;
        assert_eq!(status, 403, "{verb} {path}: {told}");
    }
    for list in [
        "applications",
        "projects",
        "clusters",
        "repositories",
        "write-repositories",
        "repocreds",
        "write-repocreds",
        "applicationsets",
    ] {
        let listed = weak.get(&format!("/api/v1/{list}")).await;
        assert!(listed["items"].as_array().is_none_or(Vec::is_empty), "{list}: {listed}");
    }
    // Oneself one may always see.
    assert_eq!(weak.get("/api/v1/account").await["items"][0]["name"], "weak");
    set_config(client, "argocd-cm", json!({"accounts.weak": null})).await;
}

/// Somebody who may do some things meets, method by method, what they may not.
pub(crate) async fn some_rights_are_not_all(rest: &Rest, client: &Client) {
    set_config(client, "argocd-cm", json!({"accounts.some": "apiKey"})).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/some", Value::Null).await.0 == 200
    })
    .await;
    let (_, body) = rest.ask("POST", "/api/v1/account/some/token", json!({})).await;
    let token = body["token"].as_str().expect("a token").to_owned();
    let some = rest.by(token);
    let hidden = json!({"metadata": {"name": "hidden"}, "spec": {"project": "default",
        "source": {"repoURL": "https://example.org/web.git", "path": "web"},
        "destination": {"server": SERVER, "namespace": "x"}}});
    assert_eq!(rest.ask("POST", "/api/v1/applications", hidden).await.0, 200);

    let app = "/api/v1/applications/web";
    let map = "?resourceName=live&kind=ConfigMap&version=v1&namespace=argocd";
    let pod = "?resourceName=shell&kind=Pod&version=v1&namespace=argocd";
    let patch = |what: &str| json!({"patch": what, "patchType": "merge"});
    // What is tried, and the right that it needs besides a look.
    let tries = [
        ("PATCH", app.to_owned(), patch(r#"{"metadata":{"labels":{"x":"y"}}}"#), "update"),
        ("POST", format!("{app}/sync"), json!({"dryRun": true}), "sync"),
        ("DELETE", format!("{app}/operation"), Value::Null, "sync"),
        ("POST", format!("{app}/rollback"), json!({"id": 99}), "sync"),
        ("GET", format!("{app}/logs?podName=shell"), Value::Null, "logs"),
        (
            "POST",
            format!("{app}/resource{pod}&patchType=application%2Fmerge-patch%2Bjson"),
            json!(r#"{"metadata":{"labels":{"x":"y"}}}"#),
            "update//Pod/*",
        ),
        ("DELETE", format!("{app}/resource{map}"), Value::Null, "delete//ConfigMap/*"),
        (
            "POST",
            format!(
                "{app}/resource/actions?resourceName=web&kind=Deployment&group=apps&version=v1&namespace=argocd"
            ),
            json!("restart"),
            "action/apps/Deployment/*",
        ),
    ];
    let look = "p, some, applications, get, default/web, allow\n";
    let right = |right: &str| match right {
        "logs" => format!("{look}p, some, logs, get, default/web, allow\n"),
        right => format!("{look}p, some, applications, {right}, default/web, allow\n"),
    };
    let rights = [
        "update",
        "sync",
        "logs",
        "update//Pod/*",
        "delete//ConfigMap/*",
        "action/apps/Deployment/*",
    ];
    for (number, given) in rights.into_iter().enumerate() {
        let policy = format!("{}p, some, clusters, get, round-{number}, allow\n", right(given));
        set_config(client, "argocd-rbac-cm", json!({"policy.csv": policy})).await;
        let can = format!("/api/v1/account/can-i/clusters/get/round-{number}");
        until("the policy is read", async || some.get(&can).await["value"] == "yes").await;
        for (verb, path, body, needs) in &tries {
            let (status, told) = some.ask(verb, path, body.clone()).await;
            assert_eq!(
                status == 403,
                *needs != given,
                "with {given}: {verb} {path}: {status} {told}"
            );
        }
        // Lists show what may be seen, and what may not be seen is not there.
        let listed = some.get("/api/v1/applications").await;
        let names: Vec<_> = listed["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["metadata"]["name"].clone())
            .collect();
        assert_eq!(names, ["web"]);
        let forbidden = some.ask("GET", "/api/v1/applications/hidden", Value::Null).await;
        let absent = some.ask("GET", "/api/v1/applications/nonsense", Value::Null).await;
        assert_eq!(forbidden, absent);
        assert_eq!(forbidden.0, 403);
        let event = some.first_event("/api/v1/stream/applications").await;
        assert_eq!(event["result"]["application"]["metadata"]["name"], "web");
    }
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
    set_config(client, "argocd-cm", json!({"accounts.some": null})).await;
    assert_eq!(
        rest.ask("DELETE", "/api/v1/applications/hidden?cascade=false", Value::Null).await.0,
        200
    );
}
