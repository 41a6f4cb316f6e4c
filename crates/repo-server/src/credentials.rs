//! What repositories want to know of us: handed in as values, looked up by
//! address, never printed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::identity::{Identity, Login, Purpose};
use crate::tokens::{Tokens, Want};
use crate::{FetchError, RepoUrl};

/// What one repository, or all below an address, want to know of us.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RepoCredentials {
    /// For basic authentication.
    pub username: String,
    /// For basic authentication.
    pub password: String,
    /// Sent instead of user and password.
    pub bearer_token: String,
    /// An ssh private key in OpenSSH's or PEM form.
    pub ssh_private_key: String,
    /// A TLS client certificate (PEM).
    pub tls_client_cert: String,
    /// Its key (PEM).
    pub tls_client_key: String,
    /// Used where there is neither password, token nor ssh key.
    pub identity: Option<Identity>,
    /// Trust any certificate and host key.
    pub insecure: bool,
    /// What the repository is.
    pub kind: RepoKind,
    /// The registry speaks plain HTTP.
    pub force_http: bool,
    /// The proxy to go through.
    pub proxy: String,
    /// Hosts to reach without it, separated by commas.
    pub no_proxy: String,
    /// How many commits of a git repository's history are fetched; 0 for all.
    pub depth: u32,
    /// Files that are pointers of Git LFS stand for what they point to.
    pub enable_lfs: bool,
}

/// What a repository is, as its Secret says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepoKind {
    /// A git repository.
    #[default]
    Git,
    /// A chart repository with an index.
    Helm,
    /// A registry with charts below it (`type: helm` with `enableOCI`).
    HelmRegistry,
    /// A repository of a registry.
    Oci,
}

impl RepoKind {
    fn is_registry(self) -> bool {
        matches!(self, Self::HelmRegistry | Self::Oci)
    }
}

/// Shows what there is, and nothing of it.
impl fmt::Debug for RepoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            ("password", &self.password),
            ("bearer token", &self.bearer_token),
            ("ssh key", &self.ssh_private_key),
            ("client certificate", &self.tls_client_cert),
        ];
        let present = kinds.iter().filter(|(_, it)| !it.is_empty()).map(|(name, _)| *name);
        let present = present.chain(self.identity.as_ref().map(Identity::name));
        write!(f, "RepoCredentials({})", present.collect::<Vec<_>>().join(", "))
    }
}

impl RepoCredentials {
    /// Is there anything to say who we are?
    #[must_use]
    pub fn identify(&self) -> bool {
        [&self.password, &self.bearer_token, &self.ssh_private_key, &self.tls_client_cert]
            .iter()
            .any(|it| !it.is_empty())
            || !self.username.is_empty()
            || self.identity.is_some()
    }

    /// The identity that a token is needed for. What is written down goes
    /// before it, as in Argo CD.
    pub(crate) fn needs_token(&self) -> Option<&Identity> {
        let written = [&self.password, &self.bearer_token, &self.ssh_private_key];
        self.identity.as_ref().filter(|_| written.iter().all(|it| it.is_empty()))
    }

    /// The header that says who we are, if it is said in a header.
    pub(crate) fn authorization(&self) -> Option<String> {
        if !self.bearer_token.is_empty() {
            return Some(format!("Bearer {}", self.bearer_token));
        }
        if self.password.is_empty() && self.username.is_empty() {
            return None;
        }
        // Git servers ignore the name beside a token, but want one.
        let user = if self.username.is_empty() { "git" } else { &self.username };
        Some(format!("Basic {}", STANDARD.encode(format!("{user}:{}", self.password))))
    }

    /// The text without any of our secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        let mut hidden = text.to_owned();
        let authorization = self.authorization().unwrap_or_default();
        for secret in [&self.password, &self.bearer_token, &authorization] {
            // What is shorter would cut words to pieces and is no secret anyway.
            if secret.len() > 3 {
                hidden = hidden.replace(secret.as_str(), "******");
            }
        }
        hidden
    }

    fn filled_from(&self, template: &Self) -> Self {
        if self.identify() {
            return Self { force_http: self.force_http || template.force_http, ..self.clone() };
        }
        let proxy = if self.proxy.is_empty() { &template.proxy } else { &self.proxy };
        let no_proxy = if self.no_proxy.is_empty() { &template.no_proxy } else { &self.no_proxy };
        Self {
            kind: self.kind,
            depth: self.depth,
            enable_lfs: self.enable_lfs,
            insecure: self.insecure || template.insecure,
            force_http: self.force_http || template.force_http,
            proxy: proxy.clone(),
            no_proxy: no_proxy.clone(),
            ..template.clone()
        }
    }
}

