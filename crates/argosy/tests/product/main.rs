//! The whole product against a real API server: `argosy run` as its own
//! process, git repositories made by the real git.
//!
//! `path.rs` follows an application from git to Synced and back to nothing;
//! `sources.rs` gives it every kind of source, `comparing.rs` is about what counts
//! as a difference, `writing.rs` about how objects are written,
//! `syncing.rs` about how a sync goes, `limits.rs` about what bounds it, `projects.rs` about what projects forbid; `bad_input.rs` gives it
//! what users give it by mistake; `replicas.rs` runs several at once; `webhooks.rs` tells it of pushes, `extensions.rs` extends it; `readers.rs` is what others are told:
//! decision records, Redis; `faults.rs` kills things, `network.rs` breaks what lies between, `steps.rs` kills
//! it at every step of a sync; `bootstrap.rs` builds a cluster from one Application. Tests share a cluster and
//! a process, each with its own namespace,
//! unless they break one of the two.

mod bad_input;
mod bootstrap;
mod collector;
mod comparing;
mod extensions;
mod faults;
mod limits;
mod network;
mod path;
mod projects;
mod readers;
mod replicas;
mod settings;
mod sources;
mod steps;
mod syncing;
mod webhooks;
mod world;
mod writing;
