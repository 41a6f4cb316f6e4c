//! What of the installation's settings concerns the controller, in its terms.
//!
//! Compared as a whole: a change that says nothing new here, such as a
//! password, wakes nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::ResourceIgnoreDifferences;
use cluster::{Exclusions, StoreOptions, Tagged};
use engine::diff::ignore::{Ignoring, StatusOf};
use engine::project::Impersonation;
use engine::project::inherit::GlobalProject;
use engine::{CompareSettings, Finding, KnownType};
use gocompat::glob;
use object::GroupKind;
use render::tracking::{Tracking, TrackingMethod};
use settings::Settings as All;
use settings::clusters::ClusterSettings;
use settings::resources::{IgnoreStatus, IgnoredFields, ResourceOverride, Resources, RespectRbac};

use crate::destinations::instance_of;
use crate::tree::Shown;

/// The settings of an installation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How objects are marked.
    pub(crate) tracking: Tracking,
    /// `timeout.reconciliation`; zero is never.
    pub(crate) poll_every: Duration,
    /// `timeout.reconciliation.jitter`.
    pub(crate) poll_jitter: Duration,
    /// `timeout.hard.reconciliation`; zero is never.
    pub(crate) poll_hard: Duration,
    /// How long an Application keeps its status while its sources cannot be read
    /// (`controller.repo.error.grace.period.seconds`).
    pub(crate) source_error_grace: Duration,
    /// What comparisons ignore, whatever the Application.
    pub(crate) comparing: CompareSettings,
    /// Annotations of Secrets that nobody is shown.
    pub(crate) masked_annotations: BTreeSet<String>,
    /// Projects whose rules hold in others.
    pub(crate) global_projects: Vec<GlobalProject>,
    /// Clusters besides our own.
    pub(crate) clusters: Vec<ClusterSettings>,
    /// Whose rights syncs have.
    pub(crate) impersonation: Impersonation,
    /// The health of single objects is kept in the Application
    /// (`controller.resource.health.persist`).
    pub(crate) keeps_health: bool,
    resources: Resources,
    ignored_updates: IgnoredUpdates,
    /// Where nobody wrote settings, the kinds that Argo CD's own leave out are left out.
    are_written: bool,
}

/// Fields whose changes are no reason to look again, compiled once for all batches
/// of changes; they follow from the other settings, so they do not count when
/// settings are compared.
#[derive(Clone, Debug)]
struct IgnoredUpdates {
    /// None where every change is a reason.
    fields: Option<Ignoring>,
    unreadable: Vec<Finding>,
}

impl PartialEq for IgnoredUpdates {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl IgnoredUpdates {
    fn of(resources: &Resources, comparing: &CompareSettings) -> Self {
        if !resources.ignores_updates {
            return Self { fields: None, unreadable: Vec::new() };
        }
        let mut rules = fields_of_kinds(resources, |it| &it.ignore_updates);
        let status = if resources.compare.ignore_differences_on_updates {
            rules.extend(comparing.ignore.iter().cloned());
            comparing.status
        } else {
            StatusOf::None
        };
        let (fields, unreadable) = Ignoring::of(&[], &rules, status);
        Self { fields: Some(fields), unreadable }
    }
}

/// What flags say instead of `argocd-cmd-params-cm`.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--server-side-diff-enabled`, instead of `controller.diff.server.side`.
    pub asks_server: Option<bool>,
    /// `--repo-error-grace-period-seconds`, instead of `controller.repo.error.grace.period.seconds`.
    pub source_error_grace: Option<Duration>,
    /// `--persist-resource-health`, instead of `controller.resource.health.persist`.
    pub keeps_health: Option<bool>,
}

impl Settings {
    /// The part that concerns the controller, where no flag says otherwise.
    #[must_use]
    pub fn of(all: &All) -> Self {
        Self::overridden(all, &Overrides::default())
    }

