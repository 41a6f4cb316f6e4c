//! `/terminal`: a shell in a container of an Application, over a web socket.
//!
//! [`answer`] decides whether there is one, and turns the connection into a
//! socket; `session.rs` carries it on. What is said on the socket is in
//! `message.rs`.

mod message;
mod session;

use std::sync::Arc;

use api::Application;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use object::GroupVersionKind;
use rbac::{action, resource};
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use wire::HttpBody;

use crate::caller::token_of;
use crate::methods::Call;
use crate::names::{is_label, is_subdomain};
use crate::port::{Port, plain};
use crate::store::APPLICATIONS;
use crate::{address, application};
use ::cluster::{ApiKind, Client};
use session::Session;

/// A paste may be long, but it comes as one message.
const MESSAGE_LIMIT: usize = 1 << 20;

/// Why there is no terminal, in Argo CD's words where it has them.
struct No(StatusCode, String);

fn no<T>(status: StatusCode, why: impl Into<String>) -> Result<T, No> {
    Err(No(status, why.into()))
}

/// Which container is asked for, and on behalf of which Application.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    pod: String,
    container: String,
    namespace: String,
    app: String,
    project: String,
    /// Empty for the namespace of the control plane.
    app_namespace: String,
    shell: String,
}

/// Answers a request for a terminal; the session goes on after the answer.
pub(crate) async fn answer(port: &Arc<Port>, mut request: Request<HttpBody>) -> Response<HttpBody> {
    match open(port, &mut request).await {
        Ok(response) => response,
        Err(No(status, why)) => {
            let told = if why.is_empty() { Vec::new() } else { format!("{why}\n").into_bytes() };
            plain(status, "text/plain; charset=utf-8", told)
        }
    }
}

async fn open(port: &Arc<Port>, request: &mut Request<HttpBody>) -> Result<Response<HttpBody>, No> {
    let Some(token) = token_of(request.headers()) else {
        return no(StatusCode::BAD_REQUEST, "Auth cookie not found");
    };
    let Ok(caller) = port.caller_of(&token).await else {
        return no(StatusCode::UNAUTHORIZED, "Invalid token");
    };
    let server = Arc::clone(port.server());
    if !server.settings.current().server.exec_enabled {
        return no(StatusCode::NOT_FOUND, "");
    }
    let wanted = Wanted::read(request.uri().query().unwrap_or_default())?;
    let call = Call { server, caller: Some(caller), method: "/terminal" };
    let object = call.object_named(&wanted.project, &wanted.app_namespace, &wanted.app);
    may(&call, &object)?;
    let client = found(&call, &wanted).await?;
    let key = socket_key(request.headers());
    let Some(key) = key else {
        return no(StatusCode::BAD_REQUEST, "Failed to start terminal session");
    };
    let user = call.caller.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    let Wanted { pod, container, namespace, app, project, .. } = &wanted;
    tracing::info!(user, app, project, namespace, pod, container, "a terminal session starts");
    let session = Session { port: Arc::clone(port), token, object, wanted, client };
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_LIMIT))
            .max_frame_size(Some(MESSAGE_LIMIT));
        let stream = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        session.run(socket).await;
    });
    Ok(switched(&key))
}

/// Both rights that a terminal needs, at its start and as long as it lasts.
fn may(call: &Call, object: &str) -> Result<(), No> {
    for (resource, action) in
        [(resource::APPLICATIONS, action::GET), (resource::EXEC, action::CREATE)]
    {
        if let Err(status) = call.require(resource, action, object) {
            let told = format!("rpc error: code = PermissionDenied desc = {}", status.message());
            return no(StatusCode::UNAUTHORIZED, told);
        }
    }
    Ok(())
}

/// The way to the container, if it runs and belongs to the Application.
async fn found(call: &Call, wanted: &Wanted) -> Result<Client, No> {
    let bad = StatusCode::BAD_REQUEST;
    let app_namespace = Some(wanted.app_namespace.as_str());
    let app_namespace = application::checked_namespace(call, app_namespace)
        .map_err(|status| No(StatusCode::FORBIDDEN, status.message().to_owned()))?;
    let store = call.server.store.at(&app_namespace);
    let app = match store.get::<Application>(&APPLICATIONS, &wanted.app).await {
        Ok(Some(app)) => app,
        Ok(None) => return no(StatusCode::NOT_FOUND, "App not found"),
        Err(error) => {
            tracing::warn!(error = %error.in_one_line(), app = wanted.app, "could not read an Application");
            return no(StatusCode::INTERNAL_SERVER_ERROR, "Cannot get app");
        }
    };
    if app.spec.project_name() != wanted.project {
        return no(bad, "The wrong project was specified for the app");
    }
    // Our own rights, not those of the project's service account: the right to exec is what
    // policies give here.
    let destination = call.server.ports.control.destination(&app.spec.destination);
    let Ok(destination) = destination else { return no(bad, "Cannot get raw cluster config") };
    let tree = call.server.ports.control.tree(&app).await;
    let tree = tree.map_err(|why| No(StatusCode::INTERNAL_SERVER_ERROR, why))?;
    let belongs = tree.nodes.iter().map(|it| &it.resource_ref).any(|it| {
        let is_pod = it.kind == "Pod" && it.group.is_empty() && !it.uid.is_empty();
        is_pod && it.name == wanted.pod && it.namespace == wanted.namespace
    });
    if !belongs {
        return no(bad, "Pod doesn't belong to specified app");
    }
    let client = destination.cluster.client().clone();
    let kind = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
    let pod = client.get(&kind, &wanted.namespace, &wanted.pod).await;
    let Ok(Some(pod)) = pod else { return no(bad, "Cannot find pod") };
    if !is_running(&pod.into_value(), &wanted.container) {
        return no(bad, "container is not running");
    }
    Ok(client)
}

