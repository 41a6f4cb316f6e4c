//! Argo CD's messages in our own words.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::ApplicationSource;
use render::tracking::{DEFAULT_LABEL, Tracking, TrackingMethod};
use render::{Capabilities, EnabledSourceTypes, RenderContext};
use wire::Status;
use wire::message::repo_server::{HelmOptions, ManifestRequest, RefTarget};
use wire::message::repocreds::RepoCreds;
use wire::message::repository::Repository;
use wire::message::settings::KustomizeOptions;

use super::ServiceOptions;
use crate::{
    AzureWorkload, Brought, Freshness, Identity, ManifestQuery, RefSource, RepoCredentials,
    RepoKind, SourceRepos, TargetRevision,
};

/// The repository that a request is about.
pub(super) fn repository(repo: Option<&Repository>) -> Result<&Repository, Status> {
    repo.ok_or_else(|| Status::invalid_argument("must pass a valid repo"))
}

/// Everything that a request brought to get into repositories.
pub(super) fn brought<'r>(
    repos: impl IntoIterator<Item = &'r Repository>,
    templates: &[RepoCreds],
) -> Arc<Brought> {
    let mut brought = Brought::default();
    for repo in repos {
        brought.add(&repo.repo, &repo.name, &repo.project, credentials(repo));
    }
    let templates = templates.iter().filter(|it| !it.url.is_empty());
    brought.book.templates = templates.map(|it| (it.url.clone(), template(it))).collect();
    Arc::new(brought)
}

/// How to get into a repository.
pub(super) fn credentials(repo: &Repository) -> RepoCredentials {
    RepoCredentials {
        username: repo.username.clone(),
        password: repo.password.clone(),
        bearer_token: repo.bearer_token.clone(),
        ssh_private_key: repo.ssh_private_key.clone(),
        tls_client_cert: repo.tls_client_cert_data.clone(),
        tls_client_key: repo.tls_client_cert_key.clone(),
        insecure: repo.insecure || repo.insecure_ignore_host_key,
        kind: kind(&repo.type_, repo.enable_oci, &repo.repo),
        force_http: repo.insecure_oci_force_http,
        proxy: repo.proxy.clone(),
        no_proxy: repo.no_proxy.clone(),
        identity: identity(repo),
        depth: u32::try_from(repo.depth).unwrap_or(0),
        enable_lfs: repo.enable_lfs,
    }
}

/// Who we are at a service that issues tokens, in Argo CD's order.
fn identity(repo: &Repository) -> Option<Identity> {
    if !repo.github_app_private_key.is_empty() {
        return Some(Identity::GithubApp {
            app: repo.github_app_id,
            installation: repo.github_app_installation_id,
            private_key: repo.github_app_private_key.clone(),
            base_url: repo.github_app_enterprise_base_url.clone(),
        });
    }
    if !repo.gcp_service_account_key.is_empty() {
        return Some(Identity::GoogleServiceAccount { key: repo.gcp_service_account_key.clone() });
    }
    if repo.use_azure_workload_identity {
        let variable = |name: &str| std::env::var(name).ok();
        return Some(Identity::AzureWorkload(AzureWorkload::from_variables(variable)));
    }
    if !repo.azure_service_principal_client_secret.is_empty() {
        return Some(Identity::AzureServicePrincipal {
            tenant: repo.azure_service_principal_tenant_id.clone(),
            client: repo.azure_service_principal_client_id.clone(),
            secret: repo.azure_service_principal_client_secret.clone(),
            directory: repo.azure_active_directory_endpoint.clone(),
        });
    }
    None
}

fn template(creds: &RepoCreds) -> RepoCredentials {
    let creds = creds.clone();
    credentials(&Repository {
        repo: creds.url,
        username: creds.username,
        password: creds.password,
        bearer_token: creds.bearer_token,
        ssh_private_key: creds.ssh_private_key,
        tls_client_cert_data: creds.tls_client_cert_data,
        tls_client_cert_key: creds.tls_client_cert_key,
        type_: creds.type_,
        enable_oci: creds.enable_oci,
        insecure_oci_force_http: creds.insecure_oci_force_http,
        proxy: creds.proxy,
        no_proxy: creds.no_proxy,
        github_app_private_key: creds.github_app_private_key,
        github_app_id: creds.github_app_id,
        github_app_installation_id: creds.github_app_installation_id,
        github_app_enterprise_base_url: creds.github_app_enterprise_base_url,
        gcp_service_account_key: creds.gcp_service_account_key,
        use_azure_workload_identity: creds.use_azure_workload_identity,
        azure_service_principal_client_id: creds.azure_service_principal_client_id,
        azure_service_principal_client_secret: creds.azure_service_principal_client_secret,
        azure_service_principal_tenant_id: creds.azure_service_principal_tenant_id,
        azure_active_directory_endpoint: creds.azure_active_directory_endpoint,
        ..Repository::default()
    })
}

fn kind(said: &str, enable_oci: bool, address: &str) -> RepoKind {
    match said {
        "oci" => RepoKind::Oci,
        _ if enable_oci => RepoKind::HelmRegistry,
        "helm" => RepoKind::Helm,
        _ if address.starts_with("oci://") => RepoKind::Oci,
        _ => RepoKind::Git,
    }
}

