//! Whether the last operation counts as a try of the commits of today.
//!
//! Where the annotation `manifest-generate-paths` says which files matter to an
//! Application, a commit that touches none of them is no reason to try again.

use api::Application;
use api::names::ANNOTATION_MANIFEST_GENERATE_PATHS;
use engine::{Decision, decide, tried_before};
use jiff::Timestamp;

use crate::Controller;
use crate::look::{Seen, at_both};
use crate::ports::Since;
use crate::watchdog::{Stage, reached};

/// What auto-sync does, and the commits that it is decided by: those that were seen, or
/// those of the last try where nothing that matters differs.
pub(crate) async fn decision(
    controller: &Controller,
    app: &Application,
    seen: &Seen,
    now: Timestamp,
) -> (Decision, Vec<String>) {
    let at = |revisions: &[String]| {
        let backoff = controller.options.heal_backoff;
        decide(app, seen.comparison.as_ref(), &seen.findings, revisions, backoff, now)
    };
    let decision = at(&seen.revisions);
    if matches!(decision, Decision::Sync { .. })
        && let Some(before) = tried_before(app, &seen.revisions)
        && holds_the_same(controller, app, seen, before).await
    {
        return (at(before), before.to_vec());
    }
    (decision, seen.revisions.clone())
}

/// Is nothing that matters to it different from what it was at these commits? Who cannot
/// tell says no.
async fn holds_the_same(
    controller: &Controller,
    app: &Application,
    seen: &Seen,
    before: &[String],
) -> bool {
    let annotation = app.annotation(ANNOTATION_MANIFEST_GENERATE_PATHS);
    let says_nothing = annotation.is_none_or(str::is_empty) || app.spec.source_hydrator.is_some();
    if says_nothing {
        return false;
    }
    let Some(sources) = at_both(controller, app, seen, before) else { return false };
    for since in sources {
        if differs(controller, app, since).await {
            return false;
        }
    }
    true
}

async fn differs(controller: &Controller, app: &Application, since: Since) -> bool {
    let source = &since.now.source;
    let is_git = source.chart.is_empty() && !source.repo_url.starts_with("oci://");
    // Of another version of a chart nobody knows which files differ.
    if !is_git && since.commit != since.now.revision {
        return true;
    }
    reached(Stage::ReadingSources);
    controller.sources.differs(since).await.unwrap_or_else(|error| {
        let why = error.message;
        tracing::info!(app = %app.key(), why, "could not tell what differs since the last try");
        true
    })
}
