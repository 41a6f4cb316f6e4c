//! `cargo xtask dev`: things that run until Ctrl-C.

use std::io::{IsTerminal as _, Write as _, stderr};

use anyhow::bail;
use devcluster::{DevCluster, Options, Progress};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments {
        [what] if what == "cluster" => cluster(),
        _ => bail!("usage: cargo xtask dev cluster"),
    }
}

/// A local cluster for trying things out by hand.
fn cluster() -> anyhow::Result<()> {
    let options = Options { progress: Some(show), ..Options::default() };
    let cluster = DevCluster::start_with(&options)?;
    println!("A Kubernetes cluster is running. Ctrl-C ends it and removes its data.\n");
    println!("  export KUBECONFIG={}", cluster.kubeconfig_path().display());
    println!("  {} get pods --all-namespaces\n", cluster.kubectl_path().display());
    println!("Logs of its programs: {}", cluster.folder().display());
    // Ctrl-C needs no handler: the cluster goes with this process.
    Err(cluster.wait_for_failure().into())
}

/// One line that is overwritten on a terminal, silence elsewhere but for the
/// first word, so that a log does not fill with 1,600 lines.
pub(crate) fn show(progress: &Progress) {
    let mut terminal = stderr();
    if terminal.is_terminal() {
        write!(terminal, "\r{progress}\x1b[K").ok();
    } else if !matches!(progress, Progress::Building { packages: 2.., .. }) {
        writeln!(terminal, "{progress}").ok();
    }
}
