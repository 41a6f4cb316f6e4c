//! Who we are at a service that gives out short-lived tokens for repositories:
//! a GitHub App, a service account of Google, an identity of Azure.
//!
//! An [`Identity`] is a value, and asks nobody. `tokens.rs` turns it into a
//! [`Login`] by the requests that are written down here.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde_json::json;

/// What GitHub's own API is called.
const GITHUB: &str = "https://api.github.com";
/// What Azure's directory is called.
pub(crate) const AZURE: &str = "https://login.microsoftonline.com";
/// Azure DevOps, as its directory knows it.
const AZURE_DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
/// What a registry of Azure wants to see before it gives out a token of its own.
const AZURE_MANAGEMENT: &str = "https://management.core.windows.net/.default";
/// The user that a registry of Azure expects beside a token.
pub(crate) const AZURE_USER: &str = "00000000-0000-0000-0000-000000000000";
/// Where Google issues tokens, unless the key says otherwise.
const GOOGLE: &str = "https://oauth2.googleapis.com/token";

/// Who we are at a service that gives out tokens.
#[derive(Clone, PartialEq, Eq)]
pub enum Identity {
    /// An App that is installed in an organization.
    GithubApp {
        /// The App.
        app: i64,
        /// Where it is installed; 0 is found out by the organization's name.
        installation: i64,
        /// Its key (PEM).
        private_key: String,
        /// The API of an own installation of GitHub; empty for github.com.
        base_url: String,
    },
    /// A service account's key, as Google hands it out (JSON).
    GoogleServiceAccount {
        /// The key.
        key: String,
    },
    /// The identity that Azure gives to a pod.
    AzureWorkload(AzureWorkload),
    /// An identity of Azure with a password.
    AzureServicePrincipal {
        /// Where it lives.
        tenant: String,
        /// Its id.
        client: String,
        /// Its password.
        secret: String,
        /// The directory to ask; empty for the public one.
        directory: String,
    },
}

/// What Azure's webhook puts into the environment of a pod with an identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AzureWorkload {
    /// `AZURE_AUTHORITY_HOST`; empty for the public one.
    pub directory: String,
    /// `AZURE_TENANT_ID`.
    pub tenant: String,
    /// `AZURE_CLIENT_ID`.
    pub client: String,
    /// `AZURE_FEDERATED_TOKEN_FILE`: the cluster renews what is in it.
    pub token_file: String,
}

impl AzureWorkload {
    /// Takes it from variables of the environment.
    #[must_use]
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).unwrap_or_default();
        Self {
            directory: text("AZURE_AUTHORITY_HOST"),
            tenant: text("AZURE_TENANT_ID"),
            client: text("AZURE_CLIENT_ID"),
            token_file: text("AZURE_FEDERATED_TOKEN_FILE"),
        }
    }
}

/// Shows which kind it is, and nothing of it.
impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Identity {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::GithubApp { .. } => "GitHub App",
            Self::GoogleServiceAccount { .. } => "Google service account",
            Self::AzureWorkload(_) => "Azure workload identity",
            Self::AzureServicePrincipal { .. } => "Azure service principal",
        }
    }

    /// What tells one identity from another; never shown, and hashed before it
    /// is kept.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::GithubApp { app, installation, private_key, base_url } => {
                format!("github\n{app}\n{installation}\n{base_url}\n{private_key}")
            }
            Self::GoogleServiceAccount { key } => format!("google\n{key}"),
            Self::AzureWorkload(AzureWorkload { directory, tenant, client, token_file }) => {
                format!("azure workload\n{directory}\n{tenant}\n{client}\n{token_file}")
            }
            Self::AzureServicePrincipal { tenant, client, secret, directory } => {
                format!("azure principal\n{directory}\n{tenant}\n{client}\n{secret}")
            }
        }
    }
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A git repository.
    Git,
    /// A registry with charts or artifacts.
    Registry,
}

