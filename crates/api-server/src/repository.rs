//! Repositories: `repository.RepositoryService`.
//!
//! A repository is a Secret. Those that manifests are read from and those that
//! rendered manifests are pushed to are kept apart: see [`Purpose`].

use api::Time;
use engine::project::repo_url;
use futures::StreamExt as _;
use futures::stream;
use jiff::Timestamp;
use rbac::{action, resource};
use serde_json::json;
use wire::Status;
use wire::message::cluster::ConnectionState;
use wire::message::repository::{
    AppInfo, DirectoryAppSpec, HelmAppSpec, HelmChart, HelmChartsResponse, KustomizeAppSpec,
    PluginAppSpec, Refs, RepoAccessQuery, RepoAppDetailsQuery, RepoAppDetailsResponse,
    RepoAppsQuery, RepoAppsResponse, RepoCreateRequest, RepoQuery, RepoResponse, RepoUpdateRequest,
    Repository, RepositoryList,
};

use crate::access::scoped;
use crate::credential::{self, Credential, fnv};
use crate::failure::{different, permission_denied, refused};
use crate::methods::Call;
use crate::ports::SourceError;
use crate::store::Store;

/// Repositories asked at the same time when all of them are listed.
const TESTS_AT_ONCE: usize = 16;

/// What the credentials of a repository are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reading manifests.
    Read,
    /// Pushing rendered manifests.
    Write,
}

impl Purpose {
    /// What policies call it.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Read => resource::REPOSITORIES,
            Self::Write => resource::WRITE_REPOSITORIES,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Read => "repository",
            Self::Write => "repository-write",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Read => "repo",
            Self::Write => "repo-write",
        }
    }
}

pub(crate) async fn list(call: Call, _: RepoQuery) -> Result<RepositoryList, Status> {
    all(&call, Purpose::Read).await
}

pub(crate) async fn list_write(call: Call, _: RepoQuery) -> Result<RepositoryList, Status> {
    all(&call, Purpose::Write).await
}

pub(crate) async fn get(call: Call, query: RepoQuery) -> Result<Repository, Status> {
    one(&call, Purpose::Read, &query).await
}

pub(crate) async fn get_write(call: Call, query: RepoQuery) -> Result<Repository, Status> {
    one(&call, Purpose::Write, &query).await
}

pub(crate) async fn create(call: Call, request: RepoCreateRequest) -> Result<Repository, Status> {
    add(&call, Purpose::Read, request).await
}

pub(crate) async fn create_write(
    call: Call,
    request: RepoCreateRequest,
) -> Result<Repository, Status> {
    add(&call, Purpose::Write, request).await
}

pub(crate) async fn update(call: Call, request: RepoUpdateRequest) -> Result<Repository, Status> {
    replace(&call, Purpose::Read, payload(request.repo)?).await
}

pub(crate) async fn update_write(
    call: Call,
    request: RepoUpdateRequest,
) -> Result<Repository, Status> {
    replace(&call, Purpose::Write, payload(request.repo)?).await
}

pub(crate) async fn delete(call: Call, query: RepoQuery) -> Result<RepoResponse, Status> {
    remove(&call, Purpose::Read, &query).await
}

pub(crate) async fn delete_write(call: Call, query: RepoQuery) -> Result<RepoResponse, Status> {
    remove(&call, Purpose::Write, &query).await
}

pub(crate) async fn validate_access(
    call: Call,
    query: RepoAccessQuery,
) -> Result<RepoResponse, Status> {
    let object = scoped(&query.project, &query.repo);
    call.require(resource::REPOSITORIES, action::CREATE, &object)?;
    test(&call, &asked(query)).await.map_err(|error| unreachable(&error))?;
    Ok(RepoResponse {})
}

pub(crate) async fn list_refs(call: Call, query: RepoQuery) -> Result<Refs, Status> {
    let object = scoped(&query.app_project, &query.repo);
    call.require(resource::REPOSITORIES, action::GET, &object)?;
    let refs = call.server.ports.sources.refs(&query.repo).await;
    let refs = refs.map_err(|error| Status::unknown(error.message))?;
    Ok(Refs { branches: refs.branches, tags: refs.tags })
}

