//! The tree itself: a JSON object with an apiVersion and a kind.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{GroupKind, GroupVersionKind, ResourceKey};

/// One Kubernetes object, or the manifest of one.
///
/// Constructed only from a tree whose `apiVersion` and `kind` are non-empty
/// strings; everything else may be missing or wrong, and the readers below
/// answer "absent" rather than fail. Keys are sorted, as Go prints them.
///
/// A copy shares the tree until one of the two is changed: comparisons, plans
/// and their tasks hold the same objects many times over.
#[derive(Clone, Debug, PartialEq)]
pub struct Object(Arc<Value>);

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Why a tree is no Kubernetes object. Shown to the author of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnObject {
    /// The top of the document is a list, a string, a number.
    #[error("expected a mapping with apiVersion and kind, found {0}")]
    NotAMapping(&'static str),
    /// A required field is absent, empty or not a string.
    #[error("the field {0:?} is missing or not a string")]
    MissingField(&'static str),
}

impl Object {
    /// Accepts a tree that says what kind of object it is.
    ///
    /// # Errors
    /// When the top is no mapping, or `apiVersion` or `kind` is no string.
    pub fn from_value(value: Value) -> Result<Self, NotAnObject> {
        let Value::Object(fields) = &value else {
            return Err(NotAnObject::NotAMapping(type_name(&value)));
        };
        for field in ["apiVersion", "kind"] {
            match fields.get(field) {
                Some(Value::String(text)) if !text.is_empty() => {}
                _ => return Err(NotAnObject::MissingField(field)),
            }
        }
        Ok(Self(Arc::new(value)))
    }

    /// The object as a JSON value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Arc::unwrap_or_clone(self.0)
    }

    /// The object as a JSON value, to look at.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The top-level fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        self.0.as_object().expect("was a mapping when it was made")
    }

    /// The top-level fields, to change. Do not take `apiVersion` or `kind` away.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        let fields = Arc::make_mut(&mut self.0).as_object_mut();
        fields.expect("was a mapping when it was made")
    }

    /// Follows field names from the top: `at(&["spec", "replicas"])`.
    #[must_use]
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&*self.0, |value, field| value.get(field))
    }

    /// The string at `path`, if there is one.
    #[must_use]
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    /// The integer at `path`, if there is one.
    #[must_use]
    pub fn integer(&self, path: &[&str]) -> Option<i64> {
        self.at(path)?.as_i64()
    }

    /// The list at `path`; an absent list is an empty one.
    #[must_use]
    pub fn list(&self, path: &[&str]) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// `apiVersion`, such as `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"]).unwrap_or_default()
    }

    /// `kind`, such as `Deployment`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text(&["kind"]).unwrap_or_default()
    }

    /// Group, version and kind.
    #[must_use]
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::parse(self.api_version(), self.kind())
    }

    /// Group and kind.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        self.group_version_kind().group_kind()
    }

    /// `metadata.name`; empty when absent (a generateName manifest).
    #[must_use]
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"]).unwrap_or_default()
    }

    /// `metadata.namespace`; empty when absent.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"]).unwrap_or_default()
    }

    /// The identity, as far as the object itself tells it.
    #[must_use]
    pub fn key(&self) -> ResourceKey {
        ResourceKey::new(&self.group_kind(), self.namespace(), self.name())
    }

    /// As kubectl names what it writes: `configmap/my-map`, `deployment.apps/web`.
    #[must_use]
    pub fn kubectl_name(&self) -> String {
        let kind = self.group_kind();
        let dot = if kind.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}/{}", kind.kind.to_lowercase(), kind.group, self.name())
    }

    /// One annotation.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.text(&["metadata", "annotations", name])
    }

    /// One label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.text(&["metadata", "labels", name])
    }

    /// Sets `metadata.namespace`.
    pub fn set_namespace(&mut self, namespace: &str) {
        self.set_metadata("namespace", Value::String(namespace.to_owned()));
    }

    /// Sets `metadata.name`.
    pub fn set_name(&mut self, name: &str) {
        self.set_metadata("name", Value::String(name.to_owned()));
    }

    /// Sets one annotation, making room for it where there is none.
    pub fn set_annotation(&mut self, name: &str, value: &str) {
        self.set_in_metadata_map("annotations", name, value);
    }

    /// Sets one label, making room for it where there is none.
    pub fn set_label(&mut self, name: &str, value: &str) {
        self.set_in_metadata_map("labels", name, value);
    }

    fn set_in_metadata_map(&mut self, map: &str, name: &str, value: &str) {
        let entries = mapping(mapping(self.fields_mut().entry("metadata")).entry(map));
        entries.insert(name.to_owned(), Value::String(value.to_owned()));
    }

    fn set_metadata(&mut self, field: &str, value: Value) {
        mapping(self.fields_mut().entry("metadata")).insert(field.to_owned(), value);
    }
}

/// The mapping at `entry`; whatever else stood there (null, a string) gives way.
fn mapping(entry: serde_json::map::Entry<'_>) -> &mut Map<String, Value> {
    let slot = entry.or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("was just made a mapping")
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).expect("a test object")
    }

    #[test]
    fn a_tree_without_kind_is_refused_with_the_field_that_is_missing() {
        let refused = |value| Object::from_value(value).unwrap_err().to_string();
        assert_eq!(
            refused(json!({"apiVersion": "v1"})),
            "the field \"kind\" is missing or not a string"
        );
        assert_eq!(
            refused(json!({"apiVersion": 1, "kind": "Pod"})),
            "the field \"apiVersion\" is missing or not a string"
        );
        assert_eq!(refused(json!([])), "expected a mapping with apiVersion and kind, found a list");
    }

    #[test]
    fn a_number_of_many_digits_is_read_to_its_last_bit() {
        for text in ["3.0130250538110733", "0.30000000000000004", "123456789.12345678901234567890"]
        {
            let read: Value = serde_json::from_str(text).expect("a number");
            let exact: f64 = text.parse().expect("a number");
            assert_eq!(read.as_f64().map(f64::to_bits), Some(exact.to_bits()), "{text}");
        }
    }

    #[test]
    fn absent_and_mistyped_fields_read_as_absent() {
        let pod = object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": "oops"}));
        assert_eq!(pod.name(), "");
        assert_eq!(pod.annotation("a"), None);
        assert_eq!(pod.list(&["spec", "containers"]), &[] as &[Value]);
    }

    #[test]
    fn an_annotation_finds_room_even_where_metadata_is_null() {
        let mut pod = object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": null}));
        pod.set_annotation("a", "b");
        assert_eq!(pod.annotation("a"), Some("b"));
    }
}
