//! The server that has a repository's contents of LFS. Everything here blocks.
//!
//! It is where the repository is, unless its `.lfsconfig` says otherwise. What
//! that names is treated like a submodule: it gets the repository's credentials
//! on the repository's own host, and elsewhere those that are configured for
//! its address, if any. The same holds for where the server sends us to.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr as _;

use bytes::Bytes;
use reqwest::blocking::{Client, Request, Response};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::credentials::{Reach, Trust};
use crate::http::{self, Patience, authorize, configured};
use crate::lfs::Pointer;
use crate::remote::Remote;
use crate::ssh::{SshFiles, quoted};
use crate::{RepoUrl, SourceRepos};

/// No answer about one content is larger.
const MAX_ANSWER: u64 = 1 << 20;
const JSON: &str = "application/vnd.git-lfs+json";

/// Where contents are.
pub(crate) enum LfsServer {
    /// In a folder of this machine, as `git lfs` keeps them.
    Folder(PathBuf),
    /// At a server that speaks the batch API.
    Api(Box<Api>),
}

pub(crate) struct Api {
    remote: Remote,
    /// Without a slash at the end.
    endpoint: RepoUrl,
    /// Does the project not permit it, so that it gets no credentials?
    is_stranger: bool,
    trust: Trust,
    /// What a login by ssh said to send along.
    headers: HeaderMap,
}

/// What a server says about one content.
#[derive(Deserialize)]
struct Offer {
    oid: String,
    /// The address alone is enough to download it.
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    actions: Actions,
    error: Option<Refusal>,
}

#[derive(Default, Deserialize)]
struct Actions {
    download: Option<Download>,
}

/// Where to get something, and what to send along.
#[derive(Deserialize)]
struct Download {
    href: String,
    #[serde(default)]
    header: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    objects: Vec<Offer>,
}

impl LfsServer {
    /// The server of a repository, of which this is the `.lfsconfig`.
    pub(crate) fn of(
        remote: &Remote,
        config: &str,
        source_repos: &SourceRepos,
    ) -> Result<Self, String> {
        let address = remote.moved.get().unwrap_or_else(|| remote.url.clone());
        let said = said_by(config).map(|it| it.trim_end_matches('/').to_owned());
        let endpoint = match said {
            Some(said) if said.starts_with("http://") || said.starts_with("https://") => said,
            Some(said) => return Err(format!("the .lfsconfig names {said}, which is no https")),
            None if address.is_local() => return Ok(Self::Folder(folder(&address)?)),
            None if address.is_ssh() => return by_ssh(remote, &address),
            None => default_endpoint(address.to_connect()),
        };
        let endpoint = address.moved_to(&endpoint);
        let is_own = endpoint.is_served_with(&address);
        // As with everything that a repository leads to.
        let is_stranger = !is_own && !source_repos.permits(endpoint.to_connect());
        let trust = if is_own {
            remote.trust().map_err(|error| http::with_causes(&error))?
        } else {
            let elsewhere = RepoUrl::new(endpoint.to_connect());
            let elsewhere = if is_stranger { elsewhere.as_stranger() } else { elsewhere };
            remote.book.current().for_repo(&elsewhere)
        };
        let remote = remote.clone();
        let headers = HeaderMap::new();
        Ok(Self::Api(Box::new(Api { remote, endpoint, is_stranger, trust, headers })))
    }

    /// The content that a pointer names, if it is what the pointer says.
    pub(crate) fn download(&self, pointer: &Pointer) -> Result<Bytes, String> {
        let content = match self {
            Self::Folder(folder) => {
                let Pointer { id, .. } = pointer;
                let file = folder.join(&id[..2]).join(&id[2..4]).join(id);
                read_file(&file, pointer.size)?
            }
            Self::Api(api) => api.download(pointer).map_err(|problem| {
                api.trust.credentials.hide(&api.endpoint.hide_credentials(&problem))
            })?,
        };
        if content.len() as u64 != pointer.size {
            return Err(format!("it has not the {} bytes of its pointer", pointer.size));
        }
        if format!("{:x}", Sha256::digest(&content)) != pointer.id {
            return Err("its content is not what its pointer says; push it again".to_owned());
        }
        Ok(content.into())
    }
}