/// All credentials, and whom we trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialBook {
    /// Those of single repositories, by address.
    pub repositories: Vec<(String, RepoCredentials)>,
    /// Those of repositories that belong to one project, by that project. For
    /// its Applications they go before the others, and nobody else uses them.
    pub projects: BTreeMap<String, Vec<(String, RepoCredentials)>>,
    /// Those of all repositories whose address begins so; the longest counts.
    pub templates: Vec<(String, RepoCredentials)>,
    /// The addresses of repositories that have a name, as charts refer to them.
    pub names: BTreeMap<String, String>,
    /// Certificates to trust beside the usual ones, by host (PEM).
    pub certificates: BTreeMap<String, String>,
    /// Host keys to trust, as in `ssh_known_hosts`.
    pub known_hosts: String,
    /// Armoured keys that commits may be signed with.
    pub gpg_keys: BTreeMap<String, String>,
}

/// How far the credentials of a repository may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// To the repository's own host.
    OwnHost,
    /// To whatever host its index names: `passCredentials`.
    AnyHost,
}

impl Reach {
    pub(crate) fn of(pass_credentials: bool) -> Self {
        if pass_credentials { Self::AnyHost } else { Self::OwnHost }
    }
}

/// What a connection to a repository needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    pub(crate) credentials: RepoCredentials,
    pub(crate) certificates: String,
    pub(crate) known_hosts: String,
}

impl CredentialBook {
    /// The repository at an address as a project sees it: with its own
    /// credentials, if it has some for it.
    pub(crate) fn seen_by(&self, project: &str, url: &RepoUrl) -> RepoUrl {
        let own = self.projects.get(project).into_iter().flatten();
        let place = url.place();
        let mut own = own.filter(|(it, credentials)| {
            RepoUrl::new(it).place() == place
                || credentials.kind.is_registry() && are_related(it, url)
        });
        if own.next().is_some() { url.of_project(project) } else { url.of_project("") }
    }

    /// The repositories whose credentials may be used for this one, those that
    /// are meant for it first.
    fn known(&self, url: &RepoUrl) -> impl Iterator<Item = &(String, RepoCredentials)> {
        let own = self.projects.get(url.project()).into_iter().flatten();
        own.chain(&self.repositories).filter(|_| !url.is_stranger())
    }

    /// A submodule as it is reached: with its own credentials, or where it has
    /// none and lies on the same server, with those of the repository it is a part of.
    /// Argo CD sends those to whatever server a `.gitmodules` names.
    pub(crate) fn as_submodule(&self, url: &RepoUrl, parent: &RepoUrl) -> RepoUrl {
        let is_known = self.for_repo(url).credentials.identify();
        if is_known || !url.is_served_with(parent) { url.clone() } else { url.as_part_of(parent) }
    }

    pub(crate) fn for_repo(&self, url: &RepoUrl) -> Trust {
        if let Some(parent) = url.parent() {
            return self.for_repo(&parent);
        }
        let place = url.place();
        let own = self.known(url).find(|(it, _)| RepoUrl::new(it).place() == place);
        let own = own.map(|(_, it)| it.clone()).unwrap_or_default();
        self.trust(url, &own)
    }

    /// What a connection to a registry needs. Their addresses are written with
    /// or without `oci://`.
    pub(crate) fn for_registry(&self, url: &RepoUrl) -> Trust {
        let place = url.in_registry().place();
        let registries = || self.known(url).filter(|(_, it)| it.kind.is_registry());
        let own = registries().find(|(it, _)| RepoUrl::new(it).in_registry().place() == place);
        let own = own.or_else(|| registries().find(|(it, _)| are_related(it, url)));
        let own = own.map(|(_, it)| it.clone()).unwrap_or_default();
        self.trust_in_registry(url, &own)
    }

    /// What a connection to a registry with these credentials needs beside them.
    pub(crate) fn trust_in_registry(&self, url: &RepoUrl, own: &RepoCredentials) -> Trust {
        let place = url.in_registry().place();
        let fits = |(prefix, _): &&(String, RepoCredentials)| {
            is_below(&place, &RepoUrl::new(prefix).in_registry().place())
        };
        let template = self.templates.iter().filter(fits).max_by_key(|(prefix, _)| prefix.len());
        self.completed(url, own, template)
    }

