//! The life of an operation as its Application records it: begun, resumed,
//! retried, finished.
//!
//! The record in `status.operationState` is the only memory of a sync. What
//! [`progress_of`] reads from it is all that [`crate::step`] needs to go on after
//! a restart.

use std::collections::BTreeSet;

use api::{
    Application, Operation, OperationPhase, OperationState, ResourceResult, ResultCode,
    RevisionHistory, SyncOperation, SyncOperationResult, Time,
};
use jiff::{SignedDuration, Timestamp};
use object::{GroupKind, ResourceKey};

use crate::decide::automated;
use crate::marks::Phase;
use crate::plan::{Plan, TaskId};
use crate::status::images_of;
use crate::step::{Outcome, Progress};

const DEFAULT_HISTORY: i64 = 10;

/// Is the operation over? One that waits for its retry is not.
#[must_use]
pub fn is_finished(state: &OperationState) -> bool {
    matches!(state.phase.as_str(), "Succeeded" | "Failed" | "Error")
}

/// The manifests that a user sent with the last sync (`argocd app sync --local`):
/// until the next sync the Application is compared with them, not with git.
/// One that syncs by itself goes back to git at once.
#[must_use]
pub fn local_manifests(app: &Application) -> Option<&[String]> {
    let last = app.status.operation_state.as_ref()?.operation.sync.as_ref()?;
    let is_local = !last.manifests.is_empty() && automated(app).is_none();
    is_local.then_some(last.manifests.as_slice())
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

/// Where an operation stands when a pass comes to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// It goes on with this record.
    Goes(Box<OperationState>),
    /// It waits for its next try.
    Waits(Timestamp),
}

/// The turn of the operation that is under way, or of one that begins now.
#[must_use]
pub fn turn(app: &Application, now: Timestamp) -> Turn {
    let running = app.status.operation_state.clone().filter(|state| !is_finished(state));
    let state = match running {
        None => begin(app.operation.clone().unwrap_or_default(), now),
        Some(state) => match retries_at(&state) {
            Some(at) if now < at && !was_set_back(&state, now) => return Turn::Waits(at),
            Some(_) => retry(state),
            None => state,
        },
    };
    Turn::Goes(Box::new(state))
}

/// The commits this operation is about, if it has begun or was asked for some.
#[must_use]
pub fn pinned_revisions(state: &OperationState) -> Vec<String> {
    let begun = state.sync_result.as_ref().map(|it| (&it.revision, &it.revisions));
    let asked = state.operation.sync.as_ref().map(|it| (&it.revision, &it.revisions));
    let named = |(one, many): (&String, &Vec<String>)| {
        if many.is_empty() { vec![one.clone()] } else { many.clone() }
    };
    let is_named = |revisions: &Vec<String>| revisions.iter().all(|it| !it.is_empty());
    begun.map(named).filter(is_named).or(asked.map(named).filter(is_named)).unwrap_or_default()
}

/// The Application with the sources that an operation brings along, as a
/// rollback does.
#[must_use]
pub fn with_sources_of(app: &Application, asked: &SyncOperation) -> Application {
    let mut app = app.clone();
    if !asked.sources.is_empty() {
        app.spec.sources.clone_from(&asked.sources);
    } else if asked.source.is_some() {
        app.spec.source.clone_from(&asked.source);
        app.spec.sources.clear();
    }
    app
}

/// Writes down what a sync to `revisions` has come to so far.
pub fn record(
    app: &Application,
    state: &mut OperationState,
    plan: &Plan,
    progress: &Progress,
    revisions: &[String],
) {
    let asked = state.operation.sync.clone().unwrap_or_default();
    let app = with_sources_of(app, &asked);
    let earlier = state.sync_result.take().unwrap_or_default();
    let mut result = SyncOperationResult {
        resources: results_of(plan, progress, &earlier.resources),
        ..SyncOperationResult::default()
    };
    if app.has_multiple_sources() {
        result.revisions = revisions.to_vec();
        result.sources = app.spec.sources;
    } else {
        result.revision = revisions.first().cloned().unwrap_or_default();
        result.source = app.spec.source.unwrap_or_default();
    }
    state.sync_result = Some(result);
}

/// Ends the Application's operation, or leaves it waiting for its next try.
pub fn end(
    app: &mut Application,
    state: OperationState,
    phase: &str,
    message: impl Into<String>,
    now: Timestamp,
) {
    let state = finish(state, phase, message.into(), now);
    if is_finished(&state) {
        app.operation = None;
        app.status.history = history_after(app, &state);
    }
    app.status.operation_state = Some(state);
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
        ("", "Running") => Some(Outcome::Starting),
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
            images: images_of(task.action.object()).into_iter().collect(),
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
        Outcome::Starting => (None, Running, "about to start"),
        Outcome::Applied { message, .. } => (Some(Synced), Running, message.as_str()),
        Outcome::Completed { message } => (Some(Synced), Succeeded, message.as_str()),
        Outcome::Pruned { message } => (Some(Pruned), Succeeded, message.as_str()),
        Outcome::Left { message } => (Some(PruneSkipped), Succeeded, message.as_str()),
        Outcome::Failed { message, was_applied: true } => (Some(Synced), Failed, message.as_str()),
        Outcome::Failed { message, was_applied: false } | Outcome::CheckFailed { message } => {
            (Some(SyncFailed), Failed, message.as_str())
        }
    };
    Some(ResourceResult {
        group: id.key.group.clone(),
        kind: id.key.kind.clone(),
        namespace: id.key.namespace.clone(),
        name: id.key.name.clone(),
        status: status.map(Into::into).unwrap_or_default(),
        message: message.to_owned(),
        hook_phase: hook_phase.into(),
        sync_phase: id.phase.name().into(),
        ..ResourceResult::default()
    })
}

