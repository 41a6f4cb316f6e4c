//! Tells whoever counts of every request and what became of it, and counts what watches tell.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use object::GroupKind;

use crate::ask::{Answer, Ask};
use crate::refusal::RequestError;

/// One request that has ended. Of a watch only its beginning is told.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    /// The URL of the API server.
    pub server: &'a str,
    /// How it was asked.
    pub method: Method,
    /// What it was asked for, with the query.
    pub path: String,
    /// The status of the answer; none if there was none.
    pub code: Option<u16>,
    /// How long the request waited for its turn.
    pub waited: Duration,
    /// From then to the end of the answer.
    pub took: Duration,
    /// The bytes of its body.
    pub sent: usize,
    /// The bytes of the answer's body, where it was read as a whole.
    pub received: Option<usize>,
}

/// What a request was about, as its path tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'a> {
    /// The resource such as `configmaps`; empty if it was about none.
    pub resource: &'a str,
    /// Its namespace, if it was about one.
    pub namespace: &'a str,
    /// The name of the object, if it was about one.
    pub name: &'a str,
}

/// Somebody who counts requests. Is called in the middle of work, so must not block.
pub trait Listener: Send + Sync {
    /// A request has ended.
    fn heard(&self, exchange: &Exchange<'_>);
}

impl Exchange<'_> {
    /// What it was about.
    #[must_use]
    pub fn target(&self) -> Target<'_> {
        Target::of(self.path())
    }

    /// What is done in the words of Kubernetes' clients: `Get`, `List`, `Watch`, `Create`, `Update`, `Patch`, `Delete`.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self.method {
            Method::GET if self.query().contains("watch=") => "Watch",
            Method::GET if self.target().name.is_empty() => "List",
            Method::GET => "Get",
            Method::POST => "Create",
            Method::PUT => "Update",
            Method::PATCH => "Patch",
            Method::DELETE => "Delete",
            _ => "Unknown",
        }
    }

    /// Was the server asked to change nothing?
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.query().contains("dryRun=All")
    }

    fn path(&self) -> &str {
        self.path.split_once('?').map_or(self.path.as_str(), |(path, _)| path)
    }

    fn query(&self) -> &str {
        self.path.split_once('?').map_or("", |(_, query)| query)
    }
}

impl<'a> Target<'a> {
    fn of(path: &'a str) -> Self {
        let mut parts = path.trim_start_matches('/').split('/');
        // `api/v1/…` or `apis/group/v1/…`.
        let to_skip = match parts.next() {
            Some("api") => 1,
            Some("apis") => 2,
            _ => return Self::default(),
        };
        let mut parts = parts.skip(to_skip);
        let first = parts.next().unwrap_or_default();
        let second = parts.next().unwrap_or_default();
        match (first, parts.next()) {
            ("namespaces", Some(resource)) => {
                Self { resource, namespace: second, name: parts.next().unwrap_or_default() }
            }
            (resource, _) => Self { resource, namespace: "", name: second },
        }
    }
}

/// All who listen to one client.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Vec<Arc<dyn Listener>>);

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listeners", self.0.len())
    }
}

/// A request that somebody wants to hear of.
pub(crate) struct Begun {
    method: Method,
    path: String,
    sent: usize,
    asked_at: Instant,
    turn_at: Instant,
}

impl Listeners {
    pub(crate) fn and(&self, listener: Arc<dyn Listener>) -> Self {
        Self(self.0.iter().cloned().chain([listener]).collect())
    }

    /// Notes what is asked, if there is anybody to tell.
    pub(crate) fn begin(&self, ask: &Ask<'_>) -> Option<Begun> {
        let now = Instant::now();
        (!self.0.is_empty()).then(|| Begun {
            method: ask.method.clone(),
            path: ask.path.clone(),
            sent: ask.body.len(),
            asked_at: now,
            turn_at: now,
        })
    }

    pub(crate) fn ended(&self, begun: Begun, server: &str, answer: &Result<Answer, RequestError>) {
        let received = answer.as_ref().ok().map(|it| it.body.len());
        self.tell(begun, server, code(answer.as_ref().map(|it| it.status.as_u16())), received);
    }

    /// Tells of an answer that has only begun.
    pub(crate) fn opened<T>(
        &self,
        begun: Begun,
        server: &str,
        answer: &Result<http::Response<T>, RequestError>,
    ) {
        self.tell(begun, server, code(answer.as_ref().map(|it| it.status().as_u16())), None);
    }

    fn tell(&self, begun: Begun, server: &str, code: Option<u16>, received: Option<usize>) {
        let Begun { method, path, sent, asked_at, turn_at } = begun;
        let waited = turn_at.duration_since(asked_at);
        let took = turn_at.elapsed();
        let exchange = Exchange { server, method, path, code, waited, took, sent, received };
        for listener in &self.0 {
            listener.heard(&exchange);
        }
    }
}

impl Begun {
    /// Its turn has come.
    pub(crate) fn is_sent(&mut self) {
        self.turn_at = Instant::now();
    }
}

fn code(status: Result<u16, &RequestError>) -> Option<u16> {
    status.map_or_else(RequestError::code, Some)
}

/// How many events the watches of one cluster have told, by kind.
#[derive(Default)]
pub(crate) struct EventCounts(Mutex<BTreeMap<GroupKind, Arc<AtomicU64>>>);

impl EventCounts {
    /// The count of one kind, for whoever counts it.
    pub(crate) fn of(&self, kind: &GroupKind) -> Arc<AtomicU64> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(counts.entry(kind.clone()).or_default())
    }

    pub(crate) fn all(&self) -> Vec<(GroupKind, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(kind, it)| (kind.clone(), it.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(method: Method, path: &str) -> Exchange<'static> {
        let nothing = Duration::ZERO;
        Exchange {
            server: "https://cluster.example",
            method,
            path: path.to_owned(),
            code: Some(200),
            waited: nothing,
            took: nothing,
            sent: 0,
            received: None,
        }
    }

    #[test]
    fn a_path_tells_what_a_request_is_about() {
        let cases = [
            ("/api/v1/namespaces/web/configmaps/a", ("configmaps", "web", "a")),
            ("/api/v1/namespaces/web/configmaps?limit=5", ("configmaps", "web", "")),
            ("/api/v1/namespaces/web", ("namespaces", "", "web")),
            ("/api/v1/pods", ("pods", "", "")),
            ("/apis/apps/v1/namespaces/web/deployments/a/scale", ("deployments", "web", "a")),
            (
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/b",
                ("customresourcedefinitions", "", "b"),
            ),
            ("/version", ("", "", "")),
        ];
        for (path, (resource, namespace, name)) in cases {
            let target = Target { resource, namespace, name };
            assert_eq!(exchange(Method::GET, path).target(), target, "{path}");
        }
    }

    #[test]
    fn a_request_is_named_as_kubernetes_clients_name_it() {
        let cases = [
            (Method::GET, "/api/v1/pods?watch=true", "Watch", false),
            (Method::GET, "/api/v1/pods?limit=5", "List", false),
            (Method::GET, "/api/v1/namespaces/a/pods/b", "Get", false),
            (Method::POST, "/api/v1/namespaces/a/pods?dryRun=All", "Create", true),
            (Method::PATCH, "/api/v1/namespaces/a/pods/b?fieldManager=x", "Patch", false),
            (Method::DELETE, "/api/v1/namespaces/a/pods/b", "Delete", false),
        ];
        for (method, path, verb, is_dry) in cases {
            let exchange = exchange(method, path);
            assert_eq!((exchange.verb(), exchange.is_dry()), (verb, is_dry), "{path}");
        }
    }
}
