//! Predicts what `kubectl apply` would make of a live object.
//!
//! The last-applied annotation says what git wanted before, so a field that git
//! dropped is told from one that somebody else added. Kinds with a Go type are
//! patched strategically and defaulted on both sides; all others are patched as
//! plain JSON.

use std::borrow::Cow;

use object::schema::{Schema, Type};
use object::typed::{self, Step};
use object::{GroupVersionKind, Object, patch};
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
pub fn sides(last_applied: Option<Object>, want: Object, live: Object) -> Sides {
    let want = trimmed(want);
    let prediction = last_applied
        .and_then(|it| predict(&trimmed(it), &want, &live))
        .or_else(|| predict(&want, &want, &live));
    match prediction {
        Some(Prediction::Typed(predicted)) => {
            Sides { predicted: defaulted(predicted), live: defaulted(live) }
        }
        Some(Prediction::Plain(predicted)) => Sides { predicted, live: live.into_value() },
        None => Sides {
            predicted: patch::merge::apply(live.as_value(), want.as_value()),
            live: live.into_value(),
        },
    }
}

/// Does the annotation hold what git wants, but for a namespace that one of them
/// leaves out? One that cannot be read says nothing to the contrary.
pub(super) fn says(annotation: &str, want: &Object) -> bool {
    same_text::is_object(annotation, want).unwrap_or(true)
}

/// Is it plain that git dropped nothing since the last apply, because what was
/// applied last differs from `want` in texts alone? Then what git wants now does
/// for what it wanted before. "No" only means that a closer look is needed.
pub(super) fn dropped_nothing(want: &Object, live: &Object) -> bool {
    let kind = want.group_version_kind();
    let (Some(text), Some(of)) = (live.annotation(LAST_APPLIED), patch_type(&kind)) else {
        return false;
    };
    let may_differ = |path: &Vec<Step<'_>>| {
        // The first fields of an object say what kind it is.
        path.len() > 1 && typed::is_text(&kind, path) && tells_nothing_apart(path, of)
    };
    same_text::differing_texts(text, want).is_some_and(|paths| paths.iter().all(may_differ))
}

/// Is what stands at `path` no key by which elements of a list are told apart?
/// Where the type does not know the way, it may be one.
fn tells_nothing_apart(path: &[Step<'_>], of: Type<'_>) -> bool {
    let Some((Step::Field(last), parents)) = path.split_last() else { return false };
    let (mut of, mut merge_key) = (of, None);
    for step in parents {
        match step {
            Step::Field(name) => {
                let Some((inner, rule)) = of.field(name) else { return false };
                (of, merge_key) = (inner, rule.merge_key.as_deref());
            }
            Step::Element => of = of.items(),
        }
    }
    merge_key != Some(last)
}

/// What the live object would become.
enum Prediction {
    /// One of a kind that has defaults, which are not filled in yet.
    Typed(Object),
    /// One of a kind of which nothing is known.
    Plain(Value),
}

fn predict(before: &Object, want: &Object, live: &Object) -> Option<Prediction> {
    let kind = before.group_version_kind();
    if !typed::is_known(&kind) {
        return Some(Prediction::Plain(as_json(before, want, live)));
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
    Object::from_value(Value::Object(predicted)).ok().map(Prediction::Typed)
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
fn as_json(before: &Object, want: &Object, live: &Object) -> Value {
    let current = only_fields_of(before.fields(), live.fields());
    let patch = patch::merge::create_three_way(before.fields(), want.fields(), &current);
    patch::merge::apply(live.as_value(), &Value::Object(patch))
}

pub(super) fn defaulted(mut object: Object) -> Value {
    typed::fill_defaults(&mut object);
    object.into_value()
}

/// Manifests may leave out their namespace, and empty annotations say nothing.
fn trimmed(mut object: Object) -> Object {
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
