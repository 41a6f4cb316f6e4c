//! Notices passes that do not get on, says where they stand, and ends them.
//!
//! Every request and every render has a deadline of its own, so a pass that stands
//! still for longer than these hangs by a mistake, ours or another's. It is told,
//! and later cut off and begun anew: a pass may end anywhere. How long a pass
//! takes as a whole does not matter; a sync of many objects gets on all the time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use api::AppKey;
use tokio::sync::Notify;

const INSPECTED_EVERY: Duration = Duration::from_secs(10);
/// Nothing but a slow repository takes as long.
const TOLD_AFTER: Duration = Duration::from_secs(60);
/// Nothing at all takes as long.
const ENDED_AFTER: Duration = Duration::from_secs(30 * 60);

/// What a pass is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Beginning,
    ReadingSources,
    ReadingCluster,
    AskingServer,
    Writing,
    Resting,
    Deleting,
    Reporting,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Beginning => "beginning",
            Self::ReadingSources => "reading its sources",
            Self::ReadingCluster => "reading its objects in the cluster",
            Self::AskingServer => "asking the API server what applying would do",
            Self::Writing => "writing its objects",
            Self::Resting => "resting between two waves",
            Self::Deleting => "deleting its objects",
            Self::Reporting => "writing its status",
        })
    }
}

tokio::task_local! {
    /// Where the pass stands that this task carries out.
    static STANDING: Arc<Standing>;
}

/// The pass that this is part of gets on. Means nothing outside of a pass.
pub(crate) fn reached(stage: Stage) {
    // An error says that we are outside of one.
    STANDING.try_with(|it| it.reach(stage, Instant::now())).ok();
}

/// Where one pass stands.
struct Standing {
    app: AppKey,
    place: Mutex<Place>,
    ended: Notify,
}

struct Place {
    stage: Stage,
    since: Instant,
    was_told: bool,
}

impl Standing {
    fn reach(&self, stage: Stage, now: Instant) {
        let place = Place { stage, since: now, was_told: false };
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// What is to be done about it at this time.
    fn judge(&self, now: Instant) -> Option<Judgement> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let still = now.saturating_duration_since(place.since);
        if still >= ENDED_AFTER {
            return Some(Judgement { stage: place.stage, still, ends: true });
        }
        let is_news = still >= TOLD_AFTER && !place.was_told;
        place.was_told |= is_news;
        is_news.then_some(Judgement { stage: place.stage, still, ends: false })
    }
}

/// A pass that does not get on.
#[derive(Debug, PartialEq, Eq)]
struct Judgement {
    stage: Stage,
    still: Duration,
    ends: bool,
}

/// Knows all passes that are under way.
#[derive(Default)]
pub(crate) struct Watchdog {
    passes: Mutex<Vec<Weak<Standing>>>,
}

impl Watchdog {
    /// Carries a pass out; nothing comes of it if it had to be ended.
    pub(crate) async fn guard<T>(&self, app: &AppKey, pass: impl Future<Output = T>) -> Option<T> {
        let standing = self.begin(app, Instant::now());
        tokio::select! {
            done = STANDING.scope(Arc::clone(&standing), pass) => Some(done),
            () = standing.ended.notified() => None,
        }
    }

    /// Looks after the passes. Does not end.
    pub(crate) async fn run(&self) {
        loop {
            tokio::time::sleep(INSPECTED_EVERY).await;
            self.inspect(Instant::now());
        }
    }

    fn begin(&self, app: &AppKey, now: Instant) -> Arc<Standing> {
        let place = Place { stage: Stage::Beginning, since: now, was_told: false };
        let place = Mutex::new(place);
        let standing = Arc::new(Standing { app: app.clone(), place, ended: Notify::new() });
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.push(Arc::downgrade(&standing));
        standing
    }

    fn inspect(&self, now: Instant) {
        for pass in self.under_way() {
            let Some(Judgement { stage, still, ends }) = pass.judge(now) else { continue };
            let app = &pass.app;
            if ends {
                tracing::error!(%app, %stage, ?still, "a pass hung and is cut off; it begins anew");
                pass.ended.notify_one();
            } else {
                tracing::warn!(%app, %stage, ?still, "a pass does not get on");
            }
        }
    }

    fn under_way(&self) -> Vec<Arc<Standing>> {
        let mut passes = self.passes.lock().unwrap_or_else(PoisonError::into_inner);
        passes.retain(|it| it.strong_count() > 0);
        passes.iter().filter_map(Weak::upgrade).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> AppKey {
        AppKey::new("argocd", "web")
    }

    #[test]
    fn a_pass_that_stands_still_is_told_once_at_each_stage() {
        let (watchdog, begin) = (Watchdog::default(), Instant::now());
        let pass = watchdog.begin(&app(), begin);
        pass.reach(Stage::ReadingSources, begin);
        assert_eq!(pass.judge(begin + TOLD_AFTER - Duration::from_secs(1)), None);
        let told = Judgement { stage: Stage::ReadingSources, still: TOLD_AFTER, ends: false };
        assert_eq!(pass.judge(begin + TOLD_AFTER), Some(told));
        assert_eq!(pass.judge(begin + TOLD_AFTER * 2), None);

        let later = begin + TOLD_AFTER * 2;
        pass.reach(Stage::Writing, later);
        let told = Judgement { stage: Stage::Writing, still: TOLD_AFTER, ends: false };
        assert_eq!(pass.judge(later + TOLD_AFTER), Some(told));
    }

    #[tokio::test]
    async fn a_pass_that_hangs_is_ended_and_one_that_is_over_is_forgotten() {
        let (watchdog, app) = (Watchdog::default(), app());
        let hangs = watchdog.guard(&app, async {
            reached(Stage::AskingServer);
            watchdog.inspect(Instant::now() + ENDED_AFTER);
            std::future::pending::<()>().await;
        });
        assert_eq!(hangs.await, None);
        assert!(watchdog.under_way().is_empty());
        assert_eq!(watchdog.guard(&app, async { 7 }).await, Some(7));
    }
}
