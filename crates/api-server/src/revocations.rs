//! Tokens that are good no more although their time has not come: logouts.
//!
//! Argo CD keeps these in Redis. Here they are in a ConfigMap of the control
//! plane, so that a restart does not bring a token back and other replicas
//! learn of it by their watch. An id is hashed, which makes any id a fit key
//! and tells a reader nothing; it is dropped when the token would have expired.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::cluster::{RequestError, Scope, Selector, WatchEvent};
use futures::StreamExt as _;
use ring::digest;
use serde_json::{Map, Value, json};

use crate::ApiServer;
use crate::store::{CONFIG_MAPS, Store};

/// Where they are kept.
const NAME: &str = "argosy-revoked-tokens";

/// Hashed ids with when they expire, in seconds since 1970.
#[derive(Default)]
pub(crate) struct Revocations(Mutex<BTreeMap<String, i64>>);

impl Revocations {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn contain(&self, id: &str) -> bool {
        self.known().contains_key(&key(id))
    }

    /// Never forgets one before its time: a watch may tell of a state from before our write.
    fn see(&self, config_map: &Value) {
        let data = config_map["data"].as_object().into_iter().flatten();
        let told = data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.parse().ok()?)));
        self.known().extend(told);
    }

    /// Those whose tokens have expired by themselves.
    fn drop_expired(&self, now: i64) -> Vec<String> {
        let mut known = self.known();
        let expired: Vec<String> = known
            .iter()
            .filter(|(_, expires)| **expires < now)
            .map(|(key, _)| key.clone())
            .collect();
        known.retain(|_, expires| *expires >= now);
        expired
    }
}

fn key(id: &str) -> String {
    let hash = digest::digest(&digest::SHA256, id.as_bytes());
    hash.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Revokes a token, here at once and for good in the control plane.
///
/// # Errors
/// When the control plane does not take it: then it is revoked in this process only.
pub(crate) async fn revoke(
    server: &ApiServer,
    id: &str,
    expires_at: i64,
    now: i64,
) -> Result<(), RequestError> {
    let key = key(id);
    server.revocations.known().insert(key.clone(), expires_at);
    let mut data: Map<String, Value> =
        server.revocations.drop_expired(now).into_iter().map(|key| (key, Value::Null)).collect();
    data.insert(key, expires_at.to_string().into());
    let patch = json!({ "data": data });
    let store = &server.store;
    match store.merge::<Value>(&CONFIG_MAPS, NAME, &patch).await {
        Err(error) if error.is_not_found() => {}
        result => return result.map(|_| ()),
    }
    data.retain(|_, value| !value.is_null());
    let labels = json!({ "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "argocd" });
    let object = json!({ "metadata": { "name": NAME, "labels": labels }, "data": data });
    match store.create::<Value>(&CONFIG_MAPS, &object).await {
        // Somebody else made it meanwhile.
        Err(error) if error.is_conflict() => {
            store.merge::<Value>(&CONFIG_MAPS, NAME, &patch).await.map(|_| ())
        }
        result => result.map(|_| ()),
    }
}

/// What was revoked before we started.
pub(crate) async fn load(store: &Store) -> Result<Revocations, RequestError> {
    let revocations = Revocations::default();
    if let Some(config_map) = store.get::<Value>(&CONFIG_MAPS, NAME).await? {
        revocations.see(&config_map);
    }
    Ok(revocations)
}

/// Learns what other replicas revoke. Does not end.
pub(crate) async fn follow(server: &ApiServer) {
    let selector = Selector { fields: format!("metadata.name={NAME}"), ..Selector::default() };
    let scope = Scope::Namespace(server.options.namespace.clone());
    let random = server.options.random.clone();
    let mut events =
        pin!(server.store.client().watch::<Value>(&CONFIG_MAPS, scope, selector, random));
    while let Some(event) = events.next().await {
        if let WatchEvent::Applied(config_map) = event {
            server.revocations.see(&config_map);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revoked_token_stays_revoked_until_it_would_have_expired() {
        let revocations = Revocations::default();
        revocations.see(&json!({"data": {key("a"): "100", key("b"): "300", "odd": "x"}}));
        revocations.see(&json!({"data": {}}));
        assert!(revocations.contain("a") && revocations.contain("b") && !revocations.contain("c"));
        assert_eq!(revocations.drop_expired(200), [key("a")]);
        assert!(!revocations.contain("a") && revocations.contain("b"));
    }
}
