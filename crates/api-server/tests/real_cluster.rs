//! The API server on a real control plane, over REST and gRPC.
//!
//! There is no controller here: what an operation leads to is another crate's test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{
    AppKey, Application, ApplicationDestination, ApplicationList, ApplicationSource,
    ApplicationTree, ApplicationWatchEvent, HealthStatus, OciMetadata, ResourceDiff, ResourceNode,
    ResourceRef, RevisionMetadata,
};
use api_server::{
    ApiServer, Charts, Control, Destination, Details, LoginLimits, Options, Ports, Refs,
    RenderRequest, Rendered, Shutdown, Sides, SourceError, Sources, Web, make_default_project,
};
use cluster::{
    Access, ApiKind, Client, Cluster, Randomness, Scope, Selector, StoreOptions, Tagged, WatchEvent,
};
use devcluster::DevCluster;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use object::{GroupVersionKind, Object, ResourceKey};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use settings::SettingsStore;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;
use wire::message::application::ApplicationQuery;
use wire::message::session::{SessionCreateRequest, SessionResponse};
use wire::message::version::{Nothing, VersionMessage};

const NAMESPACE: &str = "argocd";
const SERVER: &str = "https://kubernetes.default.svc";
/// The Secret for `https://example.org`.
const CREDENTIALS: &str = "creds-3580270512";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
/// Nothing here takes longer unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// A repository with one path, `web`, and one branch.
struct OnePath;

impl Sources for OnePath {
    fn resolve<'a>(
        &'a self,
        _: &'a ApplicationSource,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>> {
        async { Ok(COMMIT.to_owned()) }.boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let path = request.source.path;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let rendered = if path == "web" {
            Ok(Rendered {
                commit: COMMIT.into(),
                source_type: "Directory".into(),
                objects: vec![Object::from_value(map).expect("an object")],
            })
        } else {
            let message = format!("{path}: app path does not exist");
            Err(SourceError { message, is_inaccessible: false })
        };
        async { rendered }.boxed()
    }

    fn revision_metadata<'a>(
        &'a self,
        _: &'a ApplicationSource,
        _: &'a str,
    ) -> BoxFuture<'a, Result<RevisionMetadata, SourceError>> {
        let author = "Ada <ada@example.org>".to_owned();
        async { Ok(RevisionMetadata { author, ..RevisionMetadata::default() }) }.boxed()
    }

    fn render_files(
        &self,
        _: BTreeMap<String, Vec<u8>>,
        request: RenderRequest,
    ) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        self.render(request)
    }

    fn credentials_changed(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn test_access<'a>(
        &'a self,
        repo: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<(), SourceError>> {
        let answer = if repo.contains("nowhere") {
            let message = "repository not found".to_owned();
            Err(SourceError { message, is_inaccessible: true })
        } else {
            Ok(())
        };
        async { answer }.boxed()
    }

    fn refs<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Refs, SourceError>> {
        async { Ok(Refs { branches: vec!["main".into()], tags: vec!["v1".into()] }) }.boxed()
    }

    fn helm_charts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Charts, SourceError>> {
        async { Ok(BTreeMap::from([("web".to_owned(), vec!["1.0.0".to_owned()])])) }.boxed()
    }

    fn oci_tags<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, SourceError>> {
        async { Ok(vec!["1.0.0".to_owned()]) }.boxed()
    }

    fn oci_metadata<'a>(
        &'a self,
        _: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<OciMetadata, SourceError>> {
        async { Ok(OciMetadata { version: revision.to_owned(), ..OciMetadata::default() }) }.boxed()
    }

    fn list_apps<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, SourceError>> {
        async { Ok(vec![("web".into(), "Kustomize".into())]) }.boxed()
    }

    fn details<'a>(
        &'a self,
        _: &'a ApplicationSource,
    ) -> BoxFuture<'a, Result<Details, SourceError>> {
        let source_type = "Directory".to_owned();
        async { Ok(Details { source_type, ..Details::default() }) }.boxed()
    }
}

/// A controller that says of every Application that it has the ConfigMap `live`.
struct OneObject(Cluster);

impl Control for OneObject {
    fn explain<'a>(
        &'a self,
        _: &'a Application,
    ) -> BoxFuture<'a, Result<engine::Explanation, String>> {
        std::future::ready(Err("nobody asks".to_owned())).boxed()
    }

    fn compared<'a>(
        &'a self,
        _: &'a Application,
    ) -> BoxFuture<'a, Result<Vec<ResourceDiff>, String>> {
        let named = |name: &str| ResourceDiff {
            kind: "ConfigMap".into(),
            namespace: NAMESPACE.into(),
            name: name.into(),
            ..ResourceDiff::default()
        };
        async move { Ok(vec![named("live"), named("other")]) }.boxed()
    }

    fn tree<'a>(&'a self, _: &'a Application) -> BoxFuture<'a, Result<ApplicationTree, String>> {
        let node = ResourceNode {
            resource_ref: ResourceRef {
                version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: NAMESPACE.into(),
                name: "live".into(),
                uid: "u".into(),
                ..ResourceRef::default()
            },
            ..ResourceNode::default()
        };
        async { Ok(ApplicationTree { nodes: vec![node], ..ApplicationTree::default() }) }.boxed()
    }

    fn healths(&self, _: &AppKey) -> Arc<BTreeMap<ResourceKey, HealthStatus>> {
        Arc::default()
    }

    fn answered(&self, _: &Application, answer: &Object, live: &Object) -> Result<Sides, String> {
        let (predicted, live) = (answer.clone().into_value(), live.clone().into_value());
        Ok(Sides { predicted, live })
    }

    fn destination(&self, wanted: &ApplicationDestination) -> Result<Destination, String> {
        if wanted.server != SERVER {
            return Err(format!("cluster {:?} has not been configured", wanted.server));
        }
        let (server, name) = (SERVER.to_owned(), "in-cluster".to_owned());
        Ok(Destination { server, name, cluster: self.0.clone() })
    }

    fn destination_of(&self, app: &Application) -> Result<Destination, String> {
        self.destination(&app.spec.destination)
    }
}

