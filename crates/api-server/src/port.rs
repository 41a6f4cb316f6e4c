//! Requests: gRPC, gRPC-web and REST, and the few paths that are neither.
//!
//! [`answered`] is where each begins and ends: with a number, a log line and a
//! count. `answer` finds out what it is about.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use jiff::Timestamp;
use tower::ServiceExt as _;
use wire::{Code, HttpBody, MESSAGE_LIMIT, Reply, Status, Table, error_body, http_status};

use crate::assets::{self, Assets};
use crate::caller::{COOKIE, Caller, Knowledge, Stranger, check, cookies, from_cookies, token_of};
use crate::documentation::Documentation;
use crate::extension::{self, Extensions};
use crate::methods::{Call, is_open, table};
use crate::patience::Patient;
use crate::sso::flow::{Onward, Stopped};
use crate::store::{CONFIG_MAPS, PROJECTS};
use crate::token::ISSUER;
use crate::{
    ApiServer, badge, compress, cookie, fields, grpc_message, session, sso, terminal, webhook,
};

/// A REST body may be as large as a gRPC message.
const BODY_LIMIT: usize = MESSAGE_LIMIT;
/// The control plane answers within this, or we are not well.
const HEALTH_PATIENCE: Duration = Duration::from_secs(5);
/// Tells a gRPC client the new token of a login that would end soon.
const RENEWED: &str = "renew-token";

/// What every connection needs.
pub(crate) struct Port {
    server: Arc<ApiServer>,
    table: Table<Call>,
    documentation: Documentation,
    extensions: Extensions,
    assets: Assets,
}

/// Who called what, told by an answer to the log.
#[derive(Clone)]
struct Told {
    user: String,
    method: &'static str,
}

/// The same place over TLS.
pub(crate) fn redirected<B>(request: &Request<B>) -> Response<HttpBody> {
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
pub(crate) async fn answered(port: Arc<Port>, request: Request<HttpBody>) -> Response<HttpBody> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
    let begin = Instant::now();
    let server = Arc::clone(&port.server);
    let answer = AssertUnwindSafe(answer(port, request)).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|_| {
        tracing::error!(request = number, %verb, path, "a request panicked");
        refusal(&Status::internal("internal error"))
    });
    let told = response.extensions_mut().remove::<Told>();
    let status = response.status().as_u16();
    let code = grpc_code(&response);
    if let Some(told) = &told {
        server.metrics.handled(told.method, code);
    }
    let (user, method) = told.map_or_else(Default::default, |it| (it.user, it.method));
    let took = begin.elapsed();
    let is_news = verb != Method::GET && !is_read(method);
    if status >= 500 || matches!(code, Code::Internal | Code::Unknown | Code::DataLoss) {
        tracing::warn!(request = number, user, %verb, path, method, status, ?code, ?took, "failed");
    } else if is_news {
        tracing::info!(request = number, user, %verb, path, method, status, ?code, ?took, "answered");
    } else {
        tracing::debug!(request = number, user, %verb, path, method, status, ?code, ?took, "answered");
    }
    response.headers_mut().insert("x-request-id", HeaderValue::from(number));
    response
}

/// Methods that change nothing and would fill the log.
fn is_read(method: &str) -> bool {
    let name = method.rsplit('/').next().unwrap_or_default();
    ["Get", "List", "Watch", "Version", "CanI", "Managed", "ResourceTree", "Revision", "PodLogs"]
        .iter()
        .any(|it| name.starts_with(it))
}

/// An answer that failed at once says so in its headers; REST answers by their status.
fn grpc_code(response: &Response<HttpBody>) -> Code {
    if let Some(code) = response.headers().get("grpc-status") {
        return Code::from_bytes(code.as_bytes());
    }
    response.extensions().get::<Code>().copied().unwrap_or(Code::Ok)
}

