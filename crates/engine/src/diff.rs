//! Where one wanted object and its live counterpart differ.
//!
//! Git states some fields and leaves the rest to the cluster, so a live object
//! has more fields than its manifest: defaults, status, what controllers add.
//! Two questions decide together, and both are needed:
//!
//! 1. is every field that git states live, with the same value? ([`stated`])
//! 2. does our field manager own a field that git no longer states? ([`forgotten`])
//!
//! Without the second, a line deleted from a manifest would look Synced for ever.

use std::fmt;

use object::Object;
use serde_json::{Map, Value};

/// One place where the two sides differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer to the field.
    pub path: String,
    /// What git states there; none when git no longer states the field.
    pub want: Option<Value>,
    /// What is live there; none when nothing is.
    pub live: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
        write!(
            f,
            "{}: git has {}, the cluster has {}",
            self.path,
            side(&self.want),
            side(&self.live)
        )
    }
}

/// All differences, in path order. Empty means Synced.
#[must_use]
pub fn diff(want: &Object, live: &Object, manager: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    stated(want, live, &mut found);
    forgotten(want, live, manager, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    found
}

/// Fields of the object that are the cluster's business, whatever git says.
const CLUSTER_OWNED: [&str; 1] = ["status"];
const CLUSTER_OWNED_METADATA: [&str; 6] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

fn stated(want: &Object, live: &Object, found: &mut Vec<Difference>) {
    for (field, value) in want.fields() {
        let other = live.fields().get(field);
        match (field.as_str(), value) {
            (field, _) if CLUSTER_OWNED.contains(&field) => {}
            ("metadata", Value::Object(metadata)) => {
                let empty = Map::new();
                let other = other.and_then(Value::as_object).unwrap_or(&empty);
                for (field, value) in metadata {
                    if !CLUSTER_OWNED_METADATA.contains(&field.as_str()) {
                        walk(&pointer("/metadata", field), value, other.get(field), found);
                    }
                }
            }
            _ => walk(&pointer("", field), value, other, found),
        }
    }
}

fn walk(path: &str, want: &Value, live: Option<&Value>, found: &mut Vec<Difference>) {
    match (want, live) {
        (want, None) if is_nothing(want) => {}
        (Value::Object(want), Some(Value::Object(live))) => {
            for (field, value) in want {
                walk(&pointer(path, field), value, live.get(field), found);
            }
        }
        (Value::Array(want), Some(Value::Array(live))) if want.len() == live.len() => {
            for (index, (want, live)) in want.iter().zip(live).enumerate() {
                walk(&format!("{path}/{index}"), want, Some(live), found);
            }
        }
        (want, Some(live)) if same_scalar(want, live) => {}
        (want, live) => found.push(Difference {
            path: path.to_owned(),
            want: Some(want.clone()),
            live: live.cloned(),
        }),
    }
}

/// The API server drops null and empty fields on the way in, so stating them is
/// stating nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn same_scalar(want: &Value, live: &Value) -> bool {
    match (want, live) {
        (Value::Number(want), Value::Number(live)) => {
            want == live || want.as_f64() == live.as_f64()
        }
        (want, live) => want == live || (is_nothing(want) && is_nothing(live)),
    }
}

fn forgotten(want: &Object, live: &Object, manager: &str, found: &mut Vec<Difference>) {
    let applied_by_us = |entry: &&Value| {
        entry["manager"] == manager
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none_or(|name| name == "")
    };
    for entry in live.list(&["metadata", "managedFields"]).iter().filter(applied_by_us) {
        if let Some(owned) = entry["fieldsV1"].as_object() {
            forgotten_in(
                "",
                owned,
                Some(&want.clone().into_value()),
                Some(&live.clone().into_value()),
                found,
            );
        }
    }
}

/// Walks a FieldsV1 tree: `f:name` is a field, `k:{…}` a list item by its keys,
/// `v:…` a list item by its value, `.` the thing itself.
fn forgotten_in(
    path: &str,
    owned: &Map<String, Value>,
    want: Option<&Value>,
    live: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    for (element, below) in owned {
        let Some((want_there, live_there, path)) = descend(element, path, want, live) else {
            continue;
        };
        let Some(live_there) = live_there else {
            continue; // already gone, somebody else was faster
        };
        match below.as_object() {
            Some(below) if below.keys().any(|key| key != ".") => {
                if want_there.is_none() && below.contains_key(".") {
                    found.push(Difference { path, want: None, live: Some(live_there.clone()) });
                } else {
                    forgotten_in(&path, below, want_there, Some(live_there), found);
                }
            }
            _ if want_there.is_none() => {
                found.push(Difference { path, want: None, live: Some(live_there.clone()) });
            }
            _ => {}
        }
    }
}

