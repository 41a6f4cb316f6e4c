//! Applications: created, changed, synced, listed, watched, deleted.

use cluster::{ApiKind, Client, Selector};
use object::GroupVersionKind;
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::{COMMIT, NAMESPACE, set_config, until};

pub(crate) fn application(path: &str) -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"team": "shop"}},
        "spec": {
            "source": {"repoURL": "https://example.org/web.git", "path": path},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"},
        },
        "operation": {"sync": {"prune": true}},
    })
}

pub(crate) async fn applications_are_validated_created_and_changed(rest: &Rest) {
    let at = "/api/v1/applications";
    rest.refuses("POST", at, application("nowhere"), (400, 3,
        "error while validating and normalizing app: application spec for web is invalid: \
         InvalidSpecError: Unable to generate manifests in nowhere: nowhere: app path does not exist",
    )).await;
    let mut elsewhere = application("web");
    elsewhere["spec"]["project"] = "ghost".into();
    rest.refuses(
        "POST",
        at,
        elsewhere,
        (400, 3, "app is not allowed in project \"ghost\", or the project does not exist"),
    )
    .await;
    let (status, created) = rest.ask("POST", at, application("web")).await;
    assert_eq!(status, 200, "{created}");
    assert_eq!(created["spec"]["project"], "default");
    assert_eq!(created["operation"], Value::Null, "an operation is not the creator's to set");
    assert_eq!(
        (created["kind"].clone(), created["status"]["sync"].is_object()),
        (Value::Null, true)
    );
    assert_eq!(rest.ask("POST", at, application("web")).await.0, 200, "the same again is no error");
    let mut other = application("web");
    other["metadata"]["labels"] = json!({"team": "other"});
    let expect =
        (400, 3, "existing application spec is different, use upsert flag to force update");
    rest.refuses("POST", at, other, expect).await;
    let unvalidated = "/api/v1/applications?validate=false&upsert=true";
    let (status, updated) = rest.ask("POST", unvalidated, application("other")).await;
    assert_eq!((status, &updated["spec"]["source"]["path"]), (200, &"other".into()));
    let patch = json!({"patch": r#"{"spec":{"source":{"path":"web"}}}"#, "patchType": "merge"});
    let (status, patched) = rest.ask("PATCH", "/api/v1/applications/web", patch).await;
    assert_eq!((status, &patched["spec"]["source"]["path"]), (200, &"web".into()), "{patched}");

    let listed = rest.get("/api/v1/applications?selector=team%3Dshop&project=default").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let listed = rest.get("/api/v1/applications?selector=team!%3Dshop").await;
    assert_eq!(listed["items"], json!([]));
    let expect = (403, 7, "permission denied");
    rest.refuses("GET", "/api/v1/applications/ghost", Value::Null, expect).await;
    let expect = (404, 5, "applications.argoproj.io \"ghost\" not found");
    rest.refuses("GET", "/api/v1/applications/ghost?project=default", Value::Null, expect).await;
    let manifests = rest.get("/api/v1/applications/web/manifests").await;
    assert_eq!(
        (&manifests["revision"], manifests["manifests"].as_array().map(Vec::len)),
        (&COMMIT.into(), Some(1))
    );
}

pub(crate) async fn an_operation_is_written_for_the_controller(rest: &Rest) {
    let request = json!({"prune": true, "infos": [{"name": "why", "value": "test"}]});
    let (status, synced) = rest.ask("POST", "/api/v1/applications/web/sync", request).await;
    assert_eq!(status, 200, "{synced}");
    let operation = &synced["operation"];
    assert_eq!(operation["initiatedBy"], json!({"username": "admin"}));
    assert_eq!(
        (&operation["sync"]["revision"], &operation["sync"]["prune"]),
        (&COMMIT.into(), &true.into())
    );
    let expect = (400, 9, "another operation is already in progress");
    rest.refuses("POST", "/api/v1/applications/web/sync", json!({}), expect).await;
    let expect = (400, 3, "application web does not have deployment with id 7");
    rest.refuses("POST", "/api/v1/applications/web/rollback", json!({"id": 7}), expect).await;
    let expect = (400, 3, "Unable to terminate operation. No operation is in progress");
    rest.refuses("DELETE", "/api/v1/applications/web/operation", Value::Null, expect).await;
}

pub(crate) async fn a_namespace_must_be_permitted(rest: &Rest) {
    let expect = (403, 7, "namespace 'other' is not permitted");
    rest.refuses("GET", "/api/v1/applications/web?appNamespace=other", Value::Null, expect).await;
    let expect = (403, 7, "permission denied");
    rest.refuses("GET", "/api/v1/applications/web?appNamespace=team-a", Value::Null, expect).await;
}

pub(crate) async fn a_watch_begins_with_what_is_there(rest: &Rest) {
    let event = rest.first_event("/api/v1/stream/applications?name=web").await;
    assert_eq!(event["result"]["type"], "ADDED");
    assert_eq!(event["result"]["application"]["metadata"]["name"], "web");
    let event = rest.first_event("/api/v1/stream/applications/web/resource-tree").await;
    assert_eq!(event["result"]["nodes"][0]["name"], "live", "{event}");
}

pub(crate) async fn specifications_are_replaced(rest: &Rest) {
    let at = "/api/v1/applications/web";
    let mut app = rest.get(at).await;
    app["metadata"]["labels"] = json!({"team": "shop", "more": "yes"});
    let (status, updated) = rest.ask("PUT", at, app).await;
    assert_eq!((status, &updated["metadata"]["labels"]["more"]), (200, &"yes".into()), "{updated}");
    let mut spec = updated["spec"].clone();
    spec["info"] = json!([{"name": "a", "value": "b"}]);
    let (status, told) = rest.ask("PUT", &format!("{at}/spec"), spec).await;
    assert_eq!((status, &told["info"][0]["value"]), (200, &"b".into()), "{told}");
    let path = format!("{at}/revisions/1.0.0/ocimetadata");
    assert_eq!(rest.get(&path).await["version"], "1.0.0");
    let expect = (500, 2, "no chart found for application: web");
    rest.refuses("GET", &format!("{at}/revisions/1.0.0/chartdetails"), Value::Null, expect).await;
    let chart = json!({"patch": r#"{"spec":{"source":{"chart":"web","path":null,"targetRevision":"1.0.0"}}}"#, "patchType": "merge"});
    let (status, told) = rest.ask("PATCH", &format!("{at}?validate=false"), chart).await;
    assert_eq!(status, 200, "{told}");
    rest.get(&format!("{at}/revisions/1.0.0/chartdetails")).await;
    let back = json!({"patch": r#"{"spec":{"source":{"chart":null,"path":"web","targetRevision":null}}}"#, "patchType": "merge"});
    let (status, told) = rest.ask("PATCH", at, back).await;
    assert_eq!(status, 200, "{told}");
}

/// The controller's part is played here: it writes what became of an operation.
pub(crate) async fn operations_end_and_are_taken_back(rest: &Rest, client: &Client) {
    let apps = ApiKind::known(
        &GroupVersionKind::parse(api::API_VERSION, "Application"),
        "applications",
        true,
    );
    let at = "/api/v1/applications/web";
    let running = json!({"status": {"operationState": {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z",
        "operation": {"sync": {}}}}});
    client.merge_patch(&apps, NAMESPACE, "web", None, &running).await.expect("patched");
    let (status, told) = rest.ask("DELETE", &format!("{at}/operation"), Value::Null).await;
    assert_eq!((status, told), (200, json!({})));
    let stored = client.get(&apps, NAMESPACE, "web").await.expect("an answer").expect("there");
    assert_eq!(stored.text(&["status", "operationState", "phase"]), Some("Terminating"));

    let source = json!({"repoURL": "https://example.org/web.git", "path": "web"});
    let ended = json!({"operation": null, "status": {"operationState": null, "history": [
        {"id": 3, "revision": COMMIT, "source": source, "deployedAt": "2026-01-01T00:00:00Z"}]}});
    client.merge_patch(&apps, NAMESPACE, "web", None, &ended).await.expect("patched");
    let (status, told) = rest.ask("POST", &format!("{at}/rollback"), json!({"id": 3})).await;
    assert_eq!((status, &told["operation"]["sync"]["revision"]), (200, &COMMIT.into()), "{told}");
    let clean = json!({"operation": null});
    client.merge_patch(&apps, NAMESPACE, "web", None, &clean).await.expect("patched");
}

pub(crate) async fn lists_come_by_page_and_by_field(rest: &Rest) {
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|it| it["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = rest.get("/api/v1/applications").await;
    let mut paged = Vec::new();
    let mut token = String::new();
    loop {
        let path = format!("/api/v1/applications?limit=1&continue={token}");
        let page = rest.get(&path).await;
        paged.extend(names(&page));
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, names(&all));
    assert!(!paged.is_empty());
    let found = rest.get(&format!("/api/v1/applications?search={}", paged[0])).await;
    assert!(names(&found).contains(&paged[0]));
    assert_eq!(names(&rest.get("/api/v1/applications?health=Nonsense").await), [""; 0]);
    let fields = rest.get("/api/v1/applications?fields=items.metadata.name").await;
    let item = fields["items"][0].as_object().expect("an item");
    assert_eq!(item.keys().collect::<Vec<_>>(), ["metadata"], "{fields}");
    let expect =
        (400, 3, "cannot sort by \"color\"; name, project, health, sync and created are known");
    rest.refuses("GET", "/api/v1/applications?sort=color", Value::Null, expect).await;
}

pub(crate) async fn links_and_badges_are_made(rest: &Rest, client: &Client) {
    let all = rest.get("/api/v1/applications").await;
    let name = all["items"][0]["metadata"]["name"].as_str().expect("an Application").to_owned();
    let links = "- url: https://logs/{{.app.metadata.name}}\n  title: logs\n  if: app.spec.project != \"x\"\n- url: https://never\n  title: never\n  if: \"false\"";
    let config = json!({"application.links": links, "statusbadge.enabled": "true"});
    set_config(client, "argocd-cm", config).await;
    until("the links are known", async || {
        rest.get(&format!("/api/v1/applications/{name}/links")).await["items"].is_array()
    })
    .await;
    let made = rest.get(&format!("/api/v1/applications/{name}/links")).await;
    let expect = json!([{"title": "logs", "url": format!("https://logs/{name}")}]);
    assert_eq!(made["items"], expect);
    let (status, badge) = rest.ask("GET", &format!("/api/badge?name={name}"), Value::Null).await;
    assert_eq!(status, 200);
    assert!(badge.as_str().is_some_and(|it| it.starts_with("<svg")), "{badge}");
    let (_, badge) = rest.ask("GET", "/api/badge?name=absent", Value::Null).await;
    assert!(badge.as_str().is_some_and(|it| it.contains("Not Found")), "{badge}");
}

pub(crate) async fn a_deletion_cascades_unless_told_otherwise(rest: &Rest, client: &Client) {
    let path = "/api/v1/applications/web?cascade=false&propagationPolicy=foreground";
    let expect = (400, 3, "cannot set propagation policy when cascading is disabled");
    rest.refuses("DELETE", path, Value::Null, expect).await;
    let (status, body) = rest.ask("DELETE", "/api/v1/applications/web", Value::Null).await;
    assert_eq!((status, body), (200, json!({})));
    let app = rest.get("/api/v1/applications/web").await;
    assert_eq!(app["metadata"]["finalizers"], json!(["resources-finalizer.argocd.argoproj.io"]));
    let expect = (400, 9, "application is deleting");
    rest.refuses("POST", "/api/v1/applications/web/sync", json!({}), expect).await;
    let events = ApiKind::known(&GroupVersionKind::parse("v1", "Event"), "events", true);
    let events = client.list(&events, NAMESPACE, &Selector::everything()).await;
    let events = events.expect("events");
    let mut told: Vec<&str> = events.iter().filter_map(|it| it.text(&["message"])).collect();
    told.sort_unstable();
    told.dedup();
    let sync = format!("admin initiated sync to HEAD ({COMMIT})");
    let expect = [
        "admin created application",
        "admin deleted application",
        "admin deleted resource /ConfigMap 'live'",
        "admin patched resource /ConfigMap 'live'",
        sync.as_str(),
        "admin updated application spec",
    ];
    for message in expect {
        assert!(told.contains(&message), "{message} is not in {told:?}");
    }
}
