//! Laying a patch over an object, or over another patch.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::elements::{By, ElementType, element_type, key_of, same_type};
use super::{
    DELETE_FROM_PRIMITIVE_LIST, PATCH, PatchError, PatchProblem, RETAIN_KEYS, SET_ELEMENT_ORDER,
};
use crate::schema::{PatchRule, PatchStrategy, Type};

/// What the patch is laid over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// An object: directives are carried out.
    Apply,
    /// Another patch: directives are kept, nulls too.
    JoinPatches,
}

/// Merges `patch` into `original`.
pub(super) fn merge_maps(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    of: Type<'_>,
    mode: Mode,
) -> Result<Map<String, Value>, PatchError> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => Err(PatchProblem::UnknownDirective(directive.to_string()).into()),
        };
    }
    retain_keys(&mut original, &mut patch, mode)?;
    merge_ordered_lists(&mut original, &mut patch, of, mode)?;
    for (name, change) in patch {
        merge_entry(&mut original, &name, change, of, mode)?;
    }
    Ok(original)
}

/// Carries out `$retainKeys`: clears the fields that it does not list.
fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    mode: Mode,
) -> Result<(), PatchProblem> {
    let Some(list) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    if mode == Mode::JoinPatches {
        if original.get(RETAIN_KEYS).is_some_and(|known| *known != list) {
            return Err(PatchProblem::RetainKeysDiffer);
        }
        original.insert(RETAIN_KEYS.to_owned(), list);
        return Ok(());
    }
    let Value::Array(list) = list else {
        return Err(PatchProblem::Malformed(RETAIN_KEYS.to_owned()));
    };
    let retained: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
    let forgotten = patch.iter().find(|(name, change)| {
        !change.is_null() && !is_parallel_list(name) && !retained.contains(name.as_str())
    });
    if let Some((name, _)) = forgotten {
        return Err(PatchProblem::NotRetained(name.clone()));
    }
    original.retain(|name, _| retained.contains(name.as_str()));
    Ok(())
}

fn is_parallel_list(name: &str) -> bool {
    name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER)
}

/// The field that a directive such as `$setElementOrder/containers` is about.
fn subject<'n>(name: &'n str, directive: &str) -> Result<&'n str, PatchProblem> {
    name.strip_prefix(directive)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| PatchProblem::Malformed(name.to_owned()))
}

/// Takes every `$setElementOrder` list, and the list it orders, from the patch.
fn merge_ordered_lists(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    of: Type<'_>,
    mode: Mode,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        if mode == Mode::JoinPatches {
            if original.get(&directive).is_some_and(|known| *known != order) {
                return Err(PatchProblem::Malformed(directive).into());
            }
            original.insert(directive.clone(), order.clone());
        }
        let field = subject(&directive, SET_ELEMENT_ORDER)?;
        let Value::Array(order) = order else {
            return Err(PatchProblem::Malformed(directive).into());
        };
        let change = patch.remove(field);
        merge_ordered_list(original, change, field, &order, of, mode)
            .map_err(|error| error.under(field))?;
    }
    Ok(())
}

fn merge_ordered_list(
    original: &mut Map<String, Value>,
    change: Option<Value>,
    field: &str,
    order: &[Value],
    of: Type<'_>,
    mode: Mode,
) -> Result<(), PatchError> {
    let (inner, rule) =
        of.field(field).ok_or_else(|| PatchProblem::UnknownField(field.to_owned()))?;
    let by = rule.merge_key.as_deref().map_or(By::Value, By::Key);
    let before = original.remove(field).map(into_list).transpose()?;
    let change = change.map(into_list).transpose()?;
    check_order(change.as_deref().unwrap_or_default(), order, by)?;
    let (before, merged) = match (before, change) {
        (None, None) => return Ok(()),
        (Some(before), None) => (by.keys(&before), before),
        (None, Some(change)) => (Vec::new(), new_elements(change, mode)),
        (Some(before), Some(change)) => {
            (by.keys(&before), merge_lists(before, change, inner.items(), rule, mode)?)
        }
    };
    if element_type(&before, &merged)?.is_none() {
        return Err(PatchProblem::NothingToOrder.into());
    }
    let arranged = by.arrange(merged, order, &before)?;
    original.insert(field.to_owned(), Value::Array(arranged));
    Ok(())
}

