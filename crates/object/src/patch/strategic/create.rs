//! Making a patch: where two objects differ.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::elements::{
    By, ElementType, element_type, go_text, key_of, mapping, require_key, same_type, sorted_by_text,
};
use super::{
    DELETE_FROM_PRIMITIVE_LIST, PATCH, PatchError, PatchProblem, RETAIN_KEYS, SET_ELEMENT_ORDER,
};
use crate::schema::{PatchRule, PatchStrategy, Type};

/// Which half of the difference is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Everything,
    ChangesAndAdditions,
    Deletions,
}

impl Wanted {
    fn changes(self) -> bool {
        self != Self::Deletions
    }

    fn deletions(self) -> bool {
        self != Self::ChangesAndAdditions
    }
}

/// The patch from `original` to `modified`.
pub(super) fn difference(
    original: &Map<String, Value>,
    modified: &Map<String, Value>,
    of: Type<'_>,
    wanted: Wanted,
) -> Result<Map<String, Value>, PatchError> {
    let mut patch = Map::new();
    for (field, after) in modified {
        match original.get(field) {
            None if wanted.changes() => {
                patch.insert(field.clone(), after.clone());
            }
            None => {}
            Some(before) if field == PATCH => compare_directives(before, after, &mut patch)?,
            Some(before) => patch.extend(compare_field(field, before, after, of, wanted)?),
        }
    }
    if wanted.deletions() {
        for field in original.keys().filter(|field| !modified.contains_key(*field)) {
            patch.insert(field.clone(), Value::Null);
        }
    }
    Ok(patch)
}

fn compare_directives(
    before: &Value,
    after: &Value,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchProblem> {
    if !before.is_string() || !after.is_string() {
        return Err(PatchProblem::Malformed(PATCH.to_owned()));
    }
    if before != after {
        patch.insert(PATCH.to_owned(), after.clone());
    }
    Ok(())
}

/// What the patch says about one field that both sides have.
fn compare_field(
    field: &str,
    before: &Value,
    after: &Value,
    of: Type<'_>,
    wanted: Wanted,
) -> Result<Map<String, Value>, PatchError> {
    let known = of.field(field);
    match (before, after, known) {
        (Value::Object(before), Value::Object(after), Some((inner, rule))) => {
            compare_maps(before, after, inner, rule, wanted)
                .map(|patch| patch.map(|patch| (field.to_owned(), patch)).into_iter().collect())
                .map_err(|error| error.under(field))
        }
        (Value::Array(before), Value::Array(after), Some((inner, rule)))
            if rule.strategy == PatchStrategy::Merge =>
        {
            compare_lists(before, after, inner.items(), rule, wanted)
                .map(|difference| difference.into_patch(field))
                .map_err(|error| error.under(field))
        }
        _ if before == after => Ok(Map::new()),
        (Value::Object(_) | Value::Array(_), _, None) if same_type(before, after) => {
            Err(PatchProblem::UnknownField(field.to_owned()).into())
        }
        _ if wanted.changes() => Ok(Map::from_iter([(field.to_owned(), after.clone())])),
        _ => Ok(Map::new()),
    }
}

fn compare_maps(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    of: Type<'_>,
    rule: &PatchRule,
    wanted: Wanted,
) -> Result<Option<Value>, PatchError> {
    if rule.strategy == PatchStrategy::Replace {
        // Sent even when equal, as the reference library does.
        return Ok(wanted.changes().then(|| Value::Object(after.clone())));
    }
    let patch = difference_retaining(before, after, of, rule, wanted)?;
    Ok((!patch.is_empty()).then_some(Value::Object(patch)))
}

/// [`difference`], with the fields to retain if the rule asks for them.
fn difference_retaining(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    of: Type<'_>,
    rule: &PatchRule,
    wanted: Wanted,
) -> Result<Map<String, Value>, PatchError> {
    let mut patch = difference(before, after, of, wanted)?;
    if rule.retain_keys {
        let retained: Vec<&String> =
            after.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name).collect();
        let clears =
            before.iter().any(|(name, value)| !value.is_null() && !after.contains_key(name));
        if !retained.is_empty() && (!patch.is_empty() || clears) {
            patch.insert(RETAIN_KEYS.to_owned(), json!(retained));
        }
    }
    Ok(patch)
}

/// What a patch says about one list, each part under a key of its own.
#[derive(Default)]
struct ListDifference {
    changed: Vec<Value>,
    deleted: Vec<Value>,
    order: Vec<Value>,
}

