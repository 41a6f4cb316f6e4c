//! Credentials for all repositories below an address: `repocreds.RepoCredsService`.

use rbac::action;
use serde_json::json;
use wire::Status;
use wire::message::repocreds::{
    RepoCreds, RepoCredsCreateRequest, RepoCredsDeleteRequest, RepoCredsList, RepoCredsQuery,
    RepoCredsResponse, RepoCredsUpdateRequest,
};

use crate::credential::{self, Credential, fnv};
use crate::failure::{different, refused};
use crate::methods::Call;
use crate::repository::Purpose;

fn label(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Read => "repo-creds",
        Purpose::Write => "repo-write-creds",
    }
}

fn secret_name(purpose: Purpose, url: &str) -> String {
    let prefix = match purpose {
        Purpose::Read => "creds",
        Purpose::Write => "creds-write",
    };
    format!("{prefix}-{}", fnv(&[url]))
}

pub(crate) async fn list(call: Call, query: RepoCredsQuery) -> Result<RepoCredsList, Status> {
    all(&call, Purpose::Read, &query).await
}

pub(crate) async fn list_write(call: Call, query: RepoCredsQuery) -> Result<RepoCredsList, Status> {
    all(&call, Purpose::Write, &query).await
}

pub(crate) async fn create(
    call: Call,
    request: RepoCredsCreateRequest,
) -> Result<RepoCreds, Status> {
    add(&call, Purpose::Read, request).await
}

pub(crate) async fn create_write(
    call: Call,
    request: RepoCredsCreateRequest,
) -> Result<RepoCreds, Status> {
    add(&call, Purpose::Write, request).await
}

pub(crate) async fn update(
    call: Call,
    request: RepoCredsUpdateRequest,
) -> Result<RepoCreds, Status> {
    replace(&call, Purpose::Read, payload(request.creds)?).await
}

pub(crate) async fn update_write(
    call: Call,
    request: RepoCredsUpdateRequest,
) -> Result<RepoCreds, Status> {
    replace(&call, Purpose::Write, payload(request.creds)?).await
}

pub(crate) async fn delete(
    call: Call,
    request: RepoCredsDeleteRequest,
) -> Result<RepoCredsResponse, Status> {
    remove(&call, Purpose::Read, &request.url).await
}

pub(crate) async fn delete_write(
    call: Call,
    request: RepoCredsDeleteRequest,
) -> Result<RepoCredsResponse, Status> {
    remove(&call, Purpose::Write, &request.url).await
}

fn payload(creds: Option<RepoCreds>) -> Result<RepoCreds, Status> {
    creds.ok_or_else(|| Status::invalid_argument("missing payload in request"))
}

async fn all(
    call: &Call,
    purpose: Purpose,
    query: &RepoCredsQuery,
) -> Result<RepoCredsList, Status> {
    let all = credential::all(&call.server.store, label(purpose)).await?;
    let items = all.iter().map(|it| shown(&from_credential(it)));
    let items = items.filter(|it| call.may(purpose.resource(), action::GET, &it.url));
    let items = items.filter(|it| query.url.is_empty() || it.url == query.url);
    Ok(RepoCredsList { items: items.collect(), ..RepoCredsList::default() })
}

async fn add(
    call: &Call,
    purpose: Purpose,
    request: RepoCredsCreateRequest,
) -> Result<RepoCreds, Status> {
    let creds = payload(request.creds)?;
    if creds.url.is_empty() {
        return Err(Status::invalid_argument("must specify URL"));
    }
    call.require(purpose.resource(), action::CREATE, &creds.url)?;
    let store = &call.server.store;
    let credential = to_credential(&creds, Credential::new(secret_name(purpose, &creds.url)));
    match credential::create(store, label(purpose), &credential).await {
        Ok(()) => {
            call.server.ports.sources.credentials_changed().await;
            return Ok(named(&creds));
        }
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(refused("could not create the credentials", &error)),
    }
    let Some(before) = find(call, purpose, &creds.url).await? else {
        let message = format!("repository credentials {:?} already exists", creds.url);
        return Err(Status::already_exists(message));
    };
    let existing = from_credential(&before);
    if existing == creds {
        return Ok(named(&existing));
    }
    if !request.upsert {
        return Err(different("repository credentials", &json!(existing), &json!(creds)));
    }
    replace(call, purpose, creds).await
}

async fn replace(call: &Call, purpose: Purpose, creds: RepoCreds) -> Result<RepoCreds, Status> {
    call.require(purpose.resource(), action::UPDATE, &creds.url)?;
    let store = &call.server.store;
    match find(call, purpose, &creds.url).await? {
        Some(before) => {
            let after = to_credential(&creds, before.clone());
            credential::update(store, &before, &after).await?;
        }
        None => {
            let credential = Credential::new(secret_name(purpose, &creds.url));
            let credential = to_credential(&creds, credential);
            let created = credential::create(store, label(purpose), &credential).await;
            created.map_err(|error| refused("could not create the credentials", &error))?;
        }
    }
    call.server.ports.sources.credentials_changed().await;
    Ok(named(&creds))
}

