//! What a sync will do, in which order: a [`Plan`] has waves of tasks.
//!
//! The plan is data. It holds no client and asks nothing; whoever carries it
//! out asks [`crate::step`] what to do next. Order: phase, wave, kind, name;
//! pruning runs through the waves backwards, so that what was created first is
//! removed last.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use object::{GroupKind, Object, ResourceKey};

use crate::compare::{Compared, Comparison, Unserved, Verdict};
use crate::diff::respecting;
use crate::marks::{self, HookDeletePolicy, Phase, Role};
use crate::order::kind_rank;
use crate::writing::{Consent, Propagation, SyncOptions, Writing};

/// All tasks of a sync, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The waves. A wave is complete before the next begins.
    pub waves: Vec<Wave>,
}

/// Tasks that may run together, but for the order of kinds among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Wave {
    /// The phase it belongs to.
    pub phase: Phase,
    /// Its number within the phase.
    pub number: i32,
    /// Prunes first, then by kind and name.
    pub tasks: Vec<Task>,
}

/// One thing to do to one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Tells it apart from all other tasks of the sync.
    pub id: TaskId,
    /// What to do.
    pub action: Action,
}

/// An object may be a hook of several phases, so a key alone is not enough.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId {
    /// The phase of the task.
    pub phase: Phase,
    /// The object.
    pub key: ResourceKey,
}

/// What a task does to its object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Make it as git wants it.
    Apply(Object, Writing),
    /// It is already as git wants it; nothing is written.
    Keep(Object),
    /// Run it as a hook.
    Hook(Object, HookRun),
    /// Delete it, since git no longer holds it.
    Prune(Object, Propagation),
    /// Delete it once the user has confirmed that.
    AwaitConfirmation(Object),
    /// Leave it, although git no longer holds it.
    Leave(Object, LeaveReason),
    /// Nothing of the sync may be done, because this must not; says why.
    Refuse(Object, String),
}

/// How a hook is started and taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    /// When it is taken away.
    pub policy: HookDeletePolicy,
    /// How it is written.
    pub writing: Writing,
    /// What becomes of what it owns when it is taken away.
    pub propagation: Propagation,
}

/// Why an object that git no longer holds stays. The text is Argo CD's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// This sync does not prune.
    PruneNotAsked,
    /// The object says that it must not be pruned.
    PruneForbidden,
}

impl LeaveReason {
    /// The result message.
    #[must_use]
    pub fn message(self) -> &'static str {
        match self {
            Self::PruneNotAsked => "ignored (requires pruning)",
            Self::PruneForbidden => "ignored (no prune)",
        }
    }
}

impl Action {
    /// The object as git wants it, or as it is where git has no say.
    #[must_use]
    pub fn object(&self) -> &Object {
        match self {
            Self::Apply(object, _)
            | Self::Keep(object)
            | Self::Hook(object, _)
            | Self::Prune(object, _)
            | Self::AwaitConfirmation(object)
            | Self::Leave(object, _)
            | Self::Refuse(object, _) => object,
        }
    }

    /// How the object is written, if it is.
    #[must_use]
    pub fn writing(&self) -> Option<&Writing> {
        match self {
            Self::Apply(_, writing) | Self::Hook(_, HookRun { writing, .. }) => Some(writing),
            Self::Keep(_)
            | Self::Prune(..)
            | Self::AwaitConfirmation(_)
            | Self::Leave(..)
            | Self::Refuse(..) => None,
        }
    }

    /// What becomes of what the object owns, when it is deleted.
    #[must_use]
    pub fn propagation(&self) -> Propagation {
        match self {
            Self::Prune(_, propagation) | Self::Hook(_, HookRun { propagation, .. }) => {
                *propagation
            }
            Self::Apply(..)
            | Self::Keep(_)
            | Self::AwaitConfirmation(_)
            | Self::Leave(..)
            | Self::Refuse(..) => Propagation::default(),
        }
    }

    pub(crate) fn is_hook(&self) -> bool {
        matches!(self, Self::Hook(..))
    }

    fn is_prune(&self) -> bool {
        matches!(self, Self::Prune(..) | Self::AwaitConfirmation(_) | Self::Leave(..))
    }
}

impl Plan {
    /// All tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.waves.iter().flat_map(|wave| &wave.tasks)
    }

    /// The last wave of a sync in which nothing fails.
    pub(crate) fn final_wave(&self) -> Option<&Wave> {
        self.waves.iter().rev().find(|wave| wave.phase != Phase::SyncFail)
    }
}

