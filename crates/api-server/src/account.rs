//! Accounts: `account.AccountService`.

use ::settings::Settings;
use ::settings::accounts::{Capability, Token, password_changed_key, password_key, tokens_key};
use ::settings::names::SECRET;
use jiff::Timestamp;
use rbac::{action, resource};
use regex::Regex;
use serde_json::{Value, json};
use wire::Status;
use wire::message::account::{
    Account, AccountsList, CanIRequest, CanIResponse, CreateTokenRequest, CreateTokenResponse,
    DeleteTokenRequest, EmptyResponse, GetAccountRequest, ListAccountRequest, Token as ShownToken,
    UpdatePasswordRequest, UpdatePasswordResponse,
};

use crate::bootstrap::{encoded, seconds, uuid};
use crate::caller::project_role;
use crate::failure::refused;
use crate::methods::Call;
use crate::session::{check_password, issue};
use crate::store::SECRETS;
use crate::token::ISSUER;

/// Somebody of another identity provider may set a password only soon after their login.
const FRESH_LOGIN_SECONDS: i64 = 5 * 60;
/// Resources whose objects may name a namespace in the middle.
const IN_PROJECTS: [&str; 6] = [
    resource::APPLICATIONS,
    resource::APPLICATION_SETS,
    resource::LOGS,
    resource::EXEC,
    resource::CLUSTERS,
    resource::REPOSITORIES,
];

pub(crate) async fn can_i(call: Call, request: CanIRequest) -> Result<CanIResponse, Status> {
    let known = |words: &[&str], word: &str| {
        if words.contains(&word) {
            return Ok(());
        }
        Err(Status::invalid_argument(format!("[{}] does not contain {word}", words.join(" "))))
    };
    known(&action::ALL, &request.action)?;
    known(&resource::ALL, &request.resource)?;
    let settings = call.server.settings.current();
    // A rollback that needs no permission of its own needs that of a sync.
    let is_sync = request.action == action::ROLLBACK && !settings.policies.rollback_is_separate;
    let asked = if is_sync { action::SYNC } else { &request.action };
    let object = match request.subresource.split('/').collect::<Vec<_>>()[..] {
        [project, namespace, name] if IN_PROJECTS.contains(&request.resource.as_str()) => {
            call.object_named(project, namespace, name)
        }
        _ => request.subresource.clone(),
    };
    let may = call.may(&request.resource, asked, &object);
    Ok(CanIResponse { value: if may { "yes" } else { "no" }.into() })
}

pub(crate) async fn list(call: Call, _: ListAccountRequest) -> Result<AccountsList, Status> {
    let settings = call.server.settings.current();
    let visible =
        settings.accounts.values().filter(|it| check(&call, action::GET, &it.name).is_ok());
    Ok(AccountsList { items: visible.map(shown).collect() })
}

pub(crate) async fn get(call: Call, request: GetAccountRequest) -> Result<Account, Status> {
    let name = &request.name;
    check(&call, action::GET, name)
        .map_err(|status| within(&format!("permission denied to get account {name}"), &status))?;
    let settings = call.server.settings.current();
    let account = settings
        .account(name)
        .ok_or_else(|| within(&format!("failed to get account {name}"), &absent(name)))?;
    Ok(shown(account))
}

/// An account may always look at itself and change itself.
fn check(call: &Call, action: &str, account: &str) -> Result<(), Status> {
    let is_own = call.user().is_ok_and(|it| it.name == account && it.issuer == ISSUER);
    if is_own {
        return Ok(());
    }
    let doing = format!("permission denied for account {account} with action {action}");
    call.require(resource::ACCOUNTS, action, account).map_err(|status| within(&doing, &status))
}

/// How Go wraps an error that has a code.
fn within(doing: &str, status: &Status) -> Status {
    let code = status.code();
    let message = status.message();
    let nested = if message.contains("rpc error: ") {
        message.to_owned()
    } else {
        format!("rpc error: code = {code:?} desc = {message}")
    };
    Status::new(code, format!("{doing}: {nested}"))
}

fn absent(name: &str) -> Status {
    Status::not_found(format!("account '{name}' does not exist"))
}

fn shown(account: &::settings::accounts::Account) -> Account {
    let mut tokens: Vec<ShownToken> = account
        .tokens
        .iter()
        .map(|it| ShownToken {
            id: it.id.clone(),
            issued_at: it.issued_at,
            expires_at: it.expires_at,
        })
        .collect();
    tokens.sort_by_key(|it| std::cmp::Reverse(it.issued_at));
    Account {
        name: account.name.clone(),
        enabled: account.is_enabled,
        capabilities: account.capabilities.iter().map(|it| it.name().to_owned()).collect(),
        tokens,
    }
}

