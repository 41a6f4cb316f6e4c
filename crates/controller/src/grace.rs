//! Repositories that fail for a moment: for a while nothing is said about it.
//!
//! An Application that was compared keeps its status while its sources cannot be
//! read, as long as that may pass by itself and does not last. Whoever asks for
//! a refresh is told at once, and so is whoever has no status yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use api::{AppKey, Application};

use crate::level::Level;

/// Since when the sources of Applications cannot be read.
#[derive(Default)]
pub(crate) struct Grace(Mutex<BTreeMap<AppKey, Instant>>);

/// What a look at an Application came to, as far as its sources go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They were read, or will not be readable without somebody's doing.
    Settled,
    /// They could not be read, and may be the next time.
    Failed,
}

impl Grace {
    /// Is nothing to be said about this look yet?
    pub(crate) fn covers(
        &self,
        app: &Application,
        reading: Reading,
        level: Level,
        grace: Duration,
        now: Instant,
    ) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reading == Reading::Settled {
            // A look at what is remembered proves nothing about the repository.
            if level >= Level::Polled {
                since.remove(&app.key());
            }
            return false;
        }
        let began = *since.entry(app.key()).or_insert(now);
        let has_verdict =
            app.status.sync.status == "Synced" || app.status.sync.status == "OutOfSync";
        has_verdict
            && level < Level::Latest
            && app.operation.is_none()
            && now.saturating_duration_since(began) < grace
    }

    pub(crate) fn forget(&self, app: &AppKey) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(app);
    }

    /// Drops what is known of Applications that are not among `apps`.
    pub(crate) fn retain(&self, apps: &BTreeSet<AppKey>) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.retain(|app, _| apps.contains(app));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(180);

    fn app(status: &str) -> Application {
        let mut app = Application::named("argocd", "web");
        app.status.sync.status = status.into();
        app
    }

    /// Is nothing said about a failure that has lasted for so many seconds?
    #[track_caller]
    fn check(app: &Application, level: Level, lasting: u64, expect: bool) {
        let (grace, began) = (Grace::default(), Instant::now());
        let after = |seconds| began + Duration::from_secs(seconds);
        grace.covers(app, Reading::Failed, Level::Polled, GRACE, began);
        assert_eq!(grace.covers(app, Reading::Failed, level, GRACE, after(lasting)), expect);
    }

    #[test]
    fn a_failure_is_told_when_it_lasts() {
        check(&app("Synced"), Level::Polled, 179, true);
        check(&app("OutOfSync"), Level::Polled, 179, true);
        check(&app("Synced"), Level::Polled, 180, false);
    }

    #[test]
    fn who_asks_or_has_no_status_yet_is_told_at_once() {
        check(&app("Synced"), Level::Latest, 0, false);
        check(&app("Synced"), Level::Hard, 0, false);
        check(&app(""), Level::Polled, 0, false);
        check(&app("Unknown"), Level::Polled, 0, false);
        let syncing = Application { operation: Some(api::Operation::default()), ..app("Synced") };
        check(&syncing, Level::Polled, 0, false);
    }

    #[test]
    fn a_success_in_between_begins_the_time_anew() {
        let (grace, began, app) = (Grace::default(), Instant::now(), app("Synced"));
        let at = |reading, seconds| {
            let now = began + Duration::from_secs(seconds);
            grace.covers(&app, reading, Level::Polled, GRACE, now)
        };
        assert!(at(Reading::Failed, 0));
        assert!(!at(Reading::Settled, 100));
        assert!(at(Reading::Failed, 200));
        assert!(!at(Reading::Failed, 400));
    }

    #[test]
    fn a_look_at_what_is_remembered_does_not_begin_the_time_anew() {
        let (grace, began, app) = (Grace::default(), Instant::now(), app("Synced"));
        let at = |reading, level, seconds| {
            grace.covers(&app, reading, level, GRACE, began + Duration::from_secs(seconds))
        };
        assert!(at(Reading::Failed, Level::Polled, 0));
        assert!(!at(Reading::Settled, Level::Live, 100));
        assert!(!at(Reading::Failed, Level::Polled, 200));
    }
}
