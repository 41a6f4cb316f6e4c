//! Who is told what, and that nothing is lost.
//!
//! A subscriber has a set of changed keys, not a queue of events: a thousand
//! changes of one object are one entry, so a slow reader costs memory by the
//! objects that changed and not by the times they did, and never misses one.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use object::{GroupKind, ResourceKey};
use tokio::sync::Notify;

use crate::store::LiveObject;

/// Something that a reader of the store may want to look at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// An object of an application, or one below it by ownership, came, changed or went.
    Object {
        /// Which object.
        key: ResourceKey,
        /// The applications it concerns: those that track it now, those that did, those that track one of its owners.
        applications: BTreeSet<Arc<str>>,
        /// Is one of them its tracker now or before (and not only the tracker of an owner)?
        tracked: bool,
        /// How it changed, where it stayed and changed once; none where it came or went, where its owners, its
        /// application or its identity are others now, and where it changed again before anybody asked.
        update: Option<Box<Update>>,
    },
    /// What we know of a whole kind began to hold, ceased to hold, or the kind itself came or went.
    Kind {
        /// Which kind.
        kind: GroupKind,
    },
}

/// One change of an object that stayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Of one whose body is kept: two states that followed each other.
    Body {
        /// The state that was known.
        before: LiveObject,
        /// The state that is known now.
        after: LiveObject,
    },
    /// Of one that nobody tracks, in nothing that is kept of it.
    Unkept,
}

#[derive(Default)]
struct Pending {
    objects: BTreeMap<ResourceKey, PendingObject>,
    kinds: BTreeSet<GroupKind>,
}

struct PendingObject {
    applications: BTreeSet<Arc<str>>,
    tracked: bool,
    update: Option<Box<Update>>,
}

#[derive(Default)]
struct Mailbox {
    pending: Mutex<Pending>,
    filled: Notify,
}

/// The changes since they were last asked for. From [`Cluster::changes`](crate::Cluster::changes).
pub struct Changes {
    mailbox: Arc<Mailbox>,
    /// Gone when the cluster is.
    sender: Weak<()>,
}

impl Changes {
    /// Waits for changes and takes all there are; empty when the cluster was closed.
    pub async fn next(&mut self) -> Vec<Change> {
        loop {
            let filled = self.mailbox.filled.notified();
            let changes = self.mailbox.take();
            if !changes.is_empty() || self.sender.strong_count() == 0 {
                return changes;
            }
            filled.await;
        }
    }

    /// Takes what there is, without waiting.
    pub fn take(&mut self) -> Vec<Change> {
        self.mailbox.take()
    }
}

impl Mailbox {
    fn take(&self) -> Vec<Change> {
        let pending = {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *pending)
        };
        let kinds = pending.kinds.into_iter().map(|kind| Change::Kind { kind });
        let objects = pending.objects.into_iter().map(
            |(key, PendingObject { applications, tracked, update })| Change::Object {
                key,
                applications,
                tracked,
                update,
            },
        );
        kinds.chain(objects).collect()
    }
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Changes")
    }
}

/// Where changes are sent to.
pub(crate) struct Subscribers {
    mailboxes: Mutex<Vec<Weak<Mailbox>>>,
    alive: Arc<()>,
}

impl Subscribers {
    pub(crate) fn new() -> Self {
        Self { mailboxes: Mutex::default(), alive: Arc::new(()) }
    }

    pub(crate) fn subscribe(&self) -> Changes {
        let mailbox = Arc::new(Mailbox::default());
        let mut mailboxes = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        mailboxes.retain(|it| it.strong_count() > 0);
        mailboxes.push(Arc::downgrade(&mailbox));
        Changes { mailbox, sender: Arc::downgrade(&self.alive) }
    }

    pub(crate) fn send(&self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        for mailbox in self.mailboxes() {
            let mut pending = mailbox.pending.lock().unwrap_or_else(PoisonError::into_inner);
            for change in changes {
                pending.add(change.clone());
            }
            drop(pending);
            mailbox.filled.notify_one();
        }
    }