/// What to render.
pub(super) fn query(
    asked: &ManifestRequest,
    freshness: Freshness,
    options: &ServiceOptions,
) -> Result<ManifestQuery, Status> {
    let source = source(asked.application_source.as_ref(), asked.repo.as_ref())?;
    let refs = if asked.has_multiple_sources { refs(&asked.ref_sources) } else { Vec::new() };
    let label_key = match asked.app_label_key.as_str() {
        "" => DEFAULT_LABEL,
        key => key,
    };
    let context = RenderContext {
        project: asked.project_name.clone(),
        tracking: Tracking {
            method: TrackingMethod::parse(&asked.tracking_method),
            label_key: label_key.to_owned(),
            installation_id: asked.installation_id.clone(),
        },
        enabled: enabled(&asked.enabled_source_types),
        limits: options.limits,
        generate_paths: asked.annotation_manifest_generate_paths.clone(),
        capabilities: Arc::new(Capabilities {
            kube_version: asked.kube_version.clone(),
            api_versions: asked.api_versions.clone(),
        }),
        ..context(
            &asked.app_name,
            &asked.namespace,
            asked.helm_options.as_ref(),
            asked.kustomize_options.as_ref(),
        )
    };
    Ok(ManifestQuery {
        source,
        revision: TargetRevision(asked.revision.clone()),
        refs,
        freshness,
        context,
        source_repos: source_repos(asked),
        integrity: asked.source_integrity.clone().filter(|_| options.checks_signatures),
        ignore_cache: asked.no_cache,
    })
}

/// What the project permits. Who does not say so brought nothing else.
fn source_repos(asked: &ManifestRequest) -> SourceRepos {
    match asked.project_source_repos.as_slice() {
        [] => SourceRepos::all(),
        entries => SourceRepos::new(entries),
    }
}

/// The source; its address is the repository's, if it names none.
pub(super) fn source(
    source: Option<&ApplicationSource>,
    repo: Option<&Repository>,
) -> Result<ApplicationSource, Status> {
    let mut source = source
        .cloned()
        .ok_or_else(|| Status::invalid_argument("must pass an application source"))?;
    if source.repo_url.is_empty() {
        source.repo_url = repository(repo)?.repo.clone();
    }
    Ok(source)
}

pub(super) fn context(
    app_name: &str,
    namespace: &str,
    helm: Option<&HelmOptions>,
    kustomize: Option<&KustomizeOptions>,
) -> RenderContext {
    let context = RenderContext::new(app_name, namespace);
    RenderContext {
        values_file_schemes: helm
            .map_or(context.values_file_schemes, |it| it.values_file_schemes.clone()),
        kustomize_build_options: kustomize.map_or(String::new(), |it| it.build_options.clone()),
        ..context
    }
}

/// Kinds that are not mentioned are enabled.
pub(super) fn enabled(kinds: &BTreeMap<String, bool>) -> EnabledSourceTypes {
    let is_enabled = |kind: &str| kinds.get(kind).copied().unwrap_or(true);
    EnabledSourceTypes {
        helm: is_enabled("Helm"),
        kustomize: is_enabled("Kustomize"),
        jsonnet: is_enabled("Directory"),
    }
}

/// Sources that others refer to, by `$name`.
pub(super) fn refs(sources: &BTreeMap<String, RefTarget>) -> Vec<RefSource> {
    let one = |(name, target): (&String, &RefTarget)| RefSource {
        name: name.trim_start_matches('$').to_owned(),
        repo_url: target.repo.repo.clone(),
        revision: TargetRevision(target.target_revision.clone()),
        tag_prefix: String::new(),
    };
    sources.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_does_not_say_is_as_argo_cd_has_it() {
        let asked = ManifestRequest {
            repo: Some(Repository { repo: "https://example.com/x".into(), ..Default::default() }),
            application_source: Some(ApplicationSource::default()),
            ..ManifestRequest::default()
        };
        let query = query(&asked, Freshness::Latest, &ServiceOptions::default()).expect("a query");
        assert_eq!(query.source.repo_url, "https://example.com/x");
        assert_eq!(query.context.tracking, Tracking::default());
        assert_eq!(query.context.enabled, EnabledSourceTypes::default());
        assert_eq!(query.context.values_file_schemes, ["http", "https"]);
        assert!(query.refs.is_empty());
    }

    #[test]
    fn what_is_sent_arrives() {
        let principal = Identity::AzureServicePrincipal {
            tenant: "t".into(),
            client: "c".into(),
            secret: "s".into(),
            directory: "d".into(),
        };
        let app = Identity::GithubApp {
            app: 7,
            installation: 8,
            private_key: "k".into(),
            base_url: "b".into(),
        };
        let google = Identity::GoogleServiceAccount { key: "{}".into() };
        let workload = Identity::AzureWorkload(AzureWorkload::from_variables(|_| None));
        for identity in [principal, app, google, workload] {
            let sent = RepoCredentials { identity: Some(identity), ..RepoCredentials::default() };
            let book = crate::CredentialBook {
                templates: vec![("https://example.com".into(), sent.clone())],
                ..Default::default()
            };
            assert!(credentials(&crate::sent::of("https://example.com/x", &sent)) == sent);
            assert!(
                template(&crate::sent::templates(&book, &SourceRepos::all())[0]) == sent,
                "{sent:?}"
            );
        }
    }

    #[test]
    fn a_kind_can_be_switched_off() {
        let kinds = BTreeMap::from([("Helm".to_owned(), false), ("Plugin".to_owned(), true)]);
        let expect = EnabledSourceTypes { helm: false, kustomize: true, jsonnet: true };
        assert_eq!(enabled(&kinds), expect);
    }

    #[test]
    fn the_kind_of_a_repository_is_what_its_secret_says() {
        assert_eq!(kind("", false, "https://example.com"), RepoKind::Git);
        assert_eq!(kind("helm", false, "https://example.com"), RepoKind::Helm);
        assert_eq!(kind("helm", true, "example.com"), RepoKind::HelmRegistry);
        assert_eq!(kind("", false, "oci://example.com/x"), RepoKind::Oci);
    }
}
