//! What is known about a commit, a chart or an OCI image.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;
use crate::meta::Time;

/// What is known about a commit.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RevisionMetadata {
    /// Who wrote it.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// When.
    #[prost(message, optional, tag = 2)]
    pub date: Option<Time>,
    /// Tags that point at it.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The commit message.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What the check of its signature said.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub signature_info: String,
    /// Commits of other repositories it was made from.
    #[prost(message, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<RevisionReference>,
    /// What the checks of its origin said.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_integrity_result: Option<SourceIntegrityCheckResult>,
}

/// Something a commit was made from.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RevisionReference {
    /// A commit.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitMetadata>,
}

/// A commit of another repository, as the commit that refers to it tells.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CommitMetadata {
    /// Who wrote it.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// When, as written.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The first line of its message.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The rest of its message.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Its hash.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub sha: String,
    /// Its repository.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub repo_url: String,
}

/// What the checks of a revision's origin said.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityCheckResult {
    /// Each check.
    #[prost(message, repeated, tag = 1)]
    #[serde(rename = "Checks", deserialize_with = "go::list")]
    pub checks: Vec<SourceIntegrityCheckResultItem>,
}

/// A check of a revision's origin.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityCheckResultItem {
    /// Which check.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "Name", deserialize_with = "go::value")]
    pub name: String,
    /// What it found; nothing is good.
    #[prost(string, repeated, tag = 2)]
    #[serde(rename = "Problems", deserialize_with = "go::list")]
    pub problems: Vec<String>,
}

/// What is known about a chart.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ChartDetails {
    /// What it is for.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its home page.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Who looks after it.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<String>,
}

/// What is known about an OCI image, from its annotations.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OciMetadata {
    /// When it was made, as written.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub created_at: String,
    /// Who made it.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub authors: String,
    /// Where to read about it.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub image_url: String,
    /// Where its documentation is.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub docs_url: String,
    /// Where its source is.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub source_url: String,
    /// Its version.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// What it is for.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub description: String,
}
