//! The binary: picks a command.

mod api;
mod ask_pass;
mod cmp_server;
mod controller_flags;
mod crds;
mod elsewhere;
mod elsewhere_api;
mod mounted;
mod redis_flags;
mod repo_server_role;
mod repositories;
mod run;
mod sources;
#[cfg(test)]
mod sources_tests;
mod touched;
mod trace_flags;
mod why;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How we call ourselves for a Jsonnet program.
const JSONNET: &str = "evaluate-jsonnet";

/// GitOps continuous delivery for Kubernetes.
#[derive(Parser)]
#[command(name = "argosy", version)]
struct Command {
    #[command(subcommand)]
    role: Role,
}

// As in Argo CD, of a flag that is given twice the last one counts: charts append to what they have.
#[derive(Subcommand)]
enum Role {
    /// Run every role in this process, until Ctrl-C or SIGTERM
    #[command(args_override_self = true)]
    Run(Box<run::Options>),
    /// Run the repo server alone: renders sources for Argo CD's controllers and ours
    #[command(args_override_self = true)]
    RepoServer(Box<repo_server_role::Options>),
    /// Run one config management plugin beside a repo server, until Ctrl-C or SIGTERM
    #[command(args_override_self = true)]
    CmpServer(cmp_server::Options),
    /// Evaluate one Jsonnet program for the process that started this one
    #[command(name = JSONNET, hide = true)]
    EvaluateJsonnet,
    /// Look into an installation
    #[command(subcommand)]
    Admin(Admin),
    /// Print the custom resource definitions, for `kubectl apply --server-side -f -`
    Crds,
}

#[derive(Subcommand)]
enum Admin {
    /// Why an Application is OutOfSync, who changed it and when, and what a sync would do
    Why(why::Options),
}

fn main() -> anyhow::Result<()> {
    keep_pages_small();
    if ask_pass::is_asked() {
        return ask_pass::answer();
    }
    match Command::parse().role {
        Role::Run(options) => run::run(*options),
        Role::RepoServer(options) => repo_server_role::run(*options),
        Role::CmpServer(options) => cmp_server::run(options),
        Role::EvaluateJsonnet => {
            Ok(repo_server::serve_jsonnet(std::io::stdin().lock(), std::io::stdout().lock())?)
        }
        Role::Admin(Admin::Why(options)) => why::print(&options),
        Role::Crds => crds::print(),
    }
}

/// The allocator asks the kernel for pages of 2 MiB where it can have them, and
/// then every small heap costs megabytes: half of our memory would be air.
fn keep_pages_small() {
    // A kernel that cannot do it has none to give either.
    #[cfg(target_os = "linux")]
    rustix::thread::disable_transparent_huge_pages(true).ok();
}
