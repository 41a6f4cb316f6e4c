//! Measures the product on a fresh local cluster, against the raw floor of the
//! same run, and prints the table of `docs/benchmarks.md`.
//!
//! Run by `cargo xtask bench`, which builds the release binary and names it in
//! `ARGOSY_BINARY`. Named parts (`first`, `idle`, `waves`, `fleet`) are measured alone.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is the result")]

mod fleet;

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cluster::{Access, ApiKind, Client, Randomness, Scope, Selector, WatchEvent};
use devcluster::{DevCluster, Options};
use futures::StreamExt as _;
use futures::stream;
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};
use testkit::git::Repo;

const OBJECTS: usize = 500;
const IDLE_APPS: usize = 100;
const EDITS: usize = 50;
/// Longer than a poll.
const QUIET: Duration = Duration::from_secs(12);
const DEADLINE: Duration = Duration::from_secs(180);

#[tokio::main]
async fn main() {
    let binary = std::env::var("ARGOSY_BINARY").expect("ARGOSY_BINARY names the product");
    let only: Vec<String> = std::env::args().skip(1).collect();
    let wants = |part: &str| only.is_empty() || only.iter().any(|it| it == part);
    let mut world = World::start(Path::new(&binary)).await;
    println!("| what | goal | measured |\n|---|---|---|");
    footprint(&world);
    let mut applications = 0;
    let mut big = None;
    if wants("first") {
        big = Some(first_sync(&world).await);
        applications += 1;
    }
    if wants("idle") {
        idle_and_drift(&world, applications).await;
    }
    if wants("waves") {
        waves(&world).await;
    }
    if wants("fleet") {
        fleet::measure(&mut world, applications).await;
    }
    drop(big);
}

struct World {
    cluster: DevCluster,
    client: Client,
    product: Child,
    ready: Duration,
    folder: tempfile::TempDir,
}

impl World {
    async fn start(binary: &Path) -> Self {
        let options = Options { audit_log: true, ..Options::default() };
        let cluster = DevCluster::start_with(&options).expect("a control plane");
        let folder = tempfile::tempdir().expect("a folder");
        for (name, definition) in api::crds::yaml() {
            let path = folder.path().join(name);
            std::fs::write(&path, definition).expect("a definition on disk");
            kubectl(
                &cluster,
                &["apply", "--server-side", "--filename", &path.display().to_string()],
            );
        }
        for until in ["--for=jsonpath={.status.acceptedNames.kind}", "--for=condition=Established"]
        {
            kubectl(&cluster, &["wait", until, "crd", "--all", "--timeout=60s"]);
        }
        kubectl(&cluster, &["create", "namespace", "argocd"]);
        // An API server lets the first object of a kind that it has just learned wait for two seconds.
        let path = folder.path().join("first.yaml");
        let first = "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: first}, spec: {}}";
        std::fs::write(&path, first).expect("a project on disk");
        let file = path.display().to_string();
        kubectl(&cluster, &["create", "--namespace", "argocd", "--filename", &file]);
        let access = Access::from_kubeconfig(Some(&cluster.kubeconfig_path()), None).await;
        let client = Client::connect(&access.expect("a kubeconfig")).await.expect("a connection");
        let began = Instant::now();
        let product = product(binary, &cluster, folder.path());
        while !is_ready() {
            assert!(began.elapsed() < DEADLINE, "the product never became ready");
            tokio::task::yield_now().await;
        }
        Self { cluster, client, product, ready: began.elapsed(), folder }
    }

