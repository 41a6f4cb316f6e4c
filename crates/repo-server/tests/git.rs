//! The repo server against real git repositories, as files and over HTTP.

mod common;

use std::time::Instant;

use common::{Server, chain, config_map, query};
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, RepoCredentials, RepoUrl, TargetRevision,
};
use testkit::git::Repo;

fn polled(url: &str, path: &str, freshness: Freshness) -> ManifestQuery {
    ManifestQuery { freshness, ..query(url, path) }
}

/// The commit that a revision stands for, or the error.
async fn resolve(server: &Server, url: &str, target: &str) -> String {
    let target = TargetRevision(target.to_owned());
    match server.server.resolve(&RepoUrl::new(url), &target, Freshness::Latest).await {
        Ok(commit) => commit.to_string(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn branches_tags_and_commits_resolve_over_both_transports() {
    let repo = Repo::new();
    let first = repo.commit(&[("a.yaml", &config_map("a"))]);
    repo.annotated_tag("v1");
    repo.tag("light");
    repo.branch("release/2");
    let second = repo.commit(&[("a.yaml", &config_map("b"))]);
    repo.switch("main");
    let http = repo.serve_http();
    let server = Server::new();
    for url in [repo.file_url(), repo.path().display().to_string(), http.url()] {
        for (target, expect) in [
            ("", &first),
            ("HEAD", &first),
            ("main", &first),
            ("v1", &first),
            ("refs/tags/v1", &first),
            ("light", &first),
            ("release/2", &second),
            (&second, &second),
            (&second[..8], &second),
        ] {
            assert_eq!(resolve(&server, &url, target).await, *expect, "{target} of {url}");
        }
    }
    assert_eq!(
        resolve(&server, &http.url(), "release/3").await,
        "unable to resolve 'release/3' to a commit SHA: there is no such branch (of 2), tag (of 2) or commit; similar names: release/2"
    );
}

#[tokio::test]
async fn a_directory_is_rendered_from_git_objects_with_tracking() {
    let repo = Repo::new();
    let commit = repo.commit(&[("apps/web/a.yaml", &config_map("a")), ("README.md", "hello")]);
    let server = Server::new();
    let rendered = server.manifests(&repo.file_url(), "apps/web").await.unwrap();
    assert_eq!(rendered.commit, commit);
    assert_eq!(
        rendered.manifests().collect::<Vec<_>>(),
        [
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"guestbook:/ConfigMap:web/a"},"name":"a"}}"#
        ]
    );
}

#[tokio::test]
async fn a_hundred_callers_of_one_poll_cost_one_listing_and_one_fetch() {
    let repo = Repo::new();
    let files: Vec<(String, String)> =
        (0..100).map(|n| (format!("app{n}/a.yaml"), config_map(&format!("a{n}")))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    repo.commit(&files);
    let http = repo.serve_http();
    let server = Server::new();
    let poll = Freshness::NotBefore(Instant::now());
    let calls =
        (0..100).map(|n| server.server.manifests(polled(&http.url(), &format!("app{n}"), poll)));
    for result in futures::future::join_all(calls).await {
        assert_eq!(result.unwrap().manifests().len(), 1);
    }
    let stats = server.server.stats();
    assert_eq!((stats.ls_remote.total, stats.fetch.total, stats.renders), (1, 1, 100));

    drop(http.take_requests());
    let poll = Freshness::NotBefore(Instant::now());
    let calls =
        (0..100).map(|n| server.server.manifests(polled(&http.url(), &format!("app{n}"), poll)));
    futures::future::join_all(calls).await;
    let requests = http.take_requests();
    assert_eq!(requests.len(), 1, "a poll that moved nothing: {requests:?}");
}

#[tokio::test]
async fn only_the_sources_a_commit_touches_are_rendered_again() {
    let repo = Repo::new();
    repo.commit(&[("web/a.yaml", &config_map("a")), ("api/b.yaml", &config_map("b"))]);
    let server = Server::new();
    let url = repo.file_url();
    assert_eq!(server.keys(&url, "web").await, "ConfigMap a");
    assert_eq!(server.keys(&url, "api").await, "ConfigMap b");
    repo.commit(&[("web/a.yaml", &config_map("changed")), ("README.md", "hello")]);
    assert_eq!(server.keys(&url, "web").await, "ConfigMap changed");
    assert_eq!(server.keys(&url, "api").await, "ConfigMap b");
    let stats = server.server.stats();
    assert_eq!((stats.renders, stats.unchanged_hits), (3, 1));
    repo.commit(&[("api/c.yaml", &config_map("c"))]);
    assert_eq!(server.keys(&url, "api").await, "ConfigMap b, ConfigMap c");
}

#[tokio::test]
async fn a_restart_keeps_the_objects() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let server = Server::new();
    assert_eq!(server.keys(&repo.file_url(), ".").await, "ConfigMap a");
    let server = server.restarted();
    assert_eq!(server.keys(&repo.file_url(), ".").await, "ConfigMap a");
    assert_eq!(server.server.stats().fetch.total, 0);
}

