//! A cluster as we see it: a compact store of live objects, watches, discovery, apply, delete.
//!
//! Start at [`Cluster`]: [`Cluster::live`] is what an application has, proven
//! or not; [`Cluster::apply`] and [`Cluster::delete`] change it;
//! [`Cluster::changes`] tells when to look again. [`Client`] is for plain
//! requests and for watching one kind. The Kubernetes client library stays
//! behind this crate: none of its types is in our surface.

#![warn(missing_docs)]

mod access;
mod apply;
mod ask;
mod attention;
mod changes;
mod client;
mod cluster;
mod connection;
mod delete;
mod discovery;
mod exclusions;
mod exec;
mod field_sets;
mod kinds;
mod listened;
mod logs;
#[doc(hidden)]
pub mod measure;
mod packing;
mod page;
mod proxy;
mod rate;
mod refusal;
mod served;
mod sighting;
mod store;
mod supervisor;
mod traffic;
mod watch;
mod write;

pub use access::{Access, AccessError};
pub use apply::{Applied, ApplyError, ApplyOptions, Effect, Validation};
pub use changes::{Change, Changes, Update};
pub use client::{Client, ConnectError, PatchKind, Selector, ServerVersion};
pub use cluster::{Cluster, ClusterHealth, Fetched, StoreOptions};
pub use delete::{DeleteError, DeleteOptions, Deleted, Propagation};
pub use exclusions::{Exclusions, KindRule};
pub use exec::{HungUp, Said, Typing};
pub use field_sets::FieldSetWish;
pub use kinds::{ApiKind, Kinds};
pub use logs::LogOptions;
pub use refusal::{Disposition, Refusal, RefusalCause, RefusalDetails, RequestError};
pub use sighting::{Tagged, Tracking};
pub use store::{Continuity, Known, Live, LiveObject, Unverified};
pub use traffic::{Exchange, Listener, Target};
pub use watch::backoff::Randomness;
pub use watch::{Scope, WatchEvent};
pub use write::{Way, WriteOptions, Written};

/// The field manager of everything we apply, the same as Argo CD's.
pub const FIELD_MANAGER: &str = "argocd-controller";
