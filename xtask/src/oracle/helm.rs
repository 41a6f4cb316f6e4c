//! Helm: `helm template` on every chart, expression, broken chart and generated template of
//! `crates/helm/tests`, beside ours.
//!
//! The comparing is done by the tests of that crate which are ignored otherwise, because they know
//! how to read the corpus; this installs Helm and tells them where it is.

use std::process::Command;

use anyhow::bail;
use devcluster::{GoTool, go_tool};

use crate::dev;
use crate::shell::{cargo, stage};

/// The version that Argo CD 3.6 ships.
pub(super) const HELM: GoTool =
    GoTool { package: "helm.sh/helm/v4/cmd/helm", version: "v4.2.4", required_as: None };

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let helm = || go_tool(HELM, &dev::show);
    match arguments.as_slice() {
        [] => stage("ours beside the real Helm", comparison().env("HELM", helm()?)),
        ["--bless"] => stage(
            "the answers of the real Helm",
            comparison().env("HELM", helm()?).env("BLESS", "1"),
        ),
        ["--bench"] => stage(
            "our speed beside the real Helm",
            cargo(&["bench", "--quiet", "--package", "helm"]).env("HELM", helm()?),
        ),
        _ => bail!("usage: cargo xtask oracle helm [--bless | --bench]"),
    }
}

fn comparison() -> Command {
    let mut command = cargo(&["test", "--quiet", "--package", "helm", "--test", "suite"]);
    command.args(["--", "--ignored", "--nocapture", "--test-threads=1", "by_the_real_helm"]);
    command
}
