//! RFC 6902 patches, with the leniencies of the library that Kustomize uses:
//! negative indexes count from the end, and `replace` adds what is missing.

use serde_json::Value;

use crate::error::{Result, invalid};

/// A list of operations.
#[derive(Clone, Debug)]
pub(crate) struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Clone, Debug)]
struct Operation {
    name: String,
    path: Option<String>,
    from: Option<String>,
    value: Option<Value>,
}

impl JsonPatch {
    /// Reads the operations from an array of objects.
    pub(crate) fn from_value(value: &Value) -> Result<Self> {
        let operations = match value {
            Value::Null => &[][..],
            Value::Array(operations) => operations,
            _ => {
                return Err(invalid(
                    "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
                ));
            }
        };
        let operations = operations.iter().map(Operation::from_value);
        Ok(Self { operations: operations.collect::<Result<_>>()? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Carries out all operations, or fails at the first that cannot be.
    pub(crate) fn apply(&self, document: &mut Value) -> Result<()> {
        let mut copied = 0;
        self.operations.iter().try_for_each(|operation| operation.apply(document, &mut copied))
    }
}

impl Operation {
    fn from_value(value: &Value) -> Result<Self> {
        let Value::Object(map) = value else {
            return Err(invalid(
                "json: cannot unmarshal into Go value of type jsonpatch.Operation",
            ));
        };
        let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            name: text("op").unwrap_or_else(|| "unknown".to_owned()),
            path: text("path"),
            from: text("from"),
            value: map.get("value").cloned(),
        })
    }

    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<()> {
        let name = self.name.as_str();
        let need = |field: &str, text: &Option<String>| {
            text.clone().ok_or_else(|| {
                invalid(format!("{name} operation failed to decode {field}: missing value"))
            })
        };
        let path = || need("path", &self.path);
        let from = || need("from", &self.from);
        let value = || self.value.clone().unwrap_or_default();
        match name {
            "add" => add(document, &path()?, value())
                .map_err(|error| error.describe(name, "path", &path().unwrap_or_default())),
            "remove" => remove(document, &path()?)
                .map(drop)
                .map_err(|error| error.describe(name, "path", &path().unwrap_or_default())),
            "replace" => replace(document, &path()?, value()),
            "move" => {
                let from = from()?;
                let value = remove(document, &from).map_err(|error| {
                    let shown = match error {
                        Misfit::Path => from.as_str(),
                        Misfit::Last(_) => from.rsplit('/').next().unwrap_or_default(),
                    };
                    error.describe(name, "from path", shown)
                })?;
                let path = path()?;
                add(document, &path, value)
                    .map_err(|error| error.describe(name, "destination path", &path))
            }
            "copy" => {
                let from = from()?;
                let found = find(document, &from)
                    .map_err(|error| error.describe(name, "from path", &from))?;
                let value = found.cloned().unwrap_or_default();
                *copied = copied.saturating_add(size(&value));
                if *copied > COPY_LIMIT {
                    return Err(invalid(format!(
                        "copy operations copy more than {COPY_LIMIT} values"
                    )));
                }
                let path = path()?;
                add(document, &path, value)
                    .map_err(|error| error.describe(name, "destination path", &path))
            }
            "test" => self.test(document, &path()?),
            other => Err(invalid(format!("Unexpected kind: {other}"))),
        }
    }

    fn test(&self, document: &Value, path: &str) -> Result<()> {
        let found = find(document, path).map_err(|error| error.describe("test", "path", path))?;
        let is_equal = match (found, &self.value) {
            (None | Some(Value::Null), None | Some(Value::Null)) => true,
            (Some(found), Some(wanted)) => same(found, wanted),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_equal {
            return Ok(());
        }
        Err(invalid(format!("testing value {path} failed: test failed")))
    }
}

/// How many values the copy operations of one patch may copy.
const COPY_LIMIT: usize = 1_000_000;

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.values().map(size).sum(),
    }
}

/// Why an operation found no place to work at.
enum Misfit {
    /// Something on the way is missing.
    Path,
    /// The last part of the path does not fit what is there.
    Last(String),
}

impl Misfit {
    fn describe(self, operation: &str, what: &str, path: &str) -> crate::BuildError {
        match self {
            Self::Path => {
                // The library words this a little differently for each operation.
                let missing = match operation {
                    "add" | "remove" => format!("doc is missing {what}: \"{path}\""),
                    "test" => format!("is missing {what}: {path}"),
                    _ => format!("doc is missing {what}: {path}"),
                };
                invalid(format!("{operation} operation does not apply: {missing}: missing value"))
            }
            Self::Last(reason) if operation == "copy" && what == "from path" => {
                invalid(format!("error in copy for from: '{path}': {reason}"))
            }
            Self::Last(reason) if operation == "copy" => {
                invalid(format!("error while adding value during copy: {reason}"))
            }
            Self::Last(reason) => {
                invalid(format!("error in {operation} for path: '{path}': {reason}"))
            }
        }
    }
}

/// Numbers are equal by value, whatever their spelling.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        (a, b) => a == b,
    }
}

fn split(path: &str) -> Option<(Vec<String>, String)> {
    let mut parts: Vec<String> =
        path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    if parts.len() < 2 {
        return None;
    }
    let last = parts.pop()?;
    parts.remove(0);
    Some((parts, last))
}

