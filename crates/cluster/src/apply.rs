//! Brings one object to the state that is wanted.
//!
//! [`Cluster::apply`] is one request: server-side apply, or a create where the
//! manifest leaves its name to the server. What the server returns goes into
//! the store before the caller hears of it, so whoever writes and then reads
//! reads the write.

use http::{Method, StatusCode};
use object::{GroupVersionKind, Object, ResourceKey};
use std::sync::Arc;

use crate::ask::{APPLY_PATCH, Answer, Ask, Query};
use crate::client::{json_bytes, read_object};
use crate::cluster::Cluster;
use crate::kinds::ApiKind;
use crate::refusal::{Disposition, Refusal, RequestError};

/// How to apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Who we are in managedFields.
    pub field_manager: String,
    /// Take fields over from other managers instead of failing with a conflict.
    pub force: bool,
    /// Let the server check and answer, but keep nothing.
    pub dry_run: bool,
    /// What the server does about fields it does not know.
    pub validation: Validation,
}

/// What the server does about unknown and repeated fields of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Refuse the object.
    Strict,
    /// Drop them.
    Ignore,
}

impl Validation {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Ignore => "Ignore",
        }
    }
}

impl Default for ApplyOptions {
    /// As Argo CD applies: by force, as `argocd-controller`, validated.
    fn default() -> Self {
        Self {
            field_manager: crate::FIELD_MANAGER.to_owned(),
            force: true,
            dry_run: false,
            validation: Validation::Strict,
        }
    }
}

/// The outcome of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The object as it is now (or would be, after a dry run).
    pub object: Object,
    /// What happened to it.
    pub what: Effect,
    dry_run: bool,
}

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object was not there before.
    Created,
    /// The object was changed.
    Configured,
    /// The object was as wanted already.
    Unchanged,
}

impl Applied {
    /// In the words of `kubectl apply`: `configmap/my-map created`.
    #[must_use]
    pub fn message(&self) -> String {
        let effect = match self.what {
            Effect::Created => "created",
            Effect::Configured => "configured",
            Effect::Unchanged => "unchanged",
        };
        self.in_words(effect)
    }

    /// In the words of `kubectl apply --server-side`: `configmap/my-map serverside-applied`.
    #[must_use]
    pub fn server_side_message(&self) -> String {
        self.in_words("serverside-applied")
    }

    fn in_words(&self, effect: &str) -> String {
        let suffix = if self.dry_run { " (server dry run)" } else { "" };
        format!("{} {effect}{suffix}", self.object.kubectl_name())
    }
}

/// Why an object was not applied. Each message can be shown to the author of the manifest.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The server does not serve this kind in this version.
    #[error(
        "the server could not find the requested resource: {kind} is not installed in the cluster, or not in this version"
    )]
    UnknownKind {
        /// The kind.
        kind: GroupVersionKind,
    },
    /// The manifest has neither a name nor a generateName, or no namespace where one is needed.
    #[error("the manifest of {kind} has no {field}")]
    Incomplete {
        /// The kind.
        kind: GroupVersionKind,
        /// The field that is missing.
        field: &'static str,
    },
    /// No patch can be made that leaves alone what others put into the lists of the object.
    #[error(
        "cannot make a patch of {key}: {source}; give the element what it lacks, or sync with Replace=true or ServerSideApply=true"
    )]
    NoPatch {
        /// The object.
        key: ResourceKey,
        /// Why.
        source: Box<object::patch::strategic::PatchError>,
    },
    /// Our user may not do this. The server's message says who may not do what.
    #[error("not allowed to apply {key}: {refusal}")]
    Forbidden {
        /// The object.
        key: ResourceKey,
        /// The server's answer.
        refusal: Box<Refusal>,
    },
    /// The credentials are not, or no longer, accepted.
    #[error("the API server does not accept our credentials: {refusal}")]
    Unauthorized {
        /// The server's answer.
        refusal: Box<Refusal>,
    },
    /// The object's namespace does not exist.
    #[error("the namespace {namespace} of {key} does not exist")]
    NamespaceMissing {
        /// The object.
        key: ResourceKey,
        /// The namespace.
        namespace: String,
    },
    /// The object's namespace is being deleted.
    #[error("the namespace of {key} is being deleted: {refusal}")]
    NamespaceTerminating {
        /// The object.
        key: ResourceKey,
        /// The server's answer.
        refusal: Box<Refusal>,
    },
    /// Another manager owns a field, or the object changed or exists against the condition.
    #[error("{refusal}")]
    Conflict {
        /// The object.
        key: ResourceKey,
        /// The server's answer; names the manager and the fields.
        refusal: Box<Refusal>,
    },
    /// The server, or an admission webhook, does not take the object as it is.
    #[error("{refusal}")]
    Invalid {
        /// The object.
        key: ResourceKey,
        /// The server's answer; names the fields.
        refusal: Box<Refusal>,
    },
    /// Any other no.
    #[error("{refusal}")]
    Refused {
        /// The object.
        key: ResourceKey,
        /// The server's answer.
        refusal: Box<Refusal>,
    },
    /// The object was deleted to be created anew, and does not go.
    #[error(
        "{key} was deleted to be created anew and is still there: something holds it, see its finalizers"
    )]
    StillThere {
        /// The object.
        key: ResourceKey,
    },
    /// The request may or may not have reached the server.
    #[error("could not apply {key}")]
    Lost {
        /// The object.
        key: ResourceKey,
        /// Why.
        source: Box<RequestError>,
    },
}

