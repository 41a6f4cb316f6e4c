//! What is known of one cluster, and how far it can be relied on.
//!
//! [`Store`] is a plain value fed with what watches tell and what our own
//! writes returned; it does no I/O and is told the time. Three rules make its
//! answers true:
//!
//! - a list replaces: what a finished list did not name is gone;
//! - a write of ours counts at once, unless the watch is already past it;
//! - a kind whose watch is interrupted is in doubt from then until its next
//!   list is complete, and [`Store::live`] says so.

mod objects;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use object::{GroupKind, Object, ResourceKey};

use crate::changes::{Change, Update};
use crate::field_sets::KeptFieldSets;
use crate::packing::Body;
use crate::sighting::{Sighting, Uid};
use crate::watch::Scope;
use objects::{Entry, KindId, Objects, Slot};

/// One watch that feeds the store. Events of a watch that was since replaced are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WatchId(u64);

/// How far what we know of a kind can be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Continuity {
    /// The first list is not complete.
    Starting,
    /// Listed once and watched without a gap ever since.
    Verified {
        /// For how long.
        lasting: Duration,
    },
    /// The watch is interrupted: there may be changes that we have not seen.
    Broken {
        /// For how long.
        lasting: Duration,
        /// What happened, in the words of whoever noticed last.
        why: String,
    },
}

/// A kind that a snapshot shows without proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    /// Which kind.
    pub kind: GroupKind,
    /// `Starting` or `Broken`.
    pub continuity: Continuity,
}

/// The live side of one application.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Everything the application tracks, and what is wanted and tracked by another.
    pub objects: BTreeMap<ResourceKey, LiveObject>,
    /// Keys whose body is not in the store, or not with all field sets wished for: untracked objects, kinds that are
    /// not watched, what was read before a wish. [`Cluster::fetch`](crate::Cluster::fetch) tells.
    pub unknown: BTreeSet<ResourceKey>,
    /// The kinds of the above that cannot be relied on. Empty means: this is how the cluster is.
    pub unverified: Vec<Unverified>,
}

/// One live object; a tree is made of it when someone looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveObject {
    pub(crate) body: Body,
    /// The version of this state.
    pub resource_version: String,
    /// The identity that outlives the name.
    pub uid: String,
    /// The application that tracks it.
    pub tracked_by: Option<Arc<str>>,
}

impl LiveObject {
    /// The object as a tree, without the field sets of other managers.
    #[must_use]
    pub fn object(&self) -> Object {
        let value = serde_json::from_slice(&self.body.unpack())
            .expect("was read as JSON before it was kept");
        Object::from_value(value).expect("has been given its apiVersion and kind")
    }
}

/// What the store knows of any object, tracked or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which object.
    pub key: ResourceKey,
    /// The identity that outlives the name.
    pub uid: String,
    /// The version of the state last seen.
    pub resource_version: String,
    /// The generation of the state last seen; 0 for kinds that do not count.
    pub generation: i64,
    /// Has its deletion begun?
    pub deleting: bool,
    /// The uids of its owners.
    pub owners: Vec<String>,
    /// The application that tracks it.
    pub tracked_by: Option<Arc<str>>,
}

#[derive(Default)]
pub(crate) struct Store {
    objects: Objects,
    watches: BTreeMap<WatchId, Watched>,
    /// Told as deleted by our own requests, and not yet by the watch.
    buried: HashSet<(WatchId, Uid)>,
    last_watch: u64,
}

struct Watched {
    kind: KindId,
    name: GroupKind,
    scope: Scope,
    /// Counts lists.
    epoch: u32,
    listing: bool,
    /// The watch has told everything up to here.
    told: u64,
    sight: Sight,
    /// Has the first list been completed, or failed?
    settled: bool,
}

enum Sight {
    Starting,
    Whole { since: Instant },
    Broken { since: Instant, why: String },
}

/// How far up a chain of owners a change is followed.
const OWNER_DEPTH: usize = 16;

