//! How often somebody may try: failed logins by name, and how many at once.

pub(crate) mod passwords;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use passwords::Passwords;

/// How often somebody may try to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginLimits {
    /// After this many failures within the window, no password is right.
    pub max_failures: u32,
    /// How long a failure counts.
    pub window: Duration,
    /// How many names are remembered.
    pub max_names: usize,
    /// Logins at the same time; each costs a tenth of a second of a processor.
    pub max_at_once: usize,
}

impl Default for LoginLimits {
    fn default() -> Self {
        Self {
            max_failures: 5,
            window: Duration::from_secs(300),
            max_names: 10_000,
            max_at_once: 50,
        }
    }
}

pub(crate) struct Logins {
    limits: LoginLimits,
    failures: Mutex<BTreeMap<String, Failures>>,
    pub(crate) places: Semaphore,
    pub(crate) passwords: Passwords,
}

struct Failures {
    count: u32,
    last: Instant,
}

impl Logins {
    pub(crate) fn new(limits: LoginLimits) -> Self {
        let places = Semaphore::new(limits.max_at_once.min(Semaphore::MAX_PERMITS));
        Self { limits, failures: Mutex::default(), places, passwords: Passwords::new() }
    }

    /// Did this name fail too often of late?
    pub(crate) fn is_barred(&self, name: &str, now: Instant) -> bool {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failures.get(name);
        let LoginLimits { max_failures, window, .. } = self.limits;
        found.is_some_and(|it| it.count >= max_failures && now.duration_since(it.last) <= window)
    }

    pub(crate) fn succeeded(&self, name: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub(crate) fn failed(&self, name: &str, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|_, it| now.duration_since(it.last) <= self.limits.window);
        if failures.len() >= self.limits.max_names && !failures.contains_key(name) {
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
        let logins = Logins::new(LoginLimits::default());
        let now = Instant::now();
        for _ in 0..4 {
            logins.failed("ann", now);
        }
        assert!(!logins.is_barred("ann", now));
        logins.failed("ann", now);
        assert!(logins.is_barred("ann", now) && !logins.is_barred("bob", now));
        assert!(
            !logins.is_barred("ann", now + LoginLimits::default().window + Duration::from_secs(1))
        );
        logins.succeeded("ann");
        assert!(!logins.is_barred("ann", now));
    }

    #[test]
    fn made_up_names_do_not_push_the_admin_out() {
        let logins = Logins::new(LoginLimits::default());
        let now = Instant::now();
        for _ in 0..LoginLimits::default().max_failures {
            logins.failed("admin", now);
        }
        for number in 0..LoginLimits::default().max_names + 10 {
            logins.failed(&format!("n{number}"), now + Duration::from_secs(1));
        }
        assert!(logins.is_barred("admin", now));
        assert_eq!(
            logins.failures.lock().expect("no panic").len(),
            LoginLimits::default().max_names
        );
    }
}
