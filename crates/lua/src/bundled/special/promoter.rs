//! The kinds of the GitOps Promoter: one life cycle, different words.
//!
//! All of them report a condition `Ready` for a generation. Those that gate or
//! move commits are healthy only when the commits are where they should be.

use object::Object;
use serde_json::Value;

use super::super::rules::is_outdated;
use super::{
    conditions, degraded, has_status, healthy, is_false, list, progressing, text, text_or,
};
use crate::Health;

/// How a kind is spoken of.
struct Words {
    /// In the middle of a sentence.
    name: &'static str,
    /// At the start of one.
    title: &'static str,
    life: Life,
}

/// In the words of its authors, what a kind goes through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// It is reconciled.
    Reconciled,
    /// It is validated; then it is called by its kind where it waits.
    Validated,
    /// It holds commits back.
    Gate,
}

fn words(kind: &str) -> Words {
    let of = |life, title, name| Words { name, title, life };
    match kind {
        "ArgoCDCommitStatus" => {
            of(Life::Reconciled, "Argo CD commit status", "Argo CD commit status")
        }
        "ChangeTransferPolicy" => {
            of(Life::Reconciled, "Change transfer policy", "change transfer policy")
        }
        "CommitStatus" => of(Life::Reconciled, "Commit status", "commit status"),
        "PromotionStrategy" => of(Life::Reconciled, "Promotion strategy", "promotion strategy"),
        "PullRequest" => of(Life::Reconciled, "Pull request", "pull request"),
        "ClusterScmProvider" => of(Life::Validated, "Cluster SCM provider", "cluster SCM provider"),
        "GitRepository" => of(Life::Validated, "Git repository", "Git repository"),
        "ScmProvider" => of(Life::Validated, "SCM provider", "SCM provider"),
        "GitCommitStatus" => of(Life::Gate, "Git commit validation", "git commit validation"),
        "TimedCommitStatus" => of(Life::Gate, "Timed commit gate", "timed commit gate"),
        _ => of(Life::Gate, "Web request commit validation", "web request commit validation"),
    }
}

impl Words {
    fn is_not_ready_yet(&self, kind: &str) -> String {
        match self.life {
            Life::Reconciled => format!("{} is not ready yet", self.title),
            Life::Validated | Life::Gate => format!("{kind} Ready condition is missing"),
        }
    }

    fn waits(&self, kind: &str) -> String {
        let name = if self.life == Life::Reconciled { self.name } else { kind };
        format!("Waiting for {name} spec update to be observed")
    }

    fn failed(&self, reason: &str, message: &str) -> String {
        let title = self.title;
        match (self.life, reason) {
            (Life::Reconciled, "ReconciliationError") => {
                format!("{title} reconciliation failed: {message}")
            }
            (Life::Reconciled, _) => format!("{title} reconciliation failed ({reason}): {message}"),
            (Life::Validated, "ReconciliationError") => {
                format!("{title} validation failed: {message}")
            }
            (Life::Gate, "ReconciliationError") => format!("{title} failed: {message}"),
            (Life::Validated | Life::Gate, _) => format!("{title} not ready ({reason}): {message}"),
        }
    }

    /// What is said where readiness is not known; some kinds do not mind.
    fn unknown(&self, kind: &str, reason: &str, message: &str) -> Option<String> {
        let what = match (self.life, kind) {
            (Life::Reconciled, _) => return None,
            (Life::Validated, _) => "readiness unknown",
            (Life::Gate, "WebRequestCommitStatus") => "unknown",
            (Life::Gate, _) => "status unknown",
        };
        Some(format!("{} {what} ({reason}): {message}", self.title))
    }
}

pub(super) fn promoter(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let words = words(kind);
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return progressing(deleting(object, &words));
    }
    if !has_status(object) {
        return progressing(format!("Initializing {}", words.name));
    }
    let is_readiness = |it: &&Value| match text(it, "type") {
        "Ready" => true,
        "Reconciled" => kind == "PullRequest",
        _ => false,
    };
    let mut seen = false;
    for ready in conditions(object).iter().filter(is_readiness) {
        seen = true;
        if is_outdated(ready, object) {
            return progressing(words.waits(kind));
        }
        let reason = text_or(ready, "reason", "Unknown");
        if is_false(ready) {
            return degraded(words.failed(reason, text_or(ready, "message", "Unknown error")));
        }
        if text(ready, "status") == "Unknown" {
            let message = words.unknown(kind, reason, text_or(ready, "message", "Unknown"));
            if let Some(message) = message {
                return progressing(message);
            }
        }
    }
    if seen { ready_kind(object, &words) } else { progressing(words.is_not_ready_yet(kind)) }
}

