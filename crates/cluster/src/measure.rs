//! The store without a server, for `cargo bench -p cluster`. Nobody else has a use for it.

use std::sync::Arc;

use crate::kinds::ApiKind;
use crate::sighting::{Lens, Sighting, Tracking};
use crate::store::{Store, WatchId};
use crate::watch::Scope;

/// A store that is fed by hand.
pub struct Intake {
    store: Store,
    lens: Lens,
    kind: ApiKind,
    watch: WatchId,
}

impl Intake {
    /// An empty store that watches one kind.
    pub fn new(kind: ApiKind, tracking: impl Tracking) -> Self {
        let mut store = Store::default();
        let watch = store.start_watch(&kind.group_kind(), Scope::Everywhere);
        store.restarted(watch);
        let lens = Lens::new(Arc::new(tracking), crate::FIELD_MANAGER.to_owned());
        Self { store, lens, kind, watch }
    }

    /// Takes one object in, as a watch does.
    ///
    /// # Panics
    /// When it is no object.
    pub fn take(&mut self, bytes: &[u8]) {
        let seen = Sighting::read(&self.kind, bytes, &self.lens).expect("an object");
        self.store.applied(self.watch, seen);
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.store.len()
    }
}