fn container<'d>(document: &'d mut Value, path: &[String]) -> Option<&'d mut Value> {
    path.iter().try_fold(document, |value, part| match value {
        Value::Object(map) => map.get_mut(part),
        Value::Array(items) => {
            let at = position(part, items.len())?;
            items.get_mut(at)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// An index into a list; negative ones count from the end.
fn position(text: &str, length: usize) -> Option<usize> {
    let index: i64 = text.parse().ok()?;
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok().filter(|at| i64::try_from(*at).is_ok_and(|at| at < length))
}

/// A field that is missing in an object that is there is `None`.
fn find<'d>(document: &'d Value, path: &str) -> Result<Option<&'d Value>, Misfit> {
    if path.is_empty() {
        return Ok(Some(document));
    }
    let (parts, last) = split(path).ok_or(Misfit::Path)?;
    let container = parts.iter().try_fold(document, |value, part| match value {
        Value::Object(map) => map.get(part),
        Value::Array(items) => items.get(position(part, items.len())?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    });
    match container {
        Some(Value::Object(map)) => Ok(map.get(&last)),
        Some(Value::Array(items)) => match position(&last, items.len()) {
            Some(at) => Ok(items.get(at)),
            None => Err(Misfit::Last(bad_index(&last))),
        },
        _ => Err(Misfit::Path),
    }
}

fn bad_index(text: &str) -> String {
    if text.parse::<i64>().is_ok() {
        format!("Unable to access invalid index: {text}: invalid index referenced")
    } else {
        format!("strconv.Atoi: parsing \"{text}\": invalid syntax")
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), Misfit> {
    let (parts, last) = split(path).ok_or(Misfit::Path)?;
    match container(document, &parts) {
        Some(Value::Object(map)) => {
            map.insert(last, value);
            Ok(())
        }
        Some(Value::Array(items)) if last == "-" => {
            items.push(value);
            Ok(())
        }
        Some(Value::Array(items)) => match position(&last, items.len() + 1) {
            Some(at) => {
                items.insert(at, value);
                Ok(())
            }
            None if last.parse::<i64>().is_ok() => Err(Misfit::Last(bad_index(&last))),
            None => Err(Misfit::Last(format!(
                "value was not a proper array index: '{last}': {}",
                bad_index(&last)
            ))),
        },
        _ => Err(Misfit::Path),
    }
}

fn remove(document: &mut Value, path: &str) -> Result<Value, Misfit> {
    let (parts, last) = split(path).ok_or(Misfit::Path)?;
    match container(document, &parts) {
        Some(Value::Object(map)) => map.remove(&last).ok_or_else(|| {
            Misfit::Last(format!("Unable to remove nonexistent key: {last}: missing value"))
        }),
        Some(Value::Array(items)) => match position(&last, items.len()) {
            Some(at) => Ok(items.remove(at)),
            None => Err(Misfit::Last(bad_index(&last))),
        },
        _ => Err(Misfit::Path),
    }
}

/// Unlike RFC 6902, this adds a field that an object does not have.
fn replace(document: &mut Value, path: &str, value: Value) -> Result<()> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(invalid("replace operation value must be object or array"));
        }
        *document = value;
        return Ok(());
    }
    let missing = |what: &str| {
        invalid(format!(
            "replace operation does not apply: doc is missing {what}: {path}: missing value"
        ))
    };
    let (parts, last) = split(path).ok_or_else(|| missing("path"))?;
    match container(document, &parts) {
        Some(Value::Object(map)) => {
            map.insert(last, value);
            Ok(())
        }
        Some(Value::Array(items)) => {
            let at = position(&last, items.len()).ok_or_else(|| missing("key"))?;
            items[at] = value;
            Ok(())
        }
        _ => Err(missing("path")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::JsonPatch;

    #[track_caller]
    fn check(mut document: Value, patch: &Value, expect: Option<&Value>) {
        let patch = JsonPatch::from_value(patch).expect("the patch is well-formed");
        let result = patch.apply(&mut document);
        assert_eq!(result.is_ok(), expect.is_some(), "{result:?}");
        if let Some(expect) = expect {
            assert_eq!(&document, expect);
        }
    }

    #[test]
    fn operations_change_objects_and_lists() {
        check(
            json!({"a": {"b/c": [1, 2, 3]}}),
            &json!([
                {"op": "test", "path": "/a/b~1c/0", "value": 1.0},
                {"op": "remove", "path": "/a/b~1c/0"},
                {"op": "add", "path": "/a/b~1c/-", "value": 4},
                {"op": "add", "path": "/a/b~1c/0", "value": 0},
                {"op": "replace", "path": "/a/b~1c/-1", "value": 5},
                {"op": "replace", "path": "/new", "value": true},
                {"op": "copy", "from": "/nothing", "path": "/null"},
                {"op": "copy", "from": "/a/b~1c/1", "path": "/d"},
                {"op": "move", "from": "/d", "path": "/e"},
            ]),
            Some(&json!({"a": {"b/c": [0, 2, 3, 5]}, "e": 2, "new": true, "null": null})),
        );
    }

    #[test]
    fn what_is_missing_cannot_be_changed() {
        for patch in [
            json!([{"op": "remove", "path": "/x"}]),
            json!([{"op": "replace", "path": "/l/1", "value": 1}]),
            json!([{"op": "add", "path": "/x/y", "value": 1}]),
            json!([{"op": "add", "path": "/l/5", "value": 1}]),
            json!([{"op": "test", "path": "/l/0", "value": 2}]),
            json!([{"op": "frobnicate", "path": "/l"}]),
            json!([{"op": "add"}]),
        ] {
            check(json!({"l": [1]}), &patch, None);
        }
    }
}
