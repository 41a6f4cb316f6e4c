//! What a project's `sourceRepos` permit bounds whose credentials a render may
//! use beyond its source, against real servers that want a password.

mod common;

use common::{Server, chain, query, source_repos};
use repo_server::{CredentialBook, RepoCredentials};
use testkit::files::FileServer;
use testkit::git::{HttpServer, Repo};

/// `user:s3cret-word`
const BASIC: &str = "Basic dXNlcjpzM2NyZXQtd29yZA==";

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {shown: private}\n";

fn user() -> RepoCredentials {
    RepoCredentials {
        username: "user".to_owned(),
        password: "s3cret-word".to_owned(),
        ..RepoCredentials::default()
    }
}

fn book(repositories: &[&str]) -> CredentialBook {
    CredentialBook {
        repositories: repositories.iter().map(|&it| (it.to_owned(), user())).collect(),
        ..CredentialBook::default()
    }
}

/// A server whose Applications are of the project `shop`.
struct Shop(Server);

impl Shop {
    fn new(book: CredentialBook) -> Self {
        let server = Server::new();
        server.server.set_credentials(book);
        Self(server)
    }

    /// What the path `app` shows, or the error with its causes.
    async fn shown(&self, repo: &str, permitted: &[&str]) -> String {
        let mut query = query(repo, "app");
        query.context.project = "shop".to_owned();
        query.source_repos = source_repos(permitted);
        match self.0.server.manifests(query).await {
            Ok(rendered) => {
                let objects = rendered.objects();
                let shown = objects.iter().filter_map(|it| it.text(&["data", "shown"]));
                shown.collect::<Vec<_>>().join(", ")
            }
            Err(error) => chain(&error),
        }
    }
}

const NOT_PERMITTED: &str = "(the project shop does not permit this repository in its sourceRepos, so credentials for it are not used; add it there if they may be)";

fn anonymous(url: &str) -> String {
    format!(
        "authentication required: {url} does not answer anonymous requests; add credentials for it, or check that it exists {NOT_PERMITTED}"
    )
}

/// A private repository with the chart `lib`.
fn charts() -> FileServer {
    let server = FileServer::start();
    let chart = testkit::archive::chart(
        "lib",
        &[("Chart.yaml", "apiVersion: v2\nname: lib\nversion: 1.0.0\n"), ("templates/a.yaml", MAP)],
    );
    server.put("/r/lib-1.0.0.tgz", chart);
    let index = "apiVersion: v1\nentries:\n  lib:\n  - {version: 1.0.0, urls: [lib-1.0.0.tgz]}\n";
    server.put("/r/index.yaml", index);
    server.require_authorization(BASIC);
    server
}

/// A repository whose chart depends on it, the address of that, and what is
/// told to whom it is not permitted.
fn depending_on(charts: &FileServer) -> (Repo, String, String) {
    let (repo, charts) = (Repo::new(), format!("{}/r", charts.url()));
    let chart = format!(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {{name: lib, version: 1.0.0, repository: {charts}}}\n"
    );
    let commit = repo.commit(&[("app/Chart.yaml", chart.as_str())]);
    let refused = format!(
        "could not render app of {} at {commit}: failed to execute helm template command: app: Error: the dependency lib is found in Chart.yaml, but missing in charts/ directory, and could not be fetched: {}",
        repo.file_url(),
        anonymous(&charts)
    );
    (repo, charts, refused)
}

#[tokio::test]
async fn a_chart_of_a_repository_that_is_not_permitted_is_asked_for_without_credentials() {
    let server = charts();
    let (repo, url, refused) = depending_on(&server);
    let file = repo.file_url();
    let template = CredentialBook {
        templates: vec![(server.url(), user())],
        projects: [("shop".to_owned(), vec![(url.clone(), user())])].into(),
        ..CredentialBook::default()
    };
    for book in [book(&[&url]), template] {
        let shop = Shop::new(book);
        for permitted in [vec![file.as_str()], vec!["*", &format!("!{url}")], vec![]] {
            assert_eq!(shop.shown(&file, &permitted).await, refused, "{permitted:?}");
        }
        let given = server.take_authorizations();
        assert!(!given.is_empty() && given.iter().all(String::is_empty), "{given:?}");
        for permitted in [vec!["*"], vec![&file, &url]] {
            assert_eq!(shop.shown(&file, &permitted).await, "private", "{permitted:?}");
        }
        drop(server.take_authorizations());
    }
}

