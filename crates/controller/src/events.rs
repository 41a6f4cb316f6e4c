//! What happened to Applications, as Kubernetes Events: `kubectl describe` and
//! many a dashboard read them. [`between`] decides what is worth telling;
//! telling is done on the side and never holds a pass up.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api::{Application, OperationState};
use cluster::{ApiKind, Client};
use engine::Concern;
use engine::operation::is_finished;
use futures::StreamExt as _;
use futures::stream;
use jiff::{SignedDuration, Timestamp};
use object::{GroupVersionKind, Object};
use serde_json::json;
use tokio::sync::mpsc;

const COMPONENT: &str = "argocd-application-controller";
/// Events that wait to be written; beyond that they are dropped. An API server
/// that cannot take them has other worries.
const WAITING: usize = 4096;
const AT_ONCE: usize = 4;

/// One thing worth telling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note {
    reason: &'static str,
    is_warning: bool,
    message: String,
}

/// Which events are written (`--enable-k8s-event`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EventOptions {
    /// All of them.
    #[default]
    All,
    /// Those with one of these reasons.
    Only(Vec<String>),
}

impl EventOptions {
    /// Reads the list of reasons that Argo CD takes; `none` in it is no event at all.
    #[must_use]
    pub fn of(reasons: &[String]) -> Self {
        if reasons.iter().any(|it| it == "none") {
            return Self::Only(Vec::new());
        }
        if reasons.is_empty() { Self::All } else { Self::Only(reasons.to_vec()) }
    }

    fn has(&self, reason: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(reasons) => reasons.iter().any(|it| it == reason),
        }
    }
}

/// The way to the API server.
pub(crate) struct Events {
    wanted: EventOptions,
    sender: mpsc::Sender<Object>,
    receiver: Mutex<Option<mpsc::Receiver<Object>>>,
}

impl Events {
    pub(crate) fn new(wanted: EventOptions) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { wanted, sender, receiver: Mutex::new(Some(receiver)) }
    }

    /// Tells what changed from one state of an Application to the next, with these labels.
    pub(crate) fn tell(
        &self,
        before: &Application,
        after: &Application,
        labels: &BTreeMap<String, String>,
        now: Timestamp,
    ) {
        for (index, note) in between(before, after).into_iter().enumerate() {
            tracing::info!(app = %after.key(), reason = note.reason, "{}", note.message);
            if !self.wanted.has(note.reason) {
                continue;
            }
            // The time is part of an event's name, and names are used once.
            let moment = now + SignedDuration::from_nanos(i64::try_from(index).unwrap_or(0));
            if self.sender.try_send(event(after, &note, labels, moment)).is_err() {
                tracing::debug!(app = %after.key(), "dropped an event: too many wait");
            }
        }
    }

    /// Writes what was told. Does not end; only the first who asks may.
    pub(crate) async fn write(&self, client: &Client) {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(receiver) = receiver else { return };
        let kind = ApiKind::known(&GroupVersionKind::parse("v1", "Event"), "events", true);
        let waiting = stream::unfold(receiver, async |mut it| Some((it.recv().await?, it)));
        waiting
            .for_each_concurrent(AT_ONCE, |event| {
                let kind = &kind;
                async move {
                    let namespace = event.namespace().to_owned();
                    if let Err(error) = client.create(kind, &namespace, &event, COMPONENT).await {
                        tracing::debug!(error = %error.in_one_line(), "could not write an event");
                    }
                }
            })
            .await;
    }
}

/// What is worth telling about the difference of two states.
fn between(before: &Application, after: &Application) -> Vec<Note> {
    let note = |reason, message| Note { reason, is_warning: false, message };
    let mut notes = Vec::new();
    let (old, new) = (&before.status, &after.status);
    let was_under_way = before.operation.is_some();
    if let Some(state) = &new.operation_state {
        let has_begun =
            old.operation_state.as_ref().is_none_or(|it| it.started_at != state.started_at);
        if has_begun && !was_under_way && state.operation.initiated_by.automated {
            let revisions = asked_for(state).join(", ");
            notes.push(note(
                "OperationStarted",
                format!("Initiated automated sync to '{revisions}'"),
            ));
        }
        if ended_operation(before, after).is_some() {
            notes.push(end_of(state));
        }
    }
    if old.sync.status != new.sync.status {
        let message = format!("Updated sync status: {} -> {}", old.sync.status, new.sync.status);
        notes.push(note("ResourceUpdated", message));
    }
    if old.health.status != new.health.status {
        let mut message =
            format!("Updated health status: {} -> {}", old.health.status, new.health.status);
        if !new.health.message.is_empty() {
            message += &format!(" ({})", new.health.message);
        }
        notes.push(note("ResourceUpdated", message));
    }
    notes.extend(failed_deletion(before, after));
    notes
}

/// That a deletion does not get on, once for each reason.
fn failed_deletion(before: &Application, after: &Application) -> Option<Note> {
    let why = |app: &Application| {
        let conditions = app.status.conditions.iter();
        let errors = conditions.filter(|it| it.type_ == Concern::Deletion.condition_type());
        errors.map(|it| it.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let (known, why) = (why(before), why(after));
    let message = format!("Unable to delete application resources: {why}");
    let is_news = !why.is_empty() && why != known;
    is_news.then_some(Note { reason: "StatusRefreshed", is_warning: true, message })
}

/// The operation that came to its end from one state to the next.
pub(crate) fn ended_operation<'a>(
    before: &Application,
    after: &'a Application,
) -> Option<&'a OperationState> {
    let state = after.status.operation_state.as_ref().filter(|it| is_finished(it))?;
    // Times of operations are whole seconds; several may share one.
    let is_news =
        before.operation.is_some() || before.status.operation_state.as_ref() != Some(state);
    (is_news && after.operation.is_none()).then_some(state)
}

