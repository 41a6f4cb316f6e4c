//! Lists of resources and the events of a watch. `apiVersion` and `kind` of a list
//! are read past and not printed, as in the answers of Argo CD's API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::go;
use crate::meta::ListMeta;
use crate::{AppProject, Application, ApplicationSet};

/// Applications.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationList {
    /// Version and page.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub metadata: ListMeta,
    /// The Applications.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list")]
    pub items: Vec<Application>,
}

/// Projects.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct AppProjectList {
    /// Version and page.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub metadata: ListMeta,
    /// The projects.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list")]
    pub items: Vec<AppProject>,
}

/// ApplicationSets.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetList {
    /// Version and page.
    #[prost(message, required, tag = 1)]
    #[serde(deserialize_with = "go::value", skip_serializing_if = "go::never")]
    pub metadata: ListMeta,
    /// The ApplicationSets.
    #[prost(message, repeated, tag = 2)]
    #[serde(deserialize_with = "go::list")]
    pub items: Vec<ApplicationSet>,
}

/// An Application changed.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationWatchEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub type_: String,
    /// The Application after the change.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub application: Application,
}

/// An ApplicationSet changed.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApplicationSetWatchEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    #[prost(string, required, tag = 1)]
    #[serde(deserialize_with = "go::value")]
    pub type_: String,
    /// The ApplicationSet after the change.
    #[prost(message, required, tag = 2)]
    #[serde(deserialize_with = "go::value")]
    pub application_set: ApplicationSet,
}
