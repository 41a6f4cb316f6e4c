//! Users of an identity provider.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use cluster::Client;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use testkit::oidc::Provider;

use crate::client::{Rest, head_of, header, split};
use crate::world::{secret, set_config, until};

pub(crate) async fn users_of_an_identity_provider_log_in(rest: &Rest, client: &Client) {
    let provider = testkit::oidc::Provider::start();
    let home = format!("http://{}", rest.address);
    let config = |extra: &str| {
        let (issuer, id) = (provider.issuer(), testkit::oidc::CLIENT);
        let secret = testkit::oidc::SECRET;
        format!("name: Test\nissuer: {issuer}\nclientID: {id}\nclientSecret: '{secret}'\n{extra}")
    };
    let stranger = rest.by("");
    let (status, told) = stranger.ask("GET", "/auth/login", Value::Null).await;
    assert_eq!((status, told), (500, "SSO is not configured\n".into()));
    let pkce =
        "enablePKCEAuthentication: true\nenableUserInfoGroups: true\nuserInfoPath: /userinfo";
    set_config(client, "argocd-cm", json!({"url": home, "oidc.config": config(pkce)})).await;
    let policy = "g, from-user-info, role:told\np, role:told, projects, get, default, allow\n\
                  p, role:told, accounts, get, admin, allow";
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": policy})).await;
    until("oidc.config is read", async || {
        rest.get("/api/v1/settings").await["oidcConfig"]["name"] == "Test"
    })
    .await;

    // Only to ourselves.
    let here = &rest.address;
    for elsewhere in [
        "https://evil.example.org/".to_owned(),
        "//evil.example.org/".to_owned(),
        "/%5Cevil.example.org/".to_owned(),
        "http:evil.example.org".to_owned(),
        "javascript:alert(1)".to_owned(),
        format!("http://{here}@evil.example.org/"),
        format!("http://{here}.evil.example.org/"),
        format!("http://{here}%5C@evil.example.org/"),
        format!("http://{here}/%0d%0aLocation:%20https://evil.example.org/"),
    ] {
        let path = format!("/auth/login?return_url={elsewhere}");
        assert_eq!(stranger.ask("GET", &path, Value::Null).await.0, 400, "{elsewhere}");
    }
    let (status, head) = head_of(&rest.address, "/auth/login", "").await;
    let (at_provider, state) = (header(&head, "location"), header(&head, "set-cookie"));
    assert_eq!(status, 303, "{head}");
    assert!(at_provider.starts_with(provider.issuer()), "{head}");
    assert!(at_provider.contains("code_challenge="), "{head}");
    let (there, target) = split(&at_provider);
    let (_, head) = head_of(&there, &target, "").await;
    let (_, back) = split(&header(&head, "location"));
    // Nobody else can bring the code back.
    let (status, _) = head_of(&rest.address, &back, "").await;
    assert_eq!(status, 400);
    let cookie = state.split(';').next().expect("a cookie").to_owned();
    let forged = back.replace("state=", "state=x");
    assert_eq!(head_of(&rest.address, &forged, &cookie).await.0, 400);
    let (status, head) = head_of(&rest.address, &back, &cookie).await;
    assert_eq!((status, header(&head, "location").as_str()), (303, "/"), "{head}");
    let token = header(&head, "set-cookie");
    let token = token.strip_prefix("argocd.token=").and_then(|it| it.split(';').next());
    let token = token.expect("a token").to_owned();

    let ann = rest.by(token.clone());
    let expect = json!({"loggedIn": true, "username": "ann@example.org", "iss": provider.issuer(),
                        "groups": ["from-user-info"]});
    assert_eq!(ann.get("/api/v1/session/userinfo").await, expect);
    until("the policy is read", async || {
        ann.ask("GET", "/api/v1/projects/default", Value::Null).await.0 == 200
    })
    .await;
    assert_eq!(ann.get("/api/v1/account").await["items"][0]["name"], "admin");
    assert_eq!(ann.get("/api/v1/applications").await["items"], json!([]));
    let (status, _) =
        ann.ask("POST", "/api/v1/projects", json!({"project": {"metadata": {"name": "x"}}})).await;
    assert_eq!(status, 403);

    // Tokens that the command line program got by itself, and those that are none. Of a user who
    // never logged in here the provider cannot be asked for groups.
    let minted = |claims: Value| rest.by(provider.mint(&claims));
    let good = json!({"iss": provider.issuer(), "aud": testkit::oidc::CLIENT, "exp": 4e9, "sub": "bob", "jti": "b"});
    let mut of_ann = good.clone();
    of_ann["sub"] = "ann".into();
    of_ann["jti"] = "a-cli".into();
    let groups = &minted(of_ann).get("/api/v1/session/userinfo").await["groups"];
    assert_eq!(*groups, json!(["from-user-info"]));
    let expect = (
        401,
        16,
        "invalid session: error while querying userinfo endpoint: no access token is known, please re-login",
    );
    minted(good.clone()).refuses("GET", "/api/v1/applications", Value::Null, expect).await;
    let without = config("").replace("name: Test", "name: Without");
    set_config(client, "argocd-cm", json!({"oidc.config": without})).await;
    until("oidc.config is read", async || {
        rest.get("/api/v1/settings").await["oidcConfig"]["name"] == "Without"
    })
    .await;
    assert_eq!(minted(good.clone()).get("/api/v1/session/userinfo").await["username"], "bob");
    for (key, value) in
        [("aud", json!("others")), ("exp", json!(1)), ("iss", json!("https://other"))]
    {
        let mut bad = good.clone();
        bad[key] = value;
        let expect = (401, 16, "invalid session: failed to verify the token");
        minted(bad).refuses("GET", "/api/v1/applications", Value::Null, expect).await;
    }
    let other = testkit::oidc::Provider::start();
    let foreign = rest.by(other.mint(&good));
    let expect = (401, 16, "invalid session: failed to verify the token");
    foreign.refuses("GET", "/api/v1/applications", Value::Null, expect).await;

    // A logout ends the session, also for a token of the provider.
    let (status, _) =
        head_of(&rest.address, "/auth/logout", &format!("argocd.token={token}")).await;
    assert_eq!(status, 303);
    let expect = (401, 16, "invalid session: token is revoked, please re-login");
    ann.refuses("GET", "/api/v1/applications", Value::Null, expect).await;
    assert_eq!(minted(good).get("/api/v1/session/userinfo").await["username"], "bob");
    set_config(client, "argocd-cm", json!({"url": null, "oidc.config": null})).await;
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
}

