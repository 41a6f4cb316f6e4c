//! What bounds a sync: how long it rests between waves, how many go on at once, how
//! long it may take. Processes of their own, since flags count when they start.

use std::sync::OnceLock;

use object::Object;
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::world::{CONTROL_NAMESPACE, Test, World, config_map, deployment};

/// Long enough that no two writes are as far apart by chance, in whole seconds.
const REST: i64 = 4;

/// One sync at a time, with a rest between waves.
fn slow() -> &'static World {
    static SLOW: OnceLock<World> = OnceLock::new();
    SLOW.get_or_init(|| {
        let (world, rest) = (World::new(), REST.to_string());
        let variables = [
            ("ARGOCD_SYNC_WAVE_DELAY", rest.as_str()),
            ("ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS", "1"),
        ];
        let config = world.cluster.kubeconfig_path();
        world.start_product_in(&config, CONTROL_NAMESPACE, &variables);
        world
    })
}

fn two_waves() -> Repo {
    let in_wave = |name: &str, wave: &str| {
        let annotations = format!("annotations: {{argocd.argoproj.io/sync-wave: \"{wave}\"}}");
        let name_line = format!("name: {name}\n");
        config_map(name, "x", "1").replace(&name_line, &format!("{name_line}  {annotations}\n"))
    };
    let repo = Repo::new();
    repo.commit(&[("app/a.yaml", &in_wave("a", "0")), ("app/b.yaml", &in_wave("b", "1"))]);
    repo
}

fn second(object: Option<Object>) -> i64 {
    let object = object.expect("it was written");
    let time = object.text(&["metadata", "creationTimestamp"]).expect("a time");
    time.parse::<jiff::Timestamp>().expect("a time").as_second()
}

/// The seconds in which the two waves were written.
async fn waves_of(it: &Test<'_>) -> (i64, i64) {
    it.until_synced().await;
    let first = second(it.get("v1", "ConfigMap", "a").await);
    (first, second(it.get("v1", "ConfigMap", "b").await))
}

#[tokio::test]
async fn a_sync_rests_between_waves_for_as_long_as_it_is_told() {
    let it = slow().test("rests").await;
    let repo = two_waves();
    it.create(&it.automated(&repo)).await;
    let (first, second) = waves_of(&it).await;
    assert!(second - first >= REST, "{first} and {second}");
}

#[tokio::test]
async fn no_more_syncs_go_on_at_once_than_is_permitted() {
    let (one, other) = (slow().test("one-turn").await, slow().test("other-turn").await);
    let repo = two_waves();
    one.create(&one.automated(&repo)).await;
    other.create(&other.automated(&repo)).await;
    let (one, other) = (waves_of(&one).await, waves_of(&other).await);
    assert!(one.1 <= other.0 || other.1 <= one.0, "{one:?} and {other:?} overlap");
}

/// Nothing happens in the cluster that could wake anybody.
#[tokio::test]
async fn a_sync_that_never_ends_is_terminated_when_its_time_is_over() {
    let world = World::new();
    let limit = [("ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT", "5")];
    let config = world.cluster.kubeconfig_path();
    world.start_product_in(&config, CONTROL_NAMESPACE, &limit);
    let it = world.test("endless").await;
    let repo = Repo::new();
    repo.commit(&[
        // It never becomes ready on the dev cluster's node.
        ("app/db.yaml", &deployment("db", 0, "db:!")),
        ("app/web.yaml", &deployment("web", 1, "web:1")),
    ]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}, "retry": {"limit": 3}});
    it.create(&app).await;
    let app = it.until("terminated", |app| {
        app.operation.is_none()
            && app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Failed")
    });
    let state = app.await.status.operation_state.expect("an operation");
    assert_eq!(state.message, "Operation terminated, triggered by controller sync timeout");
    let took = |time: Option<api::Time>| time.and_then(api::Time::timestamp).expect("a time");
    let took = took(state.finished_at).duration_since(took(Some(state.started_at)));
    assert!(took.as_secs() >= 5, "{took:#}");
    assert_eq!(it.get("apps/v1", "Deployment", "web").await, None);
}

/// A try that waits for its turn is not exempt.
#[tokio::test]
async fn a_sync_that_waits_for_its_next_try_is_terminated_when_its_time_is_over() {
    let world = World::new();
    let limit = [("ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT", "5")];
    let config = world.cluster.kubeconfig_path();
    world.start_product_in(&config, CONTROL_NAMESPACE, &limit);
    let it = world.test("retries").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "x", "1"))]);
    let mut app = it.application(&repo);
    app["spec"]["destination"]["namespace"] = json!("nowhere");
    let backoff: Value = json!({"duration": "1h", "maxDuration": "1h"});
    app["operation"] = json!({"sync": {}, "retry": {"limit": 3, "backoff": backoff}});
    it.create(&app).await;
    let app = it.until("terminated", |app| {
        app.operation.is_none()
            && app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Failed")
    });
    let message = app.await.status.operation_state.expect("an operation").message;
    let expect = "Operation terminated, triggered by controller sync timeout (retried 1 times).";
    assert_eq!(message, expect);
}
