//! Open pull requests of a repository.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::applicationset::{
    ApplicationSetTemplate, BasicAuthBitbucketServer, BearerTokenBitbucket,
    BearerTokenBitbucketCloud, ConfigMapKeyRef, SecretRef,
};
use crate::go;

/// One set per open pull request. Exactly one host is set.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGenerator {
    /// At GitHub.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<PullRequestGeneratorGithub>,
    /// At GitLab, which calls them merge requests.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<PullRequestGeneratorGitLab>,
    /// At Gitea.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitea: Option<PullRequestGeneratorGitea>,
    /// At Bitbucket Server.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitbucket_server: Option<PullRequestGeneratorBitbucketServer>,
    /// Only pull requests that match one of these.
    #[prost(message, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<PullRequestGeneratorFilter>,
    /// How often to look again; 1800 when absent.
    #[prost(int64, optional, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue_after_seconds: Option<i64>,
    /// Overrides parts of the template for these Applications.
    #[prost(message, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub template: ApplicationSetTemplate,
    /// At Bitbucket Cloud.
    #[prost(message, optional, tag = 8)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bitbucket: Option<PullRequestGeneratorBitbucket>,
    /// At Azure DevOps.
    #[prost(message, optional, tag = 9)]
    #[serde(rename = "azuredevops", skip_serializing_if = "Option::is_none")]
    pub azure_devops: Option<PullRequestGeneratorAzureDevOps>,
    /// More parameters.
    #[prost(btree_map = "string, string", tag = 10)]
    #[serde(deserialize_with = "go::map", skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// A repository that is not there has no pull requests, rather than being an error.
    #[prost(bool, required, tag = 11)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub continue_on_repo_not_found_error: bool,
}

/// A repository at GitHub.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorGithub {
    /// The organisation or user.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub owner: String,
    /// The repository.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub repo: String,
    /// The URL of the API, for GitHub Enterprise.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// The repository credentials that hold a GitHub App, instead of a token.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub app_secret_name: String,
    /// Only pull requests that have all of these labels.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// A project at GitLab.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorGitLab {
    /// The project, by number or path.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub project: String,
    /// The URL of the API, for an own GitLab.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// Only merge requests that have all of these labels.
    #[prost(string, repeated, tag = 4)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Only merge requests in this state: `opened`, `closed`, `merged` or `locked`; any
    /// when empty.
    #[prost(string, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub pull_request_state: String,
    /// Do not check the server's certificate.
    #[prost(bool, required, tag = 6)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub insecure: bool,
    /// Where the certificate authority is.
    #[prost(message, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_ref: Option<ConfigMapKeyRef>,
}

/// A repository at Gitea.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorGitea {
    /// The organisation or user.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub owner: String,
    /// The repository.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub repo: String,
    /// The URL of the API.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// Do not check the server's certificate.
    #[prost(bool, required, tag = 5)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::is_false")]
    pub insecure: bool,
    /// Only pull requests that have all of these labels.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// A repository at Bitbucket Server.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorBitbucketServer {
    /// The key of the project.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub project: String,
    /// The repository.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub repo: String,
    /// The URL of the API.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub api: String,
    /// Sign in by user and password.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthBitbucketServer>,
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

/// A repository at Bitbucket Cloud.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorBitbucket {
    /// The workspace.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub owner: String,
    /// The repository.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub repo: String,
    /// The URL of the API.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Sign in by user and password.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthBitbucketServer>,
    /// Sign in by token.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_token: Option<BearerTokenBitbucketCloud>,
}

/// A repository at Azure DevOps.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorAzureDevOps {
    /// The organisation.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub organization: String,
    /// The project.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub project: String,
    /// The repository.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub repo: String,
    /// The URL of the API, for an own server.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Where the token is.
    #[prost(message, optional, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ref: Option<SecretRef>,
    /// Only pull requests that have all of these labels.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// Which pull requests count. What is set must all match.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PullRequestGeneratorFilter {
    /// The branch it comes from, as a regular expression.
    #[prost(string, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_match: Option<String>,
    /// The branch it goes to, as a regular expression.
    #[prost(string, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_branch_match: Option<String>,
    /// The title, as a regular expression.
    #[prost(string, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title_match: Option<String>,
}
