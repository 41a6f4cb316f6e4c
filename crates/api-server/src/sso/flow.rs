//! A browser logs in: `/auth/login` sends it to the provider, and the provider
//! sends it back to `/auth/callback` with a code.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::provider::SsoError;
use super::{Grant, session_key};
use crate::ApiServer;
use crate::address::{Address, field};
use crate::caller::cookies;
use crate::cookie;

/// Carries what we must remember between the halves of a login.
const STATE_COOKIE: &str = "argocd.oauthstate";
/// A login at the provider may take this long, in seconds.
const STATE_LASTS: i64 = 5 * 60;
/// What is told to users who come from elsewhere.
const INVALID_RETURN: &str = "Invalid redirect URL: the protocol and host (including port) must match and the path must be within allowed URLs if provided";

/// Where a browser is sent, with the cookies it takes along.
pub(crate) struct Onward {
    pub(crate) location: String,
    pub(crate) cookies: Vec<String>,
}

/// Why a login went no further.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) status: StatusCode,
    pub(crate) told: String,
}

impl Stopped {
    fn by_user(told: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, told: told.to_owned() }
    }
}

impl From<SsoError> for Stopped {
    fn from(error: SsoError) -> Self {
        tracing::warn!(error = %runtime::Chain(&error), "a login failed");
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, told: error.to_string() }
    }
}

/// What we remember of a login between its halves.
#[derive(Debug, PartialEq, Eq)]
struct State {
    nonce: String,
    return_url: String,
    verifier: String,
    ends: i64,
}

impl State {
    fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n{}", self.nonce, self.return_url, self.verifier, self.ends)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('\n').map(str::to_owned);
        Some(Self {
            nonce: parts.next()?,
            return_url: parts.next()?,
            verifier: parts.next()?,
            ends: parts.next()?.parse().ok()?,
        })
    }
}

pub(crate) async fn login(
    server: &ApiServer,
    headers: &HeaderMap,
    query: &str,
) -> Result<Onward, Stopped> {
    let settings = server.settings.current();
    let provider = server.sso.provider(&settings, &server.options.web)?;
    let return_url = field(query, "return_url").unwrap_or_default();
    if !is_ours(server, &return_url) {
        return Err(Stopped::by_user(INVALID_RETURN));
    }
    let doors = provider.doors().await?;
    let verifier = if provider.client().uses_pkce { random()? } else { String::new() };
    let challenge = (!verifier.is_empty())
        .then(|| URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes())));
    let ends = Timestamp::now().as_second() + STATE_LASTS;
    let state = State { nonce: random()?, return_url, verifier, ends };
    let redirect = redirect_address(server, headers);
    let location = provider.login_address(&doors, &redirect, &state.nonce, challenge.as_deref())?;
    let sealed = super::seal::seal(&state.to_text(), settings.session.signing_key.bytes());
    let sealed = sealed.ok_or_else(no_random)?;
    Ok(Onward { location, cookies: vec![state_cookie(server, &sealed, STATE_LASTS)] })
}

pub(crate) async fn callback(
    server: &ApiServer,
    headers: &HeaderMap,
    query: &str,
) -> Result<Onward, Stopped> {
    let settings = server.settings.current();
    let provider = server.sso.provider(&settings, &server.options.web)?;
    if let Some(error) = field(query, "error") {
        let described = field(query, "error_description").unwrap_or_default();
        return Err(Stopped::by_user(&format!("{error}: {described}")));
    }
    let now = Timestamp::now();
    let state = state_of(server, headers, &field(query, "state").unwrap_or_default(), now)?;
    let code = field(query, "code").filter(|it| !it.is_empty());
    let code = code.ok_or_else(|| Stopped::by_user("the provider sent no code"))?;
    let redirect = redirect_address(server, headers);
    let tokens = provider.exchange(&code, &redirect, &state.verifier).await?;
    if tokens.id_token.is_empty() {
        let told = "no id_token in token response".to_owned();
        return Err(Stopped { status: StatusCode::INTERNAL_SERVER_ERROR, told });
    }
    let claims = provider.verify_given(&tokens.id_token, now).await?;
    tracing::info!(user = rbac::claims::user(&claims), "logged in by single sign-on");
    let grant = Grant {
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token,
        began: now.as_second(),
        groups: None,
    };
    server.sso.remember(&session_key(&claims), grant);
    let mut cookies = cookie::lines(&tokens.id_token, &server.cookie_scope());
    cookies.push(state_cookie(server, "", 0));
    let home = server.options.web.home();
    let location = if state.return_url.is_empty() { home } else { state.return_url };
    Ok(Onward { location, cookies })
}

