//! Users of a real Dex. The browser is ours, the `argocd` program is played by its requests.

use api_server::{Shutdown, Web};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use cluster::{Access, Client};
use devcluster::DevCluster;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use testkit::dex::Dex;
use testkit::tls::Tls;

use crate::browser::{Browser, Page, form};
use crate::client::{Over, Rest, head_of};
use crate::world::{install, secret, set_config, start, until};

const PASSWORD: &str = "correct horse";
/// Whom Dex's connector for tests lets in; in no group.
const WRITER: &str = "kilgore@kilgore.trout";
/// Whom Dex itself knows; in the group `sales`.
const SELLER: &str = "ann@example.org";

pub(crate) async fn story(control_plane: &DevCluster, program: std::path::PathBuf) {
    let kubeconfig = control_plane.kubeconfig_path();
    let access = Access::from_kubeconfig(Some(&kubeconfig), None).await.expect("a kubeconfig");
    let client = Client::connect(&access).await.expect("a connection");
    install(control_plane, &client).await;
    let mut dex = Dex::from(program);
    let shutdown = Shutdown::new();
    let reached = |dex_authority: Option<&str>| {
        let (dex_server, dex_authority) = (dex.address(), dex_authority.map(str::to_owned));
        start(client.clone(), Web { dex_server, dex_authority, ..Web::default() }, shutdown.clone())
    };
    let address = reached(None).await;
    let strict = reached(Some(dex.authority())).await;
    let wrong = reached(Some(Tls::new().authority())).await;
    let none = reached(Some("")).await;
    let rest = Rest { address, token: String::new(), over: Over::Rest };
    let world = World { home: format!("http://{}", rest.address), rest, client };

    world.configure(&dex).await;
    world.users_are_told_that_dex_is_down().await;
    dex.start();
    world.a_certificate_is_checked_where_the_authority_is_known(&strict, [&wrong, &none]).await;
    let seller = world.a_browser_logs_in_with_a_password().await;
    world.rights_are_those_of_the_group_the_email_and_the_user(&seller).await;
    let old = world.the_command_line_program_gets_a_token_and_a_new_one().await;
    world.a_logout_ends_this_session(&seller).await;
    dex.start();
    world.a_dex_with_new_keys_is_believed_at_once(&old).await;
    shutdown.begin();
}

struct World {
    home: String,
    rest: Rest,
    client: Client,
}

impl World {
    async fn configure(&self, dex: &Dex) {
        let stored = secret(&self.client, "argocd-secret").await.expect("the Secret");
        let key = STANDARD.decode(stored.text(&["data", "server.secretkey"]).expect("a key"));
        // As the wrapper of Dex derives it.
        let mut derived = URL_SAFE.encode(digest(&SHA256, &key.expect("base64")));
        derived.truncate(40);
        let ann = json!({"email": SELLER, "username": "ann", "userID": "ann-1",
                         "groups": ["sales"],
                         "hash": bcrypt::hash(PASSWORD, 10).expect("a hash")});
        let config = json!({
            "connectors": [{"type": "mockPassword", "id": "press", "name": "Press",
                            "config": {"username": "kilgore", "password": PASSWORD}}],
            "enablePasswordDB": true,
            "staticPasswords": [ann],
        });
        let told = json!({"url": self.home, "dex.config": config.to_string()});
        dex.configure(config, &self.home, &derived);
        set_config(&self.client, "argocd-cm", told).await;
        let policy = "g, sales, role:sellers\np, role:sellers, projects, get, default, allow\n\
                      g, kilgore@kilgore.trout, role:sellers\n\
                      p, 0-385-28089-0, accounts, get, admin, allow\n\
                      p, ann-1, accounts, get, admin, allow";
        let policy = json!({"policy.csv": policy, "scopes": "[groups, email]"});
        set_config(&self.client, "argocd-rbac-cm", policy).await;
        until("dex.config is read", async || {
            let settings = self.rest.get("/api/v1/settings").await;
            settings["dexConfig"]["connectors"][0]["name"] == "Press"
        })
        .await;
    }

