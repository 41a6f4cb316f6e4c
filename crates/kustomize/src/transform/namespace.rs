//! Moving resources into a namespace.

use std::collections::BTreeMap;

use super::Context;
use crate::error::{Context as _, Result, invalid};
use crate::fields::{Create, apply, replace_scalar};
use crate::kustomization::parts::FieldSpec;
use crate::resource::id::{Gvk, IdKey};
use crate::resources::Resources;
use crate::schema::Scopes;
use crate::yaml::path::{lookup_mut, lookup_or_create};
use crate::yaml::{Body, Kind, Node, Tag};

/// Sets the namespace of everything that has one, and in fields that name it.
#[derive(Clone, Debug)]
pub(crate) struct NamespaceTransformer {
    pub(crate) namespace: String,
    pub(crate) fields: Vec<FieldSpec>,
    pub(crate) unset_only: bool,
    pub(crate) subjects: Subjects,
}

/// Which subjects of role bindings move along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subjects {
    /// Those named `default`.
    #[default]
    Default,
    /// All service accounts.
    ServiceAccounts,
    None,
}

impl Subjects {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "" | "defaultOnly" => Ok(Self::Default),
            "allServiceAccounts" => Ok(Self::ServiceAccounts),
            "none" => Ok(Self::None),
            other => Err(invalid(format!(
                "invalid value {other:?} for setRoleBindingSubjects: must be one of \
                 \"defaultOnly\", \"none\" or \"allServiceAccounts\""
            ))),
        }
    }
}

impl NamespaceTransformer {
    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let scopes = context.scopes;
        let mut counts: BTreeMap<IdKey, usize> = BTreeMap::new();
        for resource in resources.iter() {
            *counts.entry(resource.key(scopes)).or_default() += 1;
        }
        for resource in resources.as_mut() {
            if resource.node.is_empty() || resource.history.is_from_helm {
                continue;
            }
            let old = resource.key(scopes);
            resource.remember_id(scopes);
            self.change(&mut resource.node, scopes)?;
            if let Some(count) = counts.get_mut(&old) {
                *count -= 1;
            }
            let count = counts.entry(resource.key(scopes)).or_default();
            *count += 1;
            if *count != 1 {
                return Err(invalid(format!(
                    "namespace transformation produces ID conflict: {count} resources are {}",
                    resource.id(scopes)
                )));
            }
        }
        Ok(())
    }

    /// Changes one resource.
    pub(crate) fn change(&self, node: &mut Node, scopes: &Scopes) -> Result<()> {
        let api_version = node.field("apiVersion").map_or("", Node::text).to_owned();
        let kind = node.field("kind").map_or("", Node::text).to_owned();
        if !scopes.is_cluster_scoped(&api_version, &kind) {
            let metadata = FieldSpec::new(Gvk::default(), "metadata/namespace", true);
            apply(node, &metadata, Create::As(Kind::Scalar), &mut |field| self.set(field))?;
        }
        let is_binding = kind == "RoleBinding" || kind == "ClusterRoleBinding";
        if is_binding {
            self.set_subjects(node)?;
        }
        for spec in &self.fields {
            let is_handled = spec.path == "metadata/namespace"
                || (spec.path == "metadata/name" && api_version != "v1")
                || (is_binding
                    && matches!(spec.gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding")
                    && spec.path == "subjects/namespace");
            if is_handled {
                continue;
            }
            apply(node, spec, Create::As(Kind::Scalar), &mut |field| self.set(field))
                .context(|| "namespace transformation failed".to_owned())?;
        }
        Ok(())
    }

    fn set(&self, field: &mut Node) -> Result<()> {
        if self.unset_only && !field.is_empty() && !field.value().is_empty() {
            return Ok(());
        }
        replace_scalar(field, Node::typed(self.namespace.as_str(), Tag::Str))
    }

    fn set_subjects(&self, node: &mut Node) -> Result<()> {
        let (field, value) = match self.subjects {
            Subjects::None => return Ok(()),
            Subjects::Default => ("name", "default"),
            Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
        };
        let Some(subjects) = lookup_mut(node, &["subjects"])? else { return Ok(()) };
        if subjects.is_null() {
            return Ok(());
        }
        crate::yaml::path::demand(subjects, Kind::Sequence)
            .context(|| "setting namespace on (cluster)role binding subjects".to_owned())?;
        let Body::Sequence(subjects) = &mut subjects.body else { return Ok(()) };
        for subject in subjects {
            let is_meant = subject.field(field).is_some_and(|field| field.value() == value);
            if !is_meant {
                continue;
            }
            if let Some(namespace) = lookup_or_create(subject, &["namespace"], Kind::Scalar)? {
                self.set(namespace)?;
            }
        }
        Ok(())
    }
}
