//! A plugin in a process of its own beside a repo server in another, as they
//! run in a pod: its git gets into the private repository it works on.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use api::ApplicationSource;
use repo_server::client::{ClientOptions, ClientTls, RepoClient};
use testkit::git::Repo;
use wire::message::repo_server::{ManifestRequest, RepoServerAppDetailsQuery, path};
use wire::message::repository::{ManifestResponse, RepoAppDetailsResponse, Repository};

/// Lists the repository again by itself, with whatever git knows.
const CONFIG: &str = r#"
kind: ConfigManagementPlugin
metadata: {name: lists}
spec:
  provideGitCreds: true
  parameters: {static: [{name: depth, title: How deep}]}
  generate:
    command: [sh, -c]
    args: ['git -c credential.helper= ls-remote $ARGOCD_APP_SOURCE_REPO_URL HEAD > listed && echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {head: \"$(cut -f1 listed)\"}}"']
"#;

/// A process of ours that ends with the test, and the rest of its log.
struct Running {
    child: Child,
    _log: BufReader<ChildStderr>,
    /// The line that said it runs.
    said: String,
}

impl Running {
    /// Starts a role and waits for a line of its log.
    fn start(
        program: impl AsRef<std::ffi::OsStr>,
        name: &str,
        arguments: &[&str],
        folder: &Path,
        until: &str,
    ) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .env("ARGOCD_BINARY_NAME", name)
            .env("ARGOCD_PLUGINSOCKFILEPATH", folder)
            .env("ARGOCD_CMP_WORKDIR", folder.join("work"))
            .env("ARGOCD_ASK_PASS_SOCK", folder.join("ask-pass"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut said = String::new();
        while !said.contains(until) {
            said.clear();
            assert_ne!(log.read_line(&mut said).expect("text"), 0, "it ended early");
        }
        Self { child, _log: log, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[tokio::test]
async fn the_git_of_a_plugin_gets_into_the_repository_it_works_on() {
    let ours = env!("CARGO_BIN_EXE_argosy");
    let (commit, head) = listed_by(|folder| {
        let config = folder.to_str().expect("a path");
        let arguments = ["cmp-server", "--config-dir-path", config];
        Running::start(ours, "", &arguments, folder, "the plugin listens")
    })
    .await;
    assert_eq!(head.as_deref(), Ok(commit.as_str()));
}

/// Existing sidecars beside our repo server: run with the path of Argo CD's
/// program in `ARGOCD_CMP_SERVER`, which is also the `argocd` of the `PATH`.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]
async fn the_git_of_a_genuine_plugin_server_gets_in_as_well() {
    let Some(program) = std::env::var_os("ARGOCD_CMP_SERVER") else {
        println!("notice: no genuine plugin server, nothing checked");
        return;
    };
    let (commit, head) = listed_by(|folder| {
        let config = folder.to_str().expect("a path");
        let arguments = ["--config-dir-path", config];
        Running::start(program, "argocd-cmp-server", &arguments, folder, "serving on")
    })
    .await;
    assert_eq!(head.as_deref(), Ok(commit.as_str()));
}

/// The commit of a private repository, and what the plugin's git says it is.
async fn listed_by(plugin: impl FnOnce(&Path) -> Running) -> (String, Result<String, String>) {
    repo_server::install_crypto_provider();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = folder.path();
    std::fs::write(at.join("plugin.yaml"), CONFIG).expect("a file");
    let repo = Repo::new();
    let commit = repo.commit(&[("app/note.txt", "one")]);
    let http = repo.serve_http();
    // user:s3cret-word
    http.require_authorization("Basic dXNlcjpzM2NyZXQtd29yZA==");
    let _plugin = plugin(at);
    let data = at.join("data");
    let data = data.to_str().expect("a path");
    let arguments = ["repo-server", "--address", "127.0.0.1", "--port", "0", "--data-dir", data];
    let arguments =
        [&arguments[..], &["--metrics-address", "127.0.0.1", "--metrics-port", "0"]].concat();
    let server =
        Running::start(env!("CARGO_BIN_EXE_argosy"), "", &arguments, at, "the repo server runs");
    let said: serde_json::Value = serde_json::from_str(&server.said).expect("a line of JSON");
    let address = said["address"].as_str().expect("where it listens").to_owned();
    let tls = Some(ClientTls::default());
    let timeout = Duration::from_secs(60);
    let client = RepoClient::new(ClientOptions { address, tls, timeout }).expect("a client");
    let source: ApplicationSource = serde_json::from_value(serde_json::json!({
        "repoURL": http.url(), "path": "app", "plugin": {"name": "lists"},
    }))
    .expect("a source");
    let asked = ManifestRequest {
        repo: Some(Repository {
            repo: http.url(),
            username: "user".to_owned(),
            password: "s3cret-word".to_owned(),
            ..Repository::default()
        }),
        app_name: "guestbook".to_owned(),
        namespace: "web".to_owned(),
        application_source: Some(source),
        ..ManifestRequest::default()
    };
    let details = RepoServerAppDetailsQuery {
        repo: asked.repo.clone(),
        source: asked.application_source.clone(),
        ..RepoServerAppDetailsQuery::default()
    };
    let details: RepoAppDetailsResponse =
        client.ask(path::GET_APP_DETAILS, details, None).await.expect("details");
    let announced = details.plugin.unwrap_or_default().parameters_announcement;
    let announced: Vec<_> = announced.iter().map(|it| (&*it.name, &*it.title)).collect();
    assert_eq!(announced, [("depth", "How deep")]);
    let answer: Result<ManifestResponse, _> =
        client.ask(path::GENERATE_MANIFEST, asked, None).await;
    let head = answer.map_err(|status| status.message().to_owned()).map(|answer| {
        let object: serde_json::Value =
            serde_json::from_str(&answer.manifests[0]).expect("an object");
        object["data"]["head"].as_str().unwrap_or_default().to_owned()
    });
    (commit, head)
}
