//! The resources of an application with all they own, and how each differs from
//! what the sources want. Not stored in the cluster; the API shows it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::HealthStatus;
use crate::go;
use crate::meta::Time;

/// The resources of an application with all they own.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationTree {
    /// Resources of the application and what they own.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<ResourceNode>,
    /// Resources of the destination namespace that no application has.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub orphaned_nodes: Vec<ResourceNode>,
    /// The nodes that its pods run on.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostInfo>,
    /// How many pieces the tree is stored in, if it is too large for one.
    #[prost(int64, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub shards_count: i64,
}

/// The Applications of an ApplicationSet.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetTree {
    /// The Applications.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<ResourceNode>,
}

/// A resource in the tree.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceNode {
    /// The resource.
    #[prost(message, required, tag = 1)]
    #[serde(flatten)]
    pub resource_ref: ResourceRef,
    /// What owns it.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub parent_refs: Vec<ResourceRef>,
    /// Facts worth showing, such as the number of ready containers.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub info: Vec<InfoItem>,
    /// What it sends traffic to, or how it gets some.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networking_info: Option<ResourceNetworkingInfo>,
    /// The version this is about.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The container images it names.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// How well it does; absent when there is no rule for its kind.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// When it was created.
    #[prost(message, optional, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Time>,
}

/// A resource.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceRef {
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
    /// The namespace; empty for a cluster-wide resource.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What tells it from earlier ones of the same name.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// A fact worth showing.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct InfoItem {
    /// What it is about.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The text.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// What a resource sends traffic to, or how it gets some.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceNetworkingInfo {
    /// Labels of the pods it sends traffic to.
    #[prost(btree_map = "string, string", tag = 1)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub target_labels: BTreeMap<String, String>,
    /// Resources it sends traffic to.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub target_refs: Vec<ResourceRef>,
    /// Labels that others find it by.
    #[prost(btree_map = "string, string", tag = 3)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where traffic enters.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ingress: Vec<LoadBalancerIngress>,
    /// Addresses it is reached at.
    #[prost(string, repeated, tag = 5)]
    #[serde(
        rename = "externalURLs",
        deserialize_with = "go::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub external_urls: Vec<String>,
}

/// An address that a load balancer gave.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct LoadBalancerIngress {
    /// The address, if it is a number.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub ip: String,
    /// The address, if it is a name.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// `VIP` or `Proxy`: whether the address is put on the node or not.
    #[prost(string, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_mode: Option<String>,
    /// The state of each port.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortStatus>,
}

/// A port of a load balancer.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PortStatus {
    /// The number.
    #[prost(int32, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub port: i32,
    /// `TCP`, `UDP` or `SCTP`.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub protocol: String,
    /// What is wrong with it.
    #[prost(string, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A node that pods of the application run on.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HostInfo {
    /// The name of the node.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it has and who uses it.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub resources_info: Vec<HostResourceInfo>,
    /// What it runs.
    #[prost(message, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub system_info: NodeSystemInfo,
    /// Its labels, as far as the settings show them.
    #[prost(btree_map = "string, string", tag = 4)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// One of a node's resources, such as memory, in thousandths of its unit.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HostResourceInfo {
    /// Which.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_name: String,
    /// What pods of the application ask for.
    #[prost(int64, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub requested_by_app: i64,
    /// What other pods ask for.
    #[prost(int64, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub requested_by_neighbors: i64,
    /// What there is.
    #[prost(int64, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub capacity: i64,
}

/// What a node runs.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSystemInfo {
    /// The machine's id.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "machineID", deserialize_with = "go::value")]
    pub machine_id: String,
    /// The hardware's id.
    #[prost(string, required, tag = 2)]
    #[serde(rename = "systemUUID", deserialize_with = "go::value")]
    pub system_uuid: String,
    /// What changes with every boot.
    #[prost(string, required, tag = 3)]
    #[serde(rename = "bootID", deserialize_with = "go::value")]
    pub boot_id: String,
    /// The kernel.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub kernel_version: String,
    /// The distribution.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub os_image: String,
    /// The container runtime.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value")]
    pub container_runtime_version: String,
    /// The kubelet.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value")]
    pub kubelet_version: String,
    /// Not written any more; kept for old clients.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value")]
    pub kube_proxy_version: String,
    /// The operating system.
    #[prost(string, required, tag = 9)]
    #[serde(deserialize_with = "go::value")]
    pub operating_system: String,
    /// The processor.
    #[prost(string, required, tag = 10)]
    #[serde(deserialize_with = "go::value")]
    pub architecture: String,
    /// Its swap.
    #[prost(message, optional, tag = 11)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap: Option<NodeSwapStatus>,
}

/// The swap of a node.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeSwapStatus {
    /// How many bytes.
    #[prost(int64, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
}

/// A resource from both sides, each as JSON text; `null` where it is not.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceDiff {
    /// The API group; empty is the core group.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The namespace.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the sources want.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub target_state: String,
    /// What the cluster has.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub live_state: String,
    /// Not written any more; kept for old clients.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub diff: String,
    /// It is a hook.
    #[prost(bool, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub hook: bool,
    /// What the cluster has, without what does not count.
    #[prost(string, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub normalized_live_state: String,
    /// What the cluster would have after a sync.
    #[prost(string, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub predicted_live_state: String,
    /// The version of the live object.
    #[prost(string, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The two sides differ.
    #[prost(bool, required, tag = 12)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub modified: bool,
}
