//! Names that other resources mention: when a resource was renamed or moved,
//! the fields that name it follow.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::Config;
use crate::error::{Context as _, Result, invalid};
use crate::fields::{ByKind, Create, apply_to_any_kind, replace_scalar};
use crate::kustomization::parts::FieldSpec;
use crate::resource::Resource;
use crate::resource::id::{Gvk, ResourceId};
use crate::resources::Resources;
use crate::schema::Scopes;
use crate::yaml::path::set_field;
use crate::yaml::{Body, Kind, Node};

/// Updates every field of every resource that names another one.
pub(crate) fn fix(resources: &mut Resources, config: &Config, scopes: &Scopes) -> Result<()> {
    let candidates: Vec<Candidate> =
        resources.iter().map(|resource| Candidate::of(resource, scopes)).collect();
    let renamed = Renamed::among(&candidates);
    let mut fields_by_kind = ByKind::default();
    for (at, referrer) in resources.as_mut().iter_mut().enumerate() {
        let subject_namespaces = subject_namespaces(referrer, scopes)?;
        let role = role_reference(referrer);
        let original = referrer.history.previous.first();
        let kind = original.map_or(referrer.kind(), |original| &original.kind);
        let fields =
            fields_by_kind.get(referrer.api_version(), kind, |kind| referring(&kind, config));
        for (target, spec) in fields {
            let search = Search {
                candidates: &candidates,
                renamed: &renamed,
                referrer: &candidates[at],
                subject_namespaces: &subject_namespaces,
                target,
                role: role.as_ref().filter(|_| spec.path.ends_with("roleRef/name")),
            };
            search.update(&mut referrer.node, spec)?;
        }
    }
    Ok(())
}

/// The fields of a kind that name others, and the kind of those.
fn referring<'c>(kind: &Gvk, config: &'c Config) -> Vec<(&'c Gvk, &'c FieldSpec)> {
    let references = config.name_references.iter();
    references
        .flat_map(|it| it.referrers.iter().map(move |spec| (&it.target, spec)))
        .filter(|(_, spec)| kind.is_selected_by(&spec.gvk))
        .collect()
}

/// What must be known of a resource to decide whether it is meant.
struct Candidate {
    id: ResourceId,
    previous: Vec<ResourceId>,
    original_namespace: String,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

impl Candidate {
    fn of(resource: &Resource, scopes: &Scopes) -> Self {
        Self {
            id: resource.id(scopes),
            previous: resource.previous_ids().collect(),
            original_namespace: resource.original_id(scopes).effective_namespace().to_owned(),
            prefixes: resource.history.prefixes.clone(),
            suffixes: resource.history.suffixes.clone(),
        }
    }

    /// Were both renamed in the same layers?
    fn same_affixes(&self, other: &Self, allow_empty: bool) -> bool {
        let same = |mine: &[String], theirs: &[String]| {
            (allow_empty && (mine.is_empty() || theirs.is_empty())) || same_ending(mine, theirs)
        };
        same(&self.prefixes, &other.prefixes) && same(&self.suffixes, &other.suffixes)
    }
}

/// Does the shorter list end the longer one? An empty one ends an empty one.
fn same_ending(a: &[String], b: &[String]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return long.is_empty();
    }
    long.ends_with(short)
}

/// The resources that had another name, or were touched, by those names.
struct Renamed<'c> {
    by_name: BTreeMap<&'c str, Vec<usize>>,
}

impl<'c> Renamed<'c> {
    fn among(candidates: &'c [Candidate]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, candidate) in candidates.iter().enumerate() {
            for previous in &candidate.previous {
                let list = by_name.entry(&previous.name).or_default();
                if list.last() != Some(&at) {
                    list.push(at);
                }
            }
        }
        Self { by_name }
    }
}

struct Search<'s> {
    candidates: &'s [Candidate],
    renamed: &'s Renamed<'s>,
    referrer: &'s Candidate,
    subject_namespaces: &'s BTreeSet<String>,
    target: &'s Gvk,
    role: Option<&'s Gvk>,
}