    /// Creates an automated Application and waits for it to be Synced.
    async fn deploy(&self, name: &str, repo: &Repo, path: &str) {
        self.create(&json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": name, "namespace": "argocd"},
            "spec": {
                "project": "default",
                "source": {"repoURL": repo.file_url(), "targetRevision": "main", "path": path},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
                "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
            },
        }))
        .await;
    }

    async fn create_owned(&self, value: Value) {
        self.create(&value).await;
    }

    async fn create(&self, value: &Value) {
        let object = Object::from_value(value.clone()).expect("an object");
        let kind = api_kind(object.api_version(), object.kind());
        let namespace = object.namespace().to_owned();
        self.client.create(&kind, &namespace, &object, "bench").await.expect("it is created");
    }

    /// Waits until so many objects of a kind are as wanted.
    async fn until(
        &self,
        kind: &ApiKind,
        namespace: &str,
        count: usize,
        wanted: impl Fn(&Value) -> bool,
    ) {
        let scope = if namespace.is_empty() {
            Scope::Everywhere
        } else {
            Scope::Namespace(namespace.into())
        };
        let events = self.client.watch::<Value>(
            kind,
            scope,
            Selector::everything(),
            Randomness::of_this_process(),
        );
        let mut events = pin!(events);
        let mut good = std::collections::BTreeSet::new();
        let looking = async {
            while let Some(event) = events.next().await {
                if let WatchEvent::Applied(value) = event
                    && wanted(&value)
                {
                    good.insert(value["metadata"]["uid"].to_string());
                }
                if good.len() >= count {
                    return;
                }
            }
        };
        tokio::time::timeout(DEADLINE, looking).await.expect("it should have happened by now");
    }

    /// Waits until the last events of the syncs are told and nothing was written for a while.
    async fn until_quiet(&self) {
        let began = Instant::now();
        let mut before = usize::MAX;
        loop {
            let now = our_writes(&self.audit()).values().sum();
            if now == before {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "it never stopped writing");
            before = now;
            tokio::time::sleep(QUIET).await;
        }
    }

    /// What the processes of the control plane have used so far.
    fn control_plane_cpu(&self) -> f64 {
        let folder = self.cluster.kubeconfig_path();
        let folder = folder.parent().expect("a file in a folder").display().to_string();
        let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
        let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let is_its = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            *pid != self.product.id() && String::from_utf8_lossy(&line).contains(&folder)
        };
        pids.filter(is_its).map(cpu_seconds).sum()
    }

    fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.cluster.audit_log_path()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.product.kill().ok();
        self.product.wait().ok();
    }
}

fn product(binary: &Path, cluster: &DevCluster, folder: &Path) -> Child {
    let log = folder.join("argosy.log");
    let log = std::fs::File::options().create(true).append(true).open(log).expect("a log");
    Command::new(binary)
        .args(["run", "--namespace=argocd", "--app-resync=10s", "--app-resync-jitter=0s"])
        .arg("--until-input-ends")
        .args([
            "--metrics-address=127.0.0.1",
            "--metrics-port=18482",
            "--server-metrics-port=0",
            "--port=0",
            "--kubeconfig",
        ])
        .arg(cluster.kubeconfig_path())
        .arg("--data-dir")
        .arg(folder.join("data"))
        .stdin(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("the product starts")
}

fn footprint(world: &World) {
    let resident = resident_mib(world.product.id());
    println!("| resident without applications | ≤ 40 MiB | {resident:.1} MiB |");
    println!("| ready after start | ≤ 1 s | {:.2} s |", world.ready.as_secs_f64());
}

/// One application of 500 ConfigMaps against a loop that writes the same objects.
/// Its repository must outlive it: without one the application is no longer Synced, and rightly so.
async fn first_sync(world: &World) -> Repo {
    for namespace in ["floor", "big"] {
        kubectl(&world.cluster, &["create", "namespace", namespace]);
    }
    let repo = Repo::new();
    let files: Vec<(String, String)> = (0..OBJECTS)
        .map(|i| (format!("big/{i}.yaml"), config_map(&format!("map-{i}"), "1")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    repo.commit(&files);

    let began = Instant::now();
    stream::iter(0..OBJECTS)
        .for_each_concurrent(10, |i| async move {
            world
                .create(&json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"version": "1"},
                "metadata": {"name": format!("map-{i}"), "namespace": "floor"}}))
                .await;
        })
        .await;
    let floor = began.elapsed().as_secs_f64();

    let (began, before) = (Instant::now(), world.audit().len());
    world.deploy("big", &repo, "big").await;
    let is_done = |app: &Value| app["status"]["sync"]["status"] == "Synced";
    world.until(&api_kind("argoproj.io/v1alpha1", "Application"), "argocd", 1, is_done).await;
    let ours = began.elapsed().as_secs_f64();
    eprintln!("requests of the first sync: {}", told(&our_writes(&world.audit()[before..])));
    println!(
        "| first sync of {OBJECTS} ConfigMaps ÷ raw floor (10 in flight) | ≤ 1.5 | {:.2} ({ours:.2} s ÷ {floor:.2} s) |",
        ours / floor
    );
    repo
}

