//! `cargo xtask demo`: a first application, from git to Synced, before your eyes.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use devcluster::DevCluster;
use serde_json::Value;

use crate::dev;
use crate::guestbook::Guestbook;
use crate::product::{self, Argosy};
use crate::shell::output;

const NAMESPACE: &str = "argocd";
const APP: &str = "guestbook";

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::read(arguments)?;
    println!("Building argosy …");
    let binary = product::build()?;
    let cluster = Target::open(&options)?;
    let folder = tempfile::tempdir()?;
    let guestbook = Guestbook::create(folder.path())?;
    cluster.install(&binary)?;

    println!("\nStarting argosy …");
    let mut flags = vec!["--namespace", NAMESPACE, "--app-resync=2s", "--app-resync-jitter=0s"];
    flags.extend([
        "--metrics-address=127.0.0.1",
        "--metrics-port=0",
        "--port=0",
        "--server-metrics-port=0",
    ]);
    let access = cluster.argosy_flags();
    flags.extend(access.iter().map(String::as_str));
    let argosy = Argosy::start(&binary, &flags, folder.path())?;
    let began = Instant::now();
    cluster.apply(&application(&guestbook))?;
    println!("Application {APP} created: automated sync, prune, self-heal.\n");

    let story = Story { began, cluster: &cluster, argosy: &argosy };
    story.until("the first sync", is_synced_and_healthy)?;
    if options.once {
        story.prove(&guestbook)
    } else {
        invite(&cluster, &guestbook, &argosy);
        story.until("ever", |_| false)
    }
}

struct Options {
    once: bool,
    context: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut options = Self { once: false, context: None };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--once" => options.once = true,
                "--context" => {
                    options.context = Some(words.next().context("--context needs a name")?.clone());
                }
                other => {
                    bail!("usage: cargo xtask demo [--once] [--context NAME]; what is {other:?}?")
                }
            }
        }
        Ok(options)
    }
}

/// Where the demo runs.
enum Target {
    Dev(Box<DevCluster>),
    Users { context: String },
}

impl Target {
    fn open(options: &Options) -> anyhow::Result<Self> {
        let Some(context) = options.context.clone() else {
            println!("Starting a Kubernetes cluster …");
            return Ok(Self::Dev(Box::new(DevCluster::start_with(&devcluster::Options {
                progress: Some(dev::show),
                ..devcluster::Options::default()
            })?)));
        };
        print!(
            "This installs Argosy's resource definitions, the namespace {NAMESPACE} and the application \
             {APP} in the cluster of the context {context:?}. Go on? [y/N] "
        );
        std::io::stdout().flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        ensure!(answer.trim().eq_ignore_ascii_case("y"), "nothing was installed");
        Ok(Self::Users { context })
    }

    fn kubectl(&self) -> Command {
        match self {
            Self::Dev(cluster) => Command::new(cluster.kubectl_path()),
            Self::Users { context } => {
                let mut kubectl = Command::new("kubectl");
                kubectl.args(["--context", context]);
                kubectl
            }
        }
    }

    fn argosy_flags(&self) -> Vec<String> {
        match self {
            Self::Dev(cluster) => {
                vec![format!("--kubeconfig={}", cluster.kubeconfig_path().display())]
            }
            Self::Users { context } => vec![format!("--context={context}")],
        }
    }

    fn install(&self, binary: &PathBuf) -> anyhow::Result<()> {
        let definitions = output(Command::new(binary).arg("crds"))?;
        self.apply(&definitions)?;
        let names = ["applications", "appprojects", "applicationsets"]
            .map(|plural| format!("crd/{plural}.argoproj.io"));
        // `wait` fails where there are no conditions at all yet; names come first.
        for until in ["--for=jsonpath={.status.acceptedNames.kind}", "--for=condition=Established"]
        {
            output(self.kubectl().args(["wait", until, "--timeout=60s"]).args(&names))?;
        }
        for name in [NAMESPACE, APP] {
            self.apply(&format!(
                "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
            ))?;
        }
        Ok(())
    }

    fn apply(&self, manifest: &str) -> anyhow::Result<()> {
        let mut kubectl = self
            .kubectl()
            .args(["apply", "--server-side", "--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("could not start kubectl")?;
        kubectl.stdin.take().context("kubectl has no input")?.write_all(manifest.as_bytes())?;
        ensure!(kubectl.wait()?.success(), "kubectl apply failed");
        Ok(())
    }
}

fn application(guestbook: &Guestbook) -> String {
    format!(
        "\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {APP}
  namespace: {NAMESPACE}
spec:
  project: default
  source:
    repoURL: {}
    targetRevision: main
    path: app
  destination:
    server: https://kubernetes.default.svc
    namespace: {APP}
  syncPolicy:
    automated: {{prune: true, selfHeal: true}}
",
        guestbook.url()
    )
}

fn is_synced_and_healthy(app: &Value) -> bool {
    app["status"]["sync"]["status"] == "Synced"
        && app["status"]["health"]["status"] == "Healthy"
        && app["status"]["operationState"]["phase"] == "Succeeded"
}

struct Story<'s> {
    began: Instant,
    cluster: &'s Target,
    argosy: &'s Argosy,
}

impl Story<'_> {
    /// Tells what happens to the Application until it is as wanted.
    fn until(&self, what: &str, is_over: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        let mut watch = self
            .cluster
            .kubectl()
            .args(["get", "applications.argoproj.io", APP, "--namespace", NAMESPACE])
            .args(["--output=json", "--watch", "--request-timeout=120s"])
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = watch.stdout.take().context("kubectl has no output")?;
        let mut teller = Teller::default();
        for app in serde_json::Deserializer::from_reader(lines).into_iter::<Value>() {
            let app = app.context("kubectl printed no JSON")?;
            for line in teller.news(&app) {
                println!("  {:7.3} s  {line}", self.began.elapsed().as_secs_f64());
            }
            if is_over(&app) {
                watch.kill().ok();
                watch.wait().ok();
                return Ok(());
            }
        }
        watch.wait().ok();
        bail!(
            "{what} did not come within two minutes; argosy said last:\n{}",
            self.argosy.last_lines()
        )
    }

