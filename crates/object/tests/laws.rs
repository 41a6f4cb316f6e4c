//! What must hold for all objects, not only for those we thought of.

use object::GroupVersionKind;
use object::fields::{FieldSet, Unsettled, differing_leaf, merge, project, remove, unsettled};
use object::patch::{json, merge as json_merge, strategic};
use object::schema::{Schema, Type};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn deployment() -> Type<'static> {
    let kind = GroupVersionKind::parse("apps/v1", "Deployment");
    Schema::builtin().of_kind(&kind).expect("a core kind")
}

/// Deployments as people write them, from few names, so that they collide.
fn deployments() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let env = prop::collection::btree_map(name(), "[xy]?", 0..3)
        .prop_map(|env| env.into_iter().map(|(n, v)| json!({"name": n, "value": v})).collect());
    let ports = prop::collection::btree_set(1..4u16, 0..3)
        .prop_map(|ports| ports.into_iter().map(|port| json!({"containerPort": port})).collect());
    let args = prop::collection::vec("[pq]", 0..3);
    let container = (name(), "[12]", shuffled(env), shuffled(ports), prop::option::of(args))
        .prop_map(|(name, image, env, ports, args)| {
            let mut container = json!({"name": name, "image": image});
            for (field, list) in [("env", env), ("ports", ports)] {
                if !list.is_empty() {
                    container[field] = Value::Array(list);
                }
            }
            if let Some(args) = args {
                container["args"] = json!(args);
            }
            container
        });
    let containers = prop::collection::vec(container, 0..4).prop_map(|mut list| {
        list.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        list.dedup_by(|a, b| a["name"] == b["name"]);
        list
    });
    let labels = prop::collection::btree_map(name(), "[xy]", 0..3);
    let finalizers = prop::collection::btree_set(name(), 0..3).prop_map(|it| json!(it));
    let strategy = prop::sample::select(vec![
        json!(null),
        json!({"type": "Recreate"}),
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
    ]);
    (shuffled(containers), labels, finalizers, strategy, prop::option::of(0..3u8)).prop_map(
        |(containers, labels, finalizers, strategy, replicas)| {
            let mut object = json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "labels": labels},
                "spec": {"template": {"spec": {"containers": containers}}},
            });
            if finalizers != json!([]) {
                object["metadata"]["finalizers"] = finalizers;
            }
            if !strategy.is_null() {
                object["spec"]["strategy"] = strategy;
            }
            if let Some(replicas) = replicas {
                object["spec"]["replicas"] = json!(replicas);
            }
            object
        },
    )
}

