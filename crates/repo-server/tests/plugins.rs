//! Sources that a plugin renders, from a git repository to marked objects.

use std::time::Duration;

use api::ApplicationSource;
use plugins::{PluginConfig, PluginServer};
use render::{RenderContext, SourceDetails, SourceType};
use repo_server::{
    CredentialBook, Freshness, ManifestQuery, Options, PluginOptions, Rendered, RepoCredentials,
    RepoServer, SourceError, TargetRevision,
};
use testkit::git::Repo;

const CONFIG: &str = r#"
kind: ConfigManagementPlugin
metadata: {name: notes}
spec:
  generate:
    command: [sh, -c]
    args: ['echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: $ARGOCD_APP_NAME}, data: {note: $(cat note.txt), top: $(cat ../top.txt), stage: $ARGOCD_ENV_STAGE, files: \"$(ls | wc -l)\"}}"']
  discover: {fileName: note.txt}
"#;

struct World {
    folder: tempfile::TempDir,
    server: RepoServer,
    repo: Repo,
}

impl World {
    fn new(config: &str) -> Self {
        Self::within(config, Duration::from_secs(60))
    }

    fn within(config: &str, render_timeout: Duration) -> Self {
        repo_server::install_crypto_provider();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path();
        std::fs::write(path.join("plugin.yaml"), config).expect("a file");
        let config = PluginConfig::read(path).expect("a plugin");
        let plugin = PluginServer::bind(config, path, &path.join("work")).expect("a socket");
        tokio::spawn(plugin.run(std::future::pending()));
        let options = Options {
            plugins: PluginOptions {
                sockets: path.to_owned(),
                excluded: vec!["app/*.skip".to_owned()].into(),
                ask_pass_socket: path.join("ask-pass"),
                use_generate_paths: true,
            },
            render_timeout,
            ..Options::new(path.join("data"))
        };
        let server = RepoServer::open(options).expect("a data directory");
        Self { folder, server, repo: Repo::new() }
    }

    async fn render(&self, source: &str) -> Result<std::sync::Arc<Rendered>, SourceError> {
        self.render_from(&self.repo.file_url(), source).await
    }

    async fn render_from(
        &self,
        repo_url: &str,
        source: &str,
    ) -> Result<std::sync::Arc<Rendered>, SourceError> {
        self.server.manifests(self.query(repo_url, source)).await
    }

    fn query(&self, repo_url: &str, source: &str) -> ManifestQuery {
        let source: ApplicationSource = serde_json::from_str(source).expect("a source");
        let source = ApplicationSource { repo_url: repo_url.to_owned(), ..source };
        ManifestQuery {
            revision: TargetRevision(String::new()),
            source,
            refs: Vec::new(),
            freshness: Freshness::Latest,
            context: RenderContext::new("guestbook", "web"),
            source_repos: repo_server::SourceRepos::all(),
            integrity: None,
            ignore_cache: false,
        }
    }
}

