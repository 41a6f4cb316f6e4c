//! One resource on its way through a build: its tree, and what the build
//! remembers about it.
//!
//! Kustomize keeps that memory in annotations of the resource and removes
//! them at the end; here it is [`History`], beside the tree. Parsing is in
//! [`parse`], identities in [`id`].

pub(crate) mod id;
pub(crate) mod parse;

use std::collections::BTreeMap;

use crate::schema::Scopes;
use crate::yaml::path::{PathError, guarded, lookup_or_create, set_field};
use crate::yaml::{Body, Kind, Node};

use id::{Gvk, IdKey, IdParts, ResourceId, effective_namespace, split_api_version};

/// Annotations that Kustomize uses for its own bookkeeping and never prints.
const BOOKKEEPING: &[&str] = &[
    "internal.config.kubernetes.io/previousKinds",
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/prefixes",
    "internal.config.kubernetes.io/suffixes",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/generatorBehavior",
    "internal.config.kubernetes.io/needsHashSuffix",
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "internal.config.kubernetes.io/helm-generated",
];

/// A manifest with what the build knows about it.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) node: Node,
    pub(crate) history: History,
    /// Names of the `vars` that read from this resource.
    pub(crate) var_names: Vec<String>,
    /// How many groups of shared scalars the tree has.
    pub(crate) share_groups: u32,
}

/// What happened to a resource so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Earlier identities, the oldest first.
    pub(crate) previous: Vec<PreviousId>,
    pub(crate) prefixes: Vec<String>,
    pub(crate) suffixes: Vec<String>,
    pub(crate) behavior: Option<Behavior>,
    pub(crate) needs_hash: bool,
    /// A chart printed it, so its namespace is the chart's affair.
    pub(crate) is_from_helm: bool,
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
}

/// An identity that a resource had before it was renamed or moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreviousId {
    pub(crate) name: String,
    /// The effective namespace of that time.
    pub(crate) namespace: String,
    pub(crate) kind: String,
}

/// How a generated resource meets one that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    Unspecified,
    Create,
    Replace,
    Merge,
}

impl Behavior {
    /// Anything unknown counts as unspecified.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "create" => Self::Create,
            "replace" => Self::Replace,
            "merge" => Self::Merge,
            _ => Self::Unspecified,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}

impl Resource {
    pub(crate) fn new(node: Node) -> Self {
        Self { node, history: History::default(), var_names: Vec::new(), share_groups: 0 }
    }

    pub(crate) fn kind(&self) -> &str {
        self.node.field("kind").map_or("", Node::text)
    }

    pub(crate) fn api_version(&self) -> &str {
        self.node.field("apiVersion").map_or("", Node::text)
    }

    pub(crate) fn name(&self) -> &str {
        self.metadata_text("name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.node
            .field("metadata")
            .filter(|metadata| !metadata.is_empty())
            .and_then(|metadata| metadata.field(field))
            .filter(|value| !value.is_empty())
            .map_or("", Node::text)
    }

    pub(crate) fn gvk(&self) -> Gvk {
        Gvk::parse(self.api_version(), self.kind())
    }

    /// The identity it has now.
    pub(crate) fn id(&self, scopes: &Scopes) -> ResourceId {
        ResourceId {
            gvk: self.gvk(),
            name: self.name().to_owned(),
            namespace: self.namespace().to_owned(),
            is_cluster_scoped: scopes.is_cluster_scoped(self.api_version(), self.kind()),
        }
    }

    /// The identity it has now, borrowed.
    pub(crate) fn id_parts(&self) -> IdParts<'_> {
        let (group, version) = self.group_version();
        let (kind, name, namespace) = (self.kind(), self.name(), self.namespace());
        IdParts { group, version, kind, name, namespace }
    }

    /// What no other resource may share with it.
    pub(crate) fn key(&self, scopes: &Scopes) -> IdKey {
        let id = self.id_parts();
        IdKey::new(&id, scopes.is_cluster_scoped(self.api_version(), id.kind))
    }

    /// The identity it was read with.
    pub(crate) fn original_id(&self, scopes: &Scopes) -> ResourceId {
        match self.history.previous.first() {
            Some(previous) => self.previous_id(previous),
            None => self.id(scopes),
        }
    }

    /// Earlier identities, the oldest first.
    pub(crate) fn previous_ids(&self) -> impl Iterator<Item = ResourceId> {
        self.history.previous.iter().map(|previous| self.previous_id(previous))
    }

    fn previous_id(&self, previous: &PreviousId) -> ResourceId {
        ResourceId {
            gvk: Gvk::parse(self.api_version(), &previous.kind),
            name: previous.name.clone(),
            namespace: previous.namespace.clone(),
            is_cluster_scoped: false,
        }
    }

    /// Is or was this the resource of that id?
    pub(crate) fn ever_had(&self, id: &ResourceId, scopes: &Scopes) -> bool {
        self.any_id(&id.name, |candidate| candidate.same(id), scopes)
    }

    /// Does one of its ids with this name pass the test?
    pub(crate) fn any_id(
        &self,
        name: &str,
        test: impl Fn(&ResourceId) -> bool,
        scopes: &Scopes,
    ) -> bool {
        // Names differ nearly always, and comparing them needs no copies.
        self.history
            .previous
            .iter()
            .any(|previous| previous.name == name && test(&self.previous_id(previous)))
            || (self.name() == name && test(&self.id(scopes)))
    }

