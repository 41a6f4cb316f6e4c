//! A cluster as it is registered: a Secret with an address, a name and the
//! credentials to use there, in every form that Argo CD writes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use object::Object;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::{Access, AccessError};

/// A registered cluster. Printing it shows no credentials.
#[derive(Clone, PartialEq)]
pub struct Registration {
    /// The address, without a slash at its end.
    pub server: String,
    /// The name; the address where none is given.
    pub name: String,
    /// The project that owns it; empty for everybody's.
    pub project: String,
    /// Only these namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// With namespaces: look after cluster-scoped objects too.
    pub cluster_resources: bool,
    config: Config,
}

/// Why a Secret is no cluster.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// A field is missing, or is not what it should be.
    #[error("the cluster Secret {secret} has no usable {field}")]
    Field {
        /// The Secret's name.
        secret: String,
        /// The field of its data.
        field: &'static str,
    },
    /// The configuration is no JSON, or not the JSON it should be.
    #[error("could not read the config of the cluster Secret {secret}")]
    Config {
        /// The Secret's name.
        secret: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Config {
    username: String,
    password: String,
    bearer_token: String,
    tls_client_config: TlsConfig,
    aws_auth_config: Option<AwsConfig>,
    exec_provider_config: Option<ExecConfig>,
    disable_compression: bool,
    proxy_url: String,
}

/// Certificates and keys are base64 of PEM.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TlsConfig {
    insecure: bool,
    server_name: String,
    cert_data: String,
    key_data: String,
    ca_data: String,
}

#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct AwsConfig {
    #[serde(rename = "clusterName")]
    cluster_name: String,
    #[serde(rename = "roleARN")]
    role_arn: String,
    profile: String,
}

#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ExecConfig {
    command: String,
    args: Vec<String>,
    env: std::collections::BTreeMap<String, String>,
    api_version: String,
    install_hint: String,
}

const EXEC_VERSION: &str = "client.authentication.k8s.io/v1beta1";
/// The program that Argo CD's images have for AWS; it must be on the path.
const AWS_HELPER: &str = "argocd-k8s-auth";

impl Registration {
    /// Reads a Secret of type `cluster`.
    ///
    /// # Errors
    /// When it has no address, or its config cannot be read.
    pub fn from_secret(secret: &Object) -> Result<Self, RegistrationError> {
        let name = || secret.name().to_owned();
        let field = |field: &'static str| -> Result<String, RegistrationError> {
            let Some(text) = secret.text(&["data", field]) else { return Ok(String::new()) };
            let bytes = STANDARD.decode(text).ok();
            bytes
                .and_then(|it| String::from_utf8(it).ok())
                .ok_or_else(|| RegistrationError::Field { secret: name(), field })
        };
        let server = field("server")?.trim().trim_end_matches('/').to_owned();
        if server.is_empty() {
            return Err(RegistrationError::Field { secret: name(), field: "server" });
        }
        let config = match field("config")?.trim() {
            "" => Config::default(),
            text => serde_json::from_str(text)
                .map_err(|source| RegistrationError::Config { secret: name(), source })?,
        };
        let namespaces = field("namespaces")?;
        let namespaces = namespaces.split(',').map(|it| it.trim().to_owned());
        Ok(Self {
            name: Some(field("name")?).filter(|it| !it.is_empty()).unwrap_or(server.clone()),
            project: field("project")?,
            namespaces: namespaces.filter(|it| !it.is_empty()).collect(),
            cluster_resources: field("clusterResources")? == "true",
            server,
            config,
        })
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
        let Config { tls_client_config: tls, .. } = &self.config;
        let cluster = filled(&[
            ("server", self.server.as_str().into()),
            ("certificate-authority-data", tls.ca_data.as_str().into()),
            ("tls-server-name", tls.server_name.as_str().into()),
            ("proxy-url", self.config.proxy_url.as_str().into()),
            ("insecure-skip-tls-verify", tls.insecure.into()),
            ("disable-compression", self.config.disable_compression.into()),
        ]);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": self.user()}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        })
    }

    fn user(&self) -> Value {
        let Config { tls_client_config: tls, .. } = &self.config;
        let mut user = filled(&[
            ("username", self.config.username.as_str().into()),
            ("password", self.config.password.as_str().into()),
            ("token", self.config.bearer_token.as_str().into()),
            ("client-certificate-data", tls.cert_data.as_str().into()),
            ("client-key-data", tls.key_data.as_str().into()),
        ]);
        if let Some(aws) = &self.config.aws_auth_config {
            user["exec"] = aws.exec();
        } else if let Some(exec) = &self.config.exec_provider_config {
            user["exec"] = exec.exec();
        }
        user
    }
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

