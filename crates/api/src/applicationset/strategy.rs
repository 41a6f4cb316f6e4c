//! In which order changes reach the Applications.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;
use crate::meta::IntOrString;

/// In which order changes reach the Applications.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetStrategy {
    /// `AllAtOnce`, which is the default, or `RollingSync`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// The steps of a rolling sync.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_sync: Option<ApplicationSetRolloutStrategy>,
    /// `AllAtOnce`, which is the default, or `Reverse`: the last step is deleted first.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub deletion_order: String,
}

/// Changes reach the Applications step by step.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetRolloutStrategy {
    /// The steps; each starts when all Applications of the one before are healthy.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ApplicationSetRolloutStep>,
}

/// One step.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetRolloutStep {
    /// Which Applications it is for; all of these must hold.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<ApplicationMatchExpression>,
    /// How many may be under way at once, as number or percentage; all when absent.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_update: Option<IntOrString>,
}

/// A rule on a label of the Application.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationMatchExpression {
    /// The label.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `In` or `NotIn`.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The values.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}
