//! Charts in a kustomization: `helmCharts`, and the builtin plugin
//! `HelmChartInflationGenerator`.
//!
//! This crate knows no Helm. It finds the chart and its values, as Kustomize
//! does before it starts a `helm` process, and asks the port [`Helm`] for what
//! that process would print.

use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use serde_json::Value;

use crate::error::{BuildError, Context as _, Result, invalid};
use crate::files::{Files, join};
use crate::kustomization::charts::{HelmChart, HelmGlobals};
use crate::loader::Loader;
use crate::merge;
use crate::resource::Resource;
use crate::resource::parse::{resources_from_bytes, utf8};
use crate::resources::Resources;
use crate::schema::Schemas;
use crate::yaml::json::{from_go_value, to_value};
use crate::yaml::{Node, parse};

/// Where charts are looked for in a kustomization's directory.
const DEFAULT_HOME: &str = "charts";

/// Renders charts on behalf of a build.
pub trait Helm {
    /// `helm pull --untar`: the files of a chart, `Chart.yaml` at their root.
    ///
    /// # Errors
    /// If the chart may not or cannot be fetched.
    fn pull(&self, chart: &RemoteChart) -> Result<Rc<dyn Files>, HelmError>;

    /// `helm template`: the text it would print.
    ///
    /// # Errors
    /// If the chart cannot be rendered.
    fn template(&self, release: &ChartRelease<'_>) -> Result<String, HelmError>;
}

/// Why a chart is not there, in Helm's words.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct HelmError(pub String);

/// How charts are inflated: `--enable-helm` and the flags beside it.
#[derive(Clone, Copy)]
pub struct HelmOptions<'h> {
    /// Who does it.
    pub helm: &'h dyn Helm,
    /// `--helm-kube-version`, for charts that name none.
    pub kube_version: &'h str,
    /// `--helm-api-versions`, for charts that name none.
    pub api_versions: &'h [String],
}

impl fmt::Debug for HelmOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelmOptions")
            .field("kube_version", &self.kube_version)
            .field("api_versions", &self.api_versions)
            .finish_non_exhaustive()
    }
}

/// A chart in a repository, as a kustomization names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteChart {
    /// `https://…` or `oci://…`.
    pub repository: String,
    /// The chart's name.
    pub name: String,
    /// A version or a range of versions; empty for the newest.
    pub version: String,
    /// May a pre-release be chosen?
    pub devel: bool,
}

/// A chart to render, and how.
pub struct ChartRelease<'c> {
    /// The tree that holds the chart.
    pub files: &'c dyn Files,
    /// The chart's folder in the tree.
    pub path: &'c str,
    /// The release's name; empty if the kustomization names none.
    pub name: &'c str,
    /// A template for the release's name; empty if there is none.
    pub name_template: &'c str,
    /// The release's namespace; empty for Helm's default.
    pub namespace: &'c str,
    /// Value files, a name for messages and the content; later ones win.
    pub values: Vec<(String, Bytes)>,
    /// API versions beside those that Helm knows.
    pub api_versions: &'c [String],
    /// Kubernetes' version; empty for Helm's own assumption.
    pub kube_version: &'c str,
    /// Print what is below `crds/` too.
    pub include_crds: bool,
    /// Leave tests out.
    pub skip_tests: bool,
    /// Leave hooks out.
    pub skip_hooks: bool,
}

impl fmt::Debug for ChartRelease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may hold secrets.
        f.debug_struct("ChartRelease")
            .field("path", &self.path)
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A chart that was configured and can be inflated.
pub(crate) struct Inflation<'w> {
    options: HelmOptions<'w>,
    chart: HelmChart,
    /// The folder of charts in the tree; `None` if it is outside.
    home: Option<String>,
    values_merge: ValuesMerge,
    additional_values: Vec<(String, Bytes)>,
}

/// How inline values meet those of the values file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValuesMerge {
    /// Inline values win.
    Override,
    /// The file's values win.
    Merge,
    /// The file is not read.
    Replace,
}

impl<'w> Inflation<'w> {
    /// Checks what can be checked before anything is generated.
    pub(crate) fn configure(
        chart: HelmChart,
        globals: &HelmGlobals,
        loader: &Loader<'w>,
    ) -> Result<Self> {
        let Some(options) = loader.helm() else {
            return Err(invalid("must specify --enable-helm"));
        };
        if chart.name.is_empty() {
            return Err(invalid("chart name cannot be empty"));
        }
        let mut additional_values = Vec::new();
        for path in &chart.additional_values_files {
            let content =
                loader.load(path).context(|| "could not load additionalValuesFile".to_owned())?;
            additional_values.push((path.clone(), content));
        }
        let values_merge = match chart.values_merge.as_str() {
            "" | "override" => ValuesMerge::Override,
            "merge" => ValuesMerge::Merge,
            "replace" => ValuesMerge::Replace,
            _ => return Err(invalid("valuesMerge must be one of [merge override replace]")),
        };
        let home = home(&chart, globals, loader);
        Ok(Self { options, chart, home, values_merge, additional_values })
    }

