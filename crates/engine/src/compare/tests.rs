//! Whole comparisons of a few objects.

use api::names;
use object::GroupKind;
use object::fields::FieldSet;
use object::schema::Schema;
use serde_json::{Value, json};

use super::*;
use crate::diff::ignore::{Ignoring, StatusOf};
use crate::diff::server_side::Webhooks;
use crate::health::BuiltinOnly;
use crate::marks::TrackedBy;

fn facts() -> Facts {
    let scopes = [("ConfigMap", Scope::Namespaced), ("Namespace", Scope::Cluster)];
    Facts {
        instance: "app".into(),
        tracked_by: TrackedBy::default(),
        destination_namespace: "web".into(),
        scopes: scopes.map(|(kind, scope)| (GroupKind::new("", kind), scope)).into(),
        ..Facts::default()
    }
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a test object")
}

fn config_map(name: &str, tracking_id: &str) -> Object {
    object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "web",
        "annotations": {"argocd.argoproj.io/tracking-id": tracking_id},
    }}))
}

fn compared(want: Vec<Object>, live: Vec<Object>) -> (Comparison, Vec<Finding>) {
    let live = live.into_iter().map(|it| (it.key(), it)).collect();
    let rules = Rules { health: &BuiltinOnly, comparing: &Comparing::default() };
    compare(want, live, rules, &facts())
}

#[track_caller]
fn check(live: Object, expect: &[Verdict]) {
    let (comparison, findings) = compared(vec![], vec![live]);
    let verdicts: Vec<Verdict> = comparison.items.into_values().map(|it| it.verdict).collect();
    assert_eq!(verdicts, expect);
    assert_eq!(findings, []);
}

#[test]
fn what_git_no_longer_holds_is_extra() {
    check(config_map("a", "app:/ConfigMap:web/a"), &[Verdict::OutOfSync(vec![])]);
}

#[test]
fn an_object_of_the_cluster_is_tracked_by_the_destination_whatever_it_states() {
    let namespace = |stated: &str, tracked: &str| {
        object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "n", "namespace": stated,
            "annotations": {"argocd.argoproj.io/tracking-id": format!("app:/Namespace:{tracked}/n")},
        }}))
    };
    let want = vec![namespace("one", "one"), namespace("two", "two")];
    let (comparison, _) = compared(want, vec![]);
    let wanted: Vec<&Object> = comparison.items.values().filter_map(|it| it.pair.want()).collect();
    let ids: Vec<_> =
        wanted.iter().map(|it| it.annotation(names::ANNOTATION_TRACKING_ID)).collect();
    assert_eq!(ids, [Some("app:/Namespace:web/n")]);
}

#[test]
fn what_git_says_to_skip_is_neither_compared_nor_extra() {
    let live = config_map("a", "app:/ConfigMap:web/a");
    let mut want = live.clone();
    want.set_annotation("argocd.argoproj.io/hook", "Skip");
    for (live, sides) in [(vec![live], "both"), (vec![], "git's alone")] {
        let (comparison, findings) = compared(vec![want.clone()], live);
        let verdicts: Vec<_> = comparison.items.into_values().map(|it| it.verdict).collect();
        assert_eq!((verdicts, findings), (vec![Verdict::NotJudged], vec![]), "{sides}");
    }
}

#[test]
fn hooks_are_no_part_of_the_comparison() {
    let mut hook = config_map("a", "app:/ConfigMap:web/a");
    hook.set_annotation(api::names::ANNOTATION_HOOK, "PostSync");
    check(hook.clone(), &[Verdict::NotJudged]);
    let (comparison, _) = compared(vec![hook], vec![]);
    assert_eq!((comparison.items.len(), comparison.hooks.len()), (0, 1));
}

#[test]
fn a_copied_tracking_id_adopts_nothing() {
    check(config_map("copy", "app:/ConfigMap:web/a"), &[Verdict::NotJudged]);
}

#[test]
fn a_label_tracks_where_the_settings_say_so() {
    let mut labelled = config_map("a", "another:/ConfigMap:web/a");
    labelled.set_label("instance", "app");
    let by_label = Facts { tracked_by: TrackedBy::Label { key: "instance".into() }, ..facts() };
    let comparing = Comparing::default();
    let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
    let live = || BTreeMap::from([(labelled.key(), labelled.clone())]);
    let (comparison, _) = compare(Vec::new(), live(), rules, &by_label);
    let verdicts: Vec<Verdict> = comparison.items.into_values().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [Verdict::OutOfSync(vec![])]);
    let (comparison, _) = compare(Vec::new(), live(), rules, &facts());
    assert!(comparison.items.is_empty());
}

