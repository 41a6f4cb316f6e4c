//! The clusters that Applications deploy to, by address and by name.
//!
//! A cluster that cannot be reached is known all the same, with the reason, so
//! that its Applications say Unknown and why, and nothing else.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

use api::ApplicationDestination;
use api::names::{ANNOTATION_INSTALLATION_ID, ANNOTATION_TRACKING_ID};
use api::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use cluster::{Changes, Cluster, Tagged};
use render::tracking::{Tracking, TrackingMethod};
use tokio::sync::mpsc;

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

/// Why a destination is no cluster that can be deployed to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    /// It names none, two, or one that nobody registered.
    #[error("{0}")]
    NotThere(String),
    /// It is registered, and there is no connection to it.
    #[error("the cluster {server} cannot be reached: {why}")]
    NotConnected {
        /// Its address.
        server: String,
        /// What was the matter when it was last tried.
        why: String,
    },
}

/// A registered cluster, reachable or not.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) project: String,
    pub(crate) connection: Result<Cluster, String>,
}

/// The address of a cluster that is there from now on, and its changes.
pub(crate) type Arrival = (String, Changes);

/// All clusters that are registered.
#[derive(Debug)]
pub(crate) struct Destinations {
    known: RwLock<BTreeMap<String, Registered>>,
    arrivals: mpsc::UnboundedSender<Arrival>,
    arrived: Mutex<Option<mpsc::UnboundedReceiver<Arrival>>>,
}

impl Destinations {
    /// Only the cluster that we run against.
    pub(crate) fn in_cluster(cluster: Cluster) -> Self {
        let (arrivals, arrived) = mpsc::unbounded_channel();
        let it = Self { known: RwLock::default(), arrivals, arrived: Mutex::new(Some(arrived)) };
        it.put(Registered {
            server: IN_CLUSTER_SERVER.into(),
            name: IN_CLUSTER_NAME.into(),
            project: String::new(),
            connection: Ok(cluster),
        });
        it
    }

    /// Takes a cluster in, in place of the one that had its address.
    pub(crate) fn put(&self, registered: Registered) {
        if let Ok(cluster) = &registered.connection {
            // Nobody listens any more: we are shutting down.
            self.arrivals.send((registered.server.clone(), cluster.changes())).ok();
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(registered.server.clone(), registered);
    }

    /// Keeps watching these clusters, and no others: whoever wants to see another one attends to it meanwhile.
    pub(crate) fn attend_to(&self, is_ours: impl Fn(&str) -> bool) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for registered in known.values_mut() {
            if let Ok(cluster) = &mut registered.connection {
                let is_ours = is_ours(&registered.server);
                *cluster = if is_ours { cluster.attended() } else { cluster.unattended() };
            }
        }
    }

    pub(crate) fn remove(&self, server: &str) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(server);
    }

    /// The changes of each cluster as it arrives; only the first who asks gets them.
    pub(crate) fn arrivals(&self) -> Option<mpsc::UnboundedReceiver<Arrival>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// All clusters that are registered.
    pub(crate) fn registered(&self) -> Vec<Registered> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The clusters that can be reached.
    pub(crate) fn all(&self) -> Vec<Destination> {
        self.registered().into_iter().filter_map(|it| it.reached().ok()).collect()
    }

    /// The cluster that a destination names.
    pub(crate) fn find(
        &self,
        wanted: &ApplicationDestination,
    ) -> Result<Destination, DestinationError> {
        self.named(wanted).map_err(DestinationError::NotThere)?.reached()
    }

    /// The address of the registered cluster that a destination names, reached or not;
    /// our own where it names none.
    pub(crate) fn keeper_of(&self, wanted: &ApplicationDestination) -> String {
        self.named(wanted).map_or_else(|_| IN_CLUSTER_SERVER.to_owned(), |it| it.server)
    }

    fn named(&self, wanted: &ApplicationDestination) -> Result<Registered, String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let ApplicationDestination { server, name, .. } = wanted;
        match (server.trim_end_matches('/'), name.as_str()) {
            ("", "") => Err("Destination server missing from app spec: say which cluster to \
                             deploy to with spec.destination.server or spec.destination.name"
                .into()),
            ("", name) => {
                let found: Vec<&Registered> = known.values().filter(|it| it.name == name).collect();
                match found.as_slice() {
                    [only] => Ok((*only).clone()),
                    [] => Err(format!("there are no clusters with this name: {name}")),
                    several => {
                        let servers: Vec<&str> =
                            several.iter().map(|it| it.server.as_str()).collect();
                        let (count, servers) = (servers.len(), servers.join(" "));
                        Err(format!("there are {count} clusters with the same name: [{servers}]"))
                    }
                }
            }
            (server, "") => known.get(server).cloned().ok_or_else(|| {
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

impl Registered {
    fn reached(self) -> Result<Destination, DestinationError> {
        let Self { server, name, project, connection } = self;
        match connection {
            Ok(cluster) => Ok(Destination { server, name, project, cluster }),
            Err(why) => Err(DestinationError::NotConnected { server, why }),
        }
    }
}

/// The application that an object says it belongs to.
pub(crate) fn instance_of(object: &Tagged<'_>, tracking: &Tracking) -> Option<String> {
    let instance = match tracking.method {
        TrackingMethod::Label => object.label(&tracking.label_key)?,
        TrackingMethod::Annotation | TrackingMethod::AnnotationAndLabel => {
            let own = &tracking.installation_id;
            if !own.is_empty()
                && object.annotation(ANNOTATION_INSTALLATION_ID).as_ref() != Some(own)
            {
                return None;
            }
            let id = object.annotation(ANNOTATION_TRACKING_ID)?;
            id.split_once(':').map(|(instance, _)| instance.to_owned())?
        }
    };
    (!instance.is_empty()).then_some(instance)
}
