//! What lies in an Application's namespace and is nobody's.

use std::collections::BTreeSet;

use api::Application;
use cluster::{Cluster, Known};
use engine::project::orphans;
use engine::{Comparison, Concern, Finding, tree};
use object::{GroupKind, ResourceKey};

use crate::Controller;
use crate::projects::Permit;

/// How many levels of owners are followed.
const DEPTH: usize = 16;

/// The orphans with all they own, in key order; none unless the project looks
/// after them.
pub(crate) fn orphans(
    controller: &Controller,
    app: &Application,
    permit: &Permit,
    cluster: &Cluster,
    comparison: &Comparison,
) -> Vec<Known> {
    let Some(settings) = &permit.project.spec.orphaned_resources else { return Vec::new() };
    let namespace = &app.spec.destination.namespace;
    if namespace.is_empty() {
        return Vec::new();
    }
    let is_somebodys = |it: &Known| {
        it.tracked_by.as_ref().is_some_and(|instance| controller.is_application(instance))
    };
    let is_orphan = |it: &Known| {
        it.owners.is_empty()
            && !comparison.items.contains_key(&it.key)
            && !orphans::is_expected(settings, &it.key)
            && !is_owned_by_name(cluster, comparison, &it.key)
            && permit.permits(&it.key).is_ok()
    };
    let mut seen = BTreeSet::<ResourceKey>::new();
    let mut found = Vec::new();
    let mut level: Vec<Known> =
        cluster.in_namespace(namespace).into_iter().filter(is_orphan).collect();
    for _ in 0..DEPTH {
        level.retain(|it| !is_somebodys(it) && seen.insert(it.key.clone()));
        if level.is_empty() {
            break;
        }
        let below = level.iter().flat_map(|it| cluster.children(&it.uid)).collect();
        found.append(&mut level);
        level = below;
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

/// Endpoints of a Service and claims of a StatefulSet name no owner; their names tell.
fn is_owned_by_name(cluster: &Cluster, comparison: &Comparison, key: &ResourceKey) -> bool {
    let kind = key.group_kind();
    if kind.is("", "Endpoints") {
        let service = GroupKind::new("", "Service");
        return cluster.known(&ResourceKey::new(&service, &key.namespace, &key.name)).is_some();
    }
    let mut live = comparison.items.values().filter_map(|it| it.pair.live());
    kind.is("", "PersistentVolumeClaim")
        && live.any(|it| {
            it.group_kind().is("apps", "StatefulSet")
                && it.namespace() == key.namespace
                && tree::claims_by_name(it, &key.name)
        })
}

/// What the user is told about them.
pub(crate) fn warning(permit: &Permit, orphans: &[Known]) -> Option<Finding> {
    let settings = permit.project.spec.orphaned_resources.as_ref()?;
    let message = format!("Application has {} orphaned resources", orphans.len());
    let is_worth_it = !orphans.is_empty() && orphans::warns(settings);
    is_worth_it.then(|| Finding::new(Concern::OrphanedResource, message))
}
