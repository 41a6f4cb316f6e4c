//! The clusters that Applications deploy to, by address and by name.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use api::ApplicationDestination;
use api::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use cluster::Cluster;

/// A cluster under the names that Applications know it by.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Its address, as written in destinations and projects.
    pub server: String,
    /// Its name.
    pub name: String,
    /// The project that owns it; empty for everybody's.
    pub project: String,
    /// The cluster itself.
    pub cluster: Cluster,
}

/// Why a destination is no cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DestinationError(String);

/// All clusters that are registered.
#[derive(Debug, Default)]
pub(crate) struct Destinations(RwLock<BTreeMap<String, Destination>>);

impl Destinations {
    /// Only the cluster that we run against.
    pub(crate) fn in_cluster(cluster: Cluster) -> Self {
        let destination = Destination {
            server: IN_CLUSTER_SERVER.into(),
            name: IN_CLUSTER_NAME.into(),
            project: String::new(),
            cluster,
        };
        Self(RwLock::new(BTreeMap::from([(destination.server.clone(), destination)])))
    }

    pub(crate) fn all(&self) -> Vec<Destination> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The cluster that a destination names.
    pub(crate) fn find(
        &self,
        wanted: &ApplicationDestination,
    ) -> Result<Destination, DestinationError> {
        self.named(wanted).map_err(DestinationError)
    }

    fn named(&self, wanted: &ApplicationDestination) -> Result<Destination, String> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let ApplicationDestination { server, name, .. } = wanted;
        match (server.trim_end_matches('/'), name.as_str()) {
            ("", "") => Err("Destination server missing from app spec: say which cluster to \
                             deploy to with spec.destination.server or spec.destination.name"
                .into()),
            ("", name) => {
                let mut found = all.values().filter(|it| it.name == name);
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only.clone()),
                    (None, _) => Err(format!("there are no clusters with this name: {name}")),
                    (Some(_), Some(_)) => {
                        let servers = all.values().filter(|it| it.name == name);
                        let servers: Vec<&str> = servers.map(|it| it.server.as_str()).collect();
                        let count = servers.len();
                        let servers = servers.join(" ");
                        Err(format!("there are {count} clusters with the same name: [{servers}]"))
                    }
                }
            }
            (server, "") => all.get(server).cloned().ok_or_else(|| {
                format!(
                    "error getting cluster by server {server:?}: cluster {server:?} has not been \
                     configured"
                )
            }),
            (server, name) => Err(format!(
                "application destination can't have both name and server defined: {name} {server}"
            )),
        }
    }
}
