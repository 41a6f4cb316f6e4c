//! Talks to an OpenID Connect provider: where its doors are, which keys it signs
//! with, tokens for a code.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::settings::Secret;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use jiff::Timestamp;
use reqwest::{Certificate, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::id_token::{self, Expectation, Keys, TokenError};
use super::{Client, DEX_PATH};
use crate::address::{escaped, query};

/// A provider that takes longer is as good as gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// No answer of a provider is larger.
const ANSWER_LIMIT: usize = 1 << 20;
/// Keys are looked for again no more often than this, however many unknown ones come.
const KEY_PAUSE: Duration = Duration::from_secs(10);
/// After a failure the provider is left alone for this long.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// Why single sign-on does not work right now.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum SsoError {
    #[error("SSO is not configured")]
    NotConfigured,
    #[error("oidc.config's rootCA, or the authority of Dex, holds no PEM certificate")]
    RootCa,
    #[error("could not ask the provider: {doing}")]
    Ask {
        doing: &'static str,
        #[source]
        source: Arc<reqwest::Error>,
    },
    /// Its own words may hold anything, so only the first are repeated.
    #[error("the provider refused {doing}: {status} {told}")]
    Refused { doing: &'static str, status: u16, told: String },
    #[error("the provider's answer cannot be read: {doing}")]
    Unreadable { doing: &'static str },
    #[error("the provider says that it is {0:?}")]
    OtherIssuer(String),
    #[error("the provider does not offer the authorization code flow")]
    NoCodeFlow,
    #[error("the token is not good")]
    Token(#[source] TokenError),
}

/// Where the doors of a provider are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Doors {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    jwks_uri: String,
    response_types_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// What a provider gives for a code.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) id_token: String,
    pub(super) access_token: Secret,
    pub(super) refresh_token: Secret,
}

struct Found {
    doors: Arc<Doors>,
    keys: Arc<Keys>,
    at: Instant,
}

#[derive(Default)]
struct Known {
    found: Option<Found>,
    failed: Option<(SsoError, Instant)>,
}

pub(super) struct Provider {
    client: Client,
    http: reqwest::Client,
    known: Mutex<Known>,
}

impl Provider {
    pub(super) fn new(client: Client) -> Result<Self, SsoError> {
        let failed = |source| SsoError::Ask { doing: "make a client", source: Arc::new(source) };
        let mut builder = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::limited(3))
            .tls_danger_accept_invalid_certs(client.skips_verification);
        let has_authority = client.dex.is_some() && !client.skips_verification;
        if has_authority || !client.root_ca.is_empty() {
            let certificates = certificates(&client.root_ca).ok_or(SsoError::RootCa)?;
            // Nobody but its own authority vouches for Dex.
            builder = match client.dex {
                Some(_) => builder.tls_certs_only(certificates),
                None => builder.tls_certs_merge(certificates),
            };
        }
        let http = builder.build().map_err(failed)?;
        Ok(Self { client, http, known: Mutex::default() })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where to knock; asked once.
    pub(super) async fn doors(&self) -> Result<Arc<Doors>, SsoError> {
        self.look(|known| known.found.as_ref().map(|it| Arc::clone(&it.doors))).await
    }

    /// The claims of a token that somebody shows, if it is one of this provider for us.
    pub(super) async fn verify(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Map<String, Value>, SsoError> {
        self.verify_looking(token, now, KEY_PAUSE).await
    }

    /// The same for a token that the provider gave us just now. It knows its own keys, and nobody
    /// can make it give tokens as often as they like, so an unknown one is looked for at once.
    pub(super) async fn verify_given(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Map<String, Value>, SsoError> {
        self.verify_looking(token, now, Duration::ZERO).await
    }

    async fn verify_looking(
        &self,
        token: &str,
        now: Timestamp,
        pause: Duration,
    ) -> Result<Map<String, Value>, SsoError> {
        let expected = Expectation {
            issuer: &self.client.issuer,
            audiences: &self.client.audiences,
            accepts_no_audience: self.client.accepts_no_audience,
            now,
        };
        let keys = self.look(|known| known.found.as_ref().map(|it| Arc::clone(&it.keys))).await?;
        match id_token::verify(token, &keys, &expected) {
            Err(TokenError::UnknownKey) => {}
            decided => return decided.map_err(SsoError::Token),
        }
        // Providers change their keys; Dex has new ones after every start.
        let fresh = |known: &Known| {
            let found = known.found.as_ref()?;
            let is_other = !Arc::ptr_eq(&found.keys, &keys);
            (is_other || found.at.elapsed() < pause).then(|| Arc::clone(&found.keys))
        };
        let keys = self.look(fresh).await?;
        id_token::verify(token, &keys, &expected).map_err(SsoError::Token)
    }

    /// What `known` finds, after asking the provider if need be.
    async fn look<T>(&self, known: impl Fn(&Known) -> Option<T>) -> Result<T, SsoError> {
        {
            let state = self.known();
            if let Some(found) = known(&state) {
                return Ok(found);
            }
            if let Some((error, at)) = &state.failed
                && at.elapsed() < FAILURE_PAUSE
            {
                return Err(error.clone());
            }
        }
        let asked = self.ask_doors_and_keys().await;
        let mut state = self.known();
        match asked {
            Ok(found) => *state = Known { found: Some(found), failed: None },
            Err(error) => {
                state.failed = Some((error.clone(), Instant::now()));
                return Err(error);
            }
        }
        known(&state).ok_or(SsoError::Token(TokenError::UnknownKey))
    }

    async fn ask_doors_and_keys(&self) -> Result<Found, SsoError> {
        let issuer = &self.client.issuer;
        let address = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let doing = "where its endpoints are";
        let doors: Doors = self.answer(doing, self.http.get(self.reached(&address))).await?;
        if doors.issuer != *issuer {
            return Err(SsoError::OtherIssuer(doors.issuer.chars().take(200).collect()));
        }
        let keys = self.http.get(self.reached(&doors.jwks_uri));
        let keys = self.answer("which keys it signs with", keys).await?;
        tracing::info!(issuer, "the identity provider answers");
        Ok(Found { doors: Arc::new(doors), keys: Arc::new(keys), at: Instant::now() })
    }

    /// Where a browser goes to log in.
    pub(super) fn login_address(
        &self,
        doors: &Doors,
        redirect: &str,
        state: &str,
        challenge: Option<&str>,
    ) -> Result<String, SsoError> {
        if !doors.response_types_supported.iter().any(|it| it == "code") {
            return Err(SsoError::NoCodeFlow);
        }
        let client = &self.client;
        let scopes = client.scopes.join(" ");
        let claims = if client.requested_claims.is_empty() {
            String::new()
        } else {
            serde_json::json!({ "id_token": client.requested_claims }).to_string()
        };
        let mut fields = vec![
            ("client_id", client.client_id.as_str()),
            ("redirect_uri", redirect),
            ("response_type", "code"),
            ("scope", &scopes),
            ("state", state),
        ];
        let optional = [
            ("claims", claims.as_str()),
            ("domain_hint", &client.domain_hint),
            ("connector_id", &client.connector),
        ];
        fields.extend(optional.into_iter().filter(|(_, text)| !text.is_empty()));
        if let Some(challenge) = challenge {
            fields.extend([("code_challenge_method", "S256"), ("code_challenge", challenge)]);
        }
        let address = &doors.authorization_endpoint;
        let joint = if address.contains('?') { '&' } else { '?' };
        Ok(format!("{address}{joint}{}", query(&fields)))
    }

    /// Tokens for the code that a browser brought back.
    pub(super) async fn exchange(
        &self,
        code: &str,
        redirect: &str,
        verifier: &str,
    ) -> Result<Tokens, SsoError> {
        let mut fields =
            vec![("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect)];
        if !verifier.is_empty() {
            fields.push(("code_verifier", verifier));
        }
        self.tokens("tokens for a code", fields).await
    }

    /// New tokens for an old login.
    pub(super) async fn refresh(&self, token: &Secret) -> Result<Tokens, SsoError> {
        let fields = vec![("grant_type", "refresh_token"), ("refresh_token", token.text())];
        self.tokens("a new token", fields).await
    }

    async fn tokens(
        &self,
        doing: &'static str,
        mut fields: Vec<(&str, &str)>,
    ) -> Result<Tokens, SsoError> {
        let doors = self.doors().await?;
        let (id, secret) = (self.client.client_id.as_str(), self.client.secret.text());
        let ways = &doors.token_endpoint_auth_methods_supported;
        let has = |way: &str| ways.iter().any(|it| it == way);
        // Basic is the way that every provider must know unless it says otherwise.
        let by_header = !secret.is_empty() && (ways.is_empty() || has("client_secret_basic"));
        let mut request = self.http.post(self.reached(&doors.token_endpoint));
        if by_header {
            request = request.basic_auth(escaped(id), Some(escaped(secret)));
        } else {
            fields.push(("client_id", id));
            if !secret.is_empty() {
                fields.push(("client_secret", secret));
            }
        }
        let request =
            request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(query(&fields));
        self.answer(doing, request).await
    }

    /// What the provider tells about the user of this token.
    pub(super) async fn user_info(
        &self,
        address: &str,
        token: &Secret,
    ) -> Result<Map<String, Value>, SsoError> {
        let bearer = format!("Bearer {}", token.text());
        let request = self.http.get(self.reached(address)).header(AUTHORIZATION, bearer);
        self.answer("about a user", request).await
    }

    /// The security groups of the user of this token, as Entra ID's Graph API tells them.
    pub(super) async fn member_groups(
        &self,
        address: &str,
        token: &Secret,
    ) -> Result<Vec<String>, SsoError> {
        #[derive(Deserialize)]
        struct Told {
            value: Vec<String>,
        }
        let bearer = format!("Bearer {}", token.text());
        let request = self.http.post(address).header(AUTHORIZATION, bearer);
        let request = request.header(CONTENT_TYPE, "application/json");
        // Lists for mail are not for rights.
        let request = request.body(r#"{"securityEnabledOnly":true}"#);
        self.answer("for a user's groups", request).await.map(|told: Told| told.value)
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        doing: &'static str,
        request: RequestBuilder,
    ) -> Result<T, SsoError> {
        let failed = |source| SsoError::Ask { doing, source: Arc::new(source) };
        let request = request.header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_LIMIT {
                return Err(SsoError::Unreadable { doing });
            }
        }
        if !status.is_success() {
            let told = String::from_utf8_lossy(&body).chars().take(200).collect();
            return Err(SsoError::Refused { doing, status: status.as_u16(), told });
        }
        serde_json::from_slice(&body).map_err(|_| SsoError::Unreadable { doing })
    }

    /// Dex is named by our own address, but reached at its own.
    fn reached(&self, address: &str) -> String {
        let Some(dex) = &self.client.dex else { return address.to_owned() };
        match address.strip_prefix(&self.client.issuer) {
            Some(rest) => format!("{}{DEX_PATH}{rest}", dex.trim_end_matches('/')),
            None => address.to_owned(),
        }
    }
}

/// The certificates of a PEM text; none where it holds none.
pub(super) fn certificates(pem: &str) -> Option<Vec<Certificate>> {
    Certificate::from_pem_bundle(pem.as_bytes()).ok().filter(|it| !it.is_empty())
}
