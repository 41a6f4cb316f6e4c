//! Reads types from OpenAPI, as an API server publishes it.
//!
//! Version 3 (`components.schemas`, one document per group and version) and
//! version 2 (`definitions`, one for all) differ in where the types stand;
//! within a type Kubernetes uses the same few constructs in both.

use serde_json::{Map, Value};

use super::{Field, ListKind, MapShape, PatchRule, PatchStrategy, Schema, Shape, ShapeId};
use crate::GroupVersionKind;

/// The document holds no types.
#[derive(Debug, thiserror::Error)]
#[error("expected an OpenAPI document with components.schemas or definitions")]
pub struct NotOpenApi;

/// Types nested deeper than this are left unknown: no document that people
/// write comes near, and reading is recursive.
const MAX_DEPTH: usize = 64;

impl Schema {
    /// Adds the types and kinds of one OpenAPI document, version 2 or 3.
    ///
    /// A type that was known already is replaced.
    ///
    /// # Errors
    /// When the document has no types at all; a strange type inside is read
    /// as "nothing known".
    pub fn add_openapi(&mut self, document: &Value) -> Result<(), NotOpenApi> {
        let types = document
            .pointer("/components/schemas")
            .or_else(|| document.get("definitions"))
            .and_then(Value::as_object)
            .ok_or(NotOpenApi)?;
        for (name, definition) in types {
            self.add_type(name, definition);
        }
        Ok(())
    }

    fn add_type(&mut self, name: &str, definition: &Value) {
        let id = self.named(name);
        self.shapes[id.0] = match name {
            // Published as strings or objects, but treated as one value.
            "io.k8s.apimachinery.pkg.api.resource.Quantity" => Shape::Scalar,
            "io.k8s.apimachinery.pkg.runtime.RawExtension" => Shape::Opaque,
            _ => self.shape_of(definition, false, 0),
        };
        for kind in kinds_of(definition) {
            self.kinds.insert(kind, id);
        }
    }

    fn shape_of(&mut self, definition: &Value, keep_unknown: bool, depth: usize) -> Shape {
        let Some(definition) = definition.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Shape::Any;
        };
        let keep_unknown = keep_unknown || says(definition, "x-kubernetes-preserve-unknown-fields");
        match definition.get("type").and_then(Value::as_str) {
            Some("object") => self.map_shape(definition, keep_unknown, depth),
            Some("array") => self.list_shape(definition, keep_unknown, depth),
            Some("string" | "integer" | "number" | "boolean") => Shape::Scalar,
            _ if definition.contains_key("properties") => {
                self.map_shape(definition, keep_unknown, depth)
            }
            _ if refers(definition).is_some() => {
                let of = self.reference(&Value::Object(definition.clone()), keep_unknown, depth);
                Shape::Refer { of, atomic: None }
            }
            _ => Shape::Any,
        }
    }

    fn map_shape(
        &mut self,
        definition: &Map<String, Value>,
        keep_unknown: bool,
        depth: usize,
    ) -> Shape {
        let mut shape =
            MapShape { atomic: is_atomic(definition) == Some(true), ..Default::default() };
        let properties = definition.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let field = Field {
                shape: self.reference(property, keep_unknown, depth),
                patch: property.as_object().map(PatchRule::from_extensions).unwrap_or_default(),
                default: property.get("default").cloned(),
            };
            shape.fields.insert(name.clone(), field);
        }
        shape.values = match definition.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(self.add(Shape::Any)),
            Some(values) => Some(self.reference(values, keep_unknown, depth)),
            None if keep_unknown || shape.fields.is_empty() => Some(self.add(Shape::Any)),
            None => None,
        };
        Shape::Map(shape)
    }

    fn list_shape(
        &mut self,
        definition: &Map<String, Value>,
        keep_unknown: bool,
        depth: usize,
    ) -> Shape {
        let items = match definition.get("items") {
            Some(items) => self.reference(items, keep_unknown, depth),
            None => self.add(Shape::Opaque),
        };
        Shape::List { items, kind: list_kind(definition) }
    }

    /// A use of a type: by name, by name with another granularity, or inline.
    fn reference(&mut self, usage: &Value, keep_unknown: bool, depth: usize) -> ShapeId {
        let definition = usage.as_object();
        let Some((definition, name)) = definition.and_then(|it| Some((it, refers(it)?))) else {
            let shape = self.shape_of(usage, keep_unknown, depth + 1);
            return self.add(shape);
        };
        let of = self.named(&name);
        match is_atomic(definition) {
            None => of,
            atomic => self.add(Shape::Refer { of, atomic }),
        }
    }
}

