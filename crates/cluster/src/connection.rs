//! The TCP connections under a [`Client`](crate::Client).
//!
//! Watches share HTTP/2 connections because each is open for minutes and says
//! little. An API server allows a limited number of streams per connection
//! (Kubernetes: 100) and makes the next one wait without a word, so a further
//! connection opens well before that.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Version;
use hyper_rustls::builderstates::WantsProtocols1;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use rustls::pki_types::ServerName;
use tower::{BoxError, ServiceBuilder};

use crate::access::Access;
use crate::client::{Ask, CONNECT_TIMEOUT, Connection, open};
use crate::proxy::{self, Transport};
use crate::refusal::RequestError;

/// Streams we put on one connection.
const STREAMS_PER_CONNECTION: usize = 80;
/// A ping this often on a watch connection …
const PING_EVERY: Duration = Duration::from_secs(2);
/// … and no answer for this long means the peer is gone.
const PING_PATIENCE: Duration = Duration::from_secs(5);
/// What a server may send ahead of us on one watch, and on all watches together.
/// Small, because these are buffers: sixty watches must not cost sixty megabytes.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// An idle connection of the request pool is closed after this.
const POOL_IDLE: Duration = Duration::from_secs(30);
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

type HttpsClient = legacy::Client<HttpsConnector<Transport>, Body>;

/// The pool for everything that is not a watch. Not kube's own builder: that one
/// logs every failed request as an error and leaves Nagle's algorithm on.
pub(crate) fn for_requests(access: &Access) -> Result<Connection, BoxError> {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE);
    let https = tls(access)?.enable_http1().wrap_connector(transport(access)?);
    connection(access, builder.build(https))
}

/// The connections for watches, opened as they are needed.
pub(crate) struct WatchConnections {
    access: Access,
    protocol: Version,
    open: Mutex<Vec<Slot>>,
}

struct Slot {
    connection: Connection,
    /// Counts the leases on this connection, and this slot itself.
    users: Arc<()>,
}

/// The right to open one stream on a connection. Held as long as the stream is.
pub(crate) struct Lease {
    pub(crate) connection: Connection,
    _user: Arc<()>,
}

/// Why there are no connections for watches.
pub(crate) enum ProbeError {
    Build(BoxError),
    Ask(RequestError),
}

impl WatchConnections {
    /// Finds out whether the server (or the proxy before it) speaks HTTP/2.
    pub(crate) async fn probe(access: &Access) -> Result<Self, ProbeError> {
        let either = for_watches(access, Version::HTTP_11).map_err(ProbeError::Build)?;
        let ask = Ask::get("/version".into());
        let response = tokio::time::timeout(CONNECT_TIMEOUT, open(&either, ask)).await;
        let protocol = match response {
            Ok(Ok(response)) => response.version(),
            // Also a refusal is an answer; whoever asks next will hear it in full.
            Ok(Err(RequestError::Refused { .. })) => Version::HTTP_11,
            Ok(Err(error)) => return Err(ProbeError::Ask(error)),
            Err(_) => {
                let request = "GET /version".to_owned();
                let limit = CONNECT_TIMEOUT;
                return Err(ProbeError::Ask(RequestError::TimedOut { request, limit }));
            }
        };
        Ok(Self { access: access.clone(), protocol, open: Mutex::new(Vec::new()) })
    }

    /// A place for one more watch.
    pub(crate) fn lease(&self) -> Result<Lease, BoxError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let free = open.iter().find(|it| Arc::strong_count(&it.users) <= STREAMS_PER_CONNECTION);
        if let Some(slot) = free {
            return Ok(slot.lease());
        }
        let connection = for_watches(&self.access, self.protocol)?;
        let slot = Slot { connection, users: Arc::new(()) };
        let lease = slot.lease();
        open.push(slot);
        Ok(lease)
    }
}

impl std::fmt::Debug for WatchConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchConnections").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl Slot {
    fn lease(&self) -> Lease {
        Lease { connection: self.connection.clone(), _user: Arc::clone(&self.users) }
    }
}

/// A client for long streams: HTTP/2 only when we know that the server speaks it, else whatever TLS agrees on.
fn for_watches(access: &Access, protocol: Version) -> Result<Connection, BoxError> {
    let is_tls = access.config.cluster_url.scheme_str() != Some("http");
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_only(is_tls && protocol == Version::HTTP_2)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_PATIENCE)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW);
    let https = tls(access)?.enable_all_versions().wrap_connector(transport(access)?);
    connection(access, builder.build(https))
}

fn transport(access: &Access) -> Result<Transport, BoxError> {
    let trust = || access.config.rustls_client_config().map_err(BoxError::from);
    proxy::transport(tcp(), access.proxy.as_ref(), trust)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(TCP_KEEPALIVE));
    tcp
}

fn tls(access: &Access) -> Result<HttpsConnectorBuilder<WantsProtocols1>, BoxError> {
    let tls = access.config.rustls_client_config()?;
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    let Some(name) = &access.config.tls_server_name else { return Ok(https) };
    let name = ServerName::try_from(name.clone())?;
    Ok(https.with_server_name_resolver(FixedServerNameResolver::new(name)))
}

fn connection(access: &Access, client: HttpsClient) -> Result<Connection, BoxError> {
    let config = &access.config;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(client);
    Ok(Connection(kube::Client::new(service, config.default_namespace.clone())))
}
