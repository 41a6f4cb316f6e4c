//! Asks a cluster itself: whether it answers to what we were told about it, and
//! for a new token of the service account that we enter it by.

use std::time::Duration;

use ::cluster::{ApiKind, Client, ConnectError, RequestError};
use ::settings::clusters::ClusterSettings;
use api::names::IN_CLUSTER_SERVER;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use object::{GroupVersionKind, Object};
use serde::Deserialize;
use serde_json::{Value, json};
use wire::Status;
use wire::message::cluster::Cluster;

use crate::ApiServer;
use crate::store::{FIELD_MANAGER, SECRETS};

/// How often, and how long, a new token is waited for.
const TOKEN_POLL: Duration = Duration::from_millis(200);
const TOKEN_PATIENCE: Duration = Duration::from_secs(30);

/// Connects with what is written in a cluster's description, which asks for its version.
pub(super) async fn connect(server: &ApiServer, cluster: &Cluster) -> Result<Client, String> {
    if cluster.server == IN_CLUSTER_SERVER {
        return Ok(server.store.client().clone());
    }
    let config = serde_json::to_value(&cluster.config).expect("has only text for keys");
    let config = serde_json::from_value(config).map_err(|error| error.to_string())?;
    let settings =
        ClusterSettings { server: cluster.server.clone(), config, ..ClusterSettings::default() };
    let access = settings.access().await;
    let access = access.map_err(|error| format!("error getting REST config: {}", line(&error)))?;
    let connected = Client::connect(&access).await;
    connected.map_err(|error| format!("error getting server version: {}", words(&error)))
}

/// What the cluster itself says comes first: it is what the user can act on.
fn words(error: &ConnectError) -> String {
    let refusal = match error {
        ConnectError::AskVersion { source, .. } | ConnectError::Discover { source, .. } => {
            source.refusal()
        }
        ConnectError::UseCredentials { .. } => None,
    };
    refusal.map_or_else(|| line(error), |it| it.message.clone())
}

fn line(error: &dyn std::error::Error) -> String {
    runtime::Chain(error).to_string()
}

/// Who a token of a service account speaks for.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Subject {
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    secret: String,
}

impl Subject {
    /// Nobody's signature is checked: the token is ours, and it is about to be replaced.
    fn of(token: &str) -> Result<Self, String> {
        let payload = token.split('.').nth(1).ok_or("it is no token of a service account")?;
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|error| error.to_string())?;
        let subject: Self = serde_json::from_slice(&payload).map_err(|error| error.to_string())?;
        if subject.secret.is_empty() || subject.namespace.is_empty() {
            return Err("it was not made from a Secret of a service account".into());
        }
        Ok(subject)
    }
}

/// The cluster with a new token, and what to do with the old one once the new one is stored.
pub(super) struct Rotation {
    pub(super) cluster: Cluster,
    client: Client,
    subject: Subject,
    new_secret: String,
}

/// Makes a new token beside the old one, and tries it.
pub(super) async fn begin(server: &ApiServer, cluster: Cluster) -> Result<Rotation, Status> {
    let failed = |what: &str, why: String| Status::unknown(format!("{what}: {why}"));
    let subject = Subject::of(&cluster.config.bearer_token)
        .map_err(|why| failed("failed to parse service account token", why))?;
    let client = connect(server, &cluster).await.map_err(Status::unknown)?;
    let made = new_token(&client, &subject).await;
    let (new_secret, token) =
        made.map_err(|why| failed("failed to generate new cluster manager secret", why))?;
    let mut cluster = cluster;
    cluster.config.tls_client_config.key_data.clear();
    cluster.config.tls_client_config.cert_data.clear();
    cluster.config.bearer_token = token;
    let client = connect(server, &cluster).await;
    let client = client.map_err(|why| failed("failed to get server version", why))?;
    Ok(Rotation { cluster, client, subject, new_secret })
}

