//! How well a live object does, judged from the object alone.
//!
//! [`health`] asks in this order: is it being deleted, do the caller's rules
//! (custom and bundled scripts) know its kind, do we. A kind that nobody knows
//! has no health, which is not the same as Healthy: it counts for nothing.
//! The messages are Argo CD's, because people search for them.

mod network;
mod pod;
mod scaling;
mod storage;
mod workload;

use object::Object;
use serde_json::Value;

use crate::marks;

/// How well an object or an application does, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthCode {
    /// It works.
    Healthy,
    /// It is paused on purpose.
    Suspended,
    /// It is on its way.
    Progressing,
    /// It is not there.
    Missing,
    /// It failed, or will not get there by itself.
    Degraded,
    /// Its health could not be established.
    Unknown,
}

impl HealthCode {
    /// As it is written in status fields.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Suspended => "Suspended",
            Self::Progressing => "Progressing",
            Self::Missing => "Missing",
            Self::Degraded => "Degraded",
            Self::Unknown => "Unknown",
        }
    }
}

/// A judgement with what the cluster says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The judgement.
    pub code: HealthCode,
    /// What the object says about itself; may be empty.
    pub message: String,
}

impl Health {
    fn new(code: HealthCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn healthy() -> Self {
        Self::new(HealthCode::Healthy, "")
    }

    fn progressing(message: impl Into<String>) -> Self {
        Self::new(HealthCode::Progressing, message)
    }

    fn degraded(message: impl Into<String>) -> Self {
        Self::new(HealthCode::Degraded, message)
    }
}

/// Rules for kinds beyond the built-in ones; they are asked first.
pub trait HealthRules {
    /// The health of `object`, or none if no rule covers its kind.
    fn judge(&self, object: &Object) -> Option<Health>;
}

/// Only the built-in rules.
pub struct BuiltinOnly;

impl HealthRules for BuiltinOnly {
    fn judge(&self, _: &Object) -> Option<Health> {
        None
    }
}

/// The health of a live object; none if its kind has no rule.
#[must_use]
pub fn health(object: &Object, rules: &dyn HealthRules) -> Option<Health> {
    if object.at(&["metadata", "deletionTimestamp"]).is_some() && !marks::has_hook_finalizer(object)
    {
        return Some(Health::progressing("Pending deletion"));
    }
    rules.judge(object).or_else(|| builtin(object))
}

fn builtin(object: &Object) -> Option<Health> {
    let kind = object.group_version_kind();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment") => Some(v1_only(object, workload::deployment)),
        ("apps", "ReplicaSet") => Some(v1_only(object, workload::replica_set)),
        ("apps", "StatefulSet") => Some(v1_only(object, workload::stateful_set)),
        ("apps", "DaemonSet") => Some(v1_only(object, workload::daemon_set)),
        ("", "Pod") => Some(v1_only(object, pod::pod)),
        ("batch", "Job") => Some(v1_only(object, pod::job)),
        ("", "Service") => Some(v1_only(object, network::service)),
        ("networking.k8s.io" | "extensions", "Ingress") => Some(network::ingress(object)),
        ("", "PersistentVolumeClaim") => Some(v1_only(object, storage::claim)),
        ("autoscaling", "HorizontalPodAutoscaler") => Some(scaling::autoscaler(object)),
        ("apiregistration.k8s.io", "APIService") => Some(network::api_service(object)),
        ("argoproj.io", "Workflow") => Some(pod::workflow(object)),
        _ => None,
    }
}

/// Older versions of these kinds keep their facts elsewhere; guessing would lie.
fn v1_only(object: &Object, judge: fn(&Object) -> Health) -> Health {
    let kind = object.group_version_kind();
    if kind.version == "v1" {
        judge(object)
    } else {
        Health::new(
            HealthCode::Unknown,
            format!("health of {kind} is not known; use version v1 of this kind"),
        )
    }
}

/// Is there proof that the object's controller has seen its latest change?
///
/// Health read before that is the health of the previous version. A kind whose
/// status carries no generation can prove nothing.
#[must_use]
pub fn has_observed_latest(object: &Object) -> bool {
    let generation = object.integer(&["metadata", "generation"]);
    let observed = object.integer(&["status", "observedGeneration"]);
    matches!((generation, observed), (Some(generation), Some(observed)) if observed >= generation)
}

fn condition<'o>(object: &'o Object, kind: &str) -> Option<&'o Value> {
    object.list(&["status", "conditions"]).iter().find(|condition| condition["type"] == kind)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A number of the status; absent means zero, as in the Go types.
fn count(object: &Object, field: &str) -> i64 {
    object.integer(&["status", field]).unwrap_or(0)
}
