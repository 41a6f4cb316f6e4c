//! What is asked beside manifests.

use api::{ChartDetails, HelmParameter, OciMetadata, RevisionMetadata, Time};
use plugins::Plugins;
use render::{PluginParameter, RenderContext, SourceDetails};
use wire::Status;
use wire::message::repo_server::{
    AppList, Empty, HelmChartsRequest, ListAppsRequest, ListRefsRequest, PluginInfo, PluginList,
    RepoServerAppDetailsQuery, RepoServerRevisionChartDetailsRequest,
    RepoServerRevisionMetadataRequest, ResolveRevisionRequest, ResolveRevisionResponse,
    TestRepositoryRequest, TestRepositoryResponse,
};
use wire::message::repository::{
    DirectoryAppSpec, HelmAppSpec, HelmChart, HelmChartsResponse, KustomizeAppSpec,
    ParameterAnnouncement, PluginAppSpec, Refs, RepoAppDetailsResponse, Repository,
};

use super::{Call, integrity, not_fetched, refused, request};
use crate::{Freshness, ManifestQuery, RepoServer, RepoUrl, SourceRepos, TargetRevision};

impl Call {
    /// The server and the repository, with what a request brought for it.
    fn at(&self, repo: &Repository) -> (RepoServer, RepoUrl) {
        let server = self.service.server.with(request::brought([repo], &[]));
        let url = server.repo(&repo.repo, &repo.project);
        (server, url)
    }
}

/// `TestRepository`. The answer's flag is never set, as with Argo CD: no error
/// is the good news.
pub(super) async fn test_repository(
    call: Call,
    asked: TestRepositoryRequest,
) -> Result<TestRepositoryResponse, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    if !matches!(repo.type_.as_str(), "" | "git" | "helm" | "oci") {
        return Err(Status::unknown(format!("unsupported repository type {:?}", repo.type_)));
    }
    let credentials = request::credentials(repo);
    let url = RepoUrl::new(&repo.repo);
    match call.service.server.test_access_with(&url, &credentials).await {
        Ok(()) => Ok(TestRepositoryResponse::default()),
        Err(error) => {
            let status = not_fetched(&error);
            let told = format!("error testing repository connectivity: {}", status.message());
            Err(Status::with_metadata(status.code(), told, status.metadata().clone()))
        }
    }
}

/// `ResolveRevision`.
pub(super) async fn resolve_revision(
    call: Call,
    asked: ResolveRevisionRequest,
) -> Result<ResolveRevisionResponse, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    let app =
        asked.app.as_ref().ok_or_else(|| Status::invalid_argument("must pass an application"))?;
    let index = usize::try_from(asked.source_index).unwrap_or(0);
    let sources = app.sources();
    let source = sources.get(index).or_else(|| sources.first());
    let source = request::source(source, Some(repo))?;
    let target = TargetRevision(asked.ambiguous_revision.clone());
    // Versions of charts and artifacts are asked for each time, as with Argo CD.
    let is_git = source.chart.is_empty() && !source.repo_url.starts_with("oci://");
    let freshness = call.freshness(asked.no_revision_cache || !is_git && call.max_age.is_none());
    let server = call.service.server.with(request::brought([repo], &[]));
    let resolved = server.resolve_source(&source, &app.spec.project, &target, freshness).await;
    let revision = resolved.map_err(|error| not_fetched(&error))?;
    let ambiguous_revision = format!("{} ({revision})", asked.ambiguous_revision);
    Ok(ResolveRevisionResponse { revision, ambiguous_revision })
}

/// `ListRefs`.
pub(super) async fn list_refs(call: Call, asked: ListRefsRequest) -> Result<Refs, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let refs = server.refs(&url, Freshness::Latest).await.map_err(|error| not_fetched(&error))?;
    Ok(Refs {
        branches: refs.branches().map(str::to_owned).collect(),
        tags: refs.tags().map(str::to_owned).collect(),
    })
}

/// `ListOCITags`.
pub(super) async fn list_oci_tags(call: Call, asked: ListRefsRequest) -> Result<Refs, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let tags = server.oci_tags(&url).await.map_err(|error| not_fetched(&error))?;
    Ok(Refs { branches: Vec::new(), tags })
}

/// `ListApps`.
pub(super) async fn list_apps(call: Call, asked: ListAppsRequest) -> Result<AppList, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let revision = TargetRevision(asked.revision);
    let enabled = request::enabled(&asked.enabled_source_types);
    let apps = server.list_apps(&url, &revision, enabled, "", SourceRepos::all()).await;
    let apps = apps.map_err(|error| refused(&error))?;
    let apps = apps.into_iter().map(|(path, kind)| (path, kind.as_str().to_owned()));
    Ok(AppList { apps: apps.collect() })
}

/// `ListPlugins`.
pub(super) async fn list_plugins(call: Call, _: Empty) -> Result<PluginList, Status> {
    let options = call.service.server.options();
    let plugins = Plugins::new(&options.plugins.sockets, options.render_timeout);
    let names = tokio::task::spawn_blocking(move || plugins.names()).await;
    let names = names.map_err(|error| Status::internal(error.to_string()))?;
    Ok(PluginList { items: names.into_iter().map(|name| PluginInfo { name }).collect() })
}

