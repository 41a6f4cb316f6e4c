//! Killed at every step of a sync, the product goes on where it was: hooks run
//! once, and nothing is deleted that is not the application's.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use devcluster::{DevCluster, Options};
use serde_json::{Value, json};
use testkit::gate::Gate;
use testkit::git::Repo;

use crate::world::{CONTROL_NAMESPACE, Test, World, config_map};

/// The API server without TLS, as `kubectl proxy` serves it.
pub(crate) struct PlainHttp {
    child: Child,
    address: SocketAddr,
}

impl PlainHttp {
    pub(crate) fn before(cluster: &DevCluster) -> Self {
        // Ends when its input does, and so with us, however we end.
        let script = "\"$0\" proxy --port=0 --disable-filter=true & cat; kill $!";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(cluster.kubectl_path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("kubectl starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its first line");
        let address = line.trim().rsplit(' ').next().expect("an address");
        Self { address: address.parse().expect("an address at the end of the line"), child }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PlainHttp {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}

/// A kubeconfig for a server that speaks plain HTTP.
pub(crate) fn kubeconfig(world: &World, server: SocketAddr) -> PathBuf {
    let path = world.cluster.folder().join("plain-kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "plain",
        "clusters": [{"name": "plain", "cluster": {"server": format!("http://{server}")}}],
        "contexts": [{"name": "plain", "context": {"cluster": "plain", "user": "plain"}}],
        "users": [{"name": "plain", "user": {}}],
    });
    std::fs::write(&path, config.to_string()).expect("a kubeconfig on disk");
    path
}

const PATIENCE: Duration = Duration::from_secs(120);

fn job(name: &str, hook: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  annotations: {{{hook}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: job, command: [\"true\"]}}]
"
    )
}

/// First one object; then hooks around a changed, a new and a vanished one.
fn two_commits() -> (Repo, String) {
    let repo = Repo::new();
    let first = repo.commit(&[
        ("app/m.yaml", &config_map("m", "version", "1")),
        ("app/old.yaml", &config_map("old", "version", "1")),
    ]);
    let later = config_map("later", "version", "2").replace(
        "name: later",
        "name: later\n  annotations: {argocd.argoproj.io/sync-wave: \"1\"}",
    );
    repo.commit(&[
        ("app/migrate.yaml", &job("migrate", "argocd.argoproj.io/hook: PreSync")),
        ("app/m.yaml", &config_map("m", "version", "2")),
        ("app/old.yaml", ""),
        ("app/later.yaml", &later),
        (
            "app/report.yaml",
            &job(
                "report",
                "argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded",
            ),
        ),
    ]);
    (repo, first)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_write_of_a_sync_it_ends_as_if_nothing_had_happened() {
    let world = World::with(&Options { audit_log: true, ..Options::default() });
    let plain = PlainHttp::before(&world.cluster);
    let gate = Gate::before(plain.address());
    let config = kubeconfig(&world, gate.address());
    let checker = crate::network::checker(&world);
    let (repo, first) = two_commits();
    world.start_product_with(&config, CONTROL_NAMESPACE);
    let mut killed_before = Vec::new();
    for writes in 0.. {
        let name: &'static str = Box::leak(format!("step-{writes}").into_boxed_str());
        let it = world.test(name).await;
        it.create(&bystander(name)).await;
        it.create(&it.application(&repo)).await;
        it.sync(1, json!({"revision": first, "prune": true})).await;

        let held = gate.hold_after(writes, Box::new(move |_, path| concerns(path, name)));
        let info = json!([{"name": "number", "value": "2"}]);
        it.patch_app(&json!({"operation": {"info": info, "sync": {"prune": true}}})).await;
        let held = tokio::task::spawn_blocking(move || held.recv_timeout(PATIENCE));
        let write = tokio::select! {
            _ = until_second_ends(&it) => None,
            write = held => Some(write.expect("a thread that waits").expect("a write that is held")),
        };
        let was_killed = write.is_some();
        if let Some(write) = write {
            world.kill_product();
            killed_before.push(write);
            gate.open();
            world.start_product_with(&config, CONTROL_NAMESPACE);
        }
        check(&world, &it, killed_before.last()).await;
        if !was_killed {
            break;
        }
    }
    // Recorded, two hooks started, held, seen to be over and let go, one taken away, three objects
    // and the end: fewer would mean that the gate missed some.
    assert!(killed_before.len() >= 10, "{killed_before:#?}");
    assert_eq!(checker.lies(), []);
}

/// Does a write belong to the sync of this application?
fn concerns(path: &str, name: &str) -> bool {
    let is_event = path.contains("/events");
    let is_own = path.contains(&format!("/namespaces/{name}/"));
    let is_application = path.contains(&format!("/applications/{name}"));
    !is_event && !path.contains("dryRun=All") && (is_own || is_application)
}

async fn until_second_ends(it: &Test<'_>) -> api::Application {
    it.until("through with the second sync", |app| {
        app.operation.is_none()
            && app.status.operation_state.as_ref().is_some_and(|it| {
                it.finished_at.is_some() && it.operation.info.iter().any(|it| it.value == "2")
            })
    })
    .await
}

async fn check(world: &World, it: &Test<'_>, killed_before: Option<&String>) {
    let app = until_second_ends(it).await;
    let state = app.status.operation_state.as_ref().expect("an operation");
    assert_eq!(state.phase, "Succeeded", "killed before {killed_before:?}: {}", state.message);
    assert_eq!(app.status.history.len(), 2, "killed before {killed_before:?}");
    it.until_synced().await;
    let (started, deleted) = (jobs_started(world, it.name), deleted(world, it.name));
    let once = [("migrate".to_owned(), 1), ("report".to_owned(), 1)];
    assert_eq!(started, BTreeMap::from(once), "killed before {killed_before:?}");
    assert_eq!(deleted, ["old", "report"], "killed before {killed_before:?}");
    for (name, expect) in [("m", Some("2")), ("later", Some("2")), ("old", None)] {
        let live = it.get("v1", "ConfigMap", name).await;
        let version = live.as_ref().and_then(|it| it.text(&["data", "version"]));
        assert_eq!(version, expect, "{name}, killed before {killed_before:?}");
    }
    assert!(it.get("v1", "ConfigMap", "bystander").await.is_some());
}

/// How often each Job of the namespace came to be.
fn jobs_started(world: &World, namespace: &str) -> BTreeMap<String, usize> {
    let mut started = BTreeMap::new();
    for event in answered(world, namespace, 201).filter(|it| it["objectRef"]["resource"] == "jobs")
    {
        let named = |it: &Value| it["objectRef"]["name"].as_str().map(str::to_owned);
        *started.entry(named(&event).unwrap_or_default()).or_default() += 1;
    }
    started
}

/// What of the namespace the product deleted, each once.
fn deleted(world: &World, namespace: &str) -> Vec<String> {
    let ours = |it: &Value| it["userAgent"].as_str().is_some_and(|it| it.starts_with("argosy/"));
    let deletes = answered(world, namespace, 200).filter(|it| it["verb"] == "delete" && ours(it));
    let names: std::collections::BTreeSet<String> =
        deletes.filter_map(|it| it["objectRef"]["name"].as_str().map(str::to_owned)).collect();
    names.into_iter().collect()
}

fn answered(world: &World, namespace: &str, code: u16) -> impl Iterator<Item = Value> {
    let namespace = namespace.to_owned();
    world.audit().into_iter().filter(move |it| {
        it["objectRef"]["namespace"] == namespace
            && it["responseStatus"]["code"] == code
            && !it["requestURI"].as_str().unwrap_or_default().contains("dryRun")
    })
}

/// Looks like an object of the application, and is nobody's.
fn bystander(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "1"},
        "metadata": {"name": "bystander", "namespace": namespace,
            "labels": {"app.kubernetes.io/instance": namespace}},
    })
}
