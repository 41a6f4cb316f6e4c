//! Removes one object.

use object::ResourceKey;
use serde_json::{Value, json};

use crate::ask::Ask;
use crate::client::json_bytes;
use crate::cluster::Cluster;
use crate::refusal::{Disposition, RequestError};

/// How to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOptions {
    /// What becomes of what the object owns.
    pub propagation: Propagation,
    /// Delete only the object with this uid, not one of the same name that came after it.
    pub uid: Option<String>,
    /// Do not wait for a pod to end in order (`--force`).
    pub at_once: bool,
    /// Let the server check and answer, but delete nothing.
    pub dry_run: bool,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go first; the object stays, marked, until they are gone.
    Foreground,
    /// The object goes at once, they follow.
    Background,
    /// They stay.
    Orphan,
}

/// What a delete came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The object is gone.
    Gone,
    /// The object is marked and goes when its finalizers are done.
    Going,
    /// There was no such object.
    NotThere,
}

/// Why an object was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// The object there is another one than the one meant.
    #[error("{key} was replaced by another object of the same name")]
    Replaced {
        /// The object.
        key: ResourceKey,
    },
    /// The server said no, or was not reached.
    #[error("could not delete {key}")]
    Ask {
        /// The object.
        key: ResourceKey,
        /// Why.
        source: RequestError,
    },
}

impl DeleteError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Replaced { .. } => Disposition::WaitForChange,
            Self::Ask { source, .. } => source.disposition(),
        }
    }

    /// Message and causes in one line, for a place that has room for one text only.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        crate::refusal::in_one_line(self)
    }
}

impl Cluster {
    /// Deletes one object. An object, or a kind, that does not exist is no error.
    ///
    /// # Errors
    /// When the object is another one than meant, the server says no, or cannot be reached.
    pub async fn delete(
        &self,
        key: &ResourceKey,
        options: &DeleteOptions,
    ) -> Result<Deleted, DeleteError> {
        let Some(kind) = self.kinds().preferred(&key.group_kind()).cloned() else {
            return Ok(Deleted::NotThere);
        };
        let path = kind.object_path(&key.namespace, &key.name, None);
        let answer = self.client().ask(Ask::delete(path, json_bytes(&options.body()))).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.is_not_found() => return Ok(Deleted::NotThere),
            Err(error) if error.is_conflict() && options.uid.is_some() => {
                return Err(DeleteError::Replaced { key: key.clone() });
            }
            Err(source) => return Err(DeleteError::Ask { key: key.clone(), source }),
        };
        match Outcome::read(&answer.body) {
            Outcome::Gone { uid } => {
                if !options.dry_run {
                    self.shared.update(|store| store.buried(key, &uid));
                }
                Ok(Deleted::Gone)
            }
            Outcome::Going => {
                if !options.dry_run {
                    self.shared.take_written(&kind, &answer.body);
                }
                Ok(Deleted::Going)
            }
        }
    }
}

impl DeleteOptions {
    fn body(&self) -> Value {
        let policy = match self.propagation {
            Propagation::Foreground => "Foreground",
            Propagation::Background => "Background",
            Propagation::Orphan => "Orphan",
        };
        let mut body = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "propagationPolicy": policy,
        });
        if let Some(uid) = &self.uid {
            body["preconditions"] = json!({"uid": uid});
        }
        if self.at_once {
            body["gracePeriodSeconds"] = json!(0);
        }
        if self.dry_run {
            body["dryRun"] = json!(["All"]);
        }
        body
    }
}

/// The answer to a delete is a `Status` when the object is gone, the object itself when it is still there.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Gone { uid: String },
    Going,
}

impl Outcome {
    fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if text("/kind") == "Status" {
            return Self::Gone { uid: text("/details/uid").to_owned() };
        }
        // Some kinds (pods, services) return the object although it went at once.
        if text("/metadata/deletionTimestamp").is_empty() {
            return Self::Gone { uid: text("/metadata/uid").to_owned() };
        }
        Self::Going
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &Value, expect: &Outcome) {
        assert_eq!(Outcome::read(body.to_string().as_bytes()), *expect);
    }

    #[test]
    fn a_status_says_that_the_object_is_gone() {
        let status = json!({"kind": "Status", "status": "Success", "details": {"uid": "u"}});
        check(&status, &Outcome::Gone { uid: "u".into() });
    }

    #[test]
    fn an_object_in_the_answer_is_still_there_if_it_is_marked() {
        let marked = json!({"kind": "Pod", "metadata": {"uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        check(&marked, &Outcome::Going);
        check(
            &json!({"kind": "Pod", "metadata": {"uid": "u"}}),
            &Outcome::Gone { uid: "u".into() },
        );
    }

    #[test]
    fn options_become_what_the_api_expects() {
        let options = DeleteOptions {
            propagation: Propagation::Foreground,
            uid: Some("u".into()),
            at_once: true,
            dry_run: true,
        };
        let expect = json!({"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions",
            "propagationPolicy": "Foreground", "preconditions": {"uid": "u"},
            "gracePeriodSeconds": 0, "dryRun": ["All"]});
        assert_eq!(options.body(), expect);
    }
}
