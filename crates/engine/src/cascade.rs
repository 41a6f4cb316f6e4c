//! Deleting an application with all it tracks: what to delete next.
//!
//! Waves go from the highest to the lowest, and a wave is gone before the next
//! begins: what was created first is removed last.

use std::collections::BTreeMap;

use object::{Object, ResourceKey};

use crate::marks::{self, TrackedBy};

/// The next move of a cascade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CascadeStep {
    /// Delete these; they belong to the same wave.
    Delete(Vec<ResourceKey>),
    /// Deletion is under way; ask again when something changes.
    Wait(Vec<ResourceKey>),
    /// Nothing of the application is left.
    Done,
}

/// Says what to delete next of what `instance` tracks.
#[must_use]
pub fn next(
    live: &BTreeMap<ResourceKey, Object>,
    instance: &str,
    tracked_by: &TrackedBy,
) -> CascadeStep {
    let doomed: Vec<(&ResourceKey, &Object)> =
        live.iter().filter(|(key, object)| is_doomed(key, object, instance, tracked_by)).collect();
    let Some(wave) = doomed.iter().map(|(_, object)| marks::wave(object)).max() else {
        return CascadeStep::Done;
    };
    let (deleting, standing): (Vec<_>, Vec<_>) = doomed
        .into_iter()
        .filter(|(_, object)| marks::wave(object) == wave)
        .partition(|(_, object)| object.at(&["metadata", "deletionTimestamp"]).is_some());
    let keys =
        |pairs: Vec<(&ResourceKey, &Object)>| pairs.into_iter().map(|it| it.0.clone()).collect();
    if standing.is_empty() {
        CascadeStep::Wait(keys(deleting))
    } else {
        CascadeStep::Delete(keys(standing))
    }
}

/// CRDs stay: deleting one would delete objects that other applications track.
fn is_doomed(key: &ResourceKey, object: &Object, instance: &str, tracked_by: &TrackedBy) -> bool {
    marks::belongs_to(object, key, instance, tracked_by)
        && !marks::survives_deletion(object)
        && !key.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `name@wave`, `name@wave!` when its deletion has begun; annotations after that.
    fn cluster(objects: &[(&str, i32, bool, &str)]) -> BTreeMap<ResourceKey, Object> {
        objects
            .iter()
            .map(|(name, wave, deleting, option)| {
                let mut object = Object::from_value(json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": "web", "annotations": {
                        "argocd.argoproj.io/tracking-id": format!("app:/ConfigMap:web/{name}"),
                        "argocd.argoproj.io/sync-wave": wave.to_string(),
                        "argocd.argoproj.io/sync-options": option,
                    }},
                }))
                .expect("a test object");
                if *deleting {
                    object.fields_mut()["metadata"]["deletionTimestamp"] = json!("now");
                }
                (object.key(), object)
            })
            .collect()
    }

    #[track_caller]
    fn check(objects: &[(&str, i32, bool, &str)], expect: &str) {
        let names = |keys: Vec<ResourceKey>| {
            keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(" ")
        };
        let step = match next(&cluster(objects), "app", &TrackedBy::default()) {
            CascadeStep::Delete(keys) => format!("delete {}", names(keys)),
            CascadeStep::Wait(keys) => format!("wait {}", names(keys)),
            CascadeStep::Done => "done".into(),
        };
        assert_eq!(step, expect);
    }

    #[test]
    fn the_highest_wave_goes_first() {
        check(&[("a", 0, false, ""), ("b", 1, false, ""), ("c", 1, false, "")], "delete b c");
    }

    #[test]
    fn a_wave_is_gone_before_the_next_begins() {
        check(&[("a", 0, false, ""), ("b", 1, true, "")], "wait b");
    }

    #[test]
    fn what_must_survive_survives() {
        check(&[("a", 0, false, "Delete=false")], "done");
    }

    #[test]
    fn other_applications_objects_are_not_ours() {
        assert_eq!(
            next(&cluster(&[("a", 0, false, "")]), "other", &TrackedBy::default()),
            CascadeStep::Done
        );
    }
}