pub(crate) async fn update_password(
    call: Call,
    request: UpdatePasswordRequest,
) -> Result<UpdatePasswordResponse, Status> {
    let caller = call.user()?.clone();
    let is_local = caller.issuer == ISSUER;
    let name = if request.name.is_empty() { caller.name.clone() } else { request.name.clone() };
    if name != caller.name || !is_local {
        call.require(resource::ACCOUNTS, action::UPDATE, &request.name)
            .map_err(|status| within("permission denied", &status))?;
    }
    let settings = call.server.settings.current();
    if is_local {
        if request.name.is_empty() && project_role(&caller.name).is_some() {
            return Err(Status::invalid_argument(format!(
                "password can only be changed for local users, not user {:?}",
                caller.name
            )));
        }
        check_password(&call.server, &settings, &caller.name, request.current_password)
            .await
            .map_err(|_| Status::invalid_argument("current password does not match"))?;
    } else {
        let age = caller.issued_at.map_or(i64::MAX, |it| Timestamp::now().as_second() - it);
        if age > FRESH_LOGIN_SECONDS {
            let told = "SSO token is too old. Please use 'argocd relogin' to get a new token";
            return Err(Status::unknown(told));
        }
    }
    check_new_password(&settings, &request.new_password)?;
    settings
        .account(&name)
        .ok_or_else(|| within("failed to update account password", &absent(&name)))?;
    let hash = call.server.logins.passwords.hash(request.new_password).await;
    let hash =
        hash.map_err(|why| Status::internal(format!("could not hash the new password: {why}")))?;
    let data = json!({
        password_key(&name): encoded(hash.as_bytes()),
        password_changed_key(&name): encoded(seconds(Timestamp::now()).as_bytes()),
    });
    store(&call, &data, "could not store the new password").await?;
    tracing::info!(user = caller.name, account = name, "password changed");
    Ok(UpdatePasswordResponse {})
}

fn check_new_password(settings: &Settings, password: &str) -> Result<(), Status> {
    let pattern = &settings.session.password_pattern;
    let matches = Regex::new(pattern).is_ok_and(|it| it.is_match(password));
    if matches {
        return Ok(());
    }
    Err(Status::unknown(format!("new password does not match the following expression: {pattern}")))
}

pub(crate) async fn create_token(
    call: Call,
    request: CreateTokenRequest,
) -> Result<CreateTokenResponse, Status> {
    let name = &request.name;
    check(&call, action::UPDATE, name).map_err(|status| {
        within(&format!("permission denied to create token for account {name}"), &status)
    })?;
    let failed =
        |why: String| Status::unknown(format!("failed to update account with new token: {why}"));
    let settings = call.server.settings.current();
    let account = settings
        .account(name)
        .ok_or_else(|| within("failed to update account with new token", &absent(name)))?;
    let id = if request.id.is_empty() { uuid().unwrap_or_default() } else { request.id };
    if account.tokens.iter().any(|it| it.id == id) {
        return Err(failed(format!("account already has token with id '{id}'")));
    }
    if !account.can(Capability::ApiKey) {
        return Err(failed(format!("account '{name}' does not have apiKey capability")));
    }
    let now = Timestamp::now().as_second();
    let lasts = request.expires_in.max(0);
    let expires_at = if lasts > 0 { now.saturating_add(lasts) } else { 0 };
    let mut tokens = account.tokens.clone();
    tokens.push(Token { id: id.clone(), issued_at: now, expires_at });
    store_tokens(&call, name, &tokens).await?;
    let subject = format!("{name}:{}", Capability::ApiKey.name());
    Ok(CreateTokenResponse { token: issue(&call.server, subject, lasts, id)? })
}

pub(crate) async fn delete_token(
    call: Call,
    request: DeleteTokenRequest,
) -> Result<EmptyResponse, Status> {
    let name = &request.name;
    let doing = format!("failed to delete account {name}");
    check(&call, action::UPDATE, name).map_err(|status| {
        within(&format!("permission denied to delete account {name}"), &status)
    })?;
    let settings = call.server.settings.current();
    let account = settings.account(name).ok_or_else(|| within(&doing, &absent(name)))?;
    let mut tokens = account.tokens.clone();
    tokens.retain(|it| it.id != request.id);
    if tokens.len() == account.tokens.len() {
        let told = format!("token with id '{}' does not exist", request.id);
        return Err(within(&doing, &Status::not_found(told)));
    }
    store_tokens(&call, name, &tokens).await?;
    Ok(EmptyResponse {})
}

async fn store_tokens(call: &Call, name: &str, tokens: &[Token]) -> Result<(), Status> {
    let text = serde_json::to_string(tokens).expect("a list of flat structs");
    let value = if tokens.is_empty() { Value::Null } else { encoded(text.as_bytes()) };
    store(call, &json!({ tokens_key(name): value }), "could not store the tokens").await
}

async fn store(call: &Call, data: &Value, doing: &str) -> Result<(), Status> {
    let patch = json!({ "data": data });
    let written = call.server.store.merge::<Value>(&SECRETS, SECRET, &patch).await;
    let written = written.map_err(|error| refused(doing, &error))?;
    call.server.settings.see_secret(&written);
    Ok(())
}