/// What a request for a token is made of.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) address: String,
    /// The `Authorization` to send; empty for none.
    pub(crate) bearer: String,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// A `GET`.
    None,
    /// A `POST` without content.
    Empty,
    /// A `POST` of a form.
    Form(BTreeMap<&'static str, String>),
}

impl Ask {
    /// Posts a form.
    pub(crate) fn form<const N: usize>(
        address: String,
        fields: [(&'static str, String); N],
    ) -> Self {
        Self { address, bearer: String::new(), body: Body::Form(fields.into()) }
    }
}

/// How to say who we are to a repository.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) username: String,
    pub(crate) password: String,
    pub(crate) bearer_token: String,
}

/// A token of GitHub.
#[derive(Deserialize)]
pub(crate) struct GithubToken {
    pub(crate) token: String,
    #[serde(default)]
    pub(crate) expires_at: String,
}

/// Where an App is installed.
#[derive(Deserialize)]
pub(crate) struct GithubInstallation {
    pub(crate) id: i64,
    #[serde(default)]
    pub(crate) account: GithubAccount,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct GithubAccount {
    pub(crate) login: String,
}

/// A token of Google or Azure.
#[derive(Deserialize)]
pub(crate) struct OauthToken {
    pub(crate) access_token: String,
    #[serde(default)]
    pub(crate) expires_in: u64,
}

/// A service account's key.
#[derive(Deserialize)]
pub(crate) struct GoogleKey {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    pub(crate) client_email: String,
    #[serde(default)]
    private_key: String,
    #[serde(default)]
    private_key_id: String,
    #[serde(default)]
    token_uri: String,
}

/// Asks GitHub, as an App.
pub(crate) fn github(
    app: i64,
    private_key: &str,
    base_url: &str,
    path: &str,
    body: Body,
    now: Duration,
) -> Result<Ask, String> {
    let base = if base_url.is_empty() { GITHUB } else { base_url.trim_end_matches('/') };
    // GitHub allows ten minutes, and its clock may be behind ours.
    let claims = json!({
        "iss": app.to_string(),
        "iat": now.as_secs().saturating_sub(60),
        "exp": now.as_secs() + 9 * 60,
    });
    let bearer = signed(&claims, "", private_key)
        .map_err(|problem| format!("githubAppPrivateKey {problem}"))?;
    Ok(Ask { address: format!("{base}{path}"), bearer, body })
}

/// Asks Google, as a service account.
pub(crate) fn google(key: &str, now: Duration) -> Result<(GoogleKey, Ask), String> {
    // What the parser would quote is secret.
    let key: GoogleKey = serde_json::from_str(key).map_err(|error| {
        format!("gcpServiceAccountKey is no key in JSON (line {})", error.line())
    })?;
    if key.kind != "service_account" {
        return Err(format!(
            "gcpServiceAccountKey is of the type {:?}; only keys of a service_account can be used",
            key.kind
        ));
    }
    let token_uri = if key.token_uri.is_empty() { GOOGLE } else { &key.token_uri }.to_owned();
    let claims = json!({
        "iss": key.client_email,
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": token_uri,
        "iat": now.as_secs(),
        "exp": now.as_secs() + 3600,
    });
    let assertion = signed(&claims, &key.private_key_id, &key.private_key)
        .map_err(|problem| format!("the private_key of gcpServiceAccountKey {problem}"))?;
    let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned();
    let ask = Ask::form(token_uri, [("grant_type", grant), ("assertion", assertion)]);
    Ok((key, ask))
}

/// Asks Azure's directory with the token that the cluster gave us.
pub(crate) fn azure_workload(
    identity: &AzureWorkload,
    assertion: &str,
    purpose: Purpose,
) -> Result<Ask, String> {
    let AzureWorkload { directory, tenant, client, token_file } = identity;
    let variables = [
        ("AZURE_TENANT_ID", tenant),
        ("AZURE_CLIENT_ID", client),
        ("AZURE_FEDERATED_TOKEN_FILE", token_file),
    ];
    if let Some((name, _)) = variables.iter().find(|(_, value)| value.is_empty()) {
        return Err(format!(
            "useAzureWorkloadIdentity is set, but {name} is not in our environment; label the pod with azure.workload.identity/use"
        ));
    }
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    Ok(azure(
        directory,
        tenant,
        [
            ("client_id", client.clone()),
            ("client_assertion_type", kind.to_owned()),
            ("client_assertion", assertion.trim().to_owned()),
        ],
        purpose,
    ))
}

/// Asks Azure's directory, as a service principal.
pub(crate) fn azure_principal(
    directory: &str,
    tenant: &str,
    client: &str,
    secret: &str,
    purpose: Purpose,
) -> Ask {
    let fields = [("client_id", client.to_owned()), ("client_secret", secret.to_owned())];
    azure(directory, tenant, fields, purpose)
}

fn azure<const N: usize>(
    directory: &str,
    tenant: &str,
    fields: [(&'static str, String); N],
    purpose: Purpose,
) -> Ask {
    let directory = if directory.is_empty() { AZURE } else { directory.trim_end_matches('/') };
    let scope = match purpose {
        Purpose::Git => AZURE_DEVOPS,
        Purpose::Registry => AZURE_MANAGEMENT,
    };
    let mut form = BTreeMap::from(fields);
    form.insert("grant_type", "client_credentials".to_owned());
    form.insert("scope", scope.to_owned());
    let address = format!("{directory}/{tenant}/oauth2/v2.0/token");
    Ask { address, bearer: String::new(), body: Body::Form(form) }
}

/// The organization, or the user, that a repository of GitHub belongs to.
pub(crate) fn organization(address: &str) -> Option<&str> {
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => address.split_once(':')?.1,
    };
    let name = path.trim_start_matches('/').split('/').next()?;
    (!name.is_empty()).then_some(name)
}

/// The claims with our signature (RS256).
fn signed(claims: &serde_json::Value, key_id: &str, key: &str) -> Result<String, String> {
    let mut header = json!({"alg": "RS256", "typ": "JWT"});
    if !key_id.is_empty() {
        header["kid"] = key_id.into();
    }
    let encoded = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encoded(&header), encoded(claims));
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| "is no key in PEM form")?;
    let pair = match &key {
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
        _ => return Err("is no RSA key".to_owned()),
    };
    let pair = pair.map_err(|error| format!("is no RSA key that can be used: {error}"))?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "could not sign")?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_organization_is_the_first_part_of_the_path() {
        assert_eq!(organization("https://github.com/org/repo.git"), Some("org"));
        assert_eq!(organization("https://ghe.example.com/org"), Some("org"));
        assert_eq!(organization("git@github.com:org/repo"), Some("org"));
        assert_eq!(organization("https://github.com/"), None);
    }

    #[test]
    fn a_bad_key_is_named_and_not_shown() {
        let problem = github(1, "s3cret", "", "/x", Body::Empty, Duration::ZERO).unwrap_err();
        assert_eq!(problem, "githubAppPrivateKey is no key in PEM form");
        let problem = google("{\n\"private_key\": s3cret}", Duration::ZERO).err().unwrap();
        assert_eq!(problem, "gcpServiceAccountKey is no key in JSON (line 2)");
        let problem = google(r#"{"type":"authorized_user"}"#, Duration::ZERO).err().unwrap();
        assert_eq!(
            problem,
            "gcpServiceAccountKey is of the type \"authorized_user\"; only keys of a service_account can be used"
        );
    }

    #[test]
    fn a_pod_without_an_identity_is_told_so() {
        let none = AzureWorkload::from_variables(|_| None);
        assert_eq!(
            azure_workload(&none, "", Purpose::Git).unwrap_err(),
            "useAzureWorkloadIdentity is set, but AZURE_TENANT_ID is not in our environment; label the pod with azure.workload.identity/use"
        );
    }
}
