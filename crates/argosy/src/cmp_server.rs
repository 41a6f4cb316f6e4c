//! `argosy cmp-server`: runs one plugin beside a repo server, ours or Argo CD's.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use plugins::{PluginConfig, PluginServer};
use runtime::{LogFormat, Shutdown, Traces, start_logging};

use crate::run::Format;
use crate::trace_flags::TraceFlags;

/// Flags and variables keep Argo CD's names.
#[derive(Args)]
pub(crate) struct Options {
    /// The folder that holds plugin.yaml
    #[arg(long, default_value = "/home/argocd/cmp-server/config")]
    config_dir_path: PathBuf,
    /// The folder for the plugin's socket
    #[arg(long, env = "ARGOCD_PLUGINSOCKFILEPATH", default_value = crate::run::PLUGIN_SOCKETS)]
    plugin_socket_dir: PathBuf,
    /// Where repositories are unpacked, in a folder `_cmp_server`
    #[arg(long, env = "ARGOCD_CMP_WORKDIR")]
    work_dir: Option<PathBuf>,
    /// Log lines as `text` or `json`
    #[arg(long, env = "ARGOCD_CMP_SERVER_LOGFORMAT", default_value = "json")]
    logformat: Format,
    /// debug, info, warn or error
    #[arg(long, env = "ARGOCD_CMP_SERVER_LOGLEVEL", default_value = "info")]
    loglevel: String,
    #[command(flatten)]
    traces: TraceFlags,
}

pub(crate) fn run(options: Options) -> anyhow::Result<()> {
    let format = match options.logformat {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    repo_server::install_crypto_provider();
    let within = runtime.enter();
    let traces = options.traces.start("ARGOCD_CMP_SERVER", "argocd-cmp-server")?;
    start_logging(format, &options.loglevel, traces.as_ref());
    drop(within);
    let config = PluginConfig::read(&options.config_dir_path)?;
    // A folder of our own below it, because it is emptied.
    let work = options.work_dir.unwrap_or_else(std::env::temp_dir).join("_cmp_server");
    let program = std::env::current_exe().context("could not find our own program")?;
    let ended = runtime.block_on(async {
        let shutdown = Shutdown::on_signals()?;
        let server = PluginServer::bind(config, &options.plugin_socket_dir, &work)
            .and_then(|it| it.answering_git_with(&program))
            .context("could not serve the plugin")?;
        server.run(shutdown.begun()).await;
        Ok(())
    });
    traces.into_iter().for_each(Traces::end);
    ended
}
