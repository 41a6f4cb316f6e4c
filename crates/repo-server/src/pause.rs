//! When to stop trying: a source that fails again and again for reasons outside
//! of its files (a plugin, another server) is left alone for a while, as Argo CD
//! does. Failures that the files explain are remembered with them instead.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::rendered::SourceKey;

/// More failing sources than this, and the oldest are tried again.
const MAX_FAILING: usize = 10_000;
/// What stands before an error that is told again.
pub(crate) const CACHED: &str = "Manifest generation error (cached)";

/// When a failing source is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseOptions {
    /// After so many failures in a row (`ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS`); 0 never.
    pub after: u32,
    /// For so long after the first of them (`ARGOCD_PAUSE_GEN_MINUTES`); 0 for ever.
    pub time: Duration,
    /// For so many requests (`ARGOCD_PAUSE_GEN_REQUESTS`); 0 does not count.
    pub requests: u32,
}

impl Default for PauseOptions {
    fn default() -> Self {
        Self { after: 3, time: Duration::from_secs(3600), requests: 0 }
    }
}

/// A source at a revision.
type Key = (SourceKey, String);

/// Sources that failed of late.
#[derive(Debug, Default)]
pub(crate) struct Pauses(Mutex<HashMap<Key, Failing>>);

#[derive(Debug)]
struct Failing {
    since: Instant,
    failures: u32,
    told_again: u32,
    error: String,
}

impl Pauses {
    /// The error to tell again, if the source is to be left alone.
    pub(crate) fn told_again(
        &self,
        options: PauseOptions,
        key: &Key,
        now: Instant,
    ) -> Option<String> {
        let mut all = self.lock();
        let failing = all.get_mut(key)?;
        if options.after == 0 || failing.failures < options.after {
            return None;
        }
        let time_is_up =
            !options.time.is_zero() && now.duration_since(failing.since) >= options.time;
        let told_enough = options.requests > 0 && failing.told_again >= options.requests;
        if time_is_up || told_enough {
            all.remove(key);
            return None;
        }
        failing.told_again += 1;
        Some(format!("{CACHED}: {}", failing.error))
    }

    pub(crate) fn failed(&self, key: Key, error: String, now: Instant) {
        let mut all = self.lock();
        if all.len() >= MAX_FAILING && !all.contains_key(&key) {
            all.clear();
        }
        let first = || Failing { since: now, failures: 0, told_again: 0, error: String::new() };
        let failing = all.entry(key).or_insert_with(first);
        failing.failures += 1;
        failing.error = error;
    }

    pub(crate) fn succeeded(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Failing>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        let source = api::ApplicationSource::default();
        let context = render::RenderContext::new("", "");
        let key = SourceKey::of("repo", &source, &context, &crate::SourceRepos::all());
        (key, "abc".to_owned())
    }

    /// Two failures are tried again, the third is told again.
    fn after_three(now: Instant) -> Pauses {
        let pauses = Pauses::default();
        for _ in 0..3 {
            assert_eq!(pauses.told_again(PauseOptions::default(), &key(), now), None);
            pauses.failed(key(), "no answer".to_owned(), now);
        }
        pauses
    }

    #[test]
    fn the_third_failure_is_told_again_for_an_hour() {
        let now = Instant::now();
        let pauses = after_three(now);
        let told = pauses.told_again(PauseOptions::default(), &key(), now);
        assert_eq!(told.as_deref(), Some("Manifest generation error (cached): no answer"));
        let later = now + Duration::from_secs(3600);
        assert_eq!(pauses.told_again(PauseOptions::default(), &key(), later), None);
        assert_eq!(pauses.told_again(PauseOptions::default(), &key(), now), None, "it begins anew");
    }

    #[test]
    fn a_number_of_requests_may_end_it_too() {
        let now = Instant::now();
        let pauses = after_three(now);
        let options = PauseOptions { requests: 2, ..PauseOptions::default() };
        assert!(pauses.told_again(options, &key(), now).is_some());
        assert!(pauses.told_again(options, &key(), now).is_some());
        assert_eq!(pauses.told_again(options, &key(), now), None);
    }

    #[test]
    fn a_success_forgets_failures_and_zero_is_never() {
        let now = Instant::now();
        let pauses = after_three(now);
        let off = PauseOptions { after: 0, ..PauseOptions::default() };
        assert_eq!(pauses.told_again(off, &key(), now), None);
        pauses.succeeded(&key());
        assert_eq!(pauses.told_again(PauseOptions::default(), &key(), now), None);
    }
}
