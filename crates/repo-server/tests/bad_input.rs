//! Repositories and servers that are broken or hostile: what the user is told,
//! and that nobody else is disturbed.

mod common;

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{chain, config_map, query};
use repo_server::{ManifestQuery, Options, RepoUrl, TargetRevision};
use testkit::answering::Answering;
use testkit::git::{Misbehaviour, Repo};

/// A server that must write into its own folder and nowhere beside it.
struct Server(common::Server);

impl std::ops::Deref for Server {
    type Target = common::Server;

    fn deref(&self) -> &common::Server {
        &self.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).expect("a folder");
            let names = entries.map(|it| it.expect("an entry").file_name());
            let mut names: Vec<_> = names.map(|it| it.to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.around.path()), ["data"]);
        assert_eq!(names(&self.data()), ["git", "rendered.redb"]);
    }
}

impl Server {
    fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self(common::Server::with(change))
    }

    fn new() -> Self {
        Self::with(|_| {})
    }

    async fn keys_at(&self, url: &str, path: &str, revision: &str) -> String {
        let revision = TargetRevision(revision.to_owned());
        self.keys_of(ManifestQuery { revision, ..query(url, path) }).await
    }
}

#[tokio::test]
async fn links_that_lead_out_are_named_however_they_do_it() {
    let repo = Repo::new();
    repo.commit(&[("good/a.yaml", &config_map("a"))]);
    repo.link("relative/a.yaml", "../../outside.yaml");
    repo.link("absolute/a.yaml", "/etc/passwd");
    repo.link("chain/a.yaml", "../steps/one");
    repo.link("steps/one", "two");
    repo.link("steps/two", "../../../etc/passwd");
    repo.link("loop/a.yaml", "b.yaml");
    repo.link("loop/b.yaml", "a.yaml");
    let commit = repo.commit_all();
    let (server, url) = (Server::new(), repo.file_url());
    for (path, link, target) in [
        ("relative", "relative/a.yaml", "../../outside.yaml"),
        ("absolute", "absolute/a.yaml", "/etc/passwd"),
        ("chain", "steps/two", "../../../etc/passwd"),
    ] {
        assert_eq!(
            server.keys(&url, path).await,
            format!(
                "could not render {path} of {url} at {commit}: repository contains out-of-bounds symlinks. file: {link} (it points to {target:?}; replace it by a link inside the repository or by the file itself)"
            )
        );
    }
    let looping = server.keys(&url, "loop").await;
    let problem = "loop/a.yaml: too many levels of symbolic links";
    assert_eq!(looping, format!("could not render loop of {url} at {commit}: {problem}"));
    assert_eq!(server.keys(&url, "good").await, "ConfigMap a");
}

#[tokio::test]
async fn a_hundred_thousand_files_in_one_directory_hide_nothing() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let mut stream = String::from(
        "blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\ncommitter a <a@example.com> 1 +0000\ndata 1\nx\nfrom refs/heads/main^0\n",
    );
    for number in 0..100_000 {
        stream.push_str(&format!("M 644 :1 notes/{number}.txt\n"));
    }
    stream.push_str("M 644 inline notes/a.yaml\ndata ");
    let manifest = config_map("among-many");
    stream.push_str(&format!("{}\n{manifest}\n", manifest.len()));
    repo.fast_import(stream.as_bytes());
    // Code that is not optimized, on a machine that others use.
    let server = Server::with(|it| it.git.fetch_timeout = Duration::from_secs(900));
    assert_eq!(server.keys(&repo.file_url(), "notes").await, "ConfigMap among-many");
}

#[tokio::test]
async fn a_name_may_have_line_feeds_but_must_be_utf8() {
    let repo = Repo::new();
    for (folder, name) in [
        ("good", &b"plain.yaml"[..]),
        ("good", b"line\nfeed.yaml"),
        ("bad", b"a.yaml"),
        ("bad", b"\xff.yaml"),
    ] {
        let folder = repo.path().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(file, config_map(&format!("m{}", name.len()))).expect("a file");
    }
    let commit = repo.commit_all();
    let (server, url) = (Server::new(), repo.file_url());
    assert_eq!(server.keys(&url, "good").await, "ConfigMap m14, ConfigMap m10");
    assert_eq!(
        server.keys(&url, "bad").await,
        format!(
            "could not render bad of {url} at {commit}: bad: the file name \"\u{fffd}.yaml\" is not UTF-8; rename it"
        )
    );
}

