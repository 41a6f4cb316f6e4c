//! Requests counted under Argo CD's names.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    initiator: String,
    command: &'static str,
    failed: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Initiator {
    initiator: String,
}

#[derive(Clone)]
pub(crate) struct RedisMetrics {
    initiator: String,
    requests: Family<Request, Counter>,
    durations: Family<Initiator, Histogram, fn() -> Histogram>,
}

impl RedisMetrics {
    pub(crate) fn register(initiator: &str, registry: &mut Registry) -> Self {
        let buckets: fn() -> Histogram = || Histogram::new([0.1, 0.25, 0.5, 1.0, 2.0]);
        let requests = Family::default();
        let durations = Family::new_with_constructor(buckets);
        // The endpoint's format adds `_total` to the name of a counter.
        let told = "Number of requests to Redis";
        registry.register("argocd_redis_request", told, requests.clone());
        // The repo server's has the unit in its name, the others' has not.
        let name = match initiator {
            "argocd-repo-server" => "argocd_redis_request_duration_seconds",
            _ => "argocd_redis_request_duration",
        };
        registry.register(name, "Duration of requests to Redis in seconds", durations.clone());
        Self { initiator: initiator.to_owned(), requests, durations }
    }

    pub(crate) fn count(&self, command: &'static str, failed: bool, time: Duration) {
        let initiator = self.initiator.clone();
        let failed = if failed { "true" } else { "false" };
        let request = Request { initiator: initiator.clone(), command, failed };
        self.requests.get_or_create(&request).inc();
        self.durations.get_or_create(&Initiator { initiator }).observe(time.as_secs_f64());
    }
}