/// What the browser brought back, if it is what we gave it, for this login and in time.
fn state_of(
    server: &ApiServer,
    headers: &HeaderMap,
    nonce: &str,
    now: Timestamp,
) -> Result<State, Stopped> {
    let cookies = cookies(headers);
    let sealed = cookies.iter().find(|(name, _)| *name == STATE_COOKIE).map(|(_, text)| *text);
    let settings = server.settings.current();
    let opened = sealed.and_then(|it| super::seal::open(it, settings.session.signing_key.bytes()));
    let state = opened.and_then(|it| State::read(&it));
    let state =
        state.ok_or_else(|| Stopped::by_user("this login was not begun here: begin it anew"))?;
    if state.nonce != nonce || nonce.is_empty() {
        return Err(Stopped::by_user("the state of this login is another's: begin it anew"));
    }
    if state.ends < now.as_second() {
        return Err(Stopped::by_user("this login took too long: begin it anew"));
    }
    // The settings may have changed meanwhile.
    if !is_ours(server, &state.return_url) {
        return Err(Stopped::by_user(INVALID_RETURN));
    }
    Ok(state)
}

/// May a browser be sent there after its login? Only to ourselves.
fn is_ours(server: &ApiServer, url: &str) -> bool {
    let settings = server.settings.current();
    let own = std::iter::once(&settings.server.url).chain(&settings.server.additional_urls);
    is_within(url, own.map(String::as_str))
}

fn is_within<'a>(url: &str, mut allowed: impl Iterator<Item = &'a str>) -> bool {
    if url.is_empty() {
        return true;
    }
    let Some(wanted) = Address::parse(url) else { return false };
    allowed.any(|it| {
        Address::parse(it)
            .is_some_and(|own| own.origin == wanted.origin && wanted.is_below(&own.path))
    })
}

/// Where the provider sends the browser: to the address of ours by which it came.
fn redirect_address(server: &ApiServer, headers: &HeaderMap) -> String {
    let settings = server.settings.current();
    let host = headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let own = std::iter::once(&settings.server.url).chain(&settings.server.additional_urls);
    let by_host = own.filter(|it| {
        Address::parse(it)
            .is_some_and(|it| it.origin.split_once("://").is_some_and(|(_, own)| own == host))
    });
    let base = by_host.into_iter().next().unwrap_or(&settings.server.url);
    format!("{}/auth/callback", base.trim_end_matches('/'))
}

fn state_cookie(server: &ApiServer, value: &str, lasts: i64) -> String {
    let secure = if server.cookie_scope().is_secure { "; Secure" } else { "" };
    format!("{STATE_COOKIE}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}")
}

/// 256 random bits that a URL can carry.
fn random() -> Result<String, Stopped> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_random())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn no_random() -> Stopped {
    let told = "the system gives no random numbers".to_owned();
    Stopped { status: StatusCode::INTERNAL_SERVER_ERROR, told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_return_only_to_ourselves() {
        let own = ["https://argo.example.org/app", "https://other.example.org"];
        let within = |url: &str| is_within(url, own.into_iter());
        for good in [
            "",
            "https://argo.example.org/app",
            "https://argo.example.org/app/applications?x=y",
            "https://other.example.org",
            "https://other.example.org/any",
        ] {
            assert!(within(good), "{good}");
        }
        for bad in [
            "https://evil.example.org/app",
            "https://argo.example.org/",
            "https://argo.example.org/application",
            "https://argo.example.org/app/../evil",
            "https://argo.example.org@evil.example.org/app",
            "http://argo.example.org/app",
            "//argo.example.org/app",
            "https:\\\\evil.example.org",
            "javascript:alert(1)",
            "https://other.example.org/\r\nSet-Cookie: a=b",
            "https://other.example.org/%0d%0a",
            "/app",
        ] {
            assert!(!within(bad), "{bad}");
        }
    }

    #[test]
    fn a_state_is_read_as_it_is_written() {
        let state = State {
            nonce: "n".into(),
            return_url: "https://argo.example.org".into(),
            verifier: String::new(),
            ends: 7,
        };
        assert_eq!(State::read(&state.to_text()), Some(state));
        assert_eq!(State::read("n\nu\nv\nsoon"), None);
    }
}
