//! What a project forbids does not happen, and what it watches is told.

use serde_json::{Value, json};
use testkit::files::FileServer;
use testkit::git::Repo;

use crate::world::{CONTROL_NAMESPACE, Test, World, api_kind, config_map, shared};

const TRACKING: &str = "argocd.argoproj.io/tracking-id";

/// A project of the test's name; `rules` go over what lets everything through.
async fn project(it: &Test<'_>, rules: Value) {
    let mut spec = json!({
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    });
    for (field, value) in rules.as_object().expect("rules") {
        spec[field] = value.clone();
    }
    it.create(&json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
        "metadata": {"name": it.name, "namespace": CONTROL_NAMESPACE}, "spec": spec,
    }))
    .await;
}

fn in_project(it: &Test<'_>, mut app: Value) -> Value {
    app["spec"]["project"] = it.name.into();
    app
}

#[track_caller]
fn has_condition(app: &api::Application, kind: &str, text: &str) -> bool {
    app.status.conditions.iter().any(|it| it.type_ == kind && it.message.contains(text))
}

#[tokio::test]
async fn an_application_of_a_project_that_does_not_exist_says_so_until_it_does() {
    let it = shared().test("no-project").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.create(&in_project(&it, it.automated(&repo))).await;
    it.until("invalid", |app| {
        let text = "Application referencing project no-project which does not exist";
        has_condition(app, "InvalidSpecError", text) && app.status.sync.status == "Unknown"
    })
    .await;

    project(&it, json!({})).await;
    let app = it.until_synced().await;
    assert_eq!(app.status.conditions, []);
}

#[tokio::test]
async fn a_forbidden_destination_and_a_forbidden_source_are_told() {
    let it = shared().test("forbidden").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    let elsewhere = json!([{"server": "*", "namespace": "elsewhere"}]);
    project(&it, json!({"destinations": elsewhere, "sourceRepos": ["https://one.example/*"]}))
        .await;
    it.create(&in_project(&it, it.automated(&repo))).await;
    it.until("told both", |app| {
        has_condition(app, "InvalidSpecError", "is not permitted in project 'forbidden'")
            && has_condition(
                app,
                "InvalidSpecError",
                "do not match any of the allowed destinations",
            )
    })
    .await;
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
}

#[tokio::test]
async fn credentials_of_a_repository_are_used_only_once_the_project_permits_it() {
    let it = shared().test("bounded").await;
    let (charts, repo) = (FileServer::start(), Repo::new());
    let lib = "apiVersion: v2\nname: lib\nversion: 1.0.0\n";
    let map = config_map("private", "a", "1");
    let files = [("Chart.yaml", lib), ("templates/m.yaml", map.as_str())];
    charts.put("/lib-1.0.0.tgz", testkit::archive::chart("lib", &files));
    let index = "apiVersion: v1\nentries:\n  lib:\n  - {version: 1.0.0, urls: [lib-1.0.0.tgz]}\n";
    charts.put("/index.yaml", index);
    // user:s3cret
    charts.require_authorization("Basic dXNlcjpzM2NyZXQ=");
    let chart = format!(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {{name: lib, version: 1.0.0, repository: '{}'}}\n",
        charts.url()
    );
    repo.commit(&[("app/Chart.yaml", chart.as_str())]);
    it.create(&json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "bounded-charts", "namespace": CONTROL_NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "repository"},
        },
        "stringData": {
            "url": charts.url(), "type": "helm", "username": "user", "password": "s3cret",
        },
    }))
    .await;
    project(&it, json!({"sourceRepos": [repo.file_url()]})).await;
    it.create(&in_project(&it, it.automated(&repo))).await;
    let told = "(the project bounded does not permit this repository in its sourceRepos, so credentials for it are not used; add it there if they may be)";
    it.until("told", |app| has_condition(app, "ComparisonError", told)).await;
    let given = charts.take_authorizations();
    assert!(given.iter().all(String::is_empty), "{given:?}");

    let kind = api_kind("argoproj.io/v1alpha1", "AppProject");
    let permitted = json!({"spec": {"sourceRepos": [repo.file_url(), charts.url()]}});
    let patched = it.client.merge_patch(&kind, CONTROL_NAMESPACE, it.name, None, &permitted).await;
    patched.expect("patched");
    it.until_synced().await;
    assert!(it.get("v1", "ConfigMap", "private").await.is_some());
}

