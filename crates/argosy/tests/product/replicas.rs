//! Several replicas on one installation: each cluster is one replica's at a time,
//! whoever dies, stops or comes along.
//!
//! Each replica has an account of its own, so that the API server's log tells who
//! wrote what. The log is the judge: no Application is ever written by another
//! than the owner of its cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Child, Command};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::readers;
use crate::world::{CONTROL_NAMESPACE, Test, World, api_kind, cluster_secret, config_map};

const HERE: &str = "https://kubernetes.default.svc";
const LEASES: &str = "coordination.k8s.io/v1";

/// A replica, ended with the test.
struct Replica(Child);

impl Replica {
    fn start(world: &World, name: &str, flags: &[&str]) -> Self {
        let kubeconfig = account(world, name);
        let shared =
            ["--dynamic-cluster-distribution-enabled", "--heartbeat=1", "--replica-name", name];
        let flags = [&shared[..], flags].concat();
        Self(world.spawn_product(&kubeconfig, CONTROL_NAMESPACE, name, &flags, &[]))
    }

    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("kill runs");
        assert!(sent.success(), "{signal} to {id}");
    }

    fn kill(mut self) {
        self.0.kill().expect("a process to kill");
        self.0.wait().expect("its end");
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A kubeconfig of an account that may do everything.
fn account(world: &World, name: &str) -> PathBuf {
    let path = world.cluster.folder().join(format!("{name}-kubeconfig"));
    world.kubectl(&["-n", CONTROL_NAMESPACE, "create", "serviceaccount", name]);
    let account = format!("--serviceaccount={CONTROL_NAMESPACE}:{name}");
    world.kubectl(&["create", "clusterrolebinding", name, "--clusterrole=cluster-admin", &account]);
    let token = world.kubectl(&["-n", CONTROL_NAMESPACE, "create", "token", name]);
    let admin = std::fs::read_to_string(world.cluster.kubeconfig_path()).expect("a kubeconfig");
    std::fs::write(&path, admin).expect("a kubeconfig on disk");
    let file = path.display().to_string();
    let run = |arguments: &[&str]| {
        world.kubectl(&[&["config", "--kubeconfig", &file], arguments].concat())
    };
    run(&["set-credentials", name, "--token", token.trim()]);
    let context = run(&["current-context"]);
    run(&["set-context", context.trim(), "--user", name]);
    path
}

/// The cluster once more, under another address.
fn second_cluster(world: &World) -> (String, Value) {
    let server = world.cluster.server_url().replace("127.0.0.1", "localhost");
    let mut secret = cluster_secret(&world.cluster, "second", &world.cluster.server_url());
    secret["data"]["server"] = json!(STANDARD.encode(&server));
    (server, secret)
}

/// An Application of its own name on one of the clusters.
async fn deploy(it: &Test<'_>, repo: &Repo, server: &str) {
    let mut app = it.automated(repo);
    app["spec"]["destination"]["server"] = json!(server);
    it.create(&app).await;
    it.until_synced().await;
}

/// By cluster, the name of the replica that its Lease names.
async fn owners(it: &Test<'_>) -> BTreeMap<String, String> {
    let kind = api_kind(LEASES, "Lease");
    let leases = it.client.list(&kind, CONTROL_NAMESPACE, &cluster::Selector::everything()).await;
    let leases = leases.expect("Leases");
    let owner = |lease: &object::Object| {
        let server = lease.annotation("argosy.dev/cluster-server")?.to_owned();
        let holder = lease.text(&["spec", "holderIdentity"])?;
        let replica = holder.strip_prefix("argosy-replica-")?.rsplit_once('-')?.0.to_owned();
        Some((server, replica))
    };
    leases.iter().filter_map(owner).collect()
}

/// Waits until each of the clusters is the replica's that is named.
async fn until_owned(it: &Test<'_>, wanted: &[(&str, &str)]) {
    let wanted: BTreeMap<String, String> =
        wanted.iter().map(|(server, name)| ((*server).into(), (*name).into())).collect();
    it.until_leases(|| async { owners(it).await == wanted }).await;
}

#[derive(Debug)]
struct Write {
    user: String,
    resource: String,
    name: String,
}

/// Every write of Leases and Applications that the API server let through, in order.
fn writes(world: &World) -> Vec<Write> {
    let log = std::fs::read_to_string(world.cluster.audit_log_path()).expect("an audit log");
    let read = |line: &str| {
        let event: Value = serde_json::from_str(line).ok()?;
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let is_write = ["create", "patch", "update", "delete"].contains(&text("/verb"));
        let code = event.pointer("/responseStatus/code").and_then(Value::as_i64)?;
        (is_write && (200..300).contains(&code)).then(|| Write {
            user: text("/user/username").rsplit(':').next().unwrap_or_default().to_owned(),
            resource: text("/objectRef/resource").to_owned(),
            name: text("/objectRef/name").to_owned(),
        })
    };
    log.lines().filter_map(read).collect()
}

/// Goes through the log: who had which cluster when, and whether somebody else
/// wrote an Application of it. Says how many writes each replica made.
#[track_caller]
fn only_owners_wrote(
    world: &World,
    replicas: [&str; 2],
    leases: &BTreeMap<String, String>,
    apps: &[(&str, &str)],
) -> BTreeMap<String, usize> {
    let apps: BTreeMap<&str, &str> = apps.iter().copied().collect();
    let other = |user: &str| replicas.into_iter().find(|it| *it != user).expect("two");
    let mut owner: BTreeMap<&str, String> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for Write { user, resource, name } in writes(world) {
        if !replicas.contains(&user.as_str()) {
            continue;
        }
        if let (true, Some(server)) = (resource == "leases", leases.get(&name)) {
            // Whoever has it gives it away; whoever has not takes it.
            let has = owner.get(server.as_str()) == Some(&user);
            let new = if has { other(&user).to_owned() } else { user };
            owner.insert(server, new);
        } else if let (true, Some(server)) = (resource == "applications", apps.get(name.as_str())) {
            assert_eq!(owner.get(server), Some(&user), "{user} wrote {name} of {server}");
            *counts.entry(user).or_default() += 1;
        }
    }
    counts
}

/// The names of the clusters' Leases, by cluster.
async fn lease_names(it: &Test<'_>) -> BTreeMap<String, String> {
    let kind = api_kind(LEASES, "Lease");
    let leases = it.client.list(&kind, CONTROL_NAMESPACE, &cluster::Selector::everything()).await;
    let server = |it: &object::Object| {
        Some((it.name().to_owned(), it.annotation("argosy.dev/cluster-server")?.to_owned()))
    };
    leases.expect("Leases").iter().filter_map(server).collect()
}

async fn drift_and_heal(it: &Test<'_>) {
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"color": "drifted"}})).await;
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["data", "color"]) == Some("blue"))
    })
    .await;
}

