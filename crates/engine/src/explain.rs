//! The decision record of an Application: why it says what it says, who changed
//! what and since when, what happens by itself, and what a sync would do.
//!
//! [`explain`] puts together what [`crate::compare`], [`crate::decide`] and
//! [`crate::plan`] have decided; it decides nothing. The record is a value: it is
//! shown as text ([`text`]) or as JSON, and says the same either way.

mod text;
mod who;

use std::collections::{BTreeMap, BTreeSet};

use api::{Application, Time};
use jiff::Timestamp;
use object::{Object, ResourceKey};
use serde::Serialize;
use serde_json::Value;

use crate::compare::{Compared, Comparison, Verdict};
use crate::decide::{Decision, Hold};
use crate::diff::hide::hide_secrets;
use crate::diff::{Comparing, Difference, sides};
use crate::finding::Finding;
use crate::pair::Pair;
use crate::plan::{Action, Plan};
use crate::writing::Way;

pub use who::Change;

/// A record shows so many objects and differences of each; how many there are
/// is told.
const MOST_OBJECTS: usize = 200;
const MOST_DIFFERENCES: usize = 50;

/// What is known about an Application, gathered before anything is explained.
#[derive(Clone, Copy)]
pub struct Evidence<'e> {
    /// The Application with its last status.
    pub app: &'e Application,
    /// The commits it was compared with.
    pub revisions: &'e [String],
    /// Both sides, judged; none if they could not be established.
    pub comparison: Option<&'e Comparison>,
    /// How they were compared.
    pub comparing: &'e Comparing,
    /// What stood in the way, or should be known.
    pub findings: &'e [Finding],
    /// Objects that differ, read whole: with everybody's field sets.
    pub whole: &'e BTreeMap<ResourceKey, Object>,
    /// Annotations of Secrets that nobody is shown.
    pub masked_annotations: &'e BTreeSet<String>,
    /// What auto-sync does about it.
    pub decision: &'e Decision,
    /// Why no sync may begin by itself at this hour, if so.
    pub window: Option<&'e str>,
    /// What a sync would do, if there can be one.
    pub plan: Option<&'e Plan>,
    /// The time.
    pub now: Timestamp,
}

/// See the module's comment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `namespace/name`.
    pub application: String,
    /// When this was established.
    pub at: Timestamp,
    /// `Synced`, `OutOfSync`, or `Unknown`: as established now.
    pub sync_status: &'static str,
    /// As the Application says at the moment.
    pub health: String,
    /// Since when the health is that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_since: Option<Timestamp>,
    /// The commits.
    pub revisions: Vec<String>,
    /// The last operation, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_operation: Option<LastOperation>,
    /// What stood in the way of an answer, or should be known.
    pub findings: Vec<Told>,
    /// How many objects there are.
    pub objects: usize,
    /// How many are not as git wants them.
    pub out_of_sync: usize,
    /// Those that are not, each with its reason; not more than 200.
    pub reasons: Vec<Reason>,
    /// What happens by itself.
    pub auto_sync: AutoSync,
    /// What a sync would do, task by task, without those that change nothing.
    pub sync: Vec<Effect>,
    /// How many objects a sync would leave as they are.
    pub unchanged: usize,
}

/// The last operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastOperation {
    /// Its phase.
    pub phase: String,
    /// What it came to.
    pub message: String,
    /// Who asked for it; empty for the controller itself.
    pub asked_by: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// A finding, fit to be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// The type of the condition it becomes.
    #[serde(rename = "type")]
    pub concern: &'static str,
    /// What is the matter.
    pub message: String,
}

/// Why one object is not as git wants it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The object.
    pub object: String,
    /// What is the matter with it.
    #[serde(flatten)]
    pub why: Why,
    /// Who wrote it last, whatever they wrote; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change: Option<Change>,
}

/// What is the matter with an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum Why {
    /// Git wants it and the cluster lacks it.
    Missing,
    /// The cluster has it and git no longer does.
    #[serde(rename_all = "camelCase")]
    Extra {
        /// When it was created.
        #[serde(skip_serializing_if = "Option::is_none")]
        created_at: Option<String>,
        /// It says that it does not count.
        ignored: bool,
    },
    /// Both have it, and they differ.
    #[serde(rename_all = "camelCase")]
    Differs {
        /// In so many places.
        count: usize,
        /// Where; not more than 50.
        differences: Vec<Where>,
    },
    /// What git wants of it is not known.
    Unknown,
}

