//! The parts of a kustomization, which builtin plugins take as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::decode::{Place, boolean, integer, list, object, string, string_map, strings};
use crate::error::Result;
use crate::resource::id::{Gvk, ResourceId};
use crate::yaml::path::split;

/// A field of a kind, written `spec/template/metadata/labels`. Copies are
/// cheap: tables of them are handed around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSpec(Arc<FieldSpecParts>);

/// What a [`FieldSpec`] says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldSpecParts {
    pub(crate) gvk: Gvk,
    pub(crate) path: String,
    /// The path, split.
    pub(crate) names: Vec<String>,
    pub(crate) create: bool,
}

impl std::ops::Deref for FieldSpec {
    type Target = FieldSpecParts;

    fn deref(&self) -> &FieldSpecParts {
        &self.0
    }
}

impl FieldSpec {
    pub(crate) fn new(gvk: Gvk, path: impl Into<String>, create: bool) -> Self {
        let path = path.into();
        let names = split(&path, '/');
        Self(Arc::new(FieldSpecParts { gvk, path, names, create }))
    }

    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("FieldSpec");
        let mut gvk = Gvk::default();
        let mut path = String::new();
        let mut create = false;
        object(value, &place, &["group", "version", "kind", "path", "create"], |name, value| {
            let place = place.field(name);
            match name {
                "group" => gvk.group = string(value, &place)?,
                "version" => gvk.version = string(value, &place)?,
                "kind" => gvk.kind = string(value, &place)?,
                "path" => path = string(value, &place)?,
                _ => create = boolean(value, &place)?,
            }
            Ok(())
        })?;
        Ok(Self::new(gvk, path, create))
    }

    pub(crate) fn read_list(value: &Value, place: &Place<'_>) -> Result<Vec<Self>> {
        list(value, place, "types.FieldSpec", Self::read)
    }
}

/// Chooses resources: by parts of their id as regular expressions, by labels
/// and by annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) id: ResourceId,
    pub(crate) annotations: String,
    pub(crate) labels: String,
}

const SELECTOR: &[&str] =
    &["group", "version", "kind", "name", "namespace", "annotationSelector", "labelSelector"];

impl Selector {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Selector");
        let mut selector = Self::default();
        object(value, &place, SELECTOR, |name, value| {
            let text = string(value, &place.field(name))?;
            match name {
                "group" => selector.id.gvk.group = text,
                "version" => selector.id.gvk.version = text,
                "kind" => selector.id.gvk.kind = text,
                "name" => selector.id.name = text,
                "namespace" => selector.id.namespace = text,
                "annotationSelector" => selector.annotations = text,
                _ => selector.labels = text,
            }
            Ok(())
        })?;
        Ok(selector)
    }
}

/// `Deployment.v1.apps/web.[noNs]:a=:l=app=web`.
impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:a={}:l={}", self.id, self.annotations, self.labels)
    }
}

/// A patch: where it is, what it is applied to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) path: String,
    pub(crate) patch: String,
    pub(crate) target: Option<Selector>,
    pub(crate) options: PatchOptions,
}

/// What a patch may change besides the contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatchOptions {
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
}

impl Patch {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Patch");
        let mut patch = Self::default();
        object(value, &place, &["path", "patch", "target", "options"], |name, value| {
            let place = place.field(name);
            match name {
                "path" => patch.path = string(value, &place)?,
                "patch" => patch.patch = string(value, &place)?,
                "target" if value.is_null() => patch.target = None,
                "target" => patch.target = Some(Selector::read(value, &place)?),
                _ => patch.options = PatchOptions::read(value, &place)?,
            }
            Ok(())
        })?;
        Ok(patch)
    }
}

