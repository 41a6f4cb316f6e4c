//! Repositories of an organisation at a source code host.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::applicationset::{
    ApplicationSetTemplate, BasicAuthBitbucketServer, BearerTokenBitbucket, ConfigMapKeyRef,
    SecretRef,
};
use crate::go;

/// One set per repository of an organisation. Exactly one host is set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGenerator {
    /// At GitHub.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<ScmProviderGeneratorGithub>,
    /// At GitLab.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<ScmProviderGeneratorGitlab>,
    /// At Bitbucket Cloud.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitbucket: Option<ScmProviderGeneratorBitbucket>,
    /// At Bitbucket Server.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitbucket_server: Option<ScmProviderGeneratorBitbucketServer>,
    /// At Gitea.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitea: Option<ScmProviderGeneratorGitea>,
    /// At Azure DevOps.
    #[prost(message, optional, tag = 6)]
    #[serde(rename = "azureDevOps", skip_serializing_if = "Option::is_none")]
    pub azure_devops: Option<ScmProviderGeneratorAzureDevOps>,
    /// Only repositories that match one of these.
    #[prost(message, repeated, tag = 7)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<ScmProviderGeneratorFilter>,
    /// Which URL to give: `ssh` or `https`; each host has its own default.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub clone_protocol: String,
    /// How often to look again; 1800 when absent.
    #[prost(int64, optional, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_after_seconds: Option<i64>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 11)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// At AWS CodeCommit.
    #[prost(message, optional, tag = 12)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws_code_commit: Option<ScmProviderGeneratorAwsCodeCommit>,
}

/// An organisation at GitHub.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorGithub {
    /// The organisation.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub organization: String,
    /// The URL of the API, for GitHub Enterprise.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// The repository credentials that hold a GitHub App, instead of a token.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub app_secret_name: String,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
    /// Leave archived repositories out.
    #[prost(bool, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub exclude_archived_repos: bool,
}

/// A group at GitLab.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorGitlab {
    /// The group, by number or path.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub group: String,
    /// Go into subgroups.
    #[prost(bool, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub include_subgroups: bool,
    /// The URL of the API, for an own GitLab.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
    /// Do not check the server's certificate.
    #[prost(bool, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub insecure: bool,
    /// Take projects shared with the group, too; yes when absent.
    #[prost(bool, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_shared_projects: Option<bool>,
    /// Only projects with this topic.
    #[prost(string, required, tag = 8)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Where the certificate authority is.
    #[prost(message, optional, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<ConfigMapKeyRef>,
    /// Take archived projects, too.
    #[prost(bool, required, tag = 10)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub include_archived_repos: bool,
}

/// A workspace at Bitbucket Cloud.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorBitbucket {
    /// The workspace.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub owner: String,
    /// The user to sign in as.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub user: String,
    /// Where that user's app password is.
    #[prost(message, optional, tag = 3)]
    pub app_password_ref: Option<SecretRef>,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
}

/// A project at Bitbucket Server.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorBitbucketServer {
    /// The key of the project.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub project: String,
    /// The URL of the API.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub api: String,
    /// Sign in by user and password.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthBitbucketServer>,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
    /// Sign in by token.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token: Option<BearerTokenBitbucket>,
    /// Do not check the server's certificate.
    #[prost(bool, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub insecure: bool,
    /// Where the certificate authority is.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<ConfigMapKeyRef>,
}

/// An organisation or user at Gitea.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorGitea {
    /// The organisation or user.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub owner: String,
    /// The URL of the API.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
    /// Do not check the server's certificate.
    #[prost(bool, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub insecure: bool,
    /// Leave archived repositories out.
    #[prost(bool, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub exclude_archived_repos: bool,
}

/// A project at Azure DevOps.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorAzureDevOps {
    /// The organisation.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value")]
    pub organization: String,
    /// The URL of the API, for an own server.
    #[prost(string, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// The project.
    #[prost(string, required, tag = 7)]
    #[serde(deserialize_with = "go::value")]
    pub team_project: String,
    /// Where the token is.
    #[prost(message, optional, tag = 8)]
    pub access_token_ref: Option<SecretRef>,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 9)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
}

/// Repositories at AWS CodeCommit.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorAwsCodeCommit {
    /// Only repositories with these tags.
    #[prost(message, repeated, tag = 1)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub tag_filters: Vec<TagFilter>,
    /// The role to take on.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// The region; our own when empty.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// One set per branch, not only for the default branch.
    #[prost(bool, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub all_branches: bool,
}

/// A tag of a repository.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct TagFilter {
    /// Its name.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub key: String,
    /// Its value; any when empty.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// Which repositories count. What is set must all match.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ScmProviderGeneratorFilter {
    /// The name, as a regular expression.
    #[prost(string, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_match: Option<String>,
    /// Paths that must be there.
    #[prost(string, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub paths_exist: Vec<String>,
    /// Paths that must not be there.
    #[prost(string, repeated, tag = 3)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub paths_do_not_exist: Vec<String>,
    /// A label, as a regular expression.
    #[prost(string, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_match: Option<String>,
    /// The branch, as a regular expression.
    #[prost(string, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_match: Option<String>,
}
