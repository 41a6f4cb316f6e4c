//! Charts of chart repositories, against a real HTTP server.

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, Options, RefSource, RepoCredentials, RepoServer,
    RepoUrl, TargetRevision,
};
use testkit::files::FileServer;
use testkit::git::Repo;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Chart.Name }}'}\ndata: {shown: '{{ .Chart.Version }} {{ .Values.shown }}'}\n";

/// The archive of a chart with one template.
fn archive(name: &str, version: &str) -> Vec<u8> {
    let chart = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    testkit::archive::chart(
        name,
        &[
            ("Chart.yaml", chart.as_str()),
            ("values.yaml", "shown: default\n"),
            ("prod.yaml", "shown: inside\n"),
            ("templates/map.yaml", MAP),
        ],
    )
}

/// A repository with two versions of `web` and one of `lib`.
fn charts() -> FileServer {
    let server = FileServer::start();
    server.put("/r/web-1.0.0.tgz", archive("web", "1.0.0"));
    server.put("/r/web-1.1.0.tgz", archive("web", "1.1.0"));
    server.put("/r/lib-0.1.0.tgz", archive("lib", "0.1.0"));
    server.put("/r/odd-1.0.0.tgz", archive("odd", "1.0.0"));
    server.put(
        "/r/index.yaml",
        "apiVersion: v1\nentries:\n  web:\n  - {version: 1.1.0, urls: [web-1.1.0.tgz]}\n  - {version: 1.0.0, urls: [/r/web-1.0.0.tgz]}\n  lib:\n  - {version: 0.1.0, urls: [lib-0.1.0.tgz]}\n  odd:\n  - {version: 1.0.0, urls: [odd-1.0.0.tgz], digest: \"0123\"}\n",
    );
    server
}

fn server() -> (tempfile::TempDir, RepoServer) {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    (data, server)
}

fn query(source: &str, refs: Vec<RefSource>) -> ManifestQuery {
    let source: ApplicationSource = serde_json::from_str(source).expect("a source");
    ManifestQuery {
        revision: TargetRevision(source.target_revision.clone()),
        source,
        refs,
        freshness: Freshness::Latest,
        context: RenderContext::new("guestbook", "web"),
        source_repos: repo_server::SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    }
}

fn chart_source(charts: &FileServer, chart: &str, revision: &str, helm: &str) -> String {
    let url = charts.url();
    format!(
        r#"{{"repoURL":"{url}/r","chart":"{chart}","targetRevision":"{revision}","helm":{helm}}}"#
    )
}

/// The revision and what the objects show, or the error with its causes.
async fn shown(server: &RepoServer, source: &str, refs: Vec<RefSource>) -> String {
    match server.manifests(query(source, refs)).await {
        Ok(rendered) => {
            let objects = rendered.objects();
            let shown = objects.iter().filter_map(|it| it.text(&["data", "shown"]));
            format!("{}: {}", rendered.commit, shown.collect::<Vec<_>>().join(", "))
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|it| format!(": {it}"));
            format!("{error}{}", cause.unwrap_or_default())
        }
    }
}