#[test]
fn the_api_answers_over_rest_and_grpc() {
    // Another test of this process may have been first.
    drop(rustls::crypto::ring::default_provider().install_default());
    let control_plane = DevCluster::start().expect("a control plane");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let story = story(&control_plane);
        tokio::time::timeout(PATIENCE, story).await.expect("the test ends in time");
    });
}

async fn story(control_plane: &DevCluster) {
    let kubeconfig = control_plane.kubeconfig_path();
    let access = Access::from_kubeconfig(Some(&kubeconfig), None).await.expect("a kubeconfig");
    let client = Client::connect(&access).await.expect("a connection");
    install(control_plane, &client).await;
    let shutdown = Shutdown::new();
    let address = start(client.clone(), shutdown.clone()).await;
    let rest = Rest { address, token: String::new() };

    only_the_open_methods_answer_strangers(&rest).await;
    let token = the_admin_logs_in_with_the_first_password(&rest, &client).await;
    let rest = Rest { token: token.clone(), ..rest };
    projects_are_created_changed_and_deleted(&rest).await;
    host_keys_and_certificates_are_added_listed_and_removed(&rest).await;
    keys_of_signers_are_added_listed_and_removed(&rest).await;
    who_may_do_nothing_is_refused_everywhere(&rest, &client).await;
    bad_requests_are_refused_and_hurt_nobody(&rest).await;
    charts_of_a_repository_are_listed(&rest).await;
    users_of_an_identity_provider_log_in(&rest, &client).await;
    roles_of_projects_have_tokens(&rest).await;
    clusters_are_secrets(&rest, &client).await;
    repositories_are_secrets(&rest, &client).await;
    names_of_notifications_are_listed(&rest).await;
    applications_are_validated_created_and_changed(&rest).await;
    an_operation_is_written_for_the_controller(&rest).await;
    live_objects_are_read_patched_acted_on_and_deleted(&rest, &client).await;
    a_namespace_must_be_permitted(&rest).await;
    a_watch_begins_with_what_is_there(&rest).await;
    lists_come_by_page_and_by_field(&rest).await;
    links_and_badges_are_made(&rest, &client).await;
    grpc_says_the_same(&rest, token).await;
    a_deletion_cascades_unless_told_otherwise(&rest, &client).await;
    shutdown.begin();
}

async fn install(control_plane: &DevCluster, client: &Client) {
    let folder = control_plane.folder().join("crds");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, definition) in api::crds::yaml() {
        std::fs::write(folder.join(format!("{name}.yaml")), definition).expect("a file");
    }
    let folder = folder.to_str().expect("a path in text");
    kubectl(control_plane, &["apply", "--server-side", "-f", folder]);
    until_established(client, 3).await;
    let namespaces =
        ApiKind::known(&GroupVersionKind::parse("v1", "Namespace"), "namespaces", false);
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let namespace = Object::from_value(namespace).expect("an object");
    client.create(&namespaces, "", &namespace, "test").await.expect("a namespace");
}

/// Waits until this many custom kinds are served.
async fn until_established(client: &Client, count: usize) {
    let gvk = GroupVersionKind::parse("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let kind = ApiKind::known(&gvk, "customresourcedefinitions", false);
    let random = Randomness::of_this_process();
    let events = client.watch::<Value>(&kind, Scope::Everywhere, Selector::everything(), random);
    let mut events = std::pin::pin!(events);
    let mut served = BTreeSet::new();
    while served.len() < count {
        let event = events.next().await.expect("a watch does not end");
        let WatchEvent::Applied(definition) = event else { continue };
        let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|it| it["type"] == "Established" && it["status"] == "True") {
            served.insert(definition["metadata"]["name"].to_string());
        }
    }
}

fn kubectl(control_plane: &DevCluster, arguments: &[&str]) {
    let output = control_plane.kubectl(arguments).expect("kubectl");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {told}");
}

async fn start(client: Client, shutdown: Shutdown) -> String {
    let tracking = |object: &Tagged<'_>| object.annotation("none");
    let cluster = Cluster::start_with(client.clone(), StoreOptions::new(tracking));
    let cluster = cluster.await.expect("a cluster");
    let options = Options {
        namespace: NAMESPACE.into(),
        application_namespaces: vec!["team-*".into()],
        tls: false,
        web: Web::default(),
        login_limits: LoginLimits::default(),
        random: Randomness::of_this_process(),
    };
    cluster.ready().await;
    let control = Arc::new(OneObject(cluster));
    let settings = SettingsStore::load(&client, NAMESPACE).await.expect("the settings");
    let settings = Arc::new(settings);
    let follower = (Arc::clone(&settings), client.clone());
    tokio::spawn(async move {
        let (settings, client) = follower;
        settings.follow(&client, NAMESPACE, &Randomness::of_this_process()).await;
    });
    make_default_project(&client, NAMESPACE).await.expect("a project");
    let ports = Ports { sources: Arc::new(OnePath), control_plane: client, control, settings };
    let server =
        ApiServer::start(options, ports, &mut Registry::default()).await.expect("an API server");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { server.run(listener, &shutdown).await });
    address
}

/// The text of a body that comes in chunks, each after its length.
fn unchunked(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((length, more)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length");
        if length == 0 {
            break;
        }
        whole.push_str(&more[..length]);
        rest = more[length..].trim_start_matches("\r\n");
    }
    whole
}

/// A REST client in a few lines.
struct Rest {
    address: String,
    token: String,
}

impl Rest {
    async fn open(&self, verb: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.expect("a connection");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("a request");
        stream
    }

