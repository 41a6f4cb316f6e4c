//! Tokens that services give out for an [`Identity`]: asked for once, used by
//! everyone until shortly before they end. Everything here blocks.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::blocking::Client;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::credentials::Trust;
use crate::identity::{
    self, AZURE_USER, Ask, Body, GithubInstallation, GithubToken, Identity, Login, OauthToken,
    Purpose,
};
use crate::{FetchError, RepoUrl, http};

/// A token is not used in its last minutes: a fetch takes a while.
const SPARE: Duration = Duration::from_secs(5 * 60);
/// How long a token lives whose issuer does not say.
const UNSAID: Duration = Duration::from_secs(10 * 60);
/// What an issuer may answer.
const MAX_ANSWER: u64 = 1 << 20;
/// What an error may show of an issuer's words.
const MAX_SHOWN: usize = 300;
/// Installations of an App, by pages of a hundred.
const MAX_PAGES: usize = 50;
/// Tokens to keep.
const MAX_TOKENS: usize = 1000;

type Key = [u8; 32];

/// The tokens we have.
#[derive(Default)]
pub(crate) struct Tokens {
    known: Mutex<HashMap<Key, Entry>>,
    /// Told when a request ends.
    news: Condvar,
}

/// Shows how many, and nothing of them.
impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens", self.lock().len())
    }
}

enum Entry {
    /// Somebody asks for it.
    Asked,
    Here {
        login: Login,
        until: SystemTime,
    },
}

/// A login, and when it ends.
struct Issued {
    login: Login,
    lives: Duration,
}

impl Tokens {
    /// The login for an identity. Those who want the same wait for the first.
    pub(crate) fn login(&self, want: &Want<'_>) -> Result<Login, FetchError> {
        let key = want.key();
        {
            let mut known = self.lock();
            loop {
                match known.get(&key) {
                    Some(Entry::Here { login, until }) if *until > SystemTime::now() => {
                        return Ok(login.clone());
                    }
                    Some(Entry::Asked) => {
                        let waited = self.news.wait_timeout(known, want.silence);
                        let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                        known = guard;
                        if timeout.timed_out() {
                            return Err(want.unreachable("its issuer does not answer".to_owned()));
                        }
                    }
                    Some(Entry::Here { .. }) | None => break,
                }
            }
            if known.len() >= MAX_TOKENS {
                known.retain(|_, it| matches!(it, Entry::Asked));
            }
            known.insert(key, Entry::Asked);
        }
        let asking = Asking { tokens: self, key };
        let Issued { login, lives } = want.issue()?;
        let until = SystemTime::now() + lives.saturating_sub(SPARE);
        self.lock().insert(key, Entry::Here { login: login.clone(), until });
        drop(asking);
        Ok(login)
    }

    /// Asks for a new one next time: a repository refused this.
    pub(crate) fn forget(&self, want: &Want<'_>) {
        let key = want.key();
        let mut known = self.lock();
        if matches!(known.get(&key), Some(Entry::Here { .. })) {
            known.remove(&key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes those who wait, however asking ends.
struct Asking<'t> {
    tokens: &'t Tokens,
    key: Key,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut known = self.tokens.lock();
        if matches!(known.get(&self.key), Some(Entry::Asked)) {
            known.remove(&self.key);
        }
        drop(known);
        self.tokens.news.notify_all();
    }
}

/// A login for a repository.
pub(crate) struct Want<'w> {
    pub(crate) repo: &'w RepoUrl,
    pub(crate) identity: &'w Identity,
    pub(crate) purpose: Purpose,
    /// How to reach the repository, and so those who issue tokens for it.
    pub(crate) trust: &'w Trust,
    /// Certificates to trust, by host.
    pub(crate) certificates: &'w dyn Fn(&str) -> String,
    pub(crate) silence: Duration,
}

impl Want<'_> {
    /// A hash: what is secret stays with the credentials.
    fn key(&self) -> Key {
        let place = match (self.identity, self.purpose) {
            (Identity::GithubApp { installation: 0, .. }, _) => {
                identity::organization(&self.repo.without_credentials())
                    .unwrap_or_default()
                    .to_ascii_lowercase()
            }
            (_, Purpose::Git) => String::new(),
            (_, Purpose::Registry) => self.repo.registry_parts().0,
        };
        Sha256::digest(format!("{place}\n{}", self.identity.fingerprint())).into()
    }