impl ListDifference {
    fn into_patch(self, field: &str) -> Map<String, Value> {
        [
            (field.to_owned(), self.changed),
            (format!("{DELETE_FROM_PRIMITIVE_LIST}/{field}"), self.deleted),
            (format!("{SET_ELEMENT_ORDER}/{field}"), self.order),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| (name, Value::Array(list)))
        .collect()
    }
}

fn compare_lists(
    before: &[Value],
    after: &[Value],
    items: Type<'_>,
    rule: &PatchRule,
    wanted: Wanted,
) -> Result<ListDifference, PatchError> {
    if before.is_empty() {
        // All elements are new, and come in their order.
        let changed = if wanted.changes() { after.to_vec() } else { Vec::new() };
        return Ok(ListDifference { changed, ..ListDifference::default() });
    }
    match element_type(before, after)? {
        Some(ElementType::Mapping) => compare_mappings(before, after, items, rule, wanted),
        _ => Ok(compare_scalars(before, after, wanted)?),
    }
}

fn compare_mappings(
    before: &[Value],
    after: &[Value],
    items: Type<'_>,
    rule: &PatchRule,
    wanted: Wanted,
) -> Result<ListDifference, PatchError> {
    let key = rule.merge_key.as_deref().ok_or(PatchProblem::NoMergeKey)?;
    require_key(before, key)?;
    require_key(after, key)?;
    if before == after {
        // Nothing inside can differ either.
        return Ok(ListDifference::default());
    }
    let text = |element| key_text(element, key);
    let (mut changed, mut deleted) = (Vec::new(), Vec::new());
    for pair in match_up(before, after, text) {
        match pair {
            (Some(before), Some(after)) => {
                let (left, right) = (mapping(before)?, mapping(after)?);
                let mut patch = difference_retaining(left, right, items, rule, wanted)?;
                if !patch.is_empty() {
                    patch.insert(key.to_owned(), key_of(after, key)?.clone());
                    changed.push(Value::Object(patch));
                }
            }
            (None, Some(after)) if wanted.changes() => changed.push(after.clone()),
            (Some(before), None) if wanted.deletions() => {
                deleted.push(json!({PATCH: "delete", key: key_of(before, key)?}));
            }
            _ => {}
        }
    }
    let mut changed = By::Key(key).sort(changed, after)?;
    changed.extend(deleted);
    let moved = before.len() != after.len()
        || before.iter().zip(after).any(|(before, after)| before.get(key) != after.get(key));
    let order = if !changed.is_empty() || (wanted.changes() && moved) {
        after.iter().map(|element| json!({key: element.get(key)})).collect()
    } else {
        Vec::new()
    };
    Ok(ListDifference { changed, deleted: Vec::new(), order })
}

fn key_text<'v>(element: &'v Value, key: &str) -> Cow<'v, str> {
    element.get(key).map(go_text).unwrap_or_default()
}

fn compare_scalars(
    before: &[Value],
    after: &[Value],
    wanted: Wanted,
) -> Result<ListDifference, PatchProblem> {
    let (mut changed, mut deleted) = (Vec::new(), Vec::new());
    for pair in match_up(before, after, go_text) {
        match pair {
            // Equal ones come one after the other.
            (Some(gone), None) if wanted.deletions() && deleted.last() != Some(gone) => {
                deleted.push(gone.clone());
            }
            (None, Some(added)) if wanted.changes() => changed.push(added.clone()),
            _ => {}
        }
    }
    // The reference library compares the *sorted* old list with the new one,
    // so that an unsorted list that did not change still has its order set.
    let sorted_before = sorted_by_text(before, go_text);
    let moved = !sorted_before.into_iter().map(|(_, value)| value).eq(after);
    let order = if !deleted.is_empty() || (wanted.changes() && moved) {
        after.to_vec()
    } else {
        Vec::new()
    };
    Ok(ListDifference { changed: By::Value.sort(changed, after)?, deleted, order })
}

/// Pairs elements of equal text, one by one, in the order of the texts.
fn match_up<'v>(
    before: &'v [Value],
    after: &'v [Value],
    text: impl Fn(&'v Value) -> Cow<'v, str>,
) -> Vec<(Option<&'v Value>, Option<&'v Value>)> {
    let mut before = sorted_by_text(before, &text).into_iter().peekable();
    let mut after = sorted_by_text(after, &text).into_iter().peekable();
    let mut pairs = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return pairs,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
        };
        let left = if order.is_le() { before.next() } else { None };
        let right = if order.is_ge() { after.next() } else { None };
        pairs.push((left.map(|(_, value)| value), right.map(|(_, value)| value)));
    }
}
