//! What the story asks over REST, asked over gRPC and gRPC-web.

use api_server::forms::{self, Said};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use wire::{Code, Status};

use crate::client::{Over, Rest, all_answered, answered, header};

/// The request over gRPC, where it is asked so: fields are selected by REST alone, and what
/// answers in pieces is asked for by [`first_event`].
pub(super) fn said(rest: &Rest, verb: &str, path: &str, body: &Value) -> Option<Said> {
    if rest.over == Over::Rest || path.contains("fields=") {
        return None;
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    forms::said(verb, path, body.as_bytes()).filter(|it| !is_stream(it.method))
}

fn is_stream(method: &str) -> bool {
    ["/Watch", "/WatchResourceTree"].iter().any(|it| method.ends_with(it))
}

/// Status and body, as REST would have told them. What only reads and was answered over gRPC
/// already goes over gRPC-web.
pub(super) async fn ask(rest: &Rest, verb: &str, said: &Said) -> (u16, Value) {
    let is_known = all_answered().contains(&("gRPC".to_owned(), said.method.to_owned()));
    let (way, told) = if said.method.ends_with("/PodLogs") {
        ("gRPC", lines(rest, said).await)
    } else if verb == "GET" && is_known {
        ("gRPC-web", over_web(rest, said).await.map(|it| told(said, &it)))
    } else {
        let target = http::uri::PathAndQuery::from_static(said.method);
        let answer = client(rest).await.unary(request(rest, said), target, Bytes).await;
        ("gRPC", answer.map(|it| told(said, &it.into_inner())))
    };
    match told {
        Ok(told) => {
            answered(way, said.method);
            (200, told)
        }
        Err(status) => {
            let body = serde_json::from_slice(&wire::error_body(&status)).expect("JSON");
            (wire::http_status(status.code()).as_u16(), body)
        }
    }
}

/// All messages of a stream that ends, a line each.
async fn lines(rest: &Rest, said: &Said) -> Result<Value, Status> {
    let target = http::uri::PathAndQuery::from_static(said.method);
    let mut client = client(rest).await;
    let stream = client.server_streaming(request(rest, said), target, Bytes).await;
    let mut stream = stream?.into_inner();
    let mut lines = String::new();
    while let Some(message) = stream.message().await? {
        lines.push_str(&format!("{}\n", json!({"result": told(said, &message)})));
    }
    Ok(lines.into())
}

/// The first message of a stream.
pub(super) async fn first_event(rest: &Rest, path: &str) -> Value {
    let said = forms::said("GET", path, b"").expect("a method");
    let target = http::uri::PathAndQuery::from_static(said.method);
    let mut client = client(rest).await;
    let stream = client.server_streaming(request(rest, &said), target, Bytes).await;
    let message = stream.expect("a stream").into_inner().message().await;
    answered("gRPC", said.method);
    json!({"result": told(&said, &message.expect("no error").expect("one message at least"))})
}

fn told(said: &Said, answer: &[u8]) -> Value {
    let told = forms::told(said.method, answer).expect("an answer of the method");
    serde_json::from_str(&told).expect("JSON")
}

async fn client(rest: &Rest) -> Grpc<Channel> {
    let channel = Channel::from_shared(format!("http://{}", rest.address)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("a connection"));
    client.ready().await.expect("a connection");
    client
}

fn request(rest: &Rest, said: &Said) -> tonic::Request<Vec<u8>> {
    let mut request = tonic::Request::new(said.message.clone());
    if !rest.token.is_empty() {
        request.metadata_mut().insert("token", rest.token.parse().expect("a header"));
    }
    request
}

/// The answer over gRPC-web.
async fn over_web(rest: &Rest, said: &Said) -> Result<Vec<u8>, Status> {
    let length = u32::try_from(said.message.len()).expect("a short message");
    let mut body = vec![0];
    body.extend(length.to_be_bytes());
    body.extend(&said.message);
    let (method, token) = (said.method, &rest.token);
    let token = if token.is_empty() { String::new() } else { format!("token: {token}\r\n") };
    let head = format!(
        "POST {method} HTTP/1.0\r\nHost: x\r\n{token}\
         Content-Type: application/grpc-web+proto\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(&rest.address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("a request");
    stream.write_all(&body).await.expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
    let (head, mut body) = (String::from_utf8_lossy(&answer[..end]), &answer[end + 4..]);
    let (mut message, mut trailers) = (Vec::new(), head.into_owned());
    // Frames: a flag, four bytes of length, and so many bytes; the last are trailers.
    while let [flag, a, b, c, d, rest @ ..] = body {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (content, rest) = rest.split_at_checked(length).expect("a whole frame");
        match flag {
            0 => message = content.to_vec(),
            _ => trailers.push_str(&format!("\r\n{}", String::from_utf8_lossy(content))),
        }
        body = rest;
    }
    let code = header(&trailers, "grpc-status");
    match Code::from_bytes(code.as_bytes()) {
        Code::Ok => Ok(message),
        code => {
            let told = header(&trailers, "grpc-message");
            Err(Status::new(code, wire::unescaped_query(&told.replace('+', "%2B"))))
        }
    }
}

/// Messages as they are.
#[derive(Clone, Copy, Default)]
pub(super) struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(buffer, &item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let length = bytes::Buf::remaining(buffer);
        Ok(Some(bytes::Buf::copy_to_bytes(buffer, length).to_vec()))
    }
}
