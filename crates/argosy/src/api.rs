//! The API server's flags, and what joins it to the repo server in the same process.

use std::net::{IpAddr, SocketAddr};

use ::api::ApplicationSource;
use anyhow::Context as _;
use api_server::{ApiServer, RenderRequest, Rendered, SourceError, Sources};
use clap::Args;
use cluster::Randomness;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use render::tracking::{Tracking, TrackingMethod};
use render::{RenderContext, SourceType};
use repo_server::{Freshness, ManifestQuery, RepoUrl, TargetRevision};
use runtime::{Chain, Shutdown};
use tokio::net::TcpListener;

use crate::sources::InProcess;

/// Flags and variables keep Argo CD's names where Argo CD has them.
#[derive(Args)]
pub(crate) struct ApiOptions {
    /// Where the API listens
    #[arg(long, env = "ARGOCD_SERVER_LISTEN_ADDRESS", default_value = "0.0.0.0")]
    address: IpAddr,
    /// The port of the API; 0 picks a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Serve the API without TLS, which is all there is so far: without this flag it listens on loopback only
    #[arg(long, env = "ARGOCD_SERVER_INSECURE")]
    insecure: bool,
}

/// An API server and its socket.
pub(crate) struct Api {
    server: ApiServer,
    listener: TcpListener,
    shutdown: Shutdown,
}

impl ApiOptions {
    pub(crate) async fn start(
        &self,
        namespace: &str,
        ports: api_server::Ports,
        shutdown: &Shutdown,
    ) -> anyhow::Result<Api> {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        let address = if self.insecure { self.address } else { loopback };
        let address = SocketAddr::new(address, self.port);
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("could not listen on {address} for the API"))?;
        let options = api_server::Options {
            namespace: namespace.to_owned(),
            random: Randomness::of_this_process(),
        };
        let server = ApiServer::start(options, ports).await?;
        tracing::info!(address = %listener.local_addr()?, "the API listens");
        Ok(Api { server, listener, shutdown: shutdown.clone() })
    }
}

impl Api {
    pub(crate) async fn run(self) {
        self.server.run(self.listener, &self.shutdown).await;
    }
}

impl Sources for InProcess {
    fn resolve<'a>(
        &'a self,
        source: &'a ApplicationSource,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>> {
        async move {
            let repo = RepoUrl::new(&source.repo_url);
            let target = TargetRevision(revision.to_owned());
            let commit = self.server.resolve(&repo, &target, Freshness::Latest).await;
            commit.map(|it| it.as_str().to_owned()).map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                is_inaccessible: true,
            })
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let query = ManifestQuery {
            source: request.source,
            revision: TargetRevision(request.revision),
            freshness: Freshness::Latest,
            refs: Vec::new(),
            context: RenderContext {
                tracking: Tracking { method: TrackingMethod::Annotation, ..Tracking::default() },
                ..RenderContext::new(request.instance, request.namespace)
            },
            ignore_cache: false,
        };
        async move {
            let rendered = self.server.manifests(query).await.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                is_inaccessible: matches!(error, repo_server::SourceError::Fetch(_)),
            })?;
            Ok(Rendered {
                commit: rendered.commit.as_str().to_owned(),
                source_type: rendered.source_type().map_or("", SourceType::as_str).to_owned(),
                objects: rendered.objects(),
            })
        }
        .boxed()
    }
}
