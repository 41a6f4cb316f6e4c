//! A list followed by an unbroken watch, started over on any doubt.
//!
//! [`Client::watch`] is the public stream; [`Watch`] is the engine beneath it
//! and under the store. A watch is resumed where it ended only if it ended in
//! order (the server closes each after a few minutes). After anything else, a
//! broken connection, a refusal, an expired version, a silence, the kind is
//! listed again: an API server restored from a backup would accept our version
//! and then say nothing for hours.

pub(crate) mod backoff;
mod frames;

use std::borrow::Cow;
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use futures::Stream;
use futures::stream;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::ask::{Ask, Query};
use crate::client::{Client, PAGE, Selector};
use crate::connection::Lease;
use crate::kinds::ApiKind;
use crate::refusal::{Disposition, Refusal, RequestError, in_one_line};
use backoff::{Backoff, Randomness};
use frames::Lines;

/// Where to watch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every namespace, or a cluster-scoped kind.
    Everywhere,
    /// One namespace.
    Namespace(String),
}

impl Scope {
    /// As a namespace in a URL: empty means everywhere.
    pub(crate) fn namespace(&self) -> &str {
        match self {
            Self::Everywhere => "",
            Self::Namespace(namespace) => namespace,
        }
    }

    pub(crate) fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Namespace(own) => own == namespace,
        }
    }
}

/// What a watch tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<T> {
    /// A list begins. What was known before and is not told again before `Synced` no longer exists.
    Restarted,
    /// This object exists, in this state.
    Applied(T),
    /// This object was deleted; this was its last state.
    Deleted(T),
    /// The list is complete; what follows are changes as they happen.
    Synced,
    /// The object exists but is not what `T` can hold.
    Unreadable {
        /// Its namespace; empty when cluster-scoped or unknown.
        namespace: String,
        /// Its name; empty when unknown.
        name: String,
        /// What does not fit.
        why: String,
    },
    /// From here on we do not know what happens, until `Restarted` and `Synced`.
    Interrupted {
        /// What went wrong.
        why: String,
    },
}

impl Client {
    /// Lists and watches the objects of a kind for as long as the stream is polled.
    ///
    /// The stream does not end: trouble is told as `Interrupted` and tried again with growing, jittered waits.
    pub fn watch<T: DeserializeOwned>(
        &self,
        kind: &ApiKind,
        scope: Scope,
        selector: Selector,
        random: Randomness,
    ) -> impl Stream<Item = WatchEvent<T>> + Send + use<T> {
        let watch = Watch::new(self.clone(), kind.clone(), scope, selector, random);
        stream::unfold(watch, |mut watch| async {
            let event = watch.next().await;
            let event = decoded(&watch.kind, event);
            Some((event, watch))
        })
    }
}

fn decoded<T: DeserializeOwned>(kind: &ApiKind, event: RawEvent) -> WatchEvent<T> {
    let read = |bytes: &Bytes, then: fn(T) -> WatchEvent<T>| match read_listed(kind, bytes) {
        Ok(object) => then(object),
        Err(error) => unreadable(bytes, &error),
    };
    match event {
        RawEvent::Restarted => WatchEvent::Restarted,
        RawEvent::Applied(bytes) => read(&bytes, WatchEvent::Applied),
        RawEvent::Deleted(bytes) => read(&bytes, WatchEvent::Deleted),
        RawEvent::Synced(_) => WatchEvent::Synced,
        RawEvent::Interrupted { why, .. } => WatchEvent::Interrupted { why },
    }
}

/// Items of a typed list lack apiVersion and kind, which `T` may insist on.
fn read_listed<T: DeserializeOwned>(kind: &ApiKind, bytes: &[u8]) -> serde_json::Result<T> {
    #[derive(Deserialize)]
    struct Tagged {
        kind: Option<serde::de::IgnoredAny>,
    }
    if serde_json::from_slice::<Tagged>(bytes).is_ok_and(|it| it.kind.is_some()) {
        return serde_json::from_slice(bytes);
    }
    let mut value: serde_json::Value = serde_json::from_slice(bytes)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".into(), kind.api_version().into());
        fields.insert("kind".into(), kind.kind.clone().into());
    }
    serde_json::from_value(value)
}

