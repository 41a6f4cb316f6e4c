//! What an application sets on top of the kustomization it builds, as if
//! `kustomize edit` had changed the file before the build.

use std::collections::BTreeMap;

use crate::error::{Result, invalid};
use crate::kustomization::Kustomization;
use crate::kustomization::parts::{Image, Label, Patch, PatchOptions, Replica, Selector};
use crate::loader::Loader;
use crate::resource::id::{Gvk, ResourceId};
use crate::transform::images::split;

/// Changes to the kustomization that is built; empty values change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Replaces `namePrefix`.
    pub name_prefix: String,
    /// Replaces `nameSuffix`.
    pub name_suffix: String,
    /// Replaces `namespace`.
    pub namespace: String,
    /// `name=new-name:tag@digest`, `name:tag`, `name@digest`; `*` keeps what the file has.
    pub images: Vec<String>,
    /// Numbers of replicas by name.
    pub replicas: Vec<ReplicaOverride>,
    /// Labels for everything.
    pub common_labels: BTreeMap<String, String>,
    /// May labels of the file be replaced?
    pub force_common_labels: bool,
    /// Leave selectors and templates alone.
    pub label_without_selector: bool,
    /// With [`Self::label_without_selector`]: reach templates all the same.
    pub label_include_templates: bool,
    /// Annotations for everything.
    pub common_annotations: BTreeMap<String, String>,
    /// May annotations of the file be replaced?
    pub force_common_annotations: bool,
    /// Added to `patches`.
    pub patches: Vec<PatchOverride>,
    /// Added to `components`.
    pub components: Vec<String>,
    /// Leave out components that are not in the tree.
    pub ignore_missing_components: bool,
}

/// A number of replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaOverride {
    /// The name of the workload.
    pub name: String,
    /// How many.
    pub count: i64,
}

/// A patch to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOverride {
    /// A file with the patch, seen from the kustomization.
    pub path: String,
    /// The patch itself.
    pub patch: String,
    /// What it applies to; by the patch's own name if `None`.
    pub target: Option<PatchTarget>,
    /// `allowNameChange` and `allowKindChange`.
    pub options: BTreeMap<String, bool>,
}

/// Chooses the resources that a patch applies to. All but the selectors are
/// regular expressions; what is empty matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchTarget {
    /// The API group.
    pub group: String,
    /// The API version without group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// A label selector.
    pub label_selector: String,
    /// A selector on annotations, in the syntax of label selectors.
    pub annotation_selector: String,
}

impl Overrides {
    /// Changes the kustomization.
    pub(crate) fn apply(&self, it: &mut Kustomization, loader: &Loader<'_>) -> Result<()> {
        for (mine, field) in [
            (&self.name_prefix, &mut it.name_prefix),
            (&self.name_suffix, &mut it.name_suffix),
            (&self.namespace, &mut it.namespace),
        ] {
            if !mine.is_empty() {
                field.clone_from(mine);
            }
        }
        self.apply_images(it)?;
        self.apply_replicas(it);
        self.apply_labels(it)?;
        let annotations = &mut it.common_annotations;
        add_all(
            annotations,
            &self.common_annotations,
            self.force_common_annotations,
            "annotation",
        )?;
        for patch in &self.patches {
            it.patches.push(patch.to_patch()?);
        }
        for component in &self.components {
            let is_missing = self.ignore_missing_components && !loader.exists(component);
            if !is_missing && !it.components.contains(component) {
                it.components.push(component.clone());
            }
        }
        Ok(())
    }

    fn apply_images(&self, it: &mut Kustomization) -> Result<()> {
        if self.images.is_empty() {
            return Ok(());
        }
        let mut images = BTreeMap::new();
        for text in &self.images {
            let image = parse_image(text)?;
            images.insert(image.name.clone(), image);
        }
        for present in std::mem::take(&mut it.images) {
            match images.get_mut(&present.name) {
                Some(image) => keep_asterisks(image, &present),
                None => {
                    images.insert(present.name.clone(), present);
                }
            }
        }
        for image in images.values_mut() {
            keep_asterisks(image, &Image::default());
        }
        it.images = images.into_values().collect();
        Ok(())
    }

