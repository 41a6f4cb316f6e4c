//! Running other programs, and where the project is.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

/// The root of the checkout that cargo was asked in: told at run time, because
/// checkouts that share a target directory share this program too.
pub(crate) fn root() -> PathBuf {
    let built_from = || env!("CARGO_MANIFEST_DIR").into();
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(built_from, PathBuf::from);
    here.parent().expect("xtask lies in the project").to_owned()
}

/// `cargo` of the toolchain that runs us, in the project's root.
///
/// Our own cargo has told us about the package xtask in `CARGO_*` variables.
/// Build scripts that look at one of them would run again, and all that
/// depends on them be compiled again, whenever somebody goes from
/// `cargo build` to `cargo xtask` and back: so they are not handed on.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_a_package) {
            command.env_remove(name);
        }
    }
    command
}

fn describes_a_package(variable: &str) -> bool {
    let families = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_"];
    variable == "CARGO_PRIMARY_PACKAGE" || families.iter().any(|it| variable.starts_with(it))
}

/// Runs one stage of a longer chore, telling its name and how long it took.
pub(crate) fn stage(name: &str, command: &mut Command) -> anyhow::Result<()> {
    println!("== {name}");
    let began = Instant::now();
    let status = command.status().with_context(|| format!("could not start: {name}"))?;
    ensure!(status.success(), "{name} failed ({status})");
    println!("== {name}: {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}

/// What a program prints, or why it failed.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = format!("{command:?}");
    let output = command.output().with_context(|| format!("could not start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
