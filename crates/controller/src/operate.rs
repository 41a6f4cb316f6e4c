//! Carries an operation out, one step at a time.
//!
//! All choices are [`engine::step`]'s; this file asks it, does what it says, and
//! asks again until there is something to wait for. What was done is kept in the
//! Application's `status.operationState`, so that a later pass, or another
//! process, goes on from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Application, OperationState, SyncOperation, SyncOperationResource, SyncOperationResult};
use engine::operation::{
    begin, finish, history_after, is_finished, progress_of, results_of, retries_at, retry,
};
use engine::{Look, Plan, Progress, Step, SyncOptions, plan, step, terminate};
use jiff::{SignedDuration, Timestamp};
use object::{GroupKind, Object, ResourceKey};

use crate::Controller;
use crate::health::KindRules;
use crate::level::Level;
use crate::look::{At, Seen, live_objects, look, look_again};
use crate::perform::perform;

const TERMINATING: &str = "Terminating";
const WRITE_RETRY: SignedDuration = SignedDuration::from_millis(50);
const WINDOW_CHECK: SignedDuration = SignedDuration::from_secs(30);
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
    let Some(asked) = state.operation.sync.clone() else {
        let message = "Invalid operation request: no operation specified";
        end(app, state, "Error", message.into(), controller.now());
        return None;
    };
    let state = controller.terminated_if_too_long(state);
    if state.phase != TERMINATING
        && let Some(why) = stopped_by_window(seen, app, &state, controller.now())
    {
        let mut state = state;
        state.message = format!("Sync operation blocked by sync window: {why}");
        app.status.operation_state = Some(state);
        return Some(controller.now() + WINDOW_CHECK);
    }
    let Some(at) = elsewhere(&asked, &state, seen) else {
        return sync(controller, base, app, seen, state).await;
    };
    let mut there = look(controller, &with_sources_of(app, &asked), &at).await;
    if there.out_of_sight {
        return Some(controller.now() + BLIND_RETRY);
    }
    let wake_at = sync(controller, base, app, &mut there, state).await;
    look_again(controller, app, seen).await;
    wake_at
}

/// Where the operation looks, if that is not where the Application does: other
/// commits, other sources, or manifests that come with the request.
fn elsewhere(asked: &SyncOperation, state: &OperationState, seen: &Seen) -> Option<At> {
    if !asked.manifests.is_empty() {
        return Some(At::Manifests(asked.manifests.clone()));
    }
    let has_own_sources = asked.source.is_some() || !asked.sources.is_empty();
    let pinned = pinned_revisions(state);
    if pinned.is_empty() {
        return has_own_sources.then_some(At::Target(Level::Latest));
    }
    (has_own_sources || pinned != seen.revisions).then_some(At::Revisions(pinned))
}

/// The Application with the sources that an operation brings along, as a
/// rollback does.
fn with_sources_of(app: &Application, asked: &SyncOperation) -> Application {
    let mut app = app.clone();
    if !asked.sources.is_empty() {
        app.spec.sources.clone_from(&asked.sources);
    } else if asked.source.is_some() {
        app.spec.source.clone_from(&asked.source);
        app.spec.sources.clear();
    }
    app
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
        if state.phase == TERMINATING {
            end(app, state, "Failed", "Operation terminated".into(), controller.now());
            return None;
        }
        let reasons: Vec<&str> = seen.findings.iter().map(|it| it.message.as_str()).collect();
        end(app, state, "Error", reasons.join("; "), controller.now());
        return None;
    };
    let options = options(app, &state, seen, controller.now());
    if let Some(message) = options.objection(&seen.findings) {
        end(app, state, "Failed", message, controller.now());
        return None;
    }
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
        let health = KindRules { settings: &seen.settings, now: controller.now() };
        let look =
            Look { live: &live, health: &health, dry_run: options.dry_run, now: controller.now() };
        let advise = if state.phase == TERMINATING { terminate } else { step };
        let advice = advise(&plan, &progress, look);
        progress.extend(advice.learned);
        match advice.step {
            Step::Run(moves) => {
                progress.extend(perform(controller, &cluster, &moves, options.dry_run).await);
            }
            Step::Wait { message, until } => {
                state.message = message;
                record(app, &mut state, &plan, &progress, seen);
                app.status.operation_state = Some(state);
                look_again(controller, app, seen).await;
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
    look_again(controller, app, seen).await;
    app.status.operation_state.as_ref().and_then(retries_at)
}

impl Controller {
    /// An operation that takes longer than the settings allow is ended.
    fn terminated_if_too_long(&self, mut state: OperationState) -> OperationState {
        let began = state.started_at.timestamp();
        let limit = self.options.sync_timeout.and_then(|it| SignedDuration::try_from(it).ok());
        if let (Some(began), Some(limit)) = (began, limit)
            && self.now().duration_since(began) > limit
        {
            state.phase = TERMINATING.into();
        }
        state
    }
}

/// Why no sync may run at this hour, if so.
fn stopped_by_window(
    seen: &Seen,
    app: &Application,
    state: &OperationState,
    now: Timestamp,
) -> Option<String> {
    let automated = state.operation.initiated_by.automated;
    let started = state.started_at.timestamp().unwrap_or(now);
    seen.permit.as_ref()?.stops(app, automated, started, now)
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
    let mut options = SyncOptions {
        selection: seen.selection(&sync.resources),
        comparing: Arc::new(seen.comparing.clone()),
        ..SyncOptions::of(app, &sync, revision, started_at)
    };
    if let (Some(namespace), Some(cluster)) = (&mut options.namespace, &seen.cluster) {
        namespace.exists = cluster.known(&namespace_key(&namespace.name)).is_some();
    }
    options.objections = objections(seen, &options);
    options
}

/// What the project has against the objects that the sync would write.
fn objections(seen: &Seen, options: &SyncOptions) -> BTreeMap<ResourceKey, String> {
    let (Some(permit), Some(comparison)) = (&seen.permit, &seen.comparison) else {
        return BTreeMap::new();
    };
    let wanted = comparison.items.iter().filter(|(_, it)| it.pair.want().is_some());
    let mut keys: Vec<ResourceKey> = wanted.map(|(key, _)| key.clone()).collect();
    keys.extend(comparison.hooks.iter().map(Object::key));
    keys.extend(options.namespace.iter().map(|it| namespace_key(&it.name)));
    permit.objections(&keys)
}

fn namespace_key(name: &str) -> ResourceKey {
    ResourceKey::new(&GroupKind::new("", "Namespace"), "", name)
}

fn record(
    app: &Application,
    state: &mut OperationState,
    plan: &Plan,
    progress: &Progress,
    seen: &Seen,
) {
    let asked = state.operation.sync.clone().unwrap_or_default();
    let app = &with_sources_of(app, &asked);
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
