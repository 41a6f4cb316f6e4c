//! The repo server over gRPC, as Argo CD's controllers call it, against real
//! repositories.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::{Application, ApplicationSource, ChartDetails, RevisionMetadata};
use prometheus_client::registry::Registry;
use prost::Message;
use repo_server::client::{ClientOptions, ClientTls, RepoClient};
use repo_server::service::{RepoService, ServiceOptions, TlsOptions};
use repo_server::{Options, RepoServer};
use runtime::Shutdown;
use sha2::{Digest as _, Sha256};
use testkit::git::Repo;
use tonic::{Code, Status};
use wire::message::repo_server as message;
use wire::message::repo_server::path;
use wire::message::repository::{
    HelmChartsResponse, ManifestResponse, Refs, RepoAppDetailsResponse, Repository,
};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: one}\n";

struct Running {
    client: RepoClient,
    address: String,
    server: RepoServer,
    registry: Registry,
    _shutdown: End,
    _data: tempfile::TempDir,
}

struct End(Shutdown);

impl Drop for End {
    fn drop(&mut self) {
        self.0.begin();
    }
}

async fn start() -> Running {
    start_with(ServiceOptions::default(), None).await
}

async fn start_with(options: ServiceOptions, tls: Option<ClientTls>) -> Running {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    let mut registry = Registry::default();
    let service = Arc::new(RepoService::new(server.clone(), options, &mut registry));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let shutdown = Shutdown::new();
    let ends = shutdown.clone();
    tokio::spawn(async move { service.run(listener, &ends).await.expect("it serves") });
    let client = client(&address, tls);
    Running { client, address, server, registry, _shutdown: End(shutdown), _data: data }
}

fn client(address: &str, tls: Option<ClientTls>) -> RepoClient {
    let timeout = Duration::from_secs(60);
    RepoClient::new(ClientOptions { address: address.to_owned(), tls, timeout }).expect("a client")
}

impl Running {
    async fn ask<A: Message + Default + 'static>(
        &self,
        path: &'static str,
        question: impl Message + 'static,
    ) -> Result<A, Status> {
        self.client.ask(path, question, None).await
    }
}

fn repository(repo: &Repo) -> Option<Repository> {
    Some(Repository { repo: repo.file_url(), ..Repository::default() })
}

fn source(repo: &Repo, path: &str) -> ApplicationSource {
    ApplicationSource {
        repo_url: repo.file_url(),
        path: path.to_owned(),
        ..ApplicationSource::default()
    }
}

fn manifests(repo: &Repo, path: &str, revision: &str) -> message::ManifestRequest {
    message::ManifestRequest {
        repo: repository(repo),
        revision: revision.to_owned(),
        app_name: "guestbook".to_owned(),
        namespace: "web".to_owned(),
        application_source: Some(source(repo, path)),
        ..message::ManifestRequest::default()
    }
}

#[tokio::test]
async fn manifests_come_with_their_commit_and_kind() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    let running = start().await;
    let asked = manifests(&repo, "app", "HEAD");
    let answer: ManifestResponse = running.ask(path::GENERATE_MANIFEST, asked).await.unwrap();
    assert_eq!(answer.revision, commit);
    assert_eq!(answer.source_type, "Directory");
    assert_eq!(answer.manifests.len(), 1);
    assert!(answer.manifests[0].contains("guestbook:/ConfigMap:web/a"), "{}", answer.manifests[0]);
    assert_eq!(answer.namespace, "web");
}

#[tokio::test]
async fn a_branch_is_listed_again_when_the_caller_says_so() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let running = start().await;
    let ask = async |no_revision_cache: bool| {
        let asked =
            message::ManifestRequest { no_revision_cache, ..manifests(&repo, "app", "HEAD") };
        let answer: ManifestResponse = running.ask(path::GENERATE_MANIFEST, asked).await.unwrap();
        answer.revision
    };
    let first = ask(false).await;
    let second = repo.commit(&[("app/map.yaml", &MAP.replace("one", "two"))]);
    assert_eq!(ask(false).await, first, "the listing may be three minutes old");
    assert_eq!(ask(true).await, second);
    assert_eq!(running.server.stats().ls_remote.total, 2);
}

