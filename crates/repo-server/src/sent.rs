//! What a request to a repo server elsewhere brings along: credentials for its
//! repositories, in Argo CD's messages. The other direction is
//! `service/request.rs`.

use wire::message::repocreds::RepoCreds;
use wire::message::repository::Repository;

use crate::{CredentialBook, Identity, RepoCredentials, RepoKind, RepoUrl, SourceRepos};

/// A repository as an Application of a project reaches it.
#[must_use]
pub fn repository(book: &CredentialBook, project: &str, address: &str) -> Repository {
    let url = book.seen_by(project, &RepoUrl::new(address));
    let is_registry = url.is_registry() || book.is_chart_registry(&url);
    let trust = if is_registry { book.for_registry(&url) } else { book.for_repo(&url) };
    let name = book.names.iter().find(|(_, it)| RepoUrl::new(it).place() == url.place());
    Repository {
        project: url.project().to_owned(),
        name: name.map_or(String::new(), |(name, _)| name.clone()),
        ..of(address, &trust.credentials)
    }
}

/// The repositories that charts of a project may depend on, and the git
/// repositories beside the source's own, where submodules and bases come from:
/// those that the project permits.
#[must_use]
pub fn others(
    book: &CredentialBook,
    project: &str,
    source_repos: &SourceRepos,
    address: &str,
) -> Vec<Repository> {
    let host = RepoUrl::new(address).host();
    let own = book.projects.get(project).into_iter().flatten();
    let all = own.chain(&book.repositories);
    let wanted = all.filter(|(it, credentials)| {
        credentials.kind != RepoKind::Git
            || host.is_some() && RepoUrl::new(it).host() == host && it != address
    });
    let wanted = wanted.filter(|(it, _)| RepoUrl::new(it).is_permitted_by(source_repos));
    wanted.map(|(it, _)| repository(book, project, it)).collect()
}

/// Credentials for all repositories below an address, if a project permits that
/// address.
#[must_use]
pub fn templates(book: &CredentialBook, source_repos: &SourceRepos) -> Vec<RepoCreds> {
    let template = |(url, credentials): &(String, RepoCredentials)| {
        let repo = of(url, credentials);
        RepoCreds {
            url: url.clone(),
            username: repo.username,
            password: repo.password,
            bearer_token: repo.bearer_token,
            ssh_private_key: repo.ssh_private_key,
            tls_client_cert_data: repo.tls_client_cert_data,
            tls_client_cert_key: repo.tls_client_cert_key,
            type_: repo.type_,
            enable_oci: repo.enable_oci,
            insecure_oci_force_http: repo.insecure_oci_force_http,
            proxy: repo.proxy,
            no_proxy: repo.no_proxy,
            github_app_private_key: repo.github_app_private_key,
            github_app_id: repo.github_app_id,
            github_app_installation_id: repo.github_app_installation_id,
            github_app_enterprise_base_url: repo.github_app_enterprise_base_url,
            gcp_service_account_key: repo.gcp_service_account_key,
            use_azure_workload_identity: repo.use_azure_workload_identity,
            azure_service_principal_client_id: repo.azure_service_principal_client_id,
            azure_service_principal_client_secret: repo.azure_service_principal_client_secret,
            azure_service_principal_tenant_id: repo.azure_service_principal_tenant_id,
            azure_active_directory_endpoint: repo.azure_active_directory_endpoint,
            ..RepoCreds::default()
        }
    };
    let permitted =
        |(it, _): &&(String, RepoCredentials)| RepoUrl::new(it).is_permitted_by(source_repos);
    book.templates.iter().filter(permitted).map(template).collect()
}

/// A repository with these credentials, whatever the book says.
#[must_use]
pub fn of(address: &str, credentials: &RepoCredentials) -> Repository {
    let (type_, enable_oci) = match credentials.kind {
        RepoKind::Git if address.starts_with("oci://") => ("oci", false),
        RepoKind::Git => ("git", false),
        RepoKind::Helm => ("helm", false),
        RepoKind::HelmRegistry => ("helm", true),
        RepoKind::Oci => ("oci", false),
    };
    Repository {
        repo: address.to_owned(),
        username: credentials.username.clone(),
        password: credentials.password.clone(),
        bearer_token: credentials.bearer_token.clone(),
        ssh_private_key: credentials.ssh_private_key.clone(),
        tls_client_cert_data: credentials.tls_client_cert.clone(),
        tls_client_cert_key: credentials.tls_client_key.clone(),
        insecure: credentials.insecure,
        type_: type_.to_owned(),
        enable_oci,
        insecure_oci_force_http: credentials.force_http,
        proxy: credentials.proxy.clone(),
        no_proxy: credentials.no_proxy.clone(),
        depth: credentials.depth.into(),
        enable_lfs: credentials.enable_lfs,
        ..of_identity(credentials.identity.as_ref())
    }
}

/// An identity goes as it is written down: the other side gets its tokens, and
/// a workload's identity is the one it has itself.
fn of_identity(identity: Option<&Identity>) -> Repository {
    let none = Repository::default();
    match identity.cloned() {
        None => none,
        Some(Identity::GithubApp { app, installation, private_key, base_url }) => Repository {
            github_app_id: app,
            github_app_installation_id: installation,
            github_app_private_key: private_key,
            github_app_enterprise_base_url: base_url,
            ..none
        },
        Some(Identity::GoogleServiceAccount { key }) => {
            Repository { gcp_service_account_key: key, ..none }
        }
        Some(Identity::AzureWorkload(_)) => {
            Repository { use_azure_workload_identity: true, ..none }
        }
        Some(Identity::AzureServicePrincipal { tenant, client, secret, directory }) => Repository {
            azure_service_principal_tenant_id: tenant,
            azure_service_principal_client_id: client,
            azure_service_principal_client_secret: secret,
            azure_active_directory_endpoint: directory,
            ..none
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_sent_with_what_its_project_or_its_prefix_has() {
        let password = |text: &str| RepoCredentials { password: text.into(), ..Default::default() };
        let helm = RepoCredentials { kind: RepoKind::Helm, ..password("charts") };
        let address = "https://example.com/org/a";
        let book = CredentialBook {
            repositories: vec![
                ("https://charts.example.com".into(), helm),
                ("https://example.com/org/b".into(), password("b")),
                ("https://other.com/org/c".into(), password("c")),
            ],
            projects: [("shop".to_owned(), vec![(address.to_owned(), password("shop"))])].into(),
            templates: vec![("https://example.com".into(), password("host"))],
            ..CredentialBook::default()
        };
        let sent = |project: &str| repository(&book, project, address);
        assert_eq!(
            (sent("shop").password.as_str(), sent("shop").project.as_str()),
            ("shop", "shop")
        );
        assert_eq!((sent("").password.as_str(), sent("").project.as_str()), ("host", ""));
        let all = SourceRepos::all();
        let passwords = |permitted: &SourceRepos| -> Vec<String> {
            others(&book, "", permitted, address).into_iter().map(|it| it.password).collect()
        };
        assert_eq!(
            passwords(&all),
            ["charts", "b"],
            "nothing of hosts that have nothing to do with it"
        );
        assert_eq!(templates(&book, &all)[0].password, "host");
        let some = SourceRepos::new(&["https://example.com/org/*".to_owned()]);
        assert_eq!(passwords(&some), ["b"], "nothing that the project does not permit");
        assert_eq!(templates(&book, &some), []);
    }
}
