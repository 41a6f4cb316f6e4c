//! Where the parameters of an ApplicationSet come from.
//!
//! A generator is a struct with one field per way; exactly one is set. Matrix and
//! merge combine generators, which may combine generators once more; what is below
//! that is kept as JSON, so that the definition ends somewhere.

mod credentials;
mod pull_request;
mod scm_provider;

pub use credentials::{
    BasicAuthBitbucketServer, BearerTokenBitbucket, BearerTokenBitbucketCloud, ConfigMapKeyRef,
    SecretRef,
};
pub use pull_request::{
    PullRequestGenerator, PullRequestGeneratorAzureDevOps, PullRequestGeneratorBitbucket,
    PullRequestGeneratorBitbucketServer, PullRequestGeneratorFilter, PullRequestGeneratorGitLab,
    PullRequestGeneratorGitea, PullRequestGeneratorGithub,
};
pub use scm_provider::{
    ScmProviderGenerator, ScmProviderGeneratorAwsCodeCommit, ScmProviderGeneratorAzureDevOps,
    ScmProviderGeneratorBitbucket, ScmProviderGeneratorBitbucketServer, ScmProviderGeneratorFilter,
    ScmProviderGeneratorGitea, ScmProviderGeneratorGithub, ScmProviderGeneratorGitlab, TagFilter,
};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::applicationset::ApplicationSetTemplate;
use crate::go;
use crate::meta::{Json, LabelSelector};

/// One source of parameters. Exactly one of the ways is set; the selector is not one.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetGenerator {
    /// Parameters written out.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListGenerator>,
    /// One set per registered cluster.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterGenerator>,
    /// One set per folder or file of a repository.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitGenerator>,
    /// One set per repository of an organisation.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scm_provider: Option<ScmProviderGenerator>,
    /// One set per cluster that another resource names.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_decision_resource: Option<DuckTypeGenerator>,
    /// One set per open pull request.
    #[prost(message, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestGenerator>,
    /// Every pair of what two generators give.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<MatrixGenerator>,
    /// What several generators give, joined by key.
    #[prost(message, optional, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeGenerator>,
    /// Only sets of parameters that match.
    #[prost(message, optional, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Whatever an HTTP service answers.
    #[prost(message, optional, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginGenerator>,
}

/// A generator inside a matrix or merge.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetNestedGenerator {
    /// Parameters written out.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListGenerator>,
    /// One set per registered cluster.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterGenerator>,
    /// One set per folder or file of a repository.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitGenerator>,
    /// One set per repository of an organisation.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scm_provider: Option<ScmProviderGenerator>,
    /// One set per cluster that another resource names.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_decision_resource: Option<DuckTypeGenerator>,
    /// One set per open pull request.
    #[prost(message, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestGenerator>,
    /// Every pair of what two generators give.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Json>,
    /// What several generators give, joined by key.
    #[prost(message, optional, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<Json>,
    /// Only sets of parameters that match.
    #[prost(message, optional, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Whatever an HTTP service answers.
    #[prost(message, optional, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginGenerator>,
}

/// Every pair of what two generators give; the second may use what the first gave.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MatrixGenerator {
    /// The two.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list")]
    pub generators: Vec<ApplicationSetNestedGenerator>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
}

/// What the first generator gives, completed and overridden by the others.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MergeGenerator {
    /// The generators, the first is the base.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list")]
    pub generators: Vec<ApplicationSetNestedGenerator>,
    /// Parameters whose values say which sets belong together.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list")]
    pub merge_keys: Vec<String>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
}

/// Parameters written out.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ListGenerator {
    /// Each an object of parameters.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "go::never")]
    pub elements: Vec<Json>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// The same as YAML text, which may use what other generators gave.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub elements_yaml: String,
}

/// One set per registered cluster.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterGenerator {
    /// Only clusters whose Secret has these labels.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub selector: LabelSelector,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 3)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// One set with a list of all clusters instead.
    #[prost(bool, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub flat_list: bool,
}

/// One set per folder or file of a repository.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GitGenerator {
    /// The repository.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "repoURL", deserialize_with = "go::value")]
    pub repo_url: String,
    /// Folders that give a set each.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<GitDirectoryGeneratorItem>,
    /// JSON or YAML files that give a set each, or a list of sets.
    #[prost(message, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<GitFileGeneratorItem>,
    /// The branch, tag or commit.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub revision: String,
    /// How often to look again; 180 when absent.
    #[prost(int64, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_after_seconds: Option<i64>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// Put before `path` parameters, so that two git generators can be combined.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub path_param_prefix: String,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 8)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// Folders to take or leave.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GitDirectoryGeneratorItem {
    /// A glob.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub path: String,
    /// Leave what matches.
    #[prost(bool, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub exclude: bool,
}

/// Files to take or leave.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct GitFileGeneratorItem {
    /// A glob.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub path: String,
    /// Leave what matches.
    #[prost(bool, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub exclude: bool,
}

/// One set per cluster that another resource names in its status.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DuckTypeGenerator {
    /// The ConfigMap that says which kind of resource, and where in it the clusters are.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub config_map_ref: String,
    /// The resource, by name.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How often to look again; 180 when absent.
    #[prost(int64, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_after_seconds: Option<i64>,
    /// The resources, by labels.
    #[prost(message, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub label_selector: LabelSelector,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 6)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// Whatever an HTTP service answers.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PluginGenerator {
    /// The ConfigMap that says where the service is.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub config_map_ref: PluginConfigMapRef,
    /// What the service is asked.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub input: PluginInput,
    /// How often to ask again; 1800 when absent.
    #[prost(int64, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_after_seconds: Option<i64>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 5)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// A ConfigMap in our namespace.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PluginConfigMapRef {
    /// Its name.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
}

/// What a service is asked.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PluginInput {
    /// Sent as they are.
    #[prost(btree_map = "string, message", tag = 1)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Json>,
}
