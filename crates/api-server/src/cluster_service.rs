//! Clusters: `cluster.ClusterService`. So far there is one, ours.

use ::cluster::Continuity;
use wire::Status;
use wire::message::cluster::{
    Cluster, ClusterCacheInfo, ClusterInfo, ClusterList, ClusterQuery, ConnectionState,
};

use crate::ApiServer;
use crate::failure::permission_denied;
use crate::methods::Call;

pub(crate) async fn list(call: Call, query: ClusterQuery) -> Result<ClusterList, Status> {
    let cluster = in_cluster(&call.server);
    let is_asked = (query.server.is_empty() || query.server == cluster.server)
        && (query.name.is_empty() || query.name == cluster.name);
    Ok(ClusterList {
        items: is_asked.then_some(cluster).into_iter().collect(),
        ..ClusterList::default()
    })
}

pub(crate) async fn get(call: Call, query: ClusterQuery) -> Result<Cluster, Status> {
    let cluster = in_cluster(&call.server);
    let (mut server, mut name) = (query.server, query.name);
    if let Some(id) = query.id {
        match id.type_.as_str() {
            "name" | "name_escaped" => name = id.value,
            _ => server = id.value,
        }
    }
    let named = if name.is_empty() { server == cluster.server } else { name == cluster.name };
    if named { Ok(cluster) } else { Err(permission_denied()) }
}

fn in_cluster(server: &ApiServer) -> Cluster {
    let watched = &server.ports.cluster;
    let broken = watched.continuity().into_iter().find_map(|(kind, state)| match state {
        Continuity::Broken { why, .. } => Some(format!("{kind}: {why}")),
        Continuity::Starting | Continuity::Verified { .. } => None,
    });
    let version = watched.client().version();
    let connection_state = ConnectionState {
        status: if broken.is_some() { "Failed" } else { "Successful" }.into(),
        message: broken.unwrap_or_default(),
        attempted_at: None,
    };
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let server_version = format!("{}.{}", version.major, version.minor_number());
    Cluster {
        server: api::names::IN_CLUSTER_SERVER.into(),
        name: api::names::IN_CLUSTER_NAME.into(),
        connection_state: connection_state.clone(),
        server_version: server_version.clone(),
        info: ClusterInfo {
            connection_state,
            server_version,
            cache_info: ClusterCacheInfo {
                resources_count: count(watched.object_count()),
                ..ClusterCacheInfo::default()
            },
            applications_count: count(server.apps.len()),
            api_versions: Vec::new(),
        },
        ..Cluster::default()
    }
}
