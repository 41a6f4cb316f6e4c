//! Clusters: `cluster.ClusterService`.
//!
//! A cluster is a Secret; the one we run in needs none until somebody changes
//! something about it. `connection.rs` talks to the clusters themselves.

mod connection;

use std::collections::BTreeMap;

use ::cluster::{Client, Continuity};
use api::names::{ANNOTATION_REFRESH, IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use api::{ApplicationDestination, Time};
use jiff::Timestamp;
use rbac::{action, resource};
use wire::Status;
use wire::message::cluster::{
    Cluster, ClusterCacheInfo, ClusterConfig, ClusterCreateRequest, ClusterId, ClusterInfo,
    ClusterList, ClusterQuery, ClusterResponse, ClusterUpdateRequest, ConnectionState,
    TlsClientConfig,
};

use crate::ApiServer;
use crate::access::scoped;
use crate::credential::{self, Credential, LAST_APPLIED, TYPE_LABEL, fnv};
use crate::failure::{permission_denied, refused};
use crate::methods::Call;
use crate::store::Store;

/// What stands in the label of a cluster's Secret.
const TYPE: &str = "cluster";

pub(crate) async fn list(call: Call, query: ClusterQuery) -> Result<ClusterList, Status> {
    let mut items = known(&call.server.store).await?;
    let asked = Asked::from(query);
    items.retain(|it| {
        (asked.server.is_empty() || it.server == asked.server)
            && (asked.name.is_empty() || it.name == asked.name)
    });
    let items = call.visible(resource::CLUSTERS, items, object_of);
    let items = items.into_iter().map(|it| shown(&call.server, it)).collect();
    Ok(ClusterList { items, ..ClusterList::default() })
}

pub(crate) async fn get(call: Call, query: ClusterQuery) -> Result<Cluster, Status> {
    let cluster = visible(&call, query.into()).await?;
    Ok(shown(&call.server, cluster))
}

pub(crate) async fn create(call: Call, request: ClusterCreateRequest) -> Result<Cluster, Status> {
    let mut cluster = request.cluster.unwrap_or_default();
    cluster.server = cluster.server.trim_end_matches('/').to_owned();
    call.require(resource::CLUSTERS, action::CREATE, &object_of(&cluster))?;
    let client = connection::connect(&call.server, &cluster).await.map_err(Status::unknown)?;
    let store = &call.server.store;
    let credential = to_credential(&cluster, Credential::new(secret_name(&cluster.server)?))?;
    match credential::create(store, TYPE, &credential).await {
        Ok(()) => return Ok(answering(shown(&call.server, cluster), &client)),
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("error creating cluster", &error)),
    }
    let asked = Asked { server: cluster.server.clone(), name: String::new() };
    let existing = find(store, asked).await?;
    if is_same(&existing, &cluster) {
        return Ok(answering(shown(&call.server, existing), &client));
    }
    if !request.upsert {
        return Err(Status::invalid_argument(
            "existing cluster spec is different, use upsert flag to force update",
        ));
    }
    call.require(resource::CLUSTERS, action::UPDATE, &object_of(&cluster))?;
    write(&call.server, cluster).await
}

pub(crate) async fn update(call: Call, request: ClusterUpdateRequest) -> Result<Cluster, Status> {
    let wanted = request.cluster.unwrap_or_default();
    let asked = match request.id {
        Some(id) => Asked::by(id),
        None => Asked { server: wanted.server.clone(), name: wanted.name.clone() },
    };
    let mut cluster = visible(&call, asked).await?;
    call.require(resource::CLUSTERS, action::UPDATE, &object_of(&cluster))?;
    if !wanted.project.is_empty() && wanted.project != cluster.project {
        call.require(resource::CLUSTERS, action::UPDATE, &object_of(&wanted))?;
    }
    if request.updated_fields.is_empty() {
        let server = cluster.server;
        cluster = Cluster { server, ..wanted };
        return write(&call.server, cluster).await;
    }
    for field in &request.updated_fields {
        match field.as_str() {
            "name" => cluster.name.clone_from(&wanted.name),
            "namespaces" => cluster.namespaces.clone_from(&wanted.namespaces),
            "config" => cluster.config = wanted.config.clone(),
            "shard" => cluster.shard = wanted.shard,
            "clusterResources" => cluster.cluster_resources = wanted.cluster_resources,
            "labels" => cluster.labels.clone_from(&wanted.labels),
            "annotations" => cluster.annotations.clone_from(&wanted.annotations),
            "project" => cluster.project.clone_from(&wanted.project),
            _ => {}
        }
    }
    write(&call.server, cluster).await
}

