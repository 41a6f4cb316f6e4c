//! The binary: picks a command.

mod api;
mod crds;
mod repositories;
mod run;
mod sources;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// GitOps continuous delivery for Kubernetes.
#[derive(Parser)]
#[command(name = "argosy", version)]
struct Command {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Run every role in this process, until Ctrl-C or SIGTERM
    Run(Box<run::Options>),
    /// Print the custom resource definitions, for `kubectl apply --server-side -f -`
    Crds,
}

fn main() -> anyhow::Result<()> {
    match Command::parse().role {
        Role::Run(options) => run::run(*options),
        Role::Crds => crds::print(),
    }
}