async fn answer(port: Arc<Port>, mut request: Request<HttpBody>) -> Response<HttpBody> {
    let web = &port.server.options.web;
    if let Some(path) = web.below_root(request.uri()) {
        *request.uri_mut() = path;
    }
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if content_type.is_some_and(|it| it.starts_with("application/grpc")) {
        let grpc = tower::service_fn(move |request| {
            let port = Arc::clone(&port);
            async move { Ok::<_, Infallible>(port.grpc(request).await) }.boxed()
        });
        let layered = tower::Layer::layer(&tonic_web::GrpcWebLayer::new(), grpc);
        return layered.oneshot(request).await.unwrap_or_else(|never| match never {});
    }
    let accepts_gzip = web.compresses && compress::is_accepted(request.headers());
    let mut response = port.web(request).await;
    for (name, value) in [
        ("x-frame-options", &web.frame_options),
        ("content-security-policy", &web.content_security_policy),
    ] {
        if let Ok(value) = HeaderValue::from_str(value)
            && !value.is_empty()
        {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    let sniffing = HeaderValue::from_static("nosniff");
    response.headers_mut().insert("x-content-type-options", sniffing);
    if accepts_gzip { compress::compressed(response).await } else { response }
}

/// A call with the new token of a login that would end soon.
struct Admitted {
    call: Call,
    renewed: Option<String>,
}

impl Port {
    pub(crate) fn new(server: &Arc<ApiServer>) -> Self {
        let table = table();
        let documentation = Documentation::of(&table);
        let (extensions, assets) = (Extensions::default(), Assets::default());
        Self { server: Arc::clone(server), table, documentation, extensions, assets }
    }

    pub(crate) fn server(&self) -> &Arc<ApiServer> {
        &self.server
    }

    pub(crate) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    async fn web(self: &Arc<Self>, request: Request<HttpBody>) -> Response<HttpBody> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        match request.uri().path() {
            "/healthz" => self.health(&query).await,
            "/api/webhook" => self.webhook(request).await,
            "/api/badge" => badge::answer(&self.server, &query),
            "/auth/login" => {
                onward(sso::flow::login(&self.server, request.headers(), &query).await)
            }
            "/auth/callback" => {
                onward(sso::flow::callback(&self.server, request.headers(), &query).await)
            }
            "/swagger.json" => self.documentation.json(),
            "/swagger-ui" => self.documentation.page(),
            "/terminal" => terminal::answer(self, request).await,
            "/auth/logout" => self.log_out(request.headers()).await,
            path if path == sso::DEX_PATH || path.starts_with("/api/dex/") => {
                sso::dex::pass(&self.server, request).await
            }
            path if path.starts_with(extension::PREFIX)
                && self.server.options.web.passes_extensions =>
            {
                extension::pass(self, request).await
            }
            assets::SCRIPTS => {
                self.assets.scripts(&self.server.options.web, request.headers()).await
            }
            path => {
                let (web, headers) = (&self.server.options.web, request.headers());
                match self.assets.file(web, request.method(), path, headers).await {
                    Some(file) => file,
                    None => self.rest(request).await.unwrap_or_else(|status| refusal(&status)),
                }
            }
        }
    }

    /// With `full=true` also: does the control plane answer?
    async fn health(&self, query: &str) -> Response<HttpBody> {
        if crate::address::field(query, "full").as_deref() != Some("true") {
            return plain(StatusCode::OK, "text/plain", b"ok".to_vec());
        }
        let asked = self.server.store.get::<serde_json::Value>(&CONFIG_MAPS, "argocd-cm");
        match tokio::time::timeout(HEALTH_PATIENCE, asked).await {
            Ok(Ok(_)) => plain(StatusCode::OK, "text/plain", b"ok".to_vec()),
            Ok(Err(error)) => {
                tracing::warn!(error = %error.in_one_line(), "the control plane does not answer");
                plain(StatusCode::SERVICE_UNAVAILABLE, "text/plain", Vec::new())
            }
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "text/plain", Vec::new()),
        }
    }

    async fn admit(&self, method: &'static str, headers: &HeaderMap) -> Result<Admitted, Status> {
        let caller = match self.authenticate(headers).await {
            Ok(caller) => Some(caller),
            Err(_) if is_open(method) => None,
            Err(_) if self.server.settings.current().session.anonymous_enabled => {
                Some(Caller::default())
            }
            Err(stranger) => return Err(stranger.into()),
        };
        let renewed = match &caller {
            Some(caller) if caller.session.is_some() => sso::renewed(&self.server, caller).await,
            Some(Caller { renew_for: Some(lasts), name, .. }) => {
                let subject = format!("{name}:login");
                session::issue(&self.server, subject, *lasts, String::new()).ok()
            }
            _ => None,
        };
        Ok(Admitted { call: Call { server: Arc::clone(&self.server), caller, method }, renewed })
    }

    async fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        self.caller_of(&token_of(headers).ok_or(Stranger::NoToken)?).await
    }

    /// A project's token may be newer than what the watch has told: then the project is read.
    pub(crate) async fn caller_of(&self, token: &str) -> Result<Caller, Stranger> {
        if sso::claimed_issuer(token).is_some_and(|it| it != ISSUER) {
            return sso::caller(&self.server, token).await;
        }
        let (project, why) = match self.known(|known| check(token, known)) {
            Err(Stranger::NotInProject { project, why }) => (project, why),
            decided => return decided,
        };
        let Ok(Some(found)) = self.server.store.get(&PROJECTS, &project).await else {
            return Err(Stranger::NotInProject { project, why });
        };
        self.server.projects.see(found);
        self.known(|known| check(token, known))
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
        let body = read(body, limit).await.unwrap_or_default();
        let (status, told) = webhook::receive(&self.server, &parts.method, &parts.headers, &body);
        plain(status, "text/plain; charset=utf-8", told.into_bytes())
    }

    /// Revokes the token of the cookie, empties the cookie and goes back to the start, by way of
    /// the identity provider where that ends its session too.
    async fn log_out(&self, headers: &HeaderMap) -> Response<HttpBody> {
        let Some(token) = from_cookies(headers) else {
            let told = "Failed to retrieve ArgoCD auth token\n";
            return plain(StatusCode::BAD_REQUEST, "text/plain", told.into());
        };
        let mut location = self.home(headers);
        if let Ok(caller) = self.caller_of(&token).await {
            session::log_out(&self.server, &caller).await;
            if caller.session.is_some() {
                sso::forget(&self.server, &caller);
                let elsewhere = sso::logout_address(&self.server, &token, &location);
                location = elsewhere.unwrap_or(location);
            }
        }
        let path = self.server.cookie_scope().path;
        let own = cookies(headers).into_iter().filter(|(it, _)| it.starts_with(COOKIE));
        let cookies = own.map(|(name, _)| format!("{name}=; Path={path}")).collect();
        onward(Ok(Onward { location, cookies }))
    }

    /// Where users reach us; without a word in the settings, where this one did.
    fn home(&self, headers: &HeaderMap) -> String {
        let options = &self.server.options;
        let url = self.server.settings.current().server.url.clone();
        let host = headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or_default();
        let scheme = if options.tls { "https" } else { "http" };
        let home = format!("{scheme}://{host}{}", options.web.root_path);
        let home = if url.is_empty() { home } else { url };
        home.trim_end_matches('/').to_owned()
    }

    async fn grpc(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let path = request.uri().path();
        let Some(endpoint) = self.table.grpc(path) else {
            let name = path.trim_start_matches('/');
            return Status::unimplemented(format!("unknown method {name}")).into_http();
        };
        let method = endpoint.path();
        let admitted = self.admit(method, request.headers()).await;
        let user = admitted.as_ref().map(|it| user_of(&it.call)).unwrap_or_default();
        let mut response = match admitted {
            Ok(Admitted { call, renewed }) => {
                self.server.metrics.started(method);
                let request = request.map(|it| HttpBody::new(Patient::with(it)));
                let mut response = endpoint.grpc(call, request).await;
                if let Some(token) = renewed.and_then(|it| HeaderValue::from_str(&it).ok()) {
                    response.headers_mut().insert(RENEWED, token);
                }
                response
            }
            Err(refusal) => refusal.into_http(),
        };
        grpc_message::as_go_writes_it(response.headers_mut());
        response.extensions_mut().insert(Told { user, method });
        response
    }

    async fn rest(&self, request: Request<HttpBody>) -> Result<Response<HttpBody>, Status> {
        let (parts, body) = request.into_parts();
        if !self.server.options.web.takes(&parts.method, &parts.headers) {
            let told = b"Invalid content type\n".to_vec();
            return Ok(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "text/plain", told));
        }
        let Some(routed) = self.table.rest(&parts.method, parts.uri.path()) else {
            return Err(Status::not_found("Not Found"));
        };
        let path = routed.endpoint.path();
        let Admitted { call, mut renewed } = self.admit(path, &parts.headers).await?;
        let told = Told { user: user_of(&call), method: path };
        self.server.metrics.started(path);
        let query = parts.uri.query().unwrap_or_default();
        let answered = async {
            let body = match routed.has_body() {
                true => read(body, BODY_LIMIT).await.map_err(|why| {
                    Status::invalid_argument(format!("could not read the body: {why}"))
                })?,
                false => Bytes::new(),
            };
            let message = routed.message(query, &body);
            let message = message
                .map_err(|error| Status::invalid_argument(runtime::Chain(&error).to_string()))?;
            routed.endpoint.json(call, message).await
        };
        let is_sse = parts.headers.get("accept").is_some_and(|it| it == "text/event-stream");
        let selection = fields::Selection::of(query);
        let mut response = match answered.await {
            Ok(Reply::One(json)) => {
                renewed = cookie::token_of_answer(path, &json).or(renewed);
                let json = match selection {
                    Some(selection) => selection.applied(&json)?,
                    None => json,
                };
                plain(StatusCode::OK, "application/json", json)
            }
            Ok(Reply::Many(answers)) => streamed(answers, selection, is_sse),
            Err(status) => refusal(&status),
        };
        let scope = self.server.cookie_scope();
        for line in renewed.iter().flat_map(|token| cookie::lines(token, &scope)) {
            if let Ok(line) = HeaderValue::from_str(&line) {
                response.headers_mut().append(SET_COOKIE, line);
            }
        }
        response.extensions_mut().insert(told);
        Ok(response)
    }
}

