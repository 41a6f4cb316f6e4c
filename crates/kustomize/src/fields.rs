//! Applying a change to every field that a [`FieldSpec`] names.

use std::collections::BTreeMap;

use crate::error::{Context as _, Result, invalid};
use crate::kustomization::parts::FieldSpec;
use crate::resource::id::{Gvk, ResourceId, selects, split_api_version};
use crate::yaml::path::{demand, lookup_mut, lookup_or_create};
use crate::yaml::{Body, Kind, Node, Tag};

/// What to make of a field that is missing, if the spec allows to create it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Create {
    Never,
    /// With this kind, and this tag where the field was null.
    As(Kind),
}

/// Applies `change` to the fields of one spec, if the resource is of its kind.
pub(crate) fn apply(
    node: &mut Node,
    spec: &FieldSpec,
    create: Create,
    change: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let text = |name: &str| node.field(name).map_or("", Node::text);
    let (group, version) = split_api_version(text("apiVersion"));
    if !selects(&spec.gvk, group, version, text("kind")) {
        return Ok(());
    }
    apply_to_any_kind(node, spec, create, change)
}

/// Like [`apply`], for resources whose kind was compared already.
pub(crate) fn apply_to_any_kind(
    node: &mut Node,
    spec: &FieldSpec,
    create: Create,
    change: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let create = if spec.create { create } else { Create::Never };
    let walked = walk(node, &spec.names, create, change);
    walked.context(|| format!("considering field '{}' of object {}", spec.path, id_of(node)))
}

fn id_of(node: &Node) -> ResourceId {
    let text = |path: &[&str]| node.at(path).map_or("", Node::text).to_owned();
    ResourceId {
        gvk: Gvk::parse(&text(&["apiVersion"]), &text(&["kind"])),
        name: text(&["metadata", "name"]),
        namespace: text(&["metadata", "namespace"]),
        is_cluster_scoped: false,
    }
}

fn walk(
    node: &mut Node,
    path: &[String],
    create: Create,
    change: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let Some((name, rest)) = path.split_first() else { return change(node) };
    if node.is_null() {
        return Ok(());
    }
    match &mut node.body {
        Body::Sequence(items) => {
            for item in items {
                walk(item, path, create, change)
                    .context(|| format!("visit traversal on path: [{}]", path.join(" ")))?;
            }
            Ok(())
        }
        Body::Mapping(_) => walk_field(node, name, rest, create, change),
        Body::Scalar(_) => Err(invalid("expected sequence or mapping node")),
    }
}

fn walk_field(
    node: &mut Node,
    name: &str,
    rest: &[String],
    create: Create,
    change: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let (name, is_sequence) = match name.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() {
        return Err(invalid("cannot set or create an empty field name"));
    }
    let kind = match create {
        _ if is_sequence => None,
        Create::Never => None,
        Create::As(kind) if rest.is_empty() => Some(kind),
        Create::As(_) => Some(Kind::Mapping),
    };
    let found = match kind {
        None if is_plain(name) => Ok(node.field_mut(name)),
        None => lookup_mut(node, &[name]),
        Some(kind) => lookup_or_create(node, &[name], kind),
    };
    let Some(field) = found.context(|| format!("fieldName: {name}"))? else { return Ok(()) };
    let wanted = if is_sequence { Some(Kind::Sequence) } else { kind };
    if let (true, Some(kind)) = (field.is_null(), wanted) {
        *field = Node::empty(kind);
        field.tag = match kind {
            Kind::Mapping => Tag::Map,
            Kind::Sequence | Kind::Scalar => Tag::None,
        };
    }
    walk(field, rest, create, change)
}

/// Is it the name of a field, and cannot be an index, an element or a wildcard?
fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// What was found out about the kinds of a build, once for each.
#[derive(Debug)]
pub(crate) struct ByKind<T> {
    /// By apiVersion, then by kind.
    found: BTreeMap<String, BTreeMap<String, T>>,
}

impl<T> Default for ByKind<T> {
    fn default() -> Self {
        Self { found: BTreeMap::new() }
    }
}

impl<T> ByKind<T> {
    /// What is known about the kind, or what `find` finds out.
    pub(crate) fn get(&mut self, api_version: &str, kind: &str, find: impl FnOnce(Gvk) -> T) -> &T {
        let is_known = self.found.get(api_version).is_some_and(|kinds| kinds.contains_key(kind));
        if !is_known {
            let kinds = self.found.entry(api_version.to_owned()).or_default();
            kinds.insert(kind.to_owned(), find(Gvk::parse(api_version, kind)));
        }
        &self.found[api_version][kind]
    }
}

/// Replaces a scalar, keeping its style.
pub(crate) fn replace_scalar(target: &mut Node, value: Node) -> Result<()> {
    demand(target, Kind::Scalar)?;
    Ok(crate::yaml::path::set_scalar(target, value)?)
}
