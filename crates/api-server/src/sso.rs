//! Single sign-on: users whom an OpenID Connect provider vouches for.
//!
//! A token of the provider is the session: there is none of our own behind it.
//! [`caller`] checks one on every request. `flow.rs` gets one for a browser,
//! `renewal.rs` another before it ends, `groups.rs` asks for groups that it does not
//! hold; `provider.rs` talks to the provider, `id_token.rs` decides whether a token
//! is good, `seal.rs` keeps what a browser carries for us to itself, `dex.rs` passes
//! requests on to Dex. The `argocd` program talks to the provider by itself and
//! comes with a token.

pub(crate) mod dex;
pub(crate) mod flow;
mod groups;
mod id_token;
mod provider;
mod renewal;
mod seal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::settings::{Secret, Settings};
use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::digest;
use serde_json::{Map, Value};

use crate::caller::{Caller, Stranger};
use crate::{ApiServer, Web};
use groups::{GroupSource, KnownGroups};
pub(crate) use id_token::claimed_issuer;
use provider::{Provider, SsoError};
pub(crate) use renewal::renewed;

/// What we are called where Dex stands between us and others; both names are Argo CD's.
const DEX_CLIENT: &str = "argo-cd";
const DEX_CLI_CLIENT: &str = "argo-cd-cli";
const DEX_SECRET_LENGTH: usize = 40;
/// Where Dex answers below our own address.
pub(crate) const DEX_PATH: &str = "/api/dex";
const SCOPES: [&str; 4] = ["openid", "profile", "email", "groups"];
/// Without it Dex tells of a user only an id of its own making.
const DEX_SCOPE: &str = "federated:id";
/// How many logins are remembered with what the provider gave us for them.
const MAX_GRANTS: usize = 10_000;

/// The provider of the settings, and what it granted us.
#[derive(Default)]
pub(crate) struct Sso {
    provider: Mutex<Option<Arc<Provider>>>,
    grants: Mutex<BTreeMap<String, Grant>>,
    /// Logins that are being renewed.
    renewing: Mutex<BTreeSet<String>>,
}

/// What a provider gave us for a user besides the token.
#[derive(Clone, Default)]
struct Grant {
    access_token: Secret,
    refresh_token: Secret,
    /// When the login was, in seconds since 1970: a refresh does not make it longer than a session may be.
    began: i64,
    groups: Option<KnownGroups>,
}

/// Who we are to a provider, and what we want of it.
#[derive(Clone, PartialEq)]
pub(crate) struct Client {
    issuer: String,
    client_id: String,
    secret: Secret,
    scopes: Vec<String>,
    audiences: Vec<String>,
    accepts_no_audience: bool,
    uses_pkce: bool,
    root_ca: String,
    skips_verification: bool,
    requested_claims: BTreeMap<String, Value>,
    logout_url: String,
    domain_hint: String,
    connector: String,
    /// Where groups are asked for, if not in the token.
    groups: Option<GroupSource>,
    /// Renew a token that ends within this.
    refresh_before: Duration,
    /// Where requests to the issuer go, if not there: Dex is behind ourselves.
    dex: Option<String>,
}

impl Client {
    /// None where the settings name no provider, or not where we are.
    pub(crate) fn of(settings: &Settings, web: &Web) -> Option<Self> {
        let sso = &settings.sso;
        if !sso.is_configured(&settings.server.url) {
            return None;
        }
        let scopes = |asked: &[String]| match asked {
            [] => SCOPES.map(str::to_owned).into(),
            asked => asked.to_vec(),
        };
        let Some(oidc) = &sso.oidc else {
            return Some(Self {
                issuer: format!("{}{DEX_PATH}", settings.server.url.trim_end_matches('/')),
                client_id: DEX_CLIENT.into(),
                secret: dex_secret(&settings.session.signing_key),
                scopes: SCOPES.into_iter().chain([DEX_SCOPE]).map(str::to_owned).collect(),
                audiences: vec![DEX_CLIENT.into(), DEX_CLI_CLIENT.into()],
                accepts_no_audience: false,
                uses_pkce: false,
                // Dex makes its own certificate unless somebody gives it one.
                root_ca: web.dex_authority.clone().unwrap_or_default(),
                skips_verification: web.dex_authority.is_none(),
                requested_claims: BTreeMap::new(),
                logout_url: String::new(),
                domain_hint: String::new(),
                connector: sso.dex_connector.clone(),
                groups: None,
                refresh_before: Duration::ZERO,
                dex: Some(web.dex_server.clone()),
            });
        };
        let own = [&oidc.client_id, &oidc.cli_client_id];
        let own = own.into_iter().filter(|it| !it.is_empty()).cloned();
        Some(Self {
            issuer: oidc.issuer.clone(),
            client_id: oidc.client_id.clone(),
            secret: oidc.client_secret.clone(),
            scopes: scopes(&oidc.requested_scopes),
            audiences: match oidc.allowed_audiences.as_slice() {
                [] => own.collect(),
                allowed => allowed.to_vec(),
            },
            accepts_no_audience: oidc
                .skip_audience_check_when_token_has_no_audience
                .unwrap_or(false),
            uses_pkce: oidc.uses_pkce,
            root_ca: oidc.root_ca.clone(),
            skips_verification: sso.skips_verification,
            requested_claims: oidc.requested_id_token_claims.clone(),
            logout_url: oidc.logout_url.clone(),
            domain_hint: oidc.domain_hint.trim().to_owned(),
            connector: String::new(),
            groups: GroupSource::of(oidc),
            refresh_before: span(&oidc.refresh_token_threshold).unwrap_or_default(),
            dex: None,
        })
    }
}

