//! What sources cost: `cargo bench -p repo-server`. Prints rows of the table in
//! `docs/benchmarks.md`. A repository of 2,000 directories with three files each,
//! served by the real `git http-backend`; Jsonnet against go-jsonnet, whose
//! program is named in `JSONNET`; memory under a hundred renders of 5 MB.
//! Times are the best of several: what else the machine does only adds.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(clippy::cast_precision_loss, reason = "a rate needs no more digits")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use api::ApplicationSource;
use render::RenderContext;
use repo_server::{
    Freshness, JsonnetProgram, ManifestQuery, Options, RepoServer, StatsSnapshot, TargetRevision,
};
use testkit::git::Repo;

const APPLICATIONS: usize = 2_000;
const LARGE: usize = 100;
const BUDGET: usize = 128 << 20;
const EVALUATE: &str = "evaluate-jsonnet";

fn main() {
    if std::env::args().nth(1).as_deref() == Some(EVALUATE) {
        let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
        return repo_server::serve_jsonnet(input, output).expect("a program to evaluate");
    }
    repo_server::install_crypto_provider();
    println!("| what | goal | measured |\n|---|---|---|");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    // One of them by its name, to count its instructions.
    let only = std::env::args().skip(1).find(|it| !it.starts_with("--"));
    let wanted = |name: &str| only.as_deref().is_none_or(|it| it == name);
    runtime.expect("a runtime").block_on(async {
        if wanted("memory") {
            large_outputs().await;
        }
        if wanted("fetch") {
            fetch().await;
        }
        if wanted("monorepo") {
            monorepo().await;
        }
        if wanted("jsonnet") {
            jsonnet().await;
        }
    });
}

fn open(data: &Path) -> RepoServer {
    let jsonnet = Some(JsonnetProgram::this_one(EVALUATE).expect("ourselves"));
    let options = Options { jsonnet, cache_budget: BUDGET, ..Options::new(data) };
    RepoServer::open(options).expect("a data directory")
}

fn at(url: &str, path: &str) -> ApplicationSource {
    let (repo_url, path) = (url.to_owned(), path.to_owned());
    ApplicationSource { repo_url, path, ..ApplicationSource::default() }
}

fn query(url: &str, path: &str, name: String, freshness: Freshness) -> ManifestQuery {
    ManifestQuery {
        source: at(url, path),
        revision: TargetRevision::default(),
        refs: Vec::new(),
        freshness,
        context: RenderContext::new(name, "web"),
        source_repos: repo_server::SourceRepos::all(),
        integrity: None,
        ignore_cache: false,
    }
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  text: hello\n")
}

fn made() -> Repo {
    let mut stream =
        String::from("commit refs/heads/main\ncommitter a <a@example.com> 1 +0000\ndata 1\nx\n");
    for number in 0..APPLICATIONS {
        for (file, content) in [
            ("map.yaml", config_map(&format!("map{number}"))),
            ("other.yaml", config_map(&format!("other{number}"))),
            ("README.md", format!("This is {number}.")),
        ] {
            let (length, team) = (content.len(), number % 20);
            stream.push_str(&format!(
                "M 644 inline apps/team{team}/app{number}/{file}\ndata {length}\n{content}\n"
            ));
        }
    }
    let repo = Repo::new();
    repo.fast_import(stream.as_bytes());
    repo.git(["reset", "--quiet", "--hard"]);
    repo
}

async fn fetch() {
    let repo = made();
    let http = repo.serve_http();
    let url = http.url();
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        let data = tempfile::tempdir().expect("a folder");
        let server = open(data.path());
        let began = Instant::now();
        server.moved(&at(&url, ""), "", Freshness::Latest).await.expect("a commit");
        ours = ours.min(began.elapsed());
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--bare", &url]).arg(data.path().join("clone"));
        let began = Instant::now();
        assert!(clone.status().expect("git starts").success());
        theirs = theirs.min(began.elapsed());
    }
    println!(
        "| sources: fetch of 6,000 files ÷ `git clone --bare` | ≤ 1.2 | {} |",
        compared(ours, theirs)
    );
}

/// Asks for all Applications at once; how long that took, and what it cost.
async fn poll(server: &RepoServer, url: &str) -> (Duration, StatsSnapshot) {
    let before = server.stats();
    let (began, freshness) = (Instant::now(), Freshness::NotBefore(Instant::now()));
    let calls = (0..APPLICATIONS).map(|number| {
        let path = format!("apps/team{}/app{number}", number % 20);
        server.manifests(query(url, &path, format!("app{number}"), freshness))
    });
    for rendered in futures::future::join_all(calls).await {
        assert_eq!(rendered.expect("manifests").manifests().len(), 2);
    }
    let took = began.elapsed();
    let mut cost = server.stats();
    cost.renders -= before.renders;
    cost.ls_remote.total -= before.ls_remote.total;
    (took, cost)
}

