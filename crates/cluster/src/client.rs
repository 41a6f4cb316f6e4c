//! Plain requests to one API server: JSON in, JSON out.
//!
//! Requests go over a pool of HTTP/1.1 connections, watches over HTTP/2: one
//! connection carries dozens of watches and its pings notice a dead peer.
//! [`Client::connect`] makes both; [`Client::watch`] is in [`crate::watch`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use object::Object;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::access::Access;
use crate::connection::{self, RequestConnections, WatchConnections};
use crate::exec::Socket;
use crate::kinds::{ApiKind, push_segment};
use crate::rate::{RateLimit, Turns};
use crate::refusal::{Disposition, Refusal, RequestError};

/// A connection that takes longer than this to open counts as refused.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A request that takes longer than this counts as lost. The API server itself gives up after 60 s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);
/// No answer may be larger. A page of 500 objects of 1 MiB each is beyond any etcd.
const ANSWER_LIMIT: usize = 512 * 1024 * 1024;
/// Objects per page of a list.
pub(crate) const PAGE: usize = 500;

const JSON: &str = "application/json";
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";
const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// How the text of a patch is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// A list of operations.
    Json,
    /// Maps merge, everything else replaces, null removes.
    Merge,
    /// As merge, but lists of built-in kinds merge too.
    Strategic,
}

impl PatchKind {
    /// Reads a media type such as `application/merge-patch+json`.
    #[must_use]
    pub fn of_media_type(text: &str) -> Option<Self> {
        [Self::Json, Self::Merge, Self::Strategic].into_iter().find(|it| it.media_type() == text)
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => JSON_PATCH,
            Self::Merge => MERGE_PATCH,
            Self::Strategic => STRATEGIC_PATCH,
        }
    }
}

/// One API server, ready for requests. Cheap to clone; all clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
    /// Somebody else whose rights our requests have.
    acts_as: Option<HeaderValue>,
}

#[derive(Debug)]
struct Inner {
    server: String,
    version: ServerVersion,
    streams_lists: bool,
    requests: RequestConnections,
    turns: Option<Turns>,
    watches: WatchConnections,
}

/// A kube client that can be part of something printable.
#[derive(Clone)]
pub(crate) struct Connection(pub(crate) kube::Client);

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

/// What the API server calls itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerVersion {
    /// Such as `1`.
    pub major: String,
    /// Such as `36`; some vendors append a `+`.
    pub minor: String,
    /// Such as `v1.36.1`.
    pub git_version: String,
}

impl ServerVersion {
    /// The minor version as a number; 0 when it is none.
    #[must_use]
    pub fn minor_number(&self) -> u32 {
        let digits = self.minor.find(|it: char| !it.is_ascii_digit()).unwrap_or(self.minor.len());
        self.minor[..digits].parse().unwrap_or(0)
    }
}

/// Why there is no [`Client`].
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The certificates, keys or credential helpers of the access are unusable.
    #[error("could not use the credentials for {server}")]
    UseCredentials {
        /// The URL of the API server.
        server: String,
        /// What is wrong with them.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server did not tell its version.
    #[error("could not connect to {server}")]
    AskVersion {
        /// The URL of the API server.
        server: String,
        /// Why.
        source: RequestError,
    },
    /// The server did not tell what it serves.
    #[error("could not find out what {server} serves")]
    Discover {
        /// The URL of the API server.
        server: String,
        /// Why.
        source: RequestError,
    },
}

impl ConnectError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::UseCredentials { .. } => Disposition::WaitForUser,
            Self::AskVersion { source, .. } | Self::Discover { source, .. } => source.disposition(),
        }
    }
}

/// An answer that is not a refusal.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// One request in the making.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) etag: Option<&'a str>,
    pub(crate) acts_as: Option<HeaderValue>,
    pub(crate) body: Vec<u8>,
}