fn is_running(pod: &Value, container: &str) -> bool {
    let statuses = ["containerStatuses", "initContainerStatuses"].into_iter();
    let mut statuses = statuses.filter_map(|it| pod["status"][it].as_array()).flatten();
    statuses.any(|it| it["name"] == container && it["state"]["running"].is_object())
}

impl Wanted {
    fn read(query: &str) -> Result<Self, No> {
        let field = |name: &str| address::field(query, name).unwrap_or_default();
        let wanted = Self {
            pod: field("pod"),
            container: field("container"),
            namespace: field("namespace"),
            app: field("appName"),
            project: field("projectName"),
            app_namespace: field("appNamespace"),
            shell: field("shell"),
        };
        let bad = StatusCode::BAD_REQUEST;
        let Self { pod, container, namespace, app, project, app_namespace, .. } = &wanted;
        if [pod, container, namespace, app, project].iter().any(|it| it.is_empty()) {
            return no(bad, "Missing required parameters");
        }
        for (what, name, is_valid) in [
            ("Pod name", pod, is_subdomain(pod)),
            ("Container name", container, is_label(container)),
            ("App name", app, is_subdomain(app)),
            ("Project name", project, is_subdomain(project)),
            ("Namespace name", namespace, is_label(namespace)),
            ("App namespace name", app_namespace, is_label(app_namespace)),
        ] {
            if !name.is_empty() && !is_valid {
                return no(bad, format!("{what} is not valid"));
            }
        }
        Ok(wanted)
    }
}

/// Shall this connection become a web socket?
pub(crate) fn asks_for_socket(headers: &HeaderMap) -> bool {
    let has = |name: http::HeaderName, word: &str| {
        let lines = headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
        lines.flat_map(|it| it.split(',')).any(|it| it.trim().eq_ignore_ascii_case(word))
    };
    has(CONNECTION, "upgrade") && has(UPGRADE, "websocket")
}

/// The key of somebody who asks for a web socket.
fn socket_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let version = headers.get("sec-websocket-version").is_some_and(|it| it == "13");
    headers.get(SEC_WEBSOCKET_KEY).filter(|_| version && asks_for_socket(headers)).cloned()
}

fn switched(key: &HeaderValue) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accepted) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expect: Result<(), &str>) {
        let read = Wanted::read(query).map(drop).map_err(|it| it.1);
        assert_eq!(read, expect.map_err(str::to_owned));
    }

    #[test]
    fn every_name_must_be_there_and_be_one() {
        let all = "pod=p&container=c&appName=a&projectName=d&namespace=n";
        check(all, Ok(()));
        check(&format!("{all}&appNamespace=x&shell=../../x"), Ok(()));
        check("pod=p&container=c&appName=a&projectName=d", Err("Missing required parameters"));
        check(&format!("{all}&appNamespace=a.b"), Err("App namespace name is not valid"));
        check(&all.replace("pod=p", "pod=..%2Fsecrets"), Err("Pod name is not valid"));
        check(&all.replace("container=c", "container=a.b"), Err("Container name is not valid"));
        check(&all.replace("appName=a", "appName=A"), Err("App name is not valid"));
        check(&all.replace("projectName=d", "projectName=*"), Err("Project name is not valid"));
        check(&all.replace("namespace=n", "namespace=-n"), Err("Namespace name is not valid"));
    }

    #[test]
    fn a_socket_is_asked_for_with_a_key() {
        let mut headers = HeaderMap::new();
        let mut set =
            |name: &'static str, text| headers.insert(name, HeaderValue::from_static(text));
        set("connection", "keep-alive, Upgrade");
        set("upgrade", "websocket");
        set("sec-websocket-version", "13");
        assert_eq!(socket_key(&headers), None);
        headers.insert("sec-websocket-key", HeaderValue::from_static("k"));
        assert!(socket_key(&headers).is_some());
        headers.remove("upgrade");
        assert_eq!(socket_key(&headers), None);
    }

    #[test]
    fn only_a_running_container_has_a_terminal() {
        let pod = serde_json::json!({"status": {
            "containerStatuses": [{"name": "a", "state": {"running": {}}}, {"name": "b", "state": {"waiting": {}}}],
            "initContainerStatuses": [{"name": "side", "state": {"running": {}}}],
        }});
        assert!(is_running(&pod, "a") && is_running(&pod, "side"));
        assert!(!is_running(&pod, "b") && !is_running(&pod, "c"));
    }
}