    /// Notes the present identity before it changes.
    pub(crate) fn remember_id(&mut self, scopes: &Scopes) {
        let kind = self.kind();
        let is_cluster_scoped = scopes.is_cluster_scoped(self.api_version(), kind);
        let previous = PreviousId {
            namespace: effective_namespace(self.namespace(), is_cluster_scoped).to_owned(),
            name: self.name().to_owned(),
            kind: kind.to_owned(),
        };
        self.history.previous.push(previous);
    }

    pub(crate) fn set_name(&mut self, name: &str) -> Result<(), PathError> {
        self.set_metadata_field("name", Node::untyped(name))
    }

    /// Sets the namespace; an empty one is removed.
    pub(crate) fn set_namespace(&mut self, namespace: &str) -> Result<(), PathError> {
        if namespace.is_empty() {
            if let Some(metadata) = self.node.field_mut("metadata") {
                metadata.remove_field("namespace");
            }
            return Ok(());
        }
        self.set_metadata_field("namespace", Node::untyped(namespace))
    }

    fn set_metadata_field(&mut self, field: &str, value: Node) -> Result<(), PathError> {
        match lookup_or_create(&mut self.node, &["metadata"], Kind::Mapping)? {
            Some(metadata) => set_field(metadata, field, value),
            None => Ok(()),
        }
    }

    pub(crate) fn set_kind(&mut self, kind: &str) -> Result<(), PathError> {
        set_field(&mut self.node, "kind", Node::untyped(kind))
    }

    pub(crate) fn set_gvk(&mut self, gvk: &Gvk) -> Result<(), PathError> {
        self.set_kind(&gvk.kind)?;
        set_field(&mut self.node, "apiVersion", Node::untyped(gvk.api_version()))
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.metadata_map("labels")
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.metadata_map("annotations")
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.node.at(&["metadata", "annotations"])?.field(key).map(Node::text)
    }

    fn metadata_map(&self, field: &str) -> BTreeMap<String, String> {
        let Some(map) = self.node.at(&["metadata", field]) else { return BTreeMap::new() };
        let mut result = BTreeMap::new();
        for (key, value) in map.entries() {
            result.insert(key.text().to_owned(), value.text().to_owned());
        }
        result
    }

    pub(crate) fn set_labels(
        &mut self,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), PathError> {
        self.set_metadata_map("labels", labels)
    }

    pub(crate) fn set_annotations(
        &mut self,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), PathError> {
        self.set_metadata_map("annotations", annotations)
    }

    /// Writes the map anew, every value a string; an empty map is removed.
    fn set_metadata_map(
        &mut self,
        field: &str,
        map: &BTreeMap<String, String>,
    ) -> Result<(), PathError> {
        let Some(metadata) = lookup_or_create(&mut self.node, &["metadata"], Kind::Mapping)? else {
            return Ok(());
        };
        metadata.remove_field(field);
        if map.is_empty() {
            return Ok(());
        }
        let mut node = Node::empty(Kind::Mapping);
        let entries = map.iter();
        node.body = Body::Mapping(
            entries
                .map(|(key, value)| {
                    (Node::untyped(key.as_str()), guarded(Node::string(value.as_str())))
                })
                .collect(),
        );
        metadata.put(field, node);
        Ok(())
    }

    /// Adds or replaces one annotation.
    pub(crate) fn set_annotation(&mut self, key: &str, value: &str) -> Result<(), PathError> {
        let mut annotations = self.annotations();
        annotations.insert(key.to_owned(), value.to_owned());
        self.set_annotations(&annotations)
    }

    /// Takes over name, labels, annotations and history of the resource that
    /// this one replaces or is merged into; its own labels and annotations win.
    pub(crate) fn inherit_metadata(&mut self, old: &Self) -> Result<(), PathError> {
        let mut labels = old.labels();
        labels.extend(self.labels());
        self.set_labels(&labels)?;
        let mut annotations = old.annotations();
        annotations.extend(self.annotations());
        self.set_annotations(&annotations)?;
        let needs_hash = self.history.needs_hash && old.history.needs_hash;
        self.history = History { needs_hash, ..old.history.clone() };
        self.set_name(old.name())?;
        self.set_namespace(old.namespace())?;
        self.var_names.clone_from(&old.var_names);
        Ok(())
    }

    /// Does the build remember anything about it? Kustomize's annotations
    /// would then exist, which patches can see.
    pub(crate) fn has_history(&self) -> bool {
        self.history != History::default()
    }

    /// Removes Kustomize's own annotations and prints the others as strings.
    pub(crate) fn finish_annotations(&mut self, also: &[&str]) -> Result<(), PathError> {
        let has_none = self.node.field("metadata").is_some_and(|metadata| {
            metadata.kind() == Kind::Mapping && metadata.field("annotations").is_none()
        });
        if has_none {
            return Ok(());
        }
        let mut annotations = self.annotations();
        annotations
            .retain(|key, _| !BOOKKEEPING.contains(&key.as_str()) && !also.contains(&key.as_str()));
        self.set_annotations(&annotations)
    }

    /// Hands changes of shared scalars on to all places that share them.
    pub(crate) fn settle_shares(&mut self) {
        if self.share_groups > 0 {
            self.node.settle_shares();
        }
    }

    /// Group and version as borrowed parts.
    pub(crate) fn group_version(&self) -> (&str, &str) {
        split_api_version(self.api_version())
    }
}
