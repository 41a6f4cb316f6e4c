//! Talking to an OCI registry: tags, manifests, blobs. Everything here blocks.
//!
//! Only reading, and of that only what charts and artifacts need. A registry
//! that wants to know who asks says where tokens are issued; [`Registry`] gets
//! one and keeps it as long as it lives.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, LINK, WWW_AUTHENTICATE};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::credentials::Trust;
use crate::http::Patience;
use crate::{FetchError, RepoUrl, http};

/// A manifest is a list of a few layers.
const MAX_MANIFEST: u64 = 4 << 20;
/// One page of tags, a token, or an error.
const MAX_ANSWER: u64 = 4 << 20;
/// Pages of tags; a registry that has more never ends.
const MAX_PAGES: usize = 1000;
/// What an error may show of the registry's own words.
const MAX_SHOWN: usize = 300;
/// The kinds of manifests we can read, and lists of them, to say what they are.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// One repository of a registry, and our way to it.
pub(crate) struct Registry {
    repo: RepoUrl,
    trust: Trust,
    client: Client,
    /// `https://host`.
    base: String,
    /// `org/charts/web`.
    name: String,
    /// The `Authorization` that was accepted last.
    token: Mutex<Option<String>>,
}

/// What a tag or digest stands for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Manifest {
    pub(crate) media_type: String,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    /// Not empty for an index: one artifact per platform.
    pub(crate) manifests: Vec<Descriptor>,
    pub(crate) annotations: BTreeMap<String, String>,
}

impl Manifest {
    /// Does it only name other manifests?
    pub(crate) fn is_index(&self) -> bool {
        !self.manifests.is_empty()
    }
}

/// A blob, as a manifest names it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Token {
    token: String,
    access_token: String,
}

#[derive(Deserialize)]
struct Problems {
    errors: Vec<Problem>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    message: String,
}

impl Registry {
    pub(crate) fn new(
        repo: &RepoUrl,
        trust: Trust,
        patience: Patience,
    ) -> Result<Self, FetchError> {
        let client = http::client(&trust, patience).map_err(|error| unreachable(repo, &error))?;
        let (host, name) = repo.registry_parts();
        if host.is_empty() {
            let source = Arc::new(std::io::Error::other("it has no host"));
            return Err(FetchError::UnsupportedUrl { repo: repo.clone(), source });
        }
        // The name that people write is not the host that answers.
        let host = if host == "docker.io" { "registry-1.docker.io".to_owned() } else { host };
        let scheme = if trust.credentials.force_http { "http" } else { "https" };
        let base = format!("{scheme}://{host}");
        Ok(Self { repo: repo.clone(), trust, client, base, name, token: Mutex::default() })
    }

    /// Does the registry let us in?
    pub(crate) fn ping(&self) -> Result<(), FetchError> {
        self.get(Method::GET, &format!("{}/v2/", self.base), "")?.ok(self).map(drop)
    }

    /// All tags, as the registry orders them.
    pub(crate) fn tags(&self) -> Result<Vec<String>, FetchError> {
        let mut all = Vec::new();
        let mut address = format!("{}/v2/{}/tags/list?n=1000", self.base, self.name);
        for _ in 0..MAX_PAGES {
            let answer = self.get(Method::GET, &address, "application/json")?.ok(self)?;
            let next = answer.headers().get(LINK).and_then(|it| next_page(it.to_str().ok()?));
            let content = self.read(answer, MAX_ANSWER)?;
            let page: Tags = serde_json::from_slice(&content)
                .map_err(|error| self.damaged(format!("the list of tags: {error}")))?;
            all.extend(page.tags.unwrap_or_default());
            match next {
                None => return Ok(all),
                Some(next) if next.starts_with('/') => address = format!("{}{next}", self.base),
                Some(next) if next.starts_with(&format!("{}/", self.base)) => address = next,
                Some(next) => {
                    return Err(self.damaged(format!("the list of tags goes on at {next}")));
                }
            }
        }
        Err(self.damaged(format!("the list of tags has more than {MAX_PAGES} pages")))
    }

    /// The digest that a tag stands for; `None` when there is no such tag.
    pub(crate) fn digest(&self, reference: &str) -> Result<Option<String>, FetchError> {
        let address = self.manifest_address(reference);
        let answer = self.get(Method::HEAD, &address, MANIFESTS)?;
        if answer.0.status() == 404 {
            return Ok(None);
        }
        let answer = answer.ok(self)?;
        let told = answer.headers().get("docker-content-digest").and_then(|it| it.to_str().ok());
        match told.filter(|it| is_digest(it)) {
            Some(digest) => Ok(Some(digest.to_owned())),
            // Registries need not tell it.
            None => Ok(self.manifest_bytes(reference)?.map(|content| digest_of(&content))),
        }
    }

