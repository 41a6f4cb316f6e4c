//! How kinds of objects are treated: health scripts, actions, ignored
//! differences, and which kinds are not looked at.

use std::collections::BTreeMap;

use gocompat::glob;
use gocompat::glob::list::{self, Mode};
use serde::{Deserialize, Deserializer};

use crate::reader::{Reader, boolean};

/// The customisation that applies to every kind.
pub const EVERY_KIND: &str = "*/*";
const CRDS: &str = "apiextensions.k8s.io/CustomResourceDefinition";
const PREFIX: &str = "resource.customizations.";

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resources {
    /// By `group/Kind`, `Kind` for the core group, or a pattern of these.
    /// `/status` is already among the ignored differences where it shall be.
    pub overrides: BTreeMap<String, ResourceOverride>,
    /// Kinds that are not looked at.
    pub exclusions: Vec<KindFilter>,
    /// Where not empty, the only kinds that are.
    pub inclusions: Vec<KindFilter>,
    /// How to compare.
    pub compare: CompareOptions,
    /// Are updates that change only ignored fields left alone?
    pub ignores_updates: bool,
    /// What to do about kinds that we may not list.
    pub respect_rbac: RespectRbac,
    /// Labels shown in the resource tree.
    pub custom_labels: Vec<String>,
    /// Annotations whose values are not shown.
    pub masked_annotations: Vec<String>,
    /// Labels of Applications that their events carry, as patterns.
    pub event_labels: Vec<String>,
    /// Labels that they do not carry, as patterns.
    pub hidden_event_labels: Vec<String>,
    /// Labels of nodes that pods show.
    pub node_labels: Vec<String>,
}

impl Resources {
    /// The labels that events about an Application carry: its own and its project's, as far as they are
    /// to be shown. Of two with one name its own counts.
    #[must_use]
    pub fn labels_of_events(
        &self,
        own: &BTreeMap<String, String>,
        project: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let is_shown = |name: &str| {
            list::contains(&self.event_labels, name, Mode::Glob)
                && !list::contains(&self.hidden_event_labels, name, Mode::Glob)
        };
        let all = project.iter().chain(own).filter(|(name, _)| is_shown(name));
        all.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

/// How one kind is treated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceOverride {
    /// A script that judges health; empty for the usual rules.
    pub health_lua: String,
    /// May scripts use the standard libraries?
    pub uses_open_libs: bool,
    /// Actions: YAML of `discovery.lua`, `definitions` and `mergeBuiltinActions`.
    pub actions: String,
    /// Fields whose differences do not count.
    pub ignore_differences: IgnoredFields,
    /// Fields whose changes are no reason to look again.
    pub ignore_updates: IgnoredFields,
    /// Fields that have a known type.
    pub known_type_fields: Vec<KnownTypeField>,
}

/// Fields that do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IgnoredFields {
    /// As JSON pointers.
    #[serde(deserialize_with = "null_is_empty")]
    pub json_pointers: Vec<String>,
    /// As jq paths.
    #[serde(deserialize_with = "null_is_empty")]
    pub jq_path_expressions: Vec<String>,
    /// As owners of fields.
    #[serde(deserialize_with = "null_is_empty")]
    pub managed_fields_managers: Vec<String>,
}

/// A field of a known type, such as a quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KnownTypeField {
    /// The path, with dots.
    pub field: String,
    /// Such as `core/v1/PodSpec`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Go writes a list that was never filled as `null`.
fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Kinds of groups on clusters, each as patterns; an empty list is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KindFilter {
    /// API groups.
    #[serde(deserialize_with = "null_is_empty")]
    pub api_groups: Vec<String>,
    /// Kinds: names or `*`.
    #[serde(deserialize_with = "null_is_empty")]
    pub kinds: Vec<String>,
    /// Addresses of clusters.
    #[serde(deserialize_with = "null_is_empty")]
    pub clusters: Vec<String>,
}

/// `resource.compareoptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// Rules of aggregated ClusterRoles do not count.
    pub ignore_aggregated_roles: bool,
    /// Whose status does not count.
    pub ignore_status: IgnoreStatus,
    /// Ignored differences are no reason to look again either.
    pub ignore_differences_on_updates: bool,
    /// The API server is asked what applying would do: `resource.server-side-diff`.
    pub server_side_diff: bool,
}

