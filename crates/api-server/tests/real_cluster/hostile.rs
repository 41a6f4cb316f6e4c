//! Requests that nobody honest sends.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cluster::Client;
use http::uri::PathAndQuery;
use ring::hmac;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::transport::Channel;
use wire::Code;

use crate::client::{Rest, raw};
use crate::over_grpc;
use crate::world::{set_config, until};

pub(crate) async fn bad_requests_are_refused_and_hurt_nobody(rest: &Rest) {
    // Forms of other sites cannot act for a user.
    let (status, _) =
        raw(rest, "POST /api/v1/projects HTTP/1.1\r\nContent-Type: text/plain", b"{}").await;
    assert_eq!(status, 415);
    let post = "POST /api/v1/projects HTTP/1.1\r\nContent-Type: application/json";
    for body in [&b"{"[..], b"[]", b"{\"project\":{\"metadata\":7}}", b"\xff\xfe"] {
        assert_eq!(raw(rest, post, body).await.0, 400, "{body:?}");
    }
    // The last of two is the one that counts, and what nobody knows is passed over.
    let twice = br#"{"project":{"metadata":{"name":"a b"}},"project":{"metadata":{"name":"UPPER"}},"unknown":{}}"#;
    assert!(raw(rest, post, twice).await.0 >= 400);
    for name in ["..%2F..%2Fsecrets", "%00", "a%0d%0ab", "%2e%2e", "..", "a%2Fb", "%ff"] {
        let (status, body) =
            rest.ask("GET", &format!("/api/v1/applications/{name}"), Value::Null).await;
        assert!(matches!(status, 400 | 403 | 404), "{name}: {status} {body}");
    }
    // Frames that are torn, too long, or hold no message.
    let web = "POST /application.ApplicationService/List HTTP/1.1\r\nContent-Type: application/grpc-web+proto";
    for body in [
        &b"\0"[..],
        b"\0\xff\xff\xff\xff",
        b"\0\0\0\0\x02\xff\xff",
        b"\x01\0\0\0\x01x",
        b"no frame",
    ] {
        let (status, head) = raw(rest, web, body).await;
        assert_eq!(status, 200, "{head}");
        assert!(!head.contains("grpc-status: 0") && !head.contains("grpc-status:0"), "{head}");
    }
    let huge = format!("GET /api/version HTTP/1.1\r\nX-Huge: {}", "x".repeat(2 << 20));
    assert!(matches!(raw(rest, &huge, b"").await.0, 0 | 431));
    assert!(rest.get("/api/version").await["Version"].is_string(), "still well");
}

/// Clients that begin a request and do not go on. They are let go within half a minute, while the
/// story goes on.
pub(crate) struct SlowClients(Vec<TcpStream>);

impl SlowClients {
    pub(crate) async fn begin(rest: &Rest) -> Self {
        let beginnings = [
            "",
            "GET /api/version HTTP/1.1\r\nHost: x\r\nX-Slow: ",
            "POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
            "POST /api/webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\nContent-Length: 9\r\n\r\n{",
        ];
        let mut clients = Vec::new();
        for beginning in beginnings {
            let mut stream = TcpStream::connect(&rest.address).await.expect("a connection");
            stream.write_all(beginning.as_bytes()).await.expect("sent");
            clients.push(stream);
        }
        Self(clients)
    }

    pub(crate) async fn are_gone(self) {
        for mut stream in self.0 {
            // An answer or none: the connection ends by itself.
            let mut answer = Vec::new();
            drop(stream.read_to_end(&mut answer).await);
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(!answer.contains("200 OK"), "{answer}");
        }
    }
}

/// Connections that say nothing keep nobody else waiting.
pub(crate) async fn idle_connections_hurt_nobody(rest: &Rest) {
    let mut idle = Vec::new();
    for _ in 0..affordable_connections() {
        idle.push(TcpStream::connect(&rest.address).await.expect("a connection"));
    }
    assert!(rest.get("/api/version").await["Version"].is_string());
    drop(idle);
}

/// 10,000, or what the system gives: each takes a descriptor on both sides, and this process has
/// both.
fn affordable_connections() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|it| it.starts_with("Max open files")).unwrap_or_default();
    let limit: usize =
        line.split_whitespace().nth(3).and_then(|it| it.parse().ok()).unwrap_or(1024);
    10_000.min(limit.saturating_sub(600) / 2)
}

