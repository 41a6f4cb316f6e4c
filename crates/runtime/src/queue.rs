//! A queue of keys: each key is worked on by one worker at a time, and asking
//! for it again while it waits costs nothing.
//!
//! What is wanted of a key (`W`, for instance how fresh the answer must be) is
//! merged, so that ten requests become one that satisfies all ten.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::Shutdown;
use crate::queue_metrics::QueueMetrics;

/// How two requests for the same key become one.
pub trait Merge {
    /// The request that satisfies both.
    #[must_use]
    fn merge(self, other: Self) -> Self;
}

/// See the module's comment. Cheap to clone.
pub struct Queue<K, W>(Arc<Inner<K, W>>);

struct Inner<K, W> {
    state: Mutex<State<K, W>>,
    changed: Notify,
    metrics: QueueMetrics,
}

struct State<K, W> {
    /// What is wanted of each key that waits, now or later.
    wanted: BTreeMap<K, W>,
    /// Keys whose time has come, in order.
    ready: VecDeque<K>,
    /// Keys whose time has not come.
    later: BTreeMap<K, Instant>,
    /// Keys that a worker has, and since when.
    busy: BTreeMap<K, Instant>,
    /// Since when keys whose time has come wait.
    waiting: BTreeMap<K, Instant>,
}

