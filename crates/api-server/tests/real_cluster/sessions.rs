//! Who is let in: strangers, the first password.

use cluster::{ApiKind, Client};
use object::GroupVersionKind;
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::{NAMESPACE, set_config, until};

pub(crate) async fn only_the_open_methods_answer_strangers(rest: &Rest) {
    assert_eq!(rest.ask("GET", "/healthz", Value::Null).await, (200, "ok".into()));
    let version = rest.get("/api/version").await;
    assert!(version["Version"].as_str().expect("text").starts_with("v3.6.0"), "{version}");
    assert_eq!(rest.get("/api/v1/settings").await["controllerNamespace"], NAMESPACE);
    assert_eq!(rest.get("/api/v1/session/userinfo").await, json!({}));
    let closed = ["applications", "projects", "clusters", "account", "applications/web"];
    for path in closed {
        let expect = (401, 16, "invalid session: token is malformed");
        let stranger = rest.by("a.b.c");
        stranger.refuses("GET", &format!("/api/v1/{path}"), Value::Null, expect).await;
        let expect = (401, 16, "no session information");
        rest.refuses("GET", &format!("/api/v1/{path}"), Value::Null, expect).await;
    }
    rest.refuses("GET", "/api/v1/nothing", Value::Null, (404, 5, "Not Found")).await;
}

pub(crate) async fn the_admin_logs_in_with_the_first_password(
    rest: &Rest,
    client: &Client,
) -> (String, String) {
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    let secret = client.get(&secrets, NAMESPACE, "argocd-initial-admin-secret").await;
    let secret = secret.expect("an answer").expect("the Secret exists");
    let password = secret.text(&["data", "password"]).expect("a password");
    let password = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, password);
    let password = String::from_utf8(password.expect("base64")).expect("text");

    let login = |password: &str| json!({"username": "admin", "password": password});
    let expect = (401, 16, "Invalid username or password");
    rest.refuses("POST", "/api/v1/session", login("wrong"), expect).await;
    let nobody = json!({"username": "nobody", "password": "wrong"});
    rest.refuses("POST", "/api/v1/session", nobody, expect).await;
    let expect = (401, 16, "no credentials supplied");
    rest.refuses("POST", "/api/v1/session", login(""), expect).await;
    let (status, body) = rest.ask("POST", "/api/v1/session", login(&password)).await;
    assert_eq!(status, 200, "{body}");
    let token = body["token"].as_str().expect("a token").to_owned();
    let admin = rest.by(token.clone());
    let expect = json!({"loggedIn": true, "username": "admin", "iss": "argocd"});
    assert_eq!(admin.get("/api/v1/session/userinfo").await, expect);
    let accounts = admin.get("/api/v1/account").await;
    let expect = json!({"items": [{"name": "admin", "enabled": true, "capabilities": ["login"]}]});
    assert_eq!(accounts, expect);
    let can = admin.get("/api/v1/account/can-i/applications/create/default/web").await;
    assert_eq!(can, json!({"value": "yes"}));
    (token, password)
}

/// Somebody else's password is changed with one's own.
pub(crate) async fn passwords_are_changed(rest: &Rest, client: &Client, own: &str) {
    set_config(client, "argocd-cm", json!({"accounts.clerk": "login"})).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/clerk", Value::Null).await.0 == 200
    })
    .await;
    let change = |current: &str, new: &str| json!({"name": "clerk", "currentPassword": current, "newPassword": new});
    let at = "/api/v1/account/password";
    assert_eq!(rest.ask("PUT", at, change("wrong", "long-enough-1")).await.0, 400);
    assert_eq!(rest.ask("PUT", at, change(own, "short")).await.0, 500);
    assert_eq!(rest.ask("PUT", at, change(own, "long-enough-1")).await, (200, json!({})));
    let login = json!({"username": "clerk", "password": "long-enough-1"});
    let mut token = Value::Null;
    until("the password counts", async || {
        let (status, body) = rest.ask("POST", "/api/v1/session", login.clone()).await;
        token = body["token"].clone();
        status == 200
    })
    .await;
    let token = token.as_str().expect("a token").to_owned();
    let clerk = rest.by(token);
    assert_eq!(clerk.get("/api/v1/session/userinfo").await["username"], "clerk");
    assert_eq!(clerk.ask("DELETE", "/api/v1/session", Value::Null).await.0, 200);
    assert_eq!(rest.get("/api/v1/settings/plugins").await, json!({}));
    set_config(client, "argocd-cm", json!({"accounts.clerk": null})).await;
}