    /// Status and body.
    async fn ask(&self, verb: &str, path: &str, body: Value) -> (u16, Value) {
        let mut answer = String::new();
        let mut stream = self.open(verb, path, &body).await;
        stream.read_to_string(&mut answer).await.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        (status, serde_json::from_str(&body).unwrap_or_else(|_| body.into()))
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    #[track_caller]
    fn refuses(
        &self,
        verb: &'static str,
        path: &str,
        body: Value,
        expect: (u16, i64, &'static str),
    ) -> impl Future<Output = ()> {
        let path = path.to_owned();
        async move {
            let (status, body) = self.ask(verb, &path, body).await;
            let message = body["message"].as_str().unwrap_or_default();
            assert_eq!(
                (status, body["code"].as_i64(), message),
                (expect.0, Some(expect.1), expect.2)
            );
            assert_eq!(body["error"], body["message"]);
        }
    }
}

async fn only_the_open_methods_answer_strangers(rest: &Rest) {
    assert_eq!(rest.ask("GET", "/healthz", Value::Null).await, (200, "ok".into()));
    let version = rest.get("/api/version").await;
    assert!(version["Version"].as_str().expect("text").starts_with("v3.6.0"), "{version}");
    assert_eq!(rest.get("/api/v1/settings").await["controllerNamespace"], NAMESPACE);
    assert_eq!(rest.get("/api/v1/session/userinfo").await, json!({}));
    let closed = ["applications", "projects", "clusters", "account", "applications/web"];
    for path in closed {
        let expect = (401, 16, "invalid session: token is malformed");
        let stranger = Rest { address: rest.address.clone(), token: "a.b.c".into() };
        stranger.refuses("GET", &format!("/api/v1/{path}"), Value::Null, expect).await;
        let expect = (401, 16, "no session information");
        rest.refuses("GET", &format!("/api/v1/{path}"), Value::Null, expect).await;
    }
    rest.refuses("GET", "/api/v1/nothing", Value::Null, (404, 5, "Not Found")).await;
}

async fn the_admin_logs_in_with_the_first_password(rest: &Rest, client: &Client) -> String {
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
    let admin = Rest { address: rest.address.clone(), token: token.clone() };
    let expect = json!({"loggedIn": true, "username": "admin", "iss": "argocd"});
    assert_eq!(admin.get("/api/v1/session/userinfo").await, expect);
    let accounts = admin.get("/api/v1/account").await;
    let expect = json!({"items": [{"name": "admin", "enabled": true, "capabilities": ["login"]}]});
    assert_eq!(accounts, expect);
    let can = admin.get("/api/v1/account/can-i/applications/create/default/web").await;
    assert_eq!(can, json!({"value": "yes"}));
    token
}

async fn projects_are_created_changed_and_deleted(rest: &Rest) {
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

async fn host_keys_and_certificates_are_added_listed_and_removed(rest: &Rest) {
    let all = "/api/v1/certificates";
    assert_eq!(rest.get(all).await, json!({"items": [], "metadata": {}}));
    let key = "AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, key);
    let item = json!({"serverName": "git.example.org", "certType": "ssh",
                      "certSubType": "ssh-ed25519", "certData": encoded, "certInfo": ""});
    let body = json!({"items": [item]});
    let (status, told) = rest.ask("POST", all, body.clone()).await;
    let print = "RXm/ruZ0eTzRXKwi1AQEDynB0VgHQ2ac9KPSFdf/YnA";
    assert_eq!((status, &told["items"][0]["certInfo"]), (200, &print.into()), "{told}");
    let (status, told) = rest.ask("POST", all, body).await;
    assert_eq!((status, &told["items"]), (200, &json!([])), "known already: {told}");
    let listed = rest.get(&format!("{all}?hostNamePattern=git.*&certType=ssh")).await;
    let expect = json!([{"serverName": "git.example.org", "certType": "ssh",
        "certSubType": "ssh-ed25519", "certData": "", "certInfo": format!("SHA256:{print}")}]);
    assert_eq!(listed["items"], expect);
    assert_eq!(rest.get(&format!("{all}?certType=https")).await["items"], json!([]));
    let nonsense = json!({"items": [{"serverName": "a", "certType": "https", "certData": ""}]});
    rest.refuses("POST", all, nonsense, (500, 2, "no valid PEM data received")).await;
    let path = format!("{all}?hostNamePattern=git.example.org");
    let (status, removed) = rest.ask("DELETE", &path, Value::Null).await;
    assert_eq!((status, removed["items"].as_array().map(Vec::len)), (200, Some(1)));
    assert_eq!(rest.get(all).await["items"], json!([]));
}

async fn keys_of_signers_are_added_listed_and_removed(rest: &Rest) {
    let all = "/api/v1/gpgkeys";
    let body = json!({"keyData": include_str!("../src/gpgkey/keys.asc")});
    let (status, told) = rest.ask("POST", all, body.clone()).await;
    assert_eq!((status, told["created"]["items"].as_array().map(Vec::len)), (200, Some(3)));
    let (_, told) = rest.ask("POST", all, body).await;
    assert_eq!(told["skipped"].as_array().map(Vec::len), Some(3), "{told}");
    let listed = rest.get(all).await;
    assert_eq!(listed["items"][0]["keyID"], "2337DBF43947B17C", "{listed}");
    assert!(listed["items"][0]["keyData"].is_null(), "{listed}");
    let one = rest.get(&format!("{all}/D10999377F4DBD40CB3AE4ED2337DBF43947B17C")).await;
    assert_eq!(one["owner"], "Ada <ada@example.org>");
    assert!(one["keyData"].as_str().is_some_and(|it| it.contains("BEGIN PGP PUBLIC KEY")));
    let path = format!("{all}?keyID=2337DBF43947B17C");
    assert_eq!(rest.ask("DELETE", &path, Value::Null).await, (200, json!({})));
    let expect = (500, 2, "no such key configured: 2337DBF43947B17C");
    rest.refuses("DELETE", &path, Value::Null, expect).await;
    rest.refuses("POST", all, json!({"keyData": " "}), (500, 2, "submitted key data is empty"))
        .await;
}

/// Every REST operation, called by somebody who may do nothing.
async fn who_may_do_nothing_is_refused_everywhere(rest: &Rest, client: &Client) {
    set_config(client, "argocd-cm", json!({"accounts.weak": "apiKey"})).await;
    until("the account is known", async || {
        rest.ask("GET", "/api/v1/account/weak", Value::Null).await.0 == 200
    })
    .await;
    let (status, body) = rest.ask("POST", "/api/v1/account/weak/token", json!({})).await;
    assert_eq!(status, 200, "{body}");
    let token = body["token"].as_str().expect("a token").to_owned();
    let weak = Rest { address: rest.address.clone(), token };
    let app = "/api/v1/applications/web";
    let source = json!({"repoURL": "https://example.org/r", "path": "web"});
    let spec = json!({"project": "default", "source": source,
        "destination": {"server": SERVER, "namespace": "x"}});
    let whole = json!({"metadata": {"name": "web"}, "spec": spec});
    let object = "?resourceName=a&kind=ConfigMap&version=v1&namespace=x";
    let cluster = "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc";
    let repo = "/api/v1/repositories/https%3A%2F%2Fexample.org%2Fr";
    let write_repo = "/api/v1/write-repositories/https%3A%2F%2Fexample.org%2Fr";
    let nothing = || Value::Null;
    let refused = [
        ("GET", app.to_owned(), nothing()),
        ("POST", "/api/v1/applications".to_owned(), whole.clone()),
        ("PUT", app.to_owned(), whole.clone()),
        ("PUT", format!("{app}/spec"), spec.clone()),
        ("PATCH", app.to_owned(), json!({"patch": "{}", "patchType": "merge"})),
        ("DELETE", app.to_owned(), nothing()),
        ("POST", format!("{app}/sync"), json!({})),
        ("POST", format!("{app}/rollback"), json!({"id": 1})),
        ("DELETE", format!("{app}/operation"), nothing()),
        ("GET", format!("{app}/managed-resources"), nothing()),
        ("GET", format!("{app}/server-side-diff"), nothing()),
        ("GET", format!("{app}/resource-tree"), nothing()),
        ("GET", "/api/v1/stream/applications/web/resource-tree".to_owned(), nothing()),
        ("GET", format!("{app}/manifests"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/metadata"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/chartdetails"), nothing()),
        ("GET", format!("{app}/revisions/HEAD/ocimetadata"), nothing()),
        ("GET", format!("{app}/syncwindows"), nothing()),
        ("GET", format!("{app}/events"), nothing()),
        ("GET", format!("{app}/links"), nothing()),
        ("GET", format!("{app}/logs"), nothing()),
        ("GET", format!("{app}/pods/a/logs"), nothing()),
        ("GET", format!("{app}/resource{object}"), nothing()),
        ("POST", format!("{app}/resource{object}"), json!("{}")),
        ("DELETE", format!("{app}/resource{object}"), nothing()),
        ("GET", format!("{app}/resource/links{object}"), nothing()),
        ("GET", format!("{app}/resource/actions{object}"), nothing()),
        ("POST", format!("{app}/resource/actions{object}"), json!("restart")),
        ("POST", format!("{app}/resource/actions/v2"), json!({"action": "restart"})),
        ("GET", "/api/v1/applicationsets/s".to_owned(), nothing()),
        ("DELETE", "/api/v1/applicationsets/s".to_owned(), nothing()),
        ("GET", "/api/v1/applicationsets/s/resource-tree".to_owned(), nothing()),
        ("GET", "/api/v1/applicationsets/s/events".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/detailed".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/globalprojects".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/events".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/syncwindows".to_owned(), nothing()),
        ("GET", "/api/v1/projects/default/links".to_owned(), nothing()),
        ("POST", "/api/v1/projects".to_owned(), json!({"project": {"metadata": {"name": "x"}}})),
        ("PUT", "/api/v1/projects/x".to_owned(), json!({"project": {"metadata": {"name": "x"}}})),
        ("DELETE", "/api/v1/projects/x".to_owned(), nothing()),
        ("POST", "/api/v1/projects/default/roles/ci/token".to_owned(), json!({})),
        ("DELETE", "/api/v1/projects/default/roles/ci/token/1".to_owned(), nothing()),
        ("GET", cluster.to_owned(), nothing()),
        ("POST", "/api/v1/clusters".to_owned(), json!({"server": "https://c", "name": "c"})),
        ("PUT", cluster.to_owned(), json!({"name": "x"})),
        ("DELETE", cluster.to_owned(), nothing()),
        ("POST", format!("{cluster}/rotate-auth"), json!({})),
        ("POST", format!("{cluster}/invalidate-cache"), json!({})),
        ("GET", repo.to_owned(), nothing()),
        ("POST", "/api/v1/repositories".to_owned(), json!({"repo": "https://example.org/x"})),
        ("PUT", repo.to_owned(), json!({"repo": "https://example.org/r"})),
        ("DELETE", repo.to_owned(), nothing()),
        ("POST", format!("{repo}/validate"), json!("https://example.org/r")),
        ("GET", format!("{repo}/refs"), nothing()),
        ("GET", format!("{repo}/apps"), nothing()),
        ("GET", format!("{repo}/helmcharts"), nothing()),
        ("GET", format!("{repo}/oci-tags"), nothing()),
        ("POST", format!("{repo}/appdetails"), json!({"source": source})),
        ("GET", write_repo.to_owned(), nothing()),
        ("POST", "/api/v1/write-repositories".to_owned(), json!({"repo": "https://e.org/x"})),
        ("DELETE", write_repo.to_owned(), nothing()),
        ("POST", "/api/v1/repocreds".to_owned(), json!({"url": "https://example.org"})),
        ("DELETE", "/api/v1/repocreds/https%3A%2F%2Fexample.org".to_owned(), nothing()),
        ("GET", "/api/v1/certificates".to_owned(), nothing()),
        ("POST", "/api/v1/certificates".to_owned(), json!({"items": []})),
        ("DELETE", "/api/v1/certificates".to_owned(), nothing()),
        ("GET", "/api/v1/gpgkeys".to_owned(), nothing()),
        ("GET", "/api/v1/gpgkeys/2337DBF43947B17C".to_owned(), nothing()),
        ("POST", "/api/v1/gpgkeys".to_owned(), json!({"keyData": "x"})),
        ("DELETE", "/api/v1/gpgkeys?keyID=2337DBF43947B17C".to_owned(), nothing()),
        ("GET", "/api/v1/account/admin".to_owned(), nothing()),
        ("POST", "/api/v1/account/admin/token".to_owned(), json!({})),
        ("DELETE", "/api/v1/account/admin/token/x".to_owned(), nothing()),
    ];
    for (verb, path, body) in refused {
        let (status, told) = weak.ask(verb, &path, body).await;
        assert_eq!(status, 403, "{verb} {path}: {told}");
    }
    for list in [
        "applications",
        "projects",
        "clusters",
        "repositories",
        "write-repositories",
        "repocreds",
        "write-repocreds",
        "applicationsets",
    ] {
        let listed = weak.get(&format!("/api/v1/{list}")).await;
        assert!(listed["items"].as_array().is_none_or(Vec::is_empty), "{list}: {listed}");
    }
    // Oneself one may always see.
    assert_eq!(weak.get("/api/v1/account").await["items"][0]["name"], "weak");
    set_config(client, "argocd-cm", json!({"accounts.weak": null})).await;
}

async fn lists_come_by_page_and_by_field(rest: &Rest) {
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|it| it["metadata"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = rest.get("/api/v1/applications").await;
    let mut paged = Vec::new();
    let mut token = String::new();
    loop {
        let path = format!("/api/v1/applications?limit=1&continue={token}");
        let page = rest.get(&path).await;
        paged.extend(names(&page));
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(paged, names(&all));
    assert!(!paged.is_empty());
    let found = rest.get(&format!("/api/v1/applications?search={}", paged[0])).await;
    assert!(names(&found).contains(&paged[0]));
    assert_eq!(names(&rest.get("/api/v1/applications?health=Nonsense").await), [""; 0]);
    let fields = rest.get("/api/v1/applications?fields=items.metadata.name").await;
    let item = fields["items"][0].as_object().expect("an item");
    assert_eq!(item.keys().collect::<Vec<_>>(), ["metadata"], "{fields}");
    let expect =
        (400, 3, "cannot sort by \"color\"; name, project, health, sync and created are known");
    rest.refuses("GET", "/api/v1/applications?sort=color", Value::Null, expect).await;
}

async fn links_and_badges_are_made(rest: &Rest, client: &Client) {
    let all = rest.get("/api/v1/applications").await;
    let name = all["items"][0]["metadata"]["name"].as_str().expect("an Application").to_owned();
    let links = "- url: https://logs/{{.app.metadata.name}}\n  title: logs\n  if: app.spec.project != \"x\"\n- url: https://never\n  title: never\n  if: \"false\"";
    let config = json!({"application.links": links, "statusbadge.enabled": "true"});
    set_config(client, "argocd-cm", config).await;
    until("the links are known", async || {
        rest.get(&format!("/api/v1/applications/{name}/links")).await["items"].is_array()
    })
    .await;
    let made = rest.get(&format!("/api/v1/applications/{name}/links")).await;
    let expect = json!([{"title": "logs", "url": format!("https://logs/{name}")}]);
    assert_eq!(made["items"], expect);
    let (status, badge) = rest.ask("GET", &format!("/api/badge?name={name}"), Value::Null).await;
    assert_eq!(status, 200);
    assert!(badge.as_str().is_some_and(|it| it.starts_with("<svg")), "{badge}");
    let (_, badge) = rest.ask("GET", "/api/badge?name=absent", Value::Null).await;
    assert!(badge.as_str().is_some_and(|it| it.contains("Not Found")), "{badge}");
}

async fn charts_of_a_repository_are_listed(rest: &Rest) {
    let charts = rest.get("/api/v1/repositories/https%3A%2F%2Fexample.org%2Fc/helmcharts").await;
    assert_eq!(charts, json!({"items": [{"name": "web", "versions": ["1.0.0"]}]}));
}

async fn bad_requests_are_refused_and_hurt_nobody(rest: &Rest) {
    // Forms of other sites cannot act for a user.
    let (status, _) =
        raw(rest, "POST /api/v1/projects HTTP/1.1\r\nContent-Type: text/plain", b"{}").await;
    assert_eq!(status, 415);
    let post = "POST /api/v1/projects HTTP/1.1\r\nContent-Type: application/json";
    for body in [&b"{"[..], b"[]", b"{\"project\":{\"metadata\":7}}", b"\xff\xfe"] {
        assert_eq!(raw(rest, post, body).await.0, 400, "{body:?}");
    }
    // The last of two is the one that counts, and what nobody knows is passed over.
    let twice = br#"{"project":{"metadata":{"name":"a b"}},"project":{"metadata":{"name":"UPPER"}},"unknown":{}}"#;
    assert!(raw(rest, post, twice).await.0 >= 400);
    for name in ["..%2F..%2Fsecrets", "%00", "a%0d%0ab", "%2e%2e", "..", "a%2Fb", "%ff"] {
        let (status, body) =
            rest.ask("GET", &format!("/api/v1/applications/{name}"), Value::Null).await;
        assert!(matches!(status, 400 | 403 | 404), "{name}: {status} {body}");
    }
    // Frames that are torn, too long, or hold no message.
    let web = "POST /application.ApplicationService/List HTTP/1.1\r\nContent-Type: application/grpc-web+proto";
    for body in [
        &b"\0"[..],
        b"\0\xff\xff\xff\xff",
        b"\0\0\0\0\x02\xff\xff",
        b"\x01\0\0\0\x01x",
        b"no frame",
    ] {
        let (status, head) = raw(rest, web, body).await;
        assert_eq!(status, 200, "{head}");
        assert!(!head.contains("grpc-status: 0") && !head.contains("grpc-status:0"), "{head}");
    }
    let huge = format!("GET /api/version HTTP/1.1\r\nX-Huge: {}", "x".repeat(2 << 20));
    assert!(matches!(raw(rest, &huge, b"").await.0, 0 | 431));
    assert!(rest.get("/api/version").await["Version"].is_string(), "still well");
}

/// Status and all of an answer; 0 where the connection ends without one.
async fn raw(rest: &Rest, head: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(&rest.address).await.expect("a connection");
    let token = &rest.token;
    let head = format!(
        "{head}\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // The other side may close before it has read everything.
    drop(stream.write_all(head.as_bytes()).await);
    drop(stream.write_all(body).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// Waits until the settings say so.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

async fn set_config(client: &Client, name: &str, data: Value) {
    let maps = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    if client.get(&maps, NAMESPACE, name).await.expect("an answer").is_none() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let map = Object::from_value(map).expect("an object");
        client.create(&maps, NAMESPACE, &map, "test").await.expect("a ConfigMap");
    }
    let patch = json!({ "data": data });
    client.merge_patch(&maps, NAMESPACE, name, None, &patch).await.expect("patched");
}

async fn users_of_an_identity_provider_log_in(rest: &Rest, client: &Client) {
    let provider = testkit::oidc::Provider::start();
    let home = format!("http://{}", rest.address);
    let config = |extra: &str| {
        let (issuer, id) = (provider.issuer(), testkit::oidc::CLIENT);
        let secret = testkit::oidc::SECRET;
        format!("name: Test\nissuer: {issuer}\nclientID: {id}\nclientSecret: '{secret}'\n{extra}")
    };
    let stranger = Rest { address: rest.address.clone(), token: String::new() };
    let (status, told) = stranger.ask("GET", "/auth/login", Value::Null).await;
    assert_eq!((status, told), (500, "SSO is not configured\n".into()));
    let pkce =
        "enablePKCEAuthentication: true\nenableUserInfoGroups: true\nuserInfoPath: /userinfo";
    set_config(client, "argocd-cm", json!({"url": home, "oidc.config": config(pkce)})).await;
    let policy = "g, sales, role:sellers\np, role:sellers, projects, get, default, allow\n\
                  g, from-user-info, role:told\np, role:told, accounts, get, admin, allow";
    set_config(client, "argocd-rbac-cm", json!({"policy.csv": policy})).await;
    until("oidc.config is read", async || {
        rest.get("/api/v1/settings").await["oidcConfig"]["name"] == "Test"
    })
    .await;

    // Only to ourselves.
    let path = "/auth/login?return_url=https://evil.example.org/";
    assert_eq!(stranger.ask("GET", path, Value::Null).await.0, 400);
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

    let ann = Rest { address: rest.address.clone(), token: token.clone() };
    let expect = json!({"loggedIn": true, "username": "ann@example.org", "iss": provider.issuer(),
                        "groups": ["sales", "from-user-info"]});
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

    // Tokens that the command line program got by itself, and those that are none.
    let minted =
        |claims: Value| Rest { address: rest.address.clone(), token: provider.mint(&claims) };
    let good = json!({"iss": provider.issuer(), "aud": testkit::oidc::CLIENT, "exp": 4e9, "sub": "bob", "jti": "b"});
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
    let foreign = Rest { address: rest.address.clone(), token: other.mint(&good) };
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

/// Status and head of an answer.
async fn head_of(address: &str, path: &str, cookie: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
    (status, head)
}

/// The first header of that name.
fn header(head: &str, name: &str) -> String {
    let lines = head.lines().filter_map(|it| it.split_once(':'));
    let found = lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

/// Host and target of an address.
fn split(address: &str) -> (String, String) {
    let rest = address.strip_prefix("http://").expect("an address");
    let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
    (host.to_owned(), format!("/{target}"))
}

async fn roles_of_projects_have_tokens(rest: &Rest) {
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

async fn secret(client: &Client, name: &str) -> Option<Object> {
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    client.get(&secrets, NAMESPACE, name).await.expect("an answer")
}

async fn clusters_are_secrets(rest: &Rest, client: &Client) {
    let ours = "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc";
    let cluster = rest.get(ours).await;
    assert_eq!(
        (&cluster["name"], &cluster["connectionState"]["status"]),
        (&"in-cluster".into(), &"Successful".into())
    );
    assert_eq!(cluster["config"], json!({"tlsClientConfig": {"insecure": false}}));
    let path = format!("{ours}?updatedFields=labels");
    let (status, body) = rest.ask("PUT", &path, json!({"labels": {"tier": "gold"}})).await;
    assert_eq!((status, &body["labels"]), (200, &json!({"tier": "gold"})), "{body}");
    assert_eq!(
        rest.get("/api/v1/clusters/in-cluster?id.type=name").await["labels"]["tier"],
        "gold"
    );
    let stored = secret(client, "cluster-kubernetes.default.svc-3396314289").await;
    let stored = stored.expect("the Secret of our cluster");
    let label = ["metadata", "labels", "argocd.argoproj.io/secret-type"];
    assert_eq!(stored.text(&label), Some("cluster"));

    let config = json!({"bearerToken": "secret", "tlsClientConfig": {"insecure": true}});
    let other = json!({"server": "https://example.org", "name": "prod", "config": config});
    let (status, body) = rest.ask("POST", "/api/v1/clusters", other.clone()).await;
    assert_eq!((status, body["config"].get("bearerToken")), (200, None), "{body}");
    assert_eq!(rest.ask("POST", "/api/v1/clusters", other).await.0, 200, "the same again");
    let listed = rest.get("/api/v1/clusters").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    let gone = "/api/v1/clusters/prod?id.type=name";
    assert_eq!(rest.ask("DELETE", gone, Value::Null).await, (200, json!({})));
    rest.refuses("GET", gone, Value::Null, (403, 7, "permission denied")).await;
}

async fn repositories_are_secrets(rest: &Rest, client: &Client) {
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
        rest.get(&format!("{one}/apps")).await,
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

async fn names_of_notifications_are_listed(rest: &Rest) {
    for kind in ["triggers", "services", "templates"] {
        assert_eq!(rest.get(&format!("/api/v1/notifications/{kind}")).await, json!({}));
    }
}

async fn live_objects_are_read_patched_acted_on_and_deleted(rest: &Rest, client: &Client) {
    let maps = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "live"}, "data": {"a": "b"}});
    let map = Object::from_value(map).expect("an object");
    client.create(&maps, NAMESPACE, &map, "test").await.expect("a ConfigMap");
    let tree = rest.get("/api/v1/applications/web/resource-tree").await;
    assert_eq!(tree["nodes"][0]["name"], "live");
    let managed = rest.get("/api/v1/applications/web/managed-resources?name=other").await;
    assert_eq!(managed["items"].as_array().map(Vec::len), Some(1));
    let query = format!("?namespace={NAMESPACE}&resourceName=live&version=v1&kind=ConfigMap");
    let at = format!("/api/v1/applications/web/resource{query}");
    let manifest = rest.get(&at).await["manifest"].as_str().expect("text").to_owned();
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["data"], json!({"a": "b"}));
    let expect = (400, 3, "ConfigMap  ghost not found as part of application web");
    let ghost = at.replace("=live", "=ghost");
    rest.refuses("GET", &ghost, Value::Null, expect).await;
    let patch = format!("{at}&patchType=application%2Fmerge-patch%2Bjson");
    let (status, body) = rest.ask("POST", &patch, r#"{"data":{"a":"c"}}"#.into()).await;
    assert_eq!(status, 200, "{body}");
    let stored = client.get(&maps, NAMESPACE, "live").await.expect("an answer").expect("there");
    assert_eq!(stored.text(&["data", "a"]), Some("c"));
    let actions = at.replace("/resource?", "/resource/actions?");
    assert_eq!(rest.get(&actions).await, json!({}));
    let logs = format!("/api/v1/applications/web/logs?namespace={NAMESPACE}");
    assert_eq!(rest.ask("GET", &logs, Value::Null).await, (200, "".into()), "there are no pods");
    assert_eq!(rest.get("/api/v1/applications/web/syncwindows").await, json!({"canSync": true}));
    assert_eq!(rest.get("/api/v1/applications/web/links").await, json!({}));
    let metadata = rest.get("/api/v1/applications/web/revisions/abc/metadata").await;
    assert_eq!(metadata["author"], "Ada <ada@example.org>");
    let events = rest.get("/api/v1/applications/web/events").await;
    assert!(events["items"].as_array().is_some_and(|it| !it.is_empty()), "{events}");
    assert_eq!(
        rest.ask("DELETE", &format!("{at}&orphan=true"), Value::Null).await,
        (200, json!({}))
    );
    let gone = client.get(&maps, NAMESPACE, "live").await.expect("an answer");
    assert!(gone.is_none_or(|it| it.text(&["metadata", "deletionTimestamp"]).is_some()));
}

async fn a_namespace_must_be_permitted(rest: &Rest) {
    let expect = (403, 7, "namespace 'other' is not permitted");
    rest.refuses("GET", "/api/v1/applications/web?appNamespace=other", Value::Null, expect).await;
    let expect = (403, 7, "permission denied");
    rest.refuses("GET", "/api/v1/applications/web?appNamespace=team-a", Value::Null, expect).await;
}

fn application(path: &str) -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"team": "shop"}},
        "spec": {
            "source": {"repoURL": "https://example.org/web.git", "path": path},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"},
        },
        "operation": {"sync": {"prune": true}},
    })
}

async fn applications_are_validated_created_and_changed(rest: &Rest) {
    let at = "/api/v1/applications";
    rest.refuses("POST", at, application("nowhere"), (400, 3,
        "error while validating and normalizing app: application spec for web is invalid: \
         InvalidSpecError: Unable to generate manifests in nowhere: nowhere: app path does not exist",
    )).await;
    let mut elsewhere = application("web");
    elsewhere["spec"]["project"] = "ghost".into();
    rest.refuses(
        "POST",
        at,
        elsewhere,
        (400, 3, "app is not allowed in project \"ghost\", or the project does not exist"),
    )
    .await;
    let (status, created) = rest.ask("POST", at, application("web")).await;
    assert_eq!(status, 200, "{created}");
    assert_eq!(created["spec"]["project"], "default");
    assert_eq!(created["operation"], Value::Null, "an operation is not the creator's to set");
    assert_eq!(
        (created["kind"].clone(), created["status"]["sync"].is_object()),
        (Value::Null, true)
    );
    assert_eq!(rest.ask("POST", at, application("web")).await.0, 200, "the same again is no error");
    let mut other = application("web");
    other["metadata"]["labels"] = json!({"team": "other"});
    let expect =
        (400, 3, "existing application spec is different, use upsert flag to force update");
    rest.refuses("POST", at, other, expect).await;
    let unvalidated = "/api/v1/applications?validate=false&upsert=true";
    let (status, updated) = rest.ask("POST", unvalidated, application("other")).await;
    assert_eq!((status, &updated["spec"]["source"]["path"]), (200, &"other".into()));
    let patch = json!({"patch": r#"{"spec":{"source":{"path":"web"}}}"#, "patchType": "merge"});
    let (status, patched) = rest.ask("PATCH", "/api/v1/applications/web", patch).await;
    assert_eq!((status, &patched["spec"]["source"]["path"]), (200, &"web".into()), "{patched}");

    let listed = rest.get("/api/v1/applications?selector=team%3Dshop&project=default").await;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let listed = rest.get("/api/v1/applications?selector=team!%3Dshop").await;
    assert_eq!(listed["items"], json!([]));
    let expect = (403, 7, "permission denied");
    rest.refuses("GET", "/api/v1/applications/ghost", Value::Null, expect).await;
    let expect = (404, 5, "applications.argoproj.io \"ghost\" not found");
    rest.refuses("GET", "/api/v1/applications/ghost?project=default", Value::Null, expect).await;
    let manifests = rest.get("/api/v1/applications/web/manifests").await;
    assert_eq!(
        (&manifests["revision"], manifests["manifests"].as_array().map(Vec::len)),
        (&COMMIT.into(), Some(1))
    );
}

async fn an_operation_is_written_for_the_controller(rest: &Rest) {
    let request = json!({"prune": true, "infos": [{"name": "why", "value": "test"}]});
    let (status, synced) = rest.ask("POST", "/api/v1/applications/web/sync", request).await;
    assert_eq!(status, 200, "{synced}");
    let operation = &synced["operation"];
    assert_eq!(operation["initiatedBy"], json!({"username": "admin"}));
    assert_eq!(
        (&operation["sync"]["revision"], &operation["sync"]["prune"]),
        (&COMMIT.into(), &true.into())
    );
    let expect = (400, 9, "another operation is already in progress");
    rest.refuses("POST", "/api/v1/applications/web/sync", json!({}), expect).await;
    let expect = (400, 3, "application web does not have deployment with id 7");
    rest.refuses("POST", "/api/v1/applications/web/rollback", json!({"id": 7}), expect).await;
    let expect = (400, 3, "Unable to terminate operation. No operation is in progress");
    rest.refuses("DELETE", "/api/v1/applications/web/operation", Value::Null, expect).await;
}

async fn a_watch_begins_with_what_is_there(rest: &Rest) {
    let stream = rest.open("GET", "/api/v1/stream/applications?name=web", &Value::Null).await;
    let mut lines = BufReader::new(stream).lines();
    let event = loop {
        let line = lines.next_line().await.expect("a line").expect("the stream goes on");
        if let Ok(Value::Object(event)) = serde_json::from_str(&line) {
            break event;
        }
    };
    assert_eq!(event["result"]["type"], "ADDED");
    assert_eq!(event["result"]["application"]["metadata"]["name"], "web");
}

async fn grpc_says_the_same(rest: &Rest, token: String) {
    let channel = Channel::from_shared(format!("http://{}", rest.address)).expect("an address");
    let mut client = Grpc::new(channel.connect().await.expect("a connection"));
    let version: Result<VersionMessage, _> =
        unary(&mut client, "/version.VersionService/Version", Nothing {}, None).await;
    assert!(version.expect("a version").version.starts_with("v3.6.0"));
    let wrong = SessionCreateRequest {
        username: "admin".into(),
        password: "wrong".into(),
        token: String::new(),
    };
    let refused: Result<SessionResponse, _> =
        unary(&mut client, "/session.SessionService/Create", wrong, None).await;
    let refused = refused.expect_err("a wrong password");
    assert_eq!(
        (refused.code(), refused.message()),
        (wire::Code::Unauthenticated, "Invalid username or password")
    );
    let list = "/application.ApplicationService/List";
    let stranger: Result<ApplicationList, _> =
        unary(&mut client, list, ApplicationQuery::default(), None).await;
    assert_eq!(stranger.expect_err("no token").message(), "no session information");
    let apps: Result<ApplicationList, _> =
        unary(&mut client, list, ApplicationQuery::default(), Some(&token)).await;
    let apps = apps.expect("a list");
    assert_eq!(apps.items.iter().map(|it| &it.metadata.name).collect::<Vec<_>>(), ["web"]);
    let unknown: Result<Application, _> =
        unary(&mut client, "/x.Y/Z", ApplicationQuery::default(), Some(&token)).await;
    assert_eq!(unknown.expect_err("no such method").code(), wire::Code::Unimplemented);

    let query = ApplicationQuery { name: Some("web".into()), ..ApplicationQuery::default() };
    let mut request = tonic::Request::new(query);
    request.metadata_mut().insert("token", token.parse().expect("a header"));
    client.ready().await.expect("a connection");
    let path = http::uri::PathAndQuery::from_static("/application.ApplicationService/Watch");
    let codec: ProstCodec<ApplicationQuery, ApplicationWatchEvent> = ProstCodec::default();
    let stream = client.server_streaming(request, path, codec).await.expect("a stream");
    let event = stream.into_inner().message().await.expect("an event").expect("one at least");
    assert_eq!((event.type_.as_str(), event.application.metadata.name.as_str()), ("ADDED", "web"));
}

async fn unary<Asked, Answer>(
    client: &mut Grpc<Channel>,
    path: &'static str,
    asked: Asked,
    token: Option<&str>,
) -> Result<Answer, wire::Status>
where
    Asked: prost::Message + Default + 'static,
    Answer: prost::Message + Default + 'static,
{
    let mut request = tonic::Request::new(asked);
    if let Some(token) = token {
        request.metadata_mut().insert("token", token.parse().expect("a header"));
    }
    client.ready().await.expect("a connection");
    let path = http::uri::PathAndQuery::from_static(path);
    let codec: ProstCodec<Asked, Answer> = ProstCodec::default();
    Ok(client.unary(request, path, codec).await?.into_inner())
}

async fn a_deletion_cascades_unless_told_otherwise(rest: &Rest, client: &Client) {
    let path = "/api/v1/applications/web?cascade=false&propagationPolicy=foreground";
    let expect = (400, 3, "cannot set propagation policy when cascading is disabled");
    rest.refuses("DELETE", path, Value::Null, expect).await;
    let (status, body) = rest.ask("DELETE", "/api/v1/applications/web", Value::Null).await;
    assert_eq!((status, body), (200, json!({})));
    let app = rest.get("/api/v1/applications/web").await;
    assert_eq!(app["metadata"]["finalizers"], json!(["resources-finalizer.argocd.argoproj.io"]));
    let expect = (400, 9, "application is deleting");
    rest.refuses("POST", "/api/v1/applications/web/sync", json!({}), expect).await;
    let events = ApiKind::known(&GroupVersionKind::parse("v1", "Event"), "events", true);
    let events = client.list(&events, NAMESPACE, &Selector::everything()).await;
    let events = events.expect("events");
    let mut told: Vec<&str> = events.iter().filter_map(|it| it.text(&["message"])).collect();
    told.sort_unstable();
    told.dedup();
    let sync = format!("admin initiated sync to HEAD ({COMMIT})");
    let expect = [
        "admin created application",
        "admin deleted application",
        "admin deleted resource /ConfigMap 'live'",
        "admin patched resource /ConfigMap 'live'",
        sync.as_str(),
        "admin updated application spec",
    ];
    for message in expect {
        assert!(told.contains(&message), "{message} is not in {told:?}");
    }
}