/// One place where git and cluster differ, and whose doing it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Where {
    /// JSON pointer to the field.
    pub path: String,
    /// What git wants there; absent when it wants nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub want: Option<Value>,
    /// What is live there; absent when nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
    /// Who set the live value, the latest first. Nobody is known who removed one.
    pub set_by: Vec<Change>,
}

/// What auto-sync does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoSync {
    /// `holds`, `syncs` or `heals`.
    pub does: &'static str,
    /// Why, as a full answer.
    pub because: String,
    /// When it is asked again, where only time stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
}

/// What a sync would do to one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Its phase.
    pub phase: &'static str,
    /// Its wave.
    pub wave: i32,
    /// The object.
    pub object: String,
    /// What.
    pub action: String,
}

/// Explains.
#[must_use]
pub fn explain(evidence: Evidence<'_>) -> Explanation {
    let Evidence { app, comparison, findings, .. } = evidence;
    let items = comparison.iter().flat_map(|it| &it.items);
    let off = || items.clone().filter(|(_, it)| !is_fine(it));
    let tasks = evidence
        .plan
        .iter()
        .flat_map(|it| &it.waves)
        .flat_map(|wave| wave.tasks.iter().map(move |task| (wave, task)));
    let is_idle = |action: &Action| matches!(action, Action::Keep(_));
    Explanation {
        application: format!("{}/{}", app.metadata.namespace, app.metadata.name),
        at: evidence.now,
        sync_status: verdict(comparison, findings),
        health: app.status.health.status.clone(),
        health_since: app.status.health.last_transition_time.and_then(Time::timestamp),
        revisions: evidence.revisions.to_vec(),
        last_operation: last_operation(app),
        findings: findings.iter().map(told).collect(),
        objects: items.clone().count(),
        out_of_sync: items.clone().filter(|(_, it)| it.is_out_of_sync()).count(),
        reasons: off().take(MOST_OBJECTS).map(|(key, it)| reason(&evidence, key, it)).collect(),
        auto_sync: auto_sync(evidence.decision, evidence.window, evidence.revisions),
        unchanged: tasks.clone().filter(|(_, task)| is_idle(&task.action)).count(),
        sync: tasks
            .filter(|(_, task)| !is_idle(&task.action))
            .take(MOST_OBJECTS)
            .map(|(wave, task)| Effect {
                phase: wave.phase.name(),
                wave: wave.number,
                object: task.id.key.to_string(),
                action: action(&task.action),
            })
            .collect(),
    }
}

fn is_fine(compared: &Compared) -> bool {
    matches!(compared.verdict, Verdict::Synced | Verdict::Tolerated | Verdict::NotJudged)
}

fn verdict(comparison: Option<&Comparison>, findings: &[Finding]) -> &'static str {
    let known = comparison.filter(|_| !findings.iter().any(|it| it.concern.hides_the_truth()));
    match known {
        None => "Unknown",
        Some(it) if it.items.values().any(Compared::counts_as_out_of_sync) => "OutOfSync",
        Some(_) => "Synced",
    }
}

fn last_operation(app: &Application) -> Option<LastOperation> {
    let state = app.status.operation_state.as_ref()?;
    Some(LastOperation {
        phase: state.phase.clone(),
        message: state.message.clone(),
        asked_by: state.operation.initiated_by.username.clone(),
        finished_at: state.finished_at.and_then(Time::timestamp),
    })
}

fn told(finding: &Finding) -> Told {
    Told { concern: finding.concern.condition_type(), message: finding.message.clone() }
}

