//! Logs: text for people, JSON for machines, to standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::filter::Directive;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::traces::{SPANS, Traces};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Starts logging at `level` (`debug`, `info`, `warn`, `error`), or as the
/// directives in `RUST_LOG` say; spans go to `traces`, if they go anywhere.
/// Does nothing if logging has started already.
pub fn start_logging(format: LogFormat, level: &str, traces: Option<&Traces>) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| {
        // Libraries speak only when something is wrong, unless asked.
        EnvFilter::new(format!(
            "{level},hyper=warn,h2=warn,kube=warn,tower=warn,rustls=warn,gix=warn,opentelemetry=warn"
        ))
    });
    let logs = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let filter = filter.add_directive(no_spans());
    let logs = match format {
        LogFormat::Text => {
            logs.with_ansi(std::io::stderr().is_terminal()).with_filter(filter).boxed()
        }
        LogFormat::Json => logs.json().flatten_event(true).with_filter(filter).boxed(),
    };
    let start = tracing_subscriber::registry().with(logs).with(traces.map(Traces::layer));
    // An error means that a subscriber is already there, which is all we want.
    drop(start.try_init());
}

/// Spans are the collector's: lines say themselves what they are about.
fn no_spans() -> Directive {
    format!("{SPANS}=off").parse().expect("a directive of ours")
}