#[tokio::test]
async fn what_fails_says_why_and_what_to_do_next() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: [")]);
    let running = start().await;
    let asked = manifests(&repo, "app", "HEAD");
    let broken = running.ask::<ManifestResponse>(path::GENERATE_MANIFEST, asked).await.unwrap_err();
    assert_eq!(broken.code(), Code::Unknown);
    assert!(broken.message().contains("map.yaml"), "{}", broken.message());
    let next = |status: &Status| status.metadata().get("argosy-next").cloned();
    assert_eq!(next(&broken).unwrap(), "wait");
    let asked = manifests(&repo, "app", "nowhere");
    let missing =
        running.ask::<ManifestResponse>(path::GENERATE_MANIFEST, asked).await.unwrap_err();
    let told = "unable to resolve 'nowhere' to a commit SHA";
    assert!(missing.message().starts_with(told), "{}", missing.message());
    assert!(missing.metadata().get("argosy-inaccessible").is_some());
    let nothing = message::ManifestRequest::default();
    let refused =
        running.ask::<ManifestResponse>(path::GENERATE_MANIFEST, nothing).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn values_of_other_sources_are_found_by_their_names() {
    let charts = Repo::new();
    charts.commit(&[
        ("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("web/templates/map.yaml", &MAP.replace("one", "'{{ .Values.shown }}'")),
    ]);
    let values = Repo::new();
    values.commit(&[("prod.yaml", "shown: from-values")]);
    let running = start().await;
    let mut asked = manifests(&charts, "web", "HEAD");
    let helm = r#"{"valueFiles":["$values/prod.yaml"]}"#;
    asked.application_source.as_mut().unwrap().helm = serde_json::from_str(helm).unwrap();
    asked.has_multiple_sources = true;
    let target = message::RefTarget {
        repo: repository(&values).unwrap(),
        target_revision: "HEAD".to_owned(),
        chart: String::new(),
    };
    asked.ref_sources = BTreeMap::from([("$values".to_owned(), target)]);
    let answer: ManifestResponse = running.ask(path::GENERATE_MANIFEST, asked).await.unwrap();
    assert!(answer.manifests[0].contains("from-values"), "{}", answer.manifests[0]);
    assert_eq!(answer.source_type, "Helm");
}

#[tokio::test]
async fn credentials_come_with_the_request_and_are_for_it_alone() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let http = repo.serve_http();
    // user:s3cret
    http.require_authorization("Basic dXNlcjpzM2NyZXQ=");
    let running = start().await;
    let ask = async |password: &str| {
        let mut asked = manifests(&repo, "app", "HEAD");
        asked.application_source.as_mut().unwrap().repo_url = http.url();
        asked.no_revision_cache = true;
        asked.repo = Some(Repository {
            repo: http.url(),
            username: if password.is_empty() { String::new() } else { "user".to_owned() },
            password: password.to_owned(),
            ..Repository::default()
        });
        running.ask::<ManifestResponse>(path::GENERATE_MANIFEST, asked).await
    };
    assert_eq!(ask("s3cret").await.unwrap().manifests.len(), 1);
    let anonymous = ask("").await.unwrap_err();
    assert!(anonymous.message().starts_with("authentication required"), "{}", anonymous.message());
    let wrong = ask("wr0ng-word").await.unwrap_err();
    assert!(wrong.message().starts_with("authentication failed"), "{}", wrong.message());
    assert!(!wrong.message().contains("wr0ng-word"));
    assert_eq!(ask("s3cret").await.unwrap().manifests.len(), 1, "what came last counts");
    let test = async |password: &str| {
        let repo = Some(Repository {
            repo: http.url(),
            username: "user".to_owned(),
            password: password.to_owned(),
            ..Repository::default()
        });
        let asked = message::TestRepositoryRequest { repo };
        running.ask::<message::TestRepositoryResponse>(path::TEST_REPOSITORY, asked).await
    };
    test("s3cret").await.unwrap();
    let told = test("other-word").await.unwrap_err();
    let begin = "error testing repository connectivity: authentication failed";
    assert!(told.message().starts_with(begin), "{}", told.message());
}

#[tokio::test]
async fn revisions_refs_and_commits_are_told() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    repo.tag("v1.2.0");
    let running = start().await;
    let mut app = Application::default();
    app.spec.source = Some(source(&repo, "app"));
    let asked = message::ResolveRevisionRequest {
        repo: repository(&repo),
        app: Some(app),
        ambiguous_revision: "v1.*".to_owned(),
        ..message::ResolveRevisionRequest::default()
    };
    let resolved: message::ResolveRevisionResponse =
        running.ask(path::RESOLVE_REVISION, asked).await.unwrap();
    assert_eq!(resolved.revision, commit);
    assert_eq!(resolved.ambiguous_revision, format!("v1.* ({commit})"));
    let asked = message::ListRefsRequest { repo: repository(&repo) };
    let refs: Refs = running.ask(path::LIST_REFS, asked).await.unwrap();
    assert_eq!((refs.branches, refs.tags), (vec!["main".to_owned()], vec!["v1.2.0".to_owned()]));
    let asked = message::RepoServerRevisionMetadataRequest {
        repo: repository(&repo),
        revision: commit,
        ..message::RepoServerRevisionMetadataRequest::default()
    };
    let known: RevisionMetadata = running.ask(path::GET_REVISION_METADATA, asked).await.unwrap();
    assert_eq!(known.tags, ["v1.2.0"]);
    assert!(!known.author.is_empty());
    assert_eq!(known.source_integrity_result, None, "nobody asked");
}

