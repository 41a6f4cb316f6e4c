//! `argosy repo-server`: renders sources for controllers and API servers, ours
//! or Argo CD's.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use gocompat::quantity::Quantity;
use prometheus_client::registry::Registry;
use render::Limits;
use repo_server::service::{RepoService, ServiceOptions, TlsOptions};
use repo_server::{GitLimits, OciLimits, PauseOptions, PluginOptions, RepoServer};
use runtime::redis::Redis;
use runtime::{LogFormat, Shutdown, Traces, serve_metrics, start_logging};
use tokio::net::TcpListener;

use crate::controller_flags::duration;
use crate::mounted::{self, Folders};
use crate::redis_flags::RedisFlags;
use crate::run::{Format, PLUGIN_SOCKETS, data_dir, end_with_input, jsonnet_evaluator};
use crate::trace_flags::TraceFlags;

/// Flags and variables keep Argo CD's names.
#[derive(Args)]
pub(crate) struct Options {
    /// Where the service listens
    #[arg(long, env = "ARGOCD_REPO_SERVER_LISTEN_ADDRESS", default_value = "0.0.0.0")]
    address: IpAddr,
    /// The port of the service; 0 picks a free one
    #[arg(long, default_value_t = 8081)]
    port: u16,
    /// Where /metrics and /healthz listen
    #[arg(long, env = "ARGOCD_REPO_SERVER_METRICS_LISTEN_ADDRESS", default_value = "0.0.0.0")]
    metrics_address: IpAddr,
    /// The port of /metrics and /healthz; 0 picks a free one
    #[arg(long, default_value_t = 8084)]
    metrics_port: u16,
    /// Log lines as `text` or `json`
    #[arg(long, env = "ARGOCD_REPO_SERVER_LOGFORMAT", default_value = "json")]
    logformat: Format,
    /// debug, info, warn or error
    #[arg(long, env = "ARGOCD_REPO_SERVER_LOGLEVEL", default_value = "info")]
    loglevel: String,
    /// Where repositories are stored between runs
    #[arg(long, env = "ARGOSY_DATA_DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    caches: CacheOptions,
    /// Serve without TLS
    #[arg(long, env = "ARGOCD_REPO_SERVER_DISABLE_TLS")]
    disable_tls: bool,
    /// If this file is there, clients must show a certificate that it vouches for
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_CLIENT_CA_PATH",
        default_value = "/app/config/reposerver/mtls/client-ca.crt"
    )]
    client_ca_path: PathBuf,
    /// Where Argo CD's manifests mount certificates
    #[arg(long, env = "ARGOCD_APP_CONF_PATH", default_value = "/app/config", hide = true)]
    app_config_path: PathBuf,
    /// Renders at the same time; 0 for as many as there are processors
    #[arg(long, env = "ARGOCD_REPO_SERVER_PARALLELISM_LIMIT", default_value_t = 0)]
    parallelismlimit: usize,
    /// How old the list of a repository's branches may be
    #[arg(long, env = "ARGOCD_RECONCILIATION_TIMEOUT", value_parser = duration, default_value = "3m")]
    revision_cache_expiration: Duration,
    /// How long a listing of branches may take
    #[arg(long, env = "ARGOCD_GIT_REQUEST_TIMEOUT", value_parser = duration, default_value = "15s", hide = true)]
    git_request_timeout: Duration,
    /// How long a fetch or a render may take
    #[arg(long, env = "ARGOCD_EXEC_TIMEOUT", value_parser = duration, default_value = "90s", hide = true)]
    exec_timeout: Duration,
    /// Failures in a row after which a source is left alone; 0 never
    #[arg(long, env = "ARGOCD_PAUSE_GEN_AFTER_FAILED_ATTEMPTS", default_value_t = 3, hide = true)]
    pause_after: u32,
    /// For how many minutes it is left alone
    #[arg(long, env = "ARGOCD_PAUSE_GEN_MINUTES", default_value_t = 60, hide = true)]
    pause_minutes: u64,
    /// For how many requests it is left alone; 0 does not count
    #[arg(long, env = "ARGOCD_PAUSE_GEN_REQUESTS", default_value_t = 0, hide = true)]
    pause_requests: u32,
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
    /// List directories whose names begin with a dot
    #[arg(long, env = "ARGOCD_REPO_SERVER_INCLUDE_HIDDEN_DIRECTORIES")]
    include_hidden_directories: bool,
    /// All manifest files of a directory together
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_MAX_COMBINED_DIRECTORY_MANIFESTS_SIZE",
        value_parser = size,
        default_value = "10M"
    )]
    max_combined_directory_manifests_size: u64,
    /// The largest archive of files that a request may bring
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_STREAMED_MANIFEST_MAX_TAR_SIZE",
        value_parser = size,
        default_value = "100M"
    )]
    streamed_manifest_max_tar_size: u64,
    /// What such an archive may unpack to
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_STREAMED_MANIFEST_MAX_EXTRACTED_SIZE",
        value_parser = size,
        default_value = "1G"
    )]
    streamed_manifest_max_extracted_size: u64,
    /// What an artifact of a registry may unpack to
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_OCI_MANIFEST_MAX_EXTRACTED_SIZE",
        value_parser = size,
        default_value = "1G"
    )]
    oci_manifest_max_extracted_size: u64,
    /// The largest index of a chart repository
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_INDEX_SIZE",
        value_parser = size,
        default_value = "1G"
    )]
    helm_registry_max_index_size: u64,
    /// The kinds of layers of artifacts that are unpacked; default: Argo CD's
    #[arg(long, env = "ARGOCD_REPO_SERVER_OCI_LAYER_MEDIA_TYPES", value_delimiter = ',')]
    oci_layer_media_types: Vec<String>,
    /// `false` or `no`: commits need not prove where they come from
    #[arg(long, env = "ARGOCD_GPG_ENABLED", default_value = "true", hide = true)]
    gpg_enabled: String,
    /// End at once when standard input ends: whoever started us is gone
    #[arg(long, hide = true)]
    until_input_ends: bool,
    /// How long manifests are shared in Redis
    #[arg(long, env = "ARGOCD_REPO_CACHE_EXPIRATION", value_parser = duration, default_value = "24h")]
    repo_cache_expiration: Duration,
    #[command(flatten)]
    redis: RedisFlags,
    #[command(flatten)]
    traces: TraceFlags,
    #[command(flatten)]
    ignored: Ignored,
}

