//! Deleting an application with all it tracks: what to delete next.
//!
//! Waves go from the highest to the lowest, and a wave is gone before the next
//! begins: what was created first is removed last.

use std::collections::BTreeMap;

use api::Application;
use object::{Object, ResourceKey};

use crate::marks::{self, TrackedBy};
use crate::writing::{Consent, is_deletion_approved};

/// The next move of a cascade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CascadeStep {
    /// Nothing is deleted before the user has confirmed that these may be.
    AwaitConfirmation(Vec<ResourceKey>),
    /// Delete these; they belong to the same wave.
    Delete(Vec<ResourceKey>),
    /// Deletion is under way; ask again when something changes.
    Wait(Vec<ResourceKey>),
    /// Nothing of the application is left.
    Done,
}

/// Says what to delete next of what `app` tracks under the name `instance`.
#[must_use]
pub fn next(
    live: &BTreeMap<ResourceKey, Object>,
    app: &Application,
    instance: &str,
    tracked_by: &TrackedBy,
) -> CascadeStep {
    let doomed: Vec<(&ResourceKey, &Object)> = live
        .iter()
        .filter(|(key, object)| {
            marks::belongs_to(object, key, instance, tracked_by) && is_doomed(key, object, app)
        })
        .collect();
    let keys =
        |pairs: Vec<(&ResourceKey, &Object)>| pairs.into_iter().map(|it| it.0.clone()).collect();
    let Some(wave) = doomed.iter().map(|(_, object)| marks::wave(object)).max() else {
        return CascadeStep::Done;
    };
    if !is_confirmed(app) {
        let ask_first = |it: &&(&ResourceKey, &Object)| needs_confirmation(it.1, app);
        let unconfirmed: Vec<_> = doomed.iter().filter(ask_first).copied().collect();
        if !unconfirmed.is_empty() {
            return CascadeStep::AwaitConfirmation(keys(unconfirmed));
        }
    }
    let (deleting, standing): (Vec<_>, Vec<_>) = doomed
        .into_iter()
        .filter(|(_, object)| marks::wave(object) == wave)
        .partition(|(_, object)| object.at(&["metadata", "deletionTimestamp"]).is_some());
    if standing.is_empty() {
        CascadeStep::Wait(keys(deleting))
    } else {
        CascadeStep::Delete(keys(standing))
    }
}

