//! As `kubectl apply`: what was applied last is kept in an annotation, so that
//! fields which the manifest no longer has are removed, and fields it never had
//! are left to whoever set them.

use object::patch::merge;
use object::patch::strategic::{self, PatchError, PatchProblem};
use object::schema::Schema;
use object::{GroupVersionKind, Object};
use serde_json::{Map, Value};

use super::{Pen, Written};
use crate::apply::{ApplyError, Effect};
use crate::ask::Ask;
use crate::client::{PatchKind, json_bytes};
use crate::refusal::Disposition;

pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object together may not be longer.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// How often a patch that lost against another writer is made anew.
const TRIES: usize = 5;

impl Pen<'_> {
    pub(super) async fn apply(&self, object: &Object) -> Result<Written, ApplyError> {
        let modified = with_last_applied(object);
        if annotations_size(&modified) > ANNOTATIONS_LIMIT {
            // The API server would refuse the annotation. Applied on the server
            // the object needs none.
            let written = self.apply_on_server(object).await?;
            let message = format!(
                "{}. Applied on the server: the manifest is too large for the annotation {LAST_APPLIED}; set ServerSideApply=true",
                written.message
            );
            return Ok(Written { message, ..written });
        }
        if self.cluster.lacks(&modified.key()) {
            match self.create(&modified, "created").await {
                // Somebody made one since the watch last told.
                Err(ApplyError::Conflict { .. }) => {}
                outcome => return outcome,
            }
        }
        let mut tries = 0;
        loop {
            tries += 1;
            match self.apply_once(&modified).await {
                Err(ApplyError::Conflict { .. }) if tries < TRIES => {}
                outcome => return outcome,
            }
        }
    }

    async fn apply_once(&self, modified: &Object) -> Result<Written, ApplyError> {
        let Some(live) = self.live(&modified.key()).await? else {
            return self.create(modified, "created").await;
        };
        if was_applied_on_server(&live) {
            return self.apply_on_server(&without_last_applied(modified)).await;
        }
        if binds_another_role(&live, modified) {
            return self.recreate(&live, modified, "configured").await;
        }
        let gvk = self.kind.group_version_kind();
        let (how, patch) = three_way(&live, modified, &gvk).map_err(|source| {
            ApplyError::NoPatch { key: modified.key(), source: Box::new(source) }
        })?;
        if patch.is_empty() {
            return Ok(self.told(live, Effect::Unchanged, "unchanged"));
        }
        let path = self.kind.object_path(modified.namespace(), modified.name(), None);
        let ask = Ask::patch(self.query(path).url, how.media_type(), json_bytes(&patch));
        match self.send(modified.key(), ask, Effect::Configured, "configured").await {
            Err(error) if self.options.force && error.disposition() == Disposition::WaitForUser => {
                self.recreate(&live, modified, "configured").await
            }
            outcome => outcome,
        }
    }
}

/// An object that we have only ever applied on the server stays so: nothing in
/// it tells which of its fields a manifest once had, but our field set does.
fn was_applied_on_server(live: &Object) -> bool {
    let is_ours = |entry: &Value| {
        entry["manager"] == crate::FIELD_MANAGER
            && entry["operation"] == "Apply"
            && entry.get("subresource").is_none_or(|it| it == "")
    };
    live.annotation(LAST_APPLIED).is_none()
        && live.list(&["metadata", "managedFields"]).iter().any(is_ours)
}

