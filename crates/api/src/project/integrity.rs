//! How commits prove where they come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;

/// A key that commits may be signed with.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SignatureKey {
    /// The long id of the GnuPG key.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "keyID", deserialize_with = "go::value")]
    pub key_id: String,
}

/// How sources prove where they come from.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrity {
    /// For git repositories.
    #[prost(message, optional, tag = 1)]
    pub git: Option<SourceIntegrityGit>,
}

/// How commits prove where they come from.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityGit {
    /// Rules by repository; the first that fits applies.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list")]
    pub policies: Vec<SourceIntegrityGitPolicy>,
}

/// The rule for some repositories.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityGitPolicy {
    /// The repositories.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list")]
    pub repos: Vec<SourceIntegrityGitPolicyRepo>,
    /// How signatures are checked.
    #[prost(message, optional, tag = 2)]
    pub gpg: Option<SourceIntegrityGitPolicyGpg>,
}

/// Repositories by URL.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityGitPolicyRepo {
    /// The URL; a glob, or with `!` in front what is excepted.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub url: String,
}

/// How GnuPG signatures are checked.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceIntegrityGitPolicyGpg {
    /// How much history is checked: `none`, `head` or `strict`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub mode: String,
    /// Ids of the keys that count.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list")]
    pub keys: Vec<String>,
}