pub(crate) async fn list_oci_tags(call: Call, query: RepoQuery) -> Result<Refs, Status> {
    let object = scoped(&query.app_project, &query.repo);
    call.require(resource::REPOSITORIES, action::GET, &object)?;
    let tags = call.server.ports.sources.oci_tags(&query.repo).await;
    let tags = tags.map_err(|error| Status::unknown(error.message))?;
    Ok(Refs { branches: Vec::new(), tags })
}

pub(crate) async fn helm_charts(
    call: Call,
    query: RepoQuery,
) -> Result<HelmChartsResponse, Status> {
    let object = scoped(&query.app_project, &query.repo);
    call.require(resource::REPOSITORIES, action::GET, &object)?;
    let charts = call.server.ports.sources.helm_charts(&query.repo).await;
    let charts = charts.map_err(|error| Status::unknown(error.message))?;
    let items = charts.into_iter().map(|(name, versions)| HelmChart { name, versions });
    Ok(HelmChartsResponse { items: items.collect() })
}

pub(crate) async fn list_apps(
    call: Call,
    query: RepoAppsQuery,
) -> Result<RepoAppsResponse, Status> {
    call.require(resource::REPOSITORIES, action::GET, &query.repo)?;
    let apps = call.server.ports.sources.list_apps(&query.repo, &query.revision).await;
    let apps = apps.map_err(|error| Status::unknown(error.message))?;
    let items = apps.into_iter().map(|(path, type_)| AppInfo { type_, path });
    Ok(RepoAppsResponse { items: items.collect() })
}

pub(crate) async fn app_details(
    call: Call,
    query: RepoAppDetailsQuery,
) -> Result<RepoAppDetailsResponse, Status> {
    let Some(source) = query.source else {
        return Err(Status::invalid_argument("missing payload in request"));
    };
    let object = scoped(&query.app_project, &source.repo_url);
    call.require(resource::REPOSITORIES, action::GET, &object)?;
    let details = call.server.ports.sources.details(&source).await;
    let details = details.map_err(|error| Status::unknown(error.message))?;
    let mut answer =
        RepoAppDetailsResponse { type_: details.source_type, ..RepoAppDetailsResponse::default() };
    match answer.type_.as_str() {
        "Helm" => {
            answer.helm = Some(HelmAppSpec {
                name: details.name,
                value_files: details.value_files,
                parameters: details.parameters,
                values: details.values,
                file_parameters: details.file_parameters,
            });
        }
        "Kustomize" => answer.kustomize = Some(KustomizeAppSpec { images: details.images }),
        "Directory" => answer.directory = Some(DirectoryAppSpec {}),
        "Plugin" => {
            let parameters_announcement = details.plugin_parameters;
            answer.plugin = Some(PluginAppSpec { parameters_announcement });
        }
        _ => {}
    }
    Ok(answer)
}

fn payload(repo: Option<Repository>) -> Result<Repository, Status> {
    repo.ok_or_else(|| Status::invalid_argument("missing payload in request"))
}

/// Can the repository be read?
async fn test(call: &Call, repo: &Repository) -> Result<(), SourceError> {
    let credentials = to_credential(repo, Credential::default()).data;
    call.server.ports.sources.test_access(&repo.repo, &credentials).await
}

/// The repository that somebody asks to be tested.
fn asked(query: RepoAccessQuery) -> Repository {
    Repository {
        repo: query.repo,
        type_: query.type_,
        name: query.name,
        username: query.username,
        password: query.password,
        bearer_token: query.bearer_token,
        ssh_private_key: query.ssh_private_key,
        insecure: query.insecure,
        tls_client_cert_data: query.tls_client_cert_data,
        tls_client_cert_key: query.tls_client_cert_key,
        enable_oci: query.enable_oci,
        github_app_private_key: query.github_app_private_key,
        github_app_id: query.github_app_id,
        github_app_installation_id: query.github_app_installation_id,
        github_app_enterprise_base_url: query.github_app_enterprise_base_url,
        proxy: query.proxy,
        gcp_service_account_key: query.gcp_service_account_key,
        force_http_basic_auth: query.force_http_basic_auth,
        insecure_oci_force_http: query.insecure_oci_force_http,
        use_azure_workload_identity: query.use_azure_workload_identity,
        azure_service_principal_client_id: query.azure_service_principal_client_id,
        azure_service_principal_client_secret: query.azure_service_principal_client_secret,
        azure_service_principal_tenant_id: query.azure_service_principal_tenant_id,
        azure_active_directory_endpoint: query.azure_active_directory_endpoint,
        ..Repository::default()
    }
}

