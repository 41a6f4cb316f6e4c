//! The application controller: keeps what is live as git wants it.
//!
//! Read `reconcile.rs` first: one pass over one Application. `operate.rs`
//! carries a sync out, `look.rs` gathers both sides. Everything interesting is
//! decided in the `engine` crate; this one watches, queues, asks and writes.
//! `state.rs` is what readers in the same process may ask.

mod acting;
mod apps;
mod cascade;
mod cluster_labels;
mod clusters;
mod deletion_hooks;
mod destinations;
mod dry_runs;
mod events;
mod grace;
mod health;
mod healths;
mod leases;
mod level;
mod look;
mod metrics;
mod noise;
mod operate;
mod orphans;
mod perform;
mod poll;
mod ports;
mod projects;
mod publish;
mod reconcile;
mod report;
mod settings;
mod state;
mod status_writer;
mod tenure;
mod terms;
mod tree;
mod tried;
mod versions;
mod watch;
mod watchdog;
mod why;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use ::settings::SettingsStore;
use api::{AppKey, Application};
use cluster::{Client, Cluster, Randomness};
use engine::Finding;
use futures::FutureExt as _;
use gocompat::glob::list::{self, Mode};
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use runtime::{OneCopy, Queue, SPANS, Shutdown};
use tokio::sync::{Semaphore, watch as signal};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

pub use crate::settings::{Overrides, Settings, tracking};
pub use destinations::{Destination, DestinationError};
pub use engine::{Explanation, HealBackoff};
pub use events::EventOptions;
pub use leases::{ReplicaOptions, are_in_use as leases_are_in_use};
pub use metrics::{MetricsOptions, Traffic};
pub use poll::PollOptions;
pub use ports::{Freshness, RefSource, RenderRequest, Rendered, Since, SourceError, Sources};
pub use publish::Publishing;
pub use state::{ManagedResource, State};

use apps::Apps;
use destinations::Destinations;
use dry_runs::DryRuns;
use events::Events;
use grace::Grace;
use healths::Healths;
use leases::Membership;
use level::Level;
use metrics::{Asked, Metrics};
use projects::{Permit, Projects};
use publish::Publisher;
use status_writer::StatusWriter;
use tenure::Tenure;
use tree::Bodies;
use versions::OtherVersions;
use watchdog::Watchdog;

/// What hung may hang again; others come first.
const HUNG_RETRY: Duration = Duration::from_secs(10);

/// How a controller works.
#[derive(Clone)]
pub struct Options {
    /// Where settings, projects and, unless said otherwise, Applications are.
    pub namespace: String,
    /// Other namespaces that may hold Applications: names, globs, or regular
    /// expressions between slashes (`--application-namespaces`).
    pub application_namespaces: Vec<String>,
    /// Applications looked at at the same time (`--status-processors`).
    pub workers: usize,
    /// Applications operated on at the same time (`--operation-processors`).
    pub operators: usize,
    /// How long a sync rests after each wave but the last (`ARGOCD_SYNC_WAVE_DELAY`).
    pub wave_delay: Duration,
    /// Objects written at the same time, per Application (`--kubectl-parallelism-limit`).
    pub parallel_writes: usize,
    /// How long to wait between attempts to heal (`--self-heal-backoff-…`).
    pub heal_backoff: HealBackoff,
    /// The longest a sync may take (`--sync-timeout`).
    pub sync_timeout: Option<Duration>,
    /// For how long an operation waits for a cluster that is out of sight.
    pub cluster_patience: Duration,
    /// How often repositories are asked.
    pub poll: PollOptions,
    /// How the clusters are divided among replicas; none who runs alone.
    pub replica: Option<ReplicaOptions>,
    /// What flags say instead of the settings.
    pub overrides: Overrides,
    /// Which events are written.
    pub events: EventOptions,
    /// What the metrics tell beyond the usual.
    pub metrics: MetricsOptions,
    /// The source of jitter.
    pub random: Randomness,
}