type Descent<'v> = (Option<&'v Value>, Option<&'v Value>, String);

fn descend<'v>(
    element: &str,
    path: &str,
    want: Option<&'v Value>,
    live: Option<&'v Value>,
) -> Option<Descent<'v>> {
    if let Some(field) = element.strip_prefix("f:") {
        let at = |side: Option<&'v Value>| side.and_then(|value| value.get(field));
        return Some((at(want), at(live), pointer(path, field)));
    }
    let (kind, text) = element.split_at_checked(2)?;
    let sought: Value = serde_json::from_str(text).ok()?;
    let matches = |item: &&Value| match kind {
        "k:" => sought.as_object().is_some_and(|keys| {
            // A key that the manifest leaves to its default (protocol: TCP)
            // cannot disagree.
            keys.iter().all(|(key, value)| item.get(key).is_none_or(|found| found == value))
        }),
        _ => **item == sought,
    };
    let item = |side: Option<&'v Value>| side?.as_array()?.iter().find(matches);
    let index = live?.as_array()?.iter().position(|it| matches(&it))?;
    Some((item(want), item(live), format!("{path}/{index}")))
}

fn pointer(path: &str, field: &str) -> String {
    format!("{path}/{}", field.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map(fields: &Value) -> Object {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
        for (field, value) in fields.as_object().expect("fields") {
            object[field] = value.clone();
        }
        Object::from_value(object).expect("a test object")
    }

    #[track_caller]
    fn check(want: Value, live: Value, expect: &[&str]) {
        let found = diff(&config_map(&want), &config_map(&live), "argocd-controller");
        let paths: Vec<&str> = found.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, expect, "{found:?}");
    }

    fn owned_by(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"name": "m", "managedFields": [
            {"manager": manager, "operation": operation, "fieldsV1": fields},
        ]})
    }

    #[test]
    fn what_the_cluster_adds_is_no_difference() {
        check(
            json!({"data": {"a": "1"}}),
            json!({"data": {"a": "1", "b": "2"}, "status": {}}),
            &[],
        );
    }

    #[test]
    fn a_changed_and_a_missing_value_are_named_by_path() {
        check(
            json!({"data": {"a": "1", "x/y": "2"}}),
            json!({"data": {"a": "0"}}),
            &["/data/a", "/data/x~1y"],
        );
    }

    #[test]
    fn lists_are_compared_item_by_item_and_by_length() {
        check(json!({"items": [{"a": 1}]}), json!({"items": [{"a": 1, "default": true}]}), &[]);
        check(json!({"items": [1]}), json!({"items": [1, 2]}), &["/items"]);
    }

    #[test]
    fn stating_nothing_is_no_difference() {
        check(json!({"data": null, "items": [], "x": {"y": {}}}), json!({}), &[]);
    }

    #[test]
    fn status_in_git_is_ignored() {
        check(json!({"status": {"phase": "x"}}), json!({}), &[]);
    }

    #[test]
    fn one_and_one_point_zero_are_the_same_number() {
        check(json!({"n": 1}), json!({"n": 1.0}), &[]);
    }

    #[test]
    fn a_field_we_applied_and_git_dropped_is_a_difference() {
        let fields = json!({"f:data": {"f:a": {}, "f:b": {}}});
        let live = json!({
            "data": {"a": "1", "b": "2"},
            "metadata": owned_by("argocd-controller", "Apply", &fields),
        });
        check(json!({"data": {"a": "1"}}), live, &["/data/b"]);
    }

    #[test]
    fn a_field_somebody_else_applied_is_theirs() {
        let fields = json!({"f:data": {"f:b": {}}});
        let live = json!({
            "data": {"a": "1", "b": "2"},
            "metadata": owned_by("kubectl", "Apply", &fields),
        });
        check(json!({"data": {"a": "1"}}), live, &[]);
    }

    #[test]
    fn a_list_item_we_applied_and_git_dropped_is_a_difference() {
        let fields = json!({"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}});
        let live = json!({
            "ports": [{"port": 80, "protocol": "TCP"}],
            "metadata": owned_by("argocd-controller", "Apply", &fields),
        });
        check(json!({"ports": [{"port": 80}]}), live.clone(), &[]);
        check(json!({}), live, &["/ports/0"]);
    }

    #[test]
    fn an_owned_set_value_that_git_dropped_is_a_difference() {
        let fields = json!({"f:metadata": {"f:finalizers": {"v:\"keep\"": {}}}});
        let mut live = json!({"metadata": owned_by("argocd-controller", "Apply", &fields)});
        live["metadata"]["finalizers"] = json!(["keep"]);
        check(json!({}), live, &["/metadata/finalizers/0"]);
    }
}