    /// The resources of the chart.
    pub(crate) fn run(&self, loader: &Loader<'w>, schemas: &Schemas) -> Result<Vec<Resource>> {
        let Self { chart, options, .. } = self;
        let folder = self.home.as_deref().and_then(|home| join(home, &chart.name));
        let local = folder.as_deref().filter(|folder| loader.files().is_dir(folder));
        let pulled = match local {
            Some(_) => None,
            None => Some(self.pull(folder.as_deref(), loader)?),
        };
        let (files, path) = match (local, &pulled) {
            (Some(path), _) => (loader.files(), path),
            (None, Some(files)) => (files.as_ref(), ""),
            (None, None) => return Err(invalid("no chart was found")),
        };
        let file_values = || self.values_file(loader, folder.as_deref(), pulled.as_deref());
        let mut values = vec![self.values(file_values, schemas)?];
        values.extend(self.additional_values.iter().cloned());
        let first = |own: &'_ str, general: &'_ str| {
            if own.is_empty() { general.to_owned() } else { own.to_owned() }
        };
        let kube_version = first(&chart.kube_version, options.kube_version);
        let api_versions =
            if chart.api_versions.is_empty() { options.api_versions } else { &chart.api_versions };
        let release = ChartRelease {
            files,
            path,
            name: &chart.release_name,
            name_template: &chart.name_template,
            namespace: &chart.namespace,
            values,
            api_versions,
            kube_version: &kube_version,
            include_crds: chart.include_crds,
            skip_tests: chart.skip_tests,
            skip_hooks: chart.skip_hooks,
        };
        let text = options.helm.template(&release).map_err(|error| self.failed(error))?;
        self.read(&text, schemas)
    }

    fn pull(&self, folder: Option<&str>, loader: &Loader<'w>) -> Result<Rc<dyn Files>> {
        let chart = &self.chart;
        if chart.repository.is_empty() {
            let looked_at = folder.map_or_else(
                || format!("outside of the tree, seen from '{}'", loader.root()),
                |folder| format!("'/{folder}'"),
            );
            return Err(invalid(format!(
                "no repo specified for pull, no chart found at {looked_at}"
            )));
        }
        let address = RemoteChart {
            repository: chart.repository.clone(),
            name: chart.name.clone(),
            version: chart.version.clone(),
            devel: chart.devel,
        };
        self.options.helm.pull(&address).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: HelmError) -> BuildError {
        BuildError::Step {
            step: format!("inflating chart '{}'", self.chart.name),
            source: Box::new(invalid(error.to_string())),
        }
    }

    /// The values file, the chart's own unless another is named.
    fn values_file(
        &self,
        loader: &Loader<'w>,
        folder: Option<&str>,
        pulled: Option<&dyn Files>,
    ) -> Result<Bytes> {
        let named = &self.chart.values_file;
        let Some(pulled) = pulled else {
            let default = || format!("/{}/values.yaml", folder.unwrap_or_default());
            return loader.load(&if named.is_empty() { default() } else { named.clone() });
        };
        // What was pulled stands in the kustomization's directory, to Kustomize.
        let path = match (loader.resolve(named), folder) {
            _ if named.is_empty() => Some("values.yaml".to_owned()),
            (Some(named), Some(folder)) => {
                named.strip_prefix(folder).and_then(|it| it.strip_prefix('/')).map(str::to_owned)
            }
            _ => None,
        };
        match path {
            None => loader.load(named),
            Some(path) => pulled.read(&path).ok_or_else(|| {
                let folder = folder.unwrap_or_default();
                invalid(format!("'/{folder}/{path}' doesn't exist"))
            }),
        }
    }

    /// The first value file that Helm is given.
    fn values(
        &self,
        file: impl FnOnce() -> Result<Bytes>,
        schemas: &Schemas,
    ) -> Result<(String, Bytes)> {
        let name = format!("{}-kustomize-values.yaml", self.chart.name);
        let inline = &self.chart.values_inline;
        if inline.is_empty() {
            return Ok((name, file()?));
        }
        let inline = Value::Object(inline.clone());
        let values = match self.values_merge {
            ValuesMerge::Replace => inline,
            ValuesMerge::Override => {
                merged(read_values(&file()?)?, from_go_value(&inline), schemas)?
            }
            ValuesMerge::Merge => merged(from_go_value(&inline), read_values(&file()?)?, schemas)?,
        };
        Ok((name, gocompat::yaml::from_value(&values).into()))
    }

    fn read(&self, text: &str, schemas: &Schemas) -> Result<Vec<Resource>> {
        let list = resources_from_bytes(text.as_bytes())
            .context(|| format!("reading what chart '{}' prints", self.chart.name))?;
        let mut list = Resources::from_list(list, &schemas.scopes)
            .context(|| "could not parse rnode slice into resource map".to_owned())?
            .into_list();
        for resource in &mut list {
            resource.history.is_from_helm = true;
        }
        Ok(list)
    }
}

/// The folder that holds the chart's folder.
fn home(chart: &HelmChart, globals: &HelmGlobals, loader: &Loader<'_>) -> Option<String> {
    let home = if globals.chart_home.is_empty() { DEFAULT_HOME } else { &globals.chart_home };
    if home.starts_with('/') {
        return None;
    }
    let home = loader.resolve(home)?;
    if chart.version.is_empty() || chart.repository.is_empty() {
        return Some(home);
    }
    join(&home, &format!("{}-{}", chart.name, chart.version))
}

fn read_values(bytes: &[u8]) -> Result<Node> {
    let context = || "could not parse values file into rnode".to_owned();
    let node = parse::document(utf8(bytes)?.as_bytes()).context(context)?;
    node.ok_or_else(|| invalid("EOF")).context(context)
}

fn merged(below: Node, above: Node, schemas: &Schemas) -> Result<Value> {
    let merged =
        merge::merge(below, above, schemas).context(|| "could not merge values".to_owned())?;
    Ok(match merged {
        Some(node) => to_value(&node)?,
        None => Value::Object(serde_json::Map::new()),
    })
}
