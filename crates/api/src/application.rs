//! An Application: what to deploy, where to, and how that is going.
//!
//! [`Application`] is the resource. Its parts are in the files below this one:
//! what is deployed (`source`, `hydrator`), how it is synced (`sync_policy`),
//! what is being done (`operation`) and what was found (`status`).

mod hydrator;
mod operation;
mod source;
mod status;
mod sync_policy;

pub use hydrator::{
    DrySource, HydrateOperation, HydrateTo, SourceHydrator, SourceHydratorStatus,
    SuccessfulHydrateOperation, SyncSource,
};
pub use operation::{
    Operation, OperationInitiator, OperationState, ResourceResult, SyncOperation,
    SyncOperationResource, SyncOperationResult, SyncStrategy, SyncStrategyApply, SyncStrategyHook,
};
pub use source::{
    ApplicationSource, ApplicationSourceDirectory, ApplicationSourceHelm, ApplicationSourceJsonnet,
    ApplicationSourceKustomize, ApplicationSourcePlugin, ApplicationSourcePluginParameter,
    EnvEntry, HelmFileParameter, HelmParameter, JsonnetVar, KustomizeGvk, KustomizePatch,
    KustomizeReplica, KustomizeResId, KustomizeSelector, OptionalArray, OptionalMap,
};
pub use status::{
    AppHealthStatus, ApplicationCondition, ApplicationStatus, ApplicationSummary, ComparedTo,
    HealthStatus, ResourceStatus, RevisionHistory, SyncStatus,
};
pub use sync_policy::{
    Backoff, ManagedNamespaceMetadata, RetryStrategy, SyncPolicy, SyncPolicyAutomated,
};

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::codes::RefreshType;
use crate::go;
use crate::meta::ObjectMeta;
use crate::names;
use crate::resource::resource;

/// Something to deploy: sources, a destination, and the state of their agreement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Application {
    /// `argoproj.io/v1alpha1`, or empty in answers of the API, as in Argo CD.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `Application`, or empty in answers of the API.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Name, namespace, labels, annotations, finalizers.
    #[serde(deserialize_with = "go::value")]
    pub metadata: ObjectMeta,
    /// What the user wants.
    #[serde(deserialize_with = "go::value")]
    pub spec: ApplicationSpec,
    /// What the controller found.
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub status: ApplicationStatus,
    /// What the controller is asked to do now; removed once it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

resource!(Application, values { 1: metadata, 2: spec, 3: status }, pointers { 4: operation });

/// What the user wants deployed, where, and by which rules.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// What to deploy, when it comes from one place.
    #[prost(message, optional, tag = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<ApplicationSource>,
    /// Where to deploy to.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub destination: ApplicationDestination,
    /// The project whose rules apply; `default` when empty.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value")]
    pub project: String,
    /// When and how to sync.
    #[prost(message, optional, tag = 4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_policy: Option<SyncPolicy>,
    /// Differences that do not count.
    #[prost(message, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub ignore_differences: Vec<ResourceIgnoreDifferences>,
    /// Notes and links shown with the application.
    #[prost(message, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub info: Vec<Info>,
    /// How many past syncs to remember, for rollbacks; 10 by default, 0 for none.
    #[prost(int64, optional, tag = 7)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i64>,
    /// What to deploy, when it comes from several places; wins over `source`.
    #[prost(message, repeated, tag = 8)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ApplicationSource>,
    /// Render one branch into another and deploy that; wins over the other two.
    #[prost(message, optional, boxed, tag = 9)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_hydrator: Option<Box<SourceHydrator>>,
}

/// A namespace in a cluster. The cluster goes by URL or by name, not both.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationDestination {
    /// The URL of the cluster's API server.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// The namespace for resources that name none.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name the cluster was registered under.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Which differences of which resources do not count.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceIgnoreDifferences {
    /// API group of the resources; empty is the core group. Globs are allowed.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind of the resources; globs are allowed.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub kind: String,
    /// Only the resource of this name.
    #[prost(string, required, tag = 3)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Only resources in this namespace.
    #[prost(string, required, tag = 4)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Fields to ignore, as JSON pointers.
    #[prost(string, repeated, tag = 5)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub json_pointers: Vec<String>,
    /// Fields to ignore, as jq paths.
    #[prost(string, repeated, tag = 6)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub jq_path_expressions: Vec<String>,
    /// Ignore what these field managers own.
    #[prost(string, repeated, tag = 7)]
    #[serde(deserialize_with = "go::list", skip_serializing_if = "Vec::is_empty")]
    pub managed_fields_managers: Vec<String>,
}

/// A note or link that the user attached.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Info {
    /// What it is about.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub name: String,
    /// The text, or a URL.
    #[prost(string, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub value: String,
}

