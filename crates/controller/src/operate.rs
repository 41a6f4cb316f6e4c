//! Carries an operation out, one step at a time.
//!
//! All choices are [`engine::step`]'s; this file asks it, does what it says, and asks again until there
//! is something to wait for. What was done is kept in the Application's `status.operationState`, so that
//! a later pass, or another process, goes on from there.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use api::{Application, OperationState};
use cluster::Cluster;
use engine::operation::{
    Turn, end, is_finished, progress_of, record, retries_at, turn, with_sources_of,
};
use engine::{
    Action, Look, Move, Outcome, Plan, Progress, Step, SyncOptions, Task, plan, saved_before, step,
    terminate,
};
use jiff::{SignedDuration, Timestamp};
use object::ResourceKey;
use tokio::time::Instant;

use crate::Controller;
use crate::health::KindRules;
use crate::look::{Seen, live_objects, look, look_again, look_back};
use crate::perform::perform;
use crate::terms;
use crate::watchdog::{Stage, reached};

const TERMINATING: &str = "Terminating";
/// Also how an operation that took too long is told from one that a user ends.
const TIMED_OUT: &str = "operation is terminating due to timeout";
const WRITE_RETRY: SignedDuration = SignedDuration::from_millis(50);
const BLIND_RETRY: SignedDuration = SignedDuration::from_secs(1);
/// Nobody can see an operation that is shorter.
const A_MOMENT: Duration = Duration::from_millis(250);

/// Brings the operation as far as it goes now. Leaves `app` with the operation's
/// record, `stored` as the Application is stored by then and `seen` with the
/// cluster as it is afterwards; returns when to come back if nothing changes before.
pub(crate) async fn advance(
    controller: &Controller,
    stored: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
) -> Option<Timestamp> {
    let limit = controller.options.sync_timeout;
    let running = app.status.operation_state.as_ref().filter(|it| !is_finished(it));
    let is_overdue = running.is_some_and(|it| terms::is_overdue(limit, it, controller.now()));
    let mut state = match turn(app, controller.now()) {
        Turn::Waits(until) if !is_overdue => return terms::in_time(limit, app, Some(until)),
        Turn::Waits(_) => running.cloned()?,
        Turn::Goes(state) => *state,
    };
    // Nobody closes it.
    let _turn = controller.operators.acquire().await;
    if is_overdue && state.phase != TERMINATING {
        state.phase = TERMINATING.into();
        state.message = TIMED_OUT.into();
    }
    let wake_at = go_on(controller, stored, app, seen, state).await;
    terms::in_time(limit, app, wake_at)
}

async fn go_on(
    controller: &Controller,
    stored: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
    mut state: OperationState,
) -> Option<Timestamp> {
    let Some(asked) = state.operation.sync.clone() else {
        let message = "Invalid operation request: no operation specified";
        end(app, state, "Error", message, controller.now());
        return None;
    };
    if state.phase != TERMINATING
        && let Some((why, until)) = terms::stopped_by_window(seen, app, &state, controller.now())
    {
        state.message = format!("Sync operation blocked by sync window: {why}");
        app.status.operation_state = Some(state);
        return Some(until);
    }
    let Some(at) = terms::elsewhere(&state, seen) else {
        return sync(controller, stored, app, seen, state).await;
    };
    let mut there = look(controller, &with_sources_of(app, &asked), &at).await;
    if there.out_of_sight || there.may_be_back {
        return Some(controller.now() + BLIND_RETRY);
    }
    let wake_at = sync(controller, stored, app, &mut there, state).await;
    look_back(controller, app, seen, &there).await;
    wake_at
}

