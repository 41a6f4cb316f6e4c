//! Dictionaries, which are shared: `set`, `unset` and the merges change the one they are given.

use super::{add_fixed, add_variadic, string_value};
use crate::arguments::{bytes, map};
use crate::call::{Call, Functions, Parameter};
use crate::error::Error;
use crate::value::{List, Map, MapClass, Text, Value};

/// A dictionary nested deeper contains itself.
const MAX_DEPTH: usize = 200;

pub(super) fn register(functions: &mut Functions) {
    use Parameter::{Any, Map, String};
    add_fixed(
        functions,
        &[
            ("get", &[Map, String], |_, a| {
                Ok(map(&a[0]).get(bytes(&a[1])).unwrap_or_else(|| Value::string("")))
            }),
            ("set", &[Map, String, Any], |call, a| {
                let target = made(&a[0])?;
                call.note_stored(&target, &a[2]);
                target.set(string_value(&a[1]), a[2].clone());
                Ok(Value::Map(target))
            }),
            ("unset", &[Map, String], |_, a| {
                let target = plain(&a[0]);
                target.entries_mut().remove(bytes(&a[1]));
                Ok(Value::Map(target))
            }),
            ("hasKey", &[Map, String], |_, a| {
                Ok(Value::Bool(map(&a[0]).entries().contains_key(bytes(&a[1]))))
            }),
            ("values", &[Map], |_, a| {
                Ok(Value::list(map(&a[0]).entries().values().cloned().collect()))
            }),
            ("deepCopy", &[Any], |call, a| copy(call, &a[0])),
            ("mustDeepCopy", &[Any], |call, a| copy(call, &a[0])),
        ],
    );
    add_variadic(
        functions,
        &[
            ("dict", &[Any], |_, a| Ok(dict(a))),
            ("pluck", &[String, Map], |_, a| Ok(pluck(a))),
            // Go's order is random here; ours is the order of the keys.
            ("keys", &[Map], |_, a| {
                let keys =
                    a.iter().flat_map(|m| map(m).entries().keys().cloned().collect::<Vec<_>>());
                Ok(Value::strings(keys))
            }),
            ("pick", &[Map, String], |_, a| Ok(filtered(a, true))),
            ("omit", &[Map, String], |_, a| Ok(filtered(a, false))),
            ("merge", &[Map, Map], |call, a| merge_all(call, a, false)),
            ("mustMerge", &[Map, Map], |call, a| merge_all(call, a, false)),
            ("mergeOverwrite", &[Map, Map], |call, a| merge_all(call, a, true)),
            ("mustMergeOverwrite", &[Map, Map], |call, a| merge_all(call, a, true)),
            ("dig", &[Any], |_, a| dig(a)),
        ],
    );
}

/// The dictionary as the parameter declares it, whatever type it had.
fn plain(value: &Value) -> Map {
    map(value).converted(MapClass::Any)
}

/// The dictionary to put something into.
fn made(value: &Value) -> Result<Map, Error> {
    let map = plain(value);
    if map.is_nil() {
        return Err(Error::function("assignment to entry in nil map"));
    }
    Ok(map)
}

fn dict(arguments: &[Value]) -> Value {
    let entries = arguments.chunks(2).map(|pair| {
        let value = pair.get(1).cloned().unwrap_or_else(|| Value::string(""));
        (string_value(&pair[0]), value)
    });
    Value::map(entries)
}

fn pluck(arguments: &[Value]) -> Value {
    let key = bytes(&arguments[0]);
    Value::list(arguments[1..].iter().filter_map(|each| map(each).get(key)).collect())
}

fn filtered(arguments: &[Value], keep: bool) -> Value {
    let named = |key: &Text| arguments[1..].iter().any(|name| bytes(name) == key.as_bytes());
    let whole = map(&arguments[0]);
    let entries = whole.entries();
    let kept = entries.iter().filter(|(key, _)| named(key) == keep);
    Value::map(kept.map(|(key, value)| (key.clone(), value.clone())))
}

