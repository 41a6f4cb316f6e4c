//! Who is calling: the token of a request, checked against what is known.

use std::sync::Arc;

use ::settings::Settings;
use ::settings::accounts::Capability;
use api::AppProject;
use http::HeaderMap;
use jiff::Timestamp;
use wire::Status;

use crate::token::{self, Claims, ISSUER};

/// The cookie that carries a token.
pub(crate) const COOKIE: &str = "argocd.token";
/// A login that lasts no longer than this is renewed.
const RENEWAL: f64 = 5.0 * 60.0;

/// Somebody who proved who they are, or nobody where that is enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Caller {
    /// Who policies speak of; empty for nobody in particular.
    pub(crate) name: String,
    /// What users know them by, where that is another.
    pub(crate) email: String,
    /// Who vouches for it.
    pub(crate) issuer: String,
    /// Groups that an identity provider vouches for.
    pub(crate) groups: Vec<String>,
    /// When the token was issued, in seconds since 1970.
    pub(crate) issued_at: Option<i64>,
    /// Until when it is good; none is forever.
    pub(crate) expires_at: Option<i64>,
    /// The token's id.
    pub(crate) token_id: String,
    /// The login ends soon: a new token lasts this many seconds.
    pub(crate) renew_for: Option<i64>,
    /// The login at an identity provider that this is.
    pub(crate) session: Option<String>,
}

impl Caller {
    /// What people know them by.
    pub(crate) fn shown_name(&self) -> &str {
        if self.email.is_empty() { &self.name } else { &self.email }
    }
}

/// What a token is checked against.
pub(crate) struct Knowledge<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) is_revoked: &'a dyn Fn(&str) -> bool,
    pub(crate) project: &'a dyn Fn(&str) -> Option<Arc<AppProject>>,
    pub(crate) now: Timestamp,
}

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stranger {
    #[error("no session information")]
    NoToken,
    #[error("invalid session: {0}")]
    BadToken(String),
    /// The token is ours, but its project does not list it, as far as we know.
    #[error("invalid session: {why}")]
    NotInProject { project: String, why: String },
}

impl From<Stranger> for Status {
    fn from(stranger: Stranger) -> Self {
        Self::unauthenticated(stranger.to_string())
    }
}

/// Whose token is this, if it is one of ours?
///
/// # Errors
/// Why not, in Argo CD's words.
pub(crate) fn check(token: &str, known: &Knowledge<'_>) -> Result<Caller, Stranger> {
    let bad = |why: String| Stranger::BadToken(why);
    let claims = token::verify(token, known.settings.session.signing_key.bytes(), known.now)
        .map_err(|error| bad(error.to_string()))?;
    if let Some((project, role)) = project_role(&claims.sub) {
        check_project_token(&claims, project, role, known)?;
        return Ok(caller(claims.sub.clone(), &claims));
    }
    let (name, capability) = match claims.sub.split_once(':') {
        Some((name, "login")) => (name, Capability::Login),
        Some((name, _)) => (name, Capability::ApiKey),
        None => (claims.sub.as_str(), Capability::ApiKey),
    };
    let account = known.settings.account(name).ok_or_else(|| {
        bad(format!("rpc error: code = NotFound desc = account '{name}' does not exist"))
    })?;
    if !account.is_enabled {
        return Err(bad(format!("account {name} is disabled")));
    }
    if !account.can(capability) {
        let capability = capability.name();
        return Err(bad(format!("account {name} does not have '{capability}' capability")));
    }
    if claims.jti.is_empty() {
        return Err(bad(
            "token does not have a unique identifier (jti claim) and cannot be validated".into(),
        ));
    }
    if (known.is_revoked)(&claims.jti) {
        return Err(bad("token is revoked, please re-login".into()));
    }
    let is_listed = || account.tokens.iter().any(|it| it.id == claims.jti);
    if capability == Capability::ApiKey && !is_listed() {
        return Err(bad(format!("account {name} does not have token with id {}", claims.jti)));
    }
    #[expect(clippy::cast_precision_loss, reason = "exact for the next 285 million years")]
    let changed = account.password_changed_at.map_or(0.0, |it| it.as_second() as f64);
    if claims.iat < changed {
        return Err(bad("account password has changed since token issued".into()));
    }
    let mut caller = caller(name.to_owned(), &claims);
    if capability == Capability::Login {
        caller.renew_for = renewal(&claims, known.now);
    }
    Ok(caller)
}

