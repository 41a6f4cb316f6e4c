//! Files in memory behind a small HTTP server that counts requests.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Serves files until it is dropped.
pub struct FileServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The `Authorization` that a request must carry; empty for none.
    authorization: Mutex<String>,
    /// What a request without it is told about how to get one.
    challenge: Mutex<String>,
    requests: Mutex<Vec<String>>,
    /// The `Authorization` of each request, empty for none.
    given: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

impl Default for FileServer {
    fn default() -> Self {
        Self::start()
    }
}

impl FileServer {
    /// Starts without files.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if own.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&own);
                // A client that goes away in the middle is its own business.
                thread::spawn(move || drop(shared.serve(connection)));
            }
        });
        Self { address, shared }
    }

    /// The server's address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds or replaces a file; the path begins with a slash.
    pub fn put(&self, path: &str, content: impl Into<Vec<u8>>) {
        let mut files = self.shared.files.lock().expect("nobody panics here");
        files.insert(path.to_owned(), content.into());
    }

    /// From now on, refuses requests without this `Authorization`.
    pub fn require_authorization(&self, text: &str) {
        text.clone_into(&mut self.shared.authorization.lock().expect("nobody panics here"));
    }

    /// Says this to those who are refused, in `WWW-Authenticate`, and lets
    /// everyone ask for a path that begins with `/token`.
    pub fn challenge_with(&self, text: &str) {
        text.clone_into(&mut self.shared.challenge.lock().expect("nobody panics here"));
    }

    /// The paths asked for so far; the next call begins a new list.
    #[must_use]
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.requests.lock().expect("nobody panics here"))
    }

    /// The `Authorization` of every request so far, empty for none; the next call begins a new
    /// list.
    #[must_use]
    pub fn take_authorizations(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.given.lock().expect("nobody panics here"))
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    /// Serves one request and closes the connection.
    fn serve(&self, mut connection: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some(path) = line.split_whitespace().nth(1).map(str::to_owned) else { return Ok(()) };
        let mut given = String::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            match header.trim_end().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                    value.trim().clone_into(&mut given);
                }
                Some(_) => {}
                None => break,
            }
        }
        self.requests.lock().expect("nobody panics here").push(path.clone());
        self.given.lock().expect("nobody panics here").push(given.clone());
        let required = self.authorization.lock().expect("nobody panics here").clone();
        let file = self.files.lock().expect("nobody panics here").get(&path).cloned();
        let (status, content) = match file {
            _ if !required.is_empty() && given != required && !path.starts_with("/token") => {
                ("401 Unauthorized", Vec::new())
            }
            Some(content) => ("200 OK", content),
            None => ("404 Not Found", Vec::new()),
        };
        let length = content.len();
        let challenge = match self.challenge.lock().expect("nobody panics here").as_str() {
            "" => String::new(),
            text => format!("WWW-Authenticate: {text}\r\n"),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{challenge}Connection: close\r\n\r\n"
        );
        connection.write_all(head.as_bytes())?;
        connection.write_all(&content)
    }
}
