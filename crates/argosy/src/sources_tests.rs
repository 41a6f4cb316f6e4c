//! One suite for both ways to a repo server: in this process, and over gRPC in
//! another. Each test says what every way has to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::ApplicationSource;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controller::{Freshness, RefSource, RenderRequest, Rendered, Since, SourceError, Sources};
use prometheus_client::registry::Registry;
use render::tracking::Tracking;
use repo_server::client::{ClientOptions, ClientTls, RepoClient};
use repo_server::service::{RepoService, ServiceOptions, TlsOptions};
use repo_server::{RepoServer, SourceRepos};
use runtime::Shutdown;
use serde_json::json;
use settings::SettingsStore;
use testkit::files::FileServer;
use testkit::git::Repo;
use testkit::issuers::{self, RsaKey};

use crate::elsewhere::Elsewhere;
use crate::sources::InProcess;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: one}\n";

/// A way to a repo server, and the server at its end.
struct Way {
    name: &'static str,
    sources: Arc<dyn Sources>,
    server: RepoServer,
    shutdown: Shutdown,
    _data: tempfile::TempDir,
}

impl Drop for Way {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

async fn ways(settings: &SettingsStore) -> [Way; 2] {
    repo_server::install_crypto_provider();
    let open = || {
        let data = tempfile::tempdir().expect("a folder");
        let options = repo_server::Options::new(data.path());
        (RepoServer::open(options).expect("a data directory"), data)
    };
    let (server, data) = open();
    let in_process = Way {
        name: "in process",
        sources: Arc::new(InProcess::new(server.clone(), settings, true)),
        server,
        shutdown: Shutdown::new(),
        _data: data,
    };
    let (server, data) = open();
    let tls = TlsOptions { folder: data.path().to_owned(), client_authority: None };
    let options = ServiceOptions { tls: Some(tls), ..ServiceOptions::default() };
    let service = RepoService::new(server.clone(), options, &mut Registry::default());
    let service = Arc::new(service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let shutdown = Shutdown::new();
    let ends = shutdown.clone();
    tokio::spawn(async move { service.run(listener, &ends).await.expect("it serves") });
    let timeout = Duration::from_secs(60);
    let options = ClientOptions { address, tls: Some(ClientTls::default()), timeout };
    let client = RepoClient::new(options).expect("a client");
    let sources = Arc::new(Elsewhere::new(client, settings, true));
    let over_grpc = Way { name: "over gRPC", sources, server, shutdown, _data: data };
    [in_process, over_grpc]
}

fn no_settings() -> SettingsStore {
    SettingsStore::new(settings::Sources::default())
}

fn source(url: &str, path: &str, revision: &str) -> ApplicationSource {
    ApplicationSource {
        repo_url: url.to_owned(),
        path: path.to_owned(),
        target_revision: revision.to_owned(),
        ..ApplicationSource::default()
    }
}

fn request(source: ApplicationSource) -> RenderRequest {
    RenderRequest {
        revision: source.target_revision.clone(),
        source,
        refs: Vec::new(),
        freshness: Freshness::Latest,
        instance: "guestbook".to_owned(),
        project: "default".to_owned(),
        source_repos: SourceRepos::all(),
        namespace: "web".to_owned(),
        tracking: Tracking::default(),
        kube_version: "v1.36.1".to_owned(),
        kinds: Arc::default(),
        integrity: None,
        ignore_cache: false,
        generate_paths: String::new(),
    }
}

impl Way {
    async fn render(&self, source: ApplicationSource) -> Result<Rendered, SourceError> {
        self.sources.render(request(source)).await
    }

    async fn resolve(&self, source: &ApplicationSource) -> Result<String, SourceError> {
        self.sources.resolve(source, "default", Freshness::Latest).await
    }
}

fn texts(rendered: &Rendered) -> Vec<String> {
    rendered.objects.iter().map(|it| it.clone().into_value().to_string()).collect()
}

#[tokio::test]
async fn a_github_app_opens_its_repository() {
    let key = RsaKey::new();
    let api = issuers::github(&key);
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let http = repo.serve_http();
    http.require_authorization(&issuers::basic("x-access-token", issuers::GITHUB_TOKEN));
    let settings = no_settings();
    let encoded = |text: &str| STANDARD.encode(text);
    settings.see_secret(&json!({
        "metadata": {"name": "app", "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "data": {
            "url": encoded(&http.url()),
            "githubAppID": encoded(&issuers::GITHUB_APP.to_string()),
            "githubAppInstallationID": encoded(&issuers::GITHUB_INSTALLATION.to_string()),
            "githubAppPrivateKey": encoded(&key.pkcs1),
            "githubAppEnterpriseBaseUrl": encoded(&format!("{}/api/v3", api.url())),
        },
    }));
    for way in ways(&settings).await {
        let rendered = way.render(source(&http.url(), "app", "HEAD")).await;
        let rendered = rendered.unwrap_or_else(|error| panic!("{}: {}", way.name, error.message));
        assert_eq!(rendered.objects.len(), 1, "{}", way.name);
    }
}

#[tokio::test]
async fn a_revision_is_resolved() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    repo.tag("v1.2.0");
    for way in ways(&no_settings()).await {
        for revision in ["", "HEAD", "main", "v1.2.0", "v1.*", &commit] {
            let resolved = way.resolve(&source(&repo.file_url(), "app", revision)).await;
            assert_eq!(resolved.as_ref(), Ok(&commit), "{revision} {}", way.name);
        }
    }
}

#[tokio::test]
async fn a_source_is_rendered_and_marked() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    for way in ways(&no_settings()).await {
        let rendered = way.render(source(&repo.file_url(), "app", "main")).await.expect(way.name);
        assert_eq!(rendered.commit, commit);
        assert_eq!(rendered.source_type, "Directory");
        let texts = texts(&rendered);
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("guestbook:/ConfigMap:web/a"), "{} {}", way.name, texts[0]);
    }
}

