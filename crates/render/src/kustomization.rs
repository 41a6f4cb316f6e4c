//! A kustomization in the tree, with an application's overrides, to objects.

use std::cell::RefCell;
use std::rc::Rc;

use api::{ApplicationSourceKustomize, IntOrString, KustomizePatch};
use bytes::Bytes;
use kustomize::{
    LoadRestrictions, Overrides, PatchOverride, PatchTarget, Remote, RemoteBase, RemoteError,
    ReplicaOverride,
};
use object::Object;

use crate::environment::Environment;
use crate::manifest::Found;
use crate::tree::{self, EntryKind, Tree, TreePath};
use crate::world::{Outside, OutsideError};
use crate::{RenderContext, RenderError};

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
    outside: &dyn Outside,
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
    let options = build_options(&context.kustomize_build_options).map_err(&fail)?;
    let failure = RefCell::default();
    let files = KustomizeFiles { tree, limit: context.limits.max_file, failure: &failure };
    let remote = RemoteBases { outside, limit: context.limits.max_file };
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
fn build_options(text: &str) -> Result<kustomize::Options, String> {
    let mut options = kustomize::Options::default();
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
            // Nothing of what they allow is ever run, or it is refused where it stands.
            "--enable-helm"
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
    Ok(options)
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
