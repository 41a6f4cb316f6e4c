//! Commits and tags signed by the real gpg and with keys of the real ssh-keygen,
//! and what the rules of a project make of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use api::{ApplicationSource, SourceIntegrity};
use render::RenderContext;
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, Options, RepoCredentials, RepoServer, TargetRevision,
};
use serde_json::json;
use testkit::git::Repo;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

/// A folder with keys of its own, and a program for git that uses it.
struct Gpg {
    home: tempfile::TempDir,
}

impl Gpg {
    #[expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]
    fn new() -> Option<Self> {
        let home = tempfile::tempdir().expect("a temporary folder");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).expect("our folder");
        let gpg = Self { home };
        if gpg.run(&["--version"]).is_none() {
            assert!(std::env::var_os("CI").is_none(), "no gpg");
            println!("NOTICE: no gpg here, nothing checked; install gnupg");
            return None;
        }
        gpg.write_program("");
        Some(gpg)
    }

    /// What git runs from now on, with more options.
    fn write_program(&self, options: &str) {
        let home = self.home();
        let program = format!("#!/bin/sh\nexec gpg --homedir {home} {options} \"$@\"\n");
        fs::write(self.program(), program).expect("a file");
        fs::set_permissions(self.program(), fs::Permissions::from_mode(0o700)).expect("our file");
    }

    fn home(&self) -> String {
        self.home.path().display().to_string()
    }

    fn program(&self) -> String {
        format!("{}/gpg.sh", self.home())
    }

    fn run(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new("gpg");
        command.args(["--homedir", &self.home(), "--batch", "--quiet", "--no-tty"]);
        command.args(["--pinentry-mode", "loopback", "--passphrase", ""]).args(arguments);
        let output = command.stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Makes a key; its fingerprint.
    fn key(&self, name: &str, kind: &str) -> String {
        self.key_with(name, &["--quick-gen-key"], &[kind, "sign", "never"])
    }

    fn key_with(&self, name: &str, before: &[&str], after: &[&str]) -> String {
        let user = format!("{name} <{name}@example.com>");
        self.run(&[before, &[&user], after].concat()).expect("a key");
        let listed = self.run(&["--list-keys", "--with-colons", name]).expect("keys");
        let line = listed.lines().find(|it| it.starts_with("fpr:")).expect("a fingerprint");
        line.split(':').nth(9).expect("a fingerprint").to_owned()
    }

    fn exported(&self, key: &str) -> String {
        self.run(&["--armor", "--export", key]).expect("a key")
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        let mut command = Command::new("gpgconf");
        command.args(["--homedir", &self.home(), "--kill", "all"]).status().ok();
    }
}

struct World {
    _data: tempfile::TempDir,
    server: RepoServer,
    repo: Repo,
    /// Of the repository.
    depth: u32,
}

impl World {
    /// A repository whose commits are signed by `key`, once signing is asked for.
    fn new(gpg: &Gpg, key: &str) -> Self {
        Self::with([("gpg.program", &gpg.program()), ("user.signingkey", key)])
    }

    fn with(settings: [(&str, &str); 2]) -> Self {
        repo_server::install_crypto_provider();
        let data = tempfile::tempdir().expect("a temporary folder");
        let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
        let repo = Repo::new();
        for (name, value) in settings {
            repo.git(["config", name, value]);
        }
        Self { _data: data, server, repo, depth: 0 }
    }

    fn sign_from_now_on(&self) {
        self.repo.git(["config", "commit.gpgsign", "true"]);
    }

    fn know(&self, keys: &[String]) {
        let gpg_keys: BTreeMap<String, String> =
            keys.iter().enumerate().map(|(at, key)| (at.to_string(), key.clone())).collect();
        let cut_off = RepoCredentials { depth: self.depth, ..RepoCredentials::default() };
        let repositories = vec![(self.repo.file_url(), cut_off)];
        let book = CredentialBook { gpg_keys, repositories, ..CredentialBook::default() };
        self.server.set_credentials(book);
    }