fn into_list(value: Value) -> Result<Vec<Value>, PatchProblem> {
    match value {
        Value::Array(list) => Ok(list),
        _ => Err(PatchProblem::NotAList),
    }
}

/// Every element of the patch is in the order list, and in that order.
fn check_order(change: &[Value], order: &[Value], by: By<'_>) -> Result<(), PatchProblem> {
    if change.is_empty() || order.is_empty() {
        return Ok(());
    }
    by.require(order)?;
    let mut order = order.iter().map(|element| by.identity(element));
    for element in change.iter().filter(|element| element.get(PATCH).is_none()) {
        by.require(std::slice::from_ref(element))?;
        let identity = by.identity(element);
        if !order.any(|candidate| candidate == identity) {
            return Err(PatchProblem::OrderMismatch);
        }
    }
    Ok(())
}

fn merge_entry(
    original: &mut Map<String, Value>,
    name: &str,
    change: Value,
    of: Type<'_>,
    mode: Mode,
) -> Result<(), PatchError> {
    let deletes = name.starts_with(DELETE_FROM_PRIMITIVE_LIST);
    if deletes && mode == Mode::JoinPatches {
        original.insert(name.to_owned(), change);
        return Ok(());
    }
    let field = if deletes { subject(name, DELETE_FROM_PRIMITIVE_LIST)? } else { name };
    if change.is_null() {
        original.remove(field);
        if mode == Mode::JoinPatches {
            original.insert(field.to_owned(), Value::Null);
        }
        return Ok(());
    }
    let after = match original.remove(field) {
        Some(before) if same_type(&before, &change) => {
            Some(merge_values(before, change, field, of, deletes, mode)?)
        }
        before if deletes => before,
        _ if mode == Mode::Apply => new_value(without_nulls(change), mode),
        _ => new_value(change, mode),
    };
    if let Some(after) = after {
        original.insert(field.to_owned(), after);
    }
    Ok(())
}

fn merge_values(
    before: Value,
    change: Value,
    field: &str,
    of: Type<'_>,
    deletes: bool,
    mode: Mode,
) -> Result<Value, PatchError> {
    let known = || of.field(field).ok_or_else(|| PatchProblem::UnknownField(field.to_owned()));
    match (before, change) {
        (Value::Object(before), Value::Object(change)) => {
            let (inner, rule) = known()?;
            if rule.strategy == PatchStrategy::Replace {
                return Ok(Value::Object(change));
            }
            let merged = merge_maps(before, change, inner, mode);
            merged.map(Value::Object).map_err(|error| error.under(field))
        }
        (Value::Array(before), Value::Array(change)) => {
            let (inner, rule) = known()?;
            let merged = if deletes {
                delete_scalars(before, &change).map_err(PatchError::from)
            } else {
                merge_lists(before, change, inner.items(), rule, mode)
            };
            merged.map(Value::Array).map_err(|error| error.under(field))
        }
        (_, change) => Ok(change),
    }
}

/// Carries out `$deleteFromPrimitiveList`.
fn delete_scalars(before: Vec<Value>, deletions: &[Value]) -> Result<Vec<Value>, PatchProblem> {
    if element_type(&before, deletions)? == Some(ElementType::Mapping) {
        return Err(PatchProblem::Malformed(DELETE_FROM_PRIMITIVE_LIST.to_owned()));
    }
    let deletions = By::Value.identities(deletions);
    Ok(before.into_iter().filter(|it| !deletions.contains(&By::Value.identity(it))).collect())
}