/// How much is remembered.
#[derive(Args)]
pub(crate) struct CacheOptions {
    /// Bytes of remembered manifests in memory
    #[arg(
        long = "cache-memory",
        env = "ARGOSY_CACHE_MEMORY",
        value_parser = size,
        default_value = "128Mi"
    )]
    memory: u64,
    /// Bytes of remembered manifests on disk, below the data directory; 0 keeps none there
    #[arg(
        long = "cache-disk",
        env = "ARGOSY_CACHE_DISK",
        value_parser = size,
        default_value = "1Gi"
    )]
    pub(crate) disk: u64,
}

impl CacheOptions {
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }
}

/// Flags of Argo CD's repo server that mean nothing here: accepted, so that its
/// manifests work, and told about.
#[derive(Args)]
struct Ignored {
    /// No effect: nothing is checked out, and links out of a repository are never followed
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_ALLOW_OUT_OF_BOUNDS_SYMLINKS",
        hide = true,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    allow_oob_symlinks: Option<String>,
    /// No effect: no git program is run
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_ENABLE_BUILTIN_GIT_CONFIG",
        hide = true,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    enable_builtin_git_config: Option<String>,
    /// No effect: charts have limits of their own
    #[arg(long, env = "ARGOCD_REPO_SERVER_HELM_MANIFEST_MAX_EXTRACTED_SIZE", hide = true)]
    helm_manifest_max_extracted_size: Option<String>,
    /// No effect
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_DISABLE_HELM_MANIFEST_MAX_EXTRACTED_SIZE",
        hide = true,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    disable_helm_manifest_max_extracted_size: Option<String>,
    /// No effect
    #[arg(
        long,
        env = "ARGOCD_REPO_SERVER_DISABLE_OCI_MANIFEST_MAX_EXTRACTED_SIZE",
        hide = true,
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    disable_oci_manifest_max_extracted_size: Option<String>,
    /// No effect: what is shared in Redis has a time of its own
    #[arg(long, env = "ARGOCD_DEFAULT_CACHE_EXPIRATION", hide = true)]
    default_cache_expiration: Option<String>,
    /// No effect: one process lists once by itself
    #[arg(long, env = "ARGOCD_REVISION_CACHE_LOCK_TIMEOUT", hide = true)]
    revision_cache_lock_timeout: Option<String>,
    /// No effect: TLS 1.2 and 1.3 with ring's ciphers
    #[arg(long, env = "ARGOCD_TLS_CIPHERS", hide = true)]
    tlsciphers: Option<String>,
    /// No effect
    #[arg(long, env = "ARGOCD_TLS_MIN_VERSION", hide = true)]
    tlsminversion: Option<String>,
    /// No effect
    #[arg(long, env = "ARGOCD_TLS_MAX_VERSION", hide = true)]
    tlsmaxversion: Option<String>,
}

