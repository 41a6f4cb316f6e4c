//! Local accounts: who may log in, with what password, and their tokens.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::reader::{Reader, boolean};
use crate::{Secret, Sources, names};

/// The account that is always there.
pub const ADMIN: &str = "admin";

/// A local account.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Can it be used at all?
    pub is_enabled: bool,
    /// What it may be used for.
    pub capabilities: Vec<Capability>,
    /// The bcrypt hash of its password; empty for none.
    pub password_hash: Secret,
    /// Logins from before are not good any more.
    pub password_changed_at: Option<Timestamp>,
    /// Its API tokens that were not revoked.
    pub tokens: Vec<Token>,
}

/// What an account may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Logging in with the password.
    Login,
    /// API tokens.
    ApiKey,
}

/// An API token, without the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// When it was issued, in seconds since 1970.
    #[serde(default, rename = "iat")]
    pub issued_at: i64,
    /// Until when it is good; 0 is forever.
    #[serde(default, rename = "exp", skip_serializing_if = "is_zero")]
    pub expires_at: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Account {
    /// May it be used for that?
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    fn new(name: &str) -> Self {
        let is_admin = name == ADMIN;
        Self {
            name: name.to_owned(),
            is_enabled: true,
            capabilities: if is_admin { vec![Capability::Login] } else { Vec::new() },
            password_hash: Secret::default(),
            password_changed_at: None,
            tokens: Vec::new(),
        }
    }
}

impl Capability {
    /// As settings and subjects of tokens have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::ApiKey => "apiKey",
        }
    }

    /// The other way round.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Login, Self::ApiKey].into_iter().find(|it| it.name() == name)
    }
}

/// Where argocd-secret keeps the hash of an account's password.
#[must_use]
pub fn password_key(account: &str) -> String {
    format!("{}.password", prefix(account))
}

/// Where argocd-secret keeps when the password was last changed.
#[must_use]
pub fn password_changed_key(account: &str) -> String {
    format!("{}.passwordMtime", prefix(account))
}

/// Where argocd-secret keeps an account's tokens.
#[must_use]
pub fn tokens_key(account: &str) -> String {
    format!("{}.tokens", prefix(account))
}

fn prefix(account: &str) -> String {
    if account == ADMIN { ADMIN.to_owned() } else { format!("accounts.{account}") }
}

pub(crate) fn read(reader: &mut Reader<'_>, sources: &Sources) -> BTreeMap<String, Account> {
    let mut accounts = BTreeMap::from([(ADMIN.to_owned(), Account::new(ADMIN))]);
    if let Some(admin) = accounts.get_mut(ADMIN) {
        admin.is_enabled = reader.flag("admin.enabled", true);
    }
    for (key, text) in reader.data {
        let Some(rest) = key.strip_prefix("accounts.").filter(|it| !it.is_empty()) else {
            continue;
        };
        let (name, what) = rest.split_once('.').unwrap_or((rest, ""));
        let account = || Account::new(name);
        match what {
            "" => add_capabilities(
                accounts.entry(name.to_owned()).or_insert_with(account),
                text,
                key,
                reader,
            ),
            "enabled" => {
                let is_enabled = boolean(text);
                if is_enabled.is_none() {
                    reader.find(key, format!("{text:?} is neither true nor false; taken as false"));
                }
                let account = accounts.entry(name.to_owned()).or_insert_with(account);
                account.is_enabled = is_enabled.unwrap_or(false);
            }
            _ => reader.find(key, "there is no such setting of an account"),
        }
    }
    for account in accounts.values_mut() {
        add_secrets(account, sources, reader);
    }
    accounts
}

fn add_capabilities(account: &mut Account, text: &str, key: &str, reader: &mut Reader<'_>) {
    for name in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match Capability::named(name) {
            Some(capability) if !account.can(capability) => account.capabilities.push(capability),
            Some(_) => {}
            None => reader.find(key, format!("there is no capability {name:?}")),
        }
    }
}

fn add_secrets(account: &mut Account, sources: &Sources, reader: &mut Reader<'_>) {
    let value = |key: &str| sources.secret(names::SECRET, key).cloned().unwrap_or_default();
    account.password_hash = value(&password_key(&account.name));
    let key = password_changed_key(&account.name);
    let changed = value(&key);
    if !changed.is_empty() {
        account.password_changed_at = changed.text().parse().ok();
        if account.password_changed_at.is_none() {
            reader.find(&key, "this is no time");
        }
    }
    let key = tokens_key(&account.name);
    let tokens = value(&key);
    if !tokens.is_empty() {
        match serde_json::from_slice::<Option<Vec<Token>>>(tokens.bytes()) {
            Ok(tokens) => account.tokens = tokens.unwrap_or_default(),
            Err(_) => reader.find(&key, "this is no list of tokens"),
        }
    }
}
