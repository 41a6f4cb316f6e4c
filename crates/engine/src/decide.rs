//! Whether the controller may sync by itself, and why not.

use api::{
    Application, Operation, OperationInitiator, RetryStrategy, SyncOperation,
    SyncOperationResource, SyncPolicyAutomated,
};
use jiff::{SignedDuration, Timestamp};
use object::ResourceKey;

use crate::compare::Comparison;
use crate::finding::{Concern, Finding};
use crate::operation::is_finished;
use crate::pair::Pair;

/// What auto-sync does about what was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Nothing, for this reason.
    Hold(Hold),
    /// A sync of the whole application.
    Sync {
        /// Delete what git no longer holds?
        prune: bool,
    },
    /// A sync of the objects that drifted from a commit that was synced before.
    Heal {
        /// The objects.
        drifted: Vec<ResourceKey>,
        /// Delete what git no longer holds?
        prune: bool,
        /// How many heals in a row this makes.
        attempt: i64,
    },
}

/// How often an automatic sync is tried again unless the Application says.
const AUTOMATED_RETRIES: i64 = 5;

impl Decision {
    /// The operation it asks for, as a user would have asked.
    #[must_use]
    pub fn operation(&self, app: &Application, revisions: &[String]) -> Option<Operation> {
        let policy = app.spec.sync_policy.as_ref()?;
        let mut sync =
            SyncOperation { sync_options: policy.sync_options.clone(), ..SyncOperation::default() };
        if app.has_multiple_sources() {
            sync.revisions = revisions.to_vec();
        } else {
            sync.revision = revisions.first().cloned().unwrap_or_default();
        }
        match self {
            Self::Hold(_) => return None,
            Self::Sync { prune } => sync.prune = *prune,
            Self::Heal { drifted, prune, attempt } => {
                sync.prune = *prune;
                sync.auto_heal_attempts_count = *attempt;
                sync.resources = drifted.iter().map(selected).collect();
            }
        }
        let retry = RetryStrategy { limit: AUTOMATED_RETRIES, ..RetryStrategy::default() };
        Some(Operation {
            sync: Some(sync),
            initiated_by: OperationInitiator { automated: true, ..OperationInitiator::default() },
            retry: policy.retry.clone().unwrap_or(retry),
            ..Operation::default()
        })
    }
}

fn selected(key: &ResourceKey) -> SyncOperationResource {
    SyncOperationResource {
        group: key.group.clone(),
        kind: key.kind.clone(),
        name: key.name.clone(),
        namespace: key.namespace.clone(),
    }
}

/// Why auto-sync holds back. Shown to the user, so each is a full answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Hold {
    /// The application is synced by hand.
    AutoSyncOff,
    /// The application is being deleted.
    Deleting,
    /// An operation is under way.
    OperationInProgress,
    /// There is nothing to do.
    AlreadySynced,
    /// What is live or wanted could not be established.
    NotVerified,
    /// This commit was tried and failed.
    AlreadyFailed {
        /// What that try came to.
        message: String,
    },
    /// The objects drifted, and self-heal is off.
    SelfHealOff,
    /// Healing too often; the next try is at this time.
    HealsLater(Timestamp),
    /// Only pruning is left to do, and auto-prune is off.
    PruneOff,
    /// The sync would delete everything.
    WouldWipeOut,
}

impl Hold {
    /// What the user must be told, if anything.
    #[must_use]
    pub fn finding(&self, revisions: &[String]) -> Option<Finding> {
        let revisions = revisions.join(" ");
        let message = match self {
            Self::AlreadyFailed { message } => {
                format!("Failed last sync attempt to [{revisions}]: {message}")
            }
            Self::WouldWipeOut => format!(
                "Skipping sync attempt to [{revisions}]: auto-sync will wipe out all resources"
            ),
            Self::AutoSyncOff
            | Self::Deleting
            | Self::OperationInProgress
            | Self::AlreadySynced
            | Self::NotVerified
            | Self::SelfHealOff
            | Self::HealsLater(_)
            | Self::PruneOff => return None,
        };
        Some(Finding::new(Concern::Sync, message))
    }
}

/// How long self-heal waits between attempts: `first × factor^n`, at most `most`.
#[derive(Clone, Copy, Debug)]
pub struct HealBackoff {
    /// Before the second attempt.
    pub first: SignedDuration,
    /// By how much each further wait grows.
    pub factor: i32,
    /// Never longer than this.
    pub most: SignedDuration,
}

impl Default for HealBackoff {
    fn default() -> Self {
        Self {
            first: SignedDuration::from_secs(2),
            factor: 3,
            most: SignedDuration::from_secs(300),
        }
    }
}

