//! Services that the API server passes requests on to: `extension.config` and
//! `extension.config.<name>`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::reader::{Reader, duration};
use crate::{Secret, Sources};

const KEY: &str = "extension.config";

/// A name in the API, and the services behind it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Extension {
    /// What it is called in addresses and policies.
    pub name: String,
    /// The services behind it.
    pub backend: Backend,
}

/// The services behind an extension.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Backend {
    /// How long a connection may take to open; empty for two seconds.
    connection_timeout: Value,
    /// How long an idle connection is kept; empty for a minute.
    idle_connection_timeout: Value,
    /// How many of them; none for 30.
    pub max_idle_connections: Option<usize>,
    /// One, or one per cluster.
    pub services: Vec<Service>,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Where it is.
    pub url: String,
    /// The cluster that it is for, where there are several services.
    pub cluster: Option<Cluster>,
    /// Headers that it is sent.
    pub headers: Vec<Header>,
}

/// The cluster that a service is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// By address.
    pub server: String,
    /// By name.
    pub name: String,
}

/// A header that a service is sent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value, references to Secrets resolved.
    #[serde(deserialize_with = "scalar")]
    pub value: Secret,
}

/// A header is text, also where YAML sees a number or a flag.
fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Secret::from(text.as_str()),
        Value::Null => Secret::default(),
        other => Secret::from(other.to_string().as_str()),
    })
}

impl Backend {
    /// How long a connection may take to open.
    #[must_use]
    pub fn connection_timeout(&self) -> Duration {
        read_duration(&self.connection_timeout, Duration::from_secs(2))
    }

    /// How long an idle connection is kept.
    #[must_use]
    pub fn idle_connection_timeout(&self) -> Duration {
        read_duration(&self.idle_connection_timeout, Duration::from_secs(60))
    }
}

fn read_duration(value: &Value, default: Duration) -> Duration {
    match value {
        // As Go reads a number where it wants a duration.
        Value::Number(nanoseconds) => nanoseconds.as_u64().map_or(default, Duration::from_nanos),
        Value::String(text) => duration(text).unwrap_or(default),
        _ => default,
    }
}

impl Extension {
    /// The service for an Application that goes there. One alone is for all.
    #[must_use]
    pub fn service_for(&self, server: &str, name: &str) -> Option<&Service> {
        if let [only] = &self.backend.services[..] {
            return Some(only);
        }
        let is_for = |it: &Cluster| match (name, server) {
            ("", "") => false,
            (name, "") => it.name == name,
            ("", server) => it.server == server,
            (name, server) => it.name == name && it.server == server,
        };
        self.backend.services.iter().find(|it| it.cluster.as_ref().is_some_and(is_for))
    }

