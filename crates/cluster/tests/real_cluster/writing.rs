//! Apply and delete.

use std::collections::BTreeSet;

use cluster::{
    ApplyError, ApplyOptions, Client, Cluster, DeleteError, DeleteOptions, Deleted, Disposition,
    Effect, Propagation, StoreOptions,
};
use object::Object;
use serde_json::{Value, json};

use super::fixture::{Place, access, apply, kubeconfig, object, options, run, until, values};

async fn refused(place: &Place, manifest: Value, options: &ApplyOptions) -> ApplyError {
    place.cluster.apply(&object(manifest), options).await.expect_err("refused")
}

fn in_background() -> DeleteOptions {
    DeleteOptions {
        propagation: Propagation::Background,
        uid: None,
        at_once: false,
        dry_run: false,
    }
}

#[test]
fn an_apply_tells_what_it_did_and_the_store_has_it_at_once() {
    run(async {
        let place = Place::new("effects").await;
        let mut told = Vec::new();
        for value in ["1", "1", "2"] {
            let manifest = object(place.map("a", Some("effects"), value));
            let applied =
                place.cluster.apply(&manifest, &ApplyOptions::default()).await.expect("applied");
            told.push(applied.message());
            // No waiting in between: the store must not need the watch for what we wrote ourselves.
            assert_eq!(values(&place.cluster.live("effects", &[])), [("a".into(), value.into())]);
        }
        assert_eq!(
            told,
            ["configmap/a created", "configmap/a unchanged", "configmap/a configured"]
        );
        let live = place.cluster.live("effects", &[]);
        let managers = live.objects[&place.key("a")].object();
        let managers = managers.list(&["metadata", "managedFields"]);
        assert_eq!(managers.len(), 1);
        assert_eq!(managers[0]["manager"], "argocd-controller");
        assert_eq!(managers[0]["operation"], "Apply");
    });
}

#[test]
fn a_dry_run_answers_and_changes_nothing() {
    run(async {
        let place = Place::new("dry").await;
        let dry = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
        let manifest = object(place.map("a", Some("dry"), "1"));
        let applied = place.cluster.apply(&manifest, &dry).await.expect("accepted");
        assert_eq!(applied.what, Effect::Created);
        assert_eq!(
            applied.server_side_message(),
            "configmap/a serverside-applied (server dry run)"
        );
        assert_eq!(values(&place.cluster.live("dry", &[])), []);
        assert_eq!(
            place
                .cluster
                .client()
                .get(&super::fixture::config_map(), &place.namespace, "a")
                .await
                .expect("an answer"),
            None
        );
    });
}

#[test]
fn an_object_may_leave_its_name_to_the_server() {
    run(async {
        let place = Place::new("generated").await;
        let mut manifest = place.map("", Some("generated"), "1");
        manifest["metadata"] = json!({"generateName": "hook-", "namespace": place.namespace,
            "annotations": manifest["metadata"]["annotations"]});
        let made = apply(&place.cluster, manifest).await;
        assert!(made.name().starts_with("hook-") && made.name().len() > 5, "{}", made.name());
        assert_eq!(place.cluster.live("generated", &[]).objects.len(), 1);
    });
}

#[test]
fn an_unknown_kind_is_named() {
    run(async {
        let place = Place::new("unknown").await;
        let manifest = json!({"apiVersion": "nowhere.example.org/v1", "kind": "Thing",
            "metadata": {"name": "a", "namespace": place.namespace}});
        let error = refused(&place, manifest, &ApplyOptions::default()).await;
        assert_eq!(
            error.to_string(),
            "the server could not find the requested resource: nowhere.example.org/v1/Thing is not installed \
             in the cluster, or not in this version"
        );
        assert_eq!(error.disposition(), Disposition::WaitForChange);
    });
}

#[test]
fn a_missing_namespace_is_told_apart_from_a_missing_kind() {
    run(async {
        let place = Place::new("nowhere").await;
        let mut manifest = place.map("a", None, "1");
        manifest["metadata"]["namespace"] = json!("not-there");
        let error = refused(&place, manifest, &ApplyOptions::default()).await;
        assert_eq!(
            error.to_string(),
            "the namespace not-there of ConfigMap not-there/a does not exist"
        );
        assert!(matches!(error, ApplyError::NamespaceMissing { .. }));
    });
}