impl HealBackoff {
    fn wait(self, attempts: i64) -> SignedDuration {
        let mut wait = self.first;
        for _ in 1..attempts {
            wait = wait.checked_mul(self.factor).unwrap_or(self.most).min(self.most);
        }
        if attempts < 1 { SignedDuration::ZERO } else { wait.min(self.most) }
    }
}

/// Decides whether to sync `app` to `revisions` without being asked. Where nothing that
/// matters to it differs from the commits of the last try, these may stand for the
/// newer ones; see [`tried_before`].
#[must_use]
pub fn decide(
    app: &Application,
    comparison: Option<&Comparison>,
    findings: &[Finding],
    revisions: &[String],
    backoff: HealBackoff,
    now: Timestamp,
) -> Decision {
    let Some(automated) = automated(app) else { return Decision::Hold(Hold::AutoSyncOff) };
    if app.metadata.deletion_timestamp.is_some() {
        return Decision::Hold(Hold::Deleting);
    }
    if app.operation.is_some()
        || app.status.operation_state.as_ref().is_some_and(|it| !is_finished(it))
    {
        return Decision::Hold(Hold::OperationInProgress);
    }
    let Some(comparison) =
        comparison.filter(|_| !findings.iter().any(|it| it.concern.forbids_syncs()))
    else {
        return Decision::Hold(Hold::NotVerified);
    };
    let prune = automated.prune == Some(true);
    match what_to_do(comparison, automated, prune) {
        Ok(drifted) => against_last_try(app, automated, revisions, drifted, prune, backoff, now),
        Err(hold) => Decision::Hold(hold),
    }
}

/// The automated policy, unless it is switched off.
#[must_use]
pub fn automated(app: &Application) -> Option<&SyncPolicyAutomated> {
    let automated = app.spec.sync_policy.as_ref()?.automated.as_ref()?;
    (automated.enabled != Some(false)).then_some(automated)
}

/// The objects that differ from git, or why they are left alone.
fn what_to_do(
    comparison: &Comparison,
    automated: &SyncPolicyAutomated,
    prune: bool,
) -> Result<Vec<ResourceKey>, Hold> {
    let out_of_sync = || comparison.items.iter().filter(|(_, it)| it.is_out_of_sync());
    if !comparison.items.values().any(|it| it.counts_as_out_of_sync()) {
        return Err(Hold::AlreadySynced);
    }
    let only_pruning = out_of_sync().all(|(_, it)| it.requires_pruning());
    if only_pruning && !prune {
        return Err(Hold::PruneOff);
    }
    let git_is_empty = comparison.items.values().all(|it| matches!(it.pair, Pair::Extra { .. }));
    if prune && git_is_empty && automated.allow_empty != Some(true) {
        return Err(Hold::WouldWipeOut);
    }
    Ok(out_of_sync().map(|(key, _)| key.clone()).collect())
}

fn against_last_try(
    app: &Application,
    automated: &SyncPolicyAutomated,
    revisions: &[String],
    drifted: Vec<ResourceKey>,
    prune: bool,
    backoff: HealBackoff,
    now: Timestamp,
) -> Decision {
    let Some(last) = last_try_of(app, revisions) else { return Decision::Sync { prune } };
    if last.phase != "Succeeded" {
        return Decision::Hold(Hold::AlreadyFailed { message: last.message.clone() });
    }
    if automated.self_heal != Some(true) {
        return Decision::Hold(Hold::SelfHealOff);
    }
    let finished = last.finished_at.and_then(api::Time::timestamp).unwrap_or(now);
    let attempts = last.operation.sync.as_ref().map_or(0, |sync| sync.auto_heal_attempts_count);
    // A heal long after the last one starts a new series.
    let attempts = if now.duration_since(finished) > backoff.most { 0 } else { attempts };
    let next = finished + backoff.wait(attempts);
    // A heal that ended in the future ended before a clock was set back: waiting for
    // that time could take years.
    if (finished..next).contains(&now) {
        return Decision::Hold(Hold::HealsLater(next));
    }
    Decision::Heal { drifted, prune, attempt: attempts + 1 }
}

/// The last operation, if it was about this very state of git.
fn last_try_of<'a>(app: &'a Application, revisions: &[String]) -> Option<&'a api::OperationState> {
    let (last, tried) = last_try(app)?;
    (tried == revisions).then_some(last)
}

/// The commits that the last operation was about, if only the commits were others: it
/// counts as a try of `revisions` where these hold the same for the application.
#[must_use]
pub fn tried_before<'a>(app: &'a Application, revisions: &[String]) -> Option<&'a [String]> {
    let (_, tried) = last_try(app)?;
    (tried != revisions && tried.len() == revisions.len()).then_some(tried)
}

