//! Both sides of a plugin's socket, with real commands in between.

#![expect(clippy::print_stdout, reason = "a missing program is a notice, not a failure")]

use std::time::Duration;

use plugins::{Package, Packer, PluginConfig, PluginServer, Plugins};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// A plugin that runs until the test ends.
struct World {
    folder: TempDir,
}

impl World {
    fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = Self { folder };
        world.add(config);
        world
    }

    fn add(&self, config: &str) {
        let path = self.folder.path();
        std::fs::write(path.join("plugin.yaml"), config).expect("a file");
        let config = PluginConfig::read(path).expect("a plugin");
        let work = path.join(format!("work-{}", config.socket_name()));
        let server = PluginServer::bind(config, path, &work).expect("a socket");
        tokio::spawn(server.run(std::future::pending()));
    }

    fn plugins(&self, timeout: Duration) -> Plugins {
        Plugins::new(self.folder.path(), timeout)
    }

    async fn generate(&self, name: &str) -> String {
        self.generate_within(name, Duration::from_secs(60)).await
    }

    async fn generate_within(&self, name: &str, timeout: Duration) -> String {
        let variables = [("ARGOCD_ENV_WHO".to_owned(), "me".to_owned())];
        let (plugins, package) = (self.plugins(timeout), package());
        let generated = async {
            let chosen = plugins.choose(name, &package, &variables).await?;
            plugins.generate(&chosen, &package, &variables).await
        };
        match generated.await {
            Ok(manifests) => manifests.join("\n"),
            Err(error) => error.to_string(),
        }
    }
}

fn package() -> Package {
    let mut packer = Packer::new(1 << 20);
    packer.file("app/sub/map.yaml", b"kind: ConfigMap\nname: a\n", false).expect("a file");
    packer.file("app/run.sh", b"#!/bin/sh\necho 'kind: FromScript'\n", true).expect("a file");
    packer.link("app/link.yaml", "sub/map.yaml").expect("a link");
    packer.finish("app").expect("an archive")
}

fn config(name: &str, spec: &str) -> String {
    format!("kind: ConfigManagementPlugin\nmetadata: {{name: {name}}}\nspec:\n{spec}")
}

const CAT: &str = "  init: {command: [sh, -c, 'echo init > made']}\n  generate: {command: [sh, -c], args: ['cat link.yaml; echo ---; echo \"made: $(cat made)\"; echo \"who: $ARGOCD_ENV_WHO\"']}\n";
/// What it makes of the package.
const CAT_SAYS: &str =
    "{\"kind\":\"ConfigMap\",\"name\":\"a\"}\n{\"made\":\"init\",\"who\":\"me\"}";

#[tokio::test]
async fn a_named_plugin_gets_the_repository_and_its_variables() {
    let world = World::start(&config("cat", &format!("  version: v1\n{CAT}")));
    assert_eq!(world.generate("cat-v1").await, CAT_SAYS);
    let left: Vec<_> = std::fs::read_dir(world.folder.path().join("work-cat-v1"))
        .expect("the work folder")
        .collect();
    assert!(left.is_empty(), "nothing is left of the repository: {left:?}");
}

#[tokio::test]
async fn a_source_goes_to_the_first_plugin_that_discovers_it() {
    let world = World::start(&config("a-none", CAT));
    world.add(&config("b-other", &format!("{CAT}  discover: {{fileName: 'other/*.yaml'}}\n")));
    let plugins = world.plugins(Duration::from_secs(60));
    assert_eq!(plugins.discover(&package(), &[]).await.expect("an answer"), None);
    assert_eq!(
        world.generate("").await,
        "could not find plugin supporting the given repository; name one in the source"
    );
    for (name, discover) in [
        ("e-command", "{find: {command: [sh, -c, 'find . -name map.yaml']}}"),
        ("d-glob", "{find: {glob: '**/map.yaml'}}"),
        ("c-name", "{fileName: 'sub/m*.yaml'}"),
    ] {
        world.add(&config(name, &format!("{CAT}  discover: {discover}\n")));
        let found = plugins.discover(&package(), &[]).await.expect("an answer");
        assert_eq!(found.as_deref(), Some(name));
    }
    assert!(world.generate("").await.contains("ConfigMap"));
}

