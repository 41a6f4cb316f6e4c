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

/// Two states of one object that may be shown: the values of a Secret are signs,
/// alike where the values are, and unlike where they differ.
pub(crate) fn masked_pair(one: Option<Object>, other: Option<Object>) -> (Value, Value) {
    let is_secret = |it: &Option<Object>| {
        it.as_ref().is_some_and(|object| object.group_kind().is("", "Secret"))
    };
    let is_secret = is_secret(&one) || is_secret(&other);
    let value = |it: Option<Object>| it.map_or(Value::Null, Object::into_value);
    let (mut one, mut other) = (value(one), value(other));
    if !is_secret {
        return (one, other);
    }
    let values = |it: &Value| it.get("data").and_then(Value::as_object).cloned();
    let (before, after) = (values(&one).unwrap_or_default(), values(&other).unwrap_or_default());
    for it in [&mut one, &mut other] {
        if let Some(fields) = it.as_object_mut() {
            mask(fields);
        }
    }
    for (key, value) in &after {
        if before.get(key).is_some_and(|it| it != value) {
            other["data"][key] = format!("{SIGN}++++").into();
        }
    }
    (one, other)
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
    fn signs_differ_where_values_do() {
        let secret = |a: &str| {
            let value = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": a, "b": "x"}});
            Some(Object::from_value(value).expect("an object"))
        };
        let (one, other) = masked_pair(secret("1"), secret("2"));
        assert_eq!((&one["data"]["a"], &one["data"]["b"]), (&SIGN.into(), &SIGN.into()));
        assert_eq!(
            (&other["data"]["a"], &other["data"]["b"]),
            (&"++++++++++++".into(), &SIGN.into())
        );
        assert_eq!(masked_pair(None, secret("1")).0, Value::Null);
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
