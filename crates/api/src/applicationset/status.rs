//! What became of an ApplicationSet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::{HealthStatus, ResourceStatus};
use crate::go;
use crate::meta::Time;

/// What was generated and how that is going.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetStatus {
    /// What is done, under way or wrong.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ApplicationSetCondition>,
    /// Where each Application is in a rollout in steps.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub application_status: Vec<ApplicationSetApplicationStatus>,
    /// The Applications; not all of them when there are too many.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// How many Applications there are.
    #[prost(int64, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub resources_count: i64,
    /// How well they do together.
    #[prost(message, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub health: HealthStatus,
}

/// Something done, under way or wrong.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetCondition {
    /// What it is about; see `ApplicationSetConditionType`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub type_: String,
    /// The whole story.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub message: String,
    /// When it last changed.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// `True`, `False` or `Unknown`.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub status: String,
    /// One word for programs.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub reason: String,
}

/// Where an Application is in a rollout in steps.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetApplicationStatus {
    /// The name of the Application.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub application: String,
    /// When its status last changed.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub message: String,
    /// Where it is; see `ProgressiveSyncStatusCode`.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub status: String,
    /// Its step, counted from 1.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub step: String,
    /// What it is to be synced to.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list")]
    pub target_revisions: Vec<String>,
}