fn unreachable(error: &SourceError) -> Status {
    Status::unknown(format!("error testing repository connectivity: {error}"))
}

/// All repositories with the state of their connections, by project and address.
async fn all(call: &Call, purpose: Purpose) -> Result<RepositoryList, Status> {
    let stored = credential::all(&call.server.store, purpose.label()).await?;
    let stored = call.visible(purpose.resource(), stored, object_of);
    let tested = stream::iter(stored.iter().map(from_credential)).map(|repo| async move {
        let state = state_of(test(call, &repo).await.err());
        Repository { connection_state: state, ..shown(repo) }
    });
    let mut items: Vec<Repository> = tested.buffer_unordered(TESTS_AT_ONCE).collect().await;
    items.sort_by_key(|it| format!("{}/{}", it.project, it.repo));
    Ok(RepositoryList { items, ..RepositoryList::default() })
}

fn state_of(error: Option<SourceError>) -> ConnectionState {
    let attempted_at = Some(Time::from(Timestamp::now()));
    match error {
        None => {
            ConnectionState { status: "Successful".into(), message: String::new(), attempted_at }
        }
        Some(error) => ConnectionState {
            status: "Failed".into(),
            message: format!("Unable to connect to repository: {error}"),
            attempted_at,
        },
    }
}

async fn one(call: &Call, purpose: Purpose, query: &RepoQuery) -> Result<Repository, Status> {
    let credential = visible(call, purpose, query).await?;
    let repo = from_credential(&credential);
    let state = state_of(test(call, &repo).await.err());
    Ok(Repository { connection_state: state, ..shown(repo) })
}

/// A repository that the caller may see; for others it is not there.
async fn visible(call: &Call, purpose: Purpose, query: &RepoQuery) -> Result<Credential, Status> {
    let credential = find(&call.server.store, purpose, query).await?;
    if call.may(purpose.resource(), action::GET, &object_of(&credential)) {
        return Ok(credential);
    }
    Err(permission_denied())
}

fn object_of(credential: &Credential) -> String {
    scoped(credential.text("project"), credential.text("url"))
}

/// The repository of an address; among several of one address, that of the project.
async fn find(store: &Store, purpose: Purpose, query: &RepoQuery) -> Result<Credential, Status> {
    let all = credential::all(store, purpose.label()).await?;
    let mut found: Vec<Credential> =
        all.into_iter().filter(|it| repo_url::is_same(it.text("url"), &query.repo)).collect();
    if found.is_empty() {
        return Err(permission_denied());
    }
    if found.len() > 1 || !query.app_project.is_empty() {
        found.retain(|it| it.text("project") == query.app_project);
    }
    found.into_iter().next().ok_or_else(|| {
        let RepoQuery { repo, app_project, .. } = query;
        let message = format!("repository not found for url {repo:?} and project {app_project:?}");
        Status::unknown(message)
    })
}

async fn add(
    call: &Call,
    purpose: Purpose,
    request: RepoCreateRequest,
) -> Result<Repository, Status> {
    let repo = payload(request.repo)?;
    let object = scoped(&repo.project, &repo.repo);
    call.require(purpose.resource(), action::CREATE, &object)?;
    if repo.project.is_empty() {
        test(call, &repo).await.map_err(|error| unreachable(&error))?;
    }
    let store = &call.server.store;
    let name = format!("{}-{}", purpose.prefix(), fnv(&[&repo.repo, &repo.project]));
    let credential = to_credential(&repo, Credential::new(name));
    match credential::create(store, purpose.label(), &credential).await {
        Ok(()) => {
            call.server.ports.sources.credentials_changed().await;
            return Ok(named(&repo));
        }
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("could not create the repository", &error)),
    }
    let query = RepoQuery {
        repo: repo.repo.clone(),
        app_project: repo.project.clone(),
        ..RepoQuery::default()
    };
    let before = find(store, purpose, &query).await.map_err(|_| {
        Status::invalid_argument(format!(
            "secret {:?} doesn't have the proper {:?} label: please fix the secret or delete it",
            credential.secret,
            credential::TYPE_LABEL
        ))
    })?;
    let existing = from_credential(&before);
    let comparable = |it: &Repository| Repository {
        type_: if it.type_.is_empty() { "git".into() } else { it.type_.clone() },
        connection_state: ConnectionState::default(),
        ..it.clone()
    };
    if comparable(&existing) == comparable(&repo) {
        return Ok(named(&existing));
    }
    if !request.upsert {
        let (old, new) = (json!(comparable(&existing)), json!(comparable(&repo)));
        return Err(different("repository", &old, &new));
    }
    replace(call, purpose, repo).await
}

