//! A cluster, a running product, and words to talk about them.
//!
//! Nothing here sleeps: waiting is watching, with a deadline that only a
//! broken product meets.

use std::fs::File;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use api::{Application, OperationState};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cluster::{Access, ApiKind, Client, Randomness, Scope, Selector, WatchEvent};
use devcluster::DevCluster;
use futures::StreamExt as _;
use object::{GroupVersionKind, Object};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::git::Repo;

const DEADLINE: Duration = Duration::from_secs(120);
pub(crate) const CONTROL_NAMESPACE: &str = "argocd";

/// A cluster with the definitions installed and a product that runs on it.
pub(crate) struct World {
    pub(crate) cluster: DevCluster,
    folder: TempDir,
    product: Mutex<Option<Child>>,
}

/// The world of all tests that break nothing.
pub(crate) fn shared() -> &'static World {
    static SHARED: OnceLock<World> = OnceLock::new();
    SHARED.get_or_init(|| {
        let world = World::new();
        world.start_product();
        world
    })
}

impl World {
    /// A fresh cluster; the product is not started.
    pub(crate) fn new() -> Self {
        Self::with(&devcluster::Options::default())
    }

    /// The same, with a log of every request to the API server.
    pub(crate) fn audited() -> Self {
        Self::with(&devcluster::Options { audit_log: true, ..devcluster::Options::default() })
    }

