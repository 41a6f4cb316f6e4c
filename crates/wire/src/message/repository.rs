//! Repositories: `repository.RepositoryService`.

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
}
