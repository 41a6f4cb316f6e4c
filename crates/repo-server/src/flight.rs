//! One request in flight for everyone who asks the same.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

/// Requests under way, by what they ask.
pub(crate) struct Flights<K, V: Clone>(Mutex<State<K, V>>);

struct State<K, V: Clone> {
    /// Those that ended stay until the next sweep.
    under_way: BTreeMap<K, WeakShared<BoxFuture<'static, V>>>,
    /// At how many they are swept. It doubles with those that are left, so that
    /// a thousand requests at once are not looked through a thousand times.
    sweep_at: usize,
}

/// So few are not worth a sweep.
const FEW: usize = 16;

impl<K, V: Clone> Default for Flights<K, V> {
    fn default() -> Self {
        Self(Mutex::new(State { under_way: BTreeMap::new(), sweep_at: FEW }))
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
        let mut state = self.0.lock().expect("nobody panics while looking up");
        if let Some(flight) = state.under_way.get(&key).and_then(still_flying) {
            return flight;
        }
        if state.under_way.len() >= state.sweep_at {
            state.under_way.retain(|_, flight| still_flying(flight).is_some());
            state.sweep_at = FEW.max(2 * state.under_way.len());
        }
        let flight = start().shared();
        if let Some(weak) = flight.downgrade() {
            state.under_way.insert(key, weak);
        }
        flight
    }
}

fn still_flying<V: Clone>(
    flight: &WeakShared<BoxFuture<'static, V>>,
) -> Option<Shared<BoxFuture<'static, V>>> {
    flight.upgrade().filter(|flight| flight.peek().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_asks_while_it_flies_joins_and_who_asks_later_starts_anew() {
        let flights = Flights::default();
        let first = flights.join("a", || async { 1 }.boxed());
        let joined = flights.join("a", || panic!("there is one"));
        assert_eq!((first.await, joined.await), (1, 1));
        assert_eq!(flights.join("a", || async { 2 }.boxed()).await, 2);
    }

    #[tokio::test]
    async fn what_ended_does_not_pile_up() {
        let flights = Flights::default();
        let flying = flights.join(0, || async { 0 }.boxed());
        for key in 1..1000 {
            flights.join(key, || async { 0 }.boxed()).await;
        }
        assert!(flights.0.lock().unwrap().under_way.len() <= FEW);
        assert_eq!(flights.join(0, || panic!("it was not swept away")).await, 0);
        flying.await;
    }
}
