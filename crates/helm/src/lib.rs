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
//! # Charts
//!
//! A chart is read from a [`Files`], which is any folder with paths and bytes: [`MemoryFiles`], or a
//! tree of your own; [`Chart::load_archive`] takes a `.tgz`. A loaded chart can be rendered any number
//! of times and from several threads, and keeps its parsed templates.
//!
//! Nothing is fetched. [`Chart::missing_dependencies`] tells what `helm dependency build` would bring,
//! [`Chart::add_subchart`] takes it:
//!
//! ```
//! use helm::{Chart, MemoryFiles, Options, Still};
//!
//! let mut parent = Chart::load(&MemoryFiles::from([(
//!     "Chart.yaml",
//!     "apiVersion: v2\nname: shop\nversion: 1.0.0\n\
//!      dependencies:\n- {name: db, version: 1.x, repository: 'https://charts.example.com'}\n",
//! )]))?;
//! assert_eq!(parent.missing_dependencies()[0].name, "db");
//! parent.add_subchart(Chart::load(&MemoryFiles::from([
//!     ("Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.4.0\n"),
//!     ("templates/s.yaml", "kind: Service\nname: {{ .Release.Name }}-{{ .Chart.Name }}\n"),
//! ]))?);
//! let rendered = helm::template(&parent, &Options::new("demo", "default"), &Still)?;
//! assert_eq!(
//!     rendered.text(),
//!     "---\n# Source: shop/charts/db/templates/s.yaml\nkind: Service\nname: demo-db\n"
//! );
//! # Ok::<(), helm::Error>(())
//! ```
//!
//! # Values
//!
//! [`ValueOptions`] has what the command line has: files, `--set` and its siblings, in Helm's order of
//! precedence.
//!
//! ```
//! use helm::{Chart, MemoryFiles, Options, Still};
//!
//! let chart = Chart::load(&MemoryFiles::from([
//!     ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
//!     ("values.yaml", "image: {repository: nginx, tag: old}\n"),
//!     ("templates/x.yaml", "image: {{ .Values.image.repository }}:{{ .Values.image.tag }}\n"),
//! ]))?;
//! let mut options = Options::new("demo", "default");
//! options.values.files.push(("prod.yaml".into(), b"image: {tag: stable}".to_vec()));
//! options.values.set.push("image.tag=1.27".into());
//! let rendered = helm::template(&chart, &options, &Still)?;
//! assert!(rendered.text().ends_with("image: nginx:1.27\n"));
//! # Ok::<(), helm::Error>(())
//! ```
//!
//! # What a render may see and spend
//!
//! Time and randomness come through [`Facts`]: give a clock and a generator of your own, or [`Still`]
//! for a render that is the same every time. `lookup` finds nothing. [`Options::limits`] bounds steps,
//! depth, the size of texts and all that functions make, so that a hostile chart ends in an error;
//! [`Facts::is_over`] ends a render whose time is up. The bounds of archives are [`ArchiveLimits`].
//!
//! ```
//! use helm::{Chart, Facts, MemoryFiles, Options};
//!
//! /// One moment, and randomness that is none.
//! struct OneMoment;
//!
//! impl Facts for OneMoment {
//!     fn now(&self) -> i128 {
//!         1_700_000_000 * 1_000_000_000
//!     }
//!
//!     fn random(&self, buffer: &mut [u8]) {
//!         buffer.fill(7);
//!     }
//! }
//!
//! let chart = Chart::load(&MemoryFiles::from([
//!     ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
//!     ("templates/x.yaml", "day: {{ now | date \"2006-01-02\" }}\n"),
//! ]))?;
//! let rendered = helm::template(&chart, &Options::new("demo", "default"), &OneMoment)?;
//! assert!(rendered.text().ends_with("day: 2023-11-14\n"));
//! # Ok::<(), helm::Error>(())
//! ```
//!
//! # Errors
//!
//! An [`Error`] says what Helm says, since that is what users know and search for:
//!
//! ```
//! use helm::{Chart, MemoryFiles, Options, Still};
//!
//! let chart = Chart::load(&MemoryFiles::from([
//!     ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
//!     ("templates/x.yaml", "a: 1\nhost: {{ required \"set .Values.host\" .Values.host }}\n"),
//! ]))?;
//! let error = helm::template(&chart, &Options::new("demo", "default"), &Still).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "execution error at (web/templates/x.yaml:2:9): set .Values.host"
//! );
//! # Ok::<(), helm::Error>(())
//! ```
//!
//! # How it is known to be right
//!
//! `cargo xtask oracle helm` runs the real Helm on every chart, expression and broken chart of
//! `tests/corpus` and on generated templates, and compares byte by byte. What differs on purpose is in
//! `docs/differences.md`.
//!
//! # Reading the code
//!
//! Read in this order: `files` and `chart` (loading), `values` and `strvals` (what the user gives),
//! `dependencies` and `coalesce` (which subcharts, with which values), `objects` and `engine` (the
//! templates), `manifests` (what is printed, in which order). [`template()`] ties them together.
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
pub use engine::function_names;
pub use error::Error;
pub use files::{Files, MemoryFiles};
pub use manifests::{Hook, Manifest, Rendered};
pub use metadata::{Dependency, Maintainer, Metadata};
pub use options::{Options, template, template_name};
pub use values::ValueOptions;
