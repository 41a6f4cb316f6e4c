//! Whose rights a sync has at its destination, where impersonation is on.

use api::{AppProject, Application};
use gocompat::glob::{Glob, PatternError};

/// When a sync has the rights of a service account instead of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Impersonation {
    /// Never.
    #[default]
    Off,
    /// Where the project names an account for the destination.
    WhereNamed,
    /// Always: where the project names none, nothing is written.
    Enforced,
}

impl Impersonation {
    /// Without a named account, our own rights will do.
    #[must_use]
    pub fn relaxed(self) -> Self {
        if self == Self::Enforced { Self::WhereNamed } else { self }
    }
}

/// Why no service account can be chosen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoServiceAccount {
    /// An entry that cannot be read might have been the one.
    #[error("invalid glob pattern for destination {field}")]
    Pattern {
        /// `server` or `namespace`.
        field: &'static str,
        /// What is wrong with it.
        source: PatternError,
    },
    /// The entry that matches names no account.
    #[error("default service account contains invalid chars '{0}'")]
    Name(String),
    /// No entry matches, and one must.
    #[error(
        "no matching service account found for destination server {server} and namespace {namespace}"
    )]
    NoneNamed {
        /// Where the Application deploys to.
        server: String,
        /// And in which namespace.
        namespace: String,
    },
}

/// Whose rights the Application's objects are written with; `None`: ours.
///
/// # Errors
/// For an entry that cannot be read, and where an account is needed and none named.
pub fn acting_account(
    impersonation: Impersonation,
    project: &AppProject,
    application: &Application,
    server: &str,
) -> Result<Option<String>, NoServiceAccount> {
    if impersonation == Impersonation::Off {
        return Ok(None);
    }
    let account = service_account(project, application, server)?;
    if account.is_none() && impersonation == Impersonation::Enforced {
        let namespace = application.spec.destination.namespace.clone();
        return Err(NoServiceAccount::NoneNamed { server: server.to_owned(), namespace });
    }
    Ok(account)
}

/// The full name (`system:serviceaccount:…`) of the account of the first entry
/// that matches the destination; `None` if none does.
///
/// # Errors
/// For an entry that cannot be read, up to the one that matches.
pub fn service_account(
    project: &AppProject,
    application: &Application,
    server: &str,
) -> Result<Option<String>, NoServiceAccount> {
    let namespace = &application.spec.destination.namespace;
    for entry in &project.spec.destination_service_accounts {
        let is_for_server = matches("server", &entry.server, server)?;
        let is_for_namespace = matches("namespace", &entry.namespace, namespace)?;
        if !(is_for_server && is_for_namespace) {
            continue;
        }
        let account = &entry.default_service_account;
        if !is_account_name(account) {
            return Err(NoServiceAccount::Name(account.clone()));
        }
        if account.contains(':') {
            return Ok(Some(format!("system:serviceaccount:{account}")));
        }
        let home = if namespace.is_empty() { &application.metadata.namespace } else { namespace };
        return Ok(Some(format!("system:serviceaccount:{home}:{account}")));
    }
    Ok(None)
}

fn matches(field: &'static str, pattern: &str, text: &str) -> Result<bool, NoServiceAccount> {
    Glob::new(pattern, &[])
        .map(|glob| glob.is_match(text))
        .map_err(|source| NoServiceAccount::Pattern { field, source })
}

/// A name, not a pattern and not a path.
pub(super) fn is_account_name(account: &str) -> bool {
    !account.trim_matches(' ').is_empty()
        && !account.contains(['!', '*', '[', ']', '{', '}', '\\', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entries: &str, namespace: &str, expect: &str) {
        let mut project = AppProject::default();
        project.spec.destination_service_accounts = serde_json::from_str(entries).unwrap();
        let mut application = Application::default();
        application.metadata.namespace = "argocd".to_owned();
        application.spec.destination.namespace = namespace.to_owned();
        let found = service_account(&project, &application, "https://eu.example");
        let found = found.map_or_else(|error| error.to_string(), Option::unwrap_or_default);
        assert_eq!(found, expect);
    }

    #[test]
    fn the_first_entry_that_matches_wins() {
        let entries = r#"[
            {"server":"https://us.*","namespace":"*","defaultServiceAccount":"us"},
            {"server":"*","namespace":"live-*","defaultServiceAccount":"live"},
            {"server":"*","namespace":"*","defaultServiceAccount":"rest"}]"#;
        check(entries, "live-1", "system:serviceaccount:live-1:live");
        check(entries, "test", "system:serviceaccount:test:rest");
    }

    #[test]
    fn an_account_may_name_its_own_namespace() {
        let entries = r#"[{"server":"*","namespace":"*","defaultServiceAccount":"ops:deployer"}]"#;
        check(entries, "live", "system:serviceaccount:ops:deployer");
    }

    #[test]
    fn without_a_destination_namespace_it_lives_with_the_application() {
        let entries = r#"[{"server":"*","namespace":"","defaultServiceAccount":"deployer"}]"#;
        check(entries, "", "system:serviceaccount:argocd:deployer");
    }

    #[test]
    fn no_entry_is_no_account_but_a_broken_entry_is_an_error() {
        check("[]", "live", "");
        let entries = r#"[{"server":"[","namespace":"*","defaultServiceAccount":"a"}]"#;
        check(entries, "live", "invalid glob pattern for destination server");
        let entries = r#"[{"server":"*","namespace":"*","defaultServiceAccount":"a*"}]"#;
        check(entries, "live", "default service account contains invalid chars 'a*'");
    }

    #[test]
    fn without_a_named_account_it_is_ours_unless_one_must_be_named() {
        use Impersonation::{Enforced, Off, WhereNamed};
        let acting = |impersonation, entries: &str| {
            let mut project = AppProject::default();
            project.spec.destination_service_accounts = serde_json::from_str(entries).unwrap();
            let mut application = Application::default();
            application.spec.destination.namespace = "web".to_owned();
            let found = acting_account(impersonation, &project, &application, "https://eu.example");
            found.map_err(|error| error.to_string())
        };
        let named = r#"[{"server":"*","namespace":"web","defaultServiceAccount":"deployer"}]"#;
        let account = Some("system:serviceaccount:web:deployer".to_owned());
        assert_eq!(acting(Off, named), Ok(None));
        assert_eq!(acting(WhereNamed, named), Ok(account.clone()));
        assert_eq!(acting(Enforced, named), Ok(account));
        assert_eq!(acting(WhereNamed, "[]"), Ok(None));
        let told = "no matching service account found for destination server https://eu.example \
                    and namespace web";
        assert_eq!(acting(Enforced, "[]"), Err(told.to_owned()));
    }
}