    /// Is the repository of this address a registry with charts?
    pub(crate) fn is_chart_registry(&self, url: &RepoUrl) -> bool {
        // Argo CD: an address without a scheme is a registry's.
        !url.to_connect().contains("://")
            || self.known(url).any(|(it, credentials)| {
                credentials.kind == RepoKind::HelmRegistry
                    && RepoUrl::new(it).in_registry().place() == url.in_registry().place()
            })
    }

    /// What a connection with these credentials needs beside them.
    pub(crate) fn trust(&self, url: &RepoUrl, own: &RepoCredentials) -> Trust {
        let address = url.without_credentials();
        let fits = |(prefix, _): &&(String, RepoCredentials)| is_below(&address, prefix);
        let template = self.templates.iter().filter(fits).max_by_key(|(prefix, _)| prefix.len());
        self.completed(url, own, template)
    }

    /// What a connection to another place needs that a repository's server
    /// sends us to: nothing of its credentials, and the way that it takes.
    pub(crate) fn without_credentials(&self, url: &RepoUrl, trust: &Trust) -> Trust {
        let RepoCredentials { proxy, no_proxy, .. } = trust.credentials.clone();
        let own = RepoCredentials { proxy, no_proxy, ..RepoCredentials::default() };
        self.completed(url, &own, None)
    }

    /// Does any repository have contents outside of git?
    fn any_lfs(&self) -> bool {
        let own = self.projects.values().flatten();
        own.chain(&self.repositories).any(|(_, it)| it.enable_lfs)
    }

    fn completed(
        &self,
        url: &RepoUrl,
        own: &RepoCredentials,
        template: Option<&(String, RepoCredentials)>,
    ) -> Trust {
        let template = template.filter(|_| !url.is_stranger());
        let credentials =
            template.map_or_else(|| own.clone(), |(_, template)| own.filled_from(template));
        let host = url.host().unwrap_or_default();
        let certificates = self.certificates.get(&host).cloned().unwrap_or_default();
        Trust { credentials, certificates, known_hosts: self.known_hosts.clone() }
    }
}

/// Charts of one registry depend on each other by its address, which may be
/// longer or shorter than what the credentials were stored for.
fn are_related(stored: &str, url: &RepoUrl) -> bool {
    let (stored, url) = (RepoUrl::new(stored).in_registry().place(), url.in_registry().place());
    is_below(&stored, &url) || is_below(&url, &stored)
}

/// A prefix ends where a part of the path ends, or credentials for `…/org` would
/// go to `…/organization-of-somebody-else`, and those for a host to another.
fn is_below(address: &str, prefix: &str) -> bool {
    let (address, prefix) = (address.to_ascii_lowercase(), prefix.trim().to_ascii_lowercase());
    address.strip_prefix(prefix.as_str()).is_some_and(|rest| {
        rest.is_empty() || prefix.ends_with(['/', ':']) || rest.starts_with(['/', ':'])
    })
}

/// The book that counts now, and the tokens that were issued for what stands in
/// it; clones share both.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedBook {
    book: Arc<RwLock<Arc<CredentialBook>>>,
    /// Asked for every request, and mostly not so.
    any_lfs: Arc<AtomicBool>,
    tokens: Arc<Tokens>,
}

impl SharedBook {
    pub(crate) fn set(&self, book: CredentialBook) {
        self.any_lfs.store(book.any_lfs(), Ordering::Relaxed);
        *self.book.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(book);
    }

    /// Are files of a repository that are pointers what they point to?
    pub(crate) fn wants_lfs(&self, url: &RepoUrl) -> bool {
        self.any_lfs.load(Ordering::Relaxed) && self.current().for_repo(url).credentials.enable_lfs
    }