#[tokio::test]
async fn what_a_dead_replica_had_another_takes_over_and_nobody_writes_what_is_not_its() {
    let world = World::audited();
    let (here, there) = (world.test("here").await, world.test("there").await);
    let (second, secret) = second_cluster(&world);
    here.create(&secret).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);

    let first = Replica::start(&world, "one", &[]);
    until_owned(&here, &[(HERE, "one"), (&second, "one")]).await;
    deploy(&here, &repo, HERE).await;
    deploy(&there, &repo, &second).await;
    let checker = crate::network::checker(&world);
    let _other = Replica::start(&world, "two", &[]);
    // The last of a share is handed over; the newcomer takes nothing.
    here.until_leases(|| async {
        owners(&here).await.values().cloned().collect::<BTreeSet<_>>().len() == 2
    })
    .await;
    drift_and_heal(&here).await;
    drift_and_heal(&there).await;

    first.kill();
    until_owned(&here, &[(HERE, "two"), (&second, "two")]).await;
    drift_and_heal(&here).await;
    drift_and_heal(&there).await;
    let leases = lease_names(&here).await;
    let apps = [("here", HERE), ("there", second.as_str())];
    let counts = only_owners_wrote(&world, ["one", "two"], &leases, &apps);
    assert!(counts.values().all(|it| *it > 0) && counts.len() == 2, "{counts:?}");
    assert_eq!(checker.lies(), []);
}

