//! The objects themselves, packed: a slab of small entries and the indexes that find them.
//!
//! An index holds slot numbers, never copies of names: an object that nobody
//! tracks costs about two hundred bytes, its name and its uid included.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher as _, Hash};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use object::{GroupKind, ResourceKey};

use crate::field_sets::WishCount;
use crate::packing::Body;
use crate::sighting::{Sighting, Uid};

/// Where an entry is.
pub(super) type Slot = u32;
/// A kind, as a small number.
pub(super) type KindId = u16;

/// One object.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: KindId,
    namespace: u32,
    /// The list in which it was last seen.
    pub(super) epoch: u32,
    /// The list during which we wrote it; the watch may not have told of it yet.
    pub(super) written: u32,
    name: Box<str>,
    pub(super) uid: Uid,
    pub(super) version: u64,
    pub(super) generation: i64,
    pub(super) deleting: bool,
    pub(super) owners: Box<[Uid]>,
    pub(super) application: Option<Arc<str>>,
    pub(super) body: Option<Body>,
    /// How many wishes for field sets the body fulfils.
    pub(super) wishes: WishCount,
    /// What a Pod runs.
    pub(super) images: Box<[Box<str>]>,
}

impl Entry {
    /// Is `seen` the same object of the same application, below the same owners, and the same in all that is kept of
    /// one that nobody tracks?
    pub(super) fn stays_in_place(&self, seen: &Sighting) -> bool {
        self.uid == seen.uid
            && self.deleting == seen.deleting
            && *self.owners == *seen.owners
            && self.application.as_deref() == seen.application.as_deref()
            && self.images == seen.images
    }
}

#[derive(Default)]
pub(super) struct Objects {
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    kinds: Names<GroupKind>,
    namespaces: Names<Arc<str>>,
    hasher: DefaultHashBuilder,
    by_name: HashTable<Slot>,
    by_uid: HashTable<Slot>,
    children: HashMap<Uid, Vec<Slot>>,
    by_application: BTreeMap<Arc<str>, BTreeSet<Slot>>,
}

impl Objects {
    pub(super) fn kind_id(&mut self, kind: &GroupKind) -> KindId {
        KindId::try_from(self.kinds.id(kind, GroupKind::clone)).expect("no server has 65536 kinds")
    }

    pub(super) fn known_kind(&self, kind: &GroupKind) -> Option<KindId> {
        self.kinds.ids.get(kind).and_then(|id| KindId::try_from(*id).ok())
    }

