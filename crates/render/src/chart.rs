//! A Helm chart in the tree, with an application's parameters, to objects.

use std::cell::RefCell;
use std::collections::BTreeMap;

use api::{ApplicationSource, ApplicationSourceHelm};
use helm::{Chart, Dependency, KubeVersion, Options, ValueOptions};
use object::Object;

use crate::environment::Environment;
use crate::manifest::{self, Found};
use crate::tree::{self, EntryKind, Recorder, Tree, TreePath};
use crate::value_files::Shelves;
use crate::world::{ChartAddress, World};
use crate::{RenderContext, RenderError};

/// Folders inside each other below a chart.
const MAX_DEPTH: usize = 64;
/// Names below a chart, ignored ones included.
const MAX_NAMES: usize = 200_000;

/// What a source may ask for; all of them mean the one that is built in.
const HELM_VERSIONS: [&str; 3] = ["", "v3", "v4"];

/// A chart and what surrounds it.
pub(crate) struct ChartSource<'s> {
    pub(crate) tree: &'s dyn Tree,
    pub(crate) path: &'s TreePath,
    pub(crate) source: &'s ApplicationSource,
    pub(crate) context: &'s RenderContext,
    pub(crate) environment: &'s Environment<'s>,
    pub(crate) world: &'s World<'s>,
    pub(crate) refs: &'s BTreeMap<String, Recorder<'s>>,
}

impl<'s> ChartSource<'s> {
    /// The objects that `helm template` would print, hooks included.
    pub(crate) fn render(&self) -> Result<Vec<Found<Object>>, RenderError> {
        let options = self.options()?;
        let mut chart = load(self.tree, self.path)?;
        self.add_missing_dependencies(&mut chart)?;
        let rendered = helm::template(&chart, &options, self.world.facts)
            .map_err(|error| failed(self.path, &error))?;
        let mut found = Vec::new();
        for document in rendered.documents() {
            // `web/templates/x.yaml`: the chart's name stands for its folder.
            let below = document.path.split_once('/').map_or("", |(_, below)| below);
            let file = self.path.resolve_relative(below).unwrap_or_else(|_| self.path.clone());
            found.extend(manifest::from_output(&file, &document.content)?);
        }
        Ok(found)
    }

