//! What to do next in a sync. Asked, not run.
//!
//! [`step`] is a function of the plan, the saved progress and what is live now.
//! Whoever carries a sync out does what it says, saves what it learned, and
//! asks again when something changed. A restarted process asks the same
//! question with the same progress, so resuming needs no code of its own.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use object::{Object, ResourceKey, typed};

use crate::health::{Health, HealthCode, HealthRules, has_observed_latest, health};
use crate::marks::{self, Phase};
use crate::plan::{Action, Plan, Task, TaskId, Wave};

/// How long a changed object whose status proves nothing gets to react.
const SETTLE: SignedDuration = SignedDuration::from_secs(2);

/// What each task came to, so far.
pub type Progress = BTreeMap<TaskId, Outcome>;

/// What a task came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing was written yet, but the API server would take it.
    Checked,
    /// A hook that is about to be started. Written down before it is, so that
    /// whoever resumes and finds it knows that it is this sync's own.
    Starting,
    /// Written; for a hook: started.
    Applied {
        /// What the API server made of it.
        message: String,
        /// When its controller may be trusted to have seen it, if the object
        /// itself cannot prove it.
        settles_at: Option<Timestamp>,
    },
    /// Written, and healthy as far as anyone waited for it.
    Completed {
        /// What the object said at the end.
        message: String,
    },
    /// Deleted, because git no longer holds it.
    Pruned {
        /// What the API server made of it.
        message: String,
    },
    /// Left alone, although git no longer holds it.
    Left {
        /// Why.
        message: String,
    },
    /// Could not be written, or turned out bad.
    Failed {
        /// Why.
        message: String,
        /// Was the API server already happy with it?
        was_applied: bool,
    },
    /// The API server would not take it; nothing of the sync was written.
    CheckFailed {
        /// Why.
        message: String,
    },
}

impl Outcome {
    /// The outcome of a write that the API server accepted.
    ///
    /// Only the change of an existing object can be mistaken for settled: a new
    /// one has no old status, an unchanged one needs nothing.
    #[must_use]
    pub fn written(message: String, changed_existing: bool, now: Timestamp) -> Self {
        Self::Applied { message, settles_at: changed_existing.then(|| now + SETTLE) }
    }
}

/// The next move, and what the look at the cluster taught us on the way.
#[derive(Debug, PartialEq)]
pub struct Advice<'p> {
    /// To be put into the progress before anything else.
    pub learned: Vec<(TaskId, Outcome)>,
    /// What to do.
    pub step: Step<'p>,
}

/// The next move of a sync.
#[derive(Debug, PartialEq)]
pub enum Step<'p> {
    /// Carry these out, all at once, then ask again.
    Run(Vec<Move<'p>>),
    /// Ask again when one of these objects changes, or at the given time.
    Wait {
        /// What the user reads meanwhile.
        message: String,
        /// When to ask at the latest, if time alone may settle it.
        until: Option<Timestamp>,
    },
    /// Everything is done.
    Done {
        /// What the user reads.
        message: &'static str,
    },
    /// It ended badly.
    Failed {
        /// What the user reads.
        message: String,
    },
}

