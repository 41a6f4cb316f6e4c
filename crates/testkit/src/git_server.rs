//! `git http-backend` behind a small HTTP server, with or without TLS, that
//! counts requests and misbehaves when it is told to; and the small LFS server
//! of [`lfs`] beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use crate::git::git_command;
use crate::lfs;
use crate::tls::{Acceptor, Tls};

/// One request that reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// Who asked, as the header has it; empty if nobody said.
    pub authorization: String,
    /// What it sent.
    pub body: Vec<u8>,
}

/// What a server does instead of answering well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Misbehaviour {
    /// Nothing of the kind.
    #[default]
    None,
    /// Answers everything with this status.
    Status(u16),
    /// Answers everything with a page for people.
    Html,
    /// Takes every request and answers none.
    Stall,
    /// Sends so many bytes of every answer to a `POST`, and then nothing more.
    StallAfter(usize),
    /// Sends so many bytes of every answer to a `POST`, and the rest one by one
    /// until the client goes.
    DripAfter(usize),
    /// Cuts every answer to a `POST` after so many bytes.
    BreakOffAfter(usize),
    /// Sends every answer to a `POST` with another byte at this place.
    CorruptAt(usize),
    /// Wants to be told who asks in these ways (`WWW-Authenticate`).
    Demand(Vec<&'static str>),
}

/// A git server on a port of its own.
pub struct HttpServer {
    address: SocketAddr,
    is_https: bool,
    shared: Arc<Shared>,
}

struct Shared {
    root: PathBuf,
    tls: Option<Acceptor>,
    requests: Mutex<Vec<Request>>,
    stopped: AtomicBool,
    /// Connections taken.
    connections: AtomicUsize,
    misbehaviour: Mutex<Misbehaviour>,
    /// The `Authorization` that a request must carry; empty for none.
    authorization: Mutex<String>,
    /// Where requests are sent on to, by how their paths begin.
    redirect: Mutex<Option<(String, String)>>,
    /// Where contents of LFS are said to be.
    downloads: Mutex<String>,
}

impl HttpServer {
    pub(crate) fn start(root: PathBuf, tls: Option<&Tls>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let shared = Arc::new(Shared {
            root,
            tls: tls.map(Tls::acceptor),
            requests: Mutex::default(),
            stopped: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            misbehaviour: Mutex::default(),
            authorization: Mutex::default(),
            redirect: Mutex::default(),
            downloads: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                if own.stopped.load(Ordering::SeqCst) {
                    return;
                }
                own.connections.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&own);
                // A client that goes away in the middle is its own business.
                thread::spawn(move || drop(shared.serve(connection)));
            }
        });
        let server = Self { address, is_https: tls.is_some(), shared };
        server.keep_lfs_at(&server.url());
        server
    }

    /// From now on, says that contents of LFS are in the repository at this
    /// address. At first that is the server's own.
    pub fn keep_lfs_at(&self, repository: &str) {
        repository.clone_into(&mut lock(&self.shared.downloads));
    }

    /// The server's address, without a slash at the end.
    #[must_use]
    pub fn base(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The repository's address on this server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/.git", self.base())
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The requests so far; the next call begins a new list.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *lock(&self.shared.requests))
    }

    /// How many connections were made.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// From now on, behaves so.
    pub fn misbehave(&self, how: Misbehaviour) {
        *lock(&self.shared.misbehaviour) = how;
    }

    /// From now on, answers every request with this status; 0 asks git again.
    pub fn answer_with(&self, status: u16) {
        self.misbehave(match status {
            0 => Misbehaviour::None,
            status => Misbehaviour::Status(status),
        });
    }

    /// From now on, breaks off every answer to a `POST` after so many bytes;
    /// `usize::MAX` sends them whole again.
    pub fn break_off_after(&self, bytes: usize) {
        self.misbehave(Misbehaviour::BreakOffAfter(bytes));
    }

    /// From now on, refuses requests without this `Authorization`.
    pub fn require_authorization(&self, text: &str) {
        text.clone_into(&mut lock(&self.shared.authorization));
    }

    /// From now on, sends every request on to another server.
    pub fn redirect_to(&self, other: &Self) {
        self.redirect("", &other.base());
    }

    /// From now on, sends every request whose path begins so on to an address
    /// with the rest of the path behind it.
    pub fn redirect(&self, prefix: &str, to: &str) {
        *lock(&self.shared.redirect) = Some((prefix.to_owned(), to.to_owned()));
    }

    /// From now on, takes every request and answers none.
    pub fn stall(&self) {
        self.misbehave(Misbehaviour::Stall);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        drop(TcpStream::connect(self.address));
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().expect("nobody panics here")
}

impl Shared {
    fn serve(&self, connection: TcpStream) -> std::io::Result<()> {
        match &self.tls {
            None => self.serve_on(connection),
            Some(tls) => self.serve_on(tls.accept(connection)?),
        }
    }

