//! Projects: `project.ProjectService`.

use super::cluster::Cluster;
use super::messages;
use super::repository::Repository;

messages! {
    /// Which project.
    ProjectQuery {
        #[prost(string, tag = 1)]
        name: String,
    }
    /// A new project.
    ProjectCreateRequest {
        #[prost(message, optional, tag = 1)]
        project: Option<api::AppProject>,
        #[prost(bool, tag = 2)]
        upsert: bool,
    }
    /// A project as it shall be.
    ProjectUpdateRequest {
        #[prost(message, optional, tag = 1)]
        project: Option<api::AppProject>,
    }
    /// A project with what belongs to it.
    DetailedProjectsResponse {
        #[prost(message, repeated, tag = 1)]
        global_projects: Vec<api::AppProject>,
        #[prost(message, optional, tag = 2)]
        project: Option<api::AppProject>,
        #[prost(message, repeated, tag = 3)]
        repositories: Vec<Repository>,
        #[prost(message, repeated, tag = 4)]
        clusters: Vec<Cluster>,
    }
    /// The projects that one inherits from.
    GlobalProjectsResponse {
        #[prost(message, repeated, tag = 1)]
        items: Vec<api::AppProject>,
    }
    /// Whose windows.
    SyncWindowsQuery {
        #[prost(string, tag = 1)]
        name: String,
    }
    /// The windows that are open now.
    SyncWindowsResponse {
        #[prost(message, repeated, tag = 1)]
        windows: Vec<api::SyncWindow>,
    }
    /// Done.
    EmptyResponse {
    }
    /// A token for a role, please.
    ProjectTokenCreateRequest {
        #[prost(string, tag = 1)]
        project: String,
        #[prost(string, tag = 2)]
        description: String,
        #[prost(string, tag = 3)]
        role: String,
        #[prost(int64, tag = 4)]
        expires_in: i64,
        #[prost(string, tag = 5)]
        id: String,
    }
    /// Forget a token of a role.
    ProjectTokenDeleteRequest {
        #[prost(string, tag = 1)]
        project: String,
        #[prost(string, tag = 2)]
        role: String,
        #[prost(int64, tag = 3)]
        iat: i64,
        #[prost(string, tag = 4)]
        id: String,
    }
    /// The token; nobody will see it again.
    ProjectTokenResponse {
        #[prost(string, tag = 1)]
        token: String,
    }
    /// Whose links.
    ListProjectLinksRequest {
        #[prost(string, tag = 1)]
        name: String,
    }
}