impl Store {
    pub(crate) fn start_watch(&mut self, kind: &GroupKind, scope: Scope) -> WatchId {
        self.last_watch += 1;
        let id = WatchId(self.last_watch);
        self.begin_watch(id, kind, scope);
        id
    }

    /// Begins a watch that was stopped, or a new one.
    pub(crate) fn begin_watch(&mut self, id: WatchId, kind: &GroupKind, scope: Scope) {
        let watched = Watched {
            kind: self.objects.kind_id(kind),
            name: kind.clone(),
            scope,
            epoch: 0,
            listing: false,
            told: 0,
            sight: Sight::Starting,
            settled: false,
        };
        self.watches.insert(id, watched);
    }

    /// The kind is no longer served, or to be watched otherwise: its objects are no more, for us.
    pub(crate) fn stop_watch(&mut self, id: WatchId) -> Vec<Change> {
        let Some(watched) = self.watches.remove(&id) else { return Vec::new() };
        self.buried.retain(|(watch, _)| *watch != id);
        let mut changes = vec![Change::Kind { kind: watched.name.clone() }];
        for slot in self.slots_of(&watched) {
            self.forget(slot, &mut changes);
        }
        changes
    }

    /// Nothing is watched: what the store took for its objects is given back.
    pub(crate) fn give_back(&mut self) -> Vec<Change> {
        // Watches that were stopped may have a word left; no other gets their numbers.
        *self = Self { last_watch: self.last_watch, ..Self::default() };
        Vec::new()
    }

    pub(crate) fn restarted(&mut self, id: WatchId) {
        if let Some(watched) = self.watches.get_mut(&id) {
            watched.epoch += 1;
            watched.listing = true;
        }
    }

    pub(crate) fn applied(&mut self, id: WatchId, seen: Sighting) -> Vec<Change> {
        let Some(watched) = self.watches.get_mut(&id) else { return Vec::new() };
        let (kind, epoch) = (watched.kind, watched.epoch);
        if !watched.listing {
            watched.told = watched.told.max(seen.version);
        }
        if self.buried.contains(&(id, seen.uid.clone())) {
            return Vec::new();
        }
        let slot = self.objects.find(kind, &seen.namespace, &seen.name);
        let Some(slot) = slot else { return self.insert(kind, epoch, 0, seen) };
        let entry = self.objects.get_mut(slot);
        let ours_is_newer = entry.written == epoch && entry.version > seen.version;
        if ours_is_newer {
            return Vec::new();
        }
        entry.epoch = epoch;
        if entry.uid == seen.uid && entry.version == seen.version {
            return Vec::new();
        }
        self.update(slot, seen)
    }

    pub(crate) fn deleted(&mut self, id: WatchId, seen: &Sighting) -> Vec<Change> {
        let Some(watched) = self.watches.get_mut(&id) else { return Vec::new() };
        if !watched.listing {
            watched.told = watched.told.max(seen.version);
        }
        let (kind, epoch) = (watched.kind, watched.epoch);
        self.buried.remove(&(id, seen.uid.clone()));
        let mut changes = Vec::new();
        if let Some(slot) = self.objects.find(kind, &seen.namespace, &seen.name) {
            let entry = self.objects.get(slot);
            let ours_is_newer = entry.written == epoch && entry.version > seen.version;
            if !ours_is_newer {
                self.forget(slot, &mut changes);
            }
        }
        changes
    }

    /// The list is complete: it shows the kind as of `version`.
    pub(crate) fn synced(&mut self, id: WatchId, version: u64, now: Instant) -> Vec<Change> {
        let Some(watched) = self.watches.get_mut(&id) else { return Vec::new() };
        watched.listing = false;
        watched.told = version;
        watched.settled = true;
        watched.sight = Sight::Whole { since: now };
        let mut changes = vec![Change::Kind { kind: watched.name.clone() }];
        let epoch = watched.epoch;
        self.buried.retain(|(watch, _)| *watch != id);
        for slot in self.slots_of_watch(id) {
            let entry = self.objects.get(slot);
            let written_since = entry.written == epoch && entry.version > version;
            if entry.epoch != epoch && !written_since {
                self.forget(slot, &mut changes);
            }
        }
        changes
    }