/// 100 synced applications, beside those that are there: a minute of rest, then 50 edits.
async fn idle_and_drift(world: &World, others: usize) {
    let repo = Repo::new();
    let names: Vec<String> = (0..IDLE_APPS).map(|i| format!("idle-{i}")).collect();
    let files: Vec<(String, String)> =
        names.iter().map(|name| (format!("{name}/m.yaml"), config_map("settings", "1"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    repo.commit(&files);
    let server = repo.serve_http();
    for name in &names {
        kubectl(&world.cluster, &["create", "namespace", name]);
    }
    for name in &names {
        world
            .create(&json!({
                "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
                "metadata": {"name": name, "namespace": "argocd"},
                "spec": {
                    "project": "default",
                    "source": {"repoURL": server.url(), "targetRevision": "main", "path": name},
                    "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
                    "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
                },
            }))
            .await;
    }
    let applications = api_kind("argoproj.io/v1alpha1", "Application");
    let is_done = |app: &Value| {
        app["status"]["sync"]["status"] == "Synced"
            && app["status"]["operationState"]["phase"] == "Succeeded"
    };
    world.until(&applications, "argocd", IDLE_APPS + others, is_done).await;

    world.until_quiet().await;
    drop(server.take_requests());
    let (cpu, log) = (cpu_seconds(world.product.id()), world.audit().len());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let cpu = cpu_seconds(world.product.id()) - cpu;
    let writes = our_writes(&world.audit()[log..]);
    let requests = server.take_requests().len();
    println!(
        "| idle minute, {IDLE_APPS} applications: writes to the API server | 0 | {} |",
        told(&writes)
    );
    println!(
        "| idle minute: git requests at one poll each 10 s | ≤ 6 per repository | {requests} |"
    );
    println!("| idle minute: processor | ≤ 1 % of a core | {:.2} % |", cpu / 60.0 * 100.0);
    println!(
        "| resident with {} applications | – | {:.1} MiB |",
        IDLE_APPS + others,
        resident_mib(world.product.id())
    );

    let maps = api_kind("v1", "ConfigMap");
    let mut times = Vec::new();
    for name in names.iter().take(EDITS) {
        let began = Instant::now();
        let edit = json!({"data": {"version": "edited"}});
        world.client.merge_patch(&maps, name, "settings", None, &edit).await.expect("it is edited");
        let healed =
            |it: &Value| it["metadata"]["name"] == "settings" && it["data"]["version"] == "1";
        world.until(&maps, name, 1, healed).await;
        times.push(began.elapsed());
    }
    times.sort();
    println!(
        "| drift healed, {EDITS} edits of {EDITS} applications | p50 ≤ 60 ms | p50 {:.0} ms, worst {:.0} ms |",
        times[EDITS / 2].as_secs_f64() * 1000.0,
        times[EDITS - 1].as_secs_f64() * 1000.0
    );
    // Without their repository they would be tried again and again.
    let delete = ["delete", "application", "--namespace=argocd", "--wait=false"];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    kubectl(&world.cluster, &[&delete[..], &names].concat());
}

/// Five ConfigMaps, in one wave and in five.
async fn waves(world: &World) {
    let repo = Repo::new();
    let mut files = Vec::new();
    for i in 0..5 {
        let map = config_map(&format!("map-{i}"), "1");
        let wave = format!("annotations: {{argocd.argoproj.io/sync-wave: \"{i}\"}}, name:");
        files.push((format!("five-waves/{i}.yaml"), map.replace("name:", &wave)));
        files.push((format!("one-wave/{i}.yaml"), map));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    repo.commit(&files);
    let mut times = BTreeMap::new();
    for name in ["one-wave", "five-waves"] {
        kubectl(&world.cluster, &["create", "namespace", name]);
        let began = Instant::now();
        world.deploy(name, &repo, name).await;
        let applications = api_kind("argoproj.io/v1alpha1", "Application");
        let is_done = |app: &Value| {
            app["metadata"]["name"] == name
                && app["status"]["operationState"]["phase"] == "Succeeded"
        };
        world.until(&applications, "argocd", 1, is_done).await;
        times.insert(name, began.elapsed().as_secs_f64() * 1000.0);
    }
    let (one, five) = (times["one-wave"], times["five-waves"]);
    println!(
        "| five waves of ConfigMaps against one wave | ≤ 1.3 × + 100 ms ({:.0} ms) | {five:.0} ms ({one:.0} ms in one) |",
        one * 1.3 + 100.0
    );
    for name in ["one-wave", "five-waves"] {
        kubectl(&world.cluster, &["delete", "application", name, "--namespace=argocd"]);
    }
}

/// How often the product wrote what, by verb and resource.
fn our_writes(audit: &[Value]) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    for event in audit {
        let ours = event["userAgent"].as_str().is_some_and(|it| it.contains("argosy"));
        let verb = event["verb"].as_str().unwrap_or_default();
        if ours && matches!(verb, "create" | "update" | "patch" | "delete") {
            let is_dry = event["requestURI"].as_str().is_some_and(|it| it.contains("dryRun=All"));
            let resource = event["objectRef"]["resource"].as_str().unwrap_or("?");
            let dry = if is_dry { " (dry run)" } else { "" };
            *writes.entry(format!("{verb} {resource}{dry}")).or_default() += 1;
        }
    }
    writes
}

fn told(counts: &BTreeMap<String, usize>) -> String {
    if counts.is_empty() {
        return "0".into();
    }
    let each: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    format!("{}: {}", counts.values().sum::<usize>(), each.join(", "))
}

fn kubectl(cluster: &DevCluster, arguments: &[&str]) {
    let output = cluster.kubectl(arguments).expect("kubectl starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn is_ready() -> bool {
    asked("/healthz").starts_with("HTTP/1.0 200")
}

/// What the product answers about itself; nothing while it does not.
fn asked(path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut answer = String::new();
    let asked = std::net::TcpStream::connect(("127.0.0.1", 18482)).and_then(|mut stream| {
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
        stream.read_to_string(&mut answer)
    });
    if asked.is_ok() { answer } else { String::new() }
}

fn api_kind(api_version: &str, kind: &str) -> ApiKind {
    let plural = format!("{}s", kind.to_lowercase());
    ApiKind::known(&GroupVersionKind::parse(api_version, kind), &plural, true)
}

fn config_map(name: &str, version: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{version: \"{version}\"}}\n"
    )
}

fn resident_mib(pid: u32) -> f64 {
    let [all, own] = ["VmRSS:", "RssAnon:"].map(|what| memory_mib(pid, what));
    eprintln!("resident: {all:.1} MiB, of which {own:.1} are not the program itself");
    all
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn memory_mib(pid: u32, what: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kib: u64 = line.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    kib as f64 / 1024.0
}

/// User and system time so far; the clock of `/proc` ticks 100 times a second.
#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks =
        |index| after_name.split_whitespace().nth(index).and_then(|it| it.parse::<u64>().ok());
    (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0)) as f64 / 100.0
}
