//! What holds for every object and every sync, not only for those in the cases.

use std::collections::BTreeMap;

use api::{Application, SyncOperation};
use engine::diff::{CompareSettings, diff, is_settled, sides, three_way::LAST_APPLIED};
use engine::health::BuiltinOnly;
use engine::{
    Action, Comparing, Comparison, Facts, Look, Move, Outcome, Progress, Rules, Scope, Step,
    SyncOptions, compare, plan, step,
};
use jiff::{SignedDuration, Timestamp};
use object::fields::{FieldSet, unsettled};
use object::schema::{Schema, Type};
use object::{GroupKind, Object, ResourceKey};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text() -> impl Strategy<Value = String> {
    "[ab]{0,2}"
}

fn data() -> impl Strategy<Value = Value> {
    btree_map("[abc]", text(), 0..4).prop_map(|it| json!(it))
}

fn container() -> impl Strategy<Value = Value> {
    ("[xyz]", text(), prop_oneof![Just("1"), Just("1000m"), Just("500m"), Just("0.5")], data())
        .prop_map(|(name, image, cpu, labels)| {
            json!({"name": name, "image": image, "resources": {"limits": {"cpu": cpu}},
                "env": labels.as_object().expect("a mapping").iter()
                    .map(|(name, value)| json!({"name": name, "value": value}))
                    .collect::<Vec<_>>()})
        })
}

fn object() -> impl Strategy<Value = Object> {
    let map = (data(), data()).prop_map(|(data, labels)| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "web", "labels": labels}, "data": data})
    });
    let widget = (data(), vec(text(), 0..3)).prop_map(|(fields, list)| {
        json!({"apiVersion": "example.org/v1", "kind": "Widget",
            "metadata": {"name": "a", "namespace": "web"}, "spec": {"fields": fields, "list": list}})
    });
    let deployment = (vec(container(), 1..3), 0..3).prop_map(|(mut containers, replicas)| {
        containers.dedup_by_key(|it| it["name"].clone());
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "web"},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}}})
    });
    prop_oneof![map, widget, deployment].prop_map(|it| Object::from_value(it).expect("an object"))
}

/// Two states of one object.
fn two() -> impl Strategy<Value = (Object, Object)> {
    (object(), object()).prop_filter("of one kind", |(a, b)| a.kind() == b.kind())
}

/// The same object with one more field, or another number of replicas.
fn stating(it: &Object, number: u32) -> Object {
    let mut it = it.clone();
    let kind = it.kind().to_owned();
    let fields = it.fields_mut();
    match kind.as_str() {
        "ConfigMap" => fields["data"]["z"] = json!(number.to_string()),
        "Widget" => fields["spec"]["fields"]["z"] = json!(number),
        _ => fields["spec"]["replicas"] = json!(number),
    }
    it
}