    /// Returns whether this is news: the watch was whole, or had not begun.
    pub(crate) fn interrupted(&mut self, id: WatchId, why: String, now: Instant) -> bool {
        let Some(watched) = self.watches.get_mut(&id) else { return false };
        watched.settled = true;
        watched.listing = false;
        let (since, is_news) = match &watched.sight {
            Sight::Broken { since, .. } => (*since, false),
            Sight::Starting | Sight::Whole { .. } => (now, true),
        };
        watched.sight = Sight::Broken { since, why };
        is_news
    }

    /// A write of ours returned this state. The watch will tell of it, later.
    pub(crate) fn wrote(&mut self, kind: &GroupKind, seen: Sighting) -> Vec<Change> {
        let Some((_, watched)) = self.watch_of(kind, &seen.namespace) else { return Vec::new() };
        let (kind, epoch) = (watched.kind, watched.epoch);
        if seen.version <= watched.told {
            return Vec::new();
        }
        match self.objects.find(kind, &seen.namespace, &seen.name) {
            None => {
                // Not confirmed by the list that may be under way, hence the list before.
                self.insert(kind, epoch.wrapping_sub(1), epoch, seen)
            }
            Some(slot) => {
                let entry = self.objects.get_mut(slot);
                if entry.version >= seen.version {
                    return Vec::new();
                }
                entry.written = epoch;
                self.update(slot, seen)
            }
        }
    }

    /// Someone read a state that we know, perhaps with field sets that we do not have.
    pub(crate) fn read_again(&mut self, kind: &GroupKind, seen: &Sighting) {
        let Some(kind) = self.objects.known_kind(kind) else { return };
        let Some(slot) = self.objects.find(kind, &seen.namespace, &seen.name) else { return };
        let entry = self.objects.get_mut(slot);
        let is_known = (&entry.uid, entry.version) == (&seen.uid, seen.version);
        if is_known && entry.body.is_some() && entry.wishes < seen.wishes {
            entry.body.clone_from(&seen.body);
            entry.wishes = seen.wishes;
        }
    }

    /// A request of ours deleted the object for good. The watch will tell of it, later.
    pub(crate) fn buried(&mut self, key: &ResourceKey, uid: &str) -> Vec<Change> {
        let mut changes = Vec::new();
        let Some((id, _)) = self.watch_of(&key.group_kind(), &key.namespace) else {
            return changes;
        };
        let uid = Uid::parse(uid);
        if let Some(slot) = self.objects.find_key(key)
            && self.objects.get(slot).uid == uid
        {
            self.buried.insert((id, uid));
            self.forget(slot, &mut changes);
        }
        changes
    }

