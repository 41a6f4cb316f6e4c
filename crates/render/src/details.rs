//! What a source offers to be set: shown to users beside its parameters.

use std::collections::BTreeMap;

use api::HelmFileParameter;
use object::Object;
use serde_json::Value;

use crate::chart::ChartSource;
use crate::manifest;
use crate::tree::{self, EntryKind, Tree, TreePath};
use crate::{EnabledSourceTypes, PluginParameter, RenderError, SourceType};

/// Folders inside each other below a source or repository.
const MAX_DEPTH: usize = 64;
/// Entries to look at below a source or repository.
const MAX_NAMES: usize = 1_000_000;

/// What a source is and offers.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceDetails {
    /// A Helm chart.
    Helm(HelmDetails),
    /// A kustomization.
    Kustomize(KustomizeDetails),
    /// Plain files.
    Directory,
    /// A plugin's: the parameters that it announces.
    Plugin(Vec<PluginParameter>),
}

impl SourceDetails {
    /// The kind of source.
    #[must_use]
    pub fn source_type(&self) -> SourceType {
        match self {
            Self::Helm(_) => SourceType::Helm,
            Self::Kustomize(_) => SourceType::Kustomize,
            Self::Directory => SourceType::Directory,
            Self::Plugin(_) => SourceType::Plugin,
        }
    }
}

/// What a chart offers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HelmDetails {
    /// Files of the chart that look like value files, relative to it.
    pub value_files: Vec<String>,
    /// The text of values.yaml.
    pub values: String,
    /// Every single value of values.yaml and the chosen value files, by path.
    pub parameters: BTreeMap<String, String>,
    /// Those of the source.
    pub file_parameters: Vec<HelmFileParameter>,
    /// What the chart is for.
    pub description: String,
    /// Its home page.
    pub home: String,
    /// Who looks after it: `name <address>`.
    pub maintainers: Vec<String>,
}

/// What a kustomization offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizeDetails {
    /// The images of all containers, sorted.
    pub images: Vec<String>,
}

pub(crate) fn of_chart(chart: &ChartSource<'_>) -> Result<HelmDetails, RenderError> {
    let helm = chart.source.helm.clone().unwrap_or_default();
    let mut value_files = Vec::new();
    each_file(chart.tree, chart.path, &mut |path| {
        let (name, lower) = (path.name(), path.name().to_lowercase());
        if name.contains("values") && (lower.ends_with(".yaml") || lower.ends_with(".yml")) {
            let below = path.below(chart.path).expect("the walk starts at the chart");
            value_files.push(below.as_str().to_owned());
        }
    })?;
    let values = text_in(chart, "values.yaml")?;
    let about = text_in(chart, "Chart.yaml")?;
    let about = helm::Metadata::parse(about.as_bytes())
        .map_err(|problem| RenderError::Helm { path: chart.path.clone(), problem })?;
    let chosen = chart.shelves().value_files(&helm.value_files, helm.ignore_missing_value_files)?;
    let mut parameters = BTreeMap::new();
    let texts = [("values.yaml".to_owned(), values.clone().into_bytes())];
    for (name, content) in texts.into_iter().chain(chosen) {
        let file = TreePath::parse(&name).unwrap_or_default();
        let text = manifest::text_of(&file, &content.into())?;
        let parsed = gocompat::yaml::to_value(&text).map_err(|error| RenderError::Helm {
            path: chart.path.clone(),
            problem: format!("failed to parse values: {name}: {error}"),
        })?;
        flatten(&parsed, String::new(), &mut parameters);
    }
    Ok(HelmDetails {
        value_files,
        values,
        parameters,
        file_parameters: helm.file_parameters,
        maintainers: about.maintainers.iter().map(shown).collect(),
        description: about.description,
        home: about.home,
    })
}

