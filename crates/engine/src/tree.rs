//! An application's objects with all they own, as the resource tree shows them.
//!
//! [`node`] is one live object, [`missing`] one that git wants and nobody made;
//! [`hosts`] are the machines the pods run on. Who is whose child is the
//! caller's to know: it follows owner references through the live store.

mod hosts;
mod network;
mod pod;

use api::{HealthStatus, InfoItem, ResourceNode, ResourceRef, Time, names};
use object::{Object, ResourceKey};
use serde_json::Value;

use crate::health::{Health, HealthCode, HealthRules, health};

pub use hosts::hosts;
pub(crate) use network::is_web_link;
pub use network::networking;

/// The images of a pod, each once.
#[must_use]
pub fn images(pod: &Object) -> Vec<String> {
    pod::images(pod)
}

/// A live object as the tree shows it. `parents` are its owners.
#[must_use]
pub fn node(live: &Object, parents: Vec<ResourceRef>, rules: &dyn HealthRules) -> ResourceNode {
    let is_pod = live.group_kind().is("", "Pod");
    ResourceNode {
        resource_ref: reference(live),
        parent_refs: parents,
        info: info(live),
        networking_info: network::networking(live),
        resource_version: live.text(&["metadata", "resourceVersion"]).unwrap_or_default().into(),
        images: if is_pod { pod::images(live) } else { Vec::new() },
        health: health(live, rules).map(in_api),
        created_at: created_at(live),
    }
}

/// What git wants and the cluster lacks.
#[must_use]
pub fn missing(key: &ResourceKey, want: &Object) -> ResourceNode {
    let health = Health { code: HealthCode::Missing, message: String::new() };
    ResourceNode {
        resource_ref: ResourceRef {
            group: key.group.clone(),
            version: want.group_version_kind().version,
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: String::new(),
        },
        health: Some(in_api(health)),
        ..ResourceNode::default()
    }
}

/// How others refer to a live object.
#[must_use]
pub fn reference(live: &Object) -> ResourceRef {
    let kind = live.group_version_kind();
    ResourceRef {
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
        namespace: live.namespace().into(),
        name: live.name().into(),
        uid: live.text(&["metadata", "uid"]).unwrap_or_default().into(),
    }
}

/// The claims that a StatefulSet's pods bring along carry no owner reference;
/// their names tell: `<template>-<set>-<number>`.
#[must_use]
pub fn claims_by_name(stateful_set: &Object, claim: &str) -> bool {
    let is_numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit());
    let templates = stateful_set.list(&["spec", "volumeClaimTemplates"]).iter();
    templates.filter_map(|it| it["metadata"]["name"].as_str()).any(|template| {
        let stem = format!("{template}-{}-", stateful_set.name());
        claim.strip_prefix(&stem).is_some_and(is_numbered)
    })
}

/// Does an object that names no owner of this kind belong to `parent` all the
/// same? Kubernetes and others say so by names and annotations.
#[must_use]
pub fn is_inferred_parent(parent: &Object, child: &Object) -> bool {
    let (above, below) = (parent.group_kind(), child.group_kind());
    let is_named = |annotation: &str| child.annotation(annotation) == Some(parent.name());
    if parent.namespace() != child.namespace() {
        return false;
    }
    match (above.group.as_str(), above.kind.as_str(), below.group.as_str(), below.kind.as_str()) {
        ("", "Service", "", "Endpoints") => {
            parent.name() == child.name() && child.list(&["metadata", "ownerReferences"]).is_empty()
        }
        ("", "ServiceAccount", "", "Secret") => {
            child.text(&["type"]) == Some(SERVICE_ACCOUNT_TOKEN) && is_named(ACCOUNT_OF_TOKEN)
        }
        ("apps", "StatefulSet", "", "PersistentVolumeClaim") => {
            claims_by_name(parent, child.name())
        }
        (OLM, "OperatorGroup", OLM, "ClusterServiceVersion") => is_named("olm.operatorGroup"),
        _ => false,
    }
}

const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
const ACCOUNT_OF_TOKEN: &str = "kubernetes.io/service-account.name";
const OLM: &str = "operators.coreos.com";

/// A health as the API tells it.
#[must_use]
pub fn in_api(health: Health) -> HealthStatus {
    HealthStatus {
        status: health.code.name().into(),
        message: health.message,
        ..HealthStatus::default()
    }
}

