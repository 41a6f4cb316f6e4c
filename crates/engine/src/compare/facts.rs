//! What was asked of the world before comparing, and what follows about kinds.

use std::collections::{BTreeMap, BTreeSet};

use object::{GroupKind, GroupVersionKind, Object, ResourceKey};

use super::placing::scoped_key;
use crate::marks::TrackedBy;

/// What was asked of the world before comparing.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The name the application tracks its objects by (`name` or `namespace_name`).
    pub instance: String,
    /// How objects say whose they are.
    pub tracked_by: TrackedBy,
    /// Where namespaced objects without a namespace of their own go.
    pub destination_namespace: String,
    /// Scope of every kind that occurs. A kind the cluster does not serve is absent.
    pub scopes: BTreeMap<GroupKind, Scope>,
    /// The versions of each kind that the cluster serves, the preferred one
    /// first, for the kinds that occur and those that share a name with them.
    /// Empty when nobody asked; then only a kind without scope is missing.
    pub versions: BTreeMap<GroupKind, Vec<String>>,
    /// Those `group/version`s that occur and are served.
    pub api_versions: BTreeSet<String>,
    /// What the API server answered to the [`questions`].
    pub answers: Answers,
}

/// What the API server would store if git's object were applied, or why it would
/// not.
pub type Answers = BTreeMap<ResourceKey, Result<Object, String>>;

/// What a cluster has in place of a kind that it does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// The version of the group, without this kind.
    KindMissing,
    /// Another version of the kind, or a kind of the same name in another group.
    Instead(GroupVersionKind),
    /// Nothing of the name.
    Unheard,
}

/// Does a kind live in namespaces?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its objects live in a namespace.
    Namespaced,
    /// Its objects belong to the cluster as a whole.
    Cluster,
}

pub(super) fn unserved_kinds(
    want: &[Object],
    facts: &Facts,
) -> BTreeMap<GroupVersionKind, Unserved> {
    let kinds: BTreeSet<GroupVersionKind> = want.iter().map(Object::group_version_kind).collect();
    let unserved = kinds.into_iter().filter(|kind| !facts.serves(kind)).map(|kind| {
        let instead = facts.served_instead_of(&kind);
        (kind, instead)
    });
    unserved.collect()
}

/// What git wants in another version than it was read in, and which the cluster
/// serves: the two can only be compared once the live side was read in git's.
#[must_use]
pub fn read_otherwise(
    want: &[Object],
    live: &BTreeMap<ResourceKey, Object>,
    facts: &Facts,
) -> BTreeMap<ResourceKey, GroupVersionKind> {
    let in_another_version = want.iter().filter_map(|want| {
        let key = scoped_key(want, facts);
        let live = live.get(&key)?;
        let wanted = want.group_version_kind();
        let differs = live.api_version() != want.api_version() && facts.serves(&wanted);
        differs.then_some((key, wanted))
    });
    in_another_version.collect()
}

impl Facts {
    fn serves(&self, kind: &GroupVersionKind) -> bool {
        let group_kind = kind.group_kind();
        match self.versions.get(&group_kind) {
            Some(versions) => versions.contains(&kind.version),
            None => self.versions.is_empty() && self.scopes.contains_key(&group_kind),
        }
    }

    fn served_instead_of(&self, kind: &GroupVersionKind) -> Unserved {
        if self.api_versions.contains(&kind.api_version()) {
            return Unserved::KindMissing;
        }
        let same_group = self.versions.get_key_value(&kind.group_kind());
        let same_name = || self.versions.iter().find(|(it, _)| it.kind == kind.kind);
        let instead = same_group.or_else(same_name).and_then(|(served, versions)| {
            Some(GroupVersionKind {
                group: served.group.clone(),
                version: versions.first()?.clone(),
                kind: served.kind.clone(),
            })
        });
        instead.map_or(Unserved::Unheard, Unserved::Instead)
    }
}

/// The scopes of the kinds that custom resource definitions among `want` define,
/// for kinds that the cluster will serve only once these are applied.
pub fn defined_scopes(want: &[Object]) -> impl Iterator<Item = (GroupKind, Scope)> {
    let is_definition =
        |it: &&Object| it.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition");
    want.iter().filter(is_definition).filter_map(|definition| {
        let kind = GroupKind::new(
            definition.text(&["spec", "group"])?,
            definition.text(&["spec", "names", "kind"])?,
        );
        let is_namespaced = definition.text(&["spec", "scope"])? == "Namespaced";
        Some((kind, if is_namespaced { Scope::Namespaced } else { Scope::Cluster }))
    })
}
