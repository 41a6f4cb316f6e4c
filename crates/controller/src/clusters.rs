//! Follows the cluster Secrets: connects to what they name, and to the new
//! address or with the new credentials when they change.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use api::names::{IN_CLUSTER_SERVER, LABEL_SECRET_TYPE, SECRET_TYPE_CLUSTER};
use cluster::{ApiKind, Cluster, Registration, Scope, Selector, StoreOptions, WatchEvent};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use object::{GroupVersionKind, Object};
use serde_json::Value;

use crate::Controller;
use crate::destinations::{Registered, store_options};

/// How long after a failed connection it is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Follows the Secrets. Does not end.
pub(crate) async fn follow(controller: &Controller) {
    let events = controller.control_plane.watch::<Value>(
        &ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true),
        Scope::Namespace(controller.options.namespace.clone()),
        Selector::labels(&format!("{LABEL_SECRET_TYPE}={SECRET_TYPE_CLUSTER}")),
        controller.options.random.clone(),
    );
    let mut events = pin!(events);
    let mut book = Book::default();
    let mut settings = controller.settings.subscribe();
    let mut watched_with = settings.borrow_and_update().clone();
    let mut retries = FuturesUnordered::new();
    loop {
        tokio::select! {
            event = events.next() => match event {
                None => return,
                Some(event) => book.note(event),
            },
            Some(()) = retries.next(), if !retries.is_empty() => {}
            Ok(()) = settings.changed() => {
                let now = settings.borrow_and_update().clone();
                let (before, now) = (std::mem::replace(&mut watched_with, now.clone()), now);
                if (&before.tracking, &before.exclusions) != (&now.tracking, &now.exclusions) {
                    watch_anew(controller, &mut book).await;
                }
            }
        }
        for registration in book.unconnected() {
            connect(controller, &mut book, registration).await;
        }
        for server in book.unregistered() {
            tracing::info!(server, "a cluster was unregistered");
            if server == IN_CLUSTER_SERVER {
                restore_own(controller).await;
            } else {
                controller.destinations.remove(&server);
            }
            controller.wake_everybody();
        }
        if book.has_failures() {
            retries.push(tokio::time::sleep(RETRY));
        }
    }
}

/// What the Secrets say, and what we have made of it.
#[derive(Default)]
struct Book {
    /// By name of the Secret.
    wanted: BTreeMap<String, Registration>,
    /// By address: what we are connected with, or failed to be.
    tried: BTreeMap<String, (Registration, bool)>,
    listing: Option<BTreeMap<String, Registration>>,
}

impl Book {
    fn note(&mut self, event: WatchEvent<Value>) {
        match event {
            WatchEvent::Restarted => self.listing = Some(BTreeMap::new()),
            WatchEvent::Synced => {
                if let Some(listed) = self.listing.take() {
                    self.wanted = listed;
                }
            }
            WatchEvent::Applied(secret) => {
                let Ok(secret) = Object::from_value(secret) else { return };
                let book = self.listing.as_mut().unwrap_or(&mut self.wanted);
                match Registration::from_secret(&secret) {
                    Ok(registration) => {
                        book.insert(secret.name().to_owned(), registration);
                    }
                    Err(error) => {
                        book.remove(secret.name());
                        tracing::warn!(error = %runtime::Chain(&error), "ignoring a cluster");
                    }
                }
            }
            WatchEvent::Deleted(secret) => {
                if let Ok(secret) = Object::from_value(secret) {
                    self.wanted.remove(secret.name());
                }
            }
            WatchEvent::Unreadable { name, why, .. } => {
                tracing::warn!(secret = name, why, "cannot read a cluster Secret");
            }
            WatchEvent::Interrupted { why } => {
                tracing::warn!(why, "the watch of cluster Secrets is interrupted");
            }
        }
    }

    /// What is new, has changed, or failed when it was last tried.
    fn unconnected(&self) -> Vec<Registration> {
        let is_done = |it: &&Registration| {
            self.tried.get(&it.server).is_some_and(|(tried, reached)| *reached && tried == *it)
        };
        self.wanted.values().filter(|it| !is_done(it)).cloned().collect()
    }

    /// Addresses that no Secret names any more.
    fn unregistered(&mut self) -> Vec<String> {
        if self.listing.is_some() {
            return Vec::new();
        }
        let is_wanted = |server: &String| self.wanted.values().any(|it| it.server == *server);
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

/// Objects are told apart otherwise now: everything must be looked at anew.
async fn watch_anew(controller: &Controller, book: &mut Book) {
    tracing::info!("settings changed how clusters are watched");
    book.forget_connections();
    if !book.tried.contains_key(IN_CLUSTER_SERVER) {
        restore_own(controller).await;
        controller.wake_everybody();
    }
}

async fn connect(controller: &Controller, book: &mut Book, registration: Registration) {
    let options = StoreOptions {
        namespaces: Some(registration.namespaces.clone()).filter(|it| !it.is_empty()),
        cluster_resources: registration.cluster_resources,
        ..store_options(&controller.settings())
    };
    let connection = if registration.server == IN_CLUSTER_SERVER {
        let client = controller.control_plane.clone();
        Cluster::start_with(client, options)
            .await
            .map_err(|error| runtime::Chain(&error).to_string())
    } else {
        match registration.access().await {
            Ok(access) => Cluster::start(&access, options)
                .await
                .map_err(|error| runtime::Chain(&error).to_string()),
            Err(error) => Err(runtime::Chain(&error).to_string()),
        }
    };
    let Registration { server, name, project, .. } = registration.clone();
    let reached = connection.is_ok();
    match &connection {
        Ok(_) => tracing::info!(server, name, "connected to a cluster"),
        Err(why) => tracing::warn!(server, name, why, "could not connect to a cluster"),
    }
    let is_news = reached || book.tried.get(&server).is_none_or(|(_, before)| *before);
    book.tried.insert(server.clone(), (registration, reached));
    controller.destinations.put(Registered { server, name, project, connection });
    if is_news {
        controller.wake_everybody();
    }
}

/// The cluster that we run against needs no Secret.
async fn restore_own(controller: &Controller) {
    let client = controller.control_plane.clone();
    let options = store_options(&controller.settings());
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
