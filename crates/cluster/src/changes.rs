//! Who is told what, and that nothing is lost.
//!
//! A subscriber has a set of changed keys, not a queue of events: a thousand
//! changes of one object are one entry, so a slow reader costs memory by the
//! objects that changed and not by the times they did, and never misses one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use object::{GroupKind, ResourceKey};
use tokio::sync::Notify;

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
    },
    /// What we know of a whole kind began to hold, ceased to hold, or the kind itself came or went.
    Kind {
        /// Which kind.
        kind: GroupKind,
    },
}

#[derive(Default)]
struct Pending {
    objects: BTreeMap<ResourceKey, (BTreeSet<Arc<str>>, bool)>,
    kinds: BTreeSet<GroupKind>,
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
        let objects = pending
            .objects
            .into_iter()
            .map(|(key, (applications, tracked))| Change::Object { key, applications, tracked });
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
            Change::Object { key, applications, tracked } => {
                let known = self.objects.entry(key).or_default();
                known.0.extend(applications);
                known.1 |= tracked;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, application: &str, tracked: bool) -> Change {
        let key = ResourceKey::new(&GroupKind::new("", "Pod"), "n", name);
        Change::Object { key, applications: BTreeSet::from([application.into()]), tracked }
    }

    #[test]
    fn changes_of_one_object_are_one_change_that_concerns_all_it_concerned() {
        let subscribers = Subscribers::new();
        let mut changes = subscribers.subscribe();
        subscribers.send(&[change("a", "one", false), change("b", "one", false)]);
        subscribers.send(&[change("a", "two", true)]);
        let key = ResourceKey::new(&GroupKind::new("", "Pod"), "n", "a");
        let applications = BTreeSet::from(["one".into(), "two".into()]);
        let both = Change::Object { key, applications, tracked: true };
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