impl<K, W> Clone for Queue<K, W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Ord + Clone, W: Merge + Clone> Default for Queue<K, W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord + Clone, W: Merge + Clone> Queue<K, W> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        let state = State {
            wanted: BTreeMap::new(),
            ready: VecDeque::new(),
            later: BTreeMap::new(),
            busy: BTreeMap::new(),
            waiting: BTreeMap::new(),
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            changed: Notify::new(),
            metrics: QueueMetrics::default(),
        }))
    }

    /// Asks for `key` now.
    pub fn add(&self, key: K, wanted: W) {
        let mut state = self.lock();
        let asked_before = state.is_asked_for_now(&key);
        state.want(&key, wanted);
        state.later.remove(&key);
        if !asked_before {
            self.0.metrics.adds.inc();
            state.waiting.insert(key.clone(), Instant::now());
        }
        if !asked_before && !state.busy.contains_key(&key) {
            state.ready.push_back(key);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// Asks for `key` after a while, unless it is asked for sooner.
    pub fn add_after(&self, key: K, wanted: W, wait: Duration) {
        let due = Instant::now() + wait;
        let mut state = self.lock();
        let asked_before = state.is_asked_for_now(&key);
        state.want(&key, wanted);
        if !asked_before {
            self.0.metrics.retries.inc();
            let at = state.later.entry(key).or_insert(due);
            *at = (*at).min(due);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// How many keys wait for a worker now.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    /// How long each key that a worker has has been with it.
    #[must_use]
    pub fn busy_for(&self) -> Vec<(K, Duration)> {
        let state = self.lock();
        state.busy.iter().map(|(key, since)| (key.clone(), since.elapsed())).collect()
    }

    pub(crate) fn metrics(&self) -> &QueueMetrics {
        &self.0.metrics
    }

    /// Works with `workers` at once until shutdown. Work under way is finished.
    ///
    /// A panic is that key's failure: it is logged and the worker goes on.
    pub async fn work<F, Fut>(&self, workers: usize, shutdown: &Shutdown, work: F)
    where
        K: std::fmt::Debug,
        F: Fn(K, W) -> Fut,
        Fut: Future<Output = ()>,
    {
        let worker = || async {
            while let Some((key, wanted)) = shutdown.or_end(self.next()).await {
                let done = AssertUnwindSafe(work(key.clone(), wanted)).catch_unwind().await;
                if done.is_err() {
                    tracing::error!(?key, "work panicked; this is a bug, other work goes on");
                }
                self.done(&key);
            }
        };
        futures::future::join_all((0..workers).map(|_| worker())).await;
    }

    async fn next(&self) -> (K, W) {
        loop {
            let next_due = {
                let mut state = self.lock();
                state.ripen(Instant::now());
                if let Some((taken, waited)) = state.take() {
                    self.0.metrics.waited.observe(waited.as_secs_f64());
                    if !state.ready.is_empty() {
                        self.0.changed.notify_one();
                    }
                    return taken;
                }
                state.later.values().min().copied()
            };
            match next_due {
                Some(due) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(due) => {}
                        () = self.0.changed.notified() => {}
                    }
                }
                None => self.0.changed.notified().await,
            }
        }
    }

    fn done(&self, key: &K) {
        let mut state = self.lock();
        if let Some(since) = state.busy.remove(key) {
            self.0.metrics.worked.observe(since.elapsed().as_secs_f64());
        }
        if state.is_asked_for_now(key) {
            state.ready.push_back(key.clone());
        }
        drop(state);
        self.0.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<K, W>> {
        // Every change of the state is whole before anything can panic.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone, W: Merge + Clone> State<K, W> {
    fn want(&mut self, key: &K, wanted: W) {
        let merged = match self.wanted.remove(key) {
            Some(before) => before.merge(wanted),
            None => wanted,
        };
        self.wanted.insert(key.clone(), merged);
    }

    /// Waits for a worker, or for the one that has it to finish.
    fn is_asked_for_now(&self, key: &K) -> bool {
        self.wanted.contains_key(key) && !self.later.contains_key(key)
    }

    fn ripen(&mut self, now: Instant) {
        let due: Vec<K> =
            self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.later.remove(&key);
            self.waiting.entry(key.clone()).or_insert(now);
            if !self.busy.contains_key(&key) {
                self.ready.push_back(key);
            }
        }
    }

    /// The next key, what is wanted of it, and how long it waited.
    fn take(&mut self) -> Option<((K, W), Duration)> {
        let key = self.ready.pop_front()?;
        let wanted = self.wanted.remove(&key)?;
        let waited = self.waiting.remove(&key).map(|it| it.elapsed()).unwrap_or_default();
        self.busy.insert(key.clone(), Instant::now());
        Some(((key, wanted), waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Level(u8);

    impl Merge for Level {
        fn merge(self, other: Self) -> Self {
            Self(self.0.max(other.0))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn asking_twice_is_asking_once_for_more() {
        let queue = Queue::new();
        queue.add("a", Level(1));
        queue.add("a", Level(3));
        queue.add("a", Level(2));
        assert_eq!(queue.next().await, ("a", Level(3)));
        assert_eq!(queue.depth(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_worked_on_waits_its_turn() {
        let queue = Queue::new();
        queue.add("a", Level(1));
        let (key, _) = queue.next().await;
        queue.add("a", Level(2));
        queue.add("b", Level(1));
        assert_eq!(queue.next().await.0, "b");
        queue.done(&key);
        assert_eq!(queue.next().await, ("a", Level(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn later_comes_later_unless_asked_for_sooner() {
        let queue = Queue::new();
        let start = Instant::now();
        queue.add_after("a", Level(1), Duration::from_secs(60));
        queue.add_after("a", Level(2), Duration::from_secs(10));
        assert_eq!(queue.next().await, ("a", Level(2)));
        assert_eq!(start.elapsed(), Duration::from_secs(10));
        queue.done(&"a");
        queue.add_after("a", Level(1), Duration::from_secs(60));
        queue.add("a", Level(0));
        assert_eq!(queue.next().await, ("a", Level(1)));
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_put_off_while_it_is_worked_on_is_not_lost() {
        let queue = Queue::new();
        queue.add("a", Level(1));
        let (key, _) = queue.next().await;
        queue.add_after("a", Level(2), Duration::from_secs(5));
        queue.done(&key);
        assert_eq!(queue.next().await, ("a", Level(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_takes_neither_the_worker_nor_the_key() {
        let queue = Queue::new();
        let shutdown = Shutdown::new();
        let seen = Mutex::new(Vec::new());
        queue.add("bad", Level(1));
        queue.add("good", Level(1));
        queue
            .work(1, &shutdown, |key, _| {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(key);
                if key == "good" {
                    shutdown.begin();
                }
                async move { assert!(key != "bad", "as the test wants it") }
            })
            .await;
        assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), ["bad", "good"]);
    }
}
