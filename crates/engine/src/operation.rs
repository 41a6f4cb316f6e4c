//! The life of an operation as its Application records it: begun, resumed,
//! retried, finished.
//!
//! The record in `status.operationState` is the only memory of a sync. What
//! [`progress_of`] reads from it is all that [`crate::step`] needs to go on after
//! a restart.

use std::collections::BTreeSet;

use api::{
    Application, Operation, OperationPhase, OperationState, ResourceResult, ResultCode,
    RevisionHistory, SyncOperationResult, Time,
};
use jiff::{SignedDuration, Timestamp};
use object::{GroupKind, ResourceKey};

use crate::marks::Phase;
use crate::plan::{Plan, TaskId};
use crate::step::{Outcome, Progress};

const DEFAULT_HISTORY: i64 = 10;

/// Is the operation over? One that waits for its retry is not.
#[must_use]
pub fn is_finished(state: &OperationState) -> bool {
    matches!(state.phase.as_str(), "Succeeded" | "Failed" | "Error")
}

/// The record of an operation that begins now.
#[must_use]
pub fn begin(operation: Operation, now: Timestamp) -> OperationState {
    OperationState {
        operation,
        phase: "Running".into(),
        started_at: Time::from(now),
        ..OperationState::default()
    }
}

/// What the record says each task came to.
#[must_use]
pub fn progress_of(state: &OperationState) -> Progress {
    let results = state.sync_result.iter().flat_map(|result| &result.resources);
    results.filter_map(|result| Some((task_id(result)?, outcome(result)?))).collect()
}

fn task_id(result: &ResourceResult) -> Option<TaskId> {
    let kind = GroupKind::new(&result.group, &result.kind);
    let key = ResourceKey::new(&kind, &result.namespace, &result.name);
    Some(TaskId { phase: Phase::from_name(&result.sync_phase)?, key })
}

fn outcome(result: &ResourceResult) -> Option<Outcome> {
    let message = result.message.clone();
    let was_applied = result.status == "Synced" || !result.hook_type.is_empty();
    match (result.status.as_str(), result.hook_phase.as_str()) {
        ("Pruned", _) => Some(Outcome::Pruned { message }),
        ("PruneSkipped", _) => Some(Outcome::Left { message }),
        ("SyncFailed", _) | (_, "Failed" | "Error") => {
            Some(Outcome::Failed { message, was_applied })
        }
        (_, "Succeeded") => Some(Outcome::Completed { message }),
        (_, "Running") => Some(Outcome::Applied { message, settles_at: None }),
        _ => None,
    }
}

/// The record of what each task of the plan came to, in the plan's order.
/// Results of tasks that the plan no longer has (pruned objects) stay.
#[must_use]
pub fn results_of(
    plan: &Plan,
    progress: &Progress,
    earlier: &[ResourceResult],
) -> Vec<ResourceResult> {
    let planned = plan.tasks().filter_map(|task| {
        let result = result(&task.id, progress.get(&task.id)?)?;
        let hook = task.action.is_hook().then(|| task.id.phase.name().to_owned());
        Some(ResourceResult {
            version: task.action.object().group_version_kind().version,
            hook_type: hook.unwrap_or_default(),
            ..result
        })
    });
    let mut results: Vec<ResourceResult> = planned.collect();
    let planned: BTreeSet<&TaskId> = plan.tasks().map(|task| &task.id).collect();
    let gone = earlier.iter().filter(|it| task_id(it).is_some_and(|id| !planned.contains(&id)));
    results.extend(gone.cloned());
    results
}

/// A mere check leaves no trace; a sync that is resumed checks again.
fn result(id: &TaskId, outcome: &Outcome) -> Option<ResourceResult> {
    use OperationPhase::{Failed, Running, Succeeded};
    use ResultCode::{PruneSkipped, Pruned, SyncFailed, Synced};
    let (status, hook_phase, message) = match outcome {
        Outcome::Checked => return None,
        Outcome::Applied { message, .. } => (Synced, Running, message),
        Outcome::Completed { message } => (Synced, Succeeded, message),
        Outcome::Pruned { message } => (Pruned, Succeeded, message),
        Outcome::Left { message } => (PruneSkipped, Succeeded, message),
        Outcome::Failed { message, was_applied: true } => (Synced, Failed, message),
        Outcome::Failed { message, was_applied: false } | Outcome::CheckFailed { message } => {
            (SyncFailed, Failed, message)
        }
    };
    Some(ResourceResult {
        group: id.key.group.clone(),
        kind: id.key.kind.clone(),
        namespace: id.key.namespace.clone(),
        name: id.key.name.clone(),
        status: status.into(),
        message: message.clone(),
        hook_phase: hook_phase.into(),
        sync_phase: id.phase.name().into(),
        ..ResourceResult::default()
    })
}