/// The last operation with its commits, if it was about the sources of today.
fn last_try(app: &Application) -> Option<(&api::OperationState, &[String])> {
    let last = app.status.operation_state.as_ref()?;
    let result = last.sync_result.as_ref()?;
    let (same, revisions) = if app.spec.sources.is_empty() {
        let same = app.spec.source.as_ref() == Some(&result.source);
        (same, std::slice::from_ref(&result.revision))
    } else {
        (app.spec.sources == result.sources, &result.revisions[..])
    };
    same.then_some((last, revisions))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use api::{OperationState, SyncOperation, SyncOperationResult, SyncPolicy, Time};
    use object::Object;
    use serde_json::json;

    use super::*;
    use crate::compare::{Compared, Verdict};

    const NOW: i64 = 1_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    fn app(policy: SyncPolicyAutomated) -> Application {
        let mut app = Application::named("argocd", "web");
        app.spec.source = Some(api::ApplicationSource::default());
        app.spec.sync_policy =
            Some(SyncPolicy { automated: Some(policy), ..SyncPolicy::default() });
        app
    }

    fn tried(mut app: Application, phase: &str, heals: i64, finished: i64) -> Application {
        let sync = SyncOperation { auto_heal_attempts_count: heals, ..SyncOperation::default() };
        app.status.operation_state = Some(OperationState {
            operation: api::Operation { sync: Some(sync), ..api::Operation::default() },
            phase: phase.into(),
            message: "no".into(),
            finished_at: Some(Time::from(at(finished))),
            sync_result: Some(SyncOperationResult {
                revision: "c1".into(),
                ..SyncOperationResult::default()
            }),
            ..OperationState::default()
        });
        app
    }

    fn on() -> SyncPolicyAutomated {
        SyncPolicyAutomated::default()
    }

    fn heals() -> SyncPolicyAutomated {
        SyncPolicyAutomated { self_heal: Some(true), ..on() }
    }

    fn prunes() -> SyncPolicyAutomated {
        SyncPolicyAutomated { prune: Some(true), ..on() }
    }

    /// `+a` is missing in the cluster, `-b` is extra, `=c` is synced.
    fn found(words: &str) -> Comparison {
        let mut items = BTreeMap::new();
        for word in words.split_whitespace() {
            let (sign, name) = word.split_at(1);
            let object = Object::from_value(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}),
            )
            .expect("a test object");
            let key = object.key();
            let (pair, verdict) = match sign {
                "+" => (Pair::Missing { want: object }, Verdict::OutOfSync(Vec::new())),
                "-" => (Pair::Extra { live: object }, Verdict::OutOfSync(Vec::new())),
                _ => (Pair::Both { want: object.clone(), live: object }, Verdict::Synced),
            };
            items.insert(key, Compared { pair, verdict, health: None });
        }
        Comparison { items, ..Comparison::default() }
    }

    #[track_caller]
    fn check(app: Application, objects: &str, expect: Decision) {
        let decision = decide(
            &app,
            Some(&found(objects)),
            &[],
            &["c1".into()],
            HealBackoff::default(),
            at(NOW),
        );
        assert_eq!(decision, expect);
    }

    #[test]
    fn a_manual_application_is_left_alone() {
        let mut manual = app(on());
        manual.spec.sync_policy = None;
        check(manual, "+a", Decision::Hold(Hold::AutoSyncOff));
    }

    #[test]
    fn a_policy_that_is_kept_but_switched_off_is_off() {
        let off = SyncPolicyAutomated { enabled: Some(false), ..on() };
        check(app(off), "+a", Decision::Hold(Hold::AutoSyncOff));
    }

    #[test]
    fn what_is_new_is_synced() {
        check(app(on()), "+a =b", Decision::Sync { prune: false });
        check(app(prunes()), "+a -b", Decision::Sync { prune: true });
    }

    #[test]
    fn what_is_synced_needs_nothing() {
        check(app(on()), "=a", Decision::Hold(Hold::AlreadySynced));
    }

    #[test]
    fn only_pruning_left_without_prune_is_left() {
        check(app(on()), "=a -b", Decision::Hold(Hold::PruneOff));
    }

    #[test]
    fn an_empty_repository_does_not_wipe_the_application_out() {
        check(app(prunes()), "-a -b", Decision::Hold(Hold::WouldWipeOut));
        let allowed = SyncPolicyAutomated { allow_empty: Some(true), ..prunes() };
        check(app(allowed), "-a -b", Decision::Sync { prune: true });
    }

    #[test]
    fn a_failed_commit_is_not_tried_again() {
        let failed = tried(app(heals()), "Failed", 0, NOW - 1);
        check(failed, "+a", Decision::Hold(Hold::AlreadyFailed { message: "no".into() }));
    }

    #[test]
    fn another_commit_counts_as_tried_where_it_stands_for_nothing_new() {
        let failed = tried(app(heals()), "Failed", 0, NOW - 1);
        let at_second = |stands_for: &str| {
            let comparison = found("+a");
            let revisions = [stands_for.to_owned()];
            let backoff = HealBackoff::default();
            decide(&failed, Some(&comparison), &[], &revisions, backoff, at(NOW))
        };
        assert_eq!(tried_before(&failed, &["c2".into()]), Some(&["c1".to_owned()][..]));
        assert_eq!(at_second("c1"), Decision::Hold(Hold::AlreadyFailed { message: "no".into() }));
        assert_eq!(at_second("c2"), Decision::Sync { prune: false });
    }

    #[test]
    fn there_is_nothing_to_ask_about_the_same_commit_other_sources_or_no_try() {
        let tried = tried(app(heals()), "Succeeded", 0, NOW - 1);
        assert_eq!(tried_before(&tried, &["c1".into()]), None);
        let mut moved = tried.clone();
        moved.spec.source.as_mut().expect("a source").path = "elsewhere".into();
        assert_eq!(tried_before(&moved, &["c2".into()]), None);
        assert_eq!(tried_before(&app(on()), &["c2".into()]), None);
    }

    #[test]
    fn of_several_sources_all_commits_are_held_against_the_last_try() {
        let mut several = tried(app(on()), "Failed", 0, NOW - 1);
        several.spec.sources = vec![api::ApplicationSource::default(); 2];
        let result = several.status.operation_state.as_mut().and_then(|it| it.sync_result.as_mut());
        let result = result.expect("a result");
        result.sources.clone_from(&several.spec.sources);
        result.revisions = vec!["c1".into(), "d1".into()];
        let before = tried_before(&several, &["c1".into(), "d2".into()]);
        assert_eq!(before, Some(&["c1".to_owned(), "d1".into()][..]));
        assert_eq!(tried_before(&several, &["c1".into()]), None, "a source is not known");
    }

    #[test]
    fn drift_is_healed_at_once_and_only_where_it_is() {
        let app = tried(app(heals()), "Succeeded", 0, NOW - 1);
        let drifted = found("+a").items.into_keys().collect();
        check(app, "+a =b", Decision::Heal { drifted, prune: false, attempt: 1 });
    }

    #[test]
    fn drift_without_self_heal_stays() {
        check(tried(app(on()), "Succeeded", 0, NOW - 1), "+a", Decision::Hold(Hold::SelfHealOff));
    }

    #[test]
    fn healing_again_and_again_waits_longer_each_time() {
        for (heals_before, wait) in [(1, 2), (2, 6), (3, 18), (5, 162), (6, 300), (60, 300)] {
            let app = tried(app(heals()), "Succeeded", heals_before, NOW);
            check(app, "+a", Decision::Hold(Hold::HealsLater(at(NOW + wait))));
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_hold_a_heal_up() {
        let app = tried(app(heals()), "Succeeded", 3, NOW + 86_400);
        let drifted = found("+a").items.into_keys().collect();
        check(app, "+a", Decision::Heal { drifted, prune: false, attempt: 4 });
    }

    #[test]
    fn nothing_is_synced_on_what_could_not_be_verified() {
        let finding = Finding::new(Concern::Comparison, "no git");
        let decision = decide(
            &app(on()),
            Some(&found("+a")),
            &[finding],
            &[],
            HealBackoff::default(),
            at(NOW),
        );
        assert_eq!(decision, Decision::Hold(Hold::NotVerified));
    }

    #[test]
    fn a_heal_asks_for_the_drifted_objects_at_the_commit_it_saw() {
        let drifted = found("+a").items.into_keys().collect();
        let heal = Decision::Heal { drifted, prune: true, attempt: 3 };
        let operation = heal.operation(&app(heals()), &["c1".into()]).expect("an operation");
        let sync = operation.sync.expect("a sync");
        let named: Vec<&str> = sync.resources.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((named, sync.revision.as_str()), (vec!["a"], "c1"));
        assert_eq!((sync.prune, sync.auto_heal_attempts_count), (true, 3));
        assert!(operation.initiated_by.automated);
        assert_eq!(operation.retry.limit, AUTOMATED_RETRIES);
    }
}
