//! The kustomization file.

pub(crate) mod charts;
pub(crate) mod decode;
pub(crate) mod parts;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{Context as _, Result, invalid};
use crate::yaml::parse;

use charts::{HelmChart, HelmGlobals, OldChart};
use decode::{Mode, Place, list, object, string, string_map, strings};
use parts::{
    Generator, GeneratorOptions, Image, Label, Patch, Replacement, Replica, SortOptions, Var,
};

/// The names a kustomization file may have.
pub(crate) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

const KUSTOMIZATION_VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";

/// Everything a kustomization file says, old fields moved to their new places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kustomization {
    pub(crate) kind: String,
    pub(crate) api_version: String,
    pub(crate) openapi: BTreeMap<String, String>,
    pub(crate) name_prefix: String,
    pub(crate) name_suffix: String,
    pub(crate) namespace: String,
    pub(crate) common_labels: BTreeMap<String, String>,
    pub(crate) labels: Vec<Label>,
    pub(crate) common_annotations: BTreeMap<String, String>,
    pub(crate) patches_strategic_merge: Vec<String>,
    pub(crate) patches_json_6902: Vec<Patch>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) images: Vec<Image>,
    pub(crate) replacements: Vec<Replacement>,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) vars: Vec<Var>,
    pub(crate) sort_options: Option<SortOptions>,
    pub(crate) resources: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) crds: Vec<String>,
    pub(crate) config_map_generator: Vec<Generator>,
    pub(crate) secret_generator: Vec<Generator>,
    pub(crate) helm_globals: Option<HelmGlobals>,
    pub(crate) helm_charts: Vec<HelmChart>,
    pub(crate) generator_options: Option<GeneratorOptions>,
    pub(crate) configurations: Vec<String>,
    pub(crate) generators: Vec<String>,
    pub(crate) transformers: Vec<String>,
    pub(crate) validators: Vec<String>,
    pub(crate) build_metadata: Vec<String>,
    /// What Kustomize would warn about on standard error.
    pub(crate) warnings: Vec<String>,
}

const FIELDS: &[&str] = &[
    "kind",
    "apiVersion",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildMetadata",
];

impl Kustomization {
    /// Reads a kustomization file; `directory` is named in messages.
    pub(crate) fn read(bytes: &[u8], directory: &str) -> Result<Self> {
        let value = config_value(bytes).context(|| "invalid Kustomization".to_owned())?;
        let kustomization =
            Self::from_value(&value).context(|| "invalid Kustomization".to_owned())?;
        if is_empty(&value) {
            return Err(invalid("kustomization.yaml is empty"));
        }
        kustomization.check_kind(directory)?;
        Ok(kustomization)
    }

    fn from_value(value: &Value) -> Result<Self> {
        let place = Place::root(Mode::Strict, "Kustomization");
        let mut it = Self::default();
        let mut bases = Vec::new();
        let mut image_tags = Vec::new();
        let mut old_charts = Vec::new();
        object(value, &place, FIELDS, |name, value| {
            it.warn_about(name, value);
            let place = place.field(name);
            match name {
                "kind" => it.kind = string(value, &place)?,
                "apiVersion" => it.api_version = string(value, &place)?,
                "metadata" => check_metadata(value, &place)?,
                "openapi" => it.openapi = string_map(value, &place)?,
                "namePrefix" => it.name_prefix = string(value, &place)?,
                "nameSuffix" => it.name_suffix = string(value, &place)?,
                "namespace" => it.namespace = string(value, &place)?,
                "commonLabels" => it.common_labels = string_map(value, &place)?,
                "labels" => it.labels = list(value, &place, "types.Label", Label::read)?,
                "commonAnnotations" => it.common_annotations = string_map(value, &place)?,
                "patchesStrategicMerge" => it.patches_strategic_merge = strings(value, &place)?,
                "patchesJson6902" => {
                    it.patches_json_6902 = list(value, &place, "types.Patch", Patch::read)?;
                }
                "patches" => it.patches = list(value, &place, "types.Patch", Patch::read)?,
                "images" => it.images = list(value, &place, "types.Image", Image::read)?,
                "imageTags" => image_tags = list(value, &place, "types.Image", Image::read)?,
                "replacements" => {
                    it.replacements =
                        list(value, &place, "types.ReplacementField", Replacement::read)?;
                }
                "replicas" => it.replicas = list(value, &place, "types.Replica", Replica::read)?,
                "vars" => it.vars = list(value, &place, "types.Var", Var::read)?,
                "sortOptions" if value.is_null() => {}
                "sortOptions" => it.sort_options = Some(SortOptions::read(value, &place)?),
                "resources" => it.resources = strings(value, &place)?,
                "components" => it.components = strings(value, &place)?,
                "crds" => it.crds = strings(value, &place)?,
                "bases" => bases = strings(value, &place)?,
                "configMapGenerator" => {
                    it.config_map_generator =
                        list(value, &place, "types.ConfigMapArgs", Generator::read_config_map)?;
                }
                "secretGenerator" => {
                    it.secret_generator =
                        list(value, &place, "types.SecretArgs", Generator::read_secret)?;
                }
                "helmGlobals" if value.is_null() => {}
                "helmGlobals" => it.helm_globals = Some(HelmGlobals::read(value, &place)?),
                "helmCharts" => {
                    it.helm_charts = list(value, &place, "types.HelmChart", HelmChart::read)?;
                }
                "helmChartInflationGenerator" => {
                    old_charts = list(value, &place, "types.HelmChartArgs", OldChart::read)?;
                }
                "generatorOptions" if value.is_null() => {}
                "generatorOptions" => {
                    it.generator_options = Some(GeneratorOptions::read(value, &place)?);
                }
                "configurations" => it.configurations = strings(value, &place)?,
                "generators" => it.generators = strings(value, &place)?,
                "transformers" => it.transformers = strings(value, &place)?,
                "validators" => it.validators = strings(value, &place)?,
                _ => it.build_metadata = strings(value, &place)?,
            }
            Ok(())
        })?;
        it.resources.append(&mut bases);
        it.images.append(&mut image_tags);
        it.add_old_charts(old_charts);
        it.fill_type();
        Ok(it)
    }