impl ApplyError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::UnknownKind { .. }
            | Self::NamespaceMissing { .. }
            | Self::NamespaceTerminating { .. }
            | Self::Conflict { .. }
            | Self::StillThere { .. } => Disposition::WaitForChange,
            Self::Incomplete { .. }
            | Self::NoPatch { .. }
            | Self::Forbidden { .. }
            | Self::Unauthorized { .. }
            | Self::Invalid { .. } => Disposition::WaitForUser,
            Self::Refused { refusal, .. } => refusal.disposition(),
            Self::Lost { source, .. } => source.disposition(),
        }
    }

    /// Message and causes in one line, for a place that has room for one text only.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        crate::refusal::in_one_line(self)
    }

    pub(crate) fn from_request(key: ResourceKey, error: RequestError) -> Self {
        let refusal = match error {
            RequestError::Refused { source, .. } => source,
            source => return Self::Lost { key, source: Box::new(source) },
        };
        match refusal.code {
            401 => Self::Unauthorized { refusal },
            403 if refusal.has_cause("NamespaceTerminating") => {
                Self::NamespaceTerminating { key, refusal }
            }
            403 => Self::Forbidden { key, refusal },
            404 if refusal.details.kind == "namespaces" && key.kind != "Namespace" => {
                let namespace = refusal.details.name;
                Self::NamespaceMissing { key, namespace }
            }
            409 => Self::Conflict { key, refusal },
            400 | 413 | 422 => Self::Invalid { key, refusal },
            500 if is_about_the_manifest(&refusal) => Self::Invalid { key, refusal },
            _ => Self::Refused { key, refusal },
        }
    }
}

/// Server-side apply reports a manifest that does not fit its schema as an
/// internal error without a reason. The text is all there is to tell it from a
/// server in trouble, and nothing but the manifest can mend it.
fn is_about_the_manifest(refusal: &Refusal) -> bool {
    refusal.reason.is_empty() && refusal.message.starts_with("failed to create typed patch object")
}

impl Cluster {
    /// Applies one object.
    ///
    /// # Errors
    /// See [`ApplyError`]; nothing was changed, except perhaps with `Lost`.
    pub async fn apply(
        &self,
        object: &Object,
        options: &ApplyOptions,
    ) -> Result<Applied, ApplyError> {
        let kind = self.kind_of(object).await?;
        let object = placed(object, &kind)?;
        let key = object.key();
        let before = self.known(&key);
        let request = request(&kind, &object, options);
        let answer = match self.client().ask(request).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.explain(&kind, key, error)),
        };
        if !options.dry_run {
            self.shared.take_written(&kind, &answer.body);
        }
        let applied = read_object(&answer.body).map_err(|source| ApplyError::Lost {
            key,
            source: Box::new(RequestError::Unreadable { request: "PATCH".into(), source }),
        })?;
        let version_before = before.map(|it| it.resource_version);
        let what = effect(&answer, &applied, version_before.as_deref());
        Ok(Applied { object: applied, what, dry_run: options.dry_run })
    }

    /// The kind of a manifest; a kind that is not known may have been installed a moment ago.
    pub(crate) async fn kind_of(&self, object: &Object) -> Result<Arc<ApiKind>, ApplyError> {
        let kind = object.group_version_kind();
        if let Some(found) = self.kinds().find(&kind) {
            return Ok(Arc::clone(found));
        }
        let kinds = self.refreshed_kinds().await;
        kinds.find(&kind).cloned().ok_or(ApplyError::UnknownKind { kind })
    }

    /// A 404 for a path (and not for a namespace) says that the kind itself is gone.
    pub(crate) fn explain(
        &self,
        kind: &ApiKind,
        key: ResourceKey,
        error: RequestError,
    ) -> ApplyError {
        let no_such_path =
            error.refusal().is_some_and(|it| it.code == 404 && it.details.name.is_empty());
        if no_such_path {
            self.shared.want_kinds();
            return ApplyError::UnknownKind { kind: kind.group_version_kind() };
        }
        ApplyError::from_request(key, error)
    }
}

