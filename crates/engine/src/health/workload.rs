//! Deployment, ReplicaSet, StatefulSet, DaemonSet: a rollout is over when the
//! controller has observed the spec and all replicas are new and available.

use object::Object;

use super::{Health, HealthCode, condition, count, text};

pub(super) fn deployment(object: &Object) -> Health {
    if object.at(&["spec", "paused"]).is_some_and(|paused| paused == true) {
        return Health::new(HealthCode::Suspended, "Deployment is paused");
    }
    if !is_observed(object) {
        return Health::progressing(
            "Waiting for rollout to finish: observed deployment generation less than desired generation",
        );
    }
    let (updated, available, total) = (
        count(object, "updatedReplicas"),
        count(object, "availableReplicas"),
        count(object, "replicas"),
    );
    if condition(object, "Progressing").is_some_and(|it| it["reason"] == "ProgressDeadlineExceeded")
    {
        return Health::degraded(format!(
            "Deployment {:?} exceeded its progress deadline",
            object.name()
        ));
    }
    match desired(object) {
        Some(desired) if updated < desired => Health::progressing(format!(
            "Waiting for rollout to finish: {updated} out of {desired} new replicas have been updated..."
        )),
        _ if total > updated => Health::progressing(format!(
            "Waiting for rollout to finish: {} old replicas are pending termination...",
            total - updated
        )),
        _ if available < updated => Health::progressing(format!(
            "Waiting for rollout to finish: {available} of {updated} updated replicas are available..."
        )),
        _ => Health::healthy(),
    }
}

pub(super) fn replica_set(object: &Object) -> Health {
    if !is_observed(object) {
        return Health::progressing(
            "Waiting for rollout to finish: observed replica set generation less than desired generation",
        );
    }
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|it| it["status"] == "True") {
        return Health::degraded(text(failure, "message"));
    }
    let available = count(object, "availableReplicas");
    match desired(object) {
        Some(desired) if available < desired => Health::progressing(format!(
            "Waiting for rollout to finish: {available} out of {desired} new replicas are available..."
        )),
        _ => Health::healthy(),
    }
}

pub(super) fn stateful_set(object: &Object) -> Health {
    if count(object, "observedGeneration") == 0 || !is_observed(object) {
        return Health::progressing("Waiting for statefulset spec update to be observed...");
    }
    let (ready, updated) = (count(object, "readyReplicas"), count(object, "updatedReplicas"));
    let desired = desired(object);
    if let Some(desired) = desired.filter(|desired| ready < *desired) {
        return Health::progressing(format!("Waiting for {} pods to be ready...", desired - ready));
    }
    match object.text(&["spec", "updateStrategy", "type"]) {
        Some("RollingUpdate")
            if object.at(&["spec", "updateStrategy", "rollingUpdate"]).is_some() =>
        {
            let partition =
                object.integer(&["spec", "updateStrategy", "rollingUpdate", "partition"]);
            match desired.zip(partition).map(|(desired, partition)| desired - partition) {
                Some(new) if updated < new => Health::progressing(format!(
                    "Waiting for partitioned roll out to finish: {updated} out of {new} new pods have been updated..."
                )),
                _ => Health::new(
                    HealthCode::Healthy,
                    format!(
                        "partitioned roll out complete: {updated} new pods have been updated..."
                    ),
                ),
            }
        }
        Some("OnDelete") => {
            Health::new(HealthCode::Healthy, format!("statefulset has {ready} ready pods"))
        }
        _ => revision_rollout(object, updated),
    }
}

fn revision_rollout(object: &Object, updated: i64) -> Health {
    let revision = |field| object.text(&["status", field]).unwrap_or_default();
    let (current, update) = (revision("currentRevision"), revision("updateRevision"));
    if current == update {
        Health::new(
            HealthCode::Healthy,
            format!(
                "statefulset rolling update complete {} pods at revision {current}...",
                count(object, "currentReplicas")
            ),
        )
    } else {
        Health::progressing(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {update}..."
        ))
    }
}

pub(super) fn daemon_set(object: &Object) -> Health {
    if !is_observed(object) {
        return Health::progressing(
            "Waiting for rollout to finish: observed daemon set generation less than desired generation",
        );
    }
    let (desired, updated, available) = (
        count(object, "desiredNumberScheduled"),
        count(object, "updatedNumberScheduled"),
        count(object, "numberAvailable"),
    );
    let name = object.name();
    if object.text(&["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return Health::new(
            HealthCode::Healthy,
            format!("daemon set {updated} out of {desired} new pods have been updated"),
        );
    }
    if updated < desired {
        return Health::progressing(format!(
            "Waiting for daemon set {name:?} rollout to finish: {updated} out of {desired} new pods have been updated..."
        ));
    }
    if available < desired {
        return Health::progressing(format!(
            "Waiting for daemon set {name:?} rollout to finish: {available} of {desired} updated pods are available..."
        ));
    }
    Health::healthy()
}

fn is_observed(object: &Object) -> bool {
    object.integer(&["metadata", "generation"]).unwrap_or(0) <= count(object, "observedGeneration")
}

fn desired(object: &Object) -> Option<i64> {
    object.integer(&["spec", "replicas"])
}
