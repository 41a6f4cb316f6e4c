//! A repo server in another process, as the API server sees it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::api::{AppProject, ApplicationSource, ChartDetails, OciMetadata, RevisionMetadata};
use api_server::{Charts, Details, Refs, RenderRequest, Rendered, SourceError, Sources};
use cluster::Client;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use plugins::Packer;
use repo_server::{CommitSha, SourceRepos, sent};
use runtime::Chain;
use settings::SettingsStore;
use settings::repositories::Repository;
use wire::Status;
use wire::message::repo_server::{self as message, ManifestRequest, path};
use wire::message::repository::{
    HelmChartsResponse, ManifestResponse, Refs as RefsAnswer, RepoAppDetailsResponse,
};

use crate::elsewhere::{Elsewhere, is_inaccessible, objects};
use crate::repositories;

/// Files of one request together.
const MAX_FILES: u64 = 1 << 30;

/// The repo server, and where its credentials come from.
pub(crate) struct ElsewhereSources {
    pub(crate) sources: Arc<Elsewhere>,
    pub(crate) settings: Arc<SettingsStore>,
    pub(crate) control_plane: Client,
    pub(crate) namespace: String,
}

impl ElsewhereSources {
    async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Result<A, SourceError>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        self.sources.ask(path, question).await.map_err(|it| told(&it))
    }

    fn request(&self, request: RenderRequest) -> ManifestRequest {
        let RenderRequest { source, project, source_repos, refs, cluster, .. } = request;
        let tracking = controller::tracking(&self.settings.current().tracking);
        ManifestRequest {
            revision: request.revision,
            no_cache: request.ignore_cache,
            no_revision_cache: true,
            app_name: request.instance,
            namespace: request.namespace,
            app_label_key: tracking.label_key,
            tracking_method: tracking.method.as_str().to_owned(),
            installation_id: tracking.installation_id,
            kube_version: cluster.client().version().git_version.clone(),
            api_versions: cluster.kinds().api_versions(),
            ..self.sources.request(source, project, &source_repos, refs)
        }
    }
}

impl Sources for ElsewhereSources {
    fn resolve<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>> {
        async move {
            let source =
                ApplicationSource { target_revision: revision.to_owned(), ..source.clone() };
            let freshness = controller::Freshness::Latest;
            let resolved =
                controller::Sources::resolve(&*self.sources, &source, project, freshness).await;
            resolved.map_err(|it| SourceError { message: it.message, is_inaccessible: true })
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        async move {
            let asked = self.request(request);
            rendered(self.ask(path::GENERATE_MANIFEST, asked).await?)
        }
        .boxed()
    }

    fn render_files(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        request: RenderRequest,
    ) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        async move {
            let asked = self.request(request);
            let failed = |message| SourceError { message, is_inaccessible: false };
            let (archive, checksum) = packed(&files).map_err(failed)?;
            let answer = self.sources.render_files(asked, archive, checksum).await;
            rendered(answer.map_err(|it| told(&it))?)
        }
        .boxed()
    }

