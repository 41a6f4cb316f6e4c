//! What a user may do to objects of known kinds, written in Rust.
//!
//! [`offers`] says which actions an object has in its present state, [`run`]
//! carries one out: on a copy of the object, which the caller then patches, or
//! as new objects to create. Each kind is one arm in each of the two.

mod cnpg;
mod creation;
mod numa;
mod rollout;

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
    /// Nobody said how many.
    #[error("replicas parameter is required")]
    NoReplicas,
    /// No instance can take over.
    #[error("Could not find a healthy instance matching the criteria: {0}")]
    NoSuchInstance(String),
}

/// The actions of an object; none for a kind that is not known here.
#[must_use]
pub fn offers(object: &Object) -> Vec<ActionOffer> {
    let kind = object.group_kind();
    let is = |path: &[&str]| says_yes(object, path);
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "DaemonSet") => vec![restart()],
        ("apps", "StatefulSet") => vec![restart(), scale()],
        ("apps", "Deployment") => {
            let paused = is(&["spec", "paused"]);
            vec![
                restart(),
                offer("pause").with_icon(PAUSE_CIRCLE).unless(!paused),
                offer("resume").with_icon(PLAY_CIRCLE).unless(paused),
                scale(),
            ]
        }
        ("argoproj.io", "Application") => {
            let word = if auto_syncs(object) { "Disable Auto-Sync" } else { "Enable Auto-Sync" };
            vec![offer("toggle-auto-sync").titled(word)]
        }
        ("argoproj.io", "AnalysisRun") => {
            let over = object.text(&["status", "phase"]).is_some_and(is_final_phase);
            vec![offer("terminate").unless(!over && !is(&["spec", "terminate"]))]
        }
        ("argoproj.io", "CronWorkflow" | "WorkflowTemplate") => {
            vec![offer("create-workflow").titled("Create Workflow").with_icon(PLUS)]
        }
        ("argoproj.io", "Rollout") => rollout::offers(object),
        ("batch", "CronJob") => {
            let create = offer("create-job").titled("Create Job").with_icon(PLUS);
            vec![create, suspend_or_resume(is(&["spec", "suspend"]))]
        }
        ("batch", "Job") if job_is_over(object) => vec![],
        ("batch", "Job") => {
            let mut offers = vec![suspend_or_resume(is(&["spec", "suspend"]))];
            if object.at(&["status"]).is_some_and(|it| !it.is_null()) {
                offers.push(offer("terminate").with_icon("fa fa-fw fa-stop"));
            }
            offers
        }
        ("core.strimzi.io", "StrimziPodSet") => {
            let rolling = object.annotation(STRIMZI_ROLLING_UPDATE) == Some("true");
            vec![offer("rolling-update").unless(!rolling)]
        }
        ("external-secrets.io", "ExternalSecret") => {
            let follows = object.text(&["spec", "refreshPolicy"]) == Some("OnChange");
            vec![offer("refresh").unless(follows || !never_refreshes(object))]
        }
        ("external-secrets.io", "PushSecret") => {
            vec![offer("push").unless(!never_refreshes(object))]
        }
        ("notification.toolkit.fluxcd.io", "Alert" | "Provider") => {
            let suspended = is(&["spec", "suspend"]);
            vec![offer("suspend").unless(!suspended), offer("resume").unless(suspended)]
        }
        (group, kind) if is_flux(group, kind) => {
            let suspended = is(&["spec", "suspend"]);
            vec![
                offer("reconcile").unless(!suspended),
                offer("suspend").unless(!suspended),
                offer("resume").unless(suspended),
            ]
        }
        ("k8s.mariadb.com", "MariaDB") => {
            let suspended = is(&["spec", "suspend"]);
            let word = if suspended { "Resume" } else { "Suspend" };
            vec![suspend_or_resume(suspended).titled(word)]
        }
        ("keda.sh", "ScaledJob" | "ScaledObject") => keda_offers(object),
        ("numaflow.numaproj.io", "InterStepBufferService") => vec![numa::force_promote(object)],
        ("numaflow.numaproj.io", "MonoVertex" | "Pipeline") => numa::numaflow_offers(object),
        ("numaplane.numaproj.io", "MonoVertexRollout" | "PipelineRollout") => {
            numa::numaplane_offers(object)
        }
        ("postgresql.cnpg.io", "Cluster") => cnpg::offers(object),
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
        ("apps", "Deployment", "resume") => unset(fields, &["spec", "paused"]),
        ("apps", "Deployment" | "StatefulSet", "scale") => {
            let wanted = parameters.get("replicas").map_or("", String::as_str);
            let replicas =
                as_number(wanted).ok_or_else(|| ActionError::NotANumber(wanted.to_owned()))?;
            set(fields, &["spec", "replicas"], replicas);
        }
        ("argoproj.io", "Application", "toggle-auto-sync") => toggle_auto_sync(fields),
        ("argoproj.io", "AnalysisRun", "terminate") => {
            set(fields, &["spec", "terminate"], json!(true));
        }
        ("argoproj.io", "Rollout", _) => rollout::run(fields, action, now)?,
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
            let wanted = parameters.get("replicas").ok_or(ActionError::NoReplicas)?;
            let count = as_number(wanted).filter(|it| it.as_f64().is_some_and(|it| it >= 0.0));
            let count = count.ok_or_else(|| ActionError::NotACount(wanted.to_owned()))?;
            fields.set_annotation(KEDA_PAUSED_REPLICAS, &count.to_string());
        }
        ("keda.sh", "ScaledJob", "resume") => {
            unset(fields, &["metadata", "annotations", KEDA_PAUSED]);
        }
        ("keda.sh", "ScaledObject", "resume") => {
            unset(fields, &["metadata", "annotations", KEDA_PAUSED]);
            unset(fields, &["metadata", "annotations", KEDA_PAUSED_REPLICAS]);
        }
        ("numaflow.numaproj.io", _, _) => numa::run_on_numaflow(fields, action)?,
        ("numaplane.numaproj.io", _, _) => numa::run_on_numaplane(fields, action)?,
        ("postgresql.cnpg.io", "Cluster", _) => cnpg::run(fields, action, parameters, now)?,
        ("promoter.argoproj.io", "PullRequest", "merge") => {
            set(fields, &["spec", "state"], json!("merged"));
        }
        ("psmdb.percona.com", "PerconaServerMongoDB", "pause") => {
            set(fields, &["spec", "pause"], json!(true));
        }
        ("psmdb.percona.com", "PerconaServerMongoDB", "unpause") => {
            set(fields, &["spec", "pause"], json!(false));
        }
        (group, kind, "reconcile")
            if is_flux(group, kind) && !matches!(kind, "Alert" | "Provider") =>
        {
            let time = rfc3339(now);
            let time = time.trim_end_matches('Z');
            fields.set_annotation(FLUX_REQUESTED_AT, &format!("By Argo CD at: {time}"));
        }
        (group, kind, "suspend") if can_be_suspended(group, kind) => {
            set(fields, &["spec", "suspend"], json!(true));
        }
        (group, kind, "resume") if can_be_suspended(group, kind) => {
            if says_yes(fields, &["spec", "suspend"]) {
                set(fields, &["spec", "suspend"], json!(false));
            }
        }
        _ => return Err(no_such_action(object, action)),
    }
    Ok(vec![Impact { operation: Operation::Patch, object: changed }])
}

