//! The API server's flags, and what joins it to the repo server and the controller in the same process.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::api::{
    AppKey, AppProject, Application, ApplicationDestination, ApplicationSource, ApplicationTree,
    ChartDetails, HealthStatus, HelmParameter, OciMetadata, ResourceDiff, RevisionMetadata, Time,
};
use anyhow::Context as _;
use api_server::{
    ApiServer, Charts, Control, Destination, Details, LoginLimits, Refs, RenderRequest, Rendered,
    Sides, SourceError, Sources, Web,
};
use clap::Args;
use cluster::Client;
use controller::Controller;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use object::{Object, ResourceKey};
use prometheus_client::registry::Registry;
use render::tree::MemoryTree;
use render::{EnabledSourceTypes, RenderContext, SourceDetails, SourceType};
use repo_server::{
    CommitSha, Freshness, ManifestQuery, RefSource, RepoUrl, SourceRepos, TargetRevision,
};
use runtime::{Chain, Shutdown, serve_metrics};
use settings::SettingsStore;
use settings::repositories::Repository;
use tokio::net::TcpListener;

use crate::repositories;
use crate::sources::InProcess;

/// Where Argo CD's Secret `argocd-dex-server-tls` is mounted.
const DEX_AUTHORITY: &str = "/app/config/dex/tls/ca.crt";

/// Flags and variables keep Argo CD's names where Argo CD has them.
#[derive(Args)]
pub(crate) struct ApiOptions {
    /// Where the API listens
    #[arg(long, env = "ARGOCD_SERVER_LISTEN_ADDRESS", default_value = "0.0.0.0")]
    address: IpAddr,
    /// The port of the API; 0 picks a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Serve the API without TLS
    #[arg(long, env = "ARGOCD_SERVER_INSECURE")]
    insecure: bool,
    /// Everything is below this path, for ingresses that pass it on
    #[arg(long, env = "ARGOCD_SERVER_ROOTPATH", default_value = "")]
    rootpath: String,
    /// Where browsers think they are, for ingresses that remove the path
    #[arg(long, env = "ARGOCD_SERVER_BASEHREF", default_value = "/")]
    basehref: String,
    /// Where Dex is
    #[arg(long, env = "ARGOCD_SERVER_DEX_SERVER", default_value = "argocd-dex-server:5556")]
    dex_server: String,
    /// Talk to Dex without TLS
    #[arg(long, env = "ARGOCD_SERVER_DEX_SERVER_PLAINTEXT")]
    dex_server_plaintext: bool,
    /// Check Dex's certificate, by the authority in /app/config/dex/tls/ca.crt
    #[arg(long, env = "ARGOCD_SERVER_DEX_SERVER_STRICT_TLS")]
    dex_server_strict_tls: bool,
    /// The header X-Frame-Options; empty for none
    #[arg(long, env = "ARGOCD_SERVER_X_FRAME_OPTIONS", default_value = "sameorigin")]
    x_frame_options: String,
    /// The header Content-Security-Policy; empty for none
    #[arg(
        long,
        env = "ARGOCD_SERVER_CONTENT_SECURITY_POLICY",
        default_value = "frame-ancestors 'self';"
    )]
    content_security_policy: String,
    /// Compress answers for clients that take it
    #[arg(
        long,
        env = "ARGOCD_SERVER_ENABLE_GZIP",
        default_value_t = true,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    enable_gzip: bool,
    /// The types of REST requests that change something, separated by semicolons; empty for any
    #[arg(
        long,
        env = "ARGOCD_API_CONTENT_TYPES",
        default_value = "application/json",
        value_delimiter = ';'
    )]
    api_content_types: Vec<String>,
    /// Pass requests below /extensions on to the services of extension.config
    #[arg(
        long,
        env = "ARGOCD_SERVER_ENABLE_PROXY_EXTENSION",
        default_value_t = false,
        action = clap::ArgAction::Set,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    enable_proxy_extension: bool,
    /// A folder with the files of a user interface
    #[arg(
        long = "staticassets",
        env = "ARGOCD_SERVER_STATIC_ASSETS",
        default_value = "/shared/app"
    )]
    static_assets: PathBuf,
    /// A folder with scripts that extend a user interface, for /extensions.js
    #[arg(long, env = "ARGOSY_UI_EXTENSIONS", default_value = "/tmp/extensions", hide = true)]
    ui_extensions: PathBuf,
    /// The port of the API's own /metrics; 0 picks a free one
    #[arg(long, default_value_t = 8083)]
    server_metrics_port: u16,
    /// Failed logins after which a name is barred for a while
    #[arg(long, env = "ARGOCD_SESSION_FAILURE_MAX_FAIL_COUNT", default_value_t = 5, hide = true)]
    login_max_failures: u32,
    /// How long a failed login counts, in seconds
    #[arg(long, env = "ARGOCD_SESSION_FAILURE_WINDOW_SECONDS", default_value_t = 300, hide = true)]
    login_failure_window: u64,
    /// How many names that failed to log in are remembered
    #[arg(long, env = "ARGOCD_SESSION_MAX_CACHE_SIZE", default_value_t = 10_000, hide = true)]
    login_max_names: usize,
    /// Logins at the same time
    #[arg(
        long,
        env = "ARGOCD_MAX_CONCURRENT_LOGIN_REQUESTS_COUNT",
        default_value_t = 50,
        hide = true
    )]
    login_max_at_once: usize,
}

