//! The projects, as the watch tells them: their roles have a say in every decision.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::cluster::{Scope, Selector, WatchEvent};
use api::AppProject;
use futures::StreamExt as _;
use rbac::{MatchMode, Policy, ProjectPolicy};

use crate::ApiServer;
use crate::store::PROJECTS;

/// All projects, kept true by [`follow`].
#[derive(Default)]
pub(crate) struct Projects(Mutex<BTreeMap<String, Entry>>);

struct Entry {
    project: Arc<AppProject>,
    /// Read when it is first asked for, and again when patterns are read otherwise.
    policy: Option<(MatchMode, Option<Arc<ProjectPolicy>>)>,
}

impl Projects {
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A project by its name.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<AppProject>> {
        self.known().get(name).map(|it| Arc::clone(&it.project))
    }

    /// What its roles may do.
    pub(crate) fn policy(&self, name: &str, policy: &Policy) -> Option<Arc<ProjectPolicy>> {
        let mut known = self.known();
        let entry = known.get_mut(name)?;
        let mode = policy.options().match_mode;
        if let Some((read_as, read)) = &entry.policy
            && *read_as == mode
        {
            return read.clone();
        }
        let text = engine::project::roles::policies(&entry.project);
        let (read, findings) = policy.project(&text);
        for finding in findings.iter().filter(|it| it.is_fatal) {
            tracing::warn!(project = name, "its roles do not count: {}", finding.message);
        }
        let read = read.map(Arc::new);
        entry.policy = Some((mode, read.clone()));
        read
    }

    /// Takes a project over, from the watch or from a write of ours; an older state is ignored.
    pub(crate) fn see(&self, project: AppProject) {
        let mut known = self.known();
        let before = known.get(&project.metadata.name);
        if before.is_some_and(|it| version(&it.project) > version(&project)) {
            return;
        }
        let name = project.metadata.name.clone();
        known.insert(name, Entry { project: Arc::new(project), policy: None });
    }

    pub(crate) fn forget(&self, name: &str) {
        self.known().remove(name);
    }
}

fn version(project: &AppProject) -> u64 {
    project.metadata.resource_version.parse().unwrap_or(0)
}

/// Follows the projects. Does not end.
pub(crate) async fn follow(server: &ApiServer) {
    let events = server.store.client().watch::<AppProject>(
        &PROJECTS,
        Scope::Namespace(server.options.namespace.clone()),
        Selector::everything(),
        server.options.random.clone(),
    );
    let mut events = pin!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Restarted => listed.clear(),
            WatchEvent::Synced => {
                server.projects.known().retain(|name, _| listed.contains(name));
            }
            WatchEvent::Applied(project) => {
                listed.insert(project.metadata.name.clone());
                server.projects.see(project);
            }
            WatchEvent::Deleted(project) => {
                listed.remove(&project.metadata.name);
                server.projects.forget(&project.metadata.name);
            }
            WatchEvent::Unreadable { name, why, .. } => {
                tracing::warn!(project = name, why, "cannot read a project");
            }
            WatchEvent::Interrupted { why } => {
                tracing::warn!(why, "the watch of projects is interrupted");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rbac::Options;
    use serde_json::json;

    use super::*;

    fn project(version: &str, action: &str) -> AppProject {
        let policy = format!("p, proj:shop:ci, applications, {action}, shop/*, allow");
        let project = json!({"metadata": {"name": "shop", "resourceVersion": version},
            "spec": {"roles": [{"name": "ci", "policies": [policy]}]}});
        serde_json::from_value(project).expect("a project")
    }

    #[track_caller]
    fn check(projects: &Projects, action: &str, expect: bool) {
        let policy = Policy::new("", Options::default()).0;
        let who = rbac::Who { name: "proj:shop:ci", groups: &[] };
        let request = rbac::Request { resource: "applications", action, object: "shop/web" };
        let allowed = policy.allows(&who, &request, |name| projects.policy(name, &policy));
        assert_eq!(allowed, expect);
    }

    #[test]
    fn a_changed_project_decides_anew_and_an_older_state_does_not() {
        let projects = Projects::default();
        projects.see(project("7", "sync"));
        check(&projects, "sync", true);
        projects.see(project("9", "delete"));
        check(&projects, "sync", false);
        projects.see(project("8", "sync"));
        check(&projects, "delete", true);
        projects.forget("shop");
        check(&projects, "delete", false);
    }
}