fn unreadable<T>(bytes: &[u8], error: &serde_json::Error) -> WatchEvent<T> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named {
        metadata: NamedMeta,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct NamedMeta {
        namespace: String,
        name: String,
    }
    let metadata = serde_json::from_slice::<Named>(bytes).unwrap_or_default().metadata;
    let NamedMeta { namespace, name } = metadata;
    WatchEvent::Unreadable { namespace, name, why: error.to_string() }
}

/// What [`Watch::next`] tells; objects are still the server's bytes.
#[derive(Debug)]
pub(crate) enum RawEvent {
    Restarted,
    Applied(Bytes),
    Deleted(Bytes),
    /// The list is complete, as of this version.
    Synced(String),
    Interrupted {
        why: String,
        kind_is_gone: bool,
        is_forbidden: bool,
        /// For how long nothing may have been told already, when it was noticed.
        unheard: Duration,
    },
}

/// Streaming lists came as an alpha with 1.27; older servers ignore the question and never end the list.
const STREAMING_SINCE: u32 = 27;
/// A stream that is to begin, or to go on with its list, and says nothing for this long is given up.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// How long the server is asked to keep a watch open, at least and at most.
const WATCH_SECONDS: (f64, f64) = (240.0, 300.0);
/// A stream that ends sooner was refused rather than finished; asking again at once would go round in a circle.
const SHORTEST: Duration = Duration::from_secs(1);
/// Watches that return together do so within this time.
const SPREAD: Duration = Duration::from_millis(200);
/// How much longer we wait for it to close.
const OVERTIME: Duration = Duration::from_secs(15);

/// The engine of one list and watch.
pub(crate) struct Watch {
    client: Client,
    kind: ApiKind,
    scope: Scope,
    selector: Selector,
    random: Randomness,
    backoff: Backoff,
    /// Does the server list by streaming? Found out by asking.
    streaming: bool,
    /// Does paging work? A page token may expire faster than we read.
    paging: bool,
    pause: Option<Pause>,
    state: State,
}

/// A wait after something went wrong.
struct Pause {
    until: Instant,
    /// Does it end early when the server is heard of again?
    ends_early: bool,
}

enum State {
    /// Nothing is known: list.
    Unknown,
    /// A list is being read page by page; these items are still to be told.
    Listing { items: vec::IntoIter<Bytes>, next: Option<String>, version: String },
    /// All that happened up to this version has been told: watch from here.
    UpTo(String),
    /// A stream is open.
    Open(Box<Reading>),
}

struct Reading {
    body: Body,
    lines: Lines,
    progress: Progress,
    opened: Instant,
    closes: Instant,
    lease: Lease,
}

impl Watch {
    pub(crate) fn new(
        client: Client,
        kind: ApiKind,
        scope: Scope,
        selector: Selector,
        random: Randomness,
    ) -> Self {
        let streaming =
            client.streams_lists() && client.version().minor_number() >= STREAMING_SINCE;
        let backoff = Backoff::new(random.clone());
        Self {
            client,
            kind,
            scope,
            selector,
            random,
            backoff,
            streaming,
            paging: true,
            pause: None,
            state: State::Unknown,
        }
    }

    /// The next thing to tell. Waits as long as it takes.
    pub(crate) async fn next(&mut self) -> RawEvent {
        loop {
            if let Some(pause) = self.pause.take() {
                self.wait(pause).await;
            }
            match self.advance().await {
                Ok(Some(event)) => return event,
                Ok(None) => {}
                Err(doubt) => {
                    if let Some(event) = self.start_over(&doubt) {
                        return event;
                    }
                }
            }
        }
    }

    /// Waits; but when another watch reaches the server again, ours may try as well.
    async fn wait(&mut self, pause: Pause) {
        let mut heard = self.client.watches().heard();
        tokio::select! {
            () = tokio::time::sleep_until(pause.until) => {}
            Ok(()) = heard.changed(), if pause.ends_early => {
                tokio::time::sleep(SPREAD.mul_f64(self.random.next())).await;
            }
        }
    }

