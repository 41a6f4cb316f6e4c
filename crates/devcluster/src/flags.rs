//! The command lines of the components.
//!
//! Together they say how this control plane differs from one in production:
//! one etcd member without fsync, no leader election, no heartbeats of nodes,
//! no throttling.

use std::path::Path;

/// Requests a test suite may have in flight. Each test waits for its own
/// answers; being throttled would only make it slower.
const IN_FLIGHT: &str = "4000";

pub(crate) fn etcd(folder: &Path) -> Vec<String> {
    // A socket file needs no free port and no other user can open it.
    let socket = etcd_socket(folder);
    vec![
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={socket}"),
        // Told to other members, of which there are none; it must have a port.
        "--advertise-client-urls=http://127.0.0.1:0".into(),
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        "--unsafe-no-fsync".into(),
        "--quota-backend-bytes=4294967296".into(),
        "--log-level=warn".into(),
    ]
}

fn etcd_socket(folder: &Path) -> String {
    format!("unix://{}", folder.join("etcd.sock").display())
}

pub(crate) fn api_server(folder: &Path, port: u16, audit_policy: Option<&Path>) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut flags = vec![
        format!("--etcd-servers={}", etcd_socket(folder)),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        // The address is published as an endpoint, where a loopback address is
        // refused; with this reconciler nothing else is made of it.
        "--advertise-address=192.0.2.1".into(),
        "--endpoint-reconciler-type=none".into(),
        "--service-cluster-ip-range=10.96.0.0/16".into(),
        "--authorization-mode=Node,RBAC".into(),
        "--allow-privileged=true".into(),
        format!("--client-ca-file={}", file("ca.crt")),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", file("service-account.pub")),
        format!("--service-account-signing-key-file={}", file("service-account.key")),
        format!("--requestheader-client-ca-file={}", file("front-proxy-ca.crt")),
        "--requestheader-allowed-names=front-proxy".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        format!("--proxy-client-cert-file={}", file("front-proxy.crt")),
        format!("--proxy-client-key-file={}", file("front-proxy.key")),
        "--kubelet-preferred-address-types=InternalIP".into(),
        format!("--kubelet-certificate-authority={}", file("ca.crt")),
        format!("--kubelet-client-certificate={}", file("admin.crt")),
        format!("--kubelet-client-key={}", file("admin.key")),
        "--enable-priority-and-fairness=false".into(),
        format!("--max-requests-inflight={IN_FLIGHT}"),
        format!("--max-mutating-requests-inflight={IN_FLIGHT}"),
        "--event-ttl=1h".into(),
        "--profiling=false".into(),
    ];
    if let Some(policy) = audit_policy {
        flags.push(format!("--audit-policy-file={}", policy.display()));
        flags.push(format!("--audit-log-path={}", folder.join("audit.log").display()));
    }
    flags
}

/// Every request once, when it is answered, without its body.
pub(crate) const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";

pub(crate) fn controller_manager(folder: &Path) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    vec![
        format!("--kubeconfig={}", file("kubeconfig")),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        format!("--service-account-private-key-file={}", file("service-account.key")),
        "--use-service-account-credentials=false".into(),
        format!("--root-ca-file={}", file("ca.crt")),
        format!("--cluster-signing-cert-file={}", file("ca.crt")),
        format!("--cluster-signing-key-file={}", file("ca.key")),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=2000".into(),
        "--concurrent-namespace-syncs=20".into(),
        // Our node sends no heartbeats; these two would evict its pods for it.
        "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller".into(),
    ]
}

pub(crate) fn scheduler(folder: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", folder.join("kubeconfig").display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=2000".into(),
    ]
}
