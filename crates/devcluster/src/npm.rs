//! Programs of other projects that are Node packages, installed by npm from a lock of ours.
//!
//! They are kept in `<cache>/tools`, beside those that Go builds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use sha2::{Digest as _, Sha256};

use crate::binary::{self, BuildError, Progress};

/// A package with all that it depends on, pinned.
#[derive(Clone, Copy, Debug)]
pub struct NpmTool {
    /// The package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The oldest Node it was seen to run on.
    pub oldest_node: u32,
    manifest: &'static str,
    lock: &'static str,
}

/// A certified OpenID Connect provider, to log in with.
pub const OIDC_PROVIDER: NpmTool = NpmTool {
    package: "oidc-provider",
    version: "9.13.3",
    oldest_node: 20,
    manifest: include_str!("../oidc-provider/package.json"),
    lock: include_str!("../oidc-provider/package-lock.json"),
};

/// Why there is no such package. A later call starts afresh.
#[derive(Debug, thiserror::Error)]
pub enum NpmError {
    /// There is no place to keep it.
    #[error(transparent)]
    Cache(#[from] BuildError),
    /// Node or its npm could not be started.
    #[error("could not run {program}; install Node.js with npm")]
    Run {
        /// Which of them.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// There is a Node that is too old.
    #[error("Node.js is {found}; install {wanted} or newer")]
    OldNode {
        /// What it says of itself.
        found: String,
        /// The oldest that will do.
        wanted: u32,
    },
    /// npm ran and refused.
    #[error(
        "npm could not install it (its registry must be reachable); the last words of npm:{output}"
    )]
    Install {
        /// Its last lines, each on a line of its own.
        output: String,
    },
}

/// Finds the folder whose `node_modules` holds the package, or has npm make it, which takes seconds.
///
/// # Errors
/// When there is no place to keep it, no npm, or npm cannot install it.
pub fn npm_tool(tool: NpmTool, report: &dyn Fn(&Progress)) -> Result<PathBuf, NpmError> {
    check_node(tool.oldest_node)?;
    let tools = binary::user_cache_folder()?.join("tools");
    let key: String =
        Sha256::digest(tool.lock).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let folder = tools.join(format!("{}-{}-{key}", tool.package, tool.version));
    if folder.exists() {
        return Ok(folder);
    }
    fs::create_dir_all(&tools).map_err(binary::cache_error("create", &tools))?;
    let _lock = binary::lock(&tools.join(format!("{}.lock", tool.package)), report)?;
    // Whoever held the lock before us may have installed it.
    if !folder.exists() {
        report(&Progress::InstallingTool { package: tool.package, version: tool.version });
        install(tool, &tools, &folder)?;
    }
    Ok(folder)
}

fn check_node(wanted: u32) -> Result<(), NpmError> {
    let output = Command::new("node").arg("--version").output();
    let output = output.map_err(|source| NpmError::Run { program: "node", source })?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match major(&found) {
        Some(major) if major >= wanted => Ok(()),
        _ => Err(NpmError::OldNode { found, wanted }),
    }
}

/// 20 of `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Made under another name first: a folder of the final name is complete.
fn install(tool: NpmTool, tools: &Path, folder: &Path) -> Result<(), NpmError> {
    let unfinished = tempfile::Builder::new()
        .prefix("installing-")
        .tempdir_in(tools)
        .map_err(binary::cache_error("create a folder in", tools))?;
    for (name, text) in [("package.json", tool.manifest), ("package-lock.json", tool.lock)] {
        let file = unfinished.path().join(name);
        fs::write(&file, text).map_err(binary::cache_error("write", &file))?;
    }
    let output = Command::new("npm")
        // Nothing that a package brings is run, and what is not locked is not installed.
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"])
        .current_dir(unfinished.path())
        .output()
        .map_err(|source| NpmError::Run { program: "npm", source })?;
    if !output.status.success() {
        return Err(NpmError::Install { output: binary::last_lines(&output.stderr) });
    }
    fs::rename(unfinished.path(), folder).map_err(binary::cache_error("write", folder))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{OIDC_PROVIDER, major};

    #[test]
    fn a_node_is_as_old_as_its_first_number() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("v9.1.0"), Some(9));
        assert_eq!(major(""), None);
    }

    #[test]
    fn the_lock_pins_the_version_that_is_named_and_no_registry() {
        let wanted = format!("\"{}\": \"{}\"", OIDC_PROVIDER.package, OIDC_PROVIDER.version);
        assert!(OIDC_PROVIDER.manifest.contains(&wanted));
        assert!(OIDC_PROVIDER.lock.contains(&wanted));
        assert!(!OIDC_PROVIDER.lock.contains("\"resolved\""));
    }
}