fn shown(maintainer: &helm::Maintainer) -> String {
    match maintainer.email.as_str() {
        "" => maintainer.name.clone(),
        email => format!("{} <{email}>", maintainer.name).trim_matches(' ').to_owned(),
    }
}

/// The text of a file of the chart; empty where there is none.
fn text_in(chart: &ChartSource<'_>, name: &str) -> Result<String, RenderError> {
    let file = chart.path.child(name);
    let Some((target, entry)) = tree::resolve(chart.tree, &file)? else {
        return Ok(String::new());
    };
    if entry.kind != EntryKind::File {
        return Ok(String::new());
    }
    let content = chart.tree.read(&target, chart.context.limits.max_file)?.unwrap_or_default();
    manifest::text_of(&file, &content)
}

/// `image.tag` and `hosts[0].name`, as `--set` takes them; empty maps and
/// lists give nothing.
fn flatten(value: &Value, path: String, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(value, format!("{path}{dot}{name}"), out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, format!("{path}[{index}]"), out);
            }
        }
        _ if path.is_empty() => {}
        // Go's `%v`.
        Value::Null => drop(out.insert(path, "<nil>".to_owned())),
        Value::String(text) => drop(out.insert(path, text.clone())),
        Value::Bool(_) | Value::Number(_) => drop(out.insert(path, value.to_string())),
    }
}

pub(crate) fn of_kustomization<'o>(objects: impl Iterator<Item = &'o Object>) -> KustomizeDetails {
    let mut images = Vec::new();
    for object in objects {
        for (name, value) in object.fields() {
            collect_images(name, value, &mut images);
        }
    }
    images.sort_unstable();
    KustomizeDetails { images }
}

fn collect_images(name: &str, value: &Value, images: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_images(name, value, images);
            }
        }
        Value::Array(items) if matches!(name, "containers" | "initContainers") => {
            images.extend(items.iter().filter_map(|it| it["image"].as_str()).map(str::to_owned));
        }
        Value::Array(items) => {
            for fields in items.iter().filter_map(Value::as_object) {
                for (name, value) in fields {
                    collect_images(name, value, images);
                }
            }
        }
        _ => {}
    }
}

/// Every directory of a repository that tells what it is, with its kind:
/// charts and kustomizations. The top is `.`.
///
/// # Errors
/// When the tree cannot be read, or is larger than any repository should be.
pub fn discover_all(
    tree: &dyn Tree,
    enabled: EnabledSourceTypes,
) -> Result<BTreeMap<String, SourceType>, RenderError> {
    let mut found = BTreeMap::new();
    each_file(tree, &TreePath::root(), &mut |path| {
        if let Some(source_type) = crate::detect::told_by(path.name())
            && enabled.allows(source_type)
        {
            let directory = path.parent().unwrap_or_default().to_string();
            found.insert(directory, source_type);
        }
    })?;
    Ok(found)
}

/// Calls `each` with every file below `path`, in the order of names.
fn each_file(
    tree: &dyn Tree,
    path: &TreePath,
    each: &mut dyn FnMut(&TreePath),
) -> Result<(), RenderError> {
    let mut budget = MAX_NAMES;
    walk(tree, path, MAX_DEPTH, &mut budget, each)
}

fn walk(
    tree: &dyn Tree,
    directory: &TreePath,
    depth: usize,
    budget: &mut usize,
    each: &mut dyn FnMut(&TreePath),
) -> Result<(), RenderError> {
    for (name, kind) in tree.list(directory)?.unwrap_or_default() {
        let child = directory.child(&name);
        *budget =
            budget.checked_sub(1).ok_or_else(|| RenderError::TooDeep { path: child.clone() })?;
        match kind {
            EntryKind::File | EntryKind::Symlink => each(&child),
            EntryKind::Directory => {
                let depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| RenderError::TooDeep { path: child.clone() })?;
                walk(tree, &child, depth, budget, each)?;
            }
            EntryKind::Submodule | EntryKind::Unnameable => {}
        }
    }
    Ok(())
}
