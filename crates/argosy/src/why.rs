//! `argosy admin why APP`: asks a running installation for a decision record.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use reqwest::blocking::Client;
use serde_json::Value;

/// A record is small; whatever is larger is none.
const LIMIT: u64 = 32 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Flags and variables are those of `argocd`.
#[derive(Args)]
pub(crate) struct Options {
    /// The Application: `name` or `namespace/name`
    app: String,
    /// Where the API is: `host:port`, or a URL
    #[arg(long, env = "ARGOCD_SERVER", default_value = "localhost:8080")]
    server: String,
    /// Who asks; needs `get` on the Application
    #[arg(long, env = "ARGOCD_AUTH_TOKEN", hide_env_values = true, default_value = "")]
    auth_token: String,
    /// Do not check the API's certificate
    #[arg(long)]
    insecure: bool,
    /// Ask without TLS
    #[arg(long)]
    plaintext: bool,
    /// The namespace of the Application
    #[arg(long, short = 'N')]
    app_namespace: Option<String>,
    /// For people, or for programs
    #[arg(long, short, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

pub(crate) fn print(options: &Options) -> anyhow::Result<()> {
    repo_server::install_crypto_provider();
    let answer = ask(options)?;
    let shown = match options.output {
        Output::Text => answer["text"].as_str().unwrap_or_default().trim_end().to_owned(),
        Output::Json => serde_json::to_string_pretty(&answer["record"])?,
    };
    writeln!(std::io::stdout(), "{shown}").context("could not print the record")
}

fn ask(options: &Options) -> anyhow::Result<Value> {
    let (namespace, name) = match options.app.split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (options.app_namespace.clone(), options.app.as_str()),
    };
    let mut url = reqwest::Url::parse(&address(options))
        .with_context(|| format!("{} is no address of an API server", options.server))?;
    match url.path_segments_mut() {
        Ok(mut path) => path.pop_if_empty().extend(["api", "v1", "applications", name, "why"]),
        Err(()) => bail!("{} is no address of an API server", options.server),
    };
    if let Some(namespace) = namespace {
        url.query_pairs_mut().append_pair("appNamespace", &namespace);
    }
    let client = Client::builder()
        .danger_accept_invalid_certs(options.insecure)
        .timeout(PATIENCE)
        .build()
        .context("could not prepare the request")?;
    let mut request = client.get(url);
    if !options.auth_token.is_empty() {
        request = request.bearer_auth(&options.auth_token);
    }
    let asking = || format!("could not ask {} about {}", options.server, options.app);
    let answer = request.send().with_context(asking)?;
    let status = answer.status();
    let mut body = Vec::new();
    answer.take(LIMIT).read_to_end(&mut body).with_context(asking)?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if !status.is_success() {
        let why = answer["message"].as_str().unwrap_or("no reason given");
        bail!("{}: {status}: {why}", asking());
    }
    Ok(answer)
}

fn address(options: &Options) -> String {
    match options.server.as_str() {
        url if url.contains("://") => url.to_owned(),
        host if options.plaintext => format!("http://{host}"),
        host => format!("https://{host}"),
    }
}
