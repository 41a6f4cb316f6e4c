//! The demo's application: a small git repository that people can change.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::shell::output;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: guestbook
spec:
  replicas: 2
  selector:
    matchLabels: {app: guestbook}
  template:
    metadata:
      labels: {app: guestbook}
    spec:
      containers:
      - name: web
        image: nginx:1.29
        ports:
        - containerPort: 80
        envFrom:
        - configMapRef: {name: guestbook}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: guestbook
spec:
  selector: {app: guestbook}
  ports:
  - port: 80
    targetPort: 80
";

const MIGRATION: &str = "\
apiVersion: batch/v1
kind: Job
metadata:
  name: guestbook-migrate
  annotations:
    argocd.argoproj.io/hook: PreSync
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: migrate
        image: busybox:1.37
        command: [\"true\"]
";

/// The repository on disk.
pub(crate) struct Guestbook {
    folder: PathBuf,
}

impl Guestbook {
    /// Makes the repository below `parent` with a first commit.
    pub(crate) fn create(parent: &Path) -> anyhow::Result<Self> {
        let folder = parent.join("guestbook");
        std::fs::create_dir_all(folder.join("app"))?;
        let guestbook = Self { folder };
        guestbook.git(&["init", "--quiet", "--initial-branch=main"])?;
        guestbook.write("deployment.yaml", DEPLOYMENT)?;
        guestbook.write("service.yaml", SERVICE)?;
        guestbook.write("migrate.yaml", MIGRATION)?;
        guestbook.commit_greeting("Welcome aboard")?;
        Ok(guestbook)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.folder.display())
    }

    /// Commits another greeting; the commit.
    pub(crate) fn commit_greeting(&self, greeting: &str) -> anyhow::Result<String> {
        let config = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: guestbook\ndata:\n  GREETING: {greeting}\n"
        );
        self.write("config.yaml", &config)?;
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", greeting])?;
        Ok(self.git(&["rev-parse", "HEAD"])?.trim().to_owned())
    }

    fn write(&self, name: &str, content: &str) -> anyhow::Result<()> {
        let path = self.folder.join("app").join(name);
        std::fs::write(&path, content)
            .with_context(|| format!("could not write {}", path.display()))
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let identity = ["-c", "user.name=demo", "-c", "user.email=demo@localhost"];
        output(Command::new("git").args(identity).args(arguments).current_dir(&self.folder))
    }
}
