//! How requests fail, and what should happen next.
//!
//! A [`RequestError`] is either the API server saying no ([`Refusal`]) or the
//! way to it being broken. Callers match on variants and ask
//! [`disposition`](RequestError::disposition); nobody reads the text.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// What a caller should do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Nothing is wrong with what was asked: ask again, with backoff.
    RetrySoon,
    /// As above, but the server said how long to wait.
    RetryAfter(Duration),
    /// Asking again helps once something else in the cluster has changed (a kind, a namespace, a rival writer).
    WaitForChange,
    /// Only a person can help: the manifest, the permissions or the settings are wrong.
    WaitForUser,
}

/// A request without a good answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The API server answered, with a no.
    #[error("the API server refused {request}")]
    Refused {
        /// Method and path.
        request: String,
        /// The no, with the server's own message.
        source: Box<Refusal>,
    },
    /// The request or the answer got lost.
    #[error("could not reach the API server for {request}")]
    Unreachable {
        /// Method and path.
        request: String,
        /// The transport's complaint.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer in time.
    #[error("the API server did not answer {request} within {} s", limit.as_secs())]
    TimedOut {
        /// Method and path.
        request: String,
        /// How long we waited.
        limit: Duration,
    },
    /// The answer is not what the API promises, or larger than we accept.
    #[error("could not read the answer to {request}")]
    Unreadable {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RequestError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Refused { source, .. } => source.disposition(),
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Unreadable { .. } => {
                Disposition::RetrySoon
            }
        }
    }

    /// The server's own no, if it was one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused { source, .. } => Some(source),
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Unreadable { .. } => None,
        }
    }

    /// The status that the server answered with, if it did.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.refusal().map(|it| it.code)
    }

    /// Did the server say that there is no such thing?
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.refusal().is_some_and(|it| it.code == 404)
    }

    /// Did the write lose against another one?
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.refusal().is_some_and(|it| it.code == 409)
    }

    /// Message and causes in one line, for a place that has room for one text only.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        in_one_line(self)
    }
}

/// Joins an error with its causes.
pub(crate) fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Some causes repeat the whole of what they cause.
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line
}

/// The `Status` with which an API server says no. Printed, it is the server's own message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Refusal {
    /// The HTTP status code.
    pub code: u16,
    /// One word for programs: `NotFound`, `Conflict`, `Invalid`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// What it is about.
    #[serde(deserialize_with = "null_is_default")]
    pub details: RefusalDetails,
}

/// What a [`Refusal`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RefusalDetails {
    /// The name of the object.
    pub name: String,
    /// The plural of its kind, mostly.
    pub kind: String,
    /// Its uid.
    pub uid: String,
    /// The single complaints.
    #[serde(deserialize_with = "null_is_default")]
    pub causes: Vec<RefusalCause>,
    /// When to come back.
    pub retry_after_seconds: u64,
}

/// One complaint among those of a [`Refusal`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RefusalCause {
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The text of an answer that is no `Status` is shown up to here.
const SHOWN_TEXT: usize = 512;

impl Refusal {
    /// Reads the body of an answer; what is no `Status` (a proxy's page) is quoted.
    pub(crate) fn from_answer(code: u16, body: &[u8], retry_after: Option<u64>) -> Self {
        let mut refusal = serde_json::from_slice::<Self>(body).unwrap_or_default();
        refusal.code = code;
        if refusal.message.is_empty() {
            let text: String =
                String::from_utf8_lossy(body).trim().chars().take(SHOWN_TEXT).collect();
            refusal.message = if text.is_empty() { format!("HTTP status {code}") } else { text };
        }
        if let Some(seconds) = retry_after {
            refusal.details.retry_after_seconds = seconds;
        }
        refusal
    }

    /// Is one of the complaints of this kind?
    #[must_use]
    pub fn has_cause(&self, reason: &str) -> bool {
        self.details.causes.iter().any(|it| it.reason == reason)
    }

    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self.code {
            429 | 500..=599 if self.details.retry_after_seconds > 0 => {
                Disposition::RetryAfter(Duration::from_secs(self.details.retry_after_seconds))
            }
            429 | 500..=599 => Disposition::RetrySoon,
            403 if self.has_cause("NamespaceTerminating") => Disposition::WaitForChange,
            404 | 409 | 410 => Disposition::WaitForChange,
            _ => Disposition::WaitForUser,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u16, body: &str, message: &str, disposition: Disposition) {
        let refusal = Refusal::from_answer(code, body.as_bytes(), None);
        assert_eq!((refusal.to_string().as_str(), refusal.disposition()), (message, disposition));
    }

    #[test]
    fn a_status_speaks_for_itself() {
        let body = r#"{"kind":"Status","message":"namespaces \"a\" not found","reason":"NotFound","code":404}"#;
        check(404, body, "namespaces \"a\" not found", Disposition::WaitForChange);
    }

    #[test]
    fn a_page_of_a_proxy_is_quoted() {
        check(502, "<h1>bad gateway</h1>\n", "<h1>bad gateway</h1>", Disposition::RetrySoon);
        check(503, "", "HTTP status 503", Disposition::RetrySoon);
    }

    #[test]
    fn an_overloaded_server_says_when_to_come_back() {
        let body = r#"{"message":"slow down","details":{"retryAfterSeconds":2,"causes":null}}"#;
        check(429, body, "slow down", Disposition::RetryAfter(Duration::from_secs(2)));
    }

    #[test]
    fn an_invalid_object_waits_for_its_author_and_a_dying_namespace_for_its_end() {
        check(422, r#"{"message":"m"}"#, "m", Disposition::WaitForUser);
        let body = r#"{"message":"m","details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#;
        check(403, body, "m", Disposition::WaitForChange);
        check(403, r#"{"message":"m","details":null}"#, "m", Disposition::WaitForUser);
    }

    #[test]
    fn a_cause_that_is_already_told_is_not_told_twice() {
        let error = RequestError::Refused {
            request: "GET /x".into(),
            source: Box::new(Refusal { message: "no".into(), ..Refusal::default() }),
        };
        assert_eq!(error.in_one_line(), "the API server refused GET /x: no");
    }
}
