//! `/extensions/<name>/…`: requests that are passed on to services of others, on
//! behalf of an Application and of a user who may.
//!
//! What the service is told about both stands in headers that no client can set.
//! A web socket goes on in `socket.rs`.

mod socket;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ::settings::extensions::{Backend, Extension, Service};
use api::Application;
use bytes::Bytes;
use engine::project::{Cluster, Gate};
use futures::stream;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited, StreamBody};
use rbac::{action, resource};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::{HttpBody, Status};

use crate::address::Address;
use crate::caller::token_of;
use crate::methods::Call;
use crate::names::{is_label, is_subdomain};
use crate::patience::Patient;
use crate::port::{Port, plain};
use crate::sso::dex::passing;
use crate::store::APPLICATIONS;
use crate::{application, project};
use socket::Socket;

pub(crate) const PREFIX: &str = "/extensions/";
/// A request to an extension may have this much of a body.
const BODY_LIMIT: usize = 100 << 20;
/// Headers that say who asks and what about; what a client says there does not count.
const OURS: [&str; 8] = [
    "argocd-namespace",
    "argocd-application-name",
    "argocd-project-name",
    "argocd-target-cluster-url",
    "argocd-target-cluster-name",
    "argocd-username",
    "argocd-user-id",
    "argocd-user-groups",
];

type No = (StatusCode, String);

fn no<T>(status: StatusCode, why: impl Into<String>) -> Result<T, No> {
    Err((status, why.into()))
}

/// The Application that a request is about, as its headers say.
#[derive(Debug, PartialEq, Eq)]
struct About {
    namespace: String,
    app: String,
    project: String,
}

/// The answer of the service, as it comes.
pub(crate) async fn pass(port: &Arc<Port>, request: Request<HttpBody>) -> Response<HttpBody> {
    let passed = passed(port, request).await;
    passed.unwrap_or_else(|(status, why)| {
        plain(status, "text/plain; charset=utf-8", format!("{why}\n").into_bytes())
    })
}

async fn passed(
    port: &Arc<Port>,
    mut request: Request<HttpBody>,
) -> Result<Response<HttpBody>, No> {
    let bad = StatusCode::BAD_REQUEST;
    let Some(token) = token_of(request.headers()) else { return no(bad, "Auth cookie not found") };
    let Ok(caller) = port.caller_of(&token).await else {
        return no(StatusCode::UNAUTHORIZED, "Invalid token");
    };
    let path = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let (name, rest) = (name.to_owned(), format!("/{rest}"));
    if name.is_empty() {
        return no(bad, "Invalid URL: extension name must be provided");
    }
    let about = About::of(request.headers());
    let about = about.map_err(|why| (bad, format!("Invalid headers: {why}")))?;
    let server = Arc::clone(port.server());
    let call = Call { server, caller: Some(caller), method: "/extensions" };
    let app = authorized(&call, &about, &name).await.map_err(|why| {
        tracing::info!(why, extension = name, "an extension was refused");
        (StatusCode::UNAUTHORIZED, "Unauthorized extension request".to_owned())
    })?;
    let settings = call.server.settings.current();
    let Some(extension) = settings.extensions.iter().find(|it| it.name == name) else {
        return no(StatusCode::NOT_FOUND, "Extension not found");
    };
    let destination = &app.spec.destination;
    let service = extension.service_for(&destination.server, &destination.name);
    let Some(service) = service else { return no(bad, "invalid extension") };
    let query = request.uri().query().map(|it| format!("?{it}")).unwrap_or_default();
    let Some(address) = Address::parse(&service.url) else { return no(bad, "invalid extension") };
    let target = format!("{}{rest}{query}", address.origin);
    let socket = match socket::asked(&mut request) {
        Some(client) => Some((client, port.extensions().room()?)),
        None => None,
    };
    let (parts, body) = request.into_parts();
    let mut headers = headers(&call, &app, service, &parts);
    if socket.is_some() {
        socket::switch(&mut headers);
    }
    let body = Limited::new(Patient::with(body), BODY_LIMIT).collect().await;
    let body = body.map_err(|error| match error.downcast_ref::<Status>() {
        Some(slow) => (StatusCode::REQUEST_TIMEOUT, slow.message().to_owned()),
        None => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large".to_owned()),
    })?;
    let user = call.caller.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    tracing::info!(user, extension = name, app = app.metadata.name, path = rest, "passes on");
    let unreachable = |error: reqwest::Error| {
        // The address could hold a secret.
        let error = error.without_url();
        tracing::warn!(error = %runtime::Chain(&error), extension = name, "does not answer");
        (StatusCode::BAD_GATEWAY, String::new())
    };
    let client = port.extensions().client(extension).map_err(unreachable)?;
    let asked = client.request(parts.method, target).headers(headers).body(body.to_bytes());
    let begun = Instant::now();
    let answer = asked.send().await.map_err(unreachable);
    let status = answer.as_ref().map_or_else(|(status, _)| *status, reqwest::Response::status);
    call.server.metrics.extension(&name, status, begun.elapsed());
    let answer = answer?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(as_it_comes(answer));
    }
    let Some((client, room)) = socket.filter(|_| socket::is_agreed(&answer)) else {
        tracing::warn!(extension = name, "goes over to a protocol that nobody asked for");
        return no(StatusCode::BAD_GATEWAY, "");
    };
    let (app, service) = (app.key(), service.clone());
    let port = Arc::clone(port);
    let socket = Socket { port, token, about, app, extension: name.clone(), service };
    socket.open(client, answer, room).await.map_err(unreachable)
}

