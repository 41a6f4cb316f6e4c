//! JSON as Go's `encoding/json` prints and reads it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use api::{
    AppProject, Application, ApplicationSet, ApplicationSetSpec, Operation, OperationState,
    ResourceResult, SyncStatus,
};
use prost::Message as _;
use serde::{Serialize, de::DeserializeOwned};

#[track_caller]
fn check<T: Serialize + DeserializeOwned>(input: &str, expect: &str) {
    let value: T = serde_json::from_str(input).unwrap();
    let printed = serde_json::to_string(&value).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let expect: serde_json::Value = serde_json::from_str(expect).unwrap();
    assert_eq!(printed, expect, "{input}");
}

#[test]
fn empty_values_are_left_out_but_empty_structs_are_printed() {
    check::<Application>(
        "{}",
        r#"{
            "metadata": {},
            "spec": { "destination": {}, "project": "" },
            "status": {
                "sync": {
                    "status": "",
                    "comparedTo": { "source": { "repoURL": "" }, "destination": {} }
                },
                "health": {},
                "summary": {},
                "sourceHydrator": {}
            }
        }"#,
    );
    check::<AppProject>("{}", r#"{ "metadata": {}, "spec": {}, "status": {} }"#);
}

#[test]
fn lists_without_omitempty_are_printed_when_empty() {
    check::<ApplicationSetSpec>(
        "{}",
        r#"{ "generators": [], "template": { "metadata": {}, "spec": { "destination": {}, "project": "" } } }"#,
    );
}

#[test]
fn texts_without_omitempty_are_printed_when_empty() {
    check::<ResourceResult>(
        "{}",
        r#"{ "group": "", "version": "", "kind": "", "namespace": "", "name": "" }"#,
    );
}

#[test]
fn an_operation_always_says_who_and_how_often() {
    check::<Operation>("{}", r#"{ "initiatedBy": {}, "retry": {} }"#);
}

#[test]
fn a_time_that_was_never_set_is_null_unless_it_is_a_pointer() {
    check::<OperationState>(
        "{}",
        r#"{ "operation": { "initiatedBy": {}, "retry": {} }, "phase": "", "startedAt": null }"#,
    );
}

#[test]
fn a_pointer_to_false_or_zero_is_printed() {
    check::<api::SyncPolicyAutomated>(r#"{ "prune": false }"#, r#"{ "prune": false }"#);
    check::<api::Backoff>(r#"{ "factor": 0 }"#, r#"{ "factor": 0 }"#);
}

#[test]
fn a_pointer_without_omitempty_is_null_when_it_is_not_there() {
    check::<api::SourceIntegrity>("{}", r#"{ "git": null }"#);
}

#[test]
fn the_fields_of_embedded_structs_stand_beside_the_others() {
    check::<api::KustomizeSelector>(
        r#"{ "kind": "Deployment", "name": "web", "labelSelector": "a=b" }"#,
        r#"{ "kind": "Deployment", "name": "web", "labelSelector": "a=b" }"#,
    );
    check::<api::SyncStrategyHook>(r#"{ "force": true }"#, r#"{ "force": true }"#);
}

#[test]
fn null_is_the_zero_value_of_anything() {
    check::<SyncStatus>(
        r#"{ "status": null, "revision": null, "revisions": null, "comparedTo": null }"#,
        r#"{ "status": "", "comparedTo": { "source": { "repoURL": "" }, "destination": {} } }"#,
    );
    check::<api::ApplicationSource>(
        r#"{ "repoURL": "r", "helm": null, "kustomize": {
            "images": [null, "a"], "commonLabels": { "a": null }, "forceCommonLabels": null,
            "patches": null, "replicas": [null]
        } }"#,
        r#"{ "repoURL": "r", "kustomize": {
            "images": ["", "a"], "commonLabels": { "a": "" }, "replicas": [{ "name": "", "count": 0 }]
        } }"#,
    );
    check::<api::KustomizeSelector>(r#"{ "kind": null, "name": null }"#, "{}");
}

#[test]
fn fields_we_do_not_know_are_ignored() {
    check::<api::Info>(
        r#"{ "name": "a", "value": "b", "later": {} }"#,
        r#"{ "name": "a", "value": "b" }"#,
    );
}

#[test]
fn a_parameter_of_a_plugin_says_its_name_even_when_empty() {
    check::<api::ApplicationSourcePluginParameter>("{}", r#"{ "name": "" }"#);
}

#[test]
fn a_parameter_of_a_plugin_is_an_empty_map_when_its_map_is_null() {
    check::<api::ApplicationSourcePluginParameter>(
        r#"{ "name": "p", "map": null, "string": null }"#,
        r#"{ "name": "p", "map": {} }"#,
    );
}

#[test]
fn values_are_on_the_wire_even_when_empty_because_go_insists() {
    // What the types of Argo CD 3.6.0 encode an empty Application to.
    let recorded = "0a100a0012001a0022002a00320038004200120a12060a0012001a001a001a34121e0a0012180a\
                    0e0a001200220062006a0072007a0012060a0012001a001a001a040a0012004a00520218005a00\
                    6a0072021a00";
    let bytes = Application::default().encode_to_vec();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, recorded);
    assert_eq!(Application::decode(bytes.as_slice()).unwrap(), Application::default());
}

#[test]
fn values_that_are_not_on_the_wire_are_empty() {
    assert_eq!(ApplicationSet::decode([].as_slice()).unwrap(), ApplicationSet::default());
}