#[tokio::test]
async fn a_forbidden_kind_is_neither_written_nor_deleted() {
    let it = shared().test("forbidden-kind").await;
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n";
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1")), ("app/s.yaml", secret)]);
    project(&it, json!({"namespaceResourceBlacklist": [{"group": "", "kind": "Secret"}]})).await;
    // Looks like the application's, as if the project had once allowed it.
    it.create(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "old", "namespace": it.name,
            "annotations": {TRACKING: format!("{0}:/Secret:{0}/old", it.name)}},
    }))
    .await;
    let mut app = in_project(&it, it.application(&repo));
    app["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    app["operation"] = json!({"sync": {"prune": true}});
    it.create(&app).await;

    let app = it.until("failed", |app| {
        app.operation.is_none()
            && app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Failed")
            && app.status.sync.status == "OutOfSync"
    });
    let app = app.await;
    let state = app.status.operation_state.as_ref().expect("it ran");
    let results = &state.sync_result.as_ref().expect("results").resources;
    let refused = results.iter().find(|it| it.kind == "Secret").expect("a result");
    assert_eq!(refused.message, "resource :Secret is not permitted in project forbidden-kind");
    let status = |name: &str| {
        app.status.resources.iter().find(|it| it.name == name).map(|it| it.status.as_str())
    };
    assert_eq!(
        (status("s"), status("m"), status("old")),
        (Some("Unknown"), Some("OutOfSync"), None)
    );
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None, "nothing is written");

    let kind = crate::world::api_kind("argoproj.io/v1alpha1", "Application");
    it.client.delete(&kind, CONTROL_NAMESPACE, it.name).await.expect("it is deleted");
    it.until_gone().await;
    assert!(it.get("v1", "Secret", "old").await.is_some());
}

#[tokio::test]
async fn a_closed_window_holds_auto_sync_back_until_it_opens() {
    let it = shared().test("window").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    let always = json!([{"kind": "deny", "schedule": "* * * * *", "duration": "1h",
        "applications": ["*"]}]);
    project(&it, json!({"syncWindows": always})).await;
    it.create(&in_project(&it, it.automated(&repo))).await;
    let app = it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    assert_eq!((app.operation, app.status.operation_state), (None, None));

    let open = json!({"spec": {"syncWindows": []}});
    let kind = crate::world::api_kind("argoproj.io/v1alpha1", "AppProject");
    it.client.merge_patch(&kind, CONTROL_NAMESPACE, it.name, None, &open).await.expect("patched");
    it.until_synced().await;
}

#[tokio::test]
async fn what_is_nobodys_is_told_where_the_project_asks() {
    let it = shared().test("nobodys").await;
    let repo = Repo::new();
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1")), ("app/service.yaml", service)]);
    project(&it, json!({"orphanedResources": {"warn": true}})).await;
    it.create(&in_project(&it, it.automated(&repo))).await;
    it.until_synced().await;
    it.until_object("v1", "Endpoints", "web", |it| it.is_some()).await;

    it.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "stray", "namespace": it.name}}))
        .await;
    it.until("warned", |app| {
        let text = "Application has 1 orphaned resources";
        has_condition(app, "OrphanedResourceWarning", text) && app.status.sync.status == "Synced"
    })
    .await;
    let ignore = json!({"spec": {"orphanedResources": {"ignore": [{"kind": "ConfigMap"}]}}});
    let kind = crate::world::api_kind("argoproj.io/v1alpha1", "AppProject");
    it.client.merge_patch(&kind, CONTROL_NAMESPACE, it.name, None, &ignore).await.expect("patched");
    it.until("no longer warned", |app| app.status.conditions.is_empty()).await;
}

