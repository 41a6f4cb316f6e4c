//! Git repositories made by the real `git`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

pub use crate::git_server::{HttpServer, Misbehaviour, Request};
use crate::tls::Tls;

/// A repository with a work tree, in a folder of its own.
pub struct Repo {
    folder: TempDir,
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
    }
}

impl Repo {
    /// An empty repository whose default branch is `main`.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let repo = Self { folder };
        repo.git(["init", "--quiet", "--initial-branch=main"]);
        repo.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repo
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its address as a file.
    #[must_use]
    pub fn file_url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Writes files (empty content removes one) and commits; the commit's id.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            let file = self.path().join(path);
            if content.is_empty() {
                fs::remove_file(&file).expect("a file to remove");
                continue;
            }
            fs::create_dir_all(file.parent().expect("a file in the repository")).expect("a folder");
            fs::write(&file, content).expect("a file");
        }
        self.commit_all()
    }

    /// Puts a symbolic link, to be committed with the next commit.
    pub fn link(&self, path: &str, target: &str) {
        let link = self.path().join(path);
        fs::create_dir_all(link.parent().expect("a link in the repository")).expect("a folder");
        symlink(target, link).expect("a link");
    }

    /// Commits whatever changed; the commit's id.
    pub fn commit_all(&self) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message=a change"]);
        self.git(["rev-parse", "HEAD"])
    }

    /// Makes a branch here and goes on with it.
    pub fn branch(&self, name: &str) {
        self.git(["switch", "--quiet", "--create", name]);
    }

    /// Goes on with a branch there is.
    pub fn switch(&self, name: &str) {
        self.git(["switch", "--quiet", name]);
    }

    /// Makes a lightweight tag here.
    pub fn tag(&self, name: &str) {
        self.git(["tag", name]);
    }

    /// Makes an annotated tag here.
    pub fn annotated_tag(&self, name: &str) {
        self.git(["tag", "--annotate", "--message=a release", name]);
    }

    /// Runs git here and returns what it printed.
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        let output = git_command(self.path()).args(arguments).output().expect("git is installed");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?} failed: {errors}");
        String::from_utf8(output.stdout).expect("git prints UTF-8 here").trim().to_owned()
    }

    /// Adds what a stream of `git fast-import` says; the work tree stays as it is.
    pub fn fast_import(&self, stream: &[u8]) {
        use std::io::Write as _;
        let mut child = git_command(self.path())
            .args(["fast-import", "--quiet"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(stream).expect("git reads it");
        drop(input);
        assert!(child.wait().expect("git ends").success());
    }

    /// Serves this repository over HTTP until the server is dropped.
    #[must_use]
    pub fn serve_http(&self) -> HttpServer {
        HttpServer::start(self.path().to_owned(), None)
    }

    /// Serves this repository over HTTPS until the server is dropped.
    #[must_use]
    pub fn serve_https(&self, tls: &Tls) -> HttpServer {
        HttpServer::start(self.path().to_owned(), Some(tls))
    }
}

/// Git without the machine's and the user's settings.
pub(crate) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env_clear().env("PATH", path()).env("HOME", folder).envs([
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "A U Thor"),
        ("GIT_AUTHOR_EMAIL", "author@example.com"),
        ("GIT_COMMITTER_NAME", "C O Mitter"),
        ("GIT_COMMITTER_EMAIL", "committer@example.com"),
    ]);
    command
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}
