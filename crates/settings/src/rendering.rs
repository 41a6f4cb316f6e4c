//! How sources are rendered.

use std::collections::BTreeMap;

use crate::reader::Reader;

/// What the renderers need to know.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// Are Kustomize sources rendered as such?
    pub kustomize_enabled: bool,
    /// Are charts?
    pub helm_enabled: bool,
    /// Is Jsonnet?
    pub jsonnet_enabled: bool,
    /// Options of every `kustomize build`.
    pub kustomize_build_options: String,
    /// Versions of Kustomize that Applications may ask for, by name.
    pub kustomize_versions: BTreeMap<String, KustomizeVersion>,
    /// Where values files may come from: schemes of URLs.
    pub helm_values_file_schemes: Vec<String>,
    /// The message of hydrated commits; empty for the usual one.
    pub hydrator_commit_message: String,
    /// The README beside hydrated manifests; empty for the usual one.
    pub hydrator_readme: String,
    /// Who writes hydrated commits.
    pub commit_author_name: String,
    /// Their address.
    pub commit_author_email: String,
}

/// A version of Kustomize that Applications may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizeVersion {
    /// Where its program is; we build in ourselves and only report it.
    pub path: String,
    /// Options of its builds, instead of the general ones.
    pub build_options: Option<String>,
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Rendering {
    let is_on = |reader: &Reader<'_>, key| {
        let text = reader.text(key);
        text.is_empty() || text == "true"
    };
    let schemes = match reader.data.get("helm.valuesFileSchemes") {
        Some(_) => reader.list("helm.valuesFileSchemes"),
        None => vec!["https".into(), "http".into()],
    };
    Rendering {
        kustomize_enabled: is_on(reader, "kustomize.enable"),
        helm_enabled: is_on(reader, "helm.enable"),
        jsonnet_enabled: is_on(reader, "jsonnet.enable"),
        kustomize_build_options: reader.owned("kustomize.buildOptions"),
        kustomize_versions: kustomize_versions(reader),
        helm_values_file_schemes: schemes,
        hydrator_commit_message: reader.owned("sourceHydrator.commitMessageTemplate"),
        hydrator_readme: reader.owned("sourceHydrator.readmeMessageTemplate"),
        commit_author_name: reader.text_or("commit.author.name", "Argo CD"),
        commit_author_email: reader.text_or("commit.author.email", "argo-cd@example.com"),
    }
}

fn kustomize_versions(reader: &mut Reader<'_>) -> BTreeMap<String, KustomizeVersion> {
    let mut versions: BTreeMap<String, KustomizeVersion> = BTreeMap::new();
    for (key, path) in reader.data {
        let version = ["kustomize.path.", "kustomize.version."]
            .into_iter()
            .find_map(|prefix| key.strip_prefix(prefix));
        let Some(version) = version.filter(|it| !it.is_empty()) else { continue };
        if versions.contains_key(version) {
            reader.find(key, format!("the version {version} has a path already"));
            continue;
        }
        let build_options = reader.data.get(&format!("kustomize.buildOptions.{version}")).cloned();
        versions.insert(version.to_owned(), KustomizeVersion { path: path.clone(), build_options });
    }
    versions
}
