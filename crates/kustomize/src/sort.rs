//! The order of the result.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::error::{Result, invalid};
use crate::kustomization::parts::{LegacyOrder, SortOptions};
use crate::resource::Resource;
use crate::resource::id::{Gvk, ResourceId};
use crate::schema::Scopes;

const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Sorts as the options say; `fifo` keeps the order of the files.
pub(crate) fn sort(
    resources: &mut Vec<Resource>,
    options: &SortOptions,
    scopes: &Scopes,
) -> Result<()> {
    match (options.order.as_str(), &options.legacy) {
        ("fifo", None) => Ok(()),
        ("fifo", Some(_)) => Err(invalid(
            "the field 'sortOptions.legacySortOptions' is set but the selected sort order is \
             'fifo', not 'legacy'",
        )),
        ("legacy", None) => {
            sort_legacy(resources, &ranks(&FIRST, &LAST), scopes);
            Ok(())
        }
        ("legacy", Some(LegacyOrder { first, last })) => {
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            let last: Vec<&str> = last.iter().map(String::as_str).collect();
            sort_legacy(resources, &ranks(&first, &last), scopes);
            Ok(())
        }
        _ => Err(invalid("the field 'sortOptions.order' must be one of [fifo, legacy]")),
    }
}

/// Sorts in the order that suits `kubectl apply`.
pub(crate) fn sort_by_default(resources: &mut Vec<Resource>, scopes: &Scopes) {
    sort_legacy(resources, &ranks(&FIRST, &LAST), scopes);
}

type Ranks<'k> = BTreeMap<&'k str, i64>;

fn ranks<'k>(first: &[&'k str], last: &[&'k str]) -> Ranks<'k> {
    let count = i64::try_from(first.len()).unwrap_or(i64::MAX);
    let mut ranks = BTreeMap::new();
    for (rank, kind) in (-count..).zip(first) {
        ranks.insert(*kind, rank);
    }
    for (rank, kind) in (1..).zip(last) {
        ranks.insert(*kind, rank);
    }
    ranks
}

/// The parts of an id that decide about its place, made once.
struct SortKey {
    rank: i64,
    gvk: Gvk,
    kind: String,
    id: String,
}

fn sort_legacy(resources: &mut Vec<Resource>, ranks: &Ranks<'_>, scopes: &Scopes) {
    let mut keyed: Vec<(SortKey, Resource)> = resources
        .drain(..)
        .map(|resource| {
            let id = resource.id(scopes);
            let key = SortKey {
                rank: ranks.get(id.gvk.kind.as_str()).copied().unwrap_or(0),
                kind: kind_text(&id.gvk),
                id: id_text(&id),
                gvk: id.gvk,
            };
            (key, resource)
        })
        .collect();
    keyed.sort_by(
        |(a, _), (b, _)| {
            if a.gvk == b.gvk { a.id.cmp(&b.id) } else { compare_kinds(a, b) }
        },
    );
    resources.extend(keyed.into_iter().map(|(_, resource)| resource));
}

fn compare_kinds(a: &SortKey, b: &SortKey) -> Ordering {
    if a.rank != b.rank {
        return a.rank.cmp(&b.rank);
    }
    // The Namespace of the core group comes before kinds of the same name.
    let are_namespaces = a.gvk.kind == "Namespace" && b.gvk.kind == "Namespace";
    if are_namespaces && (a.gvk.group.is_empty() || b.gvk.group.is_empty()) {
        return b.kind.cmp(&a.kind);
    }
    a.kind.cmp(&b.kind)
}

fn kind_text(gvk: &Gvk) -> String {
    let or = |part: &'_ str, placeholder: &'static str| {
        if part.is_empty() { placeholder.to_owned() } else { part.to_owned() }
    };
    format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
}

fn id_text(id: &ResourceId) -> String {
    let namespace = if id.namespace.is_empty() { "~X" } else { &id.namespace };
    let name = if id.name.is_empty() { "~N" } else { &id.name };
    format!("{}|{namespace}|{name}", id.gvk)
}

/// The order of kinds in field tables.
pub(crate) fn legacy_order(a: &Gvk, b: &Gvk) -> Ordering {
    let rank = |kind: &str| {
        if let Some(at) = FIRST.iter().position(|it| *it == kind) {
            i64::try_from(at).unwrap_or(0) - 22
        } else {
            LAST.iter()
                .position(|it| *it == kind)
                .map_or(0, |at| i64::try_from(at).unwrap_or(0) + 1)
        }
    };
    rank(&a.kind).cmp(&rank(&b.kind)).then_with(|| kind_text(a).cmp(&kind_text(b)))
}
