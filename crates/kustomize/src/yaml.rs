//! YAML as Kustomize handles it: a tree that remembers how it was written.
//!
//! Start with [`Node`]; [`parse`] reads a text, [`json`] turns a node into the
//! value it stands for, [`print`](print::print) writes the final text.

mod go_float;
pub(crate) mod json;
mod node;
pub(crate) mod parse;
pub(crate) mod path;
pub(crate) mod print;
pub(crate) mod print_node;
pub(crate) mod scalar;
mod timestamp;

pub(crate) use node::{Body, Form, Kind, Node, Share, Style, Tag};
