//! What kind of source a directory is.

use std::fmt;

use api::ApplicationSource;
use serde::{Deserialize, Serialize};

use crate::RenderError;
use crate::tree::{EntryKind, Tree, TreePath};

/// The kinds of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceType {
    /// A Helm chart.
    Helm,
    /// A kustomization.
    Kustomize,
    /// Plain YAML, JSON and Jsonnet files.
    Directory,
    /// A config management plugin's.
    Plugin,
}

impl SourceType {
    /// The name as it stands in an Application's status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Helm => "Helm",
            Self::Kustomize => "Kustomize",
            Self::Directory => "Directory",
            Self::Plugin => "Plugin",
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The tools the settings allow: `helm.enable`, `kustomize.enable` and
/// `jsonnet.enable`. A source of a tool that is off is read as plain files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnabledSourceTypes {
    /// Render charts?
    pub helm: bool,
    /// Render kustomizations?
    pub kustomize: bool,
    /// Evaluate Jsonnet files? Otherwise they are skipped.
    pub jsonnet: bool,
}

impl Default for EnabledSourceTypes {
    fn default() -> Self {
        Self { helm: true, kustomize: true, jsonnet: true }
    }
}

impl EnabledSourceTypes {
    pub(crate) fn allows(self, source_type: SourceType) -> bool {
        match source_type {
            SourceType::Helm => self.helm,
            SourceType::Kustomize => self.kustomize,
            SourceType::Directory | SourceType::Plugin => true,
        }
    }
}

/// The kind of source at `path`: what the source says, or else what the files tell.
///
/// # Errors
/// When the source has options of several tools, or the tree fails.
pub fn detect(
    tree: &dyn Tree,
    path: &TreePath,
    source: &ApplicationSource,
    enabled: EnabledSourceTypes,
) -> Result<SourceType, RenderError> {
    match said(source)? {
        None => discover(tree, path, enabled),
        Some(source_type) if enabled.allows(source_type) => Ok(source_type),
        Some(_) => Ok(SourceType::Directory),
    }
}

/// What the source itself says to be.
pub(crate) fn said(source: &ApplicationSource) -> Result<Option<SourceType>, RenderError> {
    let said = [
        (SourceType::Kustomize, source.kustomize.is_some()),
        (SourceType::Helm, source.helm.is_some()),
        (SourceType::Directory, source.directory.is_some()),
        (SourceType::Plugin, source.plugin.is_some()),
    ];
    let said: Vec<_> = said.into_iter().filter(|(_, present)| *present).map(|it| it.0).collect();
    match said.as_slice() {
        [] => Ok(None),
        [source_type] => Ok(Some(*source_type)),
        several => {
            let names = several.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(",");
            Err(RenderError::SeveralSourceTypes { names })
        }
    }
}

/// Names are looked at in order and the last that tells wins, as in Argo CD:
/// of `Chart.yaml` and `kustomization.yaml`, the kustomization.
fn discover(
    tree: &dyn Tree,
    path: &TreePath,
    enabled: EnabledSourceTypes,
) -> Result<SourceType, RenderError> {
    let names = tree.list(path)?.unwrap_or_default();
    let told = names
        .iter()
        .filter(|(_, kind)| matches!(kind, EntryKind::File | EntryKind::Symlink))
        .filter_map(|(name, _)| told_by(name))
        .rfind(|source_type| enabled.allows(*source_type));
    Ok(told.unwrap_or(SourceType::Directory))
}

pub(crate) fn told_by(name: &str) -> Option<SourceType> {
    match name {
        "kustomization.yaml" | "kustomization.yml" | "Kustomization" => Some(SourceType::Kustomize),
        // Any name with this ending, as in Argo CD: `old-Chart.yaml` too.
        name if name.ends_with("Chart.yaml") => Some(SourceType::Helm),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[track_caller]
    fn check(
        files: &[&str],
        source: &ApplicationSource,
        enabled: EnabledSourceTypes,
        expect: &str,
    ) {
        let tree = files.iter().fold(MemoryTree::new(), |tree, file| tree.file(file, ""));
        let answer = detect(&tree, &TreePath::root(), source, enabled)
            .map_or_else(|error| error.to_string(), |it| it.to_string());
        assert_eq!(answer, expect);
    }

    #[track_caller]
    fn check_files(files: &[&str], expect: &str) {
        check(files, &ApplicationSource::default(), EnabledSourceTypes::default(), expect);
    }

    #[test]
    fn files_tell_the_kind_of_source() {
        check_files(&["deploy.yaml"], "Directory");
        check_files(&["Chart.yaml", "deploy.yaml"], "Helm");
        check_files(&["kustomization.yaml"], "Kustomize");
        check_files(&["kustomization.yml"], "Kustomize");
        check_files(&["Kustomization"], "Kustomize");
        check_files(&["sub/Chart.yaml"], "Directory");
        check_files(&["Chart.yaml/file"], "Directory");
    }

    #[test]
    fn a_kustomization_beside_a_chart_wins_by_its_name() {
        check_files(&["Chart.yaml", "kustomization.yaml"], "Kustomize");
        check_files(&["kustomization.yaml", "zChart.yaml"], "Helm");
    }

    #[test]
    fn what_the_source_says_wins_over_its_files() {
        let directory =
            ApplicationSource { directory: Some(Default::default()), ..Default::default() };
        check(&["Chart.yaml"], &directory, EnabledSourceTypes::default(), "Directory");
    }

    #[test]
    fn a_tool_that_is_off_leaves_plain_files() {
        let no_helm = EnabledSourceTypes { helm: false, ..Default::default() };
        check(&["Chart.yaml"], &ApplicationSource::default(), no_helm, "Directory");
        let helm = ApplicationSource { helm: Some(Default::default()), ..Default::default() };
        check(&["Chart.yaml"], &helm, no_helm, "Directory");
    }

    #[test]
    fn options_of_two_tools_contradict_each_other() {
        let both = ApplicationSource {
            helm: Some(Default::default()),
            kustomize: Some(Default::default()),
            ..Default::default()
        };
        let enabled = EnabledSourceTypes::default();
        check(&[], &both, enabled, "multiple application sources defined: Kustomize,Helm");
    }
}
