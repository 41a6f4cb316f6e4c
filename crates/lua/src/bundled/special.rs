//! Kinds whose health takes more than reading a field: counting, walking lists.

mod clusters;
mod data;
mod gateways;
mod messages;
mod policies;
mod promoter;
mod workloads;

use object::Object;
use serde_json::Value;

use crate::{Health, Status};

/// Judges an object of the kind it was written for.
pub(super) type Judge = fn(&Object) -> Option<Health>;

/// The function that a block of the rules names.
pub(super) fn named(name: &str) -> Option<Judge> {
    Some(match name {
        "aws_control_plane" => clusters::aws_control_plane,
        "banzai_kafka" => messages::banzai_kafka,
        "cassandra" => data::cassandra,
        "ceph" => data::ceph,
        "cluster" => clusters::cluster,
        "cnpg_cluster" => data::cnpg_cluster,
        "configuration_policy" => policies::configuration_policy,
        "contour_proxy" => gateways::contour_proxy,
        "cron_job" => workloads::cron_job,
        "elasticsearch" => data::elasticsearch,
        "game_server" => workloads::game_server,
        "gateway_api" => gateways::gateway_api,
        "gateway_policy" => gateways::gateway_policy,
        "gloo" => gateways::gloo,
        "governance_policy" => policies::governance_policy,
        "iam_role" => clusters::iam_role,
        "inference_service" => workloads::inference_service,
        "karmada_binding" => clusters::karmada_binding,
        "knative_operator" => workloads::knative_operator,
        "legacy_external_secret" => data::legacy_external_secret,
        "machine_pool" => clusters::machine_pool,
        "managed_certificate" => gateways::managed_certificate,
        "numaflow" => messages::numaflow,
        "numaplane" => messages::numaplane,
        "promoter" => promoter::promoter,
        "rabbit_topology" => messages::rabbit_topology,
        "route" => gateways::route,
        "stack_install" => clusters::stack_install,
        _ => return None,
    })
}

fn healthy(message: impl Into<String>) -> Option<Health> {
    Some(Health::new(Status::Healthy, message))
}

fn progressing(message: impl Into<String>) -> Option<Health> {
    Some(Health::new(Status::Progressing, message))
}

fn degraded(message: impl Into<String>) -> Option<Health> {
    Some(Health::new(Status::Degraded, message))
}

fn suspended(message: impl Into<String>) -> Option<Health> {
    Some(Health::new(Status::Suspended, message))
}

fn unknown(message: impl Into<String>) -> Option<Health> {
    Some(Health::new(Status::Unknown, message))
}

/// The conditions in the status of an object.
fn conditions(object: &Object) -> &[Value] {
    object.list(&["status", "conditions"])
}

/// The entry of a list of conditions that has the type `kind`.
fn condition<'o>(conditions: &'o [Value], kind: &str) -> Option<&'o Value> {
    conditions.iter().find(|condition| text(condition, "type") == kind)
}

/// A field as text; empty when it is absent.
fn text<'o>(value: &'o Value, field: &str) -> &'o str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A field as a list; empty when it is absent.
fn list<'o>(value: &'o Value, field: &str) -> &'o [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Is a condition true? Some writers use a boolean.
fn is_true(condition: &Value) -> bool {
    matches!(condition.get("status"), Some(Value::Bool(true)))
        || text(condition, "status") == "True"
}

fn is_false(condition: &Value) -> bool {
    matches!(condition.get("status"), Some(Value::Bool(false)))
        || text(condition, "status") == "False"
}

/// Was this condition written for the present generation of the object? One
/// that does not say is taken to be.
fn is_current(condition: &Value, object: &Object) -> bool {
    let observed = condition.get("observedGeneration").and_then(Value::as_i64);
    let generation = object.integer(&["metadata", "generation"]);
    match (observed, generation) {
        (Some(observed), Some(generation)) => observed == generation,
        _ => true,
    }
}
