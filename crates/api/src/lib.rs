//! Argo CD's API types, each once.
//!
//! One struct per type is the CRD schema, the REST JSON and the protobuf message:
//! [`Application`], [`AppProject`], [`ApplicationSet`] and all they hold. Field
//! numbers are Argo CD's; names in JSON, what is printed when empty and what is
//! left out are as Go's `encoding/json` does it.
//!
//! A field that is a value in Go is a plain field here and always on the wire; a
//! pointer is an `Option`. Start reading at [`Application`].

#![warn(missing_docs)]

mod application;
mod applicationset;
mod codes;
pub mod crds;
mod generate_paths;
mod go;
mod lists;
mod meta;
pub mod names;
mod project;
mod resource;
mod revision;
mod tree;

pub use application::*;
pub use applicationset::*;
pub use codes::*;
pub use generate_paths::clean_path;
pub use lists::*;
pub use meta::{
    FieldsV1, GroupKind, IntOrString, Json, LabelSelector, LabelSelectorRequirement, ListMeta,
    ManagedFieldsEntry, ObjectMeta, OwnerReference, RawExtension, ShardInfo, Time,
};
pub use project::*;
pub use resource::{API_VERSION, AppKey, GROUP, VERSION};
pub use revision::*;
pub use tree::*;
