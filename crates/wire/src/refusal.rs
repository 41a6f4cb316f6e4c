//! Errors as the REST gateway prints them.

use http::StatusCode;
use serde::Serialize;
use tonic::{Code, Status};

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
    code: i32,
    message: &'a str,
}

/// The body of an error: its text twice, and the number of its gRPC code.
#[must_use]
pub fn error_body(status: &Status) -> Vec<u8> {
    let refusal =
        Refusal { error: status.message(), code: status.code().into(), message: status.message() };
    crate::go_json::go_json(&refusal)
}

/// The HTTP status that stands for a gRPC code.
#[must_use]
pub fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::Cancelled => StatusCode::REQUEST_TIMEOUT,
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => {
            StatusCode::BAD_REQUEST
        }
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_twice_with_its_number() {
        let body = error_body(&Status::not_found("no <web>"));
        let expect = r#"{"error":"no \u003cweb\u003e","code":5,"message":"no \u003cweb\u003e"}"#;
        assert_eq!(String::from_utf8(body).expect("text"), expect);
    }
}
