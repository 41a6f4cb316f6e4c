//! How a sync goes: hooks of every phase, waves, pruning, and every option.

use api::OperationState;
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::world::{CONTROL_NAMESPACE, Test, World, config_map, deployment, shared};

const APPROVED: &str = "argocd.argoproj.io/deletion-approved";

/// A ConfigMap with annotations, given as flow mapping of YAML.
fn marked(name: &str, annotations: &str) -> String {
    config_map(name, "a", "1")
        .replace("metadata:\n", &format!("metadata:\n  annotations: {{{annotations}}}\n"))
}

fn with_option(name: &str, option: &str) -> String {
    marked(name, &format!("argocd.argoproj.io/sync-options: {option}"))
}

fn in_wave(name: &str, wave: i32) -> String {
    marked(name, &format!("argocd.argoproj.io/sync-wave: \"{wave}\""))
}

/// A Job that is a hook; `command` decides how it ends.
fn hook(name: &str, phase: &str, command: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  annotations: {{argocd.argoproj.io/hook: {phase}}}
spec:
  backoffLimit: 0
  template:
    spec: {{restartPolicy: Never, containers: [{{name: main, image: job, command: [\"{command}\"]}}]}}
"
    )
}

/// A Pod that crashes, in a wave.
fn crashing(name: &str, wave: i32) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {{argocd.argoproj.io/sync-wave: \"{wave}\"}}}}
spec: {{containers: [{{name: main, image: job, command: [\"false\"]}}]}}
"
    )
}

/// Each result as `name: message`.
fn results(state: &OperationState) -> Vec<String> {
    let results = &state.sync_result.as_ref().expect("results").resources;
    results.iter().map(|it| format!("{}: {}", it.name, it.message)).collect()
}

fn phases(state: &OperationState) -> Vec<(&str, &str)> {
    let results = &state.sync_result.as_ref().expect("results").resources;
    results.iter().map(|it| (it.name.as_str(), it.hook_phase.as_str())).collect()
}

fn options(words: &[&str]) -> Value {
    json!({"syncOptions": words})
}

async fn is_there(it: &Test<'_>, name: &str) -> bool {
    it.get("v1", "ConfigMap", name).await.is_some()
}

/// A test with these files in git and an Application that waits for orders.
async fn given<'w>(
    world: &'w World,
    name: &'static str,
    files: &[(&str, &str)],
) -> (Test<'w>, Repo) {
    let it = world.test(name).await;
    let repo = Repo::new();
    repo.commit(files);
    it.create(&it.application(&repo)).await;
    (it, repo)
}

#[tokio::test]
async fn hooks_of_a_sync_run_before_with_and_after_it() {
    let (it, _repo) = given(
        shared(),
        "every-hook",
        &[
            ("app/a.yaml", &hook("before", "PreSync", "true")),
            ("app/b.yaml", &hook("with", "Sync", "true")),
            ("app/c.yaml", &hook("after", "PostSync", "true")),
            ("app/d.yaml", &hook("failed", "SyncFail", "true")),
            ("app/e.yaml", &config_map("m", "a", "1")),
        ],
    )
    .await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(state.phase, "Succeeded", "{}", state.message);
    let expect = [
        ("before", "Succeeded"),
        ("m", "Succeeded"),
        ("with", "Succeeded"),
        ("after", "Succeeded"),
    ];
    assert_eq!(phases(&state), expect);
}

#[tokio::test]
async fn a_failed_sync_runs_its_syncfail_hooks() {
    let (it, _repo) = given(
        shared(),
        "sync-fail",
        &[
            ("app/a.yaml", &hook("after", "PostSync", "false")),
            ("app/b.yaml", &hook("failed", "SyncFail", "true")),
            ("app/m.yaml", &config_map("m", "a", "1")),
        ],
    )
    .await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(state.phase, "Failed");
    assert_eq!(phases(&state), [("m", "Succeeded"), ("after", "Failed"), ("failed", "Succeeded")]);
}

#[tokio::test]
async fn hooks_of_a_deletion_run_before_and_after_it() {
    let hook = "argocd.argoproj.io/hook:";
    let stays = "argocd.argoproj.io/sync-options: Delete=false, argocd.argoproj.io/hook:";
    let goes = "argocd.argoproj.io/hook-delete-policy: HookSucceeded, argocd.argoproj.io/hook:";
    let (it, _repo) = given(
        shared(),
        "deletion-hooks",
        &[
            ("app/a.yaml", &marked("before", &format!("{hook} PreDelete"))),
            ("app/b.yaml", &marked("before-and-kept", &format!("{stays} PreDelete"))),
            ("app/c.yaml", &marked("after", &format!("{hook} PostDelete"))),
            ("app/d.yaml", &marked("after-and-gone", &format!("{goes} PostDelete"))),
            ("app/m.yaml", &config_map("m", "a", "1")),
        ],
    )
    .await;
    it.patch_app(&json!({"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}))
        .await;
    it.sync(1, json!({})).await;
    assert!(!is_there(&it, "before-and-kept").await && !is_there(&it, "after").await);
    it.until("held by its hooks", |app| app.metadata.finalizers.len() > 1).await;
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name, "--wait=false"]);
    it.until_gone().await;
    assert!(is_there(&it, "before-and-kept").await && is_there(&it, "after").await);
    for gone in ["m", "before", "after-and-gone"] {
        assert!(!is_there(&it, gone).await, "{gone}");
    }
}

#[tokio::test]
async fn manifests_sent_with_a_sync_are_what_counts_until_the_next_sync() {
    let (it, _repo) =
        given(shared(), "local-manifests", &[("app/m.yaml", &config_map("m", "a", "1"))]).await;
    it.sync(1, json!({})).await;
    let tracking = format!("{}:/ConfigMap:{}/m", it.name, it.name);
    let sent = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "2"}, "metadata": {
        "name": "m", "namespace": it.name,
        "annotations": {"argocd.argoproj.io/tracking-id": tracking},
    }});
    it.sync(2, json!({"manifests": [sent.to_string()]})).await;
    let app = it.until("Synced with what was sent", |app| app.status.sync.status == "Synced").await;
    let told: Vec<&str> = app.status.conditions.iter().map(|it| it.type_.as_str()).collect();
    assert_eq!((told, app.status.sync.revision.as_str()), (vec!["LocalManifestsWarning"], ""));
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.text(&["data", "a"]), Some("2"));

    it.sync(3, json!({})).await;
    let app = it.until("Synced with git", |app| !app.status.sync.revision.is_empty()).await;
    assert_eq!((app.status.sync.status.as_str(), app.status.conditions.len()), ("Synced", 0));
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.text(&["data", "a"]), Some("1"));
}

#[tokio::test]
async fn an_object_that_git_says_to_skip_stays_as_it_is() {
    let (it, repo) = given(
        shared(),
        "skipped",
        &[("app/m.yaml", &config_map("m", "a", "1")), ("app/o.yaml", &config_map("o", "a", "1"))],
    )
    .await;
    it.sync(1, json!({})).await;
    let skipped = marked("m", "argocd.argoproj.io/hook: Skip").replace("\"1\"", "\"2\"");
    let commit = repo.commit(&[("app/m.yaml", &skipped)]);
    let app = it.until("compared anew", |app| app.status.sync.revision == commit).await;
    assert_eq!(app.status.sync.status, "Synced", "{:?}", app.status.conditions);
    it.sync(2, json!({"prune": true})).await;
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.text(&["data", "a"]), Some("1"));
}

#[tokio::test]
async fn a_degraded_wave_keeps_the_next_from_beginning() {
    let (it, _repo) = given(
        shared(),
        "degraded-wave",
        &[("app/a.yaml", &crashing("first", 0)), ("app/b.yaml", &in_wave("second", 1))],
    )
    .await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(state.phase, "Failed");
    assert!(
        state.message.starts_with("one or more synchronization tasks completed unsuccessfully")
    );
    assert!(!is_there(&it, "second").await);
}

#[tokio::test]
async fn pruning_goes_backwards_and_waits_for_each_wave_to_be_gone() {
    let held = in_wave("second", 1)
        .replace("metadata:\n", "metadata:\n  finalizers: [example.org/hold]\n");
    let (it, repo) = given(
        shared(),
        "prune-order",
        &[
            ("app/a.yaml", &in_wave("first", 0)),
            ("app/b.yaml", &held),
            ("app/c.yaml", &config_map("kept", "a", "1")),
        ],
    )
    .await;
    it.sync(1, json!({})).await;
    repo.commit(&[("app/a.yaml", ""), ("app/b.yaml", "")]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    it.patch_app(&json!({"operation": {"sync": {"prune": true}}})).await;
    it.until_object("v1", "ConfigMap", "second", |it| {
        it.is_some_and(|it| it.at(&["metadata", "deletionTimestamp"]).is_some())
    })
    .await;
    it.until("waiting", |app| {
        let state = app.status.operation_state.as_ref();
        state.is_some_and(|it| it.message.starts_with("waiting for deletion of"))
    })
    .await;
    let first = it.get("v1", "ConfigMap", "first").await.expect("its turn has not come");
    assert_eq!(first.at(&["metadata", "deletionTimestamp"]), None);
    it.patch("v1", "ConfigMap", "second", &json!({"metadata": {"finalizers": null}})).await;
    it.until_object("v1", "ConfigMap", "first", |it| it.is_none()).await;
    it.until_synced().await;
}

#[tokio::test]
async fn prune_last_leaves_what_is_extra_until_everything_is_well() {
    let (it, repo) = given(shared(), "prune-last", &[("app/a.yaml", &in_wave("old", 0))]).await;
    it.sync(1, json!({})).await;
    repo.commit(&[("app/a.yaml", ""), ("app/b.yaml", &crashing("new", 1))]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let mut operation = options(&["PruneLast=true"]);
    operation["prune"] = json!(true);
    assert_eq!(it.sync(2, operation).await.phase, "Failed");
    assert!(is_there(&it, "old").await);
}

#[tokio::test]
async fn what_must_not_be_pruned_stays_and_what_asks_is_asked_about() {
    let (it, repo) = given(
        shared(),
        "prune-consent",
        &[
            ("app/a.yaml", &with_option("never", "Prune=false")),
            ("app/b.yaml", &with_option("asks", "Prune=confirm")),
            ("app/c.yaml", &config_map("kept", "a", "1")),
        ],
    )
    .await;
    it.sync(1, json!({})).await;
    repo.commit(&[("app/a.yaml", ""), ("app/b.yaml", "")]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    it.patch_app(&json!({"operation": {"sync": {"prune": true}}})).await;
    it.until("waiting", |app| {
        let state = app.status.operation_state.as_ref();
        state.is_some_and(|it| it.message.starts_with("waiting for pruning confirmation of"))
    })
    .await;
    assert!(is_there(&it, "asks").await);
    let now = jiff::Timestamp::now().to_string();
    it.patch_app(&json!({"metadata": {"annotations": {APPROVED: now}}})).await;
    let app = it.until("done", |app| {
        app.status
            .operation_state
            .as_ref()
            .is_some_and(|it| it.phase == "Succeeded" && it.operation.info.is_empty())
    });
    let state = app.await.status.operation_state.expect("an operation");
    let results = results(&state);
    assert!(results.contains(&"never: ignored (no prune)".to_owned()), "{results:?}");
    assert!(results.contains(&"asks: pruned".to_owned()), "{results:?}");
    assert!(is_there(&it, "never").await && !is_there(&it, "asks").await);
}

#[tokio::test]
async fn what_must_not_be_deleted_stays_and_what_asks_is_asked_about() {
    let (it, _repo) = given(
        shared(),
        "delete-consent",
        &[
            ("app/a.yaml", &with_option("never", "Delete=false")),
            ("app/b.yaml", &with_option("asks", "Delete=confirm")),
            ("app/c.yaml", &config_map("plain", "a", "1")),
        ],
    )
    .await;
    it.patch_app(&json!({"metadata": {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}}))
        .await;
    it.sync(1, json!({})).await;
    let app = it.until("Synced", |app| app.status.sync.status == "Synced").await;
    let asks: Vec<&str> = app
        .status
        .resources
        .iter()
        .filter(|it| it.requires_deletion_confirmation)
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(asks, ["asks"]);
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name, "--wait=false"]);
    // By the time that another Application came into being, this one was looked at.
    let other = Test { world: it.world, client: it.client.clone(), name: "delete-consent-other" };
    let bystander = Repo::new();
    bystander.commit(&[("app/m.yaml", &config_map("bystander", "a", "1"))]);
    let mut app = other.automated(&bystander);
    app["spec"]["destination"]["namespace"] = json!(it.name);
    other.create(&app).await;
    other.until_synced().await;
    for name in ["asks", "plain", "never"] {
        assert!(is_there(&it, name).await, "{name} is still there");
    }
    let now = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(1)).to_string();
    it.patch_app(&json!({"metadata": {"annotations": {APPROVED: now}}})).await;
    it.until_gone().await;
    assert!(is_there(&it, "never").await);
    assert!(!is_there(&it, "asks").await && !is_there(&it, "plain").await);
}

#[tokio::test]
async fn unknown_fields_are_refused_unless_nobody_looks() {
    let wrong = config_map("m", "a", "1") + "colour: blue\n";
    let (it, _repo) = given(shared(), "validate", &[("app/m.yaml", &wrong)]).await;
    let state = it.sync(1, json!({})).await;
    assert_eq!(state.phase, "Failed");
    assert!(results(&state)[0].contains("unknown field"), "{state:?}");
    assert_eq!(it.sync(2, options(&["Validate=false"])).await.phase, "Succeeded");
    assert!(is_there(&it, "m").await);
}

#[tokio::test]
async fn a_namespace_is_made_with_what_the_application_manages_on_it() {
    let it = shared().test("create-namespace").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    let mut app = it.application(&repo);
    app["spec"]["destination"]["namespace"] = json!("made-by-a-sync");
    app["spec"]["syncPolicy"] = json!({
        "syncOptions": ["CreateNamespace=true"],
        "managedNamespaceMetadata": {"labels": {"team": "blue"}},
    });
    it.create(&app).await;
    let state = it.sync(1, options(&["CreateNamespace=true"])).await;
    assert_eq!(state.phase, "Succeeded");
    let path = "jsonpath={.metadata.labels.team}";
    let team = it.world.kubectl(&["get", "namespace", "made-by-a-sync", "-o", path]);
    assert_eq!(team, "blue");
}

#[tokio::test]
async fn only_what_is_out_of_sync_is_written_where_that_was_asked_for() {
    let (it, _repo) = given(
        shared(),
        "out-of-sync-only",
        &[
            ("app/a.yaml", &config_map("same", "a", "1")),
            ("app/b.yaml", &config_map("other", "a", "1")),
        ],
    )
    .await;
    it.sync(1, json!({})).await;
    it.patch("v1", "ConfigMap", "other", &json!({"data": {"a": "2"}})).await;
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let state = it.sync(2, options(&["ApplyOutOfSyncOnly=true"])).await;
    assert_eq!(results(&state), ["other: configmap/other configured"]);
}

#[tokio::test]
async fn an_unserved_kind_does_not_stop_the_rest_where_that_was_asked_for() {
    let unserved = "apiVersion: nowhere.example/v1\nkind: Nothing\nmetadata: {name: nowhere}\n";
    let files = [("app/n.yaml", unserved), ("app/m.yaml", &config_map("m", "a", "1"))];
    let (it, _repo) = given(shared(), "skip-dry-run", &files).await;
    assert_eq!(it.sync(1, json!({})).await.phase, "Failed");
    assert!(!is_there(&it, "m").await);
    let state = it.sync(2, options(&["SkipDryRunOnMissingResource=true"])).await;
    assert_eq!(state.phase, "Failed");
    assert!(is_there(&it, "m").await);
}

#[tokio::test]
async fn an_object_of_two_applications_fails_the_sync_where_that_was_asked_for() {
    let (it, repo) =
        given(shared(), "shared-object", &[("app/m.yaml", &config_map("m", "a", "1"))]).await;
    it.sync(1, json!({})).await;
    let rival = Test { world: it.world, client: it.client.clone(), name: "shared-object-rival" };
    let mut app = rival.application(&repo);
    app["spec"]["destination"]["namespace"] = json!(it.name);
    rival.create(&app).await;
    let warned = |app: &api::Application| {
        app.status.conditions.iter().any(|it| it.type_ == "SharedResourceWarning")
    };
    rival.until("warned", warned).await;
    let state = rival.sync(1, options(&["FailOnSharedResource=true"])).await;
    assert_eq!(state.phase, "Failed");
    assert!(state.message.contains("shared-object"), "{}", state.message);
}

#[tokio::test]
async fn what_a_pruned_object_owns_stays_where_that_was_asked_for() {
    let (it, repo) = given(
        shared(),
        "orphaning",
        &[
            ("app/web.yaml", &deployment("web", 0, "web:1")),
            ("app/kept.yaml", &config_map("kept", "a", "1")),
        ],
    )
    .await;
    it.sync(1, json!({})).await;
    it.until_synced().await;
    repo.commit(&[("app/web.yaml", "")]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let mut operation = options(&["PrunePropagationPolicy=orphan"]);
    operation["prune"] = json!(true);
    assert_eq!(it.sync(2, operation).await.phase, "Succeeded");
    it.until_object("apps/v1", "Deployment", "web", |it| it.is_none()).await;
    let names = it.world.kubectl(&["-n", it.name, "get", "replicasets", "-o", "name"]);
    assert!(names.contains("replicaset.apps/web-"), "{names:?}");
}

#[tokio::test]
async fn fields_are_not_taken_over_from_client_side_apply_where_that_was_forbidden() {
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"1\", b: \"2\"}\n";
    let (it, repo) = given(shared(), "no-takeover", &[("app/m.yaml", two)]).await;
    it.patch_app(&json!({"metadata": {"annotations": {
        "argocd.argoproj.io/client-side-apply-migration-manager": "argocd-controller"}}}))
        .await;
    it.sync(1, json!({})).await;
    repo.commit(&[("app/m.yaml", &config_map("m", "a", "1"))]);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    it.sync(2, options(&["ServerSideApply=true", "ClientSideApplyMigration=false"])).await;
    let live = it.get("v1", "ConfigMap", "m").await.expect("it is there");
    assert_eq!(live.text(&["data", "b"]), Some("2"), "nobody gave it up");
}

#[tokio::test]
async fn after_a_sync_to_a_newer_commit_the_branch_is_what_is_compared_with() {
    let world = World::new();
    let config = world.cluster.kubeconfig_path();
    let rarely = ["--app-resync=1h"];
    let mut product = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &rarely, &[]);
    let (it, repo) = given(&world, "newer", &[("app/m.yaml", &config_map("m", "a", "1"))]).await;
    it.sync(1, json!({})).await;
    it.until_synced().await;
    let newer = repo.commit(&[("app/m.yaml", &config_map("m", "a", "2"))]);
    assert_eq!(it.sync(2, json!({"revision": newer})).await.phase, "Succeeded");
    let app = it.until_synced().await;
    assert_eq!(app.status.sync.revision, newer);
    product.kill().expect("a running product");
    product.wait().expect("its end");
}

#[tokio::test]
async fn what_a_sync_of_nothing_left_out_of_sync_is_healed() {
    let (it, _repo) =
        given(shared(), "of-nothing", &[("app/m.yaml", &config_map("m", "a", "1"))]).await;
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let nothing = json!([{"group": "", "kind": "ConfigMap", "name": "nothing"}]);
    it.patch_app(&json!({
        "spec": {"syncPolicy": {"automated": {"selfHeal": true}}},
        "operation": {"sync": {"resources": nothing}},
    }))
    .await;
    it.until_synced().await;
}
