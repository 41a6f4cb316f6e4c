//! What `argocd-cm` says about comparing.
//!
//! A setting that cannot be read is a problem to be told and counts as absent:
//! one wrong line must not make every Application OutOfSync.

use std::collections::BTreeMap;

use api::ResourceIgnoreDifferences;
use gocompat::yaml;
use serde_json::Value;

use super::CompareSettings;
use super::ignore::StatusOf;

const IGNORE: &str = "resource.customizations.ignoreDifferences.";
const CUSTOMIZATIONS: &str = "resource.customizations";
const OPTIONS: &str = "resource.compareoptions";

impl CompareSettings {
    /// Reads the data of argocd-cm; with it, what could not be read and why. The
    /// label comes from another setting and is left out.
    #[must_use]
    pub fn read(data: &BTreeMap<String, String>) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut settings = Self::default();
        if let Some(options) = parsed(data, OPTIONS, &mut problems) {
            settings.ignores_aggregated_roles = options["ignoreAggregatedRoles"] == true;
            settings.status = status(&options["ignoreResourceStatusField"]);
        }
        let whole = parsed(data, CUSTOMIZATIONS, &mut problems);
        for (kind, of_kind) in whole.iter().filter_map(Value::as_object).flatten() {
            let rule = match &of_kind["ignoreDifferences"] {
                Value::Null => continue,
                // In this old form the rule is a text in a text.
                Value::String(text) => yaml::to_value(text).map_err(|error| error.to_string()),
                rule => Ok(rule.clone()),
            };
            settings.add(kind.split_once('/').unwrap_or(("", kind)), rule, &mut problems);
        }
        for key in data.keys().filter(|it| it.starts_with(IGNORE)) {
            let kind = match &key[IGNORE.len()..] {
                "all" => ("*", "*"),
                name => name.split_once('_').unwrap_or(("", name)),
            };
            if let Some(rule) = parsed(data, key, &mut problems) {
                settings.add(kind, Ok(rule), &mut problems);
            }
        }
        (settings, problems)
    }

    fn add(
        &mut self,
        (group, kind): (&str, &str),
        rule: Result<Value, String>,
        problems: &mut Vec<String>,
    ) {
        let read = rule.and_then(|it| {
            serde_json::from_value::<ResourceIgnoreDifferences>(it).map_err(|it| it.to_string())
        });
        match read {
            Ok(rule) => self.ignore.push(ResourceIgnoreDifferences {
                group: group.into(),
                kind: kind.into(),
                ..rule
            }),
            Err(why) => problems.push(format!("ignoreDifferences of {group}/{kind}: {why}")),
        }
    }
}

fn parsed(data: &BTreeMap<String, String>, key: &str, problems: &mut Vec<String>) -> Option<Value> {
    let text = data.get(key).filter(|it| !it.trim().is_empty())?;
    yaml::to_value(text).map_err(|error| problems.push(format!("{key}: {error}"))).ok()
}

/// Anything that is not understood means all, as does nothing at all.
fn status(value: &Value) -> StatusOf {
    match value {
        Value::Bool(false) => StatusOf::None,
        Value::String(word) => match word.as_str() {
            "none" | "off" | "false" => StatusOf::None,
            "crd" => StatusOf::Definitions,
            _ => StatusOf::All,
        },
        _ => StatusOf::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(data: &[(&str, &str)], expect: &[&str]) {
        let data = data.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned())).collect();
        let (settings, problems) = CompareSettings::read(&data);
        let mut found: Vec<String> = settings
            .ignore
            .iter()
            .map(|it| {
                let fields = [
                    it.json_pointers.as_slice(),
                    &it.jq_path_expressions,
                    &it.managed_fields_managers,
                ]
                .concat();
                format!("{}/{} {}", it.group, it.kind, fields.join(" "))
            })
            .collect();
        if settings.ignores_aggregated_roles {
            found.push("aggregated".into());
        }
        if settings.status != StatusOf::All {
            found.push(format!("status {:?}", settings.status));
        }
        found.extend(
            problems.iter().map(|it| format!("problem {}", it.split(':').next().unwrap_or(it))),
        );
        assert_eq!(found, expect);
    }

    #[test]
    fn each_kind_has_a_key_of_its_own() {
        check(
            &[
                (
                    "resource.customizations.ignoreDifferences.all",
                    "managedFieldsManagers: [scaler]",
                ),
                (
                    "resource.customizations.ignoreDifferences.apps_Deployment",
                    "jsonPointers: [/spec/replicas]",
                ),
                (
                    "resource.customizations.ignoreDifferences.ConfigMap",
                    "jqPathExpressions: ['.data.a']",
                ),
            ],
            &["/ConfigMap .data.a", "*/* scaler", "apps/Deployment /spec/replicas"],
        );
    }

    #[test]
    fn one_key_may_hold_all_kinds() {
        check(
            &[(
                "resource.customizations",
                "apps/Deployment:\n  ignoreDifferences: |\n    jsonPointers:\n    - /spec/replicas\n",
            )],
            &["apps/Deployment /spec/replicas"],
        );
    }

    #[test]
    fn options_are_read_and_an_unknown_word_means_the_default() {
        check(
            &[(
                "resource.compareoptions",
                "ignoreAggregatedRoles: true\nignoreResourceStatusField: crd",
            )],
            &["aggregated", "status Definitions"],
        );
        check(&[("resource.compareoptions", "ignoreResourceStatusField: off")], &["status None"]);
        check(&[("resource.compareoptions", "ignoreResourceStatusField: sometimes")], &[]);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_rest_holds() {
        check(
            &[
                ("resource.compareoptions", "a: [b"),
                ("resource.customizations.ignoreDifferences.ConfigMap", "jsonPointers: 1"),
                ("resource.customizations.ignoreDifferences.Secret", "jsonPointers: [/data]"),
            ],
            &[
                "/Secret /data",
                "problem resource.compareoptions",
                "problem ignoreDifferences of /ConfigMap",
            ],
        );
    }
}
