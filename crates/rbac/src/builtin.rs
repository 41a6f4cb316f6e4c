//! What everybody starts with: the roles `role:readonly` and `role:admin`, and
//! the account `admin` in the latter.

use std::fmt::Write as _;

use crate::resource::{
    ACCOUNTS, APPLICATION_SETS, APPLICATIONS, CERTIFICATES, CLUSTERS, EXEC, GPG_KEYS, LOGS,
    PROJECTS, REPOSITORIES, WRITE_REPOSITORIES,
};

/// Objects that live in a project.
const IN_ANY_PROJECT: &str = "*/*";
/// Objects of any name.
const ANY: &str = "*";

/// Who, what, which, and all that may be done with it. `extensions` are in
/// neither role: each one is for its operator to allow.
const ROLES: [(&str, &str, &str, &[&str]); 20] = [
    ("role:readonly", APPLICATIONS, IN_ANY_PROJECT, &["get"]),
    ("role:readonly", APPLICATION_SETS, IN_ANY_PROJECT, &["get"]),
    ("role:readonly", CERTIFICATES, ANY, &["get"]),
    ("role:readonly", CLUSTERS, ANY, &["get"]),
    ("role:readonly", REPOSITORIES, ANY, &["get"]),
    ("role:readonly", WRITE_REPOSITORIES, ANY, &["get"]),
    ("role:readonly", PROJECTS, ANY, &["get"]),
    ("role:readonly", ACCOUNTS, ANY, &["get"]),
    ("role:readonly", GPG_KEYS, ANY, &["get"]),
    ("role:readonly", LOGS, IN_ANY_PROJECT, &["get"]),
    (
        "role:admin",
        APPLICATIONS,
        IN_ANY_PROJECT,
        &[
            "create", "update", "update/*", "delete", "delete/*", "sync", "rollback", "override",
            "action/*",
        ],
    ),
    ("role:admin", APPLICATION_SETS, IN_ANY_PROJECT, &["get", "create", "update", "delete"]),
    ("role:admin", CERTIFICATES, ANY, &["create", "update", "delete"]),
    ("role:admin", CLUSTERS, ANY, &["create", "update", "delete"]),
    ("role:admin", REPOSITORIES, ANY, &["create", "update", "delete"]),
    ("role:admin", WRITE_REPOSITORIES, ANY, &["create", "update", "delete"]),
    ("role:admin", PROJECTS, ANY, &["create", "update", "delete"]),
    ("role:admin", ACCOUNTS, ANY, &["update"]),
    ("role:admin", GPG_KEYS, ANY, &["create", "delete"]),
    ("role:admin", EXEC, IN_ANY_PROJECT, &["create"]),
];

/// The built-in policy, as its lines would be written.
#[must_use]
pub fn builtin_policy() -> String {
    let mut text = String::new();
    for (role, resource, object, actions) in ROLES {
        for action in actions {
            let _ = writeln!(text, "p, {role}, {resource}, {action}, {object}, allow");
        }
    }
    // An admin sees what a reader sees.
    text.push_str("g, role:admin, role:readonly\ng, admin, role:admin\n");
    text
}
