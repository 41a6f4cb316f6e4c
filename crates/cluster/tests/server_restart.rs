//! The API server dies and comes back: everything recovers by itself, and nothing is missed.
//!
//! Apart from the other tests, because this one takes their server away.

use std::time::Duration;

use cluster::{Access, ApplyOptions, Change, Changes, Cluster, Continuity, StoreOptions, Tagged};
use devcluster::DevCluster;
use object::Object;
use serde_json::json;

const TRACKING: &str = "test.example.org/application";

fn map(name: &str, value: &str) -> Object {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value}, "metadata":
        {"name": name, "namespace": "default", "annotations": {TRACKING: "web"}}});
    Object::from_value(map).expect("an object")
}

async fn start(control_plane: &DevCluster) -> Cluster {
    let access = Access::from_kubeconfig(Some(&control_plane.kubeconfig_path()), None).await;
    let tracking = |it: &Tagged<'_>| it.annotation(TRACKING);
    let options = StoreOptions { grace: Duration::ZERO, ..StoreOptions::new(tracking) };
    let cluster = Cluster::start(&access.expect("a kubeconfig"), options).await.expect("a cluster");
    cluster.ready().await;
    cluster
}

fn count(cluster: &Cluster, wanted: fn(&Continuity) -> bool) -> usize {
    cluster.continuity().values().filter(|it| wanted(it)).count()
}

fn verified(it: &Continuity) -> bool {
    matches!(it, Continuity::Verified { .. })
}

async fn until(changes: &mut Changes, mut question: impl FnMut() -> bool) {
    let asking = async {
        while !question() {
            changes.next().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), asking).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_watch_heals_after_the_server_was_gone_and_tells_what_it_missed() {
    let control_plane = DevCluster::start().expect("a control plane");
    let cluster = start(&control_plane).await;
    let kinds = cluster.continuity().len();
    assert_eq!(count(&cluster, verified), kinds);
    for name in ["a", "b"] {
        cluster.apply(&map(name, "1"), &ApplyOptions::default()).await.expect("applied");
    }

    let mut changes = cluster.changes();
    tokio::task::block_in_place(|| control_plane.stop_api_server());
    until(&mut changes, || count(&cluster, verified) == 0).await;
    let live = cluster.live("web", &[]);
    assert_eq!((live.objects.len(), live.unverified.len()), (2, 1));
    let error = cluster.apply(&map("a", "2"), &ApplyOptions::default()).await.expect_err("gone");
    assert_eq!(error.disposition(), cluster::Disposition::RetrySoon);

    tokio::task::block_in_place(|| control_plane.start_api_server()).expect("started");
    // By a second pair of eyes, so that only the watch of the first can tell it of these.
    let other = start(&control_plane).await;
    other.apply(&map("a", "2"), &ApplyOptions::default()).await.expect("applied");
    let key = map("b", "").key();
    other
        .client()
        .delete(other.kinds().preferred(&key.group_kind()).expect("served"), "default", "b")
        .await
        .expect("deleted");

    until(&mut changes, || count(&cluster, verified) == kinds).await;
    until(&mut changes, || cluster.known(&key).is_none()).await;
    let live = cluster.live("web", &[]);
    assert_eq!(live.unverified, []);
    let values: Vec<_> = live
        .objects
        .values()
        .map(|it| it.object().text(&["data", "value"]).map(str::to_owned))
        .collect();
    assert_eq!(values, [Some("2".to_owned())]);

    cluster.apply(&map("c", "1"), &ApplyOptions::default()).await.expect("applied");
    let told = changes.next().await;
    assert!(told.iter().any(|it| matches!(it, Change::Object { .. })), "{told:?}");
}