/// Lays out the tasks that turn what is live into what git wants.
#[must_use]
pub fn plan(comparison: &Comparison, options: &SyncOptions) -> Plan {
    let mut places: Vec<(Place, Task)> = comparison
        .items
        .iter()
        .filter(|(key, _)| options.selects(key))
        .filter_map(|(key, compared)| member_task(key, compared, options))
        .collect();
    if options.hooks && !options.dry_run && options.selection.is_none() {
        places.extend(comparison.hooks.iter().flat_map(|hook| hook_tasks(hook, options)));
    }
    places.extend(namespace_task(comparison, options));
    refuse(&mut places, comparison, options);
    pull_forward(&mut places, namespace_of, lives_in);
    pull_forward(&mut places, kind_defined_by, kind_of);
    reverse_prune_waves(&mut places);
    if options.prune_last {
        prune_last(&mut places, |_| true);
    } else {
        prune_last(&mut places, |object| marks::has_sync_option(object, "PruneLast=true"));
    }
    if options.dry_run {
        places.iter_mut().for_each(|(place, _)| place.wave = 0);
    }
    let plan = into_waves(places);
    debug_assert_eq!(check(&plan), Ok(()));
    plan
}

/// When a task happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    phase: Phase,
    wave: i32,
}

fn member_task(
    key: &ResourceKey,
    compared: &Compared,
    options: &SyncOptions,
) -> Option<(Place, Task)> {
    let action = match (compared.pair.want(), &compared.verdict) {
        (_, Verdict::NotJudged) => return None,
        (Some(_), Verdict::Synced | Verdict::Tolerated) if options.out_of_sync_only => return None,
        (Some(want), verdict) => {
            let writing = options.writing(want, compared.pair.live());
            let is_as_wanted = match verdict {
                Verdict::Synced => true,
                // What does not count in a comparison is written all the same,
                // unless somebody asks to respect it.
                Verdict::Tolerated => options.respect_ignored,
                Verdict::OutOfSync(_) | Verdict::Unknown | Verdict::NotJudged => false,
            };
            // Whoever asks for a replacement wants the object replaced.
            if is_as_wanted && !writing.always_writes() {
                Action::Keep(want.clone())
            } else {
                Action::Apply(written(want, compared.pair.live(), options), writing)
            }
        }
        (None, _) => extra_action(compared.pair.either(), options),
    };
    let place = Place { phase: Phase::Sync, wave: marks::wave(compared.pair.either()) };
    Some((place, Task { id: TaskId { phase: Phase::Sync, key: key.clone() }, action }))
}

/// What is written for `want`: with live values in the fields whose differences
/// are ignored, if that is asked for.
fn written(want: &Object, live: Option<&Object>, options: &SyncOptions) -> Object {
    match live.filter(|_| options.respect_ignored) {
        Some(live) => respecting(want, live, &options.comparing),
        None => want.clone(),
    }
}

fn extra_action(live: &Object, options: &SyncOptions) -> Action {
    let live = live.clone();
    match options.consent_to_prune(&live) {
        Consent::AfterConfirmation => Action::AwaitConfirmation(live),
        Consent::Given | Consent::Refused if !options.prune => {
            Action::Leave(live, LeaveReason::PruneNotAsked)
        }
        Consent::Refused => Action::Leave(live, LeaveReason::PruneForbidden),
        Consent::Given => Action::Prune(live, options.propagation),
    }
}

fn hook_tasks(hook: &Object, options: &SyncOptions) -> Vec<(Place, Task)> {
    let Role::Hook(phases) = marks::role(hook) else { return Vec::new() };
    phases
        .into_iter()
        .map(|phase| {
            let mut object = hook.clone();
            if object.name().is_empty() {
                object.set_name(&generated_name(hook, phase, options));
            }
            marks::add_hook_finalizer(&mut object);
            let run = HookRun {
                policy: marks::hook_delete_policy(&object),
                writing: options.writing(&object, None),
                propagation: options.propagation,
            };
            let id = TaskId { phase, key: object.key() };
            let place = Place { phase, wave: marks::wave(&object) };
            (place, Task { id, action: Action::Hook(object, run) })
        })
        .collect()
}

/// The destination namespace, before everything else, unless git holds it.
fn namespace_task(comparison: &Comparison, options: &SyncOptions) -> Option<(Place, Task)> {
    let wish = options.namespace.as_ref()?;
    let key = ResourceKey::new(&GroupKind::new("", "Namespace"), "", &wish.name);
    if comparison.items.get(&key).is_some_and(|it| it.pair.want().is_some()) {
        return None;
    }
    let manifest = wish.manifest()?;
    let writing = options.writing(&manifest, None);
    let id = TaskId { phase: Phase::PreSync, key };
    Some((
        Place { phase: Phase::PreSync, wave: 0 },
        Task { id, action: Action::Apply(manifest, writing) },
    ))
}