    pub(crate) fn shelves(&self) -> Shelves<'s> {
        Shelves {
            tree: self.tree,
            path: self.path,
            refs: self.refs,
            outside: self.world.outside,
            environment: self.environment,
            context: self.context,
        }
    }

    fn options(&self) -> Result<Options, RenderError> {
        let none = ApplicationSourceHelm::default();
        let helm = self.source.helm.as_deref().unwrap_or(&none);
        let name = if helm.release_name.is_empty() {
            self.context.short_name()
        } else {
            &helm.release_name
        };
        if !HELM_VERSIONS.contains(&helm.version.as_str()) {
            return Err(RenderError::Helm {
                path: self.path.clone(),
                problem: format!("helm version '{}' is not supported", helm.version),
            });
        }
        // Argo CD gives the name as `--name-template`.
        let name = helm::template_name(name, self.world.facts)
            .map_err(|error| failed(self.path, &error))?;
        let namespace = first_of([&helm.namespace, &self.context.namespace, "default"]);
        let mut options = Options::new(name, namespace);
        options.values = self.values(helm)?;
        let capabilities = &self.context.capabilities;
        let kube_version = first_of([&helm.kube_version, &capabilities.kube_version]);
        if !kube_version.is_empty() {
            options.capabilities.kube_version = parse_kube_version(kube_version)?;
        }
        options.capabilities.api_versions = if helm.api_versions.is_empty() {
            capabilities.api_versions.clone()
        } else {
            helm.api_versions.clone()
        };
        options.include_crds = !helm.skip_crds;
        options.skip_tests = helm.skip_tests;
        options.skip_schema_validation = helm.skip_schema_validation;
        Ok(options)
    }

    /// Files, then inline values, then single parameters: later ones win.
    fn values(&self, helm: &ApplicationSourceHelm) -> Result<ValueOptions, RenderError> {
        let shelves = self.shelves();
        let mut values = ValueOptions {
            files: shelves.value_files(&helm.value_files, helm.ignore_missing_value_files)?,
            ..ValueOptions::default()
        };
        if let Some(inline) = inline_values(helm) {
            values.files.push(("values of the Application".to_owned(), inline));
        }
        // Of two parameters of one name the last counts.
        let mut set = BTreeMap::new();
        for parameter in &helm.parameters {
            set.insert((parameter.force_string, parameter.name.as_str()), parameter.value.as_str());
        }
        for ((force_string, name), value) in set {
            let value = self.environment.substitute(value);
            let setting = format!("{name}={}", escape_commas(&value));
            if force_string { &mut values.set_string } else { &mut values.set }.push(setting);
        }
        let files: BTreeMap<_, _> =
            helm.file_parameters.iter().map(|it| (it.name.as_str(), it.path.as_str())).collect();
        for (number, (name, path)) in files.into_iter().enumerate() {
            let content = shelves.file(path)?;
            // A number instead of the path, which may hold anything.
            values.set_file.push(format!("{name}={number}"));
            values.file_contents.insert(number.to_string(), content.to_vec());
        }
        Ok(values)
    }

    /// What `helm dependency build` does: brings in what Chart.yaml names and
    /// charts/ does not hold.
    fn add_missing_dependencies(&self, chart: &mut Chart) -> Result<(), RenderError> {
        let missing: Vec<Dependency> = chart.missing_dependencies().into_iter().cloned().collect();
        for dependency in missing {
            let subchart = self.dependency(&dependency)?;
            chart.add_subchart(subchart);
        }
        Ok(())
    }

    fn dependency(&self, dependency: &Dependency) -> Result<Chart, RenderError> {
        let Dependency { name, repository, .. } = dependency;
        let refuse = |problem: String| RenderError::Helm {
            path: self.path.clone(),
            problem: format!(
                "Error: the dependency {name} is found in Chart.yaml, but missing in charts/ \
                 directory, and {problem}"
            ),
        };
        if repository.is_empty() {
            return Err(refuse("it names no repository; add one, or the chart itself".to_owned()));
        }
        if let Some(relative) = repository.strip_prefix("file://") {
            let folder = self.path.resolve_relative(relative).map_err(|_| {
                refuse(format!("its repository {repository} is outside of the git repository"))
            })?;
            return load(self.tree, &folder);
        }
        let address = ChartAddress {
            repository: repository.clone(),
            name: name.clone(),
            version: self.locked_version(name)?.unwrap_or_else(|| dependency.version.clone()),
            pass_credentials: self.source.helm.as_ref().is_some_and(|it| it.pass_credentials),
        };
        let archive = self
            .world
            .outside
            .chart(&address)
            .map_err(|error| refuse(format!("could not be fetched: {error}")))?;
        Chart::load_archive(&archive).map_err(|error| failed(self.path, &error))
    }

    /// The version that Chart.lock chose.
    fn locked_version(&self, name: &str) -> Result<Option<String>, RenderError> {
        for file in ["Chart.lock", "requirements.lock"] {
            let Some((file, entry)) = tree::resolve(self.tree, &self.path.child(file))? else {
                continue;
            };
            if entry.kind != EntryKind::File {
                continue;
            }
            let content = self.tree.read(&file, 1 << 20)?.unwrap_or_default();
            let text = manifest::text_of(&file, &content)?;
            let lock = gocompat::yaml::to_value(&text).unwrap_or_default();
            let locked = lock["dependencies"].as_array().into_iter().flatten();
            let mut locked = locked.filter(|it| it["name"] == name);
            if let Some(version) = locked.next().and_then(|it| it["version"].as_str()) {
                return Ok(Some(version.to_owned()));
            }
        }
        Ok(None)
    }
}

/// The files of a chart's archive, named as they are below the chart.
///
/// # Errors
/// When the archive is malformed, hostile or too large: what is wrong with it.
pub fn unpack_chart(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    helm::unpack(archive, helm::ArchiveLimits::default()).map_err(|error| error.to_string())
}

/// Reads the chart in a folder of the tree.
pub(crate) fn load(tree: &dyn Tree, path: &TreePath) -> Result<Chart, RenderError> {
    let files = ChartFiles { tree, path, failure: RefCell::default() };
    let chart = Chart::load(&files);
    match files.failure.into_inner() {
        Some(failure) => Err(failure),
        None => chart.map_err(|error| failed(path, &error)),
    }
}