/// While an object waits for its finalizers, its message says what each does.
fn deleting(object: &Object, words: &Words) -> String {
    /// Kind, finalizer, and what is told about it.
    const RISKS: [(&str, &str, &str); 6] = [
        (
            "ClusterScmProvider",
            "clusterscmprovider.promoter.argoproj.io/finalizer",
            "Waiting until no GitRepository still references this cluster-wide SCM provider. Risk if removed manually: GitRepository objects can reference a provider that no longer exists.",
        ),
        (
            "ScmProvider",
            "scmprovider.promoter.argoproj.io/finalizer",
            "Waiting until no GitRepository in this namespace still references this provider. Risk if removed manually: GitRepository objects can reference a provider that no longer exists.",
        ),
        (
            "GitRepository",
            "gitrepository.promoter.argoproj.io/finalizer",
            "Waiting until no non-deleting PullRequests still reference this repository. Risk if removed manually: repository metadata may be removed while promotions still depend on it.",
        ),
        (
            "ChangeTransferPolicy",
            "changetransferpolicy.promoter.argoproj.io/finalizer",
            "Waiting to clear related PullRequest finalizers and finish cleanup before this policy is removed. Risk if removed manually: The 'changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer' finalizer may not be cleaned up from PullRequests owned by this ChangeTransferPolicy.",
        ),
        (
            "PullRequest",
            "pullrequest.promoter.argoproj.io/finalizer",
            "Waiting for SCM closure or reconciliation of the pull request. Risk if removed manually: the real PR can stay open after the CR is gone.",
        ),
        (
            "PullRequest",
            "changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer",
            "Waiting for the ChangeTransferPolicy to observe PR identity and state. Risk if removed manually: promotion status or history can be wrong or racy.",
        ),
    ];
    let kind = object.kind();
    let title = if words.life == Life::Reconciled { words.title } else { kind };
    let has_finalizers = RISKS.iter().any(|(of, _, _)| *of == kind);
    let mut told = format!("{title} is being deleted{}", if has_finalizers { "." } else { "" });
    for finalizer in object.list(&["metadata", "finalizers"]).iter().filter_map(Value::as_str) {
        let risk = RISKS.iter().find(|(of, name, _)| *of == kind && *name == finalizer);
        if let Some((_, name, risk)) = risk {
            told.push_str(&format!(" {name}: {risk}"));
        }
    }
    told
}

fn ready_kind(object: &Object, words: &Words) -> Option<Health> {
    let status = |field: &str| object.text(&["status", field]);
    match object.kind() {
        "ArgoCDCommitStatus" => match object.list(&["status", "applicationsSelected"]).len() {
            0 => degraded("Argo CD commit status has no applications configured"),
            count => {
                healthy(format!("{} is healthy and is tracking {count} applications", words.title))
            }
        },
        "CommitStatus" => match (status("sha"), status("phase")) {
            (Some(sha), Some(phase)) => {
                healthy(format!("Commit status for commit {sha} reports {phase}"))
            }
            _ => healthy("Commit status is healthy"),
        },
        "PullRequest" => match (status("state"), object.at(&["status", "id"])) {
            (Some(state), Some(id)) if !id.is_null() => {
                let id = super::super::rules::text_of(id);
                healthy(format!("Pull request is {state} as PR {id}"))
            }
            _ => healthy("Pull request is healthy"),
        },
        "GitCommitStatus" => gate(object, words, words.title, "passed"),
        "TimedCommitStatus" => gate(object, words, words.title, "satisfied"),
        "WebRequestCommitStatus" => gate(object, words, "Web request validation", "passed"),
        "ChangeTransferPolicy" => change_transfer(object),
        "PromotionStrategy" => promotion_strategy(object),
        _ => healthy(format!("{} is ready", words.title)),
    }
}

/// A gate holds commits back, branch by branch; a branch without a word is held back.
fn gate(object: &Object, words: &Words, name: &str, passed: &str) -> Option<Health> {
    let environments = object.list(&["status", "environments"]);
    if environments.is_empty() {
        return healthy(format!("{} reconciled", words.title));
    }
    let branches = |wanted: fn(&str) -> bool| -> Vec<&str> {
        let matching = environments.iter().filter(|it| wanted(text_or(it, "phase", "pending")));
        matching.map(|it| text_or(it, "branch", "?")).collect()
    };
    let failed = branches(|phase| phase == "failure");
    if !failed.is_empty() {
        return degraded(format!("{name} failed for branch(es): {}", failed.join(", ")));
    }
    let pending = branches(|phase| !matches!(phase, "failure" | "success"));
    if !pending.is_empty() {
        return progressing(format!("{name} pending for branch(es): {}", pending.join(", ")));
    }
    healthy(format!("{name} {passed} for {} environment(s)", environments.len()))
}

/// The commits of one environment: where it is and where it is going.
struct Environment<'o> {
    active: &'o str,
    proposed: &'o str,
    active_statuses: &'o [Value],
    proposed_statuses: &'o [Value],
    /// The last commit the hydrator has looked at, changed or not.
    hydrated: &'o str,
}

