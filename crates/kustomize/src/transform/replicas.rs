//! Numbers of replicas.

use super::Context;
use crate::error::{Result, invalid};
use crate::fields::{Create, apply, replace_scalar};
use crate::kustomization::parts::{FieldSpec, Replica};
use crate::resources::Resources;
use crate::yaml::{Kind, Node, Tag};

/// Sets the replicas of the workloads of one name.
#[derive(Clone, Debug)]
pub(crate) struct ReplicaTransformer {
    pub(crate) replica: Replica,
    pub(crate) fields: Vec<FieldSpec>,
}

impl ReplicaTransformer {
    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        let mut was_found = false;
        for spec in &self.fields {
            for resource in resources.as_mut() {
                let is_meant = !resource.node.is_empty()
                    && resource.any_id(
                        &self.replica.name,
                        |id| id.gvk.is_selected_by(&spec.gvk),
                        context.scopes,
                    );
                if !is_meant {
                    continue;
                }
                was_found = true;
                let count = self.replica.count.to_string();
                apply(&mut resource.node, spec, Create::As(Kind::Scalar), &mut |field| {
                    replace_scalar(field, Node::typed(count.as_str(), Tag::Int))
                })?;
            }
        }
        if was_found {
            return Ok(());
        }
        let kinds: Vec<String> = self.fields.iter().map(|spec| spec.gvk.to_string()).collect();
        Err(invalid(format!(
            "resource with name {} does not match a config with the following GVK [{}]",
            self.replica.name,
            kinds.join(" ")
        )))
    }
}
