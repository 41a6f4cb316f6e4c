//! The API's methods on the wire: one table, gRPC and REST from the same handler.
//!
//! A [`Table`] names each method once, with its gRPC path, its REST bindings and
//! the async function that answers it. [`Table::grpc`] and [`Table::rest`] find
//! the method a request is about. Requests and answers are in [`message`], or in
//! the `api` crate where they are resources.

mod answer;
mod go_json;
pub mod message;
mod method;
mod refusal;
mod request;
mod rest;
mod swagger;
mod template;

pub use answer::{Answer, Encoded, Printed, PrintedEvent, PrintedList};
pub use go_json::go_json;
pub use method::{Endpoint, Pieces, Reply, Routed, Table};
pub use refusal::{error_body, http_status};
pub use request::RequestError;
pub use rest::{Body, Rest, delete, get, patch, post, put};
pub use swagger::Shapes;
pub use template::{unescaped_path, unescaped_query};
pub use tonic::{Code, Status};

/// What comes in and goes out over HTTP.
pub type HttpBody = tonic::body::Body;

/// No message may be larger, in either direction; as Argo CD's default.
pub const MESSAGE_LIMIT: usize = 200 * 1024 * 1024;
