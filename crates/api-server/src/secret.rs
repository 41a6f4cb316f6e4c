//! What is shown of Secrets: that there are values, not which.

use object::Object;
use serde_json::{Map, Value};

const SIGN: &str = "++++++++";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object as a tree that may be shown; the values of a Secret are signs.
pub(crate) fn masked(object: Object) -> Value {
    let is_secret = object.group_kind().is("", "Secret");
    let mut value = object.into_value();
    if is_secret && let Some(fields) = value.as_object_mut() {
        mask(fields);
    }
    value
}

fn mask(fields: &mut Map<String, Value>) {
    for field in ["data", "stringData"] {
        let values = fields.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
        for (_, value) in values {
            *value = SIGN.into();
        }
    }
    let applied = fields
        .get_mut("metadata")
        .and_then(|it| it.get_mut("annotations"))
        .and_then(|it| it.get_mut(LAST_APPLIED));
    if let Some(applied) = applied {
        // What kubectl remembers is the same Secret once more; what cannot be read is not shown.
        let read = applied.as_str().and_then(|it| serde_json::from_str(it).ok());
        *applied = match read {
            Some(Value::Object(mut fields)) => {
                mask(&mut fields);
                Value::Object(fields).to_string().into()
            }
            _ => SIGN.into(),
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(object: Value, expect: Value) {
        assert_eq!(masked(Object::from_value(object).expect("an object")), expect);
    }

    #[test]
    fn only_secrets_hide_their_values() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        check(map.clone(), map);
        check(
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Yg=="}, "stringData": {"c": ""}}),
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": SIGN}, "stringData": {"c": SIGN}}),
        );
    }

    #[test]
    fn a_copy_of_the_values_in_an_annotation_is_hidden_too() {
        let secret = |applied: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"annotations": {LAST_APPLIED: applied, "other": "stays"}},
            })
        };
        check(secret(r#"{"data":{"a":"Yg=="}}"#), secret(r#"{"data":{"a":"++++++++"}}"#));
        check(secret("no json"), secret(SIGN));
    }
}
