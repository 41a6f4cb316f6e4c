//! Clusters to deploy to, from their Secrets.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{Finding, Secret, SecretObject, Sources};

/// The cluster we run in, as Applications name it.
pub const IN_CLUSTER_SERVER: &str = "https://kubernetes.default.svc";
/// Its name.
pub const IN_CLUSTER_NAME: &str = "in-cluster";
const TYPE: &str = "cluster";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MANAGED_BY: &str = "managed-by";

/// A cluster to deploy to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSettings {
    /// The Secret it comes from.
    pub secret: String,
    /// The id of that Secret.
    pub id: String,
    /// Its address.
    pub server: String,
    /// Its name.
    pub name: String,
    /// Namespaces we keep to; empty for all.
    pub namespaces: Vec<String>,
    /// Are cluster-scoped objects looked after although namespaces are named?
    pub cluster_resources: bool,
    /// The controller it belongs to.
    pub shard: Option<i64>,
    /// The project it belongs to.
    pub project: String,
    /// How to get in.
    pub config: ClusterConfig,
    /// When somebody last asked to look at everything again.
    pub refresh_requested_at: Option<String>,
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// How to get in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterConfig {
    /// For basic authentication.
    pub username: String,
    /// For basic authentication.
    pub password: Secret,
    /// A token.
    pub bearer_token: Secret,
    /// How the connection is secured.
    pub tls_client_config: TlsConfig,
    /// Credentials of AWS.
    #[serde(rename = "awsAuthConfig")]
    pub aws: Option<AwsAuth>,
    /// A program that gives credentials.
    #[serde(rename = "execProviderConfig")]
    pub exec: Option<ExecProvider>,
    /// A proxy on the way.
    pub proxy_url: String,
    /// Answers are not compressed.
    pub disable_compression: bool,
}

/// How the connection is secured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TlsConfig {
    /// The server's certificate is not checked.
    pub insecure: bool,
    /// The name in it, where it differs from the address.
    pub server_name: String,
    /// Authorities, as PEM.
    #[serde(deserialize_with = "decoded")]
    pub ca_data: Secret,
    /// Our certificate, as PEM.
    #[serde(deserialize_with = "decoded")]
    pub cert_data: Secret,
    /// Our key, as PEM.
    #[serde(deserialize_with = "decoded")]
    pub key_data: Secret,
}

/// Credentials of AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AwsAuth {
    /// The cluster's name there.
    pub cluster_name: String,
    /// A role to take.
    #[serde(rename = "roleARN")]
    pub role_arn: String,
    /// A profile to use.
    pub profile: String,
}

/// A program that gives credentials.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExecProvider {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, Secret>,
    /// The form of its answers.
    pub api_version: String,
    /// What to tell when it is missing.
    pub install_hint: String,
    /// Tell it about the cluster.
    pub provide_cluster_info: bool,
    /// What to tell it besides.
    pub config: Option<Value>,
}

/// Go prints bytes as base64.
fn decoded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    let bytes = STANDARD.decode(text).map_err(|_| serde::de::Error::custom("bad base64"))?;
    Ok(Secret::new(bytes))
}

pub(crate) fn read(sources: &Sources, findings: &mut Vec<Finding>) -> Vec<ClusterSettings> {
    let secrets = sources.secrets_of_type(TYPE);
    secrets.filter_map(|secret| read_one(secret, findings)).collect()
}

fn read_one(secret: &SecretObject, findings: &mut Vec<Finding>) -> Option<ClusterSettings> {
    let mut find = |key: &str, message: &str| {
        findings.push(Finding {
            object: secret.name.clone(),
            key: key.into(),
            message: message.into(),
        });
    };
    let config = secret.value("config");
    let config = match serde_json::from_slice(config.bytes()) {
        _ if config.is_empty() => ClusterConfig::default(),
        Ok(config) => config,
        // What serde says could repeat a credential.
        Err(_) => {
            find("config", "this is no configuration of a cluster; the cluster is left out");
            return None;
        }
    };
    let shard = secret.text("shard");
    let number = shard.parse().ok();
    if number.is_none() && !shard.is_empty() {
        find("shard", "this is no number");
    }
    let mut labels = secret.labels.clone();
    labels.remove(crate::names::LABEL_SECRET_TYPE);
    let mut annotations = secret.annotations.clone();
    annotations.remove(LAST_APPLIED);
    annotations.remove(MANAGED_BY);
    Some(ClusterSettings {
        secret: secret.name.clone(),
        id: secret.uid.clone(),
        server: secret.text("server").trim_end_matches('/').to_owned(),
        name: secret.text("name").to_owned(),
        namespaces: crate::reader::commas(secret.text("namespaces")),
        cluster_resources: secret.text("clusterResources") == "true",
        shard: number,
        project: secret.text("project").to_owned(),
        config,
        refresh_requested_at: annotations.get(api::names::ANNOTATION_REFRESH).cloned(),
        labels,
        annotations,
    })
}
