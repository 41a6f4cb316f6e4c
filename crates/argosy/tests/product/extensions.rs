//! What others add: a service behind the API, files of a user interface, scripts for it.

use std::process::Child;
use std::sync::Arc;

use futures::{SinkExt as _, StreamExt as _};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use testkit::git::Repo;
use testkit::tls::Tls;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::readers::{api_address, token_at};
use crate::world::{CONTROL_NAMESPACE, World, config_map};

/// It would speak HTTP/2 as well, in which there is no such web socket.
#[tokio::test]
async fn a_web_socket_reaches_a_service_that_speaks_tls() {
    repo_server::install_crypto_provider();
    let tls = Tls::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, tls.authority()).expect("a file");
    let service = echo(&tls).await;

    let world = World::new();
    let config = |name: &str, key: &str, text: String| {
        let metadata = json!({"name": name, "namespace": CONTROL_NAMESPACE});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: text}});
        world.apply(&map.to_string());
    };
    let url = format!("services: [{{url: 'https://{service}'}}]");
    config("argocd-cm", "extension.config.echo", url);
    let policy = "p, admin, extensions, invoke, echo, allow\n".to_owned();
    config("argocd-rbac-cm", "policy.csv", policy);
    let trusted = [("SSL_CERT_FILE", authority.to_str().expect("a path"))];
    let product = Product::start(&world, &["--enable-proxy-extension"], &trusted).await;
    let it = world.test("socket").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "x", "1"))]);
    it.create(&it.application(&repo)).await;
    it.until("known", |app| !app.status.sync.status.is_empty()).await;

    let address = format!("ws://{}/extensions/echo/", product.api);
    let mut request = address.into_client_request().expect("an address");
    let token = token_at(&world, &format!("http://{}", product.api)).await;
    for (name, value) in [
        ("cookie", format!("argocd.token={token}")),
        ("argocd-application-name", format!("{CONTROL_NAMESPACE}:socket")),
        ("argocd-project-name", "default".to_owned()),
    ] {
        request.headers_mut().insert(name, value.parse().expect("a header"));
    }
    let stream = TcpStream::connect(&product.api).await.expect("a connection");
    let opened = tokio_tungstenite::client_async(request, stream).await;
    let (mut socket, _) = opened.expect("a web socket");
    socket.send(Message::text("hello")).await.expect("sent");
    let heard = socket.next().await.expect("an answer").expect("a message");
    assert_eq!(heard, Message::text("hello"));
}

#[tokio::test]
async fn folders_for_browsers_are_where_the_flags_say() {
    repo_server::install_crypto_provider();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = "<base href=\"/\">";
    std::fs::write(folder.path().join("index.html"), page).expect("a file");
    std::fs::write(folder.path().join("extension-a.js"), "a();").expect("a file");
    let path = folder.path().to_str().expect("a path");
    let world = World::new();
    let flags = ["--staticassets", path, "--ui-extensions", path, "--rootpath=/argo"];
    let product = Product::start(&world, &flags, &[]).await;
    let get = async |path: &str| {
        let answer = reqwest::get(format!("http://{}{path}", product.api)).await;
        answer.expect("an answer").text().await.expect("a text")
    };
    assert_eq!(get("/argo/").await, "<base href=\"/argo/\">");
    assert!(get("/argo/extensions.js").await.contains("a();"));
}

/// A product without TLS.
struct Product {
    child: Child,
    api: String,
}

impl Product {
    async fn start(world: &World, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let config = world.cluster.kubeconfig_path();
        let flags = [&["--insecure"], flags].concat();
        let child = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &flags, variables);
        world.until_said("the API listens").await;
        Self { child, api: api_address(world) }
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The address of a service that says what it hears.
async fn echo(tls: &Tls) -> String {
    let pair = tls.server();
    let chain = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("our own");
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("our own");
    let config = ServerConfig::builder().with_no_client_auth();
    let mut config = config.with_single_cert(vec![chain], key).expect("a good pair");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { continue };
            while let Some(Ok(message)) = socket.next().await {
                drop(socket.send(message).await);
            }
        }
    });
    address
}
