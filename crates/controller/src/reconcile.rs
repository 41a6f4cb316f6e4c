//! One pass over one Application, from what it asks to what it is told.
//!
//! Look, decide, operate, report: every pass goes through these four, and only
//! the last writes. A pass holds no state of its own; whatever it learned is in
//! the Application afterwards, so it may end anywhere and begin anew.

use std::sync::Arc;
use std::time::Duration;

use api::names::ANNOTATION_SKIP_RECONCILE;
use api::{AppKey, Application, Operation, OperationInitiator, RetryStrategy, SyncOperation};
use engine::{Decision, Established, Hold, decide, status};
use jiff::Timestamp;

use crate::Controller;
use crate::cascade;
use crate::deletion_hooks;
use crate::events;
use crate::level::Level;
use crate::look::{At, Seen, look};
use crate::operate;
use crate::status_writer::WriteError;

const RETRY_FAILED_LOOK: Duration = Duration::from_secs(10);
const RETRY_BLIND_LOOK: Duration = Duration::from_secs(1);
/// A window opens and shuts by the minute.
const WINDOW_CHECK: Duration = Duration::from_secs(30);
const AUTOMATED_RETRIES: i64 = 5;

/// When to come back without being called.
pub(crate) type Next = Option<(Level, Duration)>;

/// Brings one Application one pass further.
pub(crate) async fn reconcile(controller: &Controller, key: &AppKey, level: Level) -> Next {
    let mut base = controller.apps.get(key)?;
    if base.annotation(ANNOTATION_SKIP_RECONCILE) == Some("true") {
        return None;
    }
    let before = Arc::clone(&base);
    // An operation goes on until it ends or is terminated, whatever else is asked.
    let is_deleting = base.metadata.deletion_timestamp.is_some();
    if is_deleting && base.operation.is_none() {
        return cascade::delete(controller, &base).await;
    }
    let mut app = (*base).clone();
    let mut seen = look(controller, &app, &At::Target(level)).await;
    if seen.out_of_sight {
        return Some((level, RETRY_BLIND_LOOK));
    }
    let mut next = seen.may_pass.then_some((Level::Polled, RETRY_FAILED_LOOK));

    let now = controller.now();
    match decision(controller, &app, &seen, now) {
        Decision::Hold(Hold::HealsLater(at)) => next = Some((Level::Live, until(at, now))),
        Decision::Hold(hold) => seen.findings.extend(hold.finding(&seen.revisions)),
        wanted => match seen.permit.as_ref().and_then(|it| it.holds_back(&app, now)) {
            Some(why) => {
                tracing::info!(app = %key, why, "auto-sync waits");
                next = Some((Level::Live, WINDOW_CHECK));
            }
            None => app.operation = automatic_operation(&app, &seen, &wanted),
        },
    }
    if app.operation.is_some() {
        let wake_at = operate::advance(controller, &mut base, &mut app, &mut seen).await;
        next = wake_at.map(|at| (Level::Live, until(at, controller.now()))).or(next);
    }
    if is_deleting && app.operation.is_none() {
        next = Some((Level::Live, Duration::ZERO));
    }

    let established = Established {
        revisions: &seen.revisions,
        source_types: &seen.source_types,
        comparison: seen.comparison.as_ref(),
        findings: &seen.findings,
    };
    if let Some(comparison) = &seen.comparison {
        controller.healths.remember(key, comparison);
    }
    app.status = status(&app, &established, controller.now());
    if let Err(failure) = controller.status_writer.write(&base, &app, level).await {
        return failure.retry(level);
    }
    controller.events.tell(&before, &app, controller.now());
    if let Some(state) = events::ended_operation(&before, &app) {
        controller.metrics.synced(&app, &controller.server_of(&app), state);
    }
    let orphans = controller.looks_after_orphans(&app).then_some(seen.orphans.len());
    controller.metrics.orphans(&app, orphans);
    match hold_for_hooks(controller, key, &seen).await {
        Ok(()) => next,
        Err(failure) => failure.retry(level),
    }
}

/// An Application whose deletion has hooks must not go without them.
async fn hold_for_hooks(
    controller: &Controller,
    key: &AppKey,
    seen: &Seen,
) -> Result<(), WriteError> {
    let Some(app) = controller.apps.get(key) else { return Ok(()) };
    let is_known = !seen.revisions.is_empty() && app.metadata.deletion_timestamp.is_none();
    let finalizers = deletion_hooks::finalizers(&app, &seen.want);
    if !is_known || finalizers == app.metadata.finalizers {
        return Ok(());
    }
    controller.status_writer.set_finalizers(&app, &finalizers).await
}

fn decision(controller: &Controller, app: &Application, seen: &Seen, now: Timestamp) -> Decision {
    let comparison = seen.comparison.as_ref();
    let backoff = controller.options.heal_backoff;
    decide(app, comparison, &seen.findings, &seen.revisions, backoff, now)
}

/// The operation that auto-sync asks for, as a user would have asked.
fn automatic_operation(app: &Application, seen: &Seen, wanted: &Decision) -> Option<Operation> {
    let policy = app.spec.sync_policy.as_ref()?;
    let mut sync =
        SyncOperation { sync_options: policy.sync_options.clone(), ..SyncOperation::default() };
    if app.has_multiple_sources() {
        sync.revisions.clone_from(&seen.revisions);
    } else {
        sync.revision = seen.revisions.first().cloned().unwrap_or_default();
    }
    match wanted {
        Decision::Hold(_) => return None,
        Decision::Sync { prune } => sync.prune = *prune,
        Decision::Heal { drifted, prune, attempt } => {
            sync.prune = *prune;
            sync.auto_heal_attempts_count = *attempt;
            sync.resources = drifted.iter().map(operate::selected).collect();
        }
    }
    let retry = RetryStrategy { limit: AUTOMATED_RETRIES, ..RetryStrategy::default() };
    Some(Operation {
        sync: Some(sync),
        initiated_by: OperationInitiator { automated: true, ..OperationInitiator::default() },
        retry: policy.retry.clone().unwrap_or(retry),
        ..Operation::default()
    })
}

fn until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO)
}
