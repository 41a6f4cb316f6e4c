//! How long to wait before asking again.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

/// Waits that double up to a limit, each shortened by a random share so that
/// sixty watches broken by one event do not return as one.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    failures: u32,
    random: Randomness,
}

/// Where random numbers between 0 and 1 come from; a test passes its own.
#[derive(Clone)]
pub struct Randomness(Arc<dyn Fn() -> f64 + Send + Sync>);

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// The longest wait for what a person or another program must change first (permissions, a missing kind).
const LONGEST_FOR_CHANGE: Duration = Duration::from_secs(60);

impl Backoff {
    pub(crate) fn new(random: Randomness) -> Self {
        Self { failures: 0, random }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The wait after one more failure: between half of it and all of it.
    pub(crate) fn failed(&mut self, needs_change: bool) -> Duration {
        let longest = if needs_change { LONGEST_FOR_CHANGE } else { LONGEST };
        let full = FIRST.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(0.5 + self.random.next() / 2.0)
    }
}

impl Randomness {
    /// Numbers from `source`, each at least 0 and less than 1.
    pub fn from_fn(source: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// Numbers that differ from process to process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let keys = std::hash::RandomState::new();
        let count = std::sync::atomic::AtomicU64::new(0);
        Self::from_fn(move || {
            let mut hasher = keys.build_hasher();
            hasher.write_u64(count.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            #[expect(clippy::cast_precision_loss, reason = "53 bits are what a share has")]
            let share = (hasher.finish() >> 11) as f64;
            share / (1_u64 << 53) as f64
        })
    }

    /// A number from 0 to 1.
    #[must_use]
    pub fn next(&self) -> f64 {
        (self.0)().clamp(0.0, 1.0)
    }
}

impl fmt::Debug for Randomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Randomness")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(random: f64, needs_change: bool, count: usize) -> Vec<u128> {
        let mut backoff = Backoff::new(Randomness::from_fn(move || random));
        (0..count).map(|_| backoff.failed(needs_change).as_millis()).collect()
    }

    #[test]
    fn waits_double_up_to_five_seconds() {
        assert_eq!(waits(1.0, false, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    }

    #[test]
    fn chance_takes_up_to_half_of_a_wait() {
        assert_eq!(waits(0.0, false, 3), [50, 100, 200]);
    }

    #[test]
    fn what_needs_a_change_is_asked_for_once_a_minute() {
        assert_eq!(*waits(1.0, true, 12).last().expect("twelve"), 60_000);
    }

    #[test]
    fn success_starts_over() {
        let mut backoff = Backoff::new(Randomness::from_fn(|| 1.0));
        backoff.failed(false);
        backoff.failed(false);
        backoff.succeeded();
        assert_eq!(backoff.failed(false), FIRST);
    }

    #[test]
    fn the_numbers_of_this_process_are_shares() {
        let random = Randomness::of_this_process();
        let numbers: Vec<f64> = (0..100).map(|_| random.next()).collect();
        assert!(numbers.iter().all(|it| (0.0..1.0).contains(it)), "{numbers:?}");
        assert!(numbers.windows(2).any(|it| (it[0] - it[1]).abs() > 0.1), "{numbers:?}");
    }
}
