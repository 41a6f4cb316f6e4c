//! Opens the circles that templates close.
//!
//! `set` can put a map into itself. Maps are reference-counted, so such a circle would outlive the
//! run: a template could fill the memory render by render. A run therefore remembers the maps that
//! were changed in a way that can close a circle, and empties those that did when it ends.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::value::{Map, Value};

/// How many values are looked at for one map; a larger structure counts as a circle.
const MAX_VISITED: usize = 100_000;

/// Maps that were changed during a run.
#[derive(Default)]
pub(crate) struct ChangedMaps(RefCell<Vec<Map>>);

impl ChangedMaps {
    pub(crate) fn note(&self, map: &Map) {
        let mut maps = self.0.borrow_mut();
        if !maps.iter().rev().take(8).any(|known| known.is_same(map)) {
            maps.push(map.clone());
        }
    }
}

impl Drop for ChangedMaps {
    fn drop(&mut self) {
        for map in self.0.take() {
            if contains_itself(&map) {
                map.entries_mut().clear();
            }
        }
    }
}

fn contains_itself(map: &Map) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending: Vec<Value> = map.entries().values().cloned().collect();
    let mut visited = 0;
    while let Some(value) = pending.pop() {
        visited += 1;
        if visited > MAX_VISITED {
            return true;
        }
        match value {
            Value::Map(inner) if inner.is_same(map) => return true,
            Value::Map(inner) if seen.insert(inner.address()) => {
                pending.extend(inner.entries().values().cloned());
            }
            Value::List(list) => pending.extend(list.iter().cloned()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_contains_itself_is_emptied() {
        let (outer, inner) = (Map::new::<&str>([]), Map::new::<&str>([]));
        let plain = Map::new([("x", Value::list(vec![Value::Map(inner.clone())]))]);
        inner.set("outer", Value::Map(outer.clone()));
        outer.set("inner", Value::Map(inner.clone()));
        let changed = ChangedMaps::default();
        for map in [&outer, &plain] {
            changed.note(map);
        }
        drop(changed);
        assert!(outer.entries().is_empty());
        assert_eq!(plain.entries().len(), 1);
    }
}
