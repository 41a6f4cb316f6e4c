//! Requests that are passed on to a service that really listens.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{ApiKind, Client};
use object::GroupVersionKind;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::client::Rest;
use crate::world::{NAMESPACE, SERVER, set_config, until};

pub(crate) async fn requests_are_passed_on(rest: &Rest, client: &Client) {
    let service = Service::start().await;
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let data = json!({"data": {"ext.key": STANDARD.encode("from-a-secret")}});
    client.merge_patch(&secrets, NAMESPACE, "argocd-secret", None, &data).await.expect("patched");
    let config = format!(
        "services: [{{url: 'http://{}', headers: [{{name: X-Key, value: $ext.key}}]}}]",
        service.address
    );
    set_config(
        client,
        "argocd-cm",
        json!({"extension.config.metrics": config, "accounts.caller": "apiKey"}),
    )
    .await;
    // The admin's role does not call extensions.
    let policy = "p, admin, extensions, invoke, metrics, allow\n\
                  p, caller, applications, get, default/web, allow\n";
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": policy})).await;
    let about = format!("Argocd-Application-Name: {NAMESPACE}:web\r\nArgocd-Project-Name: default");
    let forged = format!("{about}\r\nArgocd-Username: root\r\nArgocd-User-Groups: masters");
    until("the extension is known", async || call(rest, "metrics/api?x=1", &about).await.0 == 200)
        .await;

    let (status, answer) = call(rest, "metrics/api/values?x=1&y=%2F", &forged).await;
    assert_eq!((status, answer.as_str()), (200, "hello"));
    let seen = service.last();
    assert!(seen.starts_with("GET /api/values?x=1&y=%2F HTTP/1.1\r\n"), "{seen}");
    for line in [
        "argocd-username: admin",
        "argocd-user-id: admin",
        &format!("argocd-application-name: {NAMESPACE}:web"),
        &format!("argocd-target-cluster-url: {SERVER}"),
        &format!("argocd-namespace: {NAMESPACE}"),
        "x-key: from-a-secret",
    ] {
        assert!(seen.to_lowercase().contains(&line.to_lowercase()), "{line} is not in {seen}");
    }
    for word in ["authorization", "masters", "root", &rest.token] {
        assert!(!seen.to_lowercase().contains(&word.to_lowercase()), "{word} is in {seen}");
    }

    assert_eq!(call(rest, "metrics/", "X: y").await.0, 400, "no Application");
    assert_eq!(call(rest, "/", &about).await.0, 400, "no name");
    let other = about.replace(":web", ":ghost");
    assert_eq!(
        call(rest, "metrics/", &other).await,
        (401, "Unauthorized extension request\n".into())
    );
    let other = about.replace("default", "shop");
    assert_eq!(call(rest, "metrics/", &other).await.0, 401);
    assert_eq!(call(rest, "other/", &about).await.0, 401, "who may call one may not call all");
    let (status, body) = rest.ask("POST", "/api/v1/account/caller/token", json!({})).await;
    assert_eq!(status, 200, "{body}");
    let token = body["token"].as_str().expect("a token").to_owned();
    let caller = rest.by(token);
    assert_eq!(call(&caller, "metrics/", &about).await.0, 401, "the right to look is not enough");
    let stranger = rest.by("a.b.c");
    assert_eq!(call(&stranger, "metrics/", &about).await.0, 401);
    set_config(
        client,
        "argocd-cm",
        json!({"extension.config.metrics": null, "accounts.caller": null}),
    )
    .await;
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
}

async fn call(rest: &Rest, path: &str, headers: &str) -> (u16, String) {
    let head = format!("GET /extensions/{path} HTTP/1.1\r\n{headers}");
    let (status, answer) = crate::client::raw(rest, &head, b"").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { crate::client::unchunked(body) } else { body.to_owned() };
    (status, body)
}

/// Says hello to everybody, and remembers what it was sent.
struct Service {
    address: String,
    seen: Arc<Mutex<String>>,
}

impl Service {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen = Arc::new(Mutex::new(String::new()));
        let remembered = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                greet(stream, &remembered).await;
            }
        });
        Self { address, seen }
    }

    fn last(&self) -> String {
        self.seen.lock().expect("nobody panics with it").clone()
    }
}

async fn greet(mut stream: TcpStream, remembered: &Mutex<String>) {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|it| it == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(count) => request.extend_from_slice(&piece[..count]),
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    *remembered.lock().expect("nobody panics with it") = request;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    drop(stream.write_all(answer.as_bytes()).await);
}
