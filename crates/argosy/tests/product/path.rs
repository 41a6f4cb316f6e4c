//! From git to Synced, through every change, to nothing.

use serde_json::json;
use testkit::git::Repo;

use crate::world::{config_map, deployment, shared};

#[tokio::test]
async fn an_application_goes_from_git_to_synced_and_healthy() {
    let it = shared().test("first-sync").await;
    let repo = Repo::new();
    let commit = repo.commit(&[
        ("app/config.yaml", &config_map("settings", "color", "blue")),
        ("app/web.yaml", &deployment("web", 0, "web:1")),
    ]);
    it.create(&it.automated(&repo)).await;

    let app = it.until_synced().await;
    let status = &app.status;
    assert_eq!(status.sync.revision, commit);
    assert_eq!(status.source_type, "Directory");
    assert_eq!(status.summary.images, ["web:1"]);
    assert_eq!(status.conditions, []);
    assert_eq!(app.operation, None);
    let resources: Vec<_> = status
        .resources
        .iter()
        .map(|it| (it.kind.as_str(), it.name.as_str(), it.status.as_str()))
        .collect();
    assert_eq!(resources, [("ConfigMap", "settings", "Synced"), ("Deployment", "web", "Synced")]);
    let state = status.operation_state.as_ref().expect("an operation was carried out");
    assert_eq!(
        (state.phase.as_str(), state.message.as_str()),
        ("Succeeded", "successfully synced (all tasks run)")
    );
    assert!(state.operation.initiated_by.automated);
    let results = &state.sync_result.as_ref().expect("results").resources;
    assert_eq!(results[0].message, "configmap/settings created");
    assert_eq!(status.history.len(), 1);
    assert_eq!(status.history[0].revision, commit);

    let live = it.get("v1", "ConfigMap", "settings").await.expect("it was applied");
    assert_eq!(live.text(&["data", "color"]), Some("blue"));
    let tracking = "first-sync:/ConfigMap:first-sync/settings";
    assert_eq!(live.annotation("argocd.argoproj.io/tracking-id"), Some(tracking));
}

#[tokio::test]
async fn a_commit_is_picked_up_and_what_it_removes_is_pruned() {
    let it = shared().test("next-commit").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/a.yaml", &config_map("kept", "version", "1")),
        ("app/b.yaml", &config_map("dropped", "version", "1")),
    ]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;

    let second =
        repo.commit(&[("app/a.yaml", &config_map("kept", "version", "2")), ("app/b.yaml", "")]);
    let app = it.until("synced to the second commit", |app| {
        app.status.sync.revision == second
            && app.status.sync.status == "Synced"
            && app.status.history.len() == 2
    });
    let app = app.await;
    assert_eq!(app.status.resources.len(), 1);
    let kept = it.get("v1", "ConfigMap", "kept").await.expect("it is still wanted");
    assert_eq!(kept.text(&["data", "version"]), Some("2"));
    assert_eq!(it.get("v1", "ConfigMap", "dropped").await, None);
}

#[tokio::test]
async fn a_field_removed_from_git_is_removed_from_the_cluster() {
    let it = shared().test("field-removed").await;
    let repo = Repo::new();
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"1\", b: \"2\"}\n";
    repo.commit(&[("app/m.yaml", two)]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;

    let second = repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.until("synced to the second commit", |app| {
        app.status.sync.revision == second && app.status.sync.status == "Synced"
    })
    .await;
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is wanted");
    assert_eq!(live.at(&["data"]), Some(&json!({"a": "1"})));
}

#[tokio::test]
async fn drift_is_healed() {
    let it = shared().test("drift").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "color", "blue")),
        ("app/other.yaml", &config_map("other", "color", "green")),
    ]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;

    it.patch("v1", "ConfigMap", "m", &json!({"data": {"color": "red"}})).await;
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["data", "color"]) == Some("blue"))
    })
    .await;
    let app = it.until("healed", |app| {
        app.status.sync.status == "Synced"
            && app.status.operation_state.as_ref().is_some_and(|state| {
                state.phase == "Succeeded"
                    && state
                        .operation
                        .sync
                        .as_ref()
                        .is_some_and(|it| it.auto_heal_attempts_count == 1)
            })
    });
    let state = app.await.status.operation_state.expect("an operation");
    let healed = &state.operation.sync.expect("a sync").resources;
    assert_eq!(healed.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["m"]);
}

#[tokio::test]
async fn what_is_deleted_by_hand_comes_back() {
    let it = shared().test("deleted").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let first = it.get("v1", "ConfigMap", "m").await.expect("it was applied");
    let uid = first.text(&["metadata", "uid"]).expect("a uid").to_owned();
    it.world.kubectl(&["--namespace", it.name, "delete", "configmap", "m"]);
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["metadata", "uid"]) != Some(&uid))
    })
    .await;
}

