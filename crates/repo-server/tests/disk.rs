//! Results that outlive the process.

use std::fs;
use std::path::Path;

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, Options, RepoCredentials, RepoServer, TargetRevision,
};
use testkit::git::Repo;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: one}\n";

fn open(data: &Path) -> RepoServer {
    repo_server::install_crypto_provider();
    RepoServer::open(Options::new(data)).expect("a data directory")
}

fn query(repo: &Repo, path: &str) -> ManifestQuery {
    ManifestQuery {
        source: ApplicationSource {
            repo_url: repo.file_url(),
            path: path.to_owned(),
            ..ApplicationSource::default()
        },
        revision: TargetRevision::default(),
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        integrity: None,
        ignore_cache: false,
    }
}

async fn texts(server: &RepoServer, query: ManifestQuery) -> Vec<String> {
    let rendered = server.manifests(query).await.expect("manifests");
    rendered.manifests().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_restart_renders_nothing_again_and_a_new_commit_only_what_it_touches() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP), ("b/map.yaml", MAP)]);
    let data = tempfile::tempdir().expect("a folder");
    let server = open(data.path());
    let before = texts(&server, query(&repo, "a")).await;
    texts(&server, query(&repo, "b")).await;
    assert_eq!(server.stats().renders, 2);
    drop(server);
    let server = open(data.path());
    assert_eq!(texts(&server, query(&repo, "a")).await, before);
    assert_eq!((server.stats().renders, server.stats().cache_hits), (0, 1));
    repo.commit(&[("b/map.yaml", &MAP.replace("one", "two"))]);
    drop(server);
    let server = open(data.path());
    assert_eq!(texts(&server, query(&repo, "a")).await, before, "of an older commit");
    assert_eq!((server.stats().renders, server.stats().unchanged_hits), (0, 1));
    assert!(texts(&server, query(&repo, "b")).await[0].contains("two"));
    assert_eq!(server.stats().renders, 1);
}

#[tokio::test]
async fn a_hard_refresh_forgets_it_on_disk_too() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP)]);
    let data = tempfile::tempdir().expect("a folder");
    let server = open(data.path());
    texts(&server, query(&repo, "a")).await;
    texts(&server, ManifestQuery { ignore_cache: true, ..query(&repo, "a") }).await;
    assert_eq!(server.stats().renders, 2);
}

#[tokio::test]
async fn other_parameters_are_another_source() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP)]);
    let data = tempfile::tempdir().expect("a folder");
    texts(&open(data.path()), query(&repo, "a")).await;
    let server = open(data.path());
    let context = RenderContext::new("guestbook", "other");
    texts(&server, ManifestQuery { context, ..query(&repo, "a") }).await;
    assert_eq!(server.stats().renders, 1);
}

#[tokio::test]
async fn a_file_that_is_none_or_cannot_be_is_no_reason_to_fail() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP)]);
    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("rendered.redb");
    fs::write(&file, vec![7; 100_000]).expect("a file");
    texts(&open(data.path()), query(&repo, "a")).await;
    let server = open(data.path());
    texts(&server, query(&repo, "a")).await;
    assert_eq!(server.stats().renders, 0, "it was begun anew");
    drop(server);
    let other = tempfile::tempdir().expect("a folder");
    fs::create_dir(other.path().join("rendered.redb")).expect("a folder in the way");
    let server = open(other.path());
    assert_eq!(texts(&server, query(&repo, "a")).await.len(), 1);
}

#[tokio::test]
async fn entries_that_were_changed_on_disk_are_rendered_again() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP)]);
    let data = tempfile::tempdir().expect("a folder");
    let before = texts(&open(data.path()), query(&repo, "a")).await;
    let file = data.path().join("rendered.redb");
    let mut bytes = fs::read(&file).expect("the file");
    let word = b"ConfigMap";
    let found: Vec<usize> =
        (0..bytes.len() - word.len()).filter(|at| bytes[*at..].starts_with(word)).collect();
    assert!(!found.is_empty(), "the manifests are there");
    for at in found {
        bytes[at] = b'X';
    }
    fs::write(&file, bytes).expect("the file");
    let server = open(data.path());
    assert_eq!(texts(&server, query(&repo, "a")).await, before, "never what was tampered with");
    assert_eq!(server.stats().renders, 1);
}

#[tokio::test]
async fn the_disk_keeps_to_its_budget() {
    let repo = Repo::new();
    let big = MAP.replace("one", &"z".repeat(20_000));
    repo.commit(&[("a/map.yaml", &big), ("b/map.yaml", &big), ("c/map.yaml", &big)]);
    let data = tempfile::tempdir().expect("a folder");
    let options = || Options { disk_budget: 50_000, ..Options::new(data.path()) };
    let server = RepoServer::open(options()).expect("a data directory");
    for path in ["a", "b", "c"] {
        texts(&server, query(&repo, path)).await;
    }
    drop(server);
    let server = RepoServer::open(options()).expect("a data directory");
    texts(&server, query(&repo, "c")).await;
    assert_eq!(server.stats().renders, 0, "the newest is there");
    texts(&server, query(&repo, "a")).await;
    assert_eq!(server.stats().renders, 1, "the oldest is gone");
}

#[tokio::test]
async fn no_password_reaches_the_disk() {
    let repo = Repo::new();
    repo.commit(&[("a/map.yaml", MAP)]);
    let http = repo.serve_http();
    // user:s3cret-word
    http.require_authorization("Basic dXNlcjpzM2NyZXQtd29yZA==");
    let data = tempfile::tempdir().expect("a folder");
    let server = open(data.path());
    let credentials = RepoCredentials {
        username: "user".to_owned(),
        password: "s3cret-word".to_owned(),
        ..RepoCredentials::default()
    };
    server.set_credentials(CredentialBook {
        repositories: vec![(http.url(), credentials)],
        ..CredentialBook::default()
    });
    let mut asked = query(&repo, "a");
    asked.source.repo_url = http.url();
    texts(&server, asked).await;
    drop(server);
    let bytes = fs::read(data.path().join("rendered.redb")).expect("the file");
    let word = b"s3cret-word";
    assert!(!bytes.windows(word.len()).any(|it| it == word));
}