    async fn users_are_told_that_dex_is_down(&self) {
        let page = Browser::new().open(&format!("{}/auth/login", self.home)).await;
        assert_eq!(page.status, 500, "{page:?}");
        assert!(page.body.starts_with("could not ask the provider"), "{page:?}");
        let page = Browser::new().open(&format!("{}/api/dex/auth", self.home)).await;
        assert_eq!((page.status, page.body.as_str()), (502, "dex does not answer"));
    }

    async fn a_certificate_is_checked_where_the_authority_is_known(
        &self,
        good: &str,
        bad: [&str; 2],
    ) {
        for (address, login, passed_on) in
            [(good, 303, 200), (bad[0], 500, 502), (bad[1], 500, 502)]
        {
            until("dex.config is read", async || {
                head_of(address, "/api/dex/keys", "").await.0 != 404
            })
            .await;
            assert_eq!(head_of(address, "/api/dex/keys", "").await.0, passed_on);
            let (status, head) = head_of(address, "/auth/login", "").await;
            assert_eq!(status, login, "{head}");
        }
    }

    /// The token.
    async fn a_browser_logs_in_with_a_password(&self) -> String {
        let mut browser = Browser::new();
        let choice = self.began(&mut browser).await;
        let page = browser.click(&choice, "/auth/local").await;
        let page = browser.submit(&page, &[("login", SELLER), ("password", "wrong")]).await;
        assert_eq!(page.status, 401, "{page:?}");
        assert!(page.body.contains("Invalid"), "{page:?}");
        assert!(page.address.as_str().starts_with(&format!("{}/api/dex/", self.home)));
        assert_eq!(browser.cookie("127.0.0.1", "argocd.token"), None);
        let page = browser.submit(&page, &[("login", SELLER), ("password", PASSWORD)]).await;
        assert_eq!(page.address.as_str(), format!("{}/", self.home), "{page:?}");
        let token = browser.cookie("127.0.0.1", "argocd.token").expect("a token");
        let told = self.rest.by(token.clone()).get("/api/v1/session/userinfo").await;
        let expect = json!({"loggedIn": true, "username": SELLER, "groups": ["sales", SELLER],
                            "iss": format!("{}/api/dex", self.home)});
        assert_eq!(told, expect);
        token
    }

    /// A login at its first page; right after a failure nobody is asked again for a second.
    async fn began(&self, browser: &mut Browser) -> Page {
        let mut last = None;
        until("Dex asks who it is", async || {
            let page = browser.open(&format!("{}/auth/login", self.home)).await;
            let is_there = page.status == 200;
            last = Some(page);
            is_there
        })
        .await;
        last.expect("a page")
    }

    async fn rights_are_those_of_the_group_the_email_and_the_user(&self, seller: &str) {
        let writer = self.token_of_the_writer().await;
        for token in [seller, writer.as_str()] {
            let user = self.rest.by(token);
            until("the policy is read", async || {
                user.ask("GET", "/api/v1/projects/default", Value::Null).await.0 == 200
            })
            .await;
            assert_eq!(user.get("/api/v1/account").await["items"][0]["name"], "admin");
            let wanted = json!({"project": {"metadata": {"name": "x"}}});
            assert_eq!(user.ask("POST", "/api/v1/projects", wanted).await.0, 403);
        }
    }

    async fn token_of_the_writer(&self) -> String {
        let mut browser = Browser::new();
        let choice = self.began(&mut browser).await;
        let page = browser.click(&choice, "/auth/press").await;
        let page = browser.submit(&page, &[("login", "kilgore"), ("password", PASSWORD)]).await;
        assert_eq!(page.address.as_str(), format!("{}/", self.home), "{page:?}");
        browser.cookie("127.0.0.1", "argocd.token").expect("a token")
    }