#[test]
fn a_wrong_manifest_comes_back_with_the_words_of_the_server() {
    run(async {
        let place = Place::new("wrong").await;
        let mut unknown_field = place.map("a", None, "1");
        unknown_field["dada"] = json!({});
        let error = refused(&place, unknown_field.clone(), &ApplyOptions::default()).await;
        assert!(matches!(error, ApplyError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains("dada"), "{error}");
        assert_eq!(error.disposition(), Disposition::WaitForUser);

        let error =
            refused(&place, place.map("Not_A_Name", None, "1"), &ApplyOptions::default()).await;
        assert!(matches!(error, ApplyError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains("Not_A_Name"), "{error}");

        let lenient =
            ApplyOptions { validation: cluster::Validation::Ignore, ..ApplyOptions::default() };
        unknown_field["apiVersion"] = json!("v1");
        // Server-side apply checks against the schema even where validation is off.
        let error = refused(&place, unknown_field, &lenient).await;
        assert!(error.to_string().contains("field not declared in schema"), "{error}");
    });
}

#[test]
fn a_field_of_another_manager_is_a_conflict_unless_forced() {
    run(async {
        let place = Place::new("conflict").await;
        let theirs = ApplyOptions { field_manager: "somebody".into(), ..ApplyOptions::default() };
        let manifest = object(place.map("a", None, "theirs"));
        place.cluster.apply(&manifest, &theirs).await.expect("applied");
        let gently = ApplyOptions { force: false, ..ApplyOptions::default() };
        let error = refused(&place, place.map("a", None, "ours"), &gently).await;
        assert!(matches!(error, ApplyError::Conflict { .. }), "{error:?}");
        assert!(error.to_string().contains("conflict with \"somebody\": .data.value"), "{error}");
        apply(&place.cluster, place.map("a", None, "ours")).await;
    });
}

#[test]
fn who_may_not_is_told_who_may_not_what() {
    run(async {
        let place = Place::new("forbidden").await;
        let nobody = access(&kubeconfig()).await.impersonating("nobody", &[]);
        let client = Client::connect(&nobody).await.expect("anyone may ask for the version");
        let nobody = Cluster::start_with(client, options()).await.expect("anyone may discover");
        let error =
            nobody.apply(&object(place.map("a", None, "1")), &ApplyOptions::default()).await;
        let error = error.expect_err("forbidden");
        assert!(matches!(error, ApplyError::Forbidden { .. }), "{error:?}");
        assert!(
            error.to_string().contains("User \"nobody\" cannot patch resource \"configmaps\""),
            "{error}"
        );
        // What may not be listed is settled, and in doubt.
        nobody.ready().await;
        let live = nobody.live("x", &[place.key("a")]);
        assert_eq!(live.unverified.len(), 1, "{:?}", live.unverified);
        assert!(nobody.health().trouble.is_some());
    });
}

#[test]
fn what_may_not_be_listed_can_be_left_alone_and_is_asked_for_by_name() {
    run(async {
        let place = Place::new("left-alone").await;
        let nobody = access(&kubeconfig()).await.impersonating("nobody", &[]);
        let options = StoreOptions { leaves_forbidden_alone: true, ..options() };
        let nobody = Cluster::start(&nobody, options).await.expect("anyone may discover");
        nobody.ready().await;
        assert_eq!(nobody.health().trouble, None);
        let live = nobody.live("x", &[place.key("a")]);
        assert_eq!(live.unverified, []);
        assert_eq!(live.unknown, BTreeSet::from([place.key("a")]));
    });
}

#[test]
fn what_may_be_listed_later_is_watched_from_then_on() {
    run(async {
        let place = Place::new("permitted-later").await;
        apply(&place.cluster, place.map("a", Some("permitted-later"), "1")).await;
        let newcomer = access(&kubeconfig()).await.impersonating("newcomer", &[]);
        let options = StoreOptions { leaves_forbidden_alone: true, ..options() };
        let newcomer = Cluster::start(&newcomer, options).await.expect("anyone may discover");
        newcomer.ready().await;
        let mut changes = newcomer.changes();
        assert_eq!(newcomer.known(&place.key("a")), None);

        let rbac = "rbac.authorization.k8s.io";
        apply(
            &place.cluster,
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding",
                "metadata": {"name": "newcomer"},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
                "subjects": [{"apiGroup": rbac, "kind": "User", "name": "newcomer"}]}),
        )
        .await;
        until(&mut changes, || newcomer.known(&place.key("a")).is_some()).await;
        assert_eq!(newcomer.health().trouble, None);
    });
}

