//! Applications: `application.ApplicationService`.

use super::messages;

messages! {
    /// Which applications.
    ApplicationQuery {
        #[prost(string, optional, tag = 1)]
        name: Option<String>,
        #[prost(string, optional, tag = 2)]
        refresh: Option<String>,
        #[prost(string, repeated, tag = 3)]
        projects: Vec<String>,
        #[prost(string, optional, tag = 4)]
        resource_version: Option<String>,
        #[prost(string, optional, tag = 5)]
        selector: Option<String>,
        #[prost(string, optional, tag = 6)]
        repo: Option<String>,
        #[prost(string, optional, tag = 7)]
        app_namespace: Option<String>,
        #[prost(string, repeated, tag = 8)]
        project: Vec<String>,
        /// At most this many, and a token for the next; ours, like all below.
        #[prost(int64, optional, tag = 101)]
        limit: Option<i64>,
        /// The token of the page before.
        #[prost(string, optional, tag = 102)]
        r#continue: Option<String>,
        /// `name`, `project`, `health`, `sync` or `created`; with a minus the other way round.
        #[prost(string, optional, tag = 103)]
        sort: Option<String>,
        /// Part of the name.
        #[prost(string, optional, tag = 104)]
        search: Option<String>,
        /// One of these.
        #[prost(string, repeated, tag = 105)]
        health: Vec<String>,
        /// One of these.
        #[prost(string, repeated, tag = 106)]
        sync: Vec<String>,
        /// One of these clusters, by address or name.
        #[prost(string, repeated, tag = 107)]
        cluster: Vec<String>,
    }
    /// A new application.
    ApplicationCreateRequest {
        #[prost(message, required, tag = 1)]
        application: api::Application,
        #[prost(bool, optional, tag = 2)]
        upsert: Option<bool>,
        #[prost(bool, optional, tag = 3)]
        validate: Option<bool>,
    }
    /// An application as it shall be.
    ApplicationUpdateRequest {
        #[prost(message, required, tag = 1)]
        application: api::Application,
        #[prost(bool, optional, tag = 2)]
        validate: Option<bool>,
        #[prost(string, optional, tag = 3)]
        project: Option<String>,
    }
    /// A specification as it shall be.
    ApplicationUpdateSpecRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(message, required, tag = 2)]
        spec: api::ApplicationSpec,
        #[prost(bool, optional, tag = 3)]
        validate: Option<bool>,
        #[prost(string, optional, tag = 4)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 5)]
        project: Option<String>,
    }
    /// A change of an application.
    ApplicationPatchRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, required, tag = 2)]
        patch: String,
        #[prost(string, required, tag = 3)]
        patch_type: String,
        #[prost(string, optional, tag = 5)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 6)]
        project: Option<String>,
    }
    /// Delete an application.
    ApplicationDeleteRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(bool, optional, tag = 2)]
        cascade: Option<bool>,
        #[prost(string, optional, tag = 3)]
        propagation_policy: Option<String>,
        #[prost(string, optional, tag = 4)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 5)]
        project: Option<String>,
    }
    /// Done.
    ApplicationResponse {
    }
    /// Start a sync.
    ApplicationSyncRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        revision: Option<String>,
        #[prost(bool, optional, tag = 3)]
        dry_run: Option<bool>,
        #[prost(bool, optional, tag = 4)]
        prune: Option<bool>,
        #[prost(message, optional, tag = 5)]
        strategy: Option<api::SyncStrategy>,
        #[prost(message, repeated, tag = 7)]
        resources: Vec<api::SyncOperationResource>,
        #[prost(string, repeated, tag = 8)]
        manifests: Vec<String>,
        #[prost(message, repeated, tag = 9)]
        infos: Vec<api::Info>,
        #[prost(message, optional, tag = 10)]
        retry_strategy: Option<api::RetryStrategy>,
        #[prost(message, optional, tag = 11)]
        sync_options: Option<SyncOptions>,
        #[prost(string, optional, tag = 12)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 13)]
        project: Option<String>,
        #[prost(int64, repeated, packed = "false", tag = 14)]
        source_positions: Vec<i64>,
        #[prost(string, repeated, tag = 15)]
        revisions: Vec<String>,
    }
    /// Options of a sync.
    SyncOptions {
        #[prost(string, repeated, tag = 1)]
        items: Vec<String>,
    }
    /// Go back to an earlier sync.
    ApplicationRollbackRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(int64, required, tag = 2)]
        id: i64,
        #[prost(bool, optional, tag = 3)]
        dry_run: Option<bool>,
        #[prost(bool, optional, tag = 4)]
        prune: Option<bool>,
        #[prost(string, optional, tag = 6)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 7)]
        project: Option<String>,
    }
    /// Stop what is under way.
    OperationTerminateRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        project: Option<String>,
    }
    /// It will stop.
    OperationTerminateResponse {
    }
    /// Which resources of an application.
    ResourcesQuery {
        #[prost(string, required, tag = 1)]
        application_name: String,
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        name: Option<String>,
        #[prost(string, optional, tag = 4)]
        version: Option<String>,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, optional, tag = 6)]
        kind: Option<String>,
        #[prost(string, optional, tag = 7)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 8)]
        project: Option<String>,
    }
    /// What git wants and what is live, side by side.
    ManagedResourcesResponse {
        #[prost(message, repeated, tag = 1)]
        items: Vec<api::ResourceDiff>,
    }
    /// What git wants, please.
    ApplicationManifestQuery {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        revision: Option<String>,
        #[prost(string, optional, tag = 3)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 4)]
        project: Option<String>,
        #[prost(int64, repeated, packed = "false", tag = 5)]
        source_positions: Vec<i64>,
        #[prost(string, repeated, tag = 6)]
        revisions: Vec<String>,
        #[prost(bool, optional, tag = 7)]
        no_cache: Option<bool>,
    }
    /// Which object of an application.
    ApplicationResourceRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, required, tag = 3)]
        resource_name: String,
        #[prost(string, required, tag = 4)]
        version: String,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, required, tag = 6)]
        kind: String,
        #[prost(string, optional, tag = 7)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 8)]
        project: Option<String>,
    }
    /// The object, as JSON.
    ApplicationResourceResponse {
        @always {
            #[prost(string, required, tag = 1)]
            manifest: String,
        }
    }
    /// A change of a live object.
    ApplicationResourcePatchRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, required, tag = 3)]
        resource_name: String,
        #[prost(string, required, tag = 4)]
        version: String,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, required, tag = 6)]
        kind: String,
        #[prost(string, required, tag = 7)]
        patch: String,
        #[prost(string, required, tag = 8)]
        patch_type: String,
        #[prost(string, optional, tag = 9)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 10)]
        project: Option<String>,
    }
    /// Delete a live object.
    ApplicationResourceDeleteRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, required, tag = 3)]
        resource_name: String,
        #[prost(string, required, tag = 4)]
        version: String,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, required, tag = 6)]
        kind: String,
        #[prost(bool, optional, tag = 7)]
        force: Option<bool>,
        #[prost(bool, optional, tag = 8)]
        orphan: Option<bool>,
        #[prost(string, optional, tag = 9)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 10)]
        project: Option<String>,
    }
    /// What happened to an application or one of its objects?
    ApplicationResourceEventsQuery {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        resource_namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        resource_name: Option<String>,
        #[prost(string, optional, tag = 4)] #[serde(rename = "resourceUID")]
        resource_uid: Option<String>,
        #[prost(string, optional, tag = 5)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 6)]
        project: Option<String>,
    }
    /// Whose commit.
    RevisionMetadataQuery {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, required, tag = 2)]
        revision: String,
        #[prost(string, optional, tag = 3)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 4)]
        project: Option<String>,
        #[prost(int32, optional, tag = 5)]
        source_index: Option<i32>,
        #[prost(int32, optional, tag = 6)]
        version_id: Option<i32>,
    }
    /// Whose windows.
    ApplicationSyncWindowsQuery {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 2)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        project: Option<String>,
    }
    /// Windows, and whether a sync may start now.
    ApplicationSyncWindowsResponse {
        @always {
            #[prost(bool, required, tag = 3)]
            can_sync: bool,
        }
        #[prost(message, repeated, tag = 1)]
        active_windows: Vec<ApplicationSyncWindow>,
        #[prost(message, repeated, tag = 2)]
        assigned_windows: Vec<ApplicationSyncWindow>,
    }
    /// A window.
    ApplicationSyncWindow {
        @always {
            #[prost(string, required, tag = 1)]
            kind: String,
            #[prost(string, required, tag = 2)]
            schedule: String,
            #[prost(string, required, tag = 3)]
            duration: String,
            #[prost(bool, required, tag = 4)]
            manual_sync: bool,
        }
    }
    /// Whose links.
    ListAppLinksRequest {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(string, optional, tag = 3)]
        namespace: Option<String>,
        #[prost(string, optional, tag = 4)]
        project: Option<String>,
    }
    /// Links.
    LinksResponse {
        #[prost(message, repeated, tag = 1)]
        items: Vec<LinkInfo>,
    }
    /// A link.
    LinkInfo {
        #[prost(string, required, tag = 1)]
        title: String,
        #[prost(string, required, tag = 2)]
        url: String,
        #[prost(string, optional, tag = 3)]
        description: Option<String>,
        #[prost(string, optional, tag = 4)]
        icon_class: Option<String>,
    }
    /// Whose manifests, rendered from files that follow.
    ApplicationManifestQueryWithFiles {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
            #[prost(string, required, tag = 2)]
            checksum: String,
        }
        #[prost(string, optional, tag = 3)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 4)]
        project: Option<String>,
    }
    /// Which lines of which containers.
    ApplicationPodLogsQuery {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
        }
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        pod_name: Option<String>,
        #[prost(string, optional, tag = 4)]
        container: Option<String>,
        #[prost(int64, optional, tag = 5)]
        since_seconds: Option<i64>,
        #[prost(message, optional, tag = 6)]
        since_time: Option<api::Time>,
        #[prost(int64, optional, tag = 7)]
        tail_lines: Option<i64>,
        #[prost(bool, optional, tag = 8)]
        follow: Option<bool>,
        #[prost(string, optional, tag = 9)]
        until_time: Option<String>,
        #[prost(string, optional, tag = 10)]
        filter: Option<String>,
        #[prost(string, optional, tag = 11)]
        kind: Option<String>,
        #[prost(string, optional, tag = 12)]
        group: Option<String>,
        #[prost(string, optional, tag = 13)]
        resource_name: Option<String>,
        #[prost(bool, optional, tag = 14)]
        previous: Option<bool>,
        #[prost(string, optional, tag = 15)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 16)]
        project: Option<String>,
        #[prost(bool, optional, tag = 17)]
        match_case: Option<bool>,
    }
    /// A line.
    LogEntry {
        @always {
            #[prost(string, required, tag = 1)]
            content: String,
            #[prost(message, required, tag = 2)]
            time_stamp: api::Time,
            #[prost(bool, required, tag = 3)]
            last: bool,
            #[prost(string, required, tag = 4)]
            time_stamp_str: String,
            #[prost(string, required, tag = 5)]
            pod_name: String,
        }
    }
    /// What would the API server change?
    ApplicationServerSideDiffQuery {
        @always {
            #[prost(string, required, tag = 1)]
            app_name: String,
        }
        #[prost(string, optional, tag = 2)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 3)]
        project: Option<String>,
        #[prost(message, repeated, tag = 4)]
        live_resources: Vec<api::ResourceDiff>,
        #[prost(string, repeated, tag = 5)]
        target_manifests: Vec<String>,
    }
    /// What it would change.
    ApplicationServerSideDiffResponse {
        @always {
            #[prost(bool, required, tag = 2)]
            modified: bool,
        }
        #[prost(message, repeated, tag = 1)]
        items: Vec<api::ResourceDiff>,
    }
    /// A parameter of an action.
    ResourceActionParameters {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
            #[prost(string, required, tag = 2)]
            value: String,
        }
    }
    /// Run an action, as clients did before parameters.
    ResourceActionRunRequest {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
            #[prost(string, required, tag = 3)]
            resource_name: String,
            #[prost(string, required, tag = 4)]
            version: String,
            #[prost(string, required, tag = 6)]
            kind: String,
            #[prost(string, required, tag = 7)]
            action: String,
        }
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, optional, tag = 8)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 9)]
        project: Option<String>,
    }
    /// Run an action.
    ResourceActionRunRequestV2 {
        @always {
            #[prost(string, required, tag = 1)]
            name: String,
            #[prost(string, required, tag = 3)]
            resource_name: String,
            #[prost(string, required, tag = 4)]
            version: String,
            #[prost(string, required, tag = 6)]
            kind: String,
            #[prost(string, required, tag = 7)]
            action: String,
        }
        #[prost(string, optional, tag = 2)]
        namespace: Option<String>,
        #[prost(string, optional, tag = 5)]
        group: Option<String>,
        #[prost(string, optional, tag = 8)]
        app_namespace: Option<String>,
        #[prost(string, optional, tag = 9)]
        project: Option<String>,
        #[prost(message, repeated, tag = 10)]
        resource_action_parameters: Vec<ResourceActionParameters>,
    }
    /// Actions of an object.
    ResourceActionsListResponse {
        #[prost(message, repeated, tag = 1)]
        actions: Vec<ResourceAction>,
    }
    /// An action.
    ResourceAction {
        #[prost(string, required, tag = 1)]
        name: String,
        #[prost(message, repeated, tag = 2)]
        params: Vec<ResourceActionParam>,
        #[prost(bool, required, tag = 3)]
        disabled: bool,
        #[prost(string, required, tag = 4)]
        icon_class: String,
        #[prost(string, required, tag = 5)]
        display_name: String,
    }
    /// A parameter an action takes.
    ResourceActionParam {
        #[prost(string, required, tag = 1)]
        name: String,
    }
}

