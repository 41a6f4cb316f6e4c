//! What argocd-cm says, as far as it concerns the controller.
//!
//! A setting that cannot be read is told once and counts as absent: one wrong
//! line must not stop every Application.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::{Exclusions, KindRule};
use engine::CompareSettings;
use gocompat::glob;
use render::tracking::{DEFAULT_LABEL, Tracking, TrackingMethod};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The settings of an installation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How objects are marked.
    pub tracking: Tracking,
    /// Kinds that are not watched.
    pub exclusions: Exclusions,
    /// `timeout.reconciliation`.
    pub poll_every: Option<Duration>,
    /// `timeout.reconciliation.jitter`.
    pub poll_jitter: Option<Duration>,
    /// Users' health scripts, by `group/Kind` or `Kind`; `*` matches any text.
    pub health_scripts: BTreeMap<String, String>,
    /// What comparisons ignore, whatever the Application.
    pub comparing: CompareSettings,
    /// Annotations of Secrets that nobody is shown: `resource.sensitive.mask.annotations`.
    pub masked_annotations: BTreeSet<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tracking: Tracking::default(),
            exclusions: Exclusions::as_shipped(),
            poll_every: None,
            poll_jitter: None,
            health_scripts: BTreeMap::new(),
            comparing: CompareSettings::default(),
            masked_annotations: BTreeSet::new(),
        }
    }
}

const HEALTH: &str = "resource.customizations.health.";

impl Settings {
    /// Reads the data of argocd-cm; with it, what could not be read and why.
    #[must_use]
    pub fn read(data: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let text = |key: &str| data.get(key).map(|it| it.trim()).unwrap_or_default();
        let (mut comparing, told) = CompareSettings::read(data);
        problems.extend(told);
        let mut settings = Self {
            tracking: Tracking {
                method: TrackingMethod::parse(text("application.resourceTrackingMethod")),
                label_key: match text("application.instanceLabelKey") {
                    "" => DEFAULT_LABEL.to_owned(),
                    key => key.to_owned(),
                },
                installation_id: text("installationID").to_owned(),
            },
            exclusions: exclusions(data, &mut problems),
            poll_every: duration(data, "timeout.reconciliation", &mut problems),
            poll_jitter: duration(data, "timeout.reconciliation.jitter", &mut problems),
            health_scripts: health_scripts(data, &mut problems),
            comparing: CompareSettings::default(),
            masked_annotations: text("resource.sensitive.mask.annotations")
                .split(',')
                .map(|it| it.trim().to_owned())
                .filter(|it| !it.is_empty())
                .collect(),
        };
        if settings.tracking.method != TrackingMethod::Label {
            comparing.instance_label = Some(settings.tracking.label_key.clone());
        }
        settings.comparing = comparing;
        (settings, problems)
    }

    /// The script that judges a kind, if a user brought one. A name without
    /// patterns goes before one with them.
    pub(crate) fn health_script(&self, kind: &object::GroupKind) -> Option<&str> {
        let name = kind.to_string();
        let exact = self.health_scripts.get(&name);
        let by_pattern = || {
            let patterns = self.health_scripts.iter().filter(|(key, _)| key.contains('*'));
            patterns.into_iter().find(|(key, _)| glob::matches(key, &name, &[])).map(|(_, it)| it)
        };
        exact.or_else(by_pattern).map(String::as_str)
    }
}

fn yaml<T: DeserializeOwned>(
    data: &BTreeMap<String, String>,
    key: &str,
    problems: &mut Vec<String>,
) -> Option<T> {
    let text = data.get(key).filter(|it| !it.trim().is_empty())?;
    let value = gocompat::yaml::to_value(text).map_err(|error| error.to_string());
    match value.and_then(|it| serde_json::from_value(it).map_err(|error| error.to_string())) {
        Ok(value) => Some(value),
        Err(why) => {
            problems.push(format!("could not read {key}: {why}"));
            None
        }
    }
}

