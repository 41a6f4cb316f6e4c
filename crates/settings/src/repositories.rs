//! Repositories and credentials for whole families of them, from their Secrets.

use std::collections::BTreeMap;

use crate::reader::boolean;
use crate::{Finding, Secret, SecretObject, Sources};

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repositories {
    /// Repositories to read from.
    pub read: Vec<Repository>,
    /// Credentials for every repository whose address begins as theirs does.
    pub read_credentials: Vec<Repository>,
    /// Repositories to write hydrated manifests to.
    pub write: Vec<Repository>,
    /// Credentials to write with.
    pub write_credentials: Vec<Repository>,
}

/// A repository, or credentials for many: then `url` is how their addresses begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repository {
    /// The Secret it comes from.
    pub secret: String,
    /// Its address.
    pub url: String,
    /// `git`, `helm` or `oci`; empty is git.
    pub kind: String,
    /// Its name, for charts.
    pub name: String,
    /// The only project that may use it; empty for all.
    pub project: String,
    /// The user.
    pub username: String,
    /// The password.
    pub password: Secret,
    /// A token instead.
    pub bearer_token: Secret,
    /// A key for ssh.
    pub ssh_private_key: Secret,
    /// Certificates and host keys are not checked.
    pub insecure: bool,
    /// The older name of it.
    pub insecure_ignore_host_key: bool,
    /// Large files are fetched.
    pub enable_lfs: bool,
    /// Charts come from an OCI registry.
    pub enable_oci: bool,
    /// That registry speaks plain HTTP.
    pub insecure_oci_force_http: bool,
    /// Our certificate, as PEM.
    pub tls_client_cert_data: Secret,
    /// Our key, as PEM.
    pub tls_client_cert_key: Secret,
    /// A GitHub App.
    pub github_app_id: i64,
    /// Its installation.
    pub github_app_installation_id: i64,
    /// Its key.
    pub github_app_private_key: Secret,
    /// Where it is, if not at github.com.
    pub github_app_enterprise_base_url: String,
    /// A service account of Google.
    pub gcp_service_account_key: Secret,
    /// Who we are is proven by Azure.
    pub use_azure_workload_identity: bool,
    /// A service principal of Azure.
    pub azure_service_principal_client_id: String,
    /// How it proves itself.
    pub azure_service_principal_client_secret: Secret,
    /// Where it lives.
    pub azure_service_principal_tenant_id: String,
    /// Whom to ask about it.
    pub azure_active_directory_endpoint: String,
    /// A proxy on the way.
    pub proxy: String,
    /// Hosts that are reached without it.
    pub no_proxy: String,
    /// Credentials are sent without being asked for.
    pub force_http_basic_auth: bool,
    /// How much history is fetched; 0 for all.
    pub depth: i64,
    /// A webhook does not move cached manifests on.
    pub webhook_manifest_cache_warm_disabled: bool,
}

impl Repository {
    /// Reads the data of a Secret that is not stored yet; `None` if a value
    /// cannot be read.
    #[must_use]
    pub fn from_texts(data: &BTreeMap<String, String>) -> Option<Self> {
        let data = data.iter().map(|(key, text)| (key.clone(), Secret::from(text.as_str())));
        let secret = SecretObject { data: data.collect(), ..SecretObject::default() };
        read_one(&secret, &mut Vec::new())
    }

    /// Does it say how to get in?
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        !(self.username.is_empty()
            && self.password.is_empty()
            && self.bearer_token.is_empty()
            && self.ssh_private_key.is_empty()
            && self.tls_client_cert_data.is_empty()
            && self.github_app_private_key.is_empty()
            && self.gcp_service_account_key.is_empty()
            && self.azure_service_principal_client_secret.is_empty()
            && !self.use_azure_workload_identity)
    }
}

pub(crate) fn read(sources: &Sources, findings: &mut Vec<Finding>) -> Repositories {
    let mut of_type = |kind| -> Vec<Repository> {
        sources.secrets_of_type(kind).filter_map(|it| read_one(it, findings)).collect()
    };
    Repositories {
        read: of_type("repository"),
        read_credentials: of_type("repo-creds"),
        write: of_type("repository-write"),
        write_credentials: of_type("repo-write-creds"),
    }
}

fn read_one(secret: &SecretObject, findings: &mut Vec<Finding>) -> Option<Repository> {
    let mut values = Values { secret, findings, is_broken: false };
    let text = |key: &str| secret.text(key).to_owned();
    // Credentials for many spell two of these keys otherwise.
    let either = |one: &str, other: &str| {
        let first = text(one);
        if first.is_empty() { text(other) } else { first }
    };
    let repository = Repository {
        secret: secret.name.clone(),
        url: text("url"),
        kind: text("type"),
        name: text("name"),
        project: text("project"),
        username: text("username"),
        password: secret.value("password"),
        bearer_token: secret.value("bearerToken"),
        ssh_private_key: secret.value("sshPrivateKey"),
        insecure: values.flag("insecure"),
        insecure_ignore_host_key: values.flag("insecureIgnoreHostKey"),
        enable_lfs: values.flag("enableLfs"),
        enable_oci: values.flag("enableOCI"),
        insecure_oci_force_http: values.flag("insecureOCIForceHttp"),
        tls_client_cert_data: secret.value("tlsClientCertData"),
        tls_client_cert_key: secret.value("tlsClientCertKey"),
        github_app_id: values.number("githubAppID"),
        github_app_installation_id: values.number("githubAppInstallationID"),
        github_app_private_key: secret.value("githubAppPrivateKey"),
        github_app_enterprise_base_url: text("githubAppEnterpriseBaseUrl"),
        gcp_service_account_key: secret.value("gcpServiceAccountKey"),
        use_azure_workload_identity: values.flag("useAzureWorkloadIdentity"),
        azure_service_principal_client_id: either(
            "azureServicePrincipalClientId",
            "azureServicePrincipalClientID",
        ),
        azure_service_principal_client_secret: secret.value("azureServicePrincipalClientSecret"),
        azure_service_principal_tenant_id: either(
            "azureServicePrincipalTenantId",
            "azureServicePrincipalTenantID",
        ),
        azure_active_directory_endpoint: text("azureActiveDirectoryEndpoint"),
        proxy: text("proxy"),
        no_proxy: text("noProxy"),
        force_http_basic_auth: values.flag("forceHttpBasicAuth"),
        depth: values.number("depth"),
        webhook_manifest_cache_warm_disabled: values.flag("webhookManifestCacheWarmDisabled"),
    };
    (!values.is_broken).then_some(repository)
}

/// A Secret with a value that cannot be read is left out, as in Argo CD: half of
/// its credentials would fail in a less obvious way.
struct Values<'a> {
    secret: &'a SecretObject,
    findings: &'a mut Vec<Finding>,
    is_broken: bool,
}

impl Values<'_> {
    fn flag(&mut self, key: &str) -> bool {
        let text = self.secret.text(key);
        let read = if text.is_empty() { Some(false) } else { boolean(text) };
        read.unwrap_or_else(|| self.broken(key, "this is neither true nor false"))
    }

    fn number(&mut self, key: &str) -> i64 {
        let text = self.secret.text(key);
        let read = if text.is_empty() { Some(0) } else { text.parse().ok() };
        read.unwrap_or_else(|| self.broken(key, "this is no number"))
    }

    fn broken<T: Default>(&mut self, key: &str, message: &str) -> T {
        self.is_broken = true;
        let (object, key) = (self.secret.name.clone(), key.to_owned());
        let message = format!("{message}; the repository is left out");
        self.findings.push(Finding { object, key, message });
        T::default()
    }
}
