//! A real sshd on a free port, with keys of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// An sshd that lets one key in, until it is dropped.
pub struct Sshd {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Where an sshd is: `SSHD` or the usual place.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("SSHD").map(PathBuf::from);
    named.into_iter().chain(["/usr/sbin/sshd".into()]).find(|it| it.exists())
}

impl Sshd {
    /// Starts one; where there is none, that is said.
    ///
    /// # Panics
    /// When there is none in CI.
    #[expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(program) = program().filter(|_| fs::create_dir_all("/run/sshd").is_ok()) else {
            assert!(std::env::var_os("CI").is_none(), "no sshd, and none to be had from Debian");
            println!("NOTICE: there is no sshd here, ssh is not tested; install openssh-server");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("a mode");
        for name in ["host", "user", "stranger"] {
            let mut keygen = Command::new("ssh-keygen");
            let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path.join(name));
            assert!(made.status().expect("ssh-keygen comes with ssh").success());
        }
        fs::copy(path.join("user.pub"), path.join("authorized")).expect("a copy");
        fs::create_dir(path.join("bin")).expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("a bound port").port();
        drop(free);
        let at = |name: &str| path.join(name).display().to_string();
        let (host, authorized, bin) = (at("host"), at("authorized"), at("bin"));
        let configuration = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {host}\nAuthorizedKeysFile {authorized}\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nSetEnv PATH={bin}:/usr/local/bin:/usr/bin:/bin\n",
        );
        fs::write(path.join("sshd_config"), configuration).expect("a file");
        let mut sshd = Command::new(program);
        let sshd = sshd.args(["-D", "-e", "-f"]).arg(path.join("sshd_config"));
        let child = sshd.stderr(Stdio::null()).spawn().expect("sshd starts");
        let sshd = Self { folder, port, child };
        sshd.wait_until_it_listens();
        Some(sshd)
    }

    /// Asks for the port until somebody takes the call; sshd is quick.
    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "sshd does not listen");
            std::thread::yield_now();
        }
    }

    /// A private key: that of `user` is let in, that of `stranger` is not.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("a key")
    }

    /// The line that makes its host key known.
    #[must_use]
    pub fn known_host(&self) -> String {
        format!("[127.0.0.1]:{} {}", self.port, self.key("host.pub"))
    }

    /// The address of a repository in a folder of this machine.
    #[must_use]
    pub fn url(&self, repo: &Path) -> String {
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        format!("ssh://{user}@127.0.0.1:{}{}", self.port, repo.display())
    }

    /// Gives those who come in a program.
    pub fn install(&self, name: &str, script: &str) {
        let file = self.folder.path().join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}
