//! A file tree and parameters in, manifests out.
//!
//! [`render`] is the one entry: it finds out what kind of source a directory
//! is ([`detect`]), renders it, and marks every object as the application's
//! ([`tracking`]). It asks only the [`tree::Tree`] it is given and writes down
//! every question, so that the caller can tell which commits change the answer.

#![warn(missing_docs)]

mod chart;
mod details;
mod detect;
mod directory;
mod environment;
mod error;
mod jsonnet;
mod jsonnet_error;
mod kustomization;
mod manifest;
mod parameters;
mod plugin;
pub mod tracking;
pub mod tree;
mod value_files;
mod value_patterns;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::ApplicationSource;
use object::Object;
use serde::{Deserialize, Serialize};

pub use chart::unpack_chart;
pub use details::{HelmDetails, KustomizeDetails, SourceDetails, discover_all};
pub use detect::{EnabledSourceTypes, SourceType, detect};
pub use error::RenderError;
pub use jsonnet::{JsonnetImports, JsonnetTask, JsonnetVariable};
pub use plugin::{PluginParameter, PluginRequest};
pub use world::{
    ChartAddress, Facts, NothingOutside, Outside, OutsideError, RemoteBase, Still, World,
};

use chart::ChartSource;
use environment::Environment;
use manifest::Found;
use tracking::Tracking;
use tree::{EntryKind, Reads, Recorder, Tree, TreePath};

/// What a render knows beside the tree and the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RenderContext {
    /// The application's instance name; empty leaves objects unmarked.
    pub app_name: String,
    /// The destination's namespace.
    pub namespace: String,
    /// The application's project.
    pub project: String,
    /// How objects are marked.
    pub tracking: Tracking,
    /// The kinds of source the settings allow.
    pub enabled: EnabledSourceTypes,
    /// What a render may read.
    pub limits: Limits,
    /// What the destination can do, as charts see it.
    pub capabilities: Arc<Capabilities>,
    /// Where value files may be fetched from (`helm.valuesFileSchemes`).
    pub values_file_schemes: Vec<String>,
    /// Flags for every kustomization (`kustomize.buildOptions`).
    pub kustomize_build_options: String,
    /// The annotation `manifest-generate-paths`, where plugins are sent no more
    /// than it names; empty for the whole repository.
    pub generate_paths: String,
}

impl RenderContext {
    /// Everything else as Argo CD has it without settings, on a cluster of
    /// which nothing is known.
    pub fn new(app_name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            app_name: app_name.into(),
            namespace: namespace.into(),
            project: String::new(),
            tracking: Tracking::default(),
            enabled: EnabledSourceTypes::default(),
            limits: Limits::default(),
            capabilities: Arc::default(),
            values_file_schemes: vec!["http".to_owned(), "https".to_owned()],
            kustomize_build_options: String::new(),
            generate_paths: String::new(),
        }
    }

    /// The application's name without the namespace that an instance name of
    /// an application elsewhere begins with.
    pub(crate) fn short_name(&self) -> &str {
        self.app_name.rsplit_once('_').map_or(&self.app_name, |(_, name)| name)
    }
}

/// What a cluster can do, as charts see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Capabilities {
    /// Such as `v1.36.1`; Helm's own assumption when empty.
    pub kube_version: String,
    /// `group/version` and `group/version/Kind`.
    pub api_versions: Vec<String>,
}

/// What a render may read at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limits {
    /// All manifest files of a directory together
    /// (`reposerver.max.combined.directory.manifests.size`); 0 is no limit.
    pub max_combined_manifests: u64,
    /// Any one file, also one that is skipped after a look into it.
    pub max_file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // Argo CD's default is the quantity 10M, which is decimal.
        Self { max_combined_manifests: 10_000_000, max_file: 64 << 20 }
    }
}

/// What a source stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifests {
    /// The objects, in the order of the files and in them.
    pub objects: Vec<Object>,
    /// What kind of source it turned out to be.
    pub source_type: SourceType,
}

/// What an answer depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What was asked of the source's own tree.
    pub reads: Reads,
    /// What was asked of the trees of other sources, by their `ref`.
    pub refs: BTreeMap<String, Reads>,
    /// Did a parameter refer to the commit, the revision or the address?
    pub revision: bool,
    /// Did what the destination can do matter?
    pub capabilities: bool,
}

/// Renders the directory that `source` names.
///
/// The record is returned for failures too: a failure that depends on a file
/// is cached and repeated like a success, until that file changes.
pub fn render(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
    world: &World<'_>,
) -> (Result<Manifests, RenderError>, Record) {
    recorded(tree, source, context, world, |prepared| {
        let objects = mark(manifest::flatten_lists(prepared.objects()?)?, context)?;
        Ok(Manifests { objects, source_type: prepared.source_type })
    })
}

/// What a source is and offers to be set.
///
/// # Errors
/// When it cannot be told: a chart or kustomization that cannot be read.
pub fn details(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
    world: &World<'_>,
) -> Result<SourceDetails, RenderError> {
    recorded(tree, source, context, world, |prepared| {
        Ok(match prepared.source_type {
            SourceType::Helm => SourceDetails::Helm(details::of_chart(&prepared.chart())?),
            SourceType::Kustomize => {
                let objects = prepared.objects()?;
                let objects = objects.iter().map(|it| &it.what);
                SourceDetails::Kustomize(details::of_kustomization(objects))
            }
            SourceType::Directory => SourceDetails::Directory,
            SourceType::Plugin => SourceDetails::Plugin(prepared.announced()?),
        })
    })
    .0
}