    pub(crate) fn current(&self) -> Arc<CredentialBook> {
        Arc::clone(&self.book.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same trust with a token, if its identity needs one. Blocks.
    pub(crate) fn logged_in(
        &self,
        repo: &RepoUrl,
        trust: Trust,
        purpose: Purpose,
        silence: Duration,
    ) -> Result<Trust, FetchError> {
        let Some(login) =
            self.with_want(repo, &trust, purpose, silence, |want| self.tokens.login(want))
        else {
            return Ok(trust);
        };
        let Login { username, password, bearer_token } = login?;
        let credentials = RepoCredentials { username, password, bearer_token, ..trust.credentials };
        Ok(Trust { credentials, ..trust })
    }

    /// A repository refused the token: the next one is a new one.
    pub(crate) fn forget_token(&self, repo: &RepoUrl, trust: &Trust, purpose: Purpose) {
        let credentials = RepoCredentials {
            password: String::new(),
            bearer_token: String::new(),
            ..trust.credentials.clone()
        };
        let trust = Trust { credentials, ..trust.clone() };
        self.with_want(repo, &trust, purpose, Duration::ZERO, |want| self.tokens.forget(want));
    }

    fn with_want<T>(
        &self,
        repo: &RepoUrl,
        trust: &Trust,
        purpose: Purpose,
        silence: Duration,
        then: impl FnOnce(&Want<'_>) -> T,
    ) -> Option<T> {
        let identity = trust.credentials.needs_token()?;
        let book = self.current();
        let certificates = |host: &str| book.certificates.get(host).cloned().unwrap_or_default();
        let certificates = &certificates;
        Some(then(&Want { repo, identity, purpose, trust, certificates, silence }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> RepoCredentials {
        RepoCredentials { password: text.to_owned(), ..RepoCredentials::default() }
    }

    fn book() -> CredentialBook {
        CredentialBook {
            repositories: vec![
                ("https://example.com/org/own.git".to_owned(), password("own")),
                ("https://example.com/org/bare".to_owned(), RepoCredentials::default()),
            ],
            templates: vec![
                ("https://example.com".to_owned(), password("host")),
                ("https://example.com/org".to_owned(), password("org")),
                ("git@example.com:".to_owned(), password("ssh")),
            ],
            ..CredentialBook::default()
        }
    }

    #[test]
    fn a_submodule_on_the_same_server_is_reached_with_the_credentials_of_its_parent() {
        let book = CredentialBook {
            repositories: vec![
                ("https://git.local/org/parent.git".to_owned(), password("parent's")),
                ("https://git.local/org/own".to_owned(), password("own")),
            ],
            ..CredentialBook::default()
        };
        let parent = RepoUrl::new("https://git.local/org/parent.git");
        for (url, expect) in [
            ("https://git.local/org/part.git", "parent's"),
            ("https://git.local:443/org/part.git", "parent's"),
            ("https://git.local/org/own.git", "own"),
            ("https://git.local:8443/org/part.git", ""),
            ("http://git.local/org/part.git", ""),
            ("https://git.local.example.org/org/part.git", ""),
        ] {
            let part = book.as_submodule(&RepoUrl::new(url), &parent);
            assert_eq!(book.for_repo(&part).credentials.password, expect, "{url}");
        }
        let part = book.as_submodule(&RepoUrl::new("https://git.local/org/part"), &parent);
        let nested = book.as_submodule(&RepoUrl::new("https://git.local/org/nested"), &part);
        assert_eq!(book.for_repo(&nested).credentials.password, "parent's");
        assert_ne!(part.identity(), RepoUrl::new("https://git.local/org/part").identity());
    }

    #[track_caller]
    fn check(url: &str, expect: &str) {
        assert_eq!(book().for_repo(&RepoUrl::new(url)).credentials.password, expect);
    }

    #[test]
    fn a_repository_has_its_own_or_those_of_the_longest_prefix() {
        check("https://example.com/org/own", "own");
        check("https://EXAMPLE.com/org/own.git", "own");
        check("https://example.com/org/bare", "org");
        check("https://example.com/org/any", "org");
        check("https://example.com/other/any", "host");
        check("git@example.com:org/any", "ssh");
        check("https://other.com/org/any", "");
    }

    #[test]
    fn credentials_never_go_to_a_neighbour() {
        check("https://example.com/organization/any", "host");
        check("https://example.com.evil.org/org/any", "");
        check("https://example.company/org/any", "");
    }

    #[test]
    fn secrets_are_never_shown() {
        let credentials = RepoCredentials { username: "me".to_owned(), ..password("s3cret-word") };
        assert_eq!(format!("{credentials:?}"), "RepoCredentials(password)");
        let header = credentials.authorization().unwrap();
        assert_eq!(header, "Basic bWU6czNjcmV0LXdvcmQ=");
        let text = format!("sent {header} with s3cret-word");
        assert_eq!(credentials.hide(&text), "sent ****** with ******");
    }
}