#[test]
fn an_object_that_two_groups_serve_counts_once() {
    let served_as = |group: &str| {
        object(json!({"apiVersion": format!("{group}/v1"), "kind": "Ingress", "metadata": {
            "name": "i", "namespace": "web", "uid": "0d9a", "annotations": {
                "argocd.argoproj.io/tracking-id": "app:new.io/Ingress:web/i"}}}))
    };
    let live = vec![served_as("old.io"), served_as("new.io")];
    let (comparison, _) = compared(vec![served_as("new.io")], live.clone());
    let found: Vec<_> = comparison
        .items
        .iter()
        .map(|(key, it)| (key.group.as_str(), it.is_out_of_sync()))
        .collect();
    assert_eq!(found, [("new.io", false)]);
    assert_eq!(compared(vec![], live).0.items.len(), 1);
}

#[test]
fn what_a_controller_made_is_its_own() {
    let mut child = config_map("a", "app:/ConfigMap:web/a");
    child.fields_mut()["metadata"]["ownerReferences"] = json!([{"uid": "1"}]);
    check(child, &[]);
}

#[test]
fn other_applications_objects_are_not_seen() {
    check(config_map("a", "other:/ConfigMap:web/a"), &[]);
}

#[test]
fn a_wanted_object_that_another_application_tracks_is_shared() {
    let (_, findings) = compared(
        vec![config_map("a", "app:/ConfigMap:web/a")],
        vec![config_map("a", "other:/ConfigMap:web/a")],
    );
    assert_eq!(findings[0].concern, Concern::SharedResource);
    assert_eq!(findings[0].message, "ConfigMap/a is part of applications app and other");
}

#[test]
fn the_last_of_a_repeated_object_counts_and_is_told() {
    let (comparison, findings) = compared(
        vec![config_map("a", "app:/ConfigMap:web/a"), config_map("a", "app:/ConfigMap:web/a")],
        vec![],
    );
    assert_eq!(comparison.items.len(), 1);
    let expected = "Resource /ConfigMap/web/a appeared 2 times among application resources.";
    assert_eq!(findings[0].message, expected);
}

#[test]
fn objects_get_the_namespace_their_kind_allows() {
    let (comparison, _) = compared(
        vec![
            object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})),
            object(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "namespace": "x"}}),
            ),
        ],
        vec![],
    );
    let keys: Vec<String> = comparison.items.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["ConfigMap web/a", "Namespace b"]);
}

#[test]
fn a_nameless_object_is_told_and_hides_nothing() {
    let nameless = object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}));
    let (comparison, findings) =
        compared(vec![nameless, config_map("a", "app:/ConfigMap:web/a")], vec![]);
    assert_eq!(comparison.items.len(), 1);
    assert_eq!(findings[0].message, "a ConfigMap has no metadata.name; give it one");
}

#[track_caller]
fn check_unserved(api_version: &str, expect: &Unserved) {
    let facts = Facts {
        versions: [(GroupKind::new("shipping.io", "Crate"), vec!["v2".into(), "v1".into()])].into(),
        api_versions: ["shipping.io/v1alpha1".to_owned()].into(),
        ..facts()
    };
    let want =
        object(json!({"apiVersion": api_version, "kind": "Crate", "metadata": {"name": "c"}}));
    let kind = want.group_version_kind();
    let rules = Rules { health: &BuiltinOnly, comparing: &Comparing::default() };
    let (comparison, _) = compare(vec![want], BTreeMap::new(), rules, &facts);
    assert_eq!(comparison.unserved.get(&kind), Some(expect));
}

#[test]
fn what_is_served_instead_of_an_unserved_kind_is_named() {
    let served = Unserved::Instead(GroupVersionKind::parse("shipping.io/v2", "Crate"));
    check_unserved("shipping.io/v3", &served);
    check_unserved("wrong.io/v1", &served);
    check_unserved("shipping.io/v1alpha1", &Unserved::KindMissing);
}