/// A source whose kind is known, with everything that decides about its objects.
struct Prepared<'s> {
    tree: &'s dyn Tree,
    path: TreePath,
    source: &'s ApplicationSource,
    source_type: SourceType,
    context: &'s RenderContext,
    environment: &'s Environment<'s>,
    world: &'s World<'s>,
    refs: &'s BTreeMap<String, Recorder<'s>>,
}

/// Prepares the source, does something with it and writes down what was asked.
fn recorded<T>(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
    world: &World<'_>,
    work: impl FnOnce(&Prepared<'_>) -> Result<T, RenderError>,
) -> (Result<T, RenderError>, Record) {
    let recorder = Recorder::new(tree);
    let refs: BTreeMap<String, Recorder<'_>> =
        world.refs.iter().map(|(name, tree)| (name.clone(), Recorder::new(*tree))).collect();
    let mut record = Record::default();
    let result = (|| {
        let path = app_path(&recorder, &source.path)?;
        let source = &parameters::merge(&recorder, &path, source, &context.app_name)?;
        let environment = &Environment::new(source, context, world.commit);
        let source_type = match detect::said(source)? {
            Some(said) if context.enabled.allows(said) => said,
            Some(_) => SourceType::Directory,
            None if plugin::is_wanted(
                &recorder,
                &path,
                source,
                context,
                environment,
                world.outside,
            )? =>
            {
                SourceType::Plugin
            }
            None => detect(&recorder, &path, source, context.enabled)?,
        };
        let tree = &recorder;
        let refs = &refs;
        let prepared =
            Prepared { tree, path, source, source_type, context, environment, world, refs };
        let result = work(&prepared);
        // A plugin is always told the commit. Whoever names the paths that matter to
        // it says that the commit does not, as in Argo CD.
        let paths_matter = source_type == SourceType::Plugin && !context.generate_paths.is_empty();
        record.revision = environment.revision_was_asked() && !paths_matter;
        record.capabilities = match source_type {
            SourceType::Helm => true,
            SourceType::Kustomize => {
                kustomization::depends_on_destination(&context.kustomize_build_options)
            }
            SourceType::Plugin => true,
            SourceType::Directory => false,
        };
        // A plugin was told, and did not want it for reasons of its own.
        record.capabilities |= world.outside.has_plugins() && detect::said(source)?.is_none();
        result
    })();
    record.reads = recorder.into_reads();
    record.refs = refs.into_iter().map(|(name, it)| (name, it.into_reads())).collect();
    (result, record)
}

impl Prepared<'_> {
    fn objects(&self) -> Result<Vec<Found<Object>>, RenderError> {
        let Self { tree, path, source, context, environment, world, .. } = self;
        match self.source_type {
            SourceType::Directory => {
                let options = source.directory.clone().unwrap_or_default();
                directory::render(*tree, path, &options, context, environment, world.outside)
            }
            SourceType::Helm => self.chart().render(),
            SourceType::Kustomize => {
                let changes = source.kustomize.clone().unwrap_or_default();
                kustomization::render(*tree, path, &changes, context, environment, world)
            }
            SourceType::Plugin => {
                plugin::render(*tree, path, source, context, environment, world.outside)
            }
        }
    }

    fn announced(&self) -> Result<Vec<PluginParameter>, RenderError> {
        let Self { tree, path, source, context, environment, world, .. } = self;
        plugin::announced(*tree, path, source, context, environment, world.outside)
    }

    fn chart(&self) -> ChartSource<'_> {
        ChartSource {
            tree: self.tree,
            path: &self.path,
            source: self.source,
            context: self.context,
            environment: self.environment,
            world: self.world,
            refs: self.refs,
        }
    }
}

/// The directory a source's path stands for, links followed.
fn app_path(tree: &dyn Tree, text: &str) -> Result<TreePath, RenderError> {
    let path = TreePath::parse(text)?;
    match tree::resolve(tree, &path)? {
        Some((resolved, entry)) if entry.kind == EntryKind::Directory => Ok(resolved),
        Some(_) => Err(RenderError::PathNotDirectory { path }),
        None => Err(RenderError::PathMissing { path }),
    }
}

/// Writes the tracking metadata on every object that carries some.
fn mark(found: Vec<Found<Object>>, context: &RenderContext) -> Result<Vec<Object>, RenderError> {
    let RenderContext { app_name, namespace, tracking, .. } = context;
    let unmarked = app_name.is_empty() || tracking.label_key.is_empty();
    found
        .into_iter()
        .map(|Found { mut what, file, position }| {
            if !unmarked && !tracking::is_custom_resource_definition(&what) {
                tracking::set(&mut what, app_name, namespace, tracking).map_err(|error| {
                    RenderError::Tracking { file, position, source: Box::new(error) }
                })?;
            }
            Ok(what)
        })
        .collect()
}

#[cfg(test)]
fn test_context() -> RenderContext {
    RenderContext::new("guestbook", "web")
}

/// Renders in a world without commit, clock, other sources and servers.
#[cfg(test)]
fn render_alone(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
) -> (Result<Manifests, RenderError>, Record) {
    let refs = BTreeMap::new();
    let world = World { commit: "", facts: &Still, outside: &NothingOutside, refs };
    render(tree, source, context, &world)
}