/// One effect on the cluster.
#[derive(Debug, PartialEq)]
pub enum Move<'p> {
    /// Ask the API server whether it would take the task's object, and write
    /// nothing; the outcome is `Checked` or `CheckFailed`. What only time can
    /// tell (a namespace that is not there yet) is no failure.
    Check(&'p Task),
    /// Make the task's object as git wants it, or start the hook.
    Apply(&'p Task),
    /// Delete the task's object for good; its outcome is `Pruned`.
    Prune(&'p Task),
    /// Take our finalizer off a hook; has no outcome unless it fails.
    ReleaseHook(&'p Task),
    /// Delete a hook that is over, or stands in the way of its next run; has no
    /// outcome unless it fails.
    RemoveHook(&'p Task),
}

/// What was asked of the world for a step.
#[derive(Clone, Copy)]
pub struct Look<'l> {
    /// The objects of the plan as they are now.
    pub live: &'l BTreeMap<ResourceKey, Object>,
    /// How to judge their health.
    pub health: &'l dyn HealthRules,
    /// Is the sync a dry run, which checks nothing beforehand?
    pub dry_run: bool,
    /// The time.
    pub now: Timestamp,
}

/// Says what to do next.
#[must_use]
pub fn step<'p>(plan: &'p Plan, progress: &Progress, look: Look<'_>) -> Advice<'p> {
    let mut walk = Walk { progress: progress.clone(), learned: Vec::new(), look };
    let step = walk
        .refusal(plan)
        .or_else(|| walk.namespace(plan))
        .or_else(|| walk.check(plan))
        .unwrap_or_else(|| walk.ordinary_phases(plan));
    Advice { learned: walk.learned, step }
}

/// Says what to do next when the operation is to end: hooks that run are taken
/// away, nothing new begins.
#[must_use]
pub fn terminate<'p>(plan: &'p Plan, progress: &Progress, look: Look<'_>) -> Advice<'p> {
    let mut walk = Walk { progress: progress.clone(), learned: Vec::new(), look };
    let step = walk.end_hooks(plan);
    Advice { learned: walk.learned, step }
}

/// What must be saved, with all that was learned before, ahead of these moves;
/// none where nothing must.
///
/// A hook runs once. A process that is killed right after it started one, or
/// after it let one go that was over, could otherwise not tell from the cluster
/// that it ran.
#[must_use]
pub fn saved_before(moves: &[Move<'_>]) -> Option<Vec<(TaskId, Outcome)>> {
    let concerns_hooks = |it: &Move<'_>| match it {
        Move::Apply(task) => task.action.is_hook(),
        Move::ReleaseHook(_) | Move::RemoveHook(_) => true,
        Move::Check(_) | Move::Prune(_) => false,
    };
    let starts = |it: &Move<'_>| match it {
        Move::Apply(task) if task.action.is_hook() => Some((task.id.clone(), Outcome::Starting)),
        _ => None,
    };
    moves.iter().any(concerns_hooks).then(|| moves.iter().filter_map(starts).collect())
}

struct Walk<'l> {
    progress: Progress,
    learned: Vec<(TaskId, Outcome)>,
    look: Look<'l>,
}

/// How far a task is.
enum State {
    Todo,
    /// A prune that the user has not confirmed yet.
    Unconfirmed,
    /// A hook of an earlier run, still held by our finalizer, stands in the way.
    Held,
    /// A hook of an earlier run stands in the way.
    Blocked,
    Waiting {
        until: Option<Timestamp>,
    },
    Done,
    Failed,
}

impl Walk<'_> {
    /// Nothing is done when one task must not be.
    fn refusal<'p>(&mut self, plan: &'p Plan) -> Option<Step<'p>> {
        let mut reasons = BTreeSet::new();
        for task in plan.tasks() {
            if let Action::Refuse(_, why) = &task.action {
                reasons.insert(why.as_str());
                self.learn(task, Outcome::Failed { message: why.clone(), was_applied: false });
            }
        }
        let reasons: Vec<&str> = reasons.into_iter().collect();
        (!reasons.is_empty()).then(|| Step::Failed {
            message: format!(
                "one or more synchronization tasks are not valid: {}",
                reasons.join("; ")
            ),
        })
    }

    /// A namespace that others live in is made before they are checked, since no
    /// check of theirs could succeed.
    fn namespace<'p>(&mut self, plan: &'p Plan) -> Option<Step<'p>> {
        let first = plan.waves.first()?.tasks.first()?;
        let is_missing_namespace = first.id.phase == Phase::PreSync
            && first.id.key.group_kind().is("", "Namespace")
            && matches!(first.action, Action::Apply(..))
            && !self.look.live.contains_key(&first.id.key);
        if !is_missing_namespace || self.look.dry_run {
            return None;
        }
        match self.progress.get(&first.id) {
            None if self.progress.is_empty() => Some(Step::Run(vec![Move::Apply(first)])),
            Some(Outcome::Failed { message, .. }) => Some(Step::Failed {
                message: format!("the namespace failed to apply, reason: {message}"),
            }),
            _ => None,
        }
    }

    /// Before the first write, the API server is asked about all that it might
    /// not even read, so that a mistake in one manifest does not leave a sync
    /// half done. It reads whatever is as the Go type of its kind has it.
    fn check<'p>(&mut self, plan: &'p Plan) -> Option<Step<'p>> {
        if self.progress.values().any(|it| matches!(it, Outcome::CheckFailed { .. })) {
            return Some(Step::Failed {
                message: "one or more objects failed to apply (dry run)".into(),
            });
        }
        let begun = |task: &Task| {
            let namespace = task.id.key.group_kind().is("", "Namespace");
            let outcome = self.progress.get(&task.id);
            !namespace && outcome.is_some_and(|it| *it != Outcome::Checked)
        };
        if self.look.dry_run || plan.tasks().any(begun) {
            return None;
        }
        let unchecked: Vec<Move<'p>> = plan
            .tasks()
            .filter(|task| task.action.writing().is_some())
            .filter(|task| !self.progress.contains_key(&task.id))
            .filter(|task| typed::round_trip(task.action.object()).is_none())
            .map(Move::Check)
            .collect();
        (!unchecked.is_empty()).then_some(Step::Run(unchecked))
    }

    fn ordinary_phases<'p>(&mut self, plan: &'p Plan) -> Step<'p> {
        let several_waves = plan.waves.iter().filter(|it| it.phase != Phase::SyncFail).count() > 1;
        let last = plan.final_wave().map(|wave| (wave.phase, wave.number));
        for wave in plan.waves.iter().filter(|wave| wave.phase != Phase::SyncFail) {
            // Nobody waits for what comes last, unless hooks run beside it.
            let is_last = last == Some((wave.phase, wave.number));
            let has_hooks = wave.tasks.iter().any(|task| task.action.is_hook());
            let waits_for_health = !is_last || (has_hooks && several_waves);
            let states = self.states(wave, waits_for_health);
            if let Some(step) = self.release_hooks(plan).or_else(|| run(wave, &states)) {
                return step;
            }
            if let Some(step) = wait(wave, &states) {
                return step;
            }
            if states.iter().any(|state| matches!(state, State::Failed)) {
                return self.sync_fail_phase(plan);
            }
        }
        self.remove_finished_hooks(plan).unwrap_or(Step::Done {
            message: if plan.waves.is_empty() {
                "successfully synced (no more tasks)"
            } else {
                "successfully synced (all tasks run)"
            },
        })
    }

    fn sync_fail_phase<'p>(&mut self, plan: &'p Plan) -> Step<'p> {
        for wave in plan.waves.iter().filter(|wave| wave.phase == Phase::SyncFail) {
            let states = self.states(wave, true);
            let next = self.release_hooks(plan).or_else(|| run(wave, &states));
            if let Some(step) = next.or_else(|| wait(wave, &states)) {
                return step;
            }
        }
        self.remove_finished_hooks(plan).unwrap_or_else(|| Step::Failed { message: self.reasons() })
    }

    /// Hooks that are still running lose their finalizer and go.
    fn end_hooks<'p>(&mut self, plan: &'p Plan) -> Step<'p> {
        let mut moves = Vec::new();
        for task in plan.tasks().filter(|task| task.action.is_hook()) {
            self.adopt(task);
            if !matches!(self.progress.get(&task.id), Some(Outcome::Applied { .. })) {
                continue;
            }
            match self.look.live.get(&task.id.key) {
                Some(live) if marks::has_hook_finalizer(live) => {
                    moves.push(Move::ReleaseHook(task));
                }
                Some(live) if !is_deleting(live) && self.is_running(live) => {
                    moves.push(Move::RemoveHook(task));
                }
                Some(live) if !is_deleting(live) => drop(self.applied_state(task)),
                Some(_) | None => self.learn(
                    task,
                    Outcome::Failed { message: "Terminated".into(), was_applied: true },
                ),
            }
        }
        if moves.is_empty() {
            Step::Failed { message: "Operation terminated".into() }
        } else {
            Step::Run(moves)
        }
    }

    fn is_running(&self, hook: &Object) -> bool {
        health(hook, self.look.health)
            .is_some_and(|it| matches!(it.code, HealthCode::Progressing | HealthCode::Suspended))
    }

    fn states(&mut self, wave: &Wave, waits_for_health: bool) -> Vec<State> {
        wave.tasks.iter().map(|task| self.state(task, waits_for_health)).collect()
    }

    /// A hook that was about to be started, and is there, was started.
    fn adopt(&mut self, task: &Task) {
        let was_starting = self.progress.get(&task.id) == Some(&Outcome::Starting);
        if was_starting && self.look.live.contains_key(&task.id.key) {
            let message = format!("{} created", task.action.object().kubectl_name());
            self.learn(task, Outcome::Applied { message, settles_at: None });
        }
    }

    fn state(&mut self, task: &Task, waits_for_health: bool) -> State {
        self.adopt(task);
        let live = self.look.live.get(&task.id.key);
        match (&task.action, self.progress.get(&task.id), live) {
            (_, Some(Outcome::Failed { .. } | Outcome::CheckFailed { .. }), _) => State::Failed,
            (_, Some(Outcome::Completed { .. } | Outcome::Left { .. }), _) => State::Done,
            (_, Some(Outcome::Pruned { .. }), None) => State::Done,
            (_, Some(Outcome::Pruned { .. }), Some(live)) if is_deleting(live) => {
                State::Waiting { until: None }
            }
            (_, Some(Outcome::Pruned { .. }), Some(_)) => State::Done,
            (Action::AwaitConfirmation(_), None, _) => State::Unconfirmed,
            (Action::Leave(_, reason), None, _) => {
                self.learn(task, Outcome::Left { message: reason.message().into() });
                State::Done
            }
            (Action::Keep(object), None, _) => {
                let message = format!("{} unchanged", object.kubectl_name());
                self.learn(task, Outcome::Applied { message, settles_at: None });
                self.state(task, waits_for_health)
            }
            (Action::Hook(..), None | Some(Outcome::Checked), Some(live))
                if marks::has_hook_finalizer(live) =>
            {
                State::Held
            }
            (Action::Hook(_, run), None | Some(Outcome::Checked), Some(live))
                if run.policy.before_creation =>
            {
                if is_deleting(live) {
                    State::Waiting { until: None }
                } else {
                    State::Blocked
                }
            }
            (_, None | Some(Outcome::Checked | Outcome::Starting), _) => State::Todo,
            (action, Some(Outcome::Applied { .. }), _) if waits_for_health || action.is_hook() => {
                self.applied_state(task)
            }
            (_, Some(Outcome::Applied { .. }), _) => State::Done,
        }
    }

    /// An object that was written: is it there, has it settled, is it healthy?
    fn applied_state(&mut self, task: &Task) -> State {
        let Some(Outcome::Applied { message, settles_at }) = self.progress.get(&task.id).cloned()
        else {
            return State::Done;
        };
        let Some(live) = self.look.live.get(&task.id.key) else {
            let ResourceKey { group, kind, name, .. } = &task.id.key;
            let message =
                format!("Resource {group}/{kind}/{name} is missing, it might have been deleted");
            self.learn(task, Outcome::Failed { message, was_applied: true });
            return State::Failed;
        };
        let is_hook = task.action.is_hook();
        let Some(Health { code, message: said }) = health(live, self.look.health) else {
            let message = if is_hook { format!("{} created", live.name()) } else { message };
            self.learn(task, Outcome::Completed { message });
            return State::Done;
        };
        let unsettled = settles_at.filter(|at| !has_observed_latest(live) && self.look.now < *at);
        let message = if said.is_empty() { message } else { said };
        match code {
            _ if unsettled.is_some() => State::Waiting { until: unsettled },
            HealthCode::Healthy => {
                self.learn(task, Outcome::Completed { message });
                State::Done
            }
            HealthCode::Degraded => self.went_bad(task, message),
            HealthCode::Unknown if is_hook => self.went_bad(task, message),
            HealthCode::Missing if is_hook => {
                self.learn(task, Outcome::Completed { message });
                State::Done
            }
            HealthCode::Progressing
            | HealthCode::Suspended
            | HealthCode::Missing
            | HealthCode::Unknown => State::Waiting { until: None },
        }
    }

    fn went_bad(&mut self, task: &Task, message: String) -> State {
        self.learn(task, Outcome::Failed { message, was_applied: true });
        State::Failed
    }

    fn learn(&mut self, task: &Task, outcome: Outcome) {
        self.progress.insert(task.id.clone(), outcome.clone());
        self.learned.push((task.id.clone(), outcome));
    }

    /// Hooks that are over and still held by our finalizer.
    fn release_hooks<'p>(&self, plan: &'p Plan) -> Option<Step<'p>> {
        let is_over = |task: &&Task| {
            let outcome = self.progress.get(&task.id);
            task.action.is_hook()
                && matches!(outcome, Some(Outcome::Completed { .. } | Outcome::Failed { .. }))
        };
        let is_held =
            |task: &&Task| self.look.live.get(&task.id.key).is_some_and(marks::has_hook_finalizer);
        let moves: Vec<_> =
            plan.tasks().filter(is_over).filter(is_held).map(Move::ReleaseHook).collect();
        (!moves.is_empty()).then_some(Step::Run(moves))
    }

    /// Hooks whose delete policy has come true, and that are still there.
    fn remove_finished_hooks<'p>(&self, plan: &'p Plan) -> Option<Step<'p>> {
        let is_over = |task: &&Task| match (&task.action, self.progress.get(&task.id)) {
            (Action::Hook(_, run), Some(Outcome::Completed { .. })) => run.policy.on_success,
            (Action::Hook(_, run), Some(Outcome::Failed { .. })) => run.policy.on_failure,
            _ => false,
        };
        let stands =
            |task: &&Task| self.look.live.get(&task.id.key).is_some_and(|live| !is_deleting(live));
        let moves: Vec<_> =
            plan.tasks().filter(is_over).filter(stands).map(Move::RemoveHook).collect();
        (!moves.is_empty()).then_some(Step::Run(moves))
    }

    /// Why the sync failed, in Argo CD's words.
    fn reasons(&self) -> String {
        let of_sync = self.failures(|phase| phase != Phase::SyncFail);
        let (what, list) = if of_sync.unwritten.is_empty() {
            ("one or more synchronization tasks completed unsuccessfully", of_sync.went_bad)
        } else {
            ("one or more objects failed to apply", of_sync.unwritten)
        };
        let mut message = format!("{what}, reason: {}", list.join(","));
        let Failures { mut unwritten, went_bad } = self.failures(|phase| phase == Phase::SyncFail);
        unwritten.extend(went_bad);
        if !unwritten.is_empty() {
            message += "\none or more SyncFail hooks failed, reason: ";
            message += &unwritten.join(",");
        }
        message
    }

    fn failures(&self, concerns: fn(Phase) -> bool) -> Failures<'_> {
        let mut failures = Failures::default();
        for (_, outcome) in self.progress.iter().filter(|(id, _)| concerns(id.phase)) {
            if let Outcome::Failed { message, was_applied } = outcome {
                let list =
                    if *was_applied { &mut failures.went_bad } else { &mut failures.unwritten };
                if !list.contains(&message.as_str()) {
                    list.push(message.as_str());
                }
            }
        }
        failures
    }
}

