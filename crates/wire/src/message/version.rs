//! `version.VersionService`. Its JSON names are capitalised, unlike all others.

use serde::{Deserialize, Serialize};

/// Nothing to say.
#[derive(Clone, Copy, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "Nothing"]))]
pub struct Nothing {}

crate::message::lenient!(VersionMessage);

/// What this program is.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "VersionMessage"]))]
#[serde(default, rename_all = "PascalCase")]
pub struct VersionMessage {
    /// Such as `v3.6.0+argosy`.
    #[prost(string, tag = 1)]
    pub version: String,
    #[prost(string, tag = 2)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub build_date: String,
    #[prost(string, tag = 3)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub git_commit: String,
    #[prost(string, tag = 4)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub git_tag: String,
    #[prost(string, tag = 5)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub git_tree_state: String,
    #[prost(string, tag = 6)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub go_version: String,
    #[prost(string, tag = 7)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    #[prost(string, tag = 8)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub platform: String,
    #[prost(string, tag = 10)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kustomize_version: String,
    #[prost(string, tag = 11)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub helm_version: String,
    #[prost(string, tag = 12)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubectl_version: String,
    #[prost(string, tag = 13)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jsonnet_version: String,
    #[prost(string, tag = 14)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub extra_build_info: String,
}
