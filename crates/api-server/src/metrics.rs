//! Counts of what is asked, for port 8083. Names and labels are those of Argo CD's API server.

use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use wire::Code;

/// See the module's comment.
pub(crate) struct Metrics {
    started: Family<Method, Counter>,
    handled: Family<Outcome, Counter>,
    logins: Family<Login, Counter>,
    webhooks: Family<Login, Counter>,
    extensions: Family<Passed, Counter>,
    extension_times: Family<Extension, Histogram, fn() -> Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: Family::default(),
            handled: Family::default(),
            logins: Family::default(),
            webhooks: Family::default(),
            extensions: Family::default(),
            extension_times: Family::new_with_constructor(|| Histogram::new(EXTENSION_SECONDS)),
        }
    }
}

/// As Argo CD's.
const EXTENSION_SECONDS: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    grpc_type: &'static str,
    grpc_service: &'static str,
    grpc_method: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    grpc_type: &'static str,
    grpc_service: &'static str,
    grpc_method: &'static str,
    grpc_code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Login {
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Extension {
    extension: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Passed {
    extension: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Version {
    version: String,
}

impl Metrics {
    /// Counts in the sight of this registry.
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "RPCs that were started";
        registry.register("grpc_server_started", help, metrics.started.clone());
        let help = "RPCs that were completed, regardless of success or failure";
        registry.register("grpc_server_handled", help, metrics.handled.clone());
        let help = "logins, by success or failure";
        registry.register("argocd_login_request", help, metrics.logins.clone());
        let help = "webhooks, by whether they were understood";
        registry.register("argocd_webhook_requests", help, metrics.webhooks.clone());
        let help = "requests that were passed on to extensions, by how they answered";
        registry.register("argocd_proxy_extension_request", help, metrics.extensions.clone());
        let help = "seconds until an extension began to answer";
        let times = metrics.extension_times.clone();
        registry.register("argocd_proxy_extension_request_duration_seconds", help, times);
        let info: Family<Version, Gauge> = Family::default();
        info.get_or_create(&Version { version: crate::version::VERSION.to_owned() }).set(1);
        registry.register("argocd_info", "the version that runs", info);
        metrics
    }

    pub(crate) fn started(&self, method: &'static str) {
        let (grpc_service, grpc_method) = parts(method);
        let labels = Method { grpc_type: kind(method), grpc_service, grpc_method };
        self.started.get_or_create(&labels).inc();
    }

    pub(crate) fn handled(&self, method: &'static str, code: Code) {
        let (grpc_service, grpc_method) = parts(method);
        let grpc_code = format!("{code:?}").replace("Ok", "OK");
        let labels = Outcome { grpc_type: kind(method), grpc_service, grpc_method, grpc_code };
        self.handled.get_or_create(&labels).inc();
    }

    pub(crate) fn login(&self, is_good: bool) {
        let status = if is_good { "success" } else { "failure" };
        self.logins.get_or_create(&Login { status }).inc();
    }

    /// `name` is one of the settings: what clients make up is not counted.
    pub(crate) fn extension(&self, name: &str, status: StatusCode, took: Duration) {
        let extension = name.to_owned();
        let labels = Passed { extension: extension.clone(), status: status.as_u16() };
        self.extensions.get_or_create(&labels).inc();
        self.extension_times.get_or_create(&Extension { extension }).observe(took.as_secs_f64());
    }

    pub(crate) fn webhook(&self, is_good: bool) {
        let status = if is_good { "success" } else { "failure" };
        self.webhooks.get_or_create(&Login { status }).inc();
    }
}

fn parts(method: &'static str) -> (&'static str, &'static str) {
    method.trim_start_matches('/').split_once('/').unwrap_or((method, ""))
}

fn kind(method: &str) -> &'static str {
    let name = method.rsplit('/').next().unwrap_or_default();
    match name {
        "GetManifestsWithFiles" => "client_stream",
        "PodLogs" => "server_stream",
        _ if name.starts_with("Watch") => "server_stream",
        _ => "unary",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_service_method_and_outcome() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry);
        metrics.started("/application.ApplicationService/Watch");
        metrics.handled("/version.VersionService/Version", Code::Ok);
        metrics.login(false);
        metrics.extension("costs", StatusCode::BAD_GATEWAY, Duration::from_millis(200));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
        for line in [
            r#"grpc_server_started_total{grpc_type="server_stream",grpc_service="application.ApplicationService",grpc_method="Watch"} 1"#,
            r#"grpc_server_handled_total{grpc_type="unary",grpc_service="version.VersionService",grpc_method="Version",grpc_code="OK"} 1"#,
            r#"argocd_login_request_total{status="failure"} 1"#,
            r#"argocd_proxy_extension_request_total{extension="costs",status="502"} 1"#,
            r#"argocd_proxy_extension_request_duration_seconds_bucket{le="0.25",extension="costs"} 1"#,
            r#"argocd_proxy_extension_request_duration_seconds_count{extension="costs"} 1"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