/// Tokens that look like ours and are not.
pub(crate) async fn forged_tokens_are_refused(rest: &Rest) {
    let forged = |algorithm: &str, claims: &Value| {
        let part = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": algorithm, "typ": "JWT"})), part(claims));
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"some other key");
        let signature = match algorithm {
            "none" => String::new(),
            _ => URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes())),
        };
        rest.by(format!("{signed}.{signature}"))
    };
    let claims = json!({"iss": "argocd", "sub": "admin:login", "exp": 4e9, "iat": 1, "jti": "x"});
    let at = "/api/v1/applications";
    for (algorithm, told) in [
        ("HS256", "invalid session: signature is invalid"),
        ("HS512", "invalid session: signing method is not HS256"),
        ("none", "invalid session: signing method is not HS256"),
        ("RS256", "invalid session: signing method is not HS256"),
    ] {
        forged(algorithm, &claims).refuses("GET", at, Value::Null, (401, 16, told)).await;
    }
    let elsewhere = json!({"iss": "https://evil.example.org", "sub": "admin", "aud": "argocd"});
    let expect = (401, 16, "invalid session: failed to verify the token");
    let (status, body) = forged("HS256", &elsewhere).ask("GET", at, Value::Null).await;
    assert_eq!(status, expect.0, "{body}");
    // Part of a good one, and one with its middle exchanged.
    let parts: Vec<&str> = rest.token.split('.').collect();
    let changed = URL_SAFE_NO_PAD.encode(claims.to_string());
    for token in [
        rest.token[..rest.token.len() - 2].to_owned(),
        format!("{}.{changed}.{}", parts[0], parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
    ] {
        let other = rest.by(token);
        assert_eq!(other.ask("GET", at, Value::Null).await.0, 401);
    }
}

/// A payload past the limit is refused, whoever sends it.
pub(crate) async fn large_payloads_are_refused(rest: &Rest, client: &Client) {
    set_config(client, "argocd-cm", json!({"webhook.maxPayloadSizeMB": "1"})).await;
    let head = "POST /api/webhook HTTP/1.1\r\nX-GitHub-Event: ping";
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(2 << 20)).into_bytes();
    until("the limit is read", async || raw(rest, head, &large).await.0 != 200).await;
    let (status, told) = raw(rest, head, &large).await;
    assert!(matches!(status, 0 | 400), "{told}");
    assert_eq!(raw(rest, head, b"{}").await.0, 200);
    set_config(client, "argocd-cm", json!({"webhook.maxPayloadSizeMB": null})).await;
}

/// Messages over gRPC that are none: each is that request's failure, and the connection goes on.
pub(crate) async fn torn_messages_are_refused(rest: &Rest) {
    let channel = Channel::from_shared(format!("http://{}", rest.address)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("a connection"));
    let list = PathAndQuery::from_static("/application.ApplicationService/List");
    let long = vec![0x0a; 64 << 10];
    // A message in a message in a message, deeper than anybody nests.
    let deep = (0..200_u32).fold(Vec::new(), |inner: Vec<u8>, _| {
        let mut outer = vec![0x0a];
        let length = u16::try_from(inner.len()).expect("short");
        let byte = |bits: u16| u8::try_from(bits).expect("seven bits");
        outer.extend([byte(length & 0x7f) | 0x80, byte(length >> 7)]);
        outer.extend(inner);
        outer
    });
    for message in [
        &b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..],
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0a\x03ab",
        b"\x0a\x02\xff\xfe",
        b"\x0b",
        b"\x07",
        &long,
    ] {
        let mut request = tonic::Request::new(message.to_vec());
        request.metadata_mut().insert("token", rest.token.parse().expect("a header"));
        client.ready().await.expect("the connection goes on");
        let refused = client.unary(request, list.clone(), over_grpc::Bytes).await;
        assert_eq!(refused.expect_err("no message").code(), Code::Internal, "{message:?}");
    }
    let create = PathAndQuery::from_static("/application.ApplicationService/Create");
    let mut request = tonic::Request::new(deep);
    request.metadata_mut().insert("token", rest.token.parse().expect("a header"));
    client.ready().await.expect("the connection goes on");
    client.unary(request, create, over_grpc::Bytes).await.expect_err("no Application");
    assert!(rest.get("/api/version").await["Version"].is_string(), "still well");
}

/// What a page of another site can make a browser send: no body of ours, and nothing that changes.
pub(crate) async fn pages_of_others_cannot_act(rest: &Rest) {
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        for (verb, path) in [
            ("POST", "/api/v1/applications/web/sync"),
            ("PUT", "/api/v1/account/password"),
            ("PATCH", "/api/v1/applications/web"),
            ("DELETE", "/api/v1/applications/web"),
        ] {
            let mut stream = TcpStream::connect(&rest.address).await.expect("a connection");
            let kind =
                if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
            let request = format!(
                "{verb} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: https://evil.example.org\r\n\
                 Cookie: argocd.token={}\r\n{kind}Content-Length: 2\r\n\r\n{{}}",
                rest.token
            );
            stream.write_all(request.as_bytes()).await.expect("a request");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 415 "), "{verb} {path} {kind}: {answer}");
            // Nor may it read what is answered.
            assert!(!answer.to_lowercase().contains("access-control-allow"), "{answer}");
        }
    }
}
