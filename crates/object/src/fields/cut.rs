//! Cutting an object along a set of fields.

use serde_json::{Map, Value};

use super::of_object::Trail;
use super::{Entry, FieldSet, PathElement, of_object};
use crate::schema::{Granularity, Type};

/// Only what the set names: its leaves, with the structure that leads to them.
///
/// A leaf of the set that is a mapping in the object is kept empty, unless
/// the type makes it one value: its owner owns that it exists, not what others
/// put into it.
#[must_use]
pub fn project(value: &Value, set: &FieldSet, of: Type<'_>) -> Value {
    match (of.granularity(value), value) {
        (Granularity::Map, Value::Object(fields)) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let entry = set.entries.get(&PathElement::Field(name.clone()))?;
                Some((name.clone(), project_entry(value, entry, of.entry(name))))
            });
            Value::Object(kept.collect())
        }
        (Granularity::List(kind, items), Value::Array(list)) => {
            let Ok(elements) = of_object::elements(list, kind, items, &Trail::Root) else {
                return value.clone();
            };
            let kept = elements.iter().zip(list).filter_map(|(element, value)| {
                let entry = set.entries.get(element)?;
                if entry.below.is_empty() {
                    return Some(value.clone());
                }
                Some(project_entry(value, entry, items))
            });
            Value::Array(kept.collect())
        }
        _ => value.clone(),
    }
}

fn project_entry(value: &Value, entry: &Entry, of: Type<'_>) -> Value {
    project(value, &entry.below, of)
}

/// Everything but what the set names. What loses all its content stays, empty.
#[must_use]
pub fn remove(value: &Value, set: &FieldSet, of: Type<'_>) -> Value {
    match (of.granularity(value), value) {
        (Granularity::Map, Value::Object(fields)) => {
            let kept = fields.iter().filter_map(|(name, value)| {
                let element = PathElement::Field(name.clone());
                Some((
                    name.clone(),
                    remove_entry(value, set.entries.get(&element), of.entry(name))?,
                ))
            });
            Value::Object(kept.collect())
        }
        (Granularity::List(kind, items), Value::Array(list)) => {
            let Ok(elements) = of_object::elements(list, kind, items, &Trail::Root) else {
                return value.clone();
            };
            let kept = elements.iter().zip(list).filter_map(|(element, value)| {
                remove_entry(value, set.entries.get(element), items)
            });
            Value::Array(kept.collect())
        }
        // A set that names parts of what has no parts was made with another
        // schema; the whole goes, as the reference library does it.
        (_, Value::Object(_)) => Value::Object(Map::new()),
        (_, Value::Array(_)) => Value::Array(Vec::new()),
        (_, scalar) => scalar.clone(),
    }
}

fn remove_entry(value: &Value, entry: Option<&Entry>, of: Type<'_>) -> Option<Value> {
    match entry {
        None => Some(value.clone()),
        Some(entry) if entry.member => None,
        Some(entry) => Some(remove(value, &entry.below, of)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(value: &Value) -> FieldSet {
        FieldSet::from_json(value).expect("a field set")
    }

    #[test]
    fn a_projection_keeps_the_leaves_and_the_way_to_them() {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"x": [1, 2]}});
        let fields = set(&json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {"f:x": {}, "f:gone": {}},
        }));
        assert_eq!(
            project(&object, &fields, Type::unknown()),
            json!({"metadata": {"labels": {"a": "1"}}, "spec": {"x": [1, 2]}})
        );
    }

    #[test]
    fn removal_leaves_empty_what_it_emptied() {
        let object = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"x": 1, "y": 2}});
        let fields = set(&json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:x": {}}}));
        assert_eq!(
            remove(&object, &fields, Type::unknown()),
            json!({"metadata": {"labels": {}}, "spec": {"y": 2}})
        );
    }
}
