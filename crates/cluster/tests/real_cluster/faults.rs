//! What happens when the way to the server breaks.

use std::collections::BTreeSet;

use cluster::{Change, Cluster, Continuity};
use object::GroupKind;

use super::fixture::{Place, access, kubeconfig, options, run, until, until_told, values};
use super::proxy::{Mood, Proxy};

fn is_verified(cluster: &Cluster) -> bool {
    let kind = GroupKind::new("", "ConfigMap");
    matches!(cluster.continuity().get(&kind), Some(Continuity::Verified { .. }))
}

/// The name of a changed object of ours; other tests have theirs.
fn name_in(namespace: &str, change: Change) -> Option<String> {
    match change {
        Change::Object { key, .. } if key.namespace == namespace => Some(key.name),
        Change::Object { .. } | Change::Kind { .. } => None,
    }
}

/// Breaks the way, lets things happen behind our back, mends it: all of it must be told and seen.
async fn check(name: &str, fault: Mood) {
    let place = Place::new(name).await;
    let proxy = Proxy::before(&kubeconfig()).await;
    let watcher =
        Cluster::start(&access(&proxy.kubeconfig).await, options()).await.expect("a cluster");
    watcher.ready().await;
    let mut changes = watcher.changes();
    for map in ["changed", "deleted", "untouched"] {
        place.others_write(place.map(map, Some(name), "before")).await;
        until_told(&mut changes, &place.key(map), &[name]).await;
    }
    assert_eq!(watcher.live(name, &[]).unverified, []);

    proxy.is(fault);
    until(&mut changes, || !is_verified(&watcher)).await;
    let live = watcher.live(name, &[]);
    assert_eq!(live.unverified.len(), 1, "what cannot be verified is said to be so");
    assert_eq!(live.objects.len(), 3, "and what was known is still shown");

    place.others_write(place.map("changed", Some(name), "after")).await;
    place.others_write(place.map("created", Some(name), "after")).await;
    place.others_delete("deleted").await;
    changes.take();
    proxy.is(Mood::Passing);

    let mut told = BTreeSet::new();
    let name_of_object = |change| name_in(&place.namespace, change);
    while !is_verified(&watcher) {
        told.extend(changes.next().await.into_iter().filter_map(name_of_object));
    }
    // The list was complete when it was called so: everything has been told by now.
    told.extend(changes.take().into_iter().filter_map(name_of_object));
    let expect = ["changed", "created", "deleted"].map(str::to_owned);
    assert_eq!(told, BTreeSet::from(expect), "all that happened is told, and nothing else");
    let live = watcher.live(name, &[place.key("deleted")]);
    assert_eq!(live.unverified, []);
    let expect = [("changed", "after"), ("created", "after"), ("untouched", "before")];
    assert_eq!(values(&live), expect.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_cut_connection_is_noticed_and_what_was_missed_is_made_up() {
    run(check("cut", Mood::Cut));
}

#[test]
fn a_connection_that_swallows_everything_is_noticed_by_its_silence() {
    run(check("swallow", Mood::Swallowing));
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_says_so() {
    run(async {
        let proxy = Proxy::before(&kubeconfig()).await;
        proxy.is(Mood::Cut);
        let error =
            Cluster::start(&access(&proxy.kubeconfig).await, options()).await.expect_err("cut");
        assert!(
            error.to_string().starts_with("could not connect to https://127.0.0.1:"),
            "{error}"
        );
        assert_eq!(error.disposition(), cluster::Disposition::RetrySoon);
    });
}
