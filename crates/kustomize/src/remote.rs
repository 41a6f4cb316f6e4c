//! Bases and files that are not in the tree.
//!
//! A kustomization may name a git repository in any of the spellings that
//! Kustomize knows; [`RemoteBase::parse`] reads them. Fetching is the
//! caller's: [`Remote`] is the port, [`NoRemote`] the one that refuses.

use std::rc::Rc;

use bytes::Bytes;

use crate::files::Files;

/// Fetches what a kustomization names by URL. The implementation decides
/// about allowed hosts, credentials, time limits and caching.
pub trait Remote {
    /// The files of a git repository at a revision.
    ///
    /// # Errors
    /// If the repository may not or cannot be fetched.
    fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn Files>, RemoteError>;

    /// The contents behind an `http` or `https` URL.
    ///
    /// # Errors
    /// If the file may not or cannot be fetched.
    fn file(&self, url: &str) -> Result<Bytes, RemoteError>;
}

/// Why something remote is not there.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The server answered with an error.
    #[error("HTTP Error: status code {0}")]
    Status(u16),
    /// Anything else, such as a host that is not allowed.
    #[error("{0}")]
    Refused(String),
}

/// Refuses everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRemote;

impl Remote for NoRemote {
    fn repository(&self, base: &RemoteBase) -> Result<Rc<dyn Files>, RemoteError> {
        Err(RemoteError::Refused(format!(
            "remote bases are not available here; copy {} into the repository",
            base.clone_url
        )))
    }

    fn file(&self, url: &str) -> Result<Bytes, RemoteError> {
        Err(RemoteError::Refused(format!(
            "remote files are not available here; copy {url} into the repository"
        )))
    }
}

/// A git repository, and the place in it, that a kustomization names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteBase {
    /// As written.
    pub url: String,
    /// What to clone.
    pub clone_url: String,
    /// The directory in the repository; empty for its root.
    pub path: String,
    /// The branch, tag or commit; empty for the default branch.
    pub reference: String,
    /// Are submodules wanted?
    pub submodules: bool,
}

impl RemoteBase {
    /// Reads a URL; `None` if it is a path in the tree, or nothing we know.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        if url.starts_with('/') {
            return None;
        }
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (host, rest) = split_host(address)?;
        let (repository, path) = split_repository(&rest, &host)?;
        if repository.is_empty() {
            return None;
        }
        let path = path.strip_prefix('/').unwrap_or(&path);
        let path = crate::files::join("", path)?;
        let query = Query::parse(query);
        Some(Self {
            url: url.to_owned(),
            clone_url: format!("{host}{repository}"),
            path,
            reference: query.reference,
            submodules: query.submodules,
        })
    }
}

/// Is this a URL of a file?
pub(crate) fn is_remote_file(path: &str) -> bool {
    let scheme = path.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

struct Query {
    reference: String,
    submodules: bool,
}

impl Query {
    fn parse(text: &str) -> Self {
        let mut query = Self { reference: String::new(), submodules: true };
        let mut submodules = None;
        // What Go cannot read says nothing at all.
        if text.contains(';') || !has_whole_escapes(text) {
            return query;
        }
        let mut version = String::new();
        for pair in text.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decoded(value);
            match name {
                "ref" if query.reference.is_empty() => query.reference = value,
                "version" if version.is_empty() => version = value,
                "submodules" if submodules.is_none() => submodules = Some(value),
                _ => {}
            }
        }
        if let Some("0" | "f" | "F" | "false" | "FALSE" | "False") = submodules.as_deref() {
            query.submodules = false;
        }
        if query.reference.is_empty() {
            query.reference = version;
        }
        query
    }
}

