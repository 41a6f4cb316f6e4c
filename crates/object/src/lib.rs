//! A Kubernetes object as data.
//!
//! [`Object`] is a JSON tree that is known to have an apiVersion and a kind;
//! [`ResourceKey`] is what makes two of them the same object. Nothing here
//! knows Kubernetes types: a custom resource is as good as a Deployment.

#![warn(missing_docs)]

pub mod fields;
pub mod patch;
pub mod schema;

mod identity;
mod tree;
pub mod typed;

pub use identity::{GroupKind, GroupVersionKind, ResourceKey};
pub use tree::{NotAnObject, Object};
