//! What lies between the product and its clusters breaks, without a word. What
//! says Synced is so all the while, or says it for five seconds at most.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use devcluster::{DevCluster, Options};
use serde_json::{Value, json};
use testkit::gate::Gate;
use testkit::git::Repo;
use testkit::proxy::{Mood, Proxy, gateway_to};
use testkit::truth::{Checker, Lie};

use crate::steps::PlainHttp;
use crate::world::{CONTROL_NAMESPACE, Test, World, cluster_secret, config_map};

const NOBODY_IS_FASTER: Duration = Duration::from_secs(5);

fn address(cluster: &DevCluster) -> SocketAddr {
    let url = cluster.server_url();
    url.strip_prefix("https://").expect("https").parse().expect("an address")
}

/// The control plane, once more: as a cluster that is far away, behind a proxy.
struct Far {
    proxy: Proxy,
    secret: Value,
    server: String,
}

impl Far {
    fn of(world: &World) -> Self {
        let proxy = Proxy::before(address(&world.cluster));
        let server = format!("https://{}", proxy.address());
        let secret = cluster_secret(&world.cluster, "far", &server);
        Self { proxy, secret, server }
    }

    fn application(&self, it: &Test<'_>, repo: &Repo) -> Value {
        let mut app = it.automated(repo);
        app["spec"]["destination"] = json!({"server": self.server, "namespace": it.name});
        app
    }
}

pub(crate) fn checker(world: &World) -> Checker {
    Checker::start(world.cluster.kubectl_path(), NOBODY_IS_FASTER)
}

fn is_unknown(app: &api::Application) -> bool {
    app.status.sync.status == "Unknown"
}

async fn until_healed(it: &Test<'_>, value: &str) {
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["data", "version"]) == Some(value))
    })
    .await;
}

/// Breaks the way to a cluster, lets an object drift behind our back, mends it.
async fn check(name: &'static str, fault: Mood) {
    let world = World::new();
    world.start_product();
    let it = world.test(name).await;
    let far = Far::of(&world);
    it.create(&far.secret).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&far.application(&it, &repo)).await;
    it.until_synced().await;

    let checker = checker(&world);
    far.proxy.is(fault);
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
    let app = it.until("Unknown while its cluster is not to be seen", is_unknown).await;
    let conditions = &app.status.conditions;
    assert!(
        conditions
            .iter()
            .any(|it| it.type_ == "ComparisonError" && it.message.contains("ConfigMap")),
        "it says what cannot be seen: {conditions:?}"
    );
    far.proxy.is(Mood::Passing);
    until_healed(&it, "1").await;
    it.until_synced().await;
    assert_eq!(checker.lies(), no_lies());
}

fn no_lies() -> Vec<Lie> {
    Vec::new()
}

#[tokio::test]
async fn a_watch_that_is_silently_dead_is_noticed_before_anybody_is_misled() {
    check("silent", Mood::Swallowing).await;
}

#[tokio::test]
async fn a_cluster_that_cannot_be_reached_makes_its_applications_unknown_and_comes_back() {
    check("unreachable", Mood::Cut).await;
}

#[tokio::test]
async fn a_cluster_that_is_away_from_the_start_is_found_when_it_comes() {
    let world = World::new();
    let it = world.test("away").await;
    let far = Far::of(&world);
    far.proxy.is(Mood::Cut);
    it.create(&far.secret).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&far.application(&it, &repo)).await;
    let checker = checker(&world);
    world.start_product();
    // Before it was tried it is not known yet.
    let told = format!("the cluster {} cannot be reached", far.server);
    it.until("Unknown, and told that its cluster cannot be reached", |app| {
        is_unknown(app) && app.status.conditions.iter().any(|it| it.message.contains(&told))
    })
    .await;

    far.proxy.is(Mood::Passing);
    it.until_synced().await;
    assert_eq!(it.until_synced().await.status.conditions, []);
    assert_eq!(checker.lies(), no_lies());
}

