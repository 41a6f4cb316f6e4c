//! Makes fields that were applied on the client ours on the server.
//!
//! Server-side apply removes a field only from who applied it. Fields that
//! `kubectl apply` set belong to another manager by `Update`, so what git drops
//! later would stay. The entry of that manager is turned into ours once.

use object::{Object, ResourceKey};
use serde_json::{Map, Value, json};

use super::Pen;
use crate::apply::ApplyError;

impl Pen<'_> {
    pub(super) async fn take_over(
        &self,
        key: &ResourceKey,
        manager: &str,
    ) -> Result<(), ApplyError> {
        let Some(live) = self.live(key).await? else { return Ok(()) };
        let Some(patch) = taken_over(&live, manager) else { return Ok(()) };
        let done = self.cluster.client();
        let done = done.json_patch(self.kind, &key.namespace, &key.name, None, &patch).await;
        done.map(drop).map_err(|error| ApplyError::from_request(key.clone(), error))
    }
}

/// The patch that gives `manager`'s fields to us; none if it has none.
fn taken_over(live: &Object, manager: &str) -> Option<Value> {
    let entries = live.list(&["metadata", "managedFields"]);
    let is_theirs = |entry: &&Value| {
        entry["manager"] == manager
            && entry["operation"] == "Update"
            && entry.get("subresource").is_none_or(|it| it == "")
    };
    let is_ours = |entry: &&Value| {
        entry["manager"] == crate::FIELD_MANAGER
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none_or(|it| it == "")
    };
    let theirs = entries.iter().find(is_theirs)?;
    let mut ours = entries.iter().find(is_ours).unwrap_or(theirs).clone();
    ours["manager"] = crate::FIELD_MANAGER.into();
    ours["operation"] = "Apply".into();
    for entry in entries.iter().filter(is_theirs) {
        if let Some(fields) = entry["fieldsV1"].as_object() {
            unite(&mut ours["fieldsV1"], fields);
        }
    }
    let others = entries.iter().filter(|it| !is_theirs(it) && !is_ours(it)).cloned();
    let entries: Vec<Value> = others.chain([ours]).collect();
    let version = live.text(&["metadata", "resourceVersion"]).unwrap_or_default();
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]))
}

/// A field set is a tree of maps; the union has the branches of both.
fn unite(into: &mut Value, from: &Map<String, Value>) {
    if !into.is_object() {
        *into = json!({});
    }
    for (name, below) in from {
        match below.as_object() {
            Some(below) => unite(&mut into[name], below),
            None => into[name] = below.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(entries: Value) -> Object {
        let mut live = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "7"}});
        live["metadata"]["managedFields"] = entries;
        Object::from_value(live).expect("an object")
    }

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields})
    }

    #[test]
    fn fields_of_the_old_manager_become_ours_and_join_what_we_have() {
        let theirs = entry("kubectl-client-side-apply", "Update", &json!({"f:data": {"f:a": {}}}));
        let other = entry("somebody", "Update", &json!({"f:x": {}}));
        let patch = taken_over(&live(json!([theirs, other])), "kubectl-client-side-apply");
        let ours = entry("argocd-controller", "Apply", &json!({"f:data": {"f:a": {}}}));
        assert_eq!(patch.expect("a patch")[0]["value"], json!([other, ours]));

        let before = entry("argocd-controller", "Apply", &json!({"f:data": {"f:b": {}}}));
        let patch = taken_over(&live(json!([theirs, before])), "kubectl-client-side-apply");
        let both = json!({"f:data": {"f:a": {}, "f:b": {}}});
        let ours = entry("argocd-controller", "Apply", &both);
        assert_eq!(patch.expect("a patch")[0]["value"], json!([ours]));
    }

    #[test]
    fn an_object_that_was_never_applied_so_is_left_alone() {
        let applied = entry("kubectl-client-side-apply", "Apply", &json!({}));
        assert_eq!(taken_over(&live(json!([applied])), "kubectl-client-side-apply"), None);
    }
}
