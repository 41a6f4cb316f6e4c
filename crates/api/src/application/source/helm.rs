//! How a chart is rendered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;
use crate::meta::RawExtension;

/// How a chart is rendered. Values are merged in this order, the last wins: files,
/// `values`, `valuesObject`, parameters.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSourceHelm {
    /// Value files, relative to the chart; `$name/…` reads from the source of that name.
    #[prost(string, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub value_files: Vec<String>,
    /// Single values, as `helm --set`.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<HelmParameter>,
    /// The release; the application's name when empty.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub release_name: String,
    /// Values as YAML text; not used when `valuesObject` is there.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// Single values read from files, as `helm --set-file`.
    #[prost(message, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub file_parameters: Vec<HelmFileParameter>,
    /// Helm's major version, from the time when there were two; nothing depends on it.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Send the repository's credentials to other hosts it refers to.
    #[prost(bool, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub pass_credentials: bool,
    /// A value file that is not there is not an error.
    #[prost(bool, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub ignore_missing_value_files: bool,
    /// Leave out the `crds` folder of the chart.
    #[prost(bool, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub skip_crds: bool,
    /// Values as an object, kept as written.
    #[prost(message, optional, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_object: Option<RawExtension>,
    /// The namespace charts see; the destination's when empty.
    #[prost(string, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The Kubernetes version charts see; the destination's when empty.
    #[prost(string, required, tag = 12)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The API versions charts see, as `group/version/kind`; the destination's when empty.
    #[prost(string, repeated, tag = 13)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub api_versions: Vec<String>,
    /// Leave out the chart's tests.
    #[prost(bool, required, tag = 14)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub skip_tests: bool,
    /// Do not check values against the chart's schema.
    #[prost(bool, required, tag = 15)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub skip_schema_validation: bool,
}

/// A single value for a chart.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmParameter {
    /// Where it goes, as a path with dots.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The value.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Take the value for a text even if it looks like a number or boolean.
    #[prost(bool, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub force_string: bool,
}

/// A single value for a chart, read from a file.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmFileParameter {
    /// Where it goes, as a path with dots.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The file, relative to the chart.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub path: String,
}