impl Ignored {
    /// Those that were given.
    fn given(&self) -> Vec<&'static str> {
        [
            ("--allow-oob-symlinks", &self.allow_oob_symlinks),
            ("--enable-builtin-git-config", &self.enable_builtin_git_config),
            ("--helm-manifest-max-extracted-size", &self.helm_manifest_max_extracted_size),
            (
                "--disable-helm-manifest-max-extracted-size",
                &self.disable_helm_manifest_max_extracted_size,
            ),
            (
                "--disable-oci-manifest-max-extracted-size",
                &self.disable_oci_manifest_max_extracted_size,
            ),
            ("--default-cache-expiration", &self.default_cache_expiration),
            ("--revision-cache-lock-timeout", &self.revision_cache_lock_timeout),
            ("--tlsciphers", &self.tlsciphers),
            ("--tlsminversion", &self.tlsminversion),
            ("--tlsmaxversion", &self.tlsmaxversion),
        ]
        .into_iter()
        .filter_map(|(flag, given)| given.as_ref().map(|_| flag))
        .collect()
    }
}

pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let format = match options.logformat {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    repo_server::install_crypto_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let within = runtime.enter();
    let traces = options.traces.start("ARGOCD_REPO_SERVER", "argocd-repo-server")?;
    start_logging(format, &options.loglevel, traces.as_ref());
    drop(within);
    if options.until_input_ends {
        std::thread::spawn(end_with_input);
    }
    for flag in options.ignored.given() {
        tracing::warn!(flag, "this flag of Argo CD has no effect here");
    }
    let ended = runtime.block_on(start(options));
    traces.into_iter().for_each(Traces::end);
    ended
}

async fn start(options: Options) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals()?;
    let data_dir = data_dir(options.data_dir.as_ref())?;
    let repo_options = repo_server::Options {
        jsonnet: Some(jsonnet_evaluator()?),
        ..options.server(data_dir.clone())
    };
    let server = RepoServer::open(repo_options)
        .with_context(|| format!("could not open the data directory {}", data_dir.display()))?;
    let mut registry = Registry::default();
    let service = RepoService::new(server.clone(), options.service(), &mut registry);
    let service = match options.redis.options()? {
        None => service,
        Some(redis) => {
            let redis = Redis::new(redis, "argocd-repo-server", &mut registry);
            service.sharing(redis, options.repo_cache_expiration)
        }
    };
    let service = Arc::new(service);
    let address = SocketAddr::new(options.address, options.port);
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("could not listen on {address}; choose another --port"))?;
    let metrics = SocketAddr::new(options.metrics_address, options.metrics_port);
    let probe = Arc::new(|| Ok(()));
    let metrics = serve_metrics(metrics, Arc::new(registry), probe, shutdown.clone()).await?;
    tracing::info!(address = %listener.local_addr()?, %metrics, "the repo server runs");
    let trust = mounted::follow(Folders::of_environment(), server, shutdown.clone());
    let (served, ()) = tokio::join!(
        async {
            let served = service.run(listener, &shutdown).await;
            shutdown.begin();
            served
        },
        trust
    );
    tracing::info!("the repo server ends");
    Ok(served?)
}

