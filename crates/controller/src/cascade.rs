//! Deletes an Application: first what it tracks, then itself.

use std::time::Duration;

use api::Application;
use cluster::{DeleteOptions, Propagation};
use engine::{CascadeStep, Concern, Finding};
use futures::stream::{self, StreamExt as _};

use crate::Controller;
use crate::level::Level;
use crate::look::live_objects;
use crate::reconcile::Next;

const RETRY: Duration = Duration::from_secs(10);

/// Brings a deletion one step further. Without our finalizer the API server
/// has already done all there is to do.
pub(crate) async fn delete(controller: &Controller, app: &Application) -> Next {
    let finalizer = app.cascade_finalizer()?;
    // A cluster that we do not know can hold the Application back for ever.
    let Ok(destination) = controller.destinations.find(&app.spec.destination) else {
        return release(controller, app).await;
    };
    let cluster = &destination.cluster;
    let instance = controller.instance_name(app);
    let Ok(live) = live_objects(cluster, &instance, &[]).await else {
        return Some((Level::Live, RETRY));
    };
    match engine::cascade::next(&live, &instance) {
        CascadeStep::Done => release(controller, app).await,
        CascadeStep::Wait(_) => None,
        CascadeStep::Delete(keys) => {
            let propagation = if finalizer.ends_with("/background") {
                Propagation::Background
            } else {
                Propagation::Foreground
            };
            let options = DeleteOptions { propagation, uid: None, at_once: false, dry_run: false };
            let failures: Vec<Finding> = stream::iter(keys)
                .map(|key| async {
                    let done = cluster.delete(&key, &options).await;
                    done.err().map(|error| (key, error))
                })
                .buffer_unordered(controller.options.parallel_writes)
                .filter_map(|failed| async {
                    let (key, error) = failed?;
                    Some(Finding::about(Concern::Deletion, key, error.in_one_line()))
                })
                .collect()
                .await;
            report(controller, app, &failures).await
        }
    }
}

/// Failures become conditions; the deletion is tried again either way.
async fn report(controller: &Controller, app: &Application, failures: &[Finding]) -> Next {
    if failures.is_empty() {
        return Some((Level::Live, Duration::ZERO));
    }
    let mut failed = app.clone();
    failed.status.conditions =
        engine::status::conditions(failures, &app.status.conditions, controller.now());
    if let Err(failure) = controller.status_writer.write(app, &failed, Level::Live).await {
        tracing::warn!(app = %app.key(), error = %failure, "could not report a failed deletion");
    }
    Some((Level::Live, RETRY))
}

async fn release(controller: &Controller, app: &Application) -> Next {
    match controller.status_writer.remove_cascade_finalizer(app).await {
        Ok(()) => None,
        Err(failure) => failure.retry(Level::Live),
    }
}
