//! What is deployed: a place in a repository and how manifests are made of it.

mod helm;
mod kustomize;

pub use helm::{ApplicationSourceHelm, HelmFileParameter, HelmParameter};
pub use kustomize::{
    ApplicationSourceKustomize, KustomizeGvk, KustomizePatch, KustomizeReplica, KustomizeResId,
    KustomizeSelector,
};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;

/// One place that manifests come from.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSource {
    /// The repository: git, Helm or OCI.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "repoURL", deserialize_with = "go::value")]
    pub repo_url: String,
    /// The folder within the repository.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// A branch, tag, commit or range of versions; `HEAD` or the newest chart when empty.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub target_revision: String,
    /// How to render a chart.
    #[prost(message, optional, boxed, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<Box<ApplicationSourceHelm>>,
    /// How to render a kustomization.
    #[prost(message, optional, boxed, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kustomize: Option<Box<ApplicationSourceKustomize>>,
    /// How to read a folder of plain manifests.
    #[prost(message, optional, boxed, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<Box<ApplicationSourceDirectory>>,
    /// Which plugin renders it, with what.
    #[prost(message, optional, boxed, tag = 11)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Box<ApplicationSourcePlugin>>,
    /// The name of the chart, in a Helm repository.
    #[prost(string, required, tag = 12)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub chart: String,
    /// The name other sources use to refer to files of this one.
    #[prost(string, required, tag = 13)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub ref_: String,
    /// A name to tell sources apart, shown to users.
    #[prost(string, required, tag = 14)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Only tags that start so are considered when a range of versions is resolved.
    #[prost(string, required, tag = 15)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub tag_prefix: String,
}

/// How to read a folder of plain manifests.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourceDirectory {
    /// Go into subfolders.
    #[prost(bool, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub recurse: bool,
    /// What Jsonnet files get to see.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub jsonnet: ApplicationSourceJsonnet,
    /// Leave out files that match this glob.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub exclude: String,
    /// Read only files that match this glob.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub include: String,
    /// Read every file as a manifest, whatever its extension.
    #[prost(bool, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub disable_extension_filter: bool,
}

/// What Jsonnet files get to see.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourceJsonnet {
    /// Answers to `std.extVar`.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ext_vars: Vec<JsonnetVar>,
    /// Arguments of the top-level function.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub tlas: Vec<JsonnetVar>,
    /// Folders that imports are looked up in.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub libs: Vec<String>,
}

/// A value for Jsonnet.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct JsonnetVar {
    /// The name of the variable.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// Its text.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub value: String,
    /// Evaluate the text as Jsonnet rather than pass it as a string.
    #[prost(bool, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub code: bool,
}

/// A config management plugin and what it is told.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourcePlugin {
    /// The plugin; when empty, the first one that says it fits.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Environment of the plugin, each name with the prefix `ARGOCD_ENV_`.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvEntry>,
    /// Parameters, as the plugin announced them.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ApplicationSourcePluginParameter>,
}

/// An environment variable.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct EnvEntry {
    /// The name.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// The value.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub value: String,
}

/// A parameter of a plugin: a text, a list or a map.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourcePluginParameter {
    /// The name of the parameter.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub name: String,
    /// The value, if it is a map.
    #[prost(message, optional, tag = 3)]
    #[serde(deserialize_with = "go::present", skip_serializing_if = "Option::is_none")]
    pub map: Option<OptionalMap>,
    /// The value, if it is a list.
    #[prost(message, optional, tag = 4)]
    #[serde(deserialize_with = "go::present", skip_serializing_if = "Option::is_none")]
    pub array: Option<OptionalArray>,
    /// The value, if it is a text.
    #[prost(string, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
}

/// A map that may be there and empty, which protobuf cannot say of a bare map.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub struct OptionalMap {
    /// The entries.
    #[prost(btree_map = "string, string", tag = 1)]
    #[serde(deserialize_with = "go::map")]
    pub map: BTreeMap<String, String>,
}

/// A list that may be there and empty, which protobuf cannot say of a bare list.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub struct OptionalArray {
    /// The items.
    #[prost(string, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list")]
    pub array: Vec<String>,
}
