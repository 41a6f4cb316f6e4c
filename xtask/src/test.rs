//! `cargo xtask test`: everything a change must pass, in order of cost.

use crate::shell::{cargo, stage};
use crate::{demo, programs, tidy};

pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    stage("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    println!("== tidy");
    tidy::run(&[])?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
    stage("clippy", &mut cargo(&clippy))?;
    println!("== control plane");
    devcluster::control_plane_binary(&crate::dev::show)?;
    println!("== programs");
    programs::install();
    stage("tests", &mut cargo(&["test", "--workspace", "--locked"]))?;
    println!("== demo --once");
    demo::run(&["--once".into()])
}
