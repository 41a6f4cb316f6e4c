//! `argosy run`: every role in one process.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::api::names::IN_CLUSTER_SERVER;
use anyhow::Context as _;
use api_server::make_default_project;
use clap::{Args, ValueEnum};
use cluster::{Access, Client, Cluster, Randomness, StoreOptions};
use controller::{Controller, Ports, Publishing, Traffic};
use prometheus_client::registry::Registry;
use repo_server::client::RepoClient;
use repo_server::{JsonnetProgram, PluginOptions, RepoServer};
use runtime::redis::Redis;
use runtime::{LogFormat, OneCopy, ProcessMetrics, Shutdown, Traces, serve_metrics, start_logging};
use settings::{Params, SettingsStore};

use crate::api::{ApiOptions, InProcessController, InProcessSources};
use crate::controller_flags::{ControllerFlags, duration};
use crate::elsewhere::{Elsewhere, RepoServerOptions};
use crate::elsewhere_api::ElsewhereSources;
use crate::redis_flags::RedisFlags;
use crate::repo_server_role::CacheOptions;
use crate::repositories;
use crate::sources::InProcess;
use crate::trace_flags::TraceFlags;

/// An unoptimised build overflows the two megabytes of tokio's threads: an async function that
/// holds Applications by value takes up to 270 KB of a stack each time it is polled, and they call
/// each other. Untouched pages cost nothing.
const STACK: usize = 16 << 20;
const STATE_EXPIRES: Duration = Duration::from_secs(3600);
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
    /// Send plugins no more than the annotation manifest-generate-paths names
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_PLUGIN_USE_MANIFEST_GENERATE_PATHS",
        num_args = 0..=1,
        default_value_t = false,
        default_missing_value = "true"
    )]
    plugin_use_manifest_generate_paths: bool,
    /// Where the git of plugins asks for passwords
    #[arg(long, env = "ARGOCD_ASK_PASS_SOCK", default_value = plugins::ASK_PASS_SOCKET, hide = true)]
    ask_pass_socket: PathBuf,
    /// `false` or `no`: commits need not prove where they come from, whatever projects say
    #[arg(long, env = "ARGOCD_GPG_ENABLED", default_value = "true")]
    gpg_enabled: String,
    #[command(flatten)]
    caches: CacheOptions,
    #[command(flatten)]
    repo_server: RepoServerOptions,
    #[command(flatten)]
    controller: ControllerFlags,
    #[command(flatten)]
    redis: RedisFlags,
    #[command(flatten)]
    traces: TraceFlags,
    /// How long the state of Applications is kept in Redis [default: 1h]
    #[arg(long, env = "ARGOCD_APP_STATE_CACHE_EXPIRATION", value_parser = duration)]
    app_state_cache_expiration: Option<Duration>,
    /// How many nodes of a resource tree are stored together in Redis; 0: all
    #[arg(long, env = "ARGOCD_APPLICATION_TREE_SHARD_SIZE", default_value_t = 0, hide = true)]
    application_tree_shard_size: usize,
    #[command(flatten)]
    api: ApiOptions,
}

impl Options {
    fn app_state_expires(&self, params: &Params) -> Duration {
        let key = || params.duration("controller.app.state.cache.expiration");
        let expires = self.app_state_cache_expiration.or_else(key).unwrap_or(STATE_EXPIRES);
        expires.max(Duration::from_secs(1))
    }

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
    repo_server::install_crypto_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .build()?;
    let within = runtime.enter();
    let traces = options.traces.start("ARGOCD_APPLICATION_CONTROLLER", "argosy")?;
    start_logging(format, &options.loglevel, traces.as_ref());
    drop(within);
    if options.until_input_ends {
        std::thread::spawn(end_with_input);
    }
    let ended = runtime.block_on(start(options));
    traces.into_iter().for_each(Traces::end);
    ended
}

