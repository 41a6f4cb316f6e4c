//! Who set a field, and when: what the API server remembers in `managedFields`.

use jiff::Timestamp;
use object::Object;
use serde::Serialize;
use serde_json::{Map, Value};

/// A write of an object, as far as the API server remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The name that the writer gave itself: `kubectl-edit`, `argocd-controller`.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// What part was written, if it was not the object itself: `status`, `scale`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// When the writer last changed what it owns; since then at the latest the
    /// value is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// Who owns the field at a JSON pointer, the latest first.
pub(crate) fn set(object: &Object, path: &str) -> Vec<Change> {
    let steps: Vec<String> =
        path.split('/').skip(1).map(|it| it.replace("~1", "/").replace("~0", "~")).collect();
    let owns = |entry: &&Value| {
        let fields = entry.get("fieldsV1").and_then(Value::as_object);
        fields.is_some_and(|it| owns(it, object.as_value(), &steps))
    };
    let mut changes: Vec<Change> = entries(object).iter().filter(owns).map(change).collect();
    changes.sort_by_key(|it| std::cmp::Reverse(it.at));
    changes
}

/// Who wrote the object last, its status aside.
pub(crate) fn wrote_last(object: &Object) -> Option<Change> {
    let changes = entries(object).iter().map(change);
    changes.filter(|it| it.subresource != "status").max_by_key(|it| it.at)
}

fn entries(object: &Object) -> &[Value] {
    object.list(&["metadata", "managedFields"])
}

fn change(entry: &Value) -> Change {
    let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    Change {
        manager: text("manager"),
        operation: text("operation"),
        subresource: text("subresource"),
        at: text("time").parse().ok(),
    }
}

/// Does a field set hold what lies at `path` of `live`, alone or with all around it?
fn owns(fields: &Map<String, Value>, live: &Value, path: &[String]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let below = match live {
        Value::Object(map) => {
            fields.get(&format!("f:{step}")).map(|it| (it, map.get(step).unwrap_or(&Value::Null)))
        }
        Value::Array(list) => step.parse::<usize>().ok().and_then(|index| {
            let item = list.get(index)?;
            let is_it = |name: &str| names(name, item, index);
            fields.iter().find(|(name, _)| is_it(name)).map(|(_, it)| (it, item))
        }),
        _ => None,
    };
    let Some((Value::Object(below), live)) = below else { return false };
    // A set that says nothing of what is inside means all of it.
    let is_whole = below.keys().all(|it| it == ".");
    (is_whole && !rest.is_empty()) || owns(below, live, rest)
}

/// Does a name in a field set stand for this element of a list?
fn names(name: &str, item: &Value, index: usize) -> bool {
    match name.split_once(':') {
        Some(("k", key)) => serde_json::from_str::<Map<String, Value>>(key)
            .is_ok_and(|key| key.iter().all(|(field, value)| item.get(field) == Some(value))),
        Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|it| it == *item),
        Some(("i", number)) => number == index.to_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment() -> Object {
        let entry = |manager: &str, time: &str, fields: Value| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "apps/v1",
                "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        let image = json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {
            "k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}});
        Object::from_value(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "finalizers": ["a/b"],
                "annotations": {"example.org/note": "1"}, "managedFields": [
                entry("argocd-controller", "2026-01-01T00:00:00Z", image.clone()),
                entry("kubectl-edit", "2026-01-02T00:00:00Z", image),
                entry("scaler", "2026-01-03T00:00:00Z", json!({"f:spec": {"f:replicas": {}}})),
                entry("holder", "2026-01-04T00:00:00Z",
                    json!({"f:metadata": {"f:finalizers": {"v:\"a/b\"": {}},
                        "f:annotations": {"f:example.org/note": {}}},
                        "f:spec": {"f:selector": {}}})),
            ]},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                "template": {"spec": {"containers": [{"name": "other"}, {"name": "web"}]}}},
        }))
        .expect("an object")
    }

    #[track_caller]
    fn check(path: &str, expect: &[&str]) {
        let found = set(&deployment(), path);
        let managers: Vec<&str> = found.iter().map(|it| it.manager.as_str()).collect();
        assert_eq!(managers, expect, "{path}");
    }

    #[test]
    fn a_field_is_its_owners_the_latest_first() {
        check("/spec/replicas", &["scaler"]);
        check("/spec/template/spec/containers/1/image", &["kubectl-edit", "argocd-controller"]);
        check("/spec/template/spec/containers/0/image", &[]);
        check("/spec/paused", &[]);
    }

    #[test]
    fn names_with_slashes_values_and_whole_maps_are_found() {
        check("/metadata/annotations/example.org~1note", &["holder"]);
        check("/metadata/finalizers/0", &["holder"]);
        check("/spec/selector/matchLabels/app", &["holder"]);
    }

    #[test]
    fn the_last_writer_is_the_latest_of_all() {
        let last = wrote_last(&deployment()).expect("somebody");
        assert_eq!(
            (last.manager.as_str(), last.at.map(|it| it.to_string()).as_deref()),
            ("holder", Some("2026-01-04T00:00:00Z"))
        );
    }
}
