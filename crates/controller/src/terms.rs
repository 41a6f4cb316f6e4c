//! On what terms a sync runs: at which commits, with which options, against
//! what objections, within what time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::names::ANNOTATION_SKIP_RECONCILE;
use api::{Application, OperationState};
use engine::operation::{is_finished, pinned_revisions};
use engine::{Compared, Comparison, SyncOptions};
use jiff::{SignedDuration, Timestamp};
use object::{GroupKind, Object, ResourceKey};

use crate::Controller;
use crate::level::Level;
use crate::look::{At, Seen};

/// Nobody looks after an Application whose owner wants to be left alone.
pub(crate) fn is_left_alone(app: &Application) -> bool {
    let word = app.annotation(ANNOTATION_SKIP_RECONCILE).unwrap_or_default();
    matches!(word, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// Could the sources not be read, for so short a time that the status stays as it is?
pub(crate) fn says_nothing_yet(
    controller: &Controller,
    app: &Application,
    seen: &Seen,
    level: Level,
) -> bool {
    let grace = seen.settings.source_error_grace;
    let covered = controller.grace.covers(app, seen.reading, level, grace, Instant::now());
    if covered {
        let findings = &seen.findings;
        tracing::info!(app = %app.key(), ?findings, "its sources cannot be read; tried again soon");
    }
    covered
}

/// Where the operation looks, if that is not where the Application does: other
/// commits, other sources, or manifests that come with the request.
pub(crate) fn elsewhere(state: &OperationState, seen: &Seen) -> Option<At> {
    let asked = state.operation.sync.as_ref()?;
    if !asked.manifests.is_empty() {
        return Some(At::Manifests(asked.manifests.clone()));
    }
    let has_own_sources = asked.source.is_some() || !asked.sources.is_empty();
    let pinned = pinned_revisions(state);
    if pinned.is_empty() {
        return (has_own_sources || seen.is_local).then_some(At::Target(Level::Latest));
    }
    (has_own_sources || seen.is_local || pinned != seen.revisions).then_some(At::Revisions(pinned))
}

/// Has the operation taken longer than the settings allow?
pub(crate) fn is_overdue(limit: Option<Duration>, state: &OperationState, now: Timestamp) -> bool {
    let limit = limit.and_then(|it| SignedDuration::try_from(it).ok());
    let began = state.started_at.timestamp();
    began.zip(limit).is_some_and(|(began, limit)| now.duration_since(began) > limit)
}

/// When to come back to an operation: as asked, or when it has taken too long. Nothing
/// else may wake us by then.
pub(crate) fn in_time(
    limit: Option<Duration>,
    app: &Application,
    wake_at: Option<Timestamp>,
) -> Option<Timestamp> {
    let state = app.status.operation_state.as_ref().filter(|it| !is_finished(it));
    let began = state.and_then(|it| it.started_at.timestamp());
    let limit = limit.and_then(|it| SignedDuration::try_from(it).ok());
    let over = began.zip(limit).and_then(|(began, limit)| {
        // Over is what has taken longer than the limit.
        began.checked_add(limit.checked_add(SignedDuration::from_millis(1))?).ok()
    });
    wake_at.into_iter().chain(over).min()
}

/// Why no sync may run at this hour, and when to ask again, if so.
pub(crate) fn stopped_by_window(
    seen: &Seen,
    app: &Application,
    state: &OperationState,
    now: Timestamp,
) -> Option<(String, Timestamp)> {
    let automated = state.operation.initiated_by.automated;
    let started = state.started_at.timestamp().unwrap_or(now);
    let permit = seen.permit.as_ref()?;
    let why = permit.stops(app, automated, started, now)?;
    Some((why, permit.windows_change_at(app, now)))
}

/// What the Application, the operation and the project make of the sync.
pub(crate) fn options(
    app: &Application,
    state: &OperationState,
    seen: &Seen,
    now: Timestamp,
) -> SyncOptions {
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

/// An Application that is about to be changed does not say Synced meanwhile.
pub(crate) fn admit_drift(app: &mut Application, comparison: &Comparison) {
    let sync = &mut app.status.sync;
    if sync.status == "Synced" && comparison.items.values().any(Compared::counts_as_out_of_sync) {
        sync.status = "OutOfSync".into();
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_sync_is_overdue_after_the_time_that_the_settings_allow() {
        let state = json!({"phase": "Running", "startedAt": "1970-01-01T00:00:00Z"});
        let state: OperationState = serde_json::from_value(state).expect("an operation");
        let check = |limit: Option<u64>, second: i64| {
            let now = Timestamp::from_second(second).expect("a time");
            is_overdue(limit.map(Duration::from_secs), &state, now)
        };
        assert!(!check(Some(60), 60) && check(Some(60), 61));
        assert!(!check(None, 1_000_000), "without a limit none is");
    }

    #[test]
    fn nobody_is_left_waiting_beyond_the_time_that_the_settings_allow() {
        let mut app = Application::named("argocd", "web");
        let state = json!({"phase": "Running", "startedAt": "1970-01-01T00:00:00Z"});
        app.status.operation_state = serde_json::from_value(state).expect("an operation");
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let minute = Some(Duration::from_secs(60));
        assert_eq!(in_time(minute, &app, Some(at(9))), Some(at(9)));
        let over = in_time(minute, &app, None).expect("a time");
        assert!(is_overdue(minute, app.status.operation_state.as_ref().expect("one"), over));
        assert_eq!(in_time(minute, &app, Some(at(99))), Some(over));
        assert_eq!(in_time(None, &app, None), None);
        app.status.operation_state.as_mut().expect("one").phase = "Succeeded".into();
        assert_eq!(in_time(minute, &app, None), None, "it has ended");
    }

    #[test]
    fn an_application_can_ask_to_be_left_alone() {
        for (word, expect) in [("true", true), ("1", true), ("false", false), ("yes", false)] {
            let mut app = Application::named("argocd", "web");
            app.metadata.annotations.insert(ANNOTATION_SKIP_RECONCILE.into(), word.into());
            assert_eq!(is_left_alone(&app), expect, "{word}");
        }
        assert!(!is_left_alone(&Application::named("argocd", "web")));
    }
}
