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
    manifest: &'static str,
    lock: &'static str,
}

/// A certified OpenID Connect provider, to log in with.
pub const OIDC_PROVIDER: NpmTool = NpmTool {
    package: "oidc-provider",
    version: "9.13.3",
    manifest: include_str!("../oidc-provider/package.json"),
    lock: include_str!("../oidc-provider/package-lock.json"),
};

/// Why there is no such package. A later call starts afresh.
#[derive(Debug, thiserror::Error)]
pub enum NpmError {
    /// There is no place to keep it.
    #[error(transparent)]
    Cache(#[from] BuildError),
    /// npm could not be started.
    #[error("could not run npm; install Node.js with npm")]
    Run(#[source] io::Error),
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
        .map_err(NpmError::Run)?;
    if !output.status.success() {
        return Err(NpmError::Install { output: binary::last_lines(&output.stderr) });
    }
    fs::rename(unfinished.path(), folder).map_err(binary::cache_error("write", folder))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::OIDC_PROVIDER;

    #[test]
    fn the_lock_pins_the_version_that_is_named_and_no_registry() {
        let wanted = format!("\"{}\": \"{}\"", OIDC_PROVIDER.package, OIDC_PROVIDER.version);
        assert!(OIDC_PROVIDER.manifest.contains(&wanted));
        assert!(OIDC_PROVIDER.lock.contains(&wanted));
        assert!(!OIDC_PROVIDER.lock.contains("\"resolved\""));
    }
}
