//! What a pass tells: the Application's status first, then whoever else listens.

use api::Application;
use engine::{Established, status};

use crate::Controller;
use crate::deletion_hooks;
use crate::events;
use crate::level::Level;
use crate::look::Seen;
use crate::status_writer::WriteError;
use crate::watchdog::{Stage, reached};

/// Writes the status of `app` over what is `stored`, tells events and metrics
/// what changed since `before`, and holds the Application if its deletion has hooks.
pub(crate) async fn report(
    controller: &Controller,
    before: &Application,
    stored: &Application,
    mut app: Application,
    seen: &Seen,
    level: Level,
) -> Result<(), WriteError> {
    reached(Stage::Reporting);
    if let Some(comparison) = &seen.comparison {
        controller.healths.remember(&app.key(), comparison);
    }
    let established = Established {
        revisions: &seen.revisions,
        source_types: &seen.source_types,
        comparison: seen.comparison.as_ref(),
        images: &seen.images,
        findings: &seen.findings,
        keeps_health: seen.settings.keeps_health,
    };
    app.status = status(&app, &established, controller.now());
    controller.status_writer.write(stored, &app, level).await?;

    controller.publisher.may_differ(&app.key(), level >= Level::Latest);
    controller.events.tell(before, &app, &controller.labels_of_events(&app), controller.now());
    if let Some(state) = events::ended_operation(before, &app) {
        controller.metrics.synced(&app, &controller.server_of(&app), state);
    }
    let orphans = controller.looks_after_orphans(&app).then_some(seen.orphans.len());
    controller.metrics.orphans(&app, orphans);
    hold_for_hooks(controller, &app, seen).await
}

/// An Application whose deletion has hooks must not go without them.
async fn hold_for_hooks(
    controller: &Controller,
    app: &Application,
    seen: &Seen,
) -> Result<(), WriteError> {
    let Some(app) = controller.apps.get(&app.key()) else { return Ok(()) };
    let is_known = !seen.revisions.is_empty() && app.metadata.deletion_timestamp.is_none();
    let finalizers = deletion_hooks::finalizers(&app, &seen.want);
    if !is_known || finalizers == app.metadata.finalizers {
        return Ok(());
    }
    controller.status_writer.set_finalizers(&app, &finalizers).await
}
