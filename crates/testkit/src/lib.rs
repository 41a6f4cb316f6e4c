//! What tests are built from. Development only; a panic here fails the test
//! that asked for the impossible.

pub mod answering;
pub mod archive;
pub mod cases;
pub mod clock;
pub mod dex;
pub mod files;
pub mod gate;
pub mod git;
mod git_server;
pub mod http_proxy;
pub mod issuers;
pub mod kustomize;
mod lfs;
pub mod node_provider;
pub mod oidc;
pub mod proxy;
pub mod redis;
pub mod registry;
pub mod sshd;
pub mod tls;
pub mod truth;
