//! Requests to API servers, counted under the names that Argo CD gives them, and
//! held back where the settings limit them.
//!
//! Counts are of the whole process: one registry, however many clusters.

use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::client::Answer;
use crate::refusal::RequestError;

tokio::task_local! {
    static BEHALF: Behalf;
}

/// The Application that requests are made for.
#[derive(Clone, Debug)]
pub struct Behalf {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its project.
    pub project: String,
}

/// Counts the requests of `work` as made for an Application.
pub async fn on_behalf_of<T>(behalf: Behalf, work: impl Future<Output = T>) -> T {
    BEHALF.scope(behalf, work).await
}

/// Shows the counts of all requests of this process.
pub fn register_requests(registry: &mut Registry) {
    let tally = &*TALLY;
    // The endpoint's format adds `_total` to the name of a counter.
    registry.register(
        "argocd_app_k8s_request",
        "Number of kubernetes requests executed during application reconciliation",
        tally.of_apps.clone(),
    );
    registry.register(
        "argocd_kubectl_requests",
        "Number of kubectl request results",
        tally.requests.clone(),
    );
    registry.register(
        "argocd_kubectl_request_duration_seconds",
        "Latency of kubectl requests",
        tally.durations.clone(),
    );
    registry.register(
        "argocd_kubectl_rate_limiter_duration_seconds",
        "Latency of kubectl rate limiter",
        tally.waits.clone(),
    );
    registry.register(
        "argocd_kubectl_request_size_bytes",
        "Size of kubectl requests",
        tally.sent.clone(),
    );
    registry.register(
        "argocd_kubectl_response_size_bytes",
        "Size of kubectl responses",
        tally.received.clone(),
    );
}

/// Lets no more than so many requests per second through to each API server, and
/// `burst` at once after a rest. Counts only before the first request.
pub fn limit_requests(per_second: f64, burst: f64) {
    if per_second > 0.0 && burst >= 1.0 {
        LIMIT.set((per_second, burst)).ok();
    }
}

static LIMIT: OnceLock<(f64, f64)> = OnceLock::new();
static TALLY: LazyLock<Tally> = LazyLock::new(Tally::new);

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

