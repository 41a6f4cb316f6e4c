//! What readers are told: why an Application is as it is, and what Redis holds.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use prometheus_client::registry::Registry;
use runtime::redis::{Redis, RedisOptions};
use serde_json::{Value, json};
use testkit::git::Repo;
use testkit::redis::RedisServer;

use crate::collector::Collector;
use crate::world::{CONTROL_NAMESPACE, World, config_map, shared};

const DEADLINE: Duration = Duration::from_secs(120);

/// Where the API of the world's product listens.
pub(crate) fn api_address(world: &World) -> String {
    api_addresses(world, 1).pop().expect("as many as asked for")
}

/// Where the APIs of so many products listen, in the order in which they said so.
pub(crate) fn api_addresses(world: &World, count: usize) -> Vec<String> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let log = std::fs::read_to_string(world.log()).unwrap_or_default();
        let lines = log.lines().filter(|it| it.contains("the API listens"));
        let port = |line: &str| {
            let address = line.split_once("address=")?.1.split_whitespace().next()?;
            address.rsplit_once(':').map(|(_, port)| format!("127.0.0.1:{port}"))
        };
        let found: Vec<String> = lines.filter_map(port).collect();
        if found.len() >= count {
            return found;
        }
        assert!(Instant::now() < deadline, "the API never listened");
        std::thread::yield_now();
    }
}

/// A token of the admin.
pub(crate) async fn token(world: &World, address: &str) -> String {
    token_at(world, &format!("https://{address}")).await
}

/// The same of an API that may be without TLS.
pub(crate) async fn token_at(world: &World, url: &str) -> String {
    let secret = ["-n", CONTROL_NAMESPACE, "get", "secret", "argocd-initial-admin-secret"];
    let password = world.kubectl(&[&secret[..], &["-o=jsonpath={.data.password}"]].concat());
    let password = STANDARD.decode(password.trim()).expect("base64");
    let login =
        json!({"username": "admin", "password": String::from_utf8(password).expect("text")});
    let request = client().post(format!("{url}/api/v1/session"));
    let request = request.header("content-type", "application/json").body(login.to_string());
    let answer = request.send().await.expect("an answer").text().await.expect("a body");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    answer["token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// What the API at this address answers.
pub(crate) async fn ask(address: &str, token: &str, path: &str) -> Value {
    let request = client().get(format!("https://{address}{path}")).bearer_auth(token);
    let answer = request.send().await.expect("an answer").text().await.expect("a body");
    serde_json::from_str(&answer).expect("JSON")
}

fn client() -> reqwest::Client {
    repo_server::install_crypto_provider();
    let client = reqwest::Client::builder().danger_accept_invalid_certs(true).build();
    client.expect("a client")
}

#[tokio::test]
async fn who_changed_what_and_what_a_sync_would_do_is_told_by_the_running_product() {
    let it = shared().test("why").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.application(&repo);
    app["operation"] = json!({"sync": {}});
    it.create(&app).await;
    it.until_synced().await;
    let mut drifted = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"color": "red"}});
    drifted["metadata"] = json!({"name": "m", "namespace": it.name});
    it.apply_as("the-culprit", &drifted);
    it.until("OutOfSync", |app| app.status.sync.status == "OutOfSync").await;

    let address = api_address(it.world);
    let token = token(it.world, &address).await;
    let ask = |token: &str, output: &str| {
        Command::new(env!("CARGO_BIN_EXE_argosy"))
            .args(["admin", "why", it.name, "--insecure", "--output", output])
            .args(["--server", &address, "--auth-token", token])
            .output()
            .expect("it runs")
    };
    let told = ask(&token, "text");
    let text = String::from_utf8_lossy(&told.stdout);
    for words in [
        "argocd/why: OutOfSync",
        "/data/color: git has \"blue\", the cluster has \"red\"",
        "set by the-culprit (Apply) at ",
        "By itself it holds: the Application is synced by hand",
        "Sync, wave 0: ConfigMap why/m: apply",
    ] {
        assert!(
            text.contains(words),
            "{words:?} is not in\n{text}{}",
            String::from_utf8_lossy(&told.stderr)
        );
    }
    let record: Value = serde_json::from_slice(&ask(&token, "json").stdout).expect("JSON");
    assert_eq!(
        (&record["syncStatus"], &record["reasons"][0]["differences"][0]["setBy"][0]["manager"]),
        (&json!("OutOfSync"), &json!("the-culprit"))
    );
    let stranger = ask("", "text");
    assert!(!stranger.status.success() && stranger.stdout.is_empty(), "{stranger:?}");
}