/// The record of an operation that has ended, or that waits for its next try.
fn finish(
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
    let retried = phase != "Succeeded" && state.retry_count > 0;
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

/// Did the last try end in the future? Then a clock was set back since, and how long
/// ago it really ended nobody knows: waiting for that time could take years.
fn was_set_back(state: &OperationState, now: Timestamp) -> bool {
    state.finished_at.and_then(Time::timestamp).is_some_and(|ended| now < ended)
}

/// The record of an operation whose next try begins.
#[must_use]
pub fn retry(mut state: OperationState) -> OperationState {
    state.finished_at = None;
    if state.operation.retry.refresh {
        // The next try is about what the sources stand for by then.
        state.sync_result = None;
        if let Some(sync) = &mut state.operation.sync {
            sync.revision.clear();
            sync.revisions.clear();
        }
    } else if let Some(result) = &mut state.sync_result {
        result.resources.clear();
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

#[cfg(test)]
mod tests {
    use api::{ApplicationSource, RetryStrategy};

    use super::*;

    const NOW: i64 = 1_000_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    /// An Application with an operation that may be tried `limit` times again.
    fn asked(limit: i64, sync: SyncOperation) -> Application {
        let retry = RetryStrategy { limit, ..RetryStrategy::default() };
        let operation = Operation { sync: Some(sync), retry, ..Operation::default() };
        Application { operation: Some(operation), ..Application::default() }
    }

    #[track_caller]
    fn goes(app: &Application, second: i64) -> OperationState {
        match turn(app, at(second)) {
            Turn::Goes(state) => *state,
            Turn::Waits(until) => panic!("it waits until {until}"),
        }
    }

    #[test]
    fn a_failed_try_waits_then_goes_on_with_a_clean_record() {
        let mut app = asked(1, SyncOperation::default());
        let state = goes(&app, NOW);
        end(&mut app, state, "Failed", "no", at(NOW));
        assert_eq!(turn(&app, at(NOW + 4)), Turn::Waits(at(NOW + 10)));
        let second = goes(&app, NOW + 10);
        assert_eq!((second.retry_count, second.finished_at), (1, None));
        end(&mut app, second, "Failed", "still no", at(NOW + 11));
        let state = app.status.operation_state.expect("a record");
        assert_eq!(
            (state.phase.as_str(), state.message.as_str()),
            ("Failed", "still no (retried 1 times).")
        );
        assert_eq!(app.operation, None);
    }

    #[test]
    fn a_sync_that_was_terminated_tells_how_often_it_was_tried_again() {
        let mut app = asked(5, SyncOperation::default());
        let state = goes(&app, NOW);
        end(&mut app, state, "Failed", "no", at(NOW));
        let state = OperationState { phase: "Terminating".into(), ..goes(&app, NOW + 60) };
        end(&mut app, state, "Failed", "ended", at(NOW + 61));
        let message = app.status.operation_state.expect("a record").message;
        assert_eq!((message.as_str(), app.operation), ("ended (retried 1 times).", None));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_hold_a_retry_up() {
        let mut app = asked(1, SyncOperation::default());
        let state = goes(&app, NOW);
        end(&mut app, state, "Failed", "no", at(NOW));
        assert_eq!(goes(&app, NOW - 86_400).retry_count, 1);
        assert_eq!(goes(&app, NOW + 86_400).retry_count, 1);
    }

    #[test]
    fn a_retry_that_refreshes_forgets_the_commit_that_failed() {
        for (refresh, expect) in [(false, vec!["bad".to_owned()]), (true, Vec::new())] {
            let sync = SyncOperation { revision: "bad".into(), ..SyncOperation::default() };
            let mut app = asked(1, sync);
            app.operation.as_mut().expect("just asked").retry.refresh = refresh;
            let mut state = goes(&app, NOW);
            state.sync_result =
                Some(SyncOperationResult { revision: "bad".into(), ..Default::default() });
            end(&mut app, state, "Failed", "no", at(NOW));
            assert_eq!(pinned_revisions(&goes(&app, NOW + 60)), expect);
        }
    }

    #[test]
    fn what_is_under_way_keeps_its_commits_and_what_begins_takes_those_asked_for() {
        let sync = SyncOperation { revision: "asked".into(), ..SyncOperation::default() };
        let mut state = goes(&asked(0, sync), NOW);
        assert_eq!(pinned_revisions(&state), ["asked"]);
        state.sync_result =
            Some(SyncOperationResult { revision: "begun".into(), ..Default::default() });
        assert_eq!(pinned_revisions(&state), ["begun"]);
    }

    #[test]
    fn a_rollback_looks_at_the_sources_it_brings_along() {
        let source = |path: &str| ApplicationSource { path: path.into(), ..Default::default() };
        let mut app = Application::default();
        app.spec.sources = vec![source("now"), source("also now")];
        let sync = SyncOperation { source: Some(source("then")), ..SyncOperation::default() };
        let then = with_sources_of(&app, &sync);
        assert_eq!(then.sources().as_ref(), [source("then")]);
        assert_eq!(with_sources_of(&app, &SyncOperation::default()), app);
    }
}