fn as_it_comes(answer: reqwest::Response) -> Response<HttpBody> {
    let (status, headers) = (answer.status(), passing(answer.headers()));
    let chunks = stream::unfold(answer, async |mut answer| {
        // A service that breaks off cannot be told otherwise than by an end.
        let chunk = answer.chunk().await.ok().flatten()?;
        Some((Ok::<_, Infallible>(http_body::Frame::<Bytes>::data(chunk)), answer))
    });
    let mut response = Response::new(HttpBody::new(StreamBody::new(chunks)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

impl About {
    fn of(headers: &HeaderMap) -> Result<Self, String> {
        let text =
            |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let missing = |name: &str| format!("header {name:?} must be provided");
        let app = text("argocd-application-name");
        if app.is_empty() {
            return Err(missing("Argocd-Application-Name"));
        }
        let [namespace, app] = app.split(':').collect::<Vec<_>>()[..] else {
            return Err("error getting app details: invalid value for \"Argocd-Application-Name\" header: expected format: <namespace>:<app-name>".into());
        };
        if !namespace.is_empty() && !is_label(namespace) {
            return Err("invalid value for namespace".into());
        }
        if !is_subdomain(app) {
            return Err("invalid value for application name".into());
        }
        let project = text("argocd-project-name");
        if project.is_empty() {
            return Err(missing("Argocd-Project-Name"));
        }
        if !is_subdomain(project) {
            return Err("invalid value for project name".into());
        }
        let (namespace, app) = (namespace.to_owned(), app.to_owned());
        Ok(Self { namespace, app, project: project.to_owned() })
    }
}

/// The Application, for those who may see it and call the extension. The reason is for the log.
async fn authorized(call: &Call, about: &About, extension: &str) -> Result<Application, String> {
    may(call, about, extension)?;
    let told = |status: wire::Status| status.message().to_owned();
    let namespace = application::checked_namespace(call, Some(&about.namespace)).map_err(told)?;
    let store = call.server.store.at(&namespace);
    let app = store.get::<Application>(&APPLICATIONS, &about.app).await;
    let app = app.map_err(|error| error.in_one_line())?.ok_or("there is no such Application")?;
    if app.spec.project_name() != about.project {
        return Err("it is of another project".into());
    }
    let project = project::of(call, &app).await.map_err(told)?;
    let destination = call.server.ports.control.destination(&app.spec.destination)?;
    let place = Cluster { server: destination.server, name: destination.name };
    let clusters = project::clusters_of(&call.server.settings.current(), &about.project);
    let permitted =
        Gate::new(&project, clusters).permits_destination(&place, &app.spec.destination.namespace);
    permitted.map_err(|denied| denied.to_string())?;
    Ok(app)
}

/// Both rights that an extension needs, for a request and as long as a web socket lasts.
fn may(call: &Call, about: &About, extension: &str) -> Result<(), String> {
    let object = call.object_named(&about.project, &about.namespace, &about.app);
    let told = |status: wire::Status| status.message().to_owned();
    call.require(resource::APPLICATIONS, action::GET, &object).map_err(told)?;
    call.require(resource::EXTENSIONS, action::INVOKE, extension).map_err(told)
}

/// What the service is told: what the client said about the message, who they are, and what the
/// settings say. Nothing that would let it act for them.
fn headers(call: &Call, app: &Application, service: &Service, parts: &Parts) -> HeaderMap {
    let mut headers = passing(&parts.headers);
    for name in ["authorization", "cookie", "token"].into_iter().chain(OURS) {
        headers.remove(name);
    }
    let mut set = |name: &'static str, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text)
            && !text.is_empty()
        {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    let (metadata, destination) = (&app.metadata, &app.spec.destination);
    set("argocd-namespace", &call.server.options.namespace);
    set("argocd-application-name", &format!("{}:{}", metadata.namespace, metadata.name));
    set("argocd-project-name", app.spec.project_name());
    set("argocd-target-cluster-name", &destination.name);
    set("argocd-target-cluster-url", &destination.server);
    if let Some(caller) = &call.caller {
        set("argocd-user-id", &caller.name);
        set("argocd-username", caller.shown_name());
        set("argocd-user-groups", &caller.groups.join(","));
    }
    set("x-forwarded-host", text_of(&parts.headers, "host"));
    set("x-forwarded-proto", if call.server.options.tls { "https" } else { "http" });
    for header in &service.headers {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_bytes(header.value.bytes())) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}

fn text_of<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}

/// Connections to services, kept as long as an extension's settings stay the same.
pub(crate) struct Extensions {
    clients: Mutex<Vec<(String, Backend, reqwest::Client)>>,
    sockets: Arc<Semaphore>,
}

impl Default for Extensions {
    fn default() -> Self {
        Self { clients: Mutex::default(), sockets: Arc::new(Semaphore::new(socket::ROOM)) }
    }
}

impl Extensions {
    /// For one more web socket.
    fn room(&self) -> Result<OwnedSemaphorePermit, No> {
        Arc::clone(&self.sockets).try_acquire_owned().map_err(|_| {
            let why = format!(
                "{} web sockets are open, which is all there may be; try again when one has ended",
                socket::ROOM
            );
            (StatusCode::SERVICE_UNAVAILABLE, why)
        })
    }

    fn client(&self, extension: &Extension) -> Result<reqwest::Client, reqwest::Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let Extension { name, backend } = extension;
        if let Some((_, _, client)) = clients.iter().find(|it| it.0 == *name && it.1 == *backend) {
            return Ok(client.clone());
        }
        let client = reqwest::Client::builder()
            .connect_timeout(backend.connection_timeout())
            .pool_idle_timeout(backend.idle_connection_timeout())
            .pool_max_idle_per_host(backend.max_idle_connections.unwrap_or(30))
            .redirect(reqwest::redirect::Policy::none())
            // As Argo CD; in HTTP/2 a connection does not become a web socket.
            .http1_only()
            .build()?;
        clients.retain(|it| it.0 != *name);
        clients.push((name.clone(), backend.clone(), client.clone()));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(app: &str, project: &str, expect: Result<(&str, &str), &str>) {
        let mut headers = HeaderMap::new();
        for (name, text) in [("argocd-application-name", app), ("argocd-project-name", project)] {
            if !text.is_empty() {
                headers.insert(name, HeaderValue::from_str(text).expect("a header"));
            }
        }
        let about = About::of(&headers);
        let read = about.as_ref().map(|it| (it.namespace.as_str(), it.app.as_str()));
        assert_eq!(read.map_err(String::as_str), expect);
    }

    #[test]
    fn headers_name_the_application() {
        check("argocd:web", "default", Ok(("argocd", "web")));
        check("", "default", Err("header \"Argocd-Application-Name\" must be provided"));
        check("argocd:web", "", Err("header \"Argocd-Project-Name\" must be provided"));
        check("argocd:../x", "default", Err("invalid value for application name"));
        check("a/b:web", "default", Err("invalid value for namespace"));
        check("argocd:web", "*", Err("invalid value for project name"));
        let told = "error getting app details: invalid value for \"Argocd-Application-Name\" header: expected format: <namespace>:<app-name>";
        check("web", "default", Err(told));
    }

    #[test]
    fn web_sockets_are_counted() {
        let extensions = Extensions::default();
        let all: Vec<_> = (0..socket::ROOM).map(|_| extensions.room().expect("room")).collect();
        let (status, why) = extensions.room().expect_err("no room");
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{why}");
        drop(all);
        assert!(extensions.room().is_ok());
    }
}
