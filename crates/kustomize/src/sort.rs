//! The order of the result.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::error::{Result, invalid};
use crate::kustomization::parts::{LegacyOrder, SortOptions};
use crate::resource::Resource;
use crate::resource::id::{Gvk, IdParts};

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
pub(crate) fn sort(resources: &mut Vec<Resource>, options: &SortOptions) -> Result<()> {
    match (options.order.as_str(), &options.legacy) {
        ("fifo", None) => Ok(()),
        ("fifo", Some(_)) => Err(invalid(
            "the field 'sortOptions.legacySortOptions' is set but the selected sort order is \
             'fifo', not 'legacy'",
        )),
        ("legacy", None) => {
            sort_legacy(resources, &ranks(&FIRST, &LAST));
            Ok(())
        }
        ("legacy", Some(LegacyOrder { first, last })) => {
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            let last: Vec<&str> = last.iter().map(String::as_str).collect();
            sort_legacy(resources, &ranks(&first, &last));
            Ok(())
        }
        _ => Err(invalid("the field 'sortOptions.order' must be one of [fifo, legacy]")),
    }
}

/// Sorts in the order that suits `kubectl apply`.
pub(crate) fn sort_by_default(resources: &mut Vec<Resource>) {
    sort_legacy(resources, &ranks(&FIRST, &LAST));
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

/// What decides about a resource's place, made once.
struct SortKey<'r> {
    rank: i64,
    id: IdParts<'r>,
    kind: String,
    /// Namespace and name.
    place: String,
}

impl<'r> SortKey<'r> {
    fn of(resource: &'r Resource, ranks: &Ranks<'_>) -> Self {
        let id = resource.id_parts();
        Self {
            rank: ranks.get(id.kind).copied().unwrap_or(0),
            kind: kind_text(id.group, id.version, id.kind),
            place: [or(id.namespace, "~X"), "|", or(id.name, "~N")].concat(),
            id,
        }
    }

    fn gvk(&self) -> [&'r str; 3] {
        [self.id.kind, self.id.group, self.id.version]
    }
}

fn sort_legacy(resources: &mut Vec<Resource>, ranks: &Ranks<'_>) {
    let keys: Vec<SortKey<'_>> =
        resources.iter().map(|resource| SortKey::of(resource, ranks)).collect();
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&keys[*a], &keys[*b]);
        if a.gvk() == b.gvk() { a.place.cmp(&b.place) } else { compare_kinds(a, b) }
    });
    drop(keys);
    let mut unsorted: Vec<Option<Resource>> = resources.drain(..).map(Some).collect();
    resources.extend(order.into_iter().filter_map(|at| unsorted[at].take()));
}

fn compare_kinds(a: &SortKey<'_>, b: &SortKey<'_>) -> Ordering {
    if a.rank != b.rank {
        return a.rank.cmp(&b.rank);
    }
    // The Namespace of the core group comes before kinds of the same name.
    let are_namespaces = a.id.kind == "Namespace" && b.id.kind == "Namespace";
    if are_namespaces && (a.id.group.is_empty() || b.id.group.is_empty()) {
        return b.kind.cmp(&a.kind);
    }
    a.kind.cmp(&b.kind)
}

fn kind_text(group: &str, version: &str, kind: &str) -> String {
    [or(group, "~G"), "_", or(version, "~V"), "_", or(kind, "~K")].concat()
}

fn or<'t>(part: &'t str, placeholder: &'static str) -> &'t str {
    if part.is_empty() { placeholder } else { part }
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
    let text = |gvk: &Gvk| kind_text(&gvk.group, &gvk.version, &gvk.kind);
    rank(&a.kind).cmp(&rank(&b.kind)).then_with(|| text(a).cmp(&text(b)))
}