    pub(crate) fn with(options: &devcluster::Options) -> Self {
        let cluster = DevCluster::start_with(options).expect("a control plane");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = Self { cluster, folder, product: Mutex::new(None) };
        for (name, definition) in api::crds::yaml() {
            let path = world.folder.path().join(name);
            std::fs::write(&path, definition).expect("a definition on disk");
            world.kubectl(&["apply", "--server-side", "--filename", &path.display().to_string()]);
        }
        // `wait` fails where there are no conditions at all yet; names come first.
        for until in ["--for=jsonpath={.status.acceptedNames.kind}", "--for=condition=Established"]
        {
            world.kubectl(&["wait", until, "crd", "--all", "--timeout=60s"]);
        }
        world.kubectl(&["create", "namespace", CONTROL_NAMESPACE]);
        world
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.cluster.kubectl(arguments).expect("kubectl starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn start_product(&self) {
        let config = self.cluster.kubeconfig_path();
        self.start_product_with(&config, CONTROL_NAMESPACE);
    }

    pub(crate) fn start_product_with(&self, kubeconfig: &std::path::Path, namespace: &str) {
        self.start_product_in(kubeconfig, namespace, &[]);
    }

    /// Starts it with these variables in its environment.
    pub(crate) fn start_product_in(
        &self,
        kubeconfig: &std::path::Path,
        namespace: &str,
        variables: &[(&str, &str)],
    ) {
        let child = self.spawn_product(kubeconfig, namespace, "data", &[], variables);
        *self.product.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    }

    /// Starts a product with a data folder of its own, further flags and variables.
    /// Who gets it ends it.
    pub(crate) fn spawn_product(
        &self,
        kubeconfig: &std::path::Path,
        namespace: &str,
        data: &str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Child {
        let log = File::options().create(true).append(true).open(self.log()).expect("a log file");
        Command::new(env!("CARGO_BIN_EXE_argosy"))
            .args(["run", "--app-resync=1s", "--app-resync-jitter=0s", "--loglevel=debug"])
            .args([
                "--metrics-address=127.0.0.1",
                "--metrics-port=0",
                "--port=0",
                "--server-metrics-port=0",
                "--metrics-application-labels=example.com/team",
                "--metrics-application-conditions=ComparisonError",
                "--metrics-cluster-labels=region",
                "--namespace",
            ])
            .arg(namespace)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--data-dir")
            .arg(self.folder.path().join(data))
            .args(flags)
            // The world of all tests is never dropped: the product ends with us.
            .arg("--until-input-ends")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the product starts")
    }

    /// Ends the product as a power cut would.
    pub(crate) fn kill_product(&self) {
        let child = self.product.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut child = child.expect("a running product");
        child.kill().expect("a process to kill");
        child.wait().expect("its end");
    }

    /// Waits until the product has logged something with these words.
    pub(crate) async fn until_said(&self, words: &str) {
        self.until_said_times(words, 1).await;
    }

    /// Waits until the product has logged this many lines with these words, and returns them.
    pub(crate) async fn until_said_times(&self, words: &str, count: usize) -> Vec<String> {
        let looking = async {
            loop {
                let said = self.said();
                let lines: Vec<&str> = said.lines().filter(|it| it.contains(words)).collect();
                if lines.len() >= count {
                    return lines.into_iter().map(str::to_owned).collect();
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, looking).await.expect("the product says it in time")
    }

    /// Every line of the controller's metrics that is about this and has a value.
    pub(crate) async fn metrics_about(&self, words: &str) -> Vec<String> {
        self.until_said("argosy runs").await;
        let log = self.said();
        let line = log.lines().rev().find(|it| it.contains("argosy runs")).expect("said just now");
        let address = line.split_once("metrics=").and_then(|it| it.1.split_whitespace().next());
        let answer = reqwest::get(format!("http://{}/metrics", address.expect("an address"))).await;
        let text = answer.expect("an answer").text().await.expect("a text");
        let about = text.lines().filter(|it| it.contains(words) && !it.starts_with('#'));
        about.map(str::to_owned).collect()
    }

    /// What the product has logged so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Every request that the API server has answered, if the cluster writes them down.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.cluster.audit_log_path()).expect("an audit log");
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Applies manifests as the administrator.
    pub(crate) fn apply(&self, manifests: &str) {
        let file = self.folder.path().join("applied.yaml");
        std::fs::write(&file, manifests).expect("manifests on disk");
        let file = file.display().to_string();
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", &file]);
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("argosy.log")
    }

    /// A namespace for one test, and a client that lives in the test's runtime.
    pub(crate) async fn test(&self, name: &'static str) -> Test<'_> {
        let config = self.cluster.kubeconfig_path();
        let access = Access::from_kubeconfig(Some(&config), None).await.expect("a kubeconfig");
        let client = Client::connect(&access).await.expect("a connection");
        let test = Test { world: self, client, name };
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        test.create(&namespace).await;
        test
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let child = self.product.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// One test's corner of the world: a namespace and an Application of one name.
pub(crate) struct Test<'w> {
    pub(crate) world: &'w World,
    pub(crate) client: Client,
    pub(crate) name: &'static str,
}

impl Test<'_> {
    /// An Application of this test's name that deploys `repo`'s folder `app` here.
    pub(crate) fn application(&self, repo: &Repo) -> Value {
        json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": self.name, "namespace": CONTROL_NAMESPACE},
            "spec": {
                "project": "default",
                "source": {"repoURL": repo.file_url(), "targetRevision": "main", "path": "app"},
                "destination": {"server": "https://kubernetes.default.svc", "namespace": self.name},
            },
        })
    }

    /// The same, synced by itself, with pruning and healing.
    pub(crate) fn automated(&self, repo: &Repo) -> Value {
        let mut app = self.application(repo);
        app["spec"]["syncPolicy"] = json!({"automated": {"prune": true, "selfHeal": true}});
        app
    }

    pub(crate) async fn create(&self, value: &Value) -> Object {
        let object = Object::from_value(value.clone()).expect("an object");
        let kind = kind_of(&object);
        let namespace = object.namespace().to_owned();
        self.client.create(&kind, &namespace, &object, "test").await.expect("it is created")
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Object> {
        let kind = api_kind(api_version, kind);
        self.client.get(&kind, self.name, name).await.expect("an answer")
    }

    /// Merges `patch` into an object of this test.
    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: &Value) {
        let kind = api_kind(api_version, kind);
        let namespace = if kind.kind == "Application" { CONTROL_NAMESPACE } else { self.name };
        self.client.merge_patch(&kind, namespace, name, None, patch).await.expect("it is patched");
    }

    pub(crate) async fn patch_app(&self, patch: &Value) {
        self.patch("argoproj.io/v1alpha1", "Application", self.name, patch).await;
    }

    /// Asks for a sync and waits for its end. `number` tells it from the others.
    pub(crate) async fn sync(&self, number: u8, operation: Value) -> OperationState {
        let number = number.to_string();
        let info = json!([{"name": "number", "value": number}]);
        self.patch_app(&json!({"operation": {"info": info, "sync": operation}})).await;
        let app = self.until("through with the operation", |app| {
            let ended = app.status.operation_state.as_ref().is_some_and(|it| {
                it.finished_at.is_some() && it.operation.info.iter().any(|it| it.value == number)
            });
            app.operation.is_none() && ended
        });
        app.await.status.operation_state.expect("it ended")
    }

    /// Applies on the server, as another manager and by force.
    pub(crate) fn apply_as(&self, manager: &str, manifest: &Value) {
        let file = self.world.folder.path().join(format!("{}.json", self.name));
        std::fs::write(&file, manifest.to_string()).expect("a manifest on disk");
        let manager = format!("--field-manager={manager}");
        let file = file.display().to_string();
        let how = ["apply", "--server-side", "--force-conflicts", "--validate=false"];
        self.world.kubectl(&[&how[..], &["-n", self.name, &manager, "-f", &file]].concat());
    }

    /// Waits until this test's Application is as wanted, and returns it.
    pub(crate) async fn until(
        &self,
        what: &str,
        wanted: impl Fn(&Application) -> bool,
    ) -> Application {
        self.until_in(CONTROL_NAMESPACE, what, wanted).await
    }

    /// The same of an Application of this test's name in another namespace.
    pub(crate) async fn until_in(
        &self,
        namespace: &str,
        what: &str,
        wanted: impl Fn(&Application) -> bool,
    ) -> Application {
        let kind = api_kind("argoproj.io/v1alpha1", "Application");
        let read = |object: &Object| {
            serde_json::from_value::<Application>(object.clone().into_value())
                .expect("an Application")
        };
        let object = self
            .watch(&kind, namespace, self.name, what, |it| it.is_some_and(|it| wanted(&read(it))))
            .await;
        read(&object.expect("just seen"))
    }

    /// Synced and Healthy can be true a moment before the operation that brought it about has said its last word.
    pub(crate) async fn until_synced(&self) -> Application {
        self.until("Synced and Healthy, no operation running", |app| {
            let running = app.operation.is_some()
                || app.status.operation_state.as_ref().is_some_and(|it| it.phase == "Running");
            app.status.sync.status == "Synced" && app.status.health.status == "Healthy" && !running
        })
        .await
    }

    pub(crate) async fn until_gone(&self) {
        let kind = api_kind("argoproj.io/v1alpha1", "Application");
        self.watch(&kind, CONTROL_NAMESPACE, self.name, "gone", |it| it.is_none()).await;
    }

    /// Waits until an object of this test's namespace is as wanted.
    pub(crate) async fn until_object(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        wanted: impl Fn(Option<&Object>) -> bool,
    ) -> Option<Object> {
        let kind = api_kind(api_version, kind);
        self.watch(&kind, self.name, name, "as wanted", wanted).await
    }

    /// Waits until a question about the Leases is answered with yes, asking whenever one changes.
    pub(crate) async fn until_leases<F: Future<Output = bool>>(&self, asked: impl Fn() -> F) {
        let kind = api_kind("coordination.k8s.io/v1", "Lease");
        let scope = Scope::Namespace(CONTROL_NAMESPACE.to_owned());
        let events = self.client.watch::<Value>(
            &kind,
            scope,
            Selector::everything(),
            Randomness::of_this_process(),
        );
        let mut events = pin!(events);
        let looking = async {
            while events.next().await.is_some() {
                if asked().await {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, looking).await.is_err() {
            let leases = self.world.kubectl(&["-n", CONTROL_NAMESPACE, "get", "leases", "-o=wide"]);
            let log = std::fs::read_to_string(self.world.log()).unwrap_or_default();
            let lines: Vec<&str> =
                log.lines().filter(|it| it.contains("Lease") || it.contains("cluster")).collect();
            let said = lines[lines.len().saturating_sub(40)..].join("\n");
            panic!("the Leases never were as wanted:\n{leases}\nargosy said:\n{said}");
        }
    }

    async fn watch(
        &self,
        kind: &ApiKind,
        namespace: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(Option<&Object>) -> bool,
    ) -> Option<Object> {
        let scope = Scope::Namespace(namespace.to_owned());
        let events = self.client.watch::<Value>(
            kind,
            scope,
            Selector::everything(),
            Randomness::of_this_process(),
        );
        let mut events = pin!(events);
        let mut last = None;
        let looking = async {
            let mut listed = false;
            while let Some(event) = events.next().await {
                match event {
                    WatchEvent::Restarted => last = None,
                    WatchEvent::Synced => listed = true,
                    WatchEvent::Applied(value) if value["metadata"]["name"] == name => {
                        last = Some(Object::from_value(value).expect("an object"));
                    }
                    WatchEvent::Deleted(value) if value["metadata"]["name"] == name => last = None,
                    _ => {}
                }
                if listed && wanted(last.as_ref()) {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, looking).await.is_err() {
            let log = std::fs::read_to_string(self.world.log()).unwrap_or_default();
            let lines: Vec<&str> = log.lines().filter(|line| line.contains(self.name)).collect();
            let said = lines[lines.len().saturating_sub(20)..].join("\n");
            let is = last.map_or("not there".into(), |it| without_owners(it).to_string());
            panic!("{name} was never {what}; it is {is}\nargosy said:\n{said}");
        }
        last
    }
}

/// Who owns which field is long, and says little to whoever reads of a failure.
fn without_owners(object: Object) -> Value {
    let mut value = object.into_value();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    value
}

/// The Secret by which Argo CD registers a cluster, with its admin's certificate.
pub(crate) fn cluster_secret(cluster: &DevCluster, name: &str, server: &str) -> Value {
    let shown = cluster.kubectl(&["config", "view", "--raw", "--output=json"]).expect("kubectl");
    let config: Value = serde_json::from_slice(&shown.stdout).expect("a kubeconfig");
    let (theirs, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
    let tls = json!({"tlsClientConfig": {
        "caData": theirs["certificate-authority-data"],
        "certData": user["client-certificate-data"],
        "keyData": user["client-key-data"],
    }});
    let data =
        [("name", name.to_owned()), ("server", server.to_owned()), ("config", tls.to_string())];
    let data: Value = data.iter().map(|(key, text)| (*key, STANDARD.encode(text))).collect();
    json!({
        "apiVersion": "v1", "kind": "Secret", "data": data,
        "metadata": {"name": format!("cluster-{name}"), "namespace": CONTROL_NAMESPACE,
            "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
    })
}

/// Names of the kinds that tests use; the plural is theirs by convention.
pub(crate) fn api_kind(api_version: &str, kind: &str) -> ApiKind {
    let plural = match kind.to_lowercase() {
        name if name == "endpoints" => name,
        name if name.ends_with('s') => format!("{name}es"),
        name if name.ends_with('y') => format!("{}ies", &name[..name.len() - 1]),
        name => format!("{name}s"),
    };
    let namespaced = kind != "Namespace" && !kind.starts_with("Cluster");
    ApiKind::known(&GroupVersionKind::parse(api_version, kind), &plural, namespaced)
}

fn kind_of(object: &Object) -> ApiKind {
    api_kind(object.api_version(), object.kind())
}

/// A ConfigMap as YAML.
pub(crate) fn config_map(name: &str, key: &str, value: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  {key}: \"{value}\"\n"
    )
}

/// A Deployment as YAML; the image decides its fate on the dev cluster's node.
pub(crate) fn deployment(name: &str, wave: i32, image: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  annotations: {{argocd.argoproj.io/sync-wave: \"{wave}\"}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: main, image: \"{image}\"}}]}}
"
    )
}
