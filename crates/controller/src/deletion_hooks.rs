//! Hooks that run before and after an Application's objects are deleted.
//!
//! [`next`] decides, from what git holds and what is live; `cascade.rs` carries
//! it out. Finalizers on the Application hold it until its hooks are through,
//! and are put there as soon as git holds such a hook ([`finalizers`]).

use std::collections::BTreeMap;

use api::Application;
use api::names::{
    ANNOTATION_HELM_HOOK, ANNOTATION_HOOK, FINALIZER_POST_DELETE, FINALIZER_PRE_DELETE,
};
use engine::health::{HealthCode, HealthRules, health};
use engine::marks::hook_delete_policy;
use object::{Object, ResourceKey};

/// When a hook of a deletion runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before anything is deleted.
    Before,
    /// After everything is gone.
    After,
}

/// What a deletion does next about its hooks.
#[derive(Debug, PartialEq)]
pub(crate) enum HookStep {
    /// Create these.
    Create(Vec<Object>),
    /// Some are at work.
    Wait,
    /// These failed; they are deleted, so that they may be tried again.
    Failed(Vec<ResourceKey>),
    /// All are through.
    Done,
}

/// What an Application that is being deleted still has to do, in this order.
#[derive(Debug, PartialEq)]
pub(crate) enum Stage {
    /// Run hooks; this finalizer stands for it.
    Hooks(Moment, &'static str),
    /// Delete what the Application tracks.
    Objects,
    /// Take hooks away; this finalizer stands for it.
    Cleanup(Moment, String),
    /// Nothing.
    Released,
}

/// Where the deletion of an Application stands.
pub(crate) fn stage(app: &Application) -> Stage {
    let has = |finalizer: &str| app.metadata.finalizers.iter().any(|it| it == finalizer);
    if has(FINALIZER_PRE_DELETE) {
        Stage::Hooks(Moment::Before, FINALIZER_PRE_DELETE)
    } else if app.cascade_finalizer().is_some() {
        Stage::Objects
    } else if has(FINALIZER_POST_DELETE) {
        Stage::Hooks(Moment::After, FINALIZER_POST_DELETE)
    } else if has(&cleanup(FINALIZER_PRE_DELETE)) {
        Stage::Cleanup(Moment::Before, cleanup(FINALIZER_PRE_DELETE))
    } else if has(&cleanup(FINALIZER_POST_DELETE)) {
        Stage::Cleanup(Moment::After, cleanup(FINALIZER_POST_DELETE))
    } else {
        Stage::Released
    }
}

/// The finalizers that the Application should have for the hooks that git holds.
pub(crate) fn finalizers(app: &Application, want: &[Object]) -> Vec<String> {
    let mut finalizers = app.metadata.finalizers.clone();
    for (moment, name) in
        [(Moment::Before, FINALIZER_PRE_DELETE), (Moment::After, FINALIZER_POST_DELETE)]
    {
        let is_wanted = want.iter().any(|it| runs(it, moment));
        for name in [name.to_owned(), cleanup(name)] {
            match finalizers.iter().position(|it| *it == name) {
                None if is_wanted => finalizers.push(name),
                Some(at) if !is_wanted => drop(finalizers.remove(at)),
                _ => {}
            }
        }
    }
    finalizers
}

/// Without those that only we put on.
pub(crate) fn foreign_finalizers(app: &Application) -> Vec<String> {
    let is_ours = |it: &&String| {
        it.starts_with(FINALIZER_PRE_DELETE)
            || it.starts_with(FINALIZER_POST_DELETE)
            || Some(it.as_str()) == app.cascade_finalizer()
    };
    app.metadata.finalizers.iter().filter(|it| !is_ours(it)).cloned().collect()
}

/// What to do about the hooks of `moment`.
pub(crate) fn next(
    want: &[Object],
    live: &BTreeMap<ResourceKey, Object>,
    moment: Moment,
    rules: &dyn HealthRules,
) -> HookStep {
    let missing: Vec<Object> = want
        .iter()
        .filter(|it| runs(it, moment) && !live.contains_key(&it.key()))
        .cloned()
        .collect();
    if !missing.is_empty() {
        return HookStep::Create(missing);
    }
    let code = |hook: &Object| health(hook, rules).map_or(HealthCode::Healthy, |it| it.code);
    let hooks: Vec<(&ResourceKey, HealthCode)> = live
        .iter()
        .filter(|(_, it)| runs(it, moment))
        .map(|(key, hook)| (key, code(hook)))
        .collect();
    let failed: Vec<ResourceKey> = hooks
        .iter()
        .filter(|(_, code)| *code == HealthCode::Degraded)
        .map(|(key, _)| (*key).clone())
        .collect();
    if !failed.is_empty() {
        HookStep::Failed(failed)
    } else if hooks.iter().any(|(_, code)| *code == HealthCode::Progressing) {
        HookStep::Wait
    } else {
        HookStep::Done
    }
}

/// The hooks of `moment` that go when the deletion is over: those whose policy
/// says so. The others stay for whoever wants to read their logs.
pub(crate) fn to_clean_up(
    live: &BTreeMap<ResourceKey, Object>,
    moment: Moment,
    rules: &dyn HealthRules,
) -> Vec<ResourceKey> {
    let hooks: Vec<(&ResourceKey, &Object)> =
        live.iter().filter(|(_, it)| runs(it, moment)).collect();
    let code = |hook: &Object| health(hook, rules).map_or(HealthCode::Healthy, |it| it.code);
    let worst = hooks.iter().map(|(_, it)| code(it)).max().unwrap_or(HealthCode::Healthy);
    let goes = |hook: &Object| {
        let policy = hook_delete_policy(hook);
        (policy.on_success && worst == HealthCode::Healthy)
            || (policy.on_failure && worst == HealthCode::Degraded)
    };
    hooks.into_iter().filter(|(_, it)| goes(it)).map(|(key, _)| key.clone()).collect()
}

/// The finalizer that stands for taking hooks away.
fn cleanup(finalizer: &str) -> String {
    format!("{finalizer}/cleanup")
}

fn runs(object: &Object, moment: Moment) -> bool {
    let (ours, helms) = match moment {
        Moment::Before => ("PreDelete", "pre-delete"),
        Moment::After => ("PostDelete", "post-delete"),
    };
    let says = |annotation: &str, word: &str| {
        let words = object.annotation(annotation).unwrap_or_default();
        words.split(',').any(|it| it.trim() == word)
    };
    says(ANNOTATION_HOOK, ours) || says(ANNOTATION_HELM_HOOK, helms)
}

#[cfg(test)]
mod tests {
    use engine::health::BuiltinOnly;
    use serde_json::json;

