//! What settings are made from: the data of the objects, without the objects.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::Secret;

/// The names of the objects that settings are read from.
pub mod names {
    /// Most settings.
    pub const CONFIG: &str = "argocd-cm";
    /// Policies.
    pub const RBAC: &str = "argocd-rbac-cm";
    /// Flags of the processes.
    pub const PARAMS: &str = "argocd-cmd-params-cm";
    /// Certificate authorities of repository servers.
    pub const TLS_CERTS: &str = "argocd-tls-certs-cm";
    /// Host keys of repository servers.
    pub const KNOWN_HOSTS: &str = "argocd-ssh-known-hosts-cm";
    /// Keys that commits are signed with.
    pub const GPG_KEYS: &str = "argocd-gpg-keys-cm";
    /// Passwords, the signing key, shared secrets.
    pub const SECRET: &str = "argocd-secret";
    /// A certificate for the API server that somebody else manages.
    pub const SERVER_TLS: &str = "argocd-server-tls";

    /// Says what a Secret is for: `cluster`, `repository`, `repo-creds`, …
    pub const LABEL_SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";
    /// With the value `argocd`: values of this object may be referred to.
    pub const LABEL_PART_OF: &str = "app.kubernetes.io/part-of";

    pub(crate) const CONFIG_MAPS: [&str; 6] =
        [CONFIG, RBAC, PARAMS, TLS_CERTS, KNOWN_HOSTS, GPG_KEYS];
}

/// The data of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// ConfigMaps by name; one that does not exist is as good as an empty one.
    pub config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Secrets by name.
    pub secrets: BTreeMap<String, SecretObject>,
}

/// A Secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretObject {
    /// Its name.
    pub name: String,
    /// Its id in the cluster.
    pub uid: String,
    /// Which version of it this is.
    pub resource_version: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its values.
    pub data: BTreeMap<String, Secret>,
}

static NO_DATA: BTreeMap<String, String> = BTreeMap::new();

impl Sources {
    /// The data of a ConfigMap.
    #[must_use]
    pub fn config_map(&self, name: &str) -> &BTreeMap<String, String> {
        self.config_maps.get(name).unwrap_or(&NO_DATA)
    }

    /// A value of a Secret.
    #[must_use]
    pub fn secret(&self, name: &str, key: &str) -> Option<&Secret> {
        self.secrets.get(name)?.data.get(key)
    }

    /// The Secrets of a type.
    pub fn secrets_of_type<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s SecretObject> {
        self.secrets.values().filter(move |it| it.secret_type() == kind)
    }

    /// What `$key` or `$secret:key` refers to. Any other text is itself; so is
    /// a reference to nothing.
    #[must_use]
    pub fn resolve(&self, text: &str) -> String {
        let Some(reference) = text.strip_prefix('$') else { return text.to_owned() };
        let own = self.secret(names::SECRET, reference);
        let value = own.or_else(|| {
            let (name, key) = reference.split_once(':')?;
            let secret = self.secrets.get(name).filter(|it| it.is_part_of_argocd())?;
            secret.data.get(key)
        });
        value.map_or_else(|| text.to_owned(), |it| it.text().trim().to_owned())
    }

    /// [`Self::resolve`] for every text in a tree.
    #[must_use]
    pub fn resolve_all(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.resolve(&text)),
            Value::Array(items) => items.into_iter().map(|it| self.resolve_all(it)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, it)| (key, self.resolve_all(it))).collect()
            }
            other => other,
        }
    }
}

impl SecretObject {
    /// Reads a Secret as the API server gives it.
    #[must_use]
    pub fn from_value(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let data = object["data"].as_object().into_iter().flatten();
        let data = data.filter_map(|(key, text)| {
            Some((key.clone(), Secret::new(STANDARD.decode(text.as_str()?).ok()?)))
        });
        Self {
            name: text("name"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            labels: texts(&metadata["labels"]),
            annotations: texts(&metadata["annotations"]),
            data: data.collect(),
        }
    }

    /// What the label says it is for; empty without one.
    #[must_use]
    pub fn secret_type(&self) -> &str {
        self.labels.get(names::LABEL_SECRET_TYPE).map_or("", String::as_str)
    }

    pub(crate) fn is_part_of_argocd(&self) -> bool {
        self.labels.get(names::LABEL_PART_OF).is_some_and(|it| it == "argocd")
    }

    /// Is there anything in it that settings are made from?
    pub(crate) fn concerns_us(&self) -> bool {
        matches!(self.name.as_str(), names::SECRET | names::SERVER_TLS)
            || self.is_part_of_argocd()
            || !self.secret_type().is_empty()
    }

    /// A value; empty when it is not there.
    #[must_use]
    pub fn value(&self, key: &str) -> Secret {
        self.data.get(key).cloned().unwrap_or_default()
    }

    /// A value that is no secret; empty when it is not there.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.data.get(key).map_or("", Secret::text)
    }
}

/// A map of texts.
pub(crate) fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sources() -> Sources {
        let mut sources = Sources::default();
        for object in [
            json!({"metadata": {"name": "argocd-secret"}, "data": {"oidc": "IGtleSA=", "a:b": "YzE="}}),
            json!({"metadata": {"name": "a", "labels": {"app.kubernetes.io/part-of": "argocd"}},
                   "data": {"b": "YzI=", "c": "YzM="}}),
            json!({"metadata": {"name": "foreign"}, "data": {"b": "eA=="}}),
        ] {
            let secret = SecretObject::from_value(&object);
            sources.secrets.insert(secret.name.clone(), secret);
        }
        sources
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(sources().resolve(text), expect);
    }

    #[test]
    fn references_are_looked_up_and_trimmed() {
        check("$oidc", "key");
        check("$a:c", "c3");
        check("$a:b", "c1");
        check("plain", "plain");
    }

    #[test]
    fn a_reference_to_nothing_or_to_a_foreign_secret_stays_as_it_is() {
        check("$nothing", "$nothing");
        check("$foreign:b", "$foreign:b");
    }
}