/// Messages of what could not be written, and of what was and turned out bad.
#[derive(Default)]
struct Failures<'p> {
    unwritten: Vec<&'p str>,
    went_bad: Vec<&'p str>,
}

/// The next moves of a wave: prunes, then hooks that stand in the way, then
/// one kind after the other.
fn run<'p>(wave: &'p Wave, states: &[State]) -> Option<Step<'p>> {
    let pending = |wanted: fn(&State) -> bool| {
        wave.tasks.iter().zip(states).filter(move |(_, state)| wanted(state)).map(|(task, _)| task)
    };
    let held: Vec<_> =
        pending(|state| matches!(state, State::Held)).map(Move::ReleaseHook).collect();
    if !held.is_empty() {
        return Some(Step::Run(held));
    }
    let unconfirmed: Vec<&Task> = pending(|state| matches!(state, State::Unconfirmed)).collect();
    if let Some(first) = unconfirmed.first() {
        let message = waiting_for("pruning confirmation of", first, unconfirmed.len(), "resources");
        return Some(Step::Wait { message, until: None });
    }
    let prunes: Vec<_> = pending(|state| matches!(state, State::Todo))
        .filter(|task| matches!(task.action, Action::Prune(..)))
        .map(Move::Prune)
        .collect();
    if !prunes.is_empty() {
        return Some(Step::Run(prunes));
    }
    let in_the_way: Vec<_> =
        pending(|state| matches!(state, State::Blocked)).map(Move::RemoveHook).collect();
    if !in_the_way.is_empty() {
        return Some(Step::Run(in_the_way));
    }
    let first = pending(|state| matches!(state, State::Todo)).next()?;
    let same_kind = pending(|state| matches!(state, State::Todo))
        .filter(|task| task.id.key.group_kind() == first.id.key.group_kind());
    Some(Step::Run(same_kind.map(Move::Apply).collect()))
}

