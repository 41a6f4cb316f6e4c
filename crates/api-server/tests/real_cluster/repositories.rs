//! Repositories and their credentials are Secrets; what can be asked about them.

use cluster::Client;
use serde_json::{Value, json};

use crate::client::Rest;
use crate::world::secret;

/// The Secret for `https://example.org`.
pub(crate) const CREDENTIALS: &str = "creds-3580270512";

pub(crate) async fn repositories_are_secrets(rest: &Rest, client: &Client) {
    let at = "/api/v1/repositories";
    let repo = |password: &str| json!({"repo": "https://example.org/web.git", "username": "ci", "password": password});
    let expect = (500, 2, "error testing repository connectivity: repository not found");
    rest.refuses("POST", at, json!({"repo": "https://example.org/nowhere"}), expect).await;
    let (status, body) = rest.ask("POST", at, repo("secret")).await;
    assert_eq!((status, body.get("password")), (200, None), "{body}");
    assert_eq!(rest.ask("POST", at, repo("secret")).await.0, 200, "the same again is no error");
    assert_eq!(rest.ask("POST", at, repo("other")).await.0, 400);
    assert_eq!(rest.ask("POST", &format!("{at}?upsert=true"), repo("other")).await.0, 200);
    let listed = rest.get(at).await;
    let item = &listed["items"][0];
    assert_eq!(
        (&item["type"], &item["username"], item.get("password")),
        (&"git".into(), &"ci".into(), None)
    );
    assert_eq!(item["connectionState"]["status"], "Successful");
    let one = format!("{at}/https%3A%2F%2Fexample.org%2Fweb");
    assert_eq!(rest.get(&one).await["repo"], "https://example.org/web.git");
    assert_eq!(
        rest.get(&format!("{one}/refs")).await,
        json!({"branches": ["main"], "tags": ["v1"]})
    );
    assert_eq!(
        rest.get(&format!("{one}/apps?appProject=default&appName=new")).await,
        json!({"items": [{"type": "Kustomize", "path": "web"}]})
    );
    assert_eq!(rest.ask("DELETE", &one, Value::Null).await, (200, json!({})));
    rest.refuses("GET", &one, Value::Null, (403, 7, "permission denied")).await;

    let creds = json!({"url": "https://example.org", "username": "ci", "password": "secret"});
    assert_eq!(rest.ask("POST", "/api/v1/repocreds", creds).await.0, 200);
    let listed = rest.get("/api/v1/repocreds").await;
    assert_eq!(listed["items"], json!([{"url": "https://example.org", "username": "ci"}]));
    assert!(secret(client, CREDENTIALS).await.is_some(), "it is named as Argo CD names it");
    let one = "/api/v1/repocreds/https%3A%2F%2Fexample.org";
    assert_eq!(rest.ask("DELETE", one, Value::Null).await, (200, json!({})));
    rest.refuses(
        "DELETE",
        one,
        Value::Null,
        (404, 5, "repository credentials \"https://example.org\" not found"),
    )
    .await;
}

pub(crate) async fn charts_of_a_repository_are_listed(rest: &Rest) {
    let charts = rest.get("/api/v1/repositories/https%3A%2F%2Fexample.org%2Fc/helmcharts").await;
    assert_eq!(charts, json!({"items": [{"name": "web", "versions": ["1.0.0"]}]}));
}

pub(crate) async fn names_of_notifications_are_listed(rest: &Rest) {
    for kind in ["triggers", "services", "templates"] {
        assert_eq!(rest.get(&format!("/api/v1/notifications/{kind}")).await, json!({}));
    }
}

pub(crate) async fn what_a_repository_holds_is_told(rest: &Rest) {
    let one = "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fweb";
    assert_eq!(rest.get(&format!("{one}/oci-tags")).await, json!({"tags": ["1.0.0"]}));
    let source = json!({"repoURL": "https://example.org/web", "path": "web"});
    let (status, told) = rest
        .ask(
            "POST",
            &format!("{one}/appdetails"),
            json!({"source": source, "appProject": "default", "appName": "new"}),
        )
        .await;
    assert_eq!((status, &told["type"]), (200, &"Directory".into()), "{told}");
    let (status, told) =
        rest.ask("POST", &format!("{one}/validate"), json!("https://example.org/web")).await;
    assert_eq!((status, told), (200, json!({})));
    let nowhere = "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fnowhere/validate";
    let expect = (500, 2, "error testing repository connectivity: repository not found");
    rest.refuses("POST", nowhere, json!("https://example.org/nowhere"), expect).await;
}

/// For reading and for writing there are different Secrets, and the same methods.
pub(crate) async fn repositories_to_write_to_are_others(rest: &Rest) {
    let repo = |user: &str| json!({"repo": "https://example.org/out.git", "username": user, "password": "p"});
    let escaped = "https%3A%2F%2Fexample.org%2Fout.git";
    for at in ["/api/v1/repositories", "/api/v1/write-repositories"] {
        let one = format!("{at}/{escaped}");
        assert_eq!(rest.ask("POST", at, repo("ci")).await.0, 200, "{at}");
        assert_eq!(rest.ask("PUT", &one, repo("cd")).await.0, 200, "{at}");
        assert_eq!(rest.get(&one).await["username"], "cd");
        let listed = rest.get(at).await;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
        assert!(!listed.to_string().contains("\"p\""), "a password: {listed}");
    }
    let (status, _) = rest
        .ask(
            "POST",
            &format!("/api/v1/write-repositories/{escaped}/validate"),
            json!("https://example.org/out.git"),
        )
        .await;
    assert_eq!(status, 200);
    let creds =
        |user: &str| json!({"url": "https://example.org", "username": user, "password": "p"});
    for at in ["/api/v1/repocreds", "/api/v1/write-repocreds"] {
        let one = format!("{at}/https%3A%2F%2Fexample.org");
        assert_eq!(rest.ask("POST", at, creds("ci")).await.0, 200, "{at}");
        assert_eq!(rest.ask("PUT", &one, creds("cd")).await.0, 200, "{at}");
        assert_eq!(
            rest.get(at).await["items"],
            json!([{"url": "https://example.org", "username": "cd"}])
        );
        assert_eq!(rest.ask("DELETE", &one, Value::Null).await, (200, json!({})), "{at}");
    }
    for at in ["/api/v1/repositories", "/api/v1/write-repositories"] {
        let one = format!("{at}/{escaped}");
        assert_eq!(rest.ask("DELETE", &one, Value::Null).await, (200, json!({})), "{at}");
    }
}