fn remembering(mut live: Object, applied: &Object) -> Object {
    live.set_annotation(LAST_APPLIED, &applied.clone().into_value().to_string());
    live
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(it in object()) {
        prop_assert_eq!(diff(&it, &it, &Comparing::default()), vec![]);
        let remembered = remembering(it.clone(), &it);
        prop_assert_eq!(diff(&it, &remembered, &Comparing::default()), vec![]);
    }

    /// Otherwise a diff that never finds anything would pass for one that is right.
    #[test]
    fn what_git_states_and_is_otherwise_live_is_a_difference(it in object(), last in object()) {
        let (want, live) = (stating(&it, 5), stating(&it, 7));
        let remembered = [remembering(live.clone(), &live), remembering(live.clone(), &want),
            remembering(live.clone(), &last), live];
        for live in remembered {
            prop_assert_ne!(diff(&want, &live, &Comparing::default()), vec![]);
            prop_assert!(!is_settled(&want, &live, &Comparing::default()));
        }
    }

    #[test]
    fn what_git_dropped_since_the_last_apply_is_a_difference(it in object()) {
        // A Deployment's replicas have a default, which dropping them may mean.
        prop_assume!(it.kind() != "Deployment");
        let before = stating(&it, 5);
        let live = remembering(before.clone(), &before);
        prop_assert_ne!(diff(&it, &live, &Comparing::default()), vec![]);
        prop_assert_eq!(diff(&it, &before, &Comparing::default()), vec![], "somebody else's");
    }

    #[test]
    fn what_was_predicted_is_synced_once_it_came_true((want, live) in two()) {
        let comparing = Comparing::default();
        let predicted = sides(&want, &remembering(live.clone(), &live), &comparing).predicted;
        let predicted = Object::from_value(predicted).expect("an object");
        let applied = remembering(predicted, &want);
        prop_assert_eq!(diff(&want, &applied, &comparing), vec![]);
    }

    /// The quick answer is never another than the careful one.
    #[test]
    fn what_is_plainly_settled_does_not_differ((want, live) in two(), last in object()) {
        for live in [live.clone(), want.clone(), remembering(live, &last), remembering(want.clone(), &want)] {
            let comparing = Comparing::default();
            if is_settled(&want, &live, &comparing) {
                prop_assert_eq!(sides(&want, &live, &comparing).differences(), vec![]);
            }
        }
        let remembered = remembering(want.clone(), &want);
        prop_assert!(is_settled(&want, &remembered, &Comparing::default()));
    }

    /// Nor is the prediction another where what was applied last need not be
    /// looked at closely, as it is when somebody asks to ignore something.
    #[test]
    fn what_was_applied_last_is_looked_at_as_closely_as_needed(
        (want, live) in two(), images in vec(text(), 2), name in "[xy]", other in object(),
    ) {
        let mut last = want.clone();
        let containers = last.fields_mut().get_mut("spec")
            .and_then(|it| it.pointer_mut("/template/spec/containers"))
            .and_then(Value::as_array_mut);
        for (container, image) in containers.into_iter().flatten().zip(&images) {
            container["image"] = json!(image);
        }
        let mut renamed = last.clone();
        let spec = renamed.fields_mut().get_mut("spec");
        if let Some(first) = spec.and_then(|it| it.pointer_mut("/template/spec/containers/0")) {
            first["name"] = json!(name);
        }
        let elsewhere = json!([{"group": "example.org", "kind": "Nothing", "jsonPointers": ["/a"]}]);
        let mut app = Application::named("argocd", "app");
        app.spec.ignore_differences = serde_json::from_value(elsewhere).expect("rules");
        let (careful, _) = Comparing::of(&app, &CompareSettings::default());
        for last in [last, renamed, other] {
            let live = remembering(live.clone(), &last);
            let quick = sides(&want, &live, &Comparing::default());
            prop_assert_eq!(quick, sides(&want, &live, &careful));
        }
    }

    #[test]
    fn by_ownership_too((want, live) in two()) {
        let comparing = Comparing { applies_server_side: true, ..Comparing::default() };
        let predicted = sides(&want, &live, &comparing).predicted;
        let predicted = Object::from_value(predicted).expect("an object");
        prop_assert_eq!(diff(&want, &predicted, &comparing), vec![]);
    }

    /// What is decided without asking the API server is what it would say.
    #[test]
    fn what_is_settled_does_not_differ((want, live) in two()) {
        let comparing = Comparing { applies_server_side: true, ..Comparing::default() };
        let value = |it: &Object| Value::Object(it.fields().clone());
        let of = Schema::builtin().of_kind(&want.group_version_kind()).unwrap_or_else(Type::unknown);
        let owned = FieldSet::applied(&value(&want), of).expect("told apart");
        let mut live = live;
        live.fields_mut()["metadata"]["managedFields"] = json!([{"manager": comparing.manager,
            "operation": "Apply", "fieldsV1": owned.to_json()}]);
        if unsettled(&value(&want), &value(&live), &owned, of) == Ok(None) {
            prop_assert_eq!(diff(&want, &live, &comparing), vec![]);
        }
    }
}

#[derive(Clone, Debug)]
struct Scene {
    want: Vec<Object>,
    live: Vec<Object>,
    refused: Vec<String>,
}

fn member(index: usize, wave: i32, content: &str, tracked: bool, hook: bool) -> Object {
    let name = format!("m{index}");
    let mut annotations = json!({"argocd.argoproj.io/sync-wave": wave.to_string()});
    if tracked {
        annotations["argocd.argoproj.io/tracking-id"] = json!(format!("app:/ConfigMap:web/{name}"));
    }
    if hook {
        annotations["argocd.argoproj.io/hook"] = json!("PreSync");
    }
    Object::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "web", "annotations": annotations},
        "data": {"content": content}}))
    .expect("an object")
}

fn scene() -> impl Strategy<Value = Scene> {
    let wanted = vec((0usize..6, -1i32..2, text(), any::<bool>()), 0..5);
    let found = vec((0usize..6, -1i32..2, text(), any::<bool>()), 0..5);
    (wanted, found, vec("m[0-5]", 0..2)).prop_map(|(wanted, found, refused)| {
        let mut want: Vec<Object> = wanted
            .iter()
            .map(|(index, wave, content, hook)| member(*index, *wave, content, true, *hook))
            .collect();
        want.sort_by_key(Object::key);
        want.dedup_by_key(|it| it.key());
        let live = found
            .iter()
            .map(|(index, wave, content, tracked)| member(*index, *wave, content, *tracked, false))
            .collect();
        Scene { want, live, refused }
    })
}

fn facts() -> Facts {
    Facts {
        tracked_by: engine::TrackedBy::default(),
        instance: "app".into(),
        destination_namespace: "web".into(),
        scopes: [(GroupKind::new("", "ConfigMap"), Scope::Namespaced)].into(),
        ..Facts::default()
    }
}

