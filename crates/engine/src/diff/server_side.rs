//! Compares the live object with what the API server answered to a dry run.
//!
//! The answer is a fact that somebody fetched; here it is only read. Webhooks
//! may have changed it on its way. Unless the user wants to see that, fields
//! that our manager does not own are taken back to their live values.

use object::fields::{FieldSet, NotKeyed, PathElement, merge, remove};
use object::{Object, typed};
use serde_json::Value;

use super::normalise::straighten;
use super::structured::type_of;
use super::three_way::LAST_APPLIED;
use super::{Comparing, Sides};

/// Why an answer is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It does not say who owns what.
    #[error("the dry run's answer names no fields of {manager}")]
    NothingOwned {
        /// Our manager.
        manager: String,
    },
    /// Its lists cannot be compared.
    #[error("the dry run's answer cannot be compared with the live object")]
    NotKeyed {
        /// Which list, and why.
        source: NotKeyed,
    },
}

/// Whose changes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhooks {
    /// Changes by webhooks are left out.
    Ignored,
    /// Changes by webhooks show.
    Included,
}

/// Both sides: `answer` is what the API server would store, `live` is normalised.
///
/// # Errors
/// When the answer cannot be interpreted.
pub fn sides(
    answer: &Object,
    live: &Object,
    webhooks: Webhooks,
    comparing: &Comparing,
) -> Result<Sides, AnswerError> {
    let answer = match webhooks {
        Webhooks::Included => answer.clone(),
        Webhooks::Ignored => without_webhooks(answer, live, comparing)?,
    };
    let answer = typed::round_trip(&answer).unwrap_or(answer);
    Ok(Sides {
        predicted: presentable(answer, comparing),
        live: presentable(live.clone(), comparing),
    })
}

fn presentable(mut object: Object, comparing: &Comparing) -> Value {
    straighten(&mut object, comparing.ignores_aggregated_roles);
    comparing.read_known_types(&mut object);
    comparing.ignoring.drop_ignored(&mut object);
    let fields = object.fields_mut();
    super::remove(fields, &["metadata", "managedFields"]);
    super::remove(fields, &["metadata", "resourceVersion"]);
    super::remove(fields, &["metadata", "annotations", LAST_APPLIED]);
    object.into_value()
}

fn without_webhooks(
    answer: &Object,
    live: &Object,
    comparing: &Comparing,
) -> Result<Object, AnswerError> {
    let not_keyed = |source| AnswerError::NotKeyed { source };
    let of = type_of(answer, &comparing.schema);
    let mut ours = FieldSet::new();
    for entry in answer.list(&["metadata", "managedFields"]) {
        if entry["manager"] == comparing.manager.as_str()
            && let Ok(set) = FieldSet::from_json(&entry["fieldsV1"])
        {
            ours = ours.union(&set);
        }
    }
    if ours.is_empty() {
        return Err(AnswerError::NothingOwned { manager: comparing.manager.clone() });
    }
    let predicted = answer.as_value().clone();
    let live = live.as_value().clone();
    let predicted_fields = FieldSet::of(&predicted, of).map_err(not_keyed)?;
    let live_fields = FieldSet::of(&live, of).map_err(not_keyed)?;

    let theirs = predicted_fields.difference(&ours).without_parents_of(&ours);
    // What the apply takes away: ours by absence, and no webhook's doing.
    let gone = live_fields.difference(&predicted_fields).difference(&theirs);
    let mut removable = FieldSet::new();
    for path in theirs.paths().iter().filter(|path| !is_part_of_a_composite_key(&path.0)) {
        removable.insert(&path.0);
    }
    let ours_only = without_emptied(&predicted, remove(&predicted, &removable, of));
    let merged = merge(&live, &ours_only, of).map_err(not_keyed)?;
    let result = without_emptied(&merged, remove(&merged, &gone, of));
    Ok(Object::from_value(result).unwrap_or_else(|_| answer.clone()))
}

/// What lost all its content goes too; what was empty before stays.
fn without_emptied(before: &Value, after: Value) -> Value {
    let Value::Object(fields) = after else { return after };
    let kept = fields.into_iter().filter_map(|(name, after)| {
        let before = &before[&name];
        let after = without_emptied(before, after);
        let is_empty = |it: &Value| {
            it.as_object().is_some_and(serde_json::Map::is_empty)
                || it.as_array().is_some_and(Vec::is_empty)
        };
        (!is_empty(&after) || is_empty(before)).then_some((name, after))
    });
    Value::Object(kept.collect())
}

/// A field by which, together with others, its list element is told apart.
fn is_part_of_a_composite_key(path: &[PathElement]) -> bool {
    let Some((PathElement::Field(name), parents)) = path.split_last() else { return false };
    parents.iter().rev().any(|element| match element {
        PathElement::Key(keys) => keys.len() > 1 && keys.iter().any(|(key, _)| key == name),
        _ => false,
    })
}
