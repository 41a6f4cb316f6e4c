//! How often somebody may try: failed logins by name, and how many at once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// After this many failures in [`WINDOW`], no password is right.
const MAX_FAILURES: u32 = 5;
const WINDOW: Duration = Duration::from_secs(300);
/// How many names are remembered.
const MAX_NAMES: usize = 10_000;
/// Logins at the same time; each costs a tenth of a second of a processor.
const MAX_AT_ONCE: usize = 50;

pub(crate) struct Logins {
    failures: Mutex<BTreeMap<String, Failures>>,
    pub(crate) places: Semaphore,
}

struct Failures {
    count: u32,
    last: Instant,
}

impl Default for Logins {
    fn default() -> Self {
        Self { failures: Mutex::default(), places: Semaphore::new(MAX_AT_ONCE) }
    }
}

impl Logins {
    /// Did this name fail too often of late?
    pub(crate) fn is_barred(&self, name: &str, now: Instant) -> bool {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failures.get(name);
        found.is_some_and(|it| it.count >= MAX_FAILURES && now.duration_since(it.last) <= WINDOW)
    }

    pub(crate) fn succeeded(&self, name: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub(crate) fn failed(&self, name: &str, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, it| now.duration_since(it.last) <= WINDOW);
        if failures.len() >= MAX_NAMES && !failures.contains_key(name) {
            // Made-up names must not push the admin's count out.
            let oldest = failures.iter().filter(|(it, _)| *it != ::settings::accounts::ADMIN);
            let oldest = oldest.min_by_key(|(_, it)| it.last).map(|(name, _)| name.clone());
            oldest.and_then(|it| failures.remove(&it));
        }
        let entry = failures.entry(name.to_owned()).or_insert(Failures { count: 0, last: now });
        entry.count += 1;
        entry.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_bar_a_name_for_a_while() {
        let logins = Logins::default();
        let now = Instant::now();
        for _ in 0..4 {
            logins.failed("ann", now);
        }
        assert!(!logins.is_barred("ann", now));
        logins.failed("ann", now);
        assert!(logins.is_barred("ann", now) && !logins.is_barred("bob", now));
        assert!(!logins.is_barred("ann", now + WINDOW + Duration::from_secs(1)));
        logins.succeeded("ann");
        assert!(!logins.is_barred("ann", now));
    }

    #[test]
    fn made_up_names_do_not_push_the_admin_out() {
        let logins = Logins::default();
        let now = Instant::now();
        for _ in 0..MAX_FAILURES {
            logins.failed("admin", now);
        }
        for number in 0..MAX_NAMES + 10 {
            logins.failed(&format!("n{number}"), now + Duration::from_secs(1));
        }
        assert!(logins.is_barred("admin", now));
        assert_eq!(logins.failures.lock().expect("no panic").len(), MAX_NAMES);
    }
}