fn judged(want: Vec<Object>, live: &BTreeMap<ResourceKey, Object>) -> Comparison {
    let comparing = Comparing::default();
    let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
    compare(want, live.clone(), rules, &facts()).0
}

fn options() -> SyncOptions {
    let app = Application::named("argocd", "app");
    let sync = SyncOperation { prune: true, ..SyncOperation::default() };
    SyncOptions::of(&app, &sync, "0123456789", Timestamp::UNIX_EPOCH)
}

/// Carries a sync out to its end, in a cluster where everything works at once
/// but what is refused. Returns how it ended.
fn carry_out(scene: &Scene, live: &mut BTreeMap<ResourceKey, Object>) -> Result<bool, String> {
    let comparison = judged(scene.want.clone(), live);
    let plan = plan(&comparison, &options());
    let mut progress = Progress::new();
    let mut now = Timestamp::UNIX_EPOCH;
    for _ in 0..200 {
        let look = Look { live, health: &BuiltinOnly, dry_run: false, now };
        let advice = step(&plan, &progress, look);
        progress.extend(advice.learned);
        let moves = match advice.step {
            Step::Done { .. } => return Ok(true),
            Step::Failed { .. } => return Ok(false),
            Step::Wait { .. } => {
                now += SignedDuration::from_secs(3);
                continue;
            }
            Step::Run(moves) => moves,
        };
        for movement in moves {
            match movement {
                Move::Check(task) => drop(progress.insert(task.id.clone(), Outcome::Checked)),
                Move::Apply(task) => {
                    let refused = scene.refused.contains(&task.id.key.name);
                    let outcome = if refused {
                        Outcome::Failed { message: "no".into(), was_applied: false }
                    } else {
                        let object = task.action.object();
                        let applied = remembering(object.clone(), object);
                        live.insert(task.id.key.clone(), applied);
                        Outcome::written("written".into(), true, now)
                    };
                    progress.insert(task.id.clone(), outcome);
                }
                Move::Prune(task) => {
                    let tracked = live.get(&task.id.key).is_some_and(|it| {
                        it.annotation("argocd.argoproj.io/tracking-id").is_some()
                    });
                    if !tracked {
                        return Err(format!("{} is not tracked", task.id.key));
                    }
                    live.remove(&task.id.key);
                    let outcome = Outcome::Pruned { message: "pruned".into() };
                    progress.insert(task.id.clone(), outcome);
                }
                Move::ReleaseHook(task) => {
                    let hook = live.get_mut(&task.id.key).expect("a live hook");
                    hook.fields_mut()["metadata"]["finalizers"] = json!([]);
                }
                Move::RemoveHook(task) => drop(live.remove(&task.id.key)),
            }
        }
    }
    Err("the sync does not end".into())
}

fn by_key(objects: &[Object]) -> BTreeMap<ResourceKey, Object> {
    objects.iter().map(|it| (it.key(), it.clone())).collect()
}

proptest! {
    #[test]
    fn every_sync_ends_deletes_only_what_is_tracked_and_leaves_nothing_to_do(scene in scene()) {
        let mut live = by_key(&scene.live);
        let succeeded = carry_out(&scene, &mut live).map_err(TestCaseError::fail)?;
        let wanted = by_key(&scene.want);
        let is_refused = |key: &ResourceKey| scene.refused.contains(&key.name);
        prop_assert!(succeeded || wanted.keys().any(is_refused), "nothing was in its way");
        for (key, before) in by_key(&scene.live).iter().filter(|(key, _)| !wanted.contains_key(key)) {
            let is_tracked = before.annotation("argocd.argoproj.io/tracking-id").is_some();
            if !is_tracked {
                prop_assert_eq!(live.get(key), Some(before), "nobody's business");
            } else if succeeded {
                prop_assert_eq!(live.get(key), None, "git does not want it");
            }
        }
        if succeeded {
            // What became a hook was no hook before: git no longer wants it as a member.
            let is_member = |it: &&Object| it.annotation("argocd.argoproj.io/hook").is_none();
            for want in wanted.values().filter(is_member) {
                let key = &want.key();
                let content = |it: &Object| it.text(&["data", "content"]).map(str::to_owned);
                prop_assert_eq!(live.get(key).map(content), Some(content(want)), "{}", key);
            }
            let comparison = judged(scene.want.clone(), &live);
            let again = plan(&comparison, &options());
            for task in again.tasks() {
                let nothing = matches!(task.action, Action::Keep(_) | Action::Hook(..));
                prop_assert!(nothing, "{} is left to do", task);
            }
        }
    }

    #[test]
    fn the_order_of_manifests_does_not_matter(scene in scene()) {
        let live = by_key(&scene.live);
        let mut reversed = scene.want.clone();
        reversed.reverse();
        let plan_of = |want: Vec<Object>| {
            plan(&judged(want, &live), &options()).to_string()
        };
        prop_assert_eq!(plan_of(scene.want), plan_of(reversed));
    }
}
