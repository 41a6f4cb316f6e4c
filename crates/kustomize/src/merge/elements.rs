//! Lists whose elements are paired by keys.
//!
//! Elements that only the patch has come first, in the patch's order. The
//! rules for elements that lack a key are Kustomize's, oddities included.

use std::collections::BTreeSet;

use super::{Merged, Merger, Patch};
use crate::error::Result;
use crate::schema::Schema;
use crate::yaml::path::{PathError, demand, set_field, set_scalar};
use crate::yaml::{Body, Kind, Node};

impl<'s> Merger<'s> {
    pub(super) fn elements(&self, dest: Node, patch: Patch, schema: Schema<'s>) -> Result<Node> {
        let mut dest = dest;
        let patch = match patch {
            Patch::Other(Node { body: Body::Sequence(items), .. }) => Side::Items(items),
            Patch::Same => Side::Same,
            Patch::Other(_) | Patch::Absent => Side::Absent,
        };
        let Body::Sequence(items) = &mut dest.body else { return Ok(dest) };
        let keys = schema.merge_keys();
        let own = std::mem::take(items);
        let patch_items = match &patch {
            Side::Items(items) => items.as_slice(),
            Side::Same | Side::Absent => &[],
        };
        if keys.is_empty() {
            let values =
                distinct(patch_items.iter().chain(&own).map(|item| vec![item.text().to_owned()]));
            *items = self.paired(own, &patch, &values, &[String::new()], schema)?;
        } else {
            let mut values =
                distinct(patch_items.iter().chain(&own).map(|item| key_values(item, &keys)));
            if keys.len() > 1 {
                fill_missing_values(&mut values);
            }
            *items = self.paired(own, &patch, &values, &keys, schema)?;
        }
        Ok(dest)
    }

    fn paired(
        &self,
        mut own: Vec<Node>,
        patch: &Side,
        all_values: &[Vec<String>],
        keys: &[String],
        schema: Schema<'s>,
    ) -> Result<Vec<Node>> {
        let element_schema = schema.elements();
        let mut result: Vec<Node> = Vec::new();
        let mut last_keys = Vec::new();
        for values in all_values {
            let (valid_keys, valid_values) = valid(all_values, values, keys);
            let single = std::slice::from_ref(&valid_values);
            let (match_keys, match_values) = valid(single, &valid_values, &valid_keys);
            let own_at = position(&own, &match_keys, &match_values);
            let own_element = own_at.map(|at| own[at].clone());
            let patch_element = match patch {
                Side::Absent => Patch::Absent,
                Side::Same => Patch::Same,
                Side::Items(items) => match position(items, &match_keys, &match_values) {
                    Some(at) => Patch::Other(items[at].clone()),
                    None => Patch::Absent,
                },
            };
            let merged = if own_element.is_none() && !matches!(patch_element, Patch::Other(_)) {
                Merged::Cleared
            } else {
                self.walk(own_element, patch_element, element_schema)?
            };
            last_keys.clone_from(&valid_keys);
            let (mut element, in_place) = match merged {
                Merged::Node { node, in_place } if !is_nothing(&node) => (node, in_place),
                _ => {
                    set_element(&mut own, None, &valid_keys, &valid_values)?;
                    continue;
                }
            };
            restore_keys(&mut element, &valid_keys, &valid_values)?;
            if let (true, Some(at)) = (in_place, own_at) {
                own[at] = element.clone();
            }
            set_element(&mut result, Some(&element), &valid_keys, &valid_values)?;
        }
        if all_values.is_empty() {
            return Ok(own);
        }
        append_all(&mut result, &own, &last_keys)?;
        Ok(result)
    }
}

/// The patch's side of a list.
enum Side {
    Absent,
    Same,
    Items(Vec<Node>),
}

fn is_nothing(node: &Node) -> bool {
    node.is_null() || (node.kind() == Kind::Mapping && node.entries().is_empty())
}

/// Lists of values, each once, in order.
fn distinct(values: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut seen = BTreeSet::new();
    values.filter(|value| !value.is_empty() && seen.insert(value.clone())).collect()
}

/// The values of the keys of an element, empty where one is missing.
fn key_values(item: &Node, keys: &[String]) -> Vec<String> {
    let value = |key: &String| {
        item.field(key).filter(|field| !field.is_empty()).map_or("", Node::text).to_owned()
    };
    keys.iter().map(value).collect()
}

/// Where two elements agree in one key, and one lacks the other key, they are
/// taken for the same: a port without protocol is the port with one.
fn fill_missing_values(values: &mut [Vec<String>]) {
    for i in 0..values.len() {
        for j in 0..values.len() {
            if let Some(joined) = joined(&values[i], &values[j]) {
                values[i].clone_from(&joined);
                values[j] = joined;
            }
        }
    }
}