    /// One move. `None`: nothing to tell yet.
    async fn advance(&mut self) -> Result<Option<RawEvent>, Doubt> {
        match &mut self.state {
            State::Unknown if self.streaming => {
                let reading = self.open(None).await?;
                self.state = State::Open(Box::new(reading));
                Ok(Some(RawEvent::Restarted))
            }
            State::Unknown => {
                self.read_page(None).await?;
                Ok(Some(RawEvent::Restarted))
            }
            State::Listing { items, next, version } => {
                if let Some(item) = items.next() {
                    return Ok(Some(RawEvent::Applied(item)));
                }
                match next.take() {
                    Some(token) => {
                        self.read_page(Some(token)).await?;
                        Ok(None)
                    }
                    None => {
                        let version = std::mem::take(version);
                        self.state = State::UpTo(version.clone());
                        self.backoff.succeeded();
                        Ok(Some(RawEvent::Synced(version)))
                    }
                }
            }
            State::UpTo(version) => {
                let version = version.clone();
                let reading = self.open(Some(version)).await?;
                self.state = State::Open(Box::new(reading));
                Ok(None)
            }
            State::Open(reading) => match reading.next_event().await? {
                Told::Event(event) => {
                    if matches!(event, RawEvent::Synced(_)) {
                        self.backoff.succeeded();
                    }
                    Ok(Some(event))
                }
                Told::End(version) => {
                    self.state = State::UpTo(version);
                    Ok(None)
                }
            },
        }
    }

    /// Notes what went wrong and lists again, after a wait. Some doubts are no news to anybody.
    fn start_over(&mut self, doubt: &Doubt) -> Option<RawEvent> {
        self.state = State::Unknown;
        match doubt {
            Doubt::NoStreaming if self.streaming => {
                self.streaming = false;
                return None;
            }
            Doubt::PageExpired if self.paging => {
                self.paging = false;
                return None;
            }
            _ => {}
        }
        let why = doubt.to_string();
        let wait = self.backoff.failed(doubt.needs_change());
        self.pause =
            Some(Pause { until: Instant::now() + wait, ends_early: doubt.refusal().is_none() });
        if matches!(doubt, Doubt::Unanswered(_)) {
            self.client.fell_silent();
        }
        tracing::debug!(kind = %self.kind.group_kind(), why, ?wait, "watch interrupted");
        let (kind_is_gone, is_forbidden) = (doubt.kind_is_gone(), doubt.is_forbidden());
        let unheard = match doubt {
            Doubt::Unanswered(since) => *since,
            _ => Duration::ZERO,
        };
        Some(RawEvent::Interrupted { why, kind_is_gone, is_forbidden, unheard })
    }

    async fn read_page(&mut self, token: Option<String>) -> Result<(), Doubt> {
        let limit = self.paging.then_some(PAGE);
        let namespace = self.scope.namespace();
        let page = self
            .client
            .list_page(&self.kind, namespace, &self.selector, limit, token.as_deref())
            .await;
        let page = page.map_err(|error| match error.refusal() {
            Some(refusal) if refusal.code == 410 => Doubt::PageExpired,
            _ => Doubt::Request(error),
        })?;
        self.state = State::Listing {
            items: page.items.into_iter(),
            next: page.next,
            version: page.resource_version,
        };
        Ok(())
    }

    /// Opens a stream from a version, or one that begins with a list.
    async fn open(&mut self, version: Option<String>) -> Result<Reading, Doubt> {
        let (least, most) = WATCH_SECONDS;
        let seconds = Duration::from_secs_f64(least + (most - least) * self.random.next());
        let mut query = Query::new(self.kind.collection_path(self.scope.namespace()));
        query.add("watch", "true");
        query.add("allowWatchBookmarks", "true");
        query.add("timeoutSeconds", &seconds.as_secs().to_string());
        query.selector(&self.selector);
        match &version {
            Some(version) => query.add("resourceVersion", version),
            // Without a version the list is as fresh as etcd is, never an old cache of a restarted server.
            None => {
                query.add("sendInitialEvents", "true");
                query.add("resourceVersionMatch", "NotOlderThan");
            }
        }
        let lease = self.client.watches().lease().map_err(Doubt::Connection)?;
        let opening = self.client.open_watch(&lease.connection, Ask::get(query.url));
        let response = match tokio::time::timeout(SILENCE_LIMIT, opening).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Doubt::from_opening(error, version.is_none())),
            Err(_) => return Err(Doubt::Silence),
        };
        if self.backoff.has_failed() {
            self.client.watches().heard_again();
        }
        Ok(Reading {
            body: response.into_body(),
            lines: Lines::default(),
            progress: Progress { listing: version.is_none(), version: version.unwrap_or_default() },
            opened: Instant::now(),
            closes: Instant::now() + seconds + OVERTIME,
            lease,
        })
    }
}