    fn issue(&self) -> Result<Issued, FetchError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match self.identity {
            Identity::GithubApp { app, installation, private_key, base_url } => {
                let ask = |path: &str, body| {
                    identity::github(*app, private_key, base_url, path, body, now)
                        .map_err(|problem| self.refused(problem))
                };
                let installation = match installation {
                    0 => self.installation(&ask)?,
                    known => *known,
                };
                let path = format!("/app/installations/{installation}/access_tokens");
                let answer: GithubToken = self.send(&ask(&path, Body::Empty)?)?;
                let end = answer.expires_at.parse::<jiff::Timestamp>().ok();
                let end = end.and_then(|it| u64::try_from(it.as_second()).ok());
                let lives = end.map(|it| Duration::from_secs(it).saturating_sub(now));
                let (username, password) = ("x-access-token".to_owned(), answer.token);
                let login = Login { username, password, ..Login::default() };
                Ok(Issued { login, lives: lives.unwrap_or(UNSAID) })
            }
            Identity::GoogleServiceAccount { key } => {
                let (key, ask) =
                    identity::google(key, now).map_err(|problem| self.refused(problem))?;
                let answer: OauthToken = self.send(&ask)?;
                let lives = answer.lives();
                let (username, password) = (key.client_email, answer.access_token);
                Ok(Issued { login: Login { username, password, ..Login::default() }, lives })
            }
            Identity::AzureWorkload(workload) => {
                let file = &workload.token_file;
                let read = if file.is_empty() { Ok(String::new()) } else { read_token(file) };
                let ask = read.and_then(|assertion| {
                    identity::azure_workload(workload, &assertion, self.purpose)
                });
                self.azure(&ask.map_err(|problem| self.refused(problem))?)
            }
            Identity::AzureServicePrincipal { tenant, client, secret, directory } => self
                .azure(&identity::azure_principal(directory, tenant, client, secret, self.purpose)),
        }
    }

    fn azure(&self, ask: &Ask) -> Result<Issued, FetchError> {
        let answer: OauthToken = self.send(ask)?;
        let lives = answer.lives();
        match self.purpose {
            Purpose::Git => {
                let bearer_token = answer.access_token;
                Ok(Issued { login: Login { bearer_token, ..Login::default() }, lives })
            }
            Purpose::Registry => {
                let password = self.exchanged(answer.access_token)?;
                let username = AZURE_USER.to_owned();
                Ok(Issued { login: Login { username, password, ..Login::default() }, lives })
            }
        }
    }

    /// A registry of Azure gives a token of its own for one of the directory.
    fn exchanged(&self, access_token: String) -> Result<String, FetchError> {
        let (host, _) = self.repo.registry_parts();
        let scheme = if self.trust.credentials.force_http { "http" } else { "https" };
        let ask = Ask::form(
            format!("{scheme}://{host}/oauth2/exchange"),
            [
                ("grant_type", "access_token".to_owned()),
                ("service", host),
                ("access_token", access_token),
            ],
        );
        #[derive(serde::Deserialize)]
        struct Refresh {
            refresh_token: String,
        }
        self.send(&ask).map(|it: Refresh| it.refresh_token)
    }

    /// Where the App is installed for the repository's organization.
    fn installation(
        &self,
        ask: &dyn Fn(&str, Body) -> Result<Ask, FetchError>,
    ) -> Result<i64, FetchError> {
        let address = self.repo.without_credentials();
        let organization = identity::organization(&address).unwrap_or_default();
        for page in 1..=MAX_PAGES {
            let path = format!("/app/installations?per_page=100&page={page}");
            let found: Vec<GithubInstallation> = self.send(&ask(&path, Body::None)?)?;
            let fits =
                |it: &&GithubInstallation| it.account.login.eq_ignore_ascii_case(organization);
            if let Some(found) = found.iter().find(fits) {
                return Ok(found.id);
            }
            if found.len() < 100 {
                break;
            }
        }
        Err(self.refused(format!(
            "the GitHub App is not installed for {organization:?}; install it, or set githubAppInstallationID"
        )))
    }

    /// Asks an issuer.
    fn send<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, FetchError> {
        let Ask { address, bearer, body } = ask;
        let issuer = RepoUrl::new(address).host().unwrap_or_default();
        let trust = Trust { certificates: (self.certificates)(&issuer), ..self.trust.clone() };
        let client =
            client(&trust, self.silence).map_err(|error| self.unreachable(error.to_string()))?;
        let mut request = match body {
            Body::None => client.get(address),
            Body::Empty => client.post(address).header("content-length", "0"),
            Body::Form(fields) => {
                let mut form = reqwest::Url::parse("form:").expect("a scheme is an address");
                form.query_pairs_mut().extend_pairs(fields);
                let form = form.query().unwrap_or_default().to_owned();
                client.post(address).body(form).header(
                    CONTENT_TYPE,
                    HeaderValue::from_static("application/x-www-form-urlencoded"),
                )
            }
        };
        request = request.header(ACCEPT, "application/json");
        if let Some(mut value) =
            HeaderValue::from_str(&format!("Bearer {bearer}")).ok().filter(|_| !bearer.is_empty())
        {
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let failed = |error: &dyn std::error::Error| {
            self.unreachable(format!("{issuer}: {}", http::with_causes(error)))
        };
        let answer = request.send().map_err(|error| failed(&error.without_url()))?;
        let status = answer.status();
        let mut content = Vec::new();
        answer.take(MAX_ANSWER).read_to_end(&mut content).map_err(|error| failed(&error))?;
        match status.as_u16() {
            200..=299 => serde_json::from_slice(&content)
                .map_err(|_| self.unreachable(format!("{issuer} answered, but with no token"))),
            400..=499 if status != 429 => {
                Err(self.refused(format!("{issuer} says {status}{}", said(&content))))
            }
            _ => Err(self.unreachable(format!("{issuer} says {status}"))),
        }
    }

    fn refused(&self, problem: String) -> FetchError {
        let (repo, identity) = (self.repo.clone(), self.identity.name());
        FetchError::TokenRefused { repo, identity, problem }
    }

    fn unreachable(&self, problem: String) -> FetchError {
        let text = format!("no token for the {}: {problem}", self.identity.name());
        let source = Arc::new(std::io::Error::other(text));
        FetchError::Unreachable { repo: self.repo.clone(), source }
    }
}

/// Whoever redirects a request for a token wants to have it.
fn client(trust: &Trust, silence: Duration) -> Result<Client, Box<dyn std::error::Error>> {
    let builder = http::configured(trust, http::Patience::of(silence))?;
    Ok(builder.redirect(reqwest::redirect::Policy::none()).build()?)
}

fn read_token(file: &str) -> Result<String, String> {
    std::fs::read_to_string(file)
        .map_err(|error| format!("could not read AZURE_FEDERATED_TOKEN_FILE {file}: {error}"))
}

impl OauthToken {
    fn lives(&self) -> Duration {
        if self.expires_in == 0 { UNSAID } else { Duration::from_secs(self.expires_in) }
    }
}

/// What issuers say in the fields that they use for it.
fn said(content: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(content) else {
        return String::new();
    };
    let text = ["message", "error_description", "error"].iter().find_map(|it| value[*it].as_str());
    let mut text = text.map_or_else(String::new, |it| format!(": {}", it.trim()));
    text.truncate(text.floor_char_boundary(MAX_SHOWN));
    text
}
