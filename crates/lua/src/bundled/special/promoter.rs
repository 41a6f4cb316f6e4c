//! The kinds of the GitOps Promoter: one life cycle, different words.
//!
//! All of them report a condition `Ready` for a generation. Those that gate or
//! move commits are healthy only when the commits are where they should be.

use object::Object;
use serde_json::Value;

use super::{
    condition, conditions, degraded, healthy, is_current, is_false, list, progressing, text,
};
use crate::Health;

/// How a kind is spoken of.
struct Words {
    /// In the middle of a sentence.
    name: &'static str,
    /// In the words of its authors, some kinds are reconciled, others validated.
    failed: &'static str,
    /// Is it called by its kind, rather than by its name, when it waits?
    by_kind: bool,
}

impl Words {
    /// The name at the start of a sentence.
    fn title(&self) -> String {
        let (first, rest) = self.name.split_at_checked(1).unwrap_or((self.name, ""));
        format!("{}{rest}", first.to_uppercase())
    }

    fn not_ready(&self, kind: &str) -> String {
        if self.by_kind {
            format!("{kind} Ready condition is missing")
        } else {
            format!("{} is not ready yet", self.title())
        }
    }

    fn waiting<'w>(&'w self, kind: &'w str) -> &'w str {
        if self.by_kind { kind } else { self.name }
    }
}

fn words(kind: &str) -> Words {
    let reconciled = |name| Words { name, failed: "reconciliation failed", by_kind: false };
    let validated = |name| Words { name, failed: "validation failed", by_kind: true };
    match kind {
        "ArgoCDCommitStatus" => reconciled("Argo CD commit status"),
        "ChangeTransferPolicy" => reconciled("change transfer policy"),
        "CommitStatus" => reconciled("commit status"),
        "PromotionStrategy" => reconciled("promotion strategy"),
        "PullRequest" => reconciled("pull request"),
        "ClusterScmProvider" => validated("cluster SCM provider"),
        "GitCommitStatus" => validated("Git commit status"),
        "GitRepository" => validated("Git repository"),
        "ScmProvider" => validated("SCM provider"),
        "TimedCommitStatus" => Words { failed: "failed", ..validated("timed commit gate") },
        _ => Words { failed: "failed", ..validated("web request commit validation") },
    }
}

pub(super) fn promoter(object: &Object) -> Option<Health> {
    let kind = object.kind();
    let words = words(kind);
    if object.at(&["metadata", "deletionTimestamp"]).is_some() {
        return progressing(deleting(object, &words));
    }
    if object.at(&["status"]).is_none_or(Value::is_null) {
        return progressing(format!("Initializing {}", words.name));
    }
    let Some(ready) = condition(conditions(object), "Ready") else {
        return progressing(words.not_ready(kind));
    };
    if !is_current(ready, object) {
        return progressing(format!(
            "Waiting for {} spec update to be observed",
            words.waiting(kind)
        ));
    }
    let (reason, message) = (text(ready, "reason"), text(ready, "message"));
    let title = words.title();
    if is_false(ready) {
        return degraded(match (reason, kind) {
            ("ReconciliationError", _) => format!("{title} {}: {message}", words.failed),
            (_, "WebRequestCommitStatus" | "TimedCommitStatus") => {
                format!("{} not ready ({reason}): {message}", words.title())
            }
            _ => format!("{title} {} ({reason}): {message}", words.failed),
        });
    }
    if text(ready, "status") == "Unknown" {
        return progressing(format!("{} readiness unknown ({reason}): {message}", words.title()));
    }
    ready_kind(object, &words)
}