impl Ask<'_> {
    pub(crate) fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            content_type: JSON,
            accept: JSON,
            etag: None,
            acts_as: None,
            body: Vec::new(),
        }
    }

    fn with_body(method: Method, path: String, content_type: &str, body: Vec<u8>) -> Ask<'_> {
        Ask { method, content_type, body, ..Ask::get(path) }
    }

    pub(crate) fn patch(path: String, content_type: &str, body: Vec<u8>) -> Ask<'_> {
        Self::with_body(Method::PATCH, path, content_type, body)
    }

    pub(crate) fn delete(path: String, body: Vec<u8>) -> Self {
        Ask { method: Method::DELETE, body, ..Ask::get(path) }
    }

    /// Method and path, for messages. The query says nothing a reader needs.
    fn shown(&self) -> String {
        let path = self.path.split_once('?').map_or(self.path.as_str(), |(path, _)| path);
        format!("{} {path}", self.method)
    }

    /// Does it not matter whether the server has done this, when it stops answering? A question
    /// can be asked again, and so can a merge patch. Of other writes it would not be known
    /// whether they were done, so their answer is waited for.
    fn may_be_given_up(&self) -> bool {
        self.method == Method::GET
            || self.content_type == MERGE_PATCH
            || self.path.contains("dryRun=All")
    }

    pub(crate) fn into_request(self) -> Result<Request<Body>, http::Error> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .header(header::ACCEPT, self.accept)
            .header(header::USER_AGENT, concat!("argosy/", env!("CARGO_PKG_VERSION")));
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, self.content_type);
        }
        if let Some(etag) = self.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(user) = self.acts_as {
            request = request.header("Impersonate-User", user);
        }
        request.body(Body::from(self.body))
    }
}

impl Client {
    /// Makes the connections and asks the server for its version.
    ///
    /// # Errors
    /// When the credentials are unusable or the server does not answer.
    pub async fn connect(access: &Access) -> Result<Self, ConnectError> {
        let server = access.server();
        let requests = RequestConnections::new(access)
            .map_err(|source| ConnectError::UseCredentials { server: server.clone(), source })?;
        let watches = WatchConnections::probe(access).await.map_err(|source| match source {
            connection::ProbeError::Build(source) => {
                ConnectError::UseCredentials { server: server.clone(), source }
            }
            connection::ProbeError::Ask(source) => {
                ConnectError::AskVersion { server: server.clone(), source }
            }
        })?;
        let streams_lists = access.streams_lists;
        let version = ServerVersion::default();
        let turns = RateLimit::of_environment().map(|it| Turns::new(it, Instant::now()));
        let unversioned = Inner { server, version, streams_lists, requests, turns, watches };
        let answer =
            send(&unversioned.requests.connection(), Ask::get("/version".into()), REQUEST_TIMEOUT)
                .await;
        let answer = answer.map_err(|source| ConnectError::AskVersion {
            server: unversioned.server.clone(),
            source,
        })?;
        // A gateway may hide the version; then we assume nothing about the server.
        let version = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(Self { inner: Arc::new(Inner { version, ..unversioned }), acts_as: None })
    }

    /// The same connections, with the rights of this user; none where the name cannot
    /// be one. Watches go on with our own rights.
    #[must_use]
    pub fn acting_as(&self, user: &str) -> Option<Self> {
        let acts_as = Some(HeaderValue::from_str(user).ok()?);
        Some(Self { inner: Arc::clone(&self.inner), acts_as })
    }