    fn apply_replicas(&self, it: &mut Kustomization) {
        if self.replicas.is_empty() {
            return;
        }
        let mine = self.replicas.iter().map(|ReplicaOverride { name, count }| {
            (name.clone(), Replica { name: name.clone(), count: *count })
        });
        let present = std::mem::take(&mut it.replicas);
        let mut replicas: BTreeMap<String, Replica> =
            present.into_iter().map(|replica| (replica.name.clone(), replica)).collect();
        replicas.extend(mine);
        it.replicas = replicas.into_values().collect();
    }

    fn apply_labels(&self, it: &mut Kustomization) -> Result<()> {
        if self.common_labels.is_empty() {
            return Ok(());
        }
        if !self.label_without_selector {
            if self.label_include_templates {
                return Err(invalid(
                    "--without-selector flag must be specified for --include-templates to work",
                ));
            }
            let labels = &mut it.common_labels;
            return add_all(labels, &self.common_labels, self.force_common_labels, "label");
        }
        let fits = |label: &&mut Label| {
            !label.include_selectors && label.include_templates == self.label_include_templates
        };
        if let Some(label) = it.labels.iter_mut().find(fits) {
            let pairs = &mut label.pairs;
            return add_all(pairs, &self.common_labels, self.force_common_labels, "label");
        }
        it.labels.push(Label {
            pairs: self.common_labels.clone(),
            include_selectors: false,
            include_templates: self.label_include_templates,
            fields: Vec::new(),
        });
        Ok(())
    }
}

fn add_all(
    map: &mut BTreeMap<String, String>,
    more: &BTreeMap<String, String>,
    force: bool,
    what: &str,
) -> Result<()> {
    for (key, value) in more {
        if map.contains_key(key) && !force {
            return Err(invalid(format!(
                "{what} {key} already in kustomization file. Use --force to override."
            )));
        }
        map.insert(key.clone(), value.clone());
    }
    Ok(())
}

fn parse_image(text: &str) -> Result<Image> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (Some(key), value),
        None => (None, text),
    };
    let (name, tag, digest) = split(value);
    if name == text {
        return Err(invalid(
            "invalid format of image, use one of the following options:\n\
             - <image>=<newimage>:<newtag>\n\
             - <image>=<newimage>@<digest>\n\
             - <image>=<newimage>:<newtag>@<digest>\n\
             - <image>=<newimage>\n\
             - <image>:<newtag>\n\
             - <image>:<newtag>@<digest>\n\
             - <image>@<digest>",
        ));
    }
    Ok(Image {
        name: key.unwrap_or(name).to_owned(),
        new_name: if key.is_some() { name.to_owned() } else { String::new() },
        tag_suffix: String::new(),
        new_tag: tag.to_owned(),
        digest: digest.to_owned(),
    })
}

/// An asterisk stands for what the file has.
fn keep_asterisks(image: &mut Image, present: &Image) {
    for (mine, present) in [
        (&mut image.new_name, &present.new_name),
        (&mut image.new_tag, &present.new_tag),
        (&mut image.digest, &present.digest),
    ] {
        if mine == "*" {
            mine.clone_from(present);
        }
    }
}

impl PatchOverride {
    fn to_patch(&self) -> Result<Patch> {
        let mut options = PatchOptions::default();
        for (name, flag) in &self.options {
            match name.as_str() {
                "allowNameChange" => options.allow_name_change = *flag,
                "allowKindChange" => options.allow_kind_change = *flag,
                other => {
                    return Err(invalid(format!(
                        "invalid Kustomization: json: unknown field {other:?}"
                    )));
                }
            }
        }
        Ok(Patch {
            path: self.path.clone(),
            patch: self.patch.clone(),
            target: self.target.as_ref().map(PatchTarget::to_selector),
            options,
        })
    }
}

impl PatchTarget {
    fn to_selector(&self) -> Selector {
        Selector {
            id: ResourceId {
                gvk: Gvk::new(&self.group, &self.version, &self.kind),
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                is_cluster_scoped: false,
            },
            annotations: self.annotation_selector.clone(),
            labels: self.label_selector.clone(),
        }
    }
}