#[tokio::test]
async fn what_is_done_for_an_application_is_counted_until_it_is_gone() {
    let it = shared().test("counted").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let mut app = it.automated(&repo);
    app["metadata"]["labels"] = json!({"example.com/team": "sea"});
    app["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    it.create(&app).await;
    it.until_synced().await;
    let metrics = it.world.metrics_about("name=\"counted\"").await;
    let has = |words: &[&str]| {
        let found = metrics.iter().any(|line| words.iter().all(|it| line.contains(it)));
        assert!(found, "{words:?} is not in\n{}", metrics.join("\n"));
    };
    has(&["argocd_app_info{", "sync_status=\"Synced\"", "health_status=\"Healthy\""]);
    has(&["argocd_app_labels{", "label_example_com_team=\"sea\"", "} 1"]);
    has(&["argocd_app_sync_total{", "phase=\"Succeeded\"", "dry_run=\"false\"", "} 1"]);
    let request = "resource_kind=\"configmaps\",resource_namespace=\"counted\",dry_run=\"false\"";
    has(&["argocd_app_k8s_request_total{", "response_code=\"201\",verb=\"Create\"", request]);

    it.patch_app(&json!({"spec": {"source": {"path": "nowhere"}}})).await;
    it.until("Unknown", |app| app.status.sync.status == "Unknown").await;
    let conditions = it.world.metrics_about("argocd_app_condition{").await;
    let ours = conditions.iter().find(|it| it.contains("name=\"counted\"")).expect("its line");
    assert!(ours.ends_with("condition=\"ComparisonError\"} 1"), "{ours}");

    it.world.kubectl(&["-n", CONTROL_NAMESPACE, "delete", "application", it.name]);
    it.until_gone().await;
    // Our own watch may know it a moment before the product's does.
    let other = it.world.test("counted-after").await;
    other.create(&other.automated(&repo)).await;
    other.until_synced().await;
    assert_eq!(it.world.metrics_about("name=\"counted\"").await, Vec::<String>::new());
}

#[tokio::test]
async fn requests_and_events_are_counted_by_server_and_kind() {
    let it = shared().test("traffic").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let value = async |name: &str, labels: &str| {
        let lines = it.world.metrics_about(name).await;
        let line = lines.iter().find(|it| it.contains(labels));
        let line = line.unwrap_or_else(|| panic!("{labels} is not in\n{}", lines.join("\n")));
        line.rsplit(' ').next().and_then(|it| it.parse::<f64>().ok()).expect("a number")
    };
    assert!(value("argocd_kubectl_requests_total", "method=\"POST\",code=\"201\"").await >= 1.0);
    assert!(value("argocd_kubectl_request_duration_seconds_count", "verb=\"GET\"").await >= 1.0);
    assert!(value("argocd_kubectl_request_size_bytes_count", "method=\"POST\"").await >= 1.0);
    assert!(value("argocd_kubectl_exec_total", "command=\"apply\"").await >= 1.0);
    let kind = "server=\"https://kubernetes.default.svc\",group=\"\",kind=\"ConfigMap\"";
    assert!(value("argocd_cluster_events_total", kind).await >= 1.0);
    let server = "server=\"https://kubernetes.default.svc\"";
    assert!(value("argocd_resource_events_processing_count", server).await >= 1.0);
}

#[tokio::test]
async fn passes_are_told_to_a_collector_of_traces() {
    let mut collector = Collector::start().await;
    let world = World::new();
    let address = collector.address().to_string();
    let flags = ["--otlp-address", &address, "--otlp-headers=x-team=sea", "--otlp-attrs=env:test"];
    let config = world.cluster.kubeconfig_path();
    let mut product = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &flags, &[]);
    let it = world.test("traced").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let mut wanted = BTreeMap::from([
        ("controller.Refresh", false),
        ("controller.GetRepoObjs", true),
        ("controller.Operation", true),
        ("controller.persistAppStatus", true),
    ]);
    let told = async {
        while !wanted.is_empty() {
            let span = collector.next().await;
            if let Some(has_parent) = wanted.remove(span.name.as_str()) {
                assert_eq!((span.has_parent, span.team.as_str()), (has_parent, "sea"), "{span:?}");
                let has = |it: &str| span.attributes.iter().any(|attribute| attribute == it);
                assert!(has("service.name=argosy") && has("env=test"), "{span:?}");
                assert!(has_parent || has("app=argocd/traced"), "{span:?}");
            }
        }
    };
    tokio::time::timeout(DEADLINE, told).await.expect("every kind of span comes");
    assert!(!world.said().contains("controller.Refresh"), "logs are as they were");
    product.kill().expect("a running product");
    product.wait().expect("its end");
}