async fn replace(call: &Call, purpose: Purpose, repo: Repository) -> Result<Repository, Status> {
    call.require(purpose.resource(), action::UPDATE, &scoped(&repo.project, &repo.repo))?;
    let store = &call.server.store;
    let all = credential::all(store, purpose.label()).await?;
    let before = all.into_iter().find(|it| {
        repo_url::is_same(it.text("url"), &repo.repo) && it.text("project") == repo.project
    });
    match before {
        Some(before) => {
            let after = to_credential(&repo, before.clone());
            credential::update(store, &before, &after).await?;
        }
        None => {
            let name = format!("{}-{}", purpose.prefix(), fnv(&[&repo.repo, &repo.project]));
            let credential = to_credential(&repo, Credential::new(name));
            let created = credential::create(store, purpose.label(), &credential).await;
            created.map_err(|error| refused("could not create the repository", &error))?;
        }
    }
    call.server.ports.sources.credentials_changed().await;
    Ok(named(&repo))
}

async fn remove(call: &Call, purpose: Purpose, query: &RepoQuery) -> Result<RepoResponse, Status> {
    let store = &call.server.store;
    let credential = visible(call, purpose, query).await?;
    call.require(purpose.resource(), action::DELETE, &object_of(&credential))?;
    credential::delete(store, &credential).await?;
    call.server.ports.sources.credentials_changed().await;
    Ok(RepoResponse {})
}

/// What an answer to a change says.
fn named(repo: &Repository) -> Repository {
    Repository {
        repo: repo.repo.clone(),
        type_: repo.type_.clone(),
        name: repo.name.clone(),
        ..Repository::default()
    }
}

/// A repository as clients may see it: without its secrets.
pub(crate) fn shown(repo: Repository) -> Repository {
    let kind = match repo.type_.as_str() {
        "" if repo.repo.starts_with("oci://") => "oci",
        "" => "git",
        kind => kind,
    };
    Repository {
        type_: kind.to_owned(),
        insecure: repo.insecure || repo.insecure_ignore_host_key,
        insecure_ignore_host_key: false,
        password: String::new(),
        ssh_private_key: String::new(),
        bearer_token: String::new(),
        tls_client_cert_data: String::new(),
        tls_client_cert_key: String::new(),
        github_app_private_key: String::new(),
        gcp_service_account_key: String::new(),
        azure_service_principal_client_secret: String::new(),
        insecure_oci_force_http: false,
        webhook_manifest_cache_warm_disabled: false,
        ..repo
    }
}

/// Every repository that is registered for reading, with its secrets.
pub(crate) async fn known(store: &Store) -> Result<Vec<Repository>, Status> {
    let all = credential::all(store, Purpose::Read.label()).await?;
    Ok(all.iter().map(from_credential).collect())
}