impl PatchOptions {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("PatchArgs");
        let mut options = Self::default();
        object(value, &place, &["allowNameChange", "allowKindChange"], |name, value| {
            let flag = boolean(value, &place.field(name))?;
            match name {
                "allowNameChange" => options.allow_name_change = flag,
                _ => options.allow_kind_change = flag,
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// A change of image name, tag or digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) tag_suffix: String,
    pub(crate) new_tag: String,
    pub(crate) digest: String,
}

impl Image {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Image");
        let mut image = Self::default();
        let names = &["name", "newName", "tagSuffix", "newTag", "digest"];
        object(value, &place, names, |name, value| {
            let text = string(value, &place.field(name))?;
            match name {
                "name" => image.name = text,
                "newName" => image.new_name = text,
                "tagSuffix" => image.tag_suffix = text,
                "newTag" => image.new_tag = text,
                _ => image.digest = text,
            }
            Ok(())
        })?;
        Ok(image)
    }
}

/// A number of replicas for the workload of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) count: i64,
}

impl Replica {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Replica");
        let mut replica = Self::default();
        object(value, &place, &["name", "count"], |name, value| {
            let place = place.field(name);
            match name {
                "name" => replica.name = string(value, &place)?,
                _ => replica.count = integer(value, &place)?,
            }
            Ok(())
        })?;
        Ok(replica)
    }
}

/// Labels, and where they go besides the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) pairs: BTreeMap<String, String>,
    pub(crate) include_selectors: bool,
    pub(crate) include_templates: bool,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Label {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Label");
        let mut label = Self::default();
        let names = &["pairs", "includeSelectors", "includeTemplates", "fields"];
        object(value, &place, names, |name, value| {
            let place = place.field(name);
            match name {
                "pairs" => label.pairs = string_map(value, &place)?,
                "includeSelectors" => label.include_selectors = boolean(value, &place)?,
                "includeTemplates" => label.include_templates = boolean(value, &place)?,
                _ => label.fields = FieldSpec::read_list(value, &place)?,
            }
            Ok(())
        })?;
        Ok(label)
    }
}

/// A ConfigMap or Secret to generate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generator {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) behavior: String,
    pub(crate) literals: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) envs: Vec<String>,
    pub(crate) options: Option<GeneratorOptions>,
    /// The type of a Secret.
    pub(crate) secret_type: String,
}

impl Generator {
    pub(crate) fn read_config_map(value: &Value, place: &Place<'_>) -> Result<Self> {
        let names =
            &["namespace", "name", "behavior", "literals", "files", "envs", "env", "options"];
        Self::read(value, &place.filling("ConfigMapArgs"), names)
    }

    pub(crate) fn read_secret(value: &Value, place: &Place<'_>) -> Result<Self> {
        let names = &[
            "namespace",
            "name",
            "behavior",
            "literals",
            "files",
            "envs",
            "env",
            "options",
            "type",
        ];
        Self::read(value, &place.filling("SecretArgs"), names)
    }

    fn read(value: &Value, place: &Place<'_>, names: &'static [&'static str]) -> Result<Self> {
        let mut generator = Self::default();
        let mut env = String::new();
        object(value, place, names, |name, value| {
            let place = place.field(name);
            match name {
                "namespace" => generator.namespace = string(value, &place)?,
                "name" => generator.name = string(value, &place)?,
                "behavior" => generator.behavior = string(value, &place)?,
                "literals" => generator.literals = strings(value, &place)?,
                "files" => generator.files = strings(value, &place)?,
                "envs" => generator.envs = strings(value, &place)?,
                "env" => env = string(value, &place)?,
                "type" => generator.secret_type = string(value, &place)?,
                _ if value.is_null() => generator.options = None,
                _ => generator.options = Some(GeneratorOptions::read(value, &place)?),
            }
            Ok(())
        })?;
        // The old field names one file.
        if !env.is_empty() {
            generator.envs.push(env);
        }
        Ok(generator)
    }
}

/// Options of a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GeneratorOptions {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) disable_name_suffix_hash: bool,
    pub(crate) immutable: bool,
}

