//! `argosy run`: every role in one process.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::api::names::IN_CLUSTER_SERVER;
use anyhow::Context as _;
use api_server::make_default_project;
use clap::{Args, ValueEnum};
use cluster::{Access, Client, Cluster, Randomness};
use controller::{Controller, Ports};
use prometheus_client::registry::Registry;
use repo_server::{PluginOptions, RepoServer};
use runtime::{LogFormat, ProcessMetrics, Shutdown, serve_metrics, start_logging};
use settings::SettingsStore;

use crate::api::{ApiOptions, InProcessController, InProcessSources};
use crate::controller_flags::ControllerFlags;
use crate::redis_flags::RedisFlags;
use crate::repositories;
use crate::sources::InProcess;

const CONNECT_RETRY: Duration = Duration::from_secs(2);

/// Where Argo CD's sidecars have their sockets.
pub(crate) const PLUGIN_SOCKETS: &str = "/home/argocd/cmp-server/plugins";

/// Flags and variables keep Argo CD's names where Argo CD has them.
#[derive(Args)]
pub(crate) struct Options {
    /// The kubeconfig to use; default: the pod's service account, else the usual files
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long)]
    context: Option<String>,
    /// The namespace that holds Applications and settings; default: the kubeconfig's or the pod's
    #[arg(long, short)]
    namespace: Option<String>,
    /// Log lines as `text` or `json`
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_LOGFORMAT", default_value = "text")]
    logformat: Format,
    /// debug, info, warn or error
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_LOGLEVEL", default_value = "info")]
    loglevel: String,
    /// Where /metrics and /healthz listen
    #[arg(long, env = "ARGOCD_APPLICATION_CONTROLLER_METRICS_ADDRESS", default_value = "0.0.0.0")]
    metrics_address: IpAddr,
    /// The port of /metrics and /healthz; 0 picks a free one
    #[arg(long, default_value_t = 8082)]
    metrics_port: u16,
    /// Where repositories are stored between runs
    #[arg(long, env = "ARGOSY_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Other namespaces that may hold Applications: names, globs, or regular expressions between slashes
    #[arg(long, env = "ARGOCD_APPLICATION_NAMESPACES", value_delimiter = ',')]
    application_namespaces: Vec<String>,
    /// End at once when standard input ends: whoever started us is gone
    #[arg(long, hide = true)]
    until_input_ends: bool,
    /// The folder of the sockets of config management plugins
    #[arg(long, env = "ARGOCD_PLUGINSOCKFILEPATH", default_value = PLUGIN_SOCKETS)]
    plugin_socket_dir: PathBuf,
    /// Globs of files that are not sent to plugins
    #[arg(long, env = "ARGOCD_REPO_SERVER_PLUGIN_TAR_EXCLUSIONS", value_delimiter = ';')]
    plugin_tar_exclude: Vec<String>,
    /// `false` or `no`: commits need not prove where they come from, whatever projects say
    #[arg(long, env = "ARGOCD_GPG_ENABLED", default_value = "true")]
    gpg_enabled: String,
    #[command(flatten)]
    controller: ControllerFlags,
    #[command(flatten)]
    redis: RedisFlags,
    #[command(flatten)]
    api: ApiOptions,
}