    /// What speaks against a revision.
    async fn problems(&self, revision: &str, mode: &str, keys: &[&str]) -> Vec<String> {
        let policy = json!({"repos": [{"url": "*"}], "gpg": {"mode": mode, "keys": keys}});
        let integrity = json!({"git": {"policies": [policy]}});
        let integrity: SourceIntegrity = serde_json::from_value(integrity).expect("a rule");
        let query = ManifestQuery {
            source: ApplicationSource {
                repo_url: self.repo.file_url(),
                path: "app".to_owned(),
                target_revision: revision.to_owned(),
                ..ApplicationSource::default()
            },
            revision: TargetRevision(revision.to_owned()),
            refs: Vec::new(),
            freshness: Freshness::Latest,
            context: RenderContext::new("guestbook", "web"),
            source_repos: repo_server::SourceRepos::all(),
            integrity: Some(integrity),
            ignore_cache: false,
        };
        let rendered = self.server.manifests(query).await.expect("manifests");
        assert_eq!(rendered.manifests().len(), 1, "it is rendered whatever speaks against it");
        rendered.problems.clone()
    }
}

fn text(commit: &str, author: &str, what: &str, key: &str) -> String {
    let key = key.get(24..).unwrap_or_default();
    format!("GIT/GPG: Failed verifying revision {commit} by '{author}': {what} (key_id={key})")
}