#[tokio::test]
async fn charts_find_value_files_of_other_sources() {
    let charts = Repo::new();
    charts.commit(&[
        ("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        (
            "web/templates/map.yaml",
            &MAP.replace("one", "'{{ .Values.shown }} {{ .Capabilities.KubeVersion }}'"),
        ),
    ]);
    let values = Repo::new();
    values.commit(&[("prod.yaml", "shown: elsewhere")]);
    for way in ways(&no_settings()).await {
        let helm = json!({"valueFiles": ["$values/prod.yaml"]});
        let chart = ApplicationSource {
            helm: serde_json::from_value(helm).expect("parameters"),
            ..source(&charts.file_url(), "web", "HEAD")
        };
        let reference = ApplicationSource {
            ref_: "values".to_owned(),
            ..source(&values.file_url(), "", "HEAD")
        };
        let refs = vec![RefSource { revision: "HEAD".to_owned(), source: reference.clone() }];
        let asked = RenderRequest { refs: refs.clone(), ..request(chart) };
        let rendered = way.sources.render(asked).await.expect(way.name);
        assert_eq!(rendered.source_type, "Helm");
        assert!(texts(&rendered)[0].contains("elsewhere v1.36.1"), "{}", texts(&rendered)[0]);
        let only = RenderRequest { refs, ..request(reference) };
        let nothing = way.sources.render(only).await.expect(way.name);
        assert!(nothing.objects.is_empty() && nothing.source_type.is_empty(), "{}", way.name);
    }
}

#[tokio::test]
async fn a_source_differs_where_a_file_that_matters_does() {
    let repo = Repo::new();
    let first = repo.commit(&[("app/map.yaml", MAP), ("lib/x", "one")]);
    let second = repo.commit(&[("lib/x", "two")]);
    let gone = "0123456789012345678901234567890123456789";
    for way in ways(&no_settings()).await {
        let differs = async |annotation: &str, commit: &str| {
            let now = RenderRequest {
                generate_paths: annotation.to_owned(),
                ..request(source(&repo.file_url(), "app", &second))
            };
            let since = Since { now, commit: commit.to_owned(), ref_commits: Vec::new() };
            way.sources.differs(since).await
        };
        assert_eq!(differs(".", &first).await, Ok(false), "{}", way.name);
        assert_eq!(differs(".;/lib", &first).await, Ok(true), "{}", way.name);
        assert_eq!(differs("../lib/*", &first).await, Ok(true), "{}", way.name);
        assert_eq!(differs("", &first).await, Ok(true), "{}: everything matters", way.name);
        assert!(differs(".", gone).await.is_err(), "{}: nobody knows that commit", way.name);
    }
}