    /// The part that concerns the controller.
    pub(crate) fn overridden(all: &All, flags: &Overrides) -> Self {
        let says =
            |flag: Option<bool>, key: &str| flag.or_else(|| all.params.flag(key)) == Some(true);
        let tracking = tracking(&all.tracking);
        let by_label = tracking.method == TrackingMethod::Label;
        let comparing = CompareSettings {
            ignore: ignored(&all.resources),
            status: match all.resources.compare.ignore_status {
                IgnoreStatus::All => StatusOf::All,
                IgnoreStatus::Crds => StatusOf::Definitions,
                IgnoreStatus::None => StatusOf::None,
            },
            known_types: known_types(&all.resources),
            ignores_aggregated_roles: all.resources.compare.ignore_aggregated_roles,
            asks_server: all.resources.compare.server_side_diff
                || says(flags.asks_server, "controller.diff.server.side"),
            instance_label: (!by_label).then(|| tracking.label_key.clone()),
        };
        Self {
            ignored_updates: IgnoredUpdates::of(&all.resources, &comparing),
            keeps_health: says(flags.keeps_health, "controller.resource.health.persist"),
            comparing,
            tracking,
            poll_every: all.timeouts.reconciliation,
            poll_jitter: all.timeouts.reconciliation_jitter,
            poll_hard: all.timeouts.hard_reconciliation,
            source_error_grace: flags.source_error_grace.unwrap_or_else(|| source_error_grace(all)),
            masked_annotations: all.resources.masked_annotations.iter().cloned().collect(),
            global_projects: all.global_projects.iter().map(global_project).collect(),
            clusters: all.clusters.clone(),
            impersonation: match (
                all.server.impersonation_enabled,
                all.server.impersonation_enforced,
            ) {
                (false, _) => Impersonation::Off,
                (true, false) => Impersonation::WhereNamed,
                (true, true) => Impersonation::Enforced,
            },
            resources: all.resources.clone(),
            are_written: all.are_written,
        }
    }

    /// What trees show beyond the usual.
    pub(crate) fn shown(&self) -> Shown<'_> {
        let Resources { custom_labels, node_labels, .. } = &self.resources;
        Shown { labels: custom_labels, node_labels }
    }

    /// The labels of the events about an Application, of its own and its project's.
    pub(crate) fn labels_of_events(
        &self,
        own: &BTreeMap<String, String>,
        project: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        self.resources.labels_of_events(own, project)
    }

    /// How the cluster at this address is watched.
    #[must_use]
    pub fn store_options(&self, server: &str) -> StoreOptions {
        let tracking = self.tracking.clone();
        StoreOptions {
            exclusions: self.exclusions_of(server),
            leaves_forbidden_alone: self.resources.respect_rbac != RespectRbac::Off,
            ..StoreOptions::new(move |object: &Tagged<'_>| instance_of(object, &tracking))
        }
    }

    /// The kinds that are left alone on the cluster at this address.
    pub(crate) fn exclusions_of(&self, server: &str) -> Exclusions {
        if self.are_written {
            self.resources.exclusions_of(server)
        } else {
            Exclusions::as_shipped()
        }
    }

    /// Does a cluster have to be watched anew because of what changed since `before`?
    pub(crate) fn watches_otherwise_than(&self, before: &Self) -> bool {
        let watching = |it: &Self| {
            let Resources { exclusions, inclusions, respect_rbac, .. } = it.resources.clone();
            (it.tracking.clone(), exclusions, inclusions, respect_rbac, it.are_written)
        };
        watching(self) != watching(before)
    }

    /// Fields whose changes are no reason to look again; none where every change is one.
    pub(crate) fn ignored_updates(&self) -> Option<&Ignoring> {
        self.ignored_updates.fields.as_ref()
    }

    /// What cannot be read of the rules about updates.
    pub(crate) fn unreadable_update_rules(&self) -> &[Finding] {
        &self.ignored_updates.unreadable
    }

    /// The script that judges a kind, if a user brought one. A name without
    /// patterns goes before one with them.
    pub(crate) fn health_script(&self, kind: &GroupKind) -> Option<&str> {
        let name = kind.to_string();
        let overrides = &self.resources.overrides;
        let scripts = || overrides.iter().filter(|(_, it)| !it.health_lua.trim().is_empty());
        let exact = scripts().find(|(key, _)| **key == name);
        let by_pattern =
            || scripts().find(|(key, _)| key.contains('*') && glob::matches(key, &name, &[]));
        exact.or_else(by_pattern).map(|(_, it)| it.health_lua.as_str())
    }
}

fn source_error_grace(all: &All) -> Duration {
    let seconds = all.params.text("controller.repo.error.grace.period.seconds");
    Duration::from_secs(seconds.and_then(|it| it.parse().ok()).unwrap_or(180))
}

