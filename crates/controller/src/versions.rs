//! Live objects in the version that git wants them in.
//!
//! A cluster is watched in the versions that its server prefers. Where git states an
//! object in another one, the same thing has other names there, so the server is
//! asked for it in git's: once per state of the object.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use cluster::{Cluster, RequestError};
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use object::{GroupVersionKind, Object, ResourceKey};

/// How many objects are remembered; past that, all are forgotten.
const KEPT_OBJECTS: usize = 1024;

/// Objects as they were read, by cluster and object.
#[derive(Default)]
pub(crate) struct OtherVersions(Mutex<BTreeMap<(String, ResourceKey), Object>>);

impl OtherVersions {
    /// Reads the objects that `wanted` names in its versions, and puts them in the places
    /// of those in `live`. What could not be read is told.
    pub(crate) async fn read(
        &self,
        cluster: &Cluster,
        wanted: BTreeMap<ResourceKey, GroupVersionKind>,
        live: &mut BTreeMap<ResourceKey, Object>,
        at_once: usize,
    ) -> Vec<(ResourceKey, RequestError)> {
        let server = cluster.client().server();
        let mut open = Vec::new();
        for (key, kind) in wanted {
            let Some(seen) = live.get_mut(&key) else { continue };
            match self.kept(server, &key, &kind, seen) {
                Some(kept) => *seen = kept,
                None => open.push((key, kind)),
            }
        }
        let mut answers = stream::iter(open)
            .map(|(key, kind)| {
                async move {
                    let answer = cluster.get(&kind, &key.namespace, &key.name).await;
                    (key, answer)
                }
                .boxed()
            })
            .buffer_unordered(at_once);
        let mut unread = Vec::new();
        while let Some((key, answer)) = answers.next().await {
            match answer {
                Ok(Some(object)) => {
                    self.keep(server, &key, object.clone());
                    live.insert(key, object);
                }
                // It went away meanwhile, which the watch will tell.
                Ok(None) => {}
                Err(error) => unread.push((key, error)),
            }
        }
        unread
    }

    /// What was read before, if it is the same state in the wanted version.
    fn kept(
        &self,
        server: &str,
        key: &ResourceKey,
        kind: &GroupVersionKind,
        seen: &Object,
    ) -> Option<Object> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.get(&(server.to_owned(), key.clone()))?;
        let is_it = known.group_version_kind() == *kind && state(known) == state(seen);
        is_it.then(|| known.clone())
    }

    fn keep(&self, server: &str, key: &ResourceKey, object: Object) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_OBJECTS {
            kept.clear();
        }
        kept.insert((server.to_owned(), key.clone()), object);
    }
}

fn state(object: &Object) -> [Option<&str>; 2] {
    ["uid", "resourceVersion"].map(|field| object.text(&["metadata", field]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SERVER: &str = "https://one.example";

    fn scaler(version: &str, resource_version: &str) -> Object {
        let value = json!({"apiVersion": format!("autoscaling/{version}"),
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "n", "uid": "u",
                "resourceVersion": resource_version}});
        Object::from_value(value).expect("an object")
    }

    #[test]
    fn what_was_read_holds_for_one_state_of_one_object_in_one_version() {
        let versions = OtherVersions::default();
        let read = scaler("v1", "7");
        let (key, kind) = (read.key(), read.group_version_kind());
        versions.keep(SERVER, &key, read.clone());
        let kept = |server: &str, kind: &GroupVersionKind, seen: &Object| {
            versions.kept(server, &key, kind, seen)
        };
        assert_eq!(kept(SERVER, &kind, &scaler("v2", "7")), Some(read));
        assert_eq!(kept(SERVER, &kind, &scaler("v2", "8")), None);
        let other = scaler("v2beta2", "7").group_version_kind();
        assert_eq!(kept(SERVER, &other, &scaler("v2", "7")), None);
        assert_eq!(kept("https://two.example", &kind, &scaler("v2", "7")), None);
    }

    #[test]
    fn objects_are_bounded_in_number() {
        let versions = OtherVersions::default();
        for number in 0..=KEPT_OBJECTS {
            let mut object = scaler("v1", "7");
            object.set_name(&format!("web-{number}"));
            versions.keep(SERVER, &object.key(), object.clone());
        }
        assert_eq!(versions.0.lock().expect("nobody panicked").len(), 1);
    }
}
