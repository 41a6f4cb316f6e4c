//! What server-side apply makes of a live object and a manifest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::PathElement;
use super::of_object::{NotKeyed, Trail, elements};
use crate::schema::{Granularity, ListKind, Type};

/// Lays `applied` over `live`: leaves of `applied` win, nothing is removed.
///
/// Elements that only `live` has keep their place relative to the shared
/// ones; the order of `applied` wins among its own.
///
/// # Errors
/// When elements of a list cannot be told apart, or `applied` has two with
/// one key.
pub fn merge(live: &Value, applied: &Value, of: Type<'_>) -> Result<Value, NotKeyed> {
    merge_at(live, applied, of, &Trail::Root)
}

fn merge_at(
    live: &Value,
    applied: &Value,
    of: Type<'_>,
    trail: &Trail<'_>,
) -> Result<Value, NotKeyed> {
    match (of.granularity(applied), live, applied) {
        (Granularity::Map, Value::Object(live), Value::Object(applied)) => {
            merge_maps(live, applied, of, trail)
        }
        (Granularity::List(kind, items), Value::Array(live), Value::Array(applied)) => {
            merge_lists(live, applied, kind, items, trail)
        }
        // No one can remove by applying nothing in place of a structure.
        (_, Value::Object(before), Value::Null) if !of.is_leaf() && !before.is_empty() => {
            Ok(live.clone())
        }
        (_, Value::Array(before), Value::Null) if !of.is_leaf() && !before.is_empty() => {
            Ok(live.clone())
        }
        _ => Ok(applied.clone()),
    }
}

fn merge_maps(
    live: &Map<String, Value>,
    applied: &Map<String, Value>,
    of: Type<'_>,
    trail: &Trail<'_>,
) -> Result<Value, NotKeyed> {
    let kept = live.iter().filter(|(name, _)| !applied.contains_key(*name));
    let mut merged: Map<String, Value> =
        kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, applied) in applied {
        let value = match live.get(name) {
            None => applied.clone(),
            Some(live) => merge_at(live, applied, of.entry(name), &Trail::Field(trail, name))?,
        };
        merged.insert(name.clone(), value);
    }
    Ok(Value::Object(merged))
}

fn merge_lists(
    live: &[Value],
    applied: &[Value],
    kind: &ListKind,
    items: Type<'_>,
    trail: &Trail<'_>,
) -> Result<Value, NotKeyed> {
    let live_elements = elements(live, kind, items, trail)?;
    let applied_elements = elements(applied, kind, items, trail)?;
    if applied_elements.iter().collect::<BTreeSet<_>>().len() < applied_elements.len() {
        let problem = "two elements of the manifest have one key";
        return Err(NotKeyed { list: trail.to_path(), problem });
    }
    let mut before = BTreeMap::new();
    for (element, value) in live_elements.iter().zip(live) {
        // Of two live elements with one key neither is merged with.
        before.entry(element).and_modify(|known| *known = None).or_insert(Some(value));
    }
    let merge_one = |element: &PathElement, applied: &Value| match before.get(element) {
        Some(Some(live)) => merge_at(live, applied, items, &Trail::Step(trail, element)),
        _ => Ok(applied.clone()),
    };
    let wanted: BTreeSet<&PathElement> = applied_elements.iter().collect();
    let mut rest = applied_elements.iter().zip(applied).peekable();
    let mut merged = Vec::with_capacity(live.len() + applied.len());
    for (element, value) in live_elements.iter().zip(live) {
        if !wanted.contains(element) {
            merged.push(value.clone());
            continue;
        }
        // A shared element goes where the manifest has it. When it is the
        // next shared one there, everything up to it comes now.
        let next_shared = rest.clone().find(|(it, _)| before.contains_key(it)).map(|(it, _)| it);
        if next_shared == Some(element) {
            for (next, applied) in rest.by_ref() {
                merged.push(merge_one(next, applied)?);
                if next == element {
                    break;
                }
            }
        }
    }
    for (element, applied) in rest {
        merged.push(merge_one(element, applied)?);
    }
    Ok(Value::Array(merged))
}