impl Search<'_> {
    fn update(&self, node: &mut Node, spec: &FieldSpec) -> Result<()> {
        let updated = apply_to_any_kind(node, spec, Create::Never, &mut |field| self.set(field));
        updated.context(|| {
            format!("updating name reference in '{}' field of '{}'", spec.path, self.referrer.id)
        })
    }

    fn set(&self, field: &mut Node) -> Result<()> {
        if field.is_null() {
            return Ok(());
        }
        match &mut field.body {
            Body::Scalar(_) => self.set_scalar(field),
            Body::Mapping(_) => self.set_mapping(field),
            Body::Sequence(items) => {
                for item in items {
                    match item.kind() {
                        _ if item.is_null() => {}
                        Kind::Scalar => self.set_scalar(item)?,
                        Kind::Mapping => self.set_mapping(item)?,
                        Kind::Sequence => {
                            return Err(invalid(
                                "an element is expected to be either a string or a map of string",
                            ));
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn set_scalar(&self, field: &mut Node) -> Result<()> {
        let Some(found) = self.find(field.text(), None, Identical::Name)? else { return Ok(()) };
        if found.id.name == field.text() {
            return Ok(());
        }
        replace_scalar(field, Node::untyped(found.id.name.as_str()))
    }

    fn set_mapping(&self, field: &mut Node) -> Result<()> {
        let Some(name) = field.field("name") else {
            return Err(invalid("path config error; no 'name' field in node"));
        };
        let namespace = field.field("namespace").map(Node::text);
        let Some(found) = self.find(name.text(), namespace, Identical::NameAndNamespace)? else {
            return Ok(());
        };
        if found.id.name == name.text() && found.id.namespace.is_empty() {
            return Ok(());
        }
        set_field(field, "name", Node::untyped(found.id.name.as_str()))?;
        if !found.id.namespace.is_empty() {
            set_field(field, "namespace", Node::untyped(found.id.namespace.as_str()))?;
        }
        Ok(())
    }

    /// The resource that a name in the referrer means.
    fn find(
        &self,
        name: &str,
        namespace: Option<&str>,
        identical: Identical,
    ) -> Result<Option<&Candidate>> {
        let named = self.renamed.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let mut chosen: Vec<&Candidate> = named
            .iter()
            .map(|at| &self.candidates[*at])
            .filter(|candidate| self.is_visible(candidate))
            .filter(|candidate| is_of(candidate, self.target))
            .filter(|candidate| self.role.is_none_or(|role| is_of(candidate, role)))
            .filter(|candidate| self.is_near(candidate))
            .collect();
        if let Some(namespace) = namespace {
            self.keep_namespace(&mut chosen, namespace);
        }
        if let [one] = chosen.as_slice() {
            return Ok(Some(one));
        }
        chosen.retain(|candidate| candidate.same_affixes(self.referrer, true));
        if chosen.len() > 1 {
            chosen.retain(|candidate| candidate.same_affixes(self.referrer, false));
        }
        match chosen.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [first, others @ ..] if others.iter().all(|other| identical.holds(first, other)) => {
                Ok(Some(first))
            }
            several => {
                let ids: Vec<String> = several.iter().map(|it| it.id.to_string()).collect();
                Err(invalid(format!("found multiple possible referrals: {}", ids.join(", "))))
            }
        }
    }

    /// Narrows down to what the mentioned namespace had, or has now.
    fn keep_namespace(&self, chosen: &mut Vec<&Candidate>, namespace: &str) {
        let had = |candidate: &Candidate| candidate.original_namespace == namespace;
        let has = |candidate: &Candidate| {
            !candidate.id.is_cluster_scoped && candidate.id.effective_namespace() == namespace
        };
        let visible = || self.candidates.iter().filter(|candidate| self.is_visible(candidate));
        if visible().any(had) {
            chosen.retain(|candidate| had(candidate));
        } else {
            chosen.retain(|candidate| has(candidate));
        }
    }

    /// Could the referrer mention it at all?
    fn is_visible(&self, candidate: &Candidate) -> bool {
        self.referrer.id.is_cluster_scoped
            || candidate.id.is_cluster_scoped
            || candidate.id.same_namespace(&self.referrer.id)
            || self.subject_namespaces.contains(&candidate.id.namespace)
    }

    /// Names mean resources of the same namespace, except service accounts.
    fn is_near(&self, candidate: &Candidate) -> bool {
        self.referrer.id.is_cluster_scoped
            || candidate.id.is_cluster_scoped
            || candidate.id.gvk.kind == "ServiceAccount"
            || candidate.id.same_namespace(&self.referrer.id)
    }
}

fn is_of(candidate: &Candidate, gvk: &Gvk) -> bool {
    candidate.previous.iter().any(|previous| previous.gvk.is_selected_by(gvk))
}

/// When several candidates are as good as one.
#[derive(Clone, Copy)]
enum Identical {
    Name,
    NameAndNamespace,
}

impl Identical {
    fn holds(self, a: &Candidate, b: &Candidate) -> bool {
        a.id.name == b.id.name
            && match self {
                Self::Name => true,
                Self::NameAndNamespace => a.id.namespace == b.id.namespace,
            }
    }
}

/// The role that a binding refers to.
fn role_reference(referrer: &Resource) -> Option<Gvk> {
    let role = referrer.node.field("roleRef")?;
    let group = role.field("apiGroup")?.text();
    let kind = role.field("kind")?.text();
    Some(Gvk::new(group, "", kind))
}

/// The namespaces of the service accounts that a role binding names.
fn subject_namespaces(referrer: &Resource, scopes: &Scopes) -> Result<BTreeSet<String>> {
    let mut namespaces = BTreeSet::new();
    if referrer.kind() != "RoleBinding" {
        return Ok(namespaces);
    }
    for subject in referrer.node.field("subjects").map_or(&[][..], Node::items) {
        let is_account = subject.field("kind").is_some_and(|kind| kind.text() == "ServiceAccount");
        let Some(namespace) = subject.field("namespace").filter(|_| is_account) else { continue };
        let value = crate::yaml::json::to_value(namespace)?;
        let Some(namespace) = value.as_str() else {
            return Err(invalid(format!(
                "Invalid Input: namespace is blank for resource \"{}\"\n",
                referrer.id(scopes)
            )));
        };
        namespaces.insert(namespace.to_owned());
    }
    Ok(namespaces)
}