fn merge_all(call: &mut Call<'_>, arguments: &[Value], overwrite: bool) -> Result<Value, Error> {
    let mut target = plain(&arguments[0]);
    for source in &arguments[1..] {
        let source = map(source);
        if target.is_nil() && !source.is_nil() {
            target = Map::new::<Text>([]);
        }
        merge(call, &target, &source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

/// mergo's merge of maps: what the target lacks or has empty is taken from the source, by reference;
/// with `overwrite` everything but maps is.
fn merge(
    call: &Call<'_>,
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
) -> Result<(), Error> {
    if target.is_same(source) {
        return Ok(());
    }
    if depth > MAX_DEPTH {
        return Err(Error::limit("dictionaries to merge are nested too deeply"));
    }
    let incoming: Vec<(Text, Value)> =
        source.entries().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    for (key, value) in incoming {
        call.charge(1)?;
        if value.is_nil() {
            if overwrite {
                target.set(key, value);
            }
            continue;
        }
        let present = target.get(key.as_bytes());
        if let (Value::Map(from), Some(Value::Map(into))) = (&value, &present) {
            if !into.is_nil() {
                merge(call, into, from, overwrite, depth + 1)?;
            }
            if into.entries().is_empty() {
                target.set(key, value);
            }
            continue;
        }
        if overwrite || present.is_none_or(|present| !present.is_true()) {
            call.note_stored(target, &value);
            target.set(key, value);
        }
    }
    Ok(())
}

fn dig(arguments: &[Value]) -> Result<Value, Error> {
    if arguments.len() < 3 {
        return Err(Error::function("dig needs at least three arguments"));
    }
    let (path, tail) = arguments.split_at(arguments.len() - 2);
    let mut current = tail[1].clone();
    for (index, key) in path.iter().enumerate() {
        let Value::String(key) = key else {
            return Err(not_a(key, "string"));
        };
        let next = match &current {
            Value::Map(map) if matches!(map.class(), MapClass::Any) => map.get(key.as_bytes()),
            other => return Err(not_a(other, "map[string]interface {}")),
        };
        match next {
            None => return Ok(tail[0].clone()),
            Some(value) if index + 1 == path.len() => return Ok(value),
            Some(value) => current = value,
        }
    }
    Ok(current)
}

/// Go's complaint about a failed type assertion.
fn not_a(value: &Value, wanted: &str) -> Error {
    let found = match value {
        value if value.is_nil() => "nil".into(),
        value => value.type_name(),
    };
    Error::function(format!("interface conversion: interface {{}} is {found}, not {wanted}"))
}

/// Nothing at all has no copy: Go's reflection refuses.
fn copy(call: &Call<'_>, value: &Value) -> Result<Value, Error> {
    if value.is_nil() {
        let problem = "reflect: call of reflect.Value.Type on zero Value";
        return Err(Error::function(problem));
    }
    deep_copy(call, value, 0)
}

/// About what each part of a copy takes.
const COPIED: usize = 100;

fn deep_copy(call: &Call<'_>, value: &Value, depth: usize) -> Result<Value, Error> {
    call.charge(1)?;
    call.run.make(COPIED)?;
    if depth > MAX_DEPTH {
        return Err(Error::limit("value to copy is nested too deeply"));
    }
    Ok(match value {
        value if value.is_or_holds_nil() => value.clone(),
        Value::Map(map) => {
            let mut copied = Vec::new();
            for (key, item) in map.entries().iter() {
                copied.push((key.clone(), deep_copy(call, item, depth + 1)?));
            }
            Value::Map(Map::with_class(map.class(), copied))
        }
        Value::List(list) => {
            let items: Result<Vec<_>, _> =
                list.iter().map(|item| deep_copy(call, item, depth + 1)).collect();
            Value::List(List::new(list.element_type(), items?))
        }
        other => other.clone(),
    })
}
