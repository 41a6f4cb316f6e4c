//! Pushes that a provider tells of without saying which files changed, as Bitbucket Cloud does: the
//! repository knows, in this process or in a repo server's.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::git::{HttpServer, Repo};

use crate::readers::api_address;
use crate::world::{CONTROL_NAMESPACE, Test, World, config_map};

/// Nobody looks by themselves while a test runs.
const SELDOM: &str = "--app-resync=1h";

#[tokio::test]
async fn a_push_without_files_wakes_those_it_touches() {
    let place = Place::with(&[]).await;
    wakes_those_it_touches(&place).await;
}

#[tokio::test]
async fn a_push_without_files_wakes_those_it_touches_by_way_of_a_repo_server() {
    let mut repo_server = RepoServer::start();
    let place = Place::with(&[&format!("--repo-server={}", repo_server.address)]).await;
    wakes_those_it_touches(&place).await;
    repo_server.kill();
    place.pushed(&[("unrelated/README.md", "nobody can be asked")]).await;
    place.until_woken(&[1, 1, 2, 2]).await;
}

async fn wakes_those_it_touches(place: &Place) {
    let (web, api) = (place.application("web").await, place.application("api").await);
    let first = place.pushed(&[]).await;
    is_at(&web, &first).await;
    is_at(&api, &first).await;

    let second = place.pushed(&[("web/map.yaml", &config_map("web", "x", "2"))]).await;
    place.until_woken(&[1]).await;
    is_at(&web, &second).await;
    is_at(&api, &first).await;

    // Each is compared with the commit that it was last compared with.
    let third = place.pushed(&[("api/map.yaml", &config_map("api", "x", "3"))]).await;
    place.until_woken(&[1, 1]).await;
    is_at(&api, &third).await;
    is_at(&web, &second).await;

    let fourth = place.pushed(&[("shared/map.yaml", &config_map("shared", "x", "4"))]).await;
    place.until_woken(&[1, 1, 2]).await;
    is_at(&api, &fourth).await;
    is_at(&web, &fourth).await;
}

async fn is_at(it: &Test<'_>, commit: &str) {
    it.until(commit, |app| app.status.sync.revision == commit).await;
}

/// A product that does not look by itself, and a private repository with two Applications.
struct Place {
    world: World,
    product: Child,
    repo: Repo,
    http: HttpServer,
    api: String,
}

impl Place {
    async fn with(flags: &[&str]) -> Self {
        let world = World::new();
        let repo = Repo::new();
        repo.commit(&[
            ("web/map.yaml", &config_map("web", "x", "1")),
            ("api/map.yaml", &config_map("api", "x", "1")),
        ]);
        let http = repo.serve_http();
        // user:s3cret-word
        http.require_authorization("Basic dXNlcjpzM2NyZXQtd29yZA==");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": "repo", "namespace": CONTROL_NAMESPACE,
                "labels": {"argocd.argoproj.io/secret-type": "repository"},
            },
            "stringData": {"url": http.url(), "username": "user", "password": "s3cret-word"},
        });
        world.apply(&secret.to_string());
        let flags = [&[SELDOM, "--insecure"], flags].concat();
        let config = world.cluster.kubeconfig_path();
        let product = world.spawn_product(&config, CONTROL_NAMESPACE, "data", &flags, &[]);
        world.until_said("the API listens").await;
        let api = format!("http://{}/api/webhook", api_address(&world));
        Self { world, product, repo, http, api }
    }

    /// One that minds its own folder and what it shares with the other.
    async fn application(&self, name: &'static str) -> Test<'_> {
        let it = self.world.test(name).await;
        let mut app = it.application(&self.repo);
        app["spec"]["source"]["repoURL"] = self.http.url().into();
        app["spec"]["source"]["path"] = name.into();
        let paths = json!({"argocd.argoproj.io/manifest-generate-paths": ".;/shared"});
        app["metadata"]["annotations"] = paths;
        it.create(&app).await;
        it
    }

    /// Commits, and tells of it as Bitbucket Cloud does.
    async fn pushed(&self, files: &[(&str, &str)]) -> String {
        if files.is_empty() {
            return self.repo.git(["rev-parse", "HEAD"]).trim().to_owned();
        }
        let commit = self.repo.commit(files);
        let payload = json!({
            "repository": {"links": {"html": {"href": self.http.url()}}},
            "push": {"changes": [{"new": {"name": "main"}}]},
        });
        let asked = reqwest::Client::new().post(&self.api).header("X-Hook-UUID", "any");
        let asked = asked.header("X-Event-Key", "repo:push").body(payload.to_string());
        let answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
        commit
    }

    /// Waits until so many pushes have woken so many Applications.
    async fn until_woken(&self, counts: &[usize]) {
        let words = "refreshed after a webhook";
        let lines = self.world.until_said_times(words, counts.len()).await;
        let count = |line: &String| {
            let (_, after) = line.split_once("applications=").expect("how many");
            after.split_whitespace().next().and_then(|it| it.parse().ok()).expect("a number")
        };
        assert_eq!(lines.iter().map(count).collect::<Vec<usize>>(), counts);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.product.kill().ok();
        self.product.wait().ok();
    }
}

/// A repo server in a process of its own.
struct RepoServer {
    child: Child,
    address: String,
    _data: TempDir,
}

impl RepoServer {
    fn start() -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_argosy"))
            .args(["repo-server", "--address=127.0.0.1", "--port=0", "--metrics-port=0"])
            .args(["--metrics-address=127.0.0.1", "--until-input-ends", "--data-dir"])
            .arg(data.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut said = String::new();
        while !said.contains("the repo server runs") {
            said.clear();
            assert_ne!(log.read_line(&mut said).expect("text"), 0, "it ended early");
        }
        let said: Value = serde_json::from_str(&said).expect("a line of JSON");
        let address = said["address"].as_str().expect("where it listens").to_owned();
        // Whoever does not read what it says would stop it.
        std::thread::spawn(move || log.lines().for_each(drop));
        Self { child, address, _data: data }
    }

    fn kill(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }
}

impl Drop for RepoServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