const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
const STRIMZI_ROLLING_UPDATE: &str = "strimzi.io/manual-rolling-update";
const KEDA_PAUSED: &str = "autoscaling.keda.sh/paused";
const KEDA_PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";
const FLUX_REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
const PAUSE_CIRCLE: &str = "fa fa-fw fa-pause-circle";
const PLAY_CIRCLE: &str = "fa fa-fw fa-play-circle";
const PLUS: &str = "fa fa-fw fa-plus";

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

fn restart() -> ActionOffer {
    offer("restart").with_icon("fa fa-fw fa-redo")
}

fn scale() -> ActionOffer {
    offer("scale").with_icon("fa fa-fw fa-plus-circle").asking("replicas", "")
}

fn suspend_or_resume(suspended: bool) -> ActionOffer {
    if suspended {
        offer("resume").with_icon("fa fa-fw fa-play")
    } else {
        offer("suspend").with_icon("fa fa-fw fa-pause")
    }
}

fn is_flux(group: &str, kind: &str) -> bool {
    matches!(
        (group.strip_suffix(".toolkit.fluxcd.io"), kind),
        (Some("helm"), "HelmRelease")
            | (Some("image"), "ImageRepository" | "ImageUpdateAutomation")
            | (Some("kustomize"), "Kustomization")
            | (Some("notification"), "Alert" | "Provider" | "Receiver")
            | (
                Some("source"),
                "Bucket" | "GitRepository" | "HelmChart" | "HelmRepository" | "OCIRepository"
            )
    )
}

