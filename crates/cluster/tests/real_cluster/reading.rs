//! What the store shows.

use std::time::Duration;

use cluster::{Change, Client, Cluster, Continuity, Scope, Selector, StoreOptions, WatchEvent};
use futures::StreamExt as _;
use object::{GroupKind, ResourceKey};
use serde_json::{Value, json};

use super::fixture::{
    Place, TRACKING, access, apply, cluster, config_map, kubeconfig, options, run, until,
    until_told, values,
};

#[test]
fn every_kind_worth_watching_is_verified_once_the_cluster_is_ready() {
    run(async {
        let cluster = cluster().await;
        let continuity = cluster.continuity();
        let of = |group: &str, kind: &str| continuity.get(&GroupKind::new(group, kind));
        assert!(matches!(of("", "ConfigMap"), Some(Continuity::Verified { .. })));
        assert!(matches!(of("apps", "Deployment"), Some(Continuity::Verified { .. })));
        assert!(of("", "Event").is_none() && of("coordination.k8s.io", "Lease").is_none());
        assert!(of("", "Binding").is_none(), "a kind that cannot be listed");
    });
}

#[test]
fn what_others_do_to_a_tracked_object_is_told_and_seen() {
    run(async {
        let place = Place::new("others").await;
        let mut changes = place.cluster.changes();
        let live = || values(&place.cluster.live("others", &[]));

        place.others_write(place.map("a", Some("others"), "1")).await;
        until_told(&mut changes, &place.key("a"), &["others"]).await;
        assert_eq!(live(), [("a".into(), "1".into())]);

        place.others_write(place.map("a", Some("others"), "2")).await;
        until_told(&mut changes, &place.key("a"), &["others"]).await;
        assert_eq!(live(), [("a".into(), "2".into())]);

        place.others_delete("a").await;
        until_told(&mut changes, &place.key("a"), &["others"]).await;
        assert_eq!(live(), []);
    });
}

#[test]
fn an_object_that_changes_hands_concerns_both_applications() {
    run(async {
        let place = Place::new("hands").await;
        let mut changes = place.cluster.changes();
        place.others_write(place.map("a", Some("hands-old"), "1")).await;
        until_told(&mut changes, &place.key("a"), &["hands-old"]).await;
        place.others_write(place.map("a", Some("hands-new"), "1")).await;
        until_told(&mut changes, &place.key("a"), &["hands-old", "hands-new"]).await;
        assert_eq!(values(&place.cluster.live("hands-old", &[])), []);
    });
}

#[test]
fn a_change_deep_below_a_tracked_object_concerns_its_application() {
    run(async {
        let place = Place::new("owners").await;
        let mut changes = place.cluster.changes();
        let owned_by = |owner: &object::Object, name: &str, value: &str| {
            let mut map = place.map(name, None, value);
            map["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
                "name": owner.name(), "uid": owner.text(&["metadata", "uid"])}]);
            map
        };
        let top = apply(&place.cluster, place.map("top", Some("owners"), "1")).await;
        let middle = apply(&place.cluster, owned_by(&top, "middle", "1")).await;
        let bottom = apply(&place.cluster, owned_by(&middle, "bottom", "1")).await;
        changes.take();

        place.others_write(owned_by(&middle, "bottom", "2")).await;
        until_told(&mut changes, &place.key("bottom"), &["owners"]).await;

        let uid = |it: &object::Object| it.text(&["metadata", "uid"]).expect("a uid").to_owned();
        let children = place.cluster.children(&uid(&middle));
        let keys: Vec<&ResourceKey> = children.iter().map(|it| &it.key).collect();
        assert_eq!(keys, [&place.key("bottom")]);
        assert_eq!((&children[0].uid, &children[0].owners), (&uid(&bottom), &vec![uid(&middle)]));
    });
}

#[test]
fn a_wanted_object_that_nobody_tracks_is_unknown_until_it_is_fetched() {
    run(async {
        let place = Place::new("wanted").await;
        let mut changes = place.cluster.changes();
        place.others_write(place.map("stray", None, "1")).await;
        // A change of an untracked object is told to nobody; the one after it shows that it has passed.
        place.others_write(place.map("mark", Some("wanted"), "1")).await;
        until_told(&mut changes, &place.key("mark"), &["wanted"]).await;

        let wanted = [place.key("stray"), place.key("missing")];
        let live = place.cluster.live("wanted", &wanted);
        assert_eq!(live.unknown.iter().collect::<Vec<_>>(), [&place.key("stray")]);
        assert_eq!(live.unverified, []);

        let fetched = place.cluster.fetch(wanted).await;
        let found = |name: &str| fetched[&place.key(name)].as_ref().expect("an answer");
        let stray = found("stray").as_ref().expect("there").object();
        assert_eq!(stray.text(&["data", "value"]), Some("1"));
        assert_eq!(stray.at(&["metadata", "managedFields"]), None);
        assert!(found("missing").is_none());
    });
}

