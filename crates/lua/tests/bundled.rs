//! Bundled rules on cases of our own, and on anything at all.

use lua::{Surroundings, bundled, health};
use object::Object;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[test]
fn the_corpus_is_judged_as_it_says() {
    let corpus = include_str!("corpus/health.txt");
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = line.splitn(3, " | ");
        let mut part = || parts.next().expect("three parts");
        let (kind, fields, expect) = (part(), part(), part());
        let (api_version, kind) = kind.split_once(' ').expect("an apiVersion and a kind");
        let mut value: Value = serde_json::from_str(fields).expect("fields in JSON");
        value["apiVersion"] = json!(api_version);
        value["kind"] = json!(kind);
        let object = Object::from_value(value).expect("an object");
        let found = bundled::health(&object).map_or("~".to_owned(), |it| match it.message {
            message if message.is_empty() => it.status.to_string(),
            message => format!("{} {message}", it.status),
        });
        assert_eq!(found, expect, "{line}");
    }
}

/// The time at which the actions of the corpus were carried out.
const THEN: i64 = 1_700_000_000;

#[test]
fn actions_are_offered_and_carried_out_as_the_corpus_says() {
    let corpus = include_str!("corpus/actions.txt");
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let parts: Vec<&str> = line.split(" | ").collect();
        let names: Vec<&str> = parts[0].split(' ').collect();
        let mut value = json(parts[1]);
        value["apiVersion"] = json!(names[0]);
        value["kind"] = json!(names[1]);
        let object = Object::from_value(value).expect("an object");
        let (found, expect) = match parts.as_slice() {
            [_, _, offers] => (offered(&object), json(offers)),
            [_, _, parameters, changed] => {
                let parameters = serde_json::from_str(parameters).expect("parameters");
                let done = bundled::actions::run(&object, names[2], &parameters, THEN);
                let impact = done.expect("an action").into_iter().next().expect("an impact");
                (impact.object.into_value(), json(changed))
            }
            _ => panic!("three or four parts in {line}"),
        };
        assert_eq!(found, expect, "{line}");
    }
}

/// What is offered, as the corpus writes it.
fn offered(object: &Object) -> Value {
    let offers = bundled::actions::offers(object).into_iter().map(|offer| {
        let mut told = json!({"disabled": offer.disabled});
        for (field, text) in [("displayName", offer.display_name), ("iconClass", offer.icon_class)]
        {
            if !text.is_empty() {
                told[field] = json!(text);
            }
        }
        if !offer.params.is_empty() {
            let params =
                offer.params.iter().map(|it| json!({"name": it.name, "default": it.default}));
            told["params"] = params.collect();
        }
        (offer.name, told)
    });
    Value::Object(offers.collect())
}

/// The kinds of the corpus: every function and many blocks are among them.
fn kinds() -> Vec<(String, String)> {
    let corpus = include_str!("corpus/health.txt");
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let kinds = lines.filter_map(|line| line.split(" | ").next()?.split_once(' '));
    kinds.map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned())).collect()
}

fn statuses() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "conditions",
        "type",
        "status",
        "reason",
        "message",
        "phase",
        "parents",
        "ancestors",
        "listeners",
        "racks",
        "ceph",
        "health",
        "details",
        "environments",
        "active",
        "proposed",
        "dry",
        "sha",
        "commitStatuses",
        "aggregatedStatus",
        "brokersState",
        "statuses",
        "state",
        "observedGeneration",
        "domainStatus",
        "ingress",
        "compliancyDetails",
        "lastScheduleTime",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "(True|False|Ready|é…|Accepted|[a-z]{0,9})".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_status_whatever_makes_a_rule_panic(
        kind in prop::sample::select(kinds()), status in statuses(), spec in statuses(),
    ) {
        let (api_version, kind) = kind;
        let value = json!({
            "apiVersion": api_version, "kind": kind, "spec": spec, "status": status,
            "metadata": {"generation": 2, "name": "é"},
        });
        let object = Object::from_value(value).expect("an object");
        drop(bundled::health(&object));
        for offer in bundled::actions::offers(&object) {
            drop(bundled::actions::run(&object, &offer.name, &std::collections::BTreeMap::new(), 0));
        }
    }

    #[test]
    fn an_object_survives_a_script_that_returns_it(status in statuses()) {
        let value = json!({"apiVersion": "v1", "kind": "Thing", "status": status});
        let object = Object::from_value(value).expect("an object");
        let parameters = std::collections::BTreeMap::new();
        let impacts =
            lua::run_action("return obj", &object, &parameters, &Surroundings::at(0)).expect("obj");
        // Lua has no null, and no integers beyond 2^53.
        let expected = without_nulls(&object.clone().into_value());
        prop_assert!(alike(&impacts[0].object.clone().into_value(), &expected));
    }

    #[test]
    fn no_script_whatever_ends_the_program(script in "[a-z0-9 =(){}\"'.,:#\\[\\]%^$*+-]{0,60}") {
        let value = json!({"apiVersion": "v1", "kind": "Thing"});
        let object = Object::from_value(value).expect("an object");
        drop(health(&script, &object, &Surroundings::at(0)));
    }

    #[test]
    fn no_pattern_whatever_ends_the_program(text in "[ab%().]{0,20}", pattern in "[ab%().*+?^$\\[\\]-]{0,12}") {
        let value = json!({"apiVersion": "v1", "kind": "Thing", "text": text, "pattern": pattern});
        let object = Object::from_value(value).expect("an object");
        let script = "return {status = 'Healthy', message = obj.text:gsub(obj.pattern, '%0') .. \
            tostring(obj.text:find(obj.pattern))}";
        drop(health(script, &object, &Surroundings::at(0)));
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        // A null in a list is a hole, and what is behind a hole may be lost.
        Value::Array(list) if list.contains(&Value::Null) => Value::Null,
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

fn alike(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (_, Value::Null) => true,
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(name, it)| alike(found.get(name).unwrap_or(&Value::Null), it))
        }
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| alike(a, b))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}
