//! Measures the product's API on a fresh local cluster and prints the rows of the section about
//! the API in `docs/benchmarks.md`.
//!
//! Run by `cargo xtask bench api`, which builds the release binary and names it in `ARGOSY_BINARY`.
//! The Applications are not reconciled, so that the API alone is measured; there are no identity
//! providers here, so that users have roles where elsewhere their groups have them.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the table is the result")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cluster::{Access, ApiKind, Client};
use devcluster::DevCluster;
use futures::future::join_all;
use futures::{StreamExt as _, stream};
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

const FIRST: usize = 2_000;
const ALL: usize = 10_000;
const PROJECTS: usize = 200;
const ROLES: usize = 500;
const USERS: usize = 50;
const ROLES_OF_A_USER: usize = 10;
const LISTS: usize = 20;
const WATCHERS: usize = 500;
const CHANGES: usize = 20;
const ADDRESS: &str = "127.0.0.1:18481";
const DEADLINE: Duration = Duration::from_secs(300);

#[tokio::main]
async fn main() {
    let binary = std::env::var("ARGOSY_BINARY").expect("ARGOSY_BINARY names the product");
    let mut world = World::start(Path::new(&binary)).await;
    println!("| what | goal | measured |\n|---|---|---|");
    lists(&world).await;
    world.fill(FIRST..ALL).await;
    pages(&mut world).await;
    watchers(&world).await;
    logins(&world).await;
}

struct World {
    _cluster: DevCluster,
    _folder: tempfile::TempDir,
    client: Client,
    product: Child,
    password: String,
    admin: String,
    users: Vec<String>,
}