/// By what objects are known to be of an Application, as manifests are marked with it.
#[must_use]
pub fn tracking(written: &settings::Tracking) -> Tracking {
    Tracking {
        method: match written.method {
            settings::TrackingMethod::Annotation => TrackingMethod::Annotation,
            settings::TrackingMethod::Label => TrackingMethod::Label,
            settings::TrackingMethod::AnnotationAndLabel => TrackingMethod::AnnotationAndLabel,
        },
        label_key: written.label_key.clone(),
        installation_id: written.installation_id.clone(),
    }
}

fn global_project(written: &settings::GlobalProject) -> GlobalProject {
    GlobalProject {
        project_name: written.project_name.clone(),
        label_selector: written.label_selector.clone(),
    }
}

fn known_types(resources: &Resources) -> Vec<KnownType> {
    let of_kind = |(kind, written): (&String, &ResourceOverride)| {
        let (group, name) = kind.split_once('/').unwrap_or(("", kind));
        let kind = GroupKind::new(group, name);
        let fields = written.known_type_fields.clone().into_iter();
        fields.map(move |it| KnownType { kind: kind.clone(), field: it.field, type_name: it.kind })
    };
    resources.overrides.iter().flat_map(of_kind).collect()
}

/// The ignored fields of every kind, as an Application would write them.
fn ignored(resources: &Resources) -> Vec<ResourceIgnoreDifferences> {
    let mut rules = fields_of_kinds(resources, |it| &it.ignore_differences);
    for rule in &mut rules {
        // The comparison knows about the status by itself.
        let is_of_every_kind = (rule.group.as_str(), rule.kind.as_str()) == ("*", "*");
        if is_of_every_kind || rule.kind == "CustomResourceDefinition" {
            rule.json_pointers.retain(|it| it != "/status");
        }
    }
    rules.retain(says_something);
    rules
}

fn says_something(rule: &ResourceIgnoreDifferences) -> bool {
    !rule.json_pointers.is_empty()
        || !rule.jq_path_expressions.is_empty()
        || !rule.managed_fields_managers.is_empty()
}

fn fields_of_kinds(
    resources: &Resources,
    fields: impl Fn(&ResourceOverride) -> &IgnoredFields,
) -> Vec<ResourceIgnoreDifferences> {
    let of_kind = |(kind, written): (&String, &ResourceOverride)| {
        let (group, name) = kind.split_once('/').unwrap_or(("", kind));
        let fields = fields(written);
        ResourceIgnoreDifferences {
            group: group.into(),
            kind: name.into(),
            json_pointers: fields.json_pointers.clone(),
            jq_path_expressions: fields.jq_path_expressions.clone(),
            managed_fields_managers: fields.managed_fields_managers.clone(),
            ..ResourceIgnoreDifferences::default()
        }
    };
    resources.overrides.iter().map(of_kind).filter(says_something).collect()
}

#[cfg(test)]
mod tests {
    use engine::health::BuiltinOnly;
    use engine::update::matters;
    use object::Object;
    use serde_json::json;
    use settings::{Sources, names};

    use super::*;

    fn read(data: &[(&str, &str)]) -> Settings {
        let mut sources = Sources::default();
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        sources.config_maps.insert(names::CONFIG.into(), data.collect());
        Settings::of(&All::read(&sources))
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let settings = Settings::of(&All::read(&Sources::default()));
        assert_eq!(settings.tracking, Tracking::default());
        assert_eq!(settings.poll_every, Duration::from_secs(120));
        assert_eq!(settings.comparing.ignore, []);
        assert_eq!(settings.comparing.status, StatusOf::All);
    }

    #[test]
    fn health_scripts_come_under_either_name() {
        let settings = read(&[
            (
                "resource.customizations",
                "ConfigMap:\n  health.lua: one\napps/*:\n  health.lua: two\n",
            ),
            ("resource.customizations.health.certmanager.k8s.io_Certificate", "three"),
        ]);
        let script = |group: &str, kind: &str| {
            settings.health_script(&GroupKind::new(group, kind)).map(str::to_owned)
        };
        assert_eq!(script("", "ConfigMap").as_deref(), Some("one"));
        assert_eq!(script("apps", "Deployment").as_deref(), Some("two"));
        assert_eq!(script("certmanager.k8s.io", "Certificate").as_deref(), Some("three"));
        assert_eq!(script("", "Secret"), None);
    }

