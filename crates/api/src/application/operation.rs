//! What the controller is asked to do, and what came of it.
//!
//! An [`Operation`] is the request, [`OperationState`] the request with its
//! progress, [`SyncOperationResult`] what happened to each resource.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::{ApplicationSource, Info, ManagedNamespaceMetadata, RetryStrategy};
use crate::codes::OperationPhase;
use crate::go;
use crate::meta::Time;

/// A request to the controller.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Operation {
    /// Sync, like this.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncOperation>,
    /// Who asks.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub initiated_by: OperationInitiator,
    /// Notes to keep with the operation.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub info: Vec<Info>,
    /// What to do when it fails.
    #[prost(message, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub retry: RetryStrategy,
}

/// Who started an operation.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OperationInitiator {
    /// The user.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// The controller itself, by the sync policy.
    #[prost(bool, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub automated: bool,
}

/// A sync: which revision, which resources, by which means.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncOperation {
    /// The revision; the application's target when empty.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// Delete resources that no source wants any more.
    #[prost(bool, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub prune: bool,
    /// Change nothing, only say what would happen.
    #[prost(bool, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub dry_run: bool,
    /// By which means.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_strategy: Option<SyncStrategy>,
    /// Only these resources; all of them when empty.
    #[prost(message, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<SyncOperationResource>,
    /// Deploy from here instead, as a rollback does.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ApplicationSource>,
    /// Deploy these manifests instead of what the source renders to.
    #[prost(string, repeated, tag = 8)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    /// Options for the whole application, such as `Replace=true`.
    #[prost(string, repeated, tag = 9)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sync_options: Vec<String>,
    /// Deploy from these places instead, as a rollback does.
    #[prost(message, repeated, tag = 10)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ApplicationSource>,
    /// The revision of each source, in the order of the application's sources.
    #[prost(string, repeated, tag = 11)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<String>,
    /// How often self-healing has tried this revision in a row.
    #[prost(int64, required, tag = 12)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub auto_heal_attempts_count: i64,
}

/// A resource to sync.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncOperationResource {
    /// The API group; empty is the core group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
    /// The name.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// The namespace; any when empty.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// By which means a sync is done; hooks run unless `apply` is chosen.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncStrategy {
    /// Apply only; hooks do not run.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply: Option<SyncStrategyApply>,
    /// Apply and run hooks.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<SyncStrategyHook>,
}

/// Applying resources.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncStrategyApply {
    /// Delete and create again what cannot be changed in place.
    #[prost(bool, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub force: bool,
}

/// Applying resources and running hooks.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncStrategyHook {
    /// How resources are applied.
    #[prost(message, required, tag = 1)]
    #[serde(flatten)]
    pub sync_strategy_apply: SyncStrategyApply,
}

/// An operation with its progress.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OperationState {
    /// What was asked for.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub operation: Operation,
    /// How far it is; see `OperationPhase`.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub phase: String,
    /// What happens now, or how it ended.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What happened to each resource.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_result: Option<SyncOperationResult>,
    /// When it started.
    #[prost(message, required, tag = 6)]
    #[serde(deserialize_with = "go::value")]
    pub started_at: Time,
    /// When it ended, if it did.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// How often it was tried again.
    #[prost(int64, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub retry_count: i64,
}

/// What a sync did.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncOperationResult {
    /// What happened to each resource.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceResult>,
    /// The commit or chart version that was deployed.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub revision: String,
    /// Where it came from.
    #[prost(message, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source: ApplicationSource,
    /// Where it came from, with several sources.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ApplicationSource>,
    /// What was deployed of each source, in their order.
    #[prost(string, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<String>,
    /// What the destination namespace was given.
    #[prost(message, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_namespace_metadata: Option<ManagedNamespaceMetadata>,
}

/// What a sync did with one resource.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceResult {
    /// The API group; empty is the core group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub group: String,
    /// The API version.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub version: String,
    /// The kind.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
    /// The namespace.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub namespace: String,
    /// The name.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// What came of it; see `ResultCode`. Empty for a hook.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// What the cluster said.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it runs, if it is a hook.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub hook_type: String,
    /// How far the hook is, or the health a resource is waited for.
    #[prost(string, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub hook_phase: String,
    /// In which part of the sync it was applied.
    #[prost(string, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub sync_phase: String,
    /// The container images it names.
    #[prost(string, repeated, tag = 11)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

impl SyncOperationResource {
    /// Whether a resource is the one meant; `*` in any field means any, and so does no
    /// namespace.
    pub fn matches(&self, group: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let is_any_or = |wanted: &str, actual: &str| wanted == "*" || wanted == actual;
        is_any_or(&self.group, group)
            && is_any_or(&self.kind, kind)
            && is_any_or(&self.name, name)
            && (self.namespace.is_empty() || is_any_or(&self.namespace, namespace))
    }
}

impl OperationState {
    /// Whether nothing more will happen. A phase we do not know is not an end.
    pub fn is_completed(&self) -> bool {
        OperationPhase::parse(&self.phase).is_some_and(OperationPhase::is_completed)
    }
}