/// Is every `%` followed by two hexadecimal digits?
fn has_whole_escapes(text: &str) -> bool {
    let mut parts = text.split('%');
    parts.next();
    parts.all(|part| {
        part.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
        match (first, after) {
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high * 16 + low);
                    rest = after;
                    continue;
                }
                _ => bytes.push(b'%'),
            },
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Splits into scheme, user and host on one side, the rest on the other.
fn split_host(address: &str) -> Option<(String, String)> {
    let address = strip_prefix_ignoring_case(address, "git::").unwrap_or(address);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let found = schemes
        .iter()
        .find_map(|scheme| strip_prefix_ignoring_case(address, scheme).map(|rest| (*scheme, rest)));
    let (scheme, rest) = found.unwrap_or(("", address));
    let (user, rest) = split_user(rest);
    let lower = rest.to_ascii_lowercase();
    let is_github = lower.starts_with("github.com/") || lower.starts_with("github.com:");
    let may_be_scp = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !may_be_scp {
        return None;
    }
    if scheme == "file://" {
        return Some((scheme.to_owned(), format!("{user}{rest}")));
    }
    let slash = rest.find('/');
    let colon = rest.find(':').filter(|at| may_be_scp && *at > 0);
    let separator = match (slash, colon) {
        (None, colon) if may_be_scp => colon,
        (Some(slash), Some(colon)) if colon < slash => Some(colon),
        (slash, _) => slash,
    };
    let (host, path) = match separator {
        Some(at) => rest.split_at(at + 1),
        None => (rest, ""),
    };
    if is_github {
        let host = if scheme == "ssh://" || !user.is_empty() {
            format!("{user}github.com:")
        } else {
            "https://github.com/".to_owned()
        };
        return Some((host, path.to_owned()));
    }
    if host.is_empty() {
        return None;
    }
    Some((format!("{scheme}{user}{host}"), path.to_owned()))
}

fn split_user(text: &str) -> (&str, &str) {
    let Some(at) = text.find('@') else { return ("", text) };
    let name = &text[..at];
    let is_user = name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-');
    if is_user { text.split_at(at + 1) } else { ("", text) }
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// Splits the path of a URL into repository and directory.
fn split_repository(path: &str, host: &str) -> Option<(String, String)> {
    const AZURE: &str = "_git/";
    const SUFFIX: &str = ".git";
    if let Some(at) = path.find(AZURE) {
        let (root, rest) = path.split_at(at + AZURE.len());
        let (name, directory) = rest.split_once('/').unwrap_or((rest, ""));
        return Some((format!("{root}{name}"), directory.to_owned()));
    }
    if let Some((repository, directory)) = path.split_once("//") {
        return Some((repository.to_owned(), directory.to_owned()));
    }
    if let Some(at) = path.find(SUFFIX) {
        let (repository, directory) = path.split_at(at + SUFFIX.len());
        return Some((repository.to_owned(), directory.to_owned()));
    }
    if host.starts_with("file://") {
        return Some((path.to_owned(), String::new()));
    }
    // Owner and name, as on most hosts.
    let parts: Vec<&str> = path.split('/').collect();
    (parts.len() >= 2).then(|| (parts[..2].join("/"), parts[2..].join("/")))
}

#[cfg(test)]
mod tests {
    use super::RemoteBase;

    #[track_caller]
    fn check(url: &str, expect: Option<(&str, &str, &str)>) {
        let base = RemoteBase::parse(url);
        let parts = base
            .as_ref()
            .map(|base| (base.clone_url.as_str(), base.path.as_str(), base.reference.as_str()));
        assert_eq!(parts, expect, "{url}");
    }

    #[test]
    fn spellings_of_git_urls() {
        check(
            "https://github.com/org/repo//deploy/base?ref=v1",
            Some(("https://github.com/org/repo", "deploy/base", "v1")),
        );
        check(
            "github.com/org/repo/sub?ref=main",
            Some(("https://github.com/org/repo", "sub", "main")),
        );
        check("git@github.com:org/repo.git/sub", Some(("git@github.com:org/repo.git", "sub", "")));
        check(
            "ssh://git@example.com/org/repo//a",
            Some(("ssh://git@example.com/org/repo", "a", "")),
        );
        check(
            "https://example.com/org/repo.git/x?version=v2",
            Some(("https://example.com/org/repo.git", "x", "v2")),
        );
        check(
            "https://dev.azure.com/org/project/_git/repo/dir?ref=r",
            Some(("https://dev.azure.com/org/project/_git/repo", "dir", "r")),
        );
        check("https://h.example/a/b?ref=v%2F1", Some(("https://h.example/a/b", "", "v/1")));
        check("https://h.example/a/b?ref=v%zz", Some(("https://h.example/a/b", "", "")));
        check("https://h.example/a/b?ref=v1;a=b", Some(("https://h.example/a/b", "", "")));
        check("file:///srv/repo", Some(("file:///srv/repo", "", "")));
        check("git::https://example.com/a/b", Some(("https://example.com/a/b", "", "")));
    }

    #[test]
    fn paths_are_no_urls() {
        for path in ["../base", "base", "/abs", "a.yaml", "https://example.com/org/repo//../out"] {
            check(path, None);
        }
    }
}
