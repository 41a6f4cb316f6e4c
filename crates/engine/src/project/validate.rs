//! Whether a project that somebody writes makes sense.
//!
//! The texts are Argo CD's: they reach people through the API and the CLI.

use std::collections::BTreeSet;

use api::{AppProject, AppProjectSpec, ProjectRole};
use gocompat::glob::Glob;

use super::service_account::is_account_name;
use crate::windows::{self, WindowError};

/// What is wrong with a project.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// A text that cannot be what its field is for.
    #[error("{field} has an invalid format, '{value}'")]
    Format {
        /// The field, as users know it.
        field: &'static str,
        /// The text.
        value: String,
    },
    /// The same entry twice.
    #[error("{what} '{value}' already added")]
    Repeated {
        /// What the entry is.
        what: &'static str,
        /// The entry.
        value: String,
    },
    /// Two roles of one name.
    #[error("role '{0}' already exists")]
    RepeatedRole(String),
    /// The same policy or group twice in a role.
    #[error("{what} '{value}' already exists for role '{role}'")]
    RepeatedInRole {
        /// `policy` or `group`.
        what: &'static str,
        /// The entry.
        value: String,
        /// The role.
        role: String,
    },
    /// A role that cannot be named in policies.
    #[error(
        "invalid role name '{0}'. Must consist of alphanumeric characters, '-' or '_', and must start and end with an alphanumeric character"
    )]
    RoleName(String),
    /// A policy that means nothing.
    #[error("invalid policy rule '{policy}': {problem}")]
    Policy {
        /// The policy.
        policy: String,
        /// What is wrong with it.
        problem: PolicyProblem,
    },
    /// A group that cannot be named in policies.
    #[error("group '{group}' {problem}")]
    Group {
        /// The group without spaces and quotes around it.
        group: String,
        /// What is wrong with it.
        problem: GroupProblem,
    },
    /// Two windows that say the same.
    #[error(
        "sync window with kind '{kind}', schedule '{schedule}', and duration '{duration}' already exists"
    )]
    RepeatedWindow {
        /// `allow` or `deny`.
        kind: String,
        /// When it opens.
        schedule: String,
        /// How long it stays open.
        duration: String,
    },
    /// A window for nobody.
    #[error(
        "window '{kind}':'{schedule}':'{duration}' requires one of application, cluster or namespace"
    )]
    WindowForNobody {
        /// `allow` or `deny`.
        kind: String,
        /// When it opens.
        schedule: String,
        /// How long it stays open.
        duration: String,
    },
    /// A window that cannot be read.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// What is wrong with a policy of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyProblem {
    /// Not six parts, or not a `p`.
    #[error("must be of the form: 'p, sub, res, act, obj, eft'")]
    Form,
    /// For somebody else than the role.
    #[error("policy subject must be: '{expected}', not '{found}'")]
    Subject {
        /// The role.
        expected: String,
        /// What is there.
        found: String,
    },
    /// About something that is not in projects.
    #[error(
        "project resource must be: 'applications', 'applicationsets', 'repositories', 'exec', 'logs' or 'clusters', not '{0}'"
    )]
    Resource(String),
    /// Nothing one can do.
    #[error("invalid action '{0}'")]
    Action(String),
    /// Beyond the project.
    #[error(
        "object must be of form '{project}/*', '{project}[/<NAMESPACE>]/<APPNAME>' or '{project}/<APPNAME>', not '{found}'"
    )]
    Object {
        /// The project.
        project: String,
        /// What is there.
        found: String,
    },
    /// Neither allows nor denies.
    #[error("effect must be: 'allow' or 'deny'")]
    Effect,
}

/// What is wrong with the name of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GroupProblem {
    /// A comma would end it.
    #[error("must be quoted")]
    Unquoted,
    /// Nothing there.
    #[error("is empty")]
    Empty,
    /// Quotes or ends of lines.
    #[error("contains invalid characters")]
    Characters,
    /// A space before it.
    #[error("contains a leading space")]
    LeadingSpace,
    /// A space after it.
    #[error("contains a trailing space")]
    TrailingSpace,
}

/// What an API answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidClass {
    /// gRPC `InvalidArgument`.
    InvalidArgument,
    /// gRPC `AlreadyExists`.
    AlreadyExists,
    /// gRPC `OutOfRange`.
    OutOfRange,
    /// gRPC `Unknown`.
    Unknown,
}

impl Invalid {
    /// What an API answers with.
    #[must_use]
    pub fn class(&self) -> InvalidClass {
        match self {
            Self::Format { .. }
            | Self::Repeated { .. }
            | Self::RoleName(_)
            | Self::Policy { .. }
            | Self::Group { .. } => InvalidClass::InvalidArgument,
            Self::RepeatedRole(_) | Self::RepeatedInRole { .. } | Self::RepeatedWindow { .. } => {
                InvalidClass::AlreadyExists
            }
            Self::WindowForNobody { .. } => InvalidClass::OutOfRange,
            Self::Window(_) => InvalidClass::Unknown,
        }
    }
}