/// Dex has no address of its own: browsers find it below ours, and we go to it directly.
pub(crate) async fn dex_is_reached_through_us(rest: &Rest, client: &Client, dex: &Provider) {
    let home = format!("http://{}", rest.address);
    let stored = secret(client, "argocd-secret").await.expect("the Secret");
    let key = STANDARD.decode(stored.text(&["data", "server.secretkey"]).expect("a key"));
    // As the wrapper of Dex derives it.
    let mut derived = URL_SAFE.encode(digest(&SHA256, &key.expect("base64")));
    derived.truncate(40);
    dex.stand_behind(&home, "/api/dex", "argo-cd", &derived);
    let (status, _) = head_of(&rest.address, "/api/dex/keys", "").await;
    assert_eq!(status, 404, "nobody configured it");
    let connectors = "connectors:\n- type: mockCallback\n  id: mock\n  name: Mock\n";
    set_config(client, "argocd-cm", json!({"url": home, "dex.config": connectors})).await;
    until("dex.config is read", async || {
        rest.get("/api/v1/settings").await["dexConfig"]["connectors"][0]["name"] == "Mock"
    })
    .await;

    let (status, head) = head_of(&rest.address, "/auth/login", "").await;
    let (at_dex, state) = (header(&head, "location"), header(&head, "set-cookie"));
    assert_eq!(status, 303, "{head}");
    assert!(at_dex.starts_with(&format!("{home}/api/dex/authorize?")), "{head}");
    let (_, target) = split(&at_dex);
    let (status, head) = head_of(&rest.address, &target, "").await;
    assert_eq!(status, 302, "what Dex says is passed on as it is: {head}");
    let (_, back) = split(&header(&head, "location"));
    assert!(back.starts_with("/auth/callback?"), "{head}");
    let cookie = state.split(';').next().expect("a cookie").to_owned();
    let (status, head) = head_of(&rest.address, &back, &cookie).await;
    assert_eq!((status, header(&head, "location").as_str()), (303, "/"), "{head}");
    let token = header(&head, "set-cookie");
    let token = token.strip_prefix("argocd.token=").and_then(|it| it.split(';').next());
    let ann = rest.by(token.expect("a token"));
    let expect = json!({"loggedIn": true, "username": "ann@example.org", "groups": ["sales"],
                        "iss": format!("{home}/api/dex")});
    assert_eq!(ann.get("/api/v1/session/userinfo").await, expect);
    set_config(client, "argocd-cm", json!({"url": null, "dex.config": null})).await;
}