#[tokio::test]
async fn a_replica_that_was_stopped_for_too_long_writes_nothing_when_it_goes_on() {
    let world = World::audited();
    let it = world.test("stopped").await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let first = Replica::start(&world, "one", &[]);
    until_owned(&it, &[(HERE, "one")]).await;
    deploy(&it, &repo, HERE).await;
    let checker = crate::network::checker(&world);
    let _other = Replica::start(&world, "two", &[]);
    it.until_leases(|| async { replicas(&it).await.len() == 2 }).await;
    let before = replicas(&it).await;

    first.signal("-STOP");
    until_owned(&it, &[(HERE, "two")]).await;
    drift_and_heal(&it).await;
    // Both want to heal this: one has been away, and does not know it yet.
    it.patch("v1", "ConfigMap", "m", &json!({"data": {"color": "drifted"}})).await;
    first.signal("-CONT");
    it.until_object("v1", "ConfigMap", "m", |it| {
        it.is_some_and(|it| it.text(&["data", "color"]) == Some("blue"))
    })
    .await;
    // It comes back under another name, and finds the cluster taken.
    it.until_leases(|| async {
        let now = replicas(&it).await;
        now.len() == 2 && now != before
    })
    .await;
    until_owned(&it, &[(HERE, "two")]).await;
    drift_and_heal(&it).await;
    let leases = lease_names(&it).await;
    only_owners_wrote(&world, ["one", "two"], &leases, &[("stopped", HERE)]);
    assert_eq!(checker.lies(), []);
}

#[tokio::test]
async fn a_cluster_is_its_pins_and_a_replica_that_ends_gives_everything_back() {
    let world = World::audited();
    let it = world.test("pinned").await;
    let (second, mut secret) = second_cluster(&world);
    secret["data"]["shard"] = json!(STANDARD.encode("1"));
    it.create(&secret).await;
    let _first = Replica::start(&world, "one", &["--shard=0"]);
    until_owned(&it, &[(HERE, "one"), (&second, "one")]).await;
    let other = Replica::start(&world, "two", &["--shard=1"]);
    until_owned(&it, &[(HERE, "one"), (&second, "two")]).await;
    // Nobody waits for the Lease of a replica that says goodbye.
    other.signal("-TERM");
    until_owned(&it, &[(HERE, "one"), (&second, "one")]).await;
    assert_eq!(replicas(&it).await.len(), 1);
}

/// Each replica watches its own cluster, and another one's while somebody asks about it.
#[tokio::test]
async fn every_replica_tells_of_what_others_look_after() {
    let world = World::new();
    let (here, there) = (world.test("near").await, world.test("yonder").await);
    let (second, secret) = second_cluster(&world);
    here.create(&secret).await;
    let repo = Repo::new();
    repo.commit(&[("app/m.yaml", &config_map("m", "color", "blue"))]);
    let _first = Replica::start(&world, "one", &[]);
    let _other = Replica::start(&world, "two", &[]);
    here.until_leases(|| async {
        owners(&here).await.values().cloned().collect::<BTreeSet<_>>().len() == 2
    })
    .await;
    deploy(&here, &repo, HERE).await;
    deploy(&there, &repo, &second).await;
    for address in readers::api_addresses(&world, 2) {
        let token = readers::token(&world, &address).await;
        for name in ["near", "yonder"] {
            let path = format!("/api/v1/applications/{name}/managed-resources");
            let answer = readers::ask(&address, &token, &path).await;
            let live = answer["items"][0]["liveState"].as_str().unwrap_or_default();
            assert!(live.contains("blue"), "{address} of {name}: {answer}");
            let path = format!("/api/v1/applications/{name}/resource-tree");
            let answer = readers::ask(&address, &token, &path).await;
            assert_eq!(answer["nodes"][0]["kind"], "ConfigMap", "{address} of {name}: {answer}");
        }
    }
}

/// The Leases of replicas.
async fn replicas(it: &Test<'_>) -> BTreeSet<String> {
    let kind = api_kind(LEASES, "Lease");
    let selector = cluster::Selector::labels("argosy.dev/lease=replica");
    let leases = it.client.list(&kind, CONTROL_NAMESPACE, &selector).await.expect("Leases");
    leases.iter().map(|it| it.name().to_owned()).collect()
}
