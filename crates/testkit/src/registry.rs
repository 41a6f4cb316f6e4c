//! A real OCI registry (the `docker-registry` program), and pushing to it.
//!
//! The program is that of the search path, else Debian's package, unpacked once
//! into the cache folder. Where there is neither, tests say so and pass, but
//! not where `CI` is set.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// The only user of a registry that wants to know who asks.
pub const USER: &str = "robot";
/// The password of that user.
pub const PASSWORD: &str = "r3gistry";

/// The kind of manifest that is pushed.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A registry on a free port, until it is dropped.
pub struct Registry {
    process: Child,
    address: String,
    /// What a request carries to be let in.
    authorization: String,
    _folder: TempDir,
}

impl Registry {
    /// A registry for everyone; `None`, said loudly, where there is no program.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with("", "")
    }

    /// A registry for [`USER`] only.
    #[must_use]
    pub fn start_private() -> Option<Self> {
        let hash = bcrypt::hash_with_salt(PASSWORD, 4, *b"salt for a test.").expect("a hash");
        let line = format!("{USER}:{}\n", hash.format_for_version(bcrypt::Version::TwoY));
        Self::start_with(&line, "Basic cm9ib3Q6cjNnaXN0cnk=")
    }

    fn start_with(users: &str, authorization: &str) -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let storage = folder.path().join("storage");
        let mut config = format!(
            "version: 0.1\nlog: {{accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {:?}}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n",
            storage.display().to_string()
        );
        if !users.is_empty() {
            let file = folder.path().join("htpasswd");
            fs::write(&file, users).expect("a file");
            let file = file.display().to_string();
            config.push_str(&format!("auth: {{htpasswd: {{realm: test, path: {file:?}}}}}\n"));
        }
        let file = folder.path().join("config.yml");
        fs::write(&file, config).expect("a file");
        let mut process = Command::new(program)
            .arg("serve")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the registry starts");
        let address = listening(&mut process);
        let authorization = authorization.to_owned();
        Some(Self { process, address, authorization, _folder: folder })
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Pushes an artifact with one layer; the digest of its manifest.
    pub fn push(&self, artifact: &Artifact<'_>) -> String {
        let Artifact { repository, tag, config_type, layer_type, layer } = *artifact;
        let config = self.push_blob(repository, b"{}");
        let layer_digest = self.push_blob(repository, layer);
        let size = layer.len();
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"{config_type}","digest":"{config}","size":2}},"layers":[{{"mediaType":"{layer_type}","digest":"{layer_digest}","size":{size}}}],"annotations":{{"org.opencontainers.image.version":"{tag}","org.opencontainers.image.description":"for a test"}}}}"#
        );
        let path = format!("/v2/{repository}/manifests/{tag}");
        self.request("PUT", &path, MANIFEST, manifest.as_bytes());
        digest(manifest.as_bytes())
    }

    /// Pushes a chart's archive as `helm push` does.
    pub fn push_chart(&self, repository: &str, version: &str, archive: &[u8]) -> String {
        self.push(&Artifact {
            repository,
            tag: &version.replace('+', "_"),
            config_type: "application/vnd.cncf.helm.config.v1+json",
            layer_type: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
            layer: archive,
        })
    }

    fn push_blob(&self, repository: &str, content: &[u8]) -> String {
        let digest = digest(content);
        let head = self.request("POST", &format!("/v2/{repository}/blobs/uploads/"), "", b"");
        let location = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
        });
        let location = location.expect("a place to upload to");
        let path = location.find("/v2/").map_or(location.as_str(), |at| &location[at..]);
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}digest={digest}");
        self.request("PUT", &path, "application/octet-stream", content);
        digest
    }

    /// One request; the head of a good answer.
    fn request(&self, method: &str, path: &str, content_type: &str, body: &[u8]) -> String {
        let Self { address, authorization, .. } = self;
        let mut connection = TcpStream::connect(address).expect("the registry listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: {authorization}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).expect("the registry listens");
        connection.write_all(body).expect("the registry listens");
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(status.starts_with('2'), "{method} {path}: {answer}");
        answer
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Something to push.
#[derive(Clone, Copy)]
pub struct Artifact<'a> {
    /// Where to.
    pub repository: &'a str,
    /// As what.
    pub tag: &'a str,
    /// What it is.
    pub config_type: &'a str,
    /// What its layer is.
    pub layer_type: &'a str,
    /// Its layer.
    pub layer: &'a [u8],
}

fn digest(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Waits for the line that says where it listens; the rest of what it says is dropped.
fn listening(process: &mut Child) -> String {
    let mut lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
    let mut said = Vec::new();
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some((_, rest)) = line.split_once("listening on ") {
            let address = rest.split(['"', ' ', ',']).next().unwrap_or(rest).to_owned();
            std::thread::spawn(move || lines.for_each(drop));
            return address;
        }
        said.push(line);
    }
    panic!("the registry ended: {}", said.join("\n"));
}

#[expect(clippy::print_stdout, reason = "a test that checks nothing says so")]
fn program() -> Option<PathBuf> {
    let found = on_search_path().or_else(of_debian);
    if found.is_none() {
        assert!(env::var_os("CI").is_none(), "no docker-registry, and none to be had from Debian");
        println!("NOTICE: no docker-registry here, nothing checked; install it");
    }
    found
}

fn on_search_path() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut programs = env::split_paths(&folders).map(|it| it.join("docker-registry"));
    programs.find(|it| it.is_file())
}

/// Debian's package, downloaded and unpacked once without being installed.
fn of_debian() -> Option<PathBuf> {
    let cache = env::var_os("ARGOSY_CACHE_DIR").map(PathBuf::from).or_else(|| {
        let user = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        Some(user.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")))?.join("argosy"))
    })?;
    let folder = cache.join("docker-registry");
    let program = folder.join("usr/bin/docker-registry");
    if program.is_file() {
        return Some(program);
    }
    fs::create_dir_all(&cache).ok()?;
    // Two tests may do this at once: each in its own folder, and the first counts.
    let unfinished = TempDir::new_in(&cache).ok()?;
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(unfinished.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
    };
    if !run("apt-get", &["download", "docker-registry"]) {
        return None;
    }
    let mut files = fs::read_dir(unfinished.path()).ok()?.filter_map(Result::ok);
    let package = files.find(|it| it.file_name().to_string_lossy().ends_with(".deb"))?;
    let package = package.path().display().to_string();
    if !run("dpkg-deb", &["--extract", &package, "unpacked"]) {
        return None;
    }
    fs::rename(unfinished.path().join("unpacked"), &folder).ok();
    program.is_file().then_some(program)
}