    /// The manifest behind a tag or digest; `None` when there is none.
    pub(crate) fn manifest(&self, reference: &str) -> Result<Option<Manifest>, FetchError> {
        let Some(content) = self.manifest_bytes(reference)? else { return Ok(None) };
        if is_digest(reference) && digest_of(&content) != reference {
            return Err(self.damaged(format!("the manifest {reference} has another digest")));
        }
        let manifest = serde_json::from_slice(&content)
            .map_err(|error| self.damaged(format!("the manifest {reference}: {error}")))?;
        Ok(Some(manifest))
    }

    fn manifest_bytes(&self, reference: &str) -> Result<Option<Vec<u8>>, FetchError> {
        let answer = self.get(Method::GET, &self.manifest_address(reference), MANIFESTS)?;
        if answer.0.status() == 404 {
            return Ok(None);
        }
        self.read(answer.ok(self)?, MAX_MANIFEST).map(Some)
    }

    /// A blob of at most `max` bytes, which is what its digest says.
    pub(crate) fn blob(&self, blob: &Descriptor, max: u64) -> Result<Vec<u8>, FetchError> {
        let Descriptor { digest, size, .. } = blob;
        if !is_digest(digest) {
            return Err(self.damaged(format!("{digest:?} is no sha256 digest")));
        }
        if *size > max {
            return Err(self.damaged(format!("{digest} has {size} bytes, of {max} allowed")));
        }
        let address = format!("{}/v2/{}/blobs/{digest}", self.base, self.name);
        let answer = self.get(Method::GET, &address, "")?.ok(self)?;
        let content = self.read(answer, max)?;
        if digest_of(&content) != *digest {
            return Err(self.damaged(format!("the blob {digest} has another digest")));
        }
        Ok(content)
    }

    fn manifest_address(&self, reference: &str) -> String {
        format!("{}/v2/{}/manifests/{reference}", self.base, self.name)
    }

    /// Asks, and asks again with a token if the registry wants one.
    fn get(&self, method: Method, address: &str, accept: &str) -> Result<Answer, FetchError> {
        let known = self.token.lock().expect("nobody panics while looking up").clone();
        let answer = self.send(method.clone(), address, accept, known.as_deref())?;
        if answer.status() != 401 {
            return Ok(Answer(answer));
        }
        let challenges = answer.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenges: Vec<&str> = challenges.filter_map(|it| it.to_str().ok()).collect();
        let Some(authorization) = self.authorization(&challenges)? else {
            return Ok(Answer(answer));
        };
        let answer = self.send(method, address, accept, Some(&authorization))?;
        *self.token.lock().expect("nobody panics while looking up") = Some(authorization);
        Ok(Answer(answer))
    }

    fn send(
        &self,
        method: Method,
        address: &str,
        accept: &str,
        authorization: Option<&str>,
    ) -> Result<Response, FetchError> {
        let mut request = self.client.request(method, address);
        if !accept.is_empty() {
            request = request.header(ACCEPT, accept);
        }
        if let Some(mut value) = authorization.and_then(|it| HeaderValue::from_str(it).ok()) {
            value.set_sensitive(true);
            // A redirect to another host goes there without it.
            request = request.header(AUTHORIZATION, value);
        }
        request.send().map_err(|error| self.unreachable(&error))
    }

    /// What to answer to one of these challenges, if we can.
    fn authorization(&self, challenges: &[&str]) -> Result<Option<String>, FetchError> {
        for challenge in challenges {
            let (scheme, parameters) = challenge.split_once(' ').unwrap_or((challenge, ""));
            if scheme.eq_ignore_ascii_case("basic") {
                return Ok(self.trust.credentials.authorization());
            }
            if scheme.eq_ignore_ascii_case("bearer") {
                if !self.trust.credentials.bearer_token.is_empty() {
                    return Ok(self.trust.credentials.authorization());
                }
                return self.token(&parameters_of(parameters));
            }
        }
        Ok(None)
    }

