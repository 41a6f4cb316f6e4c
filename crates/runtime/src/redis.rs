//! Redis as Argo CD's processes use it: values under keys that expire, and
//! news on channels. Nothing is kept there that cannot be made again.
//!
//! [`Redis`] is a cheap handle. A value is bytes (Argo CD's are JSON), stored
//! compressed under a key with Argo CD's ending. A server that does not answer
//! is asked again after a pause, and until then every request fails at once:
//! losing Redis costs speed and nothing else.

mod compression;
mod connection;
mod metrics;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use prometheus_client::registry::Registry;
use redis::{Cmd, ErrorKind, FromRedisValue};

pub use compression::Compression;
use connection::Line;
use metrics::RedisMetrics;

/// Argo CD's format of what it caches, at the end of every key.
pub const CACHE_VERSION: &str = "1.8.3";

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// No value is larger, as it is stored and as it is used.
const MAX_VALUE: usize = 128 << 20;

/// Where Redis is and how it is used. Flags and variables are Argo CD's.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedisOptions {
    /// `host:port` (`--redis`).
    pub address: String,
    /// `host:port` of each (`--sentinel`); then `address` does not count.
    pub sentinels: Vec<String>,
    /// What sentinels call the server (`--sentinelmaster`).
    pub sentinel_master: String,
    /// For sentinels (`REDIS_SENTINEL_USERNAME`).
    pub sentinel_username: String,
    /// For sentinels (`REDIS_SENTINEL_PASSWORD`).
    pub sentinel_password: String,
    /// `--redisdb`.
    pub database: i64,
    /// `REDIS_USERNAME`.
    pub username: String,
    /// `REDIS_PASSWORD`.
    pub password: String,
    /// `--redis-use-tls` and what belongs to it.
    pub tls: Option<RedisTls>,
    /// `--redis-compress`.
    pub compression: Compression,
    /// What every key begins with (`ARGOCD_REDIS_KEY_PREFIX`).
    pub key_prefix: String,
}

/// How Redis is reached by TLS.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedisTls {
    /// Trust any certificate.
    pub insecure: bool,
    /// Whom to trust instead of the usual ones (PEM).
    pub authority: Option<Vec<u8>>,
    /// Our certificate and its key (PEM).
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

/// Shows where, and nothing of who.
impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisOptions({}, database {})", self.place(), self.database)
    }
}

impl RedisOptions {
    /// The server at an address, everything else as Argo CD has it.
    #[must_use]
    pub fn at(address: impl Into<String>) -> Self {
        let sentinel_master = "master".to_owned();
        Self { address: address.into(), sentinel_master, ..Self::default() }
    }

    /// Is there a server to ask?
    #[must_use]
    pub fn is_configured(&self) -> bool {
        !self.address.is_empty() || !self.sentinels.is_empty()
    }

    fn place(&self) -> String {
        if self.sentinels.is_empty() { self.address.clone() } else { self.sentinels.join(",") }
    }
}

/// Why Redis did not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedisError {
    /// There is no such server, or it does not let us in.
    #[error("could not connect to Redis at {place}; check --redis and REDIS_PASSWORD")]
    Connect {
        /// Its address.
        place: String,
        /// Why not.
        source: redis::RedisError,
    },
    /// It did not answer a short while ago and is left alone.
    #[error("Redis at {place} does not answer; it is asked again in a moment")]
    Away {
        /// Its address.
        place: String,
    },
    /// It answered with an error, or not in time.
    #[error("Redis did not do {command}")]
    Request {
        /// The command.
        command: &'static str,
        /// What it said.
        source: redis::RedisError,
    },
    /// No answer within the deadline.
    #[error("Redis did not answer {command} within {PATIENCE:?}")]
    Timeout {
        /// The command.
        command: &'static str,
    },
    /// What is stored there is none of ours, or too large.
    #[error("Redis holds something unreadable under {key}: {problem}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A Redis server. Clones share one connection.
#[derive(Clone)]
pub struct Redis {
    line: Arc<Line>,
    metrics: RedisMetrics,
}

impl Redis {
    /// Connects at the first request, and counts requests under Argo CD's names;
    /// `initiator` is the role, such as `argocd-repo-server`.
    #[must_use]
    pub fn new(options: RedisOptions, initiator: &str, registry: &mut Registry) -> Self {
        let metrics = RedisMetrics::register(initiator, registry);
        Self { line: Arc::new(Line::new(options)), metrics }
    }

