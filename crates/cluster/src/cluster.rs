//! One cluster as we see it: a store of live objects that watches keep true.
//!
//! [`Cluster::start`] discovers the kinds, starts a watch for each and returns;
//! [`Cluster::ready`] waits for the first lists. Reading ([`Cluster::live`]) is
//! memory only. Writing is in [`crate::apply`] and [`crate::delete`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _};
use object::{GroupKind, GroupVersionKind, Object, ResourceKey};
use tokio::sync::watch as signal;
use tokio::task::AbortHandle;

use crate::access::Access;
use crate::ask::Ask;
use crate::attention::Attention;
use crate::changes::{Change, Changes, Subscribers};
use crate::client::{Client, ConnectError, ServerVersion};
use crate::discovery::{self, Discovered};
use crate::exclusions::Exclusions;
use crate::field_sets::FieldSetWish;
use crate::kinds::{ApiKind, Kinds};
use crate::refusal::RequestError;
use crate::sighting::{Lens, Sighting, Tracking, compact_body};
use crate::store::{Continuity, Known, Live, LiveObject, Store, Unverified};
use crate::supervisor::{Reach, Supervisor};
use crate::traffic::{EventCounts, Listener};
use crate::watch::backoff::Randomness;

/// How a cluster is watched.
#[derive(Clone)]
pub struct StoreOptions {
    /// Tells the application of an object.
    pub tracking: Arc<dyn Tracking>,
    /// Our field manager; its field sets are kept with the bodies.
    pub own_manager: String,
    /// Only these namespaces; `None` for everything.
    pub namespaces: Option<Vec<String>>,
    /// With namespaces: cluster-scoped kinds all the same.
    pub cluster_resources: bool,
    /// Kinds that are not watched.
    pub exclusions: Exclusions,
    /// Kinds that we may not list are not watched either, instead of being a trouble.
    pub leaves_forbidden_alone: bool,
    /// An interrupted watch that heals within this time is not worth a word. Counted from
    /// when the server was last heard of: no verdict is older than this and unproven.
    pub grace: Duration,
    /// Watched from the start; else once somebody [attends](Cluster::attended) to it.
    pub attended: bool,
    /// How long it is watched after the last one who attended has turned away.
    pub lingers: Duration,
    /// The source of jitter.
    pub random: Randomness,
}

impl StoreOptions {
    /// The usual: everything but what Argo CD leaves out, with `argocd-controller` as our manager.
    #[must_use]
    pub fn new(tracking: impl Tracking) -> Self {
        Self {
            tracking: Arc::new(tracking),
            own_manager: crate::FIELD_MANAGER.to_owned(),
            namespaces: None,
            cluster_resources: false,
            exclusions: Exclusions::as_shipped(),
            leaves_forbidden_alone: false,
            grace: Duration::from_secs(4),
            attended: true,
            lingers: Duration::from_secs(300),
            random: Randomness::of_this_process(),
        }
    }
}

/// One destination cluster. Cheap to clone; the watches end with the last clone, and a while after
/// the last clone that [attends](Self::attended) to it.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) shared: Arc<Shared>,
    attendant: Option<Arc<Attendant>>,
    /// Whose rights this clone writes with.
    client: Client,
    _watching: Arc<StopOnDrop>,
}

/// How it goes with a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterHealth {
    /// What the API server calls itself.
    pub version: ServerVersion,
    /// Is there a watch that works?
    pub is_reached: bool,
    /// What ails a watch, if one is interrupted.
    pub trouble: Option<String>,
    /// Kinds that are watched.
    pub kinds: usize,
    /// Objects that are known.
    pub objects: usize,
    /// How long ago the oldest of the lists still good was complete.
    pub listed_ago: Option<Duration>,
}

/// What the watches and the readers have in common.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) lens: Lens,
    pub(crate) grace: Duration,
    pub(crate) leaves_forbidden_alone: bool,
    pub(crate) random: Randomness,
    store: RwLock<Store>,
    discovered: RwLock<Arc<Discovered>>,
    subscribers: Subscribers,
    pub(crate) events: EventCounts,
    pub(crate) attention: Attention,
    /// What the last discovery failed with, if it did.
    lost_touch: RwLock<Option<String>>,
    /// Becomes true when every kind has been listed once, or has failed to be.
    settled: signal::Sender<bool>,
    /// Counts wishes to ask again what the server serves.
    pub(crate) asked: signal::Sender<u64>,
    /// Counts the answers.
    pub(crate) answered: signal::Sender<u64>,
}

