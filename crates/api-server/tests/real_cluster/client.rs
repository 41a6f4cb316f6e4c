//! Clients in a few lines: REST, raw bytes, gRPC. They remember which operations were answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use crate::over_grpc;

/// Operations that were answered well: verb and path, or `gRPC` and the method.
static ANSWERED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

pub(crate) fn answered(verb: &str, path: &str) {
    let path = path.split('?').next().unwrap_or_default().to_owned();
    let mut answered = ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    answered.insert((verb.to_owned(), path));
}

pub(crate) fn all_answered() -> BTreeSet<(String, String)> {
    ANSWERED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// How a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Rest,
    /// What has a form over gRPC goes there, and what only reads over gRPC-web as well.
    Grpc,
}

/// A client that is told what to ask as REST has it.
pub(crate) struct Rest {
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) over: Over,
}

impl Rest {
    /// The same way, for somebody else.
    pub(crate) fn by(&self, token: impl Into<String>) -> Self {
        Self { address: self.address.clone(), token: token.into(), over: self.over }
    }

    pub(crate) async fn open(&self, verb: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.expect("a connection");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("a request");
        stream
    }

    /// Status and body.
    pub(crate) async fn ask(&self, verb: &str, path: &str, body: Value) -> (u16, Value) {
        match over_grpc::said(self, verb, path, &body) {
            Some(said) => over_grpc::ask(self, verb, &said).await,
            None => self.ask_over_rest(verb, path, body).await,
        }
    }

    async fn ask_over_rest(&self, verb: &str, path: &str, body: Value) -> (u16, Value) {
        let mut answer = String::new();
        let mut stream = self.open(verb, path, &body).await;
        stream.read_to_string(&mut answer).await.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        if status == 200 && self.over == Over::Rest {
            answered(verb, path);
        }
        (status, serde_json::from_str(&body).unwrap_or_else(|_| body.into()))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// The first message of a stream.
    pub(crate) async fn first_event(&self, path: &str) -> Value {
        if self.over == Over::Grpc {
            return over_grpc::first_event(self, path).await;
        }
        let stream = self.open("GET", path, &Value::Null).await;
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next_line().await.expect("a line").expect("the stream goes on");
            if let Ok(Value::Object(event)) = serde_json::from_str(&line) {
                answered("GET", path);
                return Value::Object(event);
            }
        }
    }

    #[track_caller]
    pub(crate) fn refuses(
        &self,
        verb: &'static str,
        path: &str,
        body: Value,
        expect: (u16, i64, &'static str),
    ) -> impl Future<Output = ()> {
        let path = path.to_owned();
        async move {
            let (status, body) = self.ask(verb, &path, body).await;
            let message = body["message"].as_str().unwrap_or_default();
            assert_eq!(
                (status, body["code"].as_i64(), message),
                (expect.0, Some(expect.1), expect.2)
            );
            assert_eq!(body["error"], body["message"]);
        }
    }
}

/// The text of a body that comes in chunks, each after its length.
pub(crate) fn unchunked(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((length, more)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            break;
        }
        whole.push_str(&more[..length]);
        rest = more[length..].trim_start_matches("\r\n");
    }
    whole
}

/// Status and all of an answer; 0 where the connection ends without one.
pub(crate) async fn raw(rest: &Rest, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(&rest.address).await.expect("a connection");
    let token = &rest.token;
    let head = format!(
        "{head}\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // The other side may close before it has read everything.
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(body).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// Status and head of an answer.
pub(crate) async fn head_of(address: &str, path: &str, cookie: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    (status, head)
}

/// The first header of that name.
pub(crate) fn header(head: &str, name: &str) -> String {
    let lines = head.lines().filter_map(|it| it.split_once(':'));
    let found = lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

/// Host and target of an address.
pub(crate) fn split(address: &str) -> (String, String) {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    (host.to_owned(), format!("/{target}"))
}

pub(crate) async fn unary<Asked, Answer>(
    client: &mut Grpc<Channel>,
    path: &'static str,
    asked: Asked,
    token: Option<&str>,
) -> Result<Answer, wire::Status>
where
    Asked: prost::Message + Default + 'static,
    Answer: prost::Message + Default + 'static,
{
    let mut request = tonic::Request::new(asked);
    if let Some(token) = token {
        request.metadata_mut().insert("token", token.parse().expect("a header"));
    }
    client.ready().await.expect("a connection");
    let codec: ProstCodec<Asked, Answer> = ProstCodec::default();
    let target = http::uri::PathAndQuery::from_static(path);
    let answer = client.unary(request, target, codec).await?.into_inner();
    answered("gRPC", path);
    Ok(answer)
}