#[test]
fn who_acts_as_another_has_the_rights_of_that_one_and_sees_with_its_own() {
    run(async {
        let place = Place::new("acting").await;
        apply(&place.cluster, place.map("a", Some("acting"), "1")).await;
        let nobody = place.cluster.acting_as("nobody").expect("a name");
        assert_eq!(values(&nobody.live("acting", &[])), [("a".to_owned(), "1".to_owned())]);
        let map = object(place.map("a", Some("acting"), "2"));
        let error = nobody.apply(&map, &ApplyOptions::default()).await.expect_err("forbidden");
        assert!(error.to_string().contains("User \"nobody\" cannot patch"), "{error}");
        let error = nobody.delete(&place.key("a"), &in_background()).await.expect_err("forbidden");
        assert!(error.in_one_line().contains("User \"nobody\" cannot delete"), "{error}");
        assert!(place.cluster.acting_as("no\nbody").is_none());
    });
}

#[test]
fn a_deleted_object_is_gone_from_the_store_at_once() {
    run(async {
        let place = Place::new("gone").await;
        apply(&place.cluster, place.map("a", Some("gone"), "1")).await;
        let delete = async || place.cluster.delete(&place.key("a"), &in_background()).await;
        assert_eq!(delete().await.expect("deleted"), Deleted::Gone);
        assert_eq!(values(&place.cluster.live("gone", &[])), []);
        assert_eq!(delete().await.expect("no error"), Deleted::NotThere);
        // And made again, it is there again, whatever the watch still has to tell of the first one.
        apply(&place.cluster, place.map("a", Some("gone"), "2")).await;
        assert_eq!(values(&place.cluster.live("gone", &[])), [("a".into(), "2".into())]);
    });
}

#[test]
fn a_finalizer_keeps_an_object_in_sight_until_it_is_done() {
    run(async {
        let place = Place::new("finalizer").await;
        let mut changes = place.cluster.changes();
        let mut manifest = place.map("a", Some("finalizer"), "1");
        manifest["metadata"]["finalizers"] = json!(["test.example.org/wait"]);
        apply(&place.cluster, manifest).await;
        let deleted =
            place.cluster.delete(&place.key("a"), &in_background()).await.expect("accepted");
        assert_eq!(deleted, Deleted::Going);
        assert!(place.cluster.known(&place.key("a")).expect("still there").deleting);
        let release = json!({"metadata": {"finalizers": null}});
        let map = super::fixture::config_map();
        let client = place.cluster.client();
        client.merge_patch(&map, &place.namespace, "a", None, &release).await.expect("released");
        super::fixture::until(&mut changes, || place.cluster.known(&place.key("a")).is_none())
            .await;
    });
}

#[test]
fn a_delete_can_mean_one_object_and_not_its_successor() {
    run(async {
        let place = Place::new("successor").await;
        let uid = |it: &Object| it.text(&["metadata", "uid"]).expect("a uid").to_owned();
        let first = apply(&place.cluster, place.map("a", Some("successor"), "1")).await;
        place.cluster.delete(&place.key("a"), &in_background()).await.expect("deleted");
        apply(&place.cluster, place.map("a", Some("successor"), "2")).await;
        let the_first = DeleteOptions { uid: Some(uid(&first)), ..in_background() };
        let error = place.cluster.delete(&place.key("a"), &the_first).await.expect_err("replaced");
        assert!(matches!(error, DeleteError::Replaced { .. }), "{error:?}");
        assert_eq!(values(&place.cluster.live("successor", &[])), [("a".into(), "2".into())]);
    });
}
