//! Follows the clusters that the settings name: connects to each, and again when
//! its address, its credentials or the way it is watched change.

use std::collections::BTreeMap;
use std::time::Duration;

use api::names::IN_CLUSTER_SERVER;
use cluster::{Client, Cluster, StoreOptions};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use settings::clusters::ClusterSettings;

use crate::Controller;
use crate::destinations::Registered;

/// How long after a failed connection it is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Follows the settings. Does not end.
pub(crate) async fn follow(controller: &Controller) {
    let mut book = Book::default();
    let mut settings = controller.settings.subscribe();
    let mut watched_with = settings.borrow_and_update().clone();
    loop {
        book.wanted.clone_from(&watched_with.clusters);
        // At once: one that does not answer must not keep us from the others.
        let mut connecting: FuturesUnordered<_> = book
            .unconnected()
            .into_iter()
            .map(|it| async { (connection(controller, &it).await, it) })
            .collect();
        while let Some((connection, cluster)) = connecting.next().await {
            connected(controller, &mut book, cluster, connection);
        }
        drop(connecting);
        for server in book.unregistered() {
            tracing::info!(server, "a cluster was unregistered");
            if server == IN_CLUSTER_SERVER {
                restore_own(controller).await;
            } else {
                controller.destinations.remove(&server);
            }
            controller.wake_everybody();
        }
        let retry = tokio::time::sleep(RETRY);
        tokio::select! {
            () = retry, if book.has_failures() => {}
            changed = settings.changed() => if changed.is_err() { return },
        }
        let now = settings.borrow_and_update().clone();
        if now.watches_otherwise_than(&watched_with) {
            watch_anew(controller, &mut book).await;
        }
        watched_with = now;
    }
}

/// What the settings say, and what we have made of it.
#[derive(Default)]
struct Book {
    wanted: Vec<ClusterSettings>,
    /// By address: what we are connected with, or failed to be.
    tried: BTreeMap<String, (ClusterSettings, bool)>,
}

impl Book {
    /// What is new, has changed, or failed when it was last tried.
    fn unconnected(&self) -> Vec<ClusterSettings> {
        let is_done = |it: &&ClusterSettings| {
            let tried = self.tried.get(&it.server);
            tried.is_some_and(|(tried, reached)| *reached && is_reached_alike(tried, it))
        };
        self.wanted.iter().filter(|it| !is_done(it)).cloned().collect()
    }

    /// Addresses that nobody names any more.
    fn unregistered(&mut self) -> Vec<String> {
        let is_wanted = |server: &String| self.wanted.iter().any(|it| it.server == *server);
        let gone: Vec<String> = self.tried.keys().filter(|it| !is_wanted(it)).cloned().collect();
        for server in &gone {
            self.tried.remove(server);
        }
        gone
    }

    fn has_failures(&self) -> bool {
        self.tried.values().any(|(_, reached)| !reached)
    }

    fn forget_connections(&mut self) {
        for (_, reached) in self.tried.values_mut() {
            *reached = false;
        }
    }
}

/// Labels and annotations of a Secret say nothing of how to reach its cluster.
fn is_reached_alike(one: &ClusterSettings, other: &ClusterSettings) -> bool {
    let bare = |it: &ClusterSettings| ClusterSettings {
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        ..it.clone()
    };
    bare(one) == bare(other)
}

/// Objects are told apart otherwise now: everything must be looked at anew.
async fn watch_anew(controller: &Controller, book: &mut Book) {
    tracing::info!("settings changed how clusters are watched");
    book.forget_connections();
    if !book.tried.contains_key(IN_CLUSTER_SERVER) {
        restore_own(controller).await;
        controller.wake_everybody();
    }
}

fn connected(
    controller: &Controller,
    book: &mut Book,
    cluster: ClusterSettings,
    connection: Result<Cluster, String>,
) {
    let (server, name) = (cluster.server.clone(), cluster.shown_name().to_owned());
    let reached = connection.is_ok();
    match &connection {
        Ok(_) => tracing::info!(server, name, "connected to a cluster"),
        Err(why) => tracing::warn!(server, name, why, "could not connect to a cluster"),
    }
    let is_news = reached || book.tried.get(&server).is_none_or(|(_, before)| *before);
    let project = cluster.project.clone();
    book.tried.insert(server.clone(), (cluster, reached));
    controller.destinations.put(Registered { server, name, project, connection });
    // It may have become ours while we connected, or somebody else's.
    controller.destinations.attend_to(|server| controller.attends_to(server));
    if is_news {
        controller.wake_everybody();
    }
}

async fn connection(controller: &Controller, cluster: &ClusterSettings) -> Result<Cluster, String> {
    let options = StoreOptions {
        namespaces: Some(cluster.namespaces.clone()).filter(|it| !it.is_empty()),
        cluster_resources: cluster.cluster_resources,
        attended: controller.attends_to(&cluster.server),
        ..controller.settings().store_options(&cluster.server)
    };
    let started = if cluster.server == IN_CLUSTER_SERVER {
        Cluster::start_with(controller.control_plane.clone(), options).await
    } else {
        let access = cluster.access().await.map_err(|it| runtime::Chain(&it).to_string())?;
        match Client::connect(&access).await {
            Ok(client) => {
                Cluster::start_with(client.heard_as(&controller.control_plane), options).await
            }
            Err(error) => Err(error),
        }
    };
    started.map_err(|error| runtime::Chain(&error).to_string())
}

/// The cluster that we run against needs no Secret.
async fn restore_own(controller: &Controller) {
    let client = controller.control_plane.clone();
    let attended = controller.attends_to(IN_CLUSTER_SERVER);
    let options =
        StoreOptions { attended, ..controller.settings().store_options(IN_CLUSTER_SERVER) };
    match Cluster::start_with(client, options).await {
        Ok(cluster) => controller.destinations.put(Registered {
            server: IN_CLUSTER_SERVER.into(),
            name: api::names::IN_CLUSTER_NAME.into(),
            project: String::new(),
            connection: Ok(cluster),
        }),
        Err(error) => {
            tracing::warn!(error = %runtime::Chain(&error), "could not watch our own cluster anew");
        }
    }
}
