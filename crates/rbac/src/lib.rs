//! Decides who may do what.
//!
//! A [`Policy`] is read once from the built-in rules and those of
//! argocd-rbac-cm; a [`ProjectPolicy`] from the roles of one project. Then
//! [`Policy::allows`] answers a [`Request`] of somebody ([`Who`]) in a few
//! microseconds, however many lines there are.
//!
//! Read in this order: `line.rs` (what a line of a policy says), `pattern.rs`
//! (how its patterns match), `rules.rs` (lines by whom they concern),
//! `policy.rs` (the decision), `builtin.rs` (what everybody starts with).

#![warn(missing_docs)]

mod builtin;
pub mod claims;
mod line;
mod pattern;
mod policy;
mod rules;
mod vocabulary;

pub use builtin::builtin_policy;
pub use line::Finding;
pub use pattern::MatchMode;
pub use policy::{
    Asker, Options, Policy, ProjectPolicy, Reach, Request, Who, joined, project_of, validate,
};
pub use vocabulary::{action, resource};