impl World {
    async fn start(binary: &Path) -> Self {
        let cluster = DevCluster::start().expect("a control plane");
        let folder = tempfile::tempdir().expect("a folder");
        for (name, definition) in api::crds::yaml() {
            std::fs::write(folder.path().join(format!("{name}.yaml")), definition).expect("a file");
        }
        let crds = folder.path().display().to_string();
        kubectl(&cluster, &["apply", "--server-side", "--filename", &crds]);
        for until in ["--for=jsonpath={.status.acceptedNames.kind}", "--for=condition=Established"]
        {
            kubectl(&cluster, &["wait", until, "crd", "--all", "--timeout=60s"]);
        }
        kubectl(&cluster, &["create", "namespace", "argocd"]);
        let access = Access::from_kubeconfig(Some(&cluster.kubeconfig_path()), None).await;
        let client = Client::connect(&access.expect("a kubeconfig")).await.expect("a connection");
        let log = std::fs::File::create(folder.path().join("argosy.log")).expect("a log");
        let product = Command::new(binary)
            .args(["run", "--namespace=argocd", "--insecure", "--address=127.0.0.1"])
            .args(["--port=18481", "--metrics-port=0", "--server-metrics-port=0"])
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig_path())
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the product starts");
        let mut world = Self {
            _cluster: cluster,
            _folder: folder,
            client,
            product,
            password: String::new(),
            admin: String::new(),
            users: Vec::new(),
        };
        world.settle().await;
        world.fill(0..FIRST).await;
        world
    }

    /// Policies, projects, users, and who they are.
    async fn settle(&mut self) {
        let mut accounts = json!({});
        let mut policy = String::new();
        for role in 0..ROLES {
            let project = role % PROJECTS;
            let _ = writeln!(policy, "p, role:team-{role}, applications, *, p-{project}/*, allow");
        }
        for user in 0..USERS {
            accounts[format!("accounts.user-{user}")] = "apiKey".into();
            for number in 0..ROLES_OF_A_USER {
                let role = (user * ROLES_OF_A_USER + number * 37) % ROLES;
                let _ = writeln!(policy, "g, user-{user}, role:team-{role}");
            }
        }
        self.create("ConfigMap", json!({"metadata": {"name": "argocd-cm"}, "data": accounts}))
            .await;
        let data = json!({ "policy.csv": policy });
        self.create("ConfigMap", json!({"metadata": {"name": "argocd-rbac-cm"}, "data": data}))
            .await;
        for number in 0..PROJECTS {
            let name = format!("p-{number}");
            self.create("AppProject", json!({"metadata": {"name": name}, "spec": {}})).await;
        }
        let secrets = kind("Secret");
        let began = Instant::now();
        while self.admin.is_empty() {
            assert!(began.elapsed() < DEADLINE, "nobody can log in");
            tokio::time::sleep(Duration::from_millis(100)).await;
            let found = self.client.get(&secrets, "argocd", "argocd-initial-admin-secret").await;
            let Ok(Some(secret)) = found else { continue };
            let text = secret.text(&["data", "password"]).unwrap_or_default().to_owned();
            let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text);
            self.password =
                String::from_utf8(bytes.unwrap_or_default()).expect("a password is text");
            let Ok(mut admin) = Connection::try_open("").await else { continue };
            let body = json!({"username": "admin", "password": self.password});
            let (_, answer) = admin.ask("POST", "/api/v1/session", &body).await;
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            self.admin = answer["token"].as_str().unwrap_or_default().to_owned();
        }
        let mut admin = Connection::open(&self.admin).await;
        for user in 0..USERS {
            let path = format!("/api/v1/account/user-{user}/token");
            let (status, answer) = loop {
                let (status, answer) = admin.ask("POST", &path, &json!({"id": "bench"})).await;
                assert!(began.elapsed() < DEADLINE, "the accounts are never known");
                if status == 200 {
                    break (status, answer);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            assert_eq!(status, 200);
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            self.users.push(answer["token"].as_str().expect("a token").to_owned());
        }
    }

    async fn create(&self, of_kind: &str, mut value: Value) {
        let kind = kind(of_kind);
        value["kind"] = of_kind.into();
        value["apiVersion"] = api_version(of_kind).into();
        let object = Object::from_value(value).expect("an object");
        self.client.create(&kind, "argocd", &object, "bench").await.expect("it is created");
    }

    /// Creates Applications, and waits until the API tells them.
    async fn fill(&self, numbers: std::ops::Range<usize>) {
        let count = numbers.end;
        stream::iter(numbers)
            .for_each_concurrent(20, |number| self.create("Application", application(number)))
            .await;
        let mut admin = Connection::open(&self.admin).await;
        let began = Instant::now();
        let told = async |admin: &mut Connection| {
            let path = "/api/v1/applications?fields=items.metadata.name";
            let (_, body) = admin.ask("GET", path, &Value::Null).await;
            String::from_utf8_lossy(&body).matches("\"name\"").count()
        };
        while told(&mut admin).await < count {
            assert!(began.elapsed() < DEADLINE, "the Applications are never told");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.product.id()));
        let stat = stat.expect("the product runs");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
        let ticks: u64 = fields[12..14].iter().filter_map(|it| it.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }

    fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.product.id()));
        let status = status.expect("the product runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.product.kill().ok();
        self.product.wait().ok();
    }
}

async fn lists(world: &World) {
    for (who, token) in [("the admin", &world.admin), ("a user of ten roles", &world.users[0])] {
        let mut connection = Connection::open(token).await;
        drop(connection.ask("GET", "/api/v1/applications", &Value::Null).await);
        let before = world.cpu();
        let mut size = 0;
        for _ in 0..LISTS {
            size = connection.ask("GET", "/api/v1/applications", &Value::Null).await.1.len();
        }
        let each = (world.cpu() - before) / u32::try_from(LISTS * FIRST).expect("a small number");
        println!(
            "| list of {FIRST} applications for {who}: processor for each | ≤ 15 µs | {:.1} µs ({} KB answered) |",
            each.as_secs_f64() * 1e6,
            size / 1000
        );
    }
}