/// The object where it belongs: a cluster-scoped one has no namespace, another one needs one.
pub(crate) fn placed(object: &Object, kind: &ApiKind) -> Result<Object, ApplyError> {
    let incomplete = |field| ApplyError::Incomplete { kind: object.group_version_kind(), field };
    if object.name().is_empty() && object.text(&["metadata", "generateName"]).is_none() {
        return Err(incomplete("metadata.name"));
    }
    if kind.namespaced && object.namespace().is_empty() {
        return Err(incomplete("metadata.namespace"));
    }
    let mut object = object.clone();
    if !kind.namespaced
        && let Some(metadata) = object.fields_mut().get_mut("metadata")
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.remove("namespace");
    }
    Ok(object)
}

fn request(kind: &ApiKind, object: &Object, options: &ApplyOptions) -> Ask<'static> {
    let is_named = !object.name().is_empty();
    let mut query = Query::new(if is_named {
        kind.object_path(object.namespace(), object.name(), None)
    } else {
        kind.collection_path(object.namespace())
    });
    query.add("fieldManager", &options.field_manager);
    query.add("fieldValidation", options.validation.word());
    if options.dry_run {
        query.add("dryRun", "All");
    }
    if !is_named {
        let body = json_bytes(object);
        return Ask { method: Method::POST, body, ..Ask::get(query.url) };
    }
    if options.force {
        query.add("force", "true");
    }
    Ask::patch(query.url, APPLY_PATCH, json_bytes(object))
}

/// Without a state to compare with, an object that was there before counts as configured.
fn effect(answer: &Answer, applied: &Object, version_before: Option<&str>) -> Effect {
    if answer.status == StatusCode::CREATED {
        Effect::Created
    } else if applied.text(&["metadata", "resourceVersion"]) == version_before {
        Effect::Unchanged
    } else {
        Effect::Configured
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: serde_json::Value) -> Object {
        Object::from_value(value).expect("an object")
    }

    fn config_map() -> Object {
        object(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "my-map", "namespace": "web"}}))
    }

    fn kind(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> ApiKind {
        ApiKind::known(&GroupVersionKind::parse(api_version, kind), plural, namespaced)
    }

    #[test]
    fn results_are_told_in_the_words_of_kubectl() {
        let told = |object, what, dry_run| Applied { object, what, dry_run };
        let deployment = object(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}),
        );
        assert_eq!(
            told(config_map(), Effect::Created, false).message(),
            "configmap/my-map created"
        );
        assert_eq!(
            told(deployment.clone(), Effect::Configured, false).message(),
            "deployment.apps/web configured"
        );
        assert_eq!(
            told(deployment, Effect::Unchanged, false).server_side_message(),
            "deployment.apps/web serverside-applied"
        );
        assert_eq!(
            told(config_map(), Effect::Unchanged, true).message(),
            "configmap/my-map unchanged (server dry run)"
        );
    }

    #[test]
    fn a_named_object_is_patched_and_an_unnamed_one_is_created() {
        let kind = kind("v1", "ConfigMap", "configmaps", true);
        let named = request(&kind, &config_map(), &ApplyOptions::default());
        assert_eq!(
            named.path,
            "/api/v1/namespaces/web/configmaps/my-map?fieldManager=argocd-controller&fieldValidation=Strict&force=true"
        );
        let unnamed = object(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"generateName": "x-", "namespace": "web"}}));
        let dry = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
        let created = request(&kind, &unnamed, &dry);
        assert_eq!(created.method, Method::POST);
        assert_eq!(
            created.path,
            "/api/v1/namespaces/web/configmaps?fieldManager=argocd-controller&fieldValidation=Strict&dryRun=All"
        );
    }

    #[test]
    fn a_cluster_scoped_object_loses_its_namespace_and_another_one_must_have_one() {
        let role = kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
        let manifest =
            object(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "a", "namespace": "web"}}));
        assert_eq!(placed(&manifest, &role).expect("placed").namespace(), "");
        let map = kind("v1", "ConfigMap", "configmaps", true);
        let homeless =
            object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
        let error = placed(&homeless, &map).unwrap_err();
        assert_eq!(error.to_string(), "the manifest of v1/ConfigMap has no metadata.namespace");
        assert_eq!(error.disposition(), Disposition::WaitForUser);
    }
}