    /// A token from where the registry says they are issued.
    fn token(&self, asked: &BTreeMap<String, String>) -> Result<Option<String>, FetchError> {
        let text = |key: &str| asked.get(key).map_or("", String::as_str);
        let Ok(mut realm) = reqwest::Url::parse(text("realm")) else { return Ok(None) };
        // Whoever is between us and the registry must not get the password by
        // pointing to a place that does not encrypt.
        if realm.scheme() != "https" && !self.trust.credentials.force_http {
            return Err(self.damaged(format!("it wants the credentials to be sent to {realm}")));
        }
        for key in ["service", "scope"] {
            if !text(key).is_empty() {
                realm.query_pairs_mut().append_pair(key, text(key));
            }
        }
        let authorization = self.trust.credentials.authorization();
        let answer = self.send(Method::GET, realm.as_str(), "", authorization.as_deref())?;
        let content = self.read(Answer(answer).ok(self)?, MAX_ANSWER)?;
        let token: Token = serde_json::from_slice(&content)
            .map_err(|_| self.damaged(format!("{} issues no token", realm.path())))?;
        let token = if token.token.is_empty() { token.access_token } else { token.token };
        Ok((!token.is_empty()).then(|| format!("Bearer {token}")))
    }

    fn read(&self, answer: Response, max: u64) -> Result<Vec<u8>, FetchError> {
        let mut content = Vec::new();
        answer.take(max + 1).read_to_end(&mut content).map_err(|error| self.unreachable(&error))?;
        if content.len() as u64 > max {
            return Err(self.damaged(format!("an answer has more than {max} bytes")));
        }
        Ok(content)
    }

    fn damaged(&self, problem: String) -> FetchError {
        let source = Arc::new(std::io::Error::other(problem));
        FetchError::Damaged { repo: self.repo.clone(), source }
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> FetchError {
        let text = self.trust.credentials.hide(&http::with_causes(error));
        unreachable(&self.repo, &std::io::Error::other(text))
    }
}

fn unreachable(repo: &RepoUrl, error: &dyn std::error::Error) -> FetchError {
    let text = repo.hide_credentials(&http::with_causes(error));
    FetchError::Unreachable { repo: repo.clone(), source: Arc::new(std::io::Error::other(text)) }
}

/// What a registry said, of whatever status.
struct Answer(Response);

impl Answer {
    /// The answer if it is a good one.
    fn ok(self, registry: &Registry) -> Result<Response, FetchError> {
        let repo = registry.repo.clone();
        match self.0.status().as_u16() {
            200..=299 => Ok(self.0),
            401 | 403 if registry.trust.credentials.identify() => {
                Err(FetchError::AuthenticationFailed { repo })
            }
            401 | 403 => Err(FetchError::AuthenticationRequired { repo }),
            404 => Err(FetchError::RepositoryNotFound { repo }),
            status => {
                let said = registry.read(self.0, MAX_ANSWER).ok();
                let said = said.and_then(|it| serde_json::from_slice::<Problems>(&it).ok());
                let said = said.into_iter().flat_map(|it| it.errors);
                let said: Vec<String> =
                    said.map(|it| format!("{} {}", it.code, it.message)).collect();
                let mut text = format!("HTTP status {status} {}", said.join(", "));
                text.truncate(text.floor_char_boundary(MAX_SHOWN));
                Err(registry.unreachable(&std::io::Error::other(text.trim_end().to_owned())))
            }
        }
    }
}

/// `sha256:` and 64 digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Could it be a tag?
pub(crate) fn is_tag(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    !text.is_empty()
        && text.len() <= 128
        && text.bytes().all(allowed)
        && !text.starts_with(['.', '-'])
}

fn digest_of(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Where a list goes on: `</v2/x/tags/list?last=b>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| address.to_owned())
}

/// `realm="https://…",service="…"`: values may hold commas.
fn parameters_of(text: &str) -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key.trim_matches([',', ' ']).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        parameters.insert(key, value.to_owned());
        rest = after;
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_where_tokens_are_issued() {
        let asked = parameters_of(
            r#"realm="https://auth.example.com/token",service="registry.example.com",scope="repository:a/b:pull,push",error=x"#,
        );
        let shown: Vec<_> = asked.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            shown,
            [
                "error=x",
                "realm=https://auth.example.com/token",
                "scope=repository:a/b:pull,push",
                "service=registry.example.com",
            ]
        );
    }

    #[test]
    fn lists_go_on_where_the_registry_says() {
        let link = "</v2/a/tags/list?last=b&n=2>; rel=\"next\"";
        assert_eq!(next_page(link).as_deref(), Some("/v2/a/tags/list?last=b&n=2"));
        assert_eq!(next_page("</v2/a>; rel=\"first\""), None);
    }

    #[test]
    fn tags_and_digests_are_told_from_ranges() {
        assert!(is_tag("1.0.0") && is_tag("latest") && is_tag("1.0.0_build"));
        assert!(!is_tag("1.*") && !is_tag(">=1.0") && !is_tag("") && !is_tag("a/b"));
        assert!(is_digest(&format!("sha256:{}", "0a".repeat(32))));
        assert!(!is_digest("sha256:0a") && !is_digest("latest"));
    }
}
