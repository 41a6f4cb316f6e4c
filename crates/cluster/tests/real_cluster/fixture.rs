//! What the tests share: the control plane, a cluster on it, and words for what they do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cluster::{
    Access, ApiKind, ApplyOptions, Change, Changes, Cluster, Live, StoreOptions, Tagged,
};
use devcluster::DevCluster;
use object::{GroupKind, GroupVersionKind, Object, ResourceKey};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The annotation by which the tests track.
pub(crate) const TRACKING: &str = "test.example.org/application";
/// Nothing here takes longer unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a test on the runtime that the shared cluster lives on.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime")).block_on(async {
        tokio::time::timeout(PATIENCE, test).await.expect("the test ends in time")
    })
}

pub(crate) fn kubeconfig() -> PathBuf {
    static CONTROL_PLANE: OnceLock<DevCluster> = OnceLock::new();
    CONTROL_PLANE.get_or_init(|| DevCluster::start().expect("a control plane")).kubeconfig_path()
}

pub(crate) async fn access(kubeconfig: &Path) -> Access {
    Access::from_kubeconfig(Some(kubeconfig), None).await.expect("a kubeconfig")
}

pub(crate) fn options() -> StoreOptions {
    let options = StoreOptions::new(|it: &Tagged<'_>| it.annotation(TRACKING));
    StoreOptions { grace: Duration::ZERO, ..options }
}

/// The cluster that all tests share.
pub(crate) async fn cluster() -> Cluster {
    static CLUSTER: tokio::sync::OnceCell<Cluster> = tokio::sync::OnceCell::const_new();
    let started = CLUSTER.get_or_init(|| async {
        let access = access(&kubeconfig()).await;
        Cluster::start(&access, options()).await.expect("a cluster")
    });
    let cluster = started.await.clone();
    cluster.ready().await;
    cluster
}

/// A namespace of one test.
pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) namespace: String,
}

impl Place {
    pub(crate) async fn new(name: &str) -> Self {
        let cluster = cluster().await;
        let namespace = name.to_owned();
        let manifest =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(&cluster, manifest).await;
        Self { cluster, namespace }
    }

    pub(crate) fn key(&self, name: &str) -> ResourceKey {
        ResourceKey::new(&GroupKind::new("", "ConfigMap"), &self.namespace, name)
    }

    /// A ConfigMap of this namespace; `application` as its tracker, if any.
    pub(crate) fn map(&self, name: &str, application: Option<&str>, value: &str) -> Value {
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace}, "data": {"value": value}});
        if let Some(application) = application {
            map["metadata"]["annotations"] = json!({TRACKING: application});
        }
        map
    }

    /// Writes past the store, as somebody else would.
    pub(crate) async fn others_write(&self, map: Value) -> Object {
        let name = map["metadata"]["name"].as_str().expect("a name").to_owned();
        let client = self.cluster.client();
        let there = client.get(&config_map(), &self.namespace, &name).await.expect("an answer");
        let written = match there {
            None => client.create(&config_map(), &self.namespace, &object(map), "somebody").await,
            Some(_) => client.merge_patch(&config_map(), &self.namespace, &name, None, &map).await,
        };
        written.expect("written")
    }

    pub(crate) async fn others_delete(&self, name: &str) {
        let client = self.cluster.client();
        client.delete(&config_map(), &self.namespace, name).await.expect("deleted");
    }
}

pub(crate) fn config_map() -> ApiKind {
    ApiKind::known(&GroupVersionKind::parse("v1", "ConfigMap"), "configmaps", true)
}

pub(crate) fn object(value: Value) -> Object {
    Object::from_value(value).expect("an object")
}

pub(crate) async fn apply(cluster: &Cluster, manifest: Value) -> Object {
    let applied = cluster.apply(&object(manifest), &ApplyOptions::default()).await;
    applied.expect("applied").object
}

/// The data of the tracked maps of an application, by name.
pub(crate) fn values(live: &Live) -> Vec<(String, String)> {
    let value = |it: &Object| it.text(&["data", "value"]).unwrap_or_default().to_owned();
    live.objects.iter().map(|(key, it)| (key.name.clone(), value(&it.object()))).collect()
}

/// Waits until the changes have told, of this object, that it concerns these applications.
pub(crate) async fn until_told(changes: &mut Changes, key: &ResourceKey, of: &[&str]) {
    let expect: BTreeSet<Arc<str>> = of.iter().map(|it| (*it).into()).collect();
    loop {
        let told = changes.next().await;
        let is_it = |it: &Change| {
            matches!(it, Change::Object { key: own, applications, .. }
                if own == key && expect.is_subset(applications))
        };
        if told.iter().any(is_it) {
            return;
        }
    }
}

/// Waits until a question about the cluster, asked again after each change, has the answer yes.
pub(crate) async fn until(changes: &mut Changes, mut question: impl FnMut() -> bool) {
    while !question() {
        changes.next().await;
    }
}
