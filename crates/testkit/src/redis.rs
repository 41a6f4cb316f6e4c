//! A real redis-server of a test's own, gone with it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a busy machine; a redis-server starts in milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A redis-server that listens on a port of this machine and stores nothing.
pub struct RedisServer {
    port: u16,
    password: String,
    program: PathBuf,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl RedisServer {
    /// Starts one that wants a password; `None` where there is no redis-server.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(password: &str) -> Option<Self> {
        let program = program()?;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let folder = tempfile::tempdir().expect("a folder");
        let password = password.to_owned();
        let mut server = Self { port, password, program, folder, child: None };
        server.restart();
        Some(server)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it; what it held is lost.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    /// Starts it anew, empty, on the same port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.stop();
        let mut command = Command::new(&self.program);
        command
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if !self.password.is_empty() {
            command.args(["--requirepass", &self.password]);
        }
        self.child = Some(command.spawn().expect("redis-server starts"));
        let deadline = Instant::now() + PATIENCE;
        while std::net::TcpStream::connect(self.address()).is_err() {
            assert!(Instant::now() < deadline, "redis-server does not listen");
            std::thread::yield_now();
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where a redis-server is: `REDIS_SERVER_PROGRAM` or the usual places.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("REDIS_SERVER_PROGRAM").map(PathBuf::from);
    let usual = ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].map(PathBuf::from);
    named.into_iter().chain(usual).find(|it| it.exists())
}