#[tokio::test]
async fn a_sync_that_is_under_way_waits_for_its_cluster() {
    let world = World::new();
    world.start_product();
    let it = world.test("waits").await;
    let far = Far::of(&world);
    it.create(&far.secret).await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/db.yaml", &crate::world::deployment("db", 0, "db:!")),
        ("app/web.yaml", &crate::world::deployment("web", 1, "web:1")),
    ]);
    it.create(&far.application(&it, &repo)).await;
    it.until("waiting for db", |app| {
        let state = app.status.operation_state.as_ref();
        state.is_some_and(|it| it.message.starts_with("waiting for healthy state"))
    })
    .await;
    far.proxy.is(Mood::Cut);
    let app = it.until("Unknown", is_unknown).await;
    let phase = app.status.operation_state.expect("an operation").phase;
    assert_eq!(phase, "Running");

    let healthy = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "db:1"}]}}}});
    it.patch("apps/v1", "Deployment", "db", &healthy).await;
    far.proxy.is(Mood::Passing);
    let app = it.until("through", |app| {
        app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Succeeded")
    });
    assert_eq!(app.await.status.history.len(), 1);
}

#[tokio::test]
async fn a_sync_whose_cluster_stays_away_says_so_and_goes_on_where_it_may_be_tried_again() {
    let world = World::new();
    let patience = [("ARGOSY_CLUSTER_PATIENCE", "6")];
    world.start_product_in(&world.cluster.kubeconfig_path(), CONTROL_NAMESPACE, &patience);
    let (once, again) = (world.test("tried-once").await, world.test("tried-again").await);
    let far = Far::of(&world);
    once.create(&far.secret).await;
    let repo = Repo::new();
    repo.commit(&[
        ("app/db.yaml", &crate::world::deployment("db", 0, "db:!")),
        ("app/web.yaml", &crate::world::deployment("web", 1, "web:1")),
    ]);
    for (it, limit) in [(&once, 0), (&again, 1000)] {
        let mut app = far.application(it, &repo);
        let backoff = json!({"duration": "1s", "factor": 1, "maxDuration": "1s"});
        app["spec"]["syncPolicy"]["retry"] = json!({"limit": limit, "backoff": backoff});
        it.create(&app).await;
    }
    for it in [&once, &again] {
        it.until("waiting for db", |app| {
            let state = app.status.operation_state.as_ref();
            state.is_some_and(|it| it.message.starts_with("waiting for healthy state"))
        })
        .await;
    }
    let checker = checker(&world);
    far.proxy.is(Mood::Cut);
    let says = |app: &api::Application, phase: &str| {
        let state = app.status.operation_state.as_ref();
        let unseen = "in the cluster is not known at the moment";
        state.is_some_and(|it| it.phase == phase && it.message.contains(unseen))
    };
    let given_up = once.until("given up, with the reason", |app| says(app, "Error")).await;
    assert!(is_unknown(&given_up) && given_up.operation.is_none(), "{:?}", given_up.status.sync);
    let waiting = again.until("waiting for the next try", |app| says(app, "Running")).await;
    assert!(is_unknown(&waiting), "{:?}", waiting.status.sync);

    far.proxy.is(Mood::Passing);
    again
        .until("at work again", |app| {
            let state = app.status.operation_state.as_ref();
            state.is_some_and(|it| {
                it.retry_count > 0 && it.message.starts_with("waiting for healthy")
            })
        })
        .await;
    let healthy = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "db:1"}]}}}});
    again.patch("apps/v1", "Deployment", "db", &healthy).await;
    again.until("through", |app| app.status.history.len() == 1).await;

    // Who may not be tried again waits for another commit.
    assert!(once.get("apps/v1", "Deployment", "web").await.is_none());
    let second = repo.commit(&[("app/db.yaml", &crate::world::deployment("db", 0, "db:1"))]);
    for it in [&once, &again] {
        it.until("synced to the second commit", |app| {
            app.status.sync.revision == second && app.status.sync.status == "Synced"
        })
        .await;
    }
    assert_eq!(checker.lies(), no_lies());
}

