//! A real OpenID Connect provider in Node, the package `oidc-provider`, gone with the test.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::tls::Tls;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How its tokens can be signed; for each there is a client `web-<algorithm>`.
pub const ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];
/// What those clients show. The client `public` shows a proof key only.
pub const SECRET: &str = "a secret / with + signs: %";

/// Listens on a port of its own, over TLS.
pub struct NodeProvider {
    issuer: String,
    tls: Tls,
    child: Child,
    _folder: tempfile::TempDir,
}

impl NodeProvider {
    /// Starts one for an Argo CD at `home`; `package` is the folder whose `node_modules` it is in.
    ///
    /// # Panics
    /// When it does not start; its words are in the message.
    #[must_use]
    pub fn start(package: &Path, home: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let (folder, tls) = (tempfile::tempdir().expect("a folder"), Tls::new());
        let (script, log) = (folder.path().join("provider.mjs"), folder.path().join("log"));
        std::fs::write(&script, include_str!("oidc_provider.mjs")).expect("a file");
        let options = json!({
            "port": port, "home": home, "secret": SECRET, "algorithms": ALGORITHMS,
            "certificate": tls.server().certificate, "key": tls.server().key,
        });
        let mut command = Command::new("node");
        command.arg(&script).arg(package).arg(options.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(std::fs::File::create(&log).expect("a file"));
        let mut child = command.spawn().expect("node starts");
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let has_ended = child.try_wait().expect("our child").is_some();
            let words = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(!has_ended, "the provider ended: {}", words());
            assert!(Instant::now() < deadline, "the provider does not listen: {}", words());
            std::thread::yield_now();
        }
        Self { issuer: format!("https://127.0.0.1:{port}"), tls, child, _folder: folder }
    }

    /// Where it is.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The authority behind its certificate (PEM).
    #[must_use]
    pub fn authority(&self) -> &str {
        self.tls.authority()
    }
}

impl Drop for NodeProvider {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
