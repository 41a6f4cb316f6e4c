//! What is known about the fields of a kind: how its lists are merged.
//!
//! Two families of rules need it: strategic merge patches
//! (`x-kubernetes-patch-strategy` and `-merge-key`, facts about a *field*) and
//! server-side apply (`x-kubernetes-list-type`, `-list-map-keys`, `-map-type`,
//! facts about a *value*). One [`Schema`] holds both. It comes from the
//! OpenAPI documents of a cluster ([`Schema::add_openapi`]) or is the one this
//! program brings along ([`Schema::builtin`]).
//!
//! Readers walk it with a [`Type`], a small copyable reference: ask the schema
//! for the type of a kind, then follow the object down with [`Type::field`]
//! and [`Type::items`].

mod openapi;
mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::GroupVersionKind;

pub use openapi::NotOpenApi;
pub use table::BadTable;

/// The types of some kinds, by group, version and kind.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Begins with [`PLAIN`], which everybody shares.
    shapes: Vec<Shape>,
    names: BTreeMap<String, ShapeId>,
    kinds: BTreeMap<GroupVersionKind, ShapeId>,
}

/// The type of one value, or that nothing is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Type<'s> {
    schema: &'s Schema,
    shape: &'s Shape,
    /// Said by the field that refers to a shape; outweighs what the shape says.
    atomic: Option<bool>,
}

/// How the elements of a list are told apart when two writers share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// They are not: the list is one value.
    Atomic,
    /// By their value.
    Set,
    /// By the values of these fields.
    Map(Vec<String>),
}

/// How a strategic merge patch treats one field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchRule {
    /// What happens to the elements of a list, or to the fields of a mapping.
    pub strategy: PatchStrategy,
    /// `retainKeys`: fields that the patch does not list are cleared.
    pub retain_keys: bool,
    /// The field that tells list elements apart; none for lists of scalars.
    pub merge_key: Option<String>,
}

/// The part of `x-kubernetes-patch-strategy` that is not `retainKeys`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchStrategy {
    /// Mappings are merged, lists are replaced.
    #[default]
    Unspecified,
    /// Lists are merged too.
    Merge,
    /// The whole value is replaced.
    Replace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ShapeId(usize);

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Scalar,
    /// Nothing known: mappings are merged field by field, lists are one value.
    Any,
    /// Nothing known and nothing inside may be told apart.
    Opaque,
    Map(MapShape),
    List {
        items: ShapeId,
        kind: ListKind,
    },
    /// Another shape, with its granularity perhaps overruled by who refers to it.
    Refer {
        of: ShapeId,
        atomic: Option<bool>,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
struct MapShape {
    fields: BTreeMap<String, Field>,
    /// The type of entries that are no declared field.
    values: Option<ShapeId>,
    atomic: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    shape: ShapeId,
    patch: PatchRule,
    default: Option<Value>,
}

/// What a value of a [`Type`] is for those who own parts of it.
pub(crate) enum Granularity<'s> {
    /// One indivisible value.
    Leaf,
    /// A mapping whose entries have owners of their own.
    Map,
    /// A list whose elements have owners of their own.
    List(&'s ListKind, Type<'s>),
}

/// The shapes without content, which are most of all shapes.
const PLAIN: [Shape; 3] = [Shape::Scalar, Shape::Any, Shape::Opaque];

static BUILTIN: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_table(include_str!("schema/builtin.txt")).expect("the table we ship is readable")
});

static NOTHING_KNOWN: LazyLock<Schema> = LazyLock::new(Schema::default);

static ANY: Shape = Shape::Any;

impl Default for Schema {
    fn default() -> Self {
        Self { shapes: PLAIN.to_vec(), names: BTreeMap::new(), kinds: BTreeMap::new() }
    }
}