/// Turns tasks that must not be carried out into their refusal.
fn refuse(places: &mut [(Place, Task)], comparison: &Comparison, options: &SyncOptions) {
    if options.objections.is_empty() && comparison.unserved.is_empty() {
        return;
    }
    let defined: BTreeSet<GroupKind> = places
        .iter()
        .filter_map(|(_, task)| kind_defined_by(task))
        .map(|(group, kind)| GroupKind::new(group, kind))
        .collect();
    for (_, task) in places.iter_mut() {
        let key = &task.id.key;
        let object = task.action.object();
        let kind_may_come = options.kinds_may_come
            || defined.contains(&key.group_kind())
            || marks::has_sync_option(object, "SkipDryRunOnMissingResource=true");
        let kind = object.group_version_kind();
        let objection = match (options.objections.get(key), comparison.unserved.get(&kind)) {
            (Some(objection), _) => objection.clone(),
            (None, Some(unserved)) if !kind_may_come => not_served(key, &kind.version, unserved),
            (None, _) => continue,
        };
        task.action = Action::Refuse(object.clone(), objection);
    }
}

/// Argo CD's words, which people search for.
fn not_served(key: &ResourceKey, version: &str, unserved: &Unserved) -> String {
    let ResourceKey { group, kind, namespace, name } = key;
    match unserved {
        Unserved::Unheard => format!(
            "The Kubernetes API could not find {group}/{kind} for requested resource \
             {namespace}/{name}. Make sure the {kind:?} CRD is installed on the destination cluster."
        ),
        Unserved::Instead(it) => format!(
            "The Kubernetes API could not find version {version:?} of {group}/{kind} for requested \
             resource {namespace}/{name}. Version {:?} of {}/{} is installed on the destination cluster.",
            it.version, it.group, it.kind
        ),
        Unserved::KindMissing => format!(
            "{kind}.{group} \"\" not found: the destination cluster serves {group}/{version} without \
             this kind. Make sure the {kind:?} CRD is installed."
        ),
    }
}

/// The same name for the same operation, however often it is planned.
fn generated_name(hook: &Object, phase: Phase, options: &SyncOptions) -> String {
    let prefix = hook.text(&["metadata", "generateName"]).unwrap_or_default();
    let revision = match options.revision.char_indices().nth(7) {
        Some((seven, _)) => &options.revision[..seven],
        None => &options.revision,
    };
    let started = options.started_at.as_second();
    format!("{prefix}{revision}-{}-{started}", phase.name()).to_lowercase()
}

/// What a task may provide for others: a namespace, or group and kind.
type Thing<'t> = (&'t str, &'t str);

/// Moves each task that others need in front of the first of them: a Namespace
/// before what lives in it, a CRD before its first object.
fn pull_forward(
    places: &mut [(Place, Task)],
    provides: fn(&Task) -> Option<Thing<'_>>,
    needs: fn(&Task) -> Option<Thing<'_>>,
) {
    let written = || places.iter().enumerate().filter(|(_, (_, task))| !task.action.is_prune());
    let providers: Vec<(usize, Thing<'_>)> =
        written().filter_map(|(index, (_, task))| Some((index, provides(task)?))).collect();
    let mut first_need: BTreeMap<Thing<'_>, Option<Place>> =
        providers.iter().map(|(_, thing)| (*thing, None)).collect();
    if first_need.is_empty() {
        return;
    }
    for (_, (place, task)) in written() {
        if let Some(first) = needs(task).and_then(|needed| first_need.get_mut(&needed)) {
            *first = Some(first.map_or(*place, |first| first.min(*place)));
        }
    }
    let moves: Vec<(usize, Place)> = providers
        .iter()
        .filter_map(|(index, thing)| Some((*index, (*first_need.get(thing)?)?)))
        .collect();
    for (index, first) in moves {
        let place = &mut places[index].0;
        *place = (*place).min(first);
    }
}

fn namespace_of(task: &Task) -> Option<Thing<'_>> {
    let key = &task.id.key;
    (key.group.is_empty() && key.kind == "Namespace").then_some((&key.name, ""))
}

fn lives_in(task: &Task) -> Option<Thing<'_>> {
    let namespace = task.id.key.namespace.as_str();
    (!namespace.is_empty()).then_some((namespace, ""))
}

