//! Kustomize in memory: a file tree and overrides in, manifests out, byte for
//! byte as Kustomize 5.8.1 prints them.
//!
//! [`build`] is the whole surface in use: it reads the kustomization of a
//! directory through [`Files`], applies [`Overrides`] to it, fetches remote
//! bases through [`Remote`], and returns the text and the objects.
//!
//! ```
//! use kustomize::{MemoryFiles, NoRemote, Options, Overrides, build};
//!
//! let tree: MemoryFiles = [
//!     ("kustomization.yaml", "namePrefix: my-\nresources: [service.yaml]\n"),
//!     ("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
//! ]
//! .into_iter()
//! .collect();
//! let output = build(&tree, "", &Overrides::default(), &Options::default(), &NoRemote)?;
//! assert_eq!(output.text, "apiVersion: v1\nkind: Service\nmetadata:\n  name: my-web\n");
//! # Ok::<(), kustomize::BuildError>(())
//! ```
//!
//! To read the code: [`build`](build()) shows the stages, `target` how one
//! kustomization is built, `transform` and `generate` what changes and makes
//! resources, `merge` strategic merge patches, `references` the names that
//! follow renamed resources, `yaml` the node tree under all of it.

#![warn(missing_docs)]

mod base64;
mod build;
mod config;
mod error;
mod fields;
mod files;
mod generate;
mod go_json;
mod hash;
mod helm;
mod json_patch;
mod kustomization;
mod loader;
mod merge;
mod origin;
mod overrides;
mod references;
mod remote;
mod resource;
mod resources;
mod schema;
mod selector;
mod sort;
mod target;
mod transform;
mod vars;
mod yaml;

pub use build::{Options, Output, Reorder, build};
pub use error::BuildError;
pub use files::{Files, Limit, Limits, MemoryFiles};
pub use helm::{ChartRelease, Helm, HelmError, HelmOptions, RemoteChart};
pub use loader::LoadRestrictions;
pub use overrides::{Overrides, PatchOverride, PatchTarget, ReplicaOverride};
pub use remote::{NoRemote, Remote, RemoteBase, RemoteError};
