//! What a user may do to objects of known kinds, written in Rust.
//!
//! [`offers`] says which actions an object has in its present state, [`run`]
//! carries one out: on a copy of the object, which the caller then patches, or
//! as new objects to create. Each kind is one arm in each of the two.

mod creation;
mod numa;

use std::collections::BTreeMap;

use object::Object;
use serde_json::{Map, Value, json};

use crate::sandbox::rfc3339;
use crate::{ActionOffer, Impact, Operation, Parameter};

/// Why an action could not be carried out. The user who asked for it reads it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The kind has no such action.
    #[error("{kind} has no action {action:?}")]
    NoSuchAction {
        /// The kind of the object.
        kind: String,
        /// What was asked for.
        action: String,
    },
    /// A parameter should be a number.
    #[error("invalid number: {0}")]
    NotANumber(String),
    /// A parameter should be a number of things.
    #[error("invalid number: {0} (must be >= 0)")]
    NotACount(String),
    /// No instance can take over.
    #[error("Could not find a healthy instance matching the criteria: {0}")]
    NoSuchInstance(String),
}

/// The actions of an object; none for a kind that is not known here.
#[must_use]
pub fn offers(object: &Object) -> Vec<ActionOffer> {
    let kind = object.group_kind();
    let is = |path: &[&str]| object.at(path) == Some(&Value::Bool(true));
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "DaemonSet") => vec![offer("restart")],
        ("apps", "StatefulSet") => vec![offer("restart"), scale(object)],
        ("apps", "Deployment") => {
            let paused = is(&["spec", "paused"]);
            vec![
                offer("restart"),
                offer("pause").unless(!paused),
                offer("resume").unless(paused),
                scale(object),
            ]
        }
        ("argoproj.io", "Application") => vec![offer("toggle-auto-sync")],
        ("argoproj.io", "AnalysisRun") => {
            let over = object.text(&["status", "phase"]).is_some_and(is_final_phase);
            vec![offer("terminate").unless(!over && !is(&["spec", "terminate"]))]
        }
        ("argoproj.io", "CronWorkflow" | "WorkflowTemplate") => vec![offer("create-workflow")],
        ("argoproj.io", "Rollout") => rollout_offers(object),
        ("batch", "CronJob") => {
            let create = offer("create-job").titled("Create Job").with_icon("fa fa-fw fa-plus");
            vec![create, suspend_or_resume(is(&["spec", "suspend"]))]
        }
        ("batch", "Job") if job_is_over(object) => vec![],
        ("batch", "Job") => vec![
            suspend_or_resume(is(&["spec", "suspend"])),
            offer("terminate").with_icon("fa fa-fw fa-stop"),
        ],
        ("core.strimzi.io", "StrimziPodSet") => {
            let rolling = object.annotation(STRIMZI_ROLLING_UPDATE) == Some("true");
            vec![offer("rolling-update").unless(!rolling)]
        }
        ("external-secrets.io", "ExternalSecret") => vec![offer("refresh")],
        ("external-secrets.io", "PushSecret") => vec![offer("push")],
        ("notification.toolkit.fluxcd.io", "Alert" | "Provider") => {
            let suspended = is(&["spec", "suspend"]);
            vec![offer("suspend").unless(!suspended), offer("resume").unless(suspended)]
        }
        (group, _) if is_flux(group) => {
            let suspended = is(&["spec", "suspend"]);
            vec![
                offer("reconcile").unless(!suspended),
                offer("suspend").unless(!suspended),
                offer("resume").unless(suspended),
            ]
        }
        ("k8s.mariadb.com", "MariaDB") => {
            let suspended = is(&["spec", "suspend"]);
            vec![offer("suspend").unless(!suspended), offer("resume").unless(suspended)]
        }
        ("keda.sh", "ScaledJob" | "ScaledObject") => keda_offers(object),
        ("numaflow.numaproj.io", "InterStepBufferService") => vec![numa::force_promote(object)],
        ("numaflow.numaproj.io", "MonoVertex" | "Pipeline") => numa::numaflow_offers(object),
        ("numaplane.numaproj.io", "MonoVertexRollout" | "PipelineRollout") => {
            numa::numaplane_offers(object)
        }
        ("postgresql.cnpg.io", "Cluster") => {
            let stopped = object.annotation(CNPG_RECONCILIATION) == Some("disabled");
            vec![
                offer("restart"),
                offer("reload"),
                offer("promote").asking("instance", "any"),
                offer("suspend").unless(!stopped),
                offer("resume").unless(stopped),
            ]
        }
        ("promoter.argoproj.io", "PullRequest") => {
            let open = object.text(&["spec", "state"]) == Some("open");
            let merge = offer("merge").titled("Merge PR").with_icon("fa fa-fw fa-code-merge");
            vec![merge.unless(open)]
        }
        ("psmdb.percona.com", "PerconaServerMongoDB") => {
            let paused = is(&["spec", "pause"]);
            vec![
                offer("pause").with_icon(PAUSE_CIRCLE).unless(!paused),
                offer("unpause").with_icon(PLAY_CIRCLE).unless(paused),
            ]
        }
        _ => vec![],
    }
}

