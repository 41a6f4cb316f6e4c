//! The resources of a build, in order, no two with one identity.

use std::collections::BTreeSet;

use crate::error::{Result, invalid};
use crate::kustomization::parts::Selector;
use crate::resource::id::{IdKey, ResourceId};
use crate::resource::{Behavior, Resource};
use crate::schema::Scopes;
use crate::selector::SelectorMatcher;
use crate::yaml::{Kind, Node};

/// Resources in the order of accumulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    items: Vec<Resource>,
    /// The identities present; forgotten when resources may have changed.
    keys: Option<BTreeSet<IdKey>>,
}

impl Resources {
    pub(crate) fn from_list(list: Vec<Resource>, scopes: &Scopes) -> Result<Self> {
        let mut resources = Self::default();
        if list.len() == 1 {
            resources.items = list;
            return Ok(resources);
        }
        resources.append_all(list, scopes)?;
        Ok(resources)
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.items.iter()
    }

    /// All resources, to change, add or remove any.
    pub(crate) fn as_mut(&mut self) -> &mut Vec<Resource> {
        self.keys = None;
        &mut self.items
    }

    pub(crate) fn into_list(self) -> Vec<Resource> {
        self.items
    }

    /// Adds a resource whose identity is new.
    pub(crate) fn append(&mut self, resource: Resource, scopes: &Scopes) -> Result<()> {
        let items = &self.items;
        let keys = self
            .keys
            .get_or_insert_with(|| items.iter().map(|resource| resource.key(scopes)).collect());
        if !keys.insert(resource.key(scopes)) {
            return Err(invalid(format!(
                "may not add resource with an already registered id: {}",
                resource.id(scopes)
            )));
        }
        self.items.push(resource);
        Ok(())
    }

    pub(crate) fn append_all(&mut self, list: Vec<Resource>, scopes: &Scopes) -> Result<()> {
        list.into_iter().try_for_each(|resource| self.append(resource, scopes))
    }

    /// Are all identities still different?
    pub(crate) fn check_ids(&mut self, scopes: &Scopes) -> Result<()> {
        let list = std::mem::take(&mut self.items);
        self.keys = None;
        self.append_all(list, scopes)
    }

    /// Adds a generated resource, or merges it with the one that exists, as
    /// its behavior says.
    pub(crate) fn absorb(&mut self, mut resource: Resource, scopes: &Scopes) -> Result<()> {
        let id = resource.id(scopes);
        let behavior = resource.history.behavior.unwrap_or(Behavior::Unspecified);
        let matches = self.positions_of(&id, scopes);
        let (at, others) = match matches.as_slice() {
            [] if matches!(behavior, Behavior::Merge | Behavior::Replace) => {
                return Err(invalid(format!(
                    "id {} does not exist; cannot merge or replace",
                    go_syntax(&id)
                )));
            }
            [] => return self.append(resource, scopes),
            [at, others @ ..] => (*at, others.len()),
        };
        if others > 0 {
            return Err(invalid(format!(
                "found multiple objects {} that could accept merge of {id}",
                others + 1
            )));
        }
        let old = &self.items[at];
        match behavior {
            Behavior::Replace => resource.inherit_metadata(old)?,
            Behavior::Merge => {
                let origin = old.annotation(crate::origin::ORIGIN).map(str::to_owned);
                resource.inherit_metadata(old)?;
                merge_data(&mut resource, old, "data");
                merge_data(&mut resource, old, "binaryData");
                if let Some(origin) = origin {
                    resource.set_annotation(crate::origin::ORIGIN, &origin)?;
                }
            }
            Behavior::Unspecified | Behavior::Create => {
                return Err(invalid(format!(
                    "id {} exists; can not use behavior: '{}', behavior must be merge or replace",
                    go_syntax(&id),
                    behavior.name(),
                )));
            }
        }
        self.as_mut()[at] = resource;
        Ok(())
    }

    /// The places of resources that have, or had, this identity.
    pub(crate) fn positions_of(&self, id: &ResourceId, scopes: &Scopes) -> Vec<usize> {
        let matching = self
            .items
            .iter()
            .enumerate()
            .filter(|(_, resource)| !resource.node.is_empty() && resource.ever_had(id, scopes));
        matching.map(|(at, _)| at).collect()
    }

    /// The place of the one resource that has, or had, this identity.
    pub(crate) fn position_of_one(&self, id: &ResourceId, scopes: &Scopes) -> Result<usize> {
        match self.positions_of(id, scopes).as_slice() {
            [at] => Ok(*at),
            [] => Err(invalid(format!(
                "no matches for Id {id}; failed to find unique target for patch {id}"
            ))),
            _ => Err(invalid(format!(
                "multiple matches for Id {id}; failed to find unique target for patch {id}"
            ))),
        }
    }

    /// The places of the resources that a selector chooses.
    pub(crate) fn select(&self, selector: &Selector, scopes: &Scopes) -> Result<Vec<usize>> {
        let matcher = SelectorMatcher::new(selector)?;
        let mut chosen = Vec::new();
        for (at, resource) in self.items.iter().enumerate() {
            if matcher.matches_resource(resource, scopes)? {
                chosen.push(at);
            }
        }
        Ok(chosen)
    }

    pub(crate) fn drop_empty(&mut self) {
        if self.items.iter().any(|resource| resource.node.is_empty()) {
            self.as_mut().retain(|resource| !resource.node.is_empty());
        }
    }
}

/// The data of the old one, overwritten by that of the new one.
fn merge_data(resource: &mut Resource, old: &Resource, field: &str) {
    let mut merged = std::collections::BTreeMap::new();
    for side in [old, &*resource] {
        for (key, value) in side.node.field(field).map_or(&[][..], Node::entries) {
            merged.insert(key.value().to_owned(), value.value().to_owned());
        }
    }
    resource.node.remove_field(field);
    if merged.is_empty() {
        return;
    }
    let mut data = Node::empty(Kind::Mapping);
    for (key, value) in merged {
        data.put(&key, Node::string(value));
    }
    resource.node.put(field, data);
}

/// An id the way Go's `%#v` prints it.
fn go_syntax(id: &ResourceId) -> String {
    format!(
        "resid.ResId{{Gvk:resid.Gvk{{Group:{:?}, Version:{:?}, Kind:{:?}, isClusterScoped:{}}}, \
         Name:{:?}, Namespace:{:?}}}",
        id.gvk.group, id.gvk.version, id.gvk.kind, id.is_cluster_scoped, id.name, id.namespace,
    )
}
