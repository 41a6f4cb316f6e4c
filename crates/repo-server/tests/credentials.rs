//! Private repositories on real servers: over http with basic authentication
//! and tokens, over ssh with keys and known hosts.

#![expect(clippy::print_stdout, reason = "a missing sshd is a notice, not a failure")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use render::EnabledSourceTypes;
use repo_server::{
    CredentialBook, Freshness, Options, RepoCredentials, RepoServer, RepoUrl, TargetRevision,
};
use testkit::git::Repo;

/// `user:s3cret-word`
const BASIC: &str = "Basic dXNlcjpzM2NyZXQtd29yZA==";

fn server() -> (tempfile::TempDir, RepoServer) {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    (data, server)
}

fn user() -> RepoCredentials {
    RepoCredentials {
        username: "user".to_owned(),
        password: "s3cret-word".to_owned(),
        ..RepoCredentials::default()
    }
}

fn one_commit() -> Repo {
    let repo = Repo::new();
    repo.commit(&[("kustomization.yaml", "namePrefix: a")]);
    repo
}

/// Lists, fetches and reads: what the top of the repository is, or the error.
async fn used(server: &RepoServer, url: &str) -> String {
    used_by(server, url, "").await
}

/// The same for an Application of a project.
async fn used_by(server: &RepoServer, url: &str, project: &str) -> String {
    let (url, head) = (server.repo(url, project), TargetRevision::default());
    match server.list_apps(&url, &head, EnabledSourceTypes::default()).await {
        Ok(apps) => apps.iter().map(|(path, it)| format!("{path} {it}")).collect(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_private_repository_is_read_with_its_credentials() {
    let repo = one_commit();
    let http = repo.serve_http();
    http.require_authorization(BASIC);
    let (_data, server) = server();
    let url = http.url();
    assert_eq!(
        used(&server, &url).await,
        format!(
            "authentication required: {url} does not answer anonymous requests; add credentials for it, or check that it exists"
        )
    );
    let wrong = RepoCredentials { password: "guess".to_owned(), ..user() };
    let book = |credentials| CredentialBook {
        repositories: vec![(url.clone(), credentials)],
        ..CredentialBook::default()
    };
    server.set_credentials(book(wrong));
    assert_eq!(
        used(&server, &url).await,
        format!(
            "authentication failed: {url} refuses the credentials configured for it; check them"
        )
    );
    server.set_credentials(book(user()));
    assert_eq!(used(&server, &url).await, ". Kustomize");
}

#[tokio::test]
async fn a_template_lends_its_credentials_to_all_below_it() {
    let repo = one_commit();
    let http = repo.serve_http();
    http.require_authorization("Bearer t0ken-word");
    let (_data, server) = server();
    let token =
        RepoCredentials { bearer_token: "t0ken-word".to_owned(), ..RepoCredentials::default() };
    let prefix = http.url().trim_end_matches(".git").to_owned();
    server.set_credentials(CredentialBook {
        templates: vec![(prefix, token)],
        ..CredentialBook::default()
    });
    assert_eq!(used(&server, &http.url()).await, ". Kustomize");
}

#[tokio::test]
async fn a_repository_of_a_project_is_closed_to_others_even_when_it_is_here() {
    let repo = one_commit();
    let http = repo.serve_http();
    http.require_authorization(BASIC);
    let (_data, server) = server();
    let url = http.url();
    let of_project = (url.clone(), user());
    server.set_credentials(CredentialBook {
        projects: [("shop".to_owned(), vec![of_project])].into(),
        ..CredentialBook::default()
    });
    assert_eq!(used_by(&server, &url, "shop").await, ". Kustomize");
    for project in ["", "default"] {
        let answer = used_by(&server, &url, project).await;
        assert!(answer.starts_with("authentication required"), "{project}: {answer}");
    }
    let wrong = RepoCredentials { password: "guess".to_owned(), ..user() };
    server.set_credentials(CredentialBook {
        projects: [("shop".to_owned(), vec![(url.clone(), wrong)])].into(),
        repositories: vec![(url.clone(), user())],
        ..CredentialBook::default()
    });
    assert_eq!(used_by(&server, &url, "default").await, ". Kustomize");
    let answer = used_by(&server, &url, "shop").await;
    assert!(answer.starts_with("authentication failed"), "the project's own go first: {answer}");
}

#[tokio::test]
async fn credentials_can_be_tried_before_they_are_kept() {
    let repo = one_commit();
    let http = repo.serve_http();
    http.require_authorization(BASIC);
    let (_data, server) = server();
    let url = RepoUrl::new(&http.url());
    server.test_access_with(&url, &user()).await.expect("access");
    let none = RepoCredentials::default();
    let error = server.test_access_with(&url, &none).await.unwrap_err().to_string();
    assert!(error.starts_with("authentication required"), "{error}");
    let kept = server.refs(&url, Freshness::Latest).await;
    assert!(kept.is_err(), "trying is not keeping");
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_server() {
    let repo = one_commit();
    let (front, back) = (repo.serve_http(), repo.serve_http());
    front.redirect_to(&back);
    let (_data, server) = server();
    server.set_credentials(CredentialBook {
        repositories: vec![(front.url(), user())],
        ..CredentialBook::default()
    });
    let answer = used(&server, &front.url()).await;
    assert!(front.take_requests().iter().any(|it| it.authorization == BASIC), "{answer}");
    assert!(back.take_requests().iter().all(|it| it.authorization.is_empty()), "{answer}");
    assert!(!answer.contains("s3cret-word"), "{answer}");
}

/// An sshd of our own on a free port, with one user's key and a host key.
struct Sshd {
    folder: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Where an sshd is: `SSHD` or the usual place.
fn sshd_program() -> Option<PathBuf> {
    let named = std::env::var_os("SSHD").map(PathBuf::from);
    named.into_iter().chain(["/usr/sbin/sshd".into()]).find(|it| it.exists())
}

impl Sshd {
    fn start() -> Option<Self> {
        let program = sshd_program()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("a mode");
        for name in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.path().join(name))
                .status();
            assert!(made.expect("ssh-keygen comes with ssh").success());
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("a bound port").port();
        drop(free);
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::copy(folder.path().join("user.pub"), folder.path().join("authorized")).expect("a copy");
        let configuration = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n",
            at("host"),
            at("authorized"),
        );
        fs::write(folder.path().join("sshd_config"), configuration).expect("a file");
        fs::create_dir_all("/run/sshd").ok()?;
        let child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(folder.path().join("sshd_config"))
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd starts");
        let sshd = Self { folder, port, child };
        sshd.wait_until_it_listens();
        Some(sshd)
    }

    /// Asks for the port until somebody takes the call; sshd is quick.
    fn wait_until_it_listens(&self) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(std::time::Instant::now() < deadline, "sshd does not listen");
            std::thread::yield_now();
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("a key")
    }

    fn url(&self, repo: &Path) -> String {
        let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
        format!("ssh://{user}@127.0.0.1:{}{}", self.port, repo.display())
    }

    fn book(&self, url: &str, key: &str, known: bool) -> CredentialBook {
        let key = RepoCredentials { ssh_private_key: self.read(key), ..Default::default() };
        let known_hosts = if known {
            format!("[127.0.0.1]:{} {}", self.port, self.read("host.pub"))
        } else {
            String::new()
        };
        CredentialBook {
            repositories: vec![(url.to_owned(), key)],
            known_hosts,
            ..CredentialBook::default()
        }
    }
}

#[tokio::test]
async fn an_ssh_repository_is_read_with_a_key_from_a_host_that_is_known() {
    let Some(sshd) = Sshd::start() else {
        println!("notice: there is no sshd here, ssh is not tested");
        return;
    };
    let repo = one_commit();
    let (_data, server) = server();
    let url = sshd.url(repo.path());
    server.set_credentials(sshd.book(&url, "user", false));
    let unknown = used(&server, &url).await;
    assert!(unknown.starts_with("knownhosts: key is unknown"), "{unknown}");
    server.set_credentials(sshd.book(&url, "stranger", true));
    let refused = used(&server, &url).await;
    assert!(refused.starts_with("authentication failed"), "{refused}");
    server.set_credentials(sshd.book(&url, "user", true));
    assert_eq!(used(&server, &url).await, ". Kustomize");
    let mut careless = sshd.book(&url, "user", false);
    careless.repositories[0].1.insecure = true;
    server.set_credentials(careless);
    server.test_access(&RepoUrl::new(&url)).await.expect("access");
}
