//! Logging in and out: `session.SessionService`, and `/auth/logout`.

use std::time::Duration;

use ::settings::Settings;
use ::settings::accounts::Capability;
use jiff::Timestamp;
use tokio::time::Instant;
use wire::Status;
use wire::message::session::{
    GetUserInfoRequest, GetUserInfoResponse, SessionCreateRequest, SessionDeleteRequest,
    SessionResponse,
};

use crate::ApiServer;
use crate::bootstrap::uuid;
use crate::caller::Caller;
use crate::methods::Call;
use crate::token::{self, Claims, ISSUER};

const NAME_LIMIT: usize = 32;
/// What a password of nobody is compared with, so that it takes as long as one of somebody.
const NOBODY: &str = "$2b$10$abcdefghijklmnopqrstuuDQjdCk8zQcL3rX5hJYdX0o6wq1mKp2a";
/// A login takes at least this long and up to twice as long, right or wrong:
/// its time tells nothing about the name.
const DELAY: Duration = Duration::from_millis(500);

pub(crate) async fn create(
    call: Call,
    request: SessionCreateRequest,
) -> Result<SessionResponse, Status> {
    if !request.token.is_empty() {
        return Err(Status::unauthenticated(
            "token-based session creation no longer supported. please upgrade argocd cli to v0.7+",
        ));
    }
    if request.username.is_empty() || request.password.is_empty() {
        return Err(Status::unauthenticated("no credentials supplied"));
    }
    let Ok(_place) = call.server.logins.places.try_acquire() else {
        tracing::warn!("too many logins at once");
        return Err(wrong());
    };
    let settings = call.server.settings.current();
    let checked =
        check_password(&call.server, &settings, &request.username, request.password).await;
    call.server.metrics.login(checked.is_ok());
    checked?;
    let lasts = i64::try_from(settings.session.lasts.as_secs()).unwrap_or(i64::MAX);
    let subject = format!("{}:{}", request.username, Capability::Login.name());
    let token = issue(&call.server, subject, lasts, String::new())?;
    Ok(SessionResponse { token })
}

fn wrong() -> Status {
    Status::unauthenticated("Invalid username or password")
}

/// Signs a token that is good for this many seconds; 0 is forever.
pub(crate) fn issue(
    server: &ApiServer,
    subject: String,
    lasts: i64,
    id: String,
) -> Result<String, Status> {
    let id = if id.is_empty() {
        uuid().ok_or_else(|| Status::internal("the system gives no random numbers"))?
    } else {
        id
    };
    let now = Timestamp::now().as_second();
    #[expect(clippy::cast_precision_loss, reason = "exact for the next 285 million years")]
    let second = |second: i64| second as f64;
    let claims = Claims {
        iss: ISSUER.into(),
        sub: subject,
        exp: (lasts > 0).then(|| second(now.saturating_add(lasts))),
        nbf: Some(second(now)),
        iat: second(now),
        jti: id,
    };
    Ok(token::sign(&claims, server.settings.current().session.signing_key.bytes()))
}

/// Is this the password of that account, and may it be used?
///
/// # Errors
/// In Argo CD's words.
pub(crate) async fn check_password(
    server: &ApiServer,
    settings: &Settings,
    name: &str,
    password: String,
) -> Result<(), Status> {
    if password.is_empty() {
        return Err(Status::unauthenticated("Blank passwords are not allowed"));
    }
    if name.len() > NAME_LIMIT {
        let message = format!("Username is too long ({NAME_LIMIT} bytes max)");
        return Err(Status::invalid_argument(message));
    }
    let ends = Instant::now() + DELAY + DELAY.mul_f64(server.options.random.next());
    let checked = check_in_time(server, settings, name, password).await;
    tokio::time::sleep_until(ends).await;
    checked
}

async fn check_in_time(
    server: &ApiServer,
    settings: &Settings,
    name: &str,
    password: String,
) -> Result<(), Status> {
    if server.logins.is_barred(name, Instant::now()) {
        tracing::warn!(user = name, "too many failed logins");
        return Err(wrong());
    }
    let account = settings.account(name);
    let hash = account.map(|it| it.password_hash.text()).filter(|it| !it.is_empty());
    let passwords = &server.logins.passwords;
    let good = passwords.is_hash_of(password, hash.unwrap_or(NOBODY).to_owned()).await;
    let Some(account) = account.filter(|_| good && hash.is_some()) else {
        server.logins.failed(name, Instant::now());
        return Err(wrong());
    };
    if !account.is_enabled {
        return Err(Status::unauthenticated(format!("Account {name} is disabled")));
    }
    if !account.can(Capability::Login) {
        let message = format!("Account {name} does not have login capability");
        return Err(Status::unauthenticated(message));
    }
    server.logins.succeeded(name);
    Ok(())
}

/// The answer empties the cookie; the token itself is revoked by `/auth/logout`.
pub(crate) async fn delete(_: Call, _: SessionDeleteRequest) -> Result<SessionResponse, Status> {
    Ok(SessionResponse::default())
}

pub(crate) async fn user_info(
    call: Call,
    _: GetUserInfoRequest,
) -> Result<GetUserInfoResponse, Status> {
    let caller = call.caller.unwrap_or_default();
    Ok(GetUserInfoResponse {
        logged_in: !caller.name.is_empty(),
        username: caller.shown_name().to_owned(),
        iss: caller.issuer,
        groups: caller.groups,
    })
}

/// Ends the session of this caller for good.
pub(crate) async fn log_out(server: &ApiServer, caller: &Caller) {
    let now = Timestamp::now().as_second();
    let Some(expires_at) = caller.expires_at.filter(|it| *it > now) else { return };
    if caller.token_id.is_empty() {
        return;
    }
    let revoked = crate::revocations::revoke(server, &caller.token_id, expires_at, now).await;
    match revoked {
        Ok(()) => tracing::info!(user = caller.name, "logged out"),
        Err(error) => tracing::warn!(
            user = caller.name, error = %error.in_one_line(),
            "a logout is known to this process only: could not store it"
        ),
    }
}