async fn monorepo() {
    let repo = made();
    let http = repo.serve_http();
    let (url, head) = (http.url(), at(&http.url(), ""));
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let rate = |took: Duration| APPLICATIONS as f64 / took.as_secs_f64();
    let mut first = Duration::MAX;
    let mut last = None;
    for _ in 0..3 {
        let data = tempfile::tempdir().expect("a folder");
        let server = open(data.path());
        server.moved(&head, "", Freshness::Latest).await.expect("a commit");
        let (took, cost) = poll(&server, &url).await;
        assert_eq!(cost.renders, 2_000);
        first = first.min(took);
        last = Some((server, data));
    }
    let (server, _data) = last.expect("three of them");
    println!(
        "| sources: first render of 2,000 directories, per second and core | ≥ 3,000 | {:.0} |",
        rate(first) / cores
    );
    let mut again = Duration::MAX;
    for _ in 0..10 {
        let (took, cost) = poll(&server, &url).await;
        assert_eq!((cost.renders, cost.ls_remote.total), (0, 1));
        again = again.min(took);
    }
    println!(
        "| sources: the same again, one listing included, per second | ≥ 50,000 | {:.0} |",
        rate(again)
    );
    let mut found = Duration::MAX;
    for number in 0..10 {
        let text = config_map(&format!("changed{number}"));
        repo.commit(&[("apps/team7/app7/map.yaml", &text)]);
        // Listing and fetching come before: they are the network's.
        let (listed, place) = (Instant::now(), server.repo(&url, ""));
        server.refs(&place, Freshness::Latest).await.expect("refs");
        let main = TargetRevision("main".to_owned());
        server.revision_metadata(&place, &main).await.expect("a commit");
        let began = Instant::now();
        let moved = server.moved(&head, "", Freshness::NotBefore(listed)).await;
        found = found.min(began.elapsed());
        let moved = moved.expect("a commit");
        assert_eq!((moved.touched.len(), moved.untouched.len()), (1, 1_999));
        let (_, cost) = poll(&server, &url).await;
        assert_eq!(cost.renders, 1, "exactly one");
    }
    println!(
        "| sources: which of 2,000 a commit to one directory concerns | ≤ 5 ms | {:.1} ms, then 1 render |",
        millis(found)
    );
}

/// As they are written: a library, functions, objects that inherit.
const LIBRARY: &str = "local lib = {
  deployment(name, replicas):: {
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: name, labels: lib.labels(name) },
    spec: { replicas: replicas, template: { metadata: { labels: lib.labels(name) },
      spec: { containers: [lib.container(name, i) for i in std.range(0, 4)] } } },
  },
  labels(name):: { app: name, hash: std.md5(name) },
  container(name, i):: {
    name: '%s-%d' % [name, i],
    image: 'registry.example.com/%s:%s' % [name, std.join('.', ['1', '%d' % i])],
    env: std.sort([{ name: 'V%d' % j, value: '%d' % (j * i) } for j in std.range(0, 20)], function(it) it.name),
  },
}; lib";
const PROGRAM: &str = "local k = import 'lib.libsonnet';
local paused = { spec+: { paused: false } };
[k.deployment('app%d' % i, i % 3) + paused for i in std.range(1, 200)]";

async fn jsonnet() {
    let repo = Repo::new();
    repo.commit(&[("app/main.jsonnet", PROGRAM), ("app/lib.libsonnet", LIBRARY)]);
    let data = tempfile::tempdir().expect("a folder");
    let server = open(data.path());
    let mut ours = Duration::MAX;
    for _ in 0..5 {
        let query = query(&repo.file_url(), "app", "app".to_owned(), Freshness::Latest);
        let again = ManifestQuery { ignore_cache: true, ..query };
        let began = Instant::now();
        let rendered = server.manifests(again).await.expect("manifests");
        ours = ours.min(began.elapsed());
        assert_eq!(rendered.manifests().len(), 200);
    }
    let Some(program) = std::env::var_os("JSONNET") else {
        println!("| sources: Jsonnet, 200 objects | – | {:.0} ms |", millis(ours));
        return;
    };
    let mut theirs = Duration::MAX;
    for _ in 0..5 {
        let mut jsonnet = Command::new(&program);
        jsonnet.arg("main.jsonnet").current_dir(repo.path().join("app")).stdout(Stdio::null());
        let began = Instant::now();
        assert!(jsonnet.status().expect("it starts").success());
        theirs = theirs.min(began.elapsed());
    }
    println!(
        "| sources: Jsonnet, 200 objects, from git to marked objects ÷ the `jsonnet` program alone | < 1 | {} |",
        compared(ours, theirs)
    );
}

/// A hundred at once, each of 5 MB.
async fn large_outputs() {
    let repo = Repo::new();
    let text = "x".repeat(5_000_000 / 8);
    for number in 0..LARGE {
        let folder = repo.path().join(format!("app{number}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        for part in 0..8 {
            let content = format!("{}  more: {text}\n", config_map(&format!("a{number}-{part}")));
            std::fs::write(folder.join(format!("{part}.yaml")), content).expect("a file");
        }
    }
    repo.commit_all();
    let data = tempfile::tempdir().expect("a folder");
    let (server, url) = (open(data.path()), repo.file_url());
    server.moved(&at(&url, ""), "", Freshness::Latest).await.expect("a commit");
    let before = resident("VmRSS:");
    let freshness = Freshness::NotBefore(Instant::now());
    let calls = (0..LARGE).map(|number| {
        let name = format!("app{number}");
        let query = query(&url, &name.clone(), name, freshness);
        async { server.manifests(query).await.map(|it| it.manifests().len()) }
    });
    for rendered in futures::future::join_all(calls).await {
        assert_eq!(rendered.expect("manifests"), 8);
    }
    let grown = resident("VmHWM:").saturating_sub(before) >> 10;
    println!(
        "| sources: 100 renders of 5 MB at once, budget {} MiB: highest memory above the start | bounded | {grown} MiB |",
        BUDGET >> 20
    );
}

/// In KiB.
fn resident(what: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|it| it.starts_with(what)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0)
}

fn compared(ours: Duration, theirs: Duration) -> String {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    format!("{ratio:.2} ({:.0} ms ÷ {:.0} ms)", millis(ours), millis(theirs))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
