//! A control plane with the API server on it. There is no controller here: what an
//! operation leads to is another crate's test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{
    AppKey, AppProject, Application, ApplicationDestination, ApplicationSource, ApplicationTree,
    HealthStatus, OciMetadata, ResourceDiff, ResourceNode, ResourceRef, RevisionMetadata,
};
use api_server::{
    ApiServer, Charts, Control, Destination, Details, LoginLimits, Options, Ports, Refs,
    RenderRequest, Rendered, Shutdown, Sides, SourceError, Sources, Web, make_default_project,
};
use cluster::{
    ApiKind, Client, Cluster, Randomness, Scope, Selector, StoreOptions, Tagged, WatchEvent,
};
use devcluster::DevCluster;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use object::{GroupVersionKind, Object, ResourceKey};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use settings::SettingsStore;
use tokio::net::TcpListener;

pub(crate) const NAMESPACE: &str = "argocd";

pub(crate) const SERVER: &str = "https://kubernetes.default.svc";

/// The pod of every Application.
pub(crate) const POD: &str = "shell";
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Nothing here takes longer unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A repository with one path, `web`, and one branch.
pub(crate) struct OnePath;

impl Sources for OnePath {
    fn resolve<'a>(
        &'a self,
        _: &'a ApplicationSource,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<String, SourceError>> {
        async { Ok(COMMIT.to_owned()) }.boxed()
    }

    fn render(&self, request: RenderRequest) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        let ApplicationSource { path, chart, .. } = request.source;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let rendered = if path == "web" || chart == "web" {
            Ok(Rendered {
                commit: COMMIT.into(),
                source_type: "Directory".into(),
                objects: vec![Object::from_value(map).expect("an object")],
            })
        } else {
            let message = format!("{path}: app path does not exist");
            Err(SourceError { message, is_inaccessible: false })
        };
        async { rendered }.boxed()
    }

    fn revision_metadata<'a>(
        &'a self,
        _: &'a ApplicationSource,
        _: &'a str,
    ) -> BoxFuture<'a, Result<RevisionMetadata, SourceError>> {
        let author = "Ada <ada@example.org>".to_owned();
        async { Ok(RevisionMetadata { author, ..RevisionMetadata::default() }) }.boxed()
    }

    fn render_files(
        &self,
        _: BTreeMap<String, Vec<u8>>,
        request: RenderRequest,
    ) -> BoxFuture<'_, Result<Rendered, SourceError>> {
        self.render(request)
    }

    fn credentials_changed(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn test_access<'a>(
        &'a self,
        repo: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<(), SourceError>> {
        let answer = if repo.contains("nowhere") {
            let message = "repository not found".to_owned();
            Err(SourceError { message, is_inaccessible: true })
        } else {
            Ok(())
        };
        async { answer }.boxed()
    }

    fn refs<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Refs, SourceError>> {
        async { Ok(Refs { branches: vec!["main".into()], tags: vec!["v1".into()] }) }.boxed()
    }

    fn helm_charts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Charts, SourceError>> {
        async { Ok(BTreeMap::from([("web".to_owned(), vec!["1.0.0".to_owned()])])) }.boxed()
    }

    fn oci_tags<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, SourceError>> {
        async { Ok(vec!["1.0.0".to_owned()]) }.boxed()
    }

    fn oci_metadata<'a>(
        &'a self,
        _: &'a str,
        revision: &'a str,
    ) -> BoxFuture<'a, Result<OciMetadata, SourceError>> {
        async { Ok(OciMetadata { version: revision.to_owned(), ..OciMetadata::default() }) }.boxed()
    }

    fn list_apps<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a AppProject,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, SourceError>> {
        async { Ok(vec![("web".into(), "Kustomize".into())]) }.boxed()
    }

    fn details<'a>(
        &'a self,
        _: &'a ApplicationSource,
        _: &'a AppProject,
    ) -> BoxFuture<'a, Result<Details, SourceError>> {
        let source_type = "Directory".to_owned();
        async { Ok(Details { source_type, ..Details::default() }) }.boxed()
    }
}

/// A controller that says of every Application that it has the ConfigMap `live` and a Pod.
pub(crate) struct OneObject(Cluster);

