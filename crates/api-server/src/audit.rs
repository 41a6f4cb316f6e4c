//! Kubernetes events that say who did what.

use api::Application;
use jiff::Timestamp;
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
    OperationStarted,
}

/// Writes an event about an Application. That it fails is worth a log line, not the request.
pub(crate) async fn note(call: &Call, app: &Application, reason: Reason, what: &str) {
    let user = call.caller.as_ref().map_or("Unknown user", |it| &it.name);
    let now = seconds(Timestamp::now());
    let event = json!({
        "metadata": {
            "name": format!("{}.{}", app.metadata.name, uuid().unwrap_or_default()),
            "namespace": app.metadata.namespace,
        },
        "involvedObject": {
            "apiVersion": api::API_VERSION,
            "kind": Application::KIND,
            "name": app.metadata.name,
            "namespace": app.metadata.namespace,
            "uid": app.metadata.uid,
            "resourceVersion": app.metadata.resource_version,
        },
        "reason": format!("{reason:?}"),
        "message": format!("{user} {what}"),
        "type": "Normal",
        "source": { "component": "argocd-server" },
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    if let Err(error) = call.server.store.create::<Value>(&EVENTS, &event).await {
        tracing::warn!(error = %error.in_one_line(), app = %app.key(), "could not write an event");
    }
    tracing::info!(user, app = %app.key(), ?reason, what, "changed");
}