#[tokio::test]
async fn a_depth_bounds_the_history_and_takes_no_commit_away() {
    let repo = Repo::new();
    let mut commits: Vec<String> = Vec::new();
    let mut commit = |number: usize| {
        let made = repo.commit(&[("app/map.yaml", &config_map(&format!("map{number}")))]);
        commits.push(made.clone());
        made
    };
    for number in 0..5 {
        commit(number);
    }
    let http = repo.serve_http();
    let server = Server::new();
    let cut_off = RepoCredentials { depth: 2, ..RepoCredentials::default() };
    server.server.set_credentials(CredentialBook {
        repositories: vec![(http.url(), cut_off)],
        ..CredentialBook::default()
    });
    assert!(server.keys(&http.url(), "app").await.contains("map4"));
    let store = files_below(&server.data());
    let store = store.iter().find(|it| it.file_name().is_some_and(|it| it == "HEAD"));
    let store = store.and_then(|it| it.parent()).expect("a store").to_owned();
    let count = |of: &str| {
        let counted = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(&store)
            .args(["rev-list", "--count", of])
            .output();
        String::from_utf8(counted.expect("git runs").stdout).expect("a number").trim().to_owned()
    };
    let newest = commit(5);
    assert!(server.keys(&http.url(), "app").await.contains("map5"));
    assert_eq!(count(&newest), "2");
    // What lies beyond is fetched for those who name it.
    let oldest = TargetRevision(commits[0].clone());
    let query = query(&http.url(), "app");
    let rendered = server.server.manifests(ManifestQuery { revision: oldest, ..query }).await;
    let rendered = rendered.expect("manifests");
    assert!(rendered.objects()[0].key().to_string().contains("map0"));
}

#[tokio::test]
async fn many_fetches_leave_few_packs_and_every_object() {
    let repo = Repo::new();
    let server = Server::new();
    // Deltas to what earlier packs hold are what could be lost.
    let text = |number: usize| config_map(&format!("map{number}")) + &"# line\n".repeat(500);
    let mut commits = Vec::new();
    for number in 0..60 {
        commits.push(repo.commit(&[("app/map.yaml", &text(number))]));
        let shown = server.keys(&repo.file_url(), "app").await;
        assert!(shown.contains(&format!("map{number}")), "{shown}");
    }
    let packs = files_below(&server.data());
    let packs = packs.iter().filter(|it| it.extension().is_some_and(|it| it == "pack")).count();
    assert!(packs <= 24, "there are {packs} packs");
    let server = server.restarted();
    for (number, commit) in commits.iter().enumerate() {
        let revision = TargetRevision(commit.clone());
        let query = query(&repo.file_url(), "app");
        let asked = ManifestQuery { revision, ignore_cache: true, ..query };
        let rendered = server.server.manifests(asked).await.expect("manifests");
        assert!(rendered.objects()[0].key().to_string().contains(&format!("map{number}")));
    }
    assert_eq!(server.server.stats().fetch.total, 0, "all of it is still here");
    let store = files_below(&server.data());
    let left = store.iter().filter(|it| it.extension().is_some_and(|it| it == "keep")).count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a.yaml", &config_map("a"))]);
    let (server, url) = (Server::new(), repo.file_url());
    assert_eq!(
        server.keys(&url, "nowhere").await,
        format!("could not render nowhere of {url} at {commit}: nowhere: app path does not exist")
    );
    assert_eq!(
        server.keys(&url, "a.yaml").await,
        format!(
            "could not render a.yaml of {url} at {commit}: a.yaml: app path is not a directory"
        )
    );
}