#[tokio::test]
async fn without_auto_sync_an_operation_is_waited_for() {
    let it = shared().test("by-hand").await;
    let repo = Repo::new();
    let commit = repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.application(&repo)).await;
    let app = it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    assert_eq!(app.status.health.status, "Missing");
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);

    it.patch_app(
        &json!({"operation": {"sync": {"revision": commit}, "initiatedBy": {"username": "ann"}}}),
    )
    .await;
    let app = it.until_synced().await;
    assert_eq!(app.operation, None);
    assert_eq!(app.status.history[0].initiated_by.username, "ann");
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let it = shared().test("dry-run").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.application(&repo)).await;
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    it.patch_app(&json!({"operation": {"sync": {"dryRun": true}}})).await;
    let app = it.until("done", |app| {
        app.status.operation_state.as_ref().is_some_and(|state| state.phase == "Succeeded")
    });
    assert_eq!(app.await.status.history, []);
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
}

#[tokio::test]
async fn a_refresh_that_was_asked_for_is_done_and_taken_off() {
    let it = shared().test("refresh").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    for kind in ["normal", "hard"] {
        it.patch_app(&json!({"metadata": {"annotations": {"argocd.argoproj.io/refresh": kind}}}))
            .await;
        it.until("refreshed", |app| app.annotation("argocd.argoproj.io/refresh").is_none()).await;
    }
}

#[tokio::test]
async fn unknown_fields_of_an_application_survive_our_writes() {
    let it = shared().test("unknown-fields").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["metadata"]["labels"] = json!({"team": "blue"});
    app["spec"]["info"] = json!([{"name": "owner", "value": "ann"}]);
    it.create(&app).await;
    let app = it.until_synced().await;
    assert_eq!(app.metadata.labels["team"], "blue");
    assert_eq!(app.spec.info[0].value, "ann");
}

#[tokio::test]
async fn waves_and_hooks_run_in_their_order() {
    let it = shared().test("waves").await;
    let repo = Repo::new();
    let hook = "apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {argocd.argoproj.io/hook: PreSync}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: job, command: [\"true\"]}]}}
";
    repo.commit(&[
        ("app/hook.yaml", hook),
        ("app/db.yaml", &deployment("db", 0, "db:1")),
        ("app/web.yaml", &deployment("web", 1, "web:1")),
    ]);
    it.create(&it.automated(&repo)).await;
    let app = it.until_synced().await;
    let state = app.status.operation_state.expect("an operation");
    let results = &state.sync_result.expect("results").resources;
    let order: Vec<_> =
        results.iter().map(|it| (it.name.as_str(), it.hook_phase.as_str())).collect();
    // A sync is over when its last wave is applied; its health is the Application's.
    assert_eq!(order, [("migrate", "Succeeded"), ("db", "Succeeded"), ("web", "Running")]);

    let ready_at = |object: &object::Object| {
        let conditions = object.list(&["status", "conditions"]);
        let available =
            conditions.iter().find(|it| it["type"] == "Available").expect("it is available");
        available["lastTransitionTime"].as_str().expect("a time").to_owned()
    };
    let db = it.get("apps/v1", "Deployment", "db").await.expect("it was applied");
    let web = it.get("apps/v1", "Deployment", "web").await.expect("it was applied");
    let web_made = web.text(&["metadata", "creationTimestamp"]).expect("a time");
    assert!(ready_at(&db).as_str() <= web_made, "web was made before db was available");
}

#[tokio::test]
async fn a_failing_hook_fails_the_sync_and_nothing_else_is_applied() {
    let it = shared().test("failing-hook").await;
    let repo = Repo::new();
    let hook = "apiVersion: v1
kind: Pod
metadata:
  name: check
  annotations: {argocd.argoproj.io/hook: PreSync}
spec: {restartPolicy: Never, containers: [{name: main, image: job, command: [\"false\"]}]}
";
    repo.commit(&[("app/hook.yaml", hook), ("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    let app = it.until("failed", |app| {
        app.status.operation_state.as_ref().is_some_and(|state| state.phase == "Failed")
    });
    let message = app.await.status.operation_state.expect("an operation").message;
    let expected = "one or more synchronization tasks completed unsuccessfully, reason: \
                    container \"main\" failed with exit code 1";
    assert_eq!(message, expected);
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
}

#[tokio::test]
async fn deleting_an_application_with_the_finalizer_deletes_what_it_tracks() {
    let it = shared().test("cascade").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "color", "blue")),
        ("app/web.yaml", &deployment("web", 1, "web:1")),
    ]);
    let mut app = it.automated(&repo);
    app["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    it.create(&app).await;
    it.until_synced().await;
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name, "--wait=false"]);
    it.until_gone().await;
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
    assert_eq!(it.get("apps/v1", "Deployment", "web").await, None);
}

#[tokio::test]
async fn deleting_an_application_without_the_finalizer_leaves_its_objects() {
    let it = shared().test("orphans").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name]);
    it.until_gone().await;
    assert!(it.get("v1", "ConfigMap", "m").await.is_some());
}

#[tokio::test]
async fn an_application_of_a_cluster_that_nobody_knows_can_be_deleted() {
    let it = shared().test("lost-cluster").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    let mut app = it.automated(&repo);
    app["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    app["spec"]["destination"]["server"] = json!("https://gone.example");
    it.create(&app).await;
    it.until("Unknown", |app| app.status.sync.status == "Unknown").await;
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name, "--wait=false"]);
    it.until_gone().await;
}
