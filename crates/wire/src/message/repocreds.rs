//! Credentials for many repositories: `repocreds.RepoCredsService`.

use super::messages;

messages! {
    /// Which credentials.
    RepoCredsQuery {
        #[prost(string, tag = 1)]
        url: String,
    }
    /// New credentials.
    RepoCredsCreateRequest {
        #[prost(message, optional, tag = 1)]
        creds: Option<RepoCreds>,
        #[prost(bool, tag = 2)]
        upsert: bool,
    }
    /// Credentials as they shall be.
    RepoCredsUpdateRequest {
        #[prost(message, optional, tag = 1)]
        creds: Option<RepoCreds>,
    }
    /// Delete credentials.
    RepoCredsDeleteRequest {
        #[prost(string, tag = 1)]
        url: String,
    }
    /// Done.
    RepoCredsResponse {
    }
    /// Credentials.
    RepoCredsList {
        @always {
            #[prost(message, repeated, tag = 2)]
            items: Vec<RepoCreds>,
        }
        #[prost(message, required, tag = 1)]
        metadata: api::ListMeta,
    }
    /// Credentials for all repositories below an address.
    RepoCreds {
        @always {
            #[prost(string, required, tag = 1)]
            url: String,
        }
        #[prost(string, required, tag = 2)]
        username: String,
        #[prost(string, required, tag = 3)]
        password: String,
        #[prost(string, required, tag = 4)]
        ssh_private_key: String,
        #[prost(string, required, tag = 5)]
        tls_client_cert_data: String,
        #[prost(string, required, tag = 6)]
        tls_client_cert_key: String,
        #[prost(string, required, tag = 7)]
        github_app_private_key: String,
        #[prost(int64, required, tag = 8)] #[serde(rename = "githubAppID")]
        github_app_id: i64,
        #[prost(int64, required, tag = 9)] #[serde(rename = "githubAppInstallationID")]
        github_app_installation_id: i64,
        #[prost(string, required, tag = 10)]
        github_app_enterprise_base_url: String,
        #[prost(bool, required, tag = 11)] #[serde(rename = "enableOCI")]
        enable_oci: bool,
        #[prost(string, required, tag = 12)]
        type_: String,
        #[prost(string, required, tag = 13)]
        gcp_service_account_key: String,
        #[prost(string, required, tag = 19)]
        proxy: String,
        #[prost(bool, required, tag = 20)]
        force_http_basic_auth: bool,
        #[prost(string, required, tag = 23)]
        no_proxy: String,
        #[prost(bool, required, tag = 24)]
        use_azure_workload_identity: bool,
        #[prost(string, required, tag = 25)]
        bearer_token: String,
        #[prost(bool, required, tag = 26)] #[serde(rename = "insecureOCIForceHttp")]
        insecure_oci_force_http: bool,
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
