//! ApplicationSets: `applicationset.ApplicationSetService`.

use super::messages;

messages! {
    /// Which ApplicationSet.
    ApplicationSetGetQuery {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        appset_namespace: String,
    }
    /// Which ApplicationSets.
    ApplicationSetListQuery {
        #[prost(string, repeated, tag = 1)]
        projects: Vec<String>,
        #[prost(string, tag = 2)]
        selector: String,
        #[prost(string, tag = 3)]
        appset_namespace: String,
    }
    /// A new ApplicationSet.
    ApplicationSetCreateRequest {
        #[prost(message, optional, tag = 1)]
        applicationset: Option<api::ApplicationSet>,
        #[prost(bool, tag = 2)]
        upsert: bool,
        #[prost(bool, tag = 3)]
        dry_run: bool,
    }
    /// Delete an ApplicationSet.
    ApplicationSetDeleteRequest {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        appset_namespace: String,
    }
    /// Done.
    ApplicationSetResponse {
        #[prost(string, tag = 1)]
        project: String,
        #[prost(message, optional, tag = 2)]
        applicationset: Option<api::ApplicationSet>,
    }
    /// What would this ApplicationSet generate?
    ApplicationSetGenerateRequest {
        #[prost(message, optional, tag = 1)]
        application_set: Option<api::ApplicationSet>,
    }
    /// What it would generate.
    ApplicationSetGenerateResponse {
        #[prost(message, repeated, tag = 1)]
        applications: Vec<api::Application>,
    }
    /// Whose tree.
    ApplicationSetTreeQuery {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        appset_namespace: String,
    }
    /// Which ApplicationSets to follow.
    ApplicationSetWatchQuery {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, repeated, tag = 2)]
        projects: Vec<String>,
        #[prost(string, tag = 3)]
        selector: String,
        #[prost(string, tag = 4)]
        app_set_namespace: String,
        #[prost(string, tag = 5)]
        resource_version: String,
    }
}