/// While an object waits for its finalizers, its message says what each does.
fn deleting(object: &Object, words: &Words) -> String {
    const RISKS: [(&str, &str); 6] = [
        (
            "clusterscmprovider.promoter.argoproj.io/finalizer",
            "Waiting until no GitRepository still references this cluster-wide SCM provider. Risk if removed manually: GitRepository objects can reference a provider that no longer exists.",
        ),
        (
            "scmprovider.promoter.argoproj.io/finalizer",
            "Waiting until no GitRepository in this namespace still references this provider. Risk if removed manually: GitRepository objects can reference a provider that no longer exists.",
        ),
        (
            "gitrepository.promoter.argoproj.io/finalizer",
            "Waiting until no non-deleting PullRequests still reference this repository. Risk if removed manually: repository metadata may be removed while promotions still depend on it.",
        ),
        (
            "changetransferpolicy.promoter.argoproj.io/finalizer",
            "Waiting to clear related PullRequest finalizers and finish cleanup before this policy is removed. Risk if removed manually: The 'changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer' finalizer may not be cleaned up from PullRequests owned by this ChangeTransferPolicy.",
        ),
        (
            "pullrequest.promoter.argoproj.io/finalizer",
            "Waiting for SCM closure or reconciliation of the pull request. Risk if removed manually: the real PR can stay open after the CR is gone.",
        ),
        (
            "changetransferpolicy.promoter.argoproj.io/pullrequest-finalizer",
            "Waiting for the ChangeTransferPolicy to observe PR identity and state. Risk if removed manually: promotion status or history can be wrong or racy.",
        ),
    ];
    let title = match object.kind() {
        kind @ ("ClusterScmProvider"
        | "GitRepository"
        | "ScmProvider"
        | "TimedCommitStatus"
        | "WebRequestCommitStatus"
        | "GitCommitStatus") => kind,
        _ => &words.title(),
    };
    let explained: Vec<String> = RISKS
        .iter()
        .filter(|(name, _)| {
            object.list(&["metadata", "finalizers"]).iter().any(|it| it.as_str() == Some(name))
        })
        .map(|(name, risk)| format!("{name}: {risk}"))
        .collect();
    if explained.is_empty() {
        format!("{title} is being deleted")
    } else {
        format!("{title} is being deleted. {}", explained.join(" "))
    }
}

fn ready_kind(object: &Object, words: &Words) -> Option<Health> {
    match object.kind() {
        "ArgoCDCommitStatus" => match object.list(&["status", "applicationsSelected"]).len() {
            0 => degraded("Argo CD commit status has no applications configured"),
            count => healthy(format!(
                "{} is healthy and is tracking {count} applications",
                words.title()
            )),
        },
        "PullRequest" => match (object.text(&["status", "state"]), object.at(&["status", "id"])) {
            (Some(state), Some(id)) => {
                let id = super::super::rules::text_of(id);
                healthy(format!("Pull request is {state} as PR {id}"))
            }
            _ => healthy("Pull request is healthy"),
        },
        "TimedCommitStatus" => {
            gate(object, "Timed commit gate", "satisfied", "Timed commit gate reconciled")
        }
        "WebRequestCommitStatus" => gate(
            object,
            "Web request validation",
            "passed",
            "Web request commit validation reconciled",
        ),
        "ChangeTransferPolicy" => change_transfer(object),
        "PromotionStrategy" => promotion_strategy(object),
        _ => healthy(format!("{} is ready", words.title())),
    }
}

/// A gate holds commits back, branch by branch.
fn gate(object: &Object, name: &str, passed: &str, reconciled: &str) -> Option<Health> {
    let environments = object.list(&["status", "environments"]);
    let branches = |phase: &str| -> Vec<&str> {
        let matching = environments.iter().filter(|it| text(it, "phase") == phase);
        matching.map(|it| text(it, "branch")).collect()
    };
    let (failed, pending) = (branches("failure"), branches("pending"));
    if !failed.is_empty() {
        return degraded(format!("{name} failed for branch(es): {}", failed.join(", ")));
    }
    if !pending.is_empty() {
        return progressing(format!("{name} pending for branch(es): {}", pending.join(", ")));
    }
    match environments.len() {
        0 => healthy(reconciled),
        count => healthy(format!("{name} {passed} for {count} environment(s)")),
    }
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

    fn missing(&self) -> Option<&'static str> {
        match (self.active, self.proposed) {
            ("", _) => Some("active"),
            (_, "") => Some("proposed"),
            _ => None,
        }
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
    if let Some(missing) = environment.missing() {
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
    let waiting = environment.active_statuses.iter().any(|it| text(it, "phase") != "success");
    if waiting {
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
        if let Some(missing) = environment.missing() {
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
    healthy(format!(
        "All environments are up-to-date on commit '{}'. {hydrated}",
        short(first.active)
    ))
}