    pub(super) fn get(&self, slot: Slot) -> &Entry {
        self.entries[slot as usize].as_ref().expect("an index points to an entry")
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Entry {
        self.entries[slot as usize].as_mut().expect("an index points to an entry")
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn find(&self, kind: KindId, namespace: &str, name: &str) -> Option<Slot> {
        let namespace = *self.namespaces.ids.get(namespace)?;
        let hash = self.hasher.hash_one((kind, namespace, name));
        let is_it = |slot: &Slot| {
            let entry = self.get(*slot);
            (entry.kind, entry.namespace, &*entry.name) == (kind, namespace, name)
        };
        self.by_name.find(hash, is_it).copied()
    }

    pub(super) fn find_key(&self, key: &ResourceKey) -> Option<Slot> {
        self.find(self.known_kind(&key.group_kind())?, &key.namespace, &key.name)
    }

    pub(super) fn find_uid(&self, uid: &Uid) -> Option<Slot> {
        let hash = self.hasher.hash_one(uid);
        self.by_uid.find(hash, |slot| self.get(*slot).uid == *uid).copied()
    }

    pub(super) fn key(&self, slot: Slot) -> ResourceKey {
        let entry = self.get(slot);
        let kind = &self.kinds.values[entry.kind as usize];
        ResourceKey::new(kind, self.namespace(slot), &*entry.name)
    }

    pub(super) fn namespace(&self, slot: Slot) -> &str {
        &self.namespaces.values[self.get(slot).namespace as usize]
    }

    pub(super) fn of_kind(&self, kind: KindId) -> impl Iterator<Item = Slot> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(move |(slot, entry)| {
            let slot = Slot::try_from(slot).expect("slots are counted in 32 bits");
            entry.as_ref().filter(|it| it.kind == kind).map(|_| slot)
        })
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = Slot> {
        let namespace = self.namespaces.ids.get(namespace).copied();
        let entries = self.entries.iter().enumerate();
        entries.filter_map(move |(slot, entry)| {
            let slot = Slot::try_from(slot).expect("slots are counted in 32 bits");
            entry.as_ref().filter(|it| Some(it.namespace) == namespace).map(|_| slot)
        })
    }

    pub(super) fn of_application(&self, application: &str) -> impl Iterator<Item = Slot> {
        self.by_application.get(application).into_iter().flatten().copied()
    }

    pub(super) fn children(&self, uid: &Uid) -> &[Slot] {
        self.children.get(uid).map_or(&[], Vec::as_slice)
    }

    /// Adds an object that is not there yet.
    pub(super) fn insert(&mut self, kind: KindId, seen: Sighting) -> Slot {
        let namespace = self.namespaces.id(seen.namespace.as_str(), |it| it.into());
        let entry = Entry {
            kind,
            namespace,
            epoch: 0,
            written: 0,
            name: seen.name.into(),
            uid: seen.uid,
            version: seen.version,
            generation: seen.generation,
            deleting: seen.deleting,
            owners: seen.owners.into(),
            application: seen.application.map(|it| self.application(&it)),
            body: seen.body,
            wishes: seen.wishes,
            images: seen.images,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            Slot::try_from(self.entries.len() - 1).expect("slots are counted in 32 bits")
        });
        let hash = self.hasher.hash_one((kind, namespace, &*entry.name));
        self.entries[slot as usize] = Some(entry);
        let Self { entries, hasher, by_name, .. } = self;
        by_name.insert_unique(hash, slot, |slot| {
            let entry = entries[*slot as usize].as_ref().expect("an index points to an entry");
            hasher.hash_one((entry.kind, entry.namespace, &*entry.name))
        });
        self.link(slot);
        slot
    }

    /// Replaces what is known of an object.
    pub(super) fn update(&mut self, slot: Slot, seen: Sighting) {
        self.unlink(slot);
        let application = seen.application.map(|it| self.application(&it));
        let entry = self.get_mut(slot);
        entry.uid = seen.uid;
        entry.version = seen.version;
        entry.generation = seen.generation;
        entry.deleting = seen.deleting;
        entry.owners = seen.owners.into();
        entry.application = application;
        entry.body = seen.body;
        entry.wishes = seen.wishes;
        entry.images = seen.images;
        self.link(slot);
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        self.unlink(slot);
        let entry = self.entries[slot as usize].take().expect("an index points to an entry");
        let hash = self.hasher.hash_one((entry.kind, entry.namespace, &*entry.name));
        if let Ok(found) = self.by_name.find_entry(hash, |it| *it == slot) {
            found.remove();
        }
        self.free.push(slot);
    }

    /// One shared copy of each application's name.
    fn application(&self, name: &str) -> Arc<str> {
        self.by_application
            .get_key_value(name)
            .map_or_else(|| name.into(), |(it, _)| Arc::clone(it))
    }

    /// Enters a slot into the indexes that follow from its content.
    fn link(&mut self, slot: Slot) {
        let Self { entries, hasher, by_uid, children, by_application, .. } = self;
        let at = |slot: Slot| entries[slot as usize].as_ref().expect("an index points to an entry");
        let entry = at(slot);
        if entry.uid != Uid::Absent {
            let hash = hasher.hash_one(&entry.uid);
            by_uid.insert_unique(hash, slot, |slot| hasher.hash_one(&at(*slot).uid));
        }
        for owner in &entry.owners {
            children.entry(owner.clone()).or_default().push(slot);
        }
        if let Some(application) = &entry.application {
            by_application.entry(Arc::clone(application)).or_default().insert(slot);
        }
    }

    fn unlink(&mut self, slot: Slot) {
        let Self { entries, hasher, by_uid, children, by_application, .. } = self;
        let entry = entries[slot as usize].as_ref().expect("an index points to an entry");
        let hash = hasher.hash_one(&entry.uid);
        if let Ok(found) = by_uid.find_entry(hash, |it| *it == slot) {
            found.remove();
        }
        for owner in &entry.owners {
            if let Some(siblings) = children.get_mut(owner) {
                siblings.retain(|it| *it != slot);
                if siblings.is_empty() {
                    children.remove(owner);
                }
            }
        }
        if let Some(application) = &entry.application
            && let Some(slots) = by_application.get_mut(application)
        {
            slots.remove(&slot);
            if slots.is_empty() {
                by_application.remove(application);
            }
        }
    }
}

/// Values as small numbers.
struct Names<T> {
    values: Vec<T>,
    ids: HashMap<T, u32>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { values: Vec::new(), ids: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Names<T> {
    fn id<Q>(&mut self, value: &Q, owned: impl FnOnce(&Q) -> T) -> u32
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let id = u32::try_from(self.values.len()).expect("names are counted in 32 bits");
        let value = owned(value);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }
}
