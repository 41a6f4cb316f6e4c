//! The port: HTTP/1.1 and HTTP/2 on one socket, gRPC, gRPC-web and REST in both.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;
use wire::{HttpBody, MESSAGE_LIMIT, Reply, Status, Table, error_body, http_status};

use crate::caller::{
    COOKIE, Caller, Knowledge, Stranger, authenticate, check, cookies, from_cookies,
};
use crate::cookie;
use crate::methods::{Call, is_open, table};
use crate::store::PROJECTS;
use crate::{ApiServer, Shutdown, session, tls, webhook};

/// A client has this long to send its headers.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// A REST body may be as large as a gRPC message.
const BODY_LIMIT: usize = MESSAGE_LIMIT;
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// The first byte of a TLS greeting.
const TLS_HANDSHAKE: u8 = 0x16;
/// Tells a gRPC client the new token of a login that would end soon.
const RENEWED: &str = "renew-token";

struct Port {
    server: Arc<ApiServer>,
    table: Table<Call>,
    /// None where everything goes over the wire as it is.
    tls: Option<TlsAcceptor>,
}

/// Takes connections until shutdown.
pub(crate) async fn serve(server: &Arc<ApiServer>, listener: TcpListener, shutdown: &Shutdown) {
    let settings = Arc::clone(&server.settings);
    let tls = server.options.tls.then(|| tls::acceptor(settings));
    let port = Arc::new(Port { server: Arc::clone(server), table: table(), tls });
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
    let Ok(Ok(1)) = tokio::time::timeout(HEADER_PATIENCE, stream.peek(&mut first)).await else {
        return;
    };
    match (first[0] == TLS_HANDSHAKE, port.tls.clone()) {
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
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEADER_PATIENCE));
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection broke");
    }
}

/// The same place over TLS.
fn redirected<B>(request: &Request<B>) -> Response<HttpBody> {
    let host = request.headers().get("host").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut response = plain(StatusCode::TEMPORARY_REDIRECT, "text/plain", Vec::new());
    match HeaderValue::from_str(&format!("https://{host}{path}")) {
        Ok(target) if !host.is_empty() => {
            response.headers_mut().insert(LOCATION, target);
            response
        }
        _ => plain(StatusCode::BAD_REQUEST, "text/plain", b"this port speaks TLS\n".to_vec()),
    }
}

/// Answers with a number that also stands in the log. A panic is this request's failure alone.
async fn answered(port: Arc<Port>, request: Request<HttpBody>) -> Response<HttpBody> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
    let begin = Instant::now();
    let answer = AssertUnwindSafe(answer(port, request)).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|_| {
        tracing::error!(request = number, %verb, path, "a request panicked");
        refusal(&Status::internal("internal error"))
    });
    let status = response.status().as_u16();
    tracing::debug!(request = number, %verb, path, status, took = ?begin.elapsed(), "answered");
    response.headers_mut().insert("x-request-id", HeaderValue::from(number));
    response
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
    if request.uri().path() == "/api/webhook" {
        return port.webhook(request).await;
    }
    if request.uri().path() == "/auth/logout" {
        return port.log_out(request.headers()).await;
    }
    port.rest(request).await.unwrap_or_else(|status| refusal(&status))
}

/// A call with the new token of a login that would end soon.
struct Admitted {
    call: Call,
    renewed: Option<String>,
}

impl Port {
    async fn admit(&self, method: &'static str, headers: &HeaderMap) -> Result<Admitted, Status> {
        let caller = match self.authenticate(headers).await {
            Ok(caller) => Some(caller),
            Err(_) if is_open(method) => None,
            Err(_) if self.server.settings.current().session.anonymous_enabled => {
                Some(Caller::default())
            }
            Err(stranger) => return Err(stranger.into()),
        };
        let renewal = caller.as_ref().and_then(|it| Some((it, it.renew_for?)));
        let renewed = renewal.and_then(|(caller, lasts)| {
            let subject = format!("{}:login", caller.name);
            session::issue(&self.server, subject, lasts, String::new()).ok()
        });
        Ok(Admitted { call: Call { server: Arc::clone(&self.server), caller, method }, renewed })
    }