/// The JSON under a key, once it is there; news on the Application's channel says when to look.
async fn until_stored(
    redis: &Redis,
    app: &str,
    key: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let channel = format!("app|managed-resources|{app}|1.8.3");
    let looking = async {
        loop {
            // A connection that breaks is made again.
            let Ok(news) = redis.listen(&channel).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let mut news = std::pin::pin!(news);
            loop {
                let stored = redis.get(key).await.ok().flatten();
                let stored = stored.and_then(|it| serde_json::from_slice::<Value>(&it).ok());
                if let Some(value) = stored.filter(|it| wanted(it)) {
                    return value;
                }
                if news.next().await.is_none() {
                    break;
                }
            }
        }
    };
    tokio::time::timeout(DEADLINE, looking).await.unwrap_or_else(|_| panic!("{key} never came"))
}

#[expect(clippy::print_stderr, reason = "who runs the tests must see that one was not")]
#[tokio::test]
async fn redis_holds_what_readers_ask_for_and_losing_it_loses_nothing() {
    let Some(mut server) = RedisServer::start("hush") else {
        eprintln!("NOTICE: there is no redis-server; nothing was tried");
        return;
    };
    let world = World::new();
    let address = server.address();
    let flags = ["--redis", &address];
    let secret = [("REDIS_PASSWORD", "hush")];
    let config = world.cluster.kubeconfig_path();
    let mut product = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &flags, &secret);
    let it = world.test("told").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    it.create(&it.automated(&repo)).await;
    it.until_synced().await;
    let options = RedisOptions { password: "hush".into(), ..RedisOptions::at(&address) };
    let redis = Redis::new(options, "test", &mut Registry::default());

    let tree_key = "app|resources-tree|told|1.8.3";
    let managed_key = "app|managed-resources|told|1.8.3";
    let has_map = |tree: &Value| {
        tree["nodes"][0]["kind"] == "ConfigMap" && !tree["nodes"][0]["uid"].is_null()
    };
    until_stored(&redis, "told", tree_key, has_map).await;
    let is_blue = |it: &Value| it[0]["liveState"].as_str().is_some_and(|it| it.contains("blue"));
    until_stored(&redis, "told", managed_key, is_blue).await;
    let info = redis.get("cluster|info|https://kubernetes.default.svc|1.8.3").await.expect("Redis");
    let info: Value = serde_json::from_slice(&info.expect("it is told")).expect("JSON");
    // How many Applications there are is told with the next beat.
    assert_eq!(info["connectionState"]["status"], "Successful");
    assert!(info["serverVersion"].as_str().is_some_and(|it| it.starts_with('v')), "{info}");

    let checker = crate::network::checker(&world);
    server.stop();
    let second = repo.commit(&[("app/m.yaml", &config_map("m", "color", "green"))]);
    it.until("synced to the second commit", |app| {
        app.status.sync.revision == second && app.status.sync.status == "Synced"
    })
    .await;
    server.restart();
    let is_green = |it: &Value| it[0]["liveState"].as_str().is_some_and(|it| it.contains("green"));
    until_stored(&redis, "told", managed_key, is_green).await;
    until_stored(&redis, "told", tree_key, has_map).await;
    assert_eq!(checker.lies(), []);
    product.kill().expect("a process to kill");
    product.wait().expect("its end");
}