fn kind_of(task: &Task) -> Option<Thing<'_>> {
    Some((&task.id.key.group, &task.id.key.kind))
}

fn kind_defined_by(task: &Task) -> Option<Thing<'_>> {
    let key = &task.id.key;
    if key.group != "apiextensions.k8s.io" || key.kind != "CustomResourceDefinition" {
        return None;
    }
    let definition = task.action.object();
    Some((definition.text(&["spec", "group"])?, definition.text(&["spec", "names", "kind"])?))
}

/// Swaps the lowest prune wave with the highest, and so on inwards.
fn reverse_prune_waves(places: &mut [(Place, Task)]) {
    let mut waves: Vec<i32> = places
        .iter()
        .filter(|(_, task)| task.action.is_prune())
        .map(|(place, _)| place.wave)
        .collect();
    waves.sort_unstable();
    waves.dedup();
    let mirrored: BTreeMap<i32, i32> =
        waves.iter().copied().zip(waves.iter().rev().copied()).collect();
    for (place, _) in places.iter_mut().filter(|(_, task)| task.action.is_prune()) {
        place.wave = mirrored[&place.wave];
    }
}

fn prune_last(places: &mut [(Place, Task)], applies_to: fn(&Object) -> bool) {
    let last = places
        .iter()
        .filter(|(place, _)| place.phase == Phase::Sync)
        .map(|(place, _)| place.wave)
        .max();
    let Some(after_last) = last.map(|wave| wave.saturating_add(1)) else { return };
    for (place, task) in places.iter_mut() {
        if task.action.is_prune() && applies_to(task.action.object()) {
            place.wave = after_last;
        }
    }
}

/// Prunes first, then by kind and name.
fn within_wave(a: &Task, b: &Task) -> Ordering {
    let (left, right) = (&a.id.key, &b.id.key);
    let by_kind = || match left.kind == right.kind {
        true => Ordering::Equal,
        false => (kind_rank(&left.kind), &left.kind).cmp(&(kind_rank(&right.kind), &right.kind)),
    };
    (b.action.is_prune().cmp(&a.action.is_prune()))
        .then_with(by_kind)
        .then_with(|| left.group.cmp(&right.group))
        .then_with(|| left.name.cmp(&right.name))
        .then_with(|| left.namespace.cmp(&right.namespace))
}

fn into_waves(places: Vec<(Place, Task)>) -> Plan {
    let mut waves: BTreeMap<Place, Vec<Task>> = BTreeMap::new();
    for (place, task) in places {
        waves.entry(place).or_default().push(task);
    }
    let waves = waves
        .into_iter()
        .map(|(place, mut tasks)| {
            tasks.sort_by(within_wave);
            Wave { phase: place.phase, number: place.wave, tasks }
        })
        .collect();
    Plan { waves }
}

/// States what every plan must satisfy; debug builds run it on every plan.
///
/// # Errors
/// The rule that is broken, and by which task.
pub fn check(plan: &Plan) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for task in plan.tasks() {
        if !seen.insert(&task.id) {
            return Err(format!("{} stands in the plan twice", task.id.key));
        }
    }
    let order = |wave: &Wave| Place { phase: wave.phase, wave: wave.number };
    if !plan.waves.is_sorted_by(|a, b| order(a) < order(b)) {
        return Err("the waves are not in order".into());
    }
    let mut namespaces_made = BTreeSet::new();
    let in_reverse = plan.waves.iter().rev().flat_map(|wave| wave.tasks.iter().rev());
    for task in in_reverse.filter(|task| !task.action.is_prune()) {
        if let Some(namespace) = namespace_of(task) {
            namespaces_made.insert(namespace);
        } else if let Some(namespace) = lives_in(task)
            && namespaces_made.contains(&namespace)
        {
            return Err(format!("{} comes before the Namespace it lives in", task.id.key));
        }
    }
    Ok(())
}

