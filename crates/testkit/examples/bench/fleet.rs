//! A thousand applications at once.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use cluster::{Client, Randomness, Scope, Selector, WatchEvent};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use serde_json::{Value, json};
use testkit::git::Repo;

use crate::{
    DEADLINE, EDITS, World, api_kind, asked, config_map, cpu_seconds, kubectl, our_writes, product,
    resident_mib, told,
};

const FLEET: usize = 1_000;
const STORM: Duration = Duration::from_secs(60);
/// What takes longer is told by its name, to be looked for in the product's log.
const SLOW: Duration = Duration::from_millis(500);

/// 1,000 applications, beside those that are there: made in one burst, grown to ten objects each,
/// healed, under a storm of events, and found again after a restart.
pub(crate) async fn measure(world: &mut World, others: usize) {
    let names: Vec<String> = (0..FLEET).map(|i| format!("fleet-{i}")).collect();
    let files = |objects: usize| -> Vec<(String, String)> {
        let of = |name: &String, i: usize| {
            (format!("{name}/{i}.yaml"), config_map(&format!("{name}-{i}"), "1"))
        };
        names.iter().flat_map(|name| (0..objects).map(move |i| of(name, i))).collect()
    };
    let repo = Repo::new();
    let commit = |objects: usize| {
        let files = files(objects);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        repo.commit(&files)
    };
    let first = commit(1);
    for namespace in ["fleet", "fleet-floor"] {
        kubectl(&world.cluster, &["create", "namespace", namespace]);
    }
    let floor = write_as_often(world, &repo, &names).await;
    let (began, before) = (Instant::now(), world.audit().len());
    let (our_cpu, servers_cpu) = (cpu_seconds(world.product.id()), world.control_plane_cpu());
    create_all(world, &repo, &names, "argocd", "fleet").await;
    until_fleet_is_at(world, &first).await;
    let ours = began.elapsed().as_secs_f64();
    eprintln!("requests of the burst: {}", told(&our_writes(&world.audit()[before..])));
    eprintln!(
        "processor in the burst: ours {:.2} s, the control plane's {:.2} s",
        cpu_seconds(world.product.id()) - our_cpu,
        world.control_plane_cpu() - servers_cpu
    );
    println!(
        "| first sync of {FLEET} applications in one burst: raw floor (the same writes with one status each, 10 in flight) ÷ ours | ≥ 70 % | {:.0} % ({floor:.2} s ÷ {ours:.2} s) |",
        floor / ours * 100.0
    );
    let second = commit(10);
    until_fleet_is_at(world, &second).await;
    world.until_quiet().await;
    println!(
        "| resident with {FLEET} applications and {} objects | ≤ 90 MiB | {:.1} MiB |",
        FLEET * 10,
        resident_mib(world.product.id())
    );
    let events = watched(world).await;
    heal(world, &names, events, "drift healed with 1,000 applications").await;
    storm(world, &names).await;
    restart(world, FLEET + others).await;
}

/// One automated Application for each name, ten at a time.
async fn create_all(world: &World, repo: &Repo, names: &[String], home: &str, target: &str) {
    let url = &repo.file_url();
    stream::iter(names)
        .for_each_concurrent(10, |name| {
            world.create_owned(fleet_application(name, url, home, target))
        })
        .await;
}

fn fleet_application(name: &str, url: &str, home: &str, target: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": name, "namespace": home},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "main", "path": name},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": target},
            "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
        },
    })
}