/// The versions that our watches would go on from are compacted away while they are gone.
#[tokio::test]
async fn what_happened_in_versions_that_are_compacted_away_is_found_by_listing_again() {
    let flags = vec!["--etcd-compaction-interval=1s".to_owned()];
    let world = World::with(&Options { api_server_flags: flags, ..Options::default() });
    let plain = PlainHttp::before(&world.cluster);
    let gate = Gate::before(plain.address());
    gate.shorten_watches(2);
    world.start_product_with(&kubeconfig_of(&world, &gate), CONTROL_NAMESPACE);
    let it = world.test("compacted").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    let mut app = it.automated(&repo);
    app["spec"]["syncPolicy"]["automated"]["selfHeal"] = json!(false);
    it.create(&app).await;
    it.until_synced().await;

    let checker = checker(&world);
    // The server ends each watch in order after two seconds; none begins again.
    let held = gate.hold_watches();
    let next = || held.recv_timeout(Duration::from_secs(60)).expect("a watch that goes on");
    while !next().starts_with("/api/v1/configmaps?") {}
    let live = it.get("v1", "ConfigMap", "m").await.expect("a ConfigMap");
    let last_seen = live.text(&["metadata", "resourceVersion"]).expect("a version").to_owned();
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
    // A new server keeps no history of its own, and has that of etcd compacted.
    world.cluster.restart_api_server().expect("a new API server");
    until_forgotten(&world, &last_seen);
    gate.let_watches_go();
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;
    let said = world.said();
    let of_watches: Vec<&str> = said.lines().filter(|it| it.contains("interrupted")).collect();
    assert!(
        of_watches.iter().any(|it| it.contains("ConfigMap") && it.contains("too old")),
        "the server should have said that it does not remember: {of_watches:#?}"
    );
    assert_eq!(checker.lies(), no_lies());
}

/// Waits until the server cannot tell any more what was at this version.
fn until_forgotten(world: &World, version: &str) {
    let path =
        format!("/api/v1/configmaps?limit=1&resourceVersionMatch=Exact&resourceVersion={version}");
    let began = Instant::now();
    let is_remembered = || {
        let answer = world.cluster.kubectl(&["get", "--raw", &path]).expect("kubectl starts");
        answer.status.success()
    };
    while is_remembered() {
        assert!(began.elapsed() < Duration::from_secs(60), "{version} is never compacted away");
    }
}

fn kubeconfig_of(world: &World, gate: &Gate) -> PathBuf {
    crate::steps::kubeconfig(world, gate.address())
}

#[tokio::test]
async fn a_kind_that_changes_its_scope_is_deployed_anew() {
    let world = World::new();
    world.start_product();
    let it = world.test("scope").await;
    let definition = |scope: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: boats.harbour.example}}