/// Somebody who attends to a cluster.
struct Attendant(Arc<Shared>);

impl Attendant {
    fn of(shared: &Arc<Shared>) -> Arc<Self> {
        shared.attention.come(|| {
            shared.settled.send_replace(false);
        });
        Arc::new(Self(Arc::clone(shared)))
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.0.attention.go();
    }
}

struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How many objects [`Cluster::fetch`] asks for at a time.
const FETCHES_AT_ONCE: usize = 10;
/// How long [`Cluster::refreshed_kinds`] waits for a discovery.
const DISCOVERY_PATIENCE: Duration = Duration::from_secs(10);

/// What [`Cluster::fetch`] found: an object, nothing, or no answer.
pub type Fetched = BTreeMap<ResourceKey, Result<Option<LiveObject>, RequestError>>;

impl Cluster {
    /// Connects, discovers and starts to watch. The store fills in the background; see [`Self::ready`].
    ///
    /// # Errors
    /// When the server cannot be reached, refuses us, or does not tell what it serves.
    pub async fn start(access: &Access, options: StoreOptions) -> Result<Self, ConnectError> {
        let client = Client::connect(access).await?;
        Self::start_with(client, options).await
    }

    /// As [`Self::start`], on a connection that is there already.
    ///
    /// # Errors
    /// When the server does not tell what it serves.
    pub async fn start_with(client: Client, options: StoreOptions) -> Result<Self, ConnectError> {
        let discovered = discovery::discover(&client, &Discovered::default()).await;
        let discovered = discovered.map_err(|source| ConnectError::Discover {
            server: client.server().to_owned(),
            source,
        })?;
        let shared = Arc::new(Shared {
            client,
            lens: Lens::new(options.tracking, options.own_manager),
            grace: options.grace,
            leaves_forbidden_alone: options.leaves_forbidden_alone,
            random: options.random,
            store: RwLock::default(),
            discovered: RwLock::new(Arc::new(discovered.unwrap_or_default())),
            subscribers: Subscribers::new(),
            events: EventCounts::default(),
            attention: Attention::new(options.attended, options.lingers),
            lost_touch: RwLock::default(),
            settled: signal::Sender::new(!options.attended),
            asked: signal::Sender::new(0),
            answered: signal::Sender::new(0),
        });
        let reach =
            Reach { namespaces: options.namespaces, cluster_resources: options.cluster_resources };
        let attendant = options.attended.then(|| Attendant::of(&shared));
        let mut supervisor = Supervisor::new(Arc::clone(&shared), reach, options.exclusions);
        // Before we return, so that nobody sees a store without watches and takes it for an empty cluster.
        supervisor.watch_what_is_served();
        let task = tokio::spawn(supervisor.run());
        let client = shared.client.clone();
        let watching = Arc::new(StopOnDrop(task.abort_handle()));
        Ok(Self { shared, attendant, client, _watching: watching })
    }

    /// The same cluster, watched for as long as this clone or one of it lives. Where it
    /// was not, [`Self::ready`] waits for the first lists.
    #[must_use]
    pub fn attended(&self) -> Self {
        let attendant = || Attendant::of(&self.shared);
        let attendant = self.attendant.clone().unwrap_or_else(attendant);
        Self { attendant: Some(attendant), ..self.clone() }
    }

    /// The same cluster, watched only while others attend to it.
    #[must_use]
    pub fn unattended(&self) -> Self {
        Self { attendant: None, ..self.clone() }
    }

