//! Hides what Secrets hold before anybody outside sees them.
//!
//! Equal values get equal signs and different values different ones, so that a
//! reader still sees that something changed, and nothing more.

use std::collections::{BTreeMap, BTreeSet};

use object::Object;
use serde_json::{Map, Value};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const SIGNS: &str = "++++++++";

/// Replaces the values of Secrets by signs, on all sides alike. Anything else is
/// left as it is.
pub(crate) fn hide(sides: &mut [&mut Object]) {
    if !sides.iter().any(|it| it.group_kind().is("", "Secret")) {
        return;
    }
    let mut applied: Vec<Option<Map<String, Value>>> =
        sides.iter().map(|it| last_applied(it)).collect();
    let mut maps: Vec<&mut Map<String, Value>> = Vec::new();
    for side in sides.iter_mut() {
        maps.push(side.fields_mut());
    }
    maps.extend(applied.iter_mut().flatten());
    for field in ["data", "stringData"] {
        hide_field(&mut maps, field);
    }
    for (side, applied) in sides.iter_mut().zip(applied) {
        if let Some(applied) = applied {
            side.set_annotation(LAST_APPLIED, &Value::Object(applied).to_string());
        } else if side.annotation(LAST_APPLIED).is_some() {
            // Not readable, so nobody knows what it would give away.
            side.set_annotation(LAST_APPLIED, SIGNS);
        }
    }
}

fn last_applied(object: &Object) -> Option<Map<String, Value>> {
    serde_json::from_str(object.annotation(LAST_APPLIED)?).ok()
}

fn hide_field(maps: &mut [&mut Map<String, Value>], field: &str) {
    let names: BTreeSet<String> = maps
        .iter()
        .filter_map(|it| it.get(field)?.as_object())
        .flat_map(|it| it.keys().cloned())
        .collect();
    for name in names {
        let mut signs = BTreeMap::<String, String>::new();
        for map in maps.iter_mut() {
            let values = map.get_mut(field).and_then(Value::as_object_mut);
            if let Some(value) = values.and_then(|it| it.get_mut(&name)) {
                let next = format!("{SIGNS}{}", "+".repeat(signs.len()));
                *value = signs.entry(value.to_string()).or_insert(next).clone().into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(data: &Value) -> Object {
        Object::from_value(json!({"apiVersion": "v1", "kind": "Secret", "data": data}))
            .expect("a secret")
    }

    #[test]
    fn equal_values_stay_equal_and_different_ones_different() {
        let mut want = secret(&json!({"a": "x", "b": "new"}));
        let mut live = secret(&json!({"a": "x", "b": "old", "c": "y"}));
        live.set_annotation(LAST_APPLIED, &json!({"data": {"b": "new"}}).to_string());
        hide(&mut [&mut want, &mut live]);
        assert_eq!(want.at(&["data"]), Some(&json!({"a": "++++++++", "b": "++++++++"})));
        let expect = json!({"a": "++++++++", "b": "+++++++++", "c": "++++++++"});
        assert_eq!(live.at(&["data"]), Some(&expect));
        assert_eq!(live.annotation(LAST_APPLIED), Some(r#"{"data":{"b":"++++++++"}}"#));
    }

    #[test]
    fn an_unreadable_annotation_gives_nothing_away() {
        let mut live = secret(&json!({}));
        live.set_annotation(LAST_APPLIED, "{password");
        hide(&mut [&mut live]);
        assert_eq!(live.annotation(LAST_APPLIED), Some(SIGNS));
    }

    #[test]
    fn other_kinds_are_left_alone() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        let mut map = Object::from_value(map).expect("a map");
        hide(&mut [&mut map]);
        assert_eq!(map.at(&["data", "a"]), Some(&json!("b")));
    }
}
