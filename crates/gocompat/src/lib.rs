//! What Go libraries do, done the same way.
//!
//! Users' manifests, policies and schedules were written against Go programs,
//! so "the same answer as the Go library" is the specification here, surprises
//! included. Every module has golden answers recorded from the real library
//! (`oracle/`, versions pinned there) and names the places where we differ on
//! purpose.

#![warn(missing_docs)]

pub mod cron;
pub mod duration;
pub mod glob;
pub mod int_or_string;
pub mod number;
pub mod quantity;
pub mod semver;
pub mod yaml;
