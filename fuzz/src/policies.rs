//! Policies of operators and of projects.

use std::sync::Arc;

use rbac::{MatchMode, Options, Policy, Request, Who};

use crate::two_texts;

/// The object asked for, then a policy. Deciding ends, and nobody gets more by asking twice.
pub(crate) fn policy(bytes: &[u8]) {
    let Some((object, text)) = two_texts(bytes) else { return };
    for match_mode in [MatchMode::Glob, MatchMode::Regex] {
        let options = Options { match_mode, default_role: String::new(), is_enforced: true };
        let policy = Policy::of_texts(&[text], options).0;
        let project = policy.project(text).0.map(Arc::new);
        let groups = ["role:a".to_owned()];
        for action in ["get", "action/apps/Deployment/restart"] {
            let request = Request { resource: "applications", action, object };
            let who = Who { name: "ann", groups: &groups };
            let first = policy.allows(&who, &request, |_| project.clone());
            assert_eq!(first, policy.allows(&who, &request, |_| project.clone()));
        }
    }
    drop(rbac::validate(text));
}
