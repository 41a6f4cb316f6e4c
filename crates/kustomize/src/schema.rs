//! What is known about kinds: which lists are merged by which keys, and which
//! kinds live outside of namespaces.
//!
//! The facts about Kubernetes are in [`kubernetes`]; a kustomization may bring
//! an OpenAPI document of its own, which then replaces them.

mod kubernetes;

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Result, invalid};

/// The one built-in version that `openapi.version` may name.
pub(crate) const BUILTIN_VERSION: &str = "v1.21.2";

/// Which kinds are cluster-scoped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scopes {
    custom: BTreeMap<(String, String), bool>,
    /// Was the built-in schema asked about anything? Kustomize loads it then,
    /// and a custom schema that comes later does not displace it.
    builtin_was_asked: Cell<bool>,
}

impl Scopes {
    /// Is the kind known, and known to be cluster-scoped?
    pub(crate) fn is_cluster_scoped(&self, api_version: &str, kind: &str) -> bool {
        if let Some(is_namespaced) = kubernetes::is_namespaced(api_version, kind) {
            return !is_namespaced;
        }
        if self.custom.is_empty() {
            self.builtin_was_asked.set(true);
            return false;
        }
        let key = (api_version.to_owned(), kind.to_owned());
        self.custom.get(&key).is_some_and(|is_namespaced| !is_namespaced)
    }
}

/// The schemas in force for a build.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schemas {
    pub(crate) scopes: Scopes,
    chosen: Chosen,
}

#[derive(Clone, Debug, Default)]
enum Chosen {
    /// No kustomization has said anything yet.
    #[default]
    Default,
    /// A kustomization asked for the built-in version by name.
    Builtin,
    Custom(Box<CustomSchema>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CustomSchema {
    /// Are Kubernetes' own definitions known as well?
    extends_builtin: bool,
    definitions: Map<String, Value>,
    /// From (apiVersion, kind) to the name of a definition.
    kinds: BTreeMap<(String, String), String>,
}

impl Schemas {
    /// Applies the `openapi` field of a kustomization. The first that says
    /// something wins.
    pub(crate) fn set(&mut self, version: Option<&str>, document: Option<Value>) -> Result<()> {
        if !matches!(self.chosen, Chosen::Default) {
            return Ok(());
        }
        match (version, document) {
            (Some(_), Some(_)) => {
                Err(invalid("builtin version and custom schema provided, cannot use both"))
            }
            (_, Some(document)) => {
                self.scopes.custom = scopes_in(&document);
                let extends_builtin = self.scopes.builtin_was_asked.get();
                let custom = CustomSchema { extends_builtin, ..CustomSchema::read(document) };
                self.chosen = Chosen::Custom(Box::new(custom));
                Ok(())
            }
            (None | Some(""), None) => Ok(()),
            (Some(BUILTIN_VERSION), None) => {
                self.chosen = Chosen::Builtin;
                Ok(())
            }
            (Some(_), None) => Err(invalid("the specified OpenAPI version is not built in")),
        }
    }

    /// The schema of a kind, if there is one.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<Schema<'_>> {
        match &self.chosen {
            Chosen::Default | Chosen::Builtin => {
                self.scopes.builtin_was_asked.set(true);
                kubernetes::shape_of(api_version, kind).map(Schema::Builtin)
            }
            Chosen::Custom(custom) => {
                match custom.kinds.get(&(api_version.to_owned(), kind.to_owned())) {
                    Some(name) => custom.definition(name),
                    None if custom.extends_builtin => {
                        kubernetes::shape_of(api_version, kind).map(Schema::Builtin)
                    }
                    None => None,
                }
            }
        }
    }
}

/// The schema of one place in a manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Schema<'s> {
    Builtin(kubernetes::Shape),
    /// A list of Kubernetes' that is merged by keys.
    BuiltinList(kubernetes::List),
    Custom(Custom<'s>),
}

/// A place in a custom schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Custom<'s> {
    root: &'s CustomSchema,
    schema: &'s Value,
}