/// Every file below a folder, seen from it, links followed.
pub(crate) fn files_below(tree: &dyn Tree, path: &TreePath) -> Result<Vec<String>, RenderError> {
    let files = ChartFiles { tree, path, failure: RefCell::default() };
    let mut paths = Vec::new();
    files.walk(path, &TreePath::root(), MAX_DEPTH, &mut paths)?;
    Ok(paths)
}

/// Values that stand in the Application itself.
fn inline_values(helm: &ApplicationSourceHelm) -> Option<Vec<u8>> {
    let object = helm.values_object.as_ref().map(|it| it.as_str().as_bytes().to_vec());
    object
        .filter(|bytes| !bytes.is_empty())
        .or_else(|| (!helm.values.is_empty()).then(|| helm.values.clone().into_bytes()))
}

fn failed(path: &TreePath, error: &helm::Error) -> RenderError {
    RenderError::Helm { path: path.clone(), problem: format!("Error: {error}") }
}

fn first_of<const N: usize>(texts: [&str; N]) -> &str {
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn parse_kube_version(text: &str) -> Result<KubeVersion, RenderError> {
    KubeVersion::parse(&numbers_of_version(text)?).map_err(|error| bad_version(text, &error))
}

/// Only the numbers count: `v1.33.2-gke.100` is 1.33.2 to charts.
pub(crate) fn numbers_of_version(text: &str) -> Result<String, RenderError> {
    let bare = text.trim().trim_start_matches('v');
    let end = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
    let numbers = bare[..end].trim_end_matches('.');
    KubeVersion::parse(numbers).map_err(|error| bad_version(text, &error))?;
    Ok(numbers.to_owned())
}

fn bad_version(text: &str, error: &helm::Error) -> RenderError {
    RenderError::KubeVersion { text: text.to_owned(), problem: error.to_string() }
}

/// In `--set a=x,y` a comma begins the next setting, in a parameter it is part
/// of the value. A list in braces keeps its commas.
fn escape_commas(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    let mut out = String::with_capacity(value.len());
    let mut before = None;
    for letter in value.chars() {
        if letter == ',' && before != Some('\\') {
            out.push('\\');
        }
        out.push(letter);
        before = Some(letter);
    }
    out
}

/// A folder of the tree as Helm sees it: links are followed.
struct ChartFiles<'t> {
    tree: &'t dyn Tree,
    path: &'t TreePath,
    failure: RefCell<Option<RenderError>>,
}

impl ChartFiles<'_> {
    fn note<T>(&self, result: Result<T, RenderError>) -> Option<T> {
        result.map_err(|error| self.failure.borrow_mut().get_or_insert(error).clone()).ok()
    }

    fn walk(
        &self,
        directory: &TreePath,
        below: &TreePath,
        depth: usize,
        paths: &mut Vec<String>,
    ) -> Result<(), RenderError> {
        for (name, kind) in self.tree.list(directory)?.unwrap_or_default() {
            let (child, below) = (directory.child(&name), below.child(&name));
            let (child, kind) = match kind {
                EntryKind::Symlink => match tree::resolve(self.tree, &child)? {
                    Some((target, entry)) => (target, entry.kind),
                    None => continue,
                },
                kind => (child, kind),
            };
            match kind {
                EntryKind::File => paths.push(below.as_str().to_owned()),
                EntryKind::Directory => {
                    let depth = depth
                        .checked_sub(1)
                        .ok_or_else(|| RenderError::TooDeep { path: child.clone() })?;
                    self.walk(&child, &below, depth, paths)?;
                }
                EntryKind::Symlink | EntryKind::Submodule | EntryKind::Unnameable => {}
            }
            if paths.len() > MAX_NAMES {
                return Err(RenderError::Helm {
                    path: self.path.clone(),
                    problem: format!("the chart has more than {MAX_NAMES} files"),
                });
            }
        }
        Ok(())
    }

    fn content(&self, path: &str) -> Result<Option<Vec<u8>>, RenderError> {
        let Ok(path) = self.path.resolve_relative(path) else { return Ok(None) };
        match tree::resolve(self.tree, &path)? {
            Some((target, entry)) if entry.kind == EntryKind::File => {
                let limit = helm::ArchiveLimits::default().total;
                Ok(self.tree.read(&target, limit)?.map(|content| content.to_vec()))
            }
            _ => Ok(None),
        }
    }
}

impl helm::Files for ChartFiles<'_> {
    fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.note(self.walk(self.path, &TreePath::root(), MAX_DEPTH, &mut paths));
        paths
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.note(self.content(path)).flatten()
    }
}