/// Carries out an action at a given time (seconds since 1970).
///
/// # Errors
/// When the kind has no such action, or a parameter does not fit.
pub fn run(
    object: &Object,
    action: &str,
    parameters: &BTreeMap<String, String>,
    now: i64,
) -> Result<Vec<Impact>, ActionError> {
    let kind = object.group_kind();
    let (group, kind) = (kind.group.as_str(), kind.kind.as_str());
    match (group, kind, action) {
        ("batch", "CronJob", "create-job") => {
            return Ok(vec![created(creation::job_of(object, now))]);
        }
        ("argoproj.io", "CronWorkflow" | "WorkflowTemplate", "create-workflow") => {
            return Ok(vec![created(creation::workflow_of(object, now))]);
        }
        _ => {}
    }
    let mut changed = object.clone();
    let fields = &mut changed;
    let time = || Value::String(rfc3339(now));
    match (group, kind, action) {
        ("apps", "DaemonSet" | "Deployment" | "StatefulSet", "restart") => {
            let path = ["spec", "template", "metadata", "annotations", RESTARTED_AT];
            set(fields, &path, time());
        }
        ("apps", "Deployment", "pause") => set(fields, &["spec", "paused"], json!(true)),
        ("apps", "Deployment", "resume") => set(fields, &["spec", "paused"], json!(false)),
        ("apps", "Deployment" | "StatefulSet", "scale") => {
            let wanted = parameters.get("replicas").map_or("", String::as_str);
            let replicas: i64 =
                wanted.parse().map_err(|_| ActionError::NotANumber(wanted.to_owned()))?;
            set(fields, &["spec", "replicas"], json!(replicas));
        }
        ("argoproj.io", "Application", "toggle-auto-sync") => toggle_auto_sync(fields),
        ("argoproj.io", "AnalysisRun", "terminate") => {
            set(fields, &["spec", "terminate"], json!(true));
        }
        ("argoproj.io", "Rollout", _) => run_on_rollout(fields, action, now)?,
        ("batch", "Job", "terminate") => terminate_job(fields, now),
        ("core.strimzi.io", "StrimziPodSet", "rolling-update") => {
            fields.set_annotation(STRIMZI_ROLLING_UPDATE, "true");
        }
        ("external-secrets.io", "ExternalSecret", "refresh")
        | ("external-secrets.io", "PushSecret", "push") => {
            fields.set_annotation("force-sync", &rfc3339(now));
        }
        ("keda.sh", "ScaledJob" | "ScaledObject", "pause") => {
            fields.set_annotation(KEDA_PAUSED, "true");
        }
        ("keda.sh", "ScaledObject", "paused-replicas") => {
            let wanted = parameters.get("replicas").map_or("", String::as_str);
            let count: u32 =
                wanted.parse().map_err(|_| ActionError::NotACount(wanted.to_owned()))?;
            fields.set_annotation(KEDA_PAUSED_REPLICAS, &count.to_string());
        }
        ("keda.sh", "ScaledJob" | "ScaledObject", "resume") => {
            remove_annotations(fields, &[KEDA_PAUSED, KEDA_PAUSED_REPLICAS]);
        }
        ("numaflow.numaproj.io", _, _) => numa::run_on_numaflow(fields, action)?,
        ("numaplane.numaproj.io", _, _) => numa::run_on_numaplane(fields, action)?,
        ("postgresql.cnpg.io", "Cluster", _) => run_on_cnpg(fields, action, parameters, now)?,
        ("promoter.argoproj.io", "PullRequest", "merge") => {
            set(fields, &["spec", "state"], json!("merged"));
        }
        ("psmdb.percona.com", "PerconaServerMongoDB", "pause") => {
            set(fields, &["spec", "pause"], json!(true));
        }
        ("psmdb.percona.com", "PerconaServerMongoDB", "unpause") => {
            set(fields, &["spec", "pause"], json!(false));
        }
        (group, _, "reconcile") if is_flux(group) => {
            let time = rfc3339(now);
            let time = time.trim_end_matches('Z');
            fields.set_annotation(FLUX_REQUESTED_AT, &format!("By Argo CD at: {time}"));
        }
        ("batch", "CronJob" | "Job", "suspend") | ("k8s.mariadb.com", "MariaDB", "suspend") => {
            set(fields, &["spec", "suspend"], json!(true));
        }
        ("batch", "CronJob" | "Job", "resume") | ("k8s.mariadb.com", "MariaDB", "resume") => {
            set(fields, &["spec", "suspend"], json!(false));
        }
        (group, _, "suspend") if is_flux(group) => set(fields, &["spec", "suspend"], json!(true)),
        (group, _, "resume") if is_flux(group) => set(fields, &["spec", "suspend"], json!(false)),
        _ => return Err(no_such_action(object, action)),
    }
    Ok(vec![Impact { operation: Operation::Patch, object: changed }])
}

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
const STRIMZI_ROLLING_UPDATE: &str = "strimzi.io/manual-rolling-update";
const KEDA_PAUSED: &str = "autoscaling.keda.sh/paused";
const KEDA_PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";
const CNPG_RECONCILIATION: &str = "cnpg.io/reconciliationLoop";
const FLUX_REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
const PAUSE_CIRCLE: &str = "fa fa-fw fa-pause-circle";
const PLAY_CIRCLE: &str = "fa fa-fw fa-play-circle";