#[tokio::test]
async fn a_chart_is_found_by_version_or_range_and_rendered_with_values() {
    let (charts, (_data, server)) = (charts(), server());
    for (revision, helm, expect) in [
        ("1.0.0", "{}", "1.0.0: 1.0.0 default"),
        ("1.*", "{}", "1.1.0: 1.1.0 default"),
        ("", "{}", "1.1.0: 1.1.0 default"),
        ("1.0.0", r#"{"valueFiles":["prod.yaml"]}"#, "1.0.0: 1.0.0 inside"),
        (
            "1.0.0",
            r#"{"parameters":[{"name":"shown","value":"$ARGOCD_APP_REVISION"}]}"#,
            "1.0.0: 1.0.0 1.0.0",
        ),
    ] {
        let source = chart_source(&charts, "web", revision, helm);
        assert_eq!(shown(&server, &source, Vec::new()).await, expect);
    }
    let archives = charts.take_requests().iter().filter(|it| it.ends_with(".tgz")).count();
    assert_eq!(archives, 2, "each version was fetched once");
}

#[tokio::test]
async fn everyone_of_one_poll_shares_one_index() {
    let (charts, (_data, server)) = (charts(), server());
    let poll = Freshness::NotBefore(std::time::Instant::now());
    let source = chart_source(&charts, "web", "1.*", "{}");
    let asks = (0..20).map(|number| {
        let mut query = ManifestQuery { freshness: poll, ..query(&source, Vec::new()) };
        query.context.app_name = format!("app-{number}");
        server.manifests(query)
    });
    for rendered in futures::future::join_all(asks).await {
        assert_eq!(rendered.expect("manifests").commit, "1.1.0");
    }
    assert_eq!(charts.take_requests(), ["/r/index.yaml", "/r/web-1.1.0.tgz"]);
}

#[tokio::test]
async fn what_is_missing_or_not_what_the_index_says_is_told() {
    let (charts, (_data, server)) = (charts(), server());
    let url = format!("{}/r", charts.url());
    for (chart, revision, expect) in [
        ("nope", "*", format!("chart 'nope' not found in index of {url}")),
        (
            "web",
            "9.9.9",
            format!("chart web has no version that fits '9.9.9' in {url}; check targetRevision"),
        ),
        (
            "web",
            "9.*",
            format!("chart web has no version that fits '9.*' in {url}; check targetRevision"),
        ),
    ] {
        let source = chart_source(&charts, chart, revision, "{}");
        assert_eq!(shown(&server, &source, Vec::new()).await, expect);
    }
    let odd = shown(&server, &chart_source(&charts, "odd", "1.0.0", "{}"), Vec::new()).await;
    assert!(odd.starts_with(&format!("the data of {url} is damaged: ")), "{odd}");
    let elsewhere = format!(r#"{{"repoURL":"{}/gone","chart":"web"}}"#, charts.url());
    let gone = shown(&server, &elsewhere, Vec::new()).await;
    assert!(gone.starts_with("repository not found: "), "{gone}");
}

#[tokio::test]
async fn a_private_chart_repository_is_read_with_its_credentials() {
    let (charts, (_data, server)) = (charts(), server());
    charts.require_authorization(USER);
    let source = chart_source(&charts, "web", "1.0.0", "{}");
    let refused = shown(&server, &source, Vec::new()).await;
    assert!(refused.starts_with("authentication required: "), "{refused}");
    server.set_credentials(CredentialBook {
        repositories: vec![(format!("{}/r", charts.url()), user())],
        ..CredentialBook::default()
    });
    assert_eq!(shown(&server, &source, Vec::new()).await, "1.0.0: 1.0.0 default");
}

#[tokio::test]
async fn values_of_a_chart_come_from_a_git_repository() {
    let (charts, (_data, server)) = (charts(), server());
    let values = Repo::new();
    values.commit(&[("prod.yaml", "shown: from git")]);
    let refs = || {
        vec![RefSource {
            name: "values".to_owned(),
            repo_url: values.file_url(),
            revision: TargetRevision::default(),
            tag_prefix: String::new(),
        }]
    };
    let source = chart_source(&charts, "web", "1.0.0", r#"{"valueFiles":["$values/prod.yaml"]}"#);
    assert_eq!(shown(&server, &source, refs()).await, "1.0.0: 1.0.0 from git");
    values.commit(&[("prod.yaml", "shown: changed")]);
    assert_eq!(shown(&server, &source, refs()).await, "1.0.0: 1.0.0 changed");
}

#[tokio::test]
async fn dependencies_of_a_chart_in_git_are_fetched_in_the_locked_version() {
    let (charts, (_data, server)) = (charts(), server());
    let repo = Repo::new();
    let parent = format!(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {{name: web, version: 1.x.x, repository: {}/r}}\n",
        charts.url()
    );
    repo.commit(&[("app/Chart.yaml", parent.as_str())]);
    let source = format!(r#"{{"repoURL":"{}","path":"app"}}"#, repo.file_url());
    let free = shown(&server, &source, Vec::new()).await;
    assert!(free.ends_with(": 1.1.0 default"), "{free}");
    repo.commit(&[("app/Chart.lock", "dependencies:\n- {name: web, version: 1.0.0}\n")]);
    let locked = shown(&server, &source, Vec::new()).await;
    assert!(locked.ends_with(": 1.0.0 default"), "{locked}");
}

#[tokio::test]
async fn a_dependency_may_name_a_repository_instead_of_its_address() {
    let (charts, (_data, server)) = (charts(), server());
    let repo = Repo::new();
    let parent = "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: web, version: 1.0.0, repository: '@mine'}\n";
    repo.commit(&[("app/Chart.yaml", parent)]);
    let source = format!(r#"{{"repoURL":"{}","path":"app"}}"#, repo.file_url());
    let unnamed = shown(&server, &source, Vec::new()).await;
    assert!(unnamed.contains("there is no repository with the name mine; add it"), "{unnamed}");
    server.set_credentials(CredentialBook {
        names: [("mine".to_owned(), format!("{}/r", charts.url()))].into(),
        ..CredentialBook::default()
    });
    let again = ManifestQuery { ignore_cache: true, ..query(&source, Vec::new()) };
    let rendered = server.manifests(again).await.expect("manifests");
    assert_eq!(rendered.manifests().len(), 1);
}

#[tokio::test]
async fn users_see_the_charts_of_a_repository() {
    let (charts, (_data, server)) = (charts(), server());
    let url = RepoUrl::new(&format!("{}/r", charts.url()));
    let found = server.helm_charts(&url).await.expect("charts");
    let found: Vec<_> =
        found.iter().map(|(name, versions)| format!("{name} {}", versions.join(","))).collect();
    assert_eq!(found, ["lib 0.1.0", "odd 1.0.0", "web 1.1.0,1.0.0"]);
}

const USER: &str = "Basic dXNlcjpzM2NyZXQtd29yZA==";

fn user() -> RepoCredentials {
    RepoCredentials {
        username: "user".to_owned(),
        password: "s3cret-word".to_owned(),
        ..RepoCredentials::default()
    }
}

/// A private repository whose index leads to archives on another private host.
fn charts_elsewhere() -> (FileServer, FileServer) {
    let (index, archives) = (FileServer::start(), FileServer::start());
    archives.put("/web-1.0.0.tgz", archive("web", "1.0.0"));
    let url = archives.url();
    index.put(
        "/r/index.yaml",
        format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{version: 1.0.0, urls: ['{url}/web-1.0.0.tgz']}}\n"
        ),
    );
    index.require_authorization(USER);
    archives.require_authorization(USER);
    (index, archives)
}

#[tokio::test]
async fn credentials_follow_to_another_host_only_when_the_source_says_so() {
    let ((index, archives), (_data, server)) = (charts_elsewhere(), server());
    server.set_credentials(CredentialBook {
        repositories: vec![(format!("{}/r", index.url()), user())],
        ..CredentialBook::default()
    });
    for helm in ["{}", r#"{"passCredentials":false}"#] {
        let refused = shown(&server, &chart_source(&index, "web", "1.0.0", helm), Vec::new()).await;
        let expect = format!(
            "authentication required: the index of {}/r leads to 127.0.0.1, which gets no \
             credentials of the repository; set helm.passCredentials if it may have them",
            index.url()
        );
        assert_eq!(refused, expect);
    }
    assert_eq!(archives.take_authorizations(), ["", ""], "none was sent");
    let source = chart_source(&index, "web", "1.0.0", r#"{"passCredentials":true}"#);
    assert_eq!(shown(&server, &source, Vec::new()).await, "1.0.0: 1.0.0 default");
}

#[tokio::test]
async fn credentials_follow_to_the_host_of_a_dependency_when_the_source_says_so() {
    let ((index, _archives), (_data, server)) = (charts_elsewhere(), server());
    let repo = Repo::new();
    let parent = format!(
        "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {{name: web, version: 1.0.0, repository: {}/r}}\n",
        index.url()
    );
    repo.commit(&[("app/Chart.yaml", parent.as_str())]);
    server.set_credentials(CredentialBook {
        repositories: vec![(format!("{}/r", index.url()), user())],
        ..CredentialBook::default()
    });
    let source =
        |helm: &str| format!(r#"{{"repoURL":"{}","path":"app","helm":{helm}}}"#, repo.file_url());
    let refused = shown(&server, &source("{}"), Vec::new()).await;
    assert!(refused.contains("set helm.passCredentials if it may have them"), "{refused}");
    let passed = shown(&server, &source(r#"{"passCredentials":true}"#), Vec::new()).await;
    assert!(passed.ends_with(": 1.0.0 default"), "{passed}");
}

#[tokio::test]
async fn a_chart_that_takes_too_long_ends_and_its_thread_with_it() {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let mut options = Options::new(data.path());
    options.render_timeout = std::time::Duration::from_secs(3);
    options.parallel_renders = 1;
    let server = RepoServer::open(options).expect("a data directory");
    let repo = Repo::new();
    let endless = "{{ $text := repeat 200000 \"ab\" }}{{ range 1000000 }}{{ $_ := sha256sum $text }}{{ end }}";
    repo.commit(&[
        ("slow/Chart.yaml", "apiVersion: v2\nname: slow\nversion: 1.0.0\n"),
        ("slow/templates/a.yaml", endless),
        ("quick/Chart.yaml", "apiVersion: v2\nname: quick\nversion: 1.0.0\n"),
        ("quick/values.yaml", "shown: quick\n"),
        ("quick/templates/map.yaml", MAP),
    ]);
    let source = |path: &str| format!(r#"{{"repoURL":"{}","path":"{path}"}}"#, repo.file_url());
    let late = shown(&server, &source("slow"), Vec::new()).await;
    assert_eq!(late, format!("rendering from {} took longer than 3s", repo.file_url()));
    // There is one thread: while the slow chart had it, this would have to wait in vain.
    let next = shown(&server, &source("quick"), Vec::new()).await;
    assert!(next.ends_with(": 1.0.0 quick"), "{next}");
}

#[tokio::test]
async fn value_files_of_another_server_are_fetched_if_the_scheme_is_allowed() {
    let (charts, (_data, server)) = (charts(), server());
    charts.put("/values/prod.yaml", "shown: far away\n");
    let helm = |path: &str| format!(r#"{{"valueFiles":["{}{path}"]}}"#, charts.url());
    let ask = async |helm: &str, schemes: &[&str]| {
        let mut query = query(&chart_source(&charts, "web", "1.0.0", helm), Vec::new());
        query.context.values_file_schemes = schemes.iter().map(|&it| it.to_owned()).collect();
        match server.manifests(query).await {
            Ok(rendered) => {
                let objects = rendered.objects();
                objects[0].text(&["data", "shown"]).unwrap_or_default().to_owned()
            }
            Err(error) => {
                std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
            }
        }
    };
    assert_eq!(ask(&helm("/values/prod.yaml"), &["http"]).await, "1.0.0 far away");
    assert_eq!(
        ask(&helm("/values/prod.yaml"), &["https"]).await,
        "error resolving helm value files: the URL scheme 'http' is not allowed"
    );
    let missing = ask(&helm("/values/none.yaml"), &["http"]).await;
    assert!(missing.ends_with("HTTP Error: status code 404"), "{missing}");
}
