//! Labels and annotations on everything.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::fields::{ByKind, Create, apply_to_any_kind};
use crate::kustomization::parts::FieldSpec;
use crate::resources::Resources;
use crate::yaml::Kind;
use crate::yaml::path::set_string;

/// Sets entries of maps: labels, selectors, annotations.
#[derive(Clone, Debug)]
pub(crate) struct MapTransformer {
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) fields: Vec<FieldSpec>,
}

impl MapTransformer {
    pub(crate) fn run(&self, resources: &mut Resources) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let mut specs_by_kind = ByKind::default();
        for resource in resources.as_mut() {
            let specs = specs_by_kind.get(resource.api_version(), resource.kind(), |kind| {
                let specs = self.fields.iter().filter(|spec| kind.is_selected_by(&spec.gvk));
                specs.collect::<Vec<_>>()
            });
            for (key, value) in &self.entries {
                // What is added under one key is one node in all its places.
                let group = resource.share_groups + 1;
                let mut changes_shared = false;
                for spec in specs {
                    let node = &mut resource.node;
                    apply_to_any_kind(node, spec, Create::As(Kind::Mapping), &mut |map| {
                        let present = map.field(key);
                        changes_shared |= present.is_some_and(|node| node.share.group != 0);
                        let is_new = present.is_none();
                        set_string(map, key, value)?;
                        if let (true, Some(added)) = (is_new, map.field_mut(key)) {
                            added.share.group = group;
                            resource.share_groups = group;
                        }
                        Ok(())
                    })?;
                    if std::mem::take(&mut changes_shared) {
                        resource.settle_shares();
                    }
                }
            }
        }
        Ok(())
    }
}
