//! One right at a time, for the services other than that of Applications: what a method needs lets
//! it work, and without the last of it the refusal has Argo CD's words.

use cluster::{Access, Client};
use serde_json::{Value, json};

use crate::client::Rest;
use crate::clusters::current_token;
use crate::world::{set_config, until};

/// A method, the rights that it needs, and what is told to who lacks the last of them.
struct Row {
    verb: &'static str,
    path: String,
    body: Value,
    rights: Vec<String>,
    refusal: String,
}

fn row(verb: &'static str, path: &str, body: Value, rights: &[&str], refusal: &str) -> Row {
    let rights = rights.iter().map(|it| (*it).to_owned()).collect();
    Row { verb, path: path.to_owned(), body, rights, refusal: refusal.to_owned() }
}

const REPO: &str = "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart";
const WRITE_REPO: &str = "/api/v1/write-repositories/https%3A%2F%2Fexample.org%2Fpart";
const CREDS: &str = "/api/v1/repocreds/https%3A%2F%2Fexample.org%2Fcreds";
const WRITE_CREDS: &str = "/api/v1/write-repocreds/https%3A%2F%2Fexample.org%2Fcreds";
const CLUSTER: &str = "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc";
/// The same for what is forbidden and what is not there.
const HIDDEN: &str = "permission denied";

const SEES_CLUSTER: &str = "clusters, get, https://kubernetes.default.svc";
const SEES_REPO: &str = "repositories, get, https://example.org/part";
const SEES_WRITE_REPO: &str = "write-repositories, get, https://example.org/part";

fn rows(server: &str, token: &str) -> Vec<Row> {
    let mut rows = repositories();
    rows.extend(projects());
    rows.extend(clusters(server, token));
    rows.extend(application_sets());
    rows.extend(others());
    rows
}

/// A cluster that is there and takes this token.
fn clusters(server: &str, token: &str) -> Vec<Row> {
    let described = |labels: Value| {
        let config = json!({"bearerToken": token, "tlsClientConfig": {"insecure": true}});
        json!({"server": server, "name": "part", "config": config, "labels": labels})
    };
    let right = |verb: &str| format!("clusters, {verb}, {server}");
    let denied =
        |verb: &str| format!("permission denied: clusters, {verb}, {server}, sub: part, iat: ");
    let one = format!("/api/v1/clusters/{}", server.replace(':', "%3A").replace('/', "%2F"));
    let all = "/api/v1/clusters";
    let row = |verb, path: &str, body, rights: &[&str]| {
        let last = rights.last().copied().unwrap_or_default();
        let rights: Vec<String> = rights.iter().map(|it| right(it)).collect();
        let rights: Vec<&str> = rights.iter().map(String::as_str).collect();
        row(verb, path, body, &rights, &denied(last))
    };
    let (labels, others) = (json!({"tier": "gold"}), json!({"tier": "iron"}));
    vec![
        row("POST", all, described(labels.clone()), &["create"]),
        row("POST", "/api/v1/clusters?upsert=true", described(others), &["create", "update"]),
        row("PUT", &format!("{one}?updatedFields=labels"), described(labels), &["get", "update"]),
        row("POST", &format!("{one}/rotate-auth"), json!({}), &["get", "update"]),
        row("DELETE", &one, Value::Null, &["get", "delete"]),
    ]
}