/// Whose status does not count in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreStatus {
    /// Everybody's.
    All,
    /// That of CustomResourceDefinitions.
    Crds,
    /// Nobody's.
    None,
}

/// What to do about kinds that we may not list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RespectRbac {
    /// It is an error.
    Off,
    /// They are left out when the list is refused.
    Normal,
    /// The API server is asked beforehand.
    Strict,
}

impl Resources {
    /// Is this kind left out on this cluster? An exclusion wins; where there
    /// are inclusions for a cluster, nothing else is in.
    #[must_use]
    pub fn excludes(&self, group: &str, kind: &str, cluster: &str) -> bool {
        if self.exclusions.iter().any(|it| it.applies(group, kind, cluster)) {
            return true;
        }
        !self.inclusions.iter().any(|it| it.applies(group, kind, cluster))
            && self.inclusions.iter().any(|it| it.applies_to_cluster(cluster))
    }

    /// The rules for one cluster, as its store takes them.
    #[must_use]
    pub fn exclusions_of(&self, cluster: &str) -> cluster::Exclusions {
        let rules = |filters: &[KindFilter]| {
            let filters = filters.iter().filter(|it| it.applies_to_cluster(cluster));
            let rule = |it: &KindFilter| cluster::KindRule {
                groups: it.api_groups.clone(),
                kinds: it.kinds.clone(),
            };
            filters.map(rule).collect()
        };
        cluster::Exclusions { exclude: rules(&self.exclusions), include: rules(&self.inclusions) }
    }

    /// What is customised for exactly this kind.
    #[must_use]
    pub fn of_kind(&self, group: &str, kind: &str) -> Option<&ResourceOverride> {
        if group.is_empty() {
            return self.overrides.get(kind);
        }
        self.overrides.get(&format!("{group}/{kind}"))
    }
}

impl KindFilter {
    fn applies(&self, group: &str, kind: &str, cluster: &str) -> bool {
        let is_group = self.api_groups.is_empty()
            || self.api_groups.iter().any(|it| glob::matches(it, group, &[]));
        let is_kind = self.kinds.is_empty() || self.kinds.iter().any(|it| it == "*" || it == kind);
        is_group && is_kind && self.applies_to_cluster(cluster)
    }

