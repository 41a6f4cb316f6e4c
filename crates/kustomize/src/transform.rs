//! The builtin transformers: what each is, and how a kustomization or a
//! plugin file configures it.

pub(crate) mod images;
pub(crate) mod labels;
pub(crate) mod names;
pub(crate) mod namespace;
pub(crate) mod patches;
mod plugins;
pub(crate) mod replacements;
pub(crate) mod replicas;
pub(crate) mod value_add;

use crate::config::{Config, merge_specs};
use crate::error::{BuildError, Context as _, Result, invalid};
use crate::kustomization::decode::{Mode, Place};
use crate::kustomization::parts::{FieldSpec, Replacement};
use crate::kustomization::{Kustomization, config_value};
use crate::loader::Loader;
use crate::resource::id::Gvk;
use crate::resources::Resources;
use crate::schema::{Schemas, Scopes};

use images::ImageTransformer;
use labels::MapTransformer;
use names::{AffixTransformer, Side};
use namespace::{NamespaceTransformer, Subjects};
use patches::{JsonTransformer, PatchTransformer, StrategicMergeTransformer, config_text};
pub(crate) use plugins::from_resource;
use replacements::{Copies, ReplacementTransformer};
use replicas::ReplicaTransformer;
use value_add::ValueAddTransformer;

/// What transformers need to know about kinds.
pub(crate) struct Context<'c> {
    pub(crate) schemas: &'c Schemas,
    pub(crate) scopes: &'c Scopes,
    /// What replacements may still copy.
    pub(crate) copies: &'c Copies,
}

/// A step that changes resources.
#[derive(Clone, Debug)]
pub(crate) enum Transformer {
    StrategicMerge(StrategicMergeTransformer),
    Patch(PatchTransformer),
    Namespace(NamespaceTransformer),
    Affix(AffixTransformer),
    Labels(MapTransformer),
    Annotations(MapTransformer),
    Json(JsonTransformer),
    Replicas(ReplicaTransformer),
    Images(ImageTransformer),
    Replacements(ReplacementTransformer),
    ValueAdd(ValueAddTransformer),
    Hash,
    Several(Vec<Self>),
}

impl Transformer {
    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        match self {
            Self::StrategicMerge(it) => it.run(resources, context),
            Self::Patch(it) => it.run(resources, context),
            Self::Namespace(it) => it.run(resources, context),
            Self::Affix(it) => it.run(resources, context),
            Self::Labels(it) | Self::Annotations(it) => it.run(resources),
            Self::Json(it) => it.run(resources, context),
            Self::Replicas(it) => it.run(resources, context),
            Self::Images(it) => it.run(resources),
            Self::Replacements(it) => it.run(resources, context.copies),
            Self::ValueAdd(it) => it.run(resources, context),
            Self::Hash => crate::hash::add_to_names(resources, context.scopes),
            Self::Several(list) => list.iter().try_for_each(|it| it.run(resources, context)),
        }
    }

    /// The name of the builtin plugin.
    pub(crate) fn plugin(&self) -> &'static str {
        match self {
            Self::StrategicMerge(_) => "PatchStrategicMergeTransformer",
            Self::Patch(_) => "PatchTransformer",
            Self::Namespace(_) => "NamespaceTransformer",
            Self::Affix(it) => match it.side {
                Side::Prefix => "PrefixTransformer",
                Side::Suffix => "SuffixTransformer",
            },
            Self::Labels(_) => "LabelTransformer",
            Self::Annotations(_) => "AnnotationsTransformer",
            Self::Json(_) => "PatchJson6902Transformer",
            Self::Replicas(_) => "ReplicaCountTransformer",
            Self::Images(_) => "ImageTagTransformer",
            Self::Replacements(_) => "ReplacementTransformer",
            Self::ValueAdd(_) => "ValueAddTransformer",
            Self::Hash => "HashTransformer",
            Self::Several(_) => "PrefixSuffixTransformer",
        }
    }
}

