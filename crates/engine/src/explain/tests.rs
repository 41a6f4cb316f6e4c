//! One reason after the other, as text and as JSON.

use api::Application;
use serde_json::json;

use super::*;
use crate::finding::Concern;
use crate::health::BuiltinOnly;
use crate::writing::SyncOptions;
use crate::{CompareSettings, Facts, Rules, Scope, compare, decide, plan};

const NOW: &str = "2026-01-05T00:00:00Z";

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

fn map(kind: &str, name: &str, fields: Value) -> Object {
    let mut value = json!({"apiVersion": "v1", "kind": kind, "metadata": {
        "name": name, "namespace": "shop",
        "annotations": {"argocd.argoproj.io/tracking-id": format!("web:/{kind}:shop/{name}")}}});
    value["data"] = fields;
    Object::from_value(value).expect("an object")
}

fn edited(mut live: Object) -> Object {
    let managed = json!([{"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1",
        "time": "2026-01-04T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:color": {}}}}]);
    let metadata = live.fields_mut().get_mut("metadata").and_then(Value::as_object_mut);
    metadata.expect("metadata").insert("managedFields".into(), managed);
    live
}

fn app(automated: bool) -> Application {
    let mut app = Application::named("argocd", "web");
    app.spec.source = Some(api::ApplicationSource::default());
    app.spec.destination.namespace = "shop".into();
    if automated {
        app.spec.sync_policy = Some(api::SyncPolicy {
            automated: Some(api::SyncPolicyAutomated::default()),
            ..api::SyncPolicy::default()
        });
    }
    app
}

/// The record of an Application with these two sides.
fn record(
    app: &Application,
    want: Vec<Object>,
    live: Vec<Object>,
    window: Option<&str>,
) -> Explanation {
    let whole: BTreeMap<ResourceKey, Object> =
        live.iter().map(|it| (it.key(), it.clone())).collect();
    let (comparing, _) = Comparing::of(app, &CompareSettings::default());
    let kinds = ["ConfigMap", "Secret"].map(|it| object::GroupKind::new("", it));
    let facts = Facts {
        instance: "web".into(),
        destination_namespace: "shop".into(),
        scopes: kinds.map(|it| (it, Scope::Namespaced)).into_iter().collect(),
        ..Facts::default()
    };
    let rules = Rules { health: &BuiltinOnly, comparing: &comparing };
    let (comparison, findings) = compare(want, whole.clone(), rules, &facts);
    let revisions = ["c0ffee".to_owned()];
    let decision =
        decide(app, Some(&comparison), &findings, &revisions, crate::HealBackoff::default(), now());
    let options = SyncOptions::of(app, &api::SyncOperation::default(), "c0ffee", now());
    let plan = plan(&comparison, &options);
    explain(Evidence {
        app,
        revisions: &revisions,
        comparison: Some(&comparison),
        comparing: &comparing,
        findings: &findings,
        whole: &whole,
        masked_annotations: &BTreeSet::new(),
        decision: &decision,
        window,
        plan: Some(&plan),
        now: now(),
    })
}

#[track_caller]
fn says(record: &Explanation, words: &[&str]) {
    let text = record.to_string();
    for words in words {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
}

#[test]
fn a_changed_field_is_told_with_who_changed_it_and_when() {
    let want = map("ConfigMap", "m", json!({"color": "blue"}));
    let live = edited(map("ConfigMap", "m", json!({"color": "red"})));
    let record = record(&app(false), vec![want], vec![live], None);
    assert_eq!((record.sync_status, record.out_of_sync, record.objects), ("OutOfSync", 1, 1));
    says(
        &record,
        &[
            "argocd/web: OutOfSync at c0ffee",
            "ConfigMap shop/m: differs in 1 places; last written by kubectl-edit (Update) at 2026-01-04T00:00:00Z",
            "/data/color: git has \"blue\", the cluster has \"red\"",
            "      set by kubectl-edit (Update) at 2026-01-04T00:00:00Z",
            "By itself it holds: the Application is synced by hand",
            "Sync, wave 0: ConfigMap shop/m: apply",
        ],
    );
    let as_json = serde_json::to_value(&record).expect("JSON");
    let place = &as_json["reasons"][0]["differences"][0];
    assert_eq!(
        (&as_json["reasons"][0]["why"], &place["path"], &place["setBy"][0]["manager"]),
        (&json!("differs"), &json!("/data/color"), &json!("kubectl-edit"))
    );
}

#[test]
fn what_is_missing_and_what_is_too_much_say_so() {
    let want = map("ConfigMap", "new", json!({}));
    let live = map("ConfigMap", "old", json!({}));
    let record = record(&app(true), vec![want], vec![live], None);
    says(
        &record,
        &[
            "ConfigMap shop/new: git wants it, the cluster lacks it",
            "ConfigMap shop/old: git no longer holds it",
            "By itself it syncs: c0ffee was not tried yet; it syncs without pruning",
            "ConfigMap shop/old: leave: ignored (requires pruning)",
        ],
    );
}

#[test]
fn what_is_as_git_wants_it_is_told_as_that() {
    let want = map("ConfigMap", "m", json!({"color": "blue"}));
    let record = record(&app(true), vec![want.clone()], vec![want], None);
    assert_eq!(record.sync_status, "Synced");
    says(&record, &["0 of 1 objects", "everything is as git wants it"]);
}

#[test]
fn a_window_that_is_shut_is_why_nothing_happens() {
    let want = map("ConfigMap", "m", json!({}));
    let record = record(&app(true), vec![want], vec![], Some("denied by the window nights"));
    says(&record, &["By itself it holds: no sync may begin now: denied by the window nights"]);
}

#[test]
fn of_a_secret_only_signs_are_shown() {
    let want = map("Secret", "s", json!({"color": "Ymx1ZQ=="}));
    let live = edited(map("Secret", "s", json!({"color": "cmVk"})));
    let record = record(&app(false), vec![want], vec![live], None);
    says(&record, &["/data/color", "++++", "set by kubectl-edit"]);
    let shown = format!("{record}{}", serde_json::to_string(&record).expect("JSON"));
    assert!(!shown.contains("Ymx1ZQ==") && !shown.contains("cmVk"), "{shown}");
}

#[test]
fn what_could_not_be_established_is_the_reason() {
    let app = app(true);
    let findings = [Finding::new(Concern::Comparison, "the repository does not answer")];
    let decision = decide(&app, None, &findings, &[], crate::HealBackoff::default(), now());
    let record = explain(Evidence {
        app: &app,
        revisions: &[],
        comparison: None,
        comparing: &Comparing::default(),
        findings: &findings,
        whole: &BTreeMap::new(),
        masked_annotations: &BTreeSet::new(),
        decision: &decision,
        window: None,
        plan: None,
        now: now(),
    });
    assert_eq!(record.sync_status, "Unknown");
    says(
        &record,
        &[
            "Unknown at no commit",
            "ComparisonError: the repository does not answer",
            "By itself it holds: what git wants or what is live is not known for sure",
        ],
    );
}
