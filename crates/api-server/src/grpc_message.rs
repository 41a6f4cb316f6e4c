//! The message of a gRPC status as Go's servers write it.
//!
//! Go escapes percent signs and what is not printable ASCII, tonic also blanks
//! and quotes. Both are right, but over gRPC-web the `argocd` command line shows
//! what it gets without unescaping it.

use http::{HeaderMap, HeaderValue};

const NAME: &str = "grpc-message";

/// Takes away the escapes that Go does not make.
pub(crate) fn as_go_writes_it(headers: &mut HeaderMap) {
    let Some(message) = headers.get(NAME).and_then(|it| it.to_str().ok()) else { return };
    if let Ok(message) = HeaderValue::from_str(&with_fewer_escapes(message)) {
        headers.insert(NAME, message);
    }
}

fn with_fewer_escapes(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('%') {
        text += before;
        let escaped = after.get(..2).and_then(|it| u8::from_str_radix(it, 16).ok());
        match escaped {
            Some(byte @ 0x20..=0x7e) if byte != b'%' => {
                text.push(char::from(byte));
                rest = &after[2..];
            }
            _ => {
                text.push('%');
                rest = after;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use wire::Status;

    use super::*;

    #[track_caller]
    fn check(message: &str, expect: &str) {
        let mut response = Status::unknown(message).into_http::<()>();
        as_go_writes_it(response.headers_mut());
        assert_eq!(response.headers()[NAME], expect);
    }

    #[test]
    fn only_what_go_escapes_is_escaped() {
        check("token is revoked", "token is revoked");
        check(r#"project "a" <b> {c} #1?"#, r#"project "a" <b> {c} #1?"#);
        check("100% of ü\n", "100%25 of %C3%BC%0A");
        check("%41", "%2541");
    }
}
