//! When and how an application is synced.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;

/// When and how an application is synced.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncPolicy {
    /// Sync without being asked; absent means only on request.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automated: Option<SyncPolicyAutomated>,
    /// Options for the whole application, such as `CreateNamespace=true`.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sync_options: Vec<String>,
    /// What to do when a sync fails.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryStrategy>,
    /// Labels and annotations of the destination namespace, with `CreateNamespace=true`.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_namespace_metadata: Option<ManagedNamespaceMetadata>,
}

/// Syncing without being asked.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncPolicyAutomated {
    /// Delete resources that no source wants any more.
    #[prost(bool, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prune: Option<bool>,
    /// Revert changes made in the cluster.
    #[prost(bool, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_heal: Option<bool>,
    /// Let sources that render to nothing delete everything.
    #[prost(bool, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_empty: Option<bool>,
    /// `false` switches automation off and keeps the rest of these choices.
    #[prost(bool, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What to do when a sync fails.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RetryStrategy {
    /// How often to try again; negative is without end.
    #[prost(int64, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub limit: i64,
    /// How long to wait before each attempt.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Try again with the newest commit instead of the one that failed.
    #[prost(bool, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub refresh: bool,
}

/// How long to wait before each attempt.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Backoff {
    /// The first wait: `5s`, `2m`; a plain number is seconds.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub duration: String,
    /// What each further wait is multiplied by.
    #[prost(int64, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<i64>,
    /// The longest wait.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub max_duration: String,
}

/// Labels and annotations of a namespace that we create.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedNamespaceMetadata {
    /// The labels.
    #[prost(btree_map = "string, string", tag = 1)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[prost(btree_map = "string, string", tag = 2)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl SyncPolicy {
    /// Whether the application syncs by itself.
    pub fn is_automated(&self) -> bool {
        self.automated.as_ref().is_some_and(|automated| automated.enabled != Some(false))
    }
}

impl SyncPolicyAutomated {
    /// Whether resources that no source wants any more are deleted; off by default.
    pub fn prunes(&self) -> bool {
        self.prune == Some(true)
    }

    /// Whether changes made in the cluster are reverted; off by default.
    pub fn heals_itself(&self) -> bool {
        self.self_heal == Some(true)
    }

    /// Whether sources that render to nothing may delete everything; off by default.
    pub fn allows_empty(&self) -> bool {
        self.allow_empty == Some(true)
    }
}
