//! The application controller: keeps what is live as git wants it.
//!
//! Read `reconcile.rs` first: one pass over one Application. `operate.rs`
//! carries a sync out, `look.rs` gathers both sides. Everything interesting is
//! decided in the `engine` crate; this one watches, queues, asks and writes.

mod apps;
mod cascade;
mod destinations;
mod health;
mod level;
mod look;
mod metrics;
mod operate;
mod perform;
mod poll;
mod ports;
mod reconcile;
mod secrets;
mod state;
mod status_writer;
mod tree;
mod watch;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use api::{AppKey, Application};
use cluster::{Client, Cluster, Randomness};
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use runtime::{Queue, Shutdown};

pub use destinations::{Destination, DestinationError};
pub use poll::PollOptions;
pub use ports::{Freshness, RefSource, RenderRequest, Rendered, SourceError, Sources};
pub use state::{ManagedResource, State};

use apps::Apps;
use destinations::Destinations;
use level::Level;
use metrics::Metrics;
use status_writer::StatusWriter;
use tree::Bodies;

/// How a controller works.
#[derive(Clone)]
pub struct Options {
    /// Where the Applications are.
    pub namespace: String,
    /// Applications looked at at the same time (`--status-processors`).
    pub workers: usize,
    /// Objects written at the same time, per Application (`--kubectl-parallelism-limit`).
    pub parallel_writes: usize,
    /// How often repositories are asked.
    pub poll: PollOptions,
    /// The source of jitter.
    pub random: Randomness,
}

/// Whom the controller talks to.
#[derive(Clone)]
pub struct Ports {
    /// Where manifests come from.
    pub sources: Arc<dyn Sources>,
    /// The cluster that holds the Applications.
    pub control_plane: Client,
    /// The same cluster, watched, as the destination `in-cluster`.
    pub cluster: Cluster,
}

/// See the module's comment. Shared by all its tasks.
pub struct Controller {
    options: Options,
    ports: Ports,
    apps: Arc<Apps>,
    queue: Queue<AppKey, Level>,
    status_writer: StatusWriter,
    destinations: Destinations,
    bodies: Bodies,
    metrics: Metrics,
    last_poll: RwLock<Instant>,
}

impl Controller {
    /// A controller that has not started, with its metrics in `registry`.
    #[must_use]
    pub fn new(options: Options, ports: Ports, registry: &mut Registry) -> Self {
        let apps = Arc::new(Apps::default());
        let queue = Queue::new();
        Self {
            status_writer: StatusWriter::new(ports.control_plane.clone(), Arc::clone(&apps)),
            metrics: Metrics::register(registry, Arc::clone(&apps), queue.clone()),
            destinations: Destinations::in_cluster(ports.cluster.clone()),
            bodies: Bodies::default(),
            last_poll: RwLock::new(Instant::now()),
            options,
            ports,
            apps,
            queue,
        }
    }

    /// Works until shutdown; what is under way is finished.
    pub async fn run(&self, shutdown: &Shutdown) {
        if shutdown.or_end(self.ports.cluster.ready()).await.is_none() {
            return;
        }
        let changes = self.ports.cluster.changes();
        tokio::join!(
            shutdown.or_end(watch::applications(self)),
            shutdown.or_end(watch::live_objects(self, changes)),
            poll::poll(self, shutdown),
            self.queue.work(self.options.workers, shutdown, |key, level| self.pass(key, level)),
        );
    }

    async fn pass(&self, key: AppKey, level: Level) {
        let began = Instant::now();
        let next = reconcile::reconcile(self, &key, level).await;
        self.metrics.passed(&key, began.elapsed());
        tracing::debug!(app = %key, ?level, took = ?began.elapsed(), ?next, "reconciled");
        if let Some((level, wait)) = next {
            self.queue.add_after(key, level, wait);
        }
    }

    /// The name an Application tracks its objects by.
    fn instance_name(&self, app: &Application) -> String {
        app.instance_name(&self.options.namespace)
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn last_poll(&self) -> Instant {
        *self.last_poll.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_poll(&self) -> Instant {
        let now = Instant::now();
        *self.last_poll.write().unwrap_or_else(PoisonError::into_inner) = now;
        now
    }
}
