//! What the controller found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::{
    ApplicationDestination, ApplicationSource, OperationInitiator, OperationState,
    ResourceIgnoreDifferences, SourceHydratorStatus,
};
use crate::go;
use crate::meta::Time;

/// What the controller found.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// Every resource that a source wants or that is tracked as ours.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// Whether the cluster has what the sources want.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub sync: SyncStatus,
    /// How well it does.
    #[prost(message, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub health: AppHealthStatus,
    /// Past syncs, oldest first.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<RevisionHistory>,
    /// What is wrong or worth knowing.
    #[prost(message, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ApplicationCondition>,
    /// When it was last compared.
    #[prost(message, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciled_at: Option<Time>,
    /// The operation under way, or the last one.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_state: Option<OperationState>,
    /// Not written any more; kept for old resources.
    #[prost(message, optional, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<Time>,
    /// What makes the manifests; see `ApplicationSourceType`.
    #[prost(string, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub source_type: String,
    /// Links and images of all resources together.
    #[prost(message, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub summary: ApplicationSummary,
    /// `appTree` when the health of resources is kept elsewhere, empty when it is in
    /// `resources`.
    #[prost(string, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_health_source: String,
    /// What makes the manifests of each source.
    #[prost(string, repeated, tag = 12)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub source_types: Vec<String>,
    /// Where the controller that wrote this runs.
    #[prost(string, required, tag = 13)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub controller_namespace: String,
    /// How hydration is going.
    #[prost(message, required, tag = 14)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source_hydrator: SourceHydratorStatus,
}

/// Whether the cluster has what the sources want.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncStatus {
    /// The answer; see `SyncStatusCode`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub status: String,
    /// What the answer is about.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub compared_to: ComparedTo,
    /// The commit or chart version that was compared.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// What was compared of each source, in their order.
    #[prost(string, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<String>,
}

/// The part of the specification that a comparison used. When it differs from the
/// specification, the comparison is out of date.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ComparedTo {
    /// The one source.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source: ApplicationSource,
    /// Where the resources are.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub destination: ApplicationDestination,
    /// The sources, with several.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ApplicationSource>,
    /// Differences that did not count.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ignore_differences: Vec<ResourceIgnoreDifferences>,
}

/// How well a resource does.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HealthStatus {
    /// The answer; see `HealthStatusCode`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Why.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Not written any more; kept for old resources.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// How well an application does: as its worst resource.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AppHealthStatus {
    /// The answer; see `HealthStatusCode`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Why.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the answer last changed.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// One resource of the application.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceStatus {
    /// The API group; empty is the core group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The API version.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The namespace.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it is as wanted; empty for a hook.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// How well it does; absent when there is no rule for its kind.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// It is a hook.
    #[prost(bool, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub hook: bool,
    /// No source wants it any more.
    #[prost(bool, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub requires_pruning: bool,
    /// The wave it is applied in.
    #[prost(int64, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub sync_wave: i64,
    /// A user must approve before it is deleted.
    #[prost(bool, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub requires_deletion_confirmation: bool,
}

/// A past sync.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct RevisionHistory {
    /// What was deployed.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// When the sync ended.
    #[prost(message, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub deployed_at: Time,
    /// A number that grows by one; a rollback names it.
    #[prost(int64, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub id: i64,
    /// Where it came from.
    #[prost(message, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source: ApplicationSource,
    /// When the sync started.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_started_at: Option<Time>,
    /// Where it came from, with several sources.
    #[prost(message, repeated, tag = 8)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ApplicationSource>,
    /// What was deployed of each source, in their order.
    #[prost(string, repeated, tag = 9)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<String>,
    /// Who started it.
    #[prost(message, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub initiated_by: OperationInitiator,
}

/// Something wrong or worth knowing.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationCondition {
    /// What it is about; see `ApplicationConditionType`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub type_: String,
    /// The whole story.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub message: String,
    /// When it was first seen.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

/// What all resources together have.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSummary {
    /// Addresses the application is reached at.
    #[prost(string, repeated, tag = 1)]
    #[serde(
        rename = "externalURLs",
        deserialize_with = "go::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub external_urls: Vec<String>,
    /// Container images in use.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Some of its resources are Applications themselves.
    #[prost(bool, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub is_app_of_apps: bool,
}