impl Rotation {
    /// Takes the old token out of service.
    pub(super) async fn finish(self) -> Result<(), Status> {
        let Subject { namespace, account, secret } = &self.subject;
        let failed = |error: &RequestError| {
            let why = error.refusal().map_or_else(|| error.in_one_line(), |it| it.message.clone());
            Status::unknown(format!("failed to rotate service account secrets: {why}"))
        };
        let accounts = core("ServiceAccount", "serviceaccounts");
        let found = self.client.get(&accounts, namespace, account).await;
        if let Some(found) = found.map_err(|error| failed(&error))? {
            let listed = found.into_value()["secrets"].as_array().cloned().unwrap_or_default();
            let patch = json!({"secrets": listed_instead(listed, secret, &self.new_secret)});
            let patched = self.client.merge_patch(&accounts, namespace, account, None, &patch);
            patched.await.map_err(|error| failed(&error))?;
        }
        let deleted = self.client.delete(&SECRETS, namespace, secret).await;
        deleted.map(drop).map_err(|error| failed(&error))
    }
}

fn listed_instead(mut listed: Vec<Value>, old: &str, new: &str) -> Vec<Value> {
    listed.retain(|it| it["name"] != old && it["name"] != new);
    listed.push(json!({"name": new}));
    listed
}

fn core(kind: &str, plural: &str) -> ApiKind {
    ApiKind::known(&GroupVersionKind::parse("v1", kind), plural, true)
}

/// Name and content of a new Secret for the same service account.
async fn new_token(client: &Client, subject: &Subject) -> Result<(String, String), String> {
    let Subject { namespace, secret, .. } = subject;
    let said = |error: RequestError| {
        error.refusal().map_or_else(|| error.in_one_line(), |it| it.message.clone())
    };
    let old = client.get(&SECRETS, namespace, secret).await.map_err(said)?;
    let old = old.ok_or_else(|| format!("secrets {secret:?} not found"))?.into_value();
    let stem = secret.rsplit_once('-').map_or("", |(stem, _)| stem);
    let wanted = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"generateName": format!("{stem}-"), "annotations": old["metadata"]["annotations"]},
    });
    let wanted = Object::from_value(wanted).expect("it says what it is");
    let made = client.create(&SECRETS, namespace, &wanted, FIELD_MANAGER).await.map_err(said)?;
    let name = made.name().to_owned();
    let waiting = async {
        loop {
            let found = client.get(&SECRETS, namespace, &name).await.map_err(said)?;
            let token = found.and_then(|it| STANDARD.decode(it.text(&["data", "token"])?).ok());
            match token.and_then(|it| String::from_utf8(it).ok()).filter(|it| !it.is_empty()) {
                Some(token) => return Ok::<_, String>(token),
                None => tokio::time::sleep(TOKEN_POLL).await,
            }
        }
    };
    let token = tokio::time::timeout(TOKEN_PATIENCE, waiting).await;
    let token =
        token.map_err(|_| "timed out waiting for secret to generate new token".to_owned())??;
    Ok((name, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &Value) -> String {
        format!("a.{}.c", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_token_says_whose_it_is() {
        let claims = json!({
            "kubernetes.io/serviceaccount/namespace": "kube-system",
            "kubernetes.io/serviceaccount/service-account.name": "argocd-manager",
            "kubernetes.io/serviceaccount/secret.name": "argocd-manager-token-x",
        });
        let subject = Subject::of(&token(&claims)).expect("a subject");
        assert_eq!(
            (subject.account.as_str(), subject.secret.as_str()),
            ("argocd-manager", "argocd-manager-token-x")
        );
    }

    #[test]
    fn a_token_without_a_secret_cannot_be_rotated() {
        assert!(Subject::of("nonsense").is_err());
        assert!(Subject::of("a.!.c").is_err());
        assert!(Subject::of(&token(&json!({"sub": "x"}))).is_err());
    }

    #[test]
    fn the_new_secret_takes_the_place_of_the_old() {
        let listed = vec![json!({"name": "old"}), json!({"name": "other"})];
        let expect = vec![json!({"name": "other"}), json!({"name": "new"})];
        assert_eq!(listed_instead(listed, "old", "new"), expect);
        assert_eq!(listed_instead(expect.clone(), "old", "new"), expect);
    }
}
