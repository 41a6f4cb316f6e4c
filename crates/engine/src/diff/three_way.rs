//! Predicts what `kubectl apply` would make of a live object.
//!
//! The last-applied annotation says what git wanted before, so a field that git
//! dropped is told from one that somebody else added. Kinds with a Go type are
//! patched strategically and defaulted on both sides; all others are patched as
//! plain JSON.

use std::borrow::Cow;

use object::schema::{Schema, Type};
use object::{GroupVersionKind, Object, patch, typed};
use serde_json::{Map, Value};

use super::{Sides, remove, same_text};

/// The annotation in which `kubectl apply` remembers what it applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What was applied last, if the object remembers.
#[must_use]
pub fn last_applied(live: &Object) -> Option<Object> {
    let text = live.annotation(LAST_APPLIED)?;
    Object::from_value(serde_json::from_str(text).ok()?).ok()
}

/// Both sides. Without `last_applied`, or where it cannot be used, what git
/// wants now counts as what it wanted before.
#[must_use]
pub fn sides(last_applied: Option<&Object>, want: &Object, live: &Object) -> Sides {
    let want = trimmed(want);
    last_applied
        .and_then(|it| try_sides(&trimmed(it), &want, live))
        .or_else(|| try_sides(&want, &want, live))
        .unwrap_or_else(|| Sides {
            predicted: patch::merge::apply(live.as_value(), want.as_value()),
            live: live.as_value().clone(),
        })
}

/// Does the annotation hold what git wants, but for a namespace that one of them
/// leaves out? One that cannot be read says nothing to the contrary.
pub(super) fn says(annotation: &str, want: &Object) -> bool {
    same_text::is_object(annotation, want).unwrap_or(true)
}

fn try_sides(before: &Object, want: &Object, live: &Object) -> Option<Sides> {
    let kind = before.group_version_kind();
    if !typed::is_known(&kind) {
        return Some(as_json(before, want, live));
    }
    let of = patch_type(&kind)?;
    let current = if before.kind() == "StatefulSet" {
        Cow::Owned(without_defaulted_claims(before, live))
    } else {
        Cow::Borrowed(live)
    };
    let patch =
        patch::strategic::create_three_way(before.fields(), want.fields(), current.fields(), of)
            .ok()?;
    let predicted = patch::strategic::apply(live.fields(), &patch, of).ok()?;
    Some(Sides { predicted: defaulted(predicted)?, live: defaulted(live.fields().clone())? })
}

/// How a kind is patched. Versions that API servers no longer have are patched
/// as their successors.
fn patch_type(kind: &GroupVersionKind) -> Option<Type<'static>> {
    let schema = Schema::builtin();
    schema.of_kind(kind).or_else(|| {
        let successor = schema.kinds().find(|it| it.kind == kind.kind && it.version == "v1")?;
        schema.of_kind(successor)
    })
}

/// Custom resources: live fields that were never applied are somebody else's.
fn as_json(before: &Object, want: &Object, live: &Object) -> Sides {
    let current = only_fields_of(before.fields(), live.fields());
    let patch = patch::merge::create_three_way(before.fields(), want.fields(), &current);
    let predicted = patch::merge::apply(live.as_value(), &Value::Object(patch));
    Sides { predicted, live: live.as_value().clone() }
}

pub(super) fn defaulted(fields: Map<String, Value>) -> Option<Value> {
    let mut object = Object::from_value(Value::Object(fields)).ok()?;
    typed::fill_defaults(&mut object);
    Some(object.into_value())
}

/// Manifests may leave out their namespace, and empty annotations say nothing.
fn trimmed(object: &Object) -> Object {
    let mut object = object.clone();
    let fields = object.fields_mut();
    remove(fields, &["metadata", "namespace"]);
    let annotations = fields.get("metadata").and_then(|it| it.get("annotations"));
    let says_nothing =
        annotations.is_some_and(|it| it.is_null() || it.as_object().is_some_and(Map::is_empty));
    if says_nothing {
        remove(fields, &["metadata", "annotations"]);
    }
    object
}

/// The API server puts defaults into the claim templates that nobody can
/// reproduce here, so only what was applied counts.
fn without_defaulted_claims(before: &Object, live: &Object) -> Object {
    let path = ["spec", "volumeClaimTemplates"];
    let (Some(Value::Array(applied)), Some(Value::Array(found))) =
        (before.at(&path), live.at(&path))
    else {
        return live.clone();
    };
    let kept = only_items_of(applied, found);
    let mut live = live.clone();
    if let Some(spec) = live.fields_mut().get_mut("spec") {
        spec["volumeClaimTemplates"] = Value::Array(kept);
    }
    live
}

/// The fields of `live` that `applied` has too, however deep.
pub(super) fn only_fields_of(
    applied: &Map<String, Value>,
    live: &Map<String, Value>,
) -> Map<String, Value> {
    let shared = applied.iter().filter_map(|(name, applied)| {
        Some((name.clone(), only_parts_of(applied, live.get(name)?)))
    });
    shared.collect()
}

fn only_parts_of(applied: &Value, live: &Value) -> Value {
    match (applied, live) {
        (Value::Object(applied), Value::Object(live)) => {
            Value::Object(only_fields_of(applied, live))
        }
        (Value::Array(applied), Value::Array(live)) => Value::Array(only_items_of(applied, live)),
        (_, live) => live.clone(),
    }
}

/// What a list has in excess stays, so that it shows.
fn only_items_of(applied: &[Value], live: &[Value]) -> Vec<Value> {
    let of_each = live.iter().enumerate().map(|(index, live)| match applied.get(index) {
        Some(applied) => only_parts_of(applied, live),
        None => live.clone(),
    });
    of_each.collect()
}
