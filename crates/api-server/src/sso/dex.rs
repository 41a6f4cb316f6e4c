//! Passes requests below `/api/dex` on to Dex, which has no address of its own for users.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use wire::HttpBody;

use super::provider::{SsoError, certificates};
use crate::ApiServer;
use crate::patience::Patient;

const PATIENCE: Duration = Duration::from_secs(60);
/// Nothing that a browser sends to Dex is larger.
const BODY_LIMIT: usize = 1 << 20;
/// Nor is anything that Dex answers.
const ANSWER_LIMIT: usize = 10 << 20;
/// Headers that are about one connection.
const OF_THE_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
];

/// The answer of Dex; a plain one of ours when it does not come.
pub(crate) async fn pass(server: &ApiServer, request: Request<HttpBody>) -> Response<HttpBody> {
    passed(server, request).await.unwrap_or_else(|(status, told)| {
        let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(told))));
        *response.status_mut() = status;
        response
    })
}

async fn passed(
    server: &ApiServer,
    request: Request<HttpBody>,
) -> Result<Response<HttpBody>, (StatusCode, &'static str)> {
    if !server.settings.current().sso.has_dex() {
        return Err((StatusCode::NOT_FOUND, "dex is not configured"));
    }
    let (parts, body) = request.into_parts();
    let body = Limited::new(Patient::with(body), BODY_LIMIT).collect().await;
    let body =
        body.map_err(|_| (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or too slow"))?;
    let unreachable = |error: &dyn std::error::Error| {
        tracing::warn!(error = %runtime::Chain(error), "dex does not answer");
        (StatusCode::BAD_GATEWAY, "dex does not answer")
    };
    let web = &server.options.web;
    let mut client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        // Dex makes its own certificate, which nobody vouches for unless we are told who does.
        .tls_danger_accept_invalid_certs(web.dex_authority.is_none());
    if let Some(authority) = &web.dex_authority {
        let authority = certificates(authority);
        let authority = authority.ok_or_else(|| unreachable(&SsoError::RootCa))?;
        client = client.tls_certs_only(authority);
    }
    let client = client.build().map_err(|error| unreachable(&error))?;
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let address = format!("{}{path}", web.dex_server.trim_end_matches('/'));
    let asked = client.request(parts.method, address).headers(passing(&parts.headers));
    let mut answer =
        asked.body(body.to_bytes()).send().await.map_err(|error| unreachable(&error))?;
    let mut content = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        content.extend_from_slice(&chunk);
        if content.len() > ANSWER_LIMIT {
            return Err((StatusCode::BAD_GATEWAY, "the answer of dex is too large"));
        }
    }
    let mut response = Response::new(HttpBody::new(Full::new(Bytes::from(content))));
    *response.status_mut() = answer.status();
    *response.headers_mut() = passing(answer.headers());
    Ok(response)
}

/// Headers that are about the message.
pub(crate) fn passing(headers: &HeaderMap) -> HeaderMap {
    let is_passing = |name: &HeaderName| {
        !OF_THE_CONNECTION.contains(&name.as_str()) && name != "host" && name != "accept-encoding"
    };
    let mut passing = HeaderMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| is_passing(name)) {
        passing.append(name.clone(), value.clone());
    }
    passing
}
