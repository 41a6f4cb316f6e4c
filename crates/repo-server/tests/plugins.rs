//! Sources that a plugin renders, from a git repository to marked objects.

use std::time::Duration;

use api::ApplicationSource;
use plugins::{PluginConfig, PluginServer};
use render::{RenderContext, SourceType};
use repo_server::{
    Freshness, ManifestQuery, Options, PluginOptions, Rendered, RepoServer, SourceError,
    TargetRevision,
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
            },
            render_timeout: Duration::from_secs(60),
            ..Options::new(path.join("data"))
        };
        let server = RepoServer::open(options).expect("a data directory");
        Self { folder, server, repo: Repo::new() }
    }

    async fn render(&self, source: &str) -> Result<std::sync::Arc<Rendered>, SourceError> {
        let source: ApplicationSource = serde_json::from_str(source).expect("a source");
        let source = ApplicationSource { repo_url: self.repo.file_url(), ..source };
        let query = ManifestQuery {
            revision: TargetRevision(String::new()),
            source,
            refs: Vec::new(),
            freshness: Freshness::Latest,
            context: RenderContext::new("guestbook", "web"),
            integrity: None,
            ignore_cache: false,
        };
        self.server.manifests(query).await
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