fn wait<'p>(wave: &Wave, states: &[State]) -> Option<Step<'p>> {
    let waiting: Vec<(&Task, Option<Timestamp>)> = wave
        .tasks
        .iter()
        .zip(states)
        .filter_map(|(task, state)| match state {
            State::Waiting { until } => Some((task, *until)),
            State::Todo
            | State::Unconfirmed
            | State::Held
            | State::Blocked
            | State::Done
            | State::Failed => None,
        })
        .collect();
    let (first, _) = waiting
        .iter()
        .find(|(task, _)| task.action.is_hook())
        .or_else(|| waiting.first())
        .copied()?;
    let what = match first.action {
        Action::Hook(..) => "completion of hook",
        Action::Prune(..) | Action::AwaitConfirmation(_) | Action::Leave(..) => "deletion of",
        Action::Apply(..) | Action::Keep(_) | Action::Refuse(..) => "healthy state of",
    };
    let only_hooks = waiting.iter().all(|(task, _)| task.action.is_hook());
    let others = if only_hooks { "hooks" } else { "resources" };
    let message = waiting_for(what, first, waiting.len(), others);
    Some(Step::Wait { message, until: waiting.iter().filter_map(|(_, until)| *until).min() })
}

fn waiting_for(what: &str, first: &Task, count: usize, others: &str) -> String {
    let ResourceKey { group, kind, name, .. } = &first.id.key;
    let more = match count {
        0 | 1 => String::new(),
        count => format!(" and {} more {others}", count - 1),
    };
    format!("waiting for {what} {group}/{kind}/{name}{more}")
}

fn is_deleting(live: &Object) -> bool {
    live.at(&["metadata", "deletionTimestamp"]).is_some()
}