    /// The value of a key, if there is one.
    ///
    /// # Errors
    /// When Redis does not answer, or holds something unreadable.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, RedisError> {
        let stored: Option<Vec<u8>> = self.run("get", redis::cmd("GET").arg(self.key(key))).await?;
        let Some(stored) = stored else { return Ok(None) };
        let value = self.line.options.compression.read(&stored, MAX_VALUE);
        let value = value.map_err(|problem| RedisError::Value { key: key.to_owned(), problem })?;
        Ok(Some(value))
    }

    /// Sets the value of a key, until it expires.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn set(&self, key: &str, value: &[u8], expires: Duration) -> Result<(), RedisError> {
        let stored = self.line.options.compression.write(value);
        let mut command = redis::cmd("SET");
        command.arg(self.key(key)).arg(stored).arg("PX").arg(milliseconds(expires));
        self.run("set", &command).await
    }

    /// Sets the value of a key that has none; says whether it did.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn set_if_absent(
        &self,
        key: &str,
        value: &[u8],
        expires: Duration,
    ) -> Result<bool, RedisError> {
        let stored = self.line.options.compression.write(value);
        let mut command = redis::cmd("SET");
        command.arg(self.key(key)).arg(stored).arg("NX").arg("PX").arg(milliseconds(expires));
        let done: Option<String> = self.run("set", &command).await?;
        Ok(done.is_some())
    }

    /// Moves a value to another key; says whether there was one.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn rename(&self, from: &str, to: &str) -> Result<bool, RedisError> {
        let mut command = redis::cmd("RENAME");
        command.arg(self.key(from)).arg(self.key(to));
        match self.run::<()>("rename", &command).await {
            Ok(()) => Ok(true),
            Err(RedisError::Request { source, .. }) if is_missing_key(&source) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Forgets a key.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn delete(&self, key: &str) -> Result<(), RedisError> {
        self.run("del", redis::cmd("DEL").arg(self.key(key))).await
    }

    /// Tells everyone who listens on a channel that there is news. Channels
    /// have neither prefix nor ending, as with Argo CD.
    ///
    /// # Errors
    /// When Redis does not answer.
    pub async fn publish(&self, channel: &str) -> Result<(), RedisError> {
        self.run("publish", redis::cmd("PUBLISH").arg(channel).arg("")).await
    }

    /// News on a channel until the connection breaks, over a connection of its own.
    ///
    /// # Errors
    /// When there is no connection to be had.
    pub async fn listen(
        &self,
        channel: &str,
    ) -> Result<impl Stream<Item = ()> + use<>, RedisError> {
        let mut listening = self.line.listening().await?;
        let subscribed = tokio::time::timeout(PATIENCE, listening.subscribe(channel)).await;
        subscribed
            .map_err(|_| RedisError::Timeout { command: "subscribe" })?
            .map_err(|source| RedisError::Request { command: "subscribe", source })?;
        let news: BoxStream<'static, ()> = listening.into_on_message().map(drop).boxed();
        Ok(news)
    }

    fn key(&self, key: &str) -> String {
        let RedisOptions { key_prefix, compression, .. } = &self.line.options;
        format!("{key_prefix}{key}{}", compression.ending())
    }

    async fn run<T: FromRedisValue>(
        &self,
        command: &'static str,
        request: &Cmd,
    ) -> Result<T, RedisError> {
        let began = Instant::now();
        let answer = self.ask(command, request).await;
        // A key that is not there is an answer.
        let failed = match &answer {
            Err(RedisError::Request { source, .. }) => !is_missing_key(source),
            Err(_) => true,
            Ok(_) => false,
        };
        self.metrics.count(command, failed, began.elapsed());
        answer
    }

    async fn ask<T: FromRedisValue>(
        &self,
        command: &'static str,
        request: &Cmd,
    ) -> Result<T, RedisError> {
        let mut connection = self.line.connection().await?;
        let answer = tokio::time::timeout(PATIENCE, request.query_async(&mut connection)).await;
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(source)) => {
                if source.is_connection_dropped() || source.is_io_error() || source.is_timeout() {
                    self.line.broke();
                }
                Err(RedisError::Request { command, source })
            }
            Err(_) => {
                self.line.broke();
                Err(RedisError::Timeout { command })
            }
        }
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis({})", self.line.options.place())
    }
}

/// Redis says so when there is nothing to rename.
fn is_missing_key(error: &redis::RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_)) && error.to_string().contains("no such key")
}

/// Redis refuses an expiration of nothing.
fn milliseconds(expires: Duration) -> u64 {
    u64::try_from(expires.as_millis()).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64 / 2)
}
