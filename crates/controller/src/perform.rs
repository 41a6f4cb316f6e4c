//! Does to the cluster what a step says.

use std::time::Instant;

use api::names::FINALIZER_HOOK;
use cluster::{
    ApplyError, Cluster, DeleteOptions, Effect, Propagation, Validation, Way, WriteOptions,
};
use engine::diff::hide::hide_in_text;
use engine::{Move, Outcome, Task, TaskId, Writing};
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use object::Object;

use crate::Controller;
use crate::watchdog::{Stage, reached};

/// Carries out all moves, several at once, and says what each came to.
pub(crate) async fn perform(
    controller: &Controller,
    cluster: &Cluster,
    moves: &[Move<'_>],
    dry_run: bool,
) -> Vec<(TaskId, Outcome)> {
    let began = Instant::now();
    let all: Vec<_> =
        moves.iter().map(|it| make(controller, cluster, it, dry_run).boxed()).collect();
    let done = stream::iter(all).buffer_unordered(controller.options.parallel_writes);
    let done: Vec<_> = done.filter_map(|done| async { done }).collect().await;
    tracing::debug!(moves = moves.len(), took = ?began.elapsed(), "performed");
    done
}

async fn make(
    controller: &Controller,
    cluster: &Cluster,
    movement: &Move<'_>,
    dry_run: bool,
) -> Option<(TaskId, Outcome)> {
    reached(Stage::Writing);
    match movement {
        Move::Check(task) => Some(check(controller, cluster, task).await),
        Move::Apply(task) => Some(apply(controller, cluster, task, dry_run).await),
        Move::Prune(task) => Some(prune(cluster, task, dry_run).await),
        Move::ReleaseHook(task) => release_hook(cluster, task).await,
        Move::RemoveHook(task) => remove_hook(cluster, task).await,
    }
}

async fn apply(
    controller: &Controller,
    cluster: &Cluster,
    task: &Task,
    dry_run: bool,
) -> (TaskId, Outcome) {
    let options = write_options(task.action.writing(), dry_run);
    let write = cluster.write(task.action.object(), &options);
    let outcome = match controller.metrics.writing(command(&options), write).await {
        Ok(written) => {
            let changed_existing = written.what == Effect::Configured;
            Outcome::written(written.message, changed_existing, controller.now())
        }
        Err(error) => {
            let message = hide_in_text(task.action.object(), error.in_one_line());
            Outcome::Failed { message, was_applied: false }
        }
    };
    (task.id.clone(), outcome)
}

fn write_options(writing: Option<&Writing>, dry_run: bool) -> WriteOptions {
    let way = match writing.map(|it| &it.way) {
        None | Some(engine::Way::ClientSide) => Way::ClientSide,
        Some(engine::Way::ServerSide { takes_over_from }) => {
            Way::ServerSide { takes_over_from: takes_over_from.clone() }
        }
        Some(engine::Way::Replace) => Way::Replace,
        Some(engine::Way::Update) => Way::Update,
    };
    let validates = writing.is_none_or(|it| it.validate);
    WriteOptions {
        way,
        force: writing.is_some_and(|it| it.force),
        validation: if validates { Validation::Strict } else { Validation::Ignore },
        dry_run,
    }
}

/// The command of kubectl that does the same.
fn command(options: &WriteOptions) -> &'static str {
    match options.way {
        Way::ClientSide | Way::ServerSide { .. } => "apply",
        Way::Replace | Way::Update => "replace",
    }
}

/// Only a manifest that can never be read is a reason to hold the sync back;
/// everything else may look different when its turn comes.
async fn check(controller: &Controller, cluster: &Cluster, task: &Task) -> (TaskId, Outcome) {
    let writing = task.action.writing();
    let options = write_options(writing, true);
    let write = cluster.write(task.action.object(), &options);
    let outcome = match controller.metrics.writing(command(&options), write).await {
        Err(ApplyError::Invalid { refusal, .. })
            if writing.is_some_and(|it| it.validate) && refusal.code == 400 =>
        {
            let message = hide_in_text(task.action.object(), refusal.message);
            Outcome::CheckFailed { message }
        }
        Ok(_) | Err(_) => Outcome::Checked,
    };
    (task.id.clone(), outcome)
}

async fn prune(cluster: &Cluster, task: &Task, dry_run: bool) -> (TaskId, Outcome) {
    let options = deletion(task, dry_run);
    let outcome = match cluster.delete(&task.id.key, &options).await {
        Ok(_) if dry_run => Outcome::Pruned { message: "pruned (dry run)".into() },
        Ok(_) => Outcome::Pruned { message: "pruned".into() },
        Err(error) => Outcome::Failed { message: error.in_one_line(), was_applied: false },
    };
    (task.id.clone(), outcome)
}

async fn remove_hook(cluster: &Cluster, task: &Task) -> Option<(TaskId, Outcome)> {
    let options = DeleteOptions { uid: None, ..deletion(task, false) };
    match cluster.delete(&task.id.key, &options).await {
        Ok(_) => None,
        Err(error) => {
            let message = error.in_one_line();
            Some((task.id.clone(), Outcome::Failed { message, was_applied: true }))
        }
    }
}

/// Takes our finalizer off a hook whose end was seen.
async fn release_hook(cluster: &Cluster, task: &Task) -> Option<(TaskId, Outcome)> {
    let gvk = task.action.object().group_version_kind();
    let error = cluster.remove_finalizer(&gvk, &task.id.key, FINALIZER_HOOK).await.err()?;
    let message = format!("Failed to remove hook finalizer: {}", error.in_one_line());
    Some((task.id.clone(), Outcome::Failed { message, was_applied: true }))
}

/// Deletes the very object that was judged, not one that took its name since.
fn deletion(task: &Task, dry_run: bool) -> DeleteOptions {
    let live: &Object = task.action.object();
    let propagation = match task.action.propagation() {
        engine::Propagation::Foreground => Propagation::Foreground,
        engine::Propagation::Background => Propagation::Background,
        engine::Propagation::Orphan => Propagation::Orphan,
    };
    let uid = live.text(&["metadata", "uid"]).map(str::to_owned);
    DeleteOptions { propagation, uid, at_once: false, dry_run }
}
