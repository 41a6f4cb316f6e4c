//! A kustomization in the tree, with an application's overrides, to objects.

mod charts;

use std::cell::RefCell;
use std::rc::Rc;

use api::{ApplicationSourceKustomize, IntOrString, KustomizePatch};
use bytes::Bytes;
use kustomize::{
    HelmOptions, LoadRestrictions, Overrides, PatchOverride, PatchTarget, Remote, RemoteBase,
    RemoteError, ReplicaOverride,
};
use object::Object;

use crate::environment::Environment;
use crate::manifest::Found;
use crate::tree::{self, EntryKind, Tree, TreePath};
use crate::world::{Outside, OutsideError, World};
use crate::{RenderContext, RenderError, chart};

use charts::Charts;

/// The release that is built in; a source may name it, and no other.
const VERSION: &str = "5.8.1";

/// The objects that `kustomize build` would print after `kustomize edit` made
/// the changes.
pub(crate) fn render(
    tree: &dyn Tree,
    path: &TreePath,
    changes: &ApplicationSourceKustomize,
    context: &RenderContext,
    environment: &Environment<'_>,
    world: &World<'_>,
) -> Result<Vec<Found<Object>>, RenderError> {
    let fail = |problem: String| RenderError::Kustomize { path: path.clone(), problem };
    let version = changes.version.trim_start_matches('v');
    if !version.is_empty() && version != VERSION {
        return Err(fail(format!(
            "kustomize version {} is not registered: v{VERSION} is built in; remove \
             kustomize.version from the source",
            changes.version
        )));
    }
    let overrides = overrides(changes, environment).map_err(&fail)?;
    let (mut options, helm) = build_options(&context.kustomize_build_options).map_err(&fail)?;
    let charts = Charts { outside: world.outside, facts: world.facts };
    let is_helm_enabled = helm.is_enabled;
    let (kube_version, api_versions) = helm.for_destination(changes, context)?;
    if is_helm_enabled {
        options.helm = Some(HelmOptions {
            helm: &charts,
            kube_version: &kube_version,
            api_versions: &api_versions,
        });
    }
    let failure = RefCell::default();
    let files = KustomizeFiles { tree, limit: context.limits.max_file, failure: &failure };
    let remote = RemoteBases { outside: world.outside, limit: context.limits.max_file };
    let built = kustomize::build(&files, path.as_str(), &overrides, &options, &remote);
    if let Some(failure) = failure.into_inner() {
        return Err(failure);
    }
    let output = built.map_err(|error| fail(as_on_disk(&error.chain())))?;
    let found = output.objects.into_iter().map(|value| match Object::from_value(value) {
        Ok(what) => Ok(Found { what, file: path.clone(), position: None }),
        Err(error) => Err(fail(error.to_string())),
    });
    found.collect()
}

fn overrides(
    changes: &ApplicationSourceKustomize,
    environment: &Environment<'_>,
) -> Result<Overrides, String> {
    let substituted = |pairs: &std::collections::BTreeMap<String, String>| {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| (name.clone(), environment.substitute(value))).collect()
    };
    let replicas = changes.replicas.iter().map(|replica| {
        let name = replica.name.clone();
        let count = match &replica.count {
            IntOrString::Int(count) => i64::from(*count),
            IntOrString::String(text) => text
                .parse()
                .map_err(|_| format!("expected integer value for count. Received: {text}"))?,
        };
        Ok(ReplicaOverride { name, count })
    });
    Ok(Overrides {
        name_prefix: changes.name_prefix.clone(),
        name_suffix: changes.name_suffix.clone(),
        namespace: changes.namespace.clone(),
        images: changes.images.iter().map(|image| environment.substitute(image)).collect(),
        replicas: replicas.collect::<Result<_, String>>()?,
        common_labels: substituted(&changes.common_labels),
        force_common_labels: changes.force_common_labels,
        label_without_selector: changes.label_without_selector,
        label_include_templates: changes.label_include_templates,
        common_annotations: if changes.common_annotations_envsubst {
            substituted(&changes.common_annotations)
        } else {
            changes.common_annotations.clone()
        },
        force_common_annotations: changes.force_common_annotations,
        patches: changes.patches.iter().map(patch).collect(),
        components: changes.components.clone(),
        ignore_missing_components: changes.ignore_missing_components,
    })
}