#[tokio::test]
async fn where_impersonation_is_on_a_sync_has_the_rights_of_the_named_account() {
    let world = World::new();
    world.kubectl(&[
        "create",
        "configmap",
        "argocd-cm",
        "--namespace",
        CONTROL_NAMESPACE,
        "--from-literal=application.sync.impersonation.enabled=true",
    ]);
    world.start_product();
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);

    let it = world.test("unnamed").await;
    it.create(&it.application(&repo)).await;
    let state = it.sync(1, json!({})).await;
    let unnamed = "no matching service account found for destination server \
                   https://kubernetes.default.svc and namespace unnamed";
    assert_eq!((state.phase.as_str(), state.message.as_str()), ("Error", unnamed));

    let named = json!({"destinationServiceAccounts": [
        {"server": "*", "namespace": "*", "defaultServiceAccount": "deployer"},
    ]});
    let it = world.test("powerless").await;
    project(&it, named.clone()).await;
    it.create(&in_project(&it, it.application(&repo))).await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(state.phase, "Failed");
    let result = &state.sync_result.expect("results").resources[0];
    let user = "system:serviceaccount:powerless:deployer";
    assert!(result.message.contains(user), "{}", result.message);

    let it = world.test("powerful").await;
    let role = ["create", "role", "deployer", "--namespace=powerful"];
    world.kubectl(&[&role[..], &["--verb=*", "--resource=configmaps"]].concat());
    let binding = ["create", "rolebinding", "deployer", "--namespace=powerful", "--role=deployer"];
    world.kubectl(&[&binding[..], &["--serviceaccount=powerful:deployer"]].concat());
    project(&it, named).await;
    let mut app = in_project(&it, it.automated(&repo));
    // A role counts a moment after it is there.
    app["spec"]["syncPolicy"]["retry"] = json!({"limit": 10, "backoff": {"duration": "1s"}});
    it.create(&app).await;
    it.until_synced().await;
}

#[tokio::test]
async fn an_empty_list_of_permitted_kinds_permits_none() {
    let it = shared().test("no-kinds").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    project(&it, json!({"namespaceResourceWhitelist": []})).await;
    it.create(&in_project(&it, it.application(&repo))).await;
    let state = it.sync(1, json!({})).await;
    let results = &state.sync_result.as_ref().expect("results").resources;
    assert_eq!(results[0].message, "resource :ConfigMap is not permitted in project no-kinds");
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
}

/// Who runs the installation names the namespaces, and who runs the project does.
#[tokio::test]
async fn applications_of_other_namespaces_are_looked_after_where_both_sides_say_so() {
    let world = World::new();
    let config = world.cluster.kubeconfig_path();
    let flags = ["--application-namespaces=team-*,/^group-[0-9]$/"];
    let mut product = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &flags, &[]);
    let it = world.test("any-namespace").await;
    project(&it, json!({"sourceNamespaces": ["team-a", "group-*"]})).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    let deploy = async |namespace: &str| {
        world.kubectl(&["create", "namespace", namespace]);
        let mut app = in_project(&it, it.automated(&repo));
        app["metadata"]["namespace"] = json!(namespace);
        app["spec"]["destination"]["namespace"] = json!(namespace);
        it.create(&app).await;
    };
    for namespace in ["team-a", "group-1", "team-b", "elsewhere"] {
        deploy(namespace).await;
    }
    for namespace in ["team-a", "group-1"] {
        it.until_in(namespace, "Synced", |app| app.status.sync.status == "Synced").await;
        let map = it.client.get(&api_kind("v1", "ConfigMap"), namespace, "m").await;
        let map = map.expect("an answer").expect("a ConfigMap");
        let id = format!("{namespace}_{}:/ConfigMap:{namespace}/m", it.name);
        assert_eq!(map.annotation(TRACKING), Some(id.as_str()));
    }
    it.until_in("team-b", "told that its project does not know it", |app| {
        has_condition(app, "UnknownError", "is not permitted to use project")
            && app.status.sync.status == "Unknown"
    })
    .await;
    let kind = api_kind("argoproj.io/v1alpha1", "Application");
    let ignored = it.client.get(&kind, "elsewhere", it.name).await.expect("an answer");
    assert_eq!(ignored.expect("an Application").at(&["status", "sync"]), None);
    product.kill().expect("a process to kill");
    product.wait().expect("its end");
}