#[tokio::test]
async fn links_inside_are_followed_and_links_outside_refused() {
    let repo = Repo::new();
    repo.commit(&[("shared/a.yaml", &config_map("a"))]);
    repo.link("web/a.yaml", "../shared/a.yaml");
    repo.link("linked", "web");
    repo.link("bad/passwd", "../../../etc/passwd");
    let commit = repo.commit_all();
    let (server, url) = (Server::new(), repo.file_url());
    assert_eq!(server.keys(&url, "web").await, "ConfigMap a");
    assert_eq!(server.keys(&url, "linked").await, "ConfigMap a");
    assert_eq!(
        server.keys(&url, "bad").await,
        format!(
            "could not render bad of {url} at {commit}: repository contains out-of-bounds symlinks. file: bad/passwd (it points to \"../../../etc/passwd\"; replace it by a link inside the repository or by the file itself)"
        )
    );
}

#[tokio::test]
async fn a_huge_file_is_refused_unread_and_only_where_it_is_a_manifest() {
    let repo = Repo::new();
    let huge = "x".repeat(1001);
    repo.commit(&[("big/a.yaml", &huge), ("ok/a.yaml", &config_map("a")), ("ok/blob.bin", &huge)]);
    let server = Server::new();
    let rendered = async |path: &str| {
        let mut query = query(&repo.file_url(), path);
        query.context.limits.max_file = 1000;
        server.server.manifests(query).await
    };
    assert_eq!(rendered("ok").await.unwrap().manifests().len(), 1);
    let error = chain(&rendered("big").await.unwrap_err());
    let expect = "big/a.yaml: the file has 1001 bytes, more than the 1000 that may be read";
    assert!(error.ends_with(expect), "{error}");
}

#[tokio::test]
async fn servers_that_say_no_are_told_apart() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let http = repo.serve_http();
    let (server, url) = (Server::new(), http.url());
    http.answer_with(401);
    assert_eq!(
        server.keys(&url, ".").await,
        format!(
            "authentication required: {url} does not answer anonymous requests; add credentials for it, or check that it exists"
        )
    );
    http.answer_with(404);
    assert_eq!(
        server.keys(&url, ".").await,
        format!("repository not found: {url}; check the address")
    );
    http.answer_with(503);
    let error = server.keys(&url, ".").await;
    assert!(error.starts_with(&format!("could not reach the repository {url}: ")), "{error}");
    assert!(error.contains("503"), "{error}");
    http.answer_with(0);
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let server = Server::new();
    let error = server.keys("http://user:s3cret@127.0.0.1:1/org/repo", ".").await;
    assert!(
        error.starts_with("could not reach the repository http://127.0.0.1:1/org/repo: "),
        "{error}"
    );
    assert!(!error.contains("s3cret"), "{error}");
    let error = server.keys("https://127.0.0.1:1/org/repo", ".").await;
    assert!(
        error.starts_with("could not reach the repository https://127.0.0.1:1/org/repo: "),
        "{error}"
    );
    let error = server.keys("/no/such/repository", ".").await;
    assert!(error.contains("/no/such/repository"), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_runs_into_the_deadline_alone() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let silent = repo.serve_http();
    let server = Server::with(|it| it.git.request_timeout = std::time::Duration::from_secs(3));
    silent.stall();
    let (stalling, answering) = (silent.url(), repo.file_url());
    let (stalled, fine) = tokio::join!(server.keys(&stalling, "."), server.keys(&answering, "."));
    assert_eq!(fine, "ConfigMap a");
    assert_eq!(stalled, format!("listing the refs of {stalling} took longer than 3s"));
}