#[test]
fn what_git_wants_in_another_version_has_to_be_read_in_that_one() {
    let of = |api_version: &str, kind: &str| {
        object(json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": "c", "namespace": "web"}}))
    };
    let crates = GroupKind::new("shipping.io", "Crate");
    let facts = Facts { versions: [(crates, vec!["v2".into(), "v1".into()])].into(), ..facts() };
    let asked = |want: &Object, live: Option<Object>| {
        let live = live.into_iter().map(|it| (it.key(), it)).collect();
        read_otherwise(std::slice::from_ref(want), &live, &facts).into_values().next()
    };
    let (first, second) = (of("shipping.io/v1", "Crate"), of("shipping.io/v2", "Crate"));
    assert_eq!(asked(&first, Some(second.clone())), Some(first.group_version_kind()));
    assert_eq!(asked(&second, Some(second.clone())), None, "as it was read");
    assert_eq!(asked(&first, None), None, "there is nothing to read");
    assert_eq!(asked(&of("shipping.io/v3", "Crate"), Some(second)), None, "not served");
}

#[test]
fn what_differs_only_where_that_is_ignored_is_tolerated() {
    let map = |value: &str| {
        let mut map = config_map("a", "app:/ConfigMap:web/a");
        map.fields_mut().insert("data".into(), json!({"k": value}));
        map
    };
    let rule = json!({"kind": "ConfigMap", "jsonPointers": ["/data/k"]});
    let rule = serde_json::from_value(rule).expect("a rule");
    let (ignoring, _) = Ignoring::of(&[rule], &[], StatusOf::All);
    let comparing = Comparing { ignoring, ..Comparing::default() };
    let judged = |live: &Object| judge_both(&map("1"), live, None, &comparing);
    assert_eq!(judged(&map("2")), Ok(Verdict::Tolerated));
    assert_eq!(judged(&map("1")), Ok(Verdict::Synced));
}

/// Judges a ConfigMap whose live value is `live`, git's is `1`, and whose
/// value after a dry run would be `answer`.
#[track_caller]
fn check_answer(live: &str, answer: Option<Result<&str, &str>>, expect: Result<&str, &str>) {
    let map = |value: &str| {
        let mut map = config_map("a", "app:/ConfigMap:web/a");
        map.fields_mut().insert("data".into(), json!({"k": value}));
        map
    };
    let comparing = Comparing { asks_server: Some(Webhooks::Included), ..Comparing::default() };
    let mut live = map(live);
    let of = Schema::builtin().of_kind(&live.group_version_kind()).expect("a core kind");
    let owned = FieldSet::applied(&live.clone().into_value(), of);
    live.fields_mut()["metadata"]["managedFields"] = json!([{"manager": comparing.manager,
        "operation": "Apply", "fieldsV1": owned.expect("a set").to_json()}]);
    let live = BTreeMap::from([(live.key(), live)]);
    let asked = questions(&[map("1")], &live, &comparing, &facts());
    assert_eq!(asked.contains_key(&map("1").key()), answer.is_some(), "is it asked?");
    let answer = answer.map(|it| it.map(map).map_err(str::to_owned));
    let facts =
        Facts { answers: answer.map(|it| (map("1").key(), it)).into_iter().collect(), ..facts() };
    let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
    let (comparison, findings) = compare(vec![map("1")], live, rules, &facts);
    let verdict = &comparison.items[&map("1").key()].verdict;
    let found = match findings.first() {
        Some(finding) => Err(finding.message.as_str()),
        None => Ok(match verdict {
            Verdict::Synced => "Synced",
            Verdict::OutOfSync(_) => "OutOfSync",
            _ => "otherwise",
        }),
    };
    assert_eq!(found, expect);
}

#[test]
fn the_server_is_asked_only_where_it_is_not_plain_that_nothing_changes() {
    check_answer("1", None, Ok("Synced"));
}

#[test]
fn what_the_server_answers_is_what_counts() {
    check_answer("2", Some(Ok("1")), Ok("OutOfSync"));
    check_answer("2", Some(Ok("2")), Ok("Synced"));
}

#[test]
fn an_object_that_the_server_refuses_is_not_known_to_be_synced() {
    let message = "Failed to compare desired state to live state: server-side diff of \
                   ConfigMap web/a: it is immutable";
    check_answer("2", Some(Err("it is immutable")), Err(message));
}
