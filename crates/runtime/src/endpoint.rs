//! `/healthz` and `/metrics` of a role.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use crate::Shutdown;

/// Says whether the role does its work, and what is wrong otherwise.
pub type Probe = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Why the endpoint is not there.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The port is taken or not ours to take.
    #[error("could not listen on {address} for metrics; choose another port with --metrics-port")]
    Listen {
        /// Where we tried to listen.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

/// Serves until shutdown; returns the address once it listens.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve_metrics(
    address: SocketAddr,
    registry: Arc<Registry>,
    probe: Probe,
    shutdown: Shutdown,
) -> Result<SocketAddr, EndpointError> {
    let listen = |source| EndpointError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let router = Router::new()
        .route("/healthz", get(move || async move { answer_probe(&probe) }))
        .route("/metrics", get(move || async move { answer_metrics(&registry) }));
    tokio::spawn(async move {
        let stop = async move { shutdown.begun().await };
        if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop).await {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
    Ok(address)
}

fn answer_probe(probe: &Probe) -> axum::response::Response {
    match probe() {
        Ok(()) => (StatusCode::OK, "ok").into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
    }
}

fn answer_metrics(registry: &Registry) -> axum::response::Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
