//! Walks whole syncs without a cluster: one file in `tests/sync` is one story.
//!
//! A story has a head, then lines of events and answers:
//!
//! ```text
//! git      Namespace/web@0 Deployment/web@1 PreSync:Job/migrate
//! cluster  ConfigMap/old@0=drifted Deployment/web@1
//! options  prune
//!
//! = run apply Job default/migrate      what step answers; its moves are then carried out
//! ! ready Job/migrate                  something happens in the cluster
//! ```
//!
//! Events: `ready`, `broken`, `gone` (an object); `refuse` (the API server will
//! refuse it); `invalid` (it will not pass the check before the sync); `later`
//! (time passes); `restart` (everything but the progress is forgotten); `killed`
//! (what was learned since the progress was last saved is forgotten too);
//! `terminate` (the user wants it to end). Objects are `Kind/name@wave`, with
//! `[Sync=option]` where they have one; in `cluster` an object is as git has it
//! unless `=drifted`. Kinds: see `api_version`.

#![expect(clippy::disallowed_methods, reason = "stories are read from files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use api::{Application, OperationState, SyncOperation, SyncStrategy, SyncStrategyApply, names};
use engine::diff::Comparing;
use engine::health::BuiltinOnly;
use engine::operation::{progress_of, record};
use engine::{
    Action, Comparison, Facts, Look, Move, Outcome, Plan, Progress, Rules, Scope, Step,
    SyncOptions, Task, Way, compare, plan, saved_before, step, terminate,
};
use jiff::{SignedDuration, Timestamp};
use object::{GroupKind, Object, ResourceKey};
use serde_json::json;

#[test]
fn every_story_goes_as_told() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sync");
    let mut told = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of stories") {
        let path = entry.expect("a folder entry").path();
        let text = std::fs::read_to_string(&path).expect("a readable story");
        let name = path.file_name().expect("a file name").display().to_string();
        let actual = Story::read(&text).tell(&text);
        assert_eq!(
            actual, text,
            "\n--- {name} went otherwise; told (right) and actual (left) above"
        );
        told += 1;
    }
    assert!(told > 0, "no stories found in {folder}");
}

struct Story {
    comparison: Comparison,
    options: SyncOptions,
    live: BTreeMap<ResourceKey, Object>,
    progress: Progress,
    /// As the Application has it.
    saved: OperationState,
    refused: BTreeSet<String>,
    invalid: BTreeSet<String>,
    terminating: bool,
    tells_checks: bool,
    now: Timestamp,
}

