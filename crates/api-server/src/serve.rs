//! The port: HTTP/1.1 and HTTP/2 on one socket, gRPC, gRPC-web and REST in both.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;
use wire::{HttpBody, MESSAGE_LIMIT, Reply, Status, Table, error_body, http_status};

use crate::caller::authenticate;
use crate::methods::{Call, is_open, table};
use crate::{ApiServer, Shutdown};

/// A client has this long to send its headers.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// A REST body may be as large as a gRPC message.
const BODY_LIMIT: usize = MESSAGE_LIMIT;
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// The first byte of a TLS greeting.
const TLS_HANDSHAKE: u8 = 0x16;

struct Port {
    server: Arc<ApiServer>,
    table: Table<Call>,
}

/// Takes connections until shutdown.
pub(crate) async fn serve(server: &Arc<ApiServer>, listener: TcpListener, shutdown: &Shutdown) {
    let port = Arc::new(Port { server: Arc::clone(server), table: table() });
    while let Some(accepted) = shutdown.or_end(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                let (port, shutdown) = (Arc::clone(&port), shutdown.clone());
                tokio::spawn(async move { shutdown.or_end(connection(port, stream)).await });
            }
            // Out of file descriptors, mostly: connections that end make room.
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn connection(port: Arc<Port>, stream: TcpStream) {
    let mut first = [0];
    // A client that probes for TLS waits long for an answer to its greeting; closing is one.
    match tokio::time::timeout(HEADER_PATIENCE, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first[0] != TLS_HANDSHAKE => {}
        _ => return,
    }
    let service = hyper_util::service::TowerToHyperService::new(tower::service_fn(
        move |request: Request<hyper::body::Incoming>| {
            let port = Arc::clone(&port);
            async move { Ok::<_, Infallible>(answer(port, request.map(HttpBody::new)).await) }
        },
    ));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEADER_PATIENCE));
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn answer(port: Arc<Port>, request: Request<HttpBody>) -> Response<HttpBody> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if content_type.is_some_and(|it| it.starts_with("application/grpc")) {
        let grpc = tower::service_fn(move |request| {
            let port = Arc::clone(&port);
            async move { Ok::<_, Infallible>(port.grpc(request).await) }.boxed()
        });
        let layered = tower::Layer::layer(&tonic_web::GrpcWebLayer::new(), grpc);
        return layered.oneshot(request).await.unwrap_or_else(|never| match never {});
    }
    if request.uri().path() == "/healthz" {
        return plain(StatusCode::OK, "text/plain", b"ok".to_vec());
    }
    port.rest(request).await.unwrap_or_else(|status| refusal(&status))
}

impl Port {
    fn call(&self, method: &str, headers: &HeaderMap) -> Result<Call, Status> {
        let settings = self.server.settings.current();
        let caller = match authenticate(headers, &settings, Timestamp::now()) {
            Ok(caller) => Some(caller),
            Err(_) if is_open(method) => None,
            Err(refusal) => return Err(refusal),
        };
        Ok(Call { server: Arc::clone(&self.server), caller })
    }

    async fn grpc(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let path = request.uri().path();
        let Some(endpoint) = self.table.grpc(path) else {
            let name = path.trim_start_matches('/');
            return Status::unimplemented(format!("unknown method {name}")).into_http();
        };
        match self.call(endpoint.path(), request.headers()) {
            Ok(call) => endpoint.grpc(call, request).await,
            Err(refusal) => refusal.into_http(),
        }
    }

    async fn rest(&self, request: Request<HttpBody>) -> Result<Response<HttpBody>, Status> {
        let (parts, body) = request.into_parts();
        let Some(routed) = self.table.rest(&parts.method, parts.uri.path()) else {
            return Err(Status::not_found("Not Found"));
        };
        let call = self.call(routed.endpoint.path(), &parts.headers)?;
        check_content_type(&parts.method, &parts.headers)?;
        let body = if routed.has_body() { read(body).await? } else { Bytes::new() };
        let message = routed.message(parts.uri.query().unwrap_or_default(), &body);
        let message = message
            .map_err(|error| Status::invalid_argument(runtime::Chain(&error).to_string()))?;
        let is_sse = parts.headers.get("accept").is_some_and(|it| it == "text/event-stream");
        Ok(match routed.endpoint.json(call, message).await? {
            Reply::One(json) => plain(StatusCode::OK, "application/json", json),
            Reply::Many(answers) => streamed(answers, is_sse),
        })
    }
}

/// A form of another site can send text, but not JSON: this is what keeps it from acting for a user.
fn check_content_type(method: &Method, headers: &HeaderMap) -> Result<(), Status> {
    if *method == Method::GET {
        return Ok(());
    }
    let given = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim();
    if given.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Status::invalid_argument(format!("invalid content type: {given:?}; use application/json")))
}

async fn read(body: HttpBody) -> Result<Bytes, Status> {
    let collected = Limited::new(pin!(body), BODY_LIMIT).collect().await;
    collected
        .map(http_body_util::Collected::to_bytes)
        .map_err(|error| Status::invalid_argument(format!("could not read the body: {error}")))
}

fn plain(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn refusal(status: &Status) -> Response<HttpBody> {
    plain(http_status(status.code()), "application/json", error_body(status))
}

/// One line per message, or one server-sent event.
fn streamed(
    answers: stream::BoxStream<'static, Result<Vec<u8>, Status>>,
    is_sse: bool,
) -> Response<HttpBody> {
    let frames = answers.map(move |answer| {
        let (name, json) = match answer {
            Ok(json) => ("result", json),
            Err(status) => ("error", error_body(&status)),
        };
        let (start, end) = if is_sse { ("data: ", "\n\n") } else { ("", "\n") };
        let mut line = format!("{start}{{\"{name}\":").into_bytes();
        line.extend(json);
        line.extend(format!("}}{end}").as_bytes());
        Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(line)))
    });
    let mut response = Response::new(HttpBody::new(StreamBody::new(frames)));
    let kind = if is_sse { "text/event-stream" } else { "application/json" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
