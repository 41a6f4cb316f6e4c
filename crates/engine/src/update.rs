//! Whether a live object that changed is a reason to look at its application.
//!
//! Many changes are none: a counter in the status, a lease in an annotation.
//! [`matters`] compares two states of one object without the fields that the
//! settings name (`ignoreResourceUpdates`, and as a rule `ignoreDifferences`),
//! and asks whether anything else that a look reads of it came out differently:
//! its health, where it can be reached, whether its controller has seen the
//! latest wish. The health counts with its message, because the user is shown it.

use object::Object;
use serde_json::{Map, Value};

use crate::diff::ignore::Ignoring;
use crate::health::{HealthRules, has_observed_latest, health};
use crate::tree;

/// Is the way from one state to the next a reason to look again?
#[must_use]
pub fn matters(
    before: &Object,
    after: &Object,
    ignoring: &Ignoring,
    rules: &dyn HealthRules,
) -> bool {
    let urls = |it: &Object| tree::networking(it).map(|it| it.external_urls).unwrap_or_default();
    counting(before, ignoring) != counting(after, ignoring)
        || health(before, rules) != health(after, rules)
        || has_observed_latest(before) != has_observed_latest(after)
        || urls(before) != urls(after)
}

/// What counts of an object.
fn counting(object: &Object, ignoring: &Ignoring) -> Object {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.fields_mut().get_mut("metadata") {
        forget_bookkeeping(metadata);
    }
    ignoring.drop_ignored(&mut object);
    object
}

/// What the API server counts with every write. Of the field sets only those are
/// at hand that comparisons read; when they were written does not matter.
fn forget_bookkeeping(metadata: &mut Map<String, Value>) {
    metadata.remove("resourceVersion");
    metadata.remove("generation");
    let sets = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
    for set in sets.into_iter().flatten().filter_map(Value::as_object_mut) {
        set.remove("time");
    }
}

#[cfg(test)]
mod tests {
    use api::ResourceIgnoreDifferences;
    use serde_json::json;

    use super::*;
    use crate::diff::ignore::StatusOf;
    use crate::health::BuiltinOnly;

    /// Does it matter that `change` is merged into a Deployment that works?
    #[track_caller]
    fn check(rule: ResourceIgnoreDifferences, change: &Value, expect: bool) {
        let (ignoring, findings) = Ignoring::of(&[], &[rule], StatusOf::All);
        assert_eq!(findings, []);
        let before = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "resourceVersion": "1", "generation": 4,
                "annotations": {"lease": "a", "owner": "ann"},
                "managedFields": [{"manager": "argocd-controller", "time": "one", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"replicas": 1},
            "status": {"observedGeneration": 4, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
        let after = object::patch::merge::apply(&before, change);
        let [before, after] = [before, after].map(|it| Object::from_value(it).expect("an object"));
        assert_eq!(matters(&before, &after, &ignoring, &BuiltinOnly), expect, "{change}");
        assert_eq!(matters(&after, &before, &ignoring, &BuiltinOnly), expect, "back: {change}");
    }

    fn nothing() -> ResourceIgnoreDifferences {
        ResourceIgnoreDifferences::default()
    }

    #[test]
    fn what_the_server_counts_does_not_matter() {
        check(nothing(), &json!({"metadata": {"resourceVersion": "2"}}), false);
        let touched =
            json!([{"manager": "argocd-controller", "time": "two", "fieldsV1": {"f:spec": {}}}]);
        check(nothing(), &json!({"metadata": {"managedFields": touched}}), false);
    }

    #[test]
    fn a_status_without_news_does_not_matter() {
        check(nothing(), &json!({"status": {"collisionCount": 3}}), false);
    }

    #[test]
    fn health_matters_with_its_message() {
        check(nothing(), &json!({"status": {"availableReplicas": 0}}), true);
        let waiting =
            |updated| json!({"spec": {"replicas": 3}, "status": {"updatedReplicas": updated}});
        let state = |updated| {
            let value =
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
            let value = object::patch::merge::apply(&value, &waiting(updated));
            Object::from_value(value).expect("an object")
        };
        assert!(matters(&state(1), &state(2), &Ignoring::status_of_all(), &BuiltinOnly));
    }

    #[test]
    fn that_the_latest_wish_was_seen_matters_to_a_sync_that_waits() {
        let state = |generation| {
            let value = json!({"apiVersion": "ships.io/v1", "kind": "Ship",
                "metadata": {"name": "a", "generation": 2}, "status": {"observedGeneration": generation}});
            Object::from_value(value).expect("an object")
        };
        assert!(matters(&state(1), &state(2), &Ignoring::status_of_all(), &BuiltinOnly));
    }

    #[test]
    fn where_it_can_be_reached_matters() {
        let state = |address| {
            let value = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "a"},
                "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "web"}}}]}}]},
                "status": {"loadBalancer": {"ingress": [{"ip": address}]}}});
            Object::from_value(value).expect("an object")
        };
        let ignoring = Ignoring::status_of_all();
        assert!(matters(&state("10.0.0.1"), &state("10.0.0.2"), &ignoring, &BuiltinOnly));
        assert!(!matters(&state("10.0.0.1"), &state("10.0.0.1"), &ignoring, &BuiltinOnly));
    }

    #[test]
    fn what_git_could_state_matters_unless_a_rule_names_it() {
        let lease = json!({"metadata": {"annotations": {"lease": "b"}}});
        let both = json!({"metadata": {"annotations": {"lease": "b", "owner": "bob"}}});
        let rule = |pointers: &[&str], expressions: &[&str]| ResourceIgnoreDifferences {
            group: "apps".into(),
            kind: "*".into(),
            json_pointers: pointers.iter().map(|it| (*it).into()).collect(),
            jq_path_expressions: expressions.iter().map(|it| (*it).into()).collect(),
            ..nothing()
        };
        check(nothing(), &lease, true);
        check(rule(&["/metadata/annotations/lease"], &[]), &lease, false);
        check(rule(&[], &[".metadata.annotations.lease"]), &lease, false);
        check(rule(&["/metadata/annotations/lease"], &[]), &both, true);
        let elsewhere =
            ResourceIgnoreDifferences { group: "batch".into(), ..rule(&["/metadata"], &[]) };
        check(elsewhere, &lease, true);
    }

    #[test]
    fn another_owner_of_a_field_matters() {
        let more = json!([{"manager": "argocd-controller", "time": "one",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
        check(nothing(), &json!({"metadata": {"managedFields": more}}), true);
    }
}