#[tokio::test]
async fn where_a_commit_comes_from_is_told_by_the_name_of_the_check() {
    let repo = Repo::new();
    let commit = repo.commit(&[("app/map.yaml", MAP)]);
    let running = start().await;
    let rule = |urls: &[&str]| {
        let repos: Vec<_> = urls.iter().map(|url| serde_json::json!({"url": url})).collect();
        serde_json::json!({"repos": repos, "gpg": {"mode": "head", "keys": []}})
    };
    let unsigned = format!(
        "Failed verifying revision {commit} by 'A U Thor <author@example.com>': unsigned (key_id=)"
    );
    let several = format!(
        "multiple (2) git source integrity policies found for repo URL: {}",
        repo.file_url()
    );
    for (rules, expect) in [
        (vec![rule(&["*"])], Some(("GIT/GPG", unsigned))),
        (vec![rule(&["*"]), rule(&["file:*"])], Some(("GIT", several))),
        (vec![rule(&["https://elsewhere.example.com/*"])], None),
    ] {
        let integrity = serde_json::json!({"git": {"policies": rules}});
        let integrity: api::SourceIntegrity = serde_json::from_value(integrity).unwrap();
        let asked = message::RepoServerRevisionMetadataRequest {
            repo: repository(&repo),
            revision: commit.clone(),
            source_integrity: Some(integrity.clone()),
            ..message::RepoServerRevisionMetadataRequest::default()
        };
        let known: RevisionMetadata =
            running.ask(path::GET_REVISION_METADATA, asked).await.unwrap();
        let asked = message::ManifestRequest {
            source_integrity: Some(integrity),
            ..manifests(&repo, "app", "HEAD")
        };
        let made: ManifestResponse = running.ask(path::GENERATE_MANIFEST, asked).await.unwrap();
        for result in [known.source_integrity_result, made.source_integrity_result] {
            let told = result.map(|it| (it.checks[0].name.clone(), it.checks[0].problems.clone()));
            let expect = expect.clone().map(|(name, text)| (name.to_owned(), vec![text]));
            assert_eq!(told, expect);
        }
    }
}