/// How long it takes to write what a burst of first syncs cannot do without: each Application, its
/// ConfigMap, and what is told about it once, ten at a time. Nobody looks at the Applications.
async fn write_as_often(world: &World, repo: &Repo, names: &[String]) -> f64 {
    let (applications, maps) =
        (&api_kind("argoproj.io/v1alpha1", "Application"), &api_kind("v1", "ConfigMap"));
    let url = &repo.file_url();
    let sample = &names[0];
    world.create_owned(fleet_application(sample, url, "argocd", "fleet")).await;
    let is_done = |app: &Value| {
        app["metadata"]["name"] == **sample
            && app["status"]["operationState"]["phase"] == "Succeeded"
    };
    world.until(applications, "argocd", 1, is_done).await;
    let status = async |kind, namespace, name: &str| {
        world.client.get(kind, namespace, name).await.expect("an answer").expect("an object")
    };
    let told = status(applications, "argocd", sample).await;
    let told = &json!({"status": told.as_value()["status"]});
    let map = status(maps, "fleet", &format!("{sample}-0")).await;
    let annotations = &map.as_value()["metadata"]["annotations"];
    kubectl(&world.cluster, &["delete", "application", sample, "--namespace=argocd"]);
    kubectl(&world.cluster, &["delete", "configmap", &format!("{sample}-0"), "--namespace=fleet"]);

    let home = "fleet-floor";
    let (began, servers_cpu) = (Instant::now(), world.control_plane_cpu());
    stream::iter(names)
        .for_each_concurrent(10, |name| async move {
            world.create_owned(fleet_application(name, url, home, home)).await;
            world
                .create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "1"},
                    "metadata": {"name": name, "namespace": home, "annotations": annotations}}))
                .await;
            let told = world.client.merge_patch(applications, home, name, None, told).await;
            told.expect("it is told");
        })
        .await;
    let took = began.elapsed().as_secs_f64();
    let servers_cpu = world.control_plane_cpu() - servers_cpu;
    eprintln!("processor of the floor: the control plane's {servers_cpu:.2} s");
    for path in [
        "apis/argoproj.io/v1alpha1/namespaces/fleet-floor/applications",
        "api/v1/namespaces/fleet-floor/configmaps",
    ] {
        kubectl(&world.cluster, &["delete", "--raw", &format!("/{path}")]);
    }
    took
}

async fn until_fleet_is_at(world: &World, revision: &str) {
    let applications = api_kind("argoproj.io/v1alpha1", "Application");
    let is_there = |app: &Value| {
        let status = &app["status"];
        status["sync"]["status"] == "Synced"
            && status["sync"]["revision"] == revision
            && status["operationState"]["phase"] == "Succeeded"
    };
    world.until(&applications, "argocd", FLEET, is_there).await;
}

/// The ConfigMaps of all applications, seen from now on.
async fn watched(world: &World) -> BoxStream<'_, WatchEvent<Value>> {
    let scope = Scope::Namespace("fleet".into());
    let random = Randomness::of_this_process();
    let maps = api_kind("v1", "ConfigMap");
    let mut events = world.client.watch(&maps, scope, Selector::everything(), random).boxed();
    while !matches!(events.next().await, Some(WatchEvent::Synced)) {}
    events
}

