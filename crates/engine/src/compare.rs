//! Compares git with the cluster: [`compare`] is the one answer to "what would
//! a sync change?", for the controller, `app diff` and the tests alike.
//!
//! `facts` is what must be asked of the cluster first, `placing` where git's
//! objects belong in it.

mod facts;
mod placing;

use std::collections::{BTreeMap, BTreeSet};

use object::{GroupVersionKind, Object, ResourceKey};

use crate::diff::{self, Comparing, Difference};
use crate::finding::{Concern, Finding};
use crate::health::{Health, HealthRules, health};
use crate::marks::{self, Role};
use crate::pair::{Pair, pair};
use facts::unserved_kinds;
pub use facts::{Answers, Facts, Scope, Unserved, defined_scopes, read_otherwise};
pub use placing::wanted_keys;
use placing::{place, scoped_key, sort_by_role};

/// How to judge.
#[derive(Clone, Copy)]
pub struct Rules<'r> {
    /// Health rules beyond the built-in ones.
    pub health: &'r dyn HealthRules,
    /// How the two sides of a pair are compared.
    pub comparing: &'r Comparing,
}

/// Git and cluster side by side, judged.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Every object of the application but its hooks, once, in key order.
    pub items: BTreeMap<ResourceKey, Compared>,
    /// Hooks that git holds; they are run, not compared.
    pub hooks: Vec<Object>,
    /// Kinds that git wants and the cluster does not serve.
    pub unserved: BTreeMap<GroupVersionKind, Unserved>,
}

/// One object of the application, judged.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Both sides.
    pub pair: Pair,
    /// Do they agree?
    pub verdict: Verdict,
    /// Health of the live object; none if it is missing or its kind has no rule.
    pub health: Option<Health>,
}

/// Do the two sides of a pair agree?
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every field that git states is live and ours.
    Synced,
    /// They differ where differences are ignored, and nowhere else.
    Tolerated,
    /// They differ; the differences say where (none for missing and extra objects).
    OutOfSync(Vec<Difference>),
    /// Git's side is not known at the moment.
    Unknown,
    /// The object does not count: a live hook, `Skip`, or a copied tracking id.
    NotJudged,
}

impl Compared {
    /// Is the object not as git wants it?
    #[must_use]
    pub fn is_out_of_sync(&self) -> bool {
        matches!(self.verdict, Verdict::OutOfSync(_))
    }

    /// Would a sync with pruning delete the object?
    #[must_use]
    pub fn requires_pruning(&self) -> bool {
        self.is_out_of_sync() && matches!(self.pair, Pair::Extra { .. })
    }

    /// Does the object make the whole application OutOfSync?
    #[must_use]
    pub fn counts_as_out_of_sync(&self) -> bool {
        self.is_out_of_sync()
            && !(self.requires_pruning() && marks::ignores_extraneous(self.pair.either()))
    }
}

/// Pairs, diffs and judges. A wrong object becomes a finding and leaves the
/// others' verdicts intact.
#[must_use]
pub fn compare(
    want: Vec<Object>,
    live: BTreeMap<ResourceKey, Object>,
    rules: Rules<'_>,
    facts: &Facts,
) -> (Comparison, Vec<Finding>) {
    let mut findings = Vec::new();
    let unserved = unserved_kinds(&want, facts);
    let (members, hooks) = sort_by_role(want, facts, &mut findings);
    let live = live
        .into_iter()
        .filter(|(key, object)| members.contains_key(key) || is_root_of(object, facts))
        .collect();
    let live = without_twins(live, &members);
    let items = pair(members, live)
        .into_iter()
        .map(|(key, pair)| {
            warn_if_shared(&key, &pair, facts, &mut findings);
            let compared = Compared {
                verdict: judge(&key, &pair, rules.comparing, facts, &mut findings),
                health: pair.live().and_then(|live| health(live, rules.health)),
                pair,
            };
            (key, compared)
        })
        .collect();
    (Comparison { items, hooks, unserved }, findings)
}

/// What there is, when git's side cannot be had: nothing is judged, but health
/// is still the health of what runs.
#[must_use]
pub fn observe(live: BTreeMap<ResourceKey, Object>, rules: Rules<'_>, facts: &Facts) -> Comparison {
    let judged = |live: Object| Compared {
        health: health(&live, rules.health),
        verdict: match marks::role(&live) {
            Role::Member => Verdict::Unknown,
            Role::Hook(_) | Role::Skipped | Role::Bystander => Verdict::NotJudged,
        },
        pair: Pair::Extra { live },
    };
    let tracked = live
        .into_iter()
        .filter(|(key, object)| marks::belongs_to(object, key, &facts.instance, &facts.tracked_by));
    let items = tracked.map(|(key, live)| (key, judged(live))).collect();
    Comparison { items, ..Comparison::default() }
}