    /// The URL of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.inner.server
    }

    /// The version of the API server when we connected.
    #[must_use]
    pub fn version(&self) -> &ServerVersion {
        &self.inner.version
    }

    pub(crate) fn streams_lists(&self) -> bool {
        self.inner.streams_lists
    }

    pub(crate) fn watches(&self) -> &WatchConnections {
        &self.inner.watches
    }

    /// Reads one object; `None` when it does not exist.
    ///
    /// # Errors
    /// When the server says no otherwise, or cannot be reached.
    pub async fn get(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        match self.ask(Ask::get(kind.object_path(namespace, name, None))).await {
            Ok(answer) => object_of(&answer, "GET").map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads every object of a kind, page by page: in one namespace, or (empty) everywhere.
    ///
    /// # Errors
    /// When the server says no, cannot be reached, or the list expires while it is read.
    pub async fn list(
        &self,
        kind: &ApiKind,
        namespace: &str,
        selector: &Selector,
    ) -> Result<Vec<Object>, RequestError> {
        let mut objects = Vec::new();
        let mut next = None;
        loop {
            let page =
                self.list_page(kind, namespace, selector, Some(PAGE), next.as_deref()).await?;
            for item in &page.items {
                objects.push(listed_object(kind, item).map_err(|source| {
                    RequestError::Unreadable { request: page.request.clone(), source }
                })?);
            }
            match page.next {
                Some(token) => next = Some(token),
                None => return Ok(objects),
            }
        }
    }

    pub(crate) async fn list_page(
        &self,
        kind: &ApiKind,
        namespace: &str,
        selector: &Selector,
        limit: Option<usize>,
        next: Option<&str>,
    ) -> Result<Page, RequestError> {
        let mut query = Query::new(kind.collection_path(namespace));
        query.selector(selector);
        if let Some(limit) = limit {
            query.add("limit", &limit.to_string());
        }
        if let Some(next) = next {
            query.add("continue", next);
        }
        let ask = Ask::get(query.url);
        let request = ask.shown();
        let answer = self.ask(ask).await?;
        Page::read(request, &answer.body)
    }

    /// Creates an object in `namespace` (ignored for a cluster-scoped kind).
    ///
    /// # Errors
    /// When the server says no (409: it exists already) or cannot be reached.
    pub async fn create(
        &self,
        kind: &ApiKind,
        namespace: &str,
        object: &Object,
        field_manager: &str,
    ) -> Result<Object, RequestError> {
        let mut query = Query::new(kind.collection_path(namespace));
        query.add("fieldManager", field_manager);
        let ask = Ask::with_body(Method::POST, query.url, JSON, json_bytes(object));
        object_of(&self.ask(ask).await?, "POST")
    }

    /// Merges `patch` into an object or one of its subresources: maps merge, everything else replaces, null removes.
    ///
    /// A `metadata.resourceVersion` inside the patch makes it conditional.
    ///
    /// # Errors
    /// When the server says no (409: the condition does not hold) or cannot be reached.
    pub async fn merge_patch(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Result<Object, RequestError> {
        self.send_patch(kind.object_path(namespace, name, subresource), PatchKind::Merge, patch)
            .await
    }

    /// Runs the operations of a JSON patch on an object or one of its subresources.
    ///
    /// # Errors
    /// When the server says no (422: a test does not hold) or cannot be reached.
    pub async fn json_patch(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
        operations: &Value,
    ) -> Result<Object, RequestError> {
        let path = kind.object_path(namespace, name, subresource);
        self.send_patch(path, PatchKind::Json, operations).await
    }

    /// Deletes an object in the background; `false` when there was none.
    ///
    /// # Errors
    /// When the server says no otherwise, or cannot be reached.
    pub async fn delete(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
    ) -> Result<bool, RequestError> {
        let path = kind.object_path(namespace, name, None);
        match self.ask(Ask::delete(path, Vec::new())).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object if it still is the one of this uid and version; `false` when there was none.
    ///
    /// # Errors
    /// When it has changed (409), when the server says no otherwise, or cannot be reached.
    pub async fn delete_exactly(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
        (uid, resource_version): (&str, &str),
    ) -> Result<bool, RequestError> {
        let options = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": uid, "resourceVersion": resource_version},
        });
        let path = kind.object_path(namespace, name, None);
        match self.ask(Ask::delete(path, json_bytes(&options))).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Patches an object or one of its subresources with what a user wrote.
    ///
    /// # Errors
    /// When the server says no or cannot be reached.
    pub async fn patch(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
        subresource: Option<&str>,
        (how, patch): (PatchKind, &Value),
    ) -> Result<Object, RequestError> {
        self.send_patch(kind.object_path(namespace, name, subresource), how, patch).await
    }

    async fn send_patch(
        &self,
        path: String,
        how: PatchKind,
        patch: &Value,
    ) -> Result<Object, RequestError> {
        let ask = Ask::patch(path, how.media_type(), json_bytes(patch));
        object_of(&self.ask(ask).await?, "PATCH")
    }

    /// Sends a request and returns once the answer begins.
    pub(crate) async fn stream(&self, ask: Ask<'_>) -> Result<http::Response<Body>, RequestError> {
        open(&self.inner.requests.connection(), self.signed(ask)).await
    }

    /// Turns a connection of its own into a web socket.
    pub(crate) async fn socket(&self, ask: Ask<'_>) -> Result<Socket, RequestError> {
        let request = ask.shown();
        let upgrade = self.signed(ask).into_request().map_err(|source| {
            RequestError::Unreadable { request: request.clone(), source: source.into() }
        })?;
        let requests = self.inner.requests.connection();
        let connected = requests.0.connect(upgrade.map(|_| Vec::new()));
        let connected = tokio::time::timeout(REQUEST_TIMEOUT, connected).await;
        match connected {
            Ok(Ok(connection)) => Ok(connection.into_stream()),
            Ok(Err(kube::Error::Api(status))) => {
                let kube::core::Status { code, reason, message, .. } = *status;
                let source = Refusal { code, reason, message, ..Refusal::default() };
                Err(RequestError::Refused { request, source: Box::new(source) })
            }
            Ok(Err(source)) => Err(RequestError::Unreachable { request, source: source.into() }),
            Err(_) => Err(RequestError::TimedOut { request, limit: REQUEST_TIMEOUT }),
        }
    }

    pub(crate) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, RequestError> {
        if let Some(turns) = &self.inner.turns {
            tokio::time::sleep(turns.next(Instant::now())).await;
        }
        let (shown, may_be_given_up) = (ask.shown(), ask.may_be_given_up());
        let mut silences = self.inner.requests.silences();
        let connection = self.inner.requests.connection();
        tokio::select! {
            answer = send(&connection, self.signed(ask), REQUEST_TIMEOUT) => answer,
            Ok(()) = silences.changed(), if may_be_given_up => Err(RequestError::Unreachable {
                request: shown,
                source: "the server stopped answering".into(),
            }),
        }
    }

    /// A watch found that the server does not answer any more.
    pub(crate) fn fell_silent(&self) {
        self.inner.requests.fell_silent();
    }

    fn signed<'a>(&self, ask: Ask<'a>) -> Ask<'a> {
        Ask { acts_as: self.acts_as.clone(), ..ask }
    }
}