    fn applies_to_cluster(&self, cluster: &str) -> bool {
        self.clusters.is_empty() || self.clusters.iter().any(|it| glob::matches(it, cluster, &[]))
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Resources {
    let compare = compare_options(reader);
    let mut overrides = whole_customizations(reader);
    single_customizations(reader, &mut overrides);
    let without_status = match compare.ignore_status {
        IgnoreStatus::All => Some(EVERY_KIND),
        IgnoreStatus::Crds => Some(CRDS),
        IgnoreStatus::None => None,
    };
    if let Some(kind) = without_status {
        let entry = overrides.entry(kind.to_owned()).or_default();
        entry.ignore_differences.json_pointers.push("/status".into());
    }
    let respect_rbac = match reader.text("resource.respectRBAC") {
        "" => RespectRbac::Off,
        "normal" => RespectRbac::Normal,
        "strict" => RespectRbac::Strict,
        other => {
            let message = format!("{other:?} is neither normal nor strict; taken as off");
            reader.find("resource.respectRBAC", message);
            RespectRbac::Off
        }
    };
    Resources {
        overrides,
        exclusions: reader.yaml("resource.exclusions"),
        inclusions: reader.yaml("resource.inclusions"),
        compare,
        ignores_updates: reader.flag("resource.ignoreResourceUpdatesEnabled", true),
        respect_rbac,
        custom_labels: reader.list("resource.customLabels"),
        masked_annotations: reader.list("resource.sensitive.mask.annotations"),
        event_labels: reader.list("resource.includeEventLabelKeys"),
        hidden_event_labels: reader.list("resource.excludeEventLabelKeys"),
        node_labels: reader.list("application.allowedNodeLabels"),
    }
}

/// As `resource.customizations` has a kind; YAML inside of YAML for the ignored fields.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WholeOverride {
    #[serde(rename = "health.lua")]
    health_lua: String,
    #[serde(rename = "health.lua.useOpenLibs")]
    uses_open_libs: bool,
    actions: String,
    ignore_differences: String,
    ignore_resource_updates: String,
    known_type_fields: Vec<KnownTypeField>,
}

fn whole_customizations(reader: &mut Reader<'_>) -> BTreeMap<String, ResourceOverride> {
    const KEY: &str = "resource.customizations";
    let whole: BTreeMap<String, Option<WholeOverride>> = reader.yaml(KEY);
    let mut overrides = BTreeMap::new();
    for (kind, whole) in whole {
        let whole = whole.unwrap_or_default();
        let ignore_differences = reader.yaml_of(KEY, &whole.ignore_differences);
        let ignore_updates = reader.yaml_of(KEY, &whole.ignore_resource_updates);
        let read = ResourceOverride {
            health_lua: whole.health_lua,
            uses_open_libs: whole.uses_open_libs,
            actions: whole.actions,
            ignore_differences,
            ignore_updates,
            known_type_fields: whole.known_type_fields,
        };
        overrides.insert(kind, read);
    }
    overrides
}

/// `resource.customizations.<what>.<group>_<Kind>`.
fn single_customizations(
    reader: &mut Reader<'_>,
    overrides: &mut BTreeMap<String, ResourceOverride>,
) {
    for (key, text) in reader.data {
        let Some((what, kind)) = key.strip_prefix(PREFIX).and_then(|it| it.split_once('.')) else {
            continue;
        };
        let Some(kind) = kind_key(kind) else {
            reader.find(key, "the key must end with <group>_<Kind> or <Kind>");
            continue;
        };
        let entry = overrides.entry(kind).or_default();
        match what {
            "health" => entry.health_lua.clone_from(text),
            "useOpenLibs" => match boolean(text) {
                Some(uses) => entry.uses_open_libs = uses,
                None => reader.find(key, format!("{text:?} is neither true nor false")),
            },
            "actions" => entry.actions.clone_from(text),
            "ignoreDifferences" => entry.ignore_differences = reader.yaml_of(key, text),
            "ignoreResourceUpdates" => entry.ignore_updates = reader.yaml_of(key, text),
            "knownTypeFields" => entry.known_type_fields = reader.yaml_of(key, text),
            _ => reader.find(key, format!("there is no customization {what:?}")),
        }
    }
}

fn kind_key(text: &str) -> Option<String> {
    match text.split('_').collect::<Vec<_>>()[..] {
        [""] => None,
        ["all"] => Some(EVERY_KIND.to_owned()),
        [kind] => Some(kind.to_owned()),
        [group, kind] => Some(format!("{group}/{kind}")),
        _ => None,
    }
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WrittenCompareOptions {
    ignore_aggregated_roles: bool,
    /// Also YAML's `off`, which is a boolean by the time we see it.
    ignore_resource_status_field: serde_json::Value,
    ignore_differences_on_resource_updates: bool,
}

impl Default for WrittenCompareOptions {
    fn default() -> Self {
        Self {
            ignore_aggregated_roles: false,
            ignore_resource_status_field: serde_json::Value::Null,
            ignore_differences_on_resource_updates: true,
        }
    }
}

fn compare_options(reader: &mut Reader<'_>) -> CompareOptions {
    const KEY: &str = "resource.compareoptions";
    let written: WrittenCompareOptions = reader.yaml(KEY);
    let status = match &written.ignore_resource_status_field {
        serde_json::Value::String(text) => text.as_str(),
        serde_json::Value::Bool(false) => "none",
        _ => "",
    };
    let ignore_status = match status {
        "" | "all" => IgnoreStatus::All,
        "crd" => IgnoreStatus::Crds,
        "none" | "off" | "false" => IgnoreStatus::None,
        other => {
            reader
                .find(KEY, format!("ignoreResourceStatusField cannot be {other:?}; taken as all"));
            IgnoreStatus::All
        }
    };
    CompareOptions {
        ignore_aggregated_roles: written.ignore_aggregated_roles,
        ignore_status,
        ignore_differences_on_updates: written.ignore_differences_on_resource_updates,
        server_side_diff: reader.flag("resource.server-side-diff", false),
    }
}