#[tokio::test]
async fn a_source_differs_where_a_file_that_it_refers_to_does() {
    let charts = Repo::new();
    let chart = charts.commit(&[("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")]);
    let values = Repo::new();
    let first = values.commit(&[("prod.yaml", "shown: one"), ("README", "one")]);
    let second = values.commit(&[("README", "two")]);
    let third = values.commit(&[("prod.yaml", "shown: two")]);
    for way in ways(&no_settings()).await {
        let differs = async |file: &str, from: &str, to: &str| {
            let helm = json!({"valueFiles": [file]});
            let main = ApplicationSource {
                helm: serde_json::from_value(helm).expect("parameters"),
                ..source(&charts.file_url(), "web", &chart)
            };
            let reference = ApplicationSource {
                ref_: "values".to_owned(),
                ..source(&values.file_url(), "", "HEAD")
            };
            let now = RenderRequest {
                refs: vec![RefSource { revision: to.to_owned(), source: reference }],
                generate_paths: ".;/prod.yaml".to_owned(),
                ..request(main)
            };
            let ref_commits = vec![from.to_owned()];
            way.sources.differs(Since { now, commit: chart.clone(), ref_commits }).await
        };
        assert_eq!(differs("$values/prod.yaml", &first, &second).await, Ok(false), "{}", way.name);
        assert_eq!(differs("$values/prod.yaml", &second, &third).await, Ok(true), "{}", way.name);
        assert_eq!(differs("own.yaml", &second, &third).await, Ok(false), "{}: unused", way.name);
    }
}

