//! What REST says, said over gRPC: for tests, which try every method both ways.
//!
//! The product does not call these functions.

use http::Method;
use wire::Status;

use crate::methods::table;

/// A request as gRPC has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The path of the method.
    pub method: &'static str,
    /// The message, without a frame.
    pub message: Vec<u8>,
}

/// Every operation over REST: verb, template of the path, and the path of the gRPC method.
#[must_use]
pub fn operations() -> Vec<(String, String, &'static str)> {
    let table = table();
    let operation = |(verb, path, method): (&Method, &str, &'static str)| {
        (verb.to_string(), path.to_owned(), method)
    };
    table.operations().map(operation).collect()
}

/// The path of every gRPC method.
#[must_use]
pub fn methods() -> Vec<&'static str> {
    table().methods().collect()
}

/// The request that says over gRPC what this one says over REST; none where no method is meant, or
/// what is sent is no message of it.
#[must_use]
pub fn said(verb: &str, target: &str, body: &[u8]) -> Option<Said> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let routed = table().rest(&Method::from_bytes(verb.as_bytes()).ok()?, path)?;
    if routed.is_in_pieces() {
        return None;
    }
    let message = routed.message(query, body).ok()?;
    let message = routed.endpoint.protobuf_of_request(&message).ok()?;
    Some(Said { method: routed.endpoint.path(), message })
}

/// A message of a method, given as JSON, over gRPC.
///
/// # Errors
/// When there is no such method, or it is no message of its own.
pub fn request(method: &str, json: &str) -> Result<Vec<u8>, Status> {
    endpoint(method)?.protobuf_of_request(json)
}

/// What REST would have told where gRPC answered with this.
///
/// # Errors
/// When there is no such method, or it does not answer so.
pub fn told(method: &str, answer: &[u8]) -> Result<String, Status> {
    let json = endpoint(method)?.json_of_answer(answer)?;
    String::from_utf8(json).map_err(|error| Status::internal(error.to_string()))
}

fn endpoint(method: &str) -> Result<std::sync::Arc<wire::Endpoint<crate::methods::Call>>, Status> {
    table().grpc(method).ok_or_else(|| Status::unimplemented(format!("unknown method {method}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_query_become_one_message() {
        let said = said("GET", "/api/v1/applications/web?refresh=hard", b"").expect("a method");
        assert_eq!(said.method, "/application.ApplicationService/Get");
        assert_eq!(said.message, b"\x0a\x03web\x12\x04hard");
    }

    #[test]
    fn what_is_no_method_is_not_said() {
        assert_eq!(said("GET", "/healthz", b""), None);
        assert_eq!(said("POST", "/api/v1/projects", b"{"), None);
    }
}