    #[test]
    fn written_settings_replace_the_shipped_exclusions() {
        let excludes = |settings: &Settings, group: &str, kind: &str| {
            let options = settings.store_options("https://one.example");
            options.exclusions.excludes(&GroupKind::new(group, kind))
        };
        let shipped = Settings::of(&All::read(&Sources::default()));
        assert!(excludes(&shipped, "", "Endpoints"));
        let rule = "- apiGroups: [tekton.dev]\n  kinds: ['*']\n  clusters: ['https://one.*']\n";
        let written = read(&[("resource.exclusions", rule)]);
        assert!(excludes(&written, "tekton.dev", "TaskRun"));
        assert!(!excludes(&written, "", "Endpoints"));
        assert!(written.watches_otherwise_than(&shipped));
    }

    #[test]
    fn ignored_fields_of_all_and_of_one_kind_are_rules_of_comparisons() {
        let settings = read(&[
            ("resource.customizations.ignoreDifferences.all", "managedFieldsManagers: [scaler]"),
            (
                "resource.customizations.ignoreDifferences.apps_Deployment",
                "jsonPointers: [/spec/a]",
            ),
        ]);
        let found: Vec<String> = settings
            .comparing
            .ignore
            .iter()
            .map(|it| {
                let fields = [it.json_pointers.as_slice(), &it.managed_fields_managers].concat();
                format!("{}/{} {}", it.group, it.kind, fields.join(" "))
            })
            .collect();
        assert_eq!(found, ["*/* scaler", "apps/Deployment /spec/a"]);
    }

    #[test]
    fn fields_of_known_types_and_who_is_asked_are_terms_of_comparisons() {
        let comparing = read(&[
            (
                "resource.customizations.knownTypeFields.ships.io_Ship",
                "- field: spec.cpu\n  type: core/Quantity\n",
            ),
            ("resource.server-side-diff", "true"),
        ])
        .comparing;
        let known = KnownType {
            kind: GroupKind::new("ships.io", "Ship"),
            field: "spec.cpu".into(),
            type_name: "core/Quantity".into(),
        };
        assert_eq!((comparing.known_types, comparing.asks_server), (vec![known], true));
        assert!(!read(&[]).comparing.asks_server);
    }

    /// Which changes of a ConfigMap are a reason to look: of its data, of an
    /// annotation, of its status.
    fn reasons(data: &[(&str, &str)]) -> [bool; 3] {
        let settings = read(data);
        assert_eq!(settings.unreadable_update_rules(), []);
        let object = |text: &str, note: &str, status: &str| {
            let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text},
                "metadata": {"name": "m", "annotations": {"note": note}}, "status": status});
            Object::from_value(value).expect("an object")
        };
        let before = object("1", "1", "1");
        [object("2", "1", "1"), object("1", "2", "1"), object("1", "1", "2")].map(|after| {
            let ignoring = settings.ignored_updates();
            ignoring.is_none_or(|it| matters(&before, &after, it, &BuiltinOnly))
        })
    }

    #[test]
    fn changes_of_ignored_fields_are_no_reason_to_look_again() {
        const UPDATES: &str = "resource.customizations.ignoreResourceUpdates.ConfigMap";
        const DIFFERENCES: &str = "resource.customizations.ignoreDifferences.all";
        const NOTE: &str = "jsonPointers: [/metadata/annotations/note]";
        const OFF: (&str, &str) = ("resource.ignoreResourceUpdatesEnabled", "false");
        const STRICT: (&str, &str) =
            ("resource.compareoptions", "ignoreDifferencesOnResourceUpdates: false");
        assert_eq!(reasons(&[]), [true, true, false]);
        assert_eq!(reasons(&[(UPDATES, NOTE)]), [true, false, false]);
        assert_eq!(reasons(&[(UPDATES, "jqPathExpressions: [.data]")]), [false, true, false]);
        assert_eq!(reasons(&[(DIFFERENCES, NOTE)]), [true, false, false]);
        assert_eq!(reasons(&[(DIFFERENCES, NOTE), STRICT]), [true, true, true]);
        assert_eq!(reasons(&[(UPDATES, NOTE), OFF]), [true, true, true]);
    }

    #[test]
    fn a_rule_about_updates_that_cannot_be_read_is_told_and_the_others_hold() {
        const UPDATES: &str = "resource.customizations.ignoreResourceUpdates.all";
        let settings = read(&[(UPDATES, "jqPathExpressions: ['.a[', .b]")]);
        let findings = settings.unreadable_update_rules();
        assert_eq!(findings.len(), 1, "{findings:?}");
    }

    #[test]
    fn a_password_is_no_news_to_the_controller() {
        assert_eq!(read(&[("url", "https://a.example")]), read(&[("url", "https://b.example")]));
    }
}
