//! Keeps one watch per kind, for the kinds that there are.
//!
//! One task owns all watches. It asks again what the server serves when a CRD
//! or an APIService changes, when a watch is told that its kind does not exist,
//! when a writer meets a kind it does not know, and once a minute anyway; then
//! it starts and stops watches by the difference.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::time::Instant as StdInstant;

use object::GroupKind;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::changes::Change;
use crate::client::Selector;
use crate::cluster::Shared;
use crate::discovery;
use crate::exclusions::Exclusions;
use crate::kinds::ApiKind;
use crate::refusal::RequestError;
use crate::sighting::Sighting;
use crate::store::{Store, WatchId};
use crate::watch::{RawEvent, Scope, Watch};

/// After a change of CRDs or APIServices the server needs a moment to serve what they say:
/// besides the look at once, these follow. Each costs it a comparison of hashes.
const LOOKS_AFTER: [Duration; 3] =
    [Duration::from_millis(150), Duration::from_millis(600), Duration::from_secs(3)];
/// A look without any reason.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);

/// How much of a cluster is watched.
pub(crate) struct Reach {
    /// Only these namespaces; everything if absent.
    pub(crate) namespaces: Option<Vec<String>>,
    /// Cluster-scoped kinds even so.
    pub(crate) cluster_resources: bool,
}

pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    reach: Reach,
    exclusions: Exclusions,
    watches: BTreeMap<(GroupKind, Scope), Running>,
    tasks: JoinSet<()>,
}

struct Running {
    kind: Arc<ApiKind>,
    id: WatchId,
    task: AbortHandle,
}

/// When to look again. Every reason to look begins anew: of several changes in a
/// row the last one, too, has all the looks that follow a change.
struct Looks {
    reason: Instant,
    ahead: std::array::IntoIter<Duration, 3>,
}

impl Looks {
    fn after(reason: Instant) -> Self {
        Self { reason, ahead: LOOKS_AFTER.into_iter() }
    }

    fn next(&mut self, now: Instant) -> Instant {
        self.ahead.next().map_or(now + LOOK_ANYWAY, |after| self.reason + after)
    }
}

impl Supervisor {
    pub(crate) fn new(shared: Arc<Shared>, reach: Reach, exclusions: Exclusions) -> Self {
        Self { shared, reach, exclusions, watches: BTreeMap::new(), tasks: JoinSet::new() }
    }

    /// Looks for kinds until it is dropped.
    pub(crate) async fn run(mut self) {
        let mut asked = self.shared.asked.subscribe();
        let mut looks = Looks::after(Instant::now());
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(looks.next(Instant::now())) => {}
                // Nobody else sends on our own channel's behalf: an error cannot happen while we hold it.
                _ = asked.changed() => looks = Looks::after(Instant::now()),
                () = self.shared.attention.turned() => {
                    self.shared.rest();
                    self.watch_what_is_served();
                    continue;
                }
            }
            let number = *asked.borrow_and_update();
            self.look().await;
            self.shared.answered.send_replace(number);
        }
    }

    async fn look(&mut self) {
        let last = self.shared.discovered();
        let discovered = discovery::discover(&self.shared.client, &last).await;
        self.shared.note_touch(discovered.as_ref().err().map(RequestError::in_one_line));
        match discovered {
            Ok(Some(discovered)) if discovered.kinds != last.kinds => {
                self.shared.set_discovered(discovered);
                self.watch_what_is_served();
            }
            Ok(Some(same)) => self.shared.set_discovered(same),
            Ok(None) => {}
            Err(error) => tracing::debug!(error = error.in_one_line(), "could not discover"),
        }
        // Tasks that were stopped.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Starts and stops watches until there is one for each kind in each scope, or none while the cluster rests.
    pub(crate) fn watch_what_is_served(&mut self) {
        // One that wakes up from here on has no watches yet, and is seen to by the next turn.
        let is_awake = !self.shared.attention.is_resting();
        let wanted = if is_awake { self.wanted() } else { BTreeMap::new() };
        let stale: Vec<_> = self
            .watches
            .iter()
            .filter(|(place, running)| wanted.get(place) != Some(&running.kind))
            .map(|(place, _)| place.clone())
            .collect();
        for place in stale {
            let running = self.watches.remove(&place).expect("was just found");
            running.task.abort();
            self.shared.update(|store| store.stop_watch(running.id));
        }
        for (place, kind) in wanted {
            if !self.watches.contains_key(&place) {
                self.start_watch(place, kind);
            }
        }
        if self.watches.is_empty() {
            self.shared.update(Store::give_back);
        }
        if is_awake {
            self.shared.attention.begun();
            self.shared.note_settled();
        }
    }

    fn start_watch(&mut self, place: (GroupKind, Scope), kind: Arc<ApiKind>) {
        let mut id = None;
        self.shared.update(|store| {
            id = Some(store.start_watch(&place.0, place.1.clone()));
            vec![Change::Kind { kind: place.0.clone() }]
        });
        let id = id.expect("the store was asked just now");
        let events = self.shared.events.of(&place.0);
        let feed = Feed { shared: Arc::clone(&self.shared), kind: Arc::clone(&kind), id, events };
        let task = self.tasks.spawn(feed.run(place.1.clone()));
        self.watches.insert(place, Running { kind, id, task });
    }

    fn wanted(&self) -> BTreeMap<(GroupKind, Scope), Arc<ApiKind>> {
        let kinds = self.shared.kinds();
        let watchable = kinds
            .iter()
            .filter(|it| it.is_watchable() && !self.exclusions.excludes(&it.group_kind()));
        watchable.flat_map(|kind| self.places(kind)).collect()
    }

    fn places(&self, kind: &Arc<ApiKind>) -> Vec<((GroupKind, Scope), Arc<ApiKind>)> {
        let scopes = match &self.reach.namespaces {
            None => vec![Scope::Everywhere],
            Some(namespaces) if kind.namespaced => {
                namespaces.iter().cloned().map(Scope::Namespace).collect()
            }
            Some(_) if self.reach.cluster_resources => vec![Scope::Everywhere],
            Some(_) => Vec::new(),
        };
        scopes.into_iter().map(|scope| ((kind.group_kind(), scope), Arc::clone(kind))).collect()
    }
}

