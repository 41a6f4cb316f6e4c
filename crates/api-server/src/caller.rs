//! Who is calling: the token of a request, checked against the settings.

use http::HeaderMap;
use jiff::Timestamp;
use wire::Status;

use crate::settings::Settings;
use crate::token::{self, Claims};

/// The cookie that carries a token.
const COOKIE: &str = "argocd.token";

/// Somebody who proved who they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) claims: Claims,
}

/// The caller of a request, if it came with a good token.
///
/// # Errors
/// `Unauthenticated`, in Argo CD's words.
pub(crate) fn authenticate(
    headers: &HeaderMap,
    settings: &Settings,
    now: Timestamp,
) -> Result<Caller, Status> {
    let token =
        token_of(headers).ok_or_else(|| Status::unauthenticated("no session information"))?;
    let invalid = |why: &str| Status::unauthenticated(format!("invalid session: {why}"));
    let claims = token::verify(&token, settings.signing_key(), now)
        .map_err(|error| invalid(&error.to_string()))?;
    let (name, capability) = claims.sub.split_once(':').unwrap_or((&claims.sub, "login"));
    let account = settings.account(name).ok_or_else(|| invalid("account does not exist"))?;
    if !account.enabled {
        return Err(invalid(&format!("account {name} is disabled")));
    }
    if !account.capabilities.iter().any(|it| it == capability) {
        return Err(invalid(&format!("account {name} does not have '{capability}' capability")));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact for the next 285 million years")]
    let changed = account.password_changed_at.map_or(0.0, |it| it.as_second() as f64);
    if capability == "login" && claims.iat < changed {
        return Err(invalid("account password has changed since token issued"));
    }
    Ok(Caller { name: name.to_owned(), claims })
}

/// The token: metadata `token`, then `authorization: Bearer`, then the cookie.
fn token_of(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let given = text("token").or_else(|| text("authorization")?.strip_prefix("Bearer "));
    given.filter(|it| !it.is_empty()).map(str::to_owned).or_else(|| from_cookies(headers))
}

/// A long token is spread over cookies: `argocd.token=2:<start>` and `argocd.token-1=<rest>`.
fn from_cookies(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all("cookie").iter().filter_map(|it| it.to_str().ok());
    let cookies: Vec<(&str, &str)> =
        lines.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('=')).collect();
    let cookie = |name: &str| cookies.iter().find(|(it, _)| *it == name).map(|(_, text)| *text);
    let first = cookie(COOKIE).filter(|it| !it.is_empty())?;
    let Some((count, start)) = first.split_once(':') else { return Some(first.to_owned()) };
    let count: usize = count.parse().ok().filter(|it| *it <= cookies.len())?;
    let parts = (1..count).map(|number| cookie(&format!("{COOKIE}-{number}")));
    let rest: Option<String> = parts.collect();
    Some(format!("{start}{}", rest?))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &'static str)], expect: Option<&str>) {
        let pairs = headers.iter().map(|(name, text)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(text))
        });
        assert_eq!(token_of(&pairs.collect()).as_deref(), expect);
    }

    #[test]
    fn a_token_comes_in_one_of_three_ways() {
        check(&[], None);
        check(
            &[("cookie", "argocd.token=c"), ("authorization", "Bearer b"), ("token", "a")],
            Some("a"),
        );
        check(&[("cookie", "argocd.token=c"), ("authorization", "Bearer b")], Some("b"));
        check(&[("cookie", "x=y; argocd.token=c")], Some("c"));
        check(&[("authorization", "Basic b")], None);
    }

    #[test]
    fn a_long_token_is_put_together() {
        check(&[("cookie", "argocd.token-1=b; argocd.token=3:a; argocd.token-2=c")], Some("abc"));
        check(&[("cookie", "argocd.token=3:a; argocd.token-2=c; x=y")], None);
        check(&[("cookie", "argocd.token=999999999:a")], None);
    }

    #[track_caller]
    fn check_caller(sub: &str, iat: f64, config: &Value, expect: Result<&str, &str>) {
        let secret = json!({"data": {
            "server.secretkey": "a2V5", "admin.passwordMtime": "MTk3MC0wMS0wMVQwMDowMTowMFo="
        }});
        let settings = Settings::new(&secret, config);
        let claims = Claims {
            iss: "argocd".into(),
            sub: sub.into(),
            exp: None,
            nbf: None,
            iat,
            jti: String::new(),
        };
        let mut headers = HeaderMap::new();
        let token = token::sign(&claims, b"key");
        headers.insert("token", token.parse().expect("a header"));
        let now = Timestamp::from_second(1_000).expect("in range");
        let caller = authenticate(&headers, &settings, now);
        let told = caller.as_ref().map(|it| it.name.as_str()).map_err(Status::message);
        assert_eq!(told, expect);
    }

    #[test]
    fn a_token_ends_with_its_account_and_its_password() {
        let none = Value::Null;
        check_caller("admin:login", 60.0, &none, Ok("admin"));
        check_caller(
            "admin:login",
            59.0,
            &none,
            Err("invalid session: account password has changed since token issued"),
        );
        check_caller(
            "admin:apiKey",
            60.0,
            &none,
            Err("invalid session: account admin does not have 'apiKey' capability"),
        );
        check_caller("ghost:login", 60.0, &none, Err("invalid session: account does not exist"));
        let off = json!({"data": {"admin.enabled": "false"}});
        check_caller("admin:login", 60.0, &off, Err("invalid session: account admin is disabled"));
    }
}