#[expect(clippy::cast_possible_truncation, reason = "seconds of our times fit")]
fn caller(name: String, claims: &Claims) -> Caller {
    Caller {
        name,
        issuer: ISSUER.to_owned(),
        issued_at: Some(claims.iat as i64),
        expires_at: claims.exp.map(|it| it as i64),
        token_id: claims.jti.clone(),
        ..Caller::default()
    }
}

/// Project and role of a subject `proj:<project>:<role>`.
pub(crate) fn project_role(subject: &str) -> Option<(&str, &str)> {
    match subject.split(':').collect::<Vec<_>>()[..] {
        ["proj", project, role] => Some((project, role)),
        _ => None,
    }
}

fn check_project_token(
    claims: &Claims,
    project: &str,
    role: &str,
    known: &Knowledge<'_>,
) -> Result<(), Stranger> {
    let unknown = |why: String| Stranger::NotInProject { project: project.to_owned(), why };
    let found = (known.project)(project)
        .ok_or_else(|| unknown(format!("appprojects.argoproj.io \"{project}\" not found")))?;
    #[expect(clippy::cast_possible_truncation, reason = "seconds of our times fit")]
    let issued_at = claims.iat as i64;
    if engine::project::roles::token(&found, role, &claims.jti, Some(issued_at)).is_none() {
        return Err(unknown(format!(
            "JWT token for role '{role}' issued at '{issued_at}' does not exist in project '{project}'"
        )));
    }
    if (known.is_revoked)(&claims.jti) {
        return Err(Stranger::BadToken("token is revoked, please re-login".into()));
    }
    Ok(())
}

/// Whoever is active stays logged in.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "times of ours")]
fn renewal(claims: &Claims, now: Timestamp) -> Option<i64> {
    let expires_at = claims.exp?;
    let lasts = expires_at - claims.iat;
    (expires_at - (now.as_second() as f64) < RENEWAL && lasts > 0.0).then_some(lasts as i64)
}

/// The token: metadata `token`, then `authorization: Bearer`, then the cookie.
pub(crate) fn token_of(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    let given = text("token").or_else(|| text("authorization")?.strip_prefix("Bearer "));
    given.filter(|it| !it.is_empty()).map(str::to_owned).or_else(|| from_cookies(headers))
}

/// A long token is spread over cookies: `argocd.token=2:<start>` and `argocd.token-1=<rest>`.
pub(crate) fn from_cookies(headers: &HeaderMap) -> Option<String> {
    let cookies = cookies(headers);
    let cookie = |name: &str| cookies.iter().find(|(it, _)| *it == name).map(|(_, text)| *text);
    let first = cookie(COOKIE).filter(|it| !it.is_empty())?;
    let Some((count, start)) = first.split_once(':') else { return Some(first.to_owned()) };
    let count: usize = count.parse().ok().filter(|it| *it <= cookies.len())?;
    let parts = (1..count).map(|number| cookie(&format!("{COOKIE}-{number}")));
    let rest: Option<String> = parts.collect();
    Some(format!("{start}{}", rest?))
}

/// All cookies, by name.
pub(crate) fn cookies(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let lines = headers.get_all("cookie").iter().filter_map(|it| it.to_str().ok());
    lines.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('=')).collect()
}

#[cfg(test)]
mod tests {
    use ::settings::{SecretObject, Sources};
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