fn merge_lists(
    before: Vec<Value>,
    change: Vec<Value>,
    items: Type<'_>,
    rule: &PatchRule,
    mode: Mode,
) -> Result<Vec<Value>, PatchError> {
    if rule.strategy != PatchStrategy::Merge {
        return Ok(change);
    }
    match element_type(&before, &change)? {
        None => Ok(before),
        Some(ElementType::Scalar) => Ok(merge_scalars(&before, &change)?),
        Some(ElementType::Mapping) => {
            let key = rule.merge_key.as_deref().ok_or(PatchProblem::NoMergeKey)?;
            merge_mappings(before, change, items, key, mode)
        }
    }
}

fn merge_scalars(before: &[Value], change: &[Value]) -> Result<Vec<Value>, PatchProblem> {
    let mut seen = BTreeSet::new();
    let all = before.iter().chain(change);
    let merged = all.filter(|it| seen.insert(By::Value.identity(it))).cloned().collect();
    By::Value.arrange(merged, change, before)
}

fn merge_mappings(
    before: Vec<Value>,
    change: Vec<Value>,
    items: Type<'_>,
    key: &str,
    mode: Mode,
) -> Result<Vec<Value>, PatchError> {
    let (before, change) = carry_out_directives(before, change, key)?;
    let by = By::Key(key);
    let order = by.keys(&before);
    let mut places = by.positions(&order);
    let mut merged = before;
    for element in &change {
        key_of(element, key)?;
        let identity = by.identity(element);
        if let Some(place) = places.get(&identity) {
            let slot = &mut merged[*place];
            *slot = merge_elements(slot.take(), element.clone(), items, mode)?;
        } else if let Some(element) = new_value(element.clone(), mode) {
            places.insert(identity, merged.len());
            merged.push(element);
        }
    }
    Ok(by.arrange(merged, &change, &order)?)
}

fn merge_elements(
    before: Value,
    change: Value,
    items: Type<'_>,
    mode: Mode,
) -> Result<Value, PatchError> {
    let (Value::Object(before), Value::Object(change)) = (before, change) else {
        return Err(PatchProblem::MixedList.into());
    };
    merge_maps(before, change, items, mode).map(Value::Object)
}

/// Carries out `$patch` in the elements of a list and takes those elements away.
fn carry_out_directives(
    mut before: Vec<Value>,
    change: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchProblem> {
    let (directives, plain): (Vec<_>, Vec<_>) =
        change.into_iter().partition(|element| element.get(PATCH).is_some());
    let by = By::Key(key);
    let mut replace = false;
    let mut deleted = BTreeSet::new();
    for element in &directives {
        let directive = element.get(PATCH).unwrap_or(&Value::Null);
        match directive.as_str() {
            Some("delete") => {
                key_of(element, key)?;
                deleted.insert(by.identity(element));
            }
            Some("replace") => replace = true,
            _ => return Err(PatchProblem::UnknownDirective(directive.to_string())),
        }
    }
    before.retain(|element| element.get(key).is_none() || !deleted.contains(&by.identity(element)));
    if replace { Ok((plain, Vec::new())) } else { Ok((before, plain)) }
}

/// A value that nothing is there to be merged with. `None` when the value
/// itself is a directive.
///
/// In an object no directive remains. The reference library forgets some of
/// them there, and leaves it to the server to drop fields that it does not
/// know; whoever compares the result with a live object has no server.
fn new_value(value: Value, mode: Mode) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let keep = |name: &str| {
                mode == Mode::JoinPatches || !(name == RETAIN_KEYS || is_parallel_list(name))
            };
            let fields = fields.into_iter().filter(|(name, _)| keep(name));
            let fields = fields.filter_map(|(name, value)| Some((name, new_value(value, mode)?)));
            Some(Value::Object(fields.collect()))
        }
        Value::Array(list) => Some(Value::Array(new_elements(list, mode))),
        scalar => Some(scalar),
    }
}

fn new_elements(list: Vec<Value>, mode: Mode) -> Vec<Value> {
    list.into_iter().filter_map(|element| new_value(element, mode)).collect()
}

/// A null deletes; in a value that is new there is nothing to delete.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, without_nulls(value)))
                .collect(),
        ),
        Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}