pub(crate) async fn delete(call: Call, query: ClusterQuery) -> Result<ClusterResponse, Status> {
    let store = &call.server.store;
    let cluster = visible(&call, query.into()).await?;
    call.require(resource::CLUSTERS, action::DELETE, &object_of(&cluster))?;
    let Some(credential) = secret_of(store, &cluster.server).await? else {
        let message = format!("cluster {:?} not found", cluster.server);
        return Err(Status::not_found(message));
    };
    credential::delete(store, &credential).await?;
    Ok(ClusterResponse {})
}

/// A new token for the service account that a cluster is entered by; the old one ends.
pub(crate) async fn rotate_auth(
    call: Call,
    query: ClusterQuery,
) -> Result<ClusterResponse, Status> {
    let cluster = visible(&call, query.into()).await?;
    call.require(resource::CLUSTERS, action::UPDATE, &object_of(&cluster))?;
    if cluster.config.bearer_token.is_empty() {
        return Err(Status::invalid_argument(format!(
            "Cluster '{}' does not use bearer token authentication",
            cluster.server
        )));
    }
    let rotation = connection::begin(&call.server, cluster).await?;
    write(&call.server, rotation.cluster.clone()).await?;
    rotation.finish().await?;
    Ok(ClusterResponse {})
}

/// A cluster that was asked just now, and answered.
fn answering(mut cluster: Cluster, client: &Client) -> Cluster {
    let status = "Successful".to_owned();
    let attempted_at = Some(Time::from(Timestamp::now()));
    cluster.connection_state = ConnectionState { status, message: String::new(), attempted_at };
    cluster.info.connection_state = cluster.connection_state.clone();
    cluster.server_version.clone_from(&client.version().git_version);
    cluster.info.server_version.clone_from(&cluster.server_version);
    cluster
}

pub(crate) async fn invalidate_cache(call: Call, query: ClusterQuery) -> Result<Cluster, Status> {
    let mut cluster = visible(&call, query.into()).await?;
    call.require(resource::CLUSTERS, action::UPDATE, &object_of(&cluster))?;
    cluster.refresh_requested_at = Some(Time::from(Timestamp::now()));
    write(&call.server, cluster).await
}

/// A cluster that the caller may see; for others it is not there.
async fn visible(call: &Call, asked: Asked) -> Result<Cluster, Status> {
    let cluster = find(&call.server.store, asked).await;
    // Whoever sees all clusters is told that there is none.
    if cluster.is_err() && call.may(resource::CLUSTERS, action::GET, "*") {
        return cluster;
    }
    let cluster = cluster.map_err(|_| permission_denied())?;
    if call.may(resource::CLUSTERS, action::GET, &object_of(&cluster)) {
        return Ok(cluster);
    }
    Err(permission_denied())
}

fn object_of(cluster: &Cluster) -> String {
    scoped(&cluster.project, &cluster.server)
}

/// Which cluster somebody asks for.
struct Asked {
    server: String,
    name: String,
}

impl Asked {
    fn by(id: ClusterId) -> Self {
        match id.type_.as_str() {
            "name" => Self { server: String::new(), name: id.value },
            "name_escaped" => {
                Self { server: String::new(), name: wire::unescaped_query(&id.value) }
            }
            _ => Self { server: id.value, name: String::new() },
        }
    }
}

impl From<ClusterQuery> for Asked {
    fn from(query: ClusterQuery) -> Self {
        match query.id {
            Some(id) => Self::by(id),
            None => Self { server: query.server, name: query.name },
        }
    }
}

/// Every cluster that is registered; ours is, unless its Secret says otherwise.
pub(crate) async fn known(store: &Store) -> Result<Vec<Cluster>, Status> {
    let mut clusters: Vec<Cluster> =
        credential::all(store, TYPE).await?.iter().map(from_credential).collect();
    if !clusters.iter().any(|it| it.server == IN_CLUSTER_SERVER) {
        clusters.insert(0, in_cluster());
    }
    Ok(clusters)
}

/// The cluster of a destination, if it is known.
pub(crate) async fn of(
    server: &ApiServer,
    destination: &ApplicationDestination,
) -> Option<Cluster> {
    let asked = Asked { server: destination.server.clone(), name: destination.name.clone() };
    find(&server.store, asked).await.ok()
}

async fn find(store: &Store, asked: Asked) -> Result<Cluster, Status> {
    let server = asked.server.trim_end_matches('/');
    let found = known(store)
        .await?
        .into_iter()
        .find(|it| if server.is_empty() { it.name == asked.name } else { it.server == server });
    found.filter(|_| !server.is_empty() || !asked.name.is_empty()).ok_or_else(permission_denied)
}