/// The transformers that the fields of a kustomization ask for, in the order
/// in which Kustomize runs them.
pub(crate) fn from_kustomization(
    it: &Kustomization,
    config: &Config,
    loader: &Loader<'_>,
) -> Result<Vec<Transformer>> {
    let mut list = Vec::new();
    if !it.patches_strategic_merge.is_empty() {
        let patches = &it.patches_strategic_merge;
        let transformer =
            StrategicMergeTransformer::configure(patches, "", loader).map_err(|error| {
                in_configuration(error, "PatchStrategicMergeTransformer", &|| {
                    let lines: Vec<String> =
                        patches.iter().map(|path| format!("- {path}\n")).collect();
                    format!("paths:\n{}", lines.concat())
                })
            })?;
        list.push(Transformer::StrategicMerge(transformer));
    }
    for patch in &it.patches {
        let transformer = PatchTransformer::configure(patch, loader).map_err(|error| {
            in_configuration(error, "PatchTransformer", &|| config_text(patch, "patch"))
        })?;
        list.push(Transformer::Patch(transformer));
    }
    if !it.namespace.is_empty() {
        list.push(Transformer::Namespace(NamespaceTransformer {
            namespace: it.namespace.clone(),
            fields: config.namespace.clone(),
            unset_only: false,
            subjects: Subjects::Default,
        }));
    }
    for (side, text, fields) in [
        (Side::Prefix, &it.name_prefix, &config.name_prefix),
        (Side::Suffix, &it.name_suffix, &config.name_suffix),
    ] {
        if !text.is_empty() {
            let (text, fields) = (text.clone(), fields.clone());
            list.push(Transformer::Affix(AffixTransformer { side, text, fields }));
        }
    }
    list.extend(label_transformers(it, config)?);
    if !it.common_annotations.is_empty() {
        list.push(Transformer::Annotations(MapTransformer {
            entries: it.common_annotations.clone(),
            fields: config.common_annotations.clone(),
        }));
    }
    for patch in &it.patches_json_6902 {
        let transformer =
            JsonTransformer::configure(patch.target.as_ref(), &patch.path, &patch.patch, loader)
                .map_err(|error| {
                    let config = || config_text(patch, "jsonOp");
                    in_configuration(error, "PatchJson6902Transformer", &config)
                })?;
        list.push(Transformer::Json(transformer));
    }
    for replica in &it.replicas {
        list.push(Transformer::Replicas(ReplicaTransformer {
            replica: replica.clone(),
            fields: config.replicas.clone(),
        }));
    }
    for image in &it.images {
        list.push(Transformer::Images(ImageTransformer {
            image: image.clone(),
            fields: config.images.clone(),
        }));
    }
    if !it.replacements.is_empty() {
        let replacements = load_replacements(&it.replacements, loader)
            .context(|| "trouble configuring builtin ReplacementTransformer".to_owned())?;
        list.push(Transformer::Replacements(ReplacementTransformer { replacements }));
    }
    Ok(list)
}

fn in_configuration(error: BuildError, plugin: &str, config: &dyn Fn() -> String) -> BuildError {
    BuildError::Step {
        step: format!("trouble configuring builtin {plugin} with config: `\n{}`", config()),
        source: Box::new(error),
    }
}

fn label_transformers(it: &Kustomization, config: &Config) -> Result<Vec<Transformer>> {
    let mut list = Vec::new();
    if it.labels.is_empty() && it.common_labels.is_empty() {
        return Ok(list);
    }
    for label in &it.labels {
        let fields = label_fields(label, config).context(|| "failed to merge labels".to_owned())?;
        let entries = label.pairs.clone();
        list.push(Transformer::Labels(MapTransformer { entries, fields }));
    }
    list.push(Transformer::Labels(MapTransformer {
        entries: it.common_labels.clone(),
        fields: config.common_labels.clone(),
    }));
    Ok(list)
}

fn label_fields(
    label: &crate::kustomization::parts::Label,
    config: &Config,
) -> Result<Vec<FieldSpec>> {
    let mut fields = label.fields.clone();
    merge_specs(&mut fields, &config.labels)?;
    if label.include_selectors {
        merge_specs(&mut fields, &config.common_labels)?;
        return Ok(fields);
    }
    if label.include_templates {
        merge_specs(&mut fields, &config.template_labels)
            .context(|| "failed to merge template fieldSpec".to_owned())?;
    }
    merge_specs(&mut fields, &[metadata_labels()])?;
    Ok(fields)
}

/// The labels of the object itself.
pub(crate) fn metadata_labels() -> FieldSpec {
    FieldSpec::new(Gvk::default(), "metadata/labels", true)
}

/// Reads the files that replacements name.
fn load_replacements(list: &[Replacement], loader: &Loader<'_>) -> Result<Vec<Replacement>> {
    let mut result = Vec::new();
    for replacement in list {
        if replacement.path.is_empty() {
            result.push(replacement.clone());
            continue;
        }
        let has_targets = replacement.targets.as_ref().is_some_and(|targets| !targets.is_empty());
        if replacement.source.is_some() || has_targets {
            return Err(invalid("cannot specify both path and inline replacement"));
        }
        let value = config_value(&loader.load(&replacement.path)?)?;
        let place = Place::root(Mode::Lenient, "Replacement");
        match &value {
            serde_json::Value::Array(items) => {
                for item in items {
                    result.push(Replacement::read(item, &place)?);
                }
            }
            serde_json::Value::Object(_) => result.push(Replacement::read(&value, &place)?),
            other => {
                return Err(invalid(format!(
                    "unsupported replacement type encountered within replacement path: {}",
                    if other.is_null() { "invalid" } else { "string" }
                )));
            }
        }
    }
    Ok(result)
}