/// Checks a project before it is stored.
///
/// # Errors
/// With the first thing that is wrong.
pub fn validate(project: &AppProject) -> Result<(), Invalid> {
    validate_destinations(&project.spec)?;
    let repeated = |what| move |value: &str| Invalid::Repeated { what, value: value.to_owned() };
    unique(&project.spec.source_namespaces, repeated("source namespace"))?;
    for entry in &project.spec.source_repos {
        refuse_forbidding_all("source repository", entry)?;
    }
    unique(&project.spec.source_repos, repeated("source repository"))?;
    let roles: Vec<_> = project.spec.roles.iter().map(|role| role.name.clone()).collect();
    unique(&roles, |role| Invalid::RepeatedRole(role.to_owned()))?;
    for role in &project.spec.roles {
        validate_role(&project.metadata.name, role)?;
    }
    validate_windows(&project.spec)?;
    validate_service_accounts(&project.spec)
}

fn unique<'e>(
    entries: impl IntoIterator<Item = &'e String>,
    error: impl Fn(&str) -> Invalid,
) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    entries.into_iter().try_for_each(
        |entry| {
            if seen.insert(entry) { Ok(()) } else { Err(error(entry)) }
        },
    )
}

/// `!*` alone would forbid everything, which nobody means.
fn refuse_forbidding_all(field: &'static str, value: &str) -> Result<(), Invalid> {
    if value == "!*" { Err(Invalid::Format { field, value: value.to_owned() }) } else { Ok(()) }
}

fn validate_destinations(spec: &AppProjectSpec) -> Result<(), Invalid> {
    let mut keys = Vec::new();
    for entry in &spec.destinations {
        refuse_forbidding_all("name", &entry.name)?;
        refuse_forbidding_all("server", &entry.server)?;
        refuse_forbidding_all("namespace", &entry.namespace)?;
        let cluster = if entry.server.is_empty() { &entry.name } else { &entry.server };
        keys.push(format!("{cluster}/{}", entry.namespace));
    }
    unique(&keys, |key| Invalid::Repeated { what: "destination", value: key.to_owned() })
}

fn validate_role(project: &str, role: &ProjectRole) -> Result<(), Invalid> {
    let repeated = |what| {
        move |value: &str| Invalid::RepeatedInRole {
            what,
            value: value.to_owned(),
            role: role.name.clone(),
        }
    };
    if !is_role_name(&role.name) {
        return Err(Invalid::RoleName(role.name.clone()));
    }
    for policy in &role.policies {
        validate_policy(project, &role.name, policy)
            .map_err(|problem| Invalid::Policy { policy: policy.clone(), problem })?;
    }
    unique(&role.policies, repeated("policy"))?;
    role.groups.iter().try_for_each(|group| validate_group(group))?;
    unique(&role.groups, repeated("group"))
}

fn is_role_name(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inside)
}

fn validate_policy(project: &str, role: &str, policy: &str) -> Result<(), PolicyProblem> {
    let parts: Vec<&str> = policy.split(',').map(|part| part.trim_matches(' ')).collect();
    let ["p", subject, resource, action, object, effect] = parts[..] else {
        return Err(PolicyProblem::Form);
    };
    let expected = format!("proj:{project}:{role}");
    if subject != expected {
        return Err(PolicyProblem::Subject { expected, found: subject.to_owned() });
    }
    let resources = ["applications", "applicationsets", "repositories", "exec", "logs", "clusters"];
    if !resources.contains(&resource) {
        return Err(PolicyProblem::Resource(resource.to_owned()));
    }
    if !is_action(action) {
        return Err(PolicyProblem::Action(action.to_owned()));
    }
    if !is_object_of(project, object) {
        let (project, found) = (project.to_owned(), object.to_owned());
        return Err(PolicyProblem::Object { project, found });
    }
    if !matches!(effect, "allow" | "deny") {
        return Err(PolicyProblem::Effect);
    }
    Ok(())
}

/// `action/…`, `update/…` and `delete/…` may also follow something else, as in
/// Argo CD; such a policy matches no request.
fn is_action(action: &str) -> bool {
    let actions = ["get", "create", "update", "delete", "sync", "override", "rollback", "*"];
    let families = ["action/", "update/", "delete/"];
    actions.contains(&action) || families.iter().any(|family| action.contains(family))
}

/// `project/name` or `project/namespace/name`, stars allowed.
fn is_object_of(project: &str, object: &str) -> bool {
    let is_char = |byte: u8| byte.is_ascii_alphanumeric() || b"_*-.".contains(&byte);
    let Some(rest) = object.strip_prefix(project).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    let segments: Vec<&str> = rest.split('/').collect();
    segments.len() <= 2 && segments.iter().all(|it| !it.is_empty() && it.bytes().all(is_char))
}