fn widgets(namespaced: bool) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.cluster-test.example.org", "annotations": {TRACKING: "definitions"}},
        "spec": {"group": "cluster-test.example.org",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "scope": if namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

#[test]
fn kinds_come_and_go_and_come_back_with_another_scope() {
    run(async {
        let place = Place::new("kinds").await;
        let cluster = &place.cluster;
        let mut changes = cluster.changes();
        let kind = GroupKind::new("cluster-test.example.org", "Widget");
        let definition = ResourceKey::new(
            &GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition"),
            "",
            "widgets.cluster-test.example.org",
        );
        for namespaced in [true, false] {
            apply(cluster, widgets(namespaced)).await;
            until(&mut changes, || {
                matches!(cluster.continuity().get(&kind), Some(Continuity::Verified { .. }))
            })
            .await;
            let served = cluster.kinds().preferred(&kind).cloned().expect("served");
            assert_eq!(served.namespaced, namespaced);

            let namespace = if namespaced { place.namespace.as_str() } else { "" };
            let widget = json!({"apiVersion": "cluster-test.example.org/v1", "kind": "Widget",
                "metadata": {"name": "w", "namespace": place.namespace,
                    "annotations": {TRACKING: "kinds"}}});
            apply(cluster, widget).await;
            let keys: Vec<ResourceKey> = cluster.live("kinds", &[]).objects.into_keys().collect();
            assert_eq!(keys, [ResourceKey::new(&kind, namespace, "w")]);

            let options = cluster::DeleteOptions {
                propagation: cluster::Propagation::Background,
                uid: None,
                at_once: false,
                dry_run: false,
            };
            cluster.delete(&definition, &options).await.expect("deleted");
            until(&mut changes, || !cluster.continuity().contains_key(&kind)).await;
            assert!(cluster.live("kinds", &[]).objects.is_empty());
            until(&mut changes, || cluster.known(&definition).is_none()).await;
        }
    });
}

#[test]
fn a_stream_of_one_kind_lists_and_then_tells_of_changes() {
    run(async {
        let place = Place::new("stream").await;
        place.others_write(place.map("before", None, "1")).await;
        let scope = Scope::Namespace(place.namespace.clone());
        let selector =
            Selector { fields: "metadata.name!=kube-root-ca.crt".into(), ..Selector::everything() };
        let random = cluster::Randomness::of_this_process();
        let watch = place.cluster.client().watch::<Value>(&config_map(), scope, selector, random);
        let mut watch = Box::pin(watch);
        let mut next = async || match watch.next().await.expect("endless") {
            WatchEvent::Applied(it) => {
                format!("applied {} {}", it["metadata"]["name"], it["data"]["value"])
            }
            WatchEvent::Deleted(it) => format!("deleted {}", it["metadata"]["name"]),
            other => format!("{other:?}"),
        };
        assert_eq!(next().await, "Restarted");
        assert_eq!(next().await, "applied \"before\" \"1\"");
        assert_eq!(next().await, "Synced");
        place.others_write(place.map("before", None, "2")).await;
        assert_eq!(next().await, "applied \"before\" \"2\"");
        place.others_delete("before").await;
        assert_eq!(next().await, "deleted \"before\"");
    });
}

#[test]
fn an_object_that_does_not_fit_is_told_by_name_and_does_not_stop_the_stream() {
    run(async {
        let place = Place::new("unfit").await;
        place.others_write(place.map("a", None, "1")).await;
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "only the failure to read it matters")]
        struct Demanding {
            absent: String,
        }
        let scope = Scope::Namespace(place.namespace.clone());
        let selector = Selector { fields: "metadata.name=a".into(), ..Selector::everything() };
        let random = cluster::Randomness::of_this_process();
        let watch =
            place.cluster.client().watch::<Demanding>(&config_map(), scope, selector, random);
        let mut watch = Box::pin(watch);
        assert!(matches!(watch.next().await, Some(WatchEvent::Restarted)));
        let told = watch.next().await;
        assert!(
            matches!(&told, Some(WatchEvent::Unreadable { name, why, .. })
                if name == "a" && why.contains("absent")),
            "{told:?}"
        );
        assert!(matches!(watch.next().await, Some(WatchEvent::Synced)));
    });
}

#[test]
fn a_write_of_our_own_is_told_as_a_change_too() {
    run(async {
        let place = Place::new("told").await;
        let mut changes = place.cluster.changes();
        apply(&place.cluster, place.map("a", Some("told"), "1")).await;
        let told = changes.next().await;
        let tracked = told.iter().any(|it| matches!(it, Change::Object { tracked: true, .. }));
        assert!(tracked, "{told:?}");
    });
}

