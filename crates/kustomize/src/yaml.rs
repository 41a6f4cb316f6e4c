//! Manifests as Kustomize handles them: a tree that remembers how it was
//! written.
//!
//! `gocompat::yaml` reads a text into JSON values, and that is how kustomization
//! files are read and how the result is printed. Manifests need more on their
//! way through a build: a patch that puts `1` over `"0"` makes a string of it
//! and over `0` a number, a replacement keeps the quotes of its target, a blank
//! is not a null, patches are applied to a tree whose keys have an order, and
//! scalars are typed by the rules of go-yaml 3. No JSON value can tell these
//! apart. So there is a tree of its own, from the same parser
//! (`libyaml-safer`) and with `gocompat`'s rules for scalars.
//!
//! Start with [`Node`]; [`parse`] reads a text, [`json`] turns a node into the
//! value it stands for, [`print_node`] writes one as a text inside another.

mod forms;
mod go_float;
pub(crate) mod json;
mod node;
pub(crate) mod parse;
pub(crate) mod path;
pub(crate) mod print_node;
pub(crate) mod scalar;
mod timestamp;

pub(crate) use node::{Body, Form, Kind, Node, Share, Style, Tag};
