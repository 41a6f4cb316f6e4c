//! What users give by mistake: each mistake is named where they look for it,
//! and nobody else's application suffers.

use api::Application;
use serde_json::json;
use testkit::git::Repo;

use crate::world::{Test, config_map, shared};

fn has_condition(app: &Application, type_: &str, words: &[&str]) -> bool {
    app.status
        .conditions
        .iter()
        .any(|it| it.type_ == type_ && words.iter().all(|word| it.message.contains(word)))
}

/// The application ends in this condition, with the verdict Unknown.
async fn ends_in(it: &Test<'_>, type_: &str, words: &[&str]) {
    let app = it.until("in its condition", |app| has_condition(app, type_, words)).await;
    assert_eq!(app.status.sync.status, "Unknown");
}

async fn ends_in_operation_message(it: &Test<'_>, words: &[&str]) -> Application {
    it.until("failed with its message", |app| {
        app.status
            .operation_state
            .as_ref()
            .is_some_and(|state| words.iter().all(|word| state.message.contains(word)))
    })
    .await
}

#[tokio::test]
async fn an_unreachable_repository_is_named_and_does_not_disturb_others() {
    let it = shared().test("no-repository").await;
    let mut app = it.automated(&Repo::new());
    app["spec"]["source"]["repoURL"] = json!("http://127.0.0.1:1/nothing.git");
    it.create(&app).await;
    ends_in(&it, "ComparisonError", &["http://127.0.0.1:1/nothing.git", "could not reach"]).await;

    let other = shared().test("no-repository-neighbour").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    other.create(&other.automated(&repo)).await;
    other.until_synced().await;
}

#[tokio::test]
async fn a_missing_branch_is_named() {
    let it = shared().test("no-branch").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["spec"]["source"]["targetRevision"] = json!("mian");
    it.create(&app).await;
    ends_in(
        &it,
        "ComparisonError",
        &["unable to resolve 'mian' to a commit SHA", "there is no such branch"],
    )
    .await;
}

#[tokio::test]
async fn a_missing_path_is_named_and_found_once_it_is_there() {
    let it = shared().test("no-path").await;
    let repo = Repo::new();
    repo.commit(&[("elsewhere/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    ends_in(&it, "ComparisonError", &["app path does not exist"]).await;
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let app = it.until_synced().await;
    assert_eq!(app.status.conditions, []);
}

#[tokio::test]
async fn invalid_yaml_is_told_with_file_line_and_column() {
    let it = shared().test("bad-yaml").await;
    let repo = Repo::new();
    repo.commit(&[(
        "app/m.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m\ndata: 1\n",
    )]);
    it.create(&it.automated(&repo)).await;
    ends_in(&it, "ComparisonError", &["app/m.yaml", "line ", "column "]).await;
}

#[tokio::test]
async fn an_object_without_kind_is_told_with_its_file() {
    let it = shared().test("no-kind").await;
    let repo = Repo::new();
    // A file that holds no object at all is some other YAML and is passed over.
    let second_has_none =
        format!("{}---\napiVersion: v1\nmetadata: {{name: m}}\n", config_map("m", "a", "b"));
    repo.commit(&[("app/m.yaml", &second_has_none), ("app/values.yaml", "color: blue\n")]);
    it.create(&it.automated(&repo)).await;
    ends_in(&it, "ComparisonError", &["app/m.yaml", "kind"]).await;
}

#[tokio::test]
async fn an_object_without_name_is_told_and_hides_nothing() {
    let it = shared().test("no-name").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}\n"),
        ("app/other.yaml", &config_map("other", "color", "blue")),
    ]);
    it.create(&it.automated(&repo)).await;
    ends_in(&it, "ComparisonError", &["a ConfigMap has no metadata.name"]).await;
}

