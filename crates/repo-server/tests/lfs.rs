//! Repositories with contents outside of git, made by the real `git lfs` and
//! served by the small LFS server of the testkit.

mod common;

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{query, source_repos};
use repo_server::{
    CredentialBook, FilesQuery, Freshness, ManifestQuery, RepoCredentials, TargetRevision,
};
use testkit::git::Repo;
use testkit::sshd::Sshd;

/// A content that is larger than its pointer.
fn map(name: &str) -> String {
    let text = "x".repeat(2000);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{text: {text}}}\n")
}

/// A repository whose YAML files are pointers.
#[expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]
fn repository() -> Option<Repo> {
    if Command::new("git").args(["lfs", "version"]).output().is_ok_and(|it| !it.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "no git-lfs");
        println!("NOTICE: no git-lfs here, nothing checked; install git-lfs");
        return None;
    }
    let repo = Repo::new();
    repo.git(["lfs", "install", "--local"]);
    repo.commit(&[(".gitattributes", "*.yaml filter=lfs diff=lfs merge=lfs -text\n")]);
    repo.commit(&[("app/map.yaml", &map("outside"))]);
    let pointer = repo.git(["show", "HEAD:app/map.yaml"]);
    assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1\n"), "{pointer}");
    Some(repo)
}

/// A server that knows these repositories.
struct Server(common::Server);

impl std::ops::Deref for Server {
    type Target = common::Server;

    fn deref(&self) -> &common::Server {
        &self.0
    }
}

impl Server {
    fn new(books: Vec<(String, RepoCredentials)>) -> Self {
        let server = Self(common::Server::new());
        server.know(books);
        server
    }

    fn know(&self, repositories: Vec<(String, RepoCredentials)>) {
        self.server.set_credentials(CredentialBook { repositories, ..CredentialBook::default() });
    }

    /// The keys of what `app` renders to, or the error with its causes.
    async fn keys(&self, url: &str) -> String {
        self.0.keys(url, "app").await
    }

    /// The same to an Application of a project that permits these repositories.
    async fn keys_within(&self, url: &str, permitted: &[&str]) -> String {
        let source_repos = source_repos(permitted);
        self.keys_of(ManifestQuery { source_repos, ..query(url, "app") }).await
    }
}

fn with_lfs() -> RepoCredentials {
    RepoCredentials { enable_lfs: true, ..RepoCredentials::default() }
}

fn user() -> RepoCredentials {
    let (username, password) = ("me".to_owned(), "s3cret-word".to_owned());
    RepoCredentials { username, password, ..with_lfs() }
}

fn basic() -> String {
    format!("Basic {}", STANDARD.encode("me:s3cret-word"))
}

fn wrong(url: &str, commit: &str, problem: &str) -> String {
    format!(
        "could not render app of {url} at {commit}: could not get the content of app/map.yaml, which is kept outside of git (LFS): {problem}"
    )
}

#[tokio::test]
async fn a_pointer_stands_for_what_it_points_to_where_that_is_asked_for() {
    let Some(repo) = repository() else { return };
    let http = repo.serve_http();
    for url in [http.url(), repo.file_url()] {
        let server = Server::new(Vec::new());
        assert_eq!(server.keys(&url).await, "", "without `enableLfs` it is some other YAML");
        server.know(vec![(url.clone(), with_lfs())]);
        assert_eq!(server.keys(&url).await, "ConfigMap outside", "{url}");
        let query = FilesQuery {
            repo: server.server.repo(&url, ""),
            revision: TargetRevision::default(),
            freshness: Freshness::Latest,
            submodules: false,
            integrity: None,
        };
        let files = server.server.files(&query, "app/*", false).await.expect("files");
        assert_eq!(files["app/map.yaml"], map("outside"), "generators see it, too");
    }
}

#[tokio::test]
async fn the_real_client_gets_the_same_from_the_small_server() {
    let Some(repo) = repository() else { return };
    let http = repo.serve_http();
    let clone = Repo::new();
    clone.git(["lfs", "install", "--local"]);
    clone.git(["remote", "add", "origin", &http.url()]);
    clone.git(["pull", "--quiet", "origin", "main"]);
    clone.git(["lfs", "pull", "origin"]);
    let text = std::fs::read_to_string(clone.path().join("app/map.yaml")).expect("a file");
    assert_eq!(text, map("outside"));
}

#[tokio::test]
async fn a_server_is_told_who_asks_and_no_other_is() {
    let Some(repo) = repository() else { return };
    let (http, other) = (repo.serve_http(), repo.serve_http());
    let (url, commit) = (http.url(), repo.git(["rev-parse", "HEAD"]));
    http.require_authorization(&basic());
    let server = Server::new(vec![(url.clone(), user())]);
    assert_eq!(server.keys(&url).await, "ConfigMap outside");
    let asked = http.take_requests().into_iter().filter(|it| it.target.contains("/info/lfs/"));
    let asked: Vec<_> = asked.map(|it| (it.method, it.authorization)).collect();
    assert_eq!(asked, [("POST".to_owned(), basic()), ("GET".to_owned(), basic())]);
    // It says that the content is elsewhere: fetched there, and not in our name.
    http.keep_lfs_at(&other.url());
    let server = Server::new(vec![(url.clone(), user())]);
    assert_eq!(server.keys(&url).await, "ConfigMap outside");
    let asked: Vec<_> =
        other.take_requests().into_iter().map(|it| (it.method, it.authorization)).collect();
    assert_eq!(asked, [("GET".to_owned(), String::new())]);
    other.require_authorization("Bearer something");
    let server = Server::new(vec![(url.clone(), user())]);
    let problem =
        format!("{}, where {url}/info/lfs says it is, answers 401 Unauthorized", other.authority());
    assert_eq!(server.keys(&url).await, wrong(&url, &commit, &problem));
}

