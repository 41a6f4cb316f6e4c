//! Git repositories made by the real `git`, and served by its own
//! `git http-backend` behind a small HTTP server that counts requests.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

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

    /// Serves this repository over HTTP until the server is dropped.
    #[must_use]
    pub fn serve_http(&self) -> HttpServer {
        HttpServer::start(self.path().to_owned())
    }
}

/// Git without the machine's and the user's settings.
fn git_command(folder: &Path) -> Command {
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

/// One request that reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// The path with the query.
    pub target: String,
    /// Who asked, as the header has it; empty if nobody said.
    pub authorization: String,
}

/// A git server on a port of its own.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// No status: the server is silent until the client goes.
const STALL: u16 = u16::MAX;

struct Shared {
    root: PathBuf,
    requests: Mutex<Vec<Request>>,
    stopped: AtomicBool,
    /// Answer with this status instead of asking git; 0 asks git.
    status: AtomicU16,
    /// Bytes of an answer to a `POST` before the connection is cut.
    break_off: AtomicUsize,
    /// The `Authorization` that a request must carry; empty for none.
    authorization: Mutex<String>,
    /// Where every request is sent on to; empty for nowhere.
    redirect: Mutex<String>,
}

impl HttpServer {
    fn start(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let shared = Arc::new(Shared {
            root,
            requests: Mutex::default(),
            stopped: AtomicBool::new(false),
            status: AtomicU16::new(0),
            break_off: AtomicUsize::new(usize::MAX),
            authorization: Mutex::default(),
            redirect: Mutex::default(),
        });
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

    /// The repository's address on this server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/.git", self.address)
    }

    /// The requests so far; the next call begins a new list.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.shared.requests.lock().expect("nobody panics here"))
    }

    /// From now on, answers every request with this status; 0 asks git again.
    pub fn answer_with(&self, status: u16) {
        self.shared.status.store(status, Ordering::SeqCst);
    }

    /// From now on, breaks off every answer to a `POST` after so many bytes;
    /// `usize::MAX` sends them whole again.
    pub fn break_off_after(&self, bytes: usize) {
        self.shared.break_off.store(bytes, Ordering::SeqCst);
    }

    /// From now on, refuses requests without this `Authorization`.
    pub fn require_authorization(&self, text: &str) {
        text.clone_into(&mut self.shared.authorization.lock().expect("nobody panics here"));
    }

    /// From now on, sends every request on to another server.
    pub fn redirect_to(&self, other: &Self) {
        let mut redirect = self.shared.redirect.lock().expect("nobody panics here");
        *redirect = format!("http://{}", other.address);
    }

    /// From now on, takes every request and answers none.
    pub fn stall(&self) {
        self.answer_with(STALL);
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    /// Serves one request and closes the connection.
    fn serve(&self, connection: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(()) };
        let headers = read_headers(&mut reader)?;
        let body = read_body(&mut reader, &headers)?;
        let given = headers.get("authorization").cloned().unwrap_or_default();
        let request = Request { method, target, authorization: given.clone() };
        self.requests.lock().expect("nobody panics here").push(request.clone());
        let required = self.authorization.lock().expect("nobody panics here").clone();
        let redirect = self.redirect.lock().expect("nobody panics here").clone();
        let status = match self.status.load(Ordering::SeqCst) {
            0 if !required.is_empty() && given != required => 401,
            status => status,
        };
        let answer = match status {
            0 if !redirect.is_empty() => format!(
                "HTTP/1.1 302 Found\r\nLocation: {redirect}{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                request.target
            )
            .into_bytes(),
            STALL => return reader.read_to_end(&mut Vec::new()).map(drop),
            0 => self.ask_git(&request, &headers, &body)?,
            status => format!(
                "HTTP/1.1 {status} No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            .into_bytes(),
        };
        let limit = if request.method == "POST" {
            self.break_off.load(Ordering::SeqCst)
        } else {
            usize::MAX
        };
        let mut connection = connection;
        connection.write_all(&answer[..answer.len().min(limit)])
    }

    /// Runs `git http-backend` as a CGI program and turns its answer into HTTP.
    fn ask_git(
        &self,
        request: &Request,
        headers: &BTreeMap<String, String>,
        body: &[u8],
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
            .env("CONTENT_LENGTH", body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", OsStr::new(header("git-protocol")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().expect("was asked for");
        let body = body.to_vec();
        let feed = thread::spawn(move || input.write_all(&body));
        let output = child.wait_with_output()?.stdout;
        feed.join().expect("writing does not panic")?;
        Ok(http_answer(&output))
    }
}

fn read_headers(reader: &mut impl std::io::BufRead) -> std::io::Result<BTreeMap<String, String>> {
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
    reader: &mut impl std::io::BufRead,
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
