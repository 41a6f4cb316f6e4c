//! What goes in as JSON comes out as the same JSON, also by way of protobuf.

#![expect(clippy::disallowed_methods, reason = "a test may read files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::path::PathBuf;

use api::{
    AppProject, Application, ApplicationList, ApplicationSet, ApplicationTree, ResourceDiff,
    RevisionMetadata,
};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Reads JSON text, prints it, sends it through protobuf and prints it again.
#[track_caller]
fn check<T>(text: &str)
where
    T: Message + Default + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let resource: T = serde_json::from_str(text).unwrap();
    let expected: Value = serde_json::from_str(text).unwrap();
    assert_same(&printed(&resource), &expected, "JSON");

    let bytes = resource.encode_to_vec();
    assert_eq!(bytes.len(), resource.encoded_len());
    let decoded = T::decode(bytes.as_slice()).unwrap();
    assert_same(&printed(&decoded), &without_kind(expected), "protobuf");
}

/// What a resource is stands in the name of the method, not in the message.
fn without_kind(mut resource: Value) -> Value {
    let fields = resource.as_object_mut().unwrap();
    if fields.remove("apiVersion").is_some() {
        fields.remove("kind");
    }
    resource
}

fn printed(resource: &impl Serialize) -> Value {
    // By way of text, as a client gets it.
    serde_json::from_str(&serde_json::to_string(resource).unwrap()).unwrap()
}

#[track_caller]
fn assert_same(actual: &Value, expected: &Value, way: &str) {
    if actual != expected {
        let mut differences = Vec::new();
        compare("", actual, expected, &mut differences);
        panic!("lost by way of {way}:\n{}", differences.join("\n"));
    }
}

fn compare(path: &str, actual: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (actual, expected) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                let side = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_else(|| json!("(absent)"))
                };
                compare(&format!("{path}.{key}"), &side(left), &side(right), differences);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{path}[{index}]"), left, right, differences);
            }
        }
        _ if actual == expected => {}
        _ => differences.push(format!("{path}: {actual} instead of {expected}")),
    }
}

fn corpus(kind: &str) -> Vec<String> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus")).join(kind);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn applications_as_users_write_them_lose_nothing() {
    corpus("application").iter().for_each(|text| check::<Application>(text));
}

#[test]
fn projects_as_users_write_them_lose_nothing() {
    corpus("appproject").iter().for_each(|text| check::<AppProject>(text));
}

#[test]
fn application_sets_as_users_write_them_lose_nothing() {
    corpus("applicationset").iter().for_each(|text| check::<ApplicationSet>(text));
}

#[test]
fn a_resource_with_every_field_set_loses_nothing() {
    check::<Application>(&everything("Application").to_string());
    check::<AppProject>(&everything("AppProject").to_string());
    check::<ApplicationSet>(&everything("ApplicationSet").to_string());
}

#[test]
fn what_the_api_shows_besides_resources_loses_nothing() {
    check::<ApplicationTree>(
        r#"{
            "shardsCount": 1,
            "nodes": [{
                "version": "v1", "kind": "Pod", "namespace": "shop", "name": "web-1", "uid": "u1",
                "parentRefs": [{ "group": "apps", "version": "v1", "kind": "ReplicaSet", "name": "web", "uid": "u2" }],
                "info": [{ "name": "Status Reason", "value": "Running" }],
                "networkingInfo": {
                    "labels": { "app": "web" }, "targetLabels": { "app": "web" },
                    "targetRefs": [{ "kind": "Service", "name": "web" }],
                    "ingress": [{ "ip": "192.0.2.7", "hostname": "h", "ipMode": "VIP",
                        "ports": [{ "port": 443, "protocol": "TCP", "error": "e" }] }],
                    "externalURLs": ["https://shop.example.org"]
                },
                "resourceVersion": "7", "images": ["web:1"],
                "health": { "status": "Healthy" }, "createdAt": "2026-01-02T03:04:05Z"
            }],
            "orphanedNodes": [{ "kind": "ConfigMap", "name": "left" }],
            "hosts": [{
                "name": "node-1", "labels": { "zone": "a" },
                "resourcesInfo": [{ "resourceName": "cpu", "requestedByApp": 100, "requestedByNeighbors": 200, "capacity": 4000 }],
                "systemInfo": {
                    "machineID": "1", "systemUUID": "2", "bootID": "3", "kernelVersion": "4",
                    "osImage": "5", "containerRuntimeVersion": "6", "kubeletVersion": "7",
                    "kubeProxyVersion": "8", "operatingSystem": "9", "architecture": "10",
                    "swap": { "capacity": 0 }
                }
            }]
        }"#,
    );
    check::<ResourceDiff>(
        r#"{
            "group": "apps", "kind": "Deployment", "namespace": "n", "name": "m", "targetState": "{}",
            "liveState": "null", "diff": "d", "hook": true, "normalizedLiveState": "a",
            "predictedLiveState": "b", "resourceVersion": "1", "modified": true
        }"#,
    );
    check::<RevisionMetadata>(
        r#"{
            "author": "ada", "date": null, "tags": ["v1"], "message": "m", "signatureInfo": "s",
            "references": [{ "commit": { "author": "a", "date": "d", "subject": "s", "body": "b", "sha": "h", "repoUrl": "r" } }],
            "sourceIntegrityResult": { "Checks": [{ "Name": "GIT/GPG", "Problems": ["unsigned"] }] }
        }"#,
    );
}