/// Ends the operation, or sets it up for its next try.
#[must_use]
pub fn finish(
    mut state: OperationState,
    phase: &str,
    message: String,
    now: Timestamp,
) -> OperationState {
    state.finished_at = Some(Time::from(now));
    let limit = state.operation.retry.limit;
    let may_retry = phase != "Succeeded" && state.phase != "Terminating";
    if may_retry && (limit < 0 || state.retry_count < limit) {
        // Argo CD announces the wait before it counts the try; so do we.
        let at = now + retry_wait(&state);
        state.retry_count += 1;
        state.phase = "Running".into();
        state.message = format!(
            "{message}. Retrying attempt #{} at {}.",
            state.retry_count,
            at.strftime("%-I:%M%p")
        );
        return state;
    }
    let retried = may_retry && state.retry_count > 0;
    state.phase = phase.into();
    state.message =
        if retried { format!("{message} (retried {} times).", state.retry_count) } else { message };
    state
}

/// When the operation may be tried again, if it waits for that.
#[must_use]
pub fn retries_at(state: &OperationState) -> Option<Timestamp> {
    let failed_at = state.finished_at?.timestamp()?;
    (state.phase == "Running").then(|| failed_at + retry_wait(state))
}

/// The record of an operation whose next try begins.
#[must_use]
pub fn retry(mut state: OperationState) -> OperationState {
    state.finished_at = None;
    let refresh = state.operation.retry.refresh;
    if let Some(result) = &mut state.sync_result {
        result.resources.clear();
        if refresh {
            result.revision.clear();
            result.revisions.clear();
        }
    }
    state
}

fn retry_wait(state: &OperationState) -> SignedDuration {
    let backoff = state.operation.retry.backoff.as_ref();
    let read = |text: Option<&String>, default: i64| {
        text.filter(|text| !text.is_empty())
            .and_then(|text| duration(text))
            .unwrap_or(SignedDuration::from_secs(default))
    };
    let first = read(backoff.map(|it| &it.duration), 5);
    let most = read(backoff.map(|it| &it.max_duration), 180);
    let factor = backoff.and_then(|it| it.factor).unwrap_or(2);
    let mut wait = first;
    for _ in 0..state.retry_count {
        let factor = i32::try_from(factor).unwrap_or(i32::MAX);
        wait = wait.checked_mul(factor).unwrap_or(most).min(most);
    }
    wait.min(most)
}

/// The history after a sync that was neither partial nor a dry run.
#[must_use]
pub fn history_after(app: &Application, state: &OperationState) -> Vec<RevisionHistory> {
    let mut history = app.status.history.clone();
    let whole =
        state.operation.sync.as_ref().is_some_and(|it| !it.dry_run && it.resources.is_empty());
    let (true, "Succeeded", Some(result)) = (whole, state.phase.as_str(), &state.sync_result)
    else {
        return history;
    };
    history.push(entry(result, state, history.last().map_or(0, |last| last.id + 1)));
    let limit = app.spec.revision_history_limit.unwrap_or(DEFAULT_HISTORY).max(0);
    let surplus = history.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    history.drain(..surplus);
    history
}

fn entry(result: &SyncOperationResult, state: &OperationState, id: i64) -> RevisionHistory {
    RevisionHistory {
        id,
        revision: result.revision.clone(),
        revisions: result.revisions.clone(),
        source: result.source.clone(),
        sources: result.sources.clone(),
        deployed_at: state.finished_at.unwrap_or_default(),
        deploy_started_at: Some(state.started_at),
        initiated_by: state.operation.initiated_by.clone(),
    }
}

/// A Go duration, or a bare number of seconds.
fn duration(text: &str) -> Option<SignedDuration> {
    if let Ok(seconds) = text.parse() {
        return Some(SignedDuration::from_secs(seconds));
    }
    let read = gocompat::duration::Duration::parse(text).ok()?;
    Some(SignedDuration::from_nanos(read.as_nanos()))
}
