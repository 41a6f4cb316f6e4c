//! Kustomize: `kustomize build`, after the `kustomize edit` that Argo CD would run, on every tree of
//! `crates/kustomize/tests/corpus` and on overlays made at random, beside ours; and on kustomizations
//! with charts, for which the real Kustomize runs the real Helm.
//!
//! The comparing is done by the tests of the crates, which know how to read the trees; this installs
//! the programs and tells them where they are.

use std::process::Command;

use anyhow::bail;
use devcluster::{GoTool, go_tool};

use super::helm::HELM;
use crate::dev;
use crate::shell::{cargo, stage};

/// The version that Argo CD 3.6 ships.
const KUSTOMIZE: GoTool =
    GoTool { package: "sigs.k8s.io/kustomize/kustomize/v5", version: "v5.8.1", required_as: None };

/// `kustomize [--bless | --bench | --random COUNT[:SEED]]`.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kustomize = go_tool(KUSTOMIZE, &dev::show)?;
    let (bless, random) = match arguments.as_slice() {
        ["--bench"] => {
            let mut bench = cargo(&["bench", "--quiet", "--package", "kustomize"]);
            return stage("our speed beside the real Kustomize", bench.env("KUSTOMIZE", kustomize));
        }
        [] => (false, "300"),
        ["--bless"] => (true, "0"),
        ["--random", wish] => (false, *wish),
        _ => {
            bail!("usage: cargo xtask oracle kustomize [--bless | --bench | --random COUNT[:SEED]]")
        }
    };
    let helm = go_tool(HELM, &dev::show)?;
    let prepared = |mut command: Command| {
        command.env("KUSTOMIZE", &kustomize).env("HELM", &helm).env("KUSTOMIZE_RANDOM", random);
        if bless {
            command.env("BLESS", "1");
        }
        command
    };
    stage("ours beside the real Kustomize", &mut prepared(suite("kustomize", "answers")))?;
    let charts = &mut prepared(suite("render", "charts_in_kustomizations"));
    stage("charts in kustomizations beside the real programs", charts)
}

fn suite(package: &str, test: &str) -> Command {
    cargo(&["test", "--quiet", "--package", package, "--test", test, "--", "--nocapture"])
}
