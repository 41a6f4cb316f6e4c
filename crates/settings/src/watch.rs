//! Follows the objects that settings are made from.
//!
//! The only file here that knows a cluster. Every change makes a new snapshot;
//! who subscribed is woken. Nothing is made anew while nothing changed.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cluster::{ApiKind, Client, Randomness, RequestError, Scope, Selector, WatchEvent};
use futures::StreamExt as _;
use object::GroupVersionKind;
use serde_json::Value;
use tokio::sync::watch;

use crate::sources::texts;
use crate::{SecretObject, Settings, Sources, names};

static CONFIG_MAPS: LazyLock<ApiKind> = LazyLock::new(|| {
    ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true)
});
static SECRETS: LazyLock<ApiKind> =
    LazyLock::new(|| ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true));

/// The current settings, and whom to tell when they change.
pub struct SettingsStore {
    known: Mutex<Known>,
    current: watch::Sender<Arc<Settings>>,
}

#[derive(Default)]
struct Known {
    sources: Sources,
    /// Versions of ConfigMaps; those of Secrets are in the sources.
    versions: std::collections::BTreeMap<String, String>,
}

impl SettingsStore {
    /// The settings that these sources make. Nothing is followed yet.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        let current = watch::Sender::new(Arc::new(Settings::read(&sources)));
        Self { known: Mutex::new(Known { sources, ..Known::default() }), current }
    }

    /// Reads the settings of a namespace.
    ///
    /// # Errors
    /// When the API server does not give them.
    pub async fn load(client: &Client, namespace: &str) -> Result<Self, RequestError> {
        let store = Self::new(Sources::default());
        store.reload(client, namespace).await?;
        Ok(store)
    }

    /// Reads everything again, so that what somebody else wrote counts from now
    /// on and not from when the watch tells.
    ///
    /// # Errors
    /// When the API server does not give it.
    pub async fn reload(&self, client: &Client, namespace: &str) -> Result<(), RequestError> {
        let everything = Selector::everything();
        let config_maps = client.list(&CONFIG_MAPS, namespace, &everything).await?;
        let secrets = client.list(&SECRETS, namespace, &everything).await?;
        self.change(|known| {
            let names = secrets.iter().map(|it| it.name().to_owned()).collect();
            for object in config_maps {
                known.see_config_map(&object.into_value());
            }
            for object in secrets {
                known.see_secret(&object.into_value());
            }
            known.keep_secrets(&names);
        });
        Ok(())
    }

    /// The settings as they are now.
    #[must_use]
    pub fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.current.borrow())
    }

    /// Wakes its holder at every change.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.current.subscribe()
    }

    /// Takes over a ConfigMap that we wrote ourselves, before the watch tells.
    pub fn see_config_map(&self, object: &Value) {
        self.change(|known| known.see_config_map(object));
    }

    /// Takes over a Secret that we wrote ourselves, before the watch tells.
    pub fn see_secret(&self, object: &Value) {
        self.change(|known| known.see_secret(object));
    }

    /// Forgets a Secret that we deleted ourselves.
    pub fn forget_secret(&self, name: &str) {
        self.change(|known| known.forget_secret(name));
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.sources.clone();
        change(&mut known);
        if known.sources == before {
            return;
        }
        let settings = Settings::read(&known.sources);
        tell(&settings, &self.current());
        // Still under the lock: a later change must not be overtaken by an earlier one.
        self.current.send_replace(Arc::new(settings));
    }

    /// Follows ConfigMaps and Secrets of the namespace. Does not end.
    pub async fn follow(&self, client: &Client, namespace: &str, random: &Randomness) {
        let watch = |kind| {
            let scope = Scope::Namespace(namespace.to_owned());
            client.watch::<Value>(kind, scope, Selector::everything(), random.clone())
        };
        let (mut config_maps, mut secrets) = (pin!(watch(&CONFIG_MAPS)), pin!(watch(&SECRETS)));
        let (mut listed_maps, mut listed_secrets) = (Listing::default(), Listing::default());
        loop {
            tokio::select! {
                Some(event) = config_maps.next() => match event {
                    WatchEvent::Restarted => listed_maps.begin(),
                    WatchEvent::Applied(object) => {
                        listed_maps.note(&object);
                        self.see_config_map(&object);
                    }
                    WatchEvent::Deleted(object) => {
                        self.change(|known| known.forget_config_map(name(&object)));
                    }
                    WatchEvent::Synced => if let Some(names) = listed_maps.end() {
                        self.change(|known| known.keep_config_maps(&names));
                    },
                    _ => {}
                },
                Some(event) = secrets.next() => match event {
                    WatchEvent::Restarted => listed_secrets.begin(),
                    WatchEvent::Applied(object) => {
                        listed_secrets.note(&object);
                        self.see_secret(&object);
                    }
                    WatchEvent::Deleted(object) => self.forget_secret(name(&object)),
                    WatchEvent::Synced => if let Some(names) = listed_secrets.end() {
                        self.change(|known| known.keep_secrets(&names));
                    },
                    _ => {}
                },
                else => return,
            }
        }
    }
}

