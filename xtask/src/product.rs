//! The product as a child process: built, started, ended.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::shell::{cargo, output};

/// Builds the release binary and says where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let status = cargo(&["build", "--release", "--package", "argosy"])
        .status()
        .context("could not start cargo to build argosy")?;
    ensure!(status.success(), "argosy does not build");
    let metadata = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let folder =
        metadata["target_directory"].as_str().context("cargo names no target directory")?;
    Ok(Path::new(folder).join("release/argosy"))
}

/// `argosy run`, ended when dropped.
pub(crate) struct Argosy {
    child: Child,
    log: PathBuf,
}

impl Argosy {
    /// Starts it with `arguments`, its log in `folder`.
    pub(crate) fn start(binary: &Path, arguments: &[&str], folder: &Path) -> anyhow::Result<Self> {
        let log = folder.join("argosy.log");
        let file = File::create(&log)?;
        let child = Command::new(binary)
            .arg("run")
            .args(arguments)
            .arg("--data-dir")
            .arg(folder.join("repositories"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .with_context(|| format!("could not start {}", binary.display()))?;
        Ok(Self { child, log })
    }

    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }

    /// The last lines of its log, for an error message.
    pub(crate) fn last_lines(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Argosy {
    fn drop(&mut self) {
        // Both fail only if the process has ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