fn says(definition: &Map<String, Value>, extension: &str) -> bool {
    definition.get(extension) == Some(&Value::Bool(true))
}

/// The name in `$ref`, which version 3 wraps in a list of one when it has
/// something to add.
fn refers(definition: &Map<String, Value>) -> Option<String> {
    let direct = definition.get("$ref");
    let wrapped = || match definition.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref"),
        _ => None,
    };
    let target = direct.or_else(wrapped)?.as_str()?;
    Some(target.rsplit('/').next().unwrap_or(target).to_owned())
}

fn is_atomic(definition: &Map<String, Value>) -> Option<bool> {
    match definition.get("x-kubernetes-map-type")?.as_str()? {
        "atomic" => Some(true),
        "granular" => Some(false),
        _ => None,
    }
}

/// A list that says nothing about its kind merges as its patch strategy does.
fn list_kind(definition: &Map<String, Value>) -> ListKind {
    let keys = || {
        let keys = definition.get("x-kubernetes-list-map-keys")?.as_array()?;
        Some(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    match definition.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => keys().map_or(ListKind::Atomic, ListKind::Map),
        Some(_) => ListKind::Atomic,
        None => match PatchRule::from_extensions(definition) {
            PatchRule { strategy: PatchStrategy::Merge, merge_key: Some(key), .. } => {
                ListKind::Map(vec![key])
            }
            PatchRule { strategy: PatchStrategy::Merge, merge_key: None, .. } => ListKind::Set,
            _ => ListKind::Atomic,
        },
    }
}

fn kinds_of(definition: &Value) -> Vec<GroupVersionKind> {
    let kinds = definition.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
    let text = |kind: &Value, part: &str| kind.get(part).and_then(Value::as_str).map(str::to_owned);
    kinds
        .into_iter()
        .flatten()
        .filter_map(|kind| {
            Some(GroupVersionKind {
                group: text(kind, "group")?,
                version: text(kind, "version")?,
                kind: text(kind, "kind")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Type;

    fn widget(spec: &Value) -> Schema {
        let mut schema = Schema::default();
        let document = json!({"components": {"schemas": {"example.Widget": {
            "type": "object",
            "properties": {"spec": spec},
            "x-kubernetes-group-version-kind":
                [{"group": "example.com", "version": "v1", "kind": "Widget"}],
        }}}});
        schema.add_openapi(&document).expect("a document with types");
        schema
    }

    fn spec(schema: &Schema) -> Type<'_> {
        let kind = GroupVersionKind::parse("example.com/v1", "Widget");
        schema.of_kind(&kind).expect("the kind just added").entry("spec")
    }

    #[test]
    fn a_document_without_types_is_refused() {
        assert!(Schema::default().add_openapi(&json!({"paths": {}})).is_err());
    }

    #[test]
    fn types_inside_types_are_read_without_a_name() {
        let schema = widget(&json!({"type": "object", "properties": {"parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {"type": "object", "properties": {"id": {"type": "string"}}},
        }}}));
        let parts = spec(&schema).entry("parts");
        assert!(!parts.is_leaf());
        assert!(parts.items().declares("id"));
    }

    #[test]
    fn a_reference_to_nothing_is_a_type_of_which_nothing_is_known() {
        let schema = widget(&json!({"$ref": "#/components/schemas/elsewhere"}));
        assert!(spec(&schema).field("whatever").is_some());
    }

    #[test]
    fn a_type_that_contains_itself_is_read_once() {
        let schema = widget(&json!({"$ref": "#/components/schemas/example.Widget"}));
        assert!(spec(&schema).entry("spec").entry("spec").declares("spec"));
    }

    #[test]
    fn a_type_that_is_only_another_name_for_itself_is_unknown() {
        let mut schema = Schema::default();
        let circle = json!({"definitions": {
            "a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"},
        }});
        schema.add_openapi(&circle).expect("a document with types");
        assert!(schema.type_at(schema.names["a"]).field("x").is_some());
    }
}