#[tokio::test]
async fn failures_are_told_in_the_same_words() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [")]);
    let mut answers = Vec::new();
    for way in ways(&no_settings()).await {
        let url = repo.file_url();
        let mut told = Vec::new();
        told.push(way.render(source(&url, "app", "HEAD")).await.expect_err(way.name));
        told.push(way.render(source(&url, "missing", "HEAD")).await.expect_err(way.name));
        told.push(way.render(source(&url, "app", "nowhere")).await.expect_err(way.name));
        told.push(way.resolve(&source(&url, "app", "v9.*")).await.expect_err(way.name));
        told.push(way.resolve(&source("file:///nowhere", "", "")).await.expect_err(way.name));
        answers.push(told);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn what_speaks_against_a_commit_is_told_in_the_same_words() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    let rule = json!({"repos": [{"url": "*"}], "gpg": {"mode": "head", "keys": []}});
    let unsigned = format!(
        "GIT/GPG: Failed verifying revision {commit} by 'A U Thor <author@example.com>': unsigned (key_id=)"
    );
    let several = format!(
        "multiple (2) git source integrity policies found for repo URL: {}",
        repo.file_url()
    );
    for way in ways(&no_settings()).await {
        for (rules, expect) in [(json!([rule]), &unsigned), (json!([rule, rule]), &several)] {
            let integrity = serde_json::from_value(json!({"git": {"policies": rules}}));
            let asked = RenderRequest {
                integrity: Some(integrity.expect("rules")),
                ..request(source(&repo.file_url(), "app", "HEAD"))
            };
            let rendered = way.sources.render(asked).await.expect(way.name);
            assert_eq!(rendered.problems, std::slice::from_ref(expect), "{}", way.name);
        }
    }
}

#[tokio::test]
async fn contents_outside_of_git_are_read_where_the_secret_says_so() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:";
    let repo = Repo::new();
    let digest = "7d5f0d0a8bd8ee0d7a0e1e3f3b9a1a4dd2b2f9f2b6b8f0d4b1b6a6f0c9b0e1a2";
    repo.commit(&[("app/map.yaml", &format!("{pointer}{digest}\nsize 5\n"))]);
    let settings = no_settings();
    let text = |it: &str| STANDARD.encode(it);
    settings.see_secret(&json!({
        "metadata": {"name": "repo", "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "data": {"url": text(&repo.file_url()), "enableLfs": text("true")},
    }));
    for way in ways(&settings).await {
        let error = way.render(source(&repo.file_url(), "app", "HEAD")).await.expect_err(way.name);
        let expect = "could not get the content of app/map.yaml, which is kept outside of git (LFS): it is not there";
        assert!(error.message.contains(expect), "{}: {}", way.name, error.message);
    }
}

#[tokio::test]
async fn all_of_one_poll_share_one_listing_and_others_ask_anew() {
    let repo = Repo::new();
    let first = repo.commit(&[("app/map.yaml", MAP)]);
    for way in ways(&no_settings()).await {
        let moment = Freshness::NotBefore(Instant::now());
        for path in ["a", "b", "c"] {
            let asked = source(&repo.file_url(), path, "main");
            let resolved = way.sources.resolve(&asked, "default", moment).await;
            assert!(resolved.is_ok(), "{} {resolved:?}", way.name);
        }
        assert_eq!(way.server.stats().ls_remote.total, 1, "{}", way.name);
        way.resolve(&source(&repo.file_url(), "a", "main")).await.expect(way.name);
        assert_eq!(way.server.stats().ls_remote.total, 2, "{}", way.name);
    }
    assert_eq!(first.len(), 40);
}

#[tokio::test]
async fn what_is_known_is_rendered_again_only_on_a_hard_refresh() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    for way in ways(&no_settings()).await {
        let asked = || request(source(&repo.file_url(), "app", "HEAD"));
        for _ in 0..3 {
            way.sources.render(asked()).await.expect(way.name);
        }
        assert_eq!(way.server.stats().renders, 1, "{}", way.name);
        let hard = RenderRequest { ignore_cache: true, ..asked() };
        way.sources.render(hard).await.expect(way.name);
        assert_eq!(way.server.stats().renders, 2, "{}", way.name);
    }
}

#[tokio::test]
async fn credentials_of_secrets_are_used_and_those_of_a_project_only_for_it() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let http = repo.serve_http();
    http.require_authorization(BASIC);
    let settings = no_settings();
    let text = |it: &str| STANDARD.encode(it);
    settings.see_secret(&json!({
        "metadata": {
            "name": "repo",
            "labels": {"argocd.argoproj.io/secret-type": "repository"}
        },
        "data": {
            "url": text(&http.url()), "project": text("shop"),
            "username": text("user"), "password": text("s3cret"),
        },
    }));
    for way in ways(&settings).await {
        let asked = || request(source(&http.url(), "app", "HEAD"));
        let shop = RenderRequest { project: "shop".to_owned(), ..asked() };
        way.sources.render(shop).await.expect(way.name);
        let error = way.sources.render(asked()).await.expect_err("another project");
        assert!(error.message.starts_with("authentication required"), "{} {error:?}", way.name);
        assert!(!error.may_pass);
    }
}

/// `user:s3cret`
const BASIC: &str = "Basic dXNlcjpzM2NyZXQ=";

/// Settings with a password for a repository.
fn with_password(url: &str, kind: &str) -> SettingsStore {
    let settings = no_settings();
    let text = |it: &str| STANDARD.encode(it);
    settings.see_secret(&json!({
        "metadata": {"name": "repo", "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "data": {
            "url": text(url), "type": text(kind),
            "username": text("user"), "password": text("s3cret"),
        },
    }));
    settings
}

