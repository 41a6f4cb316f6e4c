//! Logs: text for people, JSON for machines, to standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Starts logging at `level` (`debug`, `info`, `warn`, `error`), or as the
/// directives in `RUST_LOG` say. Does nothing if logging has started already.
pub fn start_logging(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        // Libraries speak only when something is wrong, unless asked.
        EnvFilter::new(format!(
            "{level},hyper=warn,h2=warn,kube=warn,tower=warn,rustls=warn,gix=warn"
        ))
    });
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // An error means that a subscriber is already there, which is all we want.
    drop(match format {
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    });
}