    /// Changes git, then the cluster, and checks by reading the cluster.
    fn prove(&self, guestbook: &Guestbook) -> anyhow::Result<()> {
        self.expect("configmap/guestbook", "{.data.GREETING}", "Welcome aboard")?;
        self.expect("deployment/guestbook", "{.status.readyReplicas}", "2")?;
        self.expect("service/guestbook", "{.spec.ports[0].port}", "80")?;

        println!("\nCommitting a change …");
        let commit = guestbook.commit_greeting("Land ahoy")?;
        self.until("the new commit", |app| {
            is_synced_and_healthy(app) && app["status"]["sync"]["revision"] == commit.as_str()
        })?;
        self.expect("configmap/guestbook", "{.data.GREETING}", "Land ahoy")?;

        println!("\nScaling the Deployment to 5 by hand …");
        let patch = r#"{"spec":{"replicas":5}}"#;
        let namespace = ["--namespace", APP];
        output(self.cluster.kubectl().args(namespace).args([
            "patch",
            "deployment/guestbook",
            "--patch",
            patch,
        ]))?;
        self.expect("deployment/guestbook", "{.spec.replicas}", "2")?;
        self.until("the healed state", is_synced_and_healthy)?;
        println!("\nAll as it should be.");
        Ok(())
    }

    fn expect(&self, object: &str, path: &str, value: &str) -> anyhow::Result<()> {
        let wanted = format!("--for=jsonpath={path}={value}");
        let wait = ["wait", object, "--namespace", APP, &wanted, "--timeout=60s"];
        output(self.cluster.kubectl().args(wait)).with_context(|| {
            format!(
                "{object} should have {value:?} at {path}; argosy said last:\n{}",
                self.argosy.last_lines()
            )
        })?;
        println!(
            "  {:7.3} s  checked: {object} has {path} = {value}",
            self.began.elapsed().as_secs_f64()
        );
        Ok(())
    }
}

/// Remembers what it said, and says only what is new.
#[derive(Default)]
struct Teller {
    said: Vec<String>,
}

impl Teller {
    fn news(&mut self, app: &Value) -> Vec<String> {
        let status = &app["status"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut lines = Vec::new();
        let revision = text(&status["sync"]["revision"]);
        if !revision.is_empty() {
            lines.push(format!("main is at {}", &revision[..revision.len().min(8)]));
        }
        let operation = &status["operationState"];
        for result in operation["syncResult"]["resources"].as_array().into_iter().flatten() {
            let hook = text(&result["hookType"]);
            let kind = if hook.is_empty() {
                text(&result["kind"])
            } else {
                format!("{hook} hook {}", text(&result["kind"]))
            };
            let revision = text(&operation["syncResult"]["revision"]);
            lines.push(format!(
                "{kind} {}: {} [{}]",
                text(&result["name"]),
                text(&result["message"]),
                &revision[..revision.len().min(8)]
            ));
        }
        if !operation.is_null() {
            lines.push(format!(
                "operation of {}: {} {}",
                text(&operation["startedAt"]),
                text(&operation["phase"]),
                text(&operation["message"])
            ));
        }
        let (sync, health) = (text(&status["sync"]["status"]), text(&status["health"]["status"]));
        if !sync.is_empty() {
            lines.push(format!("{sync}, {health} {}", text(&status["health"]["message"])));
        }
        for condition in status["conditions"].as_array().into_iter().flatten() {
            lines.push(format!("{}: {}", text(&condition["type"]), text(&condition["message"])));
        }
        // The state may come back; a result or a condition is said once.
        let state = |line: &String| line.contains(", ") && self.said.last() != Some(line);
        let new: Vec<String> =
            lines.into_iter().filter(|line| !self.said.contains(line) || state(line)).collect();
        self.said.extend(new.iter().cloned());
        new
    }
}

fn invite(cluster: &Target, guestbook: &Guestbook, argosy: &Argosy) {
    let kubectl = match cluster {
        Target::Dev(cluster) => cluster.kubectl_path().display().to_string(),
        Target::Users { context } => format!("kubectl --context {context}"),
    };
    let repository = guestbook.folder().display();
    println!("\nIt runs. Try, in another terminal:\n");
    println!("  # change something in git and see it arrive");
    println!(
        "  cd {repository} && sed -i 's/replicas: 2/replicas: 3/' app/deployment.yaml && git commit -am 'three'\n"
    );
    println!("  # change something in the cluster and see it healed");
    println!("  {kubectl} -n {APP} edit deployment guestbook\n");
    println!("  # what argosy knows");
    println!("  {kubectl} -n {NAMESPACE} get applications -o wide");
    println!("  tail -f {}\n", argosy.log_path().display());
    println!(
        "Ctrl-C ends it{}.\n",
        match cluster {
            Target::Dev(_) => " and removes the cluster",
            Target::Users { .. } => "; the application stays in your cluster",
        }
    );
}
