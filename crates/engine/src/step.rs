//! What to do next in a sync. Asked, not run.
//!
//! [`step`] is a function of the plan, the saved progress and what is live now.
//! Whoever carries a sync out does what it says, saves what it learned, and
//! asks again when something changed. A restarted process asks the same
//! question with the same progress, so resuming needs no code of its own.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use object::{Object, ResourceKey};

use crate::health::{Health, HealthCode, HealthRules, has_observed_latest, health};
use crate::marks::Phase;
use crate::plan::{Action, Plan, Task, TaskId, Wave};

/// How long a changed object whose status proves nothing gets to react.
const SETTLE: SignedDuration = SignedDuration::from_secs(2);

/// What each task came to, so far.
pub type Progress = BTreeMap<TaskId, Outcome>;

/// What a task came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
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
    /// Make the task's object as git wants it, or start the hook.
    Apply(&'p Task),
    /// Delete the task's object for good; its outcome is `Pruned`.
    Prune(&'p Task),
    /// Delete a hook that is over, or stands in the way of its next run.
    RemoveHook(&'p Task),
}

/// What was asked of the world for a step.
#[derive(Clone, Copy)]
pub struct Look<'l> {
    /// The objects of the plan as they are now.
    pub live: &'l BTreeMap<ResourceKey, Object>,
    /// How to judge their health.
    pub health: &'l dyn HealthRules,
    /// The time.
    pub now: Timestamp,
}

/// Says what to do next.
#[must_use]
pub fn step<'p>(plan: &'p Plan, progress: &Progress, look: Look<'_>) -> Advice<'p> {
    let mut walk = Walk { progress: progress.clone(), learned: Vec::new(), look };
    let step = walk.ordinary_phases(plan);
    Advice { learned: walk.learned, step }
}

struct Walk<'l> {
    progress: Progress,
    learned: Vec<(TaskId, Outcome)>,
    look: Look<'l>,
}

/// How far a task is.
enum State {
    Todo,
    /// A hook of an earlier run stands in the way.
    Blocked,
    Waiting {
        until: Option<Timestamp>,
    },
    Done,
    Failed,
}

