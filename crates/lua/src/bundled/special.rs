//! Kinds whose health takes more than reading a field: counting, walking lists.

mod clusters;
mod data;
mod delivery;
mod gateways;
mod messages;
mod observability;
mod policies;
mod promoter;
mod serving;
mod spark;
mod workloads;

use object::Object;
use serde_json::Value;

use crate::{Health, Status};

/// Judges an object of the kind it was written for.
pub(super) type Judge = fn(&Object) -> Option<Health>;

/// The function that a block of the rules names.
pub(super) fn named(name: &str) -> Option<Judge> {
    Some(match name {
        "airlock" => gateways::airlock,
        "aws_control_plane" => clusters::aws_control_plane,
        "banzai_kafka" => messages::banzai_kafka,
        "cassandra" => data::cassandra,
        "ceph" => data::ceph,
        "cluster" => clusters::cluster,
        "cluster_external_secret" => data::cluster_external_secret,
        "cnpg_cluster" => data::cnpg_cluster,
        "configuration_policy" => policies::configuration_policy,
        "contour_extension" => gateways::contour_extension,
        "contour_proxy" => gateways::contour_proxy,
        "cron_job" => workloads::cron_job,
        "crossplane_provider" => clusters::crossplane_provider,
        "elasticsearch" => data::elasticsearch,
        "flagger_canary" => delivery::flagger_canary,
        "flux" => delivery::flux,
        "game_server" => workloads::game_server,
        "game_server_set" => workloads::game_server_set,
        "gateway_api" => gateways::gateway_api,
        "gloo" => gateways::gloo,
        "governance_policy" => policies::governance_policy,
        "grafana_content" => observability::grafana_content,
        "iam_role" => clusters::iam_role,
        "inference_service" => serving::inference_service,
        "karmada_binding" => clusters::karmada_binding,
        "keda" => messages::keda,
        "keycloak" => data::keycloak,
        "knative_operator" => serving::knative_operator,
        "knative_service" => serving::knative_service,
        "kruise_daemon_set" => workloads::kruise_daemon_set,
        "kruise_stateful_set" => workloads::kruise_stateful_set,
        "legacy_external_secret" => data::legacy_external_secret,
        "machine_pool" => clusters::machine_pool,
        "managed_certificate" => gateways::managed_certificate,
        "numaflow" => messages::numaflow,
        "numaplane" => messages::numaplane,
        "operator_subscription" => delivery::operator_subscription,
        "otel_collector" => observability::otel_collector,
        "promoter" => promoter::promoter,
        "rabbit_topology" => messages::rabbit_topology,
        "rollout" => delivery::rollout,
        "route" => gateways::route,
        "solr" => data::solr,
        "spark_application" => spark::spark_application,
        "spin_app" => serving::spin_app,
        "stack_install" => clusters::stack_install,
        "virtual_machine" => workloads::virtual_machine,
        "virtual_machine_instance" => workloads::virtual_machine_instance,
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

fn is_true(condition: &Value) -> bool {
    text(condition, "status") == "True"
}

fn is_false(condition: &Value) -> bool {
    text(condition, "status") == "False"
}

/// A field as text, or what is said where it is missing.
fn text_or<'o>(value: &'o Value, field: &str, missing: &'o str) -> &'o str {
    value.get(field).and_then(Value::as_str).unwrap_or(missing)
}

/// Is there a value here that says yes?
fn is_yes(value: Option<&Value>) -> bool {
    !matches!(value, None | Some(Value::Null | Value::Bool(false)))
}

/// Does the object have a status, even an empty one?
fn has_status(object: &Object) -> bool {
    object.at(&["status"]).is_some_and(|status| !status.is_null())
}

/// Does the object have a list of conditions, even an empty one?
fn has_conditions(object: &Object) -> bool {
    object.at(&["status", "conditions"]).is_some_and(Value::is_array)
}
