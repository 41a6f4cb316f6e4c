//! Private repositories on real servers: over http and https with basic
//! authentication, tokens, certificates and proxies, over ssh with keys and known hosts.

use render::EnabledSourceTypes;
use repo_server::{
    CredentialBook, Freshness, Options, RepoCredentials, RepoServer, RepoUrl, TargetRevision,
};
use testkit::git::{Misbehaviour, Repo};
use testkit::http_proxy::Proxy;
use testkit::sshd::Sshd;
use testkit::tls::Tls;

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

/// The same, the error with its causes.
async fn used_with_causes(server: &RepoServer, url: &str) -> String {
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

/// The same for an Application of a project.
async fn used_by(server: &RepoServer, url: &str, project: &str) -> String {
    let (url, head) = (server.repo(url, project), TargetRevision::default());
    match server
        .list_apps(&url, &head, EnabledSourceTypes::default(), "", repo_server::SourceRepos::all())
        .await
    {
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
    assert_eq!(
        used(&server, &front.url()).await,
        format!(
            "{} redirects to {}, and its credentials are for {} alone; if that address is right, configure the repository with it",
            front.url(),
            back.url(),
            front.authority(),
        )
    );
    assert!(front.take_requests().iter().any(|it| it.authorization == BASIC));
    assert_eq!(back.connections(), 0, "nobody was asked there");
}

#[tokio::test]
async fn a_repository_without_credentials_may_move_anywhere() {
    let repo = one_commit();
    let (front, back) = (repo.serve_http(), repo.serve_http());
    front.redirect_to(&back);
    let (_data, server) = server();
    assert_eq!(used(&server, &front.url()).await, ". Kustomize");
}

#[tokio::test]
async fn a_repository_may_move_on_its_own_host() {
    let repo = one_commit();
    let tls = Tls::new();
    let (http, https) = (repo.serve_http(), repo.serve_https(&tls));
    // From http to https, and from there to the address with `.git`.
    http.redirect("/repo/", &format!("{}/repo/", https.base()));
    https.redirect("/repo/", &format!("{}/.git/", https.base()));
    https.require_authorization(BASIC);
    let (_data, server) = server();
    let url = format!("{}/repo", http.base());
    server.set_credentials(CredentialBook {
        repositories: vec![(url.clone(), user())],
        certificates: [("127.0.0.1".to_owned(), tls.authority().to_owned())].into(),
        ..CredentialBook::default()
    });
    assert_eq!(used(&server, &url).await, ". Kustomize");
    drop(http.take_requests());
    server.refs(&RepoUrl::new(&url), Freshness::Latest).await.expect("refs");
    assert_eq!(http.take_requests(), [], "it is remembered where the repository is");
}

#[tokio::test]
async fn a_server_that_wants_what_we_cannot_give_is_named() {
    let repo = one_commit();
    let http = repo.serve_http();
    http.misbehave(Misbehaviour::Demand(vec!["Negotiate", "NTLM"]));
    let (_data, server) = server();
    let url = http.url();
    let expect = format!(
        "authentication failed: {url} asks for Negotiate, NTLM, which is not supported; configure a password, a token or a client certificate that it takes"
    );
    assert_eq!(used(&server, &url).await, expect);
    server.set_credentials(CredentialBook {
        repositories: vec![(url.clone(), user())],
        ..CredentialBook::default()
    });
    assert_eq!(used(&server, &url).await, expect);
}

/// A book for one repository behind TLS.
fn tls_book(url: &str, tls: Option<&Tls>, credentials: RepoCredentials) -> CredentialBook {
    let authority = tls.map(|it| ("127.0.0.1".to_owned(), it.authority().to_owned()));
    CredentialBook {
        repositories: vec![(url.to_owned(), credentials)],
        certificates: authority.into_iter().collect(),
        ..CredentialBook::default()
    }
}

#[tokio::test]
async fn a_server_behind_tls_is_trusted_by_its_authority_or_not_at_all() {
    let repo = one_commit();
    let (tls, other) = (Tls::new(), Tls::new());
    let https = repo.serve_https(&tls);
    https.require_authorization(BASIC);
    let (_data, server) = server();
    let url = https.url();
    for book in [tls_book(&url, None, user()), tls_book(&url, Some(&other), user())] {
        server.set_credentials(book);
        let answer = used_with_causes(&server, &url).await;
        assert!(answer.starts_with(&format!("could not reach the repository {url}: ")), "{answer}");
        assert!(answer.contains("certificate"), "{answer}");
    }
    assert_eq!(https.take_requests(), [], "a stranger is told nothing");
    server.set_credentials(tls_book(&url, Some(&tls), user()));
    assert_eq!(used(&server, &url).await, ". Kustomize", "a new certificate counts at once");
    let careless = RepoCredentials { insecure: true, ..user() };
    server.set_credentials(tls_book(&url, None, careless));
    server.test_access(&RepoUrl::new(&url)).await.expect("access");
    server.set_credentials(tls_book(&url, None, user()));
    assert!(server.test_access(&RepoUrl::new(&url)).await.is_err(), "and so does its absence");
}

#[tokio::test]
async fn a_server_that_wants_a_client_certificate_gets_it() {
    let repo = one_commit();
    let tls = Tls::new().for_clients_with_certificates();
    let https = repo.serve_https(&tls);
    let (_data, server) = server();
    let url = https.url();
    server.set_credentials(tls_book(&url, Some(&tls), RepoCredentials::default()));
    let answer = used_with_causes(&server, &url).await;
    assert!(answer.starts_with(&format!("could not reach the repository {url}: ")), "{answer}");
    let shown = RepoCredentials {
        tls_client_cert: tls.client().certificate.clone(),
        tls_client_key: tls.client().key.clone(),
        ..RepoCredentials::default()
    };
    server.set_credentials(tls_book(&url, Some(&tls), shown.clone()));
    assert_eq!(used(&server, &url).await, ". Kustomize");
    let broken = RepoCredentials { tls_client_key: "no key".to_owned(), ..shown };
    server.set_credentials(tls_book(&url, Some(&tls), broken));
    let answer = used_with_causes(&server, &url).await;
    assert!(
        answer.contains("tlsClientCertData and tlsClientCertKey are no pair in PEM"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_repository_has_its_own_proxy_and_hosts_without_it() {
    let repo = one_commit();
    let tls = Tls::new();
    let (http, https) = (repo.serve_http(), repo.serve_https(&tls));
    let proxy = Proxy::start();
    let (_data, server) = server();
    let through = RepoCredentials { proxy: proxy.url(), ..RepoCredentials::default() };
    let past = RepoCredentials { no_proxy: "example.com,127.0.0.1".to_owned(), ..through.clone() };
    for url in [http.url(), https.url()] {
        let authority = RepoUrl::new(&url).without_credentials();
        let authority = authority.split('/').nth(2).expect("a host").to_owned();
        server.set_credentials(tls_book(&url, Some(&tls), through.clone()));
        server.test_access(&RepoUrl::new(&url)).await.expect("access");
        assert_eq!(proxy.take_asked(), [authority]);
        server.set_credentials(tls_book(&url, Some(&tls), past.clone()));
        server.test_access(&RepoUrl::new(&url)).await.expect("access");
        assert_eq!(proxy.take_asked(), Vec::<String>::new(), "noProxy");
    }
    assert_eq!(used(&server, &https.url()).await, ". Kustomize");
}

fn ssh_book(sshd: &Sshd, url: &str, key: &str, known: bool) -> CredentialBook {
    let key = RepoCredentials { ssh_private_key: sshd.key(key), ..Default::default() };
    CredentialBook {
        repositories: vec![(url.to_owned(), key)],
        known_hosts: if known { sshd.known_host() } else { String::new() },
        ..CredentialBook::default()
    }
}

#[tokio::test]
async fn an_ssh_repository_is_read_with_a_key_from_a_host_that_is_known() {
    let Some(sshd) = Sshd::start() else { return };
    let repo = one_commit();
    let (_data, server) = server();
    let url = sshd.url(repo.path());
    server.set_credentials(ssh_book(&sshd, &url, "user", false));
    let unknown = used(&server, &url).await;
    assert!(unknown.starts_with("knownhosts: key is unknown"), "{unknown}");
    server.set_credentials(ssh_book(&sshd, &url, "stranger", true));
    let refused = used(&server, &url).await;
    assert!(refused.starts_with("authentication failed"), "{refused}");
    server.set_credentials(ssh_book(&sshd, &url, "user", true));
    assert_eq!(used(&server, &url).await, ". Kustomize");
    let mut careless = ssh_book(&sshd, &url, "user", false);
    careless.repositories[0].1.insecure = true;
    server.set_credentials(careless);
    server.test_access(&RepoUrl::new(&url)).await.expect("access");
}
