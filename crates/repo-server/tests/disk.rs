//! Results that outlive the process, also one that is killed, and a disk that
//! is full.

#![expect(clippy::print_stdout, reason = "a machine without mounts is a notice, not a failure")]

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
    query_at(&repo.file_url(), path)
}

fn query_at(url: &str, path: &str) -> ManifestQuery {
    ManifestQuery {
        source: ApplicationSource {
            repo_url: url.to_owned(),
            path: path.to_owned(),
            ..ApplicationSource::default()
        },
        revision: TargetRevision::default(),
        refs: Vec::new(),
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        source_repos: repo_server::SourceRepos::all(),
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

/// Sources with a few hundred kilobytes each that hardly weigh in git.
fn large(count: usize) -> Repo {
    let repo = Repo::new();
    let files: Vec<(String, String)> = (0..count)
        .map(|number| {
            let text = format!("{number} ").repeat(40_000);
            (format!("app{number}/map.yaml"), MAP.replace("one", &text))
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, it)| (&**path, &**it)).collect();
    repo.commit(&files);
    repo
}

async fn asked(server: &RepoServer, url: &str, number: usize) -> Vec<String> {
    texts(server, query_at(url, &format!("app{number}"))).await
}

const KILLED: usize = 12;
const CHILD: &str = "ARGOSY_TEST_DISK_CHILD";

/// Renders and writes until it is killed: not a test but the process that
/// `a_process_that_is_killed_leaves_nothing_wrong` starts.
#[tokio::test]
async fn child_that_is_killed() {
    let Some(told) = std::env::var_os(CHILD) else { return };
    let told = told.into_string().expect("text");
    let (data, url) = told.split_once('|').expect("a folder and an address");
    let server = open(Path::new(data));
    loop {
        for number in 0..KILLED {
            let query = query_at(url, &format!("app{number}"));
            let again = ManifestQuery { ignore_cache: true, ..query };
            server.manifests(again).await.expect("manifests");
            println!("rendered");
        }
    }
}

#[tokio::test]
async fn a_process_that_is_killed_leaves_nothing_wrong() {
    use std::io::BufRead as _;
    let repo = large(KILLED);
    let (data, truth) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("one"));
    let right = open(truth.path());
    for after in [1, 5, 9, 14, 30] {
        let mut child = std::process::Command::new(std::env::current_exe().expect("ourselves"))
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env(CHILD, format!("{}|{}", data.path().display(), repo.file_url()))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the child starts");
        let lines = std::io::BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let rendered = lines.map_while(Result::ok).filter(|it| it.contains("rendered"));
        assert_eq!(rendered.take(after).count(), after, "it was at work");
        // SIGKILL, in the middle of what it was writing.
        child.kill().expect("it ends");
        child.wait().expect("it ended");
        let server = open(data.path());
        for number in 0..KILLED {
            let answer = asked(&server, &repo.file_url(), number).await;
            assert_eq!(answer, asked(&right, &repo.file_url(), number).await);
        }
    }
}

/// A folder of its own with so much room, while this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let option = format!("size={size}");
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &option, "tmpfs"])
            .arg(folder.path())
            .output();
        mount.is_ok_and(|it| it.status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        std::process::Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

#[tokio::test]
async fn a_full_disk_costs_time_and_nothing_else() {
    const SOURCES: usize = 40;
    let repo = large(SOURCES);
    let Some(disk) = SmallDisk::new("6m") else {
        println!("notice: this machine mounts no tmpfs for us, a full disk was not tried");
        assert!(std::env::var_os("CI").is_none(), "CI runs as root");
        return;
    };
    let truth = tempfile::tempdir().expect("a folder");
    let right = open(truth.path());
    for round in 0..2 {
        let server = open(disk.0.path());
        for number in 0..SOURCES {
            let answer = asked(&server, &repo.file_url(), number).await;
            assert_eq!(answer, asked(&right, &repo.file_url(), number).await, "round {round}");
        }
    }
    let filler = disk.0.path().join("filler");
    fs::write(&filler, vec![1; 8 << 20]).expect_err("the disk is full indeed");
}
