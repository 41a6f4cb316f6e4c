//! What users ask of repositories beside plain manifests, against real ones.

use std::collections::BTreeMap;

use api::ApplicationSource;
use render::{EnabledSourceTypes, RenderContext, SourceDetails};
use repo_server::{
    Freshness, ManifestQuery, Options, RefSource, RepoServer, RepoUrl, TargetRevision,
};
use testkit::git::Repo;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {shown: '{{ .Values.shown }}'}\n";

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

fn reference(name: &str, repo: &Repo) -> RefSource {
    RefSource {
        name: name.to_owned(),
        repo_url: repo.file_url(),
        revision: TargetRevision::default(),
        tag_prefix: String::new(),
    }
}

/// The chart's one value.
async fn shown(server: &RepoServer, source: &str, refs: Vec<RefSource>) -> String {
    let rendered = server.manifests(query(source, refs)).await.expect("manifests");
    let objects = rendered.objects();
    let shown = objects.iter().filter_map(|it| it.text(&["data", "shown"]));
    shown.collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn value_files_of_another_source_render_again_only_when_they_change() {
    let charts = Repo::new();
    charts.commit(&[("web/Chart.yaml", CHART), ("web/templates/map.yaml", MAP)]);
    let values = Repo::new();
    values.commit(&[("prod.yaml", "shown: one")]);
    let (_data, server) = server();
    let source = format!(
        r#"{{"repoURL":"{}","path":"web","helm":{{"valueFiles":["$values/prod.yaml"]}}}}"#,
        charts.file_url()
    );
    let refs = || vec![reference("values", &values), reference("unused", &charts)];
    assert_eq!(shown(&server, &source, refs()).await, "one");
    assert_eq!(server.stats().renders, 1);
    values.commit(&[("other.yaml", "of no concern")]);
    assert_eq!(shown(&server, &source, refs()).await, "one");
    assert_eq!(server.stats().renders, 1, "nothing that was read changed");
    values.commit(&[("prod.yaml", "shown: two")]);
    assert_eq!(shown(&server, &source, refs()).await, "two");
    assert_eq!(server.stats().renders, 2);
}

#[tokio::test]
async fn a_source_that_is_only_referred_to_has_no_manifests() {
    let values = Repo::new();
    let commit =
        values.commit(&[("prod.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")]);
    let (_data, server) = server();
    let source = format!(r#"{{"repoURL":"{}","ref":"values"}}"#, values.file_url());
    let alone = server.manifests(query(&source, Vec::new())).await.expect("manifests");
    assert_eq!(alone.manifests().len(), 1);
    let refs = vec![reference("values", &values)];
    let referred = server.manifests(query(&source, refs)).await.expect("manifests");
    assert_eq!(referred.commit.as_str(), commit);
    assert_eq!((referred.manifests().len(), referred.source_type()), (0, None));
}

#[tokio::test]
async fn a_parameter_that_names_the_commit_renders_for_every_commit() {
    let charts = Repo::new();
    let first = charts.commit(&[("web/Chart.yaml", CHART), ("web/templates/map.yaml", MAP)]);
    let (_data, server) = server();
    let source = format!(
        r#"{{"repoURL":"{}","path":"web","helm":{{"parameters":[{{"name":"shown","value":"$ARGOCD_APP_REVISION"}}]}}}}"#,
        charts.file_url()
    );
    assert_eq!(shown(&server, &source, Vec::new()).await, first);
    let second = charts.commit(&[("elsewhere", "x")]);
    assert_eq!(shown(&server, &source, Vec::new()).await, second);
}

#[tokio::test]
async fn a_remote_base_is_fetched_from_its_repository() {
    let base = Repo::new();
    base.commit(&[
        ("deploy/kustomization.yaml", "resources: [map.yaml]"),
        (
            "deploy/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {shown: base}\n",
        ),
    ]);
    let http = base.serve_http();
    let overlay = Repo::new();
    let resources = format!("resources: ['{}//deploy?ref=main']", http.url());
    overlay.commit(&[("app/kustomization.yaml", resources.as_str())]);
    let (_data, server) = server();
    let source = format!(r#"{{"repoURL":"{}","path":"app"}}"#, overlay.file_url());
    assert_eq!(shown(&server, &source, Vec::new()).await, "base");
}

#[tokio::test]
async fn users_see_what_a_repository_holds_and_what_a_source_offers() {
    let repo = Repo::new();
    repo.commit(&[
        ("web/Chart.yaml", CHART),
        ("web/values.yaml", "image: {tag: v1}"),
        ("app/kustomization.yaml", "resources: []"),
        ("kustomization.yaml", "namePrefix: a"),
    ]);
    let (_data, server) = server();
    let url = RepoUrl::new(&repo.file_url());
    let head = TargetRevision::default();
    let apps = server
        .list_apps(&url, &head, EnabledSourceTypes::default(), "", repo_server::SourceRepos::all())
        .await
        .expect("apps");
    let apps: Vec<_> = apps.iter().map(|(path, it)| format!("{path} {it}")).collect();
    assert_eq!(apps, [". Kustomize", "app Kustomize", "web Helm"]);
    let source = format!(r#"{{"repoURL":"{}","path":"web"}}"#, repo.file_url());
    let details = server.details(&query(&source, Vec::new())).await.expect("details");
    let SourceDetails::Helm(helm) = details else { panic!("a chart") };
    assert_eq!(helm.parameters, BTreeMap::from([("image.tag".to_owned(), "v1".to_owned())]));
    let missing = format!(r#"{{"repoURL":"{}","path":"gone"}}"#, repo.file_url());
    let error = server.details(&query(&missing, Vec::new())).await.unwrap_err();
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(cause, "gone: app path does not exist");
}

#[tokio::test]
async fn a_commit_tells_who_wrote_it_when_and_why() {
    let repo = Repo::new();
    let commit = repo.commit(&[("a.yaml", "a")]);
    repo.annotated_tag("v1");
    repo.tag("light");
    repo.commit(&[("a.yaml", "b")]);
    let (_data, server) = server();
    let url = RepoUrl::new(&repo.file_url());
    let revision = TargetRevision(commit.clone());
    let metadata = server.revision_metadata(&url, &revision).await.expect("metadata");
    assert_eq!(metadata.commit.as_str(), commit);
    assert_eq!(metadata.tags, ["light", "v1"]);
    assert!(metadata.author.contains(" <") && metadata.author.ends_with('>'), "{metadata:?}");
    assert!(metadata.date > 0 && !metadata.message.is_empty(), "{metadata:?}");
}

#[tokio::test]
async fn a_repository_that_is_not_there_says_so() {
    let repo = Repo::new();
    repo.commit(&[("a.yaml", "a")]);
    let (_data, server) = server();
    server.test_access(&RepoUrl::new(&repo.file_url())).await.expect("access");
    let http = repo.serve_http();
    let gone = RepoUrl::new(&format!("{}-gone", http.url()));
    let error = server.test_access(&gone).await.unwrap_err().to_string();
    assert!(error.starts_with("repository not found: "), "{error}");
}

#[tokio::test]
async fn submodules_are_read_in_their_places_and_followed_when_they_move() {
    let map = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{shown: {name}}}\n")
    };
    let inner = Repo::new();
    inner.commit(&[("map.yaml", &map("one"))]);
    let inner_http = inner.serve_http();
    let outer = Repo::new();
    outer.git(["submodule", "--quiet", "add", &inner_http.url(), "app/part"]);
    outer.commit(&[("README", "x")]);
    let outer_http = outer.serve_http();
    let (_data, server) = server();
    let source = format!(
        r#"{{"repoURL":"{}","path":"app","directory":{{"recurse":true}}}}"#,
        outer_http.url()
    );
    assert_eq!(shown(&server, &source, Vec::new()).await, "one");
    inner.commit(&[("map.yaml", &map("two"))]);
    assert_eq!(shown(&server, &source, Vec::new()).await, "one", "the outer commit decides");
    outer.git(["submodule", "--quiet", "update", "--remote", "app/part"]);
    outer.commit_all();
    assert_eq!(shown(&server, &source, Vec::new()).await, "two");
}