#[tokio::test]
async fn a_plugin_that_discovers_the_source_renders_it_with_its_environment() {
    let world = World::new(CONFIG);
    world.repo.commit(&[("app/note.txt", "one"), ("app/x.skip", "x"), ("top.txt", "above")]);
    let source = r#"{"path": "app", "plugin": {"env": [{"name": "STAGE", "value": "prod"}]}}"#;
    let rendered = world.render(source).await.expect("manifests");
    assert_eq!(rendered.source_type(), Some(SourceType::Plugin));
    let object = &rendered.objects()[0];
    let shown = ["note", "top", "stage", "files"].map(|key| object.text(&["data", key]));
    assert_eq!(shown, [Some("one"), Some("above"), Some("prod"), Some("1")]);
    let tracked = object.text(&["metadata", "annotations", "argocd.argoproj.io/tracking-id"]);
    assert_eq!(tracked, Some("guestbook:/ConfigMap:web/guestbook"), "it is marked like any other");
    world.repo.commit(&[("app/note.txt", "two")]);
    let rendered = world.render(r#"{"path": "app"}"#).await.expect("manifests");
    assert_eq!(rendered.objects()[0].text(&["data", "note"]), Some("two"));
}

#[tokio::test]
async fn a_plugin_is_sent_what_the_annotation_names_and_runs_again_only_when_that_changes() {
    let config = CONFIG.replace("$(cat ../top.txt)", "$(ls ..)").replace("discover:", "x:");
    let world = World::new(&config);
    world.repo.commit(&[("apps/a/note.txt", "one"), ("apps/base/x", "x"), ("top.txt", "above")]);
    let render = async |paths: &str| {
        let source = r#"{"path": "apps/a", "plugin": {"name": "notes"}}"#;
        let mut query = world.query(&world.repo.file_url(), source);
        query.context.generate_paths = paths.to_owned();
        let rendered = world.server.manifests(query).await.expect("manifests");
        let top = rendered.objects()[0].text(&["data", "top"]).map(str::to_owned);
        (top.unwrap_or_default(), world.server.stats().renders)
    };
    assert_eq!(render(".;../base").await, ("a base".to_owned(), 1));
    world.repo.commit(&[("top.txt", "changed")]);
    assert_eq!(render(".;../base").await, ("a base".to_owned(), 1), "it did not see that file");
    world.repo.commit(&[("apps/base/x", "changed")]);
    assert_eq!(render(".;../base").await, ("a base".to_owned(), 2));
}

const TALKS: &str = r#"
kind: ConfigManagementPlugin
metadata: {name: talks}
spec:
  generate: {command: [cat, note.txt]}
  parameters:
    static: [{name: fixed, title: Fixed, required: true, collectionType: map, map: {a: b}}]
    dynamic: {command: [sh, -c, 'echo "[{\"name\": \"$ARGOCD_ENV_STAGE\", \"string\": \"$(cat note.txt)\"}]"']}
"#;

#[tokio::test]
async fn what_a_plugin_announces_is_what_the_source_offers() {
    let world = World::new(TALKS);
    world.repo.commit(&[("app/note.txt", "one")]);
    let source = r#"{"path": "app", "plugin": {"name": "talks", "env": [{"name": "STAGE", "value": "prod"}]}}"#;
    let query = world.query(&world.repo.file_url(), source);
    let found = world.server.details(&query).await.expect("details");
    assert_eq!(found.source_type(), SourceType::Plugin);
    let SourceDetails::Plugin(parameters) = found else { panic!("a plugin's") };
    let [dynamic, fixed] = &parameters[..] else { panic!("two: {parameters:?}") };
    assert_eq!((dynamic.name.as_str(), dynamic.string.as_str()), ("prod", "one"));
    assert!(fixed.required && fixed.title == "Fixed", "{fixed:?}");
    assert_eq!(fixed.map.get("a").map(String::as_str), Some("b"));
    let gone =
        world.query(&world.repo.file_url(), r#"{"path": "app", "plugin": {"name": "gone"}}"#);
    let error = world.server.details(&gone).await.map(drop).expect_err("no such plugin");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.starts_with("app: could not find cmp-server plugin"), "{cause}");
}

/// Says what its git was told, and nothing of what the environment holds else.
const TELLS: &str = r#"
kind: ConfigManagementPlugin
metadata: {name: tells}
spec:
  provideGitCreds: true
  generate:
    command: [sh, -c]
    args: ['echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {askpass: \"$GIT_ASKPASS\", nonce: \"$ARGOCD_GIT_ASKPASS_NONCE\", socket: \"$ARGOCD_ASK_PASS_SOCK\", ssh: \"$GIT_SSH_COMMAND\", key: \"$(cat $(echo $GIT_SSH_COMMAND | cut -d" " -f3) < /dev/null | head -1)\", secrets: \"$(env | grep -c s3cret)\"}}"']
"#;

const NAMED: &str = r#"{"path": "app", "plugin": {"name": "tells"}}"#;

#[tokio::test]
async fn a_plugins_git_may_ask_for_the_password_while_the_plugin_runs() {
    let world = World::new(TELLS);
    world.repo.commit(&[("app/note.txt", "one")]);
    let http = world.repo.serve_http();
    http.require_authorization("Basic dXNlcjpzM2NyZXQtd29yZA==");
    let credentials = RepoCredentials {
        username: "user".to_owned(),
        password: "s3cret-word".to_owned(),
        ..RepoCredentials::default()
    };
    world.server.set_credentials(CredentialBook {
        templates: vec![(http.base(), credentials)],
        ..CredentialBook::default()
    });
    let rendered = world.render_from(&http.url(), NAMED).await.expect("manifests");
    let object = &rendered.objects()[0];
    let told = |key: &str| object.text(&["data", key]).unwrap_or_default().to_owned();
    assert_eq!((told("askpass"), told("secrets")), ("argocd".to_owned(), "0".to_owned()));
    assert_eq!(told("nonce").len(), 32);
    let socket = std::path::PathBuf::from(told("socket"));
    let asked = plugins::answer_git("Password", Some(told("nonce")), &socket).await;
    let error = asked.expect_err("the plugin has ended").to_string();
    assert!(error.ends_with("unknown nonce"), "{error}");
}

#[tokio::test]
async fn a_plugins_git_gets_the_ssh_key_as_a_file_while_the_plugin_runs() {
    let world = World::new(TELLS);
    world.repo.commit(&[("app/note.txt", "one")]);
    let key = RepoCredentials {
        ssh_private_key: "the-first-line\nmore".to_owned(),
        ..RepoCredentials::default()
    };
    let url = world.repo.file_url();
    world.server.set_credentials(CredentialBook {
        repositories: vec![(url.clone(), key)],
        known_hosts: "git.example.com ssh-ed25519 AAAA".to_owned(),
        ..CredentialBook::default()
    });
    let rendered = world.render(NAMED).await.expect("manifests");
    let object = &rendered.objects()[0];
    assert_eq!(object.text(&["data", "key"]), Some("the-first-line"));
    let command = object.text(&["data", "ssh"]).expect("a command");
    assert!(command.contains(" -o StrictHostKeyChecking=yes -o UserKnownHostsFile="), "{command}");
    let file = command.split(' ').nth(2).expect("a file behind -i");
    assert!(!std::path::Path::new(file).exists(), "{file} goes with the plugin's command");
    assert_eq!(object.text(&["data", "askpass"]), Some(""), "there is no password to ask for");
}

#[tokio::test]
async fn a_plugin_that_does_not_ask_for_credentials_gets_none() {
    let world = World::new(&TELLS.replace("provideGitCreds: true", "provideGitCreds: false"));
    world.repo.commit(&[("app/note.txt", "one")]);
    let credentials =
        RepoCredentials { password: "s3cret-word".to_owned(), ..RepoCredentials::default() };
    world.server.set_credentials(CredentialBook {
        repositories: vec![(world.repo.file_url(), credentials)],
        ..CredentialBook::default()
    });
    let rendered = world.render(NAMED).await.expect("manifests");
    let told = |key: &str| rendered.objects()[0].text(&["data", key]).map(str::to_owned);
    assert_eq!((told("askpass"), told("nonce")), (Some(String::new()), Some(String::new())));
    assert!(!world.folder.path().join("ask-pass").exists(), "nobody listens");
}

#[tokio::test]
async fn a_source_that_no_plugin_wants_is_rendered_as_it_is() {
    let world = World::new(CONFIG);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    world.repo.commit(&[("app/map.yaml", map)]);
    let rendered = world.render(r#"{"path": "app"}"#).await.expect("manifests");
    assert_eq!(rendered.source_type(), Some(SourceType::Directory));
}

#[tokio::test]
async fn what_a_plugin_complains_of_reaches_the_user() {
    let world = World::new(
        "kind: ConfigManagementPlugin\nmetadata: {name: angry}\nspec: {generate: {command: [sh, -c, 'echo no such luck >&2; exit 1']}}\n",
    );
    world.repo.commit(&[("app/note.txt", "one")]);
    let error = world.render(r#"{"path": "app", "plugin": {"name": "angry"}}"#).await;
    let error = error.map(drop).expect_err("a failure");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(
        cause,
        "app: error generating manifests in cmp angry: error generating manifests: `sh -c echo no such luck >&2; exit 1` failed exit status 1: no such luck"
    );
    let error = world.render(r#"{"path": "app", "plugin": {"name": "gone"}}"#).await;
    let error = error.map(drop).expect_err("no such plugin");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(
        cause.starts_with("app: could not find cmp-server plugin with name \"gone\""),
        "{cause}"
    );
    assert!(world.folder.path().join("angry.sock").exists());
}

#[tokio::test]
async fn a_plugin_that_never_ends_or_prints_without_end_is_told_and_disturbs_nobody() {
    let plugin = |generate: &str| {
        format!(
            "kind: ConfigManagementPlugin\nmetadata: {{name: wild}}\nspec: {{generate: {{command: [sh, -c, '{generate}']}}}}\n"
        )
    };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (generate, seconds, problem) in [
        // Parent and child wait for each other.
        ("sleep 600 & wait", 4, "signal: terminated: the deadline passed"),
        ("yes", 60, "it printed more than 104857600 bytes"),
    ] {
        let world = World::within(&plugin(generate), Duration::from_secs(seconds));
        let commit = world.repo.commit(&[("app/note.txt", "one"), ("plain/map.yaml", map)]);
        let (wild, plain) = tokio::join!(
            world.render(r#"{"path": "app", "plugin": {"name": "wild"}}"#),
            world.render(r#"{"path": "plain", "directory": {}}"#)
        );
        assert_eq!(plain.expect("manifests").manifests().len(), 1, "{generate}");
        let error = wild.map(drop).expect_err("a failure");
        let cause = std::error::Error::source(&error).expect("a cause");
        assert_eq!(
            format!("{error}: {cause}"),
            format!(
                "could not render app of {} at {commit}: app: error generating manifests in cmp wild: error generating manifests: `sh -c {generate}` failed {problem}",
                world.repo.file_url()
            )
        );
        let work = world.folder.path().join("work");
        assert_eq!(std::fs::read_dir(work).expect("a folder").count(), 0, "nothing is left");
    }
}