fn repositories() -> Vec<Row> {
    let repo = || json!({"repo": "https://example.org/part"});
    let creds = || json!({"url": "https://example.org/creds", "username": "u", "password": "p"});
    let source = || {
        let source = json!({"repoURL": "https://example.org/part", "path": "web"});
        json!({"source": source, "appProject": "default", "appName": "new"})
    };
    let none = Value::Null;
    vec![
        row(
            "POST",
            "/api/v1/repositories",
            repo(),
            &["repositories, create, https://example.org/part"],
            "permission denied: repositories, create, https://example.org/part, sub: part, iat: ",
        ),
        row("GET", REPO, none.clone(), &[SEES_REPO], HIDDEN),
        row(
            "POST",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/validate",
            json!("https://example.org/part"),
            &["repositories, create, https://example.org/part"],
            "permission denied: repositories, create, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/refs",
            none.clone(),
            &[SEES_REPO],
            "permission denied: repositories, get, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/oci-tags",
            none.clone(),
            &[SEES_REPO],
            "permission denied: repositories, get, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/helmcharts",
            none.clone(),
            &[SEES_REPO],
            "permission denied: repositories, get, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/apps?appProject=default&appName=new",
            none.clone(),
            &[SEES_REPO, "applications, update, default/new"],
            HIDDEN,
        ),
        row(
            "POST",
            "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fpart/appdetails",
            source(),
            &[SEES_REPO, "applications, get, default/new", "applications, create, default/new"],
            "permission denied: applications, create, default/new, sub: part, iat: ",
        ),
        row(
            "PUT",
            REPO,
            repo(),
            &[SEES_REPO, "repositories, update, https://example.org/part"],
            "permission denied: repositories, update, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "DELETE",
            REPO,
            none.clone(),
            &[SEES_REPO, "repositories, delete, https://example.org/part"],
            "permission denied: repositories, delete, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/write-repositories",
            repo(),
            &["write-repositories, create, https://example.org/part"],
            "permission denied: write-repositories, create, https://example.org/part, sub: part, iat: ",
        ),
        row("GET", WRITE_REPO, none.clone(), &[SEES_WRITE_REPO], HIDDEN),
        row(
            "PUT",
            WRITE_REPO,
            repo(),
            &[SEES_WRITE_REPO, "write-repositories, update, https://example.org/part"],
            "permission denied: write-repositories, update, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "DELETE",
            WRITE_REPO,
            none.clone(),
            &[SEES_WRITE_REPO, "write-repositories, delete, https://example.org/part"],
            "permission denied: write-repositories, delete, https://example.org/part, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/repocreds",
            creds(),
            &["repositories, create, https://example.org/creds"],
            "permission denied: repositories, create, https://example.org/creds, sub: part, iat: ",
        ),
        row(
            "PUT",
            CREDS,
            creds(),
            &["repositories, update, https://example.org/creds"],
            "permission denied: repositories, update, https://example.org/creds, sub: part, iat: ",
        ),
        row(
            "DELETE",
            CREDS,
            none.clone(),
            &["repositories, delete, https://example.org/creds"],
            "permission denied: repositories, delete, https://example.org/creds, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/write-repocreds",
            creds(),
            &["write-repositories, create, https://example.org/creds"],
            "permission denied: write-repositories, create, https://example.org/creds, sub: part, iat: ",
        ),
        row(
            "PUT",
            WRITE_CREDS,
            creds(),
            &["write-repositories, update, https://example.org/creds"],
            "permission denied: write-repositories, update, https://example.org/creds, sub: part, iat: ",
        ),
        row(
            "DELETE",
            WRITE_CREDS,
            none,
            &["write-repositories, delete, https://example.org/creds"],
            "permission denied: write-repositories, delete, https://example.org/creds, sub: part, iat: ",
        ),
    ]
}

fn projects() -> Vec<Row> {
    let project = || {
        json!({"project": {"metadata": {"name": "part"}, "spec": {"roles": [{"name": "ci"}],
            "destinations": [{"server": "*", "namespace": "*"}], "sourceRepos": ["*"]}}})
    };
    let get: &[&str] = &["projects, get, part"];
    let denied = "permission denied: projects, get, part, sub: part, iat: ";
    let none = Value::Null;
    let mut rows = vec![row(
        "POST",
        "/api/v1/projects",
        project(),
        &["projects, create, part"],
        "permission denied: projects, create, part, sub: part, iat: ",
    )];
    for path in [
        "/api/v1/projects/part",
        "/api/v1/projects/part/detailed",
        "/api/v1/projects/part/globalprojects",
        "/api/v1/projects/part/events",
        "/api/v1/projects/part/syncwindows",
        "/api/v1/projects/part/links",
    ] {
        rows.push(row("GET", path, none.clone(), get, denied));
    }
    let changed = |spec: Value| {
        let mut project = project();
        let fields = spec.as_object().cloned().unwrap_or_default();
        project["project"]["spec"].as_object_mut().expect("an object").extend(fields);
        project
    };
    let upserted = |spec: Value| {
        let mut project = changed(spec);
        project["upsert"] = true.into();
        project
    };
    let other_cluster = json!({"destinations": [{"server": "https://other.example", "namespace": "*"},
        {"server": "*", "namespace": "*"}]});
    let other_repository = json!({"sourceRepos": ["*", "https://example.org/other"]});
    let other_kinds = json!({"clusterResourceWhitelist": [{"group": "*", "kind": "*"}]});
    rows.extend([
        row(
            "PUT",
            "/api/v1/projects/part",
            changed(json!({"description": "changed"})),
            &["projects, update, part"],
            "permission denied: projects, update, part, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/projects",
            upserted(json!({"description": "changed again"})),
            &["projects, create, part", "projects, update, part"],
            "permission denied: projects, update, part, sub: part, iat: ",
        ),
        row(
            "PUT",
            "/api/v1/projects/part",
            changed(other_cluster),
            &["projects, update, part", "clusters, update, https://other.example"],
            "permission denied: clusters, update, https://other.example, sub: part, iat: ",
        ),
        // It goes again.
        row(
            "PUT",
            "/api/v1/projects/part",
            project(),
            &["projects, update, part", "clusters, update, https://other.example"],
            "permission denied: clusters, update, https://other.example, sub: part, iat: ",
        ),
        row(
            "PUT",
            "/api/v1/projects/part",
            changed(other_repository),
            &["projects, update, part", "repositories, update, https://example.org/other"],
            "permission denied: repositories, update, https://example.org/other, sub: part, iat: ",
        ),
        row(
            "PUT",
            "/api/v1/projects/part",
            changed(other_kinds),
            &[
                "projects, update, part",
                "repositories, update, https://example.org/other",
                "clusters, update, *",
            ],
            "permission denied: clusters, update, *, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/projects/part/roles/ci/token",
            json!({"id": "t"}),
            &["projects, update, part"],
            "permission denied: projects, update, part, sub: part, iat: ",
        ),
        row(
            "DELETE",
            "/api/v1/projects/part/roles/ci/token/0?id=t",
            none.clone(),
            &["projects, update, part"],
            "permission denied: projects, update, part, sub: part, iat: ",
        ),
        row(
            "DELETE",
            "/api/v1/projects/part",
            none,
            &["projects, delete, part"],
            "permission denied: projects, delete, part, sub: part, iat: ",
        ),
    ]);
    rows
}

