//! Clusters to deploy to, from their Secrets.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{Access, AccessError};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

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

const EXEC_VERSION: &str = "client.authentication.k8s.io/v1beta1";
/// The program that Argo CD's images have for AWS; it must be on the path.
const AWS_HELPER: &str = "argocd-k8s-auth";

impl ClusterSettings {
    /// What it goes by where it has no name of its own: its address.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.server } else { &self.name }
    }

    /// The address with the credentials, ready to connect.
    ///
    /// # Errors
    /// When the credentials contradict each other or cannot be read.
    pub async fn access(&self) -> Result<Access, AccessError> {
        Access::from_kubeconfig_value(self.kubeconfig()).await
    }

    /// The same as a kubeconfig, which knows all these forms.
    fn kubeconfig(&self) -> Value {
        let ClusterConfig { tls_client_config: tls, .. } = &self.config;
        let cluster = filled(&[
            ("server", self.server.as_str().into()),
            ("certificate-authority-data", base64(&tls.ca_data)),
            ("tls-server-name", tls.server_name.as_str().into()),
            ("proxy-url", self.config.proxy_url.as_str().into()),
            ("insecure-skip-tls-verify", tls.insecure.into()),
            ("disable-compression", self.config.disable_compression.into()),
        ]);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": self.config.user()}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        })
    }
}

impl ClusterConfig {
    fn user(&self) -> Value {
        let mut user = filled(&[
            ("username", self.username.as_str().into()),
            ("password", self.password.text().into()),
            ("token", self.bearer_token.text().into()),
            ("client-certificate-data", base64(&self.tls_client_config.cert_data)),
            ("client-key-data", base64(&self.tls_client_config.key_data)),
        ]);
        if let Some(aws) = &self.aws {
            user["exec"] = aws.exec();
        } else if let Some(exec) = &self.exec {
            user["exec"] = exec.exec();
        }
        user
    }
}

fn base64(secret: &Secret) -> Value {
    STANDARD.encode(secret.bytes()).into()
}

/// Only the fields that say something.
fn filled(fields: &[(&str, Value)]) -> Value {
    let says_something = |value: &&(&str, Value)| match &value.1 {
        Value::String(text) => !text.is_empty(),
        Value::Bool(set) => *set,
        _ => true,
    };
    fields.iter().filter(says_something).map(|(name, value)| (*name, value.clone())).collect()
}

impl AwsAuth {
    fn exec(&self) -> Value {
        let mut args = vec!["aws", "--cluster-name", &self.cluster_name];
        for (flag, value) in [("--role-arn", &self.role_arn), ("--profile", &self.profile)] {
            if !value.is_empty() {
                args.extend([flag, value]);
            }
        }
        json!({"apiVersion": EXEC_VERSION, "command": AWS_HELPER, "args": args,
            "interactiveMode": "Never"})
    }
}

impl ExecProvider {
    fn exec(&self) -> Value {
        let variable =
            |(name, value): (&String, &Secret)| json!({"name": name, "value": value.text()});
        let version = if self.api_version.is_empty() { EXEC_VERSION } else { &self.api_version };
        json!({
            "apiVersion": version, "command": self.command, "args": self.args,
            "env": self.env.iter().map(variable).collect::<Vec<_>>(),
            "installHint": self.install_hint, "interactiveMode": "Never",
            "provideClusterInfo": self.provide_cluster_info,
        })
    }
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
    let server = secret.text("server").trim().trim_end_matches('/');
    if server.is_empty() {
        find("server", "a cluster needs an address; it is left out");
        return None;
    }
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
        server: server.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(config: &str, expect: Value) {
        let config: ClusterConfig = serde_json::from_str(config).expect("a configuration");
        assert_eq!(config.user(), expect);
    }

    #[test]
    fn every_form_of_credentials_is_handed_on() {
        check(r#"{"bearerToken": "t"}"#, json!({"token": "t"}));
        check(r#"{"username": "u", "password": "p"}"#, json!({"username": "u", "password": "p"}));
        check(
            r#"{"tlsClientConfig": {"certData": "Yw==", "keyData": "aw=="}}"#,
            json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="}),
        );
        check(
            r#"{"awsAuthConfig": {"clusterName": "c", "roleARN": "r"}}"#,
            json!({"exec": {"apiVersion": EXEC_VERSION, "command": AWS_HELPER,
                "args": ["aws", "--cluster-name", "c", "--role-arn", "r"],
                "interactiveMode": "Never"}}),
        );
        check(
            r#"{"execProviderConfig": {"command": "x", "env": {"A": "b"}}}"#,
            json!({"exec": {"apiVersion": EXEC_VERSION, "command": "x", "args": [],
                "env": [{"name": "A", "value": "b"}], "installHint": "",
                "interactiveMode": "Never", "provideClusterInfo": false}}),
        );
    }

    #[test]
    fn the_connection_is_secured_as_the_secret_says() {
        let config =
            r#"{"tlsClientConfig": {"insecure": true, "caData": "Y2E=", "serverName": "n"}}"#;
        let cluster = ClusterSettings {
            server: "https://one.example".into(),
            config: serde_json::from_str(config).expect("a configuration"),
            ..ClusterSettings::default()
        };
        assert_eq!(cluster.shown_name(), "https://one.example");
        assert_eq!(
            cluster.kubeconfig()["clusters"][0]["cluster"],
            json!({"server": "https://one.example", "insecure-skip-tls-verify": true,
                "certificate-authority-data": "Y2E=", "tls-server-name": "n"})
        );
    }
}