/// Why what was known may no longer hold.
#[derive(Debug, thiserror::Error)]
enum Doubt {
    #[error("the server does not list by streaming")]
    NoStreaming,
    #[error("the list expired while it was read")]
    PageExpired,
    #[error("{}", in_one_line(.0))]
    Request(RequestError),
    #[error("{0}")]
    Refused(Box<Refusal>),
    #[error("could not open a connection: {0}")]
    Connection(Box<dyn std::error::Error + Send + Sync>),
    #[error("the watch broke: {0}")]
    Broken(String),
    #[error("the server stopped answering")]
    Unanswered(Duration),
    #[error("the watch fell silent")]
    Silence,
    #[error("could not read an event of the watch: {0}")]
    Unreadable(String),
}

impl Doubt {
    fn from_opening(error: RequestError, as_list: bool) -> Self {
        match error.refusal() {
            // 422 from a server that knows the question and has it switched off, 400 from others.
            Some(refusal) if as_list && matches!(refusal.code, 400 | 422) => Self::NoStreaming,
            _ => Self::Request(error),
        }
    }

    fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Request(error) => error.refusal(),
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    fn kind_is_gone(&self) -> bool {
        self.refusal().is_some_and(|it| it.code == 404)
    }

    fn is_forbidden(&self) -> bool {
        self.refusal().is_some_and(|it| it.code == 403)
    }

    /// Is it useless to ask again soon?
    fn needs_change(&self) -> bool {
        self.refusal().is_some_and(|it| {
            it.code != 410
                && matches!(it.disposition(), Disposition::WaitForUser | Disposition::WaitForChange)
        })
    }
}

enum Told {
    Event(RawEvent),
    /// The server closed the stream in order; all up to this version has been told.
    End(String),
}

impl Reading {
    async fn next_event(&mut self) -> Result<Told, Doubt> {
        loop {
            while let Some(line) = self.lines.next() {
                if let Some(event) = self.progress.read(&line)? {
                    return Ok(Told::Event(event));
                }
            }
            let patience = Instant::now() + SILENCE_LIMIT;
            let listing = self.progress.listing;
            let until = if listing { self.closes.min(patience) } else { self.closes };
            let frame = match tokio::time::timeout_at(until, self.body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    let broken = || Doubt::Broken(in_one_line(&error));
                    return Err(self.lease.silence().map_or_else(broken, Doubt::Unanswered));
                }
                Ok(None) if listing => {
                    return Err(Doubt::Broken("the server closed it during the list".into()));
                }
                Ok(None) if self.opened.elapsed() < SHORTEST => {
                    return Err(Doubt::Broken("the server closed it at once".into()));
                }
                Ok(None) => return Ok(Told::End(std::mem::take(&mut self.progress.version))),
                // A server that ignores the question for a list sends changes only.
                Err(_) if listing => return Err(Doubt::NoStreaming),
                Err(_) => return Err(Doubt::Silence),
            };
            if let Ok(data) = frame.into_data() {
                self.lines.push(&data).map_err(|error| Doubt::Unreadable(error.to_string()))?;
            }
        }
    }
}

/// How far a stream has come.
#[derive(Debug, Default)]
struct Progress {
    /// Still the list at the head of the stream?
    listing: bool,
    /// Everything up to this version has been told.
    version: String,
}