fn patch(patch: &KustomizePatch) -> PatchOverride {
    let target = patch.target.as_ref().map(|target| PatchTarget {
        group: target.res_id.gvk.group.clone(),
        version: target.res_id.gvk.version.clone(),
        kind: target.res_id.gvk.kind.clone(),
        name: target.res_id.name.clone(),
        namespace: target.res_id.namespace.clone(),
        label_selector: target.label_selector.clone(),
        annotation_selector: target.annotation_selector.clone(),
    });
    PatchOverride {
        path: patch.path.clone(),
        patch: patch.patch.clone(),
        target,
        options: patch.options.clone(),
    }
}

/// `kustomize.buildOptions` of the settings: the flags that mean something to
/// a build in memory. The others are refused, not dropped in silence.
fn build_options(text: &str) -> Result<(kustomize::Options<'static>, HelmFlags), String> {
    let mut options = kustomize::Options::default();
    let mut helm = HelmFlags::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (word, None),
        };
        match flag {
            "--load-restrictor" | "--load_restrictor" => {
                options.load_restrictions = match value.or_else(|| words.next()) {
                    Some("LoadRestrictionsNone" | "none") => LoadRestrictions::None,
                    Some("LoadRestrictionsRootOnly" | "rootOnly") => LoadRestrictions::RootOnly,
                    other => {
                        let other = other.unwrap_or_default();
                        return Err(format!(
                            "kustomize.buildOptions: illegal flag value --load-restrictor {other}; \
                             legal values: [LoadRestrictionsRootOnly LoadRestrictionsNone]"
                        ));
                    }
                };
            }
            "--reorder" => {
                options.reorder = match value.or_else(|| words.next()) {
                    Some("none") => kustomize::Reorder::None,
                    _ => kustomize::Reorder::Legacy,
                };
            }
            "--enable-managedby-label" => options.managed_by_label = value != Some("false"),
            "--enable-helm" => helm.is_enabled = value != Some("false"),
            "--helm-kube-version" => {
                let version = value.or_else(|| words.next()).unwrap_or_default();
                version.clone_into(&mut helm.kube_version);
            }
            "--helm-api-versions" => {
                let versions = value.or_else(|| words.next()).unwrap_or_default();
                helm.api_versions.extend(versions.split(',').map(str::to_owned));
            }
            // Nothing of what they allow is ever run, or it is refused where it stands.
            "--helm-debug"
            | "--enable-alpha-plugins"
            | "--enable-exec"
            | "--enable-star"
            | "--network" => {}
            "--helm-command" | "--mount" | "-e" | "--env" => {
                if value.is_none() {
                    words.next();
                }
            }
            other => {
                return Err(format!(
                    "kustomize.buildOptions: {other} is not supported; remove it from argocd-cm"
                ));
            }
        }
    }
    Ok((options, helm))
}

/// What the build options say about charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct HelmFlags {
    is_enabled: bool,
    kube_version: String,
    api_versions: Vec<String>,
}

impl HelmFlags {
    /// The version and the API versions that charts see: those of the source,
    /// else those of the destination; flags of the settings stand behind, as
    /// Argo CD puts its own after them.
    fn for_destination(
        self,
        changes: &ApplicationSourceKustomize,
        context: &RenderContext,
    ) -> Result<(String, Vec<String>), RenderError> {
        let capabilities = &context.capabilities;
        let version = match (&changes.kube_version, &capabilities.kube_version) {
            (own, destination) if own.is_empty() => destination,
            (own, _) => own,
        };
        let version = if version.is_empty() {
            self.kube_version
        } else {
            chart::numbers_of_version(version)?
        };
        let mut api_versions = self.api_versions;
        api_versions.extend(
            if changes.api_versions.is_empty() {
                &capabilities.api_versions
            } else {
                &changes.api_versions
            }
            .iter()
            .cloned(),
        );
        Ok((version, api_versions))
    }
}

/// Does what the destination can do matter to a build with these options?
pub(crate) fn depends_on_destination(build_options: &str) -> bool {
    build_options.contains("--enable-helm")
}

