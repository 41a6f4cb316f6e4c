//! An API server that is reached through a proxy which a kubeconfig names.
//!
//! The gateways are small ones of our own; the API server behind them is real.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cluster::{Access, Client, Cluster};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::fixture::{kubeconfig, options, run};

/// `user:password`.
const CREDENTIALS: &str = "Basic dXNlcjpwYXNzd29yZA==";

/// What a gateway speaks.
#[derive(Clone, Copy)]
enum Tongue {
    /// HTTP `CONNECT`, with a password.
    Connect,
    /// The same, inside TLS.
    SecureConnect,
    /// SOCKS 5, without one.
    Socks,
}

struct Gateway {
    address: String,
    passed: Arc<AtomicUsize>,
}

impl Gateway {
    async fn start(tongue: Tongue) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let passed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&passed);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move { pass(tongue, client, &count).await });
            }
        });
        Self { address, passed }
    }

    fn passed(&self) -> usize {
        self.passed.load(Ordering::Relaxed)
    }
}

async fn pass(tongue: Tongue, mut client: TcpStream, count: &AtomicUsize) -> Option<()> {
    match tongue {
        Tongue::Connect => {
            let server = connect(&mut client).await?;
            join(client, server, count).await
        }
        Tongue::SecureConnect => {
            let mut client = acceptor().accept(client).await.ok()?;
            let server = connect(&mut client).await?;
            join(client, server, count).await
        }
        Tongue::Socks => {
            let server = socks(&mut client).await?;
            join(client, server, count).await
        }
    }
}

/// TLS with the certificate of the API server, whose authority the kubeconfig names.
fn acceptor() -> TlsAcceptor {
    let folder = kubeconfig();
    let folder = folder.parent().expect("a folder");
    let certificates = CertificateDer::pem_file_iter(folder.join("apiserver.crt"));
    let certificates = certificates.expect("a file").collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_file(folder.join("apiserver.key")).expect("a key");
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates.expect("certificates"), key)
        .expect("a certificate with its key");
    TlsAcceptor::from(Arc::new(config))
}

async fn join(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    server: String,
    count: &AtomicUsize,
) -> Option<()> {
    let mut server = TcpStream::connect(server).await.ok()?;
    count.fetch_add(1, Ordering::Relaxed);
    copy_bidirectional(&mut client, &mut server).await.ok().map(|_| ())
}

/// Hears where to go, and agrees if the password is right.
async fn connect(client: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    if !head.contains(CREDENTIALS) {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.ok()?;
        return None;
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    head.strip_prefix("CONNECT ")?.split(' ').next().map(str::to_owned)
}

/// Hears where to go, as address and port, and agrees.
async fn socks(client: &mut TcpStream) -> Option<String> {
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).await.ok()?;
    let mut methods = vec![0; usize::from(greeting[1])];
    client.read_exact(&mut methods).await.ok()?;
    client.write_all(&[5, 0]).await.ok()?;
    let mut request = [0; 10];
    client.read_exact(&mut request).await.ok()?;
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
    let [5, 1, 0, 1, a, b, c, d, high, low] = request else { return None };
    Some(format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes([high, low])))
}

/// The test cluster's kubeconfig with a proxy in it.
async fn access_through(proxy: &str) -> Access {
    let text = std::fs::read_to_string(kubeconfig()).expect("a kubeconfig");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kubeconfig");
    let server = "    server: https";
    assert!(text.contains(server), "the address of a cluster stands on its own line");
    let through = text.replace(server, &format!("    proxy-url: {proxy}\n{server}"));
    std::fs::write(&file, through).expect("written");
    Access::from_kubeconfig(Some(&file), None).await.expect("a kubeconfig")
}

async fn watches_through(gateway: &Gateway, proxy: &str) {
    let cluster = Cluster::start(&access_through(proxy).await, options()).await;
    let cluster = cluster.expect("a cluster behind a proxy");
    cluster.ready().await;
    assert_eq!(cluster.health().trouble, None);
    assert!(gateway.passed() >= 2, "requests and watches go through the gateway");
}

#[test]
fn a_cluster_behind_an_http_proxy_with_a_password_is_watched_through_it() {
    run(async {
        let gateway = Gateway::start(Tongue::Connect).await;
        watches_through(&gateway, &format!("http://user:password@{}", gateway.address)).await;
        let wrong = format!("http://user:guess@{}", gateway.address);
        let refused = Client::connect(&access_through(&wrong).await).await;
        let why = refused.expect_err("the gateway says no");
        let chain = std::iter::successors(Some(&why as &dyn std::error::Error), |it| it.source());
        let told: Vec<String> = chain.map(ToString::to_string).collect();
        assert!(told.join(": ").contains("proxy auth"), "{told:?}");
    });
}

#[test]
fn a_cluster_behind_a_proxy_that_is_reached_by_tls_is_watched_through_it() {
    run(async {
        let gateway = Gateway::start(Tongue::SecureConnect).await;
        watches_through(&gateway, &format!("https://user:password@{}", gateway.address)).await;
    });
}

#[test]
fn a_cluster_behind_a_socks_proxy_is_watched_through_it() {
    run(async {
        let gateway = Gateway::start(Tongue::Socks).await;
        watches_through(&gateway, &format!("socks5://{}", gateway.address)).await;
    });
}