    /// Has every watch completed its first list, or failed to?
    pub(crate) fn is_settled(&self) -> bool {
        self.watches.values().all(|it| it.settled)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Memory only. Interruptions shorter than `grace` are not yet doubts.
    pub(crate) fn live(
        &self,
        application: &str,
        wanted: &[ResourceKey],
        kept: &KeptFieldSets,
        now: Instant,
        grace: Duration,
    ) -> Live {
        let mut live = Live::default();
        for slot in self.objects.of_application(application) {
            self.show(slot, kept, &mut live);
        }
        for key in wanted {
            match self.objects.find_key(key) {
                Some(slot) => self.show(slot, kept, &mut live),
                None if self.watch_of(&key.group_kind(), &key.namespace).is_none() => {
                    live.unknown.insert(key.clone());
                }
                None => {}
            }
        }
        let shown = live.objects.keys().chain(&live.unknown).map(ResourceKey::group_kind);
        let kinds: BTreeSet<GroupKind> =
            shown.chain(wanted.iter().map(ResourceKey::group_kind)).collect();
        live.unverified = self.unverified(&kinds, now, grace);
        live
    }

    pub(crate) fn continuity(&self, now: Instant) -> BTreeMap<GroupKind, Continuity> {
        let mut worst: BTreeMap<GroupKind, Continuity> = BTreeMap::new();
        for watched in self.watches.values() {
            let continuity = watched.sight.continuity(now);
            let known = worst.entry(watched.name.clone()).or_insert_with(|| continuity.clone());
            if continuity.rank() > known.rank() {
                *known = continuity;
            }
        }
        worst
    }

    pub(crate) fn known(&self, key: &ResourceKey) -> Option<Known> {
        self.objects.find_key(key).map(|slot| self.describe(slot))
    }

    pub(crate) fn children(&self, uid: &str) -> Vec<Known> {
        let children = self.objects.children(&Uid::parse(uid)).iter();
        children.map(|slot| self.describe(*slot)).collect()
    }

    /// What the pods of an application run: those it tracks, and those below what it tracks.
    pub(crate) fn images(&self, application: &str) -> BTreeSet<String> {
        let mut images = BTreeSet::new();
        let mut met: BTreeSet<Slot> = self.objects.of_application(application).collect();
        let mut level: Vec<Slot> = met.iter().copied().collect();
        while !level.is_empty() {
            let entries = level.iter().map(|slot| self.objects.get(*slot));
            let names = entries.clone().flat_map(|it| it.images.iter());
            images.extend(names.map(|it| it.to_string()));
            let below = entries.flat_map(|it| self.objects.children(&it.uid)).copied();
            level = below.filter(|slot| met.insert(*slot)).collect();
        }
        images
    }

    /// Everything in one namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Known> {
        self.objects.in_namespace(namespace).map(|slot| self.describe(slot)).collect()
    }

    fn unverified(
        &self,
        kinds: &BTreeSet<GroupKind>,
        now: Instant,
        grace: Duration,
    ) -> Vec<Unverified> {
        if self.watches.values().all(|it| matches!(it.sight, Sight::Whole { .. })) {
            return Vec::new();
        }
        let of_these = self.continuity(now).into_iter().filter(|(kind, _)| kinds.contains(kind));
        let in_doubt = of_these.filter(|(_, continuity)| match continuity {
            Continuity::Verified { .. } => false,
            Continuity::Starting => true,
            Continuity::Broken { lasting, .. } => *lasting >= grace,
        });
        in_doubt.map(|(kind, continuity)| Unverified { kind, continuity }).collect()
    }

    fn show(&self, slot: Slot, kept: &KeptFieldSets, live: &mut Live) {
        let (key, entry) = (self.objects.key(slot), self.objects.get(slot));
        let is_complete = kept.are_complete(&key.group, &key.kind, entry.wishes);
        match entry.body.as_ref().filter(|_| is_complete) {
            Some(body) => {
                live.objects.insert(key, live_object(entry, body));
            }
            None => {
                live.unknown.insert(key);
            }
        }
    }

    fn describe(&self, slot: Slot) -> Known {
        let entry = self.objects.get(slot);
        Known {
            key: self.objects.key(slot),
            uid: entry.uid.to_string(),
            resource_version: entry.version.to_string(),
            generation: entry.generation,
            deleting: entry.deleting,
            owners: entry.owners.iter().map(Uid::to_string).collect(),
            tracked_by: entry.application.clone(),
        }
    }

    fn insert(&mut self, kind: KindId, epoch: u32, written: u32, seen: Sighting) -> Vec<Change> {
        let slot = self.objects.insert(kind, seen);
        let entry = self.objects.get_mut(slot);
        entry.epoch = epoch;
        entry.written = written;
        self.change(slot, None).into_iter().collect()
    }

