//! Answers of the real Argo CD; see `testkit::cases`.

use object::{Object, ResourceKey};
use render::tracking::{self, Tracking, TrackingId, TrackingMethod};
use serde_json::{Value, json};
use testkit::cases;

/// Argo CD's rows have objects without a kind, which an [`Object`] cannot be:
/// they get this one, and the ids in the expectation with them.
const KIND: &str = "Thing";

#[test]
fn tracking() {
    let Some(table) = cases::read("tracking.tsv") else { return };
    let (mut passed, mut failures) = (0, Vec::new());
    for row in cases::rows(&table) {
        let [op, input, expected, error] = row.as_slice() else { panic!("four cells: {row:?}") };
        let input: Value = with_kind(serde_json::from_str(input).unwrap());
        let expected: Value = with_kind(serde_json::from_str(expected).unwrap());
        match answer(op, &input) {
            Err(message) if !error.is_empty() && message == *error => passed += 1,
            Ok(value) if error.is_empty() && value == expected => passed += 1,
            other => failures
                .push(format!("{op} {input}\n  expected {expected} {error}\n  found {other:?}")),
        }
    }
    cases::report("tracking", passed, &failures);
}

/// Does what a row asks for; the answer in the row's own form.
fn answer(op: &str, input: &Value) -> Result<Value, String> {
    let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
    let method = TrackingMethod::parse(&text("method"));
    let tracking =
        Tracking { method, label_key: text("label"), installation_id: text("installation") };
    let object = |name: &str| Object::from_value(input[name].clone()).map_err(|it| it.to_string());
    match op {
        "app-name" => {
            let app = tracking::app_name(&object("object")?, &tracking);
            Ok(json!({ "app": app.unwrap_or_default() }))
        }
        "set" => {
            let mut object = object("object")?;
            tracking::set(&mut object, &text("app"), &text("namespace"), &tracking)
                .map_err(|it| it.to_string())?;
            Ok(json!({ "object": object.into_value() }))
        }
        "remove" => {
            let mut object = object("object")?;
            tracking::remove(&mut object, method).map_err(|it| it.to_string())?;
            Ok(json!({ "object": object.into_value() }))
        }
        "normalise" => {
            let (config, mut live) = (object("config")?, object("live")?);
            tracking::normalise(&config, &mut live, &text("label"), method)
                .map_err(|it| it.to_string())?;
            Ok(json!({ "config": config.into_value(), "live": live.into_value() }))
        }
        "build-id" => {
            let field = |name: &str| input["value"][name].as_str().unwrap_or_default().to_owned();
            let key = ResourceKey {
                group: field("Group"),
                kind: field("Kind"),
                namespace: field("Namespace"),
                name: field("Name"),
            };
            Ok(json!({ "text": TrackingId { app: field("ApplicationName"), key }.to_string() }))
        }
        "parse-id" => {
            let id: TrackingId =
                text("text").parse().map_err(|it: tracking::TrackingError| it.to_string())?;
            let ResourceKey { group, kind, namespace, name } = id.key;
            let value = json!({ "ApplicationName": id.app, "Group": group, "Kind": kind, "Namespace": namespace, "Name": name });
            Ok(json!({ "value": value }))
        }
        "truncate-label" => tracking::truncate_label(&text("text"))
            .map(|label| json!({ "label": label }))
            .map_err(|it| it.to_string()),
        other => panic!("an unknown operation: {other}"),
    }
}

/// Gives every object of a row a kind, and every id of one without a kind.
fn with_kind(mut row: Value) -> Value {
    for name in ["object", "config", "live"] {
        let Some(object) = row.get_mut(name) else { continue };
        if object.is_null() {
            *object = json!({ "apiVersion": null, "kind": null });
        }
        if object["kind"].is_null() {
            object["kind"] = json!(KIND);
            object["apiVersion"] = json!("v1");
            if let Some(id) =
                object.pointer_mut("/metadata/annotations/argocd.argoproj.io~1tracking-id")
            {
                let text = id.as_str().expect("an id is text");
                *id = json!(text.replace(":/:/", &format!(":/{KIND}:/")));
            }
        }
    }
    row
}
