//! Web sockets through an extension, to a service that really speaks on them.

use std::sync::{Arc, Mutex};

use cluster::Client;
use futures::{SinkExt as _, StreamExt as _};
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client::Rest;
use crate::world::{NAMESPACE, set_config, until};

type Socket = WebSocketStream<TcpStream>;

pub(crate) async fn web_sockets_go_through(rest: &Rest, client: &Client) {
    let parrot = Parrot::start().await;
    let config = format!("services: [{{url: 'http://{}'}}]", parrot.address);
    let settings = json!({"extension.config.parrot": config, "accounts.caller": "apiKey"});
    set_config(client, "argocd-cm", settings).await;
    let admin = "p, admin, extensions, invoke, parrot, allow\n";
    let looks = "p, caller, applications, get, default/web, allow\n";
    let calls = "p, caller, extensions, invoke, parrot, allow\n";
    let policy = |lines: &[&str]| json!({"policy.csv": lines.concat()});
    set_config(client, "argocd-rbac-cm", policy(&[admin, looks])).await;
    until("the extension is known", async || open(rest, "parrot/says").await.is_ok()).await;

    what_is_said_arrives(rest, &parrot).await;
    the_client_ends_it(rest).await;
    the_service_ends_it(rest).await;
    a_refusal_is_passed_on(rest).await;
    other_protocols_are_not_passed_on(rest, &parrot).await;

    assert_eq!(refusal(rest, "other/says").await.0, 401);
    assert_eq!(refusal(&rest.by("a.b.c"), "parrot/says").await, (401, "Invalid token\n".into()));
    let (_, body) = rest.ask("POST", "/api/v1/account/caller/token", json!({"id": "c"})).await;
    let caller = rest.by(body["token"].as_str().expect("a token"));
    assert_eq!(refusal(&caller, "parrot/says").await.0, 401, "the right to look is not enough");
    set_config(client, "argocd-rbac-cm", policy(&[admin, looks, calls])).await;
    until("the policy is read", async || open(&caller, "parrot/says").await.is_ok()).await;

    let mut socket = open(&caller, "parrot/says").await.expect("a socket");
    echoes(&mut socket, "still here").await;
    set_config(client, "argocd-rbac-cm", policy(&[admin, looks])).await;
    breaks_off(&mut socket).await;
    set_config(client, "argocd-rbac-cm", policy(&[admin, looks, calls])).await;
    until("the policy is read", async || open(&caller, "parrot/says").await.is_ok()).await;
    let mut socket = open(&caller, "parrot/says").await.expect("a socket");
    echoes(&mut socket, "still here").await;
    let (status, _) = rest.ask("DELETE", "/api/v1/account/caller/token/c", Value::Null).await;
    assert_eq!(status, 200);
    breaks_off(&mut socket).await;

    let mut socket = open(rest, "parrot/says").await.expect("a socket");
    echoes(&mut socket, "still here").await;
    let nothing = json!({"extension.config.parrot": null, "accounts.caller": null});
    set_config(client, "argocd-cm", nothing).await;
    breaks_off(&mut socket).await;
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
}

/// The service speaks first; then both ways, in small and in large messages.
async fn what_is_said_arrives(rest: &Rest, parrot: &Parrot) {
    let mut socket = open(rest, "parrot/says?a=b").await.expect("a socket");
    assert_eq!(hear(&mut socket).await, Some(Message::text("hello")));
    for message in [
        Message::text("who is there?"),
        Message::binary(vec![7; 1 << 20]),
        Message::text(""),
        Message::text("a".repeat(70_000)),
    ] {
        socket.send(message.clone()).await.expect("sent");
        assert_eq!(hear(&mut socket).await, Some(message));
    }
    let (address, seen) = parrot.last();
    assert_eq!(address, "/says?a=b");
    let told = |name: &str| seen.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    assert_eq!(told("argocd-username"), "admin");
    assert_eq!(told("argocd-application-name"), format!("{NAMESPACE}:web"));
    assert_eq!((told("host"), told("cookie")), (parrot.address.as_str(), ""));
}

async fn the_client_ends_it(rest: &Rest) {
    let mut socket = open(rest, "parrot/says").await.expect("a socket");
    let code = CloseCode::Library(4001);
    socket.close(Some(CloseFrame { code, reason: "enough".into() })).await.expect("closed");
    assert_eq!(hear(&mut socket).await, Some(Message::text("hello")));
    // The service's own answer, which repeats the reason.
    let Some(Message::Close(Some(frame))) = hear(&mut socket).await else { panic!("no end") };
    assert_eq!((frame.code, frame.reason.as_str()), (code, "enough"));
    assert_eq!(hear(&mut socket).await, None);
}