impl ApiOptions {
    /// Serves the API until shutdown. When it cannot begin, all the others end too.
    pub(crate) async fn run(
        &self,
        options: api_server::Options,
        ports: api_server::Ports,
        shutdown: &Shutdown,
    ) -> anyhow::Result<()> {
        let Some(started) = shutdown.or_end(self.start(options, ports, shutdown)).await else {
            return Ok(());
        };
        match started {
            Ok((server, listener)) => server.run(listener, shutdown).await,
            Err(error) => {
                shutdown.begin();
                return Err(error);
            }
        }
        Ok(())
    }

    async fn start(
        &self,
        options: api_server::Options,
        ports: api_server::Ports,
        shutdown: &Shutdown,
    ) -> anyhow::Result<(ApiServer, TcpListener)> {
        let address = SocketAddr::new(self.address, self.port);
        let options = api_server::Options {
            tls: !self.insecure,
            web: self.web()?,
            login_limits: LoginLimits {
                max_failures: self.login_max_failures,
                window: Duration::from_secs(self.login_failure_window),
                max_names: self.login_max_names,
                max_at_once: self.login_max_at_once,
            },
            ..options
        };
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("could not listen on {address} for the API"))?;
        let mut registry = Registry::default();
        let server = ApiServer::start(options, ports, &mut registry).await?;
        tracing::info!(address = %listener.local_addr()?, "the API listens");
        self.serve_metrics(registry, shutdown).await;
        Ok((server, listener))
    }

    fn web(&self) -> anyhow::Result<Web> {
        let scheme = if self.dex_server_plaintext { "http" } else { "https" };
        let dex_server = match self.dex_server.as_str() {
            named if named.contains("://") => named.to_owned(),
            host => format!("{scheme}://{host}"),
        };
        let content_types = self.api_content_types.iter().map(|it| it.trim().to_owned());
        let checks_dex = self.dex_server_strict_tls && dex_server.starts_with("https://");
        let dex_authority = checks_dex.then(|| std::fs::read_to_string(DEX_AUTHORITY)).transpose();
        let dex_authority = dex_authority.with_context(|| {
            format!("could not read {DEX_AUTHORITY}, which --dex-server-strict-tls needs")
        })?;
        let web = Web {
            dex_server,
            dex_authority,
            frame_options: self.x_frame_options.clone(),
            content_security_policy: self.content_security_policy.clone(),
            compresses: self.enable_gzip,
            content_types: content_types.filter(|it| !it.is_empty()).collect(),
            passes_extensions: self.enable_proxy_extension,
            static_assets: self.static_assets.clone(),
            ui_extensions: self.ui_extensions.clone(),
            ..Web::default()
        };
        Ok(web.at(&self.rootpath, &self.basehref))
    }

    /// The API is worth more than its counts: a port that is taken does not stop it.
    async fn serve_metrics(&self, registry: Registry, shutdown: &Shutdown) {
        let address = SocketAddr::new(self.address, self.server_metrics_port);
        let probe = Arc::new(|| Ok(()));
        match serve_metrics(address, Arc::new(registry), probe, shutdown.clone()).await {
            Ok(address) => tracing::info!(%address, "the API's metrics listen"),
            Err(error) => {
                let error = Chain(&error).to_string();
                tracing::warn!(error, "no metrics of the API: choose --server-metrics-port");
            }
        }
    }
}

/// The repo server, as the API server sees it, and where its credentials come from.
pub(crate) struct InProcessSources {
    pub(crate) sources: Arc<InProcess>,
    pub(crate) settings: Arc<SettingsStore>,
    pub(crate) control_plane: Client,
    pub(crate) namespace: String,
}