impl GeneratorOptions {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("GeneratorOptions");
        let mut options = Self::default();
        let names = &["labels", "annotations", "disableNameSuffixHash", "immutable"];
        object(value, &place, names, |name, value| {
            let place = place.field(name);
            match name {
                "labels" => options.labels = string_map(value, &place)?,
                "annotations" => options.annotations = string_map(value, &place)?,
                "disableNameSuffixHash" => {
                    options.disable_name_suffix_hash = boolean(value, &place)?;
                }
                _ => options.immutable = boolean(value, &place)?,
            }
            Ok(())
        })?;
        Ok(options)
    }

    /// The options of one generator, completed by those of all.
    pub(crate) fn completed(own: Option<&Self>, all: Option<&Self>) -> Option<Self> {
        let Some(all) = all else { return own.cloned() };
        let mut result = own.cloned().unwrap_or_default();
        for (key, value) in &all.labels {
            result.labels.entry(key.clone()).or_insert_with(|| value.clone());
        }
        for (key, value) in &all.annotations {
            result.annotations.entry(key.clone()).or_insert_with(|| value.clone());
        }
        result.disable_name_suffix_hash |= all.disable_name_suffix_hash;
        result.immutable |= all.immutable;
        Some(result)
    }
}

/// Copies a value from one field to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// A file with replacements, instead of the rest.
    pub(crate) path: String,
    pub(crate) source: Option<Source>,
    pub(crate) targets: Option<Vec<Target>>,
    pub(crate) source_value: Option<String>,
}

/// Where a replacement takes its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: ResourceId,
    pub(crate) field_path: String,
    pub(crate) options: Option<FieldOptions>,
}

/// `ConfigMap.[noVer].[noGrp]/settings.[noNs]:data.key`.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.id)?;
        if !self.field_path.is_empty() {
            write!(f, ":{}", self.field_path)?;
        }
        match &self.options {
            Some(options) if !options.delimiter.is_empty() || options.create => {
                let FieldOptions { delimiter, index, create, .. } = options;
                write!(f, ":{delimiter}({index}), create={create}")
            }
            _ => Ok(()),
        }
    }
}

/// Where a replacement puts its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) select: Option<Selector>,
    pub(crate) reject: Vec<Selector>,
    pub(crate) field_paths: Vec<String>,
    pub(crate) options: Option<FieldOptions>,
}

/// How a part of a field is taken or replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldOptions {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) encoding: String,
    pub(crate) create: bool,
}

impl Replacement {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("ReplacementField");
        let mut replacement = Self::default();
        object(value, &place, &["path", "source", "targets", "sourceValue"], |name, value| {
            let place = place.field(name);
            match name {
                "path" => replacement.path = string(value, &place)?,
                "source" if value.is_null() => {}
                "source" => replacement.source = Some(Source::read(value, &place)?),
                "targets" if value.is_null() => {}
                "targets" => {
                    replacement.targets =
                        Some(list(value, &place, "*types.TargetSelector", Target::read)?);
                }
                _ if value.is_null() => {}
                _ => replacement.source_value = Some(string(value, &place)?),
            }
            Ok(())
        })?;
        Ok(replacement)
    }
}

impl Source {
    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("SourceSelector");
        let mut source = Self::default();
        let names = &["group", "version", "kind", "name", "namespace", "fieldPath", "options"];
        object(value, &place, names, |name, value| {
            let place = place.field(name);
            match name {
                "group" => source.id.gvk.group = string(value, &place)?,
                "version" => source.id.gvk.version = string(value, &place)?,
                "kind" => source.id.gvk.kind = string(value, &place)?,
                "name" => source.id.name = string(value, &place)?,
                "namespace" => source.id.namespace = string(value, &place)?,
                "fieldPath" => source.field_path = string(value, &place)?,
                _ if value.is_null() => {}
                _ => source.options = Some(FieldOptions::read(value, &place)?),
            }
            Ok(())
        })?;
        Ok(source)
    }
}

impl Target {
    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("TargetSelector");
        let mut target = Self::default();
        object(value, &place, &["select", "reject", "fieldPaths", "options"], |name, value| {
            let place = place.field(name);
            match name {
                "select" if value.is_null() => {}
                "select" => target.select = Some(Selector::read(value, &place)?),
                "reject" => target.reject = list(value, &place, "*types.Selector", Selector::read)?,
                "fieldPaths" => target.field_paths = strings(value, &place)?,
                _ if value.is_null() => {}
                _ => target.options = Some(FieldOptions::read(value, &place)?),
            }
            Ok(())
        })?;
        Ok(target)
    }
}

