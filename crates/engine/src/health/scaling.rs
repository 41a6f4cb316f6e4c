//! HorizontalPodAutoscaler: its conditions say whether it can do its work.
//!
//! Version 1 keeps the conditions in an annotation, version 2 in the status.

use object::Object;
use serde_json::Value;

use super::{Health, HealthCode, text};

const V1_CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Reasons that will not go away by waiting, by the condition they stand in.
const FAILURES: [(&str, &str); 8] = [
    ("AbleToScale", "FailedGetScale"),
    ("AbleToScale", "FailedUpdateScale"),
    ("ScalingActive", "FailedGetResourceMetric"),
    ("ScalingActive", "FailedGetObjectMetric"),
    ("ScalingActive", "FailedGetPodsMetric"),
    ("ScalingActive", "FailedGetExternalMetric"),
    ("ScalingActive", "FailedComputeMetricsReplicas"),
    ("ScalingActive", "InvalidSelector"),
];

pub(super) fn autoscaler(object: &Object) -> Health {
    match object.group_version_kind().version.as_str() {
        "v2" => judge(object.list(&["status", "conditions"])),
        "v1" => match object.annotation(V1_CONDITIONS).map(serde_json::from_str::<Vec<Value>>) {
            None => judge(&[]),
            Some(Ok(conditions)) => judge(&conditions),
            Some(Err(error)) => Health::new(
                HealthCode::Unknown,
                format!("the annotation {V1_CONDITIONS} is no list of conditions: {error}"),
            ),
        },
        version => Health::new(
            HealthCode::Unknown,
            format!("health of autoscaling/{version} is not known; use autoscaling/v2"),
        ),
    }
}

fn judge(conditions: &[Value]) -> Health {
    let has_failed = |it: &&Value| FAILURES.contains(&(text(it, "type"), text(it, "reason")));
    let works = |it: &&Value| {
        matches!(text(it, "type"), "AbleToScale" | "ScalingLimited") && text(it, "status") == "True"
    };
    if let Some(failure) = conditions.iter().find(has_failed) {
        Health::degraded(text(failure, "message"))
    } else if let Some(condition) = conditions.iter().find(works) {
        Health::new(HealthCode::Healthy, text(condition, "message"))
    } else {
        Health::progressing("Waiting to Autoscale")
    }
}
