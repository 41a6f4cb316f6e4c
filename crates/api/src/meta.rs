//! The parts of our resources that are Kubernetes' own: metadata, selectors, and
//! leaf types with a notation of their own. Field numbers are Kubernetes'.

mod int_or_string;
mod raw;
mod time;

pub use int_or_string::IntOrString;
pub use raw::{FieldsV1, Json, RawExtension};
pub use time::Time;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;

/// What every Kubernetes object has.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectMeta {
    /// The name, unique in the namespace for its kind.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The start of a name that the API server completes.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub generate_name: String,
    /// The namespace.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Not written any more; kept for old clients.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub self_link: String,
    /// What tells this object from earlier ones of the same name.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What changes with every write.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// What changes with every write of the specification.
    #[prost(int64, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub generation: i64,
    /// When it was created.
    #[prost(message, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "Time::is_zero")]
    pub creation_timestamp: Time,
    /// Since when it is to be deleted.
    #[prost(message, optional, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    /// How long deletion may take.
    #[prost(int64, optional, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// What selectors look at.
    #[prost(btree_map = "string, string", tag = 11)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What selectors do not look at.
    #[prost(btree_map = "string, string", tag = 12)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What it is deleted with.
    #[prost(message, repeated, tag = 13)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// What must happen before it is deleted.
    #[prost(string, repeated, tag = 14)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Who set which field.
    #[prost(message, repeated, tag = 17)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

/// An object that another one is deleted with.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    /// Kind of the owner.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
    /// Name of the owner.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// Uid of the owner.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub uid: String,
    /// API version of the owner.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub api_version: String,
    /// The owner is the one that manages it.
    #[prost(bool, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// The owner stays until it is gone.
    #[prost(bool, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

/// The fields one manager set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedFieldsEntry {
    /// The manager.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// `Apply` or `Update`.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// The version the field set is written in.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// When it last changed.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// The notation, `FieldsV1`.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub fields_type: String,
    /// The fields.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields_v1: Option<FieldsV1>,
    /// The sub-resource they were written through.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub subresource: String,
}

/// A kind of resource, whatever its version. Globs are allowed where projects use it.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupKind {
    /// The API group; empty is the core group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub group: String,
    /// The kind.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
}

/// Which labels something must have. An empty one matches everything.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Labels with their values.
    #[prost(btree_map = "string, string", tag = 1)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Rules on labels; all must hold.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// A rule on a label.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelectorRequirement {
    /// The label.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub operator: String,
    /// The values, for the first two.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// What every Kubernetes list has.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ListMeta {
    /// Not written any more; kept for old clients.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub self_link: String,
    /// The state the list shows; a watch goes on from there.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// What to ask for the next page with; empty on the last.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub continue_: String,
    /// How many items are on the pages to come, if the server knows.
    #[prost(int64, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
    /// Which part of all items the list shows.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_info: Option<ShardInfo>,
}

/// A part of all items.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ShardInfo {
    /// What the items of the part have in common.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub selector: String,
}
