//! A second opinion: is what says Synced as git wants it, and what says Healthy well?
//!
//! Shares nothing with the product but the API server. Git is read with git, and
//! kubectl asks what applying git's files would change, and how what they name is
//! ([`ailment`]). Knows Applications with one source of plain files in a repository on
//! this machine, an object each; hooks do not count.

mod ailment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use ailment::ailment;

/// What makes a manifest a hook, which is there only while it runs.
const HOOK: &str = "argocd.argoproj.io/hook:";

/// An Application that said something for longer than may be while it was not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lie {
    /// Its name.
    pub app: String,
    /// What it said.
    pub claim: Claim,
    /// What applying git's files would have changed, or what is the matter with an object.
    pub truth: String,
}

/// What an Application says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Everything is as git wants it.
    Synced,
    /// Everything is well.
    Healthy,
}

impl Claim {
    /// Does this Application say so?
    fn is_made_by(self, app: &Value) -> bool {
        match self {
            Self::Synced => text(app, "/status/sync/status") == "Synced",
            Self::Healthy => text(app, "/status/health/status") == "Healthy",
        }
    }
}

/// Looks at every Application again and again, until asked what it found.
pub struct Checker {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Lie>>,
}

impl Checker {
    /// Starts beside a cluster. `kubectl` is a program that is kubectl for it; a
    /// status that is wrong for longer than `patience` is a lie.
    #[must_use]
    pub fn start(kubectl: PathBuf, patience: Duration) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let mut watch = Watch::new(kubectl, patience);
            while !asked.load(Ordering::Relaxed) {
                watch.look();
            }
            watch.lies
        });
        Self { done, thread }
    }

    /// Ends, and says what was not so.
    ///
    /// # Panics
    /// When the checker itself failed.
    #[must_use]
    pub fn lies(self) -> Vec<Lie> {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().expect("a checker that works")
    }
}

/// What is said at this moment and is not so.
#[must_use]
pub fn lies_now(kubectl: PathBuf) -> Vec<Lie> {
    let mut watch = Watch::new(kubectl, Duration::ZERO);
    watch.look();
    watch.lies
}

struct Watch {
    kubectl: PathBuf,
    patience: Duration,
    /// Since when each Application has been wrong without a break.
    wrong: BTreeMap<(String, Claim), Instant>,
    lies: Vec<Lie>,
}

impl Watch {
    fn new(kubectl: PathBuf, patience: Duration) -> Self {
        Self { kubectl, patience, wrong: BTreeMap::new(), lies: Vec::new() }
    }

    fn look(&mut self) {
        let Some(list) = self.kubectl(&["get", "applications", "--all-namespaces"]) else {
            // Nobody can tell, so nothing counts that was seen before.
            self.wrong.clear();
            return;
        };
        for app in list["items"].as_array().into_iter().flatten() {
            self.judge(app, Claim::Synced);
            self.judge(app, Claim::Healthy);
        }
    }

    fn judge(&mut self, app: &Value, claim: Claim) {
        let name = text(app, "/metadata/name").to_owned();
        let truth = claim.is_made_by(app).then(|| self.truth(app, claim)).flatten();
        let namespace = text(app, "/metadata/namespace");
        let still = || self.kubectl(&["get", "application", &name, "--namespace", namespace]);
        match truth.filter(|_| still().is_some_and(|it| claim.is_made_by(&it))) {
            None => drop(self.wrong.remove(&(name, claim))),
            Some(truth) => {
                let since = *self.wrong.entry((name.clone(), claim)).or_insert_with(Instant::now);
                if since.elapsed() >= self.patience {
                    self.lies.push(Lie { app: name, claim, truth });
                }
            }
        }
    }

    /// What speaks against a claim; none if nothing does, or if nobody can tell.
    fn truth(&self, app: &Value, claim: Claim) -> Option<String> {
        let source = |field: &str| text(app, &format!("/spec/source/{field}"));
        let repo = source("repoURL").strip_prefix("file://")?;
        let files = files(Path::new(repo), source("targetRevision"), source("path"))?;
        let namespace = text(app, "/spec/destination/namespace");
        let mut objects = files.iter().filter(|file| !file.contains(HOOK));
        objects.find_map(|file| match claim {
            Claim::Synced => self.would_change(file, namespace),
            Claim::Healthy => self.ails(file, namespace),
        })
    }

    fn ails(&self, manifest: &str, namespace: &str) -> Option<String> {
        let get = ["get", "--filename=-", "--ignore-not-found", "--output=json"];
        let found =
            self.kubectl_with(&[&get[..], &["--namespace", namespace]].concat(), manifest)?;
        // What kubectl reads from its input it tells as a list.
        let live = found.pointer("/items/0").unwrap_or(&found);
        let (kind, name) = (text(live, "/kind"), text(live, "/metadata/name"));
        ailment(live).map(|it| format!("{kind} {name}: {it}"))
    }

    fn would_change(&self, manifest: &str, namespace: &str) -> Option<String> {
        let apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=truth"];
        let rest = ["--dry-run=server", "--filename=-", "--output=json", "--namespace", namespace];
        let after = self.kubectl_with(&[&apply[..], &rest].concat(), manifest)?;
        let kind = text(&after, "/kind").to_owned();
        let name = text(&after, "/metadata/name").to_owned();
        let get = ["get", &kind, &name, "--ignore-not-found", "--namespace", namespace];
        let before = self.kubectl(&get);
        if before.as_ref().map(said) == Some(said(&after)) {
            return None;
        }
        Some(format!("{kind} {name}: {} became {}", before.unwrap_or_default(), after))
    }

    fn kubectl(&self, arguments: &[&str]) -> Option<Value> {
        self.kubectl_with(&[arguments, &["--output=json"]].concat(), "")
    }

    fn kubectl_with(&self, arguments: &[&str], input: &str) -> Option<Value> {
        use std::io::Write as _;
        let mut child = Command::new(&self.kubectl)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(input.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// An object without what every write changes.
fn said(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

/// The files below a folder at a revision; none if git cannot tell.
fn files(repo: &Path, revision: &str, folder: &str) -> Option<Vec<String>> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(repo).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let names = git(&["ls-tree", "-r", "--name-only", revision, "--", &format!("{folder}/")])?;
    names.lines().map(|name| git(&["show", &format!("{revision}:{name}")])).collect()
}