/// Sends a request and reads the whole answer; anything but success and "not modified" is an error.
pub(crate) async fn send(
    connection: &Connection,
    ask: Ask<'_>,
    limit: Duration,
) -> Result<Answer, RequestError> {
    let shown = ask.shown();
    let exchange = async {
        let response = open(connection, ask).await?;
        let (parts, body) = response.into_parts();
        let body = read_all(&shown, body).await?;
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    };
    match tokio::time::timeout(limit, exchange).await {
        Ok(result) => result,
        Err(_) => Err(RequestError::TimedOut { request: shown.clone(), limit }),
    }
}

/// Sends a request and returns once the answer begins.
pub(crate) async fn open(
    connection: &Connection,
    ask: Ask<'_>,
) -> Result<http::Response<Body>, RequestError> {
    let shown = ask.shown();
    let request = ask.into_request().map_err(|source| RequestError::Unreadable {
        request: shown.clone(),
        source: source.into(),
    })?;
    let response = connection.0.send(request).await.map_err(|source| {
        RequestError::Unreachable { request: shown.clone(), source: source.into() }
    })?;
    let status = response.status();
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|it| it.to_str().ok()?.parse().ok());
    let body = read_all(&shown, response.into_body()).await?;
    let source = Refusal::from_answer(status.as_u16(), &body, retry_after);
    Err(RequestError::Refused { request: shown, source: Box::new(source) })
}

async fn read_all(shown: &str, body: Body) -> Result<Bytes, RequestError> {
    let collected = Limited::new(body, ANSWER_LIMIT).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|source| {
        let request = shown.to_owned();
        if source.is::<http_body_util::LengthLimitError>() {
            RequestError::Unreadable { request, source }
        } else {
            RequestError::Unreachable { request, source }
        }
    })
}