    use super::*;

    fn job(name: &str, hook: &str, condition: &str) -> Object {
        let conditions = if condition.is_empty() {
            json!([])
        } else {
            json!([{"type": condition, "status": "True"}])
        };
        Object::from_value(json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "n", "annotations": {ANNOTATION_HOOK: hook}},
            "status": {"conditions": conditions}}))
        .expect("a job")
    }

    fn live(jobs: &[Object]) -> BTreeMap<ResourceKey, Object> {
        jobs.iter().map(|it| (it.key(), it.clone())).collect()
    }

    #[track_caller]
    fn check(want: &[Object], running: &[Object], expect: &HookStep) {
        assert_eq!(next(want, &live(running), Moment::Before, &BuiltinOnly), *expect);
    }

    #[test]
    fn hooks_are_created_awaited_and_done() {
        let want = [job("a", "PreDelete", ""), job("b", "PostDelete", ""), job("c", "Sync", "")];
        check(&want, &[], &HookStep::Create(vec![want[0].clone()]));
        check(&want, &[job("a", "PreDelete", "")], &HookStep::Wait);
        check(&want, &[job("a", "PreDelete", "Complete")], &HookStep::Done);
        let failed = job("a", "PreDelete", "Failed");
        check(&want, std::slice::from_ref(&failed), &HookStep::Failed(vec![failed.key()]));
    }

    #[test]
    fn a_hook_in_git_puts_finalizers_on_the_application_and_its_absence_takes_them_off() {
        let mut app = Application::default();
        app.metadata.finalizers = vec!["mine".into()];
        let with = finalizers(&app, &[job("a", "PreDelete", "")]);
        let pre = "pre-delete-finalizer.argocd.argoproj.io";
        assert_eq!(with, ["mine", pre, &format!("{pre}/cleanup")]);
        app.metadata.finalizers = with;
        assert_eq!(stage(&app), Stage::Hooks(Moment::Before, FINALIZER_PRE_DELETE));
        assert_eq!(finalizers(&app, &[]), ["mine"]);
        assert_eq!(foreign_finalizers(&app), ["mine"]);
    }

    #[test]
    fn hooks_run_before_objects_go_and_are_taken_away_last() {
        let stages = |finalizers: &[&str]| {
            let mut app = Application::default();
            app.metadata.finalizers = finalizers.iter().map(|it| (*it).to_owned()).collect();
            stage(&app)
        };
        let post = "post-delete-finalizer.argocd.argoproj.io";
        let cascade = "resources-finalizer.argocd.argoproj.io";
        assert_eq!(stages(&[post, cascade]), Stage::Objects);
        assert_eq!(stages(&[post]), Stage::Hooks(Moment::After, FINALIZER_POST_DELETE));
        let cleanup = format!("{post}/cleanup");
        assert_eq!(stages(&[&cleanup]), Stage::Cleanup(Moment::After, cleanup.clone()));
        assert_eq!(stages(&["mine"]), Stage::Released);
    }

    #[test]
    fn cleaning_up_follows_the_delete_policy() {
        let with_policy = |name: &str, policy: &str| {
            let mut job = job(name, "PostDelete", "Complete");
            job.set_annotation("argocd.argoproj.io/hook-delete-policy", policy);
            job
        };
        let silent = job("silent", "PostDelete", "Complete");
        let kept = with_policy("kept", "HookFailed");
        let gone = with_policy("gone", "HookSucceeded");
        let doomed = to_clean_up(&live(&[silent, kept, gone.clone()]), Moment::After, &BuiltinOnly);
        assert_eq!(doomed, [gone.key()]);
    }
}