impl InProcessSources {
    fn query(&self, request: RenderRequest) -> ManifestQuery {
        let version = request.cluster.client().version().git_version.clone();
        let capabilities = self.sources.capabilities(version, &request.cluster.kinds());
        let refs = request.refs.into_iter().map(|(source, revision)| RefSource {
            name: source.ref_,
            repo_url: source.repo_url,
            revision: TargetRevision(revision),
            tag_prefix: source.tag_prefix,
        });
        ManifestQuery {
            source: request.source,
            revision: TargetRevision(request.revision),
            freshness: Freshness::Latest,
            refs: refs.collect(),
            context: RenderContext {
                project: request.project,
                capabilities,
                ..self.sources.context(request.instance, request.namespace)
            },
            source_repos: request.source_repos,
            integrity: None,
            ignore_cache: request.ignore_cache,
        }
    }
}

impl Sources for InProcessSources {
    fn resolve<'a>(
        &'a self,
        source: &'a ApplicationSource,
        project: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>> {
        async move {
            let target = TargetRevision(revision.to_owned());
            let commit = self
                .sources
                .server
                .resolve_source(source, project, &target, Freshness::Latest)
                .await;
            commit.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                is_inaccessible: true,
            })
        }
        .boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let query = self.query(request);
        async move {
            let rendered = self.sources.server.manifests(query).await.map_err(|it| told(&it))?;
            Ok(Rendered {
                commit: rendered.commit.clone(),
                source_type: rendered.source_type().map_or("", SourceType::as_str).to_owned(),
                objects: rendered.objects(),
            })
        }
        .boxed()
    }

    fn render_files(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        request: RenderRequest,
    ) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let query = self.query(request);
        async move {
            let tree = files
                .into_iter()
                .fold(MemoryTree::new(), |tree, (path, content)| tree.file(&path, content));
            let commit = query.revision.0.clone();
            let rendered = self.sources.server.manifests_of(tree, query).await;
            let rendered = rendered.map_err(|it| told(&it))?;
            Ok(Rendered {
                commit,
                source_type: rendered.source_type.as_str().to_owned(),
                objects: rendered.objects,
            })
        }
        .boxed()
    }

    fn revision_metadata<'a>(
        &'a self,
        source: &'a ApplicationSource,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<RevisionMetadata, SourceError>> {
        async move {
            let repo = RepoUrl::new(&source.repo_url);
            let revision = TargetRevision(revision.to_owned());
            let known = self.sources.server.revision_metadata(&repo, &revision).await;
            let known = known.map_err(|it| told(&it))?;
            Ok(RevisionMetadata {
                author: known.author,
                date: Time::from_unix(known.date),
                tags: known.tags,
                message: known.message,
                ..RevisionMetadata::default()
            })
        }
        .boxed()
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
        async move {
            let repository = Repository::from_texts(credentials).unwrap_or_default();
            let credentials = repositories::credentials(&repository);
            let repo = RepoUrl::new(repo);
            let answer = self.sources.server.test_access_with(&repo, &credentials).await;
            answer.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                is_inaccessible: true,
            })
        }
        .boxed()
    }

    fn refs<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Refs, SourceError>> {
        async move {
            let refs = self.sources.server.refs(&RepoUrl::new(repo), Freshness::Latest).await;
            let refs = refs.map_err(|error| SourceError {
                message: Chain(&error).to_string(),
                is_inaccessible: true,
            })?;
            let branches = refs.branches().map(str::to_owned).collect();
            Ok(Refs { branches, tags: refs.tags().map(str::to_owned).collect() })
        }
        .boxed()
    }

    fn helm_charts<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Charts, SourceError>> {
        async move {
            let charts = self.sources.server.helm_charts(&RepoUrl::new(repo)).await;
            charts.map_err(|error| unreachable(&error))
        }
        .boxed()
    }

    fn oci_tags<'a>(&'a self, repo: &'a str) -> BoxFuture<'a, Result<Vec<String>, SourceError>> {
        async move {
            let tags = self.sources.server.oci_tags(&RepoUrl::new(repo)).await;
            tags.map_err(|error| unreachable(&error))
        }
        .boxed()
    }

    fn oci_metadata<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<OciMetadata, SourceError>> {
        async move {
            let revision = TargetRevision(revision.to_owned());
            let known = self.sources.server.oci_metadata(&RepoUrl::new(repo), &revision).await;
            let known = known.map_err(|error| unreachable(&error))?;
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
        .boxed()
    }

    fn list_apps<'a>(
        &'a self,
        repo: &'a str,
        revision: &'a str,
        project: &'a AppProject,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, SourceError>> {
        async move {
            let revision = TargetRevision(revision.to_owned());
            let enabled = EnabledSourceTypes::default();
            let permitted = SourceRepos::new(&project.spec.source_repos);
            let (server, project) = (&self.sources.server, &project.metadata.name);
            let repo = server.repo(repo, project);
            let apps = server.list_apps(&repo, &revision, enabled, project, permitted).await;
            let apps = apps.map_err(|it| told(&it))?;
            Ok(apps.into_iter().map(|(path, kind)| (path, kind.as_str().to_owned())).collect())
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
            let server = &self.sources.server;
            let freshness = Freshness::Latest;
            // Without a commit to compare with there is still something to fetch.
            let touched = match CommitSha::parse(since).filter(|_| !paths.is_empty()) {
                Some(since) => server.touched(source, project, &since, paths, freshness).await,
                None => server.moved(source, project, freshness).await.map(|_| None),
            };
            touched.unwrap_or_else(|error| {
                let error = Chain(&error).to_string();
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
        let query = ManifestQuery {
            source: source.clone(),
            revision: TargetRevision(source.target_revision.clone()),
            freshness: Freshness::Latest,
            refs: Vec::new(),
            context: RenderContext {
                project: project.metadata.name.clone(),
                ..RenderContext::new("", "")
            },
            source_repos: SourceRepos::new(&project.spec.source_repos),
            integrity: None,
            ignore_cache: false,
        };
        async move {
            let found = self.sources.server.details(&query).await.map_err(|it| told(&it))?;
            let mut details = Details {
                source_type: found.source_type().as_str().to_owned(),
                ..Details::default()
            };
            match found {
                SourceDetails::Helm(chart) => {
                    let parameters = chart.parameters.into_iter();
                    details.parameters = parameters
                        .map(|(name, value)| HelmParameter { name, value, force_string: false })
                        .collect();
                    details.about = ChartDetails {
                        description: chart.description,
                        home: chart.home,
                        maintainers: chart.maintainers,
                    };
                    details.value_files = chart.value_files;
                    details.values = chart.values;
                    details.file_parameters = chart.file_parameters;
                }
                SourceDetails::Kustomize(kustomization) => details.images = kustomization.images,
                SourceDetails::Directory => {}
                SourceDetails::Plugin(parameters) => {
                    let parameters = parameters.into_iter().map(repo_server::service::announcement);
                    details.plugin_parameters = parameters.collect();
                }
            }
            Ok(details)
        }
        .boxed()
    }
}

fn unreachable(error: &repo_server::FetchError) -> SourceError {
    SourceError { message: Chain(error).to_string(), is_inaccessible: true }
}

fn told(error: &repo_server::SourceError) -> SourceError {
    SourceError {
        message: Chain(error).to_string(),
        is_inaccessible: matches!(error, repo_server::SourceError::Fetch(_)),
    }
}

/// The controller, as the API server sees it.
pub(crate) struct InProcessController(pub(crate) Arc<Controller>);

impl Control for InProcessController {
    fn compared<'a>(
        &'a self,
        app: &'a Application,
    ) -> BoxFuture<'a, Result<Vec<ResourceDiff>, String>> {
        async move {
            let state = self.0.compared(app).await;
            match state.findings.first() {
                Some(finding) if state.resources.is_empty() => Err(finding.message.clone()),
                _ => Ok(state.resources.iter().map(controller::ManagedResource::to_api).collect()),
            }
        }
        .boxed()
    }

    fn tree<'a>(&'a self, app: &'a Application) -> BoxFuture<'a, Result<ApplicationTree, String>> {
        async move { self.0.tree(app).await.map_err(|error| error.to_string()) }.boxed()
    }

    fn explain<'a>(
        &'a self,
        app: &'a Application,
    ) -> BoxFuture<'a, Result<controller::Explanation, String>> {
        async move { Ok(self.0.explain(app).await) }.boxed()
    }

    fn healths(&self, app: &AppKey) -> Arc<BTreeMap<ResourceKey, HealthStatus>> {
        self.0.healths(app)
    }

    fn answered(&self, app: &Application, answer: &Object, live: &Object) -> Result<Sides, String> {
        self.0.answered(app, answer, live)
    }

    fn destination(&self, wanted: &ApplicationDestination) -> Result<Destination, String> {
        let found = self.0.destination(wanted).map_err(|error| error.to_string())?;
        Ok(Destination { server: found.server, name: found.name, cluster: found.cluster })
    }

    fn destination_of(&self, app: &Application) -> Result<Destination, String> {
        let found = self.0.destination_of(app)?;
        Ok(Destination { server: found.server, name: found.name, cluster: found.cluster })
    }
}