impl Story {
    fn read(text: &str) -> Self {
        let head = |word: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(word));
            line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let want: Vec<Object> = head("git").iter().map(|words| object(words)).collect();
        let mut live = BTreeMap::new();
        for words in head("cluster") {
            let mut object = object(words.trim_end_matches("=drifted"));
            object.set_annotation("drift", if words.ends_with("=drifted") { "yes" } else { "no" });
            track(&mut object);
            live.insert(object.key(), object);
        }
        let want = want.into_iter().map(|mut it| {
            it.set_annotation("drift", "no");
            track(&mut it);
            it
        });
        let comparing = Comparing::default();
        let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
        let (comparison, findings) = compare(want.collect(), live.clone(), rules, &facts());
        assert_eq!(findings, [], "stories hold no mistakes in git");
        let words = head("options");
        let (flags, sync_options): (Vec<String>, Vec<String>) =
            words.into_iter().partition(|word| !word.contains('='));
        let asks = |flag: &str| flags.iter().any(|it| it == flag);
        let now = Timestamp::UNIX_EPOCH;
        let mut app = Application::named("argocd", "story");
        app.spec.destination.namespace = "default".into();
        if asks("confirmed") {
            let approved = names::ANNOTATION_DELETION_APPROVED.to_owned();
            app.metadata.annotations.insert(approved, now.to_string());
        }
        let strategy = SyncStrategy {
            apply: asks("no-hooks").then(SyncStrategyApply::default),
            ..SyncStrategy::default()
        };
        let sync = SyncOperation {
            prune: asks("prune"),
            sync_options,
            sync_strategy: Some(strategy),
            ..SyncOperation::default()
        };
        let options = SyncOptions::of(&app, &sync, "0123456789", now);
        let tells_checks = asks("checks");
        Self {
            comparison,
            options,
            live,
            progress: Progress::new(),
            saved: OperationState::default(),
            refused: BTreeSet::new(),
            invalid: BTreeSet::new(),
            terminating: false,
            tells_checks,
            now,
        }
    }

    /// The story as it really goes: events as told, answers as given.
    fn tell(&mut self, text: &str) -> String {
        let plan = plan(&self.comparison, &self.options);
        let mut actual = String::new();
        for line in text.lines() {
            let line = match line.split_at_checked(2) {
                Some(("= ", _)) => format!("= {}", self.answer(&plan)),
                Some(("! ", event)) => {
                    self.happen(event);
                    line.to_owned()
                }
                _ => line.to_owned(),
            };
            writeln!(actual, "{line}").expect("strings take everything");
        }
        actual
    }

    /// The next answer. The checks before a sync are told only where the story
    /// is about them.
    fn answer(&mut self, plan: &Plan) -> String {
        loop {
            let look =
                Look { live: &self.live, health: &BuiltinOnly, dry_run: false, now: self.now };
            let advice = if self.terminating {
                terminate(plan, &self.progress, look)
            } else {
                step(plan, &self.progress, look)
            };
            self.progress.extend(advice.learned);
            match advice.step {
                Step::Run(moves) => {
                    if let Some(starting) = saved_before(&moves) {
                        self.progress.extend(starting);
                        self.save(plan);
                    }
                    let is_check = moves.iter().all(|it| matches!(it, Move::Check(_)));
                    let words: Vec<String> = moves.iter().map(|it| self.perform(it)).collect();
                    if self.tells_checks || !is_check {
                        return format!("run {}", words.join("; "));
                    }
                }
                Step::Wait { message, .. } => {
                    self.save(plan);
                    return message;
                }
                Step::Done { message } => return format!("done: {message}"),
                Step::Failed { message } => return format!("failed: {message}"),
            }
        }
    }

    fn save(&mut self, plan: &Plan) {
        let app = Application::named("argocd", "story");
        record(&app, &mut self.saved, plan, &self.progress, &[]);
    }

    fn perform(&mut self, movement: &Move<'_>) -> String {
        match movement {
            Move::Check(task) => {
                let name = &task.id.key.name;
                let outcome = if self.invalid.contains(name) {
                    Outcome::CheckFailed { message: format!("{name} is not valid") }
                } else {
                    Outcome::Checked
                };
                self.progress.insert(task.id.clone(), outcome);
                format!("check {}", task.id.key)
            }
            Move::ReleaseHook(task) => {
                let hook = self.live.get_mut(&task.id.key).expect("only live hooks are released");
                hook.fields_mut()["metadata"]["finalizers"] = json!([]);
                format!("release {}", task.id.key)
            }
            Move::Apply(task) => {
                let key = &task.id.key;
                let outcome = if self.refused.contains(&key.name) {
                    Outcome::Failed { message: format!("{} refused", key.name), was_applied: false }
                } else {
                    let mut object = task.action.object().clone();
                    let changed = self.live.contains_key(key);
                    if !changed {
                        object.fields_mut().insert("status".into(), json!({}));
                    }
                    self.live.insert(key.clone(), object);
                    Outcome::written("written".into(), changed, self.now)
                };
                self.progress.insert(task.id.clone(), outcome);
                format!("{task}{}", how(task))
            }
            Move::Prune(task) => {
                self.live.remove(&task.id.key);
                self.progress.insert(task.id.clone(), Outcome::Pruned { message: "pruned".into() });
                task.to_string()
            }
            Move::RemoveHook(task) => {
                self.live.remove(&task.id.key);
                assert!(matches!(task.action, Action::Hook(..)), "only hooks are removed");
                format!("remove {}", task.id.key)
            }
        }
    }

    fn happen(&mut self, event: &str) {
        let (what, subject) = event.split_once(' ').unwrap_or((event, ""));
        let name = subject.split_once('/').map_or(subject, |(_, name)| name);
        let key = self.live.keys().find(|key| key.name == name).cloned();
        let status = |live: &mut BTreeMap<ResourceKey, Object>, status| {
            let key = key.clone().expect("the event is about a live object");
            let object = live.get_mut(&key).expect("found above");
            object.fields_mut().insert("status".into(), status);
        };
        match what {
            "ready" => status(
                &mut self.live,
                json!({"observedGeneration": 1, "conditions": [{"type": "Complete"}]}),
            ),
            "broken" => status(
                &mut self.live,
                json!({"observedGeneration": 1, "conditions": [
                    {"type": "Failed", "message": "it broke"},
                    {"type": "Progressing", "reason": "ProgressDeadlineExceeded"},
                ]}),
            ),
            "gone" => drop(self.live.remove(&key.expect("the event is about a live object"))),
            "refuse" => drop(self.refused.insert(name.to_owned())),
            "accept" => drop(self.refused.remove(name)),
            "invalid" => drop(self.invalid.insert(name.to_owned())),
            "terminate" => self.terminating = true,
            "later" => self.now += SignedDuration::from_secs(3),
            "restart" => {}
            "killed" => self.progress = progress_of(&self.saved),
            other => panic!("the story has an unknown event {other:?}"),
        }
    }
}

