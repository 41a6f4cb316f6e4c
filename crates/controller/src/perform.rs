//! Does to the cluster what a step says.

use api::names::FINALIZER_HOOK;
use cluster::{ApplyError, ApplyOptions, Cluster, DeleteOptions, Effect, Propagation};
use engine::{Move, Outcome, Task, TaskId};
use futures::stream::{self, StreamExt as _};
use object::Object;
use serde_json::{Value, json};

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
                Move::Check(task) => Some(check(cluster, task).await),
                Move::ReleaseHook(task) => release_hook(cluster, task).await,
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

/// Only a manifest that can never be read is a reason to hold the sync back;
/// everything else may look different when its turn comes.
async fn check(cluster: &Cluster, task: &Task) -> (TaskId, Outcome) {
    let options = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
    let validates = task.action.writing().is_some_and(|it| it.validate);
    let outcome = match cluster.apply(task.action.object(), &options).await {
        Err(ApplyError::Invalid { refusal, .. }) if validates && refusal.code == 400 => {
            Outcome::CheckFailed { message: refusal.message }
        }
        Ok(_) | Err(_) => Outcome::Checked,
    };
    (task.id.clone(), outcome)
}

/// Takes our finalizer off a hook whose end was seen.
async fn release_hook(cluster: &Cluster, task: &Task) -> Option<(TaskId, Outcome)> {
    let (key, gvk) = (&task.id.key, task.action.object().group_version_kind());
    let released = async {
        let Some(live) = cluster.get(&gvk, &key.namespace, &key.name).await? else {
            return Ok(());
        };
        let others: Vec<&Value> = live
            .list(&["metadata", "finalizers"])
            .iter()
            .filter(|it| *it != FINALIZER_HOOK)
            .collect();
        let patch = json!({"metadata": {
            "finalizers": others, "resourceVersion": live.text(&["metadata", "resourceVersion"]),
        }});
        let Some(kind) = cluster.kinds().find(&gvk).cloned() else { return Ok(()) };
        let sent = cluster.client().merge_patch(&kind, &key.namespace, &key.name, None, &patch);
        sent.await.map(drop)
    };
    let message = match released.await {
        Ok(()) => return None,
        Err(error) if error.is_not_found() => return None,
        Err(error) => format!("Failed to remove hook finalizer: {}", error.in_one_line()),
    };
    Some((task.id.clone(), Outcome::Failed { message, was_applied: true }))
}