    /// Is nobody watching it? Then the store is empty, and says nothing about the cluster.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.shared.attention.is_resting()
    }

    /// Requests to this cluster that have nothing to do with the store.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The same cluster, seen with our own rights and written to with this user's;
    /// none where the name cannot be one.
    #[must_use]
    pub fn acting_as(&self, user: &str) -> Option<Self> {
        Some(Self { client: self.client.acting_as(user)?, ..self.clone() })
    }

    /// The same cluster; of every request of this clone the listener hears, too.
    #[must_use]
    pub fn heard_by(&self, listener: Arc<dyn Listener>) -> Self {
        Self { client: self.client.heard_by(listener), ..self.clone() }
    }

    /// What the API server serves, as last heard.
    #[must_use]
    pub fn kinds(&self) -> Arc<Kinds> {
        self.shared.kinds()
    }

    /// Asks the server again what it serves and returns the answer; the last one if it does not answer.
    pub async fn refreshed_kinds(&self) -> Arc<Kinds> {
        self.shared.ask_for_kinds().await;
        self.kinds()
    }

    /// Waits until every kind has been listed once, or has failed to be.
    pub async fn ready(&self) {
        let mut settled = self.shared.settled.subscribe();
        // The sender lives as long as we do.
        drop(settled.wait_for(|it| *it).await);
    }

    /// Has every kind been listed once, or failed to be?
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.shared.settled.borrow()
    }

    /// What the application tracks, and what is known of the keys it wants. Memory only.
    #[must_use]
    pub fn live(&self, application: &str, wanted: &[ResourceKey]) -> Live {
        let kept = self.shared.lens.field_sets.kept();
        let (attention, grace) = (&self.shared.attention, self.shared.grace);
        let was_watched = attention.is_watching();
        let mut live = self.shared.read().live(application, wanted, &kept, Instant::now(), grace);
        // A store that watches begin or cease to fill meanwhile proves nothing.
        if !was_watched || !attention.is_watching() {
            let kind = GroupKind::new("", "every object");
            live.unverified = vec![Unverified { kind, continuity: Continuity::Starting }];
        }
        live
    }

    /// From now on, objects come with these managers' field sets as well.
    pub fn keep_field_sets(&self, wishes: impl IntoIterator<Item = FieldSetWish>) {
        self.shared.lens.field_sets.wish(wishes);
    }

    /// What is known of one object, tracked or not. Memory only.
    #[must_use]
    pub fn known(&self, key: &ResourceKey) -> Option<Known> {
        self.shared.read().known(key)
    }

    /// Is there no such object, as far as an unbroken watch can tell? Memory only.
    pub(crate) fn lacks(&self, key: &ResourceKey) -> bool {
        let live = self.live("", std::slice::from_ref(key));
        live.objects.is_empty() && live.unknown.is_empty() && live.unverified.is_empty()
    }

    /// The objects that name this uid as an owner. Memory only.
    #[must_use]
    pub fn children(&self, uid: &str) -> Vec<Known> {
        self.shared.read().children(uid)
    }

    /// What the pods of an application run, be they tracked or owned by what is. Memory only.
    #[must_use]
    pub fn images(&self, application: &str) -> BTreeSet<String> {
        self.shared.read().images(application)
    }

    /// What is known of everything in one namespace. Memory only.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Known> {
        self.shared.read().in_namespace(namespace)
    }

    /// How far each watched kind can be relied on.
    #[must_use]
    pub fn continuity(&self) -> BTreeMap<GroupKind, Continuity> {
        self.shared.read().continuity(Instant::now())
    }

    /// How many objects the store knows.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.shared.read().len()
    }

    /// How it goes with this cluster: what a list of clusters shows. Memory only.
    #[must_use]
    pub fn health(&self) -> ClusterHealth {
        let kinds = self.continuity();
        let broken = kinds.values().find_map(|it| match it {
            Continuity::Broken { why, .. } => Some(why.clone()),
            Continuity::Starting | Continuity::Verified { .. } => None,
        });
        // Of a cluster that nobody watches the last discovery tells.
        let lost_touch = self.is_resting().then(|| self.shared.lost_touch());
        let is_reached = kinds.values().any(|it| matches!(it, Continuity::Verified { .. }))
            || lost_touch == Some(None);
        let verified_for = kinds.values().filter_map(|it| match it {
            Continuity::Verified { lasting } => Some(*lasting),
            Continuity::Starting | Continuity::Broken { .. } => None,
        });
        ClusterHealth {
            version: self.client().version().clone(),
            is_reached,
            trouble: broken.or(lost_touch.flatten()),
            kinds: kinds.len(),
            objects: self.object_count(),
            listed_ago: verified_for.max(),
        }
    }

    /// How many events the watches have told so far, by kind.
    #[must_use]
    pub fn events(&self) -> Vec<(GroupKind, u64)> {
        self.shared.events.all()
    }

    /// All changes from now on; see [`Changes`].
    #[must_use]
    pub fn changes(&self) -> Changes {
        self.shared.subscribers.subscribe()
    }

    /// Reads objects from the server, for those whose body the store does not keep.
    pub async fn fetch(&self, keys: impl IntoIterator<Item = ResourceKey>) -> Fetched {
        stream::iter(keys)
            .map(|key| async {
                let found = self.fetch_one(&key).await;
                (key, found)
            })
            .buffer_unordered(FETCHES_AT_ONCE)
            .collect()
            .await
    }

    /// Reads one object in the version asked for; `None` when it, or its kind, does not exist.
    ///
    /// # Errors
    /// When the server says no otherwise, or cannot be reached.
    pub async fn get(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        let Some(kind) = self.kinds().find(kind).cloned() else { return Ok(None) };
        self.client.get(&kind, namespace, name).await
    }

    async fn fetch_one(&self, key: &ResourceKey) -> Result<Option<LiveObject>, RequestError> {
        let Some(kind) = self.kinds().preferred(&key.group_kind()).cloned() else {
            return Ok(None);
        };
        let path = kind.object_path(&key.namespace, &key.name, None);
        let answer = match self.shared.client.ask(Ask::get(path)).await {
            Ok(answer) => answer,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let unreadable = |source: serde_json::Error| RequestError::Unreadable {
            request: format!("GET {key}"),
            source: source.into(),
        };
        let lens = &self.shared.lens;
        let seen = Sighting::read(&kind, &answer.body, lens).map_err(unreadable)?;
        self.shared.write().read_again(&kind.group_kind(), &seen);
        live_object(&kind, seen, &answer.body, lens).map(Some).map_err(unreadable)
    }
}

