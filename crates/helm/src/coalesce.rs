//! Which value wins: what the user gives over the chart's defaults, a parent's over its subcharts',
//! globals for all, and null to take a default away.
//!
//! There are two ways: *coalescing* drops the keys that are null, *merging* keeps the nulls, so that
//! they can still take something away later.

use template::{List, Map, Text, Value, print};

use crate::dependencies::Node;
use crate::error::Error;

/// What happens to nulls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// They take a key away.
    Delete,
    /// They stay.
    Keep,
}

/// The values of a chart and all its subcharts: `given` over the defaults.
pub(crate) fn coalesce_values(node: &Node<'_>, given: &Map, nulls: Nulls) -> Result<Map, Error> {
    let values = copy_map(given);
    coalesce(node, &values, nulls)?;
    Ok(values)
}

fn coalesce(node: &Node<'_>, target: &Map, nulls: Nulls) -> Result<(), Error> {
    coalesce_defaults(node, target, nulls);
    for subchart in &node.children {
        let inner = match target.get(subchart.name().as_bytes()) {
            None => {
                let fresh = Map::new::<&str>([]);
                target.set(subchart.name(), Value::Map(fresh.clone()));
                fresh
            }
            Some(Value::Map(inner)) => inner,
            Some(other) => {
                let shown = print::format(b"%t", &[other]);
                return Err(Error::Coalesce(format!(
                    "type mismatch on {}: {}",
                    subchart.name(),
                    String::from_utf8_lossy(&shown)
                )));
            }
        };
        coalesce_globals(&inner, target);
        coalesce(subchart, &inner, nulls)?;
    }
    Ok(())
}

fn coalesce_defaults(node: &Node<'_>, target: &Map, nulls: Nulls) {
    let defaults = copy_map(&node.values);
    for (key, default) in entries(&defaults) {
        match target.get(key.as_bytes()) {
            Some(Value::Nil | Value::Nothing) if nulls == Nulls::Delete => {
                target.entries_mut().remove(key.as_bytes());
            }
            Some(Value::Map(given)) => {
                let Value::Map(default) = default else { continue };
                // A subchart's table still has its own defaults to meet: its nulls must last.
                let is_subchart =
                    node.children.iter().any(|child| child.name().as_bytes() == key.as_bytes());
                let nulls = if is_subchart { Nulls::Keep } else { nulls };
                if nulls == Nulls::Delete {
                    remove_nulls(&default);
                }
                coalesce_tables(&given, &default, nulls);
            }
            Some(_) => {}
            None => {
                if nulls == Nulls::Delete {
                    match &default {
                        Value::Nil | Value::Nothing => continue,
                        Value::Map(table) => remove_nulls(table),
                        _ => {}
                    }
                }
                target.set(key, default);
            }
        }
    }
}

fn coalesce_globals(target: &Map, source: &Map) {
    const GLOBAL: &[u8] = b"global";
    let table = |map: &Map| match map.get(GLOBAL) {
        None => Some(Map::new::<&str>([])),
        Some(Value::Map(globals)) => Some(globals),
        Some(_) => None,
    };
    let (Some(target_globals), Some(source_globals)) = (table(target), table(source)) else {
        return;
    };
    for (key, value) in entries(&source_globals) {
        let present = target_globals.get(key.as_bytes());
        match (value, present) {
            (Value::Map(from), None) => {
                target_globals.set(key, Value::Map(shallow_copy(&from)));
            }
            (Value::Map(from), Some(Value::Map(own))) => {
                let merged = shallow_copy(&from);
                coalesce_tables(&merged, &own, Nulls::Keep);
                target_globals.set(key, Value::Map(merged));
            }
            (Value::Map(_), Some(_)) | (_, Some(Value::Map(_))) => {}
            (value, _) => target_globals.set(key, value),
        }
    }
    target.set("global", Value::Map(target_globals));
}

/// Adds to `target` what it lacks of `source`, table by table.
pub(crate) fn coalesce_tables(target: &Map, source: &Map, nulls: Nulls) {
    let is_null = |value: &Value| value.is_nil();
    let in_source: Vec<Text> = entries(source)
        .into_iter()
        .filter(|(_, value)| !is_null(value))
        .map(|(key, _)| key)
        .collect();
    for (key, value) in entries(target) {
        if is_null(&value) {
            source.set(key, Value::Nil);
        }
    }
    for (key, value) in entries(source) {
        match target.get(key.as_bytes()) {
            None => target.set(key, value),
            Some(present)
                if nulls == Nulls::Delete && is_null(&present) && in_source.contains(&key) =>
            {
                target.entries_mut().remove(key.as_bytes());
            }
            Some(Value::Map(into)) => {
                if let Value::Map(from) = value {
                    coalesce_tables(&into, &from, nulls);
                }
            }
            Some(_) => {}
        }
    }
}

fn remove_nulls(map: &Map) {
    map.entries_mut().retain(|_, value| !value.is_nil());
    for (_, value) in entries(map) {
        if let Value::Map(inner) = value {
            remove_nulls(&inner);
        }
    }
}

fn entries(map: &Map) -> Vec<(Text, Value)> {
    map.entries().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn shallow_copy(map: &Map) -> Map {
    Map::new(entries(map))
}

/// A copy that shares nothing that can change.
pub(crate) fn copy_map(map: &Map) -> Map {
    Map::new(map.entries().iter().map(|(key, value)| (key.clone(), copy(value))))
}

fn copy(value: &Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(copy_map(map)),
        Value::List(list) => {
            Value::List(List::new(list.element_type(), list.iter().map(copy).collect()))
        }
        other => other.clone(),
    }
}
