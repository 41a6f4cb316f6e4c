//! Where each object of git belongs: its key, its namespace, its part in a sync.

use std::collections::{BTreeMap, BTreeSet};

use api::names;
use object::{Object, ResourceKey};

use super::facts::{Facts, Scope};
use crate::finding::{Concern, Finding};
use crate::marks::{self, Role};

/// The keys that git wants, scoped as [`compare`] will scope them: what to ask
/// the cluster about.
#[must_use]
pub fn wanted_keys(want: &[Object], facts: &Facts) -> Vec<ResourceKey> {
    want.iter()
        .map(|object| scoped_key(object, facts))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

pub(super) fn scoped_key(object: &Object, facts: &Facts) -> ResourceKey {
    let kind = object.group_kind();
    // Most kinds live in namespaces, so one that nobody knows is taken for such a kind.
    let namespace = match facts.scopes.get(&kind) {
        Some(Scope::Cluster) => "",
        Some(Scope::Namespaced) | None if !object.namespace().is_empty() => object.namespace(),
        Some(Scope::Namespaced) | None => &facts.destination_namespace,
    };
    ResourceKey::new(&kind, namespace, object.name())
}

/// Members by key, hooks in git's order. Bystanders are dropped; what is to be
/// skipped is not, or its live side would seem to be extra.
pub(super) fn sort_by_role(
    want: Vec<Object>,
    facts: &Facts,
    findings: &mut Vec<Finding>,
) -> (BTreeMap<ResourceKey, Object>, Vec<Object>) {
    let mut members = BTreeMap::new();
    let mut hooks = Vec::new();
    let mut repeated = BTreeMap::<ResourceKey, usize>::new();
    for mut object in want {
        let key = scoped_key(&object, facts);
        place(&mut object, &key, facts);
        match marks::role(&object) {
            Role::Bystander => {}
            Role::Hook(_) => hooks.push(object),
            Role::Member if object.name().is_empty() => findings.push(nameless(&object, key)),
            Role::Member | Role::Skipped => {
                if members.insert(key.clone(), object).is_some() {
                    *repeated.entry(key).or_insert(1) += 1;
                }
            }
        }
    }
    findings.extend(repeated.into_iter().map(|(key, times)| {
        let message = format!(
            "Resource {}/{}/{}/{} appeared {times} times among application resources.",
            key.group, key.kind, key.namespace, key.name
        );
        Finding::about(Concern::RepeatedResource, key, message)
    }));
    (members, hooks)
}

/// Gives the object the namespace that it is compared and applied in.
pub(super) fn place(object: &mut Object, key: &ResourceKey, facts: &Facts) {
    if !key.namespace.is_empty() {
        object.set_namespace(&key.namespace);
        return;
    }
    let stated = object.namespace().to_owned();
    if let Some(metadata) = object.fields_mut().get_mut("metadata")
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.remove("namespace");
    }
    if !stated.is_empty() {
        track_without(&stated, object, key, facts);
    }
}

/// An object of the cluster as a whole is tracked by the destination's namespace,
/// whatever namespace its manifest states.
fn track_without(stated: &str, object: &mut Object, key: &ResourceKey, facts: &Facts) {
    let id = |namespace: &str| {
        let ResourceKey { group, kind, name, .. } = key;
        format!("{}:{group}/{kind}:{namespace}/{name}", facts.instance)
    };
    if object.annotation(names::ANNOTATION_TRACKING_ID) == Some(id(stated).as_str()) {
        object.set_annotation(names::ANNOTATION_TRACKING_ID, &id(&facts.destination_namespace));
    }
}

fn nameless(object: &Object, key: ResourceKey) -> Finding {
    let kind = key.group_kind();
    let message = match object.at(&["metadata", "name"]).filter(|it| !it.is_null()) {
        Some(name) if !name.is_string() => format!(
            "metadata.name of a {kind} is {name}, not a text; quote it (YAML reads n, y, no, yes, on \
             and off as booleans)"
        ),
        _ if object.text(&["metadata", "generateName"]).is_some() => format!(
            "a {kind} with metadata.generateName but no metadata.name gets a new name at every sync; \
             only hooks may have that, give it a name or make it a hook"
        ),
        _ => format!("a {kind} has no metadata.name; give it one"),
    };
    Finding::about(Concern::Comparison, key, message)
}