/// A first page for each of 50 users, again and again.
async fn pages(world: &mut World) {
    for (what, path) in [
        ("by key", "/api/v1/applications?limit=50"),
        ("by health", "/api/v1/applications?limit=50&sort=-health"),
    ] {
        for (how, pause) in [("ten a second each", 100), ("without a pause", 0)] {
            let before = world.cpu();
            let times = load(&world.users, path, Duration::from_millis(pause), 100).await;
            let each = (world.cpu() - before) / u32::try_from(times.len()).expect("a small number");
            println!(
                "| first 50 of {ALL} applications {what}, {USERS} users, {how} | p99 ≤ 10 ms | p50 {:.1} ms, p99 {:.1} ms; {:.0} µs of processor each |",
                milliseconds(times[times.len() / 2]),
                milliseconds(times[times.len() * 99 / 100]),
                each.as_secs_f64() * 1e6,
            );
        }
    }
}

/// All times, shortest first.
async fn load(tokens: &[String], path: &str, pause: Duration, count: usize) -> Vec<Duration> {
    let user = async |number: usize, token: &String| {
        let mut connection = Connection::open(token).await;
        // Not all at the same moment.
        tokio::time::sleep(pause.mul_f64(number as f64 / tokens.len() as f64)).await;
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            let (status, _) = connection.ask("GET", path, &Value::Null).await;
            assert_eq!(status, 200);
            times.push(began.elapsed());
            tokio::time::sleep(pause.saturating_sub(began.elapsed())).await;
        }
        times
    };
    let all = join_all(tokens.iter().enumerate().map(|(number, token)| user(number, token))).await;
    let mut times: Vec<Duration> = all.into_iter().flatten().collect();
    times.sort();
    times
}

