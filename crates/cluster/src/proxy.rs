//! The way to an API server that is only reached through a proxy.
//!
//! A kubeconfig or a cluster Secret may name one; else the environment does, as
//! for every other program (`HTTPS_PROXY`, `NO_PROXY`). What is on this machine
//! is never looked for elsewhere.

use std::net::IpAddr;

use http::Uri;
use hyper_rustls::{HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use kube::config::Kubeconfig;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt as _};

/// What opens connections, with or without a proxy between.
pub(crate) type Transport =
    BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

/// The proxy that the context of a kubeconfig names.
pub(crate) fn named_in(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|it| it.name == context)?.context.as_ref()?;
    let cluster = kubeconfig.clusters.iter().find(|it| it.name == context.cluster)?;
    cluster.cluster.as_ref()?.proxy_url.clone().filter(|it| !it.is_empty())
}

/// The proxy before `server`: the named one, else what the environment says.
pub(crate) fn before(server: &Uri, named: Option<&str>) -> Option<Intercept> {
    match named {
        Some(named) => Matcher::builder().all(named).build().intercept(server),
        None if is_here(server) => None,
        None => Matcher::from_env().intercept(server),
    }
}

fn is_here(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// Opens connections over `tcp`, through the proxy if there is one. A proxy that
/// is itself reached by TLS must prove who it is by `trust`.
pub(crate) fn transport(
    tcp: HttpConnector,
    proxy: Option<&Intercept>,
    trust: impl FnOnce() -> Result<ClientConfig, BoxError>,
) -> Result<Transport, BoxError> {
    let Some(proxy) = proxy else {
        let direct = tcp.map_response(MaybeHttpsStream::Http).map_err(BoxError::from);
        return Ok(Transport::new(direct));
    };
    let uri = proxy.uri().clone();
    match uri.scheme_str() {
        None | Some("http") => {
            let tunnel = with_credentials(Tunnel::new(uri, tcp), proxy);
            Ok(Transport::new(tunnel.map_response(MaybeHttpsStream::Http).map_err(BoxError::from)))
        }
        Some("https") => {
            let https = HttpsConnectorBuilder::new().with_tls_config(trust()?).https_only();
            let https = https.enable_http1().wrap_connector(tcp);
            let tunnel = with_credentials(Tunnel::new(uri, https), proxy);
            Ok(Transport::new(tunnel.map_err(BoxError::from)))
        }
        Some(scheme @ ("socks5" | "socks5h")) => {
            let mut socks = SocksV5::new(uri.clone(), tcp).local_dns(scheme == "socks5");
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            Ok(Transport::new(socks.map_response(MaybeHttpsStream::Http).map_err(BoxError::from)))
        }
        Some(other) => {
            Err(format!("a proxy is http, https or socks5, not {other}: change its URL").into())
        }
    }
}

fn with_credentials<C>(tunnel: Tunnel<C>, proxy: &Intercept) -> Tunnel<C> {
    match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(server: &str, named: Option<&str>, expect: Option<&str>) {
        let found = before(&server.parse().expect("an address"), named);
        let found = found.map(|it| it.uri().to_string());
        assert_eq!(found.as_deref(), expect);
    }

    #[test]
    fn a_named_proxy_counts_whatever_is_behind_it() {
        check("https://far.example", Some("http://gate:3128"), Some("http://gate:3128/"));
        check("https://127.0.0.1:6443", Some("http://gate:3128"), Some("http://gate:3128/"));
    }

    #[test]
    fn what_is_on_this_machine_needs_no_proxy() {
        check("https://127.0.0.1:6443", None, None);
        check("https://[::1]:6443", None, None);
        check("https://localhost:6443", None, None);
    }

    #[test]
    fn the_proxy_of_a_context_is_that_of_its_cluster() {
        let kubeconfig = json!({
            "current-context": "one",
            "contexts": [
                {"name": "one", "context": {"cluster": "a", "user": "u"}},
                {"name": "two", "context": {"cluster": "b", "user": "u"}},
            ],
            "clusters": [
                {"name": "a", "cluster": {"server": "https://a", "proxy-url": "http://gate:1"}},
                {"name": "b", "cluster": {"server": "https://b", "proxy-url": ""}},
            ],
        });
        let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).expect("a kubeconfig");
        assert_eq!(named_in(&kubeconfig, None).as_deref(), Some("http://gate:1"));
        assert_eq!(named_in(&kubeconfig, Some("two")), None);
        assert_eq!(named_in(&kubeconfig, Some("three")), None);
    }
}