impl AwsConfig {
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

impl ExecConfig {
    fn exec(&self) -> Value {
        let variable = |(name, value): (&String, &String)| json!({"name": name, "value": value});
        let version = if self.api_version.is_empty() { EXEC_VERSION } else { &self.api_version };
        json!({
            "apiVersion": version, "command": self.command, "args": self.args,
            "env": self.env.iter().map(variable).collect::<Vec<_>>(),
            "installHint": self.install_hint, "interactiveMode": "Never",
        })
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("server", &self.server)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(fields: &[(&str, &str)]) -> Object {
        let data: Value =
            fields.iter().map(|(name, text)| (*name, STANDARD.encode(text))).collect();
        Object::from_value(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "s"}, "data": data}))
        .expect("a secret")
    }

    fn config(text: &str) -> Registration {
        let secret = secret(&[("server", "https://one.example/"), ("config", text)]);
        Registration::from_secret(&secret).expect("a registration")
    }

    #[test]
    fn an_address_alone_is_enough_and_names_the_cluster() {
        let read = Registration::from_secret(&secret(&[("server", "https://one.example/")]));
        let read = read.expect("a registration");
        assert_eq!(
            (read.server.as_str(), read.name.as_str()),
            ("https://one.example", "https://one.example")
        );
        assert!(read.namespaces.is_empty() && !read.cluster_resources);
    }

    #[test]
    fn every_form_of_credentials_is_handed_on() {
        let token = config(r#"{"bearerToken": "t", "tlsClientConfig": {"insecure": true}}"#);
        assert_eq!(token.user(), json!({"token": "t"}));
        assert_eq!(
            token.kubeconfig()["clusters"][0]["cluster"],
            json!({"server": "https://one.example", "insecure-skip-tls-verify": true})
        );
        let basic = config(r#"{"username": "u", "password": "p"}"#);
        assert_eq!(basic.user(), json!({"username": "u", "password": "p"}));
        let certificate = config(
            r#"{"tlsClientConfig": {"caData": "Y2E=", "certData": "Yw==", "keyData": "aw==", "serverName": "n"}}"#,
        );
        assert_eq!(
            certificate.user(),
            json!({"client-certificate-data": "Yw==", "client-key-data": "aw=="})
        );
        let aws = config(r#"{"awsAuthConfig": {"clusterName": "c", "roleARN": "r"}}"#);
        assert_eq!(
            aws.user()["exec"]["args"],
            json!(["aws", "--cluster-name", "c", "--role-arn", "r"])
        );
        let exec = config(r#"{"execProviderConfig": {"command": "x", "env": {"A": "b"}}}"#);
        assert_eq!(exec.user()["exec"]["env"], json!([{"name": "A", "value": "b"}]));
    }

    #[test]
    fn namespaces_are_a_list_and_printing_hides_the_credentials() {
        let read = secret(&[
            ("server", "https://one.example"),
            ("name", "one"),
            ("namespaces", "a, b"),
            ("clusterResources", "true"),
            ("config", r#"{"bearerToken": "hidden"}"#),
        ]);
        let read = Registration::from_secret(&read).expect("a registration");
        assert_eq!(read.namespaces, ["a", "b"]);
        assert!(read.cluster_resources);
        assert!(!format!("{read:?}").contains("hidden"));
    }

    #[test]
    fn a_secret_without_address_or_with_broken_config_says_so() {
        let error = |fields: &[(&str, &str)]| {
            Registration::from_secret(&secret(fields)).expect_err("refused").to_string()
        };
        assert_eq!(error(&[("name", "x")]), "the cluster Secret s has no usable server");
        assert_eq!(
            error(&[("server", "https://x"), ("config", "{")]),
            "could not read the config of the cluster Secret s"
        );
    }
}