impl Options {
    fn checks_signatures(&self) -> bool {
        !["false", "no"].iter().any(|it| self.gpg_enabled.eq_ignore_ascii_case(it))
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let format = match options.logformat {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    start_logging(format, &options.loglevel);
    if options.until_input_ends {
        std::thread::spawn(end_with_input);
    }
    repo_server::install_crypto_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(start(options))
}

async fn start(options: Options) -> anyhow::Result<()> {
    let began = Instant::now();
    let shutdown = Shutdown::on_signals()?;
    let access = access(&options).await?;
    let namespace = options.namespace.clone().unwrap_or_else(|| access.namespace().to_owned());
    let data_dir = data_dir(&options)?;
    let repo_options = repo_server::Options {
        plugins: PluginOptions {
            sockets: options.plugin_socket_dir.clone(),
            excluded: options.plugin_tar_exclude.clone().into(),
        },
        ..repo_server::Options::new(&data_dir)
    };
    let repo_server = RepoServer::open(repo_options)
        .with_context(|| format!("could not open the data directory {}", data_dir.display()))?;

    let Some(client) = connect(&access, &shutdown).await else { return Ok(()) };
    let settings = SettingsStore::load(&client, &namespace).await;
    let settings = Arc::new(settings.context("could not read the settings")?);
    let watching = controller::Settings::of(&settings.current()).store_options(IN_CLUSTER_SERVER);
    let cluster = Cluster::start_with(client.clone(), watching).await?;

    let mut registry = Registry::default();
    registry.register_collector(Box::new(ProcessMetrics));
    let sources = Arc::new(InProcess::new(repo_server, &settings, options.checks_signatures()));
    let repositories =
        repositories::follow(sources.clone(), Arc::clone(&settings), shutdown.clone());
    let ports = Ports {
        sources: sources.clone(),
        control_plane: client.clone(),
        cluster,
        settings: Arc::clone(&settings),
        publishing: options.redis.publishing(&mut registry)?,
    };
    let application_namespaces = application_namespaces(&options);
    let params = &settings.current().params;
    let replica = options.controller.replica(params, &client, &namespace).await;
    let controller_options = options.controller.options(
        namespace.clone(),
        application_namespaces.clone(),
        params,
        replica,
    );
    let controller = Controller::new(controller_options, ports, &mut registry);
    let controller = Arc::new(controller);
    let probed = Arc::clone(&controller);
    let probe = Arc::new(move || {
        probed.is_ready().then_some(()).ok_or_else(|| "the first list is not complete".into())
    });
    let metrics = SocketAddr::new(options.metrics_address, options.metrics_port);
    let metrics = serve_metrics(metrics, Arc::new(registry), probe, shutdown.clone()).await?;
    tracing::info!(
        server = access.server(), namespace, %metrics, took = ?began.elapsed(), "argosy runs"
    );
    let api_options = api_server::Options {
        namespace: namespace.clone(),
        application_namespaces,
        tls: true,
        web: api_server::Web::default(),
        login_limits: api_server::LoginLimits::default(),
        random: Randomness::of_this_process(),
    };
    let api_sources = InProcessSources {
        sources,
        settings: Arc::clone(&settings),
        control_plane: client.clone(),
        namespace: api_options.namespace.clone(),
    };
    let api_ports = api_server::Ports {
        sources: Arc::new(api_sources),
        control_plane: client.clone(),
        control: Arc::new(InProcessController(Arc::clone(&controller))),
        settings: Arc::clone(&settings),
    };
    let random = Randomness::of_this_process();
    let follow = shutdown.or_end(settings.follow(&client, &namespace, &random));
    // Before any Application is looked at, for it would fail.
    if let Some(made) = shutdown.or_end(make_default_project(&client, &namespace)).await {
        made?;
    }
    // Applications do not wait for the API's first password and certificate.
    let api = options.api.run(api_options, api_ports, &shutdown);
    let (served, ..) = tokio::join!(api, controller.run(&shutdown), repositories, follow);
    tracing::info!("argosy ends");
    served
}

#[expect(clippy::exit, reason = "there is nobody left to work for")]
fn end_with_input() {
    // However reading ends, it has ended.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
    std::process::exit(0);
}

fn application_namespaces(options: &Options) -> Vec<String> {
    let namespaces = options.application_namespaces.iter().map(|it| it.trim().to_owned());
    namespaces.filter(|it| !it.is_empty()).collect()
}

async fn access(options: &Options) -> anyhow::Result<Access> {
    if options.kubeconfig.is_none() && options.context.is_none() {
        return Ok(Access::infer().await?);
    }
    Ok(Access::from_kubeconfig(options.kubeconfig.as_deref(), options.context.as_deref()).await?)
}

/// Tries until the API server answers: it may start after us.
async fn connect(access: &Access, shutdown: &Shutdown) -> Option<Client> {
    loop {
        match shutdown.or_end(Client::connect(access)).await? {
            Ok(client) => return Some(client),
            Err(error) => tracing::warn!(
                error = %runtime::Chain(&error), next = ?CONNECT_RETRY,
                "cannot reach the cluster yet"
            ),
        }
        shutdown.or_end(tokio::time::sleep(CONNECT_RETRY)).await?;
    }
}

fn data_dir(options: &Options) -> anyhow::Result<PathBuf> {
    let from =
        |variable: &str| std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
    options
        .data_dir
        .clone()
        .or_else(|| Some(from("XDG_CACHE_HOME")?.join("argosy/repositories")))
        .or_else(|| Some(from("HOME")?.join(".cache/argosy/repositories")))
        .context(
            "there is no home directory to store repositories in; name a folder with --data-dir",
        )
}