    fn settings(config: &[(&str, &str)]) -> Settings {
        let mut sources = Sources::default();
        let data = config.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        sources.config_maps.insert("argocd-cm".into(), data.collect());
        let secret = json!({"metadata": {"name": "argocd-secret"}, "data": {
            "server.secretkey": "a2V5",
            "admin.passwordMtime": "MTk3MC0wMS0wMVQwMDowMTowMFo=",
            "accounts.ci.tokens": "W3siaWQiOiJsaXN0ZWQiLCJpYXQiOjYwfV0=",
        }});
        sources.secrets.insert("argocd-secret".into(), SecretObject::from_value(&secret));
        Settings::read(&sources)
    }

    fn claims(sub: &str, iat: f64, id: &str) -> Claims {
        Claims { iss: "argocd".into(), sub: sub.into(), exp: None, nbf: None, iat, jti: id.into() }
    }

    fn project() -> Arc<AppProject> {
        let project: Value = json!({"metadata": {"name": "shop"},
            "status": {"jwtTokensByRole": {"ci": {"items": [{"iat": 60, "id": "p"}]}}}});
        Arc::new(serde_json::from_value(project).expect("a project"))
    }

    #[track_caller]
    fn check_caller(claims: &Claims, config: &[(&str, &str)], expect: Result<&str, &str>) {
        let settings = settings(config);
        let known = Knowledge {
            settings: &settings,
            is_revoked: &|id| id == "revoked",
            project: &|name| (name == "shop").then(project),
            now: Timestamp::from_second(1_000).expect("in range"),
        };
        let caller = super::check(&token::sign(claims, b"key"), &known);
        let told = caller.map(|it| it.name).map_err(|it| it.to_string());
        assert_eq!(told.as_deref().map_err(String::as_str), expect);
    }

    #[test]
    fn a_token_ends_with_its_account_its_password_and_its_logout() {
        check_caller(&claims("admin:login", 60.0, "a"), &[], Ok("admin"));
        let told = "invalid session: account password has changed since token issued";
        check_caller(&claims("admin:login", 59.0, "a"), &[], Err(told));
        let told = "invalid session: token is revoked, please re-login";
        check_caller(&claims("admin:login", 60.0, "revoked"), &[], Err(told));
        let told = "invalid session: account admin does not have 'apiKey' capability";
        check_caller(&claims("admin:apiKey", 60.0, "a"), &[], Err(told));
        let told = "invalid session: token does not have a unique identifier (jti claim) and cannot be validated";
        check_caller(&claims("admin:login", 60.0, ""), &[], Err(told));
        let told = "invalid session: account admin is disabled";
        let off = [("admin.enabled", "false")];
        check_caller(&claims("admin:login", 60.0, "a"), &off, Err(told));
        let told =
            "invalid session: rpc error: code = NotFound desc = account 'ghost' does not exist";
        check_caller(&claims("ghost:login", 60.0, "a"), &[], Err(told));
    }

    #[test]
    fn an_api_token_must_be_listed() {
        let config = [("accounts.ci", "apiKey")];
        check_caller(&claims("ci:apiKey", 60.0, "listed"), &config, Ok("ci"));
        check_caller(&claims("ci", 60.0, "listed"), &config, Ok("ci"));
        let told = "invalid session: account ci does not have token with id other";
        check_caller(&claims("ci:apiKey", 60.0, "other"), &config, Err(told));
    }

    #[test]
    fn a_project_token_must_be_listed_in_its_project() {
        check_caller(&claims("proj:shop:ci", 60.0, "p"), &[], Ok("proj:shop:ci"));
        let told = "invalid session: JWT token for role 'cd' issued at '60' does not exist in project 'shop'";
        check_caller(&claims("proj:shop:cd", 60.0, "p"), &[], Err(told));
        let told = "invalid session: appprojects.argoproj.io \"no\" not found";
        check_caller(&claims("proj:no:ci", 60.0, "p"), &[], Err(told));
    }

    #[test]
    fn a_login_is_renewed_in_its_last_minutes() {
        let renewal = |exp, now| {
            let claims = Claims { exp: Some(exp), ..claims("a:login", 100.0, "a") };
            super::renewal(&claims, Timestamp::from_second(now).expect("in range"))
        };
        assert_eq!(renewal(1_000.0, 699), None);
        assert_eq!(renewal(1_000.0, 701), Some(900));
    }
}
