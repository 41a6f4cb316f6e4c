//! Takes a finalizer of ours off an object whose end we have seen.

use object::{GroupVersionKind, Object, ResourceKey};
use serde_json::{Value, json};

use crate::client::json_bytes;
use crate::cluster::Cluster;
use crate::refusal::RequestError;

/// How often we try again when somebody else wrote the object in between.
const TRIES: usize = 5;

impl Cluster {
    /// Removes one finalizer and leaves those of others. An object that is gone,
    /// or has no such finalizer, is as it should be.
    ///
    /// # Errors
    /// When the server says no, or cannot be reached.
    pub async fn remove_finalizer(
        &self,
        gvk: &GroupVersionKind,
        key: &ResourceKey,
        finalizer: &str,
    ) -> Result<(), RequestError> {
        let Some(kind) = self.kinds().find(gvk).cloned() else { return Ok(()) };
        let mut tries = 0;
        loop {
            tries += 1;
            let live = self.client().get(&kind, &key.namespace, &key.name).await?;
            let Some(patch) = live.as_ref().and_then(|it| without(it, finalizer)) else {
                return Ok(());
            };
            let sent = self.client().merge_patch(&kind, &key.namespace, &key.name, None, &patch);
            match sent.await {
                Ok(released) => {
                    // One that was only held by us is gone now: that is the watch's to tell.
                    if released.at(&["metadata", "deletionTimestamp"]).is_none() {
                        self.shared.take_written(&kind, &json_bytes(&released));
                    }
                    return Ok(());
                }
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() && tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The patch that takes the finalizer away from exactly this state of the object.
fn without(live: &Object, finalizer: &str) -> Option<Value> {
    let finalizers = live.list(&["metadata", "finalizers"]);
    let others: Vec<&Value> = finalizers.iter().filter(|it| *it != finalizer).collect();
    (others.len() < finalizers.len()).then(|| {
        json!({"metadata": {
            "finalizers": others, "resourceVersion": live.text(&["metadata", "resourceVersion"]),
        }})
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_of_others_stay_and_without_ours_there_is_nothing_to_do() {
        let live = |finalizers: Value| {
            let value = json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "p", "resourceVersion": "7", "finalizers": finalizers}});
            Object::from_value(value).expect("an object")
        };
        let patch = without(&live(json!(["theirs", "ours"])), "ours");
        assert_eq!(
            patch,
            Some(json!({"metadata": {"finalizers": ["theirs"], "resourceVersion": "7"}}))
        );
        assert_eq!(without(&live(json!(["theirs"])), "ours"), None);
    }
}
