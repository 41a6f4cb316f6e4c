//! The Redis client against a real redis-server.

#![expect(clippy::print_stdout, reason = "a missing redis-server is a notice, not a failure")]

use std::time::Duration;

use futures::StreamExt as _;
use prometheus_client::registry::Registry;
use runtime::redis::{Compression, Redis, RedisError, RedisOptions};
use testkit::redis::RedisServer;

const HOUR: Duration = Duration::from_secs(3600);

fn server() -> Option<RedisServer> {
    let server = RedisServer::start("s3cret");
    if server.is_none() {
        println!("NOTICE: there is no redis-server here, Redis is not tested");
    }
    server
}

fn options(server: &RedisServer) -> RedisOptions {
    RedisOptions { password: "s3cret".to_owned(), ..RedisOptions::at(server.address()) }
}

fn connected(options: RedisOptions) -> Redis {
    Redis::new(options, "argocd-test", &mut Registry::default())
}

#[tokio::test]
async fn values_are_set_moved_and_forgotten() {
    let Some(server) = server() else { return };
    let redis = connected(options(&server));
    assert_eq!(redis.get("a|1.8.3").await.expect("Redis answers"), None);
    redis.set("a|1.8.3", b"{}\n", HOUR).await.expect("Redis answers");
    assert_eq!(redis.get("a|1.8.3").await.expect("Redis answers").as_deref(), Some(&b"{}\n"[..]));
    assert!(!redis.set_if_absent("a|1.8.3", b"other", HOUR).await.expect("Redis answers"));
    assert!(redis.rename("a|1.8.3", "b|1.8.3").await.expect("Redis answers"));
    assert!(
        !redis.rename("a|1.8.3", "b|1.8.3").await.expect("Redis answers"),
        "there is nothing to move"
    );
    redis.delete("b|1.8.3").await.expect("Redis answers");
    assert!(redis.set_if_absent("b|1.8.3", b"other", HOUR).await.expect("Redis answers"));
}

#[tokio::test]
async fn keys_and_values_are_stored_as_argo_cd_does() {
    let Some(server) = server() else { return };
    let redis = connected(options(&server));
    redis.set("app|x|1.8.3", b"{}\n", HOUR).await.expect("Redis answers");
    let plain = connected(RedisOptions { compression: Compression::None, ..options(&server) });
    let stored =
        plain.get("app|x|1.8.3.gz").await.expect("Redis answers").expect("the key has its ending");
    assert_eq!(stored[..2], [0x1f, 0x8b], "gzip");
    let told = connected(RedisOptions { key_prefix: "app|".to_owned(), ..options(&server) });
    assert!(
        told.get("x|1.8.3").await.expect("Redis answers").is_some(),
        "the prefix is part of the key"
    );
    plain.set("broken.gz", b"not gzip", HOUR).await.expect("Redis answers");
    assert!(matches!(redis.get("broken").await, Err(RedisError::Value { .. })));
}

#[tokio::test]
async fn news_reaches_who_listens() {
    let Some(server) = server() else { return };
    let redis = connected(options(&server));
    let mut news = redis.listen("app|resources-tree|x").await.expect("Redis answers");
    redis.publish("app|resources-tree|x").await.expect("Redis answers");
    news.next().await.expect("news");
}

#[tokio::test]
async fn a_server_that_is_away_fails_at_once_and_is_found_again() {
    let Some(mut server) = server() else { return };
    let redis = connected(options(&server));
    redis.set("a", b"1", HOUR).await.expect("Redis answers");
    server.stop();
    assert!(redis.get("a").await.is_err());
    assert!(matches!(redis.get("a").await, Err(RedisError::Away { .. })), "nobody waits for it");
    server.restart();
    let found = async {
        loop {
            match redis.get("a").await {
                Ok(value) => return value,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), found).await;
    assert_eq!(found.expect("it is asked again"), None, "what it held is lost");
}

#[tokio::test]
async fn a_wrong_password_is_told_without_the_password() {
    let Some(server) = server() else { return };
    let redis = connected(RedisOptions { password: "wr0ng".to_owned(), ..options(&server) });
    let error = redis.get("a").await.expect_err("nobody gets in");
    let told = runtime::Chain(&error).to_string();
    assert!(told.starts_with("could not connect to Redis at 127.0.0.1:"), "{told}");
    assert!(!told.contains("wr0ng") && !format!("{error:?}").contains("wr0ng"), "{told}");
}
