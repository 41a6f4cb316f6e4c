//! Repositories that are opened with short-lived tokens, which fakes of GitHub,
//! Google and Azure issue (`testkit::issuers`); the repositories are real.

use render::EnabledSourceTypes;
use repo_server::{
    AzureWorkload, CredentialBook, Identity, Options, RepoCredentials, RepoServer, RepoUrl,
    TargetRevision,
};
use testkit::git::{HttpServer, Repo};
use testkit::issuers::{self, RsaKey, basic};

fn server() -> (tempfile::TempDir, RepoServer) {
    repo_server::install_crypto_provider();
    let data = tempfile::tempdir().expect("a temporary folder");
    let server = RepoServer::open(Options::new(data.path())).expect("a data directory");
    (data, server)
}

/// A repository that opens to this `Authorization` only, at `/acme/.git`.
struct Private {
    _repo: Repo,
    http: HttpServer,
}

impl Private {
    fn new(authorization: &str) -> Self {
        let repo = Repo::new();
        repo.commit(&[("kustomization.yaml", "namePrefix: a")]);
        std::fs::create_dir(repo.path().join("acme")).expect("a folder");
        repo.link("acme/.git", "../.git");
        let http = repo.serve_http();
        http.require_authorization(authorization);
        Self { _repo: repo, http }
    }

    fn url(&self) -> String {
        format!("{}/acme/.git", self.http.base())
    }
}

fn with(identity: Identity) -> RepoCredentials {
    RepoCredentials { identity: Some(identity), ..RepoCredentials::default() }
}

fn of_repository(url: &str, identity: Identity) -> CredentialBook {
    CredentialBook {
        repositories: vec![(url.to_owned(), with(identity))],
        ..CredentialBook::default()
    }
}

fn github(key: &str, installation: i64, base_url: &str) -> Identity {
    Identity::GithubApp {
        app: issuers::GITHUB_APP,
        installation,
        private_key: key.to_owned(),
        base_url: format!("{base_url}/api/v3/"),
    }
}

/// Lists, fetches and reads: what the top of the repository is, or the error
/// with its causes.
async fn used(server: &RepoServer, url: &str) -> String {
    let (url, head) = (server.repo(url, ""), TargetRevision::default());
    match server
        .list_apps(&url, &head, EnabledSourceTypes::default(), "", repo_server::SourceRepos::all())
        .await
    {
        Ok(apps) => apps.iter().map(|(path, it)| format!("{path} {it}")).collect(),
        Err(error) => chain(&error),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

#[tokio::test]
async fn a_github_app_gets_one_token_for_everything() {
    let key = RsaKey::new();
    let api = issuers::github(&key);
    let private = Private::new(&basic("x-access-token", issuers::GITHUB_TOKEN));
    let (_data, server) = server();
    let app = github(&key.pkcs1, issuers::GITHUB_INSTALLATION, &api.url());
    server.set_credentials(of_repository(&private.url(), app));
    let url = private.url();
    let calls = (0..20).map(|_| used(&server, &url));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer, ". Kustomize");
    }
    assert_eq!(api.take_asked().len(), 1, "the token is shared and kept");
}

#[tokio::test]
async fn the_installation_of_a_github_app_is_found_by_the_organization() {
    let key = RsaKey::new();
    let api = issuers::github(&key);
    let private = Private::new(&basic("x-access-token", issuers::GITHUB_TOKEN));
    let (_data, server) = server();
    let template = (private.http.base(), with(github(&key.pkcs8, 0, &api.url())));
    server
        .set_credentials(CredentialBook { templates: vec![template], ..CredentialBook::default() });
    assert_eq!(used(&server, &private.url()).await, ". Kustomize");
    let stranger = format!("{}/.git", private.http.base());
    assert_eq!(
        used(&server, &stranger).await,
        format!(
            "no token for {stranger} with its GitHub App: the GitHub App is not installed for \".git\"; install it, or set githubAppInstallationID"
        )
    );
}

#[tokio::test]
async fn a_wrong_key_is_told_in_githubs_words_and_a_right_one_counts_at_once() {
    let (key, other) = (RsaKey::new(), RsaKey::new());
    let api = issuers::github(&key);
    let private = Private::new(&basic("x-access-token", issuers::GITHUB_TOKEN));
    let (_data, server) = server();
    let (url, api_url) = (private.url(), api.url());
    let app = |key: &RsaKey| github(&key.pkcs1, issuers::GITHUB_INSTALLATION, &api_url);
    server.set_credentials(of_repository(&url, app(&other)));
    assert_eq!(
        used(&server, &url).await,
        format!(
            "no token for {url} with its GitHub App: 127.0.0.1 says 401 Unauthorized: A JSON web token could not be decoded"
        )
    );
    server.set_credentials(of_repository(&url, app(&key)));
    assert_eq!(used(&server, &url).await, ". Kustomize");
}

#[tokio::test]
async fn a_token_that_a_repository_refuses_is_neither_kept_nor_shown() {
    let key = RsaKey::new();
    let api = issuers::github(&key);
    let private = Private::new("Basic of somebody else");
    let (_data, server) = server();
    let app = github(&key.pkcs1, issuers::GITHUB_INSTALLATION, &api.url());
    server.set_credentials(of_repository(&private.url(), app));
    let refused = format!(
        "authentication failed: {} refuses the credentials configured for it; check them",
        private.url()
    );
    for _ in 0..2 {
        assert_eq!(used(&server, &private.url()).await, refused);
    }
    assert_eq!(api.take_asked().len(), 2, "a new token for every try");
}

