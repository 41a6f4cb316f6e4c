//! Logging in: `session.SessionService`.

use jiff::Timestamp;
use wire::Status;
use wire::message::session::{
    GetUserInfoRequest, GetUserInfoResponse, SessionCreateRequest, SessionDeleteRequest,
    SessionResponse,
};

use crate::ApiServer;
use crate::bootstrap::uuid;
use crate::methods::Call;
use crate::settings::Settings;
use crate::token::{self, Claims, ISSUER};

const NAME_LIMIT: usize = 32;
/// What a password of nobody is compared with, so that it takes as long as one of somebody.
const NOBODY: &str = "$2b$10$abcdefghijklmnopqrstuuDQjdCk8zQcL3rX5hJYdX0o6wq1mKp2a";

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
    let settings = call.server.settings.current();
    check_login(&settings, request.username.clone(), request.password).await?;
    let lasts = i64::try_from(settings.session_duration().as_secs()).unwrap_or(i64::MAX);
    let subject = format!("{}:login", request.username);
    let token = issue(&call.server, subject, lasts, String::new())?;
    Ok(SessionResponse { token })
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
    Ok(token::sign(&claims, server.settings.current().signing_key()))
}

async fn check_login(settings: &Settings, name: String, password: String) -> Result<(), Status> {
    if name.len() > NAME_LIMIT {
        let message = format!("Username is too long ({NAME_LIMIT} bytes max)");
        return Err(Status::invalid_argument(message));
    }
    let account = settings.account(&name);
    let hash = account.as_ref().and_then(|it| settings.password_hash(&it.name));
    let good = is_password(password, hash.unwrap_or(NOBODY).to_owned()).await;
    let Some(account) = account.filter(|_| good && hash.is_some()) else {
        return Err(Status::unauthenticated("Invalid username or password"));
    };
    if !account.enabled {
        return Err(Status::unauthenticated(format!("Account {name} is disabled")));
    }
    if !account.capabilities.iter().any(|it| it == "login") {
        let message = format!("Account {name} does not have login capability");
        return Err(Status::unauthenticated(message));
    }
    Ok(())
}

/// Compares off the async workers: bcrypt takes a tenth of a second on purpose.
pub(crate) async fn is_password(password: String, hash: String) -> bool {
    let compared = tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash));
    matches!(compared.await, Ok(Ok(true)))
}

/// Nothing to forget here; the client throws its token away.
pub(crate) async fn delete(_: Call, _: SessionDeleteRequest) -> Result<SessionResponse, Status> {
    Ok(SessionResponse::default())
}

pub(crate) async fn user_info(
    call: Call,
    _: GetUserInfoRequest,
) -> Result<GetUserInfoResponse, Status> {
    Ok(call.caller.map_or_else(GetUserInfoResponse::default, |caller| GetUserInfoResponse {
        logged_in: true,
        username: caller.name,
        iss: caller.claims.iss,
        groups: Vec::new(),
    }))
}
