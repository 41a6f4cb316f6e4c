//! Predicts what server-side apply would make of a live object, by the fields
//! that each manager owns.

use object::Object;
use object::fields::{FieldSet, NotKeyed, merge, remove};
use object::schema::{Schema, Type};
use serde_json::Value;

use super::three_way::{LAST_APPLIED, defaulted};
use super::{Comparing, Sides};

/// Both sides. `stated` is git's object as it is written, `want` as it is
/// compared: a field that is stated, be it empty, was not dropped.
///
/// # Errors
/// When elements of a list cannot be told apart; then the object has to be
/// compared in another way.
pub fn sides(
    stated: &Object,
    want: &Object,
    live: &Object,
    comparing: &Comparing,
) -> Result<Sides, NotKeyed> {
    let of = type_of(want, &comparing.schema);
    let merged = merge(live.as_value(), want.as_value(), of)?;

    let wanted = FieldSet::of(want.as_value(), of)?;
    let (ours, others) = owned(live, &comparing.manager);
    let stated = FieldSet::of(stated.as_value(), of)?;
    let kept = wanted.union(&stated).union(&others);
    let dropped = ours.difference(&kept).without_parents_of(&kept);
    let predicted = remove(&merged, &dropped, of);
    Ok(Sides { predicted: presentable(predicted), live: presentable(live.as_value().clone()) })
}

pub(super) fn type_of<'s>(object: &Object, schema: &'s Schema) -> Type<'s> {
    let kind = object.group_version_kind();
    let known = schema.of_kind(&kind);
    match known.or_else(|| Schema::builtin().of_kind(&kind)) {
        Some(of) => of,
        None => Type::unknown(),
    }
}

/// What our applies own, and what everybody else does.
pub(super) fn owned(live: &Object, manager: &str) -> (FieldSet, FieldSet) {
    let mut ours = FieldSet::new();
    let mut others = FieldSet::new();
    for entry in live.list(&["metadata", "managedFields"]) {
        let Ok(set) = FieldSet::from_json(&entry["fieldsV1"]) else { continue };
        let is_ours = entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none_or(|it| it == "");
        let side = if is_ours { &mut ours } else { &mut others };
        *side = side.union(&set);
    }
    (ours, others)
}

/// Without the annotation that only `kubectl apply` looks at, and with defaults.
fn presentable(mut value: Value) -> Value {
    if let Some(annotations) = value.pointer_mut("/metadata/annotations")
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.remove(LAST_APPLIED);
    }
    Object::from_value(value.clone()).map_or(value, defaulted)
}
