//! Counts of what was asked of the world, for the process's metrics
//! (`argocd_git_request_total` and its kin).

use std::sync::Mutex;
use std::time::Duration;

/// One kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Requests made.
    pub total: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Their durations, added up.
    pub time: Duration,
}

/// Everything counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    /// Listings of refs (`request_type="ls-remote"`).
    pub ls_remote: RequestCounts,
    /// Fetches of commits (`request_type="fetch"`).
    pub fetch: RequestCounts,
    /// Renders done.
    pub renders: u64,
    /// Answers taken from the cache for the same commit.
    pub cache_hits: u64,
    /// Answers taken from another commit's render, whose reads did not change.
    pub unchanged_hits: u64,
}

/// Counts, shared by all requests. The lock is held for an addition.
#[derive(Debug, Default)]
pub(crate) struct Stats(Mutex<StatsSnapshot>);

impl Stats {
    pub(crate) fn snapshot(&self) -> StatsSnapshot {
        *self.0.lock().expect("nobody panics while counting")
    }

    pub(crate) fn count(&self, add: impl FnOnce(&mut StatsSnapshot)) {
        add(&mut self.0.lock().expect("nobody panics while counting"));
    }
}

impl RequestCounts {
    pub(crate) fn add(&mut self, time: Duration, failed: bool) {
        self.total += 1;
        self.failed += u64::from(failed);
        self.time += time;
    }
}