async fn secret_of(store: &Store, server: &str) -> Result<Option<Credential>, Status> {
    let all = credential::all(store, TYPE).await?;
    Ok(all.into_iter().find(|it| it.text("server") == server))
}

async fn write(server: &ApiServer, cluster: Cluster) -> Result<Cluster, Status> {
    match secret_of(&server.store, &cluster.server).await? {
        Some(before) => {
            let mut after = to_credential(&cluster, Credential::new(before.secret.clone()))?;
            after.labels.insert(TYPE_LABEL.into(), TYPE.into());
            if let Some(by) = before.annotations.get("managed-by") {
                after.annotations.insert("managed-by".into(), by.clone());
            }
            credential::update(&server.store, &before, &after).await?;
        }
        None => {
            let credential = Credential::new(secret_name(&cluster.server)?);
            let credential = to_credential(&cluster, credential)?;
            let created = credential::create(&server.store, TYPE, &credential).await;
            created.map_err(|error| refused("failed to update cluster in database", &error))?;
        }
    }
    Ok(shown(server, cluster))
}

fn in_cluster() -> Cluster {
    Cluster { server: IN_CLUSTER_SERVER.into(), name: IN_CLUSTER_NAME.into(), ..Cluster::default() }
}

fn is_same(one: &Cluster, other: &Cluster) -> bool {
    let what = |it: &Cluster| {
        (
            it.server.clone(),
            if it.name.is_empty() { it.server.clone() } else { it.name.clone() },
            it.namespaces.clone(),
            it.shard,
            it.cluster_resources,
            it.project.clone(),
            it.labels.clone(),
            it.annotations.clone(),
        )
    };
    what(one) == what(other) && one.config == other.config
}

/// As Argo CD names it: by the host, and a hash of the whole address.
fn secret_name(server: &str) -> Result<String, Status> {
    let host = server.split_once("://").map(|(_, rest)| rest);
    let host = host.map(|it| it.split(['/', '?', '#']).next().unwrap_or_default());
    let host = host.map(|it| it.rsplit_once('@').map_or(it, |(_, host)| host));
    let Some(host) = host.filter(|it| !it.is_empty()) else {
        let message = format!("error creating cluster: {server:?} is no address of a cluster");
        return Err(Status::invalid_argument(message));
    };
    let host = match host.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, _)) => address.replace(':', "-"),
        None => host.split(':').next().unwrap_or_default().to_owned(),
    };
    Ok(format!("cluster-{}-{}", host.to_lowercase(), fnv(&[server])))
}

fn to_credential(cluster: &Cluster, mut credential: Credential) -> Result<Credential, Status> {
    if cluster.annotations.contains_key(LAST_APPLIED) {
        let message = format!("annotation {LAST_APPLIED} cannot be set");
        return Err(Status::invalid_argument(message));
    }
    credential.set("server", &cluster.server);
    let name = if cluster.name.is_empty() { &cluster.server } else { &cluster.name };
    credential.set("name", name);
    credential.set("namespaces", &cluster.namespaces.join(","));
    let config = serde_json::to_string(&cluster.config).expect("has only text for keys");
    credential.set("config", &config);
    credential.set("shard", &cluster.shard.map(|it| it.to_string()).unwrap_or_default());
    credential.set_flag("clusterResources", cluster.cluster_resources);
    credential.set("project", &cluster.project);
    credential.labels.clone_from(&cluster.labels);
    credential.annotations.clone_from(&cluster.annotations);
    match cluster.refresh_requested_at {
        Some(at) => drop(credential.annotations.insert(ANNOTATION_REFRESH.into(), at.to_string())),
        None => drop(credential.annotations.remove(ANNOTATION_REFRESH)),
    }
    Ok(credential)
}

fn from_credential(credential: &Credential) -> Cluster {
    let config: ClusterConfig = match credential.text("config") {
        "" => ClusterConfig::default(),
        text => serde_json::from_str(text).unwrap_or_else(|error| {
            let secret = &credential.secret;
            tracing::warn!(%error, secret, "could not read the configuration of a cluster");
            ClusterConfig::default()
        }),
    };
    let namespaces = credential.text("namespaces").split(',').map(str::trim);
    let own = [TYPE_LABEL, "managed-by", LAST_APPLIED];
    let users = |all: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        let users = all.iter().filter(|(key, _)| !own.contains(&key.as_str()));
        users.map(|(key, text)| (key.clone(), text.clone())).collect()
    };
    let refresh = credential.annotations.get(ANNOTATION_REFRESH);
    let refresh = refresh.and_then(|it| it.parse::<Timestamp>().ok());
    Cluster {
        server: credential.text("server").trim_end_matches('/').to_owned(),
        name: credential.text("name").to_owned(),
        config,
        namespaces: namespaces.filter(|it| !it.is_empty()).map(str::to_owned).collect(),
        refresh_requested_at: refresh.map(Time::from),
        shard: credential.text("shard").parse().ok(),
        cluster_resources: credential.is_set("clusterResources"),
        project: credential.text("project").to_owned(),
        labels: users(&credential.labels),
        annotations: users(&credential.annotations),
        ..Cluster::default()
    }
}