/// What the API server must be asked before comparing: the objects of git, as
/// they would be applied, whose effect is not plain.
#[must_use]
pub fn questions(
    want: &[Object],
    live: &BTreeMap<ResourceKey, Object>,
    comparing: &Comparing,
    facts: &Facts,
) -> BTreeMap<ResourceKey, Object> {
    if comparing.asks_server.is_none() {
        return BTreeMap::new();
    }
    let members = want.iter().filter(|it| marks::role(it) == Role::Member);
    let unsettled = members.filter_map(|object| {
        let key = scoped_key(object, facts);
        let live = live.get(&key)?;
        let mut object = object.clone();
        place(&mut object, &key, facts);
        (!diff::is_settled(&object, live, comparing)).then_some((key, object))
    });
    unsettled.collect()
}

/// One object that two API groups serve counts once: as git has it, if git does.
fn without_twins(
    live: BTreeMap<ResourceKey, Object>,
    members: &BTreeMap<ResourceKey, Object>,
) -> BTreeMap<ResourceKey, Object> {
    let (wanted, extra): (Vec<_>, Vec<_>) =
        live.into_iter().partition(|(key, _)| members.contains_key(key));
    let mut met = BTreeSet::new();
    let mut is_new = |object: &Object| match object.text(&["metadata", "uid"]) {
        None | Some("") => true,
        Some(uid) => met.insert(uid.to_owned()),
    };
    wanted.into_iter().chain(extra).filter(|(_, object)| is_new(object)).collect()
}

/// Tracked by the application and nobody's child: what git may have an opinion on.
fn is_root_of(live: &Object, facts: &Facts) -> bool {
    live.list(&["metadata", "ownerReferences"]).is_empty()
        && marks::tracking(live, &facts.tracked_by)
            .is_some_and(|tracking| tracking.instance == facts.instance)
}

fn warn_if_shared(key: &ResourceKey, pair: &Pair, facts: &Facts, findings: &mut Vec<Finding>) {
    let Pair::Both { live, .. } = pair else { return };
    let Some(tracking) = marks::tracking(live, &facts.tracked_by) else { return };
    if tracking.instance != facts.instance && tracking.is_for(key) {
        let message = format!(
            "{}/{} is part of applications {} and {}",
            key.kind, key.name, facts.instance, tracking.instance
        );
        findings.push(Finding::about(Concern::SharedResource, key.clone(), message));
    }
}

fn judge(
    key: &ResourceKey,
    pair: &Pair,
    comparing: &Comparing,
    facts: &Facts,
    findings: &mut Vec<Finding>,
) -> Verdict {
    match pair {
        Pair::Missing { want } | Pair::Both { want, .. } if marks::role(want) == Role::Skipped => {
            Verdict::NotJudged
        }
        Pair::Missing { .. } => Verdict::OutOfSync(Vec::new()),
        Pair::Both { want, live } => {
            let answer = facts.answers.get(key);
            judge_both(want, live, answer, comparing).unwrap_or_else(|why| {
                let message = format!(
                    "Failed to compare desired state to live state: server-side diff of {key}: {why}"
                );
                findings.push(Finding::about(Concern::Comparison, key.clone(), message));
                Verdict::Unknown
            })
        }
        // A copied tracking id adopts nothing: a controller that clones an
        // object's annotations must not get its clone deleted.
        Pair::Extra { live }
            if !marks::tracking(live, &facts.tracked_by).is_some_and(|it| it.is_for(key)) =>
        {
            Verdict::NotJudged
        }
        Pair::Extra { live } if marks::role(live) != Role::Member => Verdict::NotJudged,
        Pair::Extra { .. } => Verdict::OutOfSync(Vec::new()),
    }
}

/// Both sides judged, or why the API server's answer is of no use.
fn judge_both(
    want: &Object,
    live: &Object,
    answer: Option<&Result<Object, String>>,
    comparing: &Comparing,
) -> Result<Verdict, String> {
    if diff::is_settled(want, live, comparing) {
        return Ok(Verdict::Synced);
    }
    let sides = |comparing: &Comparing| match (answer, comparing.asks_server) {
        (Some(answer), Some(webhooks)) => {
            let answer = answer.as_ref().map_err(String::clone)?;
            diff::answered_sides(answer, live, webhooks, comparing).map_err(|it| it.to_string())
        }
        _ => Ok(diff::sides(want, live, comparing)),
    };
    let differences = sides(comparing)?.differences();
    if !differences.is_empty() {
        return Ok(Verdict::OutOfSync(differences));
    }
    let is_tolerant = match comparing.strictly() {
        Some(strictly) => sides(&strictly)?.differ(),
        None => false,
    };
    Ok(if is_tolerant { Verdict::Tolerated } else { Verdict::Synced })
}

#[cfg(test)]
mod tests;