/// What a `.lfsconfig` says about the server.
fn said_by(config: &str) -> Option<String> {
    let file = gix::config::File::from_str(config).ok()?;
    let keys = ["lfs.url", "remote.origin.lfsurl"];
    keys.iter().find_map(|key| file.string(*key)).map(|it| it.to_string())
}

/// As `git lfs` guesses it.
fn default_endpoint(address: &str) -> String {
    let address = address.trim_end_matches('/');
    let ending = if address.ends_with(".git") { "" } else { ".git" };
    format!("{address}{ending}/info/lfs")
}

/// Where contents of a repository on this machine are.
fn folder(address: &RepoUrl) -> Result<PathBuf, String> {
    let url = gix::url::parse(address.to_connect()).map_err(|error| error.to_string())?;
    let path = PathBuf::from(url.path.to_string());
    let inside = path.join(".git");
    Ok(if inside.is_dir() { inside } else { path }.join("lfs/objects"))
}

fn read_file(file: &Path, size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| format!("it is not there: {error}"))?;
    opened.take(size + 1).read_to_end(&mut content).map_err(|error| error.to_string())?;
    Ok(content)
}

/// Asks a repository that is reached by ssh where its contents are, and for
/// something to show there.
fn by_ssh(remote: &Remote, address: &RepoUrl) -> Result<LfsServer, String> {
    let trust = remote.trust().map_err(|error| http::with_causes(&error))?;
    let url = gix::url::parse(address.to_connect()).map_err(|error| error.to_string())?;
    let host = url.host().unwrap_or_default();
    let place = url.user().map_or_else(|| host.to_owned(), |user| format!("{user}@{host}"));
    let port = url.port.map_or_else(String::new, |port| format!("-p {port}"));
    let path = url.path.to_string();
    let asked = format!("git-lfs-authenticate {} download", quoted(path.trim_start_matches('/')));
    let files = SshFiles::write(&trust, remote.silence).map_err(|error| error.to_string())?;
    let command =
        format!("exec {} {port} -- {} {}", files.command(), quoted(&place), quoted(&asked));
    let said = Handle::current().block_on(timeout(remote.fetch_timeout, output_of(&command)));
    let said = said.map_err(|_| format!("{address} took longer than its deadline"))?;
    let said = said.map_err(|error| format!("could not start ssh: {error}"))?;
    let login: Download = serde_json::from_slice(&said).map_err(|_| {
        format!("{address} does not say by ssh where its contents are: {}", files.complaints())
    })?;
    let endpoint = address.moved_to(login.href.trim_end_matches('/'));
    // What was told by ssh is shown where it was told to, and no key goes there.
    let trust = remote.book.current().for_repo(&RepoUrl::new(endpoint.to_connect()));
    let headers = headers_of(&login.header)?;
    let (remote, is_stranger) = (remote.clone(), false);
    Ok(LfsServer::Api(Box::new(Api { remote, endpoint, is_stranger, trust, headers })))
}

/// What a command of the shell prints; it ends when nobody waits.
async fn output_of(command: &str) -> std::io::Result<Vec<u8>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = shell.kill_on_drop(true).spawn()?;
    let mut said = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_ANSWER).read_to_end(&mut said).await?;
    }
    Ok(said)
}