#[tokio::test]
async fn what_credentials_brought_here_is_not_shown_to_a_stranger() {
    let server = charts();
    let (repo, url, refused) = depending_on(&server);
    let shop = Shop::new(book(&[&url]));
    let file = repo.file_url();
    assert_eq!(shop.shown(&file, &["*"]).await, "private");
    let narrowed = shop.shown(&file, &[&file]).await;
    assert_eq!(narrowed, refused, "neither index nor chart nor the render");
    assert_eq!(shop.shown(&file, &["*"]).await, "private");
}

#[tokio::test]
async fn what_is_public_needs_no_permission() {
    let server = charts();
    server.require_authorization("");
    let (repo, url, _) = depending_on(&server);
    let shop = Shop::new(book(&[&url]));
    let file = repo.file_url();
    assert_eq!(shop.shown(&file, &[&file]).await, "private");
    let given = server.take_authorizations();
    assert!(given.iter().all(String::is_empty), "{given:?}");
}

/// A repository of git with one manifest.
fn one_map() -> (Repo, HttpServer) {
    let repo = Repo::new();
    repo.commit(&[("map.yaml", MAP), ("kustomization.yaml", "resources: [map.yaml]\n")]);
    let http = repo.serve_http();
    (repo, http)
}

fn authorizations(server: &HttpServer) -> Vec<String> {
    let requests = server.take_requests().into_iter();
    requests.map(|it| it.authorization).filter(|it| !it.is_empty()).collect()
}

#[tokio::test]
async fn a_base_in_a_repository_that_is_not_permitted_is_fetched_without_credentials() {
    let (_base, http) = one_map();
    http.require_authorization(BASIC);
    let url = http.url();
    let repo = Repo::new();
    let kustomization = format!("resources: ['{url}?ref=main']\n");
    let commit = repo.commit(&[("app/kustomization.yaml", kustomization.as_str())]);
    let shop = Shop::new(book(&[&url]));
    let file = repo.file_url();
    let base = format!("{url}?ref=main");
    let expect = format!(
        "could not render app of {file} at {commit}: kustomize build app failed: Error: accumulating resources: accumulation err='accumulating resources from '{base}': URL is a git repository': could not fetch {base}: {}",
        anonymous(&url)
    );
    assert_eq!(shop.shown(&file, &[&file]).await, expect);
    assert_eq!(authorizations(&http), Vec::<String>::new());
    assert_eq!(shop.shown(&file, &[&file, &url]).await, "private");
    assert_eq!(shop.shown(&file, &[&file]).await, expect, "what is here is not for strangers");
}

#[tokio::test]
async fn a_submodule_that_is_not_permitted_is_fetched_without_credentials() {
    let (_part, http) = one_map();
    let url = http.url();
    let whole = Repo::new();
    whole.git(["submodule", "--quiet", "add", &url, "app"]);
    whole.commit_all();
    http.require_authorization(BASIC);
    let whole = whole.serve_http();
    let shop = Shop::new(book(&[&url]));
    drop(http.take_requests());
    assert_eq!(shop.shown(&whole.url(), &[&whole.url()]).await, anonymous(&url));
    assert_eq!(authorizations(&http), Vec::<String>::new());
    assert_eq!(shop.shown(&whole.url(), &[&whole.url(), &url]).await, "private");
    let narrowed = shop.shown(&whole.url(), &["*", &format!("!{url}")]).await;
    assert_eq!(narrowed, anonymous(&url), "what is here is not for strangers");
}

#[tokio::test]
async fn a_submodule_that_is_not_permitted_is_fetched_with_the_credentials_of_its_parent() {
    let (_part, http) = one_map();
    let repo = Repo::new();
    repo.git(["submodule", "--quiet", "add", &http.url(), "app"]);
    let whole = repo.serve_http();
    // Where git keeps its own copy, on the server of the whole.
    let part = format!("{}/modules/app", whole.url());
    let modules = format!("[submodule \"app\"]\n\tpath = app\n\turl = {part}\n");
    repo.commit(&[(".gitmodules", modules.as_str())]);
    whole.require_authorization(BASIC);
    let shop = Shop::new(book(&[&whole.url()]));
    assert_eq!(shop.shown(&whole.url(), &[&whole.url()]).await, "private");
    let others = RepoCredentials { password: "another".to_owned(), ..user() };
    let mut known = book(&[&whole.url()]);
    known.repositories.push((part.clone(), others));
    let shop = Shop::new(known);
    assert_eq!(shop.shown(&whole.url(), &[&whole.url()]).await, "private", "not with its own");
    let permitted = shop.shown(&whole.url(), &["*"]).await;
    let expect = format!(
        "authentication failed: {part} refuses the credentials configured for it; check them"
    );
    assert_eq!(permitted, expect);
}
