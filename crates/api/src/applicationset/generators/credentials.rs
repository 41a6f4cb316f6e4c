//! Where generators find what they sign in with. Never the secret itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;

/// An entry of a Secret in our namespace.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SecretRef {
    /// The Secret.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub secret_name: String,
    /// The entry.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub key: String,
}

/// An entry of a ConfigMap in our namespace.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// The ConfigMap.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub config_map_name: String,
    /// The entry.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub key: String,
}

/// User and password for Bitbucket, Server as well as Cloud.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct BasicAuthBitbucketServer {
    /// The user.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub username: String,
    /// Where the password or personal token is.
    #[prost(message, optional, tag = 2)]
    pub password_ref: Option<SecretRef>,
}

/// A token for Bitbucket Server.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct BearerTokenBitbucket {
    /// Where the token is.
    #[prost(message, optional, tag = 1)]
    pub token_ref: Option<SecretRef>,
}

/// A token for Bitbucket Cloud.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct BearerTokenBitbucketCloud {
    /// Where the token is.
    #[prost(message, optional, tag = 1)]
    pub token_ref: Option<SecretRef>,
}
