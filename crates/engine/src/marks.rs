//! What annotations on a manifest ask of a sync: wave, hook, options.

use api::names;
use object::{Object, ResourceKey};
use serde_json::{Value, json};

use crate::writing::Consent;

const HELM_RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Whose object it is, as its tracking id says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking<'o> {
    /// The application, `name` or `namespace_name`.
    pub instance: &'o str,
    /// The object that the id names; a label names none.
    subject: Option<&'o str>,
}

/// How objects say whose they are: a setting of the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackedBy {
    /// By the tracking id.
    Annotation {
        /// What tells this installation from others on the same cluster; empty
        /// if it is the only one.
        installation: String,
    },
    /// By a label alone.
    Label {
        /// The label.
        key: String,
    },
}

impl Default for TrackedBy {
    fn default() -> Self {
        Self::Annotation { installation: String::new() }
    }
}

impl Tracking<'_> {
    /// Does the id name this very object, rather than one it was copied from?
    #[must_use]
    pub fn is_for(&self, key: &ResourceKey) -> bool {
        let Some(subject) = self.subject else { return true };
        let Some((kind, name)) = subject.split_once(':') else { return false };
        // Cluster-scoped objects are tracked under their application's
        // destination namespace, so that part proves nothing for them.
        let same_name = name.split_once('/').is_some_and(|(namespace, name)| {
            name == key.name && (key.namespace.is_empty() || namespace == key.namespace)
        });
        same_name && kind.split_once('/') == Some((key.group.as_str(), key.kind.as_str()))
    }
}

/// Reads the tracking id, `instance:group/kind:namespace/name`, or the label.
#[must_use]
pub fn tracking<'o>(object: &'o Object, by: &TrackedBy) -> Option<Tracking<'o>> {
    let installation = match by {
        TrackedBy::Label { key } => {
            let instance = object.label(key).filter(|it| !it.is_empty())?;
            return Some(Tracking { instance, subject: None });
        }
        TrackedBy::Annotation { installation } => installation,
    };
    let is_ours = installation.is_empty()
        || object.annotation(names::ANNOTATION_INSTALLATION_ID) == Some(installation);
    let (instance, subject) = object.annotation(names::ANNOTATION_TRACKING_ID)?.split_once(':')?;
    is_ours.then_some(Tracking { instance, subject: Some(subject) })
}

/// Is the object `instance`'s own: tracked by it, under its own name, and made
/// by nobody else? Controllers copy annotations to what they make, so a
/// ReplicaSet carries the tracking id of its Deployment.
#[must_use]
pub fn belongs_to(object: &Object, key: &ResourceKey, instance: &str, by: &TrackedBy) -> bool {
    object.list(&["metadata", "ownerReferences"]).is_empty()
        && tracking(object, by).is_some_and(|it| it.instance == instance && it.is_for(key))
}

/// When in a sync something happens. The order of the variants is the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before anything is applied.
    PreSync,
    /// With the ordinary objects.
    Sync,
    /// After all ordinary objects are healthy.
    PostSync,
    /// Only when something went wrong.
    SyncFail,
}

impl Phase {
    /// As it is written in annotations and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PreSync => "PreSync",
            Self::Sync => "Sync",
            Self::PostSync => "PostSync",
            Self::SyncFail => "SyncFail",
        }
    }

    /// Reads a phase as it is written in results.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::PreSync, Self::Sync, Self::PostSync, Self::SyncFail]
            .into_iter()
            .find(|phase| phase.name() == name)
    }
}

/// What role an object plays in a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// An ordinary object: applied, compared, pruned.
    Member,
    /// Created in each of the named phases of a sync and never compared.
    Hook(Vec<Phase>),
    /// Stays what it is in the cluster, if it is there: `Skip` and nothing else.
    Skipped,
    /// Never applied and never judged (deletion hooks, unknown hooks).
    Bystander,
}