/// CRDs stay: deleting one would delete objects that other applications track.
/// An Application among its own objects is being deleted already.
fn is_doomed(key: &ResourceKey, object: &Object, app: &Application) -> bool {
    let is_itself = key.group_kind().is(api::GROUP, Application::KIND)
        && key.name == app.metadata.name
        && key.namespace == app.metadata.namespace;
    let survives = marks::is_kept_by_helm(object)
        || marks::consent(object, "Delete").or(of_application(app, "Delete"))
            == Some(Consent::Refused);
    !is_itself
        && !survives
        && !key.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// Must the user confirm that this object may be deleted with its application?
/// One that may only be pruned after a confirmation counts too.
#[must_use]
pub fn needs_confirmation(object: &Object, app: &Application) -> bool {
    ["Delete", "Prune"].iter().any(|option| {
        marks::consent(object, option).or(of_application(app, option))
            == Some(Consent::AfterConfirmation)
    })
}

fn of_application(app: &Application, option: &str) -> Option<Consent> {
    let words = app.spec.sync_policy.as_ref().map(|it| it.sync_options.as_slice());
    Consent::among(words.unwrap_or_default(), option)
}

fn is_confirmed(app: &Application) -> bool {
    let since = app.metadata.deletion_timestamp.and_then(api::Time::timestamp);
    since.is_some_and(|since| is_deletion_approved(app, since))
}

#[cfg(test)]
mod tests {
    use api::SyncPolicy;
    use serde_json::json;

    use super::*;

    /// `name@wave`, `name@wave!` when its deletion has begun; annotations after that.
    fn cluster(objects: &[(&str, i32, bool, &str)]) -> BTreeMap<ResourceKey, Object> {
        objects
            .iter()
            .map(|(name, wave, deleting, option)| {
                let mut object = Object::from_value(json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": "web", "annotations": {
                        "argocd.argoproj.io/tracking-id": format!("app:/ConfigMap:web/{name}"),
                        "argocd.argoproj.io/sync-wave": wave.to_string(),
                        "argocd.argoproj.io/sync-options": option,
                    }},
                }))
                .expect("a test object");
                if *deleting {
                    object.fields_mut()["metadata"]["deletionTimestamp"] = json!("now");
                }
                (object.key(), object)
            })
            .collect()
    }

    #[track_caller]
    fn check(objects: &[(&str, i32, bool, &str)], expect: &str) {
        check_app(&Application::named("argocd", "app"), objects, expect);
    }

    #[track_caller]
    fn check_app(app: &Application, objects: &[(&str, i32, bool, &str)], expect: &str) {
        let names = |keys: Vec<ResourceKey>| {
            keys.into_iter().map(|key| key.name).collect::<Vec<_>>().join(" ")
        };
        let step = match next(&cluster(objects), app, "app", &TrackedBy::default()) {
            CascadeStep::AwaitConfirmation(keys) => format!("ask about {}", names(keys)),
            CascadeStep::Delete(keys) => format!("delete {}", names(keys)),
            CascadeStep::Wait(keys) => format!("wait {}", names(keys)),
            CascadeStep::Done => "done".into(),
        };
        assert_eq!(step, expect);
    }

    #[test]
    fn the_highest_wave_goes_first() {
        check(&[("a", 0, false, ""), ("b", 1, false, ""), ("c", 1, false, "")], "delete b c");
    }

    #[test]
    fn a_wave_is_gone_before_the_next_begins() {
        check(&[("a", 0, false, ""), ("b", 1, true, "")], "wait b");
    }

    #[test]
    fn what_must_survive_survives() {
        check(&[("a", 0, false, "Delete=false")], "done");
    }

    #[test]
    fn what_helm_keeps_and_definitions_survive() {
        let mut live = cluster(&[("a", 0, false, "")]);
        live.values_mut().for_each(|it| it.set_annotation("helm.sh/resource-policy", "keep"));
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition", "metadata": {"name": "ships", "annotations": {
                "argocd.argoproj.io/tracking-id":
                    "app:apiextensions.k8s.io/CustomResourceDefinition:/ships"}}});
        let definition = Object::from_value(definition).expect("an object");
        live.insert(definition.key(), definition);
        let app = Application::named("argocd", "app");
        assert_eq!(next(&live, &app, "app", &TrackedBy::default()), CascadeStep::Done);
    }

    fn with_options(words: &[&str]) -> Application {
        let mut app = Application::named("argocd", "app");
        let words = words.iter().map(|it| (*it).to_owned()).collect();
        app.spec.sync_policy = Some(SyncPolicy { sync_options: words, ..SyncPolicy::default() });
        app
    }

    #[test]
    fn an_object_beats_the_application_about_surviving() {
        let objects = [("a", 0, false, ""), ("b", 0, false, "Delete=true")];
        check_app(&with_options(&["Delete=false"]), &objects, "delete b");
    }

    #[test]
    fn nothing_goes_before_the_user_has_confirmed() {
        let objects = [("a", 1, false, ""), ("b", 0, false, "Delete=confirm")];
        check(&objects, "ask about b");
        check(&[("a", 1, false, ""), ("b", 0, false, "Prune=confirm")], "ask about b");
        check_app(&with_options(&["Delete=confirm"]), &objects[..1], "ask about a");
    }

    #[test]
    fn a_confirmation_counts_if_it_is_younger_than_the_deletion() {
        let mut app = Application::named("argocd", "app");
        let time = |text: &str| serde_json::from_value(json!(text)).expect("a time");
        app.metadata.deletion_timestamp = Some(time("2026-01-01T10:00:00Z"));
        let objects = [("a", 0, false, "Delete=confirm")];
        for (approved, expect) in
            [("2026-01-01T09:59:59Z", "ask about a"), ("2026-01-01T10:00:00Z", "delete a")]
        {
            let name = api::names::ANNOTATION_DELETION_APPROVED.to_owned();
            app.metadata.annotations.insert(name, approved.into());
            check_app(&app, &objects, expect);
        }
    }

    #[test]
    fn other_applications_objects_are_not_ours() {
        let app = Application::named("argocd", "other");
        assert_eq!(
            next(&cluster(&[("a", 0, false, "")]), &app, "other", &TrackedBy::default()),
            CascadeStep::Done
        );
    }
}