struct Tally {
    of_apps: Family<OfApp, Counter>,
    requests: Family<ByCode, Counter>,
    durations: Histograms<ByVerb>,
    waits: Histograms<ByVerb>,
    sent: Histograms<ByMethod>,
    received: Histograms<ByMethod>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfApp {
    namespace: String,
    name: String,
    project: String,
    server: String,
    response_code: String,
    verb: String,
    resource_kind: String,
    resource_namespace: String,
    dry_run: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCode {
    host: String,
    method: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByVerb {
    host: String,
    verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByMethod {
    host: String,
    method: String,
}

impl Tally {
    fn new() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new([0.005, 0.1, 0.5, 2.0, 8.0, 30.0]);
        let bytes: fn() -> Histogram =
            || Histogram::new([64.0, 512.0, 4096.0, 65536.0, 1_048_576.0, 16_777_216.0]);
        Self {
            of_apps: Family::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(seconds),
            waits: Family::new_with_constructor(seconds),
            sent: Family::new_with_constructor(bytes),
            received: Family::new_with_constructor(bytes),
        }
    }
}

/// A request on its way.
pub(crate) struct Counted {
    server: String,
    method: Method,
    path: String,
    size: usize,
    began: Instant,
}

impl Counted {
    pub(crate) fn begin(server: &str, method: &Method, path: &str, size: usize) -> Self {
        let (server, path) = (server.to_owned(), path.to_owned());
        Self { server, method: method.clone(), path, size, began: Instant::now() }
    }

    #[expect(clippy::cast_precision_loss, reason = "of sizes only the magnitude counts")]
    pub(crate) fn end(self, answer: &Result<Answer, RequestError>) {
        let code = match answer {
            Ok(answer) => answer.status.as_u16().to_string(),
            Err(RequestError::Refused { source, .. }) => source.code.to_string(),
            Err(_) => "<error>".to_owned(),
        };
        let (host, method) = (host(&self.server), self.method.to_string());
        let by_method = ByMethod { host: host.clone(), method: method.clone() };
        TALLY.sent.get_or_create(&by_method).observe(self.size as f64);
        if let Ok(answer) = answer {
            TALLY.received.get_or_create(&by_method).observe(answer.body.len() as f64);
        }
        let by_verb = ByVerb { host: host.clone(), verb: method.clone() };
        let seconds = self.began.elapsed().as_secs_f64();
        TALLY.durations.get_or_create(&by_verb).observe(seconds);
        TALLY.requests.get_or_create(&ByCode { host, method, code: code.clone() }).inc();
        // Nobody's, where there is no Application.
        BEHALF.try_with(|behalf| self.of_app(behalf, code)).ok();
    }

    fn of_app(&self, behalf: &Behalf, code: String) {
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let (namespace, resource) = place(path);
        let labels = OfApp {
            namespace: behalf.namespace.clone(),
            name: behalf.name.clone(),
            project: behalf.project.clone(),
            server: self.server.clone(),
            response_code: code,
            verb: verb(&self.method, path).to_owned(),
            resource_kind: resource.to_owned(),
            resource_namespace: namespace.to_owned(),
            dry_run: query.split('&').any(|it| it.starts_with("dryRun=")).to_string(),
        };
        TALLY.of_apps.get_or_create(&labels).inc();
    }
}

fn host(server: &str) -> String {
    let host = server.split_once("://").map_or(server, |(_, host)| host);
    host.split('/').next().unwrap_or_default().to_owned()
}

/// Namespace and plural of what a path is about.
fn place(path: &str) -> (&str, &str) {
    let parts: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let (["api", _, rest @ ..] | ["apis", _, _, rest @ ..]) = parts.as_slice() else {
        return ("", "");
    };
    match rest {
        ["namespaces", namespace, resource, ..] => (namespace, resource),
        [resource, ..] => ("", resource),
        [] => ("", ""),
    }
}

fn verb(method: &Method, path: &str) -> &'static str {
    let is_one = path.split('/').filter(|it| !it.is_empty()).count() % 2
        == usize::from(!path.starts_with("/apis"));
    match (method.as_str(), is_one) {
        ("GET", true) => "Get",
        ("GET", false) => "List",
        ("POST", _) => "Create",
        ("PUT", _) => "Update",
        ("PATCH", _) => "Patch",
        ("DELETE", _) => "Delete",
        _ => "Unknown",
    }
}

/// Tokens that come back with time.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<Option<(f64, Instant)>>);

impl Throttle {
    /// Waits until a request may go.
    pub(crate) async fn pass(&self, server: &str, method: &Method) {
        let Some(limit) = LIMIT.get().copied() else { return };
        let wait = self.take(limit, Instant::now());
        let labels = ByVerb { host: host(server), verb: method.to_string() };
        TALLY.waits.get_or_create(&labels).observe(wait.as_secs_f64());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a token; says how long until it is there.
    fn take(&self, (per_second, burst): (f64, f64), now: Instant) -> Duration {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, since) = state.unwrap_or((burst, now));
        let earned = now.saturating_duration_since(since).as_secs_f64() * per_second;
        // Less than nothing are tokens that others already wait for.
        let tokens = (tokens + earned).min(burst) - 1.0;
        *state = Some((tokens, now));
        Duration::from_secs_f64((-tokens / per_second).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_what_they_are_about() {
        let check = |path: &str, expect: (&str, &str, &str)| {
            let (namespace, resource) = place(path);
            assert_eq!((namespace, resource, verb(&Method::GET, path)), expect, "{path}");
        };
        check("/api/v1/namespaces/shop/configmaps/m", ("shop", "configmaps", "Get"));
        check("/api/v1/namespaces/shop/configmaps", ("shop", "configmaps", "List"));
        check("/apis/apps/v1/namespaces/shop/deployments/web", ("shop", "deployments", "Get"));
        check("/apis/apps/v1/namespaces/shop/deployments", ("shop", "deployments", "List"));
        check("/api/v1/nodes/one", ("", "nodes", "Get"));
        check("/apis/rbac.authorization.k8s.io/v1/clusterroles", ("", "clusterroles", "List"));
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_in_turn() {
        let (throttle, began) = (Throttle::default(), Instant::now());
        let take = |after: u64| {
            throttle.take((10.0, 3.0), began + Duration::from_millis(after)).as_millis()
        };
        assert_eq!([take(0), take(0), take(0), take(0), take(0)], [0, 0, 0, 100, 200]);
        assert_eq!(take(300), 0, "the tokens of three tenths paid for those who waited");
        assert_eq!(take(10_000), 0);
    }
}