#[tokio::test]
async fn what_a_repository_holds_is_told() {
    let repo = Repo::new();
    repo.commit(&[
        ("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
        ("chart/values.yaml", "replicas: 2\n"),
        ("kustomized/kustomization.yaml", "resources: []\n"),
        ("plain/map.yaml", MAP),
    ]);
    let running = start().await;
    let asked = message::ListAppsRequest { repo: repository(&repo), ..Default::default() };
    let apps: message::AppList = running.ask(path::LIST_APPS, asked).await.unwrap();
    assert_eq!(apps.apps["chart"], "Helm");
    assert_eq!(apps.apps["kustomized"], "Kustomize");
    let details = async |of: &str| {
        let asked = message::RepoServerAppDetailsQuery {
            repo: repository(&repo),
            source: Some(source(&repo, of)),
            ..Default::default()
        };
        running.ask::<RepoAppDetailsResponse>(path::GET_APP_DETAILS, asked).await.unwrap()
    };
    let chart = details("chart").await;
    assert_eq!(chart.type_, "Helm");
    assert_eq!(chart.helm.unwrap().parameters[0].name, "replicas");
    assert!(details("plain").await.directory.is_some());
    assert!(details("kustomized").await.kustomize.is_some());
    let plugins: message::PluginList =
        running.ask(path::LIST_PLUGINS, message::Empty {}).await.unwrap();
    assert!(plugins.items.is_empty());
}

#[tokio::test]
async fn files_and_directories_are_given_to_generators() {
    let repo = Repo::new();
    repo.commit(&[
        ("apps/a/config.json", "{\"a\":1}"),
        ("apps/a/deep/config.json", "{}"),
        ("apps/b/config.json", "{}"),
        (".hidden/config.json", "{}"),
        ("other.txt", "x"),
    ]);
    repo.link("apps/link.json", "a/config.json");
    repo.commit_all();
    let running = start().await;
    let files = async |pattern: &str, new: bool| {
        let asked = message::GitFilesRequest {
            repo: repository(&repo),
            revision: "HEAD".to_owned(),
            path: pattern.to_owned(),
            new_git_file_globbing_enabled: new,
            ..Default::default()
        };
        let answer: message::GitFilesResponse =
            running.ask(path::GET_GIT_FILES, asked).await.unwrap();
        answer.map
    };
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    let old = files("apps/*/config.json", false).await;
    assert_eq!(
        names(&old),
        ["apps/a/config.json", "apps/a/deep/config.json", "apps/b/config.json"]
    );
    assert_eq!(old["apps/a/config.json"], b"{\"a\":1}");
    let new = files("apps/*/config.json", true).await;
    assert_eq!(names(&new), ["apps/a/config.json", "apps/b/config.json"]);
    let link = files("apps/link.json", true).await;
    assert_eq!(link["apps/link.json"], b"{\"a\":1}", "what a link leads to");
    let asked = message::GitDirectoriesRequest { repo: repository(&repo), ..Default::default() };
    let found: message::GitDirectoriesResponse =
        running.ask(path::GET_GIT_DIRECTORIES, asked).await.unwrap();
    assert_eq!(found.paths, ["apps", "apps/a", "apps/a/deep", "apps/b"]);
}

#[tokio::test]
async fn only_changes_below_the_paths_count() {
    let repo = Repo::new();
    let first = repo.commit(&[("a/map.yaml", MAP), ("b/map.yaml", MAP)]);
    let second = repo.commit(&[("b/new/map.yaml", MAP)]);
    let running = start().await;
    let ask = async |paths: &[&str], revision: &str| {
        let asked = message::UpdateRevisionForPathsRequest {
            repo: repository(&repo),
            application_source: Some(source(&repo, "a")),
            synced_revision: first.clone(),
            revision: revision.to_owned(),
            paths: paths.iter().map(|it| (*it).to_owned()).collect(),
            ..Default::default()
        };
        let answer: message::UpdateRevisionForPathsResponse =
            running.ask(path::UPDATE_REVISION_FOR_PATHS, asked).await.unwrap();
        (answer.changes, answer.revision)
    };
    assert_eq!(ask(&["a"], "HEAD").await, (false, second.clone()));
    assert_eq!(ask(&["a", "b"], "HEAD").await, (true, second.clone()));
    assert_eq!(ask(&["/b/new"], &second).await, (true, second.clone()));
    assert_eq!(ask(&["a"], &first).await, (false, first.clone()));
    assert!(ask(&[], "HEAD").await.0, "without paths everything matters");
}

fn archive(files: &[(&str, &str)]) -> (Vec<u8>, String) {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, path, content.as_bytes()).expect("a header that fits");
    }
    let archive = tar.into_inner().and_then(|it| it.finish()).expect("written to memory");
    let checksum = Sha256::digest(&archive).iter().map(|it| format!("{it:02x}")).collect();
    (archive, checksum)
}

#[tokio::test]
async fn files_that_are_sent_are_rendered_if_they_arrive_whole() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let running = start().await;
    let (files, checksum) = archive(&[("app/map.yaml", &MAP.replace("one", "sent"))]);
    let asked = || manifests(&repo, "app", "HEAD");
    let answer = running.client.render_files(asked(), files.clone(), checksum).await.unwrap();
    assert!(answer.manifests[0].contains("sent"), "{}", answer.manifests[0]);
    let refused = running.client.render_files(asked(), files, "0".repeat(64)).await.unwrap_err();
    assert!(refused.message().contains("checksum"), "{}", refused.message());
    let (outside, checksum) = archive(&[("x", "y")]);
    let nothing = running.client.render_files(asked(), outside, checksum).await.unwrap_err();
    assert!(nothing.message().contains("app"), "{}", nothing.message());
}

#[tokio::test]
async fn charts_of_a_repository_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let running = start().await;
    let nowhere = folder.path().join("none").display().to_string();
    let repo = Some(Repository {
        repo: format!("file://{nowhere}"),
        type_: "helm".to_owned(),
        ..Repository::default()
    });
    let asked = message::HelmChartsRequest { repo: repo.clone() };
    let error = running.ask::<HelmChartsResponse>(path::GET_HELM_CHARTS, asked).await.unwrap_err();
    assert!(!error.message().is_empty());
    let asked = message::RepoServerRevisionChartDetailsRequest {
        repo,
        name: "web".to_owned(),
        revision: "1.0.0".to_owned(),
    };
    let error =
        running.ask::<ChartDetails>(path::GET_REVISION_CHART_DETAILS, asked).await.unwrap_err();
    assert!(!error.message().is_empty());
}

