//! Where Redis is: flags and variables that every role of Argo CD shares.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use runtime::redis::{Compression, RedisOptions, RedisTls};

/// Flags and variables keep Argo CD's names.
#[derive(Args)]
pub(crate) struct RedisFlags {
    /// The address of Redis (`host:port`); default: none is used
    #[arg(long, env = "REDIS_SERVER", default_value = "")]
    redis: String,
    /// The database of Redis
    #[arg(long, env = "REDISDB", default_value_t = 0)]
    redisdb: i64,
    /// How values are stored in Redis: gzip or none
    #[arg(long, env = "REDIS_COMPRESSION", default_value = "gzip")]
    redis_compress: Compression,
    /// Talk to Redis by TLS
    #[arg(long)]
    redis_use_tls: bool,
    /// Trust any certificate of Redis
    #[arg(long)]
    redis_insecure_skip_tls_verify: bool,
    /// Who vouches for the certificate of Redis
    #[arg(long)]
    redis_ca_certificate: Option<PathBuf>,
    /// Our certificate for Redis
    #[arg(long)]
    redis_client_certificate: Option<PathBuf>,
    /// The key of our certificate for Redis
    #[arg(long)]
    redis_client_key: Option<PathBuf>,
    /// The addresses of Redis sentinels
    #[arg(long, env = "REDIS_SENTINEL_HOSTS", value_delimiter = ',')]
    sentinel: Vec<String>,
    /// What sentinels call the server
    #[arg(long, env = "REDIS_SENTINEL_MASTER", default_value = "master")]
    sentinelmaster: String,
}

impl RedisFlags {
    /// Where Redis is, if there is one.
    pub(crate) fn options(&self) -> anyhow::Result<Option<RedisOptions>> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let read = |path: &PathBuf| {
            std::fs::read(path).with_context(|| format!("could not read {}", path.display()))
        };
        let client = match (&self.redis_client_certificate, &self.redis_client_key) {
            (Some(chain), Some(key)) => Some((read(chain)?, read(key)?)),
            _ => None,
        };
        let tls = RedisTls {
            insecure: self.redis_insecure_skip_tls_verify,
            authority: self.redis_ca_certificate.as_ref().map(read).transpose()?,
            client,
        };
        let sentinels = self.sentinel.iter().filter(|it| !it.is_empty());
        let options = RedisOptions {
            sentinels: sentinels.cloned().collect(),
            sentinel_master: self.sentinelmaster.clone(),
            sentinel_username: variable("REDIS_SENTINEL_USERNAME"),
            sentinel_password: variable("REDIS_SENTINEL_PASSWORD"),
            database: self.redisdb,
            username: variable("REDIS_USERNAME"),
            password: variable("REDIS_PASSWORD"),
            tls: self.redis_use_tls.then_some(tls),
            compression: self.redis_compress,
            key_prefix: variable("ARGOCD_REDIS_KEY_PREFIX"),
            ..RedisOptions::at(&self.redis)
        };
        Ok(Some(options).filter(RedisOptions::is_configured))
    }
}
