//! Plain requests to one API server: JSON in, JSON out.
//!
//! Requests go over a pool of HTTP/1.1 connections, watches over HTTP/2: one
//! connection carries dozens of watches and its pings notice a dead peer.
//! [`Client::connect`] makes both; [`Client::watch`] is in [`crate::watch`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderValue, Method};
use kube::client::Body;
use object::Object;
use serde_json::Value;

use crate::access::Access;
use crate::ask::{Answer, Ask, JSON, JSON_PATCH, MERGE_PATCH, Query, STRATEGIC_PATCH, open, send};
use crate::connection::{self, RequestConnections, WatchConnections};
use crate::exec::Socket;
use crate::kinds::ApiKind;
use crate::page::Page;
use crate::rate::{RateLimit, Turns};
use crate::refusal::{Disposition, Refusal, RequestError};
use crate::traffic::{Begun, Listener, Listeners};

/// A connection that takes longer than this to open counts as refused.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A request that takes longer than this counts as lost. The API server itself gives up after 60 s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);
/// Objects per page of a list.
pub(crate) const PAGE: usize = 500;

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
    listeners: Listeners,
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
        let inner = Arc::new(Inner { version, ..unversioned });
        Ok(Self { inner, acts_as: None, listeners: Listeners::default() })
    }

    /// The same connections, with the rights of this user; none where the name cannot
    /// be one. Watches go on with our own rights.
    #[must_use]
    pub fn acting_as(&self, user: &str) -> Option<Self> {
        let acts_as = Some(HeaderValue::from_str(user).ok()?);
        Some(Self { acts_as, ..self.clone() })
    }

    /// The same connections; of every request this listener hears, too.
    #[must_use]
    pub fn heard_by(&self, listener: Arc<dyn Listener>) -> Self {
        Self { listeners: self.listeners.and(listener), ..self.clone() }
    }

    /// Whoever listens to `other` listens to this one.
    #[must_use]
    pub fn heard_as(self, other: &Self) -> Self {
        Self { listeners: other.listeners.clone(), ..self }
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
        let begun = self.listeners.begin(&ask);
        let answer = open(&self.inner.requests.connection(), self.signed(ask)).await;
        self.tell_opened(begun, &answer);
        answer
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
        let mut begun = self.listeners.begin(&ask);
        if let Some(turns) = &self.inner.turns {
            tokio::time::sleep(turns.next(Instant::now())).await;
            begun.iter_mut().for_each(Begun::is_sent);
        }
        let answer = self.exchange(ask).await;
        if let Some(begun) = begun {
            self.listeners.ended(begun, &self.inner.server, &answer);
        }
        answer
    }

    async fn exchange(&self, ask: Ask<'_>) -> Result<Answer, RequestError> {
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

    /// Opens a stream of events on a connection for watches.
    pub(crate) async fn open_watch(
        &self,
        connection: &Connection,
        ask: Ask<'_>,
    ) -> Result<http::Response<Body>, RequestError> {
        let begun = self.listeners.begin(&ask);
        let answer = open(connection, ask).await;
        self.tell_opened(begun, &answer);
        answer
    }

    fn tell_opened(
        &self,
        begun: Option<Begun>,
        answer: &Result<http::Response<Body>, RequestError>,
    ) {
        if let Some(begun) = begun {
            self.listeners.opened(begun, &self.inner.server, answer);
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
}