/// Plans the sync, records that it goes on, and carries it out.
async fn sync(
    controller: &Controller,
    stored: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
    mut state: OperationState,
) -> Option<Timestamp> {
    let verified = seen.comparison.as_ref().filter(|_| seen.is_verified());
    let Some(comparison) = verified else {
        if state.phase == TERMINATING {
            let message = with_cause("Operation terminated".into(), &state);
            end(app, state, "Failed", message, controller.now());
        } else {
            let reasons: Vec<&str> = seen.findings.iter().map(|it| it.message.as_str()).collect();
            end(app, state, "Error", reasons.join("; "), controller.now());
        }
        return None;
    };
    let writer = match seen.writer.clone() {
        Ok(writer) => writer,
        Err(why) => {
            end(app, state, "Error", why, controller.now());
            return None;
        }
    };
    let options = terms::options(app, &state, seen, controller.now());
    if let Some(message) = options.objection(&seen.findings) {
        end(app, state, "Failed", message, controller.now());
        return None;
    }
    let plan = plan(comparison, &options);
    terms::admit_drift(app, comparison);
    let progress = progress_of(&state);
    record(app, &mut state, &plan, &progress, &seen.revisions);
    app.status.operation_state = Some(state.clone());
    let order = Order { plan, options, cluster: writer };
    if controller.options.wave_delay.is_zero() && may_be_told_when_done(stored, &state) {
        let told = Told::WhenDone { until: Instant::now() + A_MOMENT };
        return carry_out(controller, stored, app, seen, state, &order, told).await;
    }
    match controller.status_writer.write_operation(stored, app).await {
        Ok(written) => *stored = written,
        Err(failure) => {
            // Nothing has been done yet; the next pass decides anew.
            tracing::debug!(app = %app.key(), error = %failure, "could not record an operation");
            *app = (**stored).clone();
            return Some(controller.now() + WRITE_RETRY);
        }
    }
    carry_out(controller, stored, app, seen, state, &order, Told::Already).await
}

/// Is the Application told yet that an operation goes on?
#[derive(Clone, Copy)]
enum Told {
    Already,
    /// Together with what it came to, if that is known by then.
    WhenDone {
        until: Instant,
    },
}

/// A sync that nobody asked for is begun anew by the next pass if we die before it is told. Most take
/// a moment, and a write of an Application costs its API server more than that of what is deployed.
fn may_be_told_when_done(stored: &Application, state: &OperationState) -> bool {
    stored.operation.is_none()
        && state.operation.initiated_by.automated
        && state.phase != TERMINATING
}

/// What is to be done, how, and where.
struct Order {
    plan: Plan,
    options: SyncOptions,
    cluster: Cluster,
}

/// Asks for the next step and does it, until there is something to wait for.
async fn carry_out(
    controller: &Controller,
    stored: &mut Arc<Application>,
    app: &mut Application,
    seen: &mut Seen,
    mut state: OperationState,
    order: &Order,
    mut told: Told,
) -> Option<Timestamp> {
    let Order { plan, options, cluster } = order;
    let keys: Vec<ResourceKey> = plan.tasks().map(|task| task.id.key.clone()).collect();
    let mut progress = progress_of(&state);
    loop {
        let Ok(live) = live_objects(cluster, &seen.facts.instance, &keys).await else {
            // What was done so far must not be forgotten, or it would be told as undone.
            record(app, &mut state, plan, &progress, &seen.revisions);
            app.status.operation_state = Some(state);
            return Some(controller.now() + BLIND_RETRY);
        };
        let now = controller.now();
        let health = KindRules { settings: &seen.settings, now };
        let look = Look { live: &live, health: &health, dry_run: options.dry_run, now };
        let advise = if state.phase == TERMINATING { terminate } else { step };
        let advice = advise(plan, &progress, look);
        progress.extend(advice.learned);
        if let Step::Run(moves) = &advice.step {
            if let Some(starting) = saved_before(moves) {
                progress.extend(starting);
                record(app, &mut state, plan, &progress, &seen.revisions);
                app.status.operation_state = Some(state.clone());
                match controller.status_writer.write_progress(stored, app).await {
                    Ok(written) => (*stored, told) = (written, Told::Already),
                    Err(failure) => {
                        let app = app.key();
                        tracing::debug!(%app, error = %failure, "could not save progress");
                        return Some(controller.now() + WRITE_RETRY);
                    }
                }
            }
            let performing = perform(controller, cluster, moves, options.dry_run);
            progress.extend(match told {
                Told::Already => performing.await,
                Told::WhenDone { until } => {
                    let telling = telling_at(until, controller, stored, app, performing);
                    let (done, is_told) = telling.await;
                    if is_told {
                        told = Told::Already;
                    }
                    done
                }
            });
            let delay = controller.options.wave_delay;
            if !delay.is_zero() && ends_wave(plan, moves, &progress) {
                reached(Stage::Resting);
                tokio::time::sleep(delay).await;
            }
            continue;
        }
        record(app, &mut state, plan, &progress, &seen.revisions);
        let mut wake_at = None;
        match advice.step {
            Step::Wait { message, until } => {
                wake_at = until;
                app.status.operation_state = Some(OperationState { message, ..state });
            }
            Step::Failed { message } => {
                let message = with_cause(message, &state);
                end(app, state, "Failed", message, now);
                wake_at = app.status.operation_state.as_ref().and_then(retries_at);
            }
            Step::Done { message } => end(app, state, "Succeeded", message, now),
            Step::Run(_) => {}
        }
        look_again(controller, app, seen).await;
        return wake_at;
    }
}

