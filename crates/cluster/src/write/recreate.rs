//! Deletes an object and creates it anew, for changes that the API server does
//! not allow. A failed creation puts the old object back.

use std::time::Duration;

use object::Object;
use serde_json::Value;

use super::{Pen, Written};
use crate::apply::ApplyError;
use crate::delete::{DeleteError, DeleteOptions, Deleted, Propagation};

/// How long an object may take to go.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Pen<'_> {
    pub(super) async fn recreate(
        &self,
        live: &Object,
        want: &Object,
        word: &str,
    ) -> Result<Written, ApplyError> {
        self.remove(live).await?;
        if self.options.dry_run {
            // The old object still stands in the way of a creation.
            return Ok(self.told(want.clone(), crate::Effect::Configured, word));
        }
        match self.create(want, word).await {
            Ok(written) => Ok(Written { what: crate::Effect::Configured, ..written }),
            Err(error) => {
                // Better the old object than none.
                if let Err(lost) = self.create(&without_identity(live), "restored").await {
                    tracing::warn!(
                        key = %live.key(), error = %lost.in_one_line(),
                        "could not restore an object that was to be replaced"
                    );
                }
                Err(error)
            }
        }
    }

    async fn remove(&self, live: &Object) -> Result<(), ApplyError> {
        let key = live.key();
        let options = DeleteOptions {
            propagation: Propagation::Background,
            uid: live.text(&["metadata", "uid"]).map(str::to_owned),
            at_once: false,
            dry_run: self.options.dry_run,
        };
        match self.cluster.delete(&key, &options).await {
            Ok(Deleted::Going) if !self.options.dry_run => self.await_end(live).await,
            Ok(_) => Ok(()),
            Err(DeleteError::Replaced { .. }) => Ok(()),
            Err(DeleteError::Ask { source, .. }) => Err(ApplyError::from_request(key, source)),
        }
    }

    async fn await_end(&self, live: &Object) -> Result<(), ApplyError> {
        let key = live.key();
        let uid = |object: &Object| object.text(&["metadata", "uid"]).map(str::to_owned);
        let gone = async {
            let mut pause = FIRST_LOOK;
            while self.live(&key).await?.is_some_and(|now| uid(&now) == uid(live)) {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Ok(())
        };
        let waited = tokio::time::timeout(PATIENCE, gone).await;
        waited.unwrap_or_else(|_| Err(ApplyError::StillThere { key: key.clone() }))
    }
}

/// What the server gave an object, and would not take back.
fn without_identity(live: &Object) -> Object {
    let mut object = live.clone();
    if let Some(metadata) = object.fields_mut().get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"]
        {
            metadata.remove(field);
        }
    }
    object
}
