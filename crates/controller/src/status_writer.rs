//! The only writer of Applications.
//!
//! Writes are patches of what changed, so that fields we do not know survive,
//! and nothing is written when there is no news. What the API server answers
//! goes into the index at once: the next pass sees it without waiting for the
//! watch.

use std::sync::Arc;
use std::time::Duration;

use api::Application;
use api::names::{ANNOTATION_REFRESH, ANNOTATION_REFRESH_TIMESTAMP};
use cluster::{ApiKind, Client, RequestError};
use engine::status::is_news;
use object::GroupVersionKind;
use serde_json::{Map, Value, json};

use crate::apps::Apps;
use crate::level::Level;
use crate::reconcile::Next;

const CONFLICT_RETRY: Duration = Duration::from_millis(50);
const FAILURE_RETRY: Duration = Duration::from_secs(2);

pub(crate) struct StatusWriter {
    client: Client,
    kind: ApiKind,
    apps: Arc<Apps>,
    /// Other replicas may write the same Applications: what was seen of one must
    /// still be so.
    is_shared: bool,
}

/// Why an Application was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("the Application was changed by somebody else meanwhile")]
    Conflict,
    #[error("the Application is gone")]
    Gone,
    #[error("could not write the Application: {0}")]
    Refused(String),
}

impl WriteError {
    /// When the pass should be tried again.
    pub(crate) fn retry(&self, level: Level) -> Next {
        match self {
            Self::Conflict => Some((level, CONFLICT_RETRY)),
            Self::Gone => None,
            Self::Refused(_) => Some((level, FAILURE_RETRY)),
        }
    }
}

/// What Applications are to the API server.
pub(crate) fn application_kind() -> ApiKind {
    let kind = GroupVersionKind::parse(api::API_VERSION, Application::KIND);
    ApiKind::known(&kind, "applications", true)
}

impl StatusWriter {
    pub(crate) fn new(client: Client, apps: Arc<Apps>, is_shared: bool) -> Self {
        Self { client, kind: application_kind(), apps, is_shared }
    }

    /// Reports the end of a pass: status, operation, and a refresh that was
    /// asked for and is now done.
    pub(crate) async fn write(
        &self,
        stored: &Application,
        new: &Application,
        level: Level,
    ) -> Result<(), WriteError> {
        let refreshed =
            level >= Level::Latest && stored.metadata.annotations.contains_key(ANNOTATION_REFRESH);
        if !refreshed && stored.operation == new.operation && !is_news(&stored.status, &new.status)
        {
            return Ok(());
        }
        let mut patch = self.patch(stored, new);
        if refreshed {
            patch.insert("metadata".into(), without_request(stored));
        }
        self.send(stored, patch).await
    }

    /// Reports that an operation has begun; the Application as it is stored then.
    pub(crate) async fn write_operation(
        &self,
        stored: &Arc<Application>,
        new: &Application,
    ) -> Result<Arc<Application>, WriteError> {
        let old = &stored.status.operation_state;
        let begun = old.as_ref().is_some_and(|old| {
            new.status.operation_state.as_ref().is_some_and(|new| {
                old.started_at == new.started_at && old.finished_at == new.finished_at
            })
        });
        if begun {
            return Ok(Arc::clone(stored));
        }
        self.write_progress(stored, new).await
    }

    /// Saves how far an operation is; the Application as it is stored then.
    pub(crate) async fn write_progress(
        &self,
        stored: &Arc<Application>,
        new: &Application,
    ) -> Result<Arc<Application>, WriteError> {
        let patch = self.patch(stored, new);
        if patch.is_empty() {
            return Ok(Arc::clone(stored));
        }
        self.send(stored, patch).await?;
        self.apps.get(&stored.key()).ok_or(WriteError::Gone)
    }

    /// Holds an Application, or lets go of it.
    pub(crate) async fn set_finalizers(
        &self,
        app: &Application,
        finalizers: &[String],
    ) -> Result<(), WriteError> {
        let mut patch = Map::new();
        patch.insert(
            "metadata".into(),
            json!({
                "finalizers": finalizers, "resourceVersion": app.metadata.resource_version,
            }),
        );
        match self.send(app, patch).await {
            Err(WriteError::Gone) => Ok(()),
            other => other,
        }
    }

    fn patch(&self, stored: &Application, new: &Application) -> Map<String, Value> {
        let mut patch = Map::new();
        if let Some(status) = merge_patch(&as_json(&stored.status), &as_json(&new.status)) {
            patch.insert("status".into(), status);
        }
        if stored.operation != new.operation {
            patch.insert("operation".into(), as_json(&new.operation));
        }
        // Nobody's request may be taken for the one we carried out.
        if self.is_shared || stored.operation != new.operation {
            patch.insert(
                "metadata".into(),
                json!({"resourceVersion": stored.metadata.resource_version}),
            );
        }
        patch
    }

    async fn send(&self, app: &Application, patch: Map<String, Value>) -> Result<(), WriteError> {
        let (namespace, name) = (&app.metadata.namespace, &app.metadata.name);
        let patch = Value::Object(patch);
        let written = self.client.merge_patch(&self.kind, namespace, name, None, &patch).await;
        let written = written.map_err(refused)?;
        match serde_json::from_value::<Application>(written.into_value()) {
            Ok(app) => self.apps.wrote(app),
            Err(error) => {
                tracing::warn!(%error, app = %app.key(), "could not read back an Application");
            }
        }
        Ok(())
    }
}

/// Takes a refresh that is done off the Application, unless somebody asked again
/// meanwhile: that would be a conflict, and the next pass sees it.
fn without_request(stored: &Application) -> Value {
    json!({
        "resourceVersion": stored.metadata.resource_version,
        "annotations": {ANNOTATION_REFRESH: null, ANNOTATION_REFRESH_TIMESTAMP: null},
    })
}

fn as_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("API types have string keys and finite numbers")
}

fn refused(error: RequestError) -> WriteError {
    if error.is_conflict() {
        WriteError::Conflict
    } else if error.is_not_found() {
        WriteError::Gone
    } else {
        WriteError::Refused(error.in_one_line())
    }
}

/// The merge patch that turns `old` into `new`; none if they are equal.
fn merge_patch(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (old, new) if old == new => None,
        (Value::Object(old), Value::Object(new)) => {
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            let mut patch: Map<String, Value> =
                gone.map(|key| (key.clone(), Value::Null)).collect();
            for (key, value) in new {
                match old.get(key) {
                    None => drop(patch.insert(key.clone(), value.clone())),
                    Some(before) => {
                        if let Some(change) = merge_patch(before, value) {
                            patch.insert(key.clone(), change);
                        }
                    }
                }
            }
            Some(Value::Object(patch))
        }
        (_, new) => Some(new.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_that_was_asked_for_again_is_not_taken_off_with_the_first() {
        let mut stored = Application::named("argocd", "web");
        stored.metadata.resource_version = "7".into();
        let patch = without_request(&stored);
        assert_eq!(patch["resourceVersion"], "7", "a later request has another version");
        assert_eq!(patch.pointer("/annotations/argocd.argoproj.io~1refresh"), Some(&Value::Null));
    }
}
