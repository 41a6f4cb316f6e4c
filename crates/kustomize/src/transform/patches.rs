//! Patches: strategic merge and JSON, with and without a target.

use serde_json::{Map, Value};

use super::Context;
use crate::error::{Context as _, Result, invalid};
use crate::json_patch::JsonPatch;
use crate::kustomization::config_value;
use crate::kustomization::parts::{Patch, Selector};
use crate::loader::Loader;
use crate::merge::merge;
use crate::resource::Resource;
use crate::resource::parse::{resources, resources_from_bytes, utf8};
use crate::resources::Resources;
use crate::yaml::Node;
use crate::yaml::json::{from_go_value, to_value};

/// A patch that is one or the other, as its text shows.
#[derive(Clone, Debug)]
pub(crate) struct PatchTransformer {
    patches: Patches,
    target: Option<Selector>,
    /// The patch as messages name it.
    source: String,
}

#[derive(Clone, Debug)]
enum Patches {
    Nothing,
    StrategicMerge(Vec<Resource>),
    Json(JsonPatch),
}

impl PatchTransformer {
    pub(crate) fn configure(patch: &Patch, loader: &Loader<'_>) -> Result<Self> {
        let inline = patch.patch.trim();
        let (text, source) = match (inline, patch.path.as_str()) {
            ("", "") => {
                let config = config_text(patch, "patch");
                return Err(invalid(format!("must specify one of patch and path in\n{config}")));
            }
            (inline, "") => (inline.to_owned(), format!("[patch: {inline:?}]")),
            ("", path) => {
                let bytes = loader
                    .load(path)
                    .context(|| format!("failed to get the patch file from path({path})"))?;
                (utf8(&bytes)?.to_owned(), format!("[path: {path:?}]"))
            }
            _ => {
                let config = config_text(patch, "patch");
                return Err(invalid(format!(
                    "patch and path can't be set at the same time\n{config}"
                )));
            }
        };
        // A list of operations is no resource, so that no text is both.
        let patches = match resources(&text) {
            Ok(list) if list.is_empty() => Patches::Nothing,
            Ok(mut list) => {
                for resource in &mut list {
                    resource.history.allow_name_change = patch.options.allow_name_change;
                    resource.history.allow_kind_change = patch.options.allow_kind_change;
                }
                Patches::StrategicMerge(list)
            }
            Err(_) => match json_patch(&text) {
                Ok(json) => Patches::Json(json),
                Err(_) => {
                    return Err(invalid(format!("unable to parse SM or JSON patch from {source}")));
                }
            },
        };
        Ok(Self { patches, target: patch.target.clone(), source })
    }

    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        match (&self.patches, &self.target) {
            (Patches::Nothing, _) => Ok(()),
            (Patches::StrategicMerge(list), None) => {
                list.iter().try_for_each(|patch| apply_to_namesake(patch, resources, context))
            }
            (Patches::StrategicMerge(list), Some(target)) => {
                let [patch] = list.as_slice() else {
                    return Err(invalid(format!(
                        "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to \
                         set `patches.target` field: {}",
                        self.source
                    )));
                };
                let chosen = resources.select(target, context.scopes).context(|| {
                    format!("unable to find patch target \"{target}\" in `resources`")
                })?;
                apply_to_chosen(patch, &chosen, resources, context)
            }
            (Patches::Json(patch), Some(target)) => {
                for at in resources.select(target, context.scopes)? {
                    let resource = &mut resources.as_mut()[at];
                    resource.remember_id(context.scopes);
                    apply_json(patch, resource)?;
                }
                Ok(())
            }
            (Patches::Json(_), None) => {
                Err(invalid(format!("must specify a target for JSON patch {}", self.source)))
            }
        }
    }
}

/// The configuration as messages show it; `field` is the name of the patch.
pub(super) fn config_text(patch: &Patch, field: &str) -> String {
    let mut config = Map::new();
    if !patch.path.is_empty() {
        config.insert("path".to_owned(), patch.path.as_str().into());
    }
    if !patch.patch.is_empty() {
        config.insert(field.to_owned(), patch.patch.as_str().into());
    }
    if let Some(target) = &patch.target {
        let id = &target.id;
        let parts = [
            ("annotationSelector", &target.annotations),
            ("group", &id.gvk.group),
            ("kind", &id.gvk.kind),
            ("labelSelector", &target.labels),
            ("name", &id.name),
            ("namespace", &id.namespace),
            ("version", &id.gvk.version),
        ];
        let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
        let target = parts.map(|(name, text)| (name.to_owned(), text.as_str().into())).collect();
        config.insert("target".to_owned(), Value::Object(target));
    }
    gocompat::yaml::from_value(&Value::Object(config))
}

/// Reads a JSON patch, in JSON if it begins with a bracket, else in YAML.
fn json_patch(text: &str) -> Result<JsonPatch> {
    if text.is_empty() {
        return Err(invalid("empty json patch operations"));
    }
    let value = if text.starts_with('[') {
        serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?
    } else {
        config_value(text.as_bytes())?
    };
    JsonPatch::from_value(&value)
}