fn to_credential(repo: &Repository, mut credential: Credential) -> Credential {
    for (key, text) in [
        ("name", &repo.name),
        ("project", &repo.project),
        ("url", &repo.repo),
        ("username", &repo.username),
        ("password", &repo.password),
        ("bearerToken", &repo.bearer_token),
        ("sshPrivateKey", &repo.ssh_private_key),
        ("tlsClientCertData", &repo.tls_client_cert_data),
        ("tlsClientCertKey", &repo.tls_client_cert_key),
        ("type", &repo.type_),
        ("githubAppPrivateKey", &repo.github_app_private_key),
        ("githubAppEnterpriseBaseUrl", &repo.github_app_enterprise_base_url),
        ("proxy", &repo.proxy),
        ("noProxy", &repo.no_proxy),
        ("gcpServiceAccountKey", &repo.gcp_service_account_key),
        ("azureServicePrincipalClientId", &repo.azure_service_principal_client_id),
        ("azureServicePrincipalClientSecret", &repo.azure_service_principal_client_secret),
        ("azureServicePrincipalTenantId", &repo.azure_service_principal_tenant_id),
        ("azureActiveDirectoryEndpoint", &repo.azure_active_directory_endpoint),
    ] {
        credential.set(key, text);
    }
    for (key, flag) in [
        ("enableOCI", repo.enable_oci),
        ("insecureOCIForceHttp", repo.insecure_oci_force_http),
        ("insecureIgnoreHostKey", repo.insecure_ignore_host_key),
        ("insecure", repo.insecure),
        ("enableLfs", repo.enable_lfs),
        ("forceHttpBasicAuth", repo.force_http_basic_auth),
        ("useAzureWorkloadIdentity", repo.use_azure_workload_identity),
        ("webhookManifestCacheWarmDisabled", repo.webhook_manifest_cache_warm_disabled),
    ] {
        credential.set_flag(key, flag);
    }
    credential.set_number("githubAppID", repo.github_app_id);
    credential.set_number("githubAppInstallationID", repo.github_app_installation_id);
    credential.set_number("depth", repo.depth);
    credential
}

fn from_credential(credential: &Credential) -> Repository {
    let text = |key: &str| credential.text(key).to_owned();
    Repository {
        repo: text("url"),
        username: text("username"),
        password: text("password"),
        ssh_private_key: text("sshPrivateKey"),
        connection_state: ConnectionState::default(),
        insecure_ignore_host_key: credential.is_set("insecureIgnoreHostKey"),
        insecure: credential.is_set("insecure"),
        enable_lfs: credential.is_set("enableLfs"),
        tls_client_cert_data: text("tlsClientCertData"),
        tls_client_cert_key: text("tlsClientCertKey"),
        type_: text("type"),
        name: text("name"),
        inherited_creds: false,
        enable_oci: credential.is_set("enableOCI"),
        github_app_private_key: text("githubAppPrivateKey"),
        github_app_id: credential.number("githubAppID"),
        github_app_installation_id: credential.number("githubAppInstallationID"),
        github_app_enterprise_base_url: text("githubAppEnterpriseBaseUrl"),
        proxy: text("proxy"),
        project: text("project"),
        gcp_service_account_key: text("gcpServiceAccountKey"),
        force_http_basic_auth: credential.is_set("forceHttpBasicAuth"),
        no_proxy: text("noProxy"),
        use_azure_workload_identity: credential.is_set("useAzureWorkloadIdentity"),
        bearer_token: text("bearerToken"),
        insecure_oci_force_http: credential.is_set("insecureOCIForceHttp"),
        depth: credential.number("depth"),
        webhook_manifest_cache_warm_disabled: credential.is_set("webhookManifestCacheWarmDisabled"),
        azure_service_principal_client_id: text("azureServicePrincipalClientId"),
        azure_service_principal_client_secret: text("azureServicePrincipalClientSecret"),
        azure_service_principal_tenant_id: text("azureServicePrincipalTenantId"),
        azure_active_directory_endpoint: text("azureActiveDirectoryEndpoint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_comes_back_from_its_secret_and_is_shown_without_secrets() {
        let repo = Repository {
            repo: "https://example.org/web.git".into(),
            username: "ci".into(),
            password: "secret".into(),
            insecure_ignore_host_key: true,
            github_app_id: 7,
            ..Repository::default()
        };
        let credential = to_credential(&repo, Credential::new("repo-1".into()));
        assert_eq!(credential.data.len(), 5);
        assert_eq!(from_credential(&credential), repo);
        let shown = shown(repo);
        assert_eq!((shown.password.as_str(), shown.username.as_str()), ("", "ci"));
        assert_eq!((shown.type_.as_str(), shown.insecure), ("git", true));
    }
}
