//! What argocd-secret and argocd-cm say, as values.
//!
//! Both are watched; every change makes a new [`Settings`], and a key that is
//! removed is back at its default at once.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ::cluster::{Scope, Selector, WatchEvent};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;

use crate::ApiServer;
use crate::store::{CONFIG_MAPS, SECRETS};

pub(crate) const SECRET: &str = "argocd-secret";
pub(crate) const CONFIG_MAP: &str = "argocd-cm";
pub(crate) const ADMIN: &str = "admin";
const DEFAULT_SESSION: Duration = Duration::from_secs(24 * 60 * 60);

/// One state of the settings.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    secret: BTreeMap<String, Vec<u8>>,
    config: BTreeMap<String, String>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A local account.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) enabled: bool,
    pub(crate) capabilities: Vec<String>,
    /// Tokens from before are not good any more.
    pub(crate) password_changed_at: Option<Timestamp>,
}

impl Settings {
    /// From the data of the Secret and of the ConfigMap.
    pub(crate) fn new(secret: &Value, config: &Value) -> Self {
        Self { secret: secret_data(secret), config: config_data(config) }
    }

    pub(crate) fn signing_key(&self) -> &[u8] {
        self.secret.get("server.secretkey").map_or(&[], Vec::as_slice)
    }

    /// A text of argocd-cm; empty when it is not set.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.config.get(key).map_or("", String::as_str)
    }

    /// How long a session lasts.
    pub(crate) fn session_duration(&self) -> Duration {
        let text = self.text("users.session.duration");
        let read = gocompat::duration::Duration::parse(text).ok().and_then(|it| it.to_std());
        read.unwrap_or(DEFAULT_SESSION)
    }

    pub(crate) fn password_hash(&self, account: &str) -> Option<&str> {
        let bytes = self.secret.get(&password_key(account))?;
        std::str::from_utf8(bytes).ok().filter(|it| !it.is_empty())
    }

    pub(crate) fn account(&self, name: &str) -> Option<Account> {
        self.accounts().into_iter().find(|it| it.name == name)
    }

    /// The admin, unless it is switched off for good, and every account of argocd-cm.
    pub(crate) fn accounts(&self) -> Vec<Account> {
        let mut names = vec![ADMIN];
        let named = self.config.keys().filter_map(|key| {
            let name = key.strip_prefix("accounts.")?;
            (!name.is_empty() && !name.contains('.')).then_some(name)
        });
        names.extend(named.filter(|it| *it != ADMIN));
        names.into_iter().map(|name| self.account_named(name)).collect()
    }

    fn account_named(&self, name: &str) -> Account {
        let is_admin = name == ADMIN;
        let capabilities = match self.config.get(&format!("accounts.{name}")) {
            None if is_admin => "login",
            None => "",
            Some(text) => text,
        };
        let enabled = match is_admin {
            true => self.text("admin.enabled"),
            false => self.text(&format!("accounts.{name}.enabled")),
        };
        let changed = self.secret.get(&changed_key(name));
        let changed = changed.and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
        Account {
            name: name.to_owned(),
            enabled: enabled != "false",
            capabilities: capabilities
                .split(',')
                .map(str::trim)
                .filter(|it| matches!(*it, "login" | "apiKey"))
                .map(str::to_owned)
                .collect(),
            password_changed_at: changed,
        }
    }
}

/// Where argocd-secret keeps the hash of an account's password.
pub(crate) fn password_key(account: &str) -> String {
    if account == ADMIN { "admin.password".into() } else { format!("accounts.{account}.password") }
}

/// Where argocd-secret keeps when the password was last changed.
pub(crate) fn changed_key(account: &str) -> String {
    format!("{}Mtime", password_key(account))
}

fn secret_data(object: &Value) -> BTreeMap<String, Vec<u8>> {
    let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let decoded = data.filter_map(|(key, text)| {
        let bytes = STANDARD.decode(text.as_str()?).ok()?;
        Some((key.clone(), bytes))
    });
    decoded.collect()
}

fn config_data(object: &Value) -> BTreeMap<String, String> {
    let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

/// The current settings.
pub(crate) struct SettingsWatch(RwLock<Arc<Settings>>);

impl SettingsWatch {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(RwLock::new(Arc::new(settings)))
    }

    pub(crate) fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Settings)) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut current));
    }

    /// Takes over a Secret that we wrote ourselves.
    pub(crate) fn see_secret(&self, secret: &Value) {
        self.change(|it| it.secret = secret_data(secret));
    }

    fn see_config(&self, config: &Value) {
        self.change(|it| it.config = config_data(config));
    }
}

/// Follows both objects. Does not end.
pub(crate) async fn follow(server: &ApiServer) {
    let watch = |kind, name: &str| {
        let selector = Selector { fields: format!("metadata.name={name}"), ..Selector::default() };
        let scope = Scope::Namespace(server.options.namespace.clone());
        server.store.client().watch::<Value>(kind, scope, selector, server.options.random.clone())
    };
    let (mut secrets, mut configs) =
        (pin!(watch(&SECRETS, SECRET)), pin!(watch(&CONFIG_MAPS, CONFIG_MAP)));
    loop {
        tokio::select! {
            // A deleted Secret changes nothing: it must not log everybody out by accident.
            Some(event) = secrets.next() => if let WatchEvent::Applied(secret) = event {
                server.settings.see_secret(&secret);
            },
            Some(event) = configs.next() => match event {
                WatchEvent::Applied(config) => server.settings.see_config(&config),
                WatchEvent::Deleted(_) => server.settings.see_config(&Value::Null),
                _ => {}
            },
            else => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_admin_can_log_in_unless_it_is_switched_off() {
        let settings = Settings::new(&Value::Null, &Value::Null);
        let admin = settings.account(ADMIN).expect("there");
        assert_eq!((admin.enabled, admin.capabilities), (true, vec!["login".to_owned()]));
        let off = Settings::new(&Value::Null, &json!({"data": {"admin.enabled": "false"}}));
        assert!(!off.account(ADMIN).expect("there").enabled);
    }

    #[test]
    fn accounts_have_the_capabilities_that_are_written() {
        let config = json!({"data": {
            "accounts.ci": "apiKey, login,fly", "accounts.ci.enabled": "false", "accounts.": "login"
        }});
        let settings = Settings::new(&Value::Null, &config);
        let ci = settings.account("ci").expect("there");
        assert_eq!(ci.capabilities, ["apiKey", "login"]);
        assert!(!ci.enabled);
        assert_eq!(settings.accounts().len(), 2);
        assert_eq!(settings.account("nobody"), None);
    }

    #[test]
    fn a_session_lasts_a_day_unless_the_settings_say() {
        let lasts = |text: &str| {
            let config = json!({"data": {"users.session.duration": text}});
            Settings::new(&Value::Null, &config).session_duration().as_secs()
        };
        assert_eq!((lasts("1h"), lasts("soon"), lasts("")), (3600, 86_400, 86_400));
    }
}
