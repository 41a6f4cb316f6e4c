//! Programs of other projects that tests compare with, installed by the name of their Go package.
//!
//! They are kept in `<cache>/tools/<program>-<version>`, beside the control plane and outside of
//! the checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binary::{self, BuildError, Progress};
use crate::toolchain::{self, Go};

/// A program that Go can build.
#[derive(Clone, Copy, Debug)]
pub struct GoTool {
    /// The package that holds its `main`.
    pub package: &'static str,
    /// The module's version, pinned: recorded answers are those of one version.
    pub version: &'static str,
    /// The module, where `go install` refuses it because its go.mod replaces others: then it is
    /// built as the only thing that an otherwise empty module requires.
    pub required_as: Option<&'static str>,
}

/// The identity provider that Argo CD is installed with, in the same version: v2.45.1, which
/// only goes by its commit because the module's path has no `/v2`.
pub const DEX: GoTool = GoTool {
    package: "github.com/dexidp/dex/cmd/dex",
    version: "v0.0.0-20260303133905-11d2eeb52b42",
    required_as: Some("github.com/dexidp/dex"),
};

/// What the module that requires a tool is written for; no older Go is taken.
const GO: &str = "1.26";

/// Finds the program, or installs it, which takes minutes the first time.
///
/// # Errors
/// When there is no place to keep it, no Go, or Go cannot build it.
pub fn go_tool(tool: GoTool, report: &dyn Fn(&Progress)) -> Result<PathBuf, BuildError> {
    let cache = binary::user_cache_folder()?;
    let program = program_name(tool.package);
    let folder = cache.join("tools").join(format!("{program}-{}", tool.version));
    let installed = folder.join(program);
    if installed.exists() {
        return Ok(installed);
    }
    fs::create_dir_all(&folder).map_err(binary::cache_error("create", &folder))?;
    let _lock = binary::lock(&folder.join("lock"), report)?;
    // Whoever held the lock before us may have installed it.
    if !installed.exists() {
        install(tool, &cache, &folder, report)?;
    }
    Ok(installed)
}

/// Built under another name first, so the program is there whole or not at all.
fn install(
    tool: GoTool,
    cache: &Path,
    folder: &Path,
    report: &dyn Fn(&Progress),
) -> Result<(), BuildError> {
    let go = toolchain::find_go(cache, report).map_err(BuildError::Go)?;
    report(&Progress::InstallingTool { package: tool.package, version: tool.version });
    let mut command = Command::new(&go.program);
    command
        .env("GOFLAGS", "")
        .env("GOWORK", "off")
        .env("CGO_ENABLED", "0")
        .env_remove("GOOS")
        .env_remove("GOARCH")
        .env_remove("GOROOT");
    let Some(module) = tool.required_as else {
        let wanted = format!("{}@{}", tool.package, tool.version);
        command.args(["install", &wanted]).env("GOBIN", folder).current_dir(folder);
        return succeeds(&mut command, &go);
    };
    let unfinished = tempfile::Builder::new()
        .prefix("building-")
        .tempdir_in(folder)
        .map_err(binary::cache_error("create a folder in", folder))?;
    let (file, program) = (unfinished.path().join("go.mod"), program_name(tool.package));
    let requires = format!("module tool\n\ngo {GO}\n\nrequire {module} {}\n", tool.version);
    fs::write(&file, requires).map_err(binary::cache_error("write", &file))?;
    command
        .args(["build", "-mod=mod", "-trimpath", "-ldflags", "-s -w", "-o", program, tool.package])
        .current_dir(unfinished.path());
    succeeds(&mut command, &go)?;
    let installed = folder.join(program);
    fs::rename(unfinished.path().join(program), &installed)
        .map_err(binary::cache_error("write", &installed))
}

fn succeeds(command: &mut Command, go: &Go) -> Result<(), BuildError> {
    let output =
        command.output().map_err(|source| BuildError::Run { go: go.program.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Compile { output: binary::last_lines(&output.stderr) })
}

/// The last part of the package that is not a major version: `helm` of `helm.sh/helm/v4/cmd/helm`,
/// `kustomize` of `sigs.k8s.io/kustomize/kustomize/v5`.
fn program_name(package: &str) -> &str {
    let is_major =
        |part: &str| part.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    package.rsplit('/').find(|part| !is_major(part)).unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::program_name;

    #[test]
    fn a_program_is_named_after_its_package() {
        assert_eq!(program_name("helm.sh/helm/v4/cmd/helm"), "helm");
        assert_eq!(program_name("github.com/dexidp/dex/cmd/dex"), "dex");
        assert_eq!(program_name("sigs.k8s.io/kustomize/kustomize/v5"), "kustomize");
    }
}
