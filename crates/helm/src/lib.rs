//! Helm in a library: a chart and values in, manifests out, byte for byte what `helm template` of
//! Helm 4.2 prints.
//!
//! ```
//! use helm::{Chart, MemoryFiles, Options, template};
//!
//! let files = MemoryFiles::from([
//!     ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
//!     ("values.yaml", "replicas: 2\n"),
//!     ("templates/d.yaml", "kind: X\nname: {{ .Release.Name }}\nn: {{ .Values.replicas }}\n"),
//! ]);
//! let chart = Chart::load(&files)?;
//! let rendered = template(&chart, &Options::new("demo", "default"), &template_engine::Still)?;
//! assert!(rendered.text().ends_with("kind: X\nname: demo\nn: 2\n"));
//! # use ::template as template_engine;
//! # Ok::<(), helm::Error>(())
//! ```
//!
//! Read in this order: `files` and `chart` (loading), `values` and `strvals` (what the user gives),
//! `dependencies` and `coalesce` (which subcharts, with which values), `objects` and `engine` (the
//! templates), `manifests` (what is printed, in which order). [`template`] ties them together.
//!
//! Nothing here touches disk, network, clock or environment. Chart archives, remote value files and
//! the facts of the cluster are given by the caller.

#![warn(missing_docs)]

mod archive;
mod capabilities;
mod chart;
mod coalesce;
mod dependencies;
mod engine;
mod error;
mod exec_error;
mod files;
mod ignore;
mod manifests;
mod metadata;
mod objects;
mod options;
mod path_match;
mod schema;
mod strvals;
mod values;
mod yaml;

pub use ::template::{Facts, Still};
pub use archive::{Limits as ArchiveLimits, unpack};
pub use capabilities::{Capabilities, KubeVersion};
pub use chart::{Chart, File};
pub use error::Error;
pub use files::{Files, MemoryFiles};
pub use manifests::{Hook, Manifest, Rendered};
pub use metadata::{Dependency, Maintainer, Metadata};
pub use options::{Options, template, template_name};
pub use values::ValueOptions;