/// Whom the controller talks to.
pub struct Ports {
    /// Where manifests come from.
    pub sources: Arc<dyn Sources>,
    /// The cluster that holds the Applications.
    pub control_plane: Client,
    /// The same cluster, watched with [`Settings::store_options`], as the destination `in-cluster`.
    pub cluster: Cluster,
    /// What the installation is told; somebody else follows it.
    pub settings: Arc<SettingsStore>,
    /// Where readers in other processes are told, if there is Redis.
    pub publishing: Option<Publishing>,
    /// The Applications that others in this process hold too.
    pub copies: Arc<OneCopy<AppKey, Application>>,
}

/// See the module's comment. Shared by all its tasks.
pub struct Controller {
    options: Options,
    sources: Arc<dyn Sources>,
    control_plane: Client,
    apps: Arc<Apps>,
    queue: Queue<AppKey, Level>,
    tenure: Arc<Tenure>,
    membership: Membership,
    status_writer: StatusWriter,
    all_settings: Arc<SettingsStore>,
    settings: signal::Sender<Arc<Settings>>,
    destinations: Arc<Destinations>,
    projects: Projects,
    bodies: Bodies,
    dry_runs: DryRuns,
    other_versions: OtherVersions,
    grace: Grace,
    healths: Healths,
    publisher: Publisher,
    events: Events,
    metrics: Metrics,
    watchdog: Watchdog,
    /// Who may operate.
    operators: Semaphore,
    last_poll: RwLock<Instant>,
}

impl Controller {
    /// A controller that has not started, with its metrics in `registry`.
    #[must_use]
    pub fn new(options: Options, ports: Ports, registry: &mut Registry) -> Self {
        let Ports { sources, control_plane, cluster, settings, publishing, copies } = ports;
        let apps = Arc::new(Apps::new(copies));
        let queue = Queue::new();
        let destinations = Arc::new(Destinations::in_cluster(cluster));
        let tenure = Arc::new(leases::tenure(options.replica.as_ref()));
        Self {
            status_writer: StatusWriter::new(
                control_plane.clone(),
                Arc::clone(&apps),
                tenure.is_shared(),
            ),
            metrics: Metrics::register(
                registry,
                &options.metrics,
                Asked {
                    apps: Arc::clone(&apps),
                    queue: queue.clone(),
                    destinations: Arc::clone(&destinations),
                    tenure: Arc::clone(&tenure),
                    settings: Arc::clone(&settings),
                },
            ),
            tenure,
            membership: Membership::default(),
            settings: signal::Sender::new(Arc::new(Settings::overridden(
                &settings.current(),
                &options.overrides,
            ))),
            all_settings: settings,
            destinations,
            projects: Projects::new(),
            bodies: Bodies::default(),
            dry_runs: DryRuns::default(),
            other_versions: OtherVersions::default(),
            grace: Grace::default(),
            healths: Healths::default(),
            publisher: Publisher::new(publishing),
            events: Events::new(options.events.clone()),
            watchdog: Watchdog::default(),
            operators: Semaphore::new(options.operators.min(Semaphore::MAX_PERMITS)),
            last_poll: RwLock::new(Instant::now()),
            options,
            sources,
            control_plane,
            apps,
            queue,
        }
    }

    /// Works until shutdown; what is under way is finished.
    pub async fn run(self: Arc<Self>, shutdown: &Shutdown) {
        tokio::join!(
            shutdown.or_end(self.events.write(&self.control_plane)),
            shutdown.or_end(watch::settings(&self)),
            shutdown.or_end(clusters::follow(&self)),
            shutdown.or_end(cluster_labels::keep(&self)),
            shutdown.or_end(watch::projects(&self)),
            shutdown.or_end(watch::applications(&self)),
            shutdown.or_end(watch::live_objects(&self)),
            shutdown.or_end(leases::take_part(&self)),
            shutdown.or_end(self.watchdog.run()),
            self.publisher.run(&self, shutdown),
            poll::poll(&self, shutdown),
            poll::look_hard(&self, shutdown),
            self.work(shutdown),
        );
        leases::leave(&self).await;
    }

    /// Looks at the Applications that ask for it, once their cluster has been seen.
    async fn work(self: &Arc<Self>, shutdown: &Shutdown) {
        let own = self.destinations.all();
        let ready = async {
            for destination in &own {
                destination.cluster.ready().await;
            }
        };
        if shutdown.or_end(ready).await.is_some() {
            drop(own);
            // A task of its own, so that passes have all cores, and watches do not wait for them.
            let pass = |key, level| {
                let own = Arc::clone(self);
                let pass =
                    AbortOnDropHandle::new(tokio::spawn(async move { own.pass(key, level).await }));
                async move {
                    if let Err(ended) = pass.await {
                        std::panic::resume_unwind(ended.into_panic());
                    }
                }
            };
            self.queue.work(self.options.workers, shutdown, pass).await;
        }
    }

