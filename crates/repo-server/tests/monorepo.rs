//! Two thousand applications in one repository: what a commit costs, counted.

use std::time::Instant;

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{Freshness, ManifestQuery, Options, RepoServer, StatsSnapshot, TargetRevision};
use testkit::git::Repo;

const APPLICATIONS: usize = 2_000;

/// Three files for each.
fn files() -> String {
    let mut stream =
        String::from("commit refs/heads/main\ncommitter a <a@example.com> 1 +0000\ndata 1\nx\n");
    for number in 0..APPLICATIONS {
        for (file, content) in [
            ("map.yaml", config_map(&format!("map{number}"))),
            ("other.yaml", config_map(&format!("other{number}"))),
            ("README.md", format!("This is {number}.")),
        ] {
            let length = content.len();
            stream.push_str(&format!(
                "M 644 inline apps/team{}/app{number}/{file}\ndata {length}\n{content}\n",
                number % 20
            ));
        }
    }
    stream
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  text: hello\n")
}

/// One poll of all applications; what it cost.
async fn poll(server: &RepoServer, url: &str) -> StatsSnapshot {
    let before = server.stats();
    let freshness = Freshness::NotBefore(Instant::now());
    let calls = (0..APPLICATIONS).map(|number| {
        let source = ApplicationSource {
            repo_url: url.to_owned(),
            path: format!("apps/team{}/app{number}", number % 20),
            ..ApplicationSource::default()
        };
        server.manifests(ManifestQuery {
            source,
            revision: TargetRevision::default(),
            refs: Vec::new(),
            freshness,
            context: RenderContext::new(format!("app{number}"), "web"),
            source_repos: repo_server::SourceRepos::all(),
            integrity: None,
            ignore_cache: false,
        })
    });
    for rendered in futures::future::join_all(calls).await {
        assert_eq!(rendered.expect("manifests").manifests().len(), 2);
    }
    let after = server.stats();
    let mut cost = after;
    cost.ls_remote.total -= before.ls_remote.total;
    cost.fetch.total -= before.fetch.total;
    cost.renders -= before.renders;
    cost
}

fn monorepo() -> Repo {
    repo_server::install_crypto_provider();
    let repo = Repo::new();
    repo.fast_import(files().as_bytes());
    repo.git(["reset", "--quiet", "--hard"]);
    repo
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_is_fetched_once_and_concerns_those_who_read_what_changed() {
    let repo = monorepo();
    let http = repo.serve_http();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    let source = ApplicationSource { repo_url: http.url(), ..ApplicationSource::default() };
    let first = poll(&server, &http.url()).await;
    assert_eq!(first.renders, 2_000);
    let old = repo.git(["rev-parse", "HEAD"]);
    let push = async || {
        let before = server.stats();
        let moved = server.moved(&source, "", Freshness::Latest).await.expect("a commit");
        let after = server.stats();
        let requests = (
            after.ls_remote.total - before.ls_remote.total,
            after.fetch.total - before.fetch.total,
        );
        assert_eq!(after.renders, before.renders, "nothing is rendered to find out");
        let touched: Vec<String> = moved.touched.into_iter().collect();
        (requests, touched, moved.untouched.len())
    };
    repo.commit(&[("apps/team7/app7/map.yaml", &config_map("changed"))]);
    assert_eq!(push().await, ((1, 1), vec!["app7".to_owned()], 1_999));
    let since = repo_server::CommitSha::parse(old.trim()).expect("a commit");
    let lists = [vec!["apps/team7".to_owned()], vec!["apps/team8".to_owned()]];
    let touched = server.touched(&source, "", &since, &lists, Freshness::Latest).await;
    assert_eq!(touched.expect("a comparison"), Some(vec![true, false]));
    let before = server.stats();
    let cost = poll(&server, &http.url()).await;
    assert_eq!((cost.fetch.total, cost.renders), (0, 1), "all refreshed: one is rendered");
    let after = server.stats();
    assert_eq!(after.unchanged_hits, before.unchanged_hits, "the others had moved on already");
    repo.commit(&[("README.md", "nobody reads it")]);
    assert_eq!(push().await, ((1, 1), Vec::new(), 2_000));
    assert_eq!(push().await, ((1, 0), Vec::new(), 2_000), "no news");
    let cost = poll(&server, &http.url()).await;
    assert_eq!((cost.fetch.total, cost.renders), (0, 0), "all refreshed: none is rendered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_costs_what_it_touches() {
    let repo = monorepo();
    let http = repo.serve_http();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    let url = http.url();
    let cost = async || {
        let cost = poll(&server, &url).await;
        (cost.ls_remote.total, cost.fetch.total, cost.renders)
    };
    assert_eq!(cost().await, (1, 1, 2_000), "the first time");
    assert_eq!(cost().await, (1, 0, 0), "no news");
    repo.commit(&[("apps/team7/app7/map.yaml", &config_map("changed"))]);
    assert_eq!(cost().await, (1, 1, 1), "one directory");
    repo.commit(&[("README.md", "nobody reads it")]);
    assert_eq!(cost().await, (1, 1, 0), "none of them");
    repo.commit(&[("apps/team7/app7/README.md", "beside what is read")]);
    assert_eq!(cost().await, (1, 1, 0), "a file that no render reads");
}
