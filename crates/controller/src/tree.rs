//! Gathers the resource tree of an Application: what it has, and what that owns.
//!
//! The live store knows who owns whom but keeps no bodies of objects that no
//! Application tracks. Those are read when somebody looks at a tree, and kept by
//! version: who looks again asks only for what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use api::{ApplicationTree, HostInfo, InfoItem, ResourceNode, ResourceRef};
use cluster::{ApiKind, Cluster, Known, Selector};
use engine::{Comparison, HealthRules, tree};
use object::{GroupKind, GroupVersionKind, Object, ResourceKey};
use serde_json::Value;

/// How many levels of owners are followed.
const DEPTH: usize = 16;
/// Bodies kept between looks. Past it all are forgotten: whoever looks pays once.
const KEPT_BODIES: usize = 4096;

/// Bodies of objects below Applications, by uid.
#[derive(Default)]
pub(crate) struct Bodies(Mutex<BTreeMap<String, (String, Arc<Object>)>>);

/// What is shown of objects and machines beyond the usual.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'s> {
    /// `resource.customLabels`: labels of objects.
    pub(crate) labels: &'s [String],
    /// `application.allowedNodeLabels`: labels of machines.
    pub(crate) node_labels: &'s [String],
}

/// The tree of what was compared.
pub(crate) async fn tree(
    cluster: &Cluster,
    comparison: &Comparison,
    orphans: &[Known],
    bodies: &Bodies,
    rules: &(dyn HealthRules + Sync),
    shown: Shown<'_>,
) -> ApplicationTree {
    let node = |it: &Object, parents: Vec<ResourceRef>| {
        let mut node = tree::node(it, parents, rules);
        node.info.extend(labels(it, shown.labels));
        node
    };
    let roots: Vec<&Object> = comparison.items.values().filter_map(|it| it.pair.live()).collect();
    let below = descendants(cluster, &roots);
    let mut children = bodies.of(cluster, &below).await;
    children.retain(|it| !is_of_another_group(it, &roots));
    let mut nodes: Vec<ResourceNode> = comparison
        .items
        .iter()
        .filter(|(_, it)| it.pair.live().is_none())
        .map(|(key, it)| tree::missing(key, it.pair.either()))
        .collect();
    let all: Vec<&Object> =
        roots.iter().copied().chain(children.iter().map(AsRef::as_ref)).collect();
    nodes.extend(all.iter().map(|it| node(it, parents(cluster, it, &roots))));
    let orphans = bodies.of(cluster, orphans).await;
    let orphaned_nodes = orphans.iter().map(|it| node(it, parents(cluster, it, &[]))).collect();
    let hosts = hosts(cluster, &all, shown.node_labels).await;
    ApplicationTree { nodes, orphaned_nodes, hosts, ..ApplicationTree::default() }
}

/// The labels of an object that are to be shown.
fn labels(object: &Object, shown: &[String]) -> Vec<InfoItem> {
    let value = |name: &String| object.text(&["metadata", "labels", name]).map(str::to_owned);
    let items = shown.iter().filter_map(|name| Some((name.clone(), value(name)?)));
    items.map(|(name, value)| InfoItem { name, value }).collect()
}

/// Everything below the roots, each once.
fn descendants(cluster: &Cluster, roots: &[&Object]) -> Vec<Known> {
    let mut seen: BTreeSet<ResourceKey> = roots.iter().map(|it| it.key()).collect();
    let mut found = Vec::new();
    let mut level: Vec<Known> = roots.iter().flat_map(|it| children(cluster, it)).collect();
    for _ in 0..DEPTH {
        let new: Vec<Known> = level.into_iter().filter(|it| seen.insert(it.key.clone())).collect();
        if new.is_empty() {
            break;
        }
        level = new.iter().flat_map(|it| cluster.children(&it.uid)).collect();
        found.extend(new);
    }
    found
}

/// What an object owns, by reference or by name.
fn children(cluster: &Cluster, parent: &Object) -> Vec<Known> {
    let mut children = cluster.children(uid(parent));
    let kind = parent.group_kind();
    if kind.is("", "Service") {
        let endpoints = GroupKind::new("", "Endpoints");
        let key = ResourceKey::new(&endpoints, parent.namespace(), parent.name());
        children.extend(cluster.known(&key).filter(|it| it.owners.is_empty()));
    }
    if kind.is("apps", "StatefulSet") && !parent.list(&["spec", "volumeClaimTemplates"]).is_empty()
    {
        let is_claim = |it: &Known| {
            it.key.group_kind().is("", "PersistentVolumeClaim")
                && tree::claims_by_name(parent, &it.key.name)
        };
        children.extend(cluster.in_namespace(parent.namespace()).into_iter().filter(is_claim));
    }
    if kind.is(OPERATORS, "OperatorGroup") {
        let is_version = |it: &Known| it.key.group_kind().is(OPERATORS, CLUSTER_SERVICE_VERSION);
        children.extend(cluster.in_namespace(parent.namespace()).into_iter().filter(is_version));
    }
    children
}