async fn the_service_ends_it(rest: &Rest) {
    let mut socket = open(rest, "parrot/says").await.expect("a socket");
    assert_eq!(hear(&mut socket).await, Some(Message::text("hello")));
    socket.send(Message::text("goodbye")).await.expect("sent");
    let Some(Message::Close(Some(frame))) = hear(&mut socket).await else { panic!("no end") };
    assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Away, "goodbye"));
    assert_eq!(hear(&mut socket).await, None);
}

async fn a_refusal_is_passed_on(rest: &Rest) {
    let refused = refusal(rest, "parrot/silence").await;
    assert_eq!(refused, (418, "only those who say something\n".into()));
}

/// The service gets an ordinary request, which is none that it answers with a socket.
async fn other_protocols_are_not_passed_on(rest: &Rest, parrot: &Parrot) {
    let head = format!(
        "GET /extensions/parrot/says HTTP/1.1\r\nArgocd-Application-Name: {NAMESPACE}:web\r\n\
         Argocd-Project-Name: default\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\
         HTTP2-Settings: AAMAAABkAAQAAP__"
    );
    let before = parrot.count();
    let (status, answer) = crate::client::raw(rest, &head, b"").await;
    assert_ne!(status, 101, "{answer}");
    assert_eq!(parrot.count(), before, "it was no handshake");
}

async fn echoes(socket: &mut Socket, text: &str) {
    assert_eq!(hear(socket).await, Some(Message::text("hello")));
    socket.send(Message::text(text)).await.expect("sent");
    assert_eq!(hear(socket).await, Some(Message::text(text)));
}

/// Ends without a word of the service.
async fn breaks_off(socket: &mut Socket) {
    assert_eq!(hear(socket).await, None);
}

/// The next message, until the connection ends.
async fn hear(socket: &mut Socket) -> Option<Message> {
    socket.next().await?.ok()
}

async fn refusal(rest: &Rest, path: &str) -> (u16, String) {
    open(rest, path).await.expect_err("no socket")
}

async fn open(rest: &Rest, path: &str) -> Result<Socket, (u16, String)> {
    let stream = TcpStream::connect(&rest.address).await.expect("a connection");
    let address = format!("ws://{}/extensions/{path}", rest.address);
    let mut request = address.into_client_request().expect("an address");
    for (name, value) in [
        ("cookie", format!("argocd.token={}", rest.token)),
        ("argocd-application-name", format!("{NAMESPACE}:web")),
        ("argocd-project-name", "default".to_owned()),
        ("argocd-username", "root".to_owned()),
        ("sec-websocket-protocol", "parrot.v1".to_owned()),
    ] {
        request.headers_mut().insert(name, value.parse().expect("a header"));
    }
    match tokio_tungstenite::client_async(request, stream).await {
        Ok((socket, answer)) => {
            assert_eq!(answer.headers()["sec-websocket-protocol"], "parrot.v1");
            Ok(socket)
        }
        Err(Error::Http(response)) => {
            let told = String::from_utf8(response.body().clone().unwrap_or_default());
            let told = told.expect("text");
            let is_chunked = response.headers().contains_key("transfer-encoding");
            let told = if is_chunked { crate::client::unchunked(&told) } else { told };
            Err((response.status().as_u16(), told))
        }
        Err(error) => panic!("{error}"),
    }
}

/// Says hello, repeats what it is told, and leaves when it is told goodbye.
struct Parrot {
    address: String,
    seen: Seen,
}

/// Address and headers of each handshake.
type Seen = Arc<Mutex<Vec<(String, HeaderMap)>>>;

impl Parrot {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let seen = Seen::default();
        let remembered = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&remembered)));
            }
        });
        Self { address, seen }
    }

    fn last(&self) -> (String, HeaderMap) {
        self.seen.lock().expect("nobody panics with it").last().cloned().expect("a handshake")
    }

    fn count(&self) -> usize {
        self.seen.lock().expect("nobody panics with it").len()
    }
}

#[expect(clippy::result_large_err, reason = "the library wants it as it is")]
async fn converse(stream: TcpStream, seen: Seen) {
    let shake = |request: &Request, mut response: Response<()>| {
        let address = request.uri().to_string();
        if address.starts_with("/silence") {
            let mut refusal = ErrorResponse::new(Some("only those who say something\n".into()));
            *refusal.status_mut() = StatusCode::IM_A_TEAPOT;
            return Err(refusal);
        }
        let handshake = (address, request.headers().clone());
        seen.lock().expect("nobody panics with it").push(handshake);
        let protocol = request.headers()["sec-websocket-protocol"].clone();
        response.headers_mut().insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, shake).await else { return };
    drop(socket.send(Message::text("hello")).await);
    while let Some(Ok(message)) = socket.next().await {
        let answered = if message == Message::text("goodbye") {
            let frame = CloseFrame { code: CloseCode::Away, reason: "goodbye".into() };
            socket.close(Some(frame)).await
        } else if message.is_text() || message.is_binary() {
            socket.send(message).await
        } else {
            Ok(())
        };
        drop(answered);
    }
}
