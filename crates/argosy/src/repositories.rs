//! What the control plane says about repositories: Secrets with credentials,
//! trusted certificates and host keys, and the settings of the tools. Read
//! again every few seconds, so that a change counts without a restart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{ApiKind, Client, Selector};
use object::{GroupVersionKind, Object};
use render::EnabledSourceTypes;
use repo_server::{CredentialBook, RepoCredentials};
use runtime::{Chain, Shutdown};

use crate::sources::InProcess;

const EVERY: Duration = Duration::from_secs(5);
const TYPE: &str = "argocd.argoproj.io/secret-type";

/// What the settings say about rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RenderSettings {
    pub(crate) enabled: EnabledSourceTypes,
    pub(crate) values_file_schemes: Vec<String>,
    pub(crate) kustomize_build_options: String,
}

impl Default for RenderSettings {
    fn default() -> Self {
        Self::of(&BTreeMap::new())
    }
}

impl RenderSettings {
    /// Reads the data of argocd-cm.
    fn of(settings: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| settings.get(key).map_or("", String::as_str).trim();
        let is_on = |key: &str| text(key) != "false";
        let schemes = match text("helm.valuesFileSchemes") {
            "" => "http,https",
            schemes => schemes,
        };
        Self {
            enabled: EnabledSourceTypes {
                helm: is_on("helm.enable"),
                kustomize: is_on("kustomize.enable"),
                jsonnet: is_on("jsonnet.enable"),
            },
            values_file_schemes: schemes.split(',').map(|it| it.trim().to_owned()).collect(),
            kustomize_build_options: text("kustomize.buildOptions").to_owned(),
        }
    }
}

/// Keeps the repo server's knowledge up to date until the end.
pub(crate) async fn keep(
    sources: Arc<InProcess>,
    client: Client,
    namespace: String,
    shutdown: Shutdown,
) {
    loop {
        if let Err(error) = read_once(&sources, &client, &namespace).await {
            tracing::warn!(error = %Chain(&error), "could not read the credentials of repositories");
        }
        if shutdown.or_end(tokio::time::sleep(EVERY)).await.is_none() {
            return;
        }
    }
}

/// Reads everything once, so that what was written before counts from now on.
pub(crate) async fn read_once(
    sources: &InProcess,
    client: &Client,
    namespace: &str,
) -> Result<(), cluster::RequestError> {
    let secret = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let labels = Selector::labels(&format!("{TYPE} in (repository,repo-creds)"));
    let secrets = client.list(&secret, namespace, &labels).await?;
    let certificates = config_map(client, namespace, "argocd-tls-certs-cm").await?;
    let hosts = config_map(client, namespace, "argocd-ssh-known-hosts-cm").await?;
    let settings = config_map(client, namespace, "argocd-cm").await?;
    sources.server.set_credentials(book(&secrets, certificates, &hosts));
    sources.set_render_settings(RenderSettings::of(&settings));
    Ok(())
}

async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, String>, cluster::RequestError> {
    let kind = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    let found = client.get(&kind, namespace, name).await?;
    let data = found.and_then(|it| it.into_value().get_mut("data").map(serde_json::Value::take));
    Ok(data.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default())
}

/// Repositories of one project are left out: their credentials are nobody else's.
fn book(
    secrets: &[Object],
    certificates: BTreeMap<String, String>,
    hosts: &BTreeMap<String, String>,
) -> CredentialBook {
    let mut book = CredentialBook {
        certificates,
        known_hosts: hosts.get("ssh_known_hosts").cloned().unwrap_or_default(),
        ..CredentialBook::default()
    };
    for secret in secrets {
        let data = decoded(secret);
        let Some(url) = data.get("url").filter(|it| !it.is_empty()) else { continue };
        let entry = (url.clone(), RepoCredentials::from_secret(&data));
        if let Some(name) = data.get("name").filter(|it| !it.is_empty()) {
            book.names.insert(name.clone(), url.clone());
        }
        match secret.text(&["metadata", "labels", TYPE]) {
            Some("repo-creds") => book.templates.push(entry),
            _ if data.get("project").is_none_or(String::is_empty) => book.repositories.push(entry),
            _ => {}
        }
    }
    book
}

fn decoded(secret: &Object) -> BTreeMap<String, String> {
    let data = secret.fields().get("data").and_then(serde_json::Value::as_object);
    let entries = data.into_iter().flatten().filter_map(|(key, value)| {
        let bytes = STANDARD.decode(value.as_str()?).ok()?;
        Some((key.clone(), String::from_utf8(bytes).ok()?))
    });
    entries.collect()
}
