//! Builtin transformers configured by a resource in a file, or inline, under
//! `transformers`.

use serde_json::Value;

use super::*;
use crate::kustomization::decode::{boolean, list, object, string, string_map, strings};
use crate::kustomization::parts::{Image, Patch, PatchOptions, Replica, Selector};
use crate::resource::Resource;
use crate::yaml::json::to_value;
use value_add::ValueTarget;

/// The transformer that a resource configures.
pub(crate) fn from_resource(
    config: &Resource,
    scopes: &Scopes,
    loader: &Loader<'_>,
) -> Result<Transformer> {
    if config.api_version() != "builtin" {
        return Err(external(config));
    }
    let value = to_value(&config.node)?;
    let id = config.original_id(scopes);
    if GENERATORS.contains(&config.kind()) {
        return Err(invalid(format!("plugin {id} not a transformer")));
    }
    configure(config, &value, loader).map_err(|error| match error {
        error @ BuildError::Refused(_) => error,
        error => BuildError::Step {
            step: format!("plugin {id} fails configuration"),
            source: Box::new(error),
        },
    })
}

/// The builtin plugins that make resources instead of changing them.
const GENERATORS: [&str; 4] =
    ["ConfigMapGenerator", "SecretGenerator", "IAMPolicyGenerator", "HelmChartInflationGenerator"];

/// Anything that is not built in would have to be run as a program.
pub(crate) fn external(config: &Resource) -> BuildError {
    BuildError::Refused(format!(
        "external plugins disabled; unable to load external plugin '{}'",
        config.kind()
    ))
}

fn configure(config: &Resource, value: &Value, loader: &Loader<'_>) -> Result<Transformer> {
    let reader = Reader { value, place: Place::root(Mode::Lenient, "Plugin") };
    Ok(match config.kind() {
        "AnnotationsTransformer" => Transformer::Annotations(reader.map("annotations")?),
        "LabelTransformer" => Transformer::Labels(reader.map("labels")?),
        "HashTransformer" => Transformer::Hash,
        "ImageTagTransformer" => Transformer::Images(ImageTransformer {
            image: Image::read(reader.get("imageTag"), &reader.place)?,
            fields: reader.fields()?,
        }),
        "NamespaceTransformer" => Transformer::Namespace(NamespaceTransformer {
            namespace: reader.metadata("namespace")?,
            fields: reader.fields()?,
            unset_only: boolean(reader.get("unsetOnly"), &reader.place)?,
            subjects: Subjects::parse(&reader.text("setRoleBindingSubjects")?)?,
        }),
        "PatchJson6902Transformer" => Transformer::Json(JsonTransformer::configure(
            reader.selector("target")?.as_ref(),
            &reader.text("path")?,
            &reader.text("jsonOp")?,
            loader,
        )?),
        "PatchStrategicMergeTransformer" => {
            let paths = strings(reader.get("paths"), &reader.place)?;
            let patches = reader.text("patches")?;
            Transformer::StrategicMerge(StrategicMergeTransformer::configure(
                &paths, &patches, loader,
            )?)
        }
        "PatchTransformer" => {
            let patch = Patch {
                path: reader.text("path")?,
                patch: reader.text("patch")?,
                target: reader.selector("target")?,
                options: PatchOptions::read(reader.get("options"), &reader.place)?,
            };
            Transformer::Patch(PatchTransformer::configure(&patch, loader)?)
        }
        "PrefixTransformer" => reader.affix(Side::Prefix, "prefix")?,
        "SuffixTransformer" => reader.affix(Side::Suffix, "suffix")?,
        "PrefixSuffixTransformer" => Transformer::Several(vec![
            reader.affix(Side::Prefix, "prefix")?,
            reader.affix(Side::Suffix, "suffix")?,
        ]),
        "ReplacementTransformer" => {
            let read = list(
                reader.get("replacements"),
                &reader.place,
                "types.ReplacementField",
                Replacement::read,
            )?;
            let replacements = load_replacements(&read, loader)?;
            Transformer::Replacements(ReplacementTransformer { replacements })
        }
        "ReplicaCountTransformer" => Transformer::Replicas(ReplicaTransformer {
            replica: Replica::read(reader.get("replica"), &reader.place)?,
            fields: reader.fields()?,
        }),
        "ValueAddTransformer" => Transformer::ValueAdd(reader.value_add(loader)?),
        _ => {
            return Err(BuildError::Refused(format!("unable to load builtin {}", config.gvk())));
        }
    })
}

struct Reader<'v> {
    value: &'v Value,
    place: Place<'static>,
}

impl<'v> Reader<'v> {
    fn get(&self, field: &str) -> &'v Value {
        self.value.get(field).unwrap_or(&Value::Null)
    }

    fn text(&self, field: &'static str) -> Result<String> {
        string(self.get(field), &self.place.field(field))
    }

    fn metadata(&self, field: &'static str) -> Result<String> {
        let value = self.get("metadata").get(field).unwrap_or(&Value::Null);
        string(value, &self.place.field(field))
    }

    fn fields(&self) -> Result<Vec<FieldSpec>> {
        FieldSpec::read_list(self.get("fieldSpecs"), &self.place.field("fieldSpecs"))
    }

    fn selector(&self, field: &'static str) -> Result<Option<Selector>> {
        match self.get(field) {
            Value::Null => Ok(None),
            value => Selector::read(value, &self.place.field(field)).map(Some),
        }
    }

    fn map(&self, field: &'static str) -> Result<MapTransformer> {
        let entries = string_map(self.get(field), &self.place.field(field))?;
        Ok(MapTransformer { entries, fields: self.fields()? })
    }

    fn affix(&self, side: Side, field: &'static str) -> Result<Transformer> {
        if self.get("fieldSpecs").is_null() {
            return Err(invalid("fieldSpecs is not expected to be nil"));
        }
        let (text, fields) = (self.text(field)?, self.fields()?);
        Ok(Transformer::Affix(AffixTransformer { side, text, fields }))
    }

    fn value_add(&self, loader: &Loader<'_>) -> Result<ValueAddTransformer> {
        let mut value = self.text("value")?.trim().to_owned();
        if value.is_empty() {
            loader.root_name().clone_into(&mut value);
        }
        let mut targets = ValueTarget::read_list(self.get("targets"), &self.place)?;
        let path = self.text("targetFilePath")?;
        if !path.is_empty() {
            let file = config_value(&loader.load(&path)?)?;
            object(&file, &self.place, &["targets"], |_, value| {
                targets.extend(ValueTarget::read_list(value, &self.place)?);
                Ok(())
            })?;
        }
        if targets.is_empty() {
            return Err(invalid("must specify at least one target"));
        }
        Ok(ValueAddTransformer { value, targets })
    }
}