impl<'s> Schema<'s> {
    /// The schema of a field.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        match self {
            Self::Builtin(shape) => match kubernetes::field(*shape, name)? {
                kubernetes::Field::Shape(shape) => Some(Self::Builtin(shape)),
                kubernetes::Field::List(list) => Some(Self::BuiltinList(list)),
            },
            Self::BuiltinList(_) => None,
            Self::Custom(Custom { root, schema }) => {
                let found = schema.get("properties").and_then(|properties| properties.get(name));
                let found = found.or_else(|| {
                    schema.get("additionalProperties").filter(|schema| schema.is_object())
                })?;
                Self::custom(root, found)
            }
        }
    }

    /// The schema of the elements of a list.
    pub(crate) fn elements(&self) -> Option<Self> {
        match self {
            Self::Builtin(_) => None,
            Self::BuiltinList(list) => list.element.map(Self::Builtin),
            Self::Custom(Custom { root, schema }) => {
                if schema.get("type").and_then(Value::as_str) != Some("array") {
                    return None;
                }
                Self::custom(root, schema.get("items")?)
            }
        }
    }

    fn custom(root: &'s CustomSchema, schema: &'s Value) -> Option<Self> {
        let mut schema = schema;
        // References may form a chain, but no endless one.
        for _ in 0..32 {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
                return Some(Self::Custom(Custom { root, schema }));
            };
            let name = reference.strip_prefix("#/definitions/")?;
            match root.definitions.get(name) {
                Some(found) => schema = found,
                None if root.extends_builtin => {
                    return kubernetes::shape_of_definition(name).map(Self::Builtin);
                }
                None => return None,
            }
        }
        None
    }

    /// Is this a list whose elements are merged rather than replaced?
    pub(crate) fn is_merged_list(&self) -> bool {
        match self {
            Self::Builtin(_) => false,
            Self::BuiltinList(_) => true,
            Self::Custom(Custom { schema, .. }) => {
                strategy(schema).is_some_and(|strategy| strategy.split(',').any(|it| it == "merge"))
            }
        }
    }

    /// The keys that identify an element; empty for lists of plain values.
    pub(crate) fn merge_keys(&self) -> Vec<String> {
        match self {
            Self::Builtin(_) => Vec::new(),
            Self::BuiltinList(list) => list.keys.iter().map(|key| (*key).to_owned()).collect(),
            Self::Custom(Custom { schema, .. }) => {
                if strategy(schema).is_none() {
                    return Vec::new();
                }
                if let Some(keys) =
                    schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array)
                {
                    return keys.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                }
                let key = schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str);
                key.map(str::to_owned).into_iter().collect()
            }
        }
    }
}

fn strategy(schema: &Value) -> Option<&str> {
    schema.get("x-kubernetes-patch-strategy").and_then(Value::as_str)
}

impl CustomSchema {
    fn read(mut document: Value) -> Self {
        let definitions = document.get_mut("definitions").map(Value::take);
        let Some(Value::Object(definitions)) = definitions else { return Self::default() };
        let mut kinds = BTreeMap::new();
        for (name, definition) in &definitions {
            let listed = definition.get("x-kubernetes-group-version-kind");
            for entry in listed.and_then(Value::as_array).into_iter().flatten() {
                if let Some(key) = kind_of(entry) {
                    kinds.insert(key, name.clone());
                }
            }
        }
        Self { extends_builtin: false, definitions, kinds }
    }

    fn definition(&self, name: &str) -> Option<Schema<'_>> {
        Some(Schema::Custom(Custom { root: self, schema: self.definitions.get(name)? }))
    }
}

fn kind_of(entry: &Value) -> Option<(String, String)> {
    let version = entry.get("version")?.as_str()?;
    let kind = entry.get("kind")?.as_str()?;
    let api_version = match entry.get("group").and_then(Value::as_str) {
        Some(group) if !group.is_empty() => format!("{group}/{version}"),
        _ => version.to_owned(),
    };
    Some((api_version, kind.to_owned()))
}

/// A kind is namespaced if one of its paths is.
fn scopes_in(document: &Value) -> BTreeMap<(String, String), bool> {
    let mut scopes = BTreeMap::new();
    let paths = document.get("paths").and_then(Value::as_object);
    for (path, operations) in paths.into_iter().flatten() {
        let kind = operations
            .get("get")
            .and_then(|get| get.get("x-kubernetes-group-version-kind"))
            .and_then(kind_of);
        let Some(kind) = kind else { continue };
        if path.contains("namespaces/{namespace}") {
            scopes.insert(kind, true);
        } else {
            scopes.entry(kind).or_insert(false);
        }
    }
    scopes
}
