//! Clusters: `cluster.ClusterService`.

use std::collections::BTreeMap;

use super::messages;

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
        #[prost(string, required, tag = 1)]
        username: String,
        #[prost(string, required, tag = 2)]
        password: String,
        #[prost(string, required, tag = 3)]
        bearer_token: String,
        #[prost(message, required, tag = 4)]
        tls_client_config: TlsClientConfig,
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
    /// How the connection is secured; certificates and keys stay on the server.
    TlsClientConfig {
        @always {
            #[prost(bool, required, tag = 1)]
            insecure: bool,
        }
        #[prost(string, required, tag = 2)]
        server_name: String,
    }
}
