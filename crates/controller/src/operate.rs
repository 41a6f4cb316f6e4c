//! Carries an operation out, one step at a time.
//!
//! All choices are [`engine::step`]'s; this file asks it, does what it says, and
//! asks again until there is something to wait for. What was done is kept in the
//! Application's `status.operationState`, so that a later pass, or another
//! process, goes on from there.

use std::sync::Arc;

use api::{Application, OperationState, SyncOperationResource, SyncOperationResult};
use engine::operation::{
    begin, finish, history_after, is_finished, progress_of, results_of, retries_at, retry,
};
use engine::{Look, Plan, Progress, Step, SyncOptions, plan, step};
use jiff::{SignedDuration, Timestamp};
use object::ResourceKey;

use crate::Controller;
use crate::health::Bundled;
use crate::look::{At, Seen, live_objects, look, look_again};
use crate::perform::perform;

const WRITE_RETRY: SignedDuration = SignedDuration::from_millis(50);
const BLIND_RETRY: SignedDuration = SignedDuration::from_secs(1);

/// Brings the operation as far as it goes now. Leaves `app` with the operation's
/// record, `base` as it is stored by then and `seen` with the cluster as it is
/// afterwards; returns when to come back if nothing changes before.
pub(crate) async fn advance(
    controller: &Controller,
    base: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
) -> Option<Timestamp> {
    let state = match current_record(app, controller.now()) {
        Record::Wait(until) => return Some(until),
        Record::Go(state) => *state,
    };
    if state.phase == "Terminating" {
        end(app, state, "Failed", "Operation terminated".into(), controller.now());
        return None;
    }
    let pinned = pinned_revisions(&state);
    if pinned.is_empty() || pinned == seen.revisions {
        return sync(controller, base, app, seen, state).await;
    }
    let mut at_pinned = look(controller, app, &At::Revisions(pinned)).await;
    let wake_at = sync(controller, base, app, &mut at_pinned, state).await;
    look_again(seen).await;
    wake_at
}

async fn sync(
    controller: &Controller,
    base: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
    mut state: OperationState,
) -> Option<Timestamp> {
    let verified = seen.comparison.as_ref().filter(|_| seen.is_verified());
    let Some((comparison, cluster)) = verified.zip(seen.cluster.clone()) else {
        let reasons: Vec<&str> = seen.findings.iter().map(|it| it.message.as_str()).collect();
        end(app, state, "Error", reasons.join("; "), controller.now());
        return None;
    };
    let options = options(app, &state, seen, controller.now());
    let plan = plan(comparison, &options);
    let mut progress = progress_of(&state);
    record(app, &mut state, &plan, &progress, seen);
    app.status.operation_state = Some(state.clone());
    match controller.status_writer.write_operation(base, app).await {
        Ok(written) => *base = written,
        Err(failure) => {
            // Nothing has been done yet; the next pass decides anew.
            tracing::debug!(app = %app.key(), error = %failure, "could not record an operation");
            *app = (**base).clone();
            return Some(controller.now() + WRITE_RETRY);
        }
    }

    let keys: Vec<ResourceKey> = plan.tasks().map(|task| task.id.key.clone()).collect();
    loop {
        let Ok(live) = live_objects(&cluster, &seen.facts.instance, &keys).await else {
            return Some(controller.now() + BLIND_RETRY);
        };
        let look =
            Look { live: &live, health: &Bundled, dry_run: options.dry_run, now: controller.now() };
        let advice = step(&plan, &progress, look);
        progress.extend(advice.learned);
        match advice.step {
            Step::Run(moves) => {
                progress.extend(perform(controller, &cluster, &moves, options.dry_run).await);
            }
            Step::Wait { message, until } => {
                state.message = message;
                record(app, &mut state, &plan, &progress, seen);
                app.status.operation_state = Some(state);
                look_again(seen).await;
                return until;
            }
            Step::Done { message } => {
                record(app, &mut state, &plan, &progress, seen);
                end(app, state, "Succeeded", message.into(), controller.now());
                break;
            }
            Step::Failed { message } => {
                record(app, &mut state, &plan, &progress, seen);
                end(app, state, "Failed", message, controller.now());
                break;
            }
        }
    }
    look_again(seen).await;
    app.status.operation_state.as_ref().and_then(retries_at)
}

enum Record {
    Go(Box<OperationState>),
    Wait(Timestamp),
}

/// The record of the operation that is under way, or of one that begins now.
fn current_record(app: &Application, now: Timestamp) -> Record {
    let running = app.status.operation_state.clone().filter(|state| !is_finished(state));
    match running {
        None => Record::Go(Box::new(begin(app.operation.clone().unwrap_or_default(), now))),
        Some(state) => match retries_at(&state) {
            Some(at) if now < at => Record::Wait(at),
            Some(_) => Record::Go(Box::new(retry(state))),
            None => Record::Go(Box::new(state)),
        },
    }
}

/// The commits this operation is about, if it has begun or was asked for some.
fn pinned_revisions(state: &OperationState) -> Vec<String> {
    let begun = state.sync_result.as_ref().map(|it| (&it.revision, &it.revisions));
    let asked = state.operation.sync.as_ref().map(|it| (&it.revision, &it.revisions));
    let named = |(one, many): (&String, &Vec<String>)| {
        if many.is_empty() { vec![one.clone()] } else { many.clone() }
    };
    let is_named = |revisions: &Vec<String>| revisions.iter().all(|it| !it.is_empty());
    begun.map(named).filter(is_named).or(asked.map(named).filter(is_named)).unwrap_or_default()
}

fn options(app: &Application, state: &OperationState, seen: &Seen, now: Timestamp) -> SyncOptions {
    let sync = state.operation.sync.clone().unwrap_or_default();
    let revision = seen.revisions.first().map(String::as_str).unwrap_or_default();
    let started_at = state.started_at.timestamp().unwrap_or(now);
    SyncOptions {
        selection: seen.selection(&sync.resources),
        ..SyncOptions::of(app, &sync, revision, started_at)
    }
}

fn record(
    app: &Application,
    state: &mut OperationState,
    plan: &Plan,
    progress: &Progress,
    seen: &Seen,
) {
    let earlier = state.sync_result.take().unwrap_or_default();
    let mut result = SyncOperationResult {
        resources: results_of(plan, progress, &earlier.resources),
        ..SyncOperationResult::default()
    };
    if app.has_multiple_sources() {
        result.revisions.clone_from(&seen.revisions);
        result.sources.clone_from(&app.spec.sources);
    } else {
        result.revision = seen.revisions.first().cloned().unwrap_or_default();
        result.source = app.spec.source.clone().unwrap_or_default();
    }
    state.sync_result = Some(result);
}

fn end(app: &mut Application, state: OperationState, phase: &str, message: String, now: Timestamp) {
    let state = finish(state, phase, message, now);
    if is_finished(&state) {
        app.operation = None;
        app.status.history = history_after(app, &state);
    }
    app.status.operation_state = Some(state);
}

/// One object, as an operation names it.
pub(crate) fn selected(key: &ResourceKey) -> SyncOperationResource {
    SyncOperationResource {
        group: key.group.clone(),
        kind: key.kind.clone(),
        name: key.name.clone(),
        namespace: key.namespace.clone(),
    }
}
