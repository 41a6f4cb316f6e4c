//! Rollouts of Argo Rollouts.

use object::Object;
use serde_json::{Value, json};

use super::{ActionError, no_such_action, offer, says_yes, set, unset};
use crate::ActionOffer;
use crate::sandbox::rfc3339;

pub(super) fn offers(rollout: &Object) -> Vec<ActionOffer> {
    let is = |path: &[&str]| says_yes(rollout, path);
    let paused = match rollout.at(&["status", "pauseConditions"]).and_then(Value::as_array) {
        Some(conditions) => !conditions.is_empty(),
        None => is(&["spec", "paused"]),
    };
    let aborted = is(&["status", "abort"]);
    let rolling = rollout.at(&["status", "currentPodHash"]) != rollout.at(&["status", "stableRS"]);
    let may_promote =
        rolling && (is_known_to_controller(rollout) || !is(&["spec", "strategy", "blueGreen"]));
    let steps = rollout.at(&["spec", "strategy", "canary", "steps"]).and_then(Value::as_array);
    let has_step = steps.is_some_and(|steps| {
        let step = rollout.integer(&["status", "currentStepIndex"]);
        step.and_then(|step| usize::try_from(step).ok()) != Some(steps.len())
    });
    vec![
        offer("restart").titled("Restart Pods"),
        offer("resume").unless(paused),
        offer("abort").unless(rolling && !aborted),
        offer("retry").unless(rolling && aborted),
        offer("pause").unless(rolling && !aborted && !is(&["spec", "paused"])),
        offer("promote-full").unless(may_promote),
        offer("skip-current-step").unless(has_step),
    ]
}

/// Generations are texts in the status of a rollout. One without, or from the
/// future, was written by a controller that cannot promote.
fn is_known_to_controller(rollout: &Object) -> bool {
    let observed = match rollout.at(&["status", "observedGeneration"]) {
        Some(Value::String(text)) => text.parse().ok(),
        Some(number) => number.as_i64(),
        None => None,
    };
    observed.is_some_and(|observed| Some(observed) <= rollout.integer(&["metadata", "generation"]))
}

pub(super) fn run(rollout: &mut Object, action: &str, now: i64) -> Result<(), ActionError> {
    let waits = !rollout.list(&["status", "pauseConditions"]).is_empty();
    let steps = rollout.at(&["spec", "strategy", "canary", "steps"]).and_then(Value::as_array);
    let steps = steps.and_then(|steps| i64::try_from(steps.len()).ok());
    match action {
        "restart" => set(rollout, &["spec", "restartAt"], json!(rfc3339(now))),
        "pause" => set(rollout, &["spec", "paused"], json!(true)),
        "abort" => set(rollout, &["status", "abort"], json!(true)),
        "retry" => unset(rollout, &["status", "abort"]),
        "promote-full" if rollout.at(&["status"]).is_none_or(Value::is_null) => {}
        "promote-full" if is_known_to_controller(rollout) => {
            set(rollout, &["status", "promoteFull"], json!(true));
        }
        "promote-full" => {
            unset(rollout, &["status", "abort"]);
            if let Some(steps) = steps {
                set(rollout, &["status", "currentStepIndex"], json!(steps));
            }
        }
        "resume" => {
            if waits {
                unset(rollout, &["status", "pauseConditions"]);
            }
            if says_yes(rollout, &["spec", "paused"]) {
                set(rollout, &["spec", "paused"], json!(false));
            }
        }
        "skip-current-step" => {
            let step = rollout.integer(&["status", "currentStepIndex"]).unwrap_or(0);
            if steps.is_some_and(|steps| step < steps) {
                if waits {
                    unset(rollout, &["status", "pauseConditions"]);
                }
                set(rollout, &["status", "currentStepIndex"], json!(step + 1));
            }
        }
        _ => return Err(no_such_action(rollout, action)),
    }
    Ok(())
}
