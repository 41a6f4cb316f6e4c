//! Prefixes and suffixes of names.

use super::Context;
use crate::error::Result;
use crate::fields::{Create, apply, replace_scalar};
use crate::kustomization::parts::FieldSpec;
use crate::resource::Resource;
use crate::resource::id::Gvk;
use crate::resources::Resources;
use crate::yaml::{Kind, Node};

/// Puts a text before or after names.
#[derive(Clone, Debug)]
pub(crate) struct AffixTransformer {
    pub(crate) side: Side,
    pub(crate) text: String,
    pub(crate) fields: Vec<FieldSpec>,
}

/// Which end of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Prefix,
    Suffix,
}

impl AffixTransformer {
    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        for resource in resources.as_mut() {
            let gvk = resource.original_id(context.scopes).gvk;
            if keeps_its_name(&gvk) {
                continue;
            }
            for spec in &self.fields {
                if gvk.is_selected_by(&spec.gvk) {
                    self.change(resource, spec, context)?;
                }
            }
        }
        Ok(())
    }

    fn change(
        &self,
        resource: &mut Resource,
        spec: &FieldSpec,
        context: &Context<'_>,
    ) -> Result<()> {
        if spec.path == "metadata/name" && !self.text.is_empty() {
            let affixes = match self.side {
                Side::Prefix => &mut resource.history.prefixes,
                Side::Suffix => &mut resource.history.suffixes,
            };
            affixes.push(self.text.clone());
            resource.remember_id(context.scopes);
        }
        apply(&mut resource.node, spec, Create::As(Kind::Scalar), &mut |field| {
            let name = match self.side {
                Side::Prefix => format!("{}{}", self.text, field.text()),
                Side::Suffix => format!("{}{}", field.text(), self.text),
            };
            replace_scalar(field, Node::untyped(name))
        })
    }
}

/// The names of these kinds mean something to others.
fn keeps_its_name(gvk: &Gvk) -> bool {
    gvk.kind == "CustomResourceDefinition"
        || gvk.kind == "Namespace"
        || (gvk.group == "apiregistration.k8s.io" && gvk.kind == "APIService")
}