#[tokio::test]
async fn a_fetch_that_breaks_off_leaves_nothing_behind() {
    let repo = Repo::new();
    let noise: String = (0..20_000_u64).map(|n| (n * n * 7919).to_string()).collect();
    repo.commit(&[("a.yaml", &config_map("a")), ("noise", &noise)]);
    let http = repo.serve_http();
    let (server, url) = (Server::new(), http.url());
    http.break_off_after(10_000);
    for _ in 0..2 {
        let error = server.keys(&url, ".").await;
        assert!(error.contains(&url), "{error}");
    }
    let leftovers: Vec<_> = files_below(&server.data())
        .into_iter()
        .filter(|file| file.parent().is_some_and(|it| it.ends_with("objects/pack")))
        .collect();
    assert_eq!(leftovers, Vec::<std::path::PathBuf>::new());
    http.break_off_after(usize::MAX);
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a");
}

#[tokio::test]
async fn a_server_that_gives_out_only_branches_is_asked_for_branches() {
    let repo = Repo::new();
    let first = repo.commit(&[("a.yaml", &config_map("a"))]);
    repo.commit(&[("a.yaml", &config_map("b"))]);
    repo.git(["config", "uploadpack.allowAnySHA1InWant", "false"]);
    let (server, url) = (Server::new(), repo.serve_http());
    let mut query = query(&url.url(), ".");
    query.revision = TargetRevision(first);
    assert_eq!(server.server.manifests(query.clone()).await.unwrap().manifests().len(), 1);
    let missing = "0123456789012345678901234567890123456789";
    query.revision = TargetRevision(missing.to_owned());
    let error = server.server.manifests(query).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("commit {missing} is not in {}; was the branch force-pushed?", url.url())
    );
}

/// Every file below a folder.
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries = entries.map(|it| it.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Renders once, lets `damage` do its work on the stored packs, and expects a
/// restarted server to answer as if nothing had happened.
async fn check_recovers_from(damage: impl Fn(&std::path::Path)) {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let (server, url) = (Server::new(), repo.file_url());
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a");
    for file in files_below(&server.data()) {
        if file.extension().is_some_and(|it| it == "pack") {
            damage(&file);
        }
    }
    let server = server.restarted();
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a");
    repo.commit(&[("b.yaml", &config_map("b"))]);
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a, ConfigMap b");
}

#[tokio::test]
async fn a_truncated_pack_is_fetched_again() {
    check_recovers_from(|pack| {
        let size = std::fs::metadata(pack).unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(writable(pack)).unwrap();
        file.set_len(size / 2).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_pack_of_garbage_is_fetched_again() {
    check_recovers_from(|pack| {
        let size = std::fs::metadata(pack).unwrap().len();
        std::fs::write(writable(pack), vec![7; size.try_into().unwrap()]).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_lost_pack_is_fetched_again() {
    check_recovers_from(|pack| std::fs::remove_file(pack).unwrap()).await;
}

#[tokio::test]
async fn a_half_written_pack_and_a_stale_lock_do_no_harm() {
    check_recovers_from(|pack| {
        std::fs::write(pack.with_extension("tmp123"), "half").unwrap();
        let refs = pack.ancestors().nth(3).unwrap().join("refs/argosy/commits");
        for file in files_below(&refs) {
            std::fs::write(file.with_extension("lock"), "").unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_no_repository_is_made_anew() {
    check_recovers_from(|pack| {
        std::fs::remove_file(pack.ancestors().nth(3).unwrap().join("HEAD")).unwrap();
    })
    .await;
}

/// Packs are written read-only.
fn writable(pack: &std::path::Path) -> &std::path::Path {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(pack, mode).expect("the test owns the pack");
    pack
}
