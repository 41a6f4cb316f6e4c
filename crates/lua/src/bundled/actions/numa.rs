//! Numaflow's pipelines, and Numaplane's rollouts of them.

use object::Object;
use serde_json::{Value, json};

use super::{ActionError, no_such_action, offer, set, unset};
use crate::ActionOffer;

const NUMAPLANE_STATE: &str = "numaplane.numaproj.io/upgrade-state";
const FORCE_PROMOTE: &str = "numaplane.numaproj.io/force-promote";
const STRATEGIES: &str = "numaflow.numaproj.io/allowed-resume-strategies";
const NUMAPLANE_DATA_LOSS: &str = "numaplane.numaproj.io/allow-data-loss";

fn upgrade_state(object: &Object) -> &str {
    object.label(NUMAPLANE_STATE).unwrap_or_default()
}

pub(super) fn force_promote(object: &Object) -> ActionOffer {
    let is_asked = object.label(FORCE_PROMOTE) == Some("true");
    let upgrades = matches!(upgrade_state(object), "in-progress" | "trial");
    offer("force-promote").with_icon("fa-solid fa-fw fa-forward").unless(upgrades && !is_asked)
}

/// How something that is paused may go on: gradually unless it says otherwise.
fn ways_to_resume(allowed: Option<&str>) -> (bool, bool) {
    match allowed {
        Some("fast") => (false, true),
        Some("slow, fast") => (true, true),
        _ => (true, false),
    }
}

fn pausing(paused: bool, is_ours: bool, allowed: Option<&str>) -> Vec<ActionOffer> {
    let (gradual, fast) = ways_to_resume(allowed);
    let may = |way: bool| is_ours && paused && way;
    let play = "fa-solid fa-fw fa-play";
    vec![
        offer("pause").with_icon("fa-solid fa-fw fa-pause").unless(is_ours && !paused),
        offer("unpause-gradual").titled("Unpause (gradual)").with_icon(play).unless(may(gradual)),
        offer("unpause-fast").titled("Unpause (fast)").with_icon(play).unless(may(fast)),
    ]
}

/// What a rollout owns is paused through the rollout, until it is given up.
pub(super) fn numaflow_offers(object: &Object) -> Vec<ActionOffer> {
    let is_pipeline = object.kind() == "Pipeline";
    let rollout = format!("{}Rollout", object.kind());
    let is_owned = object
        .list(&["metadata", "ownerReferences"])
        .iter()
        .any(|owner| owner.get("kind").and_then(Value::as_str) == Some(rollout.as_str()));
    let is_ours = !is_owned || is_pipeline && upgrade_state(object) == "recyclable-expired";
    let paused = object.text(&["spec", "lifecycle", "desiredPhase"]) == Some("Paused");
    let mut offers =
        pausing(paused, is_ours, object.text(&["spec", "metadata", "annotations", STRATEGIES]));
    offers.push(force_promote(object).titled("Force Promote"));
    if is_pipeline {
        let delete = offer("delete").titled("Delete").with_icon("fa-solid fa-fw fa-trash");
        let recyclable = matches!(upgrade_state(object), "recyclable" | "recyclable-expired");
        offers.push(delete.unless(recyclable));
    }
    offers
}

pub(super) fn run_on_numaflow(object: &mut Object, action: &str) -> Result<(), ActionError> {
    let phase = ["spec", "lifecycle", "desiredPhase"];
    let is_pipeline = object.kind() == "Pipeline";
    match action {
        "pause" => set(object, &phase, json!("Paused")),
        "unpause-gradual" | "unpause-fast" => {
            set(object, &phase, json!("Running"));
            let fast = action == "unpause-fast";
            if is_pipeline {
                let strategy = if fast { "fast" } else { "slow" };
                object.set_annotation("numaflow.numaproj.io/resume-strategy", strategy);
            } else if !fast {
                // Without a number of its own it scales up step by step.
                unset(object, &["spec", "replicas"]);
            }
        }
        "force-promote" => object.set_label(FORCE_PROMOTE, "true"),
        "delete" if is_pipeline => {
            object.set_annotation("numaplane.numaproj.io/marked-for-deletion", "true");
        }
        _ => return Err(no_such_action(object, action)),
    }
    Ok(())
}

/// Where a rollout keeps what it rolls out.
fn child(rollout: &Object) -> &'static str {
    if rollout.kind() == "PipelineRollout" { "pipeline" } else { "monoVertex" }
}

fn phase_in_rollout(rollout: &Object) -> [&'static str; 5] {
    ["spec", child(rollout), "spec", "lifecycle", "desiredPhase"]
}

pub(super) fn numaplane_offers(rollout: &Object) -> Vec<ActionOffer> {
    let paused = rollout.text(&phase_in_rollout(rollout)) == Some("Paused");
    let allowed = rollout.text(&["spec", child(rollout), "metadata", "annotations", STRATEGIES]);
    let mut offers = pausing(paused, true, allowed);
    if rollout.kind() == "PipelineRollout" {
        let allowed = rollout.annotation(NUMAPLANE_DATA_LOSS) == Some("true");
        let drains =
            rollout.text(&["status", "upgradeInProgress"]) == Some("PipelinePauseAndDrain");
        offers.push(
            offer("allow-data-loss")
                .titled("Allow (Possible) Data Loss")
                .with_icon("fa-solid fa-fw fa-unlock")
                .unless(drains),
        );
        offers.push(
            offer("disallow-data-loss")
                .titled("Disallow Data Loss")
                .with_icon("fa-solid fa-fw fa-lock")
                .unless(allowed),
        );
    }
    offers
}

pub(super) fn run_on_numaplane(rollout: &mut Object, action: &str) -> Result<(), ActionError> {
    let phase = phase_in_rollout(rollout);
    let is_pipeline = rollout.kind() == "PipelineRollout";
    match action {
        "pause" => set(rollout, &phase, json!("Paused")),
        "unpause-gradual" | "unpause-fast" => {
            set(rollout, &phase, json!("Running"));
            let fast = json!(action == "unpause-fast");
            set(rollout, &["spec", "strategy", "pauseResume", "fastResume"], fast);
        }
        "allow-data-loss" if is_pipeline => rollout.set_annotation(NUMAPLANE_DATA_LOSS, "true"),
        "disallow-data-loss" if is_pipeline => rollout.set_annotation(NUMAPLANE_DATA_LOSS, "false"),
        _ => return Err(no_such_action(rollout, action)),
    }
    Ok(())
}
