//! Config management plugins: programs beside us that turn a repository into
//! manifests, reached over unix sockets with Argo CD's protocol.
//!
//! `messages.rs` is the protocol. [`Plugins`] (`client.rs`) asks; it sends a
//! repository as a [`Package`] (`package.rs`). [`PluginServer`] (`server.rs`)
//! is asked: it runs the commands of a `plugin.yaml` ([`PluginConfig`],
//! `config.rs`) in a process group of their own (`process.rs`). Existing
//! sidecars and ours interchange. The git of a plugin may ask [`AskPass`]
//! (`askpass.rs`) for the credentials of the repository it works on.

mod askpass;
mod authority;
mod client;
mod config;
mod discovery;
mod messages;
mod package;
mod process;
mod server;

pub use askpass::{
    ASK_PASS_BINARY, ASK_PASS_SOCKET, AskPass, AskPassError, BINARY_VARIABLE, Grant,
    NONCE_VARIABLE, SOCKET_VARIABLE, answer_git,
};
pub use client::{Chosen, PluginError, Plugins};
pub use config::{ConfigError, PluginConfig};
pub use messages::ParameterAnnouncement;
pub use package::{Package, Packer};
pub use server::{PluginServer, ServeError};
