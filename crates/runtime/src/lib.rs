//! What every process shares: logs, traces, metrics, queues, shutdown, Redis.
//!
//! Nothing here knows what an Application is.

mod endpoint;
mod error_chain;
mod one_copy;
mod process;
mod queue;
mod queue_metrics;
pub mod redis;
mod shutdown;
mod telemetry;
mod traces;

pub use endpoint::{EndpointError, Probe, serve_metrics};
pub use error_chain::Chain;
pub use one_copy::OneCopy;
pub use process::ProcessMetrics;
pub use queue::{Merge, Queue};
pub use shutdown::Shutdown;
pub use telemetry::{LogFormat, start_logging};
pub use traces::{SPANS, TraceError, TraceOptions, Traces};
