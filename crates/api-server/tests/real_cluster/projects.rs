//! Projects, their roles and tokens.

use serde_json::{Value, json};

use crate::client::Rest;

pub(crate) async fn projects_are_created_changed_and_deleted(rest: &Rest) {
    let default = rest.get("/api/v1/projects/default").await;
    assert_eq!(default["spec"]["sourceRepos"], json!(["*"]));
    let project = |description: &str| json!({"project": {"metadata": {"name": "shop"}, "spec": {"description": description}}});
    let (status, _) = rest.ask("POST", "/api/v1/projects", project("a")).await;
    assert_eq!(status, 200);
    let expect = (
        400,
        3,
        "existing project spec is different; use upsert flag to force update; difference in keys \"Description\"",
    );
    rest.refuses("POST", "/api/v1/projects", project("b"), expect).await;
    let (status, body) = rest.ask("PUT", "/api/v1/projects/shop", project("b")).await;
    assert_eq!((status, &body["spec"]["description"]), (200, &"b".into()));
    let (status, body) = rest.ask("DELETE", "/api/v1/projects/shop", Value::Null).await;
    assert_eq!((status, body), (200, json!({})));
    let expect = (404, 5, "appprojects.argoproj.io \"shop\" not found");
    rest.refuses("GET", "/api/v1/projects/shop", Value::Null, expect).await;
}

pub(crate) async fn roles_of_projects_have_tokens(rest: &Rest) {
    let project =
        json!({"project": {"metadata": {"name": "tokens"}, "spec": {"roles": [{"name": "ci"}]}}});
    assert_eq!(rest.ask("POST", "/api/v1/projects", project).await.0, 200);
    let path = "/api/v1/projects/tokens/roles/ci/token";
    let (status, body) = rest.ask("POST", path, json!({"id": "mine", "expiresIn": 60})).await;
    assert_eq!((status, body["token"].is_string()), (200, true), "{body}");
    let expect = (400, 3, "Token id 'mine' has been used. Please specify a unique token id");
    rest.refuses("POST", path, json!({"id": "mine"}), expect).await;
    let expect = (404, 5, "project 'tokens' does not have role 'cd'");
    rest.refuses("POST", "/api/v1/projects/tokens/roles/cd/token", json!({}), expect).await;
    let stored = rest.get("/api/v1/projects/tokens").await;
    let token = &stored["status"]["jwtTokensByRole"]["ci"]["items"][0];
    let (iat, exp) = (token["iat"].as_i64().expect("a time"), token["exp"].as_i64());
    assert_eq!((exp, &token["id"]), (Some(iat + 60), &"mine".into()));
    assert_eq!(stored["spec"]["roles"][0]["jwtTokens"][0]["id"], "mine");
    let path = format!("{path}/{iat}");
    assert_eq!(rest.ask("DELETE", &path, Value::Null).await, (200, json!({})));
    let stored = rest.get("/api/v1/projects/tokens/detailed").await;
    assert_eq!(stored["project"]["spec"]["roles"][0].get("jwtTokens"), None);
    assert_eq!(rest.get("/api/v1/projects/tokens/syncwindows").await, json!({}));
    let events = rest.get("/api/v1/projects/tokens/events").await;
    let told: Vec<&str> = events["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert!(
        told.contains(&"admin created token") && told.contains(&"admin deleted token"),
        "{told:?}"
    );
}

pub(crate) async fn what_else_is_known_of_projects(rest: &Rest) {
    let listed = rest.get("/api/v1/projects").await;
    let names: Vec<_> = listed["items"].as_array().expect("a list").iter().collect();
    assert!(names.iter().any(|it| it["metadata"]["name"] == "default"), "{listed}");
    assert_eq!(rest.get("/api/v1/projects/default/globalprojects").await["items"], Value::Null);
    assert_eq!(rest.get("/api/v1/projects/default/links").await, json!({}));
}
