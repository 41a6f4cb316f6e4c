//! Makes two spellings of one object look alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use object::{Object, typed};
use serde_json::{Map, Value, json};

use super::remove;

/// The object as its Go type would write it, if it has one and fits, with the
/// quirks of some kinds straightened.
#[must_use]
pub fn normalised(object: &Object, ignores_aggregated_roles: bool) -> Object {
    let mut object = typed::round_trip(object).unwrap_or_else(|| object.clone());
    straighten(&mut object, ignores_aggregated_roles);
    object
}

/// Straightens the quirks of some kinds.
pub(super) fn straighten(object: &mut Object, ignores_aggregated_roles: bool) {
    remove(object.fields_mut(), &["metadata", "creationTimestamp"]);
    let kind = object.group_kind();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Secret") => fold_string_data(object.fields_mut()),
        ("", "Endpoints") => sort_endpoints(object.fields_mut()),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            forget_rules(object.fields_mut(), ignores_aggregated_roles);
        }
        ("argoproj.io", "Rollout") => {
            read_as(object.fields_mut(), &["spec", "template", "spec"], "core/v1/PodSpec");
        }
        _ => {}
    }
}

/// Reads the value at `path` (through lists) as a Go type, as the setting
/// `knownTypeFields` asks.
pub fn read_as(fields: &mut Map<String, Value>, path: &[&str], type_name: &str) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(value) = fields.get_mut(*first) else { return };
    read_value_as(value, rest, type_name);
}

fn read_value_as(value: &mut Value, path: &[&str], type_name: &str) {
    match (value, path.is_empty()) {
        (Value::Array(items), _) => {
            items.iter_mut().for_each(|item| read_value_as(item, path, type_name));
        }
        (value, true) => {
            if let Some(read) = typed::round_trip_as(value, type_name) {
                *value = read;
            }
        }
        (Value::Object(fields), false) => read_as(fields, path, type_name),
        _ => {}
    }
}

/// A Secret with all it says in `data`; any other object as it is.
#[must_use]
pub fn secret(object: &Object) -> Object {
    let mut object = object.clone();
    if object.group_kind().is("", "Secret") {
        fold_string_data(object.fields_mut());
    }
    object
}

/// A Secret's `stringData` is write-only; what it says is found in `data`.
/// Values that are no text stay, so that applying fails where it should.
pub(super) fn fold_string_data(secret: &mut Map<String, Value>) {
    if let Some(Value::Object(texts)) = secret.get("stringData").cloned() {
        secret.remove("stringData");
        let mut data = secret.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in texts {
            let encoded = match value {
                Value::String(text) => Value::String(STANDARD.encode(text)),
                other => other,
            };
            data.insert(name, encoded);
        }
        secret.insert("data".into(), Value::Object(data));
    }
    let Some(Value::Object(data)) = secret.get_mut("data") else { return };
    if data.is_empty() {
        secret.insert("data".into(), Value::Null);
        return;
    }
    let is_valid = data.values().all(|it| it.is_null() || it.is_string());
    if is_valid {
        for value in data.values_mut().filter(|it| it.is_null()) {
            *value = json!("");
        }
    }
}

/// No rules, `null` and `[]` are one; the rules of an aggregated role belong to
/// the cluster.
fn forget_rules(role: &mut Map<String, Value>, ignores_aggregated: bool) {
    if ignores_aggregated && role.get("aggregationRule").is_some_and(Value::is_object) {
        role.insert("rules".into(), Value::Null);
    }
    if role.get("rules").is_some_and(|it| it.as_array().is_some_and(Vec::is_empty)) {
        role.insert("rules".into(), Value::Null);
    }
}

/// Order means nothing in Endpoints, and ports are TCP unless they say otherwise.
fn sort_endpoints(endpoints: &mut Map<String, Value>) {
    let Some(Value::Array(subsets)) = endpoints.get_mut("subsets") else { return };
    for subset in subsets.iter_mut() {
        let ports = subset.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.entry("protocol").or_insert_with(|| json!("TCP"));
        }
        for list in ["addresses", "notReadyAddresses", "ports"] {
            if let Some(Value::Array(items)) = subset.get_mut(list) {
                items.sort_by_cached_key(Value::to_string);
            }
        }
    }
    subsets.sort_by_cached_key(Value::to_string);
}