    /// Have the projects and every kind of our own cluster been listed once?
    /// Before that an Application that comes has to wait.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.projects.are_listed() && self.destinations.all().iter().any(|it| it.cluster.is_ready())
    }

    async fn pass(&self, key: AppKey, level: Level) {
        self.projects.listed().await;
        let Some(app) = self.apps.get(&key) else { return };
        // Whoever has its cluster was asked too.
        let Some(turn) = self.tenure.begin(&self.looked_after_with(&app)) else { return };
        let began = Instant::now();
        let span = tracing::info_span!(target: SPANS, "controller.Refresh", app = %key, ?level);
        let work = reconcile::reconcile(self, &key, level).instrument(span).boxed();
        let work = self.watchdog.guard(&key, work).boxed();
        let Some(done) = turn.unless_lost(work).await else {
            tracing::info!(app = %key, "another replica goes on with it");
            return;
        };
        let next = done.unwrap_or(Some((level, HUNG_RETRY)));
        let server = self.apps.get(&key).map(|it| self.server_of(&it)).unwrap_or_default();
        self.metrics.passed(&key, &server, began.elapsed());
        tracing::debug!(app = %key, ?level, took = ?began.elapsed(), ?next, "reconciled");
        if let Some((level, wait)) = next {
            self.queue.add_after(key, level, wait);
        }
    }

    /// The name an Application tracks its objects by.
    fn instance_name(&self, app: &Application) -> String {
        app.instance_name(&self.options.namespace)
    }

    /// The address of the cluster that an Application deploys to, as far as it says.
    fn server_of(&self, app: &Application) -> String {
        let destination = &app.spec.destination;
        let found = self.destinations.find(destination);
        found.map_or_else(|_| destination.server.clone(), |it| it.server)
    }

    /// The cluster whose owner looks after an Application: its destination, or our
    /// own cluster where that is none we know.
    fn looked_after_with(&self, app: &Application) -> String {
        self.destinations.keeper_of(&app.spec.destination)
    }

    /// Is this replica the one that looks after the Application?
    fn is_ours(&self, app: &Application) -> bool {
        !self.tenure.is_shared() || self.tenure.has(&self.looked_after_with(app))
    }

    /// Does this replica keep watching a cluster?
    fn attends_to(&self, server: &str) -> bool {
        !self.tenure.is_shared() || self.tenure.clusters().contains(server)
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// May this namespace hold Applications?
    fn holds_applications(&self, namespace: &str) -> bool {
        let Options { namespace: own, application_namespaces, .. } = &self.options;
        namespace == own || list::contains(application_namespaces, namespace, Mode::Regexp)
    }

    /// The labels of the events about an Application.
    fn labels_of_events(&self, app: &Application) -> BTreeMap<String, String> {
        let project = self.projects.get(app.spec.project_name());
        let project = project.map(|it| it.metadata.labels.clone()).unwrap_or_default();
        self.settings().labels_of_events(&app.metadata.labels, &project)
    }

    fn looks_after_orphans(&self, app: &Application) -> bool {
        let project = self.projects.get(app.spec.project_name());
        project.is_some_and(|it| it.spec.orphaned_resources.is_some())
    }

    /// Is there an Application of this instance name?
    fn is_application(&self, instance: &str) -> bool {
        self.apps.get(&watch::app_key(self, instance)).is_some()
    }

    /// What the Application's project lets it do, or everything against it.
    fn permit(&self, app: &Application, destination: &Destination) -> Result<Permit, Vec<Finding>> {
        let globals = &self.settings().global_projects;
        let project = self.projects.with_inherited(app.spec.project_name(), globals);
        let all = self.destinations.all();
        Permit::ask(project, app, destination, &all, &self.options.namespace)
    }

    /// Something changed that concerns every Application.
    fn wake_everybody(&self) {
        for app in self.apps.all() {
            self.queue.add(app.key(), Level::Live);
        }
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