    fn update(&mut self, slot: Slot, seen: Sighting) -> Vec<Change> {
        let concerned_before = self.change(slot, None);
        let entry = self.objects.get(slot);
        let stays = entry.stays_in_place(&seen);
        let before = entry.body.as_ref().map(|body| live_object(entry, body));
        self.objects.update(slot, seen);
        let entry = self.objects.get(slot);
        let after = entry.body.as_ref().map(|body| live_object(entry, body));
        let how = match (before, after) {
            (Some(before), Some(after)) => Some(Update::Body { before, after }),
            (None, None) => Some(Update::Unkept),
            _ => None,
        };
        let mut change = self.change(slot, concerned_before);
        if let Some(Change::Object { update, .. }) = &mut change {
            *update = how.filter(|_| stays).map(Box::new);
        }
        change.into_iter().collect()
    }

    fn forget(&mut self, slot: Slot, changes: &mut Vec<Change>) {
        changes.extend(self.change(slot, None));
        self.objects.remove(slot);
    }

    /// Whom a change of this object concerns, together with whom it concerned before; `None` for nobody.
    fn change(&self, slot: Slot, before: Option<Change>) -> Option<Change> {
        let (mut applications, mut tracked) = match before {
            Some(Change::Object { applications, tracked, .. }) => (applications, tracked),
            Some(Change::Kind { .. }) | None => (BTreeSet::new(), false),
        };
        tracked |= self.objects.get(slot).application.is_some();
        let mut level = vec![slot];
        for _ in 0..OWNER_DEPTH {
            applications.extend(
                level.iter().filter_map(|slot| self.objects.get(*slot).application.clone()),
            );
            level = level.iter().flat_map(|slot| self.owners(*slot)).collect();
            if level.is_empty() {
                break;
            }
        }
        let concerns_nobody = applications.is_empty();
        let key = || self.objects.key(slot);
        let change = || Change::Object { key: key(), applications, tracked, update: None };
        (!concerns_nobody).then(change)
    }

    fn owners(&self, slot: Slot) -> Vec<Slot> {
        let owners = self.objects.get(slot).owners.iter();
        owners.filter_map(|uid| self.objects.find_uid(uid)).collect()
    }

    fn watch_of(&self, kind: &GroupKind, namespace: &str) -> Option<(WatchId, &Watched)> {
        let kind = self.objects.known_kind(kind)?;
        let mut watches = self.watches.iter();
        watches
            .find(|(_, it)| it.kind == kind && it.scope.contains(namespace))
            .map(|(id, watched)| (*id, watched))
    }

    fn slots_of_watch(&self, id: WatchId) -> Vec<Slot> {
        self.watches.get(&id).map_or_else(Vec::new, |watched| self.slots_of(watched))
    }

    fn slots_of(&self, watched: &Watched) -> Vec<Slot> {
        let slots = self.objects.of_kind(watched.kind);
        slots.filter(|slot| watched.scope.contains(self.objects.namespace(*slot))).collect()
    }
}

fn live_object(entry: &Entry, body: &Body) -> LiveObject {
    LiveObject {
        body: body.clone(),
        resource_version: entry.version.to_string(),
        uid: entry.uid.to_string(),
        tracked_by: entry.application.clone(),
    }
}

impl Sight {
    fn continuity(&self, now: Instant) -> Continuity {
        let lasting = |since: &Instant| now.saturating_duration_since(*since);
        match self {
            Self::Starting => Continuity::Starting,
            Self::Whole { since } => Continuity::Verified { lasting: lasting(since) },
            Self::Broken { since, why } => {
                Continuity::Broken { lasting: lasting(since), why: why.clone() }
            }
        }
    }
}

impl Continuity {
    /// Of several watches of a kind the worst counts, and of two broken ones the longer broken.
    fn rank(&self) -> (u8, Duration) {
        match self {
            Self::Verified { .. } => (0, Duration::ZERO),
            Self::Broken { lasting, .. } => (1, *lasting),
            Self::Starting => (2, Duration::ZERO),
        }
    }
}

#[cfg(test)]
mod tests;
