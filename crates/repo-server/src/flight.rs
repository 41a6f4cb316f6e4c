//! One request in flight for everyone who asks the same.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

/// Requests under way, by what they ask.
pub(crate) struct Flights<K, V: Clone> {
    under_way: Mutex<BTreeMap<K, WeakShared<BoxFuture<'static, V>>>>,
}

impl<K, V: Clone> Default for Flights<K, V> {
    fn default() -> Self {
        Self { under_way: Mutex::default() }
    }
}

impl<K: Ord + Clone, V: Clone + Send + Sync + 'static> Flights<K, V> {
    /// Joins the request for `key` that is under way, or starts one.
    ///
    /// A request lives as long as someone waits for it; when the last one goes,
    /// it is dropped.
    pub(crate) fn join(
        &self,
        key: K,
        start: impl FnOnce() -> BoxFuture<'static, V>,
    ) -> Shared<BoxFuture<'static, V>> {
        let mut under_way = self.under_way.lock().expect("nobody panics while looking up");
        under_way
            .retain(|_, flight| flight.upgrade().is_some_and(|flight| flight.peek().is_none()));
        if let Some(flight) = under_way.get(&key).and_then(WeakShared::upgrade) {
            return flight;
        }
        let flight = start().shared();
        if let Some(weak) = flight.downgrade() {
            under_way.insert(key, weak);
        }
        flight
    }
}