/// A Go duration, or a bare number of seconds.
fn duration(
    data: &BTreeMap<String, String>,
    key: &str,
    problems: &mut Vec<String>,
) -> Option<Duration> {
    let text = data.get(key)?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let read = gocompat::duration::Duration::parse(text).ok().and_then(|it| it.to_std());
    if read.is_none() {
        problems.push(format!("could not read {key}: {text:?} is no duration such as 120s"));
    }
    read
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct FilteredResource {
    api_groups: Vec<String>,
    kinds: Vec<String>,
    clusters: Vec<String>,
}

fn exclusions(data: &BTreeMap<String, String>, problems: &mut Vec<String>) -> Exclusions {
    let rules = |list: Option<Vec<FilteredResource>>| -> Vec<KindRule> {
        // Rules for some clusters only are left to those clusters.
        let everywhere = list.unwrap_or_default().into_iter().filter(|it| {
            it.clusters.is_empty() || it.clusters.iter().any(|pattern| pattern == "*")
        });
        everywhere.map(|it| KindRule { groups: it.api_groups, kinds: it.kinds }).collect()
    };
    Exclusions {
        exclude: rules(yaml(data, "resource.exclusions", problems)),
        include: rules(yaml(data, "resource.inclusions", problems)),
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Customization {
    #[serde(rename = "health.lua")]
    health: Option<String>,
}

fn health_scripts(
    data: &BTreeMap<String, String>,
    problems: &mut Vec<String>,
) -> BTreeMap<String, String> {
    let all: BTreeMap<String, Customization> =
        yaml(data, "resource.customizations", problems).unwrap_or_default();
    let mut scripts: BTreeMap<String, String> =
        all.into_iter().filter_map(|(kind, it)| Some((kind, it.health?))).collect();
    for (key, script) in data {
        if let Some(kind) = key.strip_prefix(HEALTH) {
            // The group ends at the last underscore: kinds have none.
            let kind = kind.rsplit_once('_').map_or(kind.to_owned(), |(group, kind)| {
                if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") }
            });
            scripts.insert(kind, script.clone());
        }
    }
    scripts.retain(|_, script| !script.trim().is_empty());
    scripts
}

#[cfg(test)]
mod tests {
    use object::GroupKind;

    use super::*;

    fn read(data: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Settings::read(&data.collect())
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        let (settings, problems) = read(&[]);
        assert_eq!(settings.tracking, Tracking::default());
        assert_eq!((settings.poll_every, problems.len()), (None, 0));
    }

    #[test]
    fn health_scripts_come_under_either_name() {
        let (settings, problems) = read(&[
            (
                "resource.customizations",
                "ConfigMap:\n  health.lua: one\napps/*:\n  health.lua: two\n",
            ),
            ("resource.customizations.health.certmanager.k8s.io_Certificate", "three"),
        ]);
        assert_eq!(problems, [] as [&str; 0]);
        let script = |group: &str, kind: &str| {
            settings.health_script(&GroupKind::new(group, kind)).map(str::to_owned)
        };
        assert_eq!(script("", "ConfigMap").as_deref(), Some("one"));
        assert_eq!(script("apps", "Deployment").as_deref(), Some("two"));
        assert_eq!(script("certmanager.k8s.io", "Certificate").as_deref(), Some("three"));
        assert_eq!(script("", "Secret"), None);
    }

    #[test]
    fn exclusions_that_are_set_replace_the_shipped_ones() {
        let (settings, _) =
            read(&[("resource.exclusions", "- apiGroups: ['*']\n  kinds: [Tekton*]\n")]);
        assert!(settings.exclusions.excludes(&GroupKind::new("x", "TektonRun")));
        assert!(!settings.exclusions.excludes(&GroupKind::new("", "Endpoints")));
    }

    #[test]
    fn a_wrong_setting_is_told_and_counts_as_absent() {
        let (settings, problems) =
            read(&[("timeout.reconciliation", "soon"), ("resource.exclusions", "{")]);
        assert_eq!(settings.poll_every, None);
        assert_eq!(problems.len(), 2);
    }
}
