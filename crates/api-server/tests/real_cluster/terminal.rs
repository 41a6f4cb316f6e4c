//! Terminals over a real web socket, in a pod of the dev cluster: who gets one, what is said on it,
//! and how it ends.

use futures::{SinkExt as _, StreamExt as _};

use cluster::{ApiKind, Client};
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::client::Rest;
use crate::world::{NAMESPACE, POD, set_config, until};

pub(crate) async fn terminals_are_for_those_who_may(rest: &Rest, client: &Client) {
    run_pod(client).await;
    let all =
        format!("pod={POD}&container=main&appName=web&projectName=default&namespace={NAMESPACE}");
    refuses(rest, &all, 404, "").await;
    set_config(
        client,
        "argocd-cm",
        json!({"exec.enabled": "true", "exec.shells": "no-such-shell,sh"}),
    )
    .await;
    until("terminals are on", async || rest.get("/api/v1/settings").await["execEnabled"] == true)
        .await;

    let stranger = rest.by("");
    refuses(&stranger, &all, 400, "Auth cookie not found\n").await;
    let stranger = rest.by("a.b.c");
    refuses(&stranger, &all, 401, "Invalid token\n").await;
    refuses(rest, "pod=shell", 400, "Missing required parameters\n").await;
    let other = |from: &str, to: &str| all.replace(from, to);
    refuses(rest, &other("pod=shell", "pod=other"), 400, "Pod doesn't belong to specified app\n")
        .await;
    refuses(rest, &other("=main", "=side"), 400, "container is not running\n").await;
    refuses(
        rest,
        &other("=default", "=shop"),
        400,
        "The wrong project was specified for the app\n",
    )
    .await;
    refuses(rest, &other("appName=web", "appName=ghost"), 404, "App not found\n").await;
    let elsewhere = format!("{all}&appNamespace=other");
    refuses(rest, &elsewhere, 403, "namespace 'other' is not permitted\n").await;
    let (status, told) = rest.ask("GET", &format!("/terminal?{all}"), Value::Null).await;
    assert_eq!((status, told), (400, "Failed to start terminal session\n".into()), "no socket");

    a_shell_answers_what_is_typed(rest, &all).await;
    a_terminal_ends_with_the_setting(rest, client, &all).await;
    only_with_the_rights(rest, client, &all).await;
    let off = json!({"exec.enabled": null, "exec.shells": null, "accounts.typist": null});
    set_config(client, "argocd-cm", off).await;
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
}

/// The first shell of the settings does not exist: the second one answers.
async fn a_shell_answers_what_is_typed(rest: &Rest, all: &str) {
    let mut terminal = Terminal::try_open(rest, all).await.expect("a terminal");
    terminal.says(json!({"operation": "resize", "cols": 97, "rows": 31})).await;
    // The answer is none of what is typed, which a terminal shows as well.
    terminal.types("echo one-$((1 + 1))\n").await;
    terminal.hears("one-2").await;
    terminal.types("stty size\n").await;
    terminal.hears("31 97").await;
    terminal.says(json!({"operation": "resize", "cols": 60, "rows": 20})).await;
    terminal.types("stty size\n").await;
    terminal.hears("20 60").await;
    terminal.types("exit\n").await;
    terminal.ends().await;
}

async fn a_terminal_ends_with_the_setting(rest: &Rest, client: &Client, all: &str) {
    let mut terminal = Terminal::try_open(rest, all).await.expect("a terminal");
    terminal.types("echo here-$((1 + 1))\n").await;
    terminal.hears("here-2").await;
    set_config(client, "argocd-cm", json!({"exec.enabled": null})).await;
    terminal.hears("Permission denied").await;
    terminal.ends().await;
    set_config(client, "argocd-cm", json!({"exec.enabled": "true"})).await;
    until("terminals are on", async || rest.get("/api/v1/settings").await["execEnabled"] == true)
        .await;
}

