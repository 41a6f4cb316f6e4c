//! The port: HTTP/1.1 and HTTP/2 on one socket, with TLS or without.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use wire::HttpBody;

use crate::port::{Port, answered, redirected};
use crate::{ApiServer, Shutdown, tls};

/// A client has this long to send its headers.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// A request may have this many bytes of headers.
const HEADER_LIMIT: usize = 1 << 20;
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// The first byte of a TLS greeting.
const TLS_HANDSHAKE: u8 = 0x16;

struct Sockets {
    port: Arc<Port>,
    /// None where everything goes over the wire as it is.
    tls: Option<TlsAcceptor>,
}

/// Takes connections until shutdown.
pub(crate) async fn serve(server: &Arc<ApiServer>, listener: TcpListener, shutdown: &Shutdown) {
    let settings = Arc::clone(&server.settings);
    let tls = server.options.tls.then(|| tls::acceptor(settings));
    let sockets = Arc::new(Sockets { port: Arc::new(Port::new(server)), tls });
    while let Some(accepted) = shutdown.or_end(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                let (sockets, shutdown) = (Arc::clone(&sockets), shutdown.clone());
                tokio::spawn(async move { shutdown.or_end(connection(&sockets, stream)).await });
            }
            // Out of file descriptors, mostly: connections that end make room.
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn connection(sockets: &Sockets, stream: TcpStream) {
    let mut first = [0];
    let Ok(Ok(1)) = tokio::time::timeout(HEADER_PATIENCE, stream.peek(&mut first)).await else {
        return;
    };
    let port = Arc::clone(&sockets.port);
    match (first[0] == TLS_HANDSHAKE, sockets.tls.clone()) {
        (true, Some(acceptor)) => {
            let accepted = tokio::time::timeout(HEADER_PATIENCE, acceptor.accept(stream)).await;
            match accepted {
                Ok(Ok(stream)) => talk(port, stream, Answers::Api).await,
                Ok(Err(error)) => tracing::debug!(%error, "a TLS greeting failed"),
                Err(_) => {}
            }
        }
        // A client that probes for TLS waits long for an answer to its greeting; closing is one.
        (true, None) => {}
        (false, Some(_)) => talk(port, stream, Answers::Redirect).await,
        (false, None) => talk(port, stream, Answers::Api).await,
    }
}

/// What a connection is for.
#[derive(Clone, Copy)]
enum Answers {
    Api,
    /// It should have been a TLS connection.
    Redirect,
}

async fn talk(
    port: Arc<Port>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answers: Answers,
) {
    let service = hyper_util::service::TowerToHyperService::new(tower::service_fn(
        move |request: Request<hyper::body::Incoming>| {
            let port = Arc::clone(&port);
            async move {
                Ok::<_, Infallible>(match answers {
                    Answers::Api => answered(port, request.map(HttpBody::new)).await,
                    Answers::Redirect => redirected(&request),
                })
            }
        },
    ));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(HEADER_LIMIT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(HEADER_PATIENCE))
        .max_header_list_size(u32::try_from(HEADER_LIMIT).unwrap_or(u32::MAX));
    if let Err(error) = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await
    {
        tracing::debug!(%error, "a connection broke");
    }
}
