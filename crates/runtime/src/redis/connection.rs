//! The one connection that all requests share, made when it is needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, IntoConnectionInfo as _,
    RedisConnectionInfo, RedisResult, TlsCertificates, TlsMode,
};

use super::{PATIENCE, RedisError, RedisOptions};

/// How long a server that does not answer is left alone.
const PAUSE: Duration = Duration::from_secs(2);
const PORT: u16 = 6379;

type Attempt = Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisError>>>;

/// The way to a server.
pub(crate) struct Line {
    pub(crate) options: RedisOptions,
    state: Arc<Mutex<State>>,
}

enum State {
    /// Nobody asked yet, or the connection broke.
    Idle,
    Connecting(Attempt),
    Connected(MultiplexedConnection),
    /// It did not answer; nobody waits for it before this moment.
    Away(Instant),
}

impl Line {
    pub(crate) fn new(options: RedisOptions) -> Self {
        Self { options, state: Arc::new(Mutex::new(State::Idle)) }
    }

    /// The connection; everyone who asks while it is made waits for the same.
    pub(crate) async fn connection(&self) -> Result<MultiplexedConnection, RedisError> {
        let attempt = {
            let mut state = lock(&self.state);
            match &*state {
                State::Connected(connection) => return Ok(connection.clone()),
                State::Connecting(attempt) => attempt.clone(),
                State::Away(until) if Instant::now() < *until => {
                    return Err(RedisError::Away { place: self.options.place() });
                }
                State::Idle | State::Away(_) => {
                    let attempt = self.attempt();
                    *state = State::Connecting(attempt.clone());
                    attempt
                }
            }
        };
        attempt.await
    }

    /// What the connection was asked failed in a way that it cannot recover from.
    pub(crate) fn broke(&self) {
        *lock(&self.state) = State::Away(Instant::now() + PAUSE);
    }

    /// A connection that only listens.
    pub(crate) async fn listening(&self) -> Result<PubSub, RedisError> {
        let connected = tokio::time::timeout(PATIENCE, async {
            client(&self.options).await?.get_async_pubsub().await
        });
        self.settled(connected.await)
    }

    fn attempt(&self) -> Attempt {
        let (options, state) = (self.options.clone(), Arc::clone(&self.state));
        async move {
            let line = Self { options, state };
            let connected = tokio::time::timeout(PATIENCE, connect(&line.options)).await;
            let settled = line.settled(connected);
            *lock(&line.state) = match &settled {
                Ok(connection) => State::Connected(connection.clone()),
                Err(error) => {
                    tracing::warn!(error = %crate::Chain(error), "Redis is away");
                    State::Away(Instant::now() + PAUSE)
                }
            };
            settled
        }
        .boxed()
        .shared()
    }

    fn settled<T>(
        &self,
        connected: Result<RedisResult<T>, tokio::time::error::Elapsed>,
    ) -> Result<T, RedisError> {
        let place = || self.options.place();
        match connected {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(source)) => Err(RedisError::Connect { place: place(), source }),
            Err(_) => Err(RedisError::Away { place: place() }),
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn connect(options: &RedisOptions) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    client(options).await?.get_multiplexed_async_connection_with_config(&config).await
}

async fn client(options: &RedisOptions) -> RedisResult<Client> {
    if !options.sentinels.is_empty() {
        return master(options).await;
    }
    let mut login = RedisConnectionInfo::default().set_db(options.database);
    if !options.username.is_empty() {
        login = login.set_username(&options.username);
    }
    if !options.password.is_empty() {
        login = login.set_password(&options.password);
    }
    let info = address(&options.address, options).into_connection_info()?.set_redis_settings(login);
    match certificates(options) {
        Some(certificates) => Client::build_with_tls(info, certificates),
        None => Client::open(info),
    }
}

/// The server that sentinels say is the one to write to.
async fn master(options: &RedisOptions) -> RedisResult<Client> {
    let sentinels = options.sentinels.iter().map(|it| address(it, options));
    let kind = SentinelServerType::Master;
    let mut builder = SentinelClientBuilder::new(sentinels, &options.sentinel_master, kind)?
        .set_client_to_redis_db(options.database);
    if !options.username.is_empty() {
        builder = builder.set_client_to_redis_username(&options.username);
    }
    if !options.password.is_empty() {
        builder = builder.set_client_to_redis_password(&options.password);
    }
    if !options.sentinel_username.is_empty() {
        builder = builder.set_client_to_sentinel_username(&options.sentinel_username);
    }
    if !options.sentinel_password.is_empty() {
        builder = builder.set_client_to_sentinel_password(&options.sentinel_password);
    }
    if let Some(tls) = &options.tls {
        let mode = if tls.insecure { TlsMode::Insecure } else { TlsMode::Secure };
        builder = builder.set_client_to_redis_tls_mode(mode).set_client_to_sentinel_tls_mode(mode);
    }
    if let Some(certificates) = certificates(options) {
        builder = builder
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_certificates(certificates);
    }
    builder.build()?.async_get_client().await
}

fn certificates(options: &RedisOptions) -> Option<TlsCertificates> {
    let tls = options.tls.as_ref()?;
    let client_tls = tls.client.clone();
    let client_tls =
        client_tls.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
    Some(TlsCertificates { client_tls, root_cert: tls.authority.clone() })
}

fn address(text: &str, options: &RedisOptions) -> ConnectionAddr {
    let (host, port) = match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
        Some((host, Ok(port))) => (host, port),
        _ => (text, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    match &options.tls {
        None => ConnectionAddr::Tcp(host, port),
        Some(tls) => {
            ConnectionAddr::TcpTls { host, port, insecure: tls.insecure, tls_params: None }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_the_port() {
        let options = RedisOptions::default();
        let read = |text: &str| address(text, &options);
        assert_eq!(read("redis:1234"), ConnectionAddr::Tcp("redis".to_owned(), 1234));
        assert_eq!(read("redis"), ConnectionAddr::Tcp("redis".to_owned(), PORT));
        assert_eq!(read("[::1]:1"), ConnectionAddr::Tcp("::1".to_owned(), 1));
    }

    #[test]
    fn passwords_are_never_shown() {
        let options = RedisOptions { password: "s3cret".into(), ..RedisOptions::at("redis:6379") };
        assert_eq!(format!("{options:?}"), "RedisOptions(redis:6379, database 0)");
    }
}