fn created_at(live: &Object) -> Option<Time> {
    let created = live.at(&["metadata", "creationTimestamp"])?;
    serde_json::from_value(created.clone()).ok()
}

fn info(live: &Object) -> Vec<InfoItem> {
    let mut info = Vec::new();
    if let Some(revision) = revision(live).filter(|it| *it > 0) {
        info.push(item("Revision", format!("Rev:{revision}")));
    }
    let kind = live.group_kind();
    if kind.is("", "Pod") {
        info.extend(pod::info(live));
    }
    if kind.is("argoproj.io", "Application")
        && let Some(url) = live.annotation(names::ANNOTATION_MANAGED_BY_URL)
    {
        info.push(item("managed-by-url", url));
    }
    info
}

const REVISIONS: [&str; 2] = ["deployment.kubernetes.io/revision", "rollout.argoproj.io/revision"];

fn revision(live: &Object) -> Option<i64> {
    REVISIONS
        .iter()
        .find_map(|name| live.annotation(name))
        .map_or_else(|| live.integer(&["revision"]), |text| text.parse().ok())
}

fn item(name: &str, value: impl Into<String>) -> InfoItem {
    InfoItem { name: name.into(), value: value.into() }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::health::BuiltinOnly;

    fn object(value: Value) -> Object {
        Object::from_value(value).expect("a test object")
    }

    #[test]
    fn a_replica_set_tells_its_revision_health_and_birth() {
        let live = object(json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web-1", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "generation": 1, "creationTimestamp": "2026-01-02T03:04:05Z",
                "annotations": {"deployment.kubernetes.io/revision": "3"}},
            "spec": {"replicas": 1}, "status": {"observedGeneration": 1, "availableReplicas": 1},
        }));
        let node = node(&live, Vec::new(), &BuiltinOnly);
        assert_eq!(node.info, [item("Revision", "Rev:3")]);
        assert_eq!(node.health.expect("known").status, "Healthy");
        assert_eq!(node.resource_version, "7");
        let created = serde_json::to_value(node.created_at).expect("a time");
        assert_eq!(created, "2026-01-02T03:04:05Z");
        assert_eq!(node.resource_ref.version, "v1");
    }

    #[test]
    fn what_nobody_made_is_missing() {
        let want = object(
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}),
        );
        let node = missing(&ResourceKey::new(&want.group_kind(), "n", "a"), &want);
        assert_eq!(node.health.expect("judged").status, "Missing");
        assert_eq!(
            (node.resource_ref.namespace.as_str(), node.resource_ref.uid.as_str()),
            ("n", "")
        );
    }

    #[test]
    fn some_parents_are_told_by_names_and_annotations() {
        let check = |parent: (&str, &str), child: Value, expect: bool| {
            let parent = object(json!({"apiVersion": parent.0, "kind": parent.1,
                "metadata": {"name": "web", "namespace": "n"}}));
            let child = object(child);
            assert_eq!(is_inferred_parent(&parent, &child), expect, "{child:?}");
        };
        let token = |account: &str, kind: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {
                "name": "t", "namespace": "n",
                "annotations": {"kubernetes.io/service-account.name": account}}})
        };
        let account = ("v1", "ServiceAccount");
        check(account, token("web", "kubernetes.io/service-account-token"), true);
        check(account, token("other", "kubernetes.io/service-account-token"), false);
        check(account, token("web", "Opaque"), false);
        let endpoints = |namespace: &str, owners: Value| {
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {
                "name": "web", "namespace": namespace, "ownerReferences": owners}})
        };
        check(("v1", "Service"), endpoints("n", json!([])), true);
        check(("v1", "Service"), endpoints("n", json!([{"kind": "Other"}])), false);
        check(("v1", "Service"), endpoints("m", json!([])), false);
        let version = |group: &str| {
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": "v1", "namespace": "n", "annotations": {"olm.operatorGroup": group}}})
        };
        check(("operators.coreos.com/v1", "OperatorGroup"), version("web"), true);
        check(("operators.coreos.com/v1", "OperatorGroup"), version("other"), false);
    }

    #[test]
    fn a_stateful_set_knows_its_claims_by_their_names() {
        let set = object(json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db"},
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}}));
        assert!(claims_by_name(&set, "data-db-0") && claims_by_name(&set, "data-db-12"));
        for other in ["data-db-", "data-db-x", "data-other-0", "logs-db-0"] {
            assert!(!claims_by_name(&set, other), "{other}");
        }
    }
}