fn can_be_suspended(group: &str, kind: &str) -> bool {
    is_flux(group, kind)
        || matches!((group, kind), ("batch", "CronJob" | "Job") | ("k8s.mariadb.com", "MariaDB"))
}

/// Is there something at `path` that is not a no?
fn says_yes(object: &Object, path: &[&str]) -> bool {
    !matches!(object.at(path), None | Some(Value::Null | Value::Bool(false)))
}

/// A number as users write it for a script: whole or not, with an exponent, in hexadecimal.
fn as_number(text: &str) -> Option<Value> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        return i64::from_str_radix(digits, 16).ok().map(Value::from);
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let number = text.parse::<f64>().ok().filter(|it| it.is_finite())?;
    #[expect(clippy::cast_possible_truncation, reason = "only where nothing is lost by it")]
    let whole = number as i64;
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    Some(if is_whole { Value::from(whole) } else { Value::from(number) })
}

/// Does a secret say that it is read once and never again?
fn never_refreshes(secret: &Object) -> bool {
    let interval = match secret.at(&["spec", "refreshInterval"]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return false,
    };
    let unit = interval.strip_prefix('0');
    unit.is_some_and(|unit| matches!(unit, "" | "ns" | "us" | "µs" | "ms" | "s" | "m" | "h"))
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

fn job_is_over(object: &Object) -> bool {
    object.list(&["status", "conditions"]).iter().any(|condition| {
        let kind = condition.get("type").and_then(Value::as_str);
        matches!(kind, Some("Complete" | "Failed" | "FailureTarget" | "SuccessCriteriaMet"))
            && condition.get("status").and_then(Value::as_str) == Some("True")
    })
}

/// The Job controller ends a job that has this condition.
fn terminate_job(job: &mut Object, now: i64) {
    if job_is_over(job) || job.at(&["status"]).is_none_or(Value::is_null) {
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

fn auto_syncs(application: &Object) -> bool {
    let automated = application.at(&["spec", "syncPolicy", "automated"]);
    automated.is_some_and(|automated| {
        !automated.is_null() && automated.get("enabled") != Some(&Value::Bool(false))
    })
}

fn toggle_auto_sync(application: &mut Object) {
    let on = auto_syncs(application);
    set(application, &["spec", "syncPolicy", "automated", "enabled"], json!(!on));
}

fn keda_offers(object: &Object) -> Vec<ActionOffer> {
    let paused = object.annotation(KEDA_PAUSED) == Some("true");
    let is_job = object.kind() == "ScaledJob";
    let at_replicas = object.annotation(KEDA_PAUSED_REPLICAS).filter(|_| !is_job);
    let rests = paused || at_replicas.is_some();
    let mut offers = vec![offer("pause").with_icon(PAUSE_CIRCLE).unless(!rests)];
    if !is_job {
        let offer = offer("paused-replicas").with_icon(PAUSE_CIRCLE);
        offers.push(offer.asking("replicas", "0").unless(!paused));
    }
    offers.push(offer("resume").with_icon(PLAY_CIRCLE).unless(rests));
    offers
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
