//! One request and its answer, over a connection that is there.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;

use crate::client::{Connection, Selector};
use crate::kinds::push_segment;
use crate::refusal::{Refusal, RequestError};

/// No answer may be larger. A page of 500 objects of 1 MiB each is beyond any etcd.
const ANSWER_LIMIT: usize = 512 * 1024 * 1024;

pub(crate) const JSON: &str = "application/json";
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// An answer that is not a refusal.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// One request in the making.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) etag: Option<&'a str>,
    pub(crate) acts_as: Option<HeaderValue>,
    pub(crate) body: Vec<u8>,
}

impl Ask<'_> {
    pub(crate) fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            content_type: JSON,
            accept: JSON,
            etag: None,
            acts_as: None,
            body: Vec::new(),
        }
    }

    pub(crate) fn with_body(
        method: Method,
        path: String,
        content_type: &str,
        body: Vec<u8>,
    ) -> Ask<'_> {
        Ask { method, content_type, body, ..Ask::get(path) }
    }

    pub(crate) fn patch(path: String, content_type: &str, body: Vec<u8>) -> Ask<'_> {
        Self::with_body(Method::PATCH, path, content_type, body)
    }

    pub(crate) fn delete(path: String, body: Vec<u8>) -> Self {
        Ask { method: Method::DELETE, body, ..Ask::get(path) }
    }

    /// Method and path, for messages. The query says nothing a reader needs.
    pub(crate) fn shown(&self) -> String {
        let path = self.path.split_once('?').map_or(self.path.as_str(), |(path, _)| path);
        format!("{} {path}", self.method)
    }

    /// Does it not matter whether the server has done this, when it stops answering? A question
    /// can be asked again, and so can a merge patch. Of other writes it would not be known
    /// whether they were done, so their answer is waited for.
    pub(crate) fn may_be_given_up(&self) -> bool {
        self.method == Method::GET
            || self.content_type == MERGE_PATCH
            || self.path.contains("dryRun=All")
    }

    pub(crate) fn into_request(self) -> Result<Request<Body>, http::Error> {
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.path)
            .header(header::ACCEPT, self.accept)
            .header(header::USER_AGENT, concat!("argosy/", env!("CARGO_PKG_VERSION")));
        if !self.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, self.content_type);
        }
        if let Some(etag) = self.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(user) = self.acts_as {
            request = request.header("Impersonate-User", user);
        }
        request.body(Body::from(self.body))
    }
}

/// Sends a request and reads the whole answer; anything but success and "not modified" is an error.
pub(crate) async fn send(
    connection: &Connection,
    ask: Ask<'_>,
    limit: Duration,
) -> Result<Answer, RequestError> {
    let shown = ask.shown();
    let exchange = async {
        let response = open(connection, ask).await?;
        let (parts, body) = response.into_parts();
        let body = read_all(&shown, body).await?;
        Ok(Answer { status: parts.status, headers: parts.headers, body })
    };
    match tokio::time::timeout(limit, exchange).await {
        Ok(result) => result,
        Err(_) => Err(RequestError::TimedOut { request: shown.clone(), limit }),
    }
}

/// Sends a request and returns once the answer begins.
pub(crate) async fn open(
    connection: &Connection,
    ask: Ask<'_>,
) -> Result<http::Response<Body>, RequestError> {
    let shown = ask.shown();
    let request = ask.into_request().map_err(|source| RequestError::Unreadable {
        request: shown.clone(),
        source: source.into(),
    })?;
    let response = connection.0.send(request).await.map_err(|source| {
        RequestError::Unreachable { request: shown.clone(), source: source.into() }
    })?;
    let status = response.status();
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return Ok(response);
    }
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|it| it.to_str().ok()?.parse().ok());
    let body = read_all(&shown, response.into_body()).await?;
    let source = Refusal::from_answer(status.as_u16(), &body, retry_after);
    Err(RequestError::Refused { request: shown, source: Box::new(source) })
}

async fn read_all(shown: &str, body: Body) -> Result<Bytes, RequestError> {
    let collected = Limited::new(body, ANSWER_LIMIT).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|source| {
        let request = shown.to_owned();
        if source.is::<http_body_util::LengthLimitError>() {
            RequestError::Unreadable { request, source }
        } else {
            RequestError::Unreachable { request, source }
        }
    })
}

/// A URL that grows query parameters.
pub(crate) struct Query {
    pub(crate) url: String,
    started: bool,
}

impl Query {
    pub(crate) fn new(path: String) -> Self {
        Self { url: path, started: false }
    }

    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.url.push(if self.started { '&' } else { '?' });
        self.started = true;
        self.url.push_str(name);
        self.url.push('=');
        push_segment(&mut self.url, value);
    }

    pub(crate) fn selector(&mut self, selector: &Selector) {
        if !selector.labels.is_empty() {
            self.add("labelSelector", &selector.labels);
        }
        if !selector.fields.is_empty() {
            self.add("fieldSelector", &selector.fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_escaped() {
        let mut query = Query::new("/x".into());
        query.selector(&Selector::labels("a in (b,c)"));
        query.add("limit", "5");
        assert_eq!(query.url, "/x?labelSelector=a%20in%20%28b%2Cc%29&limit=5");
    }
}
