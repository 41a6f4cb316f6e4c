//! Resources that may be nobody's without anybody being warned.

use api::OrphanedResourcesMonitorSettings;
use gocompat::glob;
use object::ResourceKey;

/// Is the resource of no interest although no application has it? Some exist in
/// every namespace, others the project names.
#[must_use]
pub fn is_expected(settings: &OrphanedResourcesMonitorSettings, key: &ResourceKey) -> bool {
    comes_with_the_cluster(key)
        || settings.ignore.iter().any(|entry| {
            let fits = |pattern: &str, text: &str| glob::matches(pattern, text, &[]);
            (entry.kind.is_empty() || fits(&entry.kind, &key.kind))
                && fits(&entry.group, &key.group)
                && (entry.name.is_empty() || fits(&entry.name, &key.name))
        })
}

/// Should applications show a warning? Only if the project asks for it.
#[must_use]
pub fn warns(settings: &OrphanedResourcesMonitorSettings) -> bool {
    settings.warn == Some(true)
}

fn comes_with_the_cluster(key: &ResourceKey) -> bool {
    key.group.is_empty()
        && match (key.kind.as_str(), key.name.as_str()) {
            ("Service", "kubernetes") => key.namespace == "default",
            ("ServiceAccount", "default") | ("ConfigMap", "kube-root-ca.crt") => true,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use object::GroupKind;

    use super::*;

    #[track_caller]
    fn check(ignore: &str, (group, kind, namespace, name): (&str, &str, &str, &str), expect: bool) {
        let settings = serde_json::from_str(&format!(r#"{{"ignore":{ignore}}}"#)).unwrap();
        let key = ResourceKey::new(&GroupKind::new(group, kind), namespace, name);
        assert_eq!(is_expected(&settings, &key), expect);
    }

    #[test]
    fn what_comes_with_every_cluster_is_expected() {
        check("[]", ("", "ServiceAccount", "live", "default"), true);
        check("[]", ("", "ConfigMap", "live", "kube-root-ca.crt"), true);
        check("[]", ("", "Service", "default", "kubernetes"), true);
        check("[]", ("", "Service", "live", "kubernetes"), false);
        check("[]", ("x.example", "ServiceAccount", "live", "default"), false);
    }

    #[test]
    fn what_the_project_names_is_expected() {
        let ignore = r#"[{"group":"apps","kind":"Dep*"},{"name":"tmp-*"}]"#;
        check(ignore, ("apps", "Deployment", "live", "a"), true);
        check(ignore, ("apps", "StatefulSet", "live", "tmp-a"), false);
        check(ignore, ("", "Secret", "live", "tmp-a"), true);
        check(ignore, ("", "Secret", "live", "a"), false);
    }

    #[test]
    fn a_warning_must_be_asked_for() {
        let warn = |warn| warns(&OrphanedResourcesMonitorSettings { warn, ..Default::default() });
        assert_eq!([warn(None), warn(Some(false)), warn(Some(true))], [false, false, true]);
    }
}
