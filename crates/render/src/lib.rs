//! A file tree and parameters in, manifests out.
//!
//! [`render`] is the one entry: it finds out what kind of source a directory
//! is ([`detect`]), renders it, and marks every object as the application's
//! ([`tracking`]). It asks only the [`tree::Tree`] it is given and writes down
//! every question, so that the caller can tell which commits change the answer.

#![warn(missing_docs)]

mod detect;
mod directory;
mod error;
mod manifest;
mod parameters;
pub mod tracking;
pub mod tree;

use api::ApplicationSource;
use object::Object;

pub use detect::{EnabledSourceTypes, SourceType, detect};
pub use error::RenderError;

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
    /// How objects are marked.
    pub tracking: Tracking,
    /// The kinds of source the settings allow.
    pub enabled: EnabledSourceTypes,
    /// What a render may read.
    pub limits: Limits,
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

/// Renders the directory that `source` names.
///
/// The reads are returned for failures too: a failure that depends on a file
/// is cached and repeated like a success, until that file changes.
pub fn render(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
) -> (Result<Manifests, RenderError>, Reads) {
    let recorder = Recorder::new(tree);
    let result = render_recorded(&recorder, source, context);
    (result, recorder.into_reads())
}

fn render_recorded(
    tree: &dyn Tree,
    source: &ApplicationSource,
    context: &RenderContext,
) -> Result<Manifests, RenderError> {
    let path = app_path(tree, &source.path)?;
    let source = parameters::merge(tree, &path, source, &context.app_name)?;
    let source_type = detect(tree, &path, &source, context.enabled)?;
    let found = match source_type {
        SourceType::Directory => {
            let options = source.directory.unwrap_or_default();
            directory::render(tree, &path, &options, context)?
        }
        SourceType::Helm | SourceType::Kustomize | SourceType::Plugin => {
            return Err(RenderError::SourceTypeNotSupported { path, source_type });
        }
    };
    let objects = mark(manifest::flatten_lists(found)?, context)?;
    Ok(Manifests { objects, source_type })
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