/// One line a wave: `Sync 0: apply ConfigMap web/a; prune Service web/b`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for wave in &self.waves {
            let tasks: Vec<String> = wave.tasks.iter().map(Task::to_string).collect();
            writeln!(f, "{} {}: {}", wave.phase.name(), wave.number, tasks.join("; "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.action {
            Action::Apply(..) => "apply",
            Action::Keep(_) => "keep",
            Action::Hook(..) => "run",
            Action::Prune(..) => "prune",
            Action::AwaitConfirmation(_) => "prune once confirmed",
            Action::Leave(..) => "leave",
            Action::Refuse(..) => "refuse",
        };
        write!(f, "{verb} {}", self.id.key)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use api::{Application, SyncOperation};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::diff::Comparing;
    use crate::diff::ignore::{Ignoring, StatusOf};
    use crate::pair::Pair;

    #[test]
    fn what_is_tolerated_is_written_unless_that_is_to_be_respected() {
        let map = |value: &str| {
            Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "m"}, "data": {"k": value}}))
            .expect("an object")
        };
        let compared = Compared {
            pair: Pair::Both { want: map("1"), live: map("2") },
            verdict: Verdict::Tolerated,
            health: None,
        };
        let comparison =
            Comparison { items: [(map("1").key(), compared)].into(), ..Comparison::default() };
        let planned = |word: &str| {
            let sync =
                SyncOperation { sync_options: vec![word.into()], ..SyncOperation::default() };
            let app = Application::named("argocd", "app");
            let options = SyncOptions::of(&app, &sync, "c1", Timestamp::UNIX_EPOCH);
            plan(&comparison, &options).to_string()
        };
        assert_eq!(planned(""), "Sync 0: apply ConfigMap m\n");
        assert_eq!(planned("RespectIgnoreDifferences=true"), "Sync 0: keep ConfigMap m\n");
        assert_eq!(planned("ApplyOutOfSyncOnly=true"), "");
    }

    fn hook(metadata: &serde_json::Value) -> Comparison {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata});
        job["metadata"]["annotations"] = json!({"argocd.argoproj.io/hook": "PreSync"});
        let job = Object::from_value(job).expect("an object");
        Comparison { hooks: vec![job], ..Comparison::default() }
    }

    #[test]
    fn a_hook_without_name_is_named_after_commit_phase_and_time() {
        let comparison = hook(&json!({"generateName": "Migrate-"}));
        let app = Application::named("argocd", "app");
        let began = Timestamp::from_second(1_700_000_000).expect("a time");
        let planned = |commit: &str| {
            let options = SyncOptions::of(&app, &SyncOperation::default(), commit, began);
            plan(&comparison, &options).to_string()
        };
        let expect = "PreSync 0: run batch/Job migrate-0123456-presync-1700000000\n";
        assert_eq!(planned("0123456789abcdef"), expect);
        assert_eq!(planned("v1.2"), expect.replace("0123456", "v1.2"));
    }

    #[test]
    fn hooks_are_not_run_by_a_sync_of_some_objects_nor_by_a_dry_run() {
        let comparison = hook(&json!({"name": "migrate"}));
        let app = Application::named("argocd", "app");
        let planned = |sync: &SyncOperation| {
            let options = SyncOptions::of(&app, sync, "c1", Timestamp::UNIX_EPOCH);
            plan(&comparison, &options).to_string()
        };
        assert_eq!(planned(&SyncOperation::default()), "PreSync 0: run batch/Job migrate\n");
        let some = api::SyncOperationResource { kind: "ConfigMap".into(), ..Default::default() };
        assert_eq!(planned(&SyncOperation { resources: vec![some], ..Default::default() }), "");
        assert_eq!(planned(&SyncOperation { dry_run: true, ..SyncOperation::default() }), "");
    }

    #[test]
    fn what_is_ignored_is_written_as_it_is_where_that_was_asked_for() {
        let deployment = |replicas: u8, paused: bool| {
            Object::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "d"}, "spec": {"replicas": replicas, "paused": paused}}))
            .expect("an object")
        };
        let (want, live) = (deployment(1, true), deployment(5, false));
        let compared = Compared {
            pair: Pair::Both { want: want.clone(), live },
            verdict: Verdict::OutOfSync(Vec::new()),
            health: None,
        };
        let comparison =
            Comparison { items: [(want.key(), compared)].into(), ..Comparison::default() };
        let rule =
            json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]});
        let rule = serde_json::from_value(rule).expect("a rule");
        let (ignoring, _) = Ignoring::of(&[rule], &[], StatusOf::All);
        let replicas_written = |word: &str| {
            let sync =
                SyncOperation { sync_options: vec![word.into()], ..SyncOperation::default() };
            let app = Application::named("argocd", "app");
            let comparing = Comparing { ignoring: ignoring.clone(), ..Comparing::default() };
            let options = SyncOptions {
                comparing: Arc::new(comparing),
                ..SyncOptions::of(&app, &sync, "c1", Timestamp::UNIX_EPOCH)
            };
            let plan = plan(&comparison, &options);
            plan.tasks().next().expect("a task").action.object().integer(&["spec", "replicas"])
        };
        assert_eq!(replicas_written(""), Some(1));
        assert_eq!(replicas_written("RespectIgnoreDifferences=true"), Some(5));
    }
}
