//! Global projects: rules that other projects share because of their labels.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use api::{AppProject, LabelSelector, LabelSelectorRequirement};

/// An entry of the setting `globalProjects`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalProject {
    /// The project whose rules are shared.
    pub project_name: String,
    /// The projects that share them.
    pub label_selector: LabelSelector,
}

/// The project with the rules of its global projects added. Names of projects
/// that do not exist are passed over, as are selectors that cannot be read.
#[must_use]
pub fn inherit<P: Borrow<AppProject>>(
    project: &AppProject,
    settings: &[GlobalProject],
    projects: &BTreeMap<String, P>,
) -> AppProject {
    let mut merged = project.clone();
    for global in globals_of(project, settings).filter_map(|name| projects.get(name)) {
        let (to, from) = (&mut merged.spec, &global.borrow().spec);
        to.source_repos.extend_from_slice(&from.source_repos);
        to.destinations.extend_from_slice(&from.destinations);
        to.cluster_resource_whitelist.extend_from_slice(&from.cluster_resource_whitelist);
        to.cluster_resource_blacklist.extend_from_slice(&from.cluster_resource_blacklist);
        to.namespace_resource_whitelist.extend_from_slice(&from.namespace_resource_whitelist);
        to.namespace_resource_blacklist.extend_from_slice(&from.namespace_resource_blacklist);
        to.sync_windows.extend_from_slice(&from.sync_windows);
        to.destination_service_accounts.extend_from_slice(&from.destination_service_accounts);
    }
    merged
}

/// The names of a project's global projects; none is its own.
pub fn globals_of<'s>(
    project: &AppProject,
    settings: &'s [GlobalProject],
) -> impl Iterator<Item = &'s str> {
    settings
        .iter()
        .filter(|entry| entry.project_name != project.metadata.name)
        .filter(|entry| selects(&entry.label_selector, &project.metadata.labels))
        .map(|entry| entry.project_name.as_str())
}

/// An empty selector selects everything.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
        && selector.match_expressions.iter().all(|rule| holds(rule, labels))
}

fn holds(rule: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&rule.key);
    let is_listed = value.is_some_and(|value| rule.values.contains(value));
    match (rule.operator.as_str(), rule.values.is_empty()) {
        ("In", false) => is_listed,
        ("NotIn", false) => !is_listed,
        ("Exists", true) => value.is_some(),
        ("DoesNotExist", true) => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(selector: &str, expect: &[&str]) {
        let project: AppProject = serde_json::from_str(
            r#"{"metadata":{"name":"shop","labels":{"tier":"gold"}},"spec":{"sourceRepos":["own"]}}"#,
        )
        .unwrap();
        let shared: AppProject =
            serde_json::from_str(r#"{"spec":{"sourceRepos":["!shared"]}}"#).unwrap();
        let entry = |name: &str| GlobalProject {
            project_name: name.to_owned(),
            label_selector: serde_json::from_str(selector).unwrap(),
        };
        let settings = [entry("shop"), entry("missing"), entry("shared")];
        let projects =
            BTreeMap::from([("shop".into(), project.clone()), ("shared".into(), shared)]);
        assert_eq!(inherit(&project, &settings, &projects).spec.source_repos, expect);
    }

    #[test]
    fn a_project_that_is_selected_gets_the_shared_rules_once() {
        check("{}", &["own", "!shared"]);
        check(r#"{"matchLabels":{"tier":"gold"}}"#, &["own", "!shared"]);
        check(r#"{"matchLabels":{"tier":"tin"}}"#, &["own"]);
    }

    #[test]
    fn selectors_have_four_operators_and_no_others() {
        let rule = |operator: &str, values: &str| {
            format!(
                r#"{{"matchExpressions":[{{"key":"tier","operator":"{operator}","values":{values}}}]}}"#
            )
        };
        for (operator, values, is_selected) in [
            ("In", r#"["gold"]"#, true),
            ("In", r#"["tin"]"#, false),
            ("NotIn", r#"["gold"]"#, false),
            ("NotIn", r#"["tin"]"#, true),
            ("Exists", "[]", true),
            ("DoesNotExist", "[]", false),
            ("In", "[]", false),
            ("Likes", r#"["gold"]"#, false),
        ] {
            let expect: &[&str] = if is_selected { &["own", "!shared"] } else { &["own"] };
            check(&rule(operator, values), expect);
        }
    }
}
