//! Users of a certified provider, the Node package `oidc-provider`, over TLS with an authority of its own.

use std::path::Path;

use api_server::{Shutdown, Web};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cluster::{Access, Client};
use devcluster::DevCluster;
use futures::future::join_all;
use serde_json::{Value, json};
use testkit::node_provider::{ALGORITHMS, NodeProvider, SECRET};

use crate::browser::{Browser, Page};
use crate::client::{Over, Rest, head_of, header};
use crate::world::{install, set_config, start, until};

const GROUPS_IN_THE_TOKEN: &str = "requestedIDTokenClaims: {groups: {essential: true}}";
const GROUPS_AT_USER_INFO: &str = "enableUserInfoGroups: true\nuserInfoPath: /me";

pub(crate) async fn story(control_plane: &DevCluster, package: &Path) {
    let kubeconfig = control_plane.kubeconfig_path();
    let access = Access::from_kubeconfig(Some(&kubeconfig), None).await.expect("a kubeconfig");
    let client = Client::connect(&access).await.expect("a connection");
    install(control_plane, &client).await;
    let shutdown = Shutdown::new();
    let address = start(client.clone(), Web::default(), shutdown.clone()).await;
    let rest = Rest { address, token: String::new(), over: Over::Rest };
    let home = format!("http://{}", rest.address);
    let provider = NodeProvider::start(package, &home);
    let world = World { home, rest, client, provider };

    world.an_unknown_authority_is_not_trusted().await;
    for algorithm in ALGORITHMS {
        world.a_token_of_every_algorithm_is_good(algorithm).await;
    }
    world.a_proof_key_is_enough_for_a_public_client().await;
    world.a_user_may_think_better_of_it().await;
    world.groups_are_asked_for_where_they_are_told().await;
    world.a_login_is_renewed_also_by_many_requests_at_once().await;
    world.a_logout_ends_the_session_there_too().await;
    shutdown.begin();
}

struct World {
    home: String,
    rest: Rest,
    client: Client,
    provider: NodeProvider,
}

impl World {
    /// Waits until the settings are these.
    async fn configure(&self, name: &str, client_id: &str, more: &str) {
        let issuer = self.provider.issuer();
        let config = format!("name: {name}\nissuer: {issuer}\nclientID: {client_id}\n{more}\n");
        let told = json!({"url": self.home, "oidc.config": config});
        set_config(&self.client, "argocd-cm", told).await;
        until("oidc.config is read", async || {
            self.rest.get("/api/v1/settings").await["oidcConfig"]["name"] == name
        })
        .await;
    }

    /// The same, with the authority and the secret of a client whose tokens are signed so.
    async fn configure_for(&self, name: &str, algorithm: &str, more: &str) {
        let authority = self.provider.authority().trim().replace('\n', "\n  ");
        let more = format!("rootCA: |\n  {authority}\nclientSecret: '{SECRET}'\n{more}");
        self.configure(name, &format!("web-{algorithm}"), &more).await;
    }

    async fn an_unknown_authority_is_not_trusted(&self) {
        self.configure("Untrusted", "web-RS256", &format!("clientSecret: '{SECRET}'")).await;
        let page = Browser::new().open(&format!("{}/auth/login", self.home)).await;
        let expect = "could not ask the provider: where its endpoints are\n";
        assert_eq!((page.status, page.body.as_str()), (500, expect));
    }

    async fn a_token_of_every_algorithm_is_good(&self, algorithm: &str) {
        let more = format!("enablePKCEAuthentication: true\n{GROUPS_IN_THE_TOKEN}");
        self.configure_for(algorithm, algorithm, &more).await;
        let token = self.token_of("ann", &mut Browser::new()).await;
        let head = URL_SAFE_NO_PAD.decode(token.split('.').next().expect("a head")).expect("it");
        let head: Value = serde_json::from_slice(&head).expect("JSON");
        assert_eq!(head["alg"], algorithm);
        self.is_ann(&token).await;
    }

    async fn a_proof_key_is_enough_for_a_public_client(&self) {
        let authority = self.provider.authority().trim().replace('\n', "\n  ");
        let more = format!(
            "rootCA: |\n  {authority}\nenablePKCEAuthentication: true\n{GROUPS_IN_THE_TOKEN}"
        );
        self.configure("Public", "public", &more).await;
        let token = self.token_of("ann", &mut Browser::new()).await;
        self.is_ann(&token).await;
    }