/// One watch, feeding the store.
struct Feed {
    shared: Arc<Shared>,
    kind: Arc<ApiKind>,
    id: WatchId,
    events: Arc<AtomicU64>,
}

impl Feed {
    async fn run(self, scope: Scope) {
        let client = self.shared.client.clone();
        let random = self.shared.random.clone();
        let kind = ApiKind::clone(&self.kind);
        let mut watch = Watch::new(client, kind, scope.clone(), Selector::everything(), random);
        let mut is_left_alone = false;
        loop {
            match watch.next().await {
                RawEvent::Interrupted { is_forbidden: true, why, .. }
                    if self.shared.leaves_forbidden_alone =>
                {
                    if !is_left_alone {
                        self.leave_alone(&why);
                    }
                    is_left_alone = true;
                }
                // It is asked for all the same, ever more rarely: somebody may permit it.
                RawEvent::Interrupted { .. } if is_left_alone => {}
                RawEvent::Restarted if is_left_alone => {
                    self.take_up(scope.clone());
                    is_left_alone = false;
                    self.tell(RawEvent::Restarted);
                }
                event => self.tell(event),
            }
        }
    }

    /// As if the kind were not watched at all: what an application names of it is asked for by name.
    fn leave_alone(&self, why: &str) {
        tracing::info!(kind = %self.kind.group_kind(), why, "not ours to watch");
        self.shared.update(|store| store.stop_watch(self.id));
        self.shared.note_settled();
    }

    /// The kind was forbidden, and is no more.
    fn take_up(&self, scope: Scope) {
        let kind = self.kind.group_kind();
        tracing::info!(%kind, "ours to watch from now on");
        self.shared.update(|store| {
            store.begin_watch(self.id, &kind, scope);
            vec![Change::Kind { kind }]
        });
    }

    fn tell(&self, event: RawEvent) {
        let id = self.id;
        match event {
            RawEvent::Restarted => self.shared.update(|store| {
                store.restarted(id);
                Vec::new()
            }),
            RawEvent::Applied(bytes) => {
                if let Some(seen) = self.read(&bytes) {
                    self.shared.update(|store| store.applied(id, seen));
                }
                self.look_if_kinds_changed();
            }
            RawEvent::Deleted(bytes) => {
                if let Some(seen) = self.read(&bytes) {
                    self.shared.update(|store| store.deleted(id, &seen));
                }
                self.look_if_kinds_changed();
            }
            RawEvent::Synced(version) => {
                let version = version.parse().unwrap_or(0);
                self.shared.update(|store| store.synced(id, version, StdInstant::now()));
                self.shared.note_settled();
            }
            RawEvent::Interrupted { why, kind_is_gone, unheard, .. } => {
                self.interrupted(why, kind_is_gone, unheard);
            }
        }
    }

    fn read(&self, bytes: &[u8]) -> Option<Sighting> {
        self.events.fetch_add(1, Ordering::Relaxed);
        match Sighting::read(&self.kind, bytes, &self.shared.lens) {
            Ok(seen) => Some(seen),
            Err(error) => {
                tracing::warn!(%error, kind = %self.kind.group_kind(), "could not read an object");
                None
            }
        }
    }

    fn interrupted(&self, why: String, kind_is_gone: bool, unheard: Duration) {
        let mut is_news = false;
        let now = StdInstant::now();
        let since = now.checked_sub(unheard).unwrap_or(now);
        self.shared.update(|store| {
            is_news = store.interrupted(self.id, why, since);
            Vec::new()
        });
        self.shared.note_settled();
        if kind_is_gone {
            self.shared.want_kinds();
        }
        if is_news {
            self.tell_after(self.shared.grace.saturating_sub(unheard));
        }
    }

    /// Whoever relies on this kind looks again when the grace is over.
    fn tell_after(&self, rest_of_grace: Duration) {
        let (shared, kind) = (Arc::downgrade(&self.shared), self.kind.group_kind());
        tokio::spawn(async move {
            tokio::time::sleep(rest_of_grace).await;
            if let Some(shared) = shared.upgrade() {
                shared.tell(Change::Kind { kind });
            }
        });
    }

    fn look_if_kinds_changed(&self) {
        let tells_of_kinds = matches!(
            (self.kind.group.as_str(), self.kind.kind.as_str()),
            ("apiextensions.k8s.io", "CustomResourceDefinition")
                | ("apiregistration.k8s.io", "APIService")
        );
        if tells_of_kinds {
            self.shared.want_kinds();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_to_look_has_all_its_looks_however_shortly_it_follows_another() {
        let first = Instant::now();
        let mut looks = Looks::after(first);
        assert_eq!(looks.next(first), first + LOOKS_AFTER[0]);
        assert_eq!(looks.next(first), first + LOOKS_AFTER[1]);

        let second = first + Duration::from_millis(200);
        let mut looks = Looks::after(second);
        let ahead: Vec<Instant> = (0..4).map(|_| looks.next(second)).collect();
        assert_eq!(ahead[..3], LOOKS_AFTER.map(|after| second + after));
        assert_eq!(ahead[3], second + LOOK_ANYWAY);
    }
}