async fn remove(call: &Call, purpose: Purpose, url: &str) -> Result<RepoCredsResponse, Status> {
    call.require(purpose.resource(), action::DELETE, url)?;
    let Some(credential) = find(call, purpose, url).await? else {
        return Err(Status::not_found(format!("repository credentials {url:?} not found")));
    };
    credential::delete(&call.server.store, &credential).await?;
    call.server.ports.sources.credentials_changed().await;
    Ok(RepoCredsResponse {})
}

async fn find(call: &Call, purpose: Purpose, url: &str) -> Result<Option<Credential>, Status> {
    let all = credential::all(&call.server.store, label(purpose)).await?;
    Ok(all.into_iter().find(|it| it.text("url") == url))
}

fn named(creds: &RepoCreds) -> RepoCreds {
    RepoCreds { url: creds.url.clone(), ..RepoCreds::default() }
}

/// Address and user; nothing that opens a door.
fn shown(creds: &RepoCreds) -> RepoCreds {
    RepoCreds { username: creds.username.clone(), ..named(creds) }
}

fn to_credential(creds: &RepoCreds, mut credential: Credential) -> Credential {
    for (key, text) in [
        ("url", &creds.url),
        ("username", &creds.username),
        ("password", &creds.password),
        ("bearerToken", &creds.bearer_token),
        ("sshPrivateKey", &creds.ssh_private_key),
        ("tlsClientCertData", &creds.tls_client_cert_data),
        ("tlsClientCertKey", &creds.tls_client_cert_key),
        ("type", &creds.type_),
        ("githubAppPrivateKey", &creds.github_app_private_key),
        ("githubAppEnterpriseBaseUrl", &creds.github_app_enterprise_base_url),
        ("gcpServiceAccountKey", &creds.gcp_service_account_key),
        ("proxy", &creds.proxy),
        ("noProxy", &creds.no_proxy),
        // Unlike those of a repository, these keys end in capitals: as Argo CD has them.
        ("azureServicePrincipalClientID", &creds.azure_service_principal_client_id),
        ("azureServicePrincipalClientSecret", &creds.azure_service_principal_client_secret),
        ("azureServicePrincipalTenantID", &creds.azure_service_principal_tenant_id),
        ("azureActiveDirectoryEndpoint", &creds.azure_active_directory_endpoint),
    ] {
        credential.set(key, text);
    }
    for (key, flag) in [
        ("enableOCI", creds.enable_oci),
        ("insecureOCIForceHttp", creds.insecure_oci_force_http),
        ("forceHttpBasicAuth", creds.force_http_basic_auth),
        ("useAzureWorkloadIdentity", creds.use_azure_workload_identity),
    ] {
        credential.set_flag(key, flag);
    }
    credential.set_number("githubAppID", creds.github_app_id);
    credential.set_number("githubAppInstallationID", creds.github_app_installation_id);
    credential
}

fn from_credential(credential: &Credential) -> RepoCreds {
    let text = |key: &str| credential.text(key).to_owned();
    RepoCreds {
        url: text("url"),
        username: text("username"),
        password: text("password"),
        ssh_private_key: text("sshPrivateKey"),
        tls_client_cert_data: text("tlsClientCertData"),
        tls_client_cert_key: text("tlsClientCertKey"),
        github_app_private_key: text("githubAppPrivateKey"),
        github_app_id: credential.number("githubAppID"),
        github_app_installation_id: credential.number("githubAppInstallationID"),
        github_app_enterprise_base_url: text("githubAppEnterpriseBaseUrl"),
        enable_oci: credential.is_set("enableOCI"),
        type_: text("type"),
        gcp_service_account_key: text("gcpServiceAccountKey"),
        proxy: text("proxy"),
        force_http_basic_auth: credential.is_set("forceHttpBasicAuth"),
        no_proxy: text("noProxy"),
        use_azure_workload_identity: credential.is_set("useAzureWorkloadIdentity"),
        bearer_token: text("bearerToken"),
        insecure_oci_force_http: credential.is_set("insecureOCIForceHttp"),
        azure_service_principal_client_id: text("azureServicePrincipalClientID"),
        azure_service_principal_client_secret: text("azureServicePrincipalClientSecret"),
        azure_service_principal_tenant_id: text("azureServicePrincipalTenantID"),
        azure_active_directory_endpoint: text("azureActiveDirectoryEndpoint"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_come_back_from_their_secret() {
        let creds = RepoCreds {
            url: "https://example.org".into(),
            password: "secret".into(),
            azure_service_principal_tenant_id: "t".into(),
            enable_oci: true,
            ..RepoCreds::default()
        };
        let credential = to_credential(&creds, Credential::new("creds-1".into()));
        assert_eq!(from_credential(&credential), creds);
        assert_eq!(shown(&creds).password, "");
    }
}