/// Users know the words of a Kustomize that reads from a disk.
fn as_on_disk(message: &str) -> String {
    const MISSING: &str = "' doesn't exist";
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(end) = rest.find(MISSING) {
        let before = &rest[..end];
        match before.rfind("'/") {
            Some(begin) if !before[begin + 1..].contains('\'') => {
                out.push_str(&before[..begin]);
                out.push_str(&format!("open {}: no such file or directory", &before[begin + 2..]));
            }
            _ => out.push_str(&rest[..end + MISSING.len()]),
        }
        rest = &rest[end + MISSING.len()..];
    }
    out.push_str(rest);
    out
}

/// A tree as Kustomize sees it: links are followed.
struct KustomizeFiles<'t> {
    tree: &'t dyn Tree,
    limit: u64,
    failure: &'t RefCell<Option<RenderError>>,
}

/// The answers of a tree, or why there is none.
fn entry(tree: &dyn Tree, path: &str) -> Result<Option<(TreePath, EntryKind)>, RenderError> {
    let Ok(path) = TreePath::parse(path) else { return Ok(None) };
    Ok(tree::resolve(tree, &path)?.map(|(path, entry)| (path, entry.kind)))
}

fn content(tree: &dyn Tree, path: &str, limit: u64) -> Result<Option<Bytes>, RenderError> {
    match entry(tree, path)? {
        Some((path, EntryKind::File)) => Ok(tree.read(&path, limit)?),
        _ => Ok(None),
    }
}

fn below(tree: &dyn Tree, directory: &str) -> Result<Vec<String>, RenderError> {
    match TreePath::parse(directory) {
        Ok(path) => chart::files_below(tree, &path),
        Err(_) => Ok(Vec::new()),
    }
}

impl KustomizeFiles<'_> {
    fn note<T>(&self, result: Result<T, RenderError>) -> Option<T> {
        result.map_err(|error| self.failure.borrow_mut().get_or_insert(error).clone()).ok()
    }
}

impl kustomize::Files for KustomizeFiles<'_> {
    fn read(&self, path: &str) -> Option<Bytes> {
        self.note(content(self.tree, path, self.limit)).flatten()
    }

    fn is_dir(&self, path: &str) -> bool {
        let found = self.note(entry(self.tree, path)).flatten();
        found.is_some_and(|(_, kind)| kind == EntryKind::Directory)
    }

    fn real_path(&self, path: &str) -> Option<String> {
        let (path, _) = self.note(entry(self.tree, path)).flatten()?;
        Some(path.as_str().to_owned())
    }

    fn below(&self, directory: &str) -> Vec<String> {
        self.note(below(self.tree, directory)).unwrap_or_default()
    }
}

/// Another repository's tree; what cannot be read there is not there.
struct FetchedFiles {
    tree: Box<dyn Tree>,
    limit: u64,
}

impl kustomize::Files for FetchedFiles {
    fn read(&self, path: &str) -> Option<Bytes> {
        content(self.tree.as_ref(), path, self.limit).ok().flatten()
    }

    fn is_dir(&self, path: &str) -> bool {
        let found = entry(self.tree.as_ref(), path).ok().flatten();
        found.is_some_and(|(_, kind)| kind == EntryKind::Directory)
    }

    fn real_path(&self, path: &str) -> Option<String> {
        let (path, _) = entry(self.tree.as_ref(), path).ok().flatten()?;
        Some(path.as_str().to_owned())
    }

    fn below(&self, directory: &str) -> Vec<String> {
        below(self.tree.as_ref(), directory).unwrap_or_default()
    }
}

struct RemoteBases<'o> {
    outside: &'o dyn Outside,
    limit: u64,
}

impl Remote for RemoteBases<'_> {
    fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn kustomize::Files>, RemoteError> {
        let tree = self.outside.repository(base).map_err(remote_error)?;
        Ok(Rc::new(FetchedFiles { tree, limit: self.limit }))
    }

    fn file(&self, url: &str) -> Result<Bytes, RemoteError> {
        self.outside.file(url).map_err(remote_error)
    }
}

fn remote_error(error: OutsideError) -> RemoteError {
    match error {
        OutsideError::Status(status) => RemoteError::Status(status),
        OutsideError::Failed(why) => RemoteError::Refused(why),
    }
}