fn offer(name: &str) -> ActionOffer {
    ActionOffer { name: name.to_owned(), ..ActionOffer::default() }
}

impl ActionOffer {
    fn with_icon(self, icon_class: &str) -> Self {
        Self { icon_class: icon_class.to_owned(), ..self }
    }

    fn titled(self, display_name: &str) -> Self {
        Self { display_name: display_name.to_owned(), ..self }
    }

    fn unless(self, possible: bool) -> Self {
        Self { disabled: !possible, ..self }
    }

    fn asking(mut self, name: &str, default: &str) -> Self {
        self.params.push(Parameter { name: name.to_owned(), default: default.to_owned() });
        self
    }
}

fn scale(object: &Object) -> ActionOffer {
    let replicas = object.integer(&["spec", "replicas"]).unwrap_or(1);
    offer("scale").asking("replicas", &replicas.to_string())
}

fn suspend_or_resume(suspended: bool) -> ActionOffer {
    if suspended {
        offer("resume").with_icon("fa fa-fw fa-play")
    } else {
        offer("suspend").with_icon("fa fa-fw fa-pause")
    }
}

fn is_flux(group: &str) -> bool {
    group.ends_with(".toolkit.fluxcd.io")
}

fn is_final_phase(phase: &str) -> bool {
    matches!(phase, "Successful" | "Failed" | "Error" | "Inconclusive")
}

fn no_such_action(object: &Object, action: &str) -> ActionError {
    ActionError::NoSuchAction { kind: object.kind().to_owned(), action: action.to_owned() }
}

fn created(object: Object) -> Impact {
    Impact { operation: Operation::Create, object }
}

/// Sets the value at `path`, making room where there is none.
fn set(object: &mut Object, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut fields = object.fields_mut();
    for field in parents {
        let slot = fields.entry(*field).or_insert(Value::Null);
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        let Value::Object(inner) = slot else { return };
        fields = inner;
    }
    fields.insert((*last).to_owned(), value);
}

/// Takes away the value at `path`, if it is there.
fn unset(object: &mut Object, path: &[&str]) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut fields = object.fields_mut();
    for field in parents {
        let Some(Value::Object(inner)) = fields.get_mut(*field) else { return };
        fields = inner;
    }
    fields.remove(*last);
}

fn remove_annotations(object: &mut Object, names: &[&str]) {
    for name in names {
        unset(object, &["metadata", "annotations", name]);
    }
    if object.at(&["metadata", "annotations"]) == Some(&json!({})) {
        unset(object, &["metadata", "annotations"]);
    }
}

