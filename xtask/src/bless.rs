//! `cargo xtask bless`: asks the Go libraries again and records their answers.
//!
//! Each oracle is a small Go program of ours beside the crate it serves; the
//! recorded answers are checked in, so tests need no Go.

use std::process::Command;

use crate::shell::{root, stage};

pub(crate) fn run(_: &[String]) -> anyhow::Result<()> {
    for crate_name in ["gocompat", "object"] {
        let folder = root().join("crates").join(crate_name).join("oracle");
        if folder.join("go.mod").is_file() {
            stage(
                &format!("answers for {crate_name}"),
                Command::new("go").args(["run", "."]).current_dir(folder),
            )?;
        }
    }
    Ok(())
}