#[tokio::test]
async fn an_issuer_that_is_not_there_is_named_with_the_repository() {
    let key = RsaKey::new();
    let private = Private::new("Basic of somebody else");
    let (_data, server) = server();
    let app = github(&key.pkcs1, issuers::GITHUB_INSTALLATION, "http://127.0.0.1:1");
    server.set_credentials(of_repository(&private.url(), app));
    let answer = used(&server, &private.url()).await;
    let begin = format!(
        "could not reach the repository {}: no token for the GitHub App: 127.0.0.1: ",
        private.url()
    );
    assert!(answer.starts_with(&begin), "{answer}");
    assert!(private.http.take_requests().is_empty(), "nobody is asked without a token");
}

#[tokio::test]
async fn a_google_service_account_logs_in_with_its_key() {
    let (_issuer, key) = issuers::google(&RsaKey::new());
    let private = Private::new(&basic(issuers::GOOGLE_ACCOUNT, issuers::GOOGLE_TOKEN));
    let (_data, server) = server();
    server.set_credentials(of_repository(
        &private.url(),
        Identity::GoogleServiceAccount { key: key.clone() },
    ));
    assert_eq!(used(&server, &private.url()).await, ". Kustomize");
    let key = key.replace("robot@", "stranger@");
    let stranger = Identity::GoogleServiceAccount { key };
    server.set_credentials(of_repository(&private.url(), stranger));
    assert_eq!(
        used(&server, &private.url()).await,
        format!(
            "no token for {} with its Google service account: 127.0.0.1 says 400 Bad Request: Bad assertion",
            private.url()
        )
    );
}

fn principal(secret: &str, directory: &str) -> Identity {
    Identity::AzureServicePrincipal {
        tenant: issuers::AZURE_TENANT.to_owned(),
        client: issuers::AZURE_CLIENT.to_owned(),
        secret: secret.to_owned(),
        directory: directory.to_owned(),
    }
}

#[tokio::test]
async fn a_service_principal_of_azure_logs_in_with_its_secret() {
    let directory = issuers::azure();
    let private = Private::new(&format!("Bearer {}", issuers::AZURE_TOKEN));
    let (_data, server) = server();
    let url = private.url();
    let right = principal(issuers::AZURE_SECRET, &directory.url());
    server.set_credentials(of_repository(&url, right));
    assert_eq!(used(&server, &url).await, ". Kustomize");
    let wrong = principal("a-wrong-s3cret", &directory.url());
    server.set_credentials(of_repository(&url, wrong));
    assert_eq!(
        used(&server, &url).await,
        format!(
            "no token for {url} with its Azure service principal: 127.0.0.1 says 401 Unauthorized: AADSTS7000215: Invalid client secret"
        )
    );
}

fn workload(directory: &str, token_file: &std::path::Path) -> Identity {
    Identity::AzureWorkload(AzureWorkload {
        directory: directory.to_owned(),
        tenant: issuers::AZURE_TENANT.to_owned(),
        client: issuers::AZURE_CLIENT.to_owned(),
        token_file: token_file.display().to_string(),
    })
}

#[tokio::test]
async fn a_pod_with_an_identity_of_azure_logs_in_with_what_the_cluster_says() {
    let directory = issuers::azure();
    let private = Private::new(&format!("Bearer {}", issuers::AZURE_TOKEN));
    let (data, server) = server();
    let file = data.path().join("token");
    let url = private.url();
    server.set_credentials(of_repository(&url, workload(&directory.url(), &file)));
    let missing = used(&server, &url).await;
    let begin = format!(
        "no token for {url} with its Azure workload identity: could not read AZURE_FEDERATED_TOKEN_FILE {}",
        file.display()
    );
    assert!(missing.starts_with(&begin), "{missing}");
    std::fs::write(&file, format!("{}\n", issuers::AZURE_ASSERTION)).expect("a file");
    assert_eq!(used(&server, &url).await, ". Kustomize");
}

#[tokio::test]
async fn a_registry_of_azure_exchanges_the_token_of_the_directory() {
    let directory = issuers::azure();
    let registry = testkit::answering::Answering::start(|_| {
        |asked: &testkit::answering::Asked| match asked.path.as_str() {
            "/oauth2/exchange" if asked.field("access_token") == issuers::AZURE_REGISTRY_TOKEN => {
                (200, br#"{"refresh_token":"r3fresh-word"}"#.to_vec())
            }
            "/v2/" if asked.header("authorization").is_empty() => (401, Vec::new()),
            _ => (404, Vec::new()),
        }
    });
    let (data, server) = server();
    let file = data.path().join("token");
    std::fs::write(&file, issuers::AZURE_ASSERTION).expect("a file");
    let credentials = RepoCredentials {
        kind: repo_server::RepoKind::Oci,
        force_http: true,
        ..with(workload(&directory.url(), &file))
    };
    let url = RepoUrl::new(&format!("oci://{}/charts", registry.authority()));
    let refused = server.test_access_with(&url, &credentials).await.unwrap_err().to_string();
    assert!(refused.starts_with("authentication failed"), "{refused}");
    let asked: Vec<String> = registry.take_asked().into_iter().map(|it| it.path).collect();
    assert_eq!(asked, ["/oauth2/exchange", "/v2/"]);
}

#[test]
fn nothing_of_an_identity_is_shown() {
    let all = [
        github("s3cret", 1, "http://x"),
        Identity::GoogleServiceAccount { key: "s3cret".to_owned() },
        principal("s3cret", ""),
    ];
    for identity in all {
        assert!(!format!("{:?}", with(identity)).contains("s3cret"));
    }
}