fn job_is_over(object: &Object) -> bool {
    object.list(&["status", "conditions"]).iter().any(|condition| {
        let kind = condition.get("type").and_then(Value::as_str);
        matches!(kind, Some("Complete" | "Failed" | "FailureTarget"))
            && condition.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// The Job controller ends a job that has this condition.
fn terminate_job(job: &mut Object, now: i64) {
    if job_is_over(job) {
        return;
    }
    let mut conditions = job.list(&["status", "conditions"]).to_vec();
    conditions.push(json!({
        "type": "FailureTarget",
        "status": "True",
        "reason": "ManuallyTerminated",
        "message": "Job was terminated explicitly through Argo CD",
        "lastTransitionTime": rfc3339(now),
    }));
    set(job, &["status", "conditions"], Value::Array(conditions));
}

fn toggle_auto_sync(application: &mut Object) {
    let automated = application.at(&["spec", "syncPolicy", "automated"]);
    let on = automated.is_some_and(|automated| {
        !automated.is_null() && automated.get("enabled") != Some(&Value::Bool(false))
    });
    set(application, &["spec", "syncPolicy", "automated", "enabled"], json!(!on));
}

fn rollout_offers(rollout: &Object) -> Vec<ActionOffer> {
    let is = |path: &[&str]| rollout.at(path) == Some(&Value::Bool(true));
    let by_user = is(&["spec", "paused"]);
    let paused = by_user || !rollout.list(&["status", "pauseConditions"]).is_empty();
    let aborted = is(&["status", "abort"]);
    let current = rollout.text(&["status", "currentPodHash"]);
    let stable = rollout.text(&["status", "stableRS"]);
    let rolling = current.is_some() && current != stable;
    let steps = rollout.list(&["spec", "strategy", "canary", "steps"]).len();
    let step = rollout.integer(&["status", "currentStepIndex"]).unwrap_or(0);
    let has_step = usize::try_from(step).is_ok_and(|step| step < steps);
    vec![
        offer("restart").with_icon("fa fa-fw fa-redo"),
        offer("resume").with_icon(PLAY_CIRCLE).unless(paused),
        offer("abort").with_icon("fa fa-fw fa-times-circle").unless(rolling && !aborted),
        offer("retry").with_icon("fa fa-fw fa-undo").unless(aborted),
        offer("promote-full").with_icon("fa fa-fw fa-forward").unless(rolling && !aborted),
        offer("skip-current-step").with_icon("fa fa-fw fa-step-forward").unless(has_step),
        offer("pause").with_icon(PAUSE_CIRCLE).unless(!by_user),
    ]
}

fn run_on_rollout(rollout: &mut Object, action: &str, now: i64) -> Result<(), ActionError> {
    match action {
        "restart" => set(rollout, &["spec", "restartAt"], json!(rfc3339(now))),
        "pause" => set(rollout, &["spec", "paused"], json!(true)),
        "abort" => set(rollout, &["status", "abort"], json!(true)),
        "retry" => set(rollout, &["status", "abort"], json!(false)),
        "promote-full" => set(rollout, &["status", "promoteFull"], json!(true)),
        "resume" => {
            unset(rollout, &["status", "pauseConditions"]);
            if rollout.at(&["spec", "paused"]).is_some() {
                set(rollout, &["spec", "paused"], json!(false));
            }
        }
        "skip-current-step" => {
            let steps = rollout.list(&["spec", "strategy", "canary", "steps"]).len();
            let step = rollout.integer(&["status", "currentStepIndex"]).unwrap_or(0);
            let last = i64::try_from(steps).unwrap_or(i64::MAX);
            set(rollout, &["status", "currentStepIndex"], json!((step + 1).min(last)));
        }
        _ => return Err(no_such_action(rollout, action)),
    }
    Ok(())
}

fn keda_offers(object: &Object) -> Vec<ActionOffer> {
    let paused = object.annotation(KEDA_PAUSED) == Some("true");
    let at_replicas = object.annotation(KEDA_PAUSED_REPLICAS).is_some();
    let mut offers = vec![offer("pause").with_icon(PAUSE_CIRCLE).unless(!paused && !at_replicas)];
    if object.kind() == "ScaledObject" {
        let offer = offer("paused-replicas").with_icon(PAUSE_CIRCLE).asking("replicas", "0");
        offers.push(offer.unless(!paused));
    }
    offers.push(offer("resume").with_icon(PLAY_CIRCLE).unless(paused || at_replicas));
    offers
}

fn run_on_cnpg(
    cluster: &mut Object,
    action: &str,
    parameters: &BTreeMap<String, String>,
    now: i64,
) -> Result<(), ActionError> {
    match action {
        "restart" => cluster.set_annotation(RESTARTED_AT, &rfc3339(now)),
        "reload" => cluster.set_annotation("cnpg.io/reloadedAt", &rfc3339(now)),
        "suspend" => cluster.set_annotation(CNPG_RECONCILIATION, "disabled"),
        "resume" => remove_annotations(cluster, &[CNPG_RECONCILIATION]),
        "promote" => {
            let wanted = parameters.get("instance").map_or("any", String::as_str);
            let instance = replica_to_promote(cluster, wanted)
                .ok_or_else(|| ActionError::NoSuchInstance(wanted.to_owned()))?;
            let reason = format!("Switching over to {instance}");
            set(cluster, &["status", "targetPrimary"], json!(instance));
            set(cluster, &["status", "targetPrimaryTimestamp"], json!(rfc3339(now)));
            set(cluster, &["status", "phase"], json!("Switchover in progress"));
            set(cluster, &["status", "phaseReason"], json!(reason));
        }
        _ => return Err(no_such_action(cluster, action)),
    }
    Ok(())
}

/// A healthy instance that is not the primary: any, by name, or by number.
fn replica_to_promote(cluster: &Object, wanted: &str) -> Option<String> {
    let primary = cluster.text(&["status", "currentPrimary"]);
    let numbered = format!("{}-{wanted}", cluster.name());
    let healthy = cluster.list(&["status", "instancesStatus", "healthy"]);
    let mut replicas =
        healthy.iter().filter_map(Value::as_str).filter(|name| Some(*name) != primary);
    let found = replicas.find(|name| wanted == "any" || *name == wanted || *name == numbered);
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).expect("a test object")
    }

    #[track_caller]
    fn run_one(value: Value, action: &str) -> Impact {
        let impacts = run(&object(value), action, &BTreeMap::new(), 1_700_000_000);
        impacts.expect("an action").into_iter().next().expect("an impact")
    }

    #[test]
    fn a_rollout_is_resumed_from_both_kinds_of_pause() {
        let rollout = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
            "spec": {"paused": true}, "status": {"pauseConditions": [{"reason": "CanaryPauseStep"}]},
        });
        let resumed = run_one(rollout, "resume").object;
        assert_eq!(resumed.at(&["spec", "paused"]), Some(&json!(false)));
        assert_eq!(resumed.at(&["status", "pauseConditions"]), None);
    }

    #[test]
    fn auto_sync_is_toggled_without_losing_its_settings() {
        let application = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "spec": {"syncPolicy": {"automated": {"prune": true}}},
        });
        let off = run_one(application, "toggle-auto-sync").object;
        let automated = ["spec", "syncPolicy", "automated"];
        assert_eq!(off.at(&automated), Some(&json!({"prune": true, "enabled": false})));
        let on = run_one(off.into_value(), "toggle-auto-sync").object;
        assert_eq!(on.at(&automated), Some(&json!({"prune": true, "enabled": true})));
    }

    #[test]
    fn a_long_name_leaves_room_for_the_time() {
        let cron_job = json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "n".repeat(60)},
        });
        let impact = run_one(cron_job, "create-job");
        assert_eq!(impact.operation, Operation::Create);
        assert_eq!(impact.object.name().len(), 63);
    }

    #[test]
    fn an_action_that_the_kind_does_not_have_is_refused_by_name() {
        let pod = object(json!({"apiVersion": "v1", "kind": "Pod"}));
        let error = run(&pod, "explode", &BTreeMap::new(), 0).unwrap_err();
        assert_eq!(error.to_string(), "Pod has no action \"explode\"");
        assert_eq!(offers(&pod), []);
    }

    #[test]
    fn every_offer_that_is_possible_can_be_run() {
        let kinds = [
            ("apps/v1", "Deployment"),
            ("apps/v1", "StatefulSet"),
            ("apps/v1", "DaemonSet"),
            ("argoproj.io/v1alpha1", "Rollout"),
            ("argoproj.io/v1alpha1", "AnalysisRun"),
            ("argoproj.io/v1alpha1", "CronWorkflow"),
            ("argoproj.io/v1alpha1", "WorkflowTemplate"),
            ("argoproj.io/v1alpha1", "Application"),
            ("batch/v1", "CronJob"),
            ("batch/v1", "Job"),
            ("keda.sh/v1alpha1", "ScaledObject"),
            ("keda.sh/v1alpha1", "ScaledJob"),
            ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
            ("k8s.mariadb.com/v1", "MariaDB"),
            ("numaflow.numaproj.io/v1", "Pipeline"),
            ("numaplane.numaproj.io/v1", "PipelineRollout"),
            ("psmdb.percona.com/v1", "PerconaServerMongoDB"),
            ("core.strimzi.io/v1", "StrimziPodSet"),
            ("external-secrets.io/v1", "PushSecret"),
            ("promoter.argoproj.io/v1", "PullRequest"),
        ];
        let parameters = BTreeMap::from([("replicas".to_owned(), "2".to_owned())]);
        for (api_version, kind) in kinds {
            let object =
                object(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}}));
            let offers = offers(&object);
            assert!(!offers.is_empty(), "{kind}");
            for offer in offers.iter().filter(|offer| !offer.disabled) {
                run(&object, &offer.name, &parameters, 0).expect("an action that was offered");
            }
        }
    }
}