fn shuffled(list: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Vec<Value>> {
    list.prop_shuffle()
}

/// Any JSON at all, with names that mean something here.
fn garbage() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "spec",
        "template",
        "containers",
        "name",
        "ports",
        "containerPort",
        "metadata",
        "finalizers",
        "strategy",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$setElementOrder",
        "$deleteFromPrimitiveList/finalizers",
        "f:a",
        "k:{\"a\":1}",
        "v:1",
        "i:0",
        ".",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        Just(json!(1.0)),
        prop::sample::select(vec!["delete", "replace", "merge", "a", "b"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

fn garbage_map() -> impl Strategy<Value = Map<String, Value>> {
    garbage().prop_map(|value| match value {
        Value::Object(map) => map,
        other => Map::from_iter([("spec".to_owned(), other)]),
    })
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("a mapping").clone()
}

fn field_sets() -> impl Strategy<Value = FieldSet> {
    deployments().prop_map(|object| FieldSet::of(&object, deployment()).expect("keyed lists"))
}

proptest! {
    #[test]
    fn a_two_way_patch_leads_to_the_modified_object(a in deployments(), b in deployments()) {
        let patch = strategic::create_two_way(&map(&a), &map(&b), deployment()).unwrap();
        let patched = strategic::apply(&map(&a), &patch, deployment()).unwrap();
        prop_assert_eq!(Value::Object(patched), b);
    }

    #[test]
    // An order may be left to set, for lists that others add to; but setting it
    // again changes nothing.
    fn after_a_three_way_patch_nothing_is_left_to_do(
        applied in deployments(), want in deployments(), live in deployments(),
    ) {
        let (applied, want, live) = (map(&applied), map(&want), map(&live));
        let patch = strategic::create_three_way(&applied, &want, &live, deployment()).unwrap();
        let patched = strategic::apply(&live, &patch, deployment()).unwrap();
        let again = strategic::create_three_way(&want, &want, &patched, deployment()).unwrap();
        let twice = strategic::apply(&patched, &again, deployment()).unwrap();
        prop_assert_eq!(twice, patched);
    }

    #[test]
    fn a_three_way_merge_patch_leaves_nothing_to_do(
        applied in garbage_map(), want in garbage_map(), live in garbage_map(),
    ) {
        let want = map(&without_nulls(&Value::Object(want)));
        let patch = json_merge::create_three_way(&applied, &want, &live);
        let patched = json_merge::apply(&Value::Object(live), &Value::Object(patch));
        let again = json_merge::create_three_way(&want, &want, &map(&patched));
        prop_assert_eq!(json_merge::apply(&patched, &Value::Object(again.clone())), patched);
    }

    #[test]
    fn a_merge_patch_leads_to_the_modified_object(a in garbage_map(), b in garbage_map()) {
        let b = without_nulls(&Value::Object(b));
        let patch = json_merge::create(&a, &map(&b));
        let patched = json_merge::apply(&Value::Object(a), &Value::Object(patch));
        prop_assert!(json_merge::create(&map(&patched), &map(&b)).is_empty());
    }

    #[test]
    fn nothing_panics_on_garbage(a in garbage_map(), b in garbage_map(), c in garbage_map()) {
        for of in [deployment(), Type::unknown()] {
            drop(strategic::apply(&a, &b, of));
            drop(strategic::create_two_way(&a, &b, of));
            drop(strategic::create_three_way(&a, &b, &c, of));
            let (a, b) = (Value::Object(a.clone()), Value::Object(b.clone()));
            let set = FieldSet::from_json(&b).unwrap_or_default();
            drop(FieldSet::of(&a, of));
            drop(merge(&a, &b, of));
            drop((project(&a, &set, of), remove(&a, &set, of)));
            drop(unsettled(&a, &b, &set, of));
            drop(json::apply(&a, &b));
            drop(Schema::default().add_openapi(&json!({"definitions": a})));
        }
    }

    #[test]
    fn sets_obey_the_laws_of_sets(a in field_sets(), b in field_sets(), c in field_sets()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&b.union(&c)), a.union(&b).union(&c));
        prop_assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(a.len(), a.paths().len());
        prop_assert_eq!(a.paths().into_iter().collect::<FieldSet>(), a.clone());
        prop_assert_eq!(FieldSet::from_json(&a.to_json()).unwrap(), a);
    }

    #[test]
    fn what_a_set_of_an_object_names_is_the_object(object in deployments()) {
        let set = FieldSet::of(&object, deployment()).unwrap();
        prop_assert_eq!(project(&object, &set, deployment()), without_empty_lists(&object));
        prop_assert_eq!(remove(&object, &FieldSet::new(), deployment()), object);
    }

    #[test]
    fn what_was_merged_is_settled(live in deployments(), want in deployments()) {
        let merged = merge(&live, &want, deployment()).unwrap();
        prop_assert_eq!(differing_leaf(&want, &merged, deployment()).unwrap(), None);
        let owned = FieldSet::applied(&want, deployment()).unwrap();
        prop_assert_eq!(unsettled(&want, &merged, &owned, deployment()).unwrap(), None);
        prop_assert_eq!(merge(&merged, &want, deployment()).unwrap(), merged);
    }

    #[test]
    fn settled_means_that_merging_changes_nothing(live in deployments(), want in deployments()) {
        let owned = FieldSet::applied(&want, deployment()).unwrap();
        match unsettled(&want, &live, &owned, deployment()).unwrap() {
            None => prop_assert_eq!(merge(&live, &want, deployment()).unwrap(), live),
            Some(found) => prop_assert!(matches!(found, Unsettled::Differs(_))),
        }
    }
}

/// An empty keyed list has no elements and so no members.
fn without_empty_lists(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object["spec"]["template"]["spec"].as_object_mut()
        && spec["containers"] == json!([])
    {
        spec.remove("containers");
        object["spec"].as_object_mut().expect("a mapping").remove("template");
    }
    if object["spec"] == json!({}) {
        object.as_object_mut().expect("a mapping").remove("spec");
    }
    object
}
