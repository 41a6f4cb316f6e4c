//! Does to the cluster what a step says.

use cluster::{ApplyOptions, Cluster, DeleteOptions, Effect, Propagation};
use engine::{Move, Outcome, Task, TaskId};
use futures::stream::{self, StreamExt as _};
use object::Object;

use crate::Controller;

/// Carries out all moves, several at once, and says what each came to.
pub(crate) async fn perform(
    controller: &Controller,
    cluster: &Cluster,
    moves: &[Move<'_>],
    dry_run: bool,
) -> Vec<(TaskId, Outcome)> {
    stream::iter(moves)
        .map(|movement| async move {
            match movement {
                Move::Apply(task) => Some(apply(controller, cluster, task, dry_run).await),
                Move::Prune(task) => Some(prune(cluster, task, dry_run).await),
                Move::RemoveHook(task) => remove_hook(cluster, task).await,
            }
        })
        .buffer_unordered(controller.options.parallel_writes)
        .filter_map(|done| async { done })
        .collect()
        .await
}

async fn apply(
    controller: &Controller,
    cluster: &Cluster,
    task: &Task,
    dry_run: bool,
) -> (TaskId, Outcome) {
    let options = ApplyOptions { dry_run, ..ApplyOptions::default() };
    let outcome = match cluster.apply(task.action.object(), &options).await {
        Ok(applied) => {
            let changed_existing = applied.what == Effect::Configured;
            Outcome::written(applied.message(), changed_existing, controller.now())
        }
        Err(error) => Outcome::Failed { message: error.in_one_line(), was_applied: false },
    };
    (task.id.clone(), outcome)
}

async fn prune(cluster: &Cluster, task: &Task, dry_run: bool) -> (TaskId, Outcome) {
    let options = deletion(task.action.object(), dry_run);
    let outcome = match cluster.delete(&task.id.key, &options).await {
        Ok(_) if dry_run => Outcome::Pruned { message: "pruned (dry run)".into() },
        Ok(_) => Outcome::Pruned { message: "pruned".into() },
        Err(error) => Outcome::Failed { message: error.in_one_line(), was_applied: false },
    };
    (task.id.clone(), outcome)
}

async fn remove_hook(cluster: &Cluster, task: &Task) -> Option<(TaskId, Outcome)> {
    let options = DeleteOptions {
        propagation: Propagation::Foreground,
        uid: None,
        at_once: false,
        dry_run: false,
    };
    match cluster.delete(&task.id.key, &options).await {
        Ok(_) => None,
        Err(error) => {
            let message = error.in_one_line();
            Some((task.id.clone(), Outcome::Failed { message, was_applied: true }))
        }
    }
}

/// Deletes the very object that was judged, not one that took its name since.
fn deletion(live: &Object, dry_run: bool) -> DeleteOptions {
    let uid = live.text(&["metadata", "uid"]).map(str::to_owned);
    DeleteOptions { propagation: Propagation::Foreground, uid, at_once: false, dry_run }
}
