//! Parameters that live beside the manifests: `.argocd-source.yaml` and
//! `.argocd-source-<application>.yaml`, merged into the source.

use api::ApplicationSource;
use serde_json::Value;

use crate::RenderError;
use crate::tree::{self, EntryKind, Tree, TreePath};

/// No set of parameters needs more.
const MAX_PARAMETERS: u64 = 1 << 20;

/// The source with the parameter files of its directory merged in.
///
/// What says where the source is (repository, revision, path, chart) cannot be
/// overridden from inside it.
pub(crate) fn merge(
    tree: &dyn Tree,
    path: &TreePath,
    source: &ApplicationSource,
    app_name: &str,
) -> Result<ApplicationSource, RenderError> {
    let mut merged = source.clone();
    for name in file_names(app_name) {
        let file = path.child(&name);
        if let Some(patch) = read_patch(tree, &file)? {
            merged = apply(&merged, patch)
                .map_err(|error| RenderError::Parameters { file, problem: error.to_string() })?;
        }
    }
    merged.chart.clone_from(&source.chart);
    merged.path.clone_from(&source.path);
    merged.repo_url.clone_from(&source.repo_url);
    merged.target_revision.clone_from(&source.target_revision);
    Ok(merged)
}

/// An application in another namespace is called `namespace_name` here, and a
/// name is never a path.
fn file_names(app_name: &str) -> Vec<String> {
    let mut names = vec![".argocd-source.yaml".to_owned()];
    if !app_name.is_empty() && !app_name.contains('/') {
        names.push(format!(".argocd-source-{app_name}.yaml"));
    }
    names
}

fn read_patch(tree: &dyn Tree, file: &TreePath) -> Result<Option<Value>, RenderError> {
    let Some((file, entry)) = tree::resolve(tree, file)? else { return Ok(None) };
    if entry.kind != EntryKind::File {
        return Ok(None);
    }
    let content = tree.read(&file, MAX_PARAMETERS)?.unwrap_or_default();
    let wrong = |problem: String| RenderError::Parameters { file: file.clone(), problem };
    let text = std::str::from_utf8(&content).map_err(|error| wrong(error.to_string()))?;
    gocompat::yaml::to_value(text).map(Some).map_err(|error| wrong(error.to_string()))
}

fn apply(source: &ApplicationSource, patch: Value) -> Result<ApplicationSource, serde_json::Error> {
    let mut value = serde_json::to_value(source)?;
    merge_patch(&mut value, patch);
    serde_json::from_value(value)
}

/// RFC 7386: mappings merge, null deletes, everything else replaces.
fn merge_patch(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let fields = target.as_object_mut().expect("was just made a mapping");
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge_patch(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[track_caller]
    fn check(tree: &MemoryTree, expect: &str) {
        let source = ApplicationSource {
            repo_url: "https://example.com/repo".to_owned(),
            path: "web".to_owned(),
            ..Default::default()
        };
        let path = TreePath::parse("web").unwrap();
        let answer = merge(tree, &path, &source, "guestbook")
            .map_or_else(|error| error.to_string(), |it| serde_json::to_string(&it).unwrap());
        assert_eq!(answer, expect);
    }

    #[test]
    fn the_applications_own_file_has_the_last_word() {
        let tree = MemoryTree::new()
            .file("web/.argocd-source.yaml", "directory: {recurse: true, include: a}")
            .file("web/.argocd-source-guestbook.yaml", "directory: {include: b}")
            .file("web/.argocd-source-other.yaml", "directory: {include: c}");
        check(
            &tree,
            r#"{"repoURL":"https://example.com/repo","path":"web","directory":{"recurse":true,"jsonnet":{},"include":"b"}}"#,
        );
    }

    #[test]
    fn a_file_cannot_send_the_source_elsewhere() {
        let tree = MemoryTree::new()
            .file("web/.argocd-source.yaml", "{repoURL: https://evil, path: other, chart: x}");
        check(&tree, r#"{"repoURL":"https://example.com/repo","path":"web"}"#);
    }

    #[test]
    fn a_file_that_does_not_fit_is_named() {
        let tree = MemoryTree::new().file("web/.argocd-source.yaml", "directory: 7");
        let source = ApplicationSource::default();
        let path = TreePath::parse("web").unwrap();
        let error = merge(&tree, &path, &source, "guestbook").unwrap_err().to_string();
        let expect = "error while parsing source parameters: web/.argocd-source.yaml: ";
        assert!(error.starts_with(expect), "{error}");
    }
}