/// Does the work, and tells that the operation goes on where the work is not done by then. Was it told?
async fn telling_at<T>(
    until: Instant,
    controller: &Controller,
    stored: &mut Arc<Application>,
    app: &Application,
    work: impl Future<Output = T>,
) -> (T, bool) {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout_at(until, &mut work).await {
        return (done, false);
    }
    let (done, written) = tokio::join!(work, controller.status_writer.write_progress(stored, app));
    match written {
        Ok(written) => *stored = written,
        // What is under way goes on; its end is told, or decided anew by the next pass.
        Err(error) => tracing::debug!(app = %app.key(), %error, "could not record an operation"),
    }
    (done, true)
}

/// The last word of an operation, with who ended it where that was nobody.
fn with_cause(message: String, state: &OperationState) -> String {
    if state.phase == TERMINATING && state.message == TIMED_OUT {
        return format!("{message}, triggered by controller sync timeout");
    }
    message
}

/// Were these the last moves of a wave that others follow?
fn ends_wave(plan: &Plan, moves: &[Move<'_>], progress: &Progress) -> bool {
    let is_moved = |task: &Task| {
        moves.iter().any(|it| match it {
            Move::Apply(moved) | Move::Prune(moved) => moved.id == task.id,
            Move::Check(_) | Move::ReleaseHook(_) | Move::RemoveHook(_) => false,
        })
    };
    let is_done = |task: &Task| match progress.get(&task.id) {
        None => matches!(task.action, Action::Keep(_) | Action::Leave(..)),
        Some(outcome) => !matches!(outcome, Outcome::Checked | Outcome::Starting),
    };
    let others_follow = plan.waves.split_last().map_or(&[][..], |(_, before)| before);
    let mut waves = others_follow.iter();
    waves.any(|wave| wave.tasks.iter().any(is_moved) && wave.tasks.iter().all(is_done))
}

#[cfg(test)]
mod tests {
    use engine::plan::Wave;
    use engine::{Phase, Propagation, TaskId};
    use object::Object;
    use serde_json::json;

    use super::*;

    fn task(name: &str) -> Task {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let object = Object::from_value(object).expect("an object");
        let id = TaskId { phase: Phase::Sync, key: object.key() };
        Task { id, action: Action::Prune(object, Propagation::Foreground) }
    }

    #[test]
    fn a_wave_ends_with_the_last_of_its_tasks_unless_nothing_follows() {
        let wave = |number, names: &[&str]| {
            let tasks = names.iter().map(|it| task(it)).collect();
            Wave { phase: Phase::Sync, number, tasks }
        };
        let plan = Plan { waves: vec![wave(0, &["a", "b"]), wave(1, &["c"])] };
        let check = |moved: &str, done: &[&str], expect: bool| {
            let gone = || Outcome::Pruned { message: "pruned".into() };
            let progress = done.iter().map(|it| (task(it).id, gone())).collect();
            let moved = task(moved);
            assert_eq!(ends_wave(&plan, &[Move::Prune(&moved)], &progress), expect);
        };
        check("a", &["a"], false);
        check("b", &["a", "b"], true);
        check("c", &["a", "b", "c"], false);
    }
}