fn reason(evidence: &Evidence<'_>, key: &ResourceKey, compared: &Compared) -> Reason {
    let whole = evidence.whole.get(key);
    let why = match (&compared.verdict, &compared.pair) {
        (Verdict::Unknown, _) => Why::Unknown,
        (_, Pair::Missing { .. }) => Why::Missing,
        (_, Pair::Extra { live }) => Why::Extra {
            created_at: live.text(&["metadata", "creationTimestamp"]).map(str::to_owned),
            ignored: !compared.counts_as_out_of_sync(),
        },
        (_, Pair::Both { want, live }) => {
            let differences = shown_differences(evidence, compared, want, live);
            let place = |it: &Difference| Where {
                set_by: whole.map(|whole| who::set(whole, &it.path)).unwrap_or_default(),
                path: it.path.clone(),
                want: it.want.clone(),
                live: it.live.clone(),
            };
            let shown = differences.iter().take(MOST_DIFFERENCES).map(place).collect();
            Why::Differs { count: differences.len(), differences: shown }
        }
    };
    Reason { object: key.to_string(), why, last_change: whole.and_then(who::wrote_last) }
}

/// Of a Secret what differs is told by signs.
fn shown_differences(
    evidence: &Evidence<'_>,
    compared: &Compared,
    want: &Object,
    live: &Object,
) -> Vec<Difference> {
    let Verdict::OutOfSync(differences) = &compared.verdict else { return Vec::new() };
    if !want.group_kind().is("", "Secret") {
        return differences.clone();
    }
    let (mut want, mut live) = (want.clone(), live.clone());
    hide_secrets(Some(&mut want), Some(&mut live), evidence.masked_annotations);
    sides(&want, &live, evidence.comparing).differences()
}

fn auto_sync(decision: &Decision, window: Option<&str>, revisions: &[String]) -> AutoSync {
    let says = |does, because: String| AutoSync { does, because, again_at: None };
    let commit = revisions.join(", ");
    let wanted = match decision {
        Decision::Hold(hold) => {
            let again_at = match hold {
                Hold::HealsLater(at) => Some(*at),
                _ => None,
            };
            return AutoSync { again_at, ..says("holds", held_back_by(hold)) };
        }
        Decision::Sync { prune } => {
            let pruning = if *prune { "with" } else { "without" };
            says("syncs", format!("{commit} was not tried yet; it syncs {pruning} pruning"))
        }
        Decision::Heal { drifted, attempt, .. } => {
            let count = drifted.len();
            says("heals", format!("{count} objects drifted from {commit}; attempt {attempt}"))
        }
    };
    match window {
        Some(why) => says("holds", format!("no sync may begin now: {why}")),
        None => wanted,
    }
}

fn held_back_by(hold: &Hold) -> String {
    match hold {
        Hold::AutoSyncOff => "the Application is synced by hand (no spec.syncPolicy.automated)",
        Hold::Deleting => "the Application is being deleted",
        Hold::OperationInProgress => "an operation is under way",
        Hold::AlreadySynced => "everything is as git wants it",
        Hold::NotVerified => "what git wants or what is live is not known for sure",
        Hold::AlreadyFailed { message } => {
            return format!("this commit was tried and failed: {message}");
        }
        Hold::SelfHealOff => {
            "this commit was synced before and objects drifted since; selfHeal is off"
        }
        Hold::HealsLater(_) => "it was healed a moment ago and waits before it tries again",
        Hold::PruneOff => "only deletions are left to do, and automated.prune is off",
        Hold::WouldWipeOut => {
            "git holds nothing any more and a sync would delete everything (allowEmpty is off)"
        }
    }
    .to_owned()
}

fn action(action: &Action) -> String {
    match action {
        Action::Apply(_, writing) => {
            let way = match &writing.way {
                Way::ClientSide => "apply",
                Way::ServerSide { .. } => "apply on the server",
                Way::Replace => "replace",
                Way::Update => "update",
            };
            format!("{way}{}", if writing.force { ", by deleting it first if need be" } else { "" })
        }
        Action::Keep(_) => "leave as it is".into(),
        Action::Hook(..) => "run as a hook".into(),
        Action::Prune(..) => "delete".into(),
        Action::AwaitConfirmation(_) => "delete once a user has confirmed it".into(),
        Action::Leave(_, reason) => format!("leave: {}", reason.message()),
        Action::Refuse(_, why) => format!("refuse the sync: {why}"),
    }
}

#[cfg(test)]
mod tests;