impl Schema {
    /// The kinds that every Kubernetes API server has.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// The type of a kind, if it is known here.
    #[must_use]
    pub fn of_kind(&self, kind: &GroupVersionKind) -> Option<Type<'_>> {
        self.kinds.get(kind).map(|id| self.type_at(*id))
    }

    /// The kinds known here.
    pub fn kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.kinds.keys()
    }

    fn type_at(&self, id: ShapeId) -> Type<'_> {
        let mut found = Type { schema: self, shape: &self.shapes[id.0], atomic: None };
        // A chain of references is as long as the document makes it, but it
        // must not be a circle.
        for _ in 0..self.shapes.len() {
            let Shape::Refer { of, atomic } = found.shape else { return found };
            let outer = found.atomic;
            found.shape = &self.shapes[of.0];
            found.atomic = outer.or(*atomic);
        }
        Type { schema: self, shape: &ANY, atomic: None }
    }

    fn add(&mut self, shape: Shape) -> ShapeId {
        if let Some(plain) = PLAIN.iter().position(|plain| *plain == shape) {
            return ShapeId(plain);
        }
        self.shapes.push(shape);
        ShapeId(self.shapes.len() - 1)
    }

    /// The id of a named type. One that is never defined stays [`Shape::Any`].
    fn named(&mut self, name: &str) -> ShapeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        self.shapes.push(Shape::Any);
        let id = ShapeId(self.shapes.len() - 1);
        self.names.insert(name.to_owned(), id);
        id
    }
}

impl Type<'static> {
    /// The type of a value about which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Type { schema: &NOTHING_KNOWN, shape: &ANY, atomic: None }
    }
}

impl<'s> Type<'s> {
    /// The type of the field `name` and how a strategic merge patch treats it.
    ///
    /// `None` when this is a type with declared fields and `name` is not one
    /// of them, or when a value of this type has no fields.
    #[must_use]
    pub fn field(self, name: &str) -> Option<(Self, &'s PatchRule)> {
        static NO_RULE: PatchRule =
            PatchRule { strategy: PatchStrategy::Unspecified, retain_keys: false, merge_key: None };
        match self.shape {
            Shape::Map(map) => match map.fields.get(name) {
                Some(field) => Some((self.schema.type_at(field.shape), &field.patch)),
                None => map.values.map(|id| (self.schema.type_at(id), &NO_RULE)),
            },
            Shape::Any | Shape::Opaque => Some((self, &NO_RULE)),
            Shape::Scalar | Shape::List { .. } | Shape::Refer { .. } => None,
        }
    }

    /// The type of the elements; of a value that is no list, nothing is known.
    #[must_use]
    pub fn items(self) -> Self {
        match self.shape {
            Shape::List { items, .. } => self.schema.type_at(*items),
            _ => self.nothing_known(),
        }
    }

    /// The type of what stands at `name`, known or not.
    pub(crate) fn entry(self, name: &str) -> Self {
        self.field(name).map_or_else(|| self.nothing_known(), |(found, _)| found)
    }

    /// Is `name` a declared field, rather than an entry of a free mapping?
    #[cfg(test)]
    pub(crate) fn declares(self, name: &str) -> bool {
        matches!(self.shape, Shape::Map(map) if map.fields.contains_key(name))
    }

    /// May `name` be any entry that the writer of an object likes?
    pub(crate) fn is_free(self, name: &str) -> bool {
        match self.shape {
            Shape::Map(map) => map.values.is_some() && !map.fields.contains_key(name),
            Shape::Any | Shape::Opaque => true,
            Shape::Scalar | Shape::List { .. } | Shape::Refer { .. } => false,
        }
    }