    /// What is wrong with it.
    fn objection(&self) -> Option<String> {
        let is_safe = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        let services = &self.backend.services;
        let told = if self.name.is_empty() {
            "extensions.name must be configured"
        } else if !self.name.chars().all(is_safe) {
            "invalid extensions.name: only alphanumeric characters, hyphens, and underscores are allowed"
        } else if services.is_empty() {
            return Some(format!("no backend service configured for extension {}", self.name));
        } else if services.iter().any(|it| it.url.is_empty()) {
            "extensions.backend.services.url must be configured"
        } else if services.len() > 1 && services.iter().any(|it| it.cluster.is_none()) {
            "extensions.backend.services.cluster must be configured when defining more than one service per extension"
        } else if services
            .iter()
            .filter_map(|it| it.cluster.as_ref())
            .any(|it| *it == Cluster::default())
        {
            "cluster.name or cluster.server must be defined when cluster is provided in the configuration"
        } else if services.iter().flat_map(|it| &it.headers).any(|it| it.name.is_empty()) {
            "header.name must be defined when providing service headers in the configuration"
        } else if services.iter().flat_map(|it| &it.headers).any(|it| it.value.is_empty()) {
            "header.value must be defined when providing service headers in the configuration"
        } else {
            return None;
        };
        Some(told.to_owned())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Main {
    extensions: Vec<Extension>,
}

/// One bad extension does not take the others with it.
pub(crate) fn read(reader: &mut Reader<'_>, sources: &Sources) -> Vec<Extension> {
    let keys: Vec<String> = reader.data.keys().filter(|it| it.starts_with(KEY)).cloned().collect();
    let mut extensions = Vec::new();
    let mut names = BTreeSet::new();
    for key in keys {
        let value: Value = reader.yaml(&key);
        let value = sources.resolve_all(value);
        let read = match key[KEY.len()..].strip_prefix('.') {
            None if key.len() > KEY.len() => continue,
            None => serde_json::from_value::<Option<Main>>(value)
                .map(|it| it.unwrap_or_default().extensions),
            Some(name) => serde_json::from_value::<Option<Backend>>(value).map(|backend| {
                vec![Extension { name: name.to_owned(), backend: backend.unwrap_or_default() }]
            }),
        };
        // The error could repeat a resolved secret.
        let Ok(read) = read else {
            reader.find(&key, "this does not have the expected form");
            continue;
        };
        for extension in read {
            if let Some(objection) = extension.objection() {
                reader.find(&key, objection);
            } else if !names.insert(extension.name.clone()) {
                let name = &extension.name;
                reader
                    .find(&key, format!("duplicated extension found in the configs for {name:?}"));
            } else {
                extensions.push(extension);
            }
        }
    }
    extensions
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read_from(entries: &[(&str, &str)]) -> (Vec<Extension>, Vec<String>) {
        let data: BTreeMap<String, String> =
            entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        let mut findings = Vec::new();
        let mut reader = Reader { object: "argocd-cm", data: &data, findings: &mut findings };
        let read = read(&mut reader, &Sources::default());
        (read, findings.into_iter().map(|it| it.message).collect())
    }

    #[test]
    fn extensions_come_together_or_one_by_one() {
        let (read, findings) = read_from(&[
            (
                "extension.config",
                "extensions: [{name: a, backend: {connectionTimeout: 5s, services: [{url: 'http://a'}]}}]",
            ),
            ("extension.config.b", "services: [{url: 'http://b', headers: [{name: X, value: 7}]}]"),
            ("extension.configurator", "nonsense"),
        ]);
        assert_eq!(findings, [""; 0]);
        assert_eq!(read.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(read[0].backend.connection_timeout(), Duration::from_secs(5));
        assert_eq!(read[1].backend.connection_timeout(), Duration::from_secs(2));
        assert_eq!(read[1].backend.services[0].headers[0].value.text(), "7");
    }

    #[track_caller]
    fn check(backend: &str, expect: &str) {
        let (read, findings) = read_from(&[("extension.config.x", backend)]);
        assert_eq!((read, findings), (Vec::new(), vec![expect.to_owned()]));
    }

    #[test]
    fn what_is_wrong_is_told_and_the_others_stay() {
        check("services: []", "no backend service configured for extension x");
        check("services: [{}]", "extensions.backend.services.url must be configured");
        check(
            "services: [{url: a}, {url: b}]",
            "extensions.backend.services.cluster must be configured when defining more than one service per extension",
        );
        check(
            "services: [{url: a, cluster: {}}]",
            "cluster.name or cluster.server must be defined when cluster is provided in the configuration",
        );
        check(
            "services: [{url: a, headers: [{name: x}]}]",
            "header.value must be defined when providing service headers in the configuration",
        );
        let (read, findings) = read_from(&[
            ("extension.config.a", "services: [{url: a}]"),
            ("extension.config.b c", "services: [{url: b}]"),
        ]);
        assert_eq!((read.len(), findings.len()), (1, 1));
    }

    #[test]
    fn several_services_are_told_apart_by_cluster() {
        let (read, _) = read_from(&[(
            "extension.config.x",
            "services: [{url: a, cluster: {name: one}}, {url: b, cluster: {server: 'https://two'}}]",
        )]);
        let url = |server, name| read[0].service_for(server, name).map(|it| it.url.as_str());
        assert_eq!(url("", "one"), Some("a"));
        assert_eq!(url("https://two", ""), Some("b"));
        assert_eq!(url("https://three", ""), None);
        assert_eq!(url("", ""), None);
    }
}