    /// The last that says where charts are wins, unless `helmGlobals` does.
    fn add_old_charts(&mut self, old_charts: Vec<OldChart>) {
        let mut globals = HelmGlobals::default();
        for old in old_charts {
            let HelmGlobals { chart_home, config_home } = old.globals;
            for (mine, field) in
                [(chart_home, &mut globals.chart_home), (config_home, &mut globals.config_home)]
            {
                if !mine.is_empty() {
                    *field = mine;
                }
            }
            self.helm_charts.push(old.chart);
        }
        if self.helm_globals.is_none() && globals != HelmGlobals::default() {
            self.helm_globals = Some(globals);
        }
    }

    fn fill_type(&mut self) {
        if self.kind.is_empty() {
            self.kind = "Kustomization".to_owned();
        }
        if self.api_version.is_empty() {
            self.api_version = self.required_version().to_owned();
        }
    }

    pub(crate) fn is_component(&self) -> bool {
        self.kind == "Component"
    }

    fn required_version(&self) -> &'static str {
        if self.is_component() { COMPONENT_VERSION } else { KUSTOMIZATION_VERSION }
    }

    fn check_kind(&self, directory: &str) -> Result<()> {
        let mut problems = Vec::new();
        if self.kind != "Kustomization" && self.kind != "Component" {
            problems.push("kind should be Kustomization or Component".to_owned());
        }
        let required = self.required_version();
        if self.api_version != required {
            problems.push(format!("apiVersion for {} should be {required}", self.kind));
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(invalid(format!(
            "Failed to read kustomization file under {directory}:\n{}",
            problems.join("\n")
        )))
    }

    fn warn_about(&mut self, field: &str, value: &Value) {
        let instead = match field {
            "bases" => "resources",
            "commonLabels" => "labels",
            "imageTags" => "images",
            "patchesJson6902" | "patchesStrategicMerge" => "patches",
            "vars" => "replacements",
            _ => return,
        };
        if value.is_null() {
            return;
        }
        let experimental = if field == "vars" { "[EXPERIMENTAL] " } else { "" };
        self.warnings.push(format!(
            "# Warning: '{field}' is deprecated. Please use '{instead}' instead. \
             {experimental}Run 'kustomize edit fix' to update your Kustomization automatically."
        ));
    }
}

/// Reads a configuration file by the rules of go-yaml 2.
pub(crate) fn config_value(bytes: &[u8]) -> Result<Value> {
    let text = crate::resource::parse::utf8(bytes)?;
    let limits = gocompat::yaml::Limits { max_depth: parse::DEPTH_LIMIT, ..Default::default() };
    gocompat::yaml::to_value_within(text, limits).map_err(|error| {
        // The other reader has Kustomize's words for what both refuse.
        let problem = parse::document(text.as_bytes()).err();
        invalid(problem.map_or_else(|| format!("yaml: {error}"), |problem| problem.to_string()))
    })
}

fn check_metadata(value: &Value, place: &Place<'_>) -> Result<()> {
    let place = place.filling("ObjectMeta");
    object(value, &place, &["name", "namespace", "labels", "annotations"], |name, value| {
        let place = place.field(name);
        match name {
            "name" | "namespace" => string(value, &place).map(drop),
            _ => string_map(value, &place).map(drop),
        }
    })
}

/// Nothing but kind and version is set.
fn is_empty(value: &Value) -> bool {
    let Value::Object(map) = value else { return true };
    map.iter().all(|(name, value)| {
        matches!(name.to_ascii_lowercase().as_str(), "kind" | "apiversion")
            || value.is_null()
            || value.as_str() == Some("")
    })
}