fn live_object(
    kind: &ApiKind,
    seen: Sighting,
    bytes: &[u8],
    lens: &Lens,
) -> serde_json::Result<LiveObject> {
    let body = match seen.body {
        Some(body) => body,
        None => compact_body(kind, bytes, lens)?,
    };
    Ok(LiveObject {
        body,
        resource_version: seen.version.to_string(),
        uid: seen.uid.to_string(),
        tracked_by: seen.application.map(Arc::from),
    })
}

impl Shared {
    /// A poisoned lock means a panic in a reader or in one event; what is stored is still whole.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the store and tells the subscribers.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Store) -> Vec<Change>) {
        let mut store = self.write();
        let changes = change(&mut store);
        // Before anybody can look: whoever sees a change has been told of it.
        self.subscribers.send(&changes);
    }

    pub(crate) fn tell(&self, change: Change) {
        self.subscribers.send(&[change]);
    }

    pub(crate) fn note_settled(&self) {
        let is_settled = || self.attention.is_watching() && self.read().is_settled();
        if !*self.settled.borrow() && is_settled() {
            self.settled.send_replace(true);
        }
    }

    /// Lets the cluster rest if nobody has attended to it for long enough.
    pub(crate) fn rest(&self) {
        self.attention.rest(|| {
            self.settled.send_replace(true);
        });
    }

    fn lost_touch(&self) -> Option<String> {
        self.lost_touch.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note_touch(&self, lost: Option<String>) {
        *self.lost_touch.write().unwrap_or_else(PoisonError::into_inner) = lost;
    }

    pub(crate) fn discovered(&self) -> Arc<Discovered> {
        Arc::clone(&self.discovered.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_discovered(&self, discovered: Discovered) {
        *self.discovered.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(discovered);
    }

    pub(crate) fn kinds(&self) -> Arc<Kinds> {
        Arc::clone(&self.discovered().kinds)
    }

    /// Wants a discovery, and waits for one that began after this call.
    pub(crate) async fn ask_for_kinds(&self) {
        let mut answered = self.answered.subscribe();
        let mut number = 0;
        self.asked.send_modify(|it| {
            *it += 1;
            number = *it;
        });
        let answer = answered.wait_for(|it| *it >= number);
        drop(tokio::time::timeout(DISCOVERY_PATIENCE, answer).await);
    }

    /// Wants a discovery some time soon.
    pub(crate) fn want_kinds(&self) {
        self.asked.send_modify(|it| *it += 1);
    }

    /// Takes over the state that a write returned.
    pub(crate) fn take_written(&self, kind: &ApiKind, bytes: &[u8]) {
        match Sighting::read(kind, bytes, &self.lens) {
            Ok(seen) => self.update(|store| store.wrote(&kind.group_kind(), seen)),
            // The watch will tell.
            Err(error) => {
                tracing::debug!(%error, kind = %kind.group_kind(), "could not read a written object");
            }
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("server", &self.shared.client.server())
            .finish_non_exhaustive()
    }
}