fn object_of(answer: &Answer, method: &str) -> Result<Object, RequestError> {
    read_object(&answer.body)
        .map_err(|source| RequestError::Unreadable { request: method.to_owned(), source })
}

pub(crate) fn read_object(body: &[u8]) -> Result<Object, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Object::from_value(serde_json::from_slice(body)?)?)
}

/// The items of a typed list do not say their kind; the list did.
fn listed_object(
    kind: &ApiKind,
    item: &[u8],
) -> Result<Object, Box<dyn std::error::Error + Send + Sync>> {
    let mut value: Value = serde_json::from_slice(item)?;
    if let Value::Object(fields) = &mut value {
        fields.entry("apiVersion").or_insert_with(|| kind.api_version().into());
        fields.entry("kind").or_insert_with(|| kind.kind.clone().into());
    }
    Ok(Object::from_value(value)?)
}

pub(crate) fn json_bytes(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a tree of JSON values has only string keys")
}

/// Which objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// A label selector such as `app.kubernetes.io/part-of=argocd`; empty for all.
    pub labels: String,
    /// A field selector such as `metadata.name=argocd-cm`; empty for all.
    pub fields: String,
}

impl Selector {
    /// All objects.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// The objects with these labels.
    #[must_use]
    pub fn labels(labels: &str) -> Self {
        Self { labels: labels.to_owned(), fields: String::new() }
    }
}

/// A URL that grows query parameters.
pub(crate) struct Query {
    pub(crate) url: String,
    started: bool,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self { url: path, started: false }
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.url.push(if self.started { '&' } else { '?' });
        self.started = true;
        self.url.push_str(name);
        self.url.push('=');
        push_segment(&mut self.url, value);
    }

    pub(crate) fn selector(&mut self, selector: &Selector) {
        if !selector.labels.is_empty() {
            self.add("labelSelector", &selector.labels);
        }
        if !selector.fields.is_empty() {
            self.add("fieldSelector", &selector.fields);
        }
    }
}

/// One page of a list, its items still as bytes.
pub(crate) struct Page {
    pub(crate) request: String,
    pub(crate) items: Vec<Bytes>,
    pub(crate) resource_version: String,
    pub(crate) next: Option<String>,
}

#[derive(serde::Deserialize)]
struct ListBody<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue")]
    next: String,
}

impl Page {
    fn read(request: String, body: &Bytes) -> Result<Self, RequestError> {
        let list: ListBody<'_> = serde_json::from_slice(body).map_err(|source| {
            RequestError::Unreadable { request: request.clone(), source: source.into() }
        })?;
        let items = list.items.unwrap_or_default();
        Ok(Self {
            request,
            items: items.iter().map(|it| body.slice_ref(it.get().as_bytes())).collect(),
            resource_version: list.metadata.resource_version,
            next: Some(list.metadata.next).filter(|it| !it.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendors_minor_version_is_still_a_number() {
        let minor = |text: &str| ServerVersion { minor: text.into(), ..Default::default() };
        assert_eq!(minor("36").minor_number(), 36);
        assert_eq!(minor("27+").minor_number(), 27);
        assert_eq!(minor("").minor_number(), 0);
    }

    #[test]
    fn query_values_are_escaped() {
        let mut query = Query::new("/x".into());
        query.selector(&Selector::labels("a in (b,c)"));
        query.add("limit", "5");
        assert_eq!(query.url, "/x?labelSelector=a%20in%20%28b%2Cc%29&limit=5");
    }

    #[test]
    fn a_page_keeps_its_items_as_slices_and_knows_its_successor() {
        let body = Bytes::from_static(
            br#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"t"},"items":[{"a":1},{"b":2}]}"#,
        );
        let page = Page::read("GET".into(), &body).expect("a list");
        assert_eq!(page.items, [&br#"{"a":1}"#[..], &br#"{"b":2}"#[..]]);
        assert_eq!((page.resource_version.as_str(), page.next.as_deref()), ("7", Some("t")));
        let empty = Bytes::from_static(br#"{"metadata":{"resourceVersion":"7"},"items":null}"#);
        let page = Page::read("GET".into(), &empty).expect("a list");
        assert_eq!((page.items.len(), page.next), (0, None));
    }
}
