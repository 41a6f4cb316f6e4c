//! `cargo xtask bench`: what the product costs, against the raw floor of the
//! same run. The measuring is `crates/testkit/examples/bench`, away from
//! the product so that it need not be built twice; this builds
//! the release binary, runs it and writes the table down.

use anyhow::{Context as _, bail, ensure};

use crate::product;
use crate::shell::{cargo, root};

/// The release that Argo CD 3.6 uses.
const GO_JSONNET: &str = "github.com/google/go-jsonnet/cmd/jsonnet@v0.22.0";

const HEAD: &str = "\
# Benchmarks

Written by `cargo xtask bench`, on a local control plane that shares the machine's cores with the product and the load. Ratios and
counts are the point; seconds are this machine's. A run beside other work is slower on both sides of a ratio.

";

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments {
        [] => product(),
        [what] if what == "api" => api(),
        [what] if what == "sources" => {
            print!("{}", sources()?);
            Ok(())
        }
        _ => bail!("usage: cargo xtask bench [api|sources]"),
    }
}

/// The rows about the API, for its section of the page: other than the table they are not written
/// down here, since a busy machine needs words beside them.
fn api() -> anyhow::Result<()> {
    let binary = product::build()?;
    let status =
        cargo(&["run", "--quiet", "--release", "--package", "testkit", "--example", "api_bench"])
            .env("ARGOSY_BINARY", binary)
            .status()?;
    ensure!(status.success(), "the bench of the API failed");
    Ok(())
}

fn product() -> anyhow::Result<()> {
    let binary = product::build()?;
    let output =
        cargo(&["run", "--quiet", "--release", "--package", "testkit", "--example", "bench"])
            .env("ARGOSY_BINARY", binary)
            .stderr(std::process::Stdio::inherit())
            .output()?;
    ensure!(output.status.success(), "the bench failed");
    let table = String::from_utf8_lossy(&output.stdout).into_owned() + &store()? + &sources()?;
    println!("{table}");
    let path = root().join("docs/benchmarks.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    // What other benches measured stands in sections below.
    let sections = before.find("\n## ").map_or("", |at| &before[at..]);
    std::fs::write(path, format!("{HEAD}{table}{sections}"))?;
    Ok(())
}

/// The rows about sources, which need no cluster.
fn sources() -> anyhow::Result<String> {
    let jsonnet = go_jsonnet()?;
    let output = cargo(&["bench", "--quiet", "--package", "repo-server", "--bench", "sources"])
        .env("JSONNET", jsonnet)
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the bench of sources failed");
    let table = String::from_utf8_lossy(&output.stdout);
    let rows = table.lines().filter(|line| line.starts_with("| sources"));
    Ok(rows.map(|line| format!("{line}\n")).collect())
}

/// The program to be faster than, built from its pinned Go module.
fn go_jsonnet() -> anyhow::Result<std::path::PathBuf> {
    let folder = std::env::temp_dir().join("argosy-go-jsonnet");
    let status = std::process::Command::new("go")
        .args(["install", GO_JSONNET])
        .env("GOBIN", &folder)
        .status()
        .context("go could not be started")?;
    ensure!(status.success(), "could not build {GO_JSONNET}");
    Ok(folder.join("jsonnet"))
}

/// The rows about the store of live objects, which needs no cluster.
fn store() -> anyhow::Result<String> {
    let output = cargo(&["bench", "--quiet", "--package", "cluster", "--bench", "store"])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the bench of the store failed");
    let table = String::from_utf8_lossy(&output.stdout);
    let rows = table.lines().filter(|line| line.starts_with("| store"));
    Ok(rows.map(|line| format!("{line}\n")).collect())
}