    fn revision_metadata<'a>(
        &'a self,
        source: &'a ApplicationSource,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<RevisionMetadata, SourceError>> {
        let asked = message::RepoServerRevisionMetadataRequest {
            repo: Some(self.sources.repository(&source.repo_url, "")),
            revision: revision.to_owned(),
            ..Default::default()
        };
        self.ask(path::GET_REVISION_METADATA, asked).boxed()
    }

    fn credentials_changed(&self) -> BoxFuture<'_, ()> {
        async move {
            if let Err(error) = self.settings.reload(&self.control_plane, &self.namespace).await {
                tracing::warn!(error = %Chain(&error), "could not read the credentials again");
            }
            self.sources.take_over(&self.settings);
        }
        .boxed()
    }

    fn test_access<'a>(
        &'a self,
        repo: &'a str,
        credentials: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<(), SourceError>> {
        let repository = Repository::from_texts(credentials).unwrap_or_default();
        let credentials = repositories::credentials(&repository);
        let asked = message::TestRepositoryRequest { repo: Some(sent::of(repo, &credentials)) };
        async move {
            let answer = self.ask(path::TEST_REPOSITORY, asked).await;
            let _: message::TestRepositoryResponse = answer.map_err(|error| {
                let told = error.message.strip_prefix("error testing repository connectivity: ");
                let message = told.unwrap_or(&error.message).to_owned();
                SourceError { message, is_inaccessible: true }
            })?;
            Ok(())
        }
        .boxed()
    }

    fn refs<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Refs, SourceError>> {
        let asked = message::ListRefsRequest { repo: Some(self.sources.repository(repo, "")) };
        async move {
            let refs: RefsAnswer = self.ask(path::LIST_REFS, asked).await?;
            Ok(Refs { branches: refs.branches, tags: refs.tags })
        }
        .boxed()
    }

    fn helm_charts<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Charts, SourceError>> {
        let asked = message::HelmChartsRequest { repo: Some(self.sources.repository(repo, "")) };
        async move {
            let charts: HelmChartsResponse = self.ask(path::GET_HELM_CHARTS, asked).await?;
            Ok(charts.items.into_iter().map(|it| (it.name, it.versions)).collect())
        }
        .boxed()
    }

    fn oci_tags<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Vec<String>, SourceError>> {
        let asked = message::ListRefsRequest { repo: Some(self.sources.repository(repo, "")) };
        async move {
            let refs: RefsAnswer = self.ask(path::LIST_OCI_TAGS, asked).await?;
            Ok(refs.tags)
        }
        .boxed()
    }

    fn oci_metadata<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<OciMetadata, SourceError>> {
        let asked = message::RepoServerRevisionChartDetailsRequest {
            repo: Some(self.sources.repository(repo, "")),
            name: repo.to_owned(),
            revision: revision.to_owned(),
        };
        self.ask(path::GET_OCI_METADATA, asked).boxed()
    }

    fn list_apps<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
        project: &'a AppProject,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, SourceError>> {
        let asked = message::ListAppsRequest {
            repo: Some(self.sources.repository(repo, &project.metadata.name)),
            revision: revision.to_owned(),
            ..Default::default()
        };
        async move {
            let list: message::AppList = self.ask(path::LIST_APPS, asked).await?;
            Ok(list.apps.into_iter().collect())
        }
        .boxed()
    }

    fn touched<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a str,
        since: &'a str,
        paths: &'a [Vec<String>],
    ) -> BoxFuture<'a, Option<Vec<bool>>> {
        async move {
            if CommitSha::parse(since).is_none() || paths.is_empty() {
                return None;
            }
            let touched = self.sources.touched(source, project, since, paths).await;
            touched.unwrap_or_else(|error| {
                let error = error.message;
                tracing::info!(error, "could not tell what a push changed; everybody looks");
                None
            })
        }
        .boxed()
    }

    fn details<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a AppProject,
    ) -> BoxFuture<'a, Result<Details, SourceError>> {
        async move {
            let permitted = SourceRepos::new(&project.spec.source_repos);
            let project = project.metadata.name.clone();
            let request = self.sources.request(source.clone(), project, &permitted, []);
            let asked = message::RepoServerAppDetailsQuery {
                repo: request.repo.clone(),
                source: Some(source.clone()),
                repos: request.repos,
                kustomize_options: request.kustomize_options,
                helm_options: request.helm_options,
                enabled_source_types: request.enabled_source_types,
                no_revision_cache: true,
                ..Default::default()
            };
            let found: RepoAppDetailsResponse = self.ask(path::GET_APP_DETAILS, asked).await?;
            let about = self.about(source, request.repo).await;
            let helm = found.helm.unwrap_or_default();
            Ok(Details {
                source_type: found.type_,
                name: helm.name,
                value_files: helm.value_files,
                parameters: helm.parameters,
                values: helm.values,
                file_parameters: helm.file_parameters,
                images: found.kustomize.unwrap_or_default().images,
                plugin_parameters: found.plugin.unwrap_or_default().parameters_announcement,
                about,
            })
        }
        .boxed()
    }
}

impl ElsewhereSources {
    /// What a chart of a chart repository says of itself; that of one in git is
    /// not asked for by any method.
    async fn about(
        &self,
        source: &ApplicationSource,
        repo: Option<wire::message::repository::Repository>,
    ) -> ChartDetails {
        if source.chart.is_empty() {
            return ChartDetails::default();
        }
        let asked = message::RepoServerRevisionChartDetailsRequest {
            repo,
            name: source.chart.clone(),
            revision: source.target_revision.clone(),
        };
        self.ask(path::GET_REVISION_CHART_DETAILS, asked).await.unwrap_or_default()
    }
}

/// An archive of the files, and its checksum.
fn packed(files: &BTreeMap<String, Vec<u8>>) -> Result<(Vec<u8>, String), String> {
    let mut packer = Packer::new(MAX_FILES);
    for (path, content) in files {
        packer.file(path, content, false)?;
    }
    let (archive, checksum) = packer.finish(".")?.into_archive();
    Ok((archive.to_vec(), checksum))
}

fn rendered(answer: ManifestResponse) -> Result<Rendered, SourceError> {
    let failed = |message| SourceError { message, is_inaccessible: false };
    Ok(Rendered {
        objects: objects(&answer).map_err(failed)?,
        commit: answer.revision,
        source_type: answer.source_type,
    })
}

fn told(status: &Status) -> SourceError {
    SourceError { message: status.message().to_owned(), is_inaccessible: is_inaccessible(status) }
}