#[tokio::test]
async fn a_head_must_be_signed_by_a_key_that_is_known_and_allowed() {
    let Some(gpg) = Gpg::new() else { return };
    for kind in ["ed25519", "rsa2048"] {
        let key = gpg.key(&format!("alice-{kind}"), kind);
        let world = World::new(&gpg, &key);
        let unsigned = world.repo.commit(&[("app/map.yaml", MAP)]);
        let author = world.repo.git(["log", "-1", "--format=%an <%ae>"]);
        let author = author.trim();
        let said = world.problems("main", "head", &[&key]).await;
        assert_eq!(said, [text(&unsigned, author, "unsigned", "")]);
        world.sign_from_now_on();
        let signed = world.repo.commit(&[("app/more.txt", "x")]);
        let said = world.problems("main", "head", &[&key]).await;
        assert_eq!(said, [text(&signed, author, "signed with key not in keyring", &key)]);
        world.know(&[gpg.exported(&key)]);
        assert_eq!(world.problems("main", "head", &[&key]).await, Vec::<String>::new());
        assert_eq!(world.problems(&signed, "head", &[&key[24..]]).await, Vec::<String>::new());
        let said = world.problems("main", "head", &[]).await;
        assert_eq!(said, [text(&signed, author, "signed with unallowed key", &key)]);
        assert_eq!(world.problems("main", "none", &[]).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn an_annotated_tag_vouches_for_its_commit() {
    let Some(gpg) = Gpg::new() else { return };
    let key = gpg.key("bob", "ed25519");
    let world = World::new(&gpg, &key);
    let commit = world.repo.commit(&[("app/map.yaml", MAP)]);
    world.repo.git(["tag", "--sign", "--message=one", "v1.0.0"]);
    world.repo.git(["tag", "--annotate", "--message=two", "v2.0.0"]);
    world.know(&[gpg.exported(&key)]);
    for revision in ["v1.0.0", "refs/tags/v1.0.0", "1.*"] {
        assert_eq!(world.problems(revision, "head", &[&key]).await, Vec::<String>::new());
    }
    let said = world.problems("v2.0.0", "head", &[&key]).await;
    assert!(
        said[0].contains("Failed verifying revision v2.0.0 by ")
            && said[0].ends_with("unsigned (key_id=)"),
        "{said:?}"
    );
    let said = world.problems("v1.0.0", "strict", &[&key]).await;
    assert!(said.len() == 1 && said[0].contains(&commit), "the history counts too: {said:?}");
}

#[tokio::test]
async fn a_whole_history_is_checked_down_to_a_seal() {
    let Some(gpg) = Gpg::new() else { return };
    let key = gpg.key("carol", "ed25519");
    for depth in [0, 1] {
        let world = World { depth, ..World::new(&gpg, &key) };
        check_whole_history(&gpg, &key, &world).await;
    }
}

/// A `depth` cuts off what a rule wants to see: then it is fetched after all.
async fn check_whole_history(gpg: &Gpg, key: &str, world: &World) {
    let old = world.repo.commit(&[("app/map.yaml", MAP)]);
    world.sign_from_now_on();
    world.repo.commit(&[("a", "1")]);
    world.know(&[gpg.exported(key)]);
    assert_eq!(world.problems("main", "head", &[key]).await, Vec::<String>::new());
    let said = world.problems("main", "strict", &[key]).await;
    assert!(said.len() == 1 && said[0].contains(&old), "{said:?}");
    world.repo.git(["commit", "--allow-empty", "--message=seal\n\nArgocd-gpg-seal: looked at"]);
    assert_eq!(world.problems("main", "strict", &[key]).await, Vec::<String>::new());
    world.repo.commit(&[("a", "2")]);
    assert_eq!(world.problems("main", "strict", &[key]).await, Vec::<String>::new());
    let said = world.problems("main", "strict", &[]).await;
    assert_eq!(said.len(), 1, "many commits of one key are one problem: {said:?}");
}

#[tokio::test]
async fn a_revoked_key_and_a_changed_commit_do_not_count() {
    let Some(gpg) = Gpg::new() else { return };
    let key = gpg.key("dave", "ed25519");
    let world = World::new(&gpg, &key);
    world.sign_from_now_on();
    let signed = world.repo.commit(&[("app/map.yaml", MAP)]);
    world.know(&[gpg.exported(&key)]);
    // The same signature under another message.
    let raw = world.repo.git(["cat-file", "commit", &signed]);
    fs::write(world.repo.path().join("raw"), raw + "\nmore\n").expect("a file");
    let changed = world.repo.git(["hash-object", "-t", "commit", "-w", "raw"]);
    world.repo.git(["branch", "changed", changed.trim()]);
    let said = world.problems("changed", "head", &[&key]).await;
    assert!(said[0].contains(": bad signature (key_id="), "{said:?}");
    let revocation = format!("{}/openpgp-revocs.d/{key}.rev", gpg.home());
    let revocation = fs::read_to_string(revocation).expect("gpg makes one with every key");
    let armoured = revocation.replace(":-----BEGIN", "-----BEGIN");
    fs::write(format!("{}/revoke", gpg.home()), armoured).expect("a file");
    gpg.run(&["--import", &format!("{}/revoke", gpg.home())]).expect("a revocation");
    world.know(&[gpg.exported(&key)]);
    let said = world.problems("main", "head", &[&key]).await;
    assert!(said[0].contains(": signed with revoked key (key_id="), "{said:?}");
}

#[tokio::test]
async fn an_expired_key_does_not_count() {
    let Some(gpg) = Gpg::new() else { return };
    let then = ["--faked-system-time", "20200101T000000", "--quick-gen-key"];
    let key = gpg.key_with("erin", &then, &["ed25519", "sign", "1y"]);
    gpg.write_program("--faked-system-time 20200201T000000");
    let world = World::new(&gpg, &key);
    world.sign_from_now_on();
    world.repo.commit(&[("app/map.yaml", MAP)]);
    world.know(&[gpg.exported(&key)]);
    let said = world.problems("main", "head", &[&key]).await;
    assert!(said[0].contains(": signed with expired key (key_id="), "{said:?}");
}

/// A pair of keys in a folder of its own.
struct SshKey {
    folder: tempfile::TempDir,
}

impl SshKey {
    #[expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]
    fn new(kind: &str) -> Option<Self> {
        let key = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-N", "", "-C", "someone", "-t"]).args(kind.split(' '));
        let made = command.arg("-f").arg(key.file()).status();
        if made.is_err() {
            assert!(std::env::var_os("CI").is_none(), "no ssh-keygen");
            println!("NOTICE: no ssh-keygen here, nothing checked; install openssh-client");
            return None;
        }
        assert!(made.is_ok_and(|it| it.success()), "a key of {kind}");
        Some(key)
    }

    fn file(&self) -> String {
        format!("{}/key", self.folder.path().display())
    }

    fn public(&self) -> String {
        fs::read_to_string(format!("{}.pub", self.file())).expect("the public key")
    }

    /// As ssh-keygen shows it.
    fn fingerprint(&self) -> String {
        let mut command = Command::new("ssh-keygen");
        let shown = command.args(["-l", "-f", &self.file()]).output().expect("it starts").stdout;
        let shown = String::from_utf8(shown).expect("UTF-8");
        shown.split(' ').nth(1).expect("a fingerprint").to_owned()
    }

    fn world(&self) -> World {
        World::with([("gpg.format", "ssh"), ("user.signingkey", &self.file())])
    }
}

fn told(what: &str, by: &str, problem: &str, key: &str) -> Vec<String> {
    vec![format!("GIT/GPG: Failed verifying revision {what} by '{by}': {problem} (key_id={key})")]
}

#[tokio::test]
async fn a_key_of_ssh_counts_if_it_is_known_and_listed() {
    for kind in ["ed25519", "ecdsa -b 256", "ecdsa -b 384", "rsa -b 2048"] {
        let Some(key) = SshKey::new(kind) else { return };
        let (world, fingerprint) = (key.world(), key.fingerprint());
        world.sign_from_now_on();
        let commit = world.repo.commit(&[("app/map.yaml", MAP)]);
        let author = "A U Thor <author@example.com>";
        let said = world.problems("main", "head", &[&fingerprint]).await;
        let unknown = told(&commit, author, "signed with key not in keyring", &fingerprint);
        assert_eq!(said, unknown, "{kind}");
        world.know(&[key.public()]);
        let said = world.problems("main", "head", &[&fingerprint]).await;
        assert_eq!(said, Vec::<String>::new(), "{kind}");
        assert_eq!(world.problems("main", "strict", &[&fingerprint]).await, Vec::<String>::new());
        let said = world.problems("main", "head", &[&fingerprint.to_lowercase()]).await;
        assert_eq!(said, told(&commit, author, "signed with unallowed key", &fingerprint));
    }
}

#[tokio::test]
async fn a_tag_may_be_signed_with_ssh_and_a_history_sealed() {
    let Some(key) = SshKey::new("ed25519") else { return };
    let (world, fingerprint) = (key.world(), key.fingerprint());
    let old = world.repo.commit(&[("app/map.yaml", MAP)]);
    world.repo.git(["tag", "--sign", "--message=one\n\n-----BEGIN SOMETHING", "v1.0.0"]);
    world.know(&[key.public()]);
    assert_eq!(world.problems("v1.0.0", "head", &[&fingerprint]).await, Vec::<String>::new());
    let author = "A U Thor <author@example.com>";
    let said = world.problems("v1.0.0", "strict", &[&fingerprint]).await;
    assert_eq!(said, told(&old, author, "unsigned", ""), "the history counts too");
    world.sign_from_now_on();
    world.repo.git(["commit", "--allow-empty", "--message=seal\n\nArgocd-gpg-seal: looked at"]);
    assert_eq!(world.problems("main", "strict", &[&fingerprint]).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_commit_that_was_changed_or_signed_for_another_purpose_does_not_count() {
    let Some(key) = SshKey::new("ed25519") else { return };
    let (world, fingerprint) = (key.world(), key.fingerprint());
    world.sign_from_now_on();
    let signed = world.repo.commit(&[("app/map.yaml", MAP)]);
    world.know(&[key.public()]);
    let raw = world.repo.git(["cat-file", "commit", &signed]);
    let commit = |name: &str, text: &str| {
        fs::write(world.repo.path().join("raw"), text).expect("a file");
        let id = world.repo.git(["hash-object", "-t", "commit", "-w", "raw"]);
        world.repo.git(["branch", name, &id]);
        id
    };
    let changed = commit("changed", &format!("{raw}\nmore\n"));
    // What git would have signed, signed as a file.
    let (head, message) = raw.split_once("\n\n").expect("a message");
    let head: Vec<&str> = head.lines().take_while(|it| !it.starts_with("gpgsig")).collect();
    let content = format!("{}\n\n{message}\n", head.join("\n"));
    let file = key.folder.path().join("content");
    fs::write(&file, &content).expect("a file");
    let mut sign = Command::new("ssh-keygen");
    let made = sign.args(["-q", "-Y", "sign", "-n", "file", "-f", &key.file()]).arg(&file).status();
    assert!(made.expect("it starts").success());
    let signature = fs::read_to_string(file.with_extension("sig")).expect("a signature");
    let signature = signature.trim_end().replace('\n', "\n ");
    let other = commit("other", &format!("{}\ngpgsig {signature}\n\n{message}\n", head.join("\n")));
    let author = "A U Thor <author@example.com>";
    for (branch, id) in [("changed", changed), ("other", other)] {
        let said = world.problems(branch, "head", &[&fingerprint]).await;
        assert_eq!(said, told(&id, author, "bad signature", &fingerprint), "{branch}");
    }
}
