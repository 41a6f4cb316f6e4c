//! What the settings say about repositories, handed on to the repo server:
//! credentials, trusted certificates and host keys, and the settings of the
//! tools. A change counts at once.

use std::sync::Arc;

use render::EnabledSourceTypes;
use render::tracking::Tracking;
use repo_server::{AzureWorkload, CredentialBook, Identity, RepoCredentials, RepoKind};
use runtime::Shutdown;
use settings::repositories::Repository;
use settings::{Settings, SettingsStore};

/// What the settings say about rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RenderSettings {
    pub(crate) enabled: EnabledSourceTypes,
    pub(crate) values_file_schemes: Vec<String>,
    pub(crate) kustomize_build_options: String,
    pub(crate) tracking: Tracking,
}

impl RenderSettings {
    pub(crate) fn of(settings: &Settings) -> Self {
        let rendering = &settings.rendering;
        Self {
            enabled: EnabledSourceTypes {
                helm: rendering.helm_enabled,
                kustomize: rendering.kustomize_enabled,
                jsonnet: rendering.jsonnet_enabled,
            },
            values_file_schemes: rendering.helm_values_file_schemes.clone(),
            kustomize_build_options: rendering.kustomize_build_options.clone(),
            tracking: controller::tracking(&settings.tracking),
        }
    }
}

/// Hands on every change until the end.
pub(crate) async fn follow(
    take_over: impl Fn(&SettingsStore),
    settings: Arc<SettingsStore>,
    shutdown: Shutdown,
) {
    let mut changes = settings.subscribe();
    while let Some(Ok(())) = shutdown.or_end(changes.changed()).await {
        take_over(&settings);
    }
}

/// Everything that connections to repositories need.
pub(crate) fn book(settings: &Settings) -> CredentialBook {
    let mut book = CredentialBook {
        certificates: settings.trust.certificates.clone(),
        known_hosts: settings.trust.known_hosts.clone(),
        gpg_keys: settings.trust.gpg_keys.clone(),
        ..CredentialBook::default()
    };
    for repository in settings.repositories.read.iter().filter(|it| !it.url.is_empty()) {
        let Repository { url, name, project, .. } = repository;
        let entry = (url.clone(), credentials(repository));
        if !name.is_empty() && project.is_empty() {
            book.names.insert(name.clone(), url.clone());
        }
        match project.as_str() {
            "" => book.repositories.push(entry),
            project => book.projects.entry(project.to_owned()).or_default().push(entry),
        }
    }
    let templates = settings.repositories.read_credentials.iter().filter(|it| !it.url.is_empty());
    book.templates = templates.map(|it| (it.url.clone(), credentials(it))).collect();
    book
}

/// How to get in.
pub(crate) fn credentials(repository: &Repository) -> RepoCredentials {
    RepoCredentials {
        username: repository.username.clone(),
        password: repository.password.text().to_owned(),
        bearer_token: repository.bearer_token.text().to_owned(),
        ssh_private_key: repository.ssh_private_key.text().to_owned(),
        tls_client_cert: repository.tls_client_cert_data.text().to_owned(),
        tls_client_key: repository.tls_client_cert_key.text().to_owned(),
        identity: identity(repository),
        insecure: repository.insecure || repository.insecure_ignore_host_key,
        kind: match repository.kind.as_str() {
            "oci" => RepoKind::Oci,
            _ if repository.enable_oci => RepoKind::HelmRegistry,
            "helm" => RepoKind::Helm,
            _ if repository.url.starts_with("oci://") => RepoKind::Oci,
            _ => RepoKind::Git,
        },
        force_http: repository.insecure_oci_force_http,
        proxy: repository.proxy.clone(),
        no_proxy: repository.no_proxy.clone(),
        depth: u32::try_from(repository.depth).unwrap_or(0),
        enable_lfs: repository.enable_lfs,
    }
}

/// Who we are at a service that issues tokens, in Argo CD's order.
fn identity(repository: &Repository) -> Option<Identity> {
    if !repository.github_app_private_key.is_empty() {
        return Some(Identity::GithubApp {
            app: repository.github_app_id,
            installation: repository.github_app_installation_id,
            private_key: repository.github_app_private_key.text().to_owned(),
            base_url: repository.github_app_enterprise_base_url.clone(),
        });
    }
    if !repository.gcp_service_account_key.is_empty() {
        let key = repository.gcp_service_account_key.text().to_owned();
        return Some(Identity::GoogleServiceAccount { key });
    }
    if repository.use_azure_workload_identity {
        let variable = |name: &str| std::env::var(name).ok();
        return Some(Identity::AzureWorkload(AzureWorkload::from_variables(variable)));
    }
    if !repository.azure_service_principal_client_secret.is_empty() {
        return Some(Identity::AzureServicePrincipal {
            tenant: repository.azure_service_principal_tenant_id.clone(),
            client: repository.azure_service_principal_client_id.clone(),
            secret: repository.azure_service_principal_client_secret.text().to_owned(),
            directory: repository.azure_active_directory_endpoint.clone(),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repository_of_a_project_is_for_that_project_only() {
        let store = SettingsStore::new(settings::Sources::default());
        for (name, kind, project) in
            [("a", "repository", ""), ("b", "repository", "shop"), ("c", "repo-creds", "")]
        {
            // In base64: https://example.com/x, and the project.
            let project = if project.is_empty() { "" } else { "c2hvcA==" };
            store.see_secret(&json!({
                "metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": kind}},
                "data": {"url": "aHR0cHM6Ly9leGFtcGxlLmNvbS94", "project": project},
            }));
        }
        let book = book(&store.current());
        let urls = |entries: &[(String, RepoCredentials)]| entries.len();
        assert_eq!((urls(&book.repositories), urls(&book.templates)), (1, 1));
        assert_eq!(book.projects.keys().collect::<Vec<_>>(), ["shop"]);
    }

    #[test]
    fn a_github_app_goes_before_the_other_identities() {
        let texts = [
            ("githubAppID", "7"),
            ("githubAppPrivateKey", "a key"),
            ("gcpServiceAccountKey", "{}"),
            ("useAzureWorkloadIdentity", "true"),
        ];
        let texts = texts.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut data = std::collections::BTreeMap::from(texts);
        let mut names = Vec::new();
        for key in ["githubAppPrivateKey", "gcpServiceAccountKey", "useAzureWorkloadIdentity"] {
            let repository = Repository::from_texts(&data).expect("a repository");
            names.push(format!("{:?}", identity(&repository).expect("an identity")));
            data.remove(key);
        }
        assert_eq!(names, ["GitHub App", "Google service account", "Azure workload identity"]);
        assert_eq!(identity(&Repository::from_texts(&data).expect("a repository")), None);
    }
}
