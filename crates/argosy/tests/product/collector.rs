//! A fake collector of traces: takes what is sent over gRPC and tells it.
//!
//! Knows one call, `TraceService/Export`, and answers it with success.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use prost::Message as _;
use tokio::sync::mpsc;

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
/// A flag and the length of the message come first.
const FRAME_HEAD: usize = 5;

/// A span as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// What it is called.
    pub(crate) name: String,
    /// Is it part of another one?
    pub(crate) has_parent: bool,
    /// Its attributes and those of its resource, as `name=text`.
    pub(crate) attributes: Vec<String>,
    /// The header `x-team` of the request that brought it.
    pub(crate) team: String,
}

/// The collector. Ends with the runtime that it was started in.
pub(crate) struct Collector {
    address: SocketAddr,
    spans: mpsc::UnboundedReceiver<Span>,
}

impl Collector {
    /// Starts on a free port of this machine.
    pub(crate) async fn start() -> Self {
        let (sender, spans) = mpsc::unbounded_channel();
        let export = async move |headers: HeaderMap, body: Bytes| {
            let team = headers.get("x-team").and_then(|it| it.to_str().ok()).unwrap_or_default();
            for span in spans_of(&body, team) {
                // Nobody asks any more: the test is over.
                sender.send(span).ok();
            }
            ([("content-type", "application/grpc"), ("grpc-status", "0")], ()).into_response()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let app = Router::new().route(EXPORT, post(export));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, spans }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next span that came.
    pub(crate) async fn next(&mut self) -> Span {
        self.spans.recv().await.expect("a collector that listens")
    }
}

fn spans_of(body: &Bytes, team: &str) -> Vec<Span> {
    let message = body.slice(FRAME_HEAD.min(body.len())..);
    let request = ExportTraceServiceRequest::decode(message).expect("a request to export");
    let mut spans = Vec::new();
    for of_resource in request.resource_spans {
        let shared = of_resource.resource.map(|it| it.attributes).unwrap_or_default();
        for span in of_resource.scope_spans.into_iter().flat_map(|it| it.spans) {
            spans.push(Span {
                name: span.name,
                has_parent: !span.parent_span_id.is_empty(),
                attributes: span.attributes.iter().chain(&shared).map(shown).collect(),
                team: team.to_owned(),
            });
        }
    }
    spans
}

fn shown(attribute: &KeyValue) -> String {
    let value = attribute.value.as_ref().and_then(|it| it.value.as_ref());
    let text = match value {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    };
    format!("{}={text}", attribute.key)
}