impl<'o> Environment<'o> {
    fn read(value: &'o Value) -> Self {
        let side = |name: &str| value.get(name).unwrap_or(&Value::Null);
        let sha = |side: &'o Value| side.get("dry").map(|dry| text(dry, "sha")).unwrap_or_default();
        let (active, proposed) = (side("active"), side("proposed"));
        let note = proposed.get("note").map(|note| text(note, "drySha")).unwrap_or_default();
        Self {
            active: sha(active),
            proposed: sha(proposed),
            active_statuses: list(active, "commitStatuses"),
            proposed_statuses: list(proposed, "commitStatuses"),
            hydrated: if note.is_empty() { sha(proposed) } else { note },
        }
    }

    fn missing(&self, proposed: &str) -> Option<&'static str> {
        match (self.active, proposed) {
            ("", _) => Some("active"),
            (_, "") => Some("proposed"),
            _ => None,
        }
    }

    /// How many statuses of the active commit are not what they should be.
    fn unsuccessful(&self) -> (usize, usize) {
        let count = |phase: &str| {
            self.active_statuses.iter().filter(|it| text(it, "phase") == phase).count()
        };
        (count("failure"), count("pending"))
    }
}

fn short(sha: &str) -> &str {
    sha.get(..7).unwrap_or(sha)
}

/// `1 pending, 0 successful, 1 failed. Pending commit statuses: a. `
fn tally(statuses: &[Value]) -> String {
    let of_phase = |phase: &str| -> Vec<&str> {
        let matching = statuses.iter().filter(|it| text(it, "phase") == phase);
        matching.map(|it| text(it, "key")).collect()
    };
    let (pending, failed) = (of_phase("pending"), of_phase("failure"));
    let mut message = format!(
        "{} pending, {} successful, {} failed. ",
        pending.len(),
        of_phase("success").len(),
        failed.len()
    );
    for (word, keys) in [("Pending", pending), ("Failed", failed)] {
        if !keys.is_empty() {
            message.push_str(&format!("{word} commit statuses: {}. ", keys.join(", ")));
        }
    }
    message
}

fn change_transfer(object: &Object) -> Option<Health> {
    let environment = Environment::read(object.at(&["status"])?);
    if let Some(missing) = environment.missing(environment.proposed) {
        return progressing(format!("The {missing} commit DRY SHA is missing or empty."));
    }
    let Environment { active, proposed, .. } = environment;
    if active != proposed {
        let tally = tally(environment.proposed_statuses);
        return progressing(format!(
            "Promotion in progress from '{}' to '{}': {tally}",
            short(active),
            short(proposed)
        ));
    }
    if environment.unsuccessful() != (0, 0) {
        let tally = tally(environment.active_statuses);
        return healthy(format!(
            "Environment is up-to-date, but there are non-successful active commit statuses: {tally}"
        ));
    }
    healthy(format!("Environment is up-to-date on commit {}.", short(active)))
}

fn promotion_strategy(object: &Object) -> Option<Health> {
    let values = object.list(&["status", "environments"]);
    let environments: Vec<Environment<'_>> = values.iter().map(Environment::read).collect();
    let Some(first) = environments.first() else {
        return degraded("Promotion strategy has no environments configured");
    };
    for (environment, value) in environments.iter().zip(values) {
        if let Some(missing) = environment.missing(environment.hydrated) {
            let branch = text(value, "branch");
            return progressing(format!(
                "The {missing} commit DRY SHA is missing or empty in environment '{branch}'."
            ));
        }
    }
    if environments.iter().any(|it| it.hydrated != first.hydrated) {
        return progressing(
            "Not all environments have the same proposed commit SHA. This likely means the \
             hydrator has not run for all environments yet.",
        );
    }
    let hydrated = format!("Hydrator has processed dry commit '{}'.", short(first.hydrated));
    let moving = environments.iter().zip(values).find(|(it, _)| it.active != it.proposed);
    if let Some((environment, value)) = moving {
        return progressing(format!(
            "Promotion in progress for environment '{}' from '{}' to '{}': {}{hydrated} ",
            text(value, "branch"),
            short(environment.active),
            short(environment.proposed),
            tally(environment.proposed_statuses)
        ));
    }
    let unsuccessful: Vec<String> = environments
        .iter()
        .zip(values)
        .filter(|(environment, _)| environment.unsuccessful() != (0, 0))
        .map(|(environment, value)| {
            let (failed, pending) = environment.unsuccessful();
            format!("{} ({failed} failed, {pending} pending)", text(value, "branch"))
        })
        .collect();
    if !unsuccessful.is_empty() {
        return healthy(format!(
            "Environments are up-to-date, but some environments have non-successful commit \
             statuses: {}.",
            unsuccessful.join(", ")
        ));
    }
    healthy(format!(
        "All environments are up-to-date on commit '{}'. {hydrated}",
        short(first.active)
    ))
}