/// Reads the role from Argo CD's hook annotation or, without one, from Helm's.
#[must_use]
pub fn role(object: &Object) -> Role {
    let (words, read): (_, fn(&str) -> HookWord) = match object.annotation(names::ANNOTATION_HOOK) {
        Some("Skip") => return Role::Skipped,
        Some(words) => (words, argo_hook),
        None => match object.annotation(names::ANNOTATION_HELM_HOOK) {
            Some(words) => (words, helm_hook),
            None => return Role::Member,
        },
    };
    let mut phases = Vec::new();
    let mut ordinary = false;
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match read(word) {
            HookWord::In(phase) if !phases.contains(&phase) => phases.push(phase),
            HookWord::Ordinary => ordinary = true,
            HookWord::In(_) | HookWord::Elsewhere => {}
        }
    }
    match (phases.is_empty(), ordinary) {
        (false, _) => Role::Hook(phases),
        (true, true) => Role::Member,
        (true, false) => Role::Bystander,
    }
}

enum HookWord {
    In(Phase),
    Ordinary,
    Elsewhere,
}

fn argo_hook(word: &str) -> HookWord {
    Phase::from_name(word).map_or(HookWord::Elsewhere, HookWord::In)
}

fn helm_hook(word: &str) -> HookWord {
    match word {
        "pre-install" | "pre-upgrade" => HookWord::In(Phase::PreSync),
        "post-install" | "post-upgrade" => HookWord::In(Phase::PostSync),
        "crd-install" => HookWord::Ordinary,
        _ => HookWord::Elsewhere,
    }
}

/// When a hook object is taken away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookDeletePolicy {
    /// Before the next run creates it anew.
    pub before_creation: bool,
    /// When it has succeeded.
    pub on_success: bool,
    /// When it has failed.
    pub on_failure: bool,
}

/// Reads the delete policies; without a valid one, a hook goes before its next run.
#[must_use]
pub fn hook_delete_policy(object: &Object) -> HookDeletePolicy {
    let mut policy =
        HookDeletePolicy { before_creation: false, on_success: false, on_failure: false };
    for word in list(object, names::ANNOTATION_HOOK_DELETE_POLICY)
        .chain(list(object, names::ANNOTATION_HELM_HOOK_DELETE_POLICY))
    {
        match word {
            "BeforeHookCreation" | "before-hook-creation" => policy.before_creation = true,
            "HookSucceeded" | "hook-succeeded" => policy.on_success = true,
            "HookFailed" | "hook-failed" => policy.on_failure = true,
            _ => {}
        }
    }
    if !policy.on_success && !policy.on_failure {
        policy.before_creation = true;
    }
    policy
}

/// Keeps a hook from vanishing before its result was seen.
pub(crate) fn add_hook_finalizer(hook: &mut Object) {
    if has_hook_finalizer(hook) {
        return;
    }
    let metadata = hook.fields_mut().entry("metadata").or_insert_with(|| json!({}));
    match metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        Some(finalizers) => finalizers.push(json!(names::FINALIZER_HOOK)),
        None => metadata["finalizers"] = json!([names::FINALIZER_HOOK]),
    }
}

/// Is the hook held until its result was seen?
#[must_use]
pub fn has_hook_finalizer(object: &Object) -> bool {
    object.list(&["metadata", "finalizers"]).iter().any(|name| name == names::FINALIZER_HOOK)
}

/// The wave: Argo CD's annotation, else Helm's hook weight, else 0. What is no
/// number is passed over.
#[must_use]
pub fn wave(object: &Object) -> i32 {
    [names::ANNOTATION_SYNC_WAVE, names::ANNOTATION_HELM_HOOK_WEIGHT]
        .into_iter()
        .find_map(|name| object.annotation(name)?.trim().parse().ok())
        .unwrap_or(0)
}

/// Does the object carry this sync option, for instance `Prune=false`?
#[must_use]
pub fn has_sync_option(object: &Object, option: &str) -> bool {
    list(object, names::ANNOTATION_SYNC_OPTIONS).any(|word| word == option)
}