impl Control for OneObject {
    fn explain<'a>(
        &'a self,
        _: &'a Application,
    ) -> BoxFuture<'a, Result<engine::Explanation, String>> {
        std::future::ready(Err("nobody asks".to_owned())).boxed()
    }

    fn compared<'a>(
        &'a self,
        _: &'a Application,
    ) -> BoxFuture<'a, Result<Vec<ResourceDiff>, String>> {
        let named = |name: &str| ResourceDiff {
            kind: "ConfigMap".into(),
            namespace: NAMESPACE.into(),
            name: name.into(),
            ..ResourceDiff::default()
        };
        async move { Ok(vec![named("live"), named("other")]) }.boxed()
    }

    fn tree<'a>(&'a self, _: &'a Application) -> BoxFuture<'a, Result<ApplicationTree, String>> {
        let node = |kind: &str, name: &str| ResourceNode {
            resource_ref: ResourceRef {
                version: "v1".into(),
                kind: kind.into(),
                namespace: NAMESPACE.into(),
                name: name.into(),
                uid: name.into(),
                ..ResourceRef::default()
            },
            ..ResourceNode::default()
        };
        let mut deployment = node("Deployment", "web");
        deployment.resource_ref.group = "apps".into();
        let nodes = vec![node("ConfigMap", "live"), node("Pod", POD), deployment];
        async { Ok(ApplicationTree { nodes, ..ApplicationTree::default() }) }.boxed()
    }

    fn healths(&self, _: &AppKey) -> Arc<BTreeMap<ResourceKey, HealthStatus>> {
        Arc::default()
    }

    fn answered(&self, _: &Application, answer: &Object, live: &Object) -> Result<Sides, String> {
        let (predicted, live) = (answer.clone().into_value(), live.clone().into_value());
        Ok(Sides { predicted, live })
    }

    fn destination(&self, wanted: &ApplicationDestination) -> Result<Destination, String> {
        if wanted.server != SERVER {
            return Err(format!("cluster {:?} has not been configured", wanted.server));
        }
        let (server, name) = (SERVER.to_owned(), "in-cluster".to_owned());
        Ok(Destination { server, name, cluster: self.0.clone() })
    }

    fn destination_of(&self, app: &Application) -> Result<Destination, String> {
        self.destination(&app.spec.destination)
    }
}

pub(crate) async fn install(control_plane: &DevCluster, client: &Client) {
    let folder = control_plane.folder().join("crds");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, definition) in api::crds::yaml() {
        std::fs::write(folder.join(format!("{name}.yaml")), definition).expect("a file");
    }
    let folder = folder.to_str().expect("a path in text");
    kubectl(control_plane, &["apply", "--server-side", "-f", folder]);
    until_established(client, 3).await;
    let namespaces =
        ApiKind::known(&GroupVersionKind::parse("v1", "Namespace"), "namespaces", false);
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let namespace = Object::from_value(namespace).expect("an object");
    client.create(&namespaces, "", &namespace, "test").await.expect("a namespace");
}

/// Waits until this many custom kinds are served.
pub(crate) async fn until_established(client: &Client, count: usize) {
    let gvk = GroupVersionKind::parse("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let kind = ApiKind::known(&gvk, "customresourcedefinitions", false);
    let random = Randomness::of_this_process();
    let events = client.watch::<Value>(&kind, Scope::Everywhere, Selector::everything(), random);
    let mut events = std::pin::pin!(events);
    let mut served = BTreeSet::new();
    while served.len() < count {
        let event = events.next().await.expect("a watch does not end");
        let WatchEvent::Applied(definition) = event else { continue };
        let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|it| it["type"] == "Established" && it["status"] == "True") {
            served.insert(definition["metadata"]["name"].to_string());
        }
    }
}

pub(crate) fn kubectl(control_plane: &DevCluster, arguments: &[&str]) {
    let output = control_plane.kubectl(arguments).expect("kubectl");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {told}");
}

pub(crate) async fn start(client: Client, web: Web, shutdown: Shutdown) -> String {
    let tracking = |object: &Tagged<'_>| object.annotation("none");
    let cluster = Cluster::start_with(client.clone(), StoreOptions::new(tracking));
    let cluster = cluster.await.expect("a cluster");
    let options = Options {
        namespace: NAMESPACE.into(),
        application_namespaces: vec!["team-*".into()],
        tls: false,
        web: Web { passes_extensions: true, ..web },
        login_limits: LoginLimits::default(),
        random: Randomness::of_this_process(),
    };
    cluster.ready().await;
    let control = Arc::new(OneObject(cluster));
    let settings = SettingsStore::load(&client, NAMESPACE).await.expect("the settings");
    let settings = Arc::new(settings);
    let follower = (Arc::clone(&settings), client.clone());
    tokio::spawn(async move {
        let (settings, client) = follower;
        settings.follow(&client, NAMESPACE, &Randomness::of_this_process()).await;
    });
    make_default_project(&client, NAMESPACE).await.expect("a project");
    let copies = Arc::default();
    let ports =
        Ports { sources: Arc::new(OnePath), control_plane: client, control, settings, copies };
    let server =
        ApiServer::start(options, ports, &mut Registry::default()).await.expect("an API server");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { server.run(listener, &shutdown).await });
    address
}

/// Waits until the settings say so.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

pub(crate) async fn set_config(client: &Client, name: &str, data: Value) {
    let maps = ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true);
    if client.get(&maps, NAMESPACE, name).await.expect("an answer").is_none() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let map = Object::from_value(map).expect("an object");
        client.create(&maps, NAMESPACE, &map, "test").await.expect("a ConfigMap");
    }
    let patch = json!({ "data": data });
    client.merge_patch(&maps, NAMESPACE, name, None, &patch).await.expect("patched");
}

pub(crate) async fn secret(client: &Client, name: &str) -> Option<Object> {
    let secrets = ApiKind::known(&GroupVersionKind::parse("v1", "Secret"), "secrets", true);
    client.get(&secrets, NAMESPACE, name).await.expect("an answer")
}