#[tokio::test]
async fn a_name_that_yaml_reads_as_a_boolean_is_explained() {
    let it = shared().test("boolean-name").await;
    let repo = Repo::new();
    repo.commit(&[("app/n.yaml", &config_map("n", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    ends_in(&it, "ComparisonError", &["metadata.name of a ConfigMap is false", "quote it"]).await;
}

#[tokio::test]
async fn an_unknown_kind_refuses_the_whole_sync() {
    let it = shared().test("unknown-kind").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/w.yaml", "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n"),
        ("app/m.yaml", &config_map("m", "color", "blue")),
    ]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    ends_in_operation_message(
        &it,
        &["tasks are not valid", "Make sure the \"Widget\" CRD is installed"],
    )
    .await;
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
}

#[tokio::test]
async fn a_missing_namespace_is_named_and_the_sync_succeeds_once_it_is_there() {
    let it = shared().test("no-namespace").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["spec"]["destination"]["namespace"] = json!("no-namespace-yet");
    app["spec"]["syncPolicy"]["retry"] =
        json!({"limit": 20, "backoff": {"duration": "1s", "factor": 1}});
    it.create(&app).await;
    ends_in_operation_message(
        &it,
        &["namespace no-namespace-yet", "does not exist", "Retrying attempt #1"],
    )
    .await;
    it.world.kubectl(&["create", "namespace", "no-namespace-yet"]);
    it.until_synced().await;
}

#[tokio::test]
async fn an_object_the_api_server_refuses_is_told_in_its_words() {
    let it = shared().test("refused").await;
    let repo = Repo::new();
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n";
    repo.commit(&[("app/s.yaml", service)]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    ends_in_operation_message(&it, &["spec.ports[0].port", "must be between 1 and 65535"]).await;
}

#[tokio::test]
async fn an_unknown_cluster_is_named() {
    let it = shared().test("no-cluster").await;
    let mut app = it.automated(&Repo::new());
    app["spec"]["destination"]["server"] = json!("https://example.invalid");
    it.create(&app).await;
    ends_in(&it, "InvalidSpecError", &["\"https://example.invalid\" has not been configured"])
        .await;
}

#[tokio::test]
async fn an_application_without_source_is_told_what_it_lacks() {
    let it = shared().test("no-source").await;
    let mut app = it.automated(&Repo::new());
    app["spec"].as_object_mut().expect("a spec").remove("source");
    it.create(&app).await;
    ends_in(&it, "InvalidSpecError", &["spec.source or spec.sources is required"]).await;
}

#[tokio::test]
async fn a_commit_that_failed_is_not_tried_again_and_says_so() {
    let it = shared().test("failed-commit").await;
    let repo = Repo::new();
    repo.commit(&[(
        "app/w.yaml",
        "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n",
    )]);
    let mut app = it.automated(&repo);
    app["spec"]["syncPolicy"]["retry"] = json!({"limit": 0});
    it.create(&app).await;
    it.until("held back", |app| {
        has_condition(app, "SyncError", &["Failed last sync attempt to ["])
    })
    .await;

    let second = repo.commit(&[("app/w.yaml", &config_map("m", "color", "blue"))]);
    let app = it.until("synced to the second commit", |app| {
        app.status.sync.revision == second && app.status.sync.status == "Synced"
    });
    assert_eq!(app.await.status.conditions, []);
}

#[tokio::test]
async fn a_commit_that_touches_nothing_that_matters_is_no_new_attempt() {
    let it = shared().test("failed-and-elsewhere").await;
    let repo = Repo::new();
    let widget = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w}\n";
    let first = repo.commit(&[("app/w.yaml", widget), ("shared/README", "one")]);
    let mut app = it.automated(&repo);
    app["metadata"]["annotations"] = json!({"argocd.argoproj.io/manifest-generate-paths": "."});
    app["spec"]["syncPolicy"]["retry"] = json!({"limit": 0});
    it.create(&app).await;
    let failed = format!("Failed last sync attempt to [{first}]");
    let failed = [failed.as_str()];
    let held = it.until("held back", |app| has_condition(app, "SyncError", &failed)).await;

    let second = repo.commit(&[("shared/README", "two")]);
    let still = it.until("held back at the second commit, because of the first", |app| {
        app.status.sync.revision == second && has_condition(app, "SyncError", &failed)
    });
    let tried = |app: Application| app.status.operation_state.expect("an operation").started_at;
    assert_eq!(tried(still.await), tried(held), "nothing was tried again");

    let third = repo.commit(&[("app/w.yaml", &config_map("m", "color", "blue"))]);
    let app = it.until("synced to the third commit", |app| {
        app.status.sync.revision == third && app.status.sync.status == "Synced"
    });
    assert_eq!(app.await.status.conditions, []);
}