impl Application {
    /// What is deployed; see [`ApplicationSpec::sources`].
    pub fn sources(&self) -> Cow<'_, [ApplicationSource]> {
        self.spec.sources()
    }

    /// Whether the list form is used, be it with one entry.
    pub fn has_multiple_sources(&self) -> bool {
        self.spec.has_multiple_sources()
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name).map(String::as_str)
    }

    /// The refresh that was asked for, if any. A word we do not know is a normal one.
    pub fn refresh_requested(&self) -> Option<RefreshType> {
        let word = self.annotation(names::ANNOTATION_REFRESH)?;
        Some(RefreshType::parse(word).unwrap_or(RefreshType::Normal))
    }

    /// The finalizer that makes deletion include the resources, if there is one.
    pub fn cascade_finalizer(&self) -> Option<&str> {
        const CASCADE: [&str; 3] = [
            names::FINALIZER_RESOURCES,
            names::FINALIZER_RESOURCES_FOREGROUND,
            names::FINALIZER_RESOURCES_BACKGROUND,
        ];
        let finalizers = self.metadata.finalizers.iter().map(String::as_str);
        finalizers.into_iter().find(|finalizer| CASCADE.contains(finalizer))
    }

    /// Is this the same object in the same state? An API server numbers its states.
    pub fn is_same_state(&self, other: &Self) -> bool {
        let (one, other) = (&self.metadata, &other.metadata);
        !one.resource_version.is_empty()
            && (&one.uid, &one.resource_version) == (&other.uid, &other.resource_version)
    }

    /// The name that tracking puts on resources: with the namespace unless that is
    /// the one of the control plane.
    pub fn instance_name(&self, control_plane_namespace: &str) -> String {
        let ObjectMeta { namespace, name, .. } = &self.metadata;
        if namespace.is_empty() || namespace == control_plane_namespace {
            name.clone()
        } else {
            format!("{namespace}_{name}")
        }
    }
}

impl ApplicationSpec {
    /// What is deployed: the hydrated branch, the list of sources, or the one
    /// source; the first of these that is set.
    pub fn sources(&self) -> Cow<'_, [ApplicationSource]> {
        if let Some(hydrator) = &self.source_hydrator {
            Cow::Owned(vec![hydrator.source_to_sync()])
        } else if self.has_multiple_sources() {
            Cow::Borrowed(&self.sources)
        } else {
            Cow::Borrowed(self.source.as_slice())
        }
    }

    /// Whether the list form is used, be it with one entry.
    pub fn has_multiple_sources(&self) -> bool {
        self.source_hydrator.is_none() && !self.sources.is_empty()
    }

    /// The project; `default` where none is named.
    pub fn project_name(&self) -> &str {
        if self.project.is_empty() { names::DEFAULT_PROJECT } else { &self.project }
    }

    /// How many past syncs to remember.
    pub fn history_limit(&self) -> usize {
        self.revision_history_limit.map_or(names::DEFAULT_REVISION_HISTORY_LIMIT, |limit| {
            usize::try_from(limit).unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(json: &str) -> Application {
        serde_json::from_str(json).unwrap()
    }

    #[track_caller]
    fn check_sources(spec: &str, expect: &[&str]) {
        let spec: ApplicationSpec = serde_json::from_str(spec).unwrap();
        let sources = spec.sources();
        let urls: Vec<&str> = sources.iter().map(|source| source.repo_url.as_str()).collect();
        assert_eq!(urls, expect);
    }

    #[test]
    fn the_list_of_sources_wins_over_the_one_source() {
        check_sources("{}", &[]);
        check_sources(r#"{"source":{"repoURL":"one"}}"#, &["one"]);
        check_sources(r#"{"source":{"repoURL":"one"},"sources":[{"repoURL":"two"}]}"#, &["two"]);
        check_sources(r#"{"source":{"repoURL":"one"},"sources":[]}"#, &["one"]);
    }

    #[test]
    fn the_hydrator_wins_over_both_and_syncs_from_the_dry_repository_by_default() {
        check_sources(
            r#"{"source":{"repoURL":"one"},"sourceHydrator":{
                "drySource":{"repoURL":"dry"},"syncSource":{"targetBranch":"env","path":"web"}}}"#,
            &["dry"],
        );
        check_sources(
            r#"{"sourceHydrator":{"drySource":{"repoURL":"dry"},"syncSource":{"repoURL":"wet"}}}"#,
            &["wet"],
        );
    }

    #[test]
    fn any_refresh_annotation_asks_for_a_refresh() {
        for (word, expect) in [
            ("normal", RefreshType::Normal),
            ("hard", RefreshType::Hard),
            ("true", RefreshType::Normal),
        ] {
            let json = format!(
                r#"{{"metadata":{{"annotations":{{"argocd.argoproj.io/refresh":"{word}"}}}}}}"#
            );
            assert_eq!(application(&json).refresh_requested(), Some(expect), "{word}");
        }
        assert_eq!(application("{}").refresh_requested(), None);
    }

    #[test]
    fn deletion_cascades_when_one_of_three_finalizers_is_there() {
        let with = |finalizer: &str| {
            application(&format!(r#"{{"metadata":{{"finalizers":["x","{finalizer}"]}}}}"#))
        };
        for finalizer in [
            "resources-finalizer.argocd.argoproj.io",
            "resources-finalizer.argocd.argoproj.io/background",
            "resources-finalizer.argocd.argoproj.io/foreground",
        ] {
            assert_eq!(with(finalizer).cascade_finalizer(), Some(finalizer));
        }
        assert_eq!(with("post-delete-finalizer.argocd.argoproj.io").cascade_finalizer(), None);
    }

    #[test]
    fn tracking_names_the_namespace_only_outside_the_control_plane() {
        let app = Application::named("team", "web");
        assert_eq!(app.instance_name("argocd"), "team_web");
        assert_eq!(app.instance_name("team"), "web");
        assert_eq!(app.key().to_string(), "team/web");
    }

    #[test]
    fn what_is_not_written_has_its_default() {
        let spec = ApplicationSpec::default();
        assert_eq!((spec.project_name(), spec.history_limit()), ("default", 10));
        let spec = ApplicationSpec { revision_history_limit: Some(-1), ..spec };
        assert_eq!(spec.history_limit(), 0);
    }
}