#[test]
fn more_watches_than_one_connection_takes_open_another_one() {
    run(async {
        let client = Client::connect(&access(&kubeconfig()).await).await.expect("a client");
        let random = cluster::Randomness::of_this_process();
        let watch = |_| {
            let selector =
                Selector { fields: "metadata.name=none".into(), ..Selector::everything() };
            Box::pin(client.watch::<Value>(
                &config_map(),
                Scope::Everywhere,
                selector,
                random.clone(),
            ))
        };
        let mut watches: Vec<_> = (0..130).map(watch).collect();
        // Each stays open while the next one is listed.
        for watch in &mut watches {
            assert_eq!(watch.next().await, Some(WatchEvent::Restarted));
            assert_eq!(watch.next().await, Some(WatchEvent::Synced));
        }
    });
}

#[test]
fn a_server_that_does_not_stream_lists_is_read_page_by_page() {
    run(async {
        let place = Place::new("pages").await;
        let write =
            |number: usize| place.others_write(place.map(&format!("m{number:04}"), None, "1"));
        futures::stream::iter((0..520).map(write)).buffer_unordered(20).collect::<Vec<_>>().await;
        let access = access(&kubeconfig()).await.with_paged_lists();
        let client = Client::connect(&access).await.expect("a client");
        let scope = Scope::Namespace(place.namespace.clone());
        let random = cluster::Randomness::of_this_process();
        let watch = client.watch::<Value>(&config_map(), scope, Selector::everything(), random);
        let mut watch = Box::pin(watch);
        assert_eq!(watch.next().await, Some(WatchEvent::Restarted));
        let mut names = std::collections::BTreeSet::new();
        loop {
            match watch.next().await.expect("endless") {
                WatchEvent::Applied(it) => {
                    assert_eq!(
                        (&it["apiVersion"], &it["kind"]),
                        (&json!("v1"), &json!("ConfigMap"))
                    );
                    names.insert(it["metadata"]["name"].to_string());
                }
                WatchEvent::Synced => break,
                other => panic!("{other:?}"),
            }
        }
        names.remove("\"kube-root-ca.crt\"");
        assert_eq!(names.len(), 520);
        place.others_delete("m0007").await;
        let told = watch.next().await;
        assert!(
            matches!(&told, Some(WatchEvent::Deleted(it)) if it["metadata"]["name"] == "m0007"),
            "{told:?}"
        );
    });
}

/// A cluster of which only one namespace is watched, with or without what is cluster-scoped.
async fn namespaced(place: &Place, cluster_resources: bool) -> Cluster {
    let namespaces = Some(vec![place.namespace.clone()]);
    let options = StoreOptions { namespaces, cluster_resources, ..options() };
    let watcher = Cluster::start(&access(&kubeconfig()).await, options).await.expect("a cluster");
    watcher.ready().await;
    watcher
}

#[test]
fn of_a_cluster_in_namespaced_mode_only_these_namespaces_are_seen() {
    run(async {
        let (place, other) = (Place::new("within").await, Place::new("without").await);
        for it in [&place, &other] {
            apply(&it.cluster, it.map("a", Some("both"), "1")).await;
        }
        let namespace = ResourceKey::new(&GroupKind::new("", "Namespace"), "", "within");
        for cluster_resources in [false, true] {
            let watcher = namespaced(&place, cluster_resources).await;
            let seen: Vec<_> = watcher.live("both", &[]).objects.into_keys().collect();
            assert_eq!(seen, [place.key("a")]);
            assert_eq!(watcher.known(&namespace).is_some(), cluster_resources);
            // What is not watched is asked for by name.
            let asked = watcher.live("nobody", &[other.key("a")]);
            assert_eq!(asked.unknown.len(), 1);
        }
    });
}

#[test]
fn a_cluster_is_watched_while_somebody_attends_to_it() {
    run(async {
        let place = Place::new("attended").await;
        apply(&place.cluster, place.map("a", Some("attended"), "1")).await;
        let options = StoreOptions { attended: false, lingers: Duration::ZERO, ..options() };
        let access = access(&kubeconfig()).await;
        let cluster = Cluster::start(&access, options).await.expect("a cluster");
        let mut changes = cluster.changes();
        for _ in 0..2 {
            assert!(cluster.is_resting() && cluster.is_ready() && cluster.health().is_reached);
            assert_eq!(cluster.object_count(), 0);
            let attended = cluster.attended();
            attended.ready().await;
            let seen: Vec<_> = attended.live("attended", &[]).objects.into_keys().collect();
            assert_eq!(seen, [place.key("a")]);
            drop(attended);
            while !cluster.is_resting() || cluster.object_count() > 0 {
                changes.next().await;
            }
        }
    });
}
