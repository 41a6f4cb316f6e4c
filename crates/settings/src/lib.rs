//! Everything that ConfigMaps and Secrets of the control plane say, as one value.
//!
//! [`Settings`] is a snapshot: made from [`Sources`] by a pure function, with a
//! [`Finding`] for everything that cannot be read, and never changed. A key that
//! is removed is back at its default in the next snapshot. [`SettingsStore`]
//! (`watch.rs`, the only file that knows a cluster) follows the objects, makes a
//! new snapshot when one changes, and tells its subscribers.
//!
//! Each subject has a file: [`accounts`], [`resources`], [`clusters`],
//! [`repositories`], [`rendering`], [`sso`], [`ui`], [`trust`].

#![warn(missing_docs)]

pub mod accounts;
pub mod clusters;
pub mod extensions;
mod finding;
mod reader;
pub mod rendering;
pub mod repositories;
pub mod resources;
mod secret;
mod snapshot;
mod sources;
pub mod sso;
pub mod trust;
pub mod ui;
mod watch;

pub use finding::Finding;
pub use secret::Secret;
pub use snapshot::{
    GlobalProject, Params, Policies, Server, ServerCertificate, Session, Settings, Timeouts,
    Tracking, TrackingMethod, Webhooks,
};
pub use sources::{SecretObject, Sources, names};
pub use watch::SettingsStore;