/// A cluster as clients may see it: without its secrets, with what is known about it.
fn shown(server: &ApiServer, mut cluster: Cluster) -> Cluster {
    cluster.config = sanitized(cluster.config);
    cluster.info = info(server, &cluster);
    cluster.connection_state = cluster.info.connection_state.clone();
    cluster.server_version.clone_from(&cluster.info.server_version);
    cluster
}

/// Only what is no secret.
pub(crate) fn sanitized(config: ClusterConfig) -> ClusterConfig {
    ClusterConfig {
        aws_auth_config: config.aws_auth_config,
        proxy_url: config.proxy_url,
        disable_compression: config.disable_compression,
        tls_client_config: TlsClientConfig {
            insecure: config.tls_client_config.insecure,
            server_name: config.tls_client_config.server_name,
            ..TlsClientConfig::default()
        },
        ..ClusterConfig::default()
    }
}

fn info(server: &ApiServer, cluster: &Cluster) -> ClusterInfo {
    let users = server.apps.all();
    let users = users.iter().filter(|app| {
        let destination = &app.spec.destination;
        if destination.server.is_empty() {
            destination.name == cluster.name
        } else {
            destination.server.trim_end_matches('/') == cluster.server
        }
    });
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let applications_count = count(users.count());
    let destination = ApplicationDestination {
        server: cluster.server.clone(),
        ..ApplicationDestination::default()
    };
    let now = Some(Time::from(Timestamp::now()));
    let Ok(destination) = server.ports.control.destination(&destination) else {
        let message = "Cluster has no applications and is not being monitored.";
        let connection_state = ConnectionState {
            status: "Unknown".into(),
            message: message.into(),
            attempted_at: now,
        };
        return ClusterInfo { connection_state, applications_count, ..ClusterInfo::default() };
    };
    let watched = &destination.cluster;
    let broken = watched.continuity().into_iter().find_map(|(kind, state)| match state {
        Continuity::Broken { why, .. } => Some(format!("{kind}: {why}")),
        Continuity::Starting | Continuity::Verified { .. } => None,
    });
    let broken = broken.or_else(|| watched.health().trouble);
    let version = watched.client().version();
    ClusterInfo {
        connection_state: ConnectionState {
            status: if broken.is_some() { "Failed" } else { "Successful" }.into(),
            message: broken.unwrap_or_default(),
            attempted_at: now,
        },
        server_version: version.git_version.clone(),
        cache_info: ClusterCacheInfo {
            resources_count: count(watched.object_count()),
            apis_count: count(watched.continuity().len()),
            last_cache_sync_time: now,
        },
        applications_count,
        api_versions: watched.kinds().api_versions().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(server: &str, expect: &str) {
        assert_eq!(secret_name(server).expect("a name"), expect);
    }

    #[test]
    fn a_secret_is_named_after_host_and_address() {
        check_name("https://kubernetes.default.svc", "cluster-kubernetes.default.svc-3396314289");
        check_name(
            "https://Example.org:6443/x",
            &format!("cluster-example.org-{}", fnv(&["https://Example.org:6443/x"])),
        );
        check_name(
            "https://[fd00::1]:6443",
            &format!("cluster-fd00--1-{}", fnv(&["https://[fd00::1]:6443"])),
        );
        assert!(secret_name("nowhere").is_err());
    }

    #[test]
    fn a_cluster_comes_back_from_its_secret() {
        let cluster = Cluster {
            server: "https://example.org".into(),
            name: "prod".into(),
            namespaces: vec!["a".into(), "b".into()],
            shard: Some(2),
            cluster_resources: true,
            project: "shop".into(),
            labels: BTreeMap::from([("tier".into(), "gold".into())]),
            config: ClusterConfig { bearer_token: "secret".into(), ..ClusterConfig::default() },
            ..Cluster::default()
        };
        let credential = to_credential(&cluster, Credential::new("x".into())).expect("fine");
        assert_eq!(
            credential.text("config"),
            r#"{"tlsClientConfig":{"insecure":false},"bearerToken":"secret"}"#
        );
        assert_eq!(from_credential(&credential), cluster);
        assert_eq!(sanitized(cluster.config).bearer_token, "");
    }
}