#[tokio::test]
async fn bombs_of_aliases_and_deep_nesting_are_refused_with_their_file() {
    let repo = Repo::new();
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for number in 1..12 {
        let before = number - 1;
        let many = vec![format!("*a{before}"); 10].join(", ");
        bomb.push_str(&format!("a{number}: &a{number} [{many}]\n"));
    }
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let commit = repo.commit(&[
        ("bomb/a.yaml", &format!("{head}{bomb}")),
        ("yaml/a.yaml", &format!("{head}data: {}", deep("[", "]"))),
        (
            "json/a.json",
            &format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","data":{}}}"#, deep("[", "]")),
        ),
        ("good/a.yaml", &config_map("a")),
    ]);
    let (server, url) = (Server::new(), repo.file_url());
    for (path, problem) in [
        (
            "bomb",
            "bomb/a.yaml, line 7, column 20: the document consists almost entirely of expanded aliases; write out what they stand for",
        ),
        ("yaml", "yaml/a.yaml, line 4, column 1006: nested deeper than 1000 levels; flatten it"),
        ("json", "json/a.json, line 1, column 172: nested deeper than 127 levels; flatten it"),
    ] {
        assert_eq!(
            server.keys(&url, path).await,
            format!("could not render {path} of {url} at {commit}: {problem}")
        );
    }
    assert_eq!(server.keys(&url, "good").await, "ConfigMap a");
}

#[tokio::test]
async fn branches_and_tags_that_move_or_go_are_followed() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("first"))]);
    repo.branch("topic");
    let lost = repo.commit(&[("a.yaml", &config_map("lost"))]);
    repo.tag("v1");
    let (server, http) = (Server::new(), repo.serve_http());
    let url = http.url();
    assert_eq!(server.keys_at(&url, ".", "topic").await, "ConfigMap lost");
    assert_eq!(server.keys_at(&url, ".", "v1").await, "ConfigMap lost");
    repo.git(["reset", "--quiet", "--hard", "main"]);
    repo.commit(&[("a.yaml", &config_map("pushed-over"))]);
    repo.git(["tag", "--force", "v1"]);
    assert_eq!(server.keys_at(&url, ".", "topic").await, "ConfigMap pushed-over");
    assert_eq!(server.keys_at(&url, ".", "v1").await, "ConfigMap pushed-over");
    // What an Application pinned is still in our store, though no branch has it.
    assert_eq!(server.keys_at(&url, ".", &lost).await, "ConfigMap lost");
    repo.switch("main");
    repo.git(["branch", "--delete", "--force", "topic"]);
    assert_eq!(
        server.keys_at(&url, ".", "topic").await,
        "unable to resolve 'topic' to a commit SHA: there is no such branch (of 1), tag (of 1) or commit"
    );
}

#[tokio::test]
async fn a_repository_that_is_its_own_submodule_ends() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    let url = repo.file_url();
    let modules = format!("[submodule \"me\"]\n\tpath = me\n\turl = {url}\n");
    std::fs::write(repo.path().join(".gitmodules"), modules).expect("a file");
    repo.git(["add", ".gitmodules"]);
    let contain_the_last = || {
        let last = repo.git(["rev-parse", "HEAD"]);
        repo.git(["update-index", "--add", "--cacheinfo", &format!("160000,{last},me")]);
        repo.git(["commit", "--quiet", "--message=me"]);
    };
    let server = Server::new();
    contain_the_last();
    assert_eq!(server.keys(&url, "me").await, "ConfigMap a", "once is fine");
    for _ in 0..10 {
        contain_the_last();
    }
    assert_eq!(
        server.keys(&url, ".").await,
        format!("the submodules of {url} are nested too deeply; does one contain itself?")
    );
}

/// What our git says of every pack that it cannot take in.
const PACK: &str = "Failed to consume the pack sent by the remote: Failed to write the received pack: An IO operation failed while streaming an entry: ";