fn validate_group(written: &str) -> Result<(), Invalid> {
    let trimmed = written.trim();
    let unquoted = trimmed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let group = unquoted.unwrap_or(trimmed);
    let has_many_chars = written.chars().nth(1).is_some();
    let problem = if unquoted.is_none() && trimmed.contains(',') {
        GroupProblem::Unquoted
    } else if group.is_empty() {
        GroupProblem::Empty
    } else if group.contains(['"', '\n', '\r', '\t']) {
        GroupProblem::Characters
    } else if has_many_chars && written.starts_with(char::is_whitespace) {
        GroupProblem::LeadingSpace
    } else if has_many_chars && written.ends_with(char::is_whitespace) {
        GroupProblem::TrailingSpace
    } else {
        return Ok(());
    };
    Err(Invalid::Group { group: group.to_owned(), problem })
}

fn validate_windows(spec: &AppProjectSpec) -> Result<(), Invalid> {
    // An entry that says nothing at all was `null`, and is left alone.
    let nothing = api::SyncWindow::default();
    let windows: Vec<_> = spec.sync_windows.iter().filter(|it| **it != nothing).collect();
    for (index, window) in windows.iter().enumerate() {
        let (kind, schedule) = (window.kind.clone(), window.schedule.clone());
        let duration = window.duration.clone();
        if windows[..index].iter().any(|earlier| windows::is_duplicate(earlier, window)) {
            return Err(Invalid::RepeatedWindow { kind, schedule, duration });
        }
        windows::validate(window)?;
        let lists = [&window.applications, &window.namespaces, &window.clusters];
        if lists.iter().all(|list| list.is_empty()) {
            return Err(Invalid::WindowForNobody { kind, schedule, duration });
        }
    }
    Ok(())
}

fn validate_service_accounts(spec: &AppProjectSpec) -> Result<(), Invalid> {
    let mut keys = Vec::new();
    for entry in &spec.destination_service_accounts {
        let format = |field, value: &str| Invalid::Format { field, value: value.to_owned() };
        for (field, value) in [("server", &entry.server), ("namespace", &entry.namespace)] {
            if value.contains('!') || Glob::new(value, &[]).is_err() {
                return Err(format(field, value));
            }
        }
        if !is_account_name(&entry.default_service_account) {
            return Err(format("defaultServiceAccount", &entry.default_service_account));
        }
        keys.push(format!("{}/{}", entry.server, entry.namespace));
    }
    let what = "destinationServiceAccount";
    unique(&keys, |key| Invalid::Repeated { what, value: key.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spec: &str, expect: &str) {
        let mut project = AppProject::default();
        project.metadata.name = "shop".to_owned();
        project.spec = serde_json::from_str(spec).unwrap();
        let found = validate(&project);
        assert_eq!(found.map_or_else(|it| it.to_string(), |()| "valid".into()), expect);
    }

    #[test]
    fn nothing_may_be_listed_twice() {
        check(r#"{"sourceRepos":["a","b","a"]}"#, "source repository 'a' already added");
        check(
            r#"{"destinations":[{"name":"eu","namespace":"live"},{"name":"eu","namespace":"live"}]}"#,
            "destination 'eu/live' already added",
        );
        check(r#"{"roles":[{"name":"ci"},{"name":"ci"}]}"#, "role 'ci' already exists");
        check(
            r#"{"roles":[{"name":"ci","groups":["x","x"]}]}"#,
            "group 'x' already exists for role 'ci'",
        );
    }

    #[test]
    fn a_policy_stays_within_its_project_and_role() {
        let policy = |text: &str| format!(r#"{{"roles":[{{"name":"ci","policies":["{text}"]}}]}}"#);
        check(&policy("p, proj:shop:ci, applications, sync, shop/ns/web, allow"), "valid");
        let foreign = "p, proj:shop:ci, applications, sync, other/web, allow";
        check(
            &policy(foreign),
            &format!(
                "invalid policy rule '{foreign}': object must be of form 'shop/*', \
                 'shop[/<NAMESPACE>]/<APPNAME>' or 'shop/<APPNAME>', not 'other/web'"
            ),
        );
    }

    #[test]
    fn a_group_with_a_comma_is_quoted() {
        let group = |text: &str| format!(r#"{{"roles":[{{"name":"ci","groups":["{text}"]}}]}}"#);
        check(&group(r#"\"a,b\""#), "valid");
        check(&group("a,b"), "group 'a,b' must be quoted");
    }

    #[test]
    fn a_window_is_readable_and_for_somebody() {
        check(
            r#"{"syncWindows":[{"kind":"deny","schedule":"0 1 * * *","duration":"1h"}]}"#,
            "window 'deny':'0 1 * * *':'1h' requires one of application, cluster or namespace",
        );
        check(
            r#"{"syncWindows":[{"kind":"deny","schedule":"later","duration":"1h"}]}"#,
            "cannot parse schedule 'later'",
        );
        check(r#"{"syncWindows":[null]}"#, "valid");
    }
}
