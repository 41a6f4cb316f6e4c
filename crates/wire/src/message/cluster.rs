//! Clusters: `cluster.ClusterService`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{base64_text, messages};

messages! {
    /// Which cluster.
    ClusterQuery {
        #[prost(string, tag = 1)]
        server: String,
        #[prost(string, tag = 2)]
        name: String,
        #[prost(message, optional, tag = 3)]
        id: Option<ClusterId>,
    }
    /// By what a cluster is named.
    ClusterId {
        #[prost(string, tag = 1)]
        type_: String,
        #[prost(string, tag = 2)]
        value: String,
    }
    /// Done.
    ClusterResponse {
    }
    /// Clusters.
    ClusterList {
        @always {
            #[prost(message, repeated, tag = 2)]
            items: Vec<Cluster>,
        }
        #[prost(message, required, tag = 1)]
        metadata: api::ListMeta,
    }
    /// A place to deploy to.
    Cluster {
        @always {
            #[prost(string, required, tag = 1)]
            server: String,
            #[prost(string, required, tag = 2)]
            name: String,
            #[prost(message, required, tag = 3)]
            config: ClusterConfig,
        }
        #[prost(message, required, tag = 4)]
        connection_state: ConnectionState,
        #[prost(string, required, tag = 5)]
        server_version: String,
        #[prost(string, repeated, tag = 6)]
        namespaces: Vec<String>,
        #[prost(message, optional, tag = 7)]
        refresh_requested_at: Option<api::Time>,
        #[prost(message, required, tag = 8)]
        info: ClusterInfo,
        #[prost(int64, optional, tag = 9)]
        shard: Option<i64>,
        #[prost(bool, required, tag = 10)]
        cluster_resources: bool,
        #[prost(string, required, tag = 11)]
        project: String,
        #[prost(btree_map = "string, string", tag = 12)]
        labels: BTreeMap<String, String>,
        #[prost(btree_map = "string, string", tag = 13)]
        annotations: BTreeMap<String, String>,
    }
    /// How to get in; answers leave the secrets out.
    ClusterConfig {
        @always {
            #[prost(message, required, tag = 4)]
            tls_client_config: TlsClientConfig,
        }
        #[prost(string, required, tag = 1)]
        username: String,
        #[prost(string, required, tag = 2)]
        password: String,
        #[prost(string, required, tag = 3)]
        bearer_token: String,
        #[prost(message, optional, tag = 5)]
        aws_auth_config: Option<AwsAuthConfig>,
        #[prost(message, optional, tag = 6)]
        exec_provider_config: Option<ExecProviderConfig>,
        #[prost(bool, required, tag = 7)]
        disable_compression: bool,
        #[prost(string, required, tag = 8)]
        proxy_url: String,
    }
    /// How the last attempt to connect went.
    ConnectionState {
        @always {
            #[prost(string, required, tag = 1)]
            status: String,
            #[prost(string, required, tag = 2)]
            message: String,
            #[prost(message, optional, tag = 3)]
            attempted_at: Option<api::Time>,
        }

    }
    /// What is known about a cluster.
    ClusterInfo {
        @always {
            #[prost(int64, required, tag = 4)]
            applications_count: i64,
        }
        #[prost(message, required, tag = 1)]
        connection_state: ConnectionState,
        #[prost(string, required, tag = 2)]
        server_version: String,
        #[prost(message, required, tag = 3)]
        cache_info: ClusterCacheInfo,
        #[prost(string, repeated, tag = 5)]
        api_versions: Vec<String>,
    }
    /// How much of a cluster is watched.
    ClusterCacheInfo {
        #[prost(int64, required, tag = 1)]
        resources_count: i64,
        #[prost(int64, required, tag = 2)]
        apis_count: i64,
        #[prost(message, optional, tag = 3)]
        last_cache_sync_time: Option<api::Time>,
    }
    /// A new cluster.
    ClusterCreateRequest {
        #[prost(message, optional, tag = 1)]
        cluster: Option<Cluster>,
        #[prost(bool, tag = 2)]
        upsert: bool,
    }
    /// A cluster as it shall be; with fields named, only these.
    ClusterUpdateRequest {
        #[prost(message, optional, tag = 1)]
        cluster: Option<Cluster>,
        #[prost(string, repeated, tag = 2)]
        updated_fields: Vec<String>,
        #[prost(message, optional, tag = 3)]
        id: Option<ClusterId>,
    }
    /// A login by AWS IAM.
    AwsAuthConfig {
        #[prost(string, required, tag = 1)]
        cluster_name: String,
        #[prost(string, required, tag = 2)] #[serde(rename = "roleARN")]
        role_arn: String,
        #[prost(string, required, tag = 3)]
        profile: String,
    }
    /// A login by a program.
    ExecProviderConfig {
        #[prost(string, required, tag = 1)]
        command: String,
        #[prost(string, repeated, tag = 2)]
        args: Vec<String>,
        #[prost(btree_map = "string, string", tag = 3)]
        env: BTreeMap<String, String>,
        #[prost(string, required, tag = 4)]
        api_version: String,
        #[prost(string, required, tag = 5)]
        install_hint: String,
        #[prost(bool, required, tag = 6)]
        provide_cluster_info: bool,
        #[prost(message, optional, tag = 7)]
        config: Option<api::RawExtension>,
    }
}

/// How the connection is secured; answers leave certificates and keys out.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(extend("x-message" = [module_path!(), "TlsClientConfig"]))]
#[serde(default, rename_all = "camelCase")]
pub struct TlsClientConfig {
    /// Whoever answers is believed.
    #[prost(bool, required, tag = 1)]
    pub insecure: bool,
    /// The name that the server's certificate must have.
    #[prost(string, required, tag = 2)]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server_name: String,
    /// Our certificate.
    #[prost(bytes = "vec", required, tag = 3)]
    #[serde(with = "base64_text", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub cert_data: Vec<u8>,
    /// Its key.
    #[prost(bytes = "vec", required, tag = 4)]
    #[serde(with = "base64_text", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub key_data: Vec<u8>,
    /// Whom to believe.
    #[prost(bytes = "vec", required, tag = 5)]
    #[serde(with = "base64_text", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "String", extend("format" = "byte"))]
    pub ca_data: Vec<u8>,
}

super::lenient!(TlsClientConfig);
