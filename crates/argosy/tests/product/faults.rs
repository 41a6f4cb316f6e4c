//! What happens to clusters and processes: they go away in the middle of
//! something and come back. Nothing is lost, nothing is falsely green, nobody
//! has to restart anything.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use testkit::clock::Clock;
use testkit::git::Repo;
use testkit::truth::{Checker, Claim, lies_now};

use crate::world::{CONTROL_NAMESPACE, World, config_map, deployment, shared};

/// A status may be wrong for this long: nobody hears of everything at once.
const NOBODY_IS_FASTER: Duration = Duration::from_secs(5);

#[tokio::test]
async fn killed_in_the_middle_of_a_sync_it_goes_on_where_it_was() {
    let world = World::new();
    world.start_product();
    let it = world.test("killed").await;
    let repo = Repo::new();
    // An image with an exclamation mark never starts on the dev cluster's node.
    repo.commit(&[
        ("app/db.yaml", &deployment("db", 0, "db:!")),
        (
            "app/m.yaml",
            &config_map("m", "color", "blue").replace(
                "name: m",
                "name: m\n  annotations: {argocd.argoproj.io/sync-wave: \"1\"}",
            ),
        ),
    ]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    it.until("waiting for db", |app| {
        app.status
            .operation_state
            .as_ref()
            .is_some_and(|state| state.message == "waiting for healthy state of apps/Deployment/db")
    })
    .await;
    world.kill_product();

    let healthy = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "db:1"}]}}}});
    it.patch("apps/v1", "Deployment", "db", &healthy).await;
    it.until_object("apps/v1", "Deployment", "db", |it| {
        it.is_some_and(|it| it.integer(&["status", "readyReplicas"]) == Some(1))
    })
    .await;
    assert_eq!(it.get("v1", "ConfigMap", "m").await, None);
    world.start_product();
    let app = it.until("done", |app| {
        app.status.operation_state.as_ref().is_some_and(|state| state.phase == "Succeeded")
    });
    assert_eq!(app.await.status.history.len(), 1);
    assert!(it.get("v1", "ConfigMap", "m").await.is_some());
}

#[tokio::test]
async fn an_api_server_that_goes_away_is_not_taken_for_an_empty_cluster() {
    let world = World::new();
    world.start_product();
    let it = world.test("outage").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let checker = Checker::start(world.cluster.kubectl_path(), NOBODY_IS_FASTER);

    world.cluster.stop_api_server();
    let second = repo.commit(&[("app/m.yaml", &config_map("m", "version", "2"))]);
    world.cluster.start_api_server().expect("it starts again");
    let app = it.until("synced to the second commit", |app| {
        app.status.sync.revision == second && app.status.sync.status == "Synced"
    });
    assert_eq!(app.await.status.conditions, []);
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["data", "version"]) == Some("2"))
    })
    .await;
    assert_eq!(checker.lies(), []);
}

/// Proves the checker, not the product.
#[tokio::test]
async fn a_status_that_nobody_keeps_true_is_noticed() {
    let world = World::new();
    world.start_product();
    let it = world.test("stale").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "version", "1")),
        ("app/web.yaml", &deployment("web", 0, "web:1")),
    ]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let lies = || lies_now(world.cluster.kubectl_path());
    assert_eq!(lies(), []);
    world.kill_product();
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
    let told: Vec<_> = lies().into_iter().map(|it| (it.app, it.claim)).collect();
    assert_eq!(told, [("stale".to_owned(), Claim::Synced)]);
}

/// Proves the checker, not the product.
#[tokio::test]
async fn a_health_that_nobody_keeps_true_is_noticed() {
    let world = World::new();
    world.start_product();
    let it = world.test("ailing").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/m.yaml", &config_map("m", "version", "1")),
        ("app/web.yaml", &deployment("web", 0, "web:!")),
    ]);
    it.create(&it.automated(&repo)).await;
    it.until("Synced and not well", |app| {
        app.status.sync.status == "Synced" && app.status.health.status == "Progressing"
    })
    .await;
    let lies = || lies_now(world.cluster.kubectl_path());
    assert_eq!(lies(), []);
    world.kill_product();
    it.patch_app(&json!({"status": {"health": {"status": "Healthy"}}})).await;
    let told: Vec<_> = lies().into_iter().map(|it| (it.app, it.claim, it.truth)).collect();
    let truth = "Deployment web: 0 of 1 replicas are there".to_owned();
    assert_eq!(told, [("ailing".to_owned(), Claim::Healthy, truth)]);
}