/// `GetAppDetails`.
pub(super) async fn app_details(
    call: Call,
    asked: RepoServerAppDetailsQuery,
) -> Result<RepoAppDetailsResponse, Status> {
    let source = request::source(asked.source.as_ref(), asked.repo.as_ref())?;
    let _pending = call.service.metrics.pending(&source.repo_url);
    let refs = asked.ref_sources.values().map(|it| &it.repo);
    let repos = asked.repo.iter().chain(refs).chain(&asked.repos);
    let server = call.service.server.with(request::brought(repos, &[]));
    let helm = asked.helm_options.as_ref();
    let context = RenderContext {
        enabled: request::enabled(&asked.enabled_source_types),
        project: asked.repo.as_ref().map_or(String::new(), |it| it.project.clone()),
        ..request::context(&asked.app_name, "", helm, asked.kustomize_options.as_ref())
    };
    let query = ManifestQuery {
        revision: TargetRevision(source.target_revision.clone()),
        refs: request::refs(&asked.ref_sources),
        freshness: call.freshness(asked.no_revision_cache),
        context,
        source_repos: SourceRepos::all(),
        integrity: None,
        ignore_cache: asked.no_cache,
        source,
    };
    let found = server.details(&query).await.map_err(|error| refused(&error))?;
    Ok(details(found))
}

/// A plugin's parameter as clients see it.
#[must_use]
pub fn announcement(parameter: PluginParameter) -> ParameterAnnouncement {
    let PluginParameter {
        name,
        title,
        tooltip,
        required,
        item_type,
        collection_type,
        string,
        array,
        map,
    } = parameter;
    ParameterAnnouncement {
        name,
        title,
        tooltip,
        required,
        item_type,
        collection_type,
        string,
        array,
        map,
    }
}

fn details(found: SourceDetails) -> RepoAppDetailsResponse {
    let type_ = found.source_type().as_str().to_owned();
    let details = RepoAppDetailsResponse { type_, ..Default::default() };
    match found {
        SourceDetails::Helm(chart) => {
            let parameters = chart.parameters.into_iter();
            let parameters =
                parameters.map(|(name, value)| HelmParameter { name, value, force_string: false });
            let helm = HelmAppSpec {
                name: String::new(),
                value_files: chart.value_files,
                parameters: parameters.collect(),
                values: chart.values,
                file_parameters: chart.file_parameters,
            };
            RepoAppDetailsResponse { helm: Some(helm), ..details }
        }
        SourceDetails::Kustomize(kustomization) => {
            let kustomize = Some(KustomizeAppSpec { images: kustomization.images });
            RepoAppDetailsResponse { kustomize, ..details }
        }
        SourceDetails::Directory => {
            RepoAppDetailsResponse { directory: Some(DirectoryAppSpec {}), ..details }
        }
        SourceDetails::Plugin(parameters) => {
            let parameters_announcement = parameters.into_iter().map(announcement).collect();
            let plugin = Some(PluginAppSpec { parameters_announcement });
            RepoAppDetailsResponse { plugin, ..details }
        }
    }
}

/// `GetRevisionMetadata`.
pub(super) async fn revision_metadata(
    call: Call,
    asked: RepoServerRevisionMetadataRequest,
) -> Result<RevisionMetadata, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let revision = TargetRevision(asked.revision);
    let known = server.revision_metadata(&url, &revision).await;
    let known = known.map_err(|error| refused(&error))?;
    let checks_signatures = call.service.options.checks_signatures;
    let checked = match asked.source_integrity.filter(|_| checks_signatures) {
        None => None,
        Some(integrity) => {
            let commit = TargetRevision(known.commit.as_str().to_owned());
            let problems =
                server.problems_of(&url, &commit, &integrity, call.freshness(false)).await;
            problems.map_err(|error| not_fetched(&error))?
        }
    };
    Ok(RevisionMetadata {
        source_integrity_result: checked.map(|it| integrity::result(&it)),
        author: known.author,
        date: Time::from_unix(known.date),
        tags: known.tags,
        message: known.message,
        ..RevisionMetadata::default()
    })
}

/// `GetOCIMetadata`.
pub(super) async fn oci_metadata(
    call: Call,
    asked: RepoServerRevisionChartDetailsRequest,
) -> Result<OciMetadata, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let known = server.oci_metadata(&url, &TargetRevision(asked.revision)).await;
    let known = known.map_err(|error| not_fetched(&error))?;
    Ok(OciMetadata {
        created_at: known.created_at,
        authors: known.authors,
        docs_url: known.docs_url,
        source_url: known.source_url,
        version: known.version,
        description: known.description,
        ..OciMetadata::default()
    })
}

/// `GetRevisionChartDetails`.
pub(super) async fn chart_details(
    call: Call,
    asked: RepoServerRevisionChartDetailsRequest,
) -> Result<ChartDetails, Status> {
    let repo = request::repository(asked.repo.as_ref())?;
    let (server, _) = call.at(repo);
    let source = api::ApplicationSource {
        repo_url: repo.repo.clone(),
        chart: asked.name,
        target_revision: asked.revision.clone(),
        ..Default::default()
    };
    let query = ManifestQuery {
        source,
        revision: TargetRevision(asked.revision),
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext { project: repo.project.clone(), ..RenderContext::new("", "") },
        source_repos: SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    };
    match server.details(&query).await.map_err(|error| refused(&error))? {
        SourceDetails::Helm(chart) => Ok(ChartDetails {
            description: chart.description,
            home: chart.home,
            maintainers: chart.maintainers,
        }),
        other => {
            let found = other.source_type().as_str();
            Err(Status::unknown(format!("{} holds no chart but a {found}", query.source.chart)))
        }
    }
}

/// `GetHelmCharts`.
pub(super) async fn helm_charts(
    call: Call,
    asked: HelmChartsRequest,
) -> Result<HelmChartsResponse, Status> {
    let (server, url) = call.at(request::repository(asked.repo.as_ref())?);
    let charts = server.helm_charts(&url).await.map_err(|error| not_fetched(&error))?;
    let items = charts.into_iter().map(|(name, versions)| HelmChart { name, versions });
    Ok(HelmChartsResponse { items: items.collect() })
}
