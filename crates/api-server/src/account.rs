//! Accounts: `account.AccountService`.

use jiff::Timestamp;
use serde_json::{Value, json};
use wire::Status;
use wire::message::account::{
    Account, AccountsList, CanIRequest, CanIResponse, GetAccountRequest, ListAccountRequest,
    UpdatePasswordRequest, UpdatePasswordResponse,
};

use crate::bootstrap::{encoded, seconds};
use crate::failure::refused;
use crate::methods::Call;
use crate::session::is_password;
use crate::settings::{ADMIN, SECRET, changed_key, password_key};
use crate::store::SECRETS;

/// Argo CD's default for `passwordPattern`.
const PASSWORD_LENGTHS: std::ops::RangeInclusive<usize> = 8..=32;

/// Until there are policies: the admin may do everything, others may look.
pub(crate) async fn can_i(call: Call, request: CanIRequest) -> Result<CanIResponse, Status> {
    let may = call.user()?.name == ADMIN || request.action == "get";
    Ok(CanIResponse { value: if may { "yes" } else { "no" }.into() })
}

pub(crate) async fn list(call: Call, _: ListAccountRequest) -> Result<AccountsList, Status> {
    let accounts = call.server.settings.current().accounts();
    Ok(AccountsList { items: accounts.into_iter().map(shown).collect() })
}

pub(crate) async fn get(call: Call, request: GetAccountRequest) -> Result<Account, Status> {
    let account = call.server.settings.current().account(&request.name);
    account.map(shown).ok_or_else(|| absent(&request.name))
}

fn absent(name: &str) -> Status {
    Status::not_found(format!("account '{name}' does not exist"))
}

fn shown(account: crate::settings::Account) -> Account {
    Account {
        name: account.name,
        enabled: account.enabled,
        capabilities: account.capabilities,
        tokens: Vec::new(),
    }
}

pub(crate) async fn update_password(
    call: Call,
    request: UpdatePasswordRequest,
) -> Result<UpdatePasswordResponse, Status> {
    let caller = call.user()?.name.clone();
    let name = if request.name.is_empty() { caller.clone() } else { request.name };
    if name != caller && caller != ADMIN {
        return Err(crate::failure::permission_denied());
    }
    let settings = call.server.settings.current();
    settings.account(&name).ok_or_else(|| absent(&name))?;
    let own = settings.password_hash(&caller).unwrap_or_default().to_owned();
    if !is_password(request.current_password, own).await {
        return Err(Status::invalid_argument("current password does not match"));
    }
    if !PASSWORD_LENGTHS.contains(&request.new_password.chars().count()) {
        return Err(Status::invalid_argument(
            "new password does not match the following expression: ^.{8,32}$",
        ));
    }
    let hash =
        tokio::task::spawn_blocking(|| bcrypt::hash(request.new_password, bcrypt::DEFAULT_COST));
    let Ok(Ok(hash)) = hash.await else {
        return Err(Status::internal("could not hash the new password"));
    };
    let data = json!({
        password_key(&name): encoded(hash.as_bytes()),
        changed_key(&name): encoded(seconds(Timestamp::now()).as_bytes()),
    });
    let patch = json!({ "data": data });
    let written = call.server.store.merge::<Value>(&SECRETS, SECRET, &patch).await;
    let written = written.map_err(|error| refused("could not store the new password", &error))?;
    call.server.settings.see_secret(&written);
    Ok(UpdatePasswordResponse {})
}
