//! A real Dex of a test's own, configured as Argo CD's wrapper configures it, gone with the test.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::tls::Tls;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Dex that keeps everything in memory: another one, with other keys, after every start.
pub struct Dex {
    program: PathBuf,
    port: u16,
    tls: Tls,
    folder: tempfile::TempDir,
    child: Option<Child>,
}

impl Dex {
    /// One that is not started yet, from the program at this place.
    ///
    /// # Panics
    /// When there is no free port or folder.
    #[must_use]
    pub fn from(program: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let folder = tempfile::tempdir().expect("a folder");
        Self { program, port, tls: Tls::new(), folder, child: None }
    }

    /// Where it listens, over TLS.
    #[must_use]
    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Who vouches for its certificate (PEM).
    #[must_use]
    pub fn authority(&self) -> &str {
        self.tls.authority()
    }

    /// Writes the configuration: what the user wrote as `dex.config`, and around it what the
    /// wrapper adds for an Argo CD at `home` whose Dex client has this secret.
    ///
    /// # Panics
    /// When the configuration is no mapping or cannot be written.
    pub fn configure(&self, mut dex_config: Value, home: &str, client_secret: &str) {
        let file = |name: &str, text: &str| {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let certificate = file("tls.crt", &self.tls.server().certificate);
        let key = file("tls.key", &self.tls.server().key);
        dex_config["issuer"] = format!("{home}/api/dex").into();
        dex_config["storage"] = json!({"type": "memory"});
        dex_config["web"] = json!({
            "https": format!("127.0.0.1:{}", self.port), "tlsCert": certificate, "tlsKey": key,
        });
        dex_config["oauth2"] = json!({"skipApprovalScreen": true});
        dex_config["staticClients"] = json!([
            {"id": "argo-cd", "name": "Argo CD", "secret": client_secret,
             "redirectURIs": [format!("{home}/auth/callback")]},
            {"id": "argo-cd-cli", "name": "Argo CD CLI", "public": true,
             "redirectURIs": ["http://localhost", "http://localhost:8085/auth/callback"]},
        ]);
        // Every JSON text is a YAML text.
        file("config.yaml", &dex_config.to_string());
    }

    /// Starts it, or starts it anew.
    ///
    /// # Panics
    /// When it does not start; its words are in the message.
    pub fn start(&mut self) {
        self.stop();
        let log = self.folder.path().join("log");
        let words = std::fs::File::create(&log).expect("a file");
        let mut command = Command::new(&self.program);
        command.arg("serve").arg(self.folder.path().join("config.yaml"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
        let child = self.child.insert(command.spawn().expect("dex starts"));
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let has_ended = child.try_wait().expect("our child").is_some();
            let words = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(!has_ended, "dex ended: {}", words());
            assert!(Instant::now() < deadline, "dex does not listen: {}", words());
            std::thread::yield_now();
        }
    }

    /// Ends it; what it held is lost.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

impl Drop for Dex {
    fn drop(&mut self) {
        self.stop();
    }
}