/// What the object itself says to its pruning (`Prune`) or deletion (`Delete`).
pub(crate) fn consent(object: &Object, option: &str) -> Option<Consent> {
    let words: Vec<&str> = list(object, names::ANNOTATION_SYNC_OPTIONS).collect();
    Consent::among(&words, option)
}

/// Does Helm's annotation say that the object outlives its release?
#[must_use]
pub fn is_kept_by_helm(object: &Object) -> bool {
    object.annotation(HELM_RESOURCE_POLICY).is_some_and(|policy| policy.trim() == "keep")
}

/// Does an extra object leave the application's sync status alone?
#[must_use]
pub fn ignores_extraneous(object: &Object) -> bool {
    list(object, names::ANNOTATION_COMPARE_OPTIONS).any(|word| word == "IgnoreExtraneous")
}

/// Is the object left out of the application's health?
#[must_use]
pub fn ignores_health(object: &Object) -> bool {
    object.annotation(names::ANNOTATION_IGNORE_HEALTHCHECK) == Some("true")
}

fn list<'o>(object: &'o Object, annotation: &str) -> impl Iterator<Item = &'o str> + use<'o> {
    object.annotation(annotation).unwrap_or_default().split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(annotations: &serde_json::Value) -> Object {
        Object::from_value(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": annotations},
        }))
        .expect("a test object")
    }

    #[track_caller]
    fn check_role(annotations: serde_json::Value, expect: Role) {
        assert_eq!(role(&annotated(&annotations)), expect);
    }

    #[test]
    fn an_object_without_hook_annotation_is_a_member() {
        check_role(json!({}), Role::Member);
    }

    #[test]
    fn a_hook_may_run_in_several_phases() {
        check_role(
            json!({names::ANNOTATION_HOOK: "PostSync, PreSync,PostSync"}),
            Role::Hook(vec![Phase::PostSync, Phase::PreSync]),
        );
    }

    #[test]
    fn skip_and_unknown_hooks_are_bystanders() {
        check_role(json!({names::ANNOTATION_HOOK: "Skip"}), Role::Skipped);
        check_role(json!({names::ANNOTATION_HOOK: "Sometimes"}), Role::Bystander);
        check_role(json!({names::ANNOTATION_HOOK: "PreDelete"}), Role::Bystander);
    }

    #[test]
    fn helm_hooks_map_to_phases() {
        check_role(
            json!({names::ANNOTATION_HELM_HOOK: "pre-install,pre-upgrade"}),
            Role::Hook(vec![Phase::PreSync]),
        );
        check_role(json!({names::ANNOTATION_HELM_HOOK: "crd-install"}), Role::Member);
        check_role(json!({names::ANNOTATION_HELM_HOOK: "test"}), Role::Bystander);
    }

    #[test]
    fn an_argo_hook_silences_helms() {
        check_role(
            json!({names::ANNOTATION_HOOK: "Sync", names::ANNOTATION_HELM_HOOK: "post-install"}),
            Role::Hook(vec![Phase::Sync]),
        );
    }

    #[test]
    fn a_wave_that_is_no_number_falls_back_to_helms_weight() {
        assert_eq!(
            wave(&annotated(
                &json!({names::ANNOTATION_SYNC_WAVE: "x", names::ANNOTATION_HELM_HOOK_WEIGHT: "-3"})
            )),
            -3
        );
        assert_eq!(wave(&annotated(&json!({names::ANNOTATION_SYNC_WAVE: "5"}))), 5);
        assert_eq!(wave(&annotated(&json!({}))), 0);
    }

    #[test]
    fn a_hook_without_valid_policy_goes_before_its_next_run() {
        let default = hook_delete_policy(&annotated(
            &json!({names::ANNOTATION_HOOK_DELETE_POLICY: "Sometime"}),
        ));
        assert!(default.before_creation && !default.on_success && !default.on_failure);
        let chosen = hook_delete_policy(&annotated(
            &json!({names::ANNOTATION_HOOK_DELETE_POLICY: "HookSucceeded"}),
        ));
        assert!(!chosen.before_creation && chosen.on_success);
    }
}
