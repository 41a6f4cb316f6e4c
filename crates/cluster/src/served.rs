//! Waits until the server serves what a definition defines.
//!
//! A custom resource definition is taken at once, its kinds are served a moment
//! later. Whoever writes a definition and then objects of it must not be told
//! that there is no such kind.

use std::time::Duration;

use object::{GroupVersionKind, Object};

use crate::cluster::Cluster;

/// A definition whose names clash is never served; this is long enough for all others.
const PATIENCE: Duration = Duration::from_secs(10);

/// Discovery follows the definition by some milliseconds.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl Cluster {
    /// Waits until each version that `written` wants served is served, if it is a definition.
    /// After a while we give up: what is missing is told where it is needed.
    pub(crate) async fn until_served(&self, written: &Object) {
        let mut awaited = served_kinds(written);
        let looking = async {
            while !awaited.is_empty() {
                let kinds = self.refreshed_kinds().await;
                // A kind that was there before with another scope is told so for a moment more.
                awaited.retain(|(kind, namespaced)| {
                    kinds.find(kind).is_none_or(|it| it.namespaced != *namespaced)
                });
                if !awaited.is_empty() {
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
            }
        };
        drop(tokio::time::timeout(PATIENCE, looking).await);
    }
}

/// What a definition defines, and whether it lives in namespaces; nothing for any other object.
fn served_kinds(object: &Object) -> Vec<(GroupVersionKind, bool)> {
    if !object.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return Vec::new();
    }
    let group = object.text(&["spec", "group"]).unwrap_or_default();
    let kind = object.text(&["spec", "names", "kind"]).unwrap_or_default();
    let versions = object.list(&["spec", "versions"]).iter();
    let served = versions.filter(|it| it["served"] == true).filter_map(|it| it["name"].as_str());
    let namespaced = object.text(&["spec", "scope"]) == Some("Namespaced");
    let kind = |version| GroupVersionKind::parse(&format!("{group}/{version}"), kind);
    served.map(|version| (kind(version), namespaced)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_defines_its_served_versions_and_another_object_nothing() {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"}, "versions": [
                {"name": "v1", "served": true}, {"name": "v0", "served": false}]},
        });
        let kinds = |value| served_kinds(&Object::from_value(value).expect("an object"));
        let boat = GroupVersionKind::parse("example.com/v1", "Boat");
        assert_eq!(kinds(definition), [(boat, true)]);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
        assert_eq!(kinds(map), []);
    }
}