    fn mailboxes(&self) -> Vec<Arc<Mailbox>> {
        let mailboxes = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        mailboxes.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for Subscribers {
    fn drop(&mut self) {
        self.alive = Arc::new(());
        for mailbox in self.mailboxes() {
            mailbox.filled.notify_one();
        }
    }
}

impl Pending {
    fn add(&mut self, change: Change) {
        match change {
            Change::Kind { kind } => {
                self.kinds.insert(kind);
            }
            Change::Object { key, applications, tracked, update } => {
                match self.objects.entry(key) {
                    Entry::Vacant(entry) => {
                        entry.insert(PendingObject { applications, tracked, update });
                    }
                    Entry::Occupied(mut entry) => {
                        let known = entry.get_mut();
                        known.applications.extend(applications);
                        known.tracked |= tracked;
                        // There and back is no change between the two ends, but somebody may have looked at the middle.
                        let is_unkept =
                            |it: &Option<Box<Update>>| it.as_deref() == Some(&Update::Unkept);
                        if !(is_unkept(&known.update) && is_unkept(&update)) {
                            known.update = None;
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::Patterns;

    fn change(name: &str, application: &str, tracked: bool) -> Change {
        let key = ResourceKey::new(&GroupKind::new("", "Pod"), "n", name);
        let applications = BTreeSet::from([application.into()]);
        Change::Object { key, applications, tracked, update: None }
    }

    fn update(name: &str, update: Update) -> Change {
        match change(name, "one", true) {
            Change::Object { key, applications, tracked, .. } => {
                Change::Object { key, applications, tracked, update: Some(Box::new(update)) }
            }
            kind @ Change::Kind { .. } => kind,
        }
    }

    fn body(version: &str) -> LiveObject {
        LiveObject {
            body: Patterns::default().pack(&GroupKind::new("", "ConfigMap"), version.as_bytes()),
            resource_version: version.into(),
            uid: "u".into(),
            tracked_by: Some("one".into()),
        }
    }

    #[test]
    fn what_changed_twice_before_anybody_asked_does_not_say_how() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        let there = update("a", Update::Body { before: body("1"), after: body("2") });
        let back = update("a", Update::Body { before: body("2"), after: body("1") });
        subscribers.send(std::slice::from_ref(&there));
        assert_eq!(changes.take(), std::slice::from_ref(&there));
        subscribers.send(&[there, back]);
        assert_eq!(changes.take(), [change("a", "one", true)]);
    }

    #[test]
    fn what_changed_twice_in_nothing_that_is_kept_changed_in_nothing_that_is_kept() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        let unkept = update("a", Update::Unkept);
        subscribers.send(&[unkept.clone(), unkept.clone()]);
        assert_eq!(changes.take(), std::slice::from_ref(&unkept));
        subscribers.send(&[unkept, change("a", "one", true)]);
        assert_eq!(changes.take(), [change("a", "one", true)]);
    }

    #[test]
    fn changes_of_one_object_are_one_change_that_concerns_all_it_concerned() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        subscribers.send(&[change("a", "one", false), change("b", "one", false)]);
        subscribers.send(&[change("a", "two", true)]);
        let key = ResourceKey::new(&GroupKind::new("", "Pod"), "n", "a");
        let applications = BTreeSet::from(["one".into(), "two".into()]);
        let both = Change::Object { key, applications, tracked: true, update: None };
        assert_eq!(changes.take(), [both, change("b", "one", false)]);
        assert_eq!(changes.take(), []);
    }

    #[test]
    fn every_subscriber_has_its_own_changes() {
        let subscribers = Subscribers::new();
        let (mut one, mut two) = (subscribers.subscribe(), subscribers.subscribe());
        subscribers.send(&[change("a", "x", true)]);
        assert_eq!((one.take().len(), two.take().len()), (1, 1));
    }

    #[tokio::test]
    async fn a_change_sent_before_it_is_waited_for_is_not_lost() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        subscribers.send(&[change("a", "x", true)]);
        assert_eq!(changes.next().await.len(), 1);
    }

    #[tokio::test]
    async fn a_closed_cluster_ends_the_waiting() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        drop(subscribers);
        assert_eq!(changes.next().await, []);
    }
}