impl FieldOptions {
    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("FieldOptions");
        let mut options = Self::default();
        object(value, &place, &["delimiter", "index", "encoding", "create"], |name, value| {
            let place = place.field(name);
            match name {
                "delimiter" => options.delimiter = string(value, &place)?,
                "index" => options.index = integer(value, &place)?,
                "encoding" => options.encoding = string(value, &place)?,
                _ => options.create = boolean(value, &place)?,
            }
            Ok(())
        })?;
        Ok(options)
    }
}

/// A value to put in place of `$(NAME)`; the forerunner of replacements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Var {
    pub(crate) name: String,
    pub(crate) object: ResourceId,
    pub(crate) field_path: String,
    /// What the file says about kind and path, for messages that come before
    /// Kustomize has filled in the rest.
    pub(crate) written_gvk: Gvk,
    pub(crate) written_path: String,
}

/// `{NAME Service.v1.[noGrp] {metadata.name}}`, as Go prints the structure.
impl std::fmt::Display for Var {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown(&self.object.gvk, &self.field_path))
    }
}

impl Var {
    /// As Go prints it with this kind and path.
    pub(crate) fn shown(&self, gvk: &Gvk, path: &str) -> String {
        format!("{{{} {gvk} {{{path}}}}}", self.name)
    }

    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("Var");
        let mut var = Self::default();
        object(value, &place, &["name", "objref", "fieldref"], |name, value| {
            let place = place.field(name);
            match name {
                "name" => var.name = string(value, &place)?,
                "objref" => {
                    (var.object, var.written_gvk) = read_object_reference(value, &place)?;
                }
                _ => {
                    let place = place.filling("FieldSelector");
                    object(value, &place, &["fieldPath"], |name, value| {
                        var.field_path = string(value, &place.field(name))?;
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })?;
        var.written_path.clone_from(&var.field_path);
        if var.field_path.is_empty() {
            var.field_path = "metadata.name".to_owned();
        }
        Ok(var)
    }
}

/// The resource that is meant, and its kind as far as it is given without `apiVersion`.
fn read_object_reference(value: &Value, place: &Place<'_>) -> Result<(ResourceId, Gvk)> {
    let place = place.filling("Target");
    let mut id = ResourceId::default();
    let mut api_version = String::new();
    let names = &["apiVersion", "group", "version", "kind", "name", "namespace"];
    object(value, &place, names, |name, value| {
        let text = string(value, &place.field(name))?;
        match name {
            "apiVersion" => api_version = text,
            "group" => id.gvk.group = text,
            "version" => id.gvk.version = text,
            "kind" => id.gvk.kind = text,
            "name" => id.name = text,
            _ => id.namespace = text,
        }
        Ok(())
    })?;
    let written = id.gvk.clone();
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [""] => {}
        [version] => id.gvk.version = (*version).to_owned(),
        [group, version] => {
            id.gvk.group = (*group).to_owned();
            id.gvk.version = (*version).to_owned();
        }
        _ => {}
    }
    Ok((id, written))
}

/// The order of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortOptions {
    pub(crate) order: String,
    pub(crate) legacy: Option<LegacyOrder>,
}

/// Kinds that come first and last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LegacyOrder {
    pub(crate) first: Vec<String>,
    pub(crate) last: Vec<String>,
}

impl SortOptions {
    pub(crate) fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("SortOptions");
        let mut options = Self::default();
        object(value, &place, &["order", "legacySortOptions"], |name, value| {
            let place = place.field(name);
            match name {
                "order" => options.order = string(value, &place)?,
                _ if value.is_null() => {}
                _ => options.legacy = Some(LegacyOrder::read(value, &place)?),
            }
            Ok(())
        })?;
        Ok(options)
    }
}

impl LegacyOrder {
    fn read(value: &Value, place: &Place<'_>) -> Result<Self> {
        let place = place.filling("LegacySortOptions");
        let mut order = Self::default();
        object(value, &place, &["orderFirst", "orderLast"], |name, value| {
            let kinds = strings(value, &place.field(name))?;
            match name {
                "orderFirst" => order.first = kinds,
                _ => order.last = kinds,
            }
            Ok(())
        })?;
        Ok(order)
    }
}