fn asked_for(state: &OperationState) -> Vec<&str> {
    let Some(sync) = &state.operation.sync else { return Vec::new() };
    if sync.revisions.is_empty() {
        vec![sync.revision.as_str()]
    } else {
        sync.revisions.iter().map(String::as_str).collect()
    }
}

fn end_of(state: &OperationState) -> Note {
    let is_partial = state.operation.sync.as_ref().is_some_and(|it| !it.resources.is_empty());
    let mut message =
        if is_partial { "Partial sync operation" } else { "Sync operation" }.to_owned();
    if let Some(result) = &state.sync_result {
        message += &format!(" to {}", result.revision);
    }
    let has_succeeded = state.phase == "Succeeded";
    if has_succeeded {
        message += " succeeded";
    } else {
        message += &format!(" failed: {}", state.message);
    }
    Note { reason: "OperationCompleted", is_warning: !has_succeeded, message }
}

fn event(
    app: &Application,
    note: &Note,
    labels: &BTreeMap<String, String>,
    now: Timestamp,
) -> Object {
    let metadata = &app.metadata;
    let destination = &app.spec.destination;
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let event = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": format!("{}.{:x}", metadata.name, now.as_nanosecond()),
            "namespace": metadata.namespace,
            "labels": labels,
            "annotations": {
                "dest-server": destination.server, "dest-namespace": destination.namespace,
            },
        },
        "involvedObject": {
            "apiVersion": api::API_VERSION, "kind": Application::KIND,
            "name": metadata.name, "namespace": metadata.namespace,
            "uid": metadata.uid, "resourceVersion": metadata.resource_version,
        },
        "source": {"component": COMPONENT},
        "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        "type": if note.is_warning { "Warning" } else { "Normal" },
        "reason": note.reason, "message": note.message,
    });
    Object::from_value(event).expect("says its kind")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(sync: &str, health: &str, operation: serde_json::Value) -> Application {
        serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "argocd"},
            "status": {"sync": {"status": sync}, "health": {"status": health},
                "operationState": operation}}))
        .expect("an application")
    }

    #[track_caller]
    fn check(before: &Application, after: &Application, expect: &[&str]) {
        let told: Vec<String> = between(before, after)
            .into_iter()
            .map(|it| format!("{}: {}", it.reason, it.message))
            .collect();
        assert_eq!(told, expect);
    }

    fn operation(phase: &str, ended: bool) -> serde_json::Value {
        let mut state = json!({"phase": phase, "startedAt": "2026-01-01T00:00:00Z",
            "message": "one object failed", "syncResult": {"revision": "abc"},
            "operation": {"sync": {"revision": "abc"}, "initiatedBy": {"automated": true}}});
        if ended {
            state["finishedAt"] = "2026-01-01T00:00:01Z".into();
        }
        state
    }

    #[test]
    fn nothing_new_is_not_told() {
        let same = app("Synced", "Healthy", operation("Succeeded", true));
        check(&same, &same, &[]);
    }

    #[test]
    fn a_deletion_that_fails_is_told_once_for_each_reason() {
        let before = app("Synced", "Healthy", json!(null));
        let failing = |why: &str| {
            let mut app = before.clone();
            app.status.conditions =
                serde_json::from_value(json!([{"type": "DeletionError", "message": why}]))
                    .expect("conditions");
            app
        };
        let (first, second) = (failing("forbidden"), failing("gone"));
        let told = "StatusRefreshed: Unable to delete application resources: forbidden";
        check(&before, &first, &[told]);
        check(&first, &first, &[]);
        check(&first, &second, &["StatusRefreshed: Unable to delete application resources: gone"]);
    }

    #[test]
    fn an_event_carries_labels() {
        let labels = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
        let note = Note { reason: "ResourceUpdated", is_warning: false, message: "x".into() };
        let app = app("Synced", "Healthy", json!(null));
        let event = event(&app, &note, &labels, Timestamp::UNIX_EPOCH);
        assert_eq!(event.text(&["metadata", "labels", "team"]), Some("blue"));
    }

    #[test]
    fn an_automatic_sync_is_told_with_what_came_of_it() {
        let before = app("OutOfSync", "Missing", json!(null));
        let running = app("OutOfSync", "Progressing", operation("Running", false));
        check(
            &before,
            &running,
            &[
                "OperationStarted: Initiated automated sync to 'abc'",
                "ResourceUpdated: Updated health status: Missing -> Progressing",
            ],
        );
        check(
            &running,
            &app("Synced", "Progressing", operation("Succeeded", true)),
            &[
                "OperationCompleted: Sync operation to abc succeeded",
                "ResourceUpdated: Updated sync status: OutOfSync -> Synced",
            ],
        );
        check(
            &running,
            &app("OutOfSync", "Progressing", operation("Failed", true)),
            &["OperationCompleted: Sync operation to abc failed: one object failed"],
        );
    }
}
