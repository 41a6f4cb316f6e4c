//! What requests to API servers cost, whoever makes them: `argocd_kubectl_…`.

use std::sync::Arc;

use cluster::{Exchange, Listener};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Hears of every request of the clients that it listens to.
pub struct Traffic {
    requests: Family<AnswerLabels, Counter>,
    seconds: Histograms<VerbLabels>,
    waits: Histograms<VerbLabels>,
    sent: Histograms<MethodLabels>,
    received: Histograms<MethodLabels>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    host: String,
    method: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    host: String,
    verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    host: String,
    method: String,
}

impl Traffic {
    /// With its metrics in `registry`.
    pub fn register(registry: &mut Registry) -> Arc<Self> {
        let seconds: fn() -> Histogram = || Histogram::new([0.005, 0.1, 0.5, 2.0, 8.0, 30.0]);
        let bytes: fn() -> Histogram =
            || Histogram::new([64.0, 512.0, 4096.0, 65536.0, 1_048_576.0, 16_777_216.0]);
        let it = Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            waits: Family::new_with_constructor(seconds),
            sent: Family::new_with_constructor(bytes),
            received: Family::new_with_constructor(bytes),
        };
        // The endpoint's format adds `_total` to the name of a counter.
        registry.register(
            "argocd_kubectl_requests",
            "Number of requests to API servers and what became of them",
            it.requests.clone(),
        );
        let histograms = [
            ("request_duration_seconds", "How long API servers took to answer", &it.seconds),
            ("rate_limiter_duration_seconds", "How long requests waited for their turn", &it.waits),
        ];
        for (name, help, family) in histograms {
            registry.register(format!("argocd_kubectl_{name}"), help, family.clone());
        }
        let histograms = [
            ("request_size_bytes", "The sizes of requests to API servers", &it.sent),
            ("response_size_bytes", "The sizes of API servers' answers", &it.received),
        ];
        for (name, help, family) in histograms {
            registry.register(format!("argocd_kubectl_{name}"), help, family.clone());
        }
        Arc::new(it)
    }
}

impl Listener for Traffic {
    fn heard(&self, exchange: &Exchange<'_>) {
        let host = host_of(exchange.server).to_owned();
        let method = exchange.method.to_string();
        let verbs = VerbLabels { host: host.clone(), verb: method.clone() };
        self.seconds.get_or_create(&verbs).observe(exchange.took.as_secs_f64());
        self.waits.get_or_create(&verbs).observe(exchange.waited.as_secs_f64());
        let code = exchange.code.map_or("<error>".to_owned(), |code| code.to_string());
        let answer = AnswerLabels { host: host.clone(), method: method.clone(), code };
        self.requests.get_or_create(&answer).inc();
        let methods = MethodLabels { host, method };
        // Exact enough: nobody sends 2^53 bytes.
        #[expect(clippy::cast_precision_loss, reason = "a size in bytes")]
        let bytes = |size: usize| size as f64;
        self.sent.get_or_create(&methods).observe(bytes(exchange.sent));
        if let Some(received) = exchange.received {
            self.received.get_or_create(&methods).observe(bytes(received));
        }
    }
}

/// Host and port of a URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_stands_between_scheme_and_path() {
        assert_eq!(host_of("https://cluster.example:6443/k8s/a"), "cluster.example:6443");
        assert_eq!(host_of("https://[::1]:6443"), "[::1]:6443");
    }
}
