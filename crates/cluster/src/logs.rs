//! What containers say, as it is said.

use bytes::{Buf as _, Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt as _};
use http_body_util::BodyExt as _;
use object::GroupVersionKind;

use crate::ask::{Ask, Query};
use crate::client::Client;
use crate::kinds::ApiKind;
use crate::refusal::RequestError;

/// Which lines of a container's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The container; may be empty where a pod has only one.
    pub container: String,
    /// Go on with what is said from now on.
    pub follow: bool,
    /// The log of the container that ran before this one.
    pub previous: bool,
    /// Only the last so many seconds.
    pub since_seconds: Option<i64>,
    /// Only since this moment, in RFC 3339.
    pub since_time: Option<String>,
    /// Only the last so many lines.
    pub tail_lines: Option<i64>,
    /// Begin each line with its time.
    pub timestamps: bool,
}

impl Client {
    /// The lines of a container's log, without their ends. Ends with the log, or
    /// with the pod when it is followed.
    ///
    /// # Errors
    /// When the server says no (there is no such container, or it has not begun)
    /// or cannot be reached.
    pub async fn logs(
        &self,
        namespace: &str,
        pod: &str,
        options: &LogOptions,
    ) -> Result<BoxStream<'static, Result<String, RequestError>>, RequestError> {
        let kind = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
        let path = kind.object_path(namespace, pod, Some("log"));
        let request = format!("GET {path}");
        let response = self.stream(Ask::get(options.query(path))).await?;
        let said = Said {
            request,
            frames: response.into_body().into_data_stream().boxed(),
            buffer: BytesMut::new(),
            ended: false,
        };
        Ok(stream::unfold(said, async |mut said| Some((said.line().await?, said))).boxed())
    }
}

/// A longer line is cut; a log may be one endless line.
const LINE_LIMIT: usize = 1024 * 1024;

/// An answer that is read line by line.
struct Said {
    request: String,
    frames: BoxStream<'static, Result<Bytes, kube::Error>>,
    buffer: BytesMut,
    ended: bool,
}

impl Said {
    async fn line(&mut self) -> Option<Result<String, RequestError>> {
        loop {
            if let Some(line) = take_line(&mut self.buffer, self.ended) {
                return Some(Ok(line));
            }
            if self.ended {
                return None;
            }
            match self.frames.next().await {
                Some(Ok(bytes)) => self.buffer.extend_from_slice(&bytes),
                Some(Err(source)) => {
                    self.ended = true;
                    self.buffer.clear();
                    let request = self.request.clone();
                    return Some(Err(RequestError::Unreachable { request, source: source.into() }));
                }
                None => self.ended = true,
            }
        }
    }
}

/// The next line; at the end also one without an end of its own.
fn take_line(buffer: &mut BytesMut, is_end: bool) -> Option<String> {
    let end = buffer.iter().take(LINE_LIMIT).position(|it| *it == b'\n');
    let (line, skip) = match end {
        Some(end) => (buffer.split_to(end), 1),
        None if buffer.len() >= LINE_LIMIT => (buffer.split_to(LINE_LIMIT), 0),
        None if is_end && !buffer.is_empty() => (buffer.split(), 0),
        None => return None,
    };
    buffer.advance(skip);
    Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
}

impl LogOptions {
    fn query(&self, path: String) -> String {
        let mut query = Query::new(path);
        if !self.container.is_empty() {
            query.add("container", &self.container);
        }
        for (name, is_set) in
            [("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)]
        {
            if is_set {
                query.add(name, "true");
            }
        }
        for (name, number) in [("sinceSeconds", self.since_seconds), ("tailLines", self.tail_lines)]
        {
            if let Some(number) = number {
                query.add(name, &number.to_string());
            }
        }
        if let Some(time) = &self.since_time {
            query.add("sinceTime", time);
        }
        query.url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_a_query() {
        let options = LogOptions {
            container: "main".into(),
            follow: true,
            tail_lines: Some(10),
            since_time: Some("2026-01-01T00:00:00Z".into()),
            ..LogOptions::default()
        };
        assert_eq!(
            options.query("/log".into()),
            "/log?container=main&follow=true&tailLines=10&sinceTime=2026-01-01T00:00:00Z"
        );
    }

    #[test]
    fn lines_are_cut_where_they_end_and_empty_ones_count() {
        let mut buffer = BytesMut::from(&b"a\r\n\nrest"[..]);
        let mut lines = Vec::new();
        while let Some(line) = take_line(&mut buffer, false) {
            lines.push(line);
        }
        assert_eq!(lines, ["a", ""]);
        assert_eq!(take_line(&mut buffer, true).as_deref(), Some("rest"));
        assert_eq!(take_line(&mut buffer, true), None);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut buffer = BytesMut::from(&vec![b'x'; LINE_LIMIT + 1][..]);
        assert_eq!(take_line(&mut buffer, false).map(|it| it.len()), Some(LINE_LIMIT));
        assert_eq!(take_line(&mut buffer, false), None);
    }
}