/// One piece of a request to render files: first what is asked, then the files.
#[derive(Clone, PartialEq, prost::Message, serde::Deserialize)]
#[serde(from = "Piece")]
pub struct ApplicationManifestQueryWithFilesWrapper {
    /// Either of the two.
    #[prost(oneof = "ManifestPart", tags = "1, 2")]
    pub part: Option<ManifestPart>,
}

/// What a piece is.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ManifestPart {
    /// What is asked.
    #[prost(message, tag = 1)]
    Query(ApplicationManifestQueryWithFiles),
    /// Some bytes of a compressed archive.
    #[prost(message, tag = 2)]
    Chunk(FileChunk),
}

/// Some bytes of a compressed archive.
#[derive(Clone, PartialEq, prost::Message, serde::Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "FileChunk"]))]
pub struct FileChunk {
    /// The bytes.
    #[prost(bytes = "vec", required, tag = 1)]
    #[serde(with = "super::base64_text")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub chunk: Vec<u8>,
}

/// A piece in JSON: one of the two.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "ApplicationManifestQueryWithFilesWrapper"]))]
pub(crate) struct Piece {
    query: Option<ApplicationManifestQueryWithFiles>,
    chunk: Option<FileChunk>,
}

impl From<Piece> for ApplicationManifestQueryWithFilesWrapper {
    fn from(piece: Piece) -> Self {
        let chunk = || piece.chunk.map(ManifestPart::Chunk);
        Self { part: piece.query.map(ManifestPart::Query).or_else(chunk) }
    }
}

impl schemars::JsonSchema for ApplicationManifestQueryWithFilesWrapper {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ApplicationManifestQueryWithFilesWrapper".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Piece::json_schema(generator)
    }
}
