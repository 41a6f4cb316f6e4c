//! Secrets that describe clusters and repositories, laid out as Argo CD's.
//!
//! A label says what a Secret is about. One that we made carries an annotation
//! too and is deleted with what it describes; one that a user wrote only loses
//! its label.

use std::collections::BTreeMap;

use ::cluster::{RequestError, Selector};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wire::Status;

use crate::failure::refused;
use crate::project::replacing;
use crate::store::{SECRETS, Store};

/// The label that says what a Secret is about.
pub(crate) const TYPE_LABEL: &str = "argocd.argoproj.io/secret-type";
const MANAGED_BY: &str = "managed-by";
const ARGO_CD: &str = "argocd.argoproj.io";
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What a Secret says. Never printed.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Credential {
    pub(crate) secret: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) data: BTreeMap<String, String>,
}

impl Credential {
    pub(crate) fn new(secret: String) -> Self {
        Self { secret, ..Self::default() }
    }

    fn read(secret: &Value) -> Self {
        let texts = |path: &str| -> BTreeMap<String, String> {
            let fields = secret.pointer(path).and_then(Value::as_object).into_iter().flatten();
            fields.filter_map(|(key, it)| Some((key.clone(), it.as_str()?.to_owned()))).collect()
        };
        let data = texts("/data").into_iter().filter_map(|(key, text)| {
            let bytes = STANDARD.decode(text).ok()?;
            Some((key, String::from_utf8_lossy(&bytes).into_owned()))
        });
        Self {
            secret: secret["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            labels: texts("/metadata/labels"),
            annotations: texts("/metadata/annotations"),
            data: data.collect(),
        }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.data.get(key).map_or("", String::as_str)
    }

    pub(crate) fn is_set(&self, key: &str) -> bool {
        matches!(self.text(key), "1" | "t" | "T" | "true" | "TRUE" | "True")
    }

    pub(crate) fn number(&self, key: &str) -> i64 {
        self.text(key).parse().unwrap_or(0)
    }

    /// Sets a text; an empty one leaves no key.
    pub(crate) fn set(&mut self, key: &str, text: &str) {
        if text.is_empty() {
            self.data.remove(key);
        } else {
            self.data.insert(key.to_owned(), text.to_owned());
        }
    }

    pub(crate) fn set_flag(&mut self, key: &str, flag: bool) {
        self.set(key, if flag { "true" } else { "" });
    }

    pub(crate) fn set_number(&mut self, key: &str, number: i64) {
        self.set(key, &if number == 0 { String::new() } else { number.to_string() });
    }

    fn encoded(&self) -> Value {
        let encoded = |text: &String| Value::String(STANDARD.encode(text));
        self.data.iter().map(|(key, text)| (key.clone(), encoded(text))).collect()
    }
}

/// All of a type, in the order of their names.
pub(crate) async fn all(store: &Store, kind: &str) -> Result<Vec<Credential>, Status> {
    let selector = Selector::labels(&format!("{TYPE_LABEL}={kind}"));
    let secrets = store.client().list(&SECRETS, store.namespace(), &selector).await;
    let secrets = secrets.map_err(|error| refused("could not list secrets", &error))?;
    Ok(secrets.into_iter().map(|it| Credential::read(&it.into_value())).collect())
}

/// Makes a Secret. A conflict is told as such: it exists already.
pub(crate) async fn create(
    store: &Store,
    kind: &str,
    credential: &Credential,
) -> Result<(), RequestError> {
    let (mut labels, mut annotations) = (credential.labels.clone(), credential.annotations.clone());
    labels.insert(TYPE_LABEL.into(), kind.into());
    annotations.insert(MANAGED_BY.into(), ARGO_CD.into());
    let secret = json!({
        "metadata": {
            "name": credential.secret,
            "namespace": store.namespace(),
            "labels": labels,
            "annotations": annotations,
        },
        "type": "Opaque",
        "data": credential.encoded(),
    });
    store.create::<Value>(&SECRETS, &secret).await.map(drop)
}

/// Writes a changed Secret over the one it was read from.
pub(crate) async fn update(
    store: &Store,
    before: &Credential,
    after: &Credential,
) -> Result<(), Status> {
    let patch = json!({
        "metadata": {
            "labels": replacing(&json!(before.labels), &json!(after.labels)),
            "annotations": replacing(&json!(before.annotations), &json!(after.annotations)),
        },
        "data": replacing(&before.encoded(), &after.encoded()),
    });
    let written = store.merge::<Value>(&SECRETS, &before.secret, &patch).await;
    written.map(drop).map_err(|error| refused("could not update the secret", &error))
}

/// Deletes a Secret of ours; one of a user only stops to count.
pub(crate) async fn delete(store: &Store, credential: &Credential) -> Result<(), Status> {
    let failed = |error: RequestError| refused("could not delete the secret", &error);
    if credential.annotations.get(MANAGED_BY).is_some_and(|it| it == ARGO_CD) {
        return store.delete(&SECRETS, &credential.secret).await.map(drop).map_err(failed);
    }
    let patch = json!({"metadata": {"labels": {TYPE_LABEL: null}}});
    let written = store.merge::<Value>(&SECRETS, &credential.secret, &patch).await;
    written.map(drop).map_err(failed)
}

/// FNV-1a, 32 bits: what Argo CD derives names of Secrets with.
pub(crate) fn fnv(parts: &[&str]) -> u32 {
    let bytes = parts.iter().flat_map(|it| it.bytes());
    bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_published_vectors() {
        assert_eq!(
            (fnv(&[""]), fnv(&["a"]), fnv(&["foo", "bar"])),
            (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968)
        );
    }

    #[test]
    fn an_empty_value_leaves_no_key() {
        let mut credential = Credential::new("a".into());
        credential.set("name", "x");
        credential.set("name", "");
        credential.set_flag("insecure", true);
        credential.set_number("depth", 0);
        assert_eq!(credential.data, BTreeMap::from([("insecure".to_owned(), "true".to_owned())]));
        assert!(credential.is_set("insecure") && !credential.is_set("other"));
    }

    #[test]
    fn a_secret_is_read_as_it_is_written() {
        let secret = json!({
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "data": {"url": "aHR0cHM6Ly9h", "broken": "%"},
        });
        let read = Credential::read(&secret);
        assert_eq!((read.secret.as_str(), read.text("url")), ("a", "https://a"));
        assert_eq!(read.encoded(), json!({"url": "aHR0cHM6Ly9h"}));
    }
}