    /// What `argocd login --sso` asks, and what it asks again when its token ends.
    async fn the_command_line_program_gets_a_token_and_a_new_one(&self) -> String {
        const HERE: &str = "http://localhost:8085/auth/callback";
        const VERIFIER: &str = "a-verifier-that-is-long-enough-for-all-of-them";
        let issuer = format!("{}/api/dex", self.home);
        let mut browser = Browser::new();
        let doors = browser.open(&format!("{issuer}/.well-known/openid-configuration")).await;
        let doors: Value = serde_json::from_str(&doors.body).expect("JSON");
        assert_eq!(doors["issuer"], issuer);
        let door = |name: &str| doors[name].as_str().expect("an address").to_owned();
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes()));
        let asked = form(&[
            ("access_type", "offline"),
            ("client_id", "argo-cd-cli"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("connector_id", "press"),
            ("redirect_uri", HERE),
            ("response_type", "code"),
            ("scope", "openid profile email groups federated:id offline_access"),
            ("state", "a-state"),
        ]);
        let page = browser.open(&format!("{}?{asked}", door("authorization_endpoint"))).await;
        let page = browser.submit(&page, &[("login", "kilgore"), ("password", PASSWORD)]).await;
        assert!(page.address.as_str().starts_with(HERE), "{page:?}");
        assert_eq!(page.parameter("state").as_deref(), Some("a-state"));
        let code = page.parameter("code").expect("a code");
        let tokens = |fields: Vec<(&'static str, String)>| {
            let endpoint = door("token_endpoint");
            async move {
                let fields: Vec<(&str, &str)> =
                    fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let http = reqwest::Client::builder().no_proxy().build().expect("a client");
                let answer = http
                    .post(endpoint)
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body(form(&fields))
                    .send();
                let answer = answer.await.expect("an answer").text().await.expect("a body");
                serde_json::from_str::<Value>(&answer).expect("JSON")
            }
        };
        let first = tokens(vec![
            ("client_id", "argo-cd-cli".into()),
            ("code", code),
            ("code_verifier", VERIFIER.into()),
            ("grant_type", "authorization_code".into()),
            ("redirect_uri", HERE.into()),
        ])
        .await;
        let second = tokens(vec![
            ("client_id", "argo-cd-cli".into()),
            ("grant_type", "refresh_token".into()),
            ("refresh_token", first["refresh_token"].as_str().expect("a token").into()),
        ])
        .await;
        let token_in = |tokens: &Value| {
            let token = tokens["id_token"].as_str().unwrap_or_else(|| panic!("{tokens}"));
            token.to_owned()
        };
        for token in [token_in(&first), token_in(&second)] {
            let user = self.rest.by(token);
            assert_eq!(user.get("/api/v1/session/userinfo").await["username"], WRITER);
            assert_eq!(user.ask("GET", "/api/v1/projects/default", Value::Null).await.0, 200);
        }
        token_in(&second)
    }

    async fn a_logout_ends_this_session(&self, token: &str) {
        let cookie = format!("argocd.token={token}");
        let (status, _) = head_of(&self.rest.address, "/auth/logout", &cookie).await;
        assert_eq!(status, 303);
        let expect = (401, 16, "invalid session: token is revoked, please re-login");
        self.rest.by(token).refuses("GET", "/api/v1/applications", Value::Null, expect).await;
    }

    /// The keys were looked up a moment ago; a token that Dex itself just gave us is reason enough
    /// to look again.
    async fn a_dex_with_new_keys_is_believed_at_once(&self, old: &str) {
        let user = self.rest.by(self.token_of_the_writer().await);
        assert_eq!(user.get("/api/v1/session/userinfo").await["username"], WRITER);
        let expect = (401, 16, "invalid session: failed to verify the token");
        self.rest.by(old).refuses("GET", "/api/v1/applications", Value::Null, expect).await;
    }
}