#[tokio::test]
async fn servers_that_send_what_is_no_pack_are_told_apart_and_disturb_nobody() {
    let repo = Repo::new();
    let noise: String = (0..20_000_u64).map(|n| (n * n * 7919).to_string()).collect();
    repo.commit(&[("a.yaml", &config_map("a")), ("noise", &noise)]);
    let http = repo.serve_http();
    let url = http.url();
    let server = Server::with(|it| {
        it.git.request_timeout = Duration::from_secs(2);
        it.git.fetch_timeout = Duration::from_secs(4);
    });
    let other = repo.file_url();
    for (how, expect) in [
        (
            Misbehaviour::Html,
            format!(
                "{url} answers, but not as a git server; check the address, and whether it wants a login"
            ),
        ),
        (
            Misbehaviour::StallAfter(5_000),
            format!("waiting for an answer of {url} took longer than 2s"),
        ),
        (Misbehaviour::DripAfter(5_000), format!("fetching from {url} took longer than 4s")),
        (
            Misbehaviour::CorruptAt(20_000),
            format!(
                "the data of {url} is damaged: what the server sent is no whole pack; it is asked for again, and where that never helps, `git fsck` there says more: {PACK}corrupt deflate stream"
            ),
        ),
        (
            Misbehaviour::BreakOffAfter(5_000),
            format!(
                "the answer of {url} broke off; it is asked for again, and where that never helps, look at the server and at proxies before it: {PACK}request or response body error: error reading a body from connection: end of file before message length reached"
            ),
        ),
    ] {
        http.misbehave(how.clone());
        let (bad, good) = tokio::join!(server.keys(&url, "."), server.keys(&other, "."));
        assert_eq!(good, "ConfigMap a", "{how:?}");
        // What is wrong with a stream depends on the git that packed it.
        let bad = bad.split_inclusive("corrupt deflate stream").next().unwrap_or(&bad);
        assert_eq!(bad, expect, "{how:?}");
    }
    http.misbehave(Misbehaviour::None);
    assert_eq!(server.keys(&url, ".").await, "ConfigMap a", "nothing bad was kept");
    // The runtime ends when all threads do: none waits for a server that drips.
}

#[tokio::test]
async fn a_file_that_does_not_fit_into_memory_is_refused_before_it_is_inflated() {
    let repo = Repo::new();
    // The limit is a thousandth of the real one, and so is the file.
    let zeros = "0".repeat(2 << 20);
    repo.commit(&[("a.yaml", &config_map("a")), ("elsewhere/model.bin", &zeros)]);
    let url = repo.file_url();
    let server = Server::with(|it| it.git.max_object = 1 << 20);
    assert_eq!(
        server.keys(&url, ".").await,
        format!(
            "{url} has a file of more than 1048576 bytes in the commit or its history, which is not fetched; take it out or keep it outside of git"
        )
    );
    assert_eq!(Server::new().keys(&url, ".").await, "ConfigMap a");
}

#[tokio::test]
async fn a_file_of_two_gigabytes_costs_neither_its_memory_nor_the_others() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", &config_map("a"))]);
    repo.git(["config", "core.compression", "1"]);
    // Two gigabytes of zeros, which git keeps in some megabytes.
    let mut zeros = Command::new("head")
        .args(["-c", "2147483648", "/dev/zero"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("head starts");
    let output = Command::new("git")
        .args(["hash-object", "-w", "--stdin"])
        .current_dir(repo.path())
        .stdin(zeros.stdout.take().expect("it is piped"))
        .output()
        .expect("git starts");
    assert!(zeros.wait().is_ok_and(|it| it.success()) && output.status.success());
    let id = String::from_utf8(output.stdout).expect("an id").trim().to_owned();
    repo.branch("large");
    repo.git(["update-index", "--add", "--cacheinfo", &format!("100644,{id},model.bin")]);
    repo.git(["commit", "--quiet", "--message=a model"]);
    let server = Server::with(|it| it.git.fetch_timeout = Duration::from_secs(600));
    let url = repo.file_url();
    let before = resident();
    let (large, main) =
        tokio::join!(server.keys_at(&url, ".", "large"), server.keys_at(&url, ".", "main"));
    assert_eq!(
        large,
        format!(
            "{url} has a file of more than 536870912 bytes in the commit or its history, which is not fetched; take it out or keep it outside of git"
        )
    );
    assert_eq!(main, "ConfigMap a", "a branch without it is deployed");
    let grown = resident().saturating_sub(before) >> 20;
    assert!(grown < 512, "{grown} MiB");
}

/// The most that this process had in memory so far, where the system tells.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

#[tokio::test]
async fn an_index_that_is_too_long_is_given_up() {
    let charts = Answering::start(|_| {
        |_: &testkit::answering::Asked| {
            let mut index = String::from("apiVersion: v1\nentries:\n");
            for number in 0..5_000 {
                index.push_str(&format!(
                    "  chart{number}:\n  - version: 1.0.0\n    urls: [a.tgz]\n"
                ));
            }
            (200, index.into_bytes())
        }
    });
    let repo = RepoUrl::new(&charts.url());
    let short = Server::with(|it| it.max_index = 100_000);
    assert_eq!(
        chain(&short.server.helm_charts(&repo).await.unwrap_err()),
        format!(
            "the data of {} is damaged: index.yaml: it has more than 100000 bytes",
            charts.url()
        )
    );
    assert_eq!(Server::new().server.helm_charts(&repo).await.unwrap().len(), 5_000);
}
