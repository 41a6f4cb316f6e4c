//! What an object sends traffic to, and the addresses it is reached at.

use std::collections::{BTreeMap, BTreeSet};

use api::{LoadBalancerIngress, ResourceNetworkingInfo, ResourceRef, names};
use object::Object;
use serde_json::Value;

use super::{list, text};

/// How an object takes part in traffic: what it leads to, and where it can be
/// reached. None for one that has nothing to do with traffic and no links.
#[must_use]
pub fn networking(live: &Object) -> Option<ResourceNetworkingInfo> {
    let kind = live.group_kind();
    let links = links(live);
    let mut networking = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => ResourceNetworkingInfo {
            labels: string_map(live, &["metadata", "labels"]),
            ..ResourceNetworkingInfo::default()
        },
        ("", "Service") => service(live),
        ("extensions" | "networking.k8s.io", "Ingress") => ingress(live),
        ("networking.istio.io", "VirtualService") => virtual_service(live),
        // Argo CD forgets the links of these; nobody can depend on that.
        ("networking.istio.io", "ServiceEntry") => service_entry(live)?,
        (
            "gateway.networking.k8s.io",
            "HTTPRoute" | "GRPCRoute" | "TCPRoute" | "TLSRoute" | "UDPRoute",
        ) => route(live),
        ("gateway.networking.k8s.io", "Gateway") => gateway(live),
        _ if links.is_empty() => return None,
        _ => ResourceNetworkingInfo::default(),
    };
    networking.external_urls.splice(0..0, links);
    Some(networking)
}

/// `link.argocd.argoproj.io/…` annotations: an address, or `title|address`.
/// Other schemes than http and https would run as script in a browser.
fn links(live: &Object) -> Vec<String> {
    let annotations = live.at(&["metadata", "annotations"]).and_then(Value::as_object);
    annotations
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with(names::ANNOTATION_LINK_PREFIX))
        .filter_map(|(_, value)| value.as_str())
        .filter(|value| is_web_link(value))
        .map(str::to_owned)
        .collect()
}

/// Does a link, with or without its title, lead to a web page?
pub(crate) fn is_web_link(link: &str) -> bool {
    is_web_address(link.split_once('|').map_or(link, |(_, url)| url))
}

fn is_web_address(url: &str) -> bool {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    url.is_empty() || scheme == "http" || scheme == "https"
}