impl Progress {
    fn read(&mut self, line: &Bytes) -> Result<Option<RawEvent>, Doubt> {
        let unreadable = |error: serde_json::Error| Doubt::Unreadable(error.to_string());
        let event: Line<'_> = serde_json::from_slice(line).map_err(unreadable)?;
        if event.event == "ERROR" {
            let refusal: Refusal = serde_json::from_str(event.object.get()).map_err(unreadable)?;
            return Err(Doubt::Refused(Box::new(refusal)));
        }
        let versioned: Versioned<'_> =
            serde_json::from_str(event.object.get()).map_err(unreadable)?;
        self.version.clear();
        self.version.push_str(&versioned.metadata.resource_version);
        let object = line.slice_ref(event.object.get().as_bytes());
        match event.event.as_ref() {
            "ADDED" | "MODIFIED" => Ok(Some(RawEvent::Applied(object))),
            "DELETED" => Ok(Some(RawEvent::Deleted(object))),
            "BOOKMARK" if self.listing && versioned.metadata.ends_the_list() => {
                self.listing = false;
                Ok(Some(RawEvent::Synced(self.version.clone())))
            }
            _ => Ok(None),
        }
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    metadata: VersionedMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMeta<'a> {
    #[serde(borrow)]
    resource_version: Cow<'a, str>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
}

impl VersionedMeta<'_> {
    fn ends_the_list(&self) -> bool {
        #[derive(Deserialize)]
        struct Marks {
            #[serde(rename = "k8s.io/initial-events-end", default)]
            end: String,
        }
        let marks = self.annotations.map(|it| serde_json::from_str::<Marks>(it.get()));
        marks.is_some_and(|it| it.is_ok_and(|it| it.end == "true"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads lines of a stream that begins with a list; each becomes a word.
    #[track_caller]
    fn check(lines: &[&str], expect: &[&str]) -> Progress {
        let mut progress = Progress { listing: true, version: String::new() };
        let word = |line: &&str| match progress.read(&Bytes::from((*line).to_owned())) {
            Ok(Some(RawEvent::Applied(object))) => format!("applied {}", object.len()),
            Ok(Some(RawEvent::Deleted(object))) => format!("deleted {}", object.len()),
            Ok(Some(RawEvent::Synced(version))) => format!("synced {version}"),
            Ok(Some(other)) => format!("{other:?}"),
            Ok(None) => "nothing".to_owned(),
            Err(doubt) => format!("doubt: {doubt}; needs change: {}", doubt.needs_change()),
        };
        let words: Vec<String> = lines.iter().map(word).collect();
        assert_eq!(words, expect);
        progress
    }

    const END: &str = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
    const BOOKMARK: &str = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}"#;
    const ADDED: &str = r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"3"}}}"#;
    const DELETED: &str = r#"{"type":"DELETED","object":{"metadata":{"resourceVersion":"11"}}}"#;

    #[test]
    fn a_marked_bookmark_ends_the_list_and_others_move_the_version_on() {
        let words = ["applied 36", "synced 9", "deleted 37", "nothing"];
        let progress = check(&[ADDED, END, DELETED, BOOKMARK], &words);
        assert_eq!((progress.listing, progress.version.as_str()), (false, "12"));
    }

    #[test]
    fn an_expired_version_is_a_doubt_that_only_a_new_list_settles() {
        let expired = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version: 1 (2)"}}"#;
        check(&[expired], &["doubt: too old resource version: 1 (2); needs change: false"]);
    }

    #[test]
    fn what_is_no_event_is_a_doubt() {
        check(
            &["{}"],
            &[
                "doubt: could not read an event of the watch: missing field `type` at line 1 column 2; needs change: false",
            ],
        );
    }

    #[test]
    fn a_server_that_does_not_stream_lists_is_told_by_its_refusal() {
        let refused = |code| RequestError::Refused {
            request: "GET /x".into(),
            source: Box::new(Refusal { code, ..Refusal::default() }),
        };
        assert!(matches!(Doubt::from_opening(refused(422), true), Doubt::NoStreaming));
        assert!(matches!(Doubt::from_opening(refused(422), false), Doubt::Request(_)));
        assert!(matches!(Doubt::from_opening(refused(403), true), Doubt::Request(_)));
        assert!(Doubt::from_opening(refused(404), true).kind_is_gone());
    }
}