#[tokio::test]
async fn a_request_ends_at_its_deadline_and_others_go_on() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let http = repo.serve_http();
    http.stall();
    let running = start().await;
    let timeout = Duration::from_millis(300);
    let options = ClientOptions { address: running.address.clone(), tls: None, timeout };
    let hasty = RepoClient::new(options).unwrap();
    let repository = Repository { repo: http.url(), ..Repository::default() };
    let asked = message::ListRefsRequest { repo: Some(repository) };
    let late = hasty.ask::<_, Refs>(path::LIST_REFS, asked, None).await.unwrap_err();
    assert_eq!(late.code(), Code::DeadlineExceeded);
    let asked = manifests(&repo, "app", "HEAD");
    let answer: ManifestResponse = running.ask(path::GENERATE_MANIFEST, asked).await.unwrap();
    assert_eq!(answer.manifests.len(), 1);
}

#[tokio::test]
async fn health_and_metrics_have_argo_cds_names() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let running = start().await;
    let asked = message::HealthCheckRequest::default();
    let health: message::HealthCheckResponse =
        running.ask("/grpc.health.v1.Health/Check", asked).await.unwrap();
    assert_eq!(health.status, 1);
    let asked = manifests(&repo, "app", "HEAD");
    drop(running.ask::<ManifestResponse>(path::GENERATE_MANIFEST, asked).await.unwrap());
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &running.registry).unwrap();
    let url = repo.file_url();
    for line in [
        format!("argocd_git_request_total{{repo=\"{url}\",request_type=\"ls-remote\"}} 1"),
        format!("argocd_git_request_total{{repo=\"{url}\",request_type=\"fetch\"}} 1"),
        format!("argocd_repo_pending_request_total{{repo=\"{url}\"}} 0"),
        "argocd_repo_parallelism_wait_duration_seconds_count".to_owned(),
        "argocd_git_request_duration_seconds_bucket".to_owned(),
    ] {
        assert!(text.contains(&line), "{line} is missing in\n{text}");
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}

#[tokio::test]
async fn tls_is_self_made_or_mounted_and_clients_may_have_to_show_who_they_are() {
    let repo = Repo::new();
    repo.commit(&[("app/map.yaml", MAP)]);
    let folder = tempfile::tempdir().unwrap();
    let tls = TlsOptions { folder: folder.path().to_owned(), client_authority: None };
    let options = ServiceOptions { tls: Some(tls), ..ServiceOptions::default() };
    let running = start_with(options, Some(ClientTls::default())).await;
    let refs = async |client: &RepoClient| {
        let asked = message::ListRefsRequest { repo: repository(&repo) };
        client.ask::<_, Refs>(path::LIST_REFS, asked, None).await
    };
    refs(&running.client).await.expect("its own certificate will do");
    let plain = refs(&client(&running.address, None)).await.unwrap_err();
    assert_eq!(plain.code(), Code::Unavailable, "{plain:?}");

    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(vec![]).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let signed = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        (parameters.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem())
    };
    let (chain, key) = signed("localhost");
    write(folder.path(), "tls.crt", &chain);
    write(folder.path(), "tls.key", &key);
    write(folder.path(), "client-ca.crt", &authority_pem);
    let tls = TlsOptions {
        folder: folder.path().to_owned(),
        client_authority: Some(folder.path().join("client-ca.crt")),
    };
    let options = ServiceOptions { tls: Some(tls), ..ServiceOptions::default() };
    let running = start_with(options, Some(ClientTls::default())).await;
    assert!(refs(&running.client).await.is_err(), "a stranger");
    let port = running.address.rsplit(':').next().unwrap();
    let (chain, key) = signed("controller");
    let known = ClientTls {
        authority: Some(authority_pem.into_bytes()),
        client: Some((chain.into_bytes(), key.into_bytes())),
    };
    refs(&client(&format!("localhost:{port}"), Some(known))).await.expect("a friend");
}

#[tokio::test]
async fn a_client_finds_a_server_that_came_back() {
    let client = client("127.0.0.1:1", None);
    let asked = message::ListRefsRequest::default();
    let away = client.ask::<_, Refs>(path::LIST_REFS, asked, None).await.unwrap_err();
    assert_eq!(away.code(), Code::Unavailable);
    let told = "could not reach the repo server at 127.0.0.1:1";
    assert!(away.message().starts_with(told), "{}", away.message());
}