impl Options {
    fn server(&self, data_dir: PathBuf) -> repo_server::Options {
        let defaults = repo_server::Options::new(data_dir);
        let oci = OciLimits { max_unpacked: self.oci_manifest_max_extracted_size, ..defaults.oci };
        let parallel_renders = match self.parallelismlimit {
            0 => defaults.parallel_renders,
            limit => limit,
        };
        repo_server::Options {
            git: GitLimits {
                request_timeout: self.git_request_timeout,
                fetch_timeout: self.exec_timeout,
                ..defaults.git
            },
            oci: match &self.oci_layer_media_types[..] {
                [] => oci,
                types => OciLimits { layer_media_types: types.to_vec(), ..oci },
            },
            plugins: PluginOptions {
                sockets: self.plugin_socket_dir.clone(),
                excluded: self.plugin_tar_exclude.clone().into(),
                ask_pass_socket: self.ask_pass_socket.clone(),
                use_generate_paths: self.plugin_use_manifest_generate_paths,
            },
            max_index: self.helm_registry_max_index_size,
            cache_budget: self.caches.memory(),
            disk_budget: self.caches.disk,
            parallel_renders,
            render_timeout: self.exec_timeout,
            pause: PauseOptions {
                after: self.pause_after,
                time: Duration::from_secs(self.pause_minutes * 60),
                requests: self.pause_requests,
            },
            ..defaults
        }
    }

    fn service(&self) -> ServiceOptions {
        let checks_signatures =
            !["false", "no"].iter().any(|it| self.gpg_enabled.eq_ignore_ascii_case(it));
        ServiceOptions {
            tls: (!self.disable_tls).then(|| TlsOptions {
                folder: self.app_config_path.join("reposerver/tls"),
                client_authority: Some(self.client_ca_path.clone()),
            }),
            listing_max_age: self.revision_cache_expiration,
            max_archive: self.streamed_manifest_max_tar_size,
            max_unpacked: self.streamed_manifest_max_extracted_size,
            hidden_directories: self.include_hidden_directories,
            checks_signatures,
            limits: Limits {
                max_combined_manifests: self.max_combined_directory_manifests_size,
                ..Limits::default()
            },
            ..ServiceOptions::default()
        }
    }
}

/// A quantity as Kubernetes writes it: `10M`, `1Gi`.
fn size(text: &str) -> Result<u64, String> {
    let quantity = Quantity::parse(text).map_err(|error| error.to_string())?;
    u64::try_from(quantity.to_integer()).map_err(|_| format!("{text} is negative"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn every_flag_of_argo_cds_repo_server_is_accepted() {
        let Some(table) = testkit::cases::read("../reference/server-flags.tsv") else { return };
        let (mut right, mut wrong) = (0, Vec::new());
        for line in table.lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            let ("argocd-repo-server", flag, kind) = (cells[0], cells[1], cells[3]) else {
                continue;
            };
            if flag == "help" {
                continue;
            }
            let default = cells[4].trim_matches(['[', ']']);
            let flag = format!("--{flag}");
            let mut line = vec!["repo-server", flag.as_str()];
            if kind != "bool" {
                line.push(if default.is_empty() { "1" } else { default });
            }
            match Line::try_parse_from(line) {
                Ok(_) => right += 1,
                Err(error) => wrong.push(error.to_string()),
            }
        }
        testkit::cases::report("flags of the repo server", right, &wrong);
    }

    #[test]
    fn the_largest_index_is_a_setting() {
        let line = ["repo-server", "--helm-registry-max-index-size", "7M"];
        let options = Line::try_parse_from(line).expect("flags").options;
        assert_eq!(options.server(PathBuf::new()).max_index, 7_000_000);
    }
}