    /// A project's token may be newer than what the watch has told: then the project is read.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        let refused = match self.known(|known| authenticate(headers, known)) {
            Err(Stranger::NotInProject { project, why }) => (project, why),
            decided => return decided,
        };
        let (project, why) = refused;
        let Ok(Some(found)) = self.server.store.get(&PROJECTS, &project).await else {
            return Err(Stranger::NotInProject { project, why });
        };
        self.server.projects.see(found);
        self.known(|known| authenticate(headers, known))
    }

    fn known<T>(&self, ask: impl FnOnce(&Knowledge<'_>) -> T) -> T {
        let settings = self.server.settings.current();
        ask(&Knowledge {
            settings: &settings,
            is_revoked: &|id| self.server.revocations.contain(id),
            project: &|name| self.server.projects.get(name),
            now: Timestamp::now(),
        })
    }

    async fn webhook(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let (parts, body) = request.into_parts();
        let limit = self.server.settings.current().webhooks.max_payload;
        let limit = usize::try_from(limit).unwrap_or(BODY_LIMIT);
        // A body past the limit is as good as none.
        let body = Limited::new(pin!(body), limit).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let (status, told) = webhook::receive(&self.server, &parts.method, &parts.headers, &body);
        plain(status, "text/plain; charset=utf-8", told.into_bytes())
    }

    /// Revokes the token of the cookie, empties the cookie and goes back to the start.
    async fn log_out(&self, headers: &HeaderMap) -> Response<HttpBody> {
        let Some(token) = from_cookies(headers) else {
            let told = "Failed to retrieve ArgoCD auth token\n";
            return plain(StatusCode::BAD_REQUEST, "text/plain", told.into());
        };
        if let Ok(caller) = self.known(|known| check(&token, known)) {
            session::log_out(&self.server, &caller).await;
        }
        let url = self.server.settings.current().server.url.clone();
        let host = headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or_default();
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let home = if url.is_empty() { format!("{scheme}://{host}") } else { url };
        let mut response = plain(StatusCode::SEE_OTHER, "text/plain", Vec::new());
        let answer = response.headers_mut();
        if let Ok(home) = HeaderValue::from_str(home.trim_end_matches('/')) {
            answer.insert(LOCATION, home);
        }
        for (name, _) in cookies(headers).into_iter().filter(|(it, _)| it.starts_with(COOKIE)) {
            if let Ok(emptied) = HeaderValue::from_str(&format!("{name}=; Path=/")) {
                answer.append(SET_COOKIE, emptied);
            }
        }
        response
    }

    async fn grpc(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let path = request.uri().path();
        let Some(endpoint) = self.table.grpc(path) else {
            let name = path.trim_start_matches('/');
            return Status::unimplemented(format!("unknown method {name}")).into_http();
        };
        let Admitted { call, renewed } = match self.admit(endpoint.path(), request.headers()).await
        {
            Ok(admitted) => admitted,
            Err(refusal) => return refusal.into_http(),
        };
        let mut response = endpoint.grpc(call, request).await;
        if let Some(token) = renewed.and_then(|it| HeaderValue::from_str(&it).ok()) {
            response.headers_mut().insert(RENEWED, token);
        }
        response
    }

    async fn rest(&self, request: Request<HttpBody>) -> Result<Response<HttpBody>, Status> {
        let (parts, body) = request.into_parts();
        let Some(routed) = self.table.rest(&parts.method, parts.uri.path()) else {
            return Err(Status::not_found("Not Found"));
        };
        let path = routed.endpoint.path();
        let Admitted { call, mut renewed } = self.admit(path, &parts.headers).await?;
        check_content_type(&parts.method, &parts.headers)?;
        let body = if routed.has_body() { read(body).await? } else { Bytes::new() };
        let message = routed.message(parts.uri.query().unwrap_or_default(), &body);
        let message = message
            .map_err(|error| Status::invalid_argument(runtime::Chain(&error).to_string()))?;
        let is_sse = parts.headers.get("accept").is_some_and(|it| it == "text/event-stream");
        let mut response = match routed.endpoint.json(call, message).await? {
            Reply::One(json) => {
                renewed = cookie::token_of_answer(path, &json).or(renewed);
                plain(StatusCode::OK, "application/json", json)
            }
            Reply::Many(answers) => streamed(answers, is_sse),
        };
        for line in renewed.iter().flat_map(|token| cookie::lines(token, self.tls.is_some())) {
            if let Ok(line) = HeaderValue::from_str(&line) {
                response.headers_mut().append(SET_COOKIE, line);
            }
        }
        Ok(response)
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