#[test]
fn a_list_keeps_its_page_and_its_items() {
    let application = everything("Application");
    let metadata = json!({ "resourceVersion": "9", "continue": "next", "remainingItemCount": 0 });
    let text = json!({ "metadata": metadata, "items": [without_kind(application)] }).to_string();
    check::<ApplicationList>(&text);
}

#[test]
fn raw_json_keeps_its_key_order_within_a_resource() {
    let text = r#"{"zone":"b","alerts":{"severity":12345678901234567890123}}"#;
    let application: Application = serde_json::from_value(json!({
        "spec": { "source": { "helm": { "valuesObject": null } } }
    }))
    .unwrap();
    assert_eq!(application.spec.source.unwrap().helm.unwrap().values_object, None);

    let application: Application = serde_json::from_str(&format!(
        r#"{{"spec":{{"source":{{"repoURL":"r","helm":{{"valuesObject":{text}}}}}}}}}"#
    ))
    .unwrap();
    let decoded = Application::decode(application.encode_to_vec().as_slice()).unwrap();
    assert!(serde_json::to_string(&decoded).unwrap().contains(text));
}

/// A resource of this kind in which everything the definition knows is set.
fn everything(kind: &str) -> Value {
    let mut crds = api::crds::crds().into_iter().map(|(_, crd)| crd);
    let crd = crds.find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
    let mut resource = filled(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind);
    resource["apiVersion"] = json!("argoproj.io/v1alpha1");
    resource["kind"] = json!(kind);
    resource["metadata"] = json!({
        "name": "n", "generateName": "g", "namespace": "s", "selfLink": "l", "uid": "u",
        "resourceVersion": "1", "generation": 2, "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:04:06Z", "deletionGracePeriodSeconds": 0,
        "labels": { "a": "b" }, "annotations": { "c": "d" }, "finalizers": ["e"],
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "K", "name": "o", "uid": "p",
            "controller": false, "blockOwnerDeletion": true,
        }],
        "managedFields": [{
            "manager": "m", "operation": "Apply", "apiVersion": "v1", "subresource": "status",
            "time": "2026-01-02T03:04:07Z", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:spec": { ".": {} } },
        }],
    });
    resource
}

/// A value that the schema allows and that is nowhere zero. Texts and numbers differ
/// from field to field, so that swapped field numbers show.
fn filled(schema: &Value, path: &str) -> Value {
    if schema["x-kubernetes-int-or-string"] == true {
        return json!("25%");
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return json!({ "z": [1, { "y": null }], "a": "b" });
    }
    match schema["type"].as_str().unwrap() {
        "object" => filled_object(schema, path),
        "array" => json!([filled(&schema["items"], path)]),
        "boolean" => json!(true),
        "integer" => json!(path.bytes().map(i64::from).sum::<i64>()),
        "string" if schema["format"] == "date-time" => {
            json!(format!("2026-01-02T03:04:{:02}Z", path.len() % 60))
        }
        "string" => match &schema["enum"] {
            Value::Array(words) => words[0].clone(),
            _ => json!(path),
        },
        other => panic!("no value for {other} at {path}"),
    }
}

fn filled_object(schema: &Value, path: &str) -> Value {
    if let Some(values) = schema.get("additionalProperties") {
        return json!({ "first": filled(values, path), "second": filled(values, path) });
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, inner)| (name.clone(), filled(inner, &format!("{path}.{name}"))))
        .collect()
}
