//! JSON merge patch: an overlay in which `null` deletes (RFC 7386).
//!
//! Lists are replaced as a whole. `null` cannot be set by such a patch, which
//! is why [`create`] followed by [`apply`] yields the modified object without
//! the nulls that it adds.

use serde_json::{Map, Value};

/// Lays `patch` over `target`.
#[must_use]
pub fn apply(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut merged = target.as_object().cloned().unwrap_or_default();
    for (name, change) in patch {
        if change.is_null() {
            merged.remove(name);
        } else {
            let before = merged.get(name).unwrap_or(&Value::Null);
            let after = apply(before, change);
            merged.insert(name.clone(), after);
        }
    }
    Value::Object(merged)
}

/// The overlay that turns `original` into `modified`; empty when they are equal.
#[must_use]
pub fn create(original: &Map<String, Value>, modified: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = changes(original, modified);
    for name in original.keys() {
        if !modified.contains_key(name) {
            patch.insert(name.clone(), Value::Null);
        }
    }
    patch
}

fn changes(original: &Map<String, Value>, modified: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (name, after) in modified {
        match (original.get(name), after) {
            (Some(Value::Object(before)), Value::Object(after)) => {
                let inner = create(before, after);
                if !inner.is_empty() {
                    patch.insert(name.clone(), Value::Object(inner));
                }
            }
            (Some(before), after) if equal(before, after) => {}
            (_, after) => {
                patch.insert(name.clone(), after.clone());
            }
        }
    }
    patch
}

/// Equal as JSON: 1 and 1.0 are one number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.is_f64() != right.is_f64() && left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, a)| right.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

/// The overlay that brings `current` (live) to `modified` (wanted), removing
/// only what was in `original` (last applied).
#[must_use]
pub fn create_three_way(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    current: &Map<String, Value>,
) -> Map<String, Value> {
    let deletions = only_nulls(&create(original, modified));
    let additions = without_nulls(&create(current, modified));
    unite(deletions, additions)
}

fn only_nulls(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, change) in patch {
        match change {
            Value::Null => {
                kept.insert(name.clone(), Value::Null);
            }
            Value::Object(inner) => {
                let inner = only_nulls(inner);
                if !inner.is_empty() {
                    kept.insert(name.clone(), Value::Object(inner));
                }
            }
            _ => {}
        }
    }
    kept
}

fn without_nulls(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (name, change) in patch {
        match change {
            Value::Null => {}
            // An empty mapping is a value that was added; one that becomes
            // empty here said nothing but deletions.
            Value::Object(inner) if !inner.is_empty() => {
                let inner = without_nulls(inner);
                if !inner.is_empty() {
                    kept.insert(name.clone(), Value::Object(inner));
                }
            }
            _ => {
                kept.insert(name.clone(), without_nulls_in_lists(change));
            }
        }
    }
    kept
}

/// A list is set as a whole, and a null in one of its mappings cannot be set.
fn without_nulls_in_lists(value: &Value) -> Value {
    match value {
        Value::Array(list) => Value::Array(list.iter().map(without_nulls_in_lists).collect()),
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls_in_lists(value)))
            .collect::<Map<_, _>>()
            .into(),
        scalar => scalar.clone(),
    }
}

fn unite(mut deletions: Map<String, Value>, additions: Map<String, Value>) -> Map<String, Value> {
    for (name, addition) in additions {
        let united = match (deletions.remove(&name), addition) {
            (Some(Value::Object(deletions)), Value::Object(additions)) => {
                Value::Object(unite(deletions, additions))
            }
            (_, addition) => addition,
        };
        deletions.insert(name, united);
    }
    deletions
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no mapping"),
        }
    }

    #[track_caller]
    fn check_three_way(original: Value, modified: Value, current: Value, expect: Value) {
        let patch = create_three_way(&map(original), &map(modified), &map(current));
        assert_eq!(patch, map(expect));
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        let check = |target: Value, patch: Value, expect: Value| {
            assert_eq!(apply(&target, &patch), expect, "{target} + {patch}");
        };
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        );
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!(["a", "b"]), json!(["c"]), json!(["c"]));
        check(json!({"a": "foo"}), json!(null), json!(null));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
    }

    #[test]
    fn only_what_was_applied_before_is_removed() {
        check_three_way(
            json!({"spec": {"mine": 1, "dropped": 1}}),
            json!({"spec": {"mine": 2}}),
            json!({"spec": {"mine": 1, "dropped": 1, "theirs": 1}}),
            json!({"spec": {"mine": 2, "dropped": null}}),
        );
    }

    #[test]
    fn drift_of_a_wanted_field_is_undone() {
        check_three_way(json!({"a": 1}), json!({"a": 1}), json!({"a": 2}), json!({"a": 1}));
    }

    #[test]
    fn an_empty_mapping_is_a_value() {
        check_three_way(json!({}), json!({"a": {}}), json!({}), json!({"a": {}}));
        check_three_way(
            json!({"a": {"b": 1}}),
            json!({"a": {}}),
            json!({"a": {"b": 1}}),
            json!({"a": {"b": null}}),
        );
    }
}