/// A span of time as settings have it.
fn span(text: &str) -> Option<Duration> {
    gocompat::duration::Duration::parse(text).ok()?.to_std()
}

/// What Dex knows us by; its wrapper derives the same from the same key.
fn dex_secret(signing_key: &Secret) -> Secret {
    let hash = digest::digest(&digest::SHA256, signing_key.bytes());
    let mut text = URL_SAFE.encode(hash);
    text.truncate(DEX_SECRET_LENGTH);
    text.as_str().into()
}

impl Sso {
    /// The provider of these settings; another one after they changed.
    fn provider(&self, settings: &Settings, web: &Web) -> Result<Arc<Provider>, SsoError> {
        let client = Client::of(settings, web).ok_or(SsoError::NotConfigured)?;
        let mut current = self.provider.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = current.as_ref().filter(|it| *it.client() == client) {
            return Ok(Arc::clone(provider));
        }
        let provider = Arc::new(Provider::new(client)?);
        *current = Some(Arc::clone(&provider));
        Ok(provider)
    }

    fn grant(&self, key: &str) -> Option<Grant> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// What any login of this user left us.
    fn grant_of(&self, user: &str) -> Option<(String, Grant)> {
        let begin = format!("[{},", Value::from(user));
        let grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        let mut later = grants.range(begin.clone()..);
        let (key, grant) = later.next().filter(|(key, _)| key.starts_with(&begin))?;
        Some((key.clone(), grant.clone()))
    }

    fn remember(&self, key: &str, grant: Grant) {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        if grants.len() >= MAX_GRANTS && !grants.contains_key(key) {
            let oldest = grants.iter().min_by_key(|(_, it)| it.began).map(|(key, _)| key.clone());
            oldest.and_then(|it| grants.remove(&it));
        }
        grants.insert(key.to_owned(), grant);
    }

    /// Changes what is known of a login, unless it ended meanwhile.
    fn update(&self, key: &str, change: impl FnOnce(&mut Grant)) {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        grants.get_mut(key).map(change);
    }

    fn forget(&self, key: &str) {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Somebody with a token of the provider.
///
/// # Errors
/// Why the token is not good. Users are told no details, the log is.
pub(crate) async fn caller(server: &ApiServer, token: &str) -> Result<Caller, Stranger> {
    let refused = |why: &str| Stranger::BadToken(why.to_owned());
    let settings = server.settings.current();
    let provider = server.sso.provider(&settings, &server.options.web);
    let provider = provider.map_err(|error| refused(&error.to_string()))?;
    let now = Timestamp::now();
    let mut claims = provider.verify(token, now).await.map_err(|error| {
        let error = runtime::Chain(&error);
        tracing::info!(%error, issuer = provider.client().issuer, "a token is not good");
        refused("failed to verify the token")
    })?;
    let id = token_id(token, &claims);
    if server.revocations.contain(&id) {
        return Err(refused("token is revoked, please re-login"));
    }
    let completed = groups::complete(&server.sso, &provider, now, &mut claims).await;
    completed.map_err(|why| refused(&why))?;
    let text = |key: &str| claims.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Caller {
        name: rbac::claims::user(&claims).to_owned(),
        email: text("email"),
        issuer: text("iss"),
        groups: rbac::claims::groups(&claims, &settings.policies.scopes),
        issued_at: seconds(&claims, "iat"),
        expires_at: seconds(&claims, "exp"),
        token_id: id,
        renew_for: None,
        session: Some(session_key(&claims)),
    })
}

/// The id that a logout revokes: the token's own, or what stands for it with Entra ID and Dex, or
/// a print of all that is signed. The signature itself can be written in more than one way.
fn token_id(token: &str, claims: &Map<String, Value>) -> String {
    let mut ids = ["jti", "uti", "at_hash"].into_iter().filter_map(|key| claims.get(key)?.as_str());
    ids.find(|it| !it.is_empty()).map_or_else(
        || {
            let signed = token.rsplit_once('.').map_or(token, |(signed, _)| signed);
            URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, signed.as_bytes()))
        },
        str::to_owned,
    )
}

