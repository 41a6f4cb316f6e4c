//! The port: HTTP/2 with TLS or without, and a deadline for every request.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use wire::{HttpBody, Status};

use super::{Call, CertificateError, MAX_AGE_HEADER, RepoService, certificate};

/// A client has this long for its greeting, and to answer a ping.
const PATIENCE: Duration = Duration::from_secs(30);
/// A request may have this many bytes of headers.
const HEADER_LIMIT: u32 = 1 << 20;
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

impl RepoService {
    /// Takes connections until shutdown.
    ///
    /// # Errors
    /// When the certificate cannot be used.
    pub async fn run(
        self: &Arc<Self>,
        listener: TcpListener,
        shutdown: &runtime::Shutdown,
    ) -> Result<(), CertificateError> {
        let tls = self.options.tls.as_ref().map(certificate::acceptor).transpose()?;
        while let Some(accepted) = shutdown.or_end(listener.accept()).await {
            match accepted {
                Ok((stream, _)) => {
                    let (service, tls) = (Arc::clone(self), tls.clone());
                    let shutdown = shutdown.clone();
                    tokio::spawn(
                        async move { shutdown.or_end(connection(service, tls, stream)).await },
                    );
                }
                // Out of file descriptors, mostly: connections that end make room.
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
        Ok(())
    }
}

async fn connection(service: Arc<RepoService>, tls: Option<TlsAcceptor>, stream: TcpStream) {
    // Small answers do not wait for more.
    stream.set_nodelay(true).ok();
    let Some(tls) = tls else { return talk(service, stream).await };
    match tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
        Ok(Ok(stream)) => talk(service, stream).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS greeting failed"),
        Err(_) => {}
    }
}

async fn talk(
    service: Arc<RepoService>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let answer = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(answered(service, request.map(HttpBody::new)).await) }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(PATIENCE))
        .max_header_list_size(HEADER_LIMIT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(answer));
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn answered(service: Arc<RepoService>, request: Request<HttpBody>) -> Response<HttpBody> {
    let path = request.uri().path().to_owned();
    let Some(endpoint) = service.table.grpc(&path) else {
        return Status::unimplemented(format!("there is no method {path}")).into_http();
    };
    let deadline = deadline(request.headers()).unwrap_or(service.options.deadline);
    let max_age = milliseconds(request.headers());
    let call = Call { service, max_age };
    match tokio::time::timeout(deadline, endpoint.grpc(call, request)).await {
        Ok(response) => response,
        Err(_) => {
            let told = format!("{path} took longer than its deadline of {deadline:?}");
            Status::deadline_exceeded(told).into_http()
        }
    }
}

fn milliseconds(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(MAX_AGE_HEADER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_millis)
}

/// `grpc-timeout`: up to eight digits and a unit.
fn deadline(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Duration>) {
        let headers = HeaderMap::from_iter([(
            http::header::HeaderName::from_static("grpc-timeout"),
            text.parse().expect("a header"),
        )]);
        assert_eq!(deadline(&headers), expect, "{text}");
    }

    #[test]
    fn deadlines_are_read_as_grpc_writes_them() {
        check("90S", Some(Duration::from_secs(90)));
        check("1H", Some(Duration::from_secs(3600)));
        check("250m", Some(Duration::from_millis(250)));
        check("", None);
        check("S", None);
        check("x", None);
        check("123456789S", None);
        check("5é", None);
    }
}
