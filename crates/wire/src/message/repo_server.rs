//! The repo server's own service: `repository.RepoServerService`.
//!
//! Controllers and API servers call it, users never do, so these messages have
//! no form in JSON. [`path`] has the names of the methods.

use std::collections::BTreeMap;

use super::repocreds::RepoCreds;
use super::repository::Repository;
use super::settings::KustomizeOptions;

/// The methods' gRPC paths.
pub mod path {
    macro_rules! paths {
        ($($name:ident = $method:literal;)*) => {$(
            #[doc = concat!("`", $method, "`")]
            pub const $name: &str = concat!("/repository.RepoServerService/", $method);
        )*};
    }

    paths! {
        GENERATE_MANIFEST = "GenerateManifest";
        GENERATE_MANIFEST_WITH_FILES = "GenerateManifestWithFiles";
        TEST_REPOSITORY = "TestRepository";
        RESOLVE_REVISION = "ResolveRevision";
        LIST_REFS = "ListRefs";
        LIST_OCI_TAGS = "ListOCITags";
        LIST_APPS = "ListApps";
        LIST_PLUGINS = "ListPlugins";
        GET_APP_DETAILS = "GetAppDetails";
        GET_REVISION_METADATA = "GetRevisionMetadata";
        GET_OCI_METADATA = "GetOCIMetadata";
        GET_REVISION_CHART_DETAILS = "GetRevisionChartDetails";
        GET_HELM_CHARTS = "GetHelmCharts";
        GET_GIT_FILES = "GetGitFiles";
        GET_GIT_DIRECTORIES = "GetGitDirectories";
        UPDATE_REVISION_FOR_PATHS = "UpdateRevisionForPaths";
    }
}

/// Messages without a form in JSON.
macro_rules! internal {
    ($($(#[$doc:meta])* $message:ident { $(#[$attribute:meta] $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct $message {
            $(
                #[doc = concat!("`", stringify!($field), "`")]
                #[$attribute]
                pub $field: $type,
            )*
        }
    )*};
}

