//! Where Redis is, in Argo CD's flags and variables. Without `--redis` there is none,
//! and none is needed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use controller::Publishing;
use prometheus_client::registry::Registry;
use runtime::redis::{Compression, Redis, RedisOptions, RedisTls};

use crate::controller_flags::duration;

/// Flags and variables keep Argo CD's names.
#[derive(Args)]
pub(crate) struct RedisFlags {
    /// Tell readers in other processes through the Redis at this `host:port`; empty for none
    #[arg(long, env = "REDIS_SERVER", default_value = "")]
    redis: String,
    /// The number of Redis' database
    #[arg(long, env = "REDISDB", default_value_t = 0)]
    redisdb: i64,
    /// How values are stored
    #[arg(long, env = "REDIS_COMPRESSION", default_value = "gzip")]
    redis_compress: Compress,
    /// Reach Redis by TLS
    #[arg(long)]
    redis_use_tls: bool,
    /// Trust any certificate of Redis
    #[arg(long)]
    redis_insecure_skip_tls_verify: bool,
    /// Whom to trust as Redis' authority (a PEM file)
    #[arg(long)]
    redis_ca_certificate: Option<PathBuf>,
    /// Our certificate to Redis (a PEM file)
    #[arg(long, requires = "redis_client_key")]
    redis_client_certificate: Option<PathBuf>,
    /// The key of our certificate to Redis (a PEM file)
    #[arg(long, requires = "redis_client_certificate")]
    redis_client_key: Option<PathBuf>,
    /// Sentinels that know where Redis is, instead of --redis
    #[arg(long, env = "REDIS_SENTINEL_HOSTS", value_delimiter = ',')]
    sentinel: Vec<String>,
    /// What sentinels call the server
    #[arg(long, env = "REDIS_SENTINEL_MASTER", default_value = "master")]
    sentinelmaster: String,
    #[arg(long, env = "REDIS_USERNAME", default_value = "", hide = true)]
    redis_username: String,
    #[arg(long, env = "REDIS_PASSWORD", default_value = "", hide = true, hide_env_values = true)]
    redis_password: String,
    #[arg(long, env = "REDIS_SENTINEL_USERNAME", default_value = "", hide = true)]
    sentinel_username: String,
    #[arg(
        long,
        env = "REDIS_SENTINEL_PASSWORD",
        default_value = "",
        hide = true,
        hide_env_values = true
    )]
    sentinel_password: String,
    #[arg(long, env = "ARGOCD_REDIS_KEY_PREFIX", default_value = "", hide = true)]
    redis_key_prefix: String,
    /// How long the state of Applications is kept in Redis
    #[arg(
        long,
        env = "ARGOCD_APP_STATE_CACHE_EXPIRATION",
        default_value = "1h",
        value_parser = duration
    )]
    app_state_cache_expiration: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
enum Compress {
    Gzip,
    None,
}

impl RedisFlags {
    /// Where the controller publishes, if anywhere.
    pub(crate) fn publishing(&self, registry: &mut Registry) -> anyhow::Result<Option<Publishing>> {
        let options = self.options()?;
        Ok(options.is_configured().then(|| Publishing {
            redis: Redis::new(options, "argocd-application-controller", registry),
            expires: self.app_state_cache_expiration.max(Duration::from_secs(1)),
        }))
    }

    fn options(&self) -> anyhow::Result<RedisOptions> {
        let given = |texts: &[String]| -> Vec<String> {
            let texts = texts.iter().map(|it| it.trim().to_owned());
            texts.filter(|it| !it.is_empty()).collect()
        };
        Ok(RedisOptions {
            address: self.redis.trim().to_owned(),
            sentinels: given(&self.sentinel),
            sentinel_master: self.sentinelmaster.clone(),
            sentinel_username: self.sentinel_username.clone(),
            sentinel_password: self.sentinel_password.clone(),
            database: self.redisdb,
            username: self.redis_username.clone(),
            password: self.redis_password.clone(),
            tls: self.redis_use_tls.then(|| self.tls()).transpose()?,
            compression: match self.redis_compress {
                Compress::Gzip => Compression::Gzip,
                Compress::None => Compression::None,
            },
            key_prefix: self.redis_key_prefix.clone(),
        })
    }

    fn tls(&self) -> anyhow::Result<RedisTls> {
        let client = match (&self.redis_client_certificate, &self.redis_client_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        Ok(RedisTls {
            insecure: self.redis_insecure_skip_tls_verify,
            authority: self.redis_ca_certificate.as_deref().map(read).transpose()?,
            client,
        })
    }
}

fn read(path: impl AsRef<Path>) -> anyhow::Result<Vec<u8>> {
    let path = path.as_ref();
    std::fs::read(path).with_context(|| format!("could not read {} for Redis", path.display()))
}