fn user_of(call: &Call) -> String {
    call.caller.as_ref().map(|it| it.name.clone()).unwrap_or_default()
}

/// The whole body, if it comes: neither too large nor drop by drop.
async fn read(body: HttpBody, limit: usize) -> Result<Bytes, String> {
    let body = Limited::new(Patient::with(body), limit);
    match body.collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(match error.downcast_ref::<Status>() {
            Some(status) => status.message().to_owned(),
            None => error.to_string(),
        }),
    }
}

pub(crate) fn plain(
    status: StatusCode,
    content_type: &'static str,
    body: Vec<u8>,
) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn refusal(status: &Status) -> Response<HttpBody> {
    let mut response = plain(http_status(status.code()), "application/json", error_body(status));
    response.extensions_mut().insert(status.code());
    response
}

/// Sends a browser on, or tells it why not: as plain text, which no browser takes for a page.
fn onward(decided: Result<Onward, Stopped>) -> Response<HttpBody> {
    let onward = match decided {
        Ok(onward) => onward,
        Err(stopped) => {
            let told = format!("{}\n", stopped.told).into_bytes();
            return plain(stopped.status, "text/plain; charset=utf-8", told);
        }
    };
    let mut response = plain(StatusCode::SEE_OTHER, "text/plain", Vec::new());
    if let Ok(location) = HeaderValue::from_str(&onward.location) {
        response.headers_mut().insert(LOCATION, location);
    }
    for line in &onward.cookies {
        if let Ok(line) = HeaderValue::from_str(line) {
            response.headers_mut().append(SET_COOKIE, line);
        }
    }
    response
}

/// One line per message, or one server-sent event.
fn streamed(
    answers: stream::BoxStream<'static, Result<Vec<u8>, Status>>,
    selection: Option<fields::Selection>,
    is_sse: bool,
) -> Response<HttpBody> {
    let frames = answers.map(move |answer| {
        let selected = answer.and_then(|json| match &selection {
            Some(selection) => selection.applied_to_result(&json),
            None => Ok(json),
        });
        let (name, json) = match selected {
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
