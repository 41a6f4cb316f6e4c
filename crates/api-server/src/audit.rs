//! Kubernetes events that say who did what.

use std::collections::BTreeMap;

use api::{AppProject, Application, ObjectMeta};
use jiff::Timestamp;
use object::Object;
use serde_json::{Value, json};

use crate::bootstrap::{seconds, uuid};
use crate::methods::Call;
use crate::store::EVENTS;

/// Why an event was written; the words are Argo CD's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reason {
    ResourceCreated,
    ResourceUpdated,
    ResourceDeleted,
    ResourceActionRan,
    OperationStarted,
}

/// Writes an event about an Application. That it fails is worth a log line, not the request.
pub(crate) async fn note(call: &Call, app: &Application, reason: Reason, what: &str) {
    let about = reference(Application::KIND, &app.metadata);
    let project = call.server.projects.get(app.spec.project_name());
    let project = project.map(|it| it.metadata.labels.clone()).unwrap_or_default();
    let settings = call.server.settings.current();
    let labels = settings.resources.labels_of_events(&app.metadata.labels, &project);
    write(call, about, labels, reason, what).await;
}

/// Writes an event about a project.
pub(crate) async fn note_project(call: &Call, project: &AppProject, reason: Reason, what: &str) {
    let about = reference(AppProject::KIND, &project.metadata);
    write(call, about, BTreeMap::new(), reason, what).await;
}

/// Writes an event about a live object.
pub(crate) async fn note_resource(call: &Call, object: &Object, reason: Reason, what: &str) {
    let text = |path: &[&str]| object.text(path).unwrap_or_default().to_owned();
    let about = json!({
        "apiVersion": object.group_version_kind().api_version(),
        "kind": object.kind(),
        "name": object.name(),
        "namespace": object.namespace(),
        "uid": text(&["metadata", "uid"]),
        "resourceVersion": text(&["metadata", "resourceVersion"]),
    });
    write(call, about, BTreeMap::new(), reason, what).await;
}

fn reference(kind: &str, metadata: &ObjectMeta) -> Value {
    json!({
        "apiVersion": api::API_VERSION,
        "kind": kind,
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    })
}

async fn write(
    call: &Call,
    about: Value,
    labels: BTreeMap<String, String>,
    reason: Reason,
    what: &str,
) {
    let user = call.caller.as_ref().map_or("Unknown user", |it| it.shown_name());
    let now = seconds(Timestamp::now());
    let text = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
    let (kind, name, namespace) = (text("kind"), text("name"), text("namespace"));
    // Events about what has no namespace of its own are kept beside our own.
    let store = &call.server.store;
    let store = if namespace.is_empty() { store.clone() } else { store.at(&namespace) };
    let event = json!({
        "metadata": {
            "name": format!("{name}.{}", uuid().unwrap_or_default()),
            "namespace": store.namespace(),
            "labels": labels,
        },
        "involvedObject": about,
        "reason": format!("{reason:?}"),
        "message": format!("{user} {what}"),
        "type": "Normal",
        "source": { "component": "argocd-server" },
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    if let Err(error) = store.create::<Value>(&EVENTS, &event).await {
        tracing::warn!(error = %error.in_one_line(), kind, name, "could not write an event");
    }
    tracing::info!(user, kind, namespace, name, ?reason, what, "changed");
}