    /// The value that `name` has in an element that leaves it out.
    pub(crate) fn default_of(self, name: &str) -> Option<&'s Value> {
        match self.shape {
            Shape::Map(map) => map.fields.get(name)?.default.as_ref(),
            _ => None,
        }
    }

    /// How ownership divides `value`, which may be of another type than declared.
    pub(crate) fn granularity(self, value: &Value) -> Granularity<'s> {
        match (self.shape, value) {
            (Shape::Opaque, _) => Granularity::Leaf,
            (Shape::Map(map), Value::Object(_)) if !self.atomic.unwrap_or(map.atomic) => {
                Granularity::Map
            }
            (Shape::Any, Value::Object(_)) if self.atomic != Some(true) => Granularity::Map,
            (Shape::List { kind, items }, Value::Array(_)) if *kind != ListKind::Atomic => {
                Granularity::List(kind, self.schema.type_at(*items))
            }
            _ => Granularity::Leaf,
        }
    }

    /// Does the declaration, whatever the value, make this one indivisible?
    pub(crate) fn is_leaf(self) -> bool {
        match self.shape {
            Shape::Scalar | Shape::Opaque => true,
            Shape::Map(map) => self.atomic.unwrap_or(map.atomic),
            Shape::List { kind, .. } => *kind == ListKind::Atomic,
            Shape::Any | Shape::Refer { .. } => false,
        }
    }

    fn nothing_known(self) -> Self {
        Type { schema: self.schema, shape: &ANY, atomic: None }
    }
}

impl PatchRule {
    /// Reads `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
    fn from_extensions(extensions: &Map<String, Value>) -> Self {
        let text = |name: &str| extensions.get(name).and_then(Value::as_str);
        let mut rule = Self {
            merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
            ..Self::default()
        };
        for strategy in text("x-kubernetes-patch-strategy").unwrap_or_default().split(',') {
            match strategy {
                "retainKeys" => rule.retain_keys = true,
                "merge" => rule.strategy = PatchStrategy::Merge,
                "replace" => rule.strategy = PatchStrategy::Replace,
                _ => {}
            }
        }
        rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin(api_version: &str, kind: &str) -> Type<'static> {
        let kind = GroupVersionKind::parse(api_version, kind);
        Schema::builtin().of_kind(&kind).expect("a core kind")
    }

    #[track_caller]
    fn check_rule(path: &[&str], expect: &PatchRule) {
        let mut found = builtin("apps/v1", "Deployment");
        let (last, steps) = path.split_last().expect("a path");
        for step in steps {
            found = match *step {
                "[]" => found.items(),
                name => found.field(name).expect("a known field").0,
            };
        }
        assert_eq!(found.field(last).expect("a known field").1, expect);
    }

    #[test]
    fn core_kinds_bring_their_merge_keys() {
        let merge_by = |key: &str| PatchRule {
            strategy: PatchStrategy::Merge,
            retain_keys: false,
            merge_key: Some(key.to_owned()),
        };
        check_rule(&["spec", "template", "spec", "containers"], &merge_by("name"));
        check_rule(
            &["spec", "template", "spec", "containers", "[]", "ports"],
            &merge_by("containerPort"),
        );
        check_rule(&["spec", "strategy"], &PatchRule { retain_keys: true, ..PatchRule::default() });
        check_rule(
            &["spec", "template", "spec", "volumes"],
            &PatchRule { retain_keys: true, ..merge_by("name") },
        );
        check_rule(
            &["metadata", "finalizers"],
            &PatchRule { strategy: PatchStrategy::Merge, ..PatchRule::default() },
        );
    }

    #[test]
    fn a_field_that_the_kind_does_not_have_has_no_type() {
        assert!(builtin("v1", "Pod").field("spek").is_none());
        assert!(Type::unknown().field("anything").is_some());
    }

    #[test]
    fn list_keys_and_their_defaults_are_known() {
        let ports = builtin("v1", "Service").entry("spec").entry("ports");
        let Shape::List { kind, .. } = ports.shape else { panic!("ports is a list") };
        assert_eq!(*kind, ListKind::Map(vec!["port".into(), "protocol".into()]));
        assert_eq!(ports.items().default_of("protocol"), Some(&Value::from("TCP")));
    }
}
