//! The CustomResourceDefinitions, made from the types.
//!
//! [`crds`] gives them as JSON, [`yaml`] as the text of the files in `crds/` of
//! this crate. What a field may hold comes from the structs alone; this file adds
//! what a schema cannot know: names, columns, the status sub-resource.

mod structural;
mod yaml_text;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::resource::{GROUP, VERSION};
use crate::{AppProject, Application, ApplicationSet};
use structural::Descriptions;

/// The definitions with the names of their files.
pub fn crds() -> Vec<(&'static str, Value)> {
    vec![
        ("application-crd.yaml", application()),
        ("applicationset-crd.yaml", application_set()),
        ("appproject-crd.yaml", app_project()),
    ]
}

/// The same as YAML text.
pub fn yaml() -> Vec<(String, String)> {
    let text = |(name, crd): (&str, Value)| (name.to_owned(), yaml_text::write(&crd));
    crds().into_iter().map(text).collect()
}

fn application() -> Value {
    definition(
        &json!({
            "kind": Application::KIND,
            "listKind": "ApplicationList",
            "plural": "applications",
            "shortNames": ["app", "apps"],
            "singular": "application",
        }),
        json!({
            "additionalPrinterColumns": [
                { "jsonPath": ".status.sync.status", "name": "Sync Status", "type": "string" },
                { "jsonPath": ".status.health.status", "name": "Health Status", "type": "string" },
                {
                    "jsonPath": ".status.sync.revision",
                    "name": "Revision",
                    "priority": 10,
                    "type": "string",
                },
                { "jsonPath": ".spec.project", "name": "Project", "priority": 10, "type": "string" },
            ],
            "schema": { "openAPIV3Schema": schema::<Application>(Descriptions::Keep) },
            // No status sub-resource: clients of Argo CD write status with the rest.
            "subresources": {},
        }),
    )
}

fn application_set() -> Value {
    definition(
        &json!({
            "kind": ApplicationSet::KIND,
            "listKind": "ApplicationSetList",
            "plural": "applicationsets",
            "shortNames": ["appset", "appsets"],
            "singular": "applicationset",
        }),
        json!({
            // Nine generators, each with a template, at two levels: the
            // definition is large enough without descriptions.
            "schema": { "openAPIV3Schema": schema::<ApplicationSet>(Descriptions::Drop) },
            "subresources": { "status": {} },
        }),
    )
}

fn app_project() -> Value {
    definition(
        &json!({
            "kind": AppProject::KIND,
            "listKind": "AppProjectList",
            "plural": "appprojects",
            "shortNames": ["appproj", "appprojs"],
            "singular": "appproject",
        }),
        json!({
            "schema": { "openAPIV3Schema": schema::<AppProject>(Descriptions::Keep) },
        }),
    )
}

fn definition(names: &Value, mut version: Value) -> Value {
    version["name"] = VERSION.into();
    version["served"] = true.into();
    version["storage"] = true.into();
    let plural = names["plural"].as_str().expect("every definition above names its plural");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "labels": {
                "app.kubernetes.io/name": format!("{plural}.{GROUP}"),
                "app.kubernetes.io/part-of": "argocd",
            },
            "name": format!("{plural}.{GROUP}"),
        },
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

fn schema<T: JsonSchema>(descriptions: Descriptions) -> Value {
    let settings = SchemaSettings::draft2020_12()
        // What is always printed is what a CRD calls required.
        .for_serialize()
        .with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = structural::from_json_schema(schema.to_value(), descriptions);
    // The API server knows metadata and refuses a definition that explains it.
    schema["properties"]["metadata"] = json!({ "type": "object" });
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_left_to_the_api_server() {
        for (name, crd) in crds() {
            let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            assert_eq!(schema["properties"]["metadata"], json!({ "type": "object" }), "{name}");
        }
    }

    #[test]
    fn nothing_that_a_structural_schema_forbids_is_left() {
        for (name, text) in yaml() {
            for keyword in ["$ref", "$schema", "$defs", "oneOf", "allOf", "\"null\"", "nullable"] {
                assert!(!text.contains(keyword), "{keyword} in {name}");
            }
        }
    }
}