internal! {
    /// A source that others refer to.
    RefTarget {
        #[prost(message, required, tag = 1)]
        repo: Repository,
        #[prost(string, required, tag = 2)]
        target_revision: String,
        #[prost(string, required, tag = 3)]
        chart: String,
    }
    /// How charts are rendered.
    HelmOptions {
        #[prost(string, repeated, tag = 1)]
        values_file_schemes: Vec<String>,
    }
    /// What to render, for whom, and with whose credentials.
    ManifestRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(string, tag = 2)]
        revision: String,
        #[prost(bool, tag = 3)]
        no_cache: bool,
        #[prost(string, tag = 4)]
        app_label_key: String,
        #[prost(string, tag = 5)]
        app_name: String,
        #[prost(string, tag = 8)]
        namespace: String,
        #[prost(message, optional, tag = 10)]
        application_source: Option<api::ApplicationSource>,
        #[prost(message, repeated, tag = 11)]
        repos: Vec<Repository>,
        #[prost(message, optional, tag = 13)]
        kustomize_options: Option<KustomizeOptions>,
        #[prost(string, tag = 14)]
        kube_version: String,
        #[prost(string, repeated, tag = 15)]
        api_versions: Vec<String>,
        #[prost(bool, tag = 16)]
        verify_signature: bool,
        #[prost(message, repeated, tag = 17)]
        helm_repo_creds: Vec<RepoCreds>,
        #[prost(bool, tag = 18)]
        no_revision_cache: bool,
        #[prost(string, tag = 19)]
        tracking_method: String,
        #[prost(btree_map = "string, bool", tag = 20)]
        enabled_source_types: BTreeMap<String, bool>,
        #[prost(message, optional, tag = 21)]
        helm_options: Option<HelmOptions>,
        #[prost(bool, tag = 22)]
        has_multiple_sources: bool,
        #[prost(btree_map = "string, message", tag = 23)]
        ref_sources: BTreeMap<String, RefTarget>,
        #[prost(string, repeated, tag = 24)]
        project_source_repos: Vec<String>,
        #[prost(string, tag = 25)]
        project_name: String,
        #[prost(string, tag = 26)]
        annotation_manifest_generate_paths: String,
        #[prost(string, tag = 27)]
        installation_id: String,
        #[prost(message, optional, tag = 28)]
        source_integrity: Option<api::SourceIntegrity>,
    }
    /// Can this repository be read?
    TestRepositoryRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
    }
    /// It can, or there is an error instead.
    TestRepositoryResponse {
        #[prost(bool, tag = 1)]
        verified_repository: bool,
    }
    /// Which commit, version or digest does a revision stand for?
    ResolveRevisionRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(message, optional, tag = 2)]
        app: Option<api::Application>,
        #[prost(string, tag = 3)]
        ambiguous_revision: String,
        #[prost(int64, tag = 4)]
        source_index: i64,
        #[prost(bool, tag = 5)]
        no_revision_cache: bool,
    }
    /// What it stands for.
    ResolveRevisionResponse {
        #[prost(string, tag = 1)]
        revision: String,
        #[prost(string, tag = 2)]
        ambiguous_revision: String,
    }
    /// What branches and tags are there?
    ListRefsRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
    }
    /// Which directories hold charts and kustomizations?
    ListAppsRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(string, tag = 2)]
        revision: String,
        #[prost(btree_map = "string, bool", tag = 3)]
        enabled_source_types: BTreeMap<String, bool>,
    }
    /// The kind of each directory.
    AppList {
        #[prost(btree_map = "string, string", tag = 1)]
        apps: BTreeMap<String, String>,
    }
    /// The plugins beside this server.
    PluginList {
        #[prost(message, repeated, tag = 1)]
        items: Vec<PluginInfo>,
    }
    /// A plugin.
    PluginInfo {
        #[prost(string, tag = 1)]
        name: String,
    }
    /// What is a source, and what can be set?
    RepoServerAppDetailsQuery {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(message, optional, tag = 2)]
        source: Option<api::ApplicationSource>,
        #[prost(message, repeated, tag = 3)]
        repos: Vec<Repository>,
        #[prost(message, optional, tag = 4)]
        kustomize_options: Option<KustomizeOptions>,
        #[prost(string, tag = 5)]
        app_name: String,
        #[prost(bool, tag = 6)]
        no_cache: bool,
        #[prost(bool, tag = 7)]
        no_revision_cache: bool,
        #[prost(string, tag = 8)]
        tracking_method: String,
        #[prost(btree_map = "string, bool", tag = 9)]
        enabled_source_types: BTreeMap<String, bool>,
        #[prost(message, optional, tag = 10)]
        helm_options: Option<HelmOptions>,
        #[prost(btree_map = "string, message", tag = 11)]
        ref_sources: BTreeMap<String, RefTarget>,
    }
    /// Who wrote a commit, when and why?
    RepoServerRevisionMetadataRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(string, tag = 2)]
        revision: String,
        #[prost(bool, tag = 3)]
        check_signature: bool,
        #[prost(message, optional, tag = 4)]
        source_integrity: Option<api::SourceIntegrity>,
    }
    /// What does a chart or an artifact say of itself?
    RepoServerRevisionChartDetailsRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(string, tag = 2)]
        name: String,
        #[prost(string, tag = 3)]
        revision: String,
    }
    /// Which charts are there?
    HelmChartsRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
    }
    /// The files of a repository that fit a pattern.
    GitFilesRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(bool, tag = 2)]
        submodule_enabled: bool,
        #[prost(string, tag = 3)]
        revision: String,
        #[prost(string, tag = 4)]
        path: String,
        #[prost(bool, tag = 5)]
        new_git_file_globbing_enabled: bool,
        #[prost(bool, tag = 6)]
        no_revision_cache: bool,
        #[prost(bool, tag = 7)]
        verify_commit: bool,
        #[prost(message, optional, tag = 8)]
        source_integrity: Option<api::SourceIntegrity>,
    }
    /// Their contents by path.
    GitFilesResponse {
        #[prost(btree_map = "string, bytes", tag = 1)]
        map: BTreeMap<String, Vec<u8>>,
    }
    /// The directories of a repository.
    GitDirectoriesRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(bool, tag = 2)]
        submodule_enabled: bool,
        #[prost(string, tag = 3)]
        revision: String,
        #[prost(bool, tag = 4)]
        no_revision_cache: bool,
        #[prost(bool, tag = 5)]
        verify_commit: bool,
        #[prost(message, optional, tag = 6)]
        source_integrity: Option<api::SourceIntegrity>,
    }
    /// Their paths.
    GitDirectoriesResponse {
        #[prost(string, repeated, tag = 1)]
        paths: Vec<String>,
    }
    /// Did anything that matters change between two revisions?
    UpdateRevisionForPathsRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(string, tag = 2)]
        app_label_key: String,
        #[prost(string, tag = 3)]
        app_name: String,
        #[prost(string, tag = 4)]
        namespace: String,
        #[prost(message, optional, tag = 5)]
        application_source: Option<api::ApplicationSource>,
        #[prost(string, tag = 6)]
        tracking_method: String,
        #[prost(btree_map = "string, message", tag = 7)]
        ref_sources: BTreeMap<String, RefTarget>,
        #[prost(string, tag = 8)]
        kube_version: String,
        #[prost(string, repeated, tag = 9)]
        api_versions: Vec<String>,
        #[prost(bool, tag = 10)]
        has_multiple_sources: bool,
        #[prost(string, tag = 11)]
        synced_revision: String,
        #[prost(string, tag = 12)]
        revision: String,
        #[prost(string, repeated, tag = 13)]
        paths: Vec<String>,
        #[prost(bool, tag = 14)]
        no_revision_cache: bool,
        #[prost(string, tag = 15)]
        installation_id: String,
        #[prost(btree_map = "string, message", tag = 16)]
        synced_ref_sources: BTreeMap<String, RefTarget>,
        #[prost(message, optional, tag = 17)]
        source_integrity: Option<api::SourceIntegrity>,
    }
    /// Whether it did; if not, cached manifests count for the new revision.
    UpdateRevisionForPathsResponse {
        #[prost(bool, tag = 1)]
        changes: bool,
        #[prost(string, tag = 2)]
        revision: String,
    }
    /// What the files of a request to render files are.
    ManifestFileMetadata {
        #[prost(string, tag = 1)]
        checksum: String,
        #[prost(int64, tag = 2)]
        size: i64,
    }
    /// Some bytes of a compressed archive.
    ManifestFileChunk {
        #[prost(bytes = "vec", tag = 1)]
        chunk: Vec<u8>,
    }
    /// Nothing to say.
    Empty {
    }
    /// Is a service there? (`grpc.health.v1`)
    HealthCheckRequest {
        #[prost(string, tag = 1)]
        service: String,
    }
    /// 1 is yes, 2 is no.
    HealthCheckResponse {
        #[prost(int32, tag = 1)]
        status: i32,
    }
}

/// One piece of a request to render files: what is asked, then what the files
/// are, then the files.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ManifestRequestWithFiles {
    /// One of the three.
    #[prost(oneof = "Part", tags = "1, 2, 3")]
    pub part: Option<Part>,
}

/// What a piece is.
#[derive(Clone, PartialEq, prost::Oneof)]
#[expect(clippy::large_enum_variant, reason = "the large one comes once, the small ones are many")]
pub enum Part {
    /// What is asked.
    #[prost(message, tag = 1)]
    Request(ManifestRequest),
    /// What the archive is.
    #[prost(message, tag = 2)]
    Metadata(ManifestFileMetadata),
    /// Some bytes of it.
    #[prost(message, tag = 3)]
    Chunk(ManifestFileChunk),
}