spec:
  group: harbour.example
  names: {{kind: Boat, plural: boats}}
  scope: {scope}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"
        )
    };
    let name = "boats.harbour.example";
    let established =
        || world.kubectl(&["wait", "--for=condition=Established", "crd", name, "--timeout=60s"]);
    world.apply(&definition("Namespaced"));
    established();
    let repo = Repo::new();
    repo.commit(&[(
        "app/boat.yaml",
        "apiVersion: harbour.example/v1\nkind: Boat\nmetadata: {name: argo}\nspec: {oars: 50}\n",
    )]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    // Not by its name: kubectl remembers for a while what the server serves.
    let boats = |path: &str| {
        let list = world.kubectl(&["get", "--raw", &format!("/apis/harbour.example/v1/{path}")]);
        let list: Value = serde_json::from_str(&list).expect("a list");
        list["items"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(boats(&format!("namespaces/{}/boats", it.name)), 1);

    let checker = checker(&world);
    world.kubectl(&["delete", "crd", name, "--wait=true"]);
    it.until("not Synced without its kind", |app| app.status.sync.status != "Synced").await;
    world.apply(&definition("Cluster"));
    established();
    it.until("Synced again", |app| {
        app.status.sync.status == "Synced"
            && app.status.resources.iter().all(|it| it.namespace.is_empty())
    })
    .await;
    assert_eq!(boats("boats"), 1);
    assert_eq!(checker.lies(), no_lies());
}

/// A second control plane plays the aggregated API server.
#[tokio::test]
async fn a_dead_aggregated_server_concerns_nobody_but_those_who_use_it() {
    let world = World::new();
    // Whoever the first API server says is asking, is.
    let trusted = world.cluster.folder().join("front-proxy-ca.crt");
    let trusts = format!("--requestheader-client-ca-file={}", trusted.display());
    let behind = Options { api_server_flags: vec![trusts], ..Options::default() };
    let behind = DevCluster::start_with(&behind).expect("a second control plane");
    let proxy = Proxy::before(address(&behind));
    let apply = |cluster: &DevCluster, text: &str| {
        let file = world.cluster.folder().join("aggregated.yaml");
        std::fs::write(&file, text).expect("a manifest on disk");
        let file = file.display().to_string();
        let done = cluster.kubectl(&["apply", "--server-side", "--filename", &file]);
        let done = done.expect("kubectl starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    apply(&behind, BOATS_BEHIND);
    let wait = ["wait", "--for=condition=Established", "crd/boats.sea.example", "--timeout=60s"];
    assert!(behind.kubectl(&wait).expect("kubectl").status.success());
    assert!(
        behind.kubectl(&["create", "namespace", "aggregated"]).expect("kubectl").status.success()
    );
    apply(&world.cluster, &aggregated(proxy.address().port()));
    world.kubectl(&[
        "wait",
        "--for=condition=Available",
        "apiservice/v1.sea.example",
        "--timeout=60s",
    ]);

    world.start_product();
    let it = world.test("aggregated").await;
    let neighbour = world.test("neighbour").await;
    let repo = Repo::new();
    repo.commit(&[(
        "app/boat.yaml",
        "apiVersion: sea.example/v1\nkind: Boat\nmetadata: {name: argo}\n",
    )]);
    let maps = Repo::new();
    maps.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&it.automated(&repo)).await;
    neighbour.create(&neighbour.automated(&maps)).await;
    it.until_synced().await;
    neighbour.until_synced().await;

    let checker = checker(&world);
    proxy.is(Mood::Cut);
    it.until("Unknown without the server of its kind", is_unknown).await;
    neighbour.patch("v1", "ConfigMap", "m", &json!({"data": {"version": "drifted"}})).await;
    until_healed(&neighbour, "1").await;
    let app = neighbour.until_synced().await;
    assert_eq!(app.status.conditions, []);

    proxy.is(Mood::Passing);
    it.until_synced().await;
    assert_eq!(checker.lies(), no_lies());
}

/// A server by a name that only the proxy knows; what is excepted goes past it.
#[tokio::test]
async fn a_proxy_that_the_environment_names_is_used_but_for_what_it_excepts() {
    let world = World::new();
    let server = address(&world.cluster);
    let gateway = format!("http://{}", gateway_to(server));
    let admin = std::fs::read_to_string(world.cluster.kubeconfig_path()).expect("a kubeconfig");
    let line = format!("server: https://{server}");
    assert!(admin.contains(&line), "the address of the cluster");
    let named = "server: https://only.proxies.example:6443\n    tls-server-name: localhost";
    let path = world.cluster.folder().join("named-kubeconfig");
    std::fs::write(&path, admin.replace(&line, named)).expect("a kubeconfig on disk");

    let it = world.test("proxied").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "version", "1"))]);
    it.create(&it.automated(&repo)).await;
    let except = [("HTTPS_PROXY", gateway.as_str()), ("NO_PROXY", ".proxies.example")];
    world.start_product_in(&path, CONTROL_NAMESPACE, &except);
    world.until_said("cannot reach the cluster yet").await;
    world.kill_product();
    world.start_product_in(&path, CONTROL_NAMESPACE, &[("HTTPS_PROXY", &gateway)]);
    it.until_synced().await;
}

const BOATS_BEHIND: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example}
spec:
  group: sea.example
  names: {kind: Boat, plural: boats}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

fn aggregated(port: u16) -> String {
    format!(
        "apiVersion: v1
kind: Service
metadata: {{name: sea, namespace: default}}
spec: {{type: ExternalName, externalName: localhost, ports: [{{port: {port}}}]}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1.sea.example}}
spec:
  group: sea.example
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {{name: sea, namespace: default, port: {port}}}
"
    )
}
