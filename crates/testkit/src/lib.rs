//! What tests are built from. Development only; a panic here fails the test
//! that asked for the impossible.

pub mod answering;
pub mod archive;
pub mod cases;
pub mod files;
pub mod git;
mod git_server;
pub mod issuers;
pub mod kustomize;
pub mod oidc;
pub mod proxy;
pub mod registry;
pub mod tls;
pub mod truth;
