//! What is known about kinds that Kubernetes itself does not judge: when they
//! are healthy, and what a user may do to them.
//!
//! - [`bundled`]: rules of ours for the kinds of widespread projects, as data
//!   where the rule is plain and as small functions where it is not
//! - [`health`], [`discover_actions`] and [`run_action`]: scripts that users
//!   bring along in `resource.customizations`, in Lua, run in a sandbox that
//!   has no files, no clock of its own, and a budget for everything
//!
//! Nothing here reads the time: who calls says what time it is.

#![warn(missing_docs)]

pub mod bundled;

mod action;
mod health;
mod sandbox;

pub use action::{ActionOffer, Impact, Operation, Parameter, discover_actions, run_action};
pub use health::{Health, Status, health};
pub use sandbox::{Limits, ScriptError, Surroundings};
