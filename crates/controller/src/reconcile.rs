//! One pass over one Application, from what it asks to what it is told.
//!
//! Look, decide, operate, report: every pass goes through these four. Looking and deciding write nothing;
//! operating writes the objects of a sync, and first that it goes on; reporting writes the status. A pass
//! holds no state of its own: what it learned is in the Application, so it may end and begin anywhere.

use std::sync::Arc;
use std::time::Duration;

use api::{AppKey, Application};
use engine::{Decision, Hold};
use jiff::Timestamp;
use runtime::SPANS;
use tracing::Instrument as _;

use crate::Controller;
use crate::cascade;
use crate::level::Level;
use crate::look::{At, Seen, look};
use crate::operate;
use crate::report::report;
use crate::terms;
use crate::tried;

const RETRY_FAILED_LOOK: Duration = Duration::from_secs(10);
const RETRY_BLIND_LOOK: Duration = Duration::from_secs(1);

/// When to come back without being called.
pub(crate) type Next = Option<(Level, Duration)>;

/// Brings one Application one pass further.
pub(crate) async fn reconcile(controller: &Controller, key: &AppKey, level: Level) -> Next {
    let before = controller.apps.get(key)?;
    if terms::is_left_alone(&before) {
        return None;
    }
    // An operation goes on until it ends or is terminated, whatever else is asked.
    let is_deleting = before.metadata.deletion_timestamp.is_some();
    if is_deleting && before.operation.is_none() {
        return cascade::delete(controller, &before).await;
    }

    let mut app = (*before).clone();
    let mut seen = look(controller, &app, &At::compared(&app, level)).await;
    if seen.out_of_sight {
        return Some((level, RETRY_BLIND_LOOK));
    }
    if terms::says_nothing_yet(controller, &before, &seen, level) {
        return Some((level.max(Level::Polled), RETRY_FAILED_LOOK));
    }
    let mut next = seen.may_pass.then_some((Level::Polled, RETRY_FAILED_LOOK));
    next = sync_by_itself(controller, &mut app, &mut seen).await.or(next);

    let mut stored = Arc::clone(&before);
    if app.operation.is_some() && seen.may_be_back {
        next = Some((level, RETRY_BLIND_LOOK));
    } else if app.operation.is_some() {
        let span = tracing::info_span!(target: SPANS, "controller.Operation");
        let operation = operate::advance(controller, &mut stored, &mut app, &mut seen);
        let wake_at = operation.instrument(span).await;
        next = wake_at.map(|at| (Level::Live, until(at, controller.now()))).or(next);
        if app.operation.is_none() && seen.is_out_of_sync() {
            // An operation that left something as it was may have changed nothing that wakes us.
            next = Some((Level::Live, Duration::ZERO));
        }
    }
    if is_deleting && app.operation.is_none() {
        next = Some((Level::Live, Duration::ZERO));
    }
    let span = tracing::info_span!(target: SPANS, "controller.persistAppStatus");
    let reported = report(controller, &before, &stored, app, &seen, level).instrument(span);
    match reported.await {
        Ok(()) => next,
        Err(failure) => failure.retry(level),
    }
}

/// Asks for a sync where the Application wants one by itself and nothing holds
/// it back; says when to ask again if only time does.
async fn sync_by_itself(controller: &Controller, app: &mut Application, seen: &mut Seen) -> Next {
    let now = controller.now();
    let (decision, revisions) = tried::decision(controller, app, seen, now).await;
    match decision {
        Decision::Hold(Hold::HealsLater(at)) => return Some((Level::Live, until(at, now))),
        Decision::Hold(hold) => seen.findings.extend(hold.finding(&revisions)),
        wanted => {
            let permit = seen.permit.as_ref();
            if let Some((permit, why)) = permit.and_then(|it| Some((it, it.holds_back(app, now)?)))
            {
                tracing::info!(app = %app.key(), why, "auto-sync waits");
                return Some((Level::Live, until(permit.windows_change_at(app, now), now)));
            }
            app.operation = wanted.operation(app, &seen.revisions);
        }
    }
    None
}

fn until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)
}