fn wants_default_links(live: &Object) -> bool {
    let ignores = live.annotation(names::ANNOTATION_IGNORE_DEFAULT_LINKS).unwrap_or_default();
    !matches!(ignores, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn service(live: &Object) -> ResourceNetworkingInfo {
    let is_balanced = live.text(&["spec", "type"]) == Some("LoadBalancer");
    ResourceNetworkingInfo {
        target_labels: string_map(live, &["spec", "selector"]),
        ingress: if is_balanced { entries(live) } else { Vec::new() },
        ..ResourceNetworkingInfo::default()
    }
}

/// Where a load balancer takes traffic in.
fn entries(live: &Object) -> Vec<LoadBalancerIngress> {
    let entry = |value: &Value| match (text(value, "hostname"), text(value, "ip")) {
        ("", "") => None,
        ("", ip) => Some(entry_by_ip(ip)),
        (hostname, _) => Some(entry_by_name(hostname)),
    };
    live.list(&["status", "loadBalancer", "ingress"]).iter().filter_map(entry).collect()
}

fn entry_by_ip(ip: &str) -> LoadBalancerIngress {
    LoadBalancerIngress { ip: ip.into(), ..LoadBalancerIngress::default() }
}

fn entry_by_name(hostname: &str) -> LoadBalancerIngress {
    LoadBalancerIngress { hostname: hostname.into(), ..LoadBalancerIngress::default() }
}

fn address(entry: &LoadBalancerIngress) -> &str {
    if entry.hostname.is_empty() { &entry.ip } else { &entry.hostname }
}

fn ingress(live: &Object) -> ResourceNetworkingInfo {
    let entries = entries(live);
    let default_host = entries.iter().map(address).find(|it| !it.is_empty()).unwrap_or_default();
    let mut targets = Targets::of(live);
    let mut urls = BTreeSet::new();
    if let Some(backend) = live.at(&["spec", "backend"]) {
        targets.add_service(backend_service(backend));
    }
    for rule in live.list(&["spec", "rules"]) {
        let host = Some(text(rule, "host")).filter(|it| !it.is_empty()).unwrap_or(default_host);
        for path in list(&rule["http"], "paths") {
            targets.add_service(backend_service(&path["backend"]));
            if !host.is_empty() {
                let scheme = if is_encrypted(live, host) { "https" } else { "http" };
                urls.insert(format!(
                    "{scheme}://{host}{}",
                    text(path, "path").trim_end_matches('*')
                ));
            }
        }
    }
    ResourceNetworkingInfo {
        target_refs: targets.found(),
        external_urls: if wants_default_links(live) {
            urls.into_iter().collect()
        } else {
            Vec::new()
        },
        ingress: entries,
        ..ResourceNetworkingInfo::default()
    }
}

fn is_encrypted(live: &Object, host: &str) -> bool {
    live.list(&["spec", "tls"]).iter().any(|tls| {
        !text(tls, "secretName").is_empty()
            || tls["host"] == host
            || list(tls, "hosts").iter().any(|it| it == host)
    })
}

/// `service.name` since v1, `serviceName` before.
fn backend_service(backend: &Value) -> &str {
    match text(backend, "serviceName") {
        "" => text(&backend["service"], "name"),
        name => name,
    }
}

fn virtual_service(live: &Object) -> ResourceNetworkingInfo {
    let mut targets = Targets::of(live);
    for rule in live.list(&["spec", "http"]) {
        for route in list(rule, "route") {
            let mut parts = text(&route["destination"], "host").split('.');
            let service = parts.next().unwrap_or_default();
            targets.add("", "Service", parts.next().unwrap_or_default(), service);
        }
    }
    ResourceNetworkingInfo { target_refs: targets.found(), ..ResourceNetworkingInfo::default() }
}

fn service_entry(live: &Object) -> Option<ResourceNetworkingInfo> {
    live.at(&["spec", "workloadSelector", "labels"])?;
    Some(ResourceNetworkingInfo {
        target_labels: string_map(live, &["spec", "workloadSelector", "labels"]),
        target_refs: vec![ResourceRef { kind: "Pod".into(), ..ResourceRef::default() }],
        ..ResourceNetworkingInfo::default()
    })
}

fn route(live: &Object) -> ResourceNetworkingInfo {
    let or = |value: &str, default: &str| if value.is_empty() { default } else { value }.to_owned();
    let mut targets = Targets::of(live);
    for parent in live.list(&["spec", "parentRefs"]) {
        let group = or(text(parent, "group"), "gateway.networking.k8s.io");
        let kind = or(text(parent, "kind"), "Gateway");
        targets.add(&group, &kind, text(parent, "namespace"), text(parent, "name"));
    }
    for backend in live.list(&["spec", "rules"]).iter().flat_map(|it| list(it, "backendRefs")) {
        let kind = or(text(backend, "kind"), "Service");
        let group = text(backend, "group");
        targets.add(group, &kind, text(backend, "namespace"), text(backend, "name"));
    }
    ResourceNetworkingInfo { target_refs: targets.found(), ..ResourceNetworkingInfo::default() }
}

fn gateway(live: &Object) -> ResourceNetworkingInfo {
    let entry = |value: &Value| match (text(value, "type"), text(value, "value")) {
        (_, "") => None,
        ("Hostname", name) => Some(entry_by_name(name)),
        ("IPAddress" | "", ip) => Some(entry_by_ip(ip)),
        _ => None,
    };
    let entries: Vec<_> = live.list(&["status", "addresses"]).iter().filter_map(entry).collect();
    let mut urls = BTreeSet::new();
    if wants_default_links(live) {
        for listener in live.list(&["spec", "listeners"]) {
            urls.extend(listener_urls(listener, &entries));
        }
    }
    ResourceNetworkingInfo {
        external_urls: urls.into_iter().collect(),
        ingress: entries,
        ..ResourceNetworkingInfo::default()
    }
}

fn listener_urls(listener: &Value, entries: &[LoadBalancerIngress]) -> Vec<String> {
    let is_encrypted = matches!(text(listener, "protocol"), "HTTPS" | "TLS");
    let (scheme, usual) = if is_encrypted { ("https", 443) } else { ("http", 80) };
    let port = listener["port"].as_i64().unwrap_or(0);
    let port = if port == usual { String::new() } else { format!(":{port}") };
    let hosts = match text(listener, "hostname") {
        "" | "*" => entries.iter().map(address).collect(),
        hostname => vec![hostname],
    };
    hosts.iter().map(|host| format!("{scheme}://{host}{port}")).collect()
}

/// The objects that traffic goes to, each once.
struct Targets<'o> {
    from: &'o Object,
    found: BTreeMap<(String, String, String, String), ()>,
}

impl<'o> Targets<'o> {
    fn of(from: &'o Object) -> Self {
        Self { from, found: BTreeMap::new() }
    }

    fn add_service(&mut self, name: &str) {
        self.add("", "Service", "", name);
    }

    /// No namespace means: the same one.
    fn add(&mut self, group: &str, kind: &str, namespace: &str, name: &str) {
        let namespace = if namespace.is_empty() { self.from.namespace() } else { namespace };
        if !name.is_empty() {
            let target = (group.into(), kind.into(), namespace.into(), name.into());
            self.found.insert(target, ());
        }
    }

    fn found(self) -> Vec<ResourceRef> {
        let target = |(group, kind, namespace, name)| ResourceRef {
            group,
            kind,
            namespace,
            name,
            ..ResourceRef::default()
        };
        self.found.into_keys().map(target).collect()
    }
}

fn string_map(live: &Object, path: &[&str]) -> BTreeMap<String, String> {
    let entries = live.at(path).and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(live: Value, targets: &[&str], urls: &[&str]) {
        let live = Object::from_value(live).expect("an object");
        let told = networking(&live).expect("has to do with traffic");
        let shown = |it: &ResourceRef| format!("{}/{}/{}", it.kind, it.namespace, it.name);
        assert_eq!(told.target_refs.iter().map(shown).collect::<Vec<_>>(), targets);
        assert_eq!(told.external_urls, urls);
    }

    #[test]
    fn an_ingress_names_its_services_and_addresses() {
        let path = |path: &str, service: &str| json!({"path": path, "backend": {"service": {"name": service}}});
        let live = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "i", "namespace": "n"},
            "spec": {"tls": [{"hosts": ["safe.example"]}], "rules": [
                {"host": "safe.example", "http": {"paths": [path("/a*", "one")]}},
                {"http": {"paths": [path("/", "two"), path("/b", "two")]}}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}});
        check(
            live.clone(),
            &["Service/n/one", "Service/n/two"],
            &["http://10.0.0.1/", "http://10.0.0.1/b", "https://safe.example/a"],
        );
        let mut quiet = live;
        quiet["metadata"]["annotations"] = json!({names::ANNOTATION_IGNORE_DEFAULT_LINKS: "true",
            "link.argocd.argoproj.io/x": "title|https://docs.example",
            "link.argocd.argoproj.io/y": "javascript:alert(1)"});
        check(quiet, &["Service/n/one", "Service/n/two"], &["title|https://docs.example"]);
    }

    #[test]
    fn a_route_names_its_gateways_and_backends() {
        let live = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "r", "namespace": "n"},
            "spec": {"parentRefs": [{"name": "g", "namespace": "edge"}],
                "rules": [{"backendRefs": [{"name": "s"}]}]}});
        check(live, &["Service/n/s", "Gateway/edge/g"], &[]);
    }

    #[test]
    fn a_gateway_is_reached_at_its_listeners() {
        let live = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": {"name": "g", "namespace": "n"},
            "spec": {"listeners": [{"protocol": "HTTPS", "port": 443, "hostname": "a.example"},
                {"protocol": "HTTP", "port": 8080}]},
            "status": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}]}});
        check(live, &[], &["http://10.0.0.1:8080", "https://a.example"]);
    }

    #[test]
    fn a_service_of_istio_may_be_in_another_namespace() {
        let live = json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
            "metadata": {"name": "v", "namespace": "n"}, "spec": {"http": [{"route": [
                {"destination": {"host": "a"}}, {"destination": {"host": "b.other.svc"}}]}]}});
        check(live, &["Service/n/a", "Service/other/b"], &[]);
    }

    #[test]
    fn an_object_without_traffic_and_links_says_nothing() {
        let live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
        assert!(networking(&Object::from_value(live).expect("an object")).is_none());
    }
}
