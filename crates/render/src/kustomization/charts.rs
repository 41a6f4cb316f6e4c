//! Charts in a kustomization, rendered by our Helm.

use std::rc::Rc;

use helm::{Chart, Facts, KubeVersion, Options, ValueOptions};
use kustomize::{ChartRelease, Files, Helm, HelmError, MemoryFiles, RemoteChart};

use crate::world::{ChartAddress, Outside};

/// The name that `helm template` gives a release without one.
const NO_NAME: &str = "release-name";
/// What `--devel` stands for: any version, pre-releases included.
const DEVELOPMENT: &str = ">0.0.0-0";

/// Inflates charts with what the world has.
pub(super) struct Charts<'w> {
    pub(super) outside: &'w dyn Outside,
    pub(super) facts: &'w dyn Facts,
}

impl Helm for Charts<'_> {
    fn pull(&self, chart: &RemoteChart) -> Result<Rc<dyn Files>, HelmError> {
        let version = match chart.version.as_str() {
            "" if chart.devel => DEVELOPMENT,
            version => version,
        };
        let address = ChartAddress {
            repository: chart.repository.clone(),
            name: chart.name.clone(),
            version: version.to_owned(),
            pass_credentials: false,
        };
        let archive = self.outside.chart(&address).map_err(|error| HelmError(error.to_string()))?;
        let files = helm::unpack(&archive, helm::ArchiveLimits::default()).map_err(in_words)?;
        Ok(Rc::new(files.into_iter().collect::<MemoryFiles>()))
    }

    fn template(&self, release: &ChartRelease<'_>) -> Result<String, HelmError> {
        let chart = Chart::load(&ReleaseFiles(release)).map_err(in_words)?;
        let namespace = if release.namespace.is_empty() { "default" } else { release.namespace };
        let mut options = Options::new(self.name(release)?, namespace);
        let values = release.values.iter().map(|(name, text)| (name.clone(), text.to_vec()));
        options.values = ValueOptions { files: values.collect(), ..ValueOptions::default() };
        if !release.kube_version.is_empty() {
            options.capabilities.kube_version =
                KubeVersion::parse(release.kube_version).map_err(in_words)?;
        }
        options.capabilities.api_versions = release.api_versions.to_vec();
        options.include_crds = release.include_crds;
        options.skip_tests = release.skip_tests;
        options.no_hooks = release.skip_hooks;
        let rendered = helm::template(&chart, &options, self.facts).map_err(in_words)?;
        Ok(rendered.text())
    }
}

impl Charts<'_> {
    fn name(&self, release: &ChartRelease<'_>) -> Result<String, HelmError> {
        match (release.name, release.name_template) {
            ("", "") => Ok(NO_NAME.to_owned()),
            ("", template) => helm::template_name(template, self.facts).map_err(in_words),
            (name, "") => Ok(name.to_owned()),
            _ => Err(HelmError(
                "Error: cannot set --name-template and also specify a name".to_owned(),
            )),
        }
    }
}

fn in_words(error: helm::Error) -> HelmError {
    HelmError(format!("Error: {error}"))
}

/// The chart's folder as Helm sees it.
struct ReleaseFiles<'r>(&'r ChartRelease<'r>);

impl helm::Files for ReleaseFiles<'_> {
    fn paths(&self) -> Vec<String> {
        self.0.files.below(self.0.path)
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let folder = self.0.path;
        let path = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
        self.0.files.read(&path).map(|content| content.to_vec())
    }
}
