//! One pass over one Application, from what it asks to what it is told.
//!
//! Look, decide, operate, report: every pass goes through these four, and only
//! the last writes. A pass holds no state of its own; whatever it learned is in
//! the Application afterwards, so it may end anywhere and begin anew.

use std::time::Duration;

use api::{AppKey, Application, Operation, OperationInitiator, RetryStrategy, SyncOperation};
use engine::{Decision, Established, HealBackoff, Hold, decide, status};
use jiff::Timestamp;

use crate::Controller;
use crate::cascade;
use crate::level::Level;
use crate::look::{At, Seen, look};
use crate::operate;

const RETRY_FAILED_LOOK: Duration = Duration::from_secs(10);
const RETRY_BLIND_LOOK: Duration = Duration::from_secs(1);
const AUTOMATED_RETRIES: i64 = 5;

/// When to come back without being called.
pub(crate) type Next = Option<(Level, Duration)>;

/// Brings one Application one pass further.
pub(crate) async fn reconcile(controller: &Controller, key: &AppKey, level: Level) -> Next {
    let mut base = controller.apps.get(key)?;
    if base.metadata.deletion_timestamp.is_some() {
        return cascade::delete(controller, &base).await;
    }
    let mut app = (*base).clone();
    let mut seen = look(controller, &app, &At::Target(level)).await;
    if seen.out_of_sight {
        return Some((level, RETRY_BLIND_LOOK));
    }
    let mut next = seen.may_pass.then_some((Level::Polled, RETRY_FAILED_LOOK));

    let now = controller.now();
    match decision(&app, &seen, now) {
        Decision::Hold(Hold::HealsLater(at)) => next = Some((Level::Live, until(at, now))),
        Decision::Hold(hold) => seen.findings.extend(hold.finding(&seen.revisions)),
        wanted => app.operation = automatic_operation(&app, &seen, &wanted),
    }
    if app.operation.is_some() {
        let wake_at = operate::advance(controller, &mut base, &mut app, &mut seen).await;
        next = wake_at.map(|at| (Level::Live, until(at, controller.now()))).or(next);
    }

    let established = Established {
        revisions: &seen.revisions,
        source_types: &seen.source_types,
        comparison: seen.comparison.as_ref(),
        findings: &seen.findings,
    };
    app.status = status(&app, &established, controller.now());
    match controller.status_writer.write(&base, &app, level).await {
        Ok(()) => next,
        Err(failure) => failure.retry(level),
    }
}

fn decision(app: &Application, seen: &Seen, now: Timestamp) -> Decision {
    let comparison = seen.comparison.as_ref();
    decide(app, comparison, &seen.findings, &seen.revisions, HealBackoff::default(), now)
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
