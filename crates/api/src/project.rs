//! An AppProject: which applications may deploy what, from where, to where, when,
//! and who may touch them.

mod integrity;

pub use integrity::{
    SignatureKey, SourceIntegrity, SourceIntegrityGit, SourceIntegrityGitPolicy,
    SourceIntegrityGitPolicyGpg, SourceIntegrityGitPolicyRepo,
};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::application::ApplicationDestination;
use crate::go;
use crate::meta::{GroupKind, ObjectMeta};
use crate::resource::resource;

/// A fence around applications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AppProject {
    /// `argoproj.io/v1alpha1`, or empty in answers of the API, as in Argo CD.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `AppProject`, or empty in answers of the API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name, namespace, labels, annotations, finalizers.
    pub metadata: ObjectMeta,
    /// The rules.
    pub spec: AppProjectSpec,
    /// What tokens there are.
    #[serde(skip_serializing_if = "go::never")]
    pub status: AppProjectStatus,
    /// Was `namespaceResourceWhitelist` written as an empty list? Then no namespaced
    /// kind may be deployed, where a list that is absent permits all. Only the stored
    /// resource can tell: messages and answers of the API leave empty lists out.
    #[serde(skip)]
    pub permits_no_namespaced_kind: bool,
}

/// A project as it is stored, before its spec is read.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Written {
    #[serde(deserialize_with = "go::value")]
    api_version: String,
    #[serde(deserialize_with = "go::value")]
    kind: String,
    #[serde(deserialize_with = "go::value")]
    metadata: ObjectMeta,
    spec: Value,
    #[serde(deserialize_with = "go::value")]
    status: AppProjectStatus,
}

impl<'de> Deserialize<'de> for AppProject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { api_version, kind, metadata, spec, status } =
            Written::deserialize(deserializer)?;
        let allowed = spec.get("namespaceResourceWhitelist");
        let permits_no_namespaced_kind = allowed.is_some_and(|it| *it == Value::Array(Vec::new()));
        let spec = Option::deserialize(spec).map_err(D::Error::custom)?.unwrap_or_default();
        Ok(Self { api_version, kind, metadata, spec, status, permits_no_namespaced_kind })
    }
}

resource!(AppProject, values { 1: metadata, 2: spec, 3: status }, pointers {});

/// The rules of a project. Patterns may hold globs, and one that starts with `!` forbids.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AppProjectSpec {
    /// Repositories to deploy from.
    #[prost(string, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub source_repos: Vec<String>,
    /// Clusters and namespaces to deploy to.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<ApplicationDestination>,
    /// What the project is for.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 255))]
    pub description: String,
    /// Who may do what.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<ProjectRole>,
    /// Cluster-wide kinds that may be deployed; none when empty.
    #[prost(message, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub cluster_resource_whitelist: Vec<ClusterResourceRestrictionItem>,
    /// Namespaced kinds that may not be deployed.
    #[prost(message, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub namespace_resource_blacklist: Vec<GroupKind>,
    /// Watch for resources in the destination namespaces that no application has.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orphaned_resources: Option<OrphanedResourcesMonitorSettings>,
    /// When syncs are allowed or denied.
    #[prost(message, repeated, tag = 8)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sync_windows: Vec<SyncWindow>,
    /// Namespaced kinds that may be deployed; all when absent.
    #[prost(message, repeated, tag = 9)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub namespace_resource_whitelist: Vec<GroupKind>,
    /// Keys that a commit must be signed with; any of them.
    #[prost(message, repeated, tag = 10)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub signature_keys: Vec<SignatureKey>,
    /// Cluster-wide kinds that may not be deployed.
    #[prost(message, repeated, tag = 11)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub cluster_resource_blacklist: Vec<ClusterResourceRestrictionItem>,
    /// Namespaces, besides the control plane's, whose applications may use this project.
    #[prost(string, repeated, tag = 12)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub source_namespaces: Vec<String>,
    /// Deploy only to clusters registered for this project.
    #[prost(bool, required, tag = 13)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub permit_only_project_scoped_clusters: bool,
    /// Whose rights a sync has at its destination.
    #[prost(message, repeated, tag = 14)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub destination_service_accounts: Vec<ApplicationDestinationServiceAccount>,
    /// How commits prove where they come from.
    #[prost(message, optional, tag = 15)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_integrity: Option<SourceIntegrity>,
}

/// Whose rights a sync has at a destination.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationDestinationServiceAccount {
    /// The URL of the cluster; a glob.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub server: String,
    /// The namespace; a glob.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The service account, with its namespace before a `:` unless it is the destination's.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub default_service_account: String,
}

/// A cluster-wide kind, or one object of it.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterResourceRestrictionItem {
    /// The API group; a glob.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub group: String,
    /// The kind; a glob.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
    /// The name, a glob; any when empty.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Watching for resources that no application has.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OrphanedResourcesMonitorSettings {
    /// Put a warning on applications of that namespace; on by default.
    #[prost(bool, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn: Option<bool>,
    /// Resources that do not count.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<OrphanedResourceKey>,
}

/// Resources that may be nobody's.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OrphanedResourceKey {
    /// The API group; a glob.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind; a glob.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name; a glob.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A recurring time in which syncs are allowed or denied.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncWindow {
    /// `allow` or `deny`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// When it opens, in cron notation.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub schedule: String,
    /// How long it stays open: `30m`, `2h`.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub duration: String,
    /// For applications of these names.
    #[prost(string, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<String>,
    /// For applications deployed to these namespaces.
    #[prost(string, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// For applications deployed to these clusters.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// Syncs that a user starts are allowed even when the window says no.
    #[prost(bool, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub manual_sync: bool,
    /// The time zone of the schedule; UTC when empty.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub time_zone: String,
    /// The application must match all of the lists instead of one.
    #[prost(bool, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub and_operator: bool,
    /// What the window is for.
    #[prost(string, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A sync that started in time may end after the window closes.
    #[prost(bool, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub sync_overrun: bool,
}

/// A role within the project.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ProjectRole {
    /// The name of the role.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// What it is for.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it may do, in the notation of the RBAC settings.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Tokens issued for it; superseded by the status.
    #[prost(message, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub jwt_tokens: Vec<JwtToken>,
    /// Groups of the identity provider that have it.
    #[prost(string, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// A token that was issued. Only its traces are kept, never the token.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct JwtToken {
    /// When it was issued, in seconds since 1970.
    #[prost(int64, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub iat: i64,
    /// When it ends, in seconds since 1970; 0 is never.
    #[prost(int64, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_zero")]
    pub exp: i64,
    /// Its name.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub id: String,
}

/// Tokens of one role.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct JwtTokens {
    /// The tokens.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<JwtToken>,
}

/// What the API server keeps about a project.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AppProjectStatus {
    /// The tokens that were issued, by role.
    #[prost(btree_map = "string, message", tag = 1)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub jwt_tokens_by_role: BTreeMap<String, JwtTokens>,
}