fn application_sets() -> Vec<Row> {
    let none = Value::Null;
    let set = |path: &str| {
        json!({"metadata": {"name": "part"}, "spec": {"generators": [{"list": {"elements": []}}],
            "template": {"metadata": {"name": "x"}, "spec": {"project": "default",
                "source": {"repoURL": "https://example.org/r", "path": path},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": "x"}}}}})
    };
    vec![
        row(
            "POST",
            "/api/v1/applicationsets",
            set("web"),
            &["applicationsets, create, default/part"],
            "permission denied: applicationsets, create, default/part, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/applicationsets?upsert=true",
            set("other"),
            &[
                "applicationsets, create, default/part",
                "applicationsets, get, default/part",
                "applicationsets, update, default/part",
            ],
            "permission denied: applicationsets, update, default/part, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/applicationsets/part",
            none.clone(),
            &["applicationsets, get, default/part"],
            HIDDEN,
        ),
        row(
            "GET",
            "/api/v1/applicationsets/part/resource-tree",
            none.clone(),
            &["applicationsets, get, default/part"],
            HIDDEN,
        ),
        row(
            "DELETE",
            "/api/v1/applicationsets/part",
            none.clone(),
            &["applicationsets, delete, default/part"],
            HIDDEN,
        ),
    ]
}

fn others() -> Vec<Row> {
    let none = Value::Null;
    vec![
        row("GET", CLUSTER, none.clone(), &[SEES_CLUSTER], HIDDEN),
        row(
            "POST",
            "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc/invalidate-cache",
            json!({}),
            &[SEES_CLUSTER, "clusters, update, https://kubernetes.default.svc"],
            "permission denied: clusters, update, https://kubernetes.default.svc, sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/certificates",
            none.clone(),
            &["certificates, get, *"],
            "permission denied: certificates, get, , sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/certificates",
            json!({"items": []}),
            &["certificates, create, *"],
            "permission denied: certificates, create, , sub: part, iat: ",
        ),
        row(
            "DELETE",
            "/api/v1/certificates?hostNamePattern=nowhere.example",
            none.clone(),
            &["certificates, delete, *"],
            "permission denied: certificates, delete, , sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/gpgkeys",
            none.clone(),
            &["gpgkeys, get, *"],
            "permission denied: gpgkeys, get, , sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/gpgkeys",
            json!({"keyData": include_str!("../../src/gpgkey/keys.asc")}),
            &["gpgkeys, create, *"],
            "permission denied: gpgkeys, create, , sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/gpgkeys/2337DBF43947B17C",
            none.clone(),
            &["gpgkeys, get, *"],
            "permission denied: gpgkeys, get, , sub: part, iat: ",
        ),
        row(
            "DELETE",
            "/api/v1/gpgkeys?keyID=2337DBF43947B17C",
            none.clone(),
            &["gpgkeys, delete, *"],
            "permission denied: gpgkeys, delete, , sub: part, iat: ",
        ),
        row(
            "GET",
            "/api/v1/account/admin",
            none.clone(),
            &["accounts, get, admin"],
            "permission denied to get account admin: permission denied for account admin with action get: rpc error: code = PermissionDenied desc = permission denied: accounts, get, admin, sub: part, iat: ",
        ),
        row(
            "POST",
            "/api/v1/account/partner/token",
            json!({"id": "t"}),
            &["accounts, update, partner"],
            "permission denied to create token for account partner: permission denied for account partner with action update: rpc error: code = PermissionDenied desc = permission denied: accounts, update, partner, sub: part, iat: ",
        ),
        row(
            "DELETE",
            "/api/v1/account/partner/token/t",
            none,
            &["accounts, update, partner"],
            "permission denied to delete account partner: permission denied for account partner with action update: rpc error: code = PermissionDenied desc = permission denied: accounts, update, partner, sub: part, iat: ",
        ),
    ]
}

pub(crate) async fn each_right_opens_its_methods(rest: &Rest, client: &Client, access: &Access) {
    let accounts = json!({"accounts.part": "apiKey", "accounts.partner": "apiKey"});
    set_config(client, "argocd-cm", accounts).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/partner", Value::Null).await.0 == 200
    })
    .await;
    let (_, body) = rest.ask("POST", "/api/v1/account/part/token", json!({})).await;
    let token = body["token"].as_str().expect("a token").to_owned();
    let part = rest.by(token);
    let mut round = 0;
    let mut wrong = Vec::new();
    let manager = current_token(client).await;
    for Row { verb, path, body, rights, refusal } in rows(&access.server(), &manager) {
        let (all, without) = (&rights[..], &rights[..rights.len() - 1]);
        for (given, is_enough) in [(without, false), (all, true)] {
            round += 1;
            give(&part, client, given, round).await;
            let (status, told) = part.ask(verb, &path, body.clone()).await;
            let message = told["message"].as_str().unwrap_or_default();
            let is_right = match is_enough {
                true => status == 200,
                false if refusal == HIDDEN => status == 403 && message == HIDDEN,
                false => status == 403 && message.starts_with(&refusal),
            };
            if !is_right {
                wrong.push(format!("{verb} {path} with {given:?}: {status} {told}"));
            }
        }
    }
    lists_show_what_may_be_seen(&part, client, &mut wrong).await;
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": null})).await;
    set_config(client, "argocd-cm", json!({"accounts.part": null, "accounts.partner": null})).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is forbidden and what is absent look alike, and lists are as long as the rights go.
async fn lists_show_what_may_be_seen(part: &Rest, client: &Client, wrong: &mut Vec<String>) {
    give(part, client, &[], 1000).await;
    for (forbidden, absent) in [
        (CLUSTER, "/api/v1/clusters/https%3A%2F%2Fnowhere.example"),
        (REPO, "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fnowhere"),
    ] {
        let forbidden = part.ask("GET", forbidden, Value::Null).await;
        let absent = part.ask("GET", absent, Value::Null).await;
        if forbidden != absent {
            wrong.push(format!("{forbidden:?} is not {absent:?}"));
        }
    }
    let rights = [SEES_CLUSTER, "projects, get, default", "accounts, get, admin"];
    give(part, client, &rights.map(str::to_owned), 1001).await;
    for (list, count) in [("clusters", 1), ("projects", 1), ("account", 2), ("repositories", 0)] {
        let listed = part.get(&format!("/api/v1/{list}")).await;
        let found = listed["items"].as_array().map_or(0, Vec::len);
        if found != count {
            wrong.push(format!("{list}: {listed}"));
        }
    }
    // These need no right but a login.
    for open in
        ["notifications/triggers", "notifications/services", "notifications/templates", "settings"]
    {
        part.get(&format!("/api/v1/{open}")).await;
    }
}

/// Gives these rights and no others, and waits until they count.
async fn give(part: &Rest, client: &Client, rights: &[String], round: usize) {
    let mark = format!("extensions, invoke, round-{round}");
    let lines = rights.iter().map(String::as_str).chain([mark.as_str()]);
    let policy: String = lines.map(|it| format!("p, part, {it}, allow\n")).collect();
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": policy})).await;
    let can = format!("/api/v1/account/can-i/extensions/invoke/round-{round}");
    until("the policy is read", async || part.get(&can).await["value"] == "yes").await;
}