/// The clock of the product alone is set: first three hours ahead, then six, then right.
#[expect(clippy::print_stderr, reason = "who runs the tests must see that one was not")]
#[tokio::test]
async fn a_clock_that_is_set_back_or_forward_holds_nothing_up() {
    let world = World::new();
    let Some(clock) = Clock::in_folder(world.cluster.folder()) else {
        eprintln!("NOTICE: there is no libfaketime; nothing was tried");
        return;
    };
    clock.is_ahead_by("3h");
    let variables = clock.variables();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let config = world.cluster.kubeconfig_path();
    world.start_product_in(&config, CONTROL_NAMESPACE, &variables);
    let (it, failing) = (world.test("jumps").await, world.test("jumps-failing").await);
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    // Its objects have nowhere to go yet; the next attempt is minutes away at most.
    let mut app = failing.automated(&repo);
    app["spec"]["destination"]["namespace"] = json!("not-yet");
    let backoff = json!({"duration": "1s", "factor": 2, "maxDuration": "2s"});
    app["spec"]["syncPolicy"]["retry"] = json!({"limit": 1000, "backoff": backoff});
    failing.create(&app).await;
    let is_retried = |app: &api::Application| {
        app.status.operation_state.as_ref().is_some_and(|it| it.retry_count > 0)
    };
    failing.until("retried", is_retried).await;
    let checker = Checker::start(world.cluster.kubectl_path(), NOBODY_IS_FASTER);

    for ahead in ["6h", "0", "3h"] {
        clock.is_ahead_by(ahead);
        it.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
        it.until_object("v1", "ConfigMap", "m", |it| {
            it.is_some_and(|it| it.text(&["data", "version"]) == Some("1"))
        })
        .await;
        it.until_synced().await;
    }
    clock.is_ahead_by("0");
    let app = it.until_synced().await;
    assert_eq!(app.status.conditions, []);
    world.kubectl(&["create", "namespace", "not-yet"]);
    failing.until_synced().await;
    assert_eq!(checker.lies(), []);
}

#[tokio::test]
async fn an_application_deleted_during_its_sync_goes_with_everything_when_that_ends() {
    let it = shared().test("deleted-midway").await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/db.yaml", &deployment("db", 0, "db:!")),
        ("app/web.yaml", &deployment("web", 1, "web:1")),
    ]);
    let mut app = it.automated(&repo);
    app["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    it.create(&app).await;
    it.until("waiting for db", |app| {
        app.status
            .operation_state
            .as_ref()
            .is_some_and(|state| state.message.contains("waiting for"))
    })
    .await;
    it.world.kubectl(&["--namespace", "argocd", "delete", "application", it.name, "--wait=false"]);
    it.until("marked, and at work", |app| {
        app.metadata.deletion_timestamp.is_some() && app.operation.is_some()
    })
    .await;
    it.patch_app(&json!({"status": {"operationState": {"phase": "Terminating"}}})).await;
    it.until_gone().await;
    assert_eq!(it.get("apps/v1", "Deployment", "db").await, None);
    assert_eq!(it.get("apps/v1", "Deployment", "web").await, None);
}

#[tokio::test]
async fn what_rbac_forbids_is_told_with_who_may_not_do_what() {
    let world = World::new();
    let kubeconfig = limited_kubeconfig(&world);
    world.start_product_with(&kubeconfig, "argocd");
    let it = world.test("forbidden").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    let app = it.until("failed", |app| {
        app.status.operation_state.as_ref().is_some_and(|state| state.phase == "Failed")
    });
    let message = app.await.status.operation_state.expect("an operation").message;
    for words in ["system:serviceaccount:argocd:limited", "cannot create", "configmaps"] {
        assert!(message.contains(words), "{message}");
    }
}

/// A user who may read everything and write what an installation writes to its
/// own namespace, but nothing else.
fn limited_kubeconfig(world: &World) -> PathBuf {
    world.kubectl(&["--namespace", "argocd", "create", "serviceaccount", "limited"]);
    let reader = ["create", "clusterrole", "reader", "--verb=get,list,watch", "--resource=*.*"];
    world.kubectl(&reader);
    world.kubectl(&[
        "create",
        "clusterrole",
        "writer",
        "--verb=patch",
        "--resource=applications.argoproj.io",
    ]);
    for role in ["reader", "writer"] {
        world.kubectl(&[
            "create",
            "clusterrolebinding",
            role,
            "--clusterrole",
            role,
            "--serviceaccount=argocd:limited",
        ]);
    }
    let own = "--resource=secrets,configmaps,appprojects.argoproj.io";
    world.kubectl(&["-n", "argocd", "create", "role", "own", "--verb=create,patch,update", own]);
    let account = "--serviceaccount=argocd:limited";
    world.kubectl(&["-n", "argocd", "create", "rolebinding", "own", "--role=own", account]);
    let token = world.kubectl(&["--namespace", "argocd", "create", "token", "limited"]);
    let admin = std::fs::read_to_string(world.cluster.kubeconfig_path()).expect("a kubeconfig");
    let path = world.cluster.folder().join("limited-kubeconfig");
    std::fs::write(&path, admin).expect("a kubeconfig on disk");
    let file = path.display().to_string();
    let config = ["config", "--kubeconfig", &file];
    let run = |arguments: &[&str]| world.kubectl(&[&config, arguments].concat());
    run(&["set-credentials", "limited", "--token", token.trim()]);
    let context = run(&["current-context"]);
    run(&["set-context", context.trim(), "--user", "limited"]);
    path
}