    /// Serves one request and closes the connection.
    fn serve_on(&self, connection: impl Read + Write) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
        let headers = read_headers(&mut reader)?;
        let body = read_body(&mut reader, &headers)?;
        let authorization = headers.get("authorization").cloned().unwrap_or_default();
        let request = Request { method, target, authorization, body };
        lock(&self.requests).push(request.clone());
        let misbehaviour = lock(&self.misbehaviour).clone();
        let answer = self.answer(&request, &headers, &misbehaviour)?;
        let Some(answer) = answer else { return reader.read_to_end(&mut Vec::new()).map(drop) };
        let how = if request.method == "POST" { misbehaviour } else { Misbehaviour::None };
        send(&mut reader, answer, &how)
    }

    /// What to say; `None` for nothing.
    fn answer(
        &self,
        request: &Request,
        headers: &BTreeMap<String, String>,
        misbehaviour: &Misbehaviour,
    ) -> std::io::Result<Option<Vec<u8>>> {
        let required = lock(&self.authorization).clone();
        let redirect = lock(&self.redirect).clone();
        let moved = redirect.as_ref().and_then(|(prefix, to)| {
            request.target.strip_prefix(prefix.as_str()).map(|rest| format!("{to}{rest}"))
        });
        let unauthorized = |schemes: &[&str]| {
            let offers: String =
                schemes.iter().map(|it| format!("WWW-Authenticate: {it}\r\n")).collect();
            head("401 Unauthorized", &offers)
        };
        Ok(Some(match misbehaviour {
            Misbehaviour::Stall => return Ok(None),
            Misbehaviour::Status(401) => unauthorized(&["Basic realm=\"x\""]),
            Misbehaviour::Status(status) => head(&format!("{status} No"), ""),
            Misbehaviour::Demand(schemes) => unauthorized(schemes),
            Misbehaviour::Html => {
                let page = "<!DOCTYPE html><html><body>Please log in</body></html>";
                let length = page.len();
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}").into_bytes()
            }
            _ if !required.is_empty() && request.authorization != required => {
                unauthorized(&["Basic realm=\"x\""])
            }
            _ => match moved {
                Some(location) => head("302 Found", &format!("Location: {location}\r\n")),
                None if request.target.contains("/info/lfs/") => {
                    let downloads = lock(&self.downloads).clone();
                    lfs::answer(&self.root.join(".git"), &downloads, request)
                }
                None => self.ask_git(request, headers)?,
            },
        }))
    }

    /// Runs `git http-backend` as a CGI program and turns its answer into HTTP.
    fn ask_git(
        &self,
        request: &Request,
        headers: &BTreeMap<String, String>,
    ) -> std::io::Result<Vec<u8>> {
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let header = |name: &str| headers.get(name).map_or("", String::as_str);
        let mut child = git_command(&self.root)
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", path)
            .env("QUERY_STRING", query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_TYPE", header("content-type"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", OsStr::new(header("git-protocol")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().expect("was asked for");
        let body = request.body.clone();
        let feed = thread::spawn(move || input.write_all(&body));
        let output = child.wait_with_output()?.stdout;
        feed.join().expect("writing does not panic")?;
        Ok(http_answer(&output))
    }
}

/// An answer without content.
fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

fn send(
    connection: &mut BufReader<impl Read + Write>,
    mut answer: Vec<u8>,
    how: &Misbehaviour,
) -> std::io::Result<()> {
    let sent = match how {
        Misbehaviour::StallAfter(bytes)
        | Misbehaviour::DripAfter(bytes)
        | Misbehaviour::BreakOffAfter(bytes) => answer.len().min(*bytes),
        Misbehaviour::CorruptAt(place) => {
            if let Some(byte) = answer.get_mut(*place) {
                *byte = !*byte;
            }
            answer.len()
        }
        _ => answer.len(),
    };
    let out = connection.get_mut();
    out.write_all(&answer[..sent])?;
    out.flush()?;
    match how {
        Misbehaviour::StallAfter(_) if sent < answer.len() => {
            connection.read_to_end(&mut Vec::new()).map(drop)
        }
        Misbehaviour::DripAfter(_) => answer[sent..].iter().try_for_each(|byte| {
            thread::sleep(std::time::Duration::from_millis(50));
            out.write_all(&[*byte]).and_then(|()| out.flush())
        }),
        _ => Ok(()),
    }
}

fn read_headers(reader: &mut impl BufRead) -> std::io::Result<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            None => return Ok(headers),
        }
    }
}

fn read_body(
    reader: &mut impl BufRead,
    headers: &BTreeMap<String, String>,
) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).expect("a chunk's size");
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = headers.get("content-length").map_or(0, |it| it.parse().expect("a length"));
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

/// `Status: 404 Not Found` is CGI's way to say it; everything else is HTTP already.
fn http_answer(output: &[u8]) -> Vec<u8> {
    let end = output.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(output.len());
    let (head, body) = (&output[..end], output.get(end + 4..).unwrap_or_default());
    let head = String::from_utf8_lossy(head);
    let mut status = "200 OK";
    let mut answer = String::new();
    for line in head.lines() {
        match line.strip_prefix("Status: ") {
            Some(text) => status = text,
            None => answer += &format!("{line}\r\n"),
        }
    }
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\n{answer}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [answer.as_bytes(), body].concat()
}