impl Walk<'_> {
    fn ordinary_phases<'p>(&mut self, plan: &'p Plan) -> Step<'p> {
        let waits_for_health = plan.has_several_steps();
        for wave in plan.waves.iter().filter(|wave| wave.phase != Phase::SyncFail) {
            let states = self.states(wave, waits_for_health);
            if let Some(step) = run(wave, &states) {
                return step;
            }
            if states.iter().any(|state| matches!(state, State::Failed)) {
                return self.sync_fail_phase(plan);
            }
            if let Some(step) = wait(wave, &states) {
                return step;
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
            if let Some(step) = run(wave, &states).or_else(|| wait(wave, &states)) {
                return step;
            }
        }
        self.remove_finished_hooks(plan).unwrap_or_else(|| Step::Failed { message: self.reasons() })
    }

    fn states(&mut self, wave: &Wave, waits_for_health: bool) -> Vec<State> {
        wave.tasks.iter().map(|task| self.state(task, waits_for_health)).collect()
    }

    fn state(&mut self, task: &Task, waits_for_health: bool) -> State {
        let live = self.look.live.get(&task.id.key);
        match (&task.action, self.progress.get(&task.id), live) {
            (_, Some(Outcome::Failed { .. }), _) => State::Failed,
            (_, Some(Outcome::Completed { .. } | Outcome::Left { .. }), _) => State::Done,
            (_, Some(Outcome::Pruned { .. }), None) => State::Done,
            (_, Some(Outcome::Pruned { .. }), Some(live)) if is_deleting(live) => {
                State::Waiting { until: None }
            }
            (_, Some(Outcome::Pruned { .. }), Some(_)) => State::Done,
            (Action::Leave(_, reason), None, _) => {
                self.learn(task, Outcome::Left { message: reason.message().into() });
                State::Done
            }
            (Action::Keep(object), None, _) => {
                let message = format!("{} unchanged", kubectl_name(object));
                self.learn(task, Outcome::Applied { message, settles_at: None });
                self.state(task, waits_for_health)
            }
            (Action::Hook(_, policy), None, Some(live)) if policy.before_creation => {
                if is_deleting(live) { State::Waiting { until: None } } else { State::Blocked }
            }
            (_, None, _) => State::Todo,
            (action, Some(Outcome::Applied { .. }), _)
                if waits_for_health || matches!(action, Action::Hook(..)) =>
            {
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
            let message = format!("{} is missing, it might have been deleted", task.id.key);
            self.learn(task, Outcome::Failed { message, was_applied: true });
            return State::Failed;
        };
        let Some(Health { code, message: said }) = health(live, self.look.health) else {
            self.learn(task, Outcome::Completed { message });
            return State::Done;
        };
        let unsettled = settles_at.filter(|at| !has_observed_latest(live) && self.look.now < *at);
        match code {
            _ if unsettled.is_some() => State::Waiting { until: unsettled },
            HealthCode::Healthy => {
                let message = if is_hook(task) && !said.is_empty() { said } else { message };
                self.learn(task, Outcome::Completed { message });
                State::Done
            }
            HealthCode::Degraded | HealthCode::Unknown => {
                let message = if said.is_empty() { message } else { said };
                self.learn(task, Outcome::Failed { message, was_applied: true });
                State::Failed
            }
            HealthCode::Progressing | HealthCode::Suspended | HealthCode::Missing => {
                State::Waiting { until: None }
            }
        }
    }

    fn learn(&mut self, task: &Task, outcome: Outcome) {
        self.progress.insert(task.id.clone(), outcome.clone());
        self.learned.push((task.id.clone(), outcome));
    }

    /// Hooks whose delete policy has come true, and that are still there.
    fn remove_finished_hooks<'p>(&self, plan: &'p Plan) -> Option<Step<'p>> {
        let is_over = |task: &&Task| match (&task.action, self.progress.get(&task.id)) {
            (Action::Hook(_, policy), Some(Outcome::Completed { .. })) => policy.on_success,
            (Action::Hook(_, policy), Some(Outcome::Failed { was_applied: true, .. })) => {
                policy.on_failure
            }
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
        let mut unwritten = Vec::new();
        let mut went_bad = Vec::new();
        for outcome in self.progress.values() {
            if let Outcome::Failed { message, was_applied } = outcome {
                let list = if *was_applied { &mut went_bad } else { &mut unwritten };
                if !list.contains(&message.as_str()) {
                    list.push(message.as_str());
                }
            }
        }
        let (what, list) = if unwritten.is_empty() {
            ("one or more synchronization tasks completed unsuccessfully", went_bad)
        } else {
            ("one or more objects failed to apply", unwritten)
        };
        format!("{what}, reason: {}", list.join(","))
    }
}

/// The next moves of a wave: prunes, then hooks that stand in the way, then
/// one kind after the other.
fn run<'p>(wave: &'p Wave, states: &[State]) -> Option<Step<'p>> {
    let pending = |wanted: fn(&State) -> bool| {
        wave.tasks.iter().zip(states).filter(move |(_, state)| wanted(state)).map(|(task, _)| task)
    };
    let prunes: Vec<_> = pending(|state| matches!(state, State::Todo))
        .filter(|task| matches!(task.action, Action::Prune(_)))
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
            State::Todo | State::Blocked | State::Done | State::Failed => None,
        })
        .collect();
    let (first, _) =
        waiting.iter().find(|(task, _)| is_hook(task)).or_else(|| waiting.first()).copied()?;
    let what = match first.action {
        Action::Hook(..) => "completion of hook",
        Action::Prune(_) | Action::Leave(..) => "deletion of",
        Action::Apply(_) | Action::Keep(_) => "healthy state of",
    };
    let key = &first.id.key;
    let mut message = format!("waiting for {what} {}/{}/{}", key.group, key.kind, key.name);
    if waiting.len() > 1 {
        let others =
            if waiting.iter().all(|(task, _)| is_hook(task)) { "hooks" } else { "resources" };
        message += &format!(" and {} more {others}", waiting.len() - 1);
    }
    Some(Step::Wait { message, until: waiting.iter().filter_map(|(_, until)| *until).min() })
}

fn is_hook(task: &Task) -> bool {
    matches!(task.action, Action::Hook(..))
}

fn is_deleting(live: &Object) -> bool {
    live.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// `deployment.apps/web`, as kubectl names what it writes.
#[must_use]
pub fn kubectl_name(object: &Object) -> String {
    let kind = object.group_kind();
    let (word, name) = (kind.kind.to_lowercase(), object.name());
    if kind.group.is_empty() {
        format!("{word}/{name}")
    } else {
        format!("{word}.{}/{name}", kind.group)
    }
}
