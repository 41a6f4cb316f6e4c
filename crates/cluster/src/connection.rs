//! The TCP connections under a [`Client`](crate::Client).
//!
//! Watches share HTTP/2 connections because each is open for minutes and says
//! little. An API server allows a limited number of streams per connection
//! (Kubernetes: 100) and makes the next one wait without a word, so a further
//! connection opens well before that.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Uri, Version};
use hyper_rustls::builderstates::WantsProtocols1;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use rustls::pki_types::ServerName;
use tokio::sync::watch;
use tower::{BoxError, Service, ServiceBuilder};

use crate::access::Access;
use crate::ask::{Ask, open};
use crate::client::{CONNECT_TIMEOUT, Connection};
use crate::listened::{LastHeard, Listened};
use crate::proxy::{self, Transport};
use crate::refusal::RequestError;

/// Streams we put on one connection.
const STREAMS_PER_CONNECTION: usize = 80;
/// A ping this often on a watch connection …
const PING_EVERY: Duration = Duration::from_secs(1);
/// … and no answer for this long means the peer is gone.
const PING_PATIENCE: Duration = Duration::from_millis(2500);
/// For how long a peer may be gone before we notice.
const NOTICED_AFTER: Duration = PING_EVERY.saturating_add(PING_PATIENCE);
/// What a server may send ahead of us on one watch, and on all watches together.
/// Small, because these are buffers: sixty watches must not cost sixty megabytes.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// An idle connection of the request pool is closed after this.
const POOL_IDLE: Duration = Duration::from_secs(30);
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);

/// A connection that is not open after this, with all that TLS takes, is tried anew.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

type HttpsClient = legacy::Client<InTime<HttpsConnector<Transport>>, Body>;

/// The pool for everything that is not a watch.
pub(crate) struct RequestConnections {
    access: Access,
    current: Mutex<Pool>,
    /// Counts the times that the server was found not to answer.
    silences: watch::Sender<u64>,
}

struct Pool {
    connection: Connection,
    since: Instant,
}

impl RequestConnections {
    pub(crate) fn new(access: &Access) -> Result<Self, BoxError> {
        let pool = Pool { connection: for_requests(access)?, since: Instant::now() };
        let silences = watch::Sender::new(0);
        Ok(Self { access: access.clone(), current: Mutex::new(pool), silences })
    }

    pub(crate) fn connection(&self) -> Connection {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).connection.clone()
    }

    pub(crate) fn silences(&self) -> watch::Receiver<u64> {
        self.silences.subscribe()
    }

    /// The peer of a watch is gone without a word. So is that of every connection here: whoever
    /// took one of them would wait for an answer that does not come.
    pub(crate) fn fell_silent(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Dozens of watches find out at the same time.
        if current.since.elapsed() < NOTICED_AFTER {
            return;
        }
        if let Ok(connection) = for_requests(&self.access) {
            *current = Pool { connection, since: Instant::now() };
        }
        drop(current);
        self.silences.send_modify(|it| *it += 1);
    }
}

/// Not kube's own builder: that one logs every failed request as an error and
/// leaves Nagle's algorithm on.
fn for_requests(access: &Access) -> Result<Connection, BoxError> {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.timer(TokioTimer::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE);
    let https = tls(access)?.enable_http1().wrap_connector(transport(access)?);
    connection(access, builder.build(InTime { open: https, heard: Arc::default() }))
}

/// The connections for watches, opened as they are needed.
pub(crate) struct WatchConnections {
    access: Access,
    protocol: Version,
    open: Mutex<Vec<Slot>>,
    /// Counts the times that the server was reached again.
    heard: watch::Sender<u64>,
}

struct Slot {
    connection: Connection,
    heard: Arc<LastHeard>,
    /// Counts the leases on this connection, and this slot itself.
    users: Arc<()>,
}

/// The right to open one stream on a connection. Held as long as the stream is.
pub(crate) struct Lease {
    pub(crate) connection: Connection,
    heard: Arc<LastHeard>,
    _user: Arc<()>,
}

impl Lease {
    /// For how long nothing came from the server, where that is longer than pings take.
    pub(crate) fn silence(&self) -> Option<Duration> {
        Some(self.heard.ago()).filter(|it| *it >= PING_PATIENCE)
    }
}

/// Why there are no connections for watches.
pub(crate) enum ProbeError {
    Build(BoxError),
    Ask(RequestError),
}

impl WatchConnections {
    /// Finds out whether the server (or the proxy before it) speaks HTTP/2.
    pub(crate) async fn probe(access: &Access) -> Result<Self, ProbeError> {
        let either =
            for_watches(access, Version::HTTP_11, Arc::default()).map_err(ProbeError::Build)?;
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
        let (open, heard) = (Mutex::new(Vec::new()), watch::Sender::new(0));
        Ok(Self { access: access.clone(), protocol, open, heard })
    }

    /// Changes when a watch that was broken reaches the server again.
    pub(crate) fn heard(&self) -> watch::Receiver<u64> {
        self.heard.subscribe()
    }

    pub(crate) fn heard_again(&self) {
        self.heard.send_modify(|it| *it += 1);
    }

    /// A place for one more watch.
    pub(crate) fn lease(&self) -> Result<Lease, BoxError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let free = open.iter().find(|it| Arc::strong_count(&it.users) <= STREAMS_PER_CONNECTION);
        if let Some(slot) = free {
            return Ok(slot.lease());
        }
        let heard = Arc::<LastHeard>::default();
        let connection = for_watches(&self.access, self.protocol, Arc::clone(&heard))?;
        let slot = Slot { connection, heard, users: Arc::new(()) };
        let lease = slot.lease();
        open.push(slot);
        Ok(lease)
    }
}

impl std::fmt::Debug for RequestConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestConnections").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WatchConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchConnections").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl Slot {
    fn lease(&self) -> Lease {
        Lease {
            connection: self.connection.clone(),
            heard: Arc::clone(&self.heard),
            _user: Arc::clone(&self.users),
        }
    }
}

/// A client for long streams: HTTP/2 only when we know that the server speaks it, else whatever TLS agrees on.
fn for_watches(
    access: &Access,
    protocol: Version,
    heard: Arc<LastHeard>,
) -> Result<Connection, BoxError> {
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
    connection(access, builder.build(InTime { open: https, heard }))
}

fn transport(access: &Access) -> Result<Transport, BoxError> {
    let trust = || access.config.rustls_client_config().map_err(BoxError::from);
    proxy::transport(tcp(), access.proxy.as_ref(), trust)
}

/// Opens connections within [`OPEN_LIMIT`], or not at all.
#[derive(Clone)]
struct InTime<S> {
    open: S,
    heard: Arc<LastHeard>,
}

impl<S> Service<Uri> for InTime<S>
where
    S: Service<Uri, Error = BoxError>,
    S::Response: Send,
    S::Future: Send + 'static,
{
    type Response = Listened<S::Response>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.open.poll_ready(context)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let opening = tokio::time::timeout(OPEN_LIMIT, self.open.call(server));
        let heard = Arc::clone(&self.heard);
        Box::pin(async {
            let Ok(opened) = opening.await else {
                let seconds = OPEN_LIMIT.as_secs();
                return Err(format!("no connection was open after {seconds} s").into());
            };
            heard.now();
            Ok(Listened { stream: opened?, heard })
        })
    }
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