/// Asks every way for a source that leads to a private repository: the answer
/// when it is permitted, and when it is not.
async fn check_bounds(settings: &SettingsStore, source: ApplicationSource, private: &str) {
    for way in ways(settings).await {
        let asked = |entries: &[&str]| {
            let entries: Vec<String> = entries.iter().map(|&it| it.to_owned()).collect();
            let source_repos = SourceRepos::new(&entries);
            let project = "shop".to_owned();
            way.sources.render(RenderRequest { source_repos, project, ..request(source.clone()) })
        };
        let own = source.repo_url.as_str();
        for permitted in [vec!["*"], vec![own, private]] {
            let rendered = asked(&permitted).await;
            let rendered =
                rendered.unwrap_or_else(|error| panic!("{}: {}", way.name, error.message));
            assert_eq!(rendered.objects.len(), 1, "{}", way.name);
        }
        let expect = format!(
            "authentication required: {private} does not answer anonymous requests; add credentials for it, or check that it exists (the project shop does not permit this repository in its sourceRepos, so credentials for it are not used; add it there if they may be)"
        );
        for permitted in [vec![own], vec!["*", &format!("!{private}")]] {
            let error = asked(&permitted).await.expect_err(way.name);
            assert!(error.message.ends_with(&expect), "{}: {}", way.name, error.message);
        }
    }
}

#[tokio::test]
async fn a_chart_is_not_fetched_with_credentials_that_the_project_does_not_permit() {
    let charts = FileServer::start();
    let chart = "apiVersion: v2\nname: lib\nversion: 1.0.0\n";
    let archive =
        testkit::archive::chart("lib", &[("Chart.yaml", chart), ("templates/a.yaml", MAP)]);
    charts.put("/lib-1.0.0.tgz", archive);
    let index = "apiVersion: v1\nentries:\n  lib:\n  - {version: 1.0.0, urls: [lib-1.0.0.tgz]}\n";
    charts.put("/index.yaml", index);
    charts.require_authorization(BASIC);
    let parent = format!(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {{name: lib, version: 1.0.0, repository: {}}}\n",
        charts.url()
    );
    let repo = Repo::new();
    repo.commit(&[("app/Chart.yaml", parent.as_str())]);
    let settings = with_password(&charts.url(), "helm");
    check_bounds(&settings, source(&repo.file_url(), "app", "HEAD"), &charts.url()).await;
}

#[tokio::test]
async fn a_base_is_not_fetched_with_credentials_that_the_project_does_not_permit() {
    let base = Repo::new();
    base.commit(&[("map.yaml", MAP), ("kustomization.yaml", "resources: [map.yaml]\n")]);
    let private = base.serve_http();
    private.require_authorization(BASIC);
    let repo = Repo::new();
    let kustomization = format!("resources: ['{}?ref=main']\n", private.url());
    repo.commit(&[("app/kustomization.yaml", kustomization.as_str())]);
    let http = repo.serve_http();
    let settings = with_password(&private.url(), "git");
    check_bounds(&settings, source(&http.url(), "app", "HEAD"), &private.url()).await;
}

#[tokio::test]
async fn a_submodule_is_not_fetched_with_credentials_that_the_project_does_not_permit() {
    let part = Repo::new();
    part.commit(&[("map.yaml", MAP)]);
    let private = part.serve_http();
    let repo = Repo::new();
    repo.git(["submodule", "--quiet", "add", &private.url(), "app"]);
    repo.commit_all();
    private.require_authorization(BASIC);
    let http = repo.serve_http();
    let settings = with_password(&private.url(), "git");
    check_bounds(&settings, source(&http.url(), "app", "HEAD"), &private.url()).await;
}

#[tokio::test]
async fn a_repo_server_that_is_away_may_come_back() {
    let timeout = Duration::from_secs(60);
    let options = ClientOptions { address: "127.0.0.1:1".to_owned(), tls: None, timeout };
    let sources = Elsewhere::new(RepoClient::new(options).expect("a client"), &no_settings(), true);
    let asked = source("https://example.com/repo", "app", "main");
    let error = sources.resolve(&asked, "default", Freshness::Latest).await.expect_err("nobody");
    assert!(error.may_pass);
    assert!(error.message.contains("could not reach the repo server at 127.0.0.1:1"), "{error:?}");
}
