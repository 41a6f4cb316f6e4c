//! Manifests shared in a real Redis.

#![expect(clippy::print_stdout, reason = "a missing redis-server is a notice, not a failure")]

use std::sync::Arc;
use std::time::Duration;

use api::ApplicationSource;
use prometheus_client::registry::Registry;
use repo_server::client::{ClientOptions, RepoClient};
use repo_server::service::{RepoService, ServiceOptions};
use repo_server::{Options, RepoServer};
use runtime::Shutdown;
use runtime::redis::{Redis, RedisOptions};
use testkit::git::Repo;
use testkit::redis::RedisServer;
use wire::message::repo_server::{ManifestRequest, path};
use wire::message::repository::{ManifestResponse, Repository};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: one}\n";

struct Running {
    client: RepoClient,
    server: RepoServer,
    shutdown: Shutdown,
    _data: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

/// A repo server of its own that shares.
async fn start(redis: &RedisServer) -> Running {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    let mut registry = Registry::default();
    let options = RedisOptions { password: "s3cret".into(), ..RedisOptions::at(redis.address()) };
    let redis = Redis::new(options, "argocd-repo-server", &mut registry);
    let service = RepoService::new(server.clone(), ServiceOptions::default(), &mut registry);
    let service = Arc::new(service.sharing(redis, Duration::from_secs(3600)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let shutdown = Shutdown::new();
    let ends = shutdown.clone();
    tokio::spawn(async move { service.run(listener, &ends).await.expect("it serves") });
    let options = ClientOptions { address, tls: None, timeout: Duration::from_secs(60) };
    let client = RepoClient::new(options).expect("a client");
    Running { client, server, shutdown, _data: data }
}

impl Running {
    async fn ask(&self, repo: &Repo, no_cache: bool) -> ManifestResponse {
        let source = ApplicationSource {
            repo_url: repo.file_url(),
            path: "app".to_owned(),
            ..ApplicationSource::default()
        };
        let asked = ManifestRequest {
            repo: Some(Repository { repo: repo.file_url(), ..Repository::default() }),
            revision: "HEAD".to_owned(),
            app_name: "guestbook".to_owned(),
            namespace: "web".to_owned(),
            application_source: Some(source),
            no_cache,
            ..ManifestRequest::default()
        };
        self.client.ask(path::GENERATE_MANIFEST, asked, None).await.expect("manifests")
    }
}

#[tokio::test]
async fn another_repo_server_finds_what_the_first_rendered() {
    let Some(mut redis) = RedisServer::start("s3cret") else {
        println!("NOTICE: there is no redis-server here, sharing manifests is not tested");
        return;
    };
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let first = start(&redis).await;
    let answer = first.ask(&repo, false).await;
    assert_eq!(first.server.stats().renders, 1);
    let second = start(&redis).await;
    assert_eq!(second.ask(&repo, false).await, answer);
    assert_eq!(second.server.stats().renders, 0, "it came from Redis");
    assert_eq!(second.ask(&repo, true).await, answer);
    assert_eq!(second.server.stats().renders, 1, "a hard refresh does not trust it");
    redis.stop();
    let third = start(&redis).await;
    assert_eq!(third.ask(&repo, false).await, answer, "without Redis it takes longer, no more");
    assert_eq!(third.server.stats().renders, 1);
}
