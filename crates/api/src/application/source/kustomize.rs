//! How a kustomization is rendered: what is added to the one in the repository.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;
use crate::meta::IntOrString;

/// What is added to the kustomization in the repository.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourceKustomize {
    /// Put before the name of every resource.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name_prefix: String,
    /// Put after the name of every resource.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name_suffix: String,
    /// Images to replace, as `name=new:tag` or any other form Kustomize knows.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Labels for every resource.
    #[prost(btree_map = "string, string", tag = 4)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub common_labels: BTreeMap<String, String>,
    /// The Kustomize version to use, of those the settings name.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Annotations for every resource.
    #[prost(btree_map = "string, string", tag = 6)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub common_annotations: BTreeMap<String, String>,
    /// Let `commonLabels` replace labels the kustomization already sets.
    #[prost(bool, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub force_common_labels: bool,
    /// Let `commonAnnotations` replace annotations the kustomization already sets.
    #[prost(bool, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub force_common_annotations: bool,
    /// The namespace of every resource.
    #[prost(string, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Fill in variables of the build environment in annotation values.
    #[prost(bool, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub common_annotations_envsubst: bool,
    /// Numbers of replicas to replace.
    #[prost(message, repeated, tag = 11)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<KustomizeReplica>,
    /// Patches to apply.
    #[prost(message, repeated, tag = 12)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<KustomizePatch>,
    /// Components to add.
    #[prost(string, repeated, tag = 13)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,
    /// Put `commonLabels` on resources but not into their selectors.
    #[prost(bool, required, tag = 14)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub label_without_selector: bool,
    /// The Kubernetes version charts inside see; the destination's when empty.
    #[prost(string, required, tag = 15)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The API versions charts inside see; the destination's when empty.
    #[prost(string, repeated, tag = 16)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub api_versions: Vec<String>,
    /// A component that is not there is not an error.
    #[prost(bool, required, tag = 17)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub ignore_missing_components: bool,
    /// With `labelWithoutSelector`: put the labels on pod templates, too.
    #[prost(bool, required, tag = 18)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub label_include_templates: bool,
}

/// The number of replicas of one workload.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KustomizeReplica {
    /// The workload.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// How many.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub count: IntOrString,
}

/// A patch: given in full or as a file, for one resource or for all that match.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KustomizePatch {
    /// A file with the patch.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The patch itself.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub patch: String,
    /// What it is for; without it the patch says so itself.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<KustomizeSelector>,
    /// Such as `allowNameChange` and `allowKindChange`.
    #[prost(btree_map = "string, bool", tag = 4)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, bool>,
}

/// Which resources a patch is for.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KustomizeSelector {
    /// Kind and name.
    #[prost(message, required, tag = 1)]
    #[serde(flatten)]
    pub res_id: KustomizeResId,
    /// Annotations they must have.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub annotation_selector: String,
    /// Labels they must have.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
}

/// A resource by kind and name.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KustomizeResId {
    /// The kind.
    #[prost(message, required, tag = 1)]
    #[serde(flatten)]
    pub gvk: KustomizeGvk,
    /// The name, as a regular expression.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace, as a regular expression.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A kind, by group and version.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct KustomizeGvk {
    /// The API group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
}