/// The role of a binding cannot be changed; kubectl has a command of its own
/// (`auth reconcile`) that makes the binding anew, and so do we.
fn binds_another_role(live: &Object, want: &Object) -> bool {
    let kind = want.group_kind();
    let is_binding = kind.group == "rbac.authorization.k8s.io"
        && matches!(kind.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
    let role = |object: &Object, field: &str| {
        object.text(&["roleRef", field]).unwrap_or_default().to_owned()
    };
    is_binding && ["kind", "name"].iter().any(|field| role(live, field) != role(want, field))
}

/// The manifest with itself in the annotation, as kubectl writes it.
pub(super) fn with_last_applied(object: &Object) -> Object {
    let mut modified = without_last_applied(object);
    let text = Value::Object(modified.fields().clone()).to_string() + "\n";
    modified.set_annotation(LAST_APPLIED, &text);
    modified
}

fn without_last_applied(object: &Object) -> Object {
    let mut bare = object.clone();
    // kubectl writes the mapping even where the manifest has none.
    bare.set_annotation(LAST_APPLIED, "");
    if let Some(annotations) = bare
        .fields_mut()
        .get_mut("metadata")
        .and_then(|it| it.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    {
        annotations.remove(LAST_APPLIED);
    }
    bare
}

fn annotations_size(object: &Object) -> usize {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_object);
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    annotations.map_or(0, |it| it.iter().map(size).sum())
}

/// The patch that brings `live` to `modified`, and how it is meant. Kinds that
/// the API server brings merge their lists, others do not; a field that we do not
/// know yet is no reason to refuse.
///
/// # Errors
/// Where lists have elements that cannot be told apart: kubectl refuses those too,
/// since a patch without merging would drop what others put into any list.
fn three_way(
    live: &Object,
    modified: &Object,
    kind: &GroupVersionKind,
) -> Result<(PatchKind, Map<String, Value>), PatchError> {
    let original: Map<String, Value> = live
        .annotation(LAST_APPLIED)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let (modified, live) = (modified.fields(), live.fields());
    if let Some(of) = Schema::builtin().of_kind(kind) {
        match strategic::create_three_way(&original, modified, live, of) {
            Ok(patch) => return Ok((PatchKind::Strategic, patch)),
            Err(error) if matches!(error.problem, PatchProblem::UnknownField(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((PatchKind::Merge, merge::create_three_way(&original, modified, live)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).expect("an object")
    }

    fn map(data: &Value) -> Object {
        object(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n"}, "data": data}))
    }

    #[test]
    fn the_annotation_holds_the_manifest_as_kubectl_writes_it() {
        let marked = with_last_applied(&map(&json!({"k": "v"})));
        assert_eq!(
            marked.annotation(LAST_APPLIED),
            Some(
                "{\"apiVersion\":\"v1\",\"data\":{\"k\":\"v\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"a\",\"namespace\":\"n\"}}\n"
            )
        );
        assert_eq!(with_last_applied(&marked), marked);
    }

    #[track_caller]
    fn check(applied: &Object, live_data: &Value, want: &Object, expect: &Value) {
        let mut live = with_last_applied(applied);
        live.fields_mut().insert("data".into(), live_data.clone());
        let gvk = GroupVersionKind::parse("v1", "ConfigMap");
        let (how, patch) = three_way(&live, &with_last_applied(want), &gvk).expect("a patch");
        assert_eq!(how, PatchKind::Strategic);
        assert_eq!(Value::Object(patch).get("data").unwrap_or(&Value::Null), expect);
    }

    #[test]
    fn what_git_dropped_is_removed_and_what_others_added_stays() {
        check(
            &map(&json!({"a": "1", "b": "2"})),
            &json!({"a": "1", "b": "2", "theirs": "x"}),
            &map(&json!({"a": "1"})),
            &json!({"b": null}),
        );
    }

    #[test]
    fn elements_that_cannot_be_told_apart_are_refused_as_kubectl_refuses_them() {
        let account = |secrets: Value| {
            object(json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": "a"}, "secrets": secrets}))
        };
        let (live, want) = (account(json!([{}])), account(json!([{"name": "s"}])));
        let gvk = GroupVersionKind::parse("v1", "ServiceAccount");
        let refused = three_way(&live, &want, &gvk).expect_err("an element without name");
        assert_eq!(
            refused.to_string(),
            "cannot merge secrets: an element of the list has no \"name\", \
             by which elements are told apart"
        );
        let merged = three_way(&account(json!([])), &want, &gvk).expect("a patch");
        assert_eq!(merged.0, PatchKind::Strategic);
    }

    #[test]
    fn what_others_changed_is_changed_back() {
        let applied = map(&json!({"a": "1"}));
        check(&applied, &json!({"a": "9"}), &applied, &json!({"a": "1"}));
    }

    #[test]
    fn an_object_as_it_should_be_needs_no_patch() {
        let applied = map(&json!({"a": "1"}));
        let live = with_last_applied(&applied);
        let gvk = GroupVersionKind::parse("v1", "ConfigMap");
        assert_eq!(
            three_way(&live, &with_last_applied(&applied), &gvk).map(|it| it.1),
            Ok(Map::new())
        );
    }

    #[test]
    fn what_we_applied_on_the_server_stays_there_until_it_has_the_annotation() {
        let mut live = map(&json!({"a": "1"}));
        assert!(!was_applied_on_server(&live));
        live.fields_mut()["metadata"]["managedFields"] =
            json!([{"manager": "argocd-controller", "operation": "Apply"}]);
        assert!(was_applied_on_server(&live));
        assert!(!was_applied_on_server(&with_last_applied(&live)));
    }

    #[test]
    fn a_binding_to_another_role_is_made_anew() {
        let binding = |role: &str| {
            object(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": role}}))
        };
        assert!(binds_another_role(&binding("a"), &binding("b")));
        assert!(!binds_another_role(&binding("a"), &binding("a")));
    }
}
