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
//! # What is built
//!
//! Everything that a kustomization of Kustomize 5.8.1 can say, deprecated
//! fields included: resources, components, generators, patches, replacements,
//! vars, builtin plugins as files, custom schemas and configurations. Exec and
//! container plugins are refused. The text is compared byte for byte with the
//! real program's (`cargo xtask oracle kustomize`); `docs/differences.md` names
//! what differs on purpose.
//!
//! # Overrides
//!
//! What `kustomize edit` would write into the file before the build, as values:
//!
//! ```
//! use kustomize::{MemoryFiles, NoRemote, Options, Overrides, build};
//!
//! let tree: MemoryFiles = [
//!     ("kustomization.yaml", "resources: [pod.yaml]\n"),
//!     (
//!         "pod.yaml",
//!         "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: nginx}]\n",
//!     ),
//! ]
//! .into_iter()
//! .collect();
//! let overrides = Overrides {
//!     namespace: "shop".to_owned(),
//!     images: vec!["nginx=registry.example.com/nginx:1.27".to_owned()],
//!     ..Overrides::default()
//! };
//! let output = build(&tree, "", &overrides, &Options::default(), &NoRemote)?;
//! let pod = &output.objects[0];
//! assert_eq!(pod["metadata"]["namespace"], "shop");
//! assert_eq!(pod["spec"]["containers"][0]["image"], "registry.example.com/nginx:1.27");
//! # Ok::<(), kustomize::BuildError>(())
//! ```
//!
//! # Ports
//!
//! A build does no I/O. It reads files through [`Files`], and asks for what is
//! elsewhere: bases in git repositories and files behind URLs through
//! [`Remote`], charts of `helmCharts` through [`Helm`]. Whoever implements a
//! port decides about hosts, credentials, time limits and caches.
//!
//! ```
//! use std::rc::Rc;
//!
//! use bytes::Bytes;
//! use kustomize::{
//!     Files, MemoryFiles, Options, Overrides, Remote, RemoteBase, RemoteError, build,
//! };
//!
//! struct Bases(MemoryFiles);
//!
//! impl Remote for Bases {
//!     fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn Files>, RemoteError> {
//!         match base.clone_url.as_str() {
//!             "https://git.example.com/shop/bases" => Ok(Rc::new(self.0.clone())),
//!             other => Err(RemoteError::Refused(format!("{other} is not allowed"))),
//!         }
//!     }
//!
//!     fn file(&self, _: &str) -> Result<Bytes, RemoteError> {
//!         Err(RemoteError::Status(404))
//!     }
//! }
//!
//! let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
//! let bases = [("web/kustomization.yaml", "resources: [map.yaml]\n"), ("web/map.yaml", map)];
//! let base = "https://git.example.com/shop/bases//web?ref=v1";
//! let kustomization = format!("resources: ['{base}']\nnameSuffix: -v1\n");
//! let tree: MemoryFiles = [("kustomization.yaml", kustomization)].into_iter().collect();
//! let bases = Bases(bases.into_iter().collect());
//! let output = build(&tree, "", &Overrides::default(), &Options::default(), &bases)?;
//! assert_eq!(output.objects[0]["metadata"]["name"], "settings-v1");
//! # Ok::<(), kustomize::BuildError>(())
//! ```
//!
//! # Hostile input
//!
//! [`Limits`] bound depth, files, bytes, resources and the result; aliases,
//! nesting, patterns and copies are bounded too. An error is a [`BuildError`]
//! whose [`chain`](BuildError::chain) reads as Kustomize's message does.
//!
//! # The code
//!
//! [`build`](build()) shows the stages, `target` how one
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
