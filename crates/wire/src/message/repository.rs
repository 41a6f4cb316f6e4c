//! Repositories: `repository.RepositoryService`.

use std::collections::BTreeMap;

use super::cluster::ConnectionState;
use super::messages;

messages! {
    /// Which repository.
    RepoQuery {
        #[prost(string, tag = 1)]
        repo: String,
        #[prost(bool, tag = 2)]
        force_refresh: bool,
        #[prost(string, tag = 3)]
        app_project: String,
    }
    /// Can this repository be read with these credentials?
    RepoAccessQuery {
        #[prost(string, tag = 1)]
        repo: String,
        #[prost(string, tag = 2)]
        username: String,
        #[prost(string, tag = 3)]
        password: String,
        #[prost(string, tag = 4)]
        ssh_private_key: String,
        #[prost(bool, tag = 5)]
        insecure: bool,
        #[prost(string, tag = 6)]
        tls_client_cert_data: String,
        #[prost(string, tag = 7)]
        tls_client_cert_key: String,
        #[prost(string, tag = 9)]
        type_: String,
        #[prost(string, tag = 10)]
        name: String,
        #[prost(bool, tag = 11)]
        enable_oci: bool,
        #[prost(string, tag = 12)]
        github_app_private_key: String,
        #[prost(int64, tag = 13)] #[serde(rename = "githubAppID")]
        github_app_id: i64,
        #[prost(int64, tag = 14)] #[serde(rename = "githubAppInstallationID")]
        github_app_installation_id: i64,
        #[prost(string, tag = 15)]
        github_app_enterprise_base_url: String,
        #[prost(string, tag = 16)]
        proxy: String,
        #[prost(string, tag = 17)]
        project: String,
        #[prost(string, tag = 18)]
        gcp_service_account_key: String,
        #[prost(bool, tag = 19)]
        force_http_basic_auth: bool,
        #[prost(bool, tag = 20)]
        use_azure_workload_identity: bool,
        #[prost(string, tag = 21)]
        bearer_token: String,
        #[prost(bool, tag = 22)]
        insecure_oci_force_http: bool,
        #[prost(string, tag = 23)]
        azure_service_principal_client_id: String,
        #[prost(string, tag = 24)]
        azure_service_principal_client_secret: String,
        #[prost(string, tag = 25)]
        azure_service_principal_tenant_id: String,
        #[prost(string, tag = 26)]
        azure_active_directory_endpoint: String,
    }
    /// A new repository.
    RepoCreateRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
        #[prost(bool, tag = 2)]
        upsert: bool,
        #[prost(bool, tag = 3)]
        creds_only: bool,
    }
    /// A repository as it shall be.
    RepoUpdateRequest {
        #[prost(message, optional, tag = 1)]
        repo: Option<Repository>,
    }
    /// Done.
    RepoResponse {
    }
    /// Rendered manifests.
    ManifestResponse {
        #[prost(string, repeated, tag = 1)]
        manifests: Vec<String>,
        #[prost(string, tag = 2)]
        namespace: String,
        #[prost(string, tag = 3)]
        server: String,
        #[prost(string, tag = 4)]
        revision: String,
        #[prost(string, tag = 6)]
        source_type: String,
        #[prost(string, tag = 7)]
        verify_result: String,
        #[prost(string, repeated, tag = 8)]
        commands: Vec<String>,
        #[prost(message, optional, tag = 9)]
        source_integrity_result: Option<api::SourceIntegrityCheckResult>,
    }
    /// Repositories.
    RepositoryList {
        @always {
            #[prost(message, repeated, tag = 2)]
            items: Vec<Repository>,
        }
        #[prost(message, required, tag = 1)]
        metadata: api::ListMeta,
    }
    /// Where manifests come from, and how to get in.
    Repository {
        @always {
            #[prost(string, required, tag = 1)]
            repo: String,
        }
        #[prost(string, required, tag = 2)]
        username: String,
        #[prost(string, required, tag = 3)]
        password: String,
        #[prost(string, required, tag = 4)]
        ssh_private_key: String,
        #[prost(message, required, tag = 5)]
        connection_state: ConnectionState,
        #[prost(bool, required, tag = 6)]
        insecure_ignore_host_key: bool,
        #[prost(bool, required, tag = 7)]
        insecure: bool,
        #[prost(bool, required, tag = 8)]
        enable_lfs: bool,
        #[prost(string, required, tag = 9)]
        tls_client_cert_data: String,
        #[prost(string, required, tag = 10)]
        tls_client_cert_key: String,
        #[prost(string, required, tag = 11)]
        type_: String,
        #[prost(string, required, tag = 12)]
        name: String,
        #[prost(bool, required, tag = 13)]
        inherited_creds: bool,
        #[prost(bool, required, tag = 14)] #[serde(rename = "enableOCI")]
        enable_oci: bool,
        #[prost(string, required, tag = 15)]
        github_app_private_key: String,
        #[prost(int64, required, tag = 16)] #[serde(rename = "githubAppID")]
        github_app_id: i64,
        #[prost(int64, required, tag = 17)] #[serde(rename = "githubAppInstallationID")]
        github_app_installation_id: i64,
        #[prost(string, required, tag = 18)]
        github_app_enterprise_base_url: String,
        #[prost(string, required, tag = 19)]
        proxy: String,
        #[prost(string, required, tag = 20)]
        project: String,
        #[prost(string, required, tag = 21)]
        gcp_service_account_key: String,
        #[prost(bool, required, tag = 22)]
        force_http_basic_auth: bool,
        #[prost(string, required, tag = 23)]
        no_proxy: String,
        #[prost(bool, required, tag = 24)]
        use_azure_workload_identity: bool,
        #[prost(string, required, tag = 25)]
        bearer_token: String,
        #[prost(bool, required, tag = 26)] #[serde(rename = "insecureOCIForceHttp")]
        insecure_oci_force_http: bool,
        #[prost(int64, required, tag = 27)]
        depth: i64,
        #[prost(bool, required, tag = 28)]
        webhook_manifest_cache_warm_disabled: bool,
        #[prost(string, required, tag = 29)]
        azure_service_principal_client_id: String,
        #[prost(string, required, tag = 30)]
        azure_service_principal_client_secret: String,
        #[prost(string, required, tag = 31)]
        azure_service_principal_tenant_id: String,
        #[prost(string, required, tag = 32)]
        azure_active_directory_endpoint: String,
    }
    /// Branches and tags.
    Refs {
        #[prost(string, repeated, tag = 1)]
        branches: Vec<String>,
        #[prost(string, repeated, tag = 2)]
        tags: Vec<String>,
    }
    /// Which places of a repository can be applications?
    RepoAppsQuery {
        #[prost(string, tag = 1)]
        repo: String,
        #[prost(string, tag = 2)]
        revision: String,
        #[prost(string, tag = 3)]
        app_name: String,
        #[prost(string, tag = 4)]
        app_project: String,
    }
    /// The places.
    RepoAppsResponse {
        #[prost(message, repeated, tag = 1)]
        items: Vec<AppInfo>,
    }
    /// A place in a repository that can be an application.
    AppInfo {
        #[prost(string, tag = 1)]
        type_: String,
        #[prost(string, tag = 2)]
        path: String,
    }
    /// What is at this place?
    RepoAppDetailsQuery {
        #[prost(message, optional, tag = 1)]
        source: Option<api::ApplicationSource>,
        #[prost(string, tag = 2)]
        app_name: String,
        #[prost(string, tag = 3)]
        app_project: String,
        #[prost(int32, tag = 4)]
        source_index: i32,
        #[prost(int32, tag = 5)]
        version_id: i32,
    }
    /// What is there.
    RepoAppDetailsResponse {
        #[prost(string, tag = 1)]
        type_: String,
        #[prost(message, optional, tag = 3)]
        helm: Option<HelmAppSpec>,
        #[prost(message, optional, tag = 4)]
        kustomize: Option<KustomizeAppSpec>,
        #[prost(message, optional, tag = 5)]
        directory: Option<DirectoryAppSpec>,
        #[prost(message, optional, tag = 6)]
        plugin: Option<PluginAppSpec>,
    }
    /// What a chart takes.
    HelmAppSpec {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, repeated, tag = 3)]
        value_files: Vec<String>,
        #[prost(message, repeated, tag = 4)]
        parameters: Vec<api::HelmParameter>,
        #[prost(string, tag = 5)]
        values: String,
        #[prost(message, repeated, tag = 6)]
        file_parameters: Vec<api::HelmFileParameter>,
    }
    /// What a kustomization takes.
    KustomizeAppSpec {
        #[prost(string, repeated, tag = 3)]
        images: Vec<String>,
    }
    /// A plain directory: nothing to say.
    DirectoryAppSpec {
    }
    /// What a plugin takes.
    PluginAppSpec {
        #[prost(message, repeated, tag = 1)]
        parameters_announcement: Vec<ParameterAnnouncement>,
    }
    /// A parameter that a plugin announces.
    ParameterAnnouncement {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        title: String,
        #[prost(string, tag = 3)]
        tooltip: String,
        #[prost(bool, tag = 4)]
        required: bool,
        #[prost(string, tag = 5)]
        item_type: String,
        #[prost(string, tag = 6)]
        collection_type: String,
        #[prost(string, tag = 7)]
        string: String,
        #[prost(string, repeated, tag = 8)]
        array: Vec<String>,
        #[prost(btree_map = "string, string", tag = 9)]
        map: BTreeMap<String, String>,
    }
    /// Charts.
    HelmChartsResponse {
        #[prost(message, repeated, tag = 1)]
        items: Vec<HelmChart>,
    }
    /// A chart of a repository.
    HelmChart {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, repeated, tag = 2)]
        versions: Vec<String>,
    }
}
