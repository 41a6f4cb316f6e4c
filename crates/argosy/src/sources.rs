//! Joins the controller to the repo server in the same process.

use controller::{Freshness, RenderRequest, Rendered, SourceError, Sources};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use render::tracking::{Tracking, TrackingMethod};
use render::{EnabledSourceTypes, Limits, RenderContext};
use repo_server::{Disposition, ManifestQuery, RepoServer, RepoUrl, TargetRevision};
use runtime::Chain;

/// The repo server, as the controller sees it.
pub(crate) struct InProcess(pub(crate) RepoServer);

impl Sources for InProcess {
    fn resolve(
        &self,
        source: &api::ApplicationSource,
        freshness: Freshness,
    ) -> BoxFuture<'_, Result<String, SourceError>> {
        let (url, revision) = (source.repo_url.clone(), source.target_revision.clone());
        async move {
            let repo = RepoUrl::new(&url);
            let target = TargetRevision(revision);
            let commit = self.0.resolve(&repo, &target, translated(freshness)).await;
            commit.map(|it| it.as_str().to_owned()).map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                may_pass: error.disposition() == Disposition::RetrySoon,
            })
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let query = ManifestQuery {
            source: request.source,
            revision: TargetRevision(request.revision),
            freshness: translated(request.freshness),
            context: RenderContext {
                app_name: request.instance,
                namespace: request.namespace,
                tracking: Tracking { method: TrackingMethod::Annotation, ..Tracking::default() },
                enabled: EnabledSourceTypes::default(),
                limits: Limits::default(),
            },
            ignore_cache: request.ignore_cache,
        };
        async move {
            let rendered = self.0.manifests(query).await.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                may_pass: error.disposition() == Disposition::RetrySoon,
            })?;
            Ok(Rendered {
                commit: rendered.commit.as_str().to_owned(),
                source_type: rendered.source_type().as_str().to_owned(),
                objects: rendered.objects(),
            })
        }
        .boxed()
    }
}

fn translated(freshness: Freshness) -> repo_server::Freshness {
    match freshness {
        Freshness::NotBefore(moment) => repo_server::Freshness::NotBefore(moment),
        Freshness::Latest => repo_server::Freshness::Latest,
    }
}