/// How a task writes, where it is not an ordinary apply.
fn how(task: &Task) -> String {
    let Some(writing) = task.action.writing() else { return String::new() };
    let mut words = match &writing.way {
        Way::ClientSide => vec![],
        Way::ServerSide { takes_over_from: Some(_) } => vec!["server-side"],
        Way::ServerSide { takes_over_from: None } => vec!["server-side, taking nothing over"],
        Way::Replace => vec!["replace"],
        Way::Update => vec!["update"],
    };
    words.extend(writing.force.then_some("force"));
    words.extend((!writing.validate).then_some("unvalidated"));
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// `PreSync:Job/migrate@-1` with whatever is missing filled in.
fn object(words: &str) -> Object {
    let (words, option) = match words.split_once('[') {
        Some((words, option)) => (words, option.trim_end_matches(']')),
        None => (words, ""),
    };
    let (words, wave) = words.split_once('@').unwrap_or((words, "0"));
    let (hook, words) =
        words.split_once(':').map_or((None, words), |(hook, rest)| (Some(hook), rest));
    let (kind, name) = words.split_once('/').expect("Kind/name");
    let mut value = json!({
        "apiVersion": api_version(kind), "kind": kind,
        "metadata": {"name": name, "annotations": {"argocd.argoproj.io/sync-wave": wave}},
    });
    if kind == "Deployment" {
        value["metadata"]["generation"] = json!(1);
    }
    if kind == "CustomResourceDefinition" {
        value["spec"] = json!({"group": "example.org", "names": {"kind": "Widget"}});
    }
    let mut object = Object::from_value(value).expect("a story's object");
    if scope(kind) == Scope::Namespaced {
        object.set_namespace("default");
    }
    if !option.is_empty() {
        object.set_annotation(names::ANNOTATION_SYNC_OPTIONS, option);
    }
    if let Some(hook) = hook {
        let (phase, policy) = hook.split_once('+').map_or((hook, None), |(a, b)| (a, Some(b)));
        object.set_annotation("argocd.argoproj.io/hook", phase);
        if let Some(policy) = policy {
            object.set_annotation("argocd.argoproj.io/hook-delete-policy", policy);
        }
    }
    object
}

fn track(object: &mut Object) {
    let key = object.key();
    let id = format!("story:{}/{}:{}/{}", key.group, key.kind, key.namespace, key.name);
    object.set_annotation("argocd.argoproj.io/tracking-id", &id);
}

/// Gadgets are not served.
const KINDS: [(&str, &str); 8] = [
    ("Namespace", "v1"),
    ("ConfigMap", "v1"),
    ("Service", "v1"),
    ("Deployment", "apps/v1"),
    ("Job", "batch/v1"),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
    ("Widget", "example.org/v1"),
    ("Gadget", "example.org/v1"),
];

fn api_version(kind: &str) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).expect("a kind that stories know").1
}

fn scope(kind: &str) -> Scope {
    match kind {
        "Namespace" | "CustomResourceDefinition" => Scope::Cluster,
        _ => Scope::Namespaced,
    }
}

fn facts() -> Facts {
    let scopes = KINDS.iter().filter(|(kind, _)| *kind != "Gadget").map(|(kind, version)| {
        let group = version.split_once('/').map_or("", |(group, _)| group);
        (GroupKind::new(group, *kind), scope(kind))
    });
    Facts {
        tracked_by: engine::TrackedBy::default(),
        instance: "story".into(),
        destination_namespace: "default".into(),
        scopes: scopes.collect(),
        ..Facts::default()
    }
}