async fn watchers(world: &World) {
    let mut admin = Connection::open(&world.admin).await;
    let (_, list) = admin
        .ask("GET", "/api/v1/applications?limit=1&fields=metadata.resourceVersion", &Value::Null)
        .await;
    let list: Value = serde_json::from_slice(&list).expect("JSON");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let before = world.resident_kib();
    let (heard, mut all_heard) = mpsc::unbounded_channel();
    let opened = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..WATCHERS {
        let (heard, token, opened) = (heard.clone(), world.admin.clone(), Arc::clone(&opened));
        let path = format!("/api/v1/stream/applications?resourceVersion={version}");
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(&token).await;
            connection.send("GET", &path, &Value::Null).await;
            connection.head().await;
            opened.fetch_add(1, Ordering::Relaxed);
            let mut line = String::new();
            loop {
                line.clear();
                if connection.0.read_line(&mut line).await.expect("a line") == 0 {
                    return;
                }
                if line.starts_with('{') {
                    heard.send(Instant::now()).ok();
                }
            }
        }));
    }
    let began = Instant::now();
    while opened.load(Ordering::Relaxed) < WATCHERS {
        assert!(began.elapsed() < DEADLINE, "the watches are never open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let each = world.resident_kib().saturating_sub(before) as f64 / WATCHERS as f64;
    println!("| memory of one of {WATCHERS} idle watchers | ≤ 64 KB | {each:.1} KB |");
    let applications = kind("Application");
    let mut times = Vec::new();
    for number in 0..CHANGES {
        let patch = json!({"metadata": {"labels": {"change": number.to_string()}}});
        let patched = world.client.merge_patch(&applications, "argocd", "a-77", None, &patch).await;
        patched.expect("it is changed");
        let began = Instant::now();
        for _ in 0..WATCHERS {
            let heard = tokio::time::timeout(DEADLINE, all_heard.recv()).await;
            let heard = heard.expect("everybody hears it").expect("watchers run");
            times.push(heard.saturating_duration_since(began));
        }
    }
    times.sort();
    println!(
        "| one change told to {WATCHERS} watchers, from the answer to its write | p99 ≤ 100 ms | p50 {:.0} ms, p99 {:.0} ms |",
        milliseconds(times[times.len() / 2]),
        milliseconds(times[times.len() * 99 / 100]),
    );
    for task in tasks {
        task.abort();
    }
}

/// Other requests while 50 log in at once, against the same without them.
async fn logins(world: &World) {
    let path = "/api/v1/applications?limit=50";
    let users = &world.users[..5];
    let pause = Duration::from_millis(20);
    let mut quiet = Vec::new();
    let mut stormy = Vec::new();
    // In turns: what else the machine does then falls on both.
    for _ in 0..3 {
        quiet.extend(load(users, path, pause, 100).await);
        let storm = (0..50).map(|_| async {
            loop {
                let mut connection = Connection::open("").await;
                let body = json!({"username": "admin", "password": world.password});
                connection.ask("POST", "/api/v1/session", &body).await;
            }
        });
        tokio::select! {
            times = load(users, path, pause, 100) => stormy.extend(times),
            _ = join_all(storm) => {}
        }
    }
    quiet.sort();
    stormy.sort();
    let p99 = |times: &[Duration]| milliseconds(times[times.len() * 99 / 100]);
    println!(
        "| p99 of a page while 50 log in ÷ without them | ≤ 1.5 | {:.2} ({:.1} ms ÷ {:.1} ms) |",
        p99(&stormy) / p99(&quiet),
        p99(&stormy),
        p99(&quiet),
    );
}

/// An Application with twenty objects, as the API server stores one.
fn application(number: usize) -> Value {
    let project = format!("p-{}", number % PROJECTS);
    let resources: Vec<Value> = (0..20)
        .map(|it| {
            json!({"version": "v1", "kind": "ConfigMap", "namespace": format!("team-{number}"),
                "name": format!("settings-of-service-{it}"), "status": "Synced"})
        })
        .collect();
    let source = json!({"repoURL": "https://git.example.com/org/deployments.git", "path": format!("apps/a-{number}"), "targetRevision": "HEAD"});
    let destination =
        json!({"server": "https://kubernetes.default.svc", "namespace": format!("team-{number}")});
    json!({
        "metadata": {"name": format!("a-{number}"), "labels": {"team": project},
            "annotations": {"argocd.argoproj.io/skip-reconcile": "true"}},
        "spec": {"project": project, "source": source, "destination": destination},
        "status": {
            "sync": {"status": "Synced", "revision": "0123456789abcdef0123456789abcdef01234567",
                "comparedTo": {"source": source, "destination": destination}},
            "health": {"status": "Healthy"}, "resources": resources,
            "reconciledAt": "2026-01-02T03:04:05Z", "sourceType": "Directory",
            "history": [{"id": 0, "revision": "0123456789abcdef0123456789abcdef01234567",
                "deployedAt": "2026-01-02T03:04:05Z", "source": source}],
        },
    })
}

fn kind(name: &str) -> ApiKind {
    let plural = format!("{}s", name.to_lowercase());
    ApiKind::known(&GroupVersionKind::parse(api_version(name), name), &plural, true)
}

fn api_version(kind: &str) -> &'static str {
    if kind.starts_with("App") { "argoproj.io/v1alpha1" } else { "v1" }
}

fn kubectl(cluster: &DevCluster, arguments: &[&str]) {
    let output = cluster.kubectl(arguments).expect("kubectl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// One connection that stays open, and whose it is.
struct Connection(BufReader<TcpStream>, String);

impl Connection {
    async fn open(token: &str) -> Self {
        Self::try_open(token).await.expect("the API listens")
    }

    async fn try_open(token: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(ADDRESS).await?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream), token.to_owned()))
    }

    async fn send(&mut self, verb: &str, path: &str, body: &Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{verb} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.1,
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).await.expect("sent");
    }

    /// Status and length.
    async fn head(&mut self) -> (u16, usize) {
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).await.expect("an answer");
            let line = line.trim_end().to_lowercase();
            if read == 0 || line.is_empty() {
                return (status, length);
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap_or(0);
            }
        }
    }

    async fn ask(&mut self, verb: &str, path: &str, body: &Value) -> (u16, Vec<u8>) {
        self.send(verb, path, body).await;
        let (status, length) = self.head().await;
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.expect("the whole answer");
        if status == 0 {
            eprintln!("no answer to {path}");
        }
        (status, body)
    }
}
