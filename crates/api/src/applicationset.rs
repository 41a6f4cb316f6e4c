//! An ApplicationSet: a template for Applications and what fills it in.
//!
//! [`ApplicationSet`] is the resource. Generators give sets of parameters, the
//! template makes one Application of each set.

mod generators;
mod status;
mod strategy;

pub use generators::{
    ApplicationSetGenerator, ApplicationSetNestedGenerator, BasicAuthBitbucketServer,
    BearerTokenBitbucket, BearerTokenBitbucketCloud, ClusterGenerator, ConfigMapKeyRef,
    DuckTypeGenerator, GitDirectoryGeneratorItem, GitFileGeneratorItem, GitGenerator,
    ListGenerator, MatrixGenerator, MergeGenerator, PluginConfigMapRef, PluginGenerator,
    PluginInput, PullRequestGenerator, PullRequestGeneratorAzureDevOps,
    PullRequestGeneratorBitbucket, PullRequestGeneratorBitbucketServer, PullRequestGeneratorFilter,
    PullRequestGeneratorGitLab, PullRequestGeneratorGitea, PullRequestGeneratorGithub,
    ScmProviderGenerator, ScmProviderGeneratorAwsCodeCommit, ScmProviderGeneratorAzureDevOps,
    ScmProviderGeneratorBitbucket, ScmProviderGeneratorBitbucketServer, ScmProviderGeneratorFilter,
    ScmProviderGeneratorGitea, ScmProviderGeneratorGithub, ScmProviderGeneratorGitlab, SecretRef,
    TagFilter,
};
pub use status::{ApplicationSetApplicationStatus, ApplicationSetCondition, ApplicationSetStatus};
pub use strategy::{
    ApplicationMatchExpression, ApplicationSetRolloutStep, ApplicationSetRolloutStrategy,
    ApplicationSetStrategy,
};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::ApplicationSpec;
use crate::go;
use crate::meta::ObjectMeta;
use crate::resource::resource;

/// A template for Applications and what fills it in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSet {
    /// `argoproj.io/v1alpha1`, or empty in answers of the API, as in Argo CD.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `ApplicationSet`, or empty in answers of the API.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name, namespace, labels, annotations, finalizers.
    #[serde(deserialize_with = "go::value")]
    pub metadata: ObjectMeta,
    /// What to generate.
    #[serde(deserialize_with = "go::value")]
    pub spec: ApplicationSetSpec,
    /// What was generated.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub status: ApplicationSetStatus,
}

resource!(ApplicationSet, values { 1: metadata, 2: spec, 3: status }, pointers {});

/// What to generate and what may be done with it.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetSpec {
    /// Fill in the template as a Go template instead of `{{name}}` replacement.
    #[prost(bool, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub go_template: bool,
    /// Where parameters come from; the results are put one after the other.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list")]
    pub generators: Vec<ApplicationSetGenerator>,
    /// What an Application looks like.
    #[prost(message, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub template: ApplicationSetTemplate,
    /// What may be done to the Applications.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_policy: Option<ApplicationSetSyncPolicy>,
    /// In which order changes reach the Applications.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ApplicationSetStrategy>,
    /// Labels and annotations that others set and we leave alone.
    #[prost(message, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserved_fields: Option<ApplicationPreservedFields>,
    /// Options of the Go template, such as `missingkey=error`.
    #[prost(string, repeated, tag = 7)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub go_template_options: Vec<String>,
    /// Use the selectors of generators inside a matrix or merge, too.
    #[prost(bool, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub apply_nested_selectors: bool,
    /// Fields of the Applications that others set and we leave alone.
    #[prost(message, repeated, tag = 9)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ignore_application_differences: Vec<ApplicationSetResourceIgnoreDifferences>,
    /// A patch for each Application, filled in like the template.
    #[prost(string, optional, tag = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_patch: Option<String>,
}

/// What an Application looks like, before it is filled in.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetTemplate {
    /// Name and such.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub metadata: ApplicationSetTemplateMeta,
    /// What the Application deploys.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub spec: ApplicationSpec,
}

/// The part of an Application's metadata that a template may set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetTemplateMeta {
    /// The name.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace; only that of the ApplicationSet is used.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The labels.
    #[prost(btree_map = "string, string", tag = 3)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    #[prost(btree_map = "string, string", tag = 4)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The finalizers.
    #[prost(string, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
}

/// What may be done to the Applications.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetSyncPolicy {
    /// Deleting an Application leaves its resources in place.
    #[prost(bool, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub preserve_resources_on_deletion: bool,
    /// Which of create, update and delete; see `ApplicationsSyncPolicy`.
    #[prost(string, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["create-only", "create-update", "create-delete", "sync"]))]
    pub applications_sync: Option<String>,
}

/// Labels and annotations of the Applications that others set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationPreservedFields {
    /// Names of annotations.
    #[prost(string, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<String>,
    /// Names of labels.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// Fields of the Applications that others set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetResourceIgnoreDifferences {
    /// Only in the Application of this name.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The fields, as JSON pointers.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub json_pointers: Vec<String>,
    /// The fields, as jq paths.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub jq_path_expressions: Vec<String>,
}
