//! Failures for reasons outside of a source's files: tried again, then left
//! alone for a while.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{Freshness, ManifestQuery, Options, RepoServer, TargetRevision};
use serde_json::json;
use testkit::git::Repo;

/// A server of one value file, which may be broken.
struct Values {
    url: String,
    is_broken: Arc<AtomicBool>,
}

impl Values {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/values.yaml", listener.local_addr().expect("an address"));
        let is_broken = Arc::new(AtomicBool::new(true));
        let broken = Arc::clone(&is_broken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let mut request = [0; 4096];
                if stream.read(&mut request).unwrap_or(0) == 0 {
                    continue;
                }
                let (status, body) = match broken.load(Ordering::SeqCst) {
                    true => ("503 Service Unavailable", ""),
                    false => ("200 OK", "shown: there"),
                };
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )
                .ok();
            }
        });
        Self { url, is_broken }
    }
}

struct Chart {
    server: RepoServer,
    query: ManifestQuery,
    values: Values,
    _repo: Repo,
    _data: tempfile::TempDir,
}

fn chart() -> Chart {
    repo_server::install_crypto_provider();
    let repo = Repo::new();
    repo.commit(&[
        ("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        (
            "web/templates/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '{{ .Values.shown }}'}\n",
        ),
    ]);
    let values = Values::serve();
    let data = tempfile::tempdir().expect("a folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    let helm = json!({"valueFiles": [values.url]});
    let query = ManifestQuery {
        source: ApplicationSource {
            repo_url: repo.file_url(),
            path: "web".to_owned(),
            helm: serde_json::from_value(helm).expect("parameters"),
            ..ApplicationSource::default()
        },
        revision: TargetRevision::default(),
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        source_repos: repo_server::SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    };
    Chart { server, query, values, _repo: repo, _data: data }
}

impl Chart {
    async fn error(&self) -> String {
        self.server.manifests(self.query.clone()).await.expect_err("it is broken").to_string()
    }
}

#[tokio::test]
async fn a_failure_of_another_server_is_tried_again() {
    let chart = chart();
    assert!(chart.error().await.starts_with("could not render web"));
    chart.values.is_broken.store(false, Ordering::SeqCst);
    let rendered = chart.server.manifests(chart.query.clone()).await.expect("it is mended");
    assert!(rendered.manifests().next().is_some_and(|it| it.contains("there")));
}

#[tokio::test]
async fn after_three_failures_it_is_left_alone_until_a_hard_refresh() {
    let chart = chart();
    for _ in 0..3 {
        assert!(chart.error().await.starts_with("could not render web"));
    }
    let told = chart.error().await;
    assert!(told.starts_with("Manifest generation error (cached): could not render web"), "{told}");
    chart.values.is_broken.store(false, Ordering::SeqCst);
    assert!(chart.error().await.starts_with("Manifest generation error (cached)"));
    assert_eq!(chart.server.stats().renders, 3);
    let hard = ManifestQuery { ignore_cache: true, ..chart.query.clone() };
    chart.server.manifests(hard).await.expect("a hard refresh tries");
    chart.server.manifests(chart.query.clone()).await.expect("and all is well");
}
