//! What is shown of Secrets: that there are values, not which.

use std::collections::BTreeSet;

use engine::diff::hide::hide_secrets;
use object::Object;
use serde_json::Value;

use crate::methods::Call;

/// Hides the values of Secrets and the annotations that the settings name.
#[derive(Default)]
pub(crate) struct Mask {
    annotations: BTreeSet<String>,
}

impl Mask {
    pub(crate) fn of(call: &Call) -> Self {
        let settings = call.server.settings.current();
        Self { annotations: settings.resources.masked_annotations.iter().cloned().collect() }
    }

    /// The object as a tree that may be shown.
    pub(crate) fn shown(&self, mut object: Object) -> Value {
        hide_secrets(Some(&mut object), None, &self.annotations);
        object.into_value()
    }

    /// Two states of one object that may be shown: signs are alike where the
    /// values are, and unlike where they differ.
    pub(crate) fn pair(
        &self,
        mut one: Option<Object>,
        mut other: Option<Object>,
    ) -> (Value, Value) {
        hide_secrets(one.as_mut(), other.as_mut(), &self.annotations);
        let value = |it: Option<Object>| it.map_or(Value::Null, Object::into_value);
        (value(one), value(other))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SIGN: &str = "++++++++";
    const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

    fn mask() -> Mask {
        Mask { annotations: BTreeSet::from(["token".to_owned()]) }
    }

    #[track_caller]
    fn check(object: Value, expect: Value) {
        assert_eq!(mask().shown(Object::from_value(object).expect("an object")), expect);
    }

    #[test]
    fn only_secrets_hide_their_values() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        check(map.clone(), map);
        check(
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Yg=="}, "stringData": {"c": "d"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": SIGN, "c": SIGN}}),
        );
    }

    #[test]
    fn signs_differ_where_values_do() {
        let secret = |a: &str| {
            let value = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": a, "b": "x"}});
            Some(Object::from_value(value).expect("an object"))
        };
        let (one, other) = mask().pair(secret("1"), secret("2"));
        assert_eq!((&one["data"]["a"], &one["data"]["b"]), (&SIGN.into(), &SIGN.into()));
        assert_eq!(
            (&other["data"]["a"], &other["data"]["b"]),
            (&"++++++++++++".into(), &SIGN.into())
        );
        assert_eq!(mask().pair(None, secret("1")).0, Value::Null);
    }

    #[test]
    fn annotations_that_copy_the_values_or_are_named_are_hidden_too() {
        let secret = |applied: &str, token: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"annotations": {LAST_APPLIED: applied, "other": "stays", "token": token}},
            })
        };
        check(
            secret(r#"{"data":{"a":"Yg=="}}"#, "t"),
            secret(r#"{"data":{"a":"++++++++"}}"#, SIGN),
        );
        check(secret("no json", "t"), secret(SIGN, SIGN));
    }
}