async fn start(options: Options) -> anyhow::Result<()> {
    let began = Instant::now();
    let shutdown = Shutdown::on_signals()?;
    let access = access(&options).await?;
    let namespace = options.namespace.clone().unwrap_or_else(|| access.namespace().to_owned());
    let data_dir = data_dir(options.data_dir.as_ref())?;
    let repo_options = repo_server::Options {
        plugins: PluginOptions {
            sockets: options.plugin_socket_dir.clone(),
            excluded: options.plugin_tar_exclude.clone().into(),
            ask_pass_socket: options.ask_pass_socket.clone(),
            use_generate_paths: options.plugin_use_manifest_generate_paths,
        },
        cache_budget: options.caches.memory(),
        disk_budget: options.caches.disk,
        jsonnet: Some(jsonnet_evaluator()?),
        ..repo_server::Options::new(&data_dir)
    };
    let elsewhere = options.repo_server.client()?;
    let open = || {
        let opened = RepoServer::open(repo_options);
        opened.with_context(|| format!("could not open the data directory {}", data_dir.display()))
    };
    // Where another process has the repositories, this one stores none.
    let repo_server = if elsewhere.is_some() { None } else { Some(open()?) };

    let Some(client) = connect(&access, &shutdown).await else { return Ok(()) };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ProcessMetrics));
    let client = client.heard_by(Traffic::register(&mut registry));
    let settings = SettingsStore::load(&client, &namespace).await;
    let settings = Arc::new(settings.context("could not read the settings")?);
    let replica = options.controller.replica(&settings.current().params, &client, &namespace).await;
    let watching = StoreOptions {
        // Who shares the clusters waits for its share.
        attended: replica.is_none(),
        ..controller::Settings::of(&settings.current()).store_options(IN_CLUSTER_SERVER)
    };
    let cluster = Cluster::start_with(client.clone(), watching).await?;

    let with = Joined { settings: &settings, client: &client, namespace: &namespace };
    let (sources, api_sources, take_over) = match (elsewhere, repo_server) {
        (Some(elsewhere), _) => with.elsewhere(elsewhere, options.checks_signatures()),
        (None, Some(server)) => with.in_process(server, options.checks_signatures()),
        (None, None) => unreachable!("one of the two was made"),
    };
    let repositories = repositories::follow(take_over, Arc::clone(&settings), shutdown.clone());
    let publishing = options.redis.options()?.map(|redis| Publishing {
        redis: Redis::new(redis, "argocd-application-controller", &mut registry),
        expires: options.app_state_expires(&settings.current().params),
        tree_piece: NonZeroUsize::new(options.application_tree_shard_size),
    });
    let copies = Arc::new(OneCopy::default());
    let ports = Ports {
        sources,
        control_plane: client.clone(),
        cluster,
        settings: Arc::clone(&settings),
        publishing,
        copies: Arc::clone(&copies),
    };
    let application_namespaces = application_namespaces(&options);
    let params = &settings.current().params;
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
    let api_ports = api_server::Ports {
        sources: api_sources,
        control_plane: client.clone(),
        control: Arc::new(InProcessController(Arc::clone(&controller))),
        settings: Arc::clone(&settings),
        copies,
    };
    let random = Randomness::of_this_process();
    let follow = shutdown.or_end(settings.follow(&client, &namespace, &random));
    // Before any Application is looked at, for it would fail.
    if let Some(made) = shutdown.or_end(make_default_project(&client, &namespace)).await {
        made?;
    }
    // Applications do not wait for the API's first password and certificate.
    let api = options.api.run(api_options, api_ports, &shutdown);
    let controller = controller.run(&shutdown);
    let (served, ..) = tokio::join!(api, controller, repositories, follow);
    tracing::info!("argosy ends");
    served
}

/// What joins roles to the repo server.
struct Joined<'j> {
    settings: &'j Arc<SettingsStore>,
    client: &'j Client,
    namespace: &'j str,
}

/// The repo server as the controller sees it, as the API server does, and what
/// to do when settings change.
type Sources = (
    Arc<dyn controller::Sources>,
    Arc<dyn api_server::Sources>,
    Box<dyn Fn(&SettingsStore) + Send>,
);

impl Joined<'_> {
    fn in_process(&self, server: RepoServer, checks_signatures: bool) -> Sources {
        let sources = Arc::new(InProcess::new(server, self.settings, checks_signatures));
        let api = InProcessSources {
            sources: Arc::clone(&sources),
            settings: Arc::clone(self.settings),
            control_plane: self.client.clone(),
            namespace: self.namespace.to_owned(),
        };
        let follower = Arc::clone(&sources);
        (sources, Arc::new(api), Box::new(move |settings| follower.take_over(settings)))
    }

    fn elsewhere(&self, client: RepoClient, checks_signatures: bool) -> Sources {
        let sources = Arc::new(Elsewhere::new(client, self.settings, checks_signatures));
        let api = ElsewhereSources {
            sources: Arc::clone(&sources),
            settings: Arc::clone(self.settings),
            control_plane: self.client.clone(),
            namespace: self.namespace.to_owned(),
        };
        let follower = Arc::clone(&sources);
        (sources, Arc::new(api), Box::new(move |settings| follower.take_over(settings)))
    }
}

#[expect(clippy::exit, reason = "there is nobody left to work for")]
pub(crate) fn end_with_input() {
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

/// Where repositories are stored.
pub(crate) fn data_dir(named: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let from =
        |variable: &str| std::env::var_os(variable).filter(|it| !it.is_empty()).map(PathBuf::from);
    named
        .cloned()
        .or_else(|| Some(from("XDG_CACHE_HOME")?.join("argosy/repositories")))
        .or_else(|| Some(from("HOME")?.join(".cache/argosy/repositories")))
        .context(
            "there is no home directory to store repositories in; name a folder with --data-dir",
        )
}

/// Ourselves, since a Jsonnet program needs a process that can be stopped.
pub(crate) fn jsonnet_evaluator() -> anyhow::Result<JsonnetProgram> {
    JsonnetProgram::this_one(crate::JSONNET).context("could not find our own program")
}
