//! Rendering one branch into another: the dry source is what people edit, the
//! hydrated branch has the manifests it renders to, and that branch is deployed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::{
    ApplicationSource, ApplicationSourceDirectory, ApplicationSourceHelm,
    ApplicationSourceKustomize, ApplicationSourcePlugin,
};
use crate::go;
use crate::meta::Time;

/// Render a dry source, push the result to a branch and deploy from there.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceHydrator {
    /// What is rendered.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub dry_source: DrySource,
    /// Where the result is deployed from.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub sync_source: SyncSource,
    /// A branch to push to first; somebody else then moves it to the one that is deployed.
    #[prost(message, optional, tag = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hydrate_to: Option<HydrateTo>,
}

/// What is rendered.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DrySource {
    /// The git repository.
    #[prost(string, required, tag = 1)]
    #[serde(rename = "repoURL", deserialize_with = "go::value")]
    pub repo_url: String,
    /// The branch, tag or commit.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub target_revision: String,
    /// The folder within the repository.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub path: String,
    /// How to render a chart.
    #[prost(message, optional, boxed, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<Box<ApplicationSourceHelm>>,
    /// How to render a kustomization.
    #[prost(message, optional, boxed, tag = 5)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kustomize: Option<Box<ApplicationSourceKustomize>>,
    /// How to read a folder of plain manifests.
    #[prost(message, optional, boxed, tag = 6)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<Box<ApplicationSourceDirectory>>,
    /// Which plugin renders it, with what.
    #[prost(message, optional, boxed, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Box<ApplicationSourcePlugin>>,
}

/// Where hydrated manifests are deployed from.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncSource {
    /// The branch; also the one pushed to unless a staging branch is named.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub target_branch: String,
    /// The folder in the branch. Never its root, which other applications share.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    #[schemars(length(min = 1), regex(pattern = r"^.{2,}|[^./]$"))]
    pub path: String,
    /// The git repository; that of the dry source when empty.
    #[prost(string, required, tag = 3)]
    #[serde(
        rename = "repoURL",
        deserialize_with = "go::value",
        skip_serializing_if = "String::is_empty"
    )]
    pub repo_url: String,
}

/// A staging branch for hydrated manifests.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HydrateTo {
    /// The branch pushed to.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub target_branch: String,
}

/// How hydration is going.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SourceHydratorStatus {
    /// The last hydration that succeeded.
    #[prost(message, optional, boxed, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_operation: Option<Box<SuccessfulHydrateOperation>>,
    /// The hydration under way, or the last one.
    #[prost(message, optional, boxed, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_operation: Option<Box<HydrateOperation>>,
    /// The dry commit that was last looked at for changes.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub last_compared_dry_revision: String,
}

/// One hydration.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HydrateOperation {
    /// When it started.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub started_at: Time,
    /// When it ended, if it did.
    #[prost(message, optional, tag = 2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// How far it is; see `HydrateOperationPhase`.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    #[schemars(extend("enum" = ["Hydrating", "Failed", "Hydrated"]))]
    pub phase: String,
    /// What went wrong, or how far it is.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value")]
    pub message: String,
    /// The commit that is rendered.
    #[prost(string, required, tag = 5)]
    #[serde(
        rename = "drySHA",
        deserialize_with = "go::value",
        skip_serializing_if = "String::is_empty"
    )]
    pub dry_sha: String,
    /// The commit that was pushed.
    #[prost(string, required, tag = 6)]
    #[serde(
        rename = "hydratedSHA",
        deserialize_with = "go::value",
        skip_serializing_if = "String::is_empty"
    )]
    pub hydrated_sha: String,
    /// The rules it follows.
    #[prost(message, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source_hydrator: SourceHydrator,
}

/// A hydration that succeeded.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SuccessfulHydrateOperation {
    /// The commit that was rendered.
    #[prost(string, required, tag = 5)]
    #[serde(
        rename = "drySHA",
        deserialize_with = "go::value",
        skip_serializing_if = "String::is_empty"
    )]
    pub dry_sha: String,
    /// The commit that was pushed.
    #[prost(string, required, tag = 6)]
    #[serde(
        rename = "hydratedSHA",
        deserialize_with = "go::value",
        skip_serializing_if = "String::is_empty"
    )]
    pub hydrated_sha: String,
    /// The rules it followed.
    #[prost(message, required, tag = 7)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub source_hydrator: SourceHydrator,
}

impl SourceHydrator {
    /// Where hydrated manifests are deployed from.
    pub fn source_to_sync(&self) -> ApplicationSource {
        let SyncSource { repo_url, path, target_branch } = &self.sync_source;
        ApplicationSource {
            repo_url: if repo_url.is_empty() { &self.dry_source.repo_url } else { repo_url }
                .clone(),
            path: path.clone(),
            target_revision: target_branch.clone(),
            ..ApplicationSource::default()
        }
    }

    /// What is rendered, as a source like any other.
    pub fn source_to_render(&self) -> ApplicationSource {
        let dry = self.dry_source.clone();
        ApplicationSource {
            repo_url: dry.repo_url,
            path: dry.path,
            target_revision: dry.target_revision,
            helm: dry.helm,
            kustomize: dry.kustomize,
            directory: dry.directory,
            plugin: dry.plugin,
            ..ApplicationSource::default()
        }
    }

    /// The branch that hydrated manifests are pushed to.
    pub fn hydrate_to_branch(&self) -> &str {
        match &self.hydrate_to {
            Some(staging) => &staging.target_branch,
            None => &self.sync_source.target_branch,
        }
    }
}