const OPERATORS: &str = "operators.coreos.com";
const CLUSTER_SERVICE_VERSION: &str = "ClusterServiceVersion";

/// The store does not know which group an operator's version is of; its body does.
fn is_of_another_group(object: &Object, roots: &[&Object]) -> bool {
    object.group_kind().is(OPERATORS, CLUSTER_SERVICE_VERSION)
        && object.list(&["metadata", "ownerReferences"]).is_empty()
        && !roots.iter().any(|root| tree::is_inferred_parent(root, object))
}

/// The owners that an object names, and those that [`children`] infers.
fn parents(cluster: &Cluster, object: &Object, roots: &[&Object]) -> Vec<ResourceRef> {
    let kinds = cluster.kinds();
    let named = |owner: &Value| {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let kind = GroupVersionKind::parse(text("apiVersion"), text("kind"));
        let is_namespaced = kinds.find(&kind).is_none_or(|it| it.namespaced);
        ResourceRef {
            namespace: if is_namespaced { object.namespace().into() } else { String::new() },
            name: text("name").into(),
            uid: text("uid").into(),
            group: kind.group,
            version: kind.version,
            kind: kind.kind,
        }
    };
    let owners = object.list(&["metadata", "ownerReferences"]);
    let mut parents: Vec<ResourceRef> = owners.iter().map(named).collect();
    let by_name = roots.iter().filter(|root| tree::is_inferred_parent(root, object));
    parents.extend(by_name.map(|root| tree::reference(root)));
    parents
}

/// The machines that pods of the tree run on.
async fn hosts(cluster: &Cluster, objects: &[&Object], labels: &[String]) -> Vec<HostInfo> {
    let pods = objects.iter().filter(|it| it.group_kind().is("", "Pod"));
    let ours: BTreeSet<ResourceKey> = pods.clone().map(|it| it.key()).collect();
    let names: BTreeSet<&str> = pods
        .filter_map(|it| it.text(&["spec", "nodeName"]))
        .filter(|name| !name.is_empty())
        .collect();
    let node = ApiKind::known(&GroupVersionKind::parse("v1", "Node"), "nodes", false);
    let pod = ApiKind::known(&GroupVersionKind::parse("v1", "Pod"), "pods", true);
    let mut machines = Vec::new();
    let mut all_pods = Vec::new();
    for name in names {
        // Whoever may not read nodes or pods everywhere sees a tree without hosts.
        let Ok(Some(machine)) = cluster.client().get(&node, "", name).await else { continue };
        let fields = format!("spec.nodeName={name}");
        let selector = Selector { fields, ..Selector::default() };
        let Ok(pods) = cluster.client().list(&pod, "", &selector).await else { continue };
        machines.push(machine);
        all_pods.extend(pods.into_iter().map(|it| {
            let is_ours = ours.contains(&it.key());
            (it, is_ours)
        }));
    }
    tree::hosts(&machines, &all_pods, labels)
}

impl Bodies {
    /// The bodies of these objects, without those that went meanwhile.
    async fn of(&self, cluster: &Cluster, wanted: &[Known]) -> Vec<Arc<Object>> {
        let mut found: BTreeMap<ResourceKey, Arc<Object>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for known in wanted {
            match self.kept(known) {
                Some(object) => drop(found.insert(known.key.clone(), object)),
                None => unknown.push(known.key.clone()),
            }
        }
        for (key, fetched) in cluster.fetch(unknown).await {
            if let Ok(Some(live)) = fetched {
                let object = Arc::new(live.object());
                self.keep(live.uid, live.resource_version, Arc::clone(&object));
                found.insert(key, object);
            }
        }
        found.into_values().collect()
    }

    fn kept(&self, known: &Known) -> Option<Arc<Object>> {
        let bodies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (version, object) = bodies.get(&known.uid)?;
        (*version == known.resource_version).then(|| Arc::clone(object))
    }

    fn keep(&self, uid: String, version: String, object: Arc<Object>) {
        let mut bodies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bodies.len() >= KEPT_BODIES {
            bodies.clear();
        }
        bodies.insert(uid, (version, object));
    }
}

fn uid(object: &Object) -> &str {
    object.text(&["metadata", "uid"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_that_the_settings_name_are_shown() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p",
            "labels": {"team": "blue", "tier": "web"}}});
        let object = Object::from_value(object).expect("an object");
        let shown = labels(&object, &["team".into(), "absent".into()]);
        assert_eq!(shown, [InfoItem { name: "team".into(), value: "blue".into() }]);
    }
}