/// The names that a list has told so far.
#[derive(Default)]
struct Listing(Option<BTreeSet<String>>);

impl Listing {
    fn begin(&mut self) {
        self.0 = Some(BTreeSet::new());
    }

    fn note(&mut self, object: &Value) {
        if let Some(names) = &mut self.0 {
            names.insert(name(object).to_owned());
        }
    }

    fn end(&mut self) -> Option<BTreeSet<String>> {
        self.0.take()
    }
}

impl Known {
    fn see_config_map(&mut self, object: &Value) {
        let name = name(object);
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let known = self.versions.get(name).map_or("", String::as_str);
        if !names::CONFIG_MAPS.contains(&name) || is_older(version, known) {
            return;
        }
        self.versions.insert(name.to_owned(), version.to_owned());
        self.sources.config_maps.insert(name.to_owned(), texts(&object["data"]));
    }

    fn forget_config_map(&mut self, name: &str) {
        self.versions.remove(name);
        self.sources.config_maps.remove(name);
    }

    fn keep_config_maps(&mut self, names: &BTreeSet<String>) {
        self.sources.config_maps.retain(|name, _| names.contains(name));
        self.versions.retain(|name, _| names.contains(name));
    }

    fn see_secret(&mut self, object: &Value) {
        let secret = SecretObject::from_value(object);
        let known = self.sources.secrets.get(&secret.name);
        if known.is_some_and(|it| is_older(&secret.resource_version, &it.resource_version)) {
            return;
        }
        if secret.concerns_us() {
            self.sources.secrets.insert(secret.name.clone(), secret);
        } else {
            self.sources.secrets.remove(&secret.name);
        }
    }

    /// Without argocd-secret nobody could log in, and every token would be void:
    /// a delete by mistake changes nothing until it is there again.
    fn forget_secret(&mut self, name: &str) {
        if name != names::SECRET {
            self.sources.secrets.remove(name);
        }
    }

    fn keep_secrets(&mut self, names: &BTreeSet<String>) {
        let keeps = |name: &str| names.contains(name) || name == names::SECRET;
        self.sources.secrets.retain(|name, _| keeps(name));
    }
}

/// A watch may tell of a state from before what we wrote ourselves.
fn is_older(version: &str, known: &str) -> bool {
    match (version.parse::<u64>(), known.parse::<u64>()) {
        (Ok(version), Ok(known)) => version < known,
        _ => false,
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Every finding is told once, when it appears.
fn tell(settings: &Settings, before: &Settings) {
    for finding in settings.findings.iter().filter(|it| !before.findings.contains(it)) {
        tracing::warn!(
            object = finding.object,
            key = finding.key,
            "a setting cannot be used: {}",
            finding.message
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(version: &str, url: &str) -> Value {
        json!({"metadata": {"name": "argocd-cm", "resourceVersion": version}, "data": {"url": url}})
    }

    #[test]
    fn a_change_wakes_subscribers_and_a_repetition_does_not() {
        let store = SettingsStore::new(Sources::default());
        let mut subscriber = store.subscribe();
        store.see_config_map(&config("1", "https://a"));
        assert!(subscriber.has_changed().expect("the store is there"));
        assert_eq!(subscriber.borrow_and_update().server.url, "https://a");
        store.see_config_map(&config("2", "https://a"));
        assert!(!subscriber.has_changed().expect("the store is there"));
    }

    #[test]
    fn an_older_state_does_not_undo_what_we_wrote() {
        let store = SettingsStore::new(Sources::default());
        store.see_config_map(&config("10", "https://new"));
        store.see_config_map(&config("9", "https://old"));
        assert_eq!(store.current().server.url, "https://new");
    }

    #[test]
    fn losing_argocd_secret_logs_nobody_out() {
        let store = SettingsStore::new(Sources::default());
        let secret =
            json!({"metadata": {"name": "argocd-secret"}, "data": {"server.secretkey": "a2V5"}});
        store.see_secret(&secret);
        store.forget_secret("argocd-secret");
        store.change(|known| known.keep_secrets(&BTreeSet::new()));
        assert_eq!(store.current().session.signing_key.text(), "key");
    }

    #[test]
    fn secrets_of_others_are_not_held() {
        let store = SettingsStore::new(Sources::default());
        let secret = json!({"metadata": {"name": "database"}, "data": {"password": "eA=="}});
        store.see_secret(&secret);
        let known = store.known.lock().expect("no test panicked with it");
        assert!(known.sources.secrets.is_empty());
    }
}