fn headers_of(said: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in said {
        let name = HeaderName::from_str(name).map_err(|_| "a header without a name")?;
        let mut value = HeaderValue::from_str(value).map_err(|_| "a header without a value")?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

impl Api {
    fn download(&self, pointer: &Pointer) -> Result<Vec<u8>, String> {
        let server = self.endpoint.without_credentials();
        let (Download { href, header }, authenticated) = self.offer(pointer)?;
        let target = RepoUrl::new(&href);
        let trust = if target.is_served_with(&self.endpoint) {
            self.trust.clone()
        } else {
            self.remote.book.current().without_credentials(&target, &self.trust)
        };
        let client = self.client(&trust, Policy::limited(5))?;
        let mut request = client.get(&href).build().map_err(|it| http::with_causes(&it))?;
        request.headers_mut().extend(headers_of(&header)?);
        if !authenticated && header.is_empty() && target.is_served_with(&self.endpoint) {
            request.headers_mut().extend(self.headers.clone());
            authorize(&mut request, &self.endpoint, &trust, Reach::OwnHost);
        }
        let answer = client.execute(request).map_err(|error| {
            format!("could not fetch it from where {server} says: {}", with_causes(error))
        })?;
        let status = answer.status();
        if !status.is_success() {
            let host = target.authority().unwrap_or_default();
            return Err(format!("{host}, where {server} says it is, answers {status}"));
        }
        read_answer(answer, pointer.size)
    }

    /// Where the server says the content is, and whether that is enough to know.
    fn offer(&self, pointer: &Pointer) -> Result<(Download, bool), String> {
        let server = self.endpoint.without_credentials();
        let client = self.client(&self.trust, Policy::none())?;
        let body = json!({
            "operation": "download", "transfers": ["basic"], "hash_algo": "sha256",
            "objects": [{"oid": pointer.id, "size": pointer.size}],
        });
        let request = client
            .post(format!("{}/objects/batch", self.endpoint.to_connect()))
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, JSON)
            .headers(self.headers.clone())
            .body(body.to_string());
        let mut request: Request = request.build().map_err(|it| http::with_causes(&it))?;
        authorize(&mut request, &self.endpoint, &self.trust, Reach::OwnHost);
        let answer = client
            .execute(request)
            .map_err(|error| format!("could not ask {server}: {}", with_causes(error)))?;
        let status = answer.status();
        if !status.is_success() {
            let hint = match status.as_u16() {
                401 | 403 if self.is_stranger => {
                    "; the project does not permit it in its sourceRepos, so credentials for it are not used"
                }
                401 | 403 => "; check the repository's credentials",
                404 | 405 => "; does the server have LFS?",
                _ => "",
            };
            return Err(format!("{server} answers {status}{hint}"));
        }
        let text = read_answer(answer, MAX_ANSWER)?;
        let answer: Answer = serde_json::from_slice(&text)
            .map_err(|_| format!("{server} answers, but not as an LFS server"))?;
        let offer = answer.objects.into_iter().find(|it| it.oid == pointer.id);
        let offer = offer.ok_or_else(|| format!("{server} says nothing about it"))?;
        if let Some(Refusal { code, message }) = offer.error {
            let message: String = message.chars().take(200).collect();
            return Err(format!("{server} does not have it: {code} {message}"));
        }
        let download = offer.actions.download;
        let download = download.ok_or_else(|| format!("{server} does not say where it is"))?;
        Ok((download, offer.authenticated))
    }

    fn client(&self, trust: &Trust, redirects: Policy) -> Result<Client, String> {
        let Remote { silence, fetch_timeout, .. } = self.remote;
        let patience = Patience { silence, total: fetch_timeout };
        let builder = configured(trust, patience).map_err(|it| it.to_string())?;
        builder.redirect(redirects).build().map_err(|it| http::with_causes(&it))
    }
}

/// Addresses of downloads are credentials themselves, often enough.
fn with_causes(error: reqwest::Error) -> String {
    http::with_causes(&error.without_url())
}

fn read_answer(answer: Response, limit: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let read = answer.take(limit + 1).read_to_end(&mut content);
    read.map_err(|error| format!("its answer broke off: {}", http::with_causes(&error)))?;
    if content.len() as u64 > limit {
        return Err(format!("its answer has more than {limit} bytes"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_where_git_lfs_looks() {
        let at = "https://example.com/org/repo.git/info/lfs";
        assert_eq!(default_endpoint("https://example.com/org/repo"), at);
        assert_eq!(default_endpoint("https://example.com/org/repo.git/"), at);
        let config = "[lfs]\n\turl = \"https://lfs.example.com/org\"\n";
        assert_eq!(said_by(config).as_deref(), Some("https://lfs.example.com/org"));
        let config = "[remote \"origin\"]\n\tlfsurl = https://lfs.example.com/x\n";
        assert_eq!(said_by(config).as_deref(), Some("https://lfs.example.com/x"));
        assert_eq!(said_by("[lfs]\n\tlocksverify = true\n"), None);
        assert_eq!(said_by("no configuration"), None);
    }
}
