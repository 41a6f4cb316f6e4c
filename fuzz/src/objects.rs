//! Objects: strategic merge patches and field sets.

use object::fields::FieldSet;
use object::patch::strategic;
use object::schema::{Schema, Type};
use object::{GroupVersionKind, Object};
use serde_json::{Map, Value};

/// A JSON list of two objects of one kind, or of an object and a patch to it:
/// the patch that was made of two brings one to the other, after which there is
/// no more to be patched than between the other and itself. That can be refused:
/// a list that is new is taken as it is, also with elements that nothing tells apart.
/// A list of texts or numbers that has one twice is merged to one that has it once, as
/// Kubernetes does, so there nothing is said.
pub(crate) fn strategic_merge(bytes: &[u8]) {
    let Ok([one, other]) = serde_json::from_slice::<[Map<String, Value>; 2]>(bytes) else {
        return;
    };
    let of = type_of(&one);
    drop(strategic::apply(&one, &other, of));
    drop(strategic::create_three_way(&one, &other, &one, of));
    let Ok(patch) = strategic::create_two_way(&one, &other, of) else { return };
    // What lies in the patch as a directive cannot be told from one in the object.
    let text = Value::Object(one.clone()).to_string() + &Value::Object(other.clone()).to_string();
    if text.contains('$') || text.contains("null") || other.values().any(has_one_twice) {
        return;
    }
    let Ok(patched) = strategic::apply(&one, &patch, of) else { return };
    let left = strategic::create_two_way(&patched, &other, of);
    let of_itself = strategic::create_two_way(&other, &other, of);
    assert_eq!(left.ok(), of_itself.ok(), "after {patch:?}");
}

/// Does a list in it have the same text, number or list twice?
fn has_one_twice(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            let is_again = |(at, it): (usize, &Value)| !it.is_object() && items[..at].contains(it);
            items.iter().enumerate().any(is_again) || items.iter().any(has_one_twice)
        }
        Value::Object(fields) => fields.values().any(has_one_twice),
        _ => false,
    }
}

fn type_of(fields: &Map<String, Value>) -> Type<'static> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = GroupVersionKind::parse(text("apiVersion"), text("kind"));
    Schema::builtin().of_kind(&kind).unwrap_or_else(Type::unknown)
}

/// A field set is read again as it is written; sets obey the laws of sets.
pub(crate) fn fields_v1(bytes: &[u8]) {
    let Ok(tree) = serde_json::from_slice::<Value>(bytes) else { return };
    if let Ok(object) = Object::from_value(tree.clone()) {
        let of = type_of(object.fields());
        drop(FieldSet::of(&tree, of));
    }
    let Ok(set) = FieldSet::from_json(&tree) else { return };
    let again = FieldSet::from_json(&set.to_json());
    assert_eq!(again.as_ref().ok(), Some(&set), "written as {}", set.to_json());
    assert_eq!(set.union(&set), set);
    assert_eq!(set.intersection(&set), set);
    assert!(set.difference(&set).is_empty());
    assert_eq!(set.paths().len(), set.len());
}
