//! Which fields the transformers change: Kustomize's defaults ([`defaults`]),
//! extended by `configurations` files and by `crds` ([`crds`]).

pub(crate) mod crds;
mod defaults;

use std::sync::Arc;

use serde_json::Value;

use crate::error::{Context as _, Result, invalid};
use crate::kustomization::decode::{Mode, Place, list, object, string};
use crate::kustomization::parts::FieldSpec;
use crate::resource::id::Gvk;
use crate::sort::legacy_order;

/// The fields that each transformer changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    pub(crate) name_prefix: Vec<FieldSpec>,
    pub(crate) name_suffix: Vec<FieldSpec>,
    pub(crate) namespace: Vec<FieldSpec>,
    pub(crate) common_labels: Vec<FieldSpec>,
    pub(crate) labels: Vec<FieldSpec>,
    pub(crate) template_labels: Vec<FieldSpec>,
    pub(crate) common_annotations: Vec<FieldSpec>,
    pub(crate) name_references: Vec<NameReference>,
    pub(crate) var_references: Vec<FieldSpec>,
    pub(crate) images: Vec<FieldSpec>,
    pub(crate) replicas: Vec<FieldSpec>,
}

/// The fields that hold the name of a resource of some kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameReference {
    pub(crate) target: Gvk,
    pub(crate) referrers: Vec<FieldSpec>,
}

impl Config {
    /// Kustomize's own.
    pub(crate) fn defaults() -> Arc<Self> {
        defaults::config()
    }

    /// Reads a `configurations` file.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        Self::from_value(&crate::kustomization::config_value(bytes)?)
            .context(|| "error unmarshaling JSON: while decoding JSON".to_owned())
    }

    fn from_value(value: &Value) -> Result<Self> {
        let place = Place::root(Mode::Strict, "TransformerConfig");
        let mut config = Self::default();
        let names = &[
            "namePrefix",
            "nameSuffix",
            "namespace",
            "commonLabels",
            "labels",
            "templateLabels",
            "commonAnnotations",
            "nameReference",
            "varReference",
            "images",
            "replicas",
        ];
        object(value, &place, names, |name, value| {
            let place = place.field(name);
            if name == "nameReference" {
                config.name_references =
                    list(value, &place, "NameBackReferences", NameReference::read)?;
                return Ok(());
            }
            let specs = FieldSpec::read_list(value, &place)?;
            match name {
                "namePrefix" => config.name_prefix = specs,
                "nameSuffix" => config.name_suffix = specs,
                "namespace" => config.namespace = specs,
                "commonLabels" => config.common_labels = specs,
                "labels" => config.labels = specs,
                "templateLabels" => config.template_labels = specs,
                "commonAnnotations" => config.common_annotations = specs,
                "varReference" => config.var_references = specs,
                "images" => config.images = specs,
                _ => config.replicas = specs,
            }
            Ok(())
        })?;
        config.sort();
        Ok(config)
    }

    /// Adds what another configuration has; contradictions are errors.
    pub(crate) fn merged(mine: &Arc<Self>, other: &Arc<Self>) -> Result<Arc<Self>> {
        if Arc::ptr_eq(mine, other) {
            return Ok(Arc::clone(mine));
        }
        let mut config = Self::clone(mine);
        for (name, mine, other) in [
            ("NamePrefix", &mut config.name_prefix, &other.name_prefix),
            ("NameSuffix", &mut config.name_suffix, &other.name_suffix),
            ("NameSpace", &mut config.namespace, &other.namespace),
            ("CommonAnnotations", &mut config.common_annotations, &other.common_annotations),
            ("CommonLabels", &mut config.common_labels, &other.common_labels),
            ("Labels", &mut config.labels, &other.labels),
            ("TemplateLabels", &mut config.template_labels, &other.template_labels),
            ("VarReference", &mut config.var_references, &other.var_references),
            ("Images", &mut config.images, &other.images),
            ("Replicas", &mut config.replicas, &other.replicas),
        ] {
            merge_specs(mine, other).context(|| format!("failed to merge {name} fieldSpec"))?;
        }
        for reference in &other.name_references {
            config
                .add_name_reference(reference)
                .context(|| "failed to merge NameReference fieldSpec".to_owned())?;
        }
        config.sort();
        Ok(Arc::new(config))
    }

    fn add_name_reference(&mut self, other: &NameReference) -> Result<()> {
        match self.name_references.iter_mut().find(|mine| mine.target == other.target) {
            Some(mine) => merge_specs(&mut mine.referrers, &other.referrers),
            None => {
                self.name_references.push(other.clone());
                Ok(())
            }
        }
    }

    fn sort(&mut self) {
        for specs in [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.common_annotations,
            &mut self.var_references,
            &mut self.images,
            &mut self.replicas,
        ] {
            specs.sort_by(|a, b| legacy_order(&a.gvk, &b.gvk));
        }
        self.name_references.sort_by(|a, b| legacy_order(&a.target, &b.target));
    }
}

/// Adds the specs that are not covered yet.
pub(crate) fn merge_specs(mine: &mut Vec<FieldSpec>, other: &[FieldSpec]) -> Result<()> {
    for spec in other {
        let covering =
            mine.iter().find(|it| it.path == spec.path && it.gvk.is_selected_by(&spec.gvk));
        match covering {
            Some(covering) if covering.create != spec.create => {
                return Err(invalid("conflicting fieldspecs"));
            }
            Some(_) => {}
            None => mine.push(spec.clone()),
        }
    }
    Ok(())
}

impl NameReference {
    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("NameBackReferences");
        let mut reference = Self::default();
        object(value, &place, &["group", "version", "kind", "fieldSpecs"], |name, value| {
            let place = place.field(name);
            match name {
                "group" => reference.target.group = string(value, &place)?,
                "version" => reference.target.version = string(value, &place)?,
                "kind" => reference.target.kind = string(value, &place)?,
                _ => reference.referrers = FieldSpec::read_list(value, &place)?,
            }
            Ok(())
        })?;
        Ok(reference)
    }
}
