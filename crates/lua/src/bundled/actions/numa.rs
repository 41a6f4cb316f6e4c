//! Numaflow's pipelines, and Numaplane's rollouts of them.

use object::Object;
use serde_json::{Value, json};

use super::{ActionError, no_such_action, offer, set};
use crate::ActionOffer;

const NUMAPLANE_STATE: &str = "numaplane.numaproj.io/upgrade-state";
const NUMAPLANE_DATA_LOSS: &str = "numaplane.numaproj.io/allow-data-loss";

fn upgrade_state(object: &Object) -> &str {
    object.label(NUMAPLANE_STATE).unwrap_or_default()
}

pub(super) fn force_promote(object: &Object) -> ActionOffer {
    let possible = upgrade_state(object) == "in-progress";
    offer("force-promote")
        .titled("Force Promote")
        .with_icon("fa-solid fa-fw fa-forward")
        .unless(possible)
}

/// What a rollout owns is paused through the rollout, until it is given up.
pub(super) fn numaflow_offers(object: &Object) -> Vec<ActionOffer> {
    let rollout = format!("{}Rollout", object.kind());
    let recyclable = upgrade_state(object).starts_with("recyclable");
    let owned = object
        .list(&["metadata", "ownerReferences"])
        .iter()
        .any(|owner| owner.get("kind").and_then(Value::as_str) == Some(rollout.as_str()))
        && !recyclable;
    let paused = object.text(&["spec", "lifecycle", "desiredPhase"]) == Some("Paused");
    // As Argo CD reads the list: the space behind a comma belongs to the name,
    // so that "slow, fast" does not allow "fast".
    let allowed = object.annotation("numaflow.numaproj.io/allowed-resume-strategies");
    let may = |strategy: &str| {
        paused && !owned && allowed.is_none_or(|list| list.split(',').any(|it| it == strategy))
    };
    let play = "fa-solid fa-fw fa-play";
    let mut offers = vec![
        offer("pause").with_icon("fa-solid fa-fw fa-pause").unless(!owned && !paused),
        offer("unpause-gradual").titled("Unpause (gradual)").with_icon(play).unless(may("slow")),
        offer("unpause-fast").titled("Unpause (fast)").with_icon(play).unless(may("fast")),
        force_promote(object),
    ];
    if object.kind() == "Pipeline" {
        let delete = offer("delete").titled("Delete").with_icon("fa-solid fa-fw fa-trash");
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
                set(object, &["spec", "replicas"], Value::Null);
            }
        }
        "force-promote" => object.set_label("numaplane.numaproj.io/force-promote", "true"),
        "delete" if is_pipeline => {
            object.set_annotation("numaplane.numaproj.io/marked-for-deletion", "true");
        }
        _ => return Err(no_such_action(object, action)),
    }
    Ok(())
}

/// Where a rollout keeps the phase of what it rolls out.
fn phase_in_rollout(rollout: &Object) -> [&'static str; 5] {
    let child = if rollout.kind() == "PipelineRollout" { "pipeline" } else { "monoVertex" };
    ["spec", child, "spec", "lifecycle", "desiredPhase"]
}

pub(super) fn numaplane_offers(rollout: &Object) -> Vec<ActionOffer> {
    let paused = rollout.text(&phase_in_rollout(rollout)) == Some("Paused");
    let play = "fa-solid fa-fw fa-play";
    let mut offers = vec![
        offer("pause").with_icon("fa-solid fa-fw fa-pause").unless(!paused),
        offer("unpause-gradual").titled("Unpause (gradual)").with_icon(play).unless(paused),
        offer("unpause-fast").titled("Unpause (fast)").with_icon(play).unless(paused),
    ];
    if rollout.kind() == "PipelineRollout" {
        let allowed = rollout.annotation(NUMAPLANE_DATA_LOSS) == Some("true");
        let pausing =
            rollout.text(&["status", "upgradeInProgress"]) == Some("PipelinePauseAndDrain");
        offers.push(
            offer("allow-data-loss")
                .titled("Allow (Possible) Data Loss")
                .unless(pausing && !allowed),
        );
        offers.push(offer("disallow-data-loss").titled("Disallow Data Loss").unless(allowed));
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