/// Applies a patch to the resource that it names.
fn apply_to_namesake(
    patch: &Resource,
    resources: &mut Resources,
    context: &Context<'_>,
) -> Result<()> {
    let id = patch.original_id(context.scopes);
    let at = resources
        .position_of_one(&id, context.scopes)
        .context(|| format!("no resource matches strategic merge patch \"{id}\""))?;
    apply_merge(patch.clone(), &mut resources.as_mut()[at], context)
}

/// Applies a patch to resources it need not name.
fn apply_to_chosen(
    patch: &Resource,
    chosen: &[usize],
    resources: &mut Resources,
    context: &Context<'_>,
) -> Result<()> {
    let list = resources.as_mut();
    for at in chosen {
        let resource = &mut list[*at];
        let mut copy = patch.clone();
        copy.inherit_metadata(patch)?;
        copy.set_gvk(&resource.gvk())?;
        copy.set_kind(patch.kind())?;
        apply_merge(copy, resource, context)?;
    }
    resources.drop_empty();
    resources.check_ids(context.scopes)
}

fn apply_merge(patch: Resource, resource: &mut Resource, context: &Context<'_>) -> Result<()> {
    let name = resource.name().to_owned();
    let namespace = resource.namespace().to_owned();
    let kind = resource.kind().to_owned();
    if patch.history.allow_name_change || patch.history.allow_kind_change {
        resource.remember_id(context.scopes);
    }
    let target = std::mem::take(&mut resource.node);
    resource.node = match merge(target, patch.node, context.schemas)? {
        Some(node) if !node.is_empty() => node,
        _ => {
            resource.node = Node::default();
            return Ok(());
        }
    };
    resource.settle_shares();
    if !patch.history.allow_kind_change {
        resource.set_kind(&kind)?;
    }
    if !patch.history.allow_name_change {
        resource.set_name(&name)?;
    }
    Ok(resource.set_namespace(&namespace)?)
}

fn apply_json(patch: &JsonPatch, resource: &mut Resource) -> Result<()> {
    let mut document = to_value(&resource.node)?;
    // Kustomize's own annotations are there for a patch to add to.
    if resource.has_history()
        && let Some(Value::Object(metadata)) = document.get_mut("metadata")
    {
        let annotations = metadata.entry("annotations").or_insert_with(|| Map::new().into());
        if annotations.is_null() {
            *annotations = Map::new().into();
        }
    }
    patch.apply(&mut document)?;
    resource.node = from_go_value(&document);
    resource.share_groups = 0;
    let annotations = resource.annotations();
    Ok(resource.set_annotations(&annotations)?)
}

/// Strategic merge patches that each name their resource: the old field.
#[derive(Clone, Debug)]
pub(crate) struct StrategicMergeTransformer {
    patches: Vec<Resource>,
}

impl StrategicMergeTransformer {
    /// Each entry is a patch, or a file of patches.
    pub(crate) fn configure(entries: &[String], inline: &str, loader: &Loader<'_>) -> Result<Self> {
        if entries.is_empty() && inline.is_empty() {
            return Err(invalid("empty file path and empty patch content"));
        }
        let mut patches = Vec::new();
        for entry in entries {
            match resources(entry) {
                Ok(list) => patches.extend(list),
                Err(_) => {
                    let bytes = loader.load(entry)?;
                    let list = resources_from_bytes(&bytes)
                        .map_err(|error| crate::target::in_file(error, entry))?;
                    patches.extend(list);
                }
            }
        }
        if !inline.is_empty() {
            patches.extend(resources(inline)?);
        }
        if patches.is_empty() {
            return Err(invalid(format!(
                "patch appears to be empty; files=[{}], Patch={inline}",
                entries.join(" ")
            )));
        }
        Ok(Self { patches })
    }

    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        for patch in &self.patches {
            let id = patch.original_id(context.scopes);
            let at = resources.position_of_one(&id, context.scopes)?;
            apply_to_chosen(patch, &[at], resources, context)?;
        }
        Ok(())
    }
}

/// A JSON patch for a target that has a name: the old field.
#[derive(Clone, Debug)]
pub(crate) struct JsonTransformer {
    patch: JsonPatch,
    target: Selector,
}

impl JsonTransformer {
    pub(crate) fn configure(
        target: Option<&Selector>,
        path: &str,
        operations: &str,
        loader: &Loader<'_>,
    ) -> Result<Self> {
        let target = target.filter(|target| !target.id.name.is_empty());
        let target = target.ok_or_else(|| invalid("must specify the target name"))?.clone();
        let text = match (path, operations) {
            ("", "") => return Err(invalid("empty file path and empty jsonOp")),
            ("", operations) => operations.to_owned(),
            (path, "") => {
                let bytes = loader.load(path)?;
                if bytes.is_empty() {
                    return Err(invalid(format!("patch file '{path}' empty seems to be empty")));
                }
                utf8(&bytes)?.to_owned()
            }
            _ => return Err(invalid("must specify a file path or jsonOp, not both")),
        };
        let patch = json_patch(&text).context(|| format!("decoding {text}"))?;
        if patch.is_empty() {
            return Err(invalid(format!("patch appears to be empty; file={path}, JsonOp={text}")));
        }
        Ok(Self { patch, target })
    }

    pub(crate) fn run(&self, resources: &mut Resources, context: &Context<'_>) -> Result<()> {
        for at in resources.select(&self.target, context.scopes)? {
            apply_json(&self.patch, &mut resources.as_mut()[at])?;
        }
        Ok(())
    }
}