/// One login of one user; written so that no name can be taken for another.
fn session_key(claims: &Map<String, Value>) -> String {
    let text = |key: &str| claims.get(key).and_then(Value::as_str).unwrap_or_default();
    serde_json::json!([text("sub"), text("sid")]).to_string()
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of our times fit")]
fn seconds(claims: &Map<String, Value>, key: &str) -> Option<i64> {
    claims.get(key).and_then(Value::as_f64).map(|it| it as i64)
}

/// Where a browser goes to end the session at the provider too.
pub(crate) fn logout_address(server: &ApiServer, token: &str, home: &str) -> Option<String> {
    let client = Client::of(&server.settings.current(), &server.options.web)?;
    let template = Some(client.logout_url).filter(|it| !it.is_empty())?;
    Some(template.replace("{{token}}", token).replace("{{logoutRedirectURL}}", home))
}

/// Forgets what the provider gave us for this login.
pub(crate) fn forget(server: &ApiServer, caller: &Caller) {
    if let Some(key) = &caller.session {
        server.sso.forget(key);
    }
}

#[cfg(test)]
mod tests {
    use ::settings::Sources;
    use serde_json::json;

    use super::*;

    fn client(config: &[(&str, &str)]) -> Option<Client> {
        let mut sources = Sources::default();
        let data = config.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        sources.config_maps.insert("argocd-cm".into(), data.collect());
        let web = Web { dex_server: "http://dex:5556".into(), ..Web::default() };
        Client::of(&Settings::read(&sources), &web)
    }

    #[test]
    fn without_an_address_or_a_provider_there_is_no_single_sign_on() {
        let oidc = "issuer: https://id.example.org\nclientID: us";
        assert!(client(&[("url", "https://argo.example.org")]).is_none());
        assert!(client(&[("oidc.config", oidc)]).is_none());
        let client = client(&[("oidc.config", oidc), ("url", "https://argo.example.org")]);
        let client = client.expect("a client");
        assert_eq!((client.audiences, client.dex), (vec!["us".to_owned()], None));
        assert_eq!(client.scopes, SCOPES);
    }

    #[test]
    fn tokens_for_the_command_line_program_count_too() {
        let oidc = "issuer: https://i\nclientID: us\ncliClientID: cli\nenableUserInfoGroups: true\nuserInfoPath: /me";
        let config = [("oidc.config", oidc), ("url", "https://argo.example.org")];
        let client = client(&config).expect("a client");
        assert_eq!(client.audiences, ["us", "cli"]);
        let expect = ("https://i/me".to_owned(), Duration::from_secs(5 * 60));
        assert!(client.groups == Some(GroupSource::UserInfo { address: expect.0, kept: expect.1 }));
    }

    #[test]
    fn dex_is_reached_where_it_is_and_named_where_we_are() {
        let config = [("dex.config", "connectors: []"), ("url", "https://argo.example.org/")];
        let client = client(&config).expect("a client");
        assert_eq!(client.issuer, "https://argo.example.org/api/dex");
        assert_eq!(client.dex.as_deref(), Some("http://dex:5556"));
        assert_eq!(client.audiences, ["argo-cd", "argo-cd-cli"]);
        assert_eq!(client.secret.text().len(), 40);
    }

    #[test]
    fn a_logout_revokes_what_stands_for_the_token() {
        let id = |claims: Value| token_id("head.claims.sign", claims.as_object().expect("claims"));
        assert_eq!(id(json!({"jti": "a", "uti": "b", "at_hash": "c"})), "a");
        assert_eq!(id(json!({"jti": "", "uti": "b"})), "b");
        assert_eq!(id(json!({"at_hash": "c"})), "c");
        let none = Map::new();
        let print = token_id("head.claims.sign", &none);
        assert_eq!((print.len(), &print), (43, &token_id("head.claims.other", &none)));
        assert_ne!(print, token_id("head.other.sign", &none));
    }

    #[test]
    fn the_logins_of_one_user_are_not_those_of_another() {
        let sso = Sso::default();
        let key = |sub: &str, sid: &str| {
            session_key(json!({"sub": sub, "sid": sid}).as_object().expect("claims"))
        };
        for (sub, sid) in [("ann\",\"x", ""), ("ann\n", "1"), ("anna", "1"), ("bob", "2")] {
            sso.remember(&key(sub, sid), Grant::default());
        }
        assert!(sso.grant_of("ann").is_none());
        assert_eq!(sso.grant_of("bob").map(|(key, _)| key), Some(key("bob", "2")));
        sso.remember(&key("ann", "7"), Grant::default());
        assert_eq!(sso.grant_of("ann").map(|(key, _)| key), Some(key("ann", "7")));
    }

    #[test]
    fn the_oldest_login_makes_room() {
        let sso = Sso::default();
        for began in 0..i64::try_from(MAX_GRANTS).expect("small") + 1 {
            sso.remember(&began.to_string(), Grant { began, ..Grant::default() });
        }
        assert!(sso.grant("0").is_none() && sso.grant("1").is_some());
    }
}
