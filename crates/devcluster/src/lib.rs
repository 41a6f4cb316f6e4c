//! A real Kubernetes control plane on this machine, for tests and the demo.
//!
//! [`DevCluster::start`] runs etcd, kube-apiserver, kube-controller-manager and
//! kube-scheduler as child processes. They come from one Go program in
//! `controlplane/` that is built on first use and kept outside the checkout.
//! There is no kubelet: the same program plays a node, so pods run, complete
//! and fail by their command; README.md has the rules.
//!
//! The cluster has its own folder, ports and kubeconfig, and goes with the
//! value or with the process that holds it, however that ends.
//!
//! Read `cluster.rs` first, then `component.rs`; `binary.rs` and `toolchain.rs`
//! are about where the program comes from. [`go_tool`] and [`npm_tool`] install programs of other
//! projects, for tests that compare or talk with them.

#![warn(missing_docs)]

mod binary;
mod cluster;
mod component;
mod flags;
mod npm;
mod storage;
mod tool;
mod toolchain;

pub use binary::{BuildError, Progress, control_plane_binary};
pub use cluster::{DevCluster, Options, StartError};
pub use npm::{NpmError, NpmTool, OIDC_PROVIDER, npm_tool};
pub use tool::{DEX, GoTool, go_tool};
pub use toolchain::ToolchainError;
