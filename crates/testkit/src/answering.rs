//! A small HTTP server whose answers a test writes itself.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path, with the query if there is one.
    pub path: String,
    /// By name, in lower case.
    pub headers: BTreeMap<String, String>,
    /// What was sent.
    pub body: Vec<u8>,
}

impl Asked {
    /// A header; empty if it was not sent.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// A field of a form; empty if it was not sent.
    #[must_use]
    pub fn field(&self, name: &str) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let fields = body.split('&').filter_map(|it| it.split_once('='));
        fields.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value)).collect()
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                bytes.push(u8::from_str_radix(&digits, 16).expect("two digits"));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).expect("forms are UTF-8")
}

/// What to answer: a status, and the content.
pub type Answer = (u16, Vec<u8>);

/// Answers until it is dropped.
pub struct Answering {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stopped: Arc<AtomicBool>,
}

impl Answering {
    /// Starts on a free port, which `handler` is told.
    #[must_use]
    pub fn start<H>(handler: impl FnOnce(SocketAddr) -> H) -> Self
    where
        H: Fn(&Asked) -> Answer + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let handler = Arc::new(handler(address));
        let (asked, stopped) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (list, is_stopped) = (Arc::clone(&asked), Arc::clone(&stopped));
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (handler, list) = (Arc::clone(&handler), Arc::clone(&list));
                // A client that goes away in the middle is its own business.
                thread::spawn(move || drop(serve(connection, &list, &*handler)));
            }
        });
        Self { address, asked, stopped }
    }

    /// The server's address, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The requests so far; the next call begins a new list.
    #[must_use]
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panics here"))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        drop(TcpStream::connect(self.address));
    }
}

/// Serves one request and closes the connection.
fn serve(
    connection: TcpStream,
    list: &Mutex<Vec<Asked>>,
    handler: &dyn Fn(&Asked) -> Answer,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |it| it.parse().expect("a length"));
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    let asked = Asked { method, path, headers, body };
    list.lock().expect("nobody panics here").push(asked.clone());
    let (status, content) = handler(&asked);
    let length = content.len();
    let mut connection = connection;
    let head = format!(
        "HTTP/1.1 {status} So\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(&content)
}