    async fn is_ann(&self, token: &str) {
        let told = self.rest.by(token).get("/api/v1/session/userinfo").await;
        let expect = json!({"loggedIn": true, "username": "ann", "iss": self.provider.issuer(),
                            "groups": ["sales", "ann-only"]});
        assert_eq!(told, expect);
    }

    async fn a_user_may_think_better_of_it(&self) {
        let mut browser = Browser::new();
        let page = browser.open(&format!("{}/auth/login", self.home)).await;
        let page = browser.click(&page, "/abort").await;
        assert_eq!(page.status, 400, "{page:?}");
        assert!(page.body.starts_with("access_denied: "), "{page:?}");
    }

    async fn groups_are_asked_for_where_they_are_told(&self) {
        self.configure_for("Asked", "RS256", "").await;
        let token = self.token_of("ann", &mut Browser::new()).await;
        let told = self.rest.by(token).get("/api/v1/session/userinfo").await;
        assert_eq!(told["groups"], Value::Null, "the token holds none");
        self.configure_for("Told", "RS256", GROUPS_AT_USER_INFO).await;
        let token = self.token_of("ann", &mut Browser::new()).await;
        self.is_ann(&token).await;
    }

    /// The provider takes every refresh token once; who shows one again has stolen it, and the
    /// whole login ends.
    async fn a_login_is_renewed_also_by_many_requests_at_once(&self) {
        let more = format!("refreshTokenThreshold: 1h\n{GROUPS_IN_THE_TOKEN}");
        self.configure_for("Renewed", "RS256", &more).await;
        let mut token = self.token_of("ann", &mut Browser::new()).await;
        for _ in 0..3 {
            let cookie = format!("argocd.token={token}");
            let asked =
                (0..8).map(|_| head_of(&self.rest.address, "/api/v1/session/userinfo", &cookie));
            let answers = join_all(asked).await;
            assert!(answers.iter().all(|(status, _)| *status == 200), "{answers:?}");
            let renewed = answers.iter().map(|(_, head)| header(head, "set-cookie"));
            let mut renewed = renewed.filter_map(|it| {
                Some(it.strip_prefix("argocd.token=")?.split(';').next()?.to_owned())
            });
            token = renewed.next().unwrap_or_else(|| panic!("not renewed: {answers:?}"));
        }
        self.is_ann(&token).await;
    }

    async fn a_logout_ends_the_session_there_too(&self) {
        let issuer = self.provider.issuer();
        let more = format!(
            "logoutURL: {issuer}/session/end?id_token_hint={{{{token}}}}\
             &post_logout_redirect_uri={{{{logoutRedirectURL}}}}"
        );
        self.configure_for("Logout", "RS256", &more).await;
        let mut browser = Browser::new();
        let token = self.token_of("ann", &mut browser).await;
        let page = browser.open(&format!("{}/auth/login", self.home)).await;
        self.is_home(&page);
        let page = browser.open(&format!("{}/auth/logout", self.home)).await;
        assert!(page.address.as_str().starts_with(issuer), "{page:?}");
        let page = browser.submit(&page, &[("logout", "yes")]).await;
        self.is_home(&page);
        let expect = (401, 16, "invalid session: token is revoked, please re-login");
        self.rest.by(token).refuses("GET", "/api/v1/applications", Value::Null, expect).await;
        let page = browser.open(&format!("{}/auth/login", self.home)).await;
        assert!(page.body.contains("name=\"password\""), "asked who it is: {page:?}");
    }

    async fn token_of(&self, user: &str, browser: &mut Browser) -> String {
        let page = browser.open(&format!("{}/auth/login", self.home)).await;
        let page = browser.submit(&page, &[("login", user), ("password", "any")]).await;
        // They must agree that we may know it.
        let page = browser.submit(&page, &[]).await;
        self.is_home(&page);
        browser.cookie("127.0.0.1", "argocd.token").expect("a token")
    }

    fn is_home(&self, page: &Page) {
        assert_eq!(page.address.as_str(), format!("{}/", self.home), "{page:?}");
    }
}