#[tokio::test]
async fn a_plugin_that_is_not_there_does_not_fit_or_fails_is_told() {
    let world = World::start(&config("picky", &format!("{CAT}  discover: {{fileName: nope}}\n")));
    world.add(&config(
        "broken",
        "  generate: {command: [sh, -c, 'echo out of luck >&2; exit 2']}\n",
    ));
    assert_eq!(
        world.generate("picky").await,
        "could not find cmp-server plugin with name \"picky\" supporting the given repository"
    );
    let said = world.generate("gone").await;
    assert!(said.starts_with("could not find cmp-server plugin with name \"gone\" supporting the given repository: error dialing"), "{said}");
    assert_eq!(world.generate("../x").await, "\"../x\" is no name of a plugin");
    assert_eq!(
        world.generate("broken").await,
        "error generating manifests in cmp broken: error generating manifests: `sh -c echo out of luck >&2; exit 2` failed exit status 2: out of luck"
    );
}

#[tokio::test]
async fn a_plugin_that_never_ends_is_ended_at_the_deadline_and_says_so() {
    let world = World::start(&config("slow", "  generate: {command: [sh, -c, 'sleep 600']}\n"));
    let said = world.generate_within("slow", Duration::from_secs(1)).await;
    assert!(said.contains("the deadline passed"), "{said}");
}

#[tokio::test]
async fn files_keep_their_modes_where_the_plugin_asks_for_it() {
    let generate = "  generate: {command: [./run.sh]}\n";
    let world = World::start(&config("plain", generate));
    world.add(&config("modes", &format!("{generate}  preserveFileMode: true\n")));
    assert_eq!(world.generate("modes").await, "{\"kind\":\"FromScript\"}");
    let said = world.generate("plain").await;
    assert!(said.contains("Permission denied"), "{said}");
}

#[tokio::test]
async fn parameters_are_announced_from_a_command_and_from_the_file() {
    let spec = format!(
        "{CAT}  parameters:\n    static: [{{name: fixed, title: Fixed, collectionType: map, map: {{a: b}}}}]\n    dynamic: {{command: [sh, -c, 'echo \"[{{\\\"name\\\": \\\"$ARGOCD_ENV_WHO\\\"}}]\"']}}\n"
    );
    let world = World::start(&config("talks", &spec));
    let plugins = world.plugins(Duration::from_secs(60));
    let variables = [("ARGOCD_ENV_WHO".to_owned(), "me".to_owned())];
    let chosen = plugins.choose("talks", &package(), &variables).await.expect("a plugin");
    assert!(!chosen.wants_credentials, "it did not ask for credentials");
    let announced = plugins.announcements(&chosen, &package(), &variables).await.expect("a list");
    let names: Vec<&str> = announced.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["me", "fixed"]);
    assert_eq!(announced[1].map.get("a").map(String::as_str), Some("b"));
}

/// Genuine plugin servers and ours interchange: run with the program's path in
/// `ARGOCD_CMP_SERVER`.
#[tokio::test]
async fn a_genuine_plugin_server_is_understood() {
    let Some(program) = std::env::var_os("ARGOCD_CMP_SERVER") else {
        println!("notice: no genuine plugin server, nothing checked");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("plugin.yaml"), config("genuine", CAT)).expect("a file");
    let mut child = tokio::process::Command::new(program)
        .arg("--config-dir-path")
        .arg(folder.path())
        .env("ARGOCD_BINARY_NAME", "argocd-cmp-server")
        .env("ARGOCD_PLUGINSOCKFILEPATH", folder.path())
        .env("ARGOCD_CMP_WORKDIR", folder.path().join("work"))
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    while !lines.next_line().await.expect("text").expect("it runs").contains("serving on") {}
    let plugins = Plugins::new(folder.path(), Duration::from_secs(60));
    let variables = [("ARGOCD_ENV_WHO".to_owned(), "me".to_owned())];
    let chosen = plugins.choose("genuine", &package(), &variables).await.expect("a plugin");
    let manifests = plugins.generate(&chosen, &package(), &variables).await.expect("manifests");
    assert_eq!(manifests.join("\n"), CAT_SAYS, "both answer the same");
}