#[tokio::test]
async fn a_repository_may_name_a_server_which_gets_its_own_credentials() {
    let Some(repo) = repository() else { return };
    let (http, other) = (repo.serve_http(), repo.serve_http());
    let endpoint = format!("{}/info/lfs", other.url());
    let commit = repo.commit(&[(".lfsconfig", &format!("[lfs]\n\turl = {endpoint}\n"))]);
    let url = http.url();
    http.require_authorization(&basic());
    let server = Server::new(vec![(url.clone(), user())]);
    assert_eq!(server.keys(&url).await, "ConfigMap outside");
    assert!(other.take_requests().iter().all(|it| it.authorization.is_empty()));
    other.require_authorization("Bearer token-of-the-other");
    let server = Server::new(vec![(url.clone(), user())]);
    assert_eq!(
        server.keys(&url).await,
        wrong(
            &url,
            &commit,
            &format!("{endpoint} answers 401 Unauthorized; check the repository's credentials")
        )
    );
    let token = RepoCredentials { bearer_token: "token-of-the-other".to_owned(), ..with_lfs() };
    server.know(vec![(url.clone(), user()), (endpoint.clone(), token)]);
    assert_eq!(server.keys(&url).await, "ConfigMap outside", "a failure is not remembered");
    let problem = format!(
        "{endpoint} answers 401 Unauthorized; the project does not permit it in its sourceRepos, so credentials for it are not used"
    );
    let stranger = server.keys_within(&url, &[&url]).await;
    assert_eq!(stranger, wrong(&url, &commit, &problem), "nor what is here already");
    assert_eq!(server.keys_within(&url, &[&url, &endpoint]).await, "ConfigMap outside");
    let commit = repo.commit(&[(".lfsconfig", "[lfs]\n\turl = file:///etc\n")]);
    let server = Server::new(vec![(url.clone(), user())]);
    assert_eq!(
        server.keys(&url).await,
        wrong(&url, &commit, "the .lfsconfig names file:///etc, which is no https")
    );
}

#[tokio::test]
async fn a_content_that_is_gone_or_another_one_is_told() {
    let Some(repo) = repository() else { return };
    let http = repo.serve_http();
    let (url, commit) = (http.url(), repo.git(["rev-parse", "HEAD"]));
    let pointer = repo.git(["show", "HEAD:app/map.yaml"]);
    let id = pointer.split("sha256:").nth(1).expect("a pointer")[..64].to_owned();
    let file = repo.path().join(format!(".git/lfs/objects/{}/{}/{id}", &id[..2], &id[2..4]));
    let right = std::fs::read(&file).expect("a content");
    let said = async |content: Option<&[u8]>| {
        match content {
            Some(content) => std::fs::write(&file, content).expect("a file"),
            None => std::fs::remove_file(&file).expect("a file"),
        }
        Server::new(vec![(url.clone(), with_lfs())]).keys(&url).await
    };
    let size = right.len();
    for (content, problem) in [
        (vec![b'y'; size], "its content is not what its pointer says; push it again".to_owned()),
        (vec![b'x'; 3], format!("it has not the {size} bytes of its pointer")),
        (vec![b'x'; 2 * size], format!("its answer has more than {size} bytes")),
    ] {
        assert_eq!(said(Some(&content)).await, wrong(&url, &commit, &problem));
    }
    let problem = format!("{url}/info/lfs does not have it: 404 Object does not exist");
    assert_eq!(said(None).await, wrong(&url, &commit, &problem));
    assert_eq!(said(Some(&right)).await, "ConfigMap outside");
    let large = "version https://git-lfs.github.com/spec/v1\n".to_owned()
        + &format!("oid sha256:{id}\nsize 2147483648\n");
    let commit = repo.commit(&[(".gitattributes", "# none\n"), ("app/map.yaml", &large)]);
    assert_eq!(
        Server::new(vec![(url.clone(), with_lfs())]).keys(&url).await,
        format!(
            "could not render app of {url} at {commit}: app/map.yaml: the file has 2147483648 bytes, more than the 67108864 that may be read"
        )
    );
}

#[tokio::test]
async fn a_repository_by_ssh_says_where_its_contents_are_and_what_to_show_there() {
    let (Some(repo), Some(sshd)) = (repository(), Sshd::start()) else { return };
    let (http, commit) = (repo.serve_http(), repo.git(["rev-parse", "HEAD"]));
    let token = "RemoteAuth of-the-hour";
    http.require_authorization(token);
    let url = sshd.url(repo.path());
    let server = Server::new(Vec::new());
    let key = RepoCredentials { ssh_private_key: sshd.key("user"), ..with_lfs() };
    let repositories = vec![(url.clone(), key)];
    let known_hosts = sshd.known_host();
    let book = CredentialBook { repositories, known_hosts, ..CredentialBook::default() };
    server.server.set_credentials(book);
    // Who logs in is not told.
    let shown = url.split_once('@').map_or_else(|| url.clone(), |it| format!("ssh://{}", it.1));
    let said = server.keys(&url).await;
    let expect =
        wrong(&shown, &commit, &format!("{shown} does not say by ssh where its contents are"));
    assert!(said.starts_with(&expect), "{said}");
    let header = format!("{{\"Authorization\": \"{token}\"}}");
    let href = format!("{}/info/lfs", http.url());
    sshd.install(
        "git-lfs-authenticate",
        &format!("[ \"$2\" = download ] && echo '{{\"href\": \"{href}\", \"header\": {header}}}'"),
    );
    assert_eq!(server.keys(&url).await, "ConfigMap outside");
}