/// Both rights, and a token that is good; without one of them a terminal that is open ends.
async fn only_with_the_rights(rest: &Rest, client: &Client, all: &str) {
    set_config(client, "argocd-cm", json!({"accounts.typist": "apiKey"})).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/typist", Value::Null).await.0 == 200
    })
    .await;
    let (_, body) = rest.ask("POST", "/api/v1/account/typist/token", json!({"id": "t"})).await;
    let token = body["token"].as_str().expect("a token").to_owned();
    let typist = rest.by(token);
    let refused = answer(&typist, all).await;
    assert_eq!(refused.0, 401);
    assert!(refused.1.contains("permission denied: applications, get, default/web"), "{refused:?}");

    let looks = "p, typist, applications, get, default/*, allow\n";
    let policy = |text: &str| json!({ "policy.csv": text });
    set_config(client, "argocd-rbac-cm", policy(looks)).await;
    until("the policy is read", async || {
        answer(&typist, all).await.1.contains("permission denied: exec, create, default/web")
    })
    .await;
    let types = format!("{looks}p, typist, exec, create, default/*, allow\n");
    set_config(client, "argocd-rbac-cm", policy(&types)).await;
    until("the policy is read", async || Terminal::try_open(&typist, all).await.is_ok()).await;
    let mut terminal = Terminal::try_open(&typist, all).await.expect("a terminal");
    terminal.types("echo here-$((1 + 1))\n").await;
    terminal.hears("here-2").await;
    set_config(client, "argocd-rbac-cm", policy(looks)).await;
    terminal.hears("Permission denied").await;
    terminal.ends().await;
    set_config(client, "argocd-rbac-cm", policy(&types)).await;
    until("the policy is read", async || Terminal::try_open(&typist, all).await.is_ok()).await;
    let mut terminal = Terminal::try_open(&typist, all).await.expect("a terminal");
    terminal.types("echo here-$((1 + 1))\n").await;
    terminal.hears("here-2").await;
    let (status, _) = rest.ask("DELETE", "/api/v1/account/typist/token/t", Value::Null).await;
    assert_eq!(status, 200);
    until("the token is gone", async || answer(&typist, all).await.0 == 401).await;
    terminal.hears("Reconnect").await;
    assert_eq!(terminal.hear().await, Some(json!({"Code": 1})));
    terminal.ends().await;
}

async fn run_pod(client: &Client) {
    let pods = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD},
        "spec": {"containers": [{"name": "main", "image": "busybox", "command": ["sleep", "1d"]}]}});
    let pod = Object::from_value(pod).expect("an object");
    client.create(&pods, NAMESPACE, &pod, "test").await.expect("a pod");
    until("the pod runs", async || {
        let pod = client.get(&pods, NAMESPACE, POD).await.expect("an answer").expect("the pod");
        pod.text(&["status", "phase"]) == Some("Running")
    })
    .await;
}

async fn refuses(rest: &Rest, query: &str, status: u16, told: &str) {
    assert_eq!(answer(rest, query).await, (status, told.to_owned()), "{query}");
}

/// Status and text of an answer that is no terminal.
async fn answer(rest: &Rest, query: &str) -> (u16, String) {
    match Terminal::try_open(rest, query).await {
        Ok(_) => (101, String::new()),
        Err(answer) => answer,
    }
}

struct Terminal(WebSocketStream<TcpStream>);

impl Terminal {
    async fn says(&mut self, message: Value) {
        self.0.send(Message::Text(message.to_string().into())).await.expect("sent");
    }

    async fn types(&mut self, text: &str) {
        self.says(json!({"operation": "stdin", "data": text})).await;
    }

    /// The next message, until the end.
    async fn hear(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => {
                    return Some(serde_json::from_str(&text).expect("JSON"));
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Waits until this was said, in however many pieces.
    async fn hears(&mut self, expect: &str) {
        let mut said = String::new();
        while !said.contains(expect) {
            let message = self.hear().await;
            let message = message.unwrap_or_else(|| panic!("no {expect:?} in {said:?}"));
            assert_eq!(message["operation"], "stdout", "{message}");
            said.push_str(message["data"].as_str().expect("text"));
        }
    }

    async fn ends(&mut self) {
        while self.hear().await.is_some() {}
    }

    async fn try_open(rest: &Rest, query: &str) -> Result<Self, (u16, String)> {
        let stream = TcpStream::connect(&rest.address).await.expect("a connection");
        let address = format!("ws://{}/terminal?{query}", rest.address);
        let mut request = address.into_client_request().expect("an address");
        if !rest.token.is_empty() {
            let cookie = format!("argocd.token={}", rest.token).parse().expect("a header");
            request.headers_mut().insert("cookie", cookie);
        }
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(tungstenite::Error::Http(response)) => {
                let told = response.body().clone().unwrap_or_default();
                Err((response.status().as_u16(), String::from_utf8(told).expect("text")))
            }
            Err(error) => panic!("{error}"),
        }
    }
}
