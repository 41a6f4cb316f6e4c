//! Applications of the Spark operator.

use object::Object;
use serde_json::Value;

use super::{degraded, healthy, is_yes, progressing};
use crate::{Health, Status};

pub(super) fn spark_application(object: &Object) -> Option<Health> {
    let error = || object.text(&["status", "applicationState", "errorMessage"]).unwrap_or_default();
    match object.text(&["status", "applicationState", "state"]) {
        Some("") => progressing("SparkApplication was added, enqueuing it for submission"),
        Some("RUNNING") if has_its_executors(object) => healthy("SparkApplication is Running"),
        Some("SUBMITTED") => progressing("SparkApplication was submitted successfully"),
        Some("COMPLETED") => healthy("SparkApplication was Completed"),
        Some("FAILED" | "SUBMISSION_FAILED" | "FAILING") => degraded(error()),
        Some("PENDING_RERUN") => progressing("SparkApplication is Pending Rerun"),
        Some("INVALIDATING") => {
            Some(Health::new(Status::Missing, "SparkApplication is in InvalidatingState"))
        }
        // The gap is in the text that users have seen so far.
        Some("SUCCEEDING") => progressing(format!(
            "The driver pod has been completed successfully. The executor pods terminate and are \
             cleaned up.\n{:32}Under this circumstances, we assume the executor pod are completed.",
            ""
        )),
        Some("UNKNOWN") => progressing(
            "SparkApplication is in UnknownState because either driver pod or one or all executor \
             pods in unknown state  ",
        ),
        _ => progressing("Waiting for Executor pods"),
    }
}

/// Do as many executors run as were asked for?
fn has_its_executors(object: &Object) -> bool {
    let executors = object.at(&["status", "executorState"]).and_then(Value::as_object);
    let Some(executors) = executors else { return false };
    let running = executors.values().filter(|it| it.as_str() == Some("RUNNING")).count();
    let running = i64::try_from(running).unwrap_or(i64::MAX);
    let instances = object.integer(&["spec", "executor", "instances"]);
    if instances == Some(running) {
        return true;
    }
    match executor_range(object) {
        Some((least, most)) => least <= running && running <= most,
        None => {
            let allocation = object.at(&["spec", "dynamicAllocation"]);
            allocation.is_none_or(Value::is_null) && instances.is_none() && running >= 1
        }
    }
}

/// Between how many and how many, where the application scales itself.
fn executor_range(object: &Object) -> Option<(i64, i64)> {
    let allocation = |field: &str| object.at(&["spec", "dynamicAllocation", field]);
    if is_yes(allocation("enabled")) {
        let count = |field: &str| allocation(field).and_then(Value::as_i64);
        return Some((
            count("minExecutors").unwrap_or(0),
            count("maxExecutors").unwrap_or(i64::MAX),
        ));
    }
    let set = |name: &str| object.at(&["spec", "sparkConf", name]).and_then(Value::as_str);
    ["spark.streaming.dynamicAllocation", "spark.dynamicAllocation"]
        .into_iter()
        .find(|prefix| set(&format!("{prefix}.enabled")) == Some("true"))
        .map(|prefix| {
            let count =
                |name: &str| set(&format!("{prefix}.{name}")).and_then(|it| it.parse().ok());
            (count("minExecutors").unwrap_or(0), count("maxExecutors").unwrap_or(i64::MAX))
        })
}