/// Edits one object of many applications, each when the one before is as git wants it again.
/// One watch sees them all, so that no list of thousands is a part of what is measured.
async fn heal(
    world: &World,
    names: &[String],
    mut events: BoxStream<'_, WatchEvent<Value>>,
    what: &str,
) {
    let maps = api_kind("v1", "ConfigMap");
    let mut times = Vec::new();
    for name in names.iter().take(EDITS * 2) {
        let (map, edit) = (format!("{name}-0"), json!({"data": {"version": "edited"}}));
        let began = Instant::now();
        let edited = world.client.merge_patch(&maps, "fleet", &map, None, &edit).await;
        let edited = version(edited.expect("it is edited").as_value());
        // A watch that begins anew may not tell of the edit, but tells of what came after it.
        let healing = async {
            while let Some(event) = events.next().await {
                if let WatchEvent::Applied(it) = event
                    && it["metadata"]["name"] == *map
                    && it["data"]["version"] == "1"
                    && version(&it) > edited
                {
                    return;
                }
            }
        };
        tokio::time::timeout(DEADLINE, healing).await.expect("it should have been healed by now");
        let took = began.elapsed();
        if took > SLOW {
            eprintln!("{map}: healed after {took:?}, at {:?}", SystemTime::now());
        }
        times.push(took.as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "| {what}, {} edits | p50 ≤ 50 ms, p99 ≤ 250 ms | p50 {:.0} ms, slowest {:.0} ms |",
        times.len(),
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

/// Objects that applications own change as fast as the API server takes it, up to 1,000 times a second.
async fn storm(world: &World, names: &[String]) {
    let children = children_of(world, &names[..100]).await;
    // Its list is none of what is measured, and what it misses meanwhile would be.
    let events = watched(world).await;
    let before = resident_mib(world.product.id());
    // A task of its own: whoever makes the storm must not hold up who looks at it.
    let blowing = tokio::spawn(blow(world.client.clone(), children));
    heal(world, &names[200..], events, "in a storm of events: drift healed").await;
    let rate = blowing.await.expect("changes") / STORM.as_secs();
    println!(
        "| the same: memory after a minute of {rate} changes a second | flat | {before:.1} → {:.1} MiB |",
        resident_mib(world.product.id())
    );
}

/// One ConfigMap for each application, owned by one of its own.
async fn children_of(world: &World, names: &[String]) -> Vec<String> {
    let maps = &api_kind("v1", "ConfigMap");
    let child = |name: &String| {
        let map = format!("{name}-1");
        async move {
            let owner = world.client.get(maps, "fleet", &map).await.expect("an answer");
            let uid = owner.and_then(|it| it.text(&["metadata", "uid"]).map(str::to_owned));
            let child = format!("{map}-child");
            world
                .create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                    "name": child, "namespace": "fleet", "ownerReferences": [
                        {"apiVersion": "v1", "kind": "ConfigMap", "name": map, "uid": uid}]}}))
                .await;
            child
        }
    };
    stream::iter(names).then(child).collect().await
}

/// Changes objects in turn, once a millisecond if it can be had; how often it could.
async fn blow(client: Client, children: Vec<String>) -> u64 {
    let maps = &api_kind("v1", "ConfigMap");
    let (began, changes) = (Instant::now(), AtomicU64::new(0));
    stream::iter(0_u32..60_000)
        .for_each_concurrent(20, |i| {
            let (client, child) = (&client, &children[i as usize % children.len()]);
            let changes = &changes;
            async move {
                let at = began + Duration::from_millis(i.into());
                tokio::time::sleep_until(at.into()).await;
                if began.elapsed() < STORM {
                    let change = json!({"data": {"count": i.to_string()}});
                    let changed = client.merge_patch(maps, "fleet", child, None, &change).await;
                    changed.expect("a change");
                    changes.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
        .await;
    changes.into_inner()
}

/// From a new process until the last application was looked at.
async fn restart(world: &mut World, applications_there: usize) {
    world.product.kill().expect("a process to end");
    world.product.wait().expect("its end");
    let began = Instant::now();
    let (maps, applications) =
        (api_kind("v1", "ConfigMap"), api_kind("argoproj.io/v1alpha1", "Application"));
    for kind in [&maps, &applications] {
        world.client.list(kind, "", &Selector::everything()).await.expect("a list");
    }
    let listing = began.elapsed().as_secs_f64();
    let began = Instant::now();
    let binary = std::env::var("ARGOSY_BINARY").expect("ARGOSY_BINARY names the product");
    world.product = product(Path::new(&binary), &world.cluster, world.folder.path());
    while looked_at() < applications_there {
        assert!(began.elapsed() < DEADLINE, "it never looked at all of them");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!(
        "| cold start with {FLEET} applications until the last is verified | ≤ 2 × listing + 2 s ({:.2} s) | {:.2} s |",
        listing * 2.0 + 2.0,
        began.elapsed().as_secs_f64()
    );
}

/// How many passes the product has made.
fn looked_at() -> usize {
    let counts = asked("/metrics");
    let counts = counts.lines().filter(|it| it.starts_with("argocd_app_reconcile_count"));
    counts.filter_map(|it| it.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|it| it.parse().ok()).expect("a number")
}