fn joined(a: &[String], b: &[String]) -> Option<Vec<String>> {
    if a.len() != b.len() {
        return None;
    }
    let mut has_common = false;
    let mut result = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(b) {
        if a == b {
            has_common = true;
            result.push(a.clone());
        } else if !a.is_empty() && !b.is_empty() {
            return None;
        } else {
            result.push(if a.is_empty() { b.clone() } else { a.clone() });
        }
    }
    has_common.then_some(result)
}

/// The keys that any of the elements has, with the values of this one.
fn valid(all: &[Vec<String>], values: &[String], keys: &[String]) -> (Vec<String>, Vec<String>) {
    let used: BTreeSet<&String> = all
        .iter()
        .flat_map(|values| values.iter().zip(keys))
        .filter(|(value, _)| !value.is_empty())
        .map(|(_, key)| key)
        .collect();
    if used.is_empty() {
        return (keys.to_vec(), values.to_vec());
    }
    let valid_keys = keys.iter().filter(|key| used.contains(key)).cloned().collect();
    let valid_values = values
        .iter()
        .zip(keys)
        .filter(|(value, key)| !value.is_empty() || used.contains(key))
        .map(|(value, _)| value.clone())
        .collect();
    (valid_keys, valid_values)
}

fn position(items: &[Node], keys: &[String], values: &[String]) -> Option<usize> {
    let first = keys.first().map_or("", String::as_str);
    if first.is_empty() {
        let value = values.first().map_or("", String::as_str);
        return items.iter().position(|item| item.text() == value);
    }
    items.iter().position(|item| {
        (item.kind() == Kind::Mapping)
            && keys
                .iter()
                .zip(values)
                .all(|(key, value)| item.field(key).is_some_and(|field| field.text() == value))
    })
}

/// An element keeps its keys, whatever the patch did to them.
fn restore_keys(element: &mut Node, keys: &[String], values: &[String]) -> Result<(), PathError> {
    for (key, value) in keys.iter().zip(values) {
        if element.field(key).is_some() || value.is_empty() {
            continue;
        }
        if key.is_empty() {
            set_scalar(element, Node::untyped(value.as_str()))?;
        } else {
            set_field(element, key, Node::untyped(value.as_str()))?;
        }
    }
    Ok(())
}

fn append_all(result: &mut Vec<Node>, own: &[Node], keys: &[String]) -> Result<(), PathError> {
    for element in own {
        if keys.first().is_none_or(String::is_empty) {
            set_element(result, Some(element), keys, &[element.text().to_owned()])?;
            continue;
        }
        let mut values = Vec::new();
        for key in keys {
            demand(element, Kind::Mapping)?;
            match element.field(key) {
                Some(field) => values.push(field.text().to_owned()),
                None => result.push(element.clone()),
            }
        }
        if keys.len() > 1 {
            set_element(result, None, keys, &values)?;
        }
        set_element(result, Some(element), keys, &values)?;
    }
    Ok(())
}

/// Replaces the element with these key values, adds it, or removes it.
pub(super) fn set_element(
    items: &mut Vec<Node>,
    element: Option<&Node>,
    keys: &[String],
    values: &[String],
) -> Result<(), PathError> {
    let is_for_mappings = keys.first().is_some_and(|key| !key.is_empty())
        && values.first().is_some_and(|value| !value.is_empty());
    let mut kept = Vec::with_capacity(items.len() + 1);
    let mut was_found = false;
    for item in std::mem::take(items) {
        if is_nothing(&item) {
            continue;
        }
        if is_for_mappings && item.kind() != Kind::Mapping {
            kept.push(item);
            continue;
        }
        if !has_values(&item, keys, values)? {
            if !values.is_empty() {
                kept.push(item);
            }
            continue;
        }
        was_found = true;
        if let Some(element) = element {
            kept.push(element.clone());
        }
    }
    if let Some(element) = element.filter(|element| !element.is_null() && !was_found) {
        kept.push(element.clone());
    }
    *items = kept;
    Ok(())
}

fn has_values(item: &Node, keys: &[String], values: &[String]) -> Result<bool, PathError> {
    let mut found = false;
    for (at, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(at) {
            found = if key.is_empty() {
                demand(item, Kind::Scalar)?;
                item.value() == value
            } else {
                demand(item, Kind::Mapping)?;
                // An empty value asks for the field only.
                item.field(key).is_some_and(|field| value.is_empty() || field.text() == value)
            };
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(found)
}
